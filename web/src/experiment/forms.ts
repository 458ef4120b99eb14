/** The laboratory for retries: forms as rows, the best first, and which of their differences are sure. */

import type { LabForm, LabPair, LabPoint, RetriesLab } from '../data';
import { change, columnUnit, count, DASH, inUnit, many, percent, rate, significant, type TimeUnit } from '../pure/format';
import { between, linear, linearLabel } from '../pure/ticks';
import { rowsBehind } from '../chart/figure';
import { section, trialLink, type Headline, type Section } from '../page/shell';
import { h, more, rich } from '../page/dom';
import { figureTable, nums, td, type Row } from '../page/table';
import { spreadShare, median as middle } from './model';

/** How each form is written, shortly (docs/retries.md). */
const WRITTEN: Record<string, string> = {
  statements: 'one by one, a round trip each',
  batch: 'all statements in one string',
  cte: 'one statement, WITH … UPDATE',
  pipeline: 'sent one after another, one round trip',
  'for-update': 'SELECT … FOR UPDATE first',
  procedure: 'a procedure that retries on the server',
};

/** A figure of a form among those of the others. */
interface Value {
  value: number | null;
  /** Its interval, or from the least repeat to the greatest. */
  from: number | null;
  to: number | null;
  dots: number[];
  text: string;
}

export interface Column {
  title: string;
  subtitle: string;
  of: (form: LabForm) => Value;
}

const ends = (values: number[]): [number | null, number | null] => (values.length === 0 ? [null, null] : [Math.min(...values), Math.max(...values)]);
const some = (value: number): string => (value === 0 ? '0' : value < 0.01 ? '< 0.01' : significant(value));

export const measured = (point: LabPoint): LabForm[] => point.forms.filter((form) => (form.goodput_per_s?.median ?? 0) > 0);

export function columns(forms: LabForm[]): Column[] {
  const unit: TimeUnit = columnUnit(forms.map((form) => form.service.p99_us));
  const of = (value: number | null, dots: (number | null)[], text: (v: number) => string, by = 1): Value => {
    const known = dots.filter((v): v is number => v !== null).map((v) => v * by);
    const [from, to] = ends(known);
    return { value: value === null ? null : value * by, from, to, dots: known, text: value === null ? DASH : text(value) };
  };
  return [
    {
      title: 'Goodput',
      subtitle: 'tps, more is better',
      of: (form) => {
        const goodput = form.goodput_per_s;
        if (goodput === null) return of(null, [], rate);
        const value = of(goodput.median, goodput.repeats, rate);
        return goodput.interval === null ? value : { ...value, from: goodput.interval[0], to: goodput.interval[1] };
      },
    },
    { title: 'p99 service', subtitle: `${unit.unit}, less is better`, of: (form) => of(form.service.p99_us, form.repeats.map((one) => one.p99_us), (us) => inUnit(us, unit), 1 / unit.us) },
    { title: 'Retries per commit', subtitle: 'by clients, less is better', of: (form) => of(form.retries_per_commit, form.repeats.map((one) => one.retries_per_commit), some) },
    { title: 'Time thrown away', subtitle: '% of the time in tries, less is better', of: (form) => of(form.lost_time_share ?? 0, form.repeats.map((one) => one.lost_time_share), (share) => percent(share).replace('\u00a0%', ''), 100) },
  ];
}

/** The share of an axis that a figure needs beside its bar. */
const ROOM = 0.4;
const at = (share: number): string => `${(share * 100).toFixed(2)}%`;

/**
 * Where the figure of a bar from `low` to `high` is, beside it on the side that has room: the distance from
 * the left or from the right end of the axis, as a share of it.
 */
export const placeOfText = (low: number, high: number): { left: number } | { right: number } => (1 - high >= ROOM ? { left: high } : { right: 1 - low });

/** An axis from 0 to `most` or beyond, on which each bar has room for its figure on one side. */
export function axisWithRoom(bars: { low: number; high: number }[], most: number): { max: number; step: number } {
  const axis = linear(most, 3);
  const wide = bars.filter(({ low, high }) => low / axis.max < ROOM && 1 - high / axis.max < ROOM).map((bar) => bar.high);
  return wide.length === 0 ? axis : linear(Math.max(...wide) / (1 - ROOM), 3);
}

/** From where to where its bar is. */
const barOf = (value: Value): { low: number; high: number } | null => (value.value === null ? null : { low: Math.min(value.from ?? value.value, value.value), high: Math.max(value.to ?? value.value, value.value) });

function track(value: Value, max: number, best: boolean): HTMLElement {
  const x = (v: number): number => Math.max(0, Math.min(1, v / max));
  const bar = barOf(value);
  if (value.value === null || bar === null) return h('div', { class: 'track' }, h('span', { class: 'track-value', style: { left: '4px' } }, value.text));
  const [low, high] = [x(bar.low), x(bar.high)];
  const beside = placeOfText(low, high);
  return h(
    'div',
    { class: best ? 'track best' : 'track' },
    h('span', { class: 'track-bar', style: { left: at(low), width: at(high - low) } }),
    h('span', { class: 'track-median', style: { left: at(x(value.value)) } }),
    ...value.dots.map((dot) => h('span', { class: 'track-dot', style: { left: at(x(dot)) } })),
    h('span', { class: 'track-value', style: 'left' in beside ? { left: `calc(${at(beside.left)} + 7px)` } : { right: `calc(${at(beside.right)} + 7px)` } }, value.text),
  );
}

/** Where its gridlines are; numbers below have room. */
function axis(list: Column[], forms: LabForm[], i: number): { max: number; step: number } {
  const values = forms.map((form) => list[i]!.of(form));
  const most = Math.max(...values.flatMap((value) => [value.value ?? 0, value.to ?? 0, ...value.dots]));
  const bars = values.map(barOf).filter((bar) => bar !== null);
  // Of nothing but noughts the axis is 0 to 1.
  return axisWithRoom(bars, most > 0 ? most * 1.02 : 1);
}

function formsFigure(point: LabPoint, title: string, outliers: Set<number>): HTMLElement {
  const forms = measured(point);
  const list = columns(forms);
  const axes = list.map((_, i) => axis(list, forms, i));
  const others = point.forms.filter((form) => !forms.includes(form));
  const grid = (i: number): HTMLElement[] => between(0, axes[i]!.max, axes[i]!.step).map((v) => h('span', { class: 'track-grid', style: { left: at(v / axes[i]!.max) } }));
  const ticks = (i: number): HTMLElement => {
    const { max, step } = axes[i]!;
    const all = between(0, max, step);
    const last = all.length - 1;
    // On a phone long labels have room at the ends and in the middle alone.
    const isLong = linearLabel(max, step).length > 5;
    const shown = all.filter((_, k) => !isLong || k === 0 || k === last || 2 * k === last);
    return h('div', { class: 'track ticks' }, ...shown.map((v) => h('span', { class: v === 0 ? 'tick first' : v === all[last] ? 'tick last' : 'tick', style: { left: at(v / max) } }, linearLabel(v, step))));
  };
  const row = (form: LabForm, nth: number): Row => [
    [h('code', {}, form.form), h('div', { class: 'sub' }, WRITTEN[form.form] ?? '', form.not_run.length > 0 && `; not in every trial: ${form.not_run.join('; ')}`)],
    ...list.map((column, i) => {
      const cell = track(column.of(form), axes[i]!.max, nth === 0);
      cell.prepend(...grid(i));
      return h('td', { class: 'track-cell' }, cell);
    }),
  ];
  const missing = (form: LabForm): HTMLElement => h('tr', { class: 'withheld' }, h('th', { scope: 'row' }, h('code', {}, form.form)), h('td', { colspan: list.length }, h('div', { class: 'not-run' }, h('span', {}, `not run: ${form.not_run.join('; ') || 'no trial came to its end'}`))));
  const { buttons, table } = rowsBehind(
    `Forms: ${title}`,
    ['form', 'trial', 'order', 'goodput_per_s', 'p99_us', 'retries_per_commit', 'lost_time_share'],
    () => point.forms.flatMap((form) => form.repeats.map((one, i) => [form.form, one.trial, one.order, form.goodput_per_s?.repeats[i] ?? null, one.p99_us, one.retries_per_commit, one.lost_time_share])),
  );
  return h(
    'div',
    { class: 'forms-of' },
    h('div', { class: 'figure-head' }, h('span', {}, h('h3', {}, title)), buttons),
    figureTable(
      `Forms: ${title}`,
      ['Form', ...list.map((column) => h('th', { scope: 'col' }, column.title, h('div', { class: 'sub' }, column.subtitle)))],
      [...forms.map(row), ...others.map(missing)],
      { class: 'forms', foot: h('tr', { 'aria-hidden': 'true' }, td(''), ...list.map((_, i) => h('td', { class: 'track-cell' }, ticks(i)))) },
    ),
    table,
    rest(forms, title, outliers),
  );
}

/** What is not drawn. */
function rest(forms: LabForm[], title: string, outliers: Set<number>): HTMLElement | null {
  if (forms.length === 0) return null;
  const unit = columnUnit(forms.map((form) => form.service.p50_us));
  return more(
    'p50, retries by the server, given up, trials',
    figureTable(
      `More of the forms: ${title}`,
      ['Form', ...nums(`p50 ${unit.unit}`, 'Retries per commit by the server', 'Committed', 'Given up', 'Failed'), 'Trials'],
      forms.map((form) => [h('code', {}, form.form), inUnit(form.service.p50_us, unit), form.server_retries_per_commit === null ? DASH : some(form.server_retries_per_commit), ...[form.committed, form.given_up, form.failed].map((n) => count(n)), form.repeats.flatMap((one, i) => (one.trial === null ? [] : [i > 0 ? ' ' : '', trialLink(one.trial), outliers.has(one.trial) && h('span', { class: 'flagged' }, ' (is an outlier)')]))]),
    ),
  );
}

/** Neighbours in the order of the forms, and the first against the last; all others stand behind. */
export function shownPairs(point: LabPoint): { shown: LabPair[]; behind: LabPair[] } {
  const names = measured(point).map((form) => form.form);
  const near = (pair: LabPair): boolean => names.indexOf(pair.second) - names.indexOf(pair.first) === 1 || (pair.first === names[0] && pair.second === names.at(-1));
  return { shown: point.pairs.filter(near), behind: point.pairs.filter((pair) => !near(pair)) };
}

/** Round ratios, as shares above 1: of those as many as have room are marked. */
const ROUND = [0.01, 0.1, 0.2, 0.5, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2, 3, 5, 10, 30, 100, 1000].map((ratio) => ratio - 1);

/** An axis of ratios, in logarithms: twice as much is as far as half as much. */
export function ratioAxis(shares: number[]): { x: (share: number) => number; marks: number[] } {
  const log = (share: number): number => Math.log(Math.max(1e-3, 1 + share));
  const low = ROUND.filter((v) => v <= Math.min(0, ...shares)).at(-1) ?? ROUND[0]!;
  const high = ROUND.find((v) => v >= Math.max(0.1, ...shares)) ?? ROUND.at(-1)!;
  const x = (share: number): number => Math.max(0, Math.min(1, (log(share) - log(low)) / (log(high) - log(low))));
  const marks: number[] = [0];
  // Both ends and "same" first, then what has room between.
  for (const v of [high, low, ...ROUND]) if (v >= low && v <= high && marks.every((other) => Math.abs(x(v) - x(other)) > 0.2)) marks.push(v);
  return { x, marks: marks.sort((a, b) => a - b) };
}

function pairsFigure(point: LabPoint, title: string): HTMLElement | null {
  const { shown, behind } = shownPairs(point);
  if (point.pairs.length === 0) return null;
  const [first] = point.pairs;
  const needs = first!.needs_repeats;
  if (needs !== null && point.pairs.every((pair) => pair.interval === null)) {
    const repeats = Math.min(...measured(point).map((form) => form.goodput_per_s!.repeats.length));
    return h('div', {}, h('h3', {}, title), h('div', { class: 'absent' }, h('p', {}, h('strong', {}, 'Too few repeats: '), `${many(repeats, 'repeat')} of each form; to tell ${count(measured(point).length)} forms apart takes ${count(needs)}.`), h('p', {}, 'To compare: ', h('code', {}, `pgdyno lab retries --repeat ${needs}`))));
  }
  const { x, marks } = ratioAxis(point.pairs.flatMap((pair) => pair.interval ?? []));
  const row = (pair: LabPair): Row => {
    const sure = pair.ahead !== null;
    const cell = h(
      'div',
      { class: sure ? 'track pair sure' : 'track pair' },
      ...marks.map((v) => h('span', { class: v === 0 ? 'track-grid same' : 'track-grid', style: { left: at(x(v)) } })),
      pair.interval !== null && h('span', { class: 'track-bar', style: { left: at(x(pair.interval[0])), width: at(x(pair.interval[1]) - x(pair.interval[0])) } }),
      pair.difference !== null && h('span', { class: 'track-median', style: { left: at(x(pair.difference)) } }),
    );
    const ahead = pair.ahead === null ? h('span', { class: 'quiet' }, pair.needs_repeats === null ? 'cannot tell' : `cannot tell: it takes ${count(pair.needs_repeats)} repeats`) : h('span', { class: 'better' }, pair.ahead === pair.first ? 'the first' : 'the second');
    return [[h('code', {}, pair.first), ' to ', h('code', {}, pair.second)], h('td', { class: 'n strong' }, pair.difference === null ? DASH : change(pair.difference)), h('td', { class: 'n quiet' }, pair.interval === null ? DASH : `${change(pair.interval[0])} to ${change(pair.interval[1])}`), h('td', { class: 'track-cell' }, cell), ahead];
  };
  const scale = (): HTMLElement => h('div', { class: 'track ticks' }, ...marks.map((v) => h('span', { class: x(v) < 0.05 ? 'tick first' : x(v) > 0.95 ? 'tick last' : 'tick', style: { left: at(x(v)) } }, v === 0 ? 'same' : change(v).replace('.0', ''))));
  const pairs = (label: string, list: LabPair[]): HTMLElement => figureTable(label, ['Pair', ...nums('Difference', '95\u00a0% interval'), h('th', { scope: 'col', class: 'track-cell' }, scale()), 'Ahead'], list.map(row), { class: 'pairs' });
  return h(
    'div',
    {},
    h('h3', {}, title),
    pairs(`Pairs: ${title}`, shown),
    behind.length > 0 && more(`The other ${many(behind.length, 'pair')}`, pairs(`Other pairs: ${title}`, behind)),
  );
}

/** The circumstances that all forms of a point have in common. */
export function circumstances(lab: RetriesLab, point: LabPoint): string {
  const given = point.given as Record<string, unknown>;
  const asked = typeof given.isolation === 'string' ? given.isolation : null;
  const level = point.isolation !== null && asked !== null && asked !== point.isolation ? `${point.isolation} (${asked} was requested)` : (point.isolation ?? asked);
  const varies = (name: string): boolean => new Set(lab.points.map((one) => JSON.stringify((one.given as Record<string, unknown>)[name] ?? null))).size > 1;
  const params = given.params as Record<string, unknown> | undefined;
  return [many(Number(given.clients ?? 1), 'client'), level ?? '', varies('retry') || varies('backoff') ? `retry ${String(given.retry ?? 'none')}` : '', varies('backoff') && given.backoff !== undefined && given.backoff !== 'none' ? `backoff ${String(given.backoff)}` : '', params?.foreign_keys === undefined ? '' : params.foreign_keys === true ? 'foreign keys' : 'no foreign keys'].filter((word) => word !== '').join(', ');
}

export function formsSections(lab: RetriesLab, outliers: Set<number>): Section[] {
  const titles = lab.points.map((point) => circumstances(lab, point));
  const pairs = lab.points.map((point, i) => pairsFigure(point, titles[i]!)).filter((figure): figure is HTMLElement => figure !== null);
  const intervals = lab.points.some((point) => point.forms.some((form) => (form.goodput_per_s?.interval ?? null) !== null));
  const lead = `One row a form, the best first. Upright line: of goodput the median over repeats, else of all repeats together; bar: ${intervals ? 'the 95 % interval of the median goodput, else from the least repeat to the greatest' : 'from the least repeat to the greatest'}; dots: the repeats. All axes begin at 0.`;
  return [
    section('retries-lab', 'Forms', 'Forms', lead, null, h('div', { class: 'parts' }, ...lab.points.map((point, i) => formsFigure(point, titles[i]!, outliers))), ...lab.says.map((sentence) => h('p', { class: 'sub' }, rich(sentence)))),
    ...(pairs.length === 0 ? [] : [section('pairs', 'Pairs', 'Which differences are sure?', 'Goodput of the first beside that of the second. All pairs are judged together, so that none differs by chance alone; grey: undecided. The axis is logarithmic.', null, h('div', { class: 'parts' }, ...pairs))]),
  ];
}

/** The figures below the answer; nothing of one repeat is one. */
export function formsFigures(lab: RetriesLab, trials: { counts: boolean }[]): Headline[] {
  const clients = (point: LabPoint): number => Number((point.given as Record<string, unknown>).clients ?? 1);
  const point = lab.points.reduce<LabPoint | null>((most, one) => (most === null || clients(one) > clients(most) ? one : most), null);
  const [best] = point === null ? [] : measured(point);
  const list: Headline[] = [];
  if (point !== null && best !== undefined && best.goodput_per_s!.repeats.length > 1) {
    const goodput = best.goodput_per_s!;
    const where = lab.points.length > 1 ? `, ${many(clients(point), 'client')}` : '';
    list.push({ key: 'goodput', label: 'Highest goodput', value: rate(goodput.median), unit: 'tps', context: `${best.form}${where}; ${goodput.interval === null ? `range ${rate(goodput.min)} to ${rate(goodput.max)}` : `95\u00a0% interval ${rate(goodput.interval[0])} to ${rate(goodput.interval[1])}`}` });
    const [, p99, retries, lost] = columns(measured(point));
    const spread = (value: Value, text: (v: number) => string): string => (value.from === null || value.to === null ? 'too few transactions in a repeat' : `repeats ${text(value.from)} to ${text(value.to)}`);
    const at99 = p99!.of(best);
    list.push({ key: 'p99', label: 'Its p99', value: at99.text, unit: p99!.subtitle.split(',')[0]!, context: spread(at99, (v) => significant(v)) });
    const again = retries!.of(best);
    list.push({ key: 'retries', label: 'Its retries', value: again.text, unit: 'per commit', context: spread(again, some) });
    const away = lost!.of(best);
    list.push({ key: 'lost', label: 'Its time thrown away', value: away.text, unit: '%', context: 'of the time in tries' });
    const noise = measured(point).map((form) => spreadShare({ values: form.goodput_per_s!.repeats } as never)).filter((v): v is number => v !== null);
    const typical = middle(noise);
    if (typical !== null) list.push({ key: 'noise', label: 'Repeat noise', value: significant(typical * 100, 2), unit: '%', context: 'median over the forms: standard deviation over mean' });
  }
  const forms = point === null ? 0 : point.forms.length;
  const run = point === null ? 0 : measured(point).length;
  list.push({ key: 'trials', label: 'Trials', value: count(trials.filter((trial) => trial.counts).length), unit: `of ${count(trials.length)}`, context: `${count(run)} of ${many(forms, 'form')} run` });
  return list;
}
