/** The figures of a laboratory for disturbances at a glance, and its targets side by side. */

import type { DisturbLab, DisturbSummary, DisturbTarget } from '../data';
import { count, DASH, many, percent, time, timeText } from '../pure/format';
import { h, type Child } from '../page/dom';
import type { Headline } from '../page/shell';
import { figureTable, nums } from '../page/table';

const of = (target: DisturbTarget, figure: string): DisturbSummary | null => target.summary.find((one) => one.figure === figure) ?? null;

const show = (figure: string, value: number | null): string => (value === null ? 'never' : figure.endsWith('_us') ? timeText(value) : count(Math.round(value)));

/** Its interval, or its range with the reason for having none. */
function around(one: DisturbSummary): string {
  if (one.interval !== null) return `${percent(one.interval.level)} interval ${show(one.figure, one.interval.low)} to ${show(one.figure, one.interval.high)}`;
  if (one.n < 2) return 'one run';
  if (one.never === one.n) return `in none of ${many(one.n, 'run')}`;
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
    // Nothing of one run is a headline: the table has it.
    if (one === null || one.n < 2) continue;
    const { value, unit } = one.median === null ? { value: 'never', unit: '' } : figure.endsWith('_us') ? time(one.median) : { value: count(Math.round(one.median)), unit: '' };
    list.push({ key: figure, label, value, unit, context: figure === 'back_us' && one.never === 0 && one.max === 0 ? 'never below 90\u00a0% of the usual' : around(one) });
  }
  return list;
}

/** Two databases under the same disturbance: a column each. */
export function sideBySide(targets: DisturbTarget[]): HTMLElement {
  const cell = (target: DisturbTarget, figure: string): Child[] => {
    const one = of(target, figure);
    if (one === null || one.n === 0) return [DASH];
    return [h('strong', {}, show(figure, one.median)), one.n > 1 && h('span', { class: 'sub' }, ` ${around(one)}`)];
  };
  const stays = (target: DisturbTarget): string => {
    const counted = target.repeats.filter((one) => one.counts && one.figures !== null);
    const yes = counted.filter((one) => one.figures!.metastable === 'yes').length;
    const open = counted.filter((one) => one.figures!.metastable === 'cannot_tell').length;
    return counted.length === 0 ? DASH : yes > 0 ? `yes in ${yes} of ${counted.length}` : open === counted.length ? 'cannot tell' : open > 0 ? `no; cannot tell in ${open} of ${counted.length}` : 'no';
  };
  return figureTable('Side by side', ['Median over runs', ...nums(...targets.map((target) => target.title))], [
    ['Lost writes', ...targets.map((target) => h('td', { class: (lostWrites(target) ?? 0) > 0 ? 'n state-bad' : 'n' }, lostWrites(target) === null ? DASH : count(lostWrites(target)!)))],
    ...FIGURES.map(([figure, label]) => [label, ...targets.map((target) => cell(target, figure))]),
    ['Metastable', ...targets.map(stays)],
  ], { id: 'disturb-beside' });
}
