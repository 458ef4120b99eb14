/** How sure a laboratory for disturbances is, its figures at a glance, and its targets side by side. */

import type { DisturbLab, DisturbSummary, DisturbTarget, Truth } from '../data';
import { count, DASH, many, percent, time, timeText } from '../pure/format';
import { h, scroll } from '../page/dom';
import type { Headline } from '../page/shell';

export interface Check {
  /** `null`: a limit of what is known. */
  passed: boolean | null;
  name: string;
  words: string;
}

/** What was checked, the gravest first. */
export function checks(lab: DisturbLab): Check[] {
  const list: Check[] = [];
  const trials = lab.targets.flatMap((target) => [...target.repeats, ...target.controls]);
  const repeats = lab.targets.flatMap((target) => target.repeats);
  const truths = trials.flatMap((of) => (of.truth === null || 'unknown' in of.truth ? [] : [{ trial: of.trial, truth: of.truth as Truth }]));
  const lost = truths.filter(({ truth }) => truth.lost > 0);
  const sum = (of: (truth: Truth) => number): number => truths.reduce((all, { truth }) => all + of(truth), 0);
  for (const { trial, truth } of lost) list.push({ passed: false, name: `Trial ${trial}: ${many(truth.lost, 'acknowledged transaction')} ${truth.lost === 1 ? 'is' : 'are'} missing.`, words: '' });
  if (truths.length === 0) list.push({ passed: null, name: 'Lost writes: not looked for.', words: 'Transactions left no receipts.' });
  else if (lost.length === 0) list.push({ passed: true, name: 'No lost writes:', words: `all ${count(sum((t) => t.acknowledged))} acknowledged transactions are there` });
  const unread = trials.find((of) => of.truth !== null && 'unknown' in of.truth);
  if (unread !== undefined) list.push({ passed: null, name: `Trial ${unread.trial}: receipts could not be read:`, words: (unread.truth as { unknown: string }).unknown });
  const doubt = sum((t) => t.in_doubt);
  if (doubt > 0) list.push({ passed: true, name: 'Unknown, resolved:', words: `of ${many(doubt, 'COMMIT')} without an answer ${count(sum((t) => t.in_doubt_landed))} ${sum((t) => t.in_doubt_landed) === 1 ? 'is' : 'are'} there, ${count(doubt - sum((t) => t.in_doubt_landed))} not` });
  const sums = truths.flatMap(({ trial, truth }) => (truth.sums === null || 'unknown' in truth.sums ? [] : [{ trial, grown: truth.sums.grown }]));
  const uneven = sums.filter(({ grown }) => grown.some(([, by]) => by !== grown[0]![1]));
  if (uneven.length > 0) list.push({ passed: false, name: `Trial ${uneven[0]!.trial}: sums differ:`, words: uneven[0]!.grown.map(([table, by]) => `${table} ${count(by)}`).join(', ') });
  else if (sums.length > 0) list.push({ passed: true, name: 'Sums hold:', words: `${sums[0]!.grown.map(([table]) => table.replace('pgbench_', '')).join(', ')} grew by the same amount` });
  const failed = repeats.filter((of) => of.troubles.length > 0);
  if (failed.length > 0) list.push({ passed: false, name: `A command failed in ${failed.length} of ${many(repeats.length, 'run')}:`, words: failed[0]!.troubles[0]! });
  else if (repeats.length > 0) list.push({ passed: true, name: repeats.length === 1 ? 'The command did its work:' : 'The commands did their work:', words: `in ${many(repeats.length, 'run')}` });
  for (const target of lab.targets) {
    const where = lab.targets.length > 1 ? `${target.title}: ` : '';
    list.push({ passed: target.effect.is_seen === null ? null : true, name: target.controls.length === 0 ? 'No controls:' : 'By turns with controls:', words: where + target.effect.says });
  }
  const counted = Math.min(...lab.targets.map((target) => target.repeats.filter((of) => of.counts).length));
  const level = lab.targets[0]?.summary.find((of) => of.interval !== null)?.interval?.level ?? null;
  list.push(level === null ? { passed: null, name: 'A range, no interval:', words: `${many(Number.isFinite(counted) ? counted : 0, 'run')}; it takes six` } : { passed: true, name: `${percent(level)} interval`, words: `from ${many(counted, 'run')}: between two of them in order` });
  return list;
}

export function sureBlock(lab: DisturbLab): HTMLElement {
  const marks = { true: ['✓', 'ok'], false: ['✗', 'bad'], null: ['○', 'warn'] } as const;
  const item = ({ passed, name, words }: Check): HTMLElement => {
    const [mark, color] = marks[`${passed}`];
    return h('li', {}, h('span', { class: 'state', style: { color: `var(--${color})` }, 'aria-hidden': 'true' }, mark), h('span', {}, h('strong', {}, name), ` ${words}`));
  };
  return h('div', {}, h('h2', { class: 'eyebrow' }, 'How sure is it?'), h('ul', { class: 'checks' }, ...checks(lab).map(item)));
}

const of = (target: DisturbTarget, figure: string): DisturbSummary | null => target.summary.find((one) => one.figure === figure) ?? null;

const show = (figure: string, value: number | null): string => (value === null ? 'never' : figure.endsWith('_us') ? timeText(value) : count(Math.round(value)));

/** Its interval, or its range with the reason for having none. */
function around(one: DisturbSummary): string {
  if (one.interval !== null) return `${percent(one.interval.level)} interval ${show(one.figure, one.interval.low)} to ${show(one.figure, one.interval.high)}`;
  if (one.n < 2) return 'one run';
  return `range ${show(one.figure, one.min)} to ${show(one.figure, one.never > 0 ? null : one.max)}, ${many(one.n, 'run')}`;
}

const FIGURES: [string, string][] = [
  ['first_error_us', 'First error'],
  ['first_success_us', 'First success'],
  ['no_service_us', 'No service'],
  ['back_us', 'Served again'],
  ['worst_client_us', 'Worst client'],
  ['missed', 'Missed work'],
  ['failed', 'Failed'],
  ['unknown', 'Unknown'],
  ['skipped', 'Skipped'],
  ['late', 'Late'],
];

/** Those at a glance. */
const HEADLINES = ['no_service_us', 'back_us', 'worst_client_us', 'missed', 'unknown'];

const lostWrites = (target: DisturbTarget): number | null => {
  const asked = [...target.repeats, ...target.controls].flatMap((one) => (one.truth === null || 'unknown' in one.truth ? [] : [one.truth.lost]));
  return asked.length === 0 ? null : asked.reduce((a, b) => a + b, 0);
};

/** The figures below the headline; of several targets the table side by side has them. */
export function disturbFigures(lab: DisturbLab): Headline[] {
  const [target, other] = lab.targets;
  if (target === undefined || other !== undefined) return [];
  const list: Headline[] = [];
  const lost = lostWrites(target);
  list.push({ key: 'lost', label: 'Lost writes', value: lost === null ? DASH : count(lost), context: lost === null ? 'transactions left no receipts' : 'acknowledged and missing' });
  for (const [figure, label] of FIGURES.filter(([figure]) => HEADLINES.includes(figure))) {
    const one = of(target, figure);
    if (one === null || one.n === 0) continue;
    const { value, unit } = one.median === null ? { value: 'never', unit: '' } : figure.endsWith('_us') ? time(one.median) : { value: count(Math.round(one.median)), unit: '' };
    list.push({ key: figure, label, value, unit, context: figure === 'back_us' && one.never === 0 && one.max === 0 ? 'never below 90\u00a0% of the usual' : around(one) });
  }
  return list;
}

/** Two databases under the same disturbance: a column each. */
export function sideBySide(targets: DisturbTarget[]): HTMLElement {
  const cell = (target: DisturbTarget, figure: string): HTMLElement => {
    const one = of(target, figure);
    if (one === null || one.n === 0) return h('td', { class: 'n' }, DASH);
    return h('td', { class: 'n' }, h('strong', {}, show(figure, one.median)), one.n > 1 && h('span', { class: 'sub' }, ` ${around(one)}`));
  };
  const stays = (target: DisturbTarget): string => {
    const counted = target.repeats.filter((one) => one.counts && one.figures !== null);
    const yes = counted.filter((one) => one.figures!.metastable === 'yes').length;
    const open = counted.filter((one) => one.figures!.metastable === 'cannot_tell').length;
    return counted.length === 0 ? DASH : yes > 0 ? `yes in ${yes} of ${counted.length}` : open === counted.length ? 'cannot tell' : open > 0 ? `no; cannot tell in ${open} of ${counted.length}` : 'no';
  };
  return scroll(
    'Side by side',
    h(
      'table',
      { class: 'figures', id: 'disturb-beside' },
      h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'Median over runs'), ...targets.map((target) => h('th', { scope: 'col', class: 'n' }, target.title)))),
      h(
        'tbody',
        {},
        h('tr', {}, h('th', { scope: 'row' }, 'Lost writes'), ...targets.map((target) => h('td', { class: (lostWrites(target) ?? 0) > 0 ? 'n state-bad' : 'n' }, lostWrites(target) === null ? DASH : count(lostWrites(target)!)))),
        ...FIGURES.map(([figure, label]) => h('tr', {}, h('th', { scope: 'row' }, label), ...targets.map((target) => cell(target, figure)))),
        h('tr', {}, h('th', { scope: 'row' }, 'Metastable'), ...targets.map((target) => h('td', { class: 'n' }, stays(target)))),
      ),
    ),
  );
}
