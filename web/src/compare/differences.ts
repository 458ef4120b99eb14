/** Differences as bars on a log-ratio axis: what crosses "same" is no difference. */

import type { CompareData, Difference, Pair } from '../data';
import { bytesText, change, columnUnit, count, DASH, inUnit, intervalText, marked, rate } from '../pure/format';
import { rowsBehind } from '../chart/figure';
import { h, more, scroll, svg, type Child } from '../page/dom';
import { section, type Section } from '../page/shell';
import { figureTable, nums, table, type Row } from '../page/table';

const WIDTH = 330;

/** The ratios that the axis reaches, on both sides of 1. */
export function extent(differences: Difference[]): { low: number; high: number } {
  const ratios = differences.flatMap((d) => [d.change, d.change_interval?.[0], d.change_interval?.[1], d.gate]).filter((v): v is number => v !== null && v !== undefined && v > -1).map((v) => 1 + v);
  const low = Math.max(0.02, Math.min(0.8, ...ratios.map((r) => r * 0.93)));
  const high = Math.min(50, Math.max(1.25, ...ratios.map((r) => r * 1.07)));
  return { low, high };
}

const TICKS = [-0.95, -0.9, -0.75, -0.5, -0.25, -0.1, 0, 0.1, 0.25, 0.5, 1, 2, 4, 9, 24];

export function scale({ low, high }: { low: number; high: number }): (share: number) => number {
  const [from, to] = [Math.log(low), Math.log(high)];
  return (share) => 6 + ((Math.log(Math.min(high, Math.max(low, 1 + share))) - from) / (to - from)) * (WIDTH - 12);
}

/** About so wide is a tick's label. */
const labelWidth = (share: number): number => (share === 0 ? 30 : change(share).replace(/\.0/, '').length * 7.5);

/** Where a tick's label is anchored, and from where to where it reaches: none beyond the edges. */
export function labelAt(share: number, x: number): { anchor: string; from: number; to: number } {
  const width = labelWidth(share);
  if (x - width / 2 < 0) return { anchor: 'start', from: x, to: x + width };
  if (x + width / 2 > WIDTH) return { anchor: 'end', from: x - width, to: x };
  return { anchor: 'middle', from: x - width / 2, to: x + width / 2 };
}

/** Ticks that have room for their labels. */
export function ticks(of: { low: number; high: number }): number[] {
  const x = scale(of);
  const all = TICKS.filter((share) => 1 + share >= of.low && 1 + share <= of.high);
  const shown: number[] = [0];
  for (const share of [...all].sort((a, b) => Math.abs(Math.log(1 + b)) - Math.abs(Math.log(1 + a)))) {
    const own = labelAt(share, x(share));
    const free = shown.map((other) => labelAt(other, x(other))).every((of) => of.to + 8 < own.from || own.to + 8 < of.from);
    if (free) shown.push(share);
  }
  return shown.sort((a, b) => a - b);
}

export function words(d: Difference): { text: string; style: string } {
  switch (d.verdict) {
    case 'not-enough-repeats':
      return { text: d.repeats_needed === undefined ? 'cannot tell' : `cannot tell: ${d.repeats_needed} repeats needed`, style: 'careful' };
    case 'time-explains':
    case 'not-by-turns':
      return { text: 'cannot tell', style: 'careful' };
    case 'no-significant-difference':
      return { text: 'no significant difference', style: 'quiet' };
    case 'higher':
    case 'lower': {
      if (d.higher_is_better === null) return { text: d.verdict, style: '' };
      const better = (d.verdict === 'higher') === d.higher_is_better;
      return { text: better ? 'better' : 'worse', style: better ? 'better' : 'worse' };
    }
    default:
      return { text: DASH, style: 'quiet' };
  }
}

/** Hatched on both sides of the reason. */
const withdrawn = (reason: string): HTMLElement => h('div', { class: 'withdrawn' }, h('span', {}, reason));

function bar(d: Difference, of: { low: number; high: number }, marks: number[]): Element {
  const x = scale(of);
  const style = words(d).style;
  const color = style === 'better' ? 'var(--ok)' : style === 'worse' ? 'var(--bad)' : 'var(--ink3)';
  const filled = style === 'better' || style === 'worse';
  const interval = d.change_interval ?? null;
  // The reason for an empty chart is in its place.
  if (d.verdict === 'time-explains' || d.verdict === 'not-by-turns') return withdrawn(d.verdict === 'time-explains' ? 'withdrawn: order and drift' : 'withdrawn: not by turns');
  if (d.verdict === 'not-enough-repeats') return withdrawn('too few repeats');
  return svg(
    'svg',
    { width: WIDTH, height: 20, 'aria-hidden': 'true' },
    d.smallest_change !== undefined && interval !== null && svg('rect', { x: x(1 / (1 + d.smallest_change) - 1), y: 1, width: x(d.smallest_change) - x(1 / (1 + d.smallest_change) - 1), height: 18, fill: 'var(--line1)' }),
    ...marks.map((share) => svg('line', { x1: x(share), x2: x(share), y1: 0, y2: 20, stroke: share === 0 ? 'var(--ink2)' : 'var(--line1)' })),
    interval !== null && svg('rect', { x: x(interval[0]), y: 4.5, width: Math.max(2, x(interval[1]) - x(interval[0])), height: 11, fill: filled ? color : 'var(--bg)', 'fill-opacity': filled ? 0.35 : 1, stroke: color }),
    d.change !== null && d.change !== undefined && svg('line', { x1: x(d.change), x2: x(d.change), y1: 3, y2: 17, stroke: color, 'stroke-width': 2.5 }),
    d.gate !== null && d.gate !== undefined && svg('line', { x1: x(d.gate), x2: x(d.gate), y1: 0, y2: 20, stroke: 'var(--bad)', 'stroke-width': 1.6, 'stroke-dasharray': '3 2' }),
  );
}

/** A figure in its unit: latencies in one unit for all rows. */
export function shown(d: Difference, value: number | undefined): string {
  if (value === undefined) return DASH;
  if (d.unit === 'µs') return inUnit(value, columnUnit([d.a?.median, d.b?.median]));
  if (d.unit === 'bytes') return bytesText(value);
  return rate(value);
}

const unitOf = (d: Difference): string => (d.unit === 'µs' ? columnUnit([d.a?.median, d.b?.median]).unit : d.unit);

/** What is judged together. */
const FAMILIES = [
  { family: 'primary', title: 'Primary family', words: (n: number) => `${count(n)} figures; all intervals hold together at 95 %, differences by Holm` },
  { family: 'exploratory', title: 'Exploratory', words: (n: number) => `${count(n)} figures; at most 5 % of those called different are expected to be false (Benjamini–Hochberg)` },
] as const;

function pairTable(pair: Pair): HTMLElement {
  const of = extent(pair.differences);
  const marks = ticks(of);
  const x = scale(of);
  const head = svg('svg', { width: WIDTH, height: 14, 'aria-hidden': 'true' }, ...marks.map((share) => svg('text', { x: x(share), y: 11, class: 'tick', 'text-anchor': labelAt(share, x(share)).anchor }, share === 0 ? 'same' : change(share).replace(/\.0/, ''))));
  const bars = pair.differences.some((d) => d.change_interval !== null && d.change_interval !== undefined);
  const gates = pair.differences.filter((d) => bars && d.gate !== null && d.gate !== undefined);
  const row = (d: Difference): Row => {
    const name = h('th', { scope: 'row' }, d.name, unitOf(d) !== '' && h('span', { class: 'unit' }, ` ${unitOf(d)}`));
    if (d.not_compared !== undefined) return h('tr', { class: 'withheld' }, name, h('td', { colspan: 7 }, `not compared: ${d.not_compared}`));
    const { text, style } = words(d);
    const interval = d.change_interval ?? null;
    const sure = style === 'better' || style === 'worse';
    const none = style === 'careful';
    const smallest = d.smallest_change === undefined || none ? DASH : `± ${change(d.smallest_change).replace(/^\+/, '')}`;
    return [
      name,
      h('td', { class: 'n', title: intervalText(d.a_within) }, marked(shown(d, d.a?.median), d.a_within)),
      h('td', { class: 'n', title: intervalText(d.b_within) }, marked(shown(d, d.b?.median), d.b_within)),
      bar(d, of, marks),
      h('td', { class: `n ${sure ? 'strong' : ''}`, title: none ? 'from median to median' : 'Hodges–Lehmann shift of the logarithms: the median of all repeats of B to all of A' }, d.verdict === 'not-enough-repeats' ? DASH : change(none ? d.change_of_medians : d.change), none && d.verdict !== 'not-enough-repeats' && h('span', { class: 'unit' }, ' medians')),
      h('td', { class: 'n quiet' }, interval === null ? (none ? 'withheld' : DASH) : `${change(interval[0])} to ${change(interval[1])}`),
      h('td', { class: 'n quiet' }, smallest),
      h('td', { class: style }, text),
    ];
  };
  const rows = FAMILIES.flatMap(({ family, title, words }): Row[] => {
    const list = pair.differences.filter((d) => d.family === family);
    return list.length === 0 ? [] : [h('tr', { class: 'group' }, h('th', { scope: 'rowgroup', colspan: 8 }, title, h('span', { class: 'unit' }, ` ${words(list.length)}`))), ...list.map(row)];
  });
  const heads = ['Median over repeats', sideHead('a', true), sideHead('b', true), h('th', { scope: 'col' }, h('span', { class: 'visually-hidden' }, 'Change with its interval'), bars && head), ...nums('B to A', 'Interval', 'Smallest seen'), 'In words'];
  return h(
    'div',
    {},
    figureTable(`Differences: ${pair.point}`, heads, rows),
    h('p', { class: 'sub' }, !bars ? 'Medians stay as they were measured; intervals and words are withdrawn.' : [gates.length > 0 ? `Red dashed: the gate’s limit on ${gates.map((d) => d.figure).join(', ')}.` : '', 'Bar: interval of the Hodges–Lehmann shift of the logarithms, B to A. Pale field: the smallest change that so many repeats with this noise show in 80 of 100 cases.'].filter((t) => t !== '').join(' ')),
  );
}

/** A is a circle, B a diamond, wherever they stand. */
export function sideMark(side: 'a' | 'b'): SVGElement {
  return svg('svg', { width: 10, height: 10, viewBox: '0 0 10 10', 'aria-hidden': 'true' }, svg('path', { d: side === 'a' ? 'M5 0.8a4.2 4.2 0 1 0 0.01 0Z' : 'M5 0L10 5L5 10L0 5Z', fill: `var(--${side})` }));
}

/** A side's head of a column. */
export const sideHead = (side: 'a' | 'b', numeric = false, words = ''): HTMLElement => h('th', { scope: 'col', class: numeric ? 'n' : undefined }, sideMark(side), ` ${side.toUpperCase()}${words}`);

export function differences(data: CompareData): Section {
  const { buttons, table: behind } = rowsBehind(
    'Differences',
    ['point', 'figure', 'unit', 'a_median', 'b_median', 'change', 'low', 'high', 'p', 'verdict'],
    () => data.pairs.flatMap((pair) => pair.differences.map((d) => [pair.point, d.figure, d.unit, d.a?.median ?? null, d.b?.median ?? null, d.change ?? null, d.change_interval?.[0] ?? null, d.change_interval?.[1] ?? null, d.p ?? null, d.verdict ?? d.not_compared ?? ''])),
  );
  const many = data.pairs.length > 1;
  const blocks = data.pairs.map((pair, i) => (many ? (i < 3 ? h('div', {}, h('h3', {}, pair.point), pairTable(pair)) : more(pair.point, pairTable(pair))) : pairTable(pair)));
  return section('differences', 'Differences', 'Differences', 'What was to be decided first, then what else moved. A bar that crosses “same” is not a difference.', buttons, lacking(data), ...blocks, behind);
}

/** Points that one side has no trials of. */
function lacking(data: CompareData): Child {
  if (data.lacking.length === 0) return null;
  return h('p', { class: 'sub' }, 'Not compared: ', data.lacking.map((of) => `${of.side} has no trials of ${of.point}`).join('; '), '.');
}

/** Rows of what changed: the name, both values, what it does. */
export function changedTable(rows: CompareData['changed']): HTMLElement {
  const does = rows.some((row) => row.does !== undefined);
  return table(
    ['What changed', sideHead('a'), sideHead('b'), does && 'What it does'],
    rows.map((row) => [row.kind === 'setting' ? h('code', {}, ...breakable(row.what)) : row.what, h('td', { class: 'value-cell' }, row.a), h('td', { class: 'value-cell strong' }, row.b), h('td', { class: 'quiet' }, row.does ?? '')]),
    { class: 'changed' },
  );
}

/** A setting's name, which may go on in the next line after an underscore. */
const breakable = (name: string): Child[] => name.split('_').flatMap((part, i): Child[] => (i === 0 ? [part] : ['_', h('wbr', {}), part]));

/** Only what differs, and in words what does not. */
export function changed(data: CompareData): Section {
  const left: Child = data.changed.length === 0 ? h('p', {}, 'No recorded differences.') : scroll('What changed: rows', changedTable(data.changed));
  return section('changed', 'Settings', 'What changed', data.left_out === 0 ? 'Only differences. All other recorded facts are the same.' : `Only differences; ${count(data.left_out)} that only ${data.left_out === 1 ? 'names' : 'name'} the server itself (port, paths) left out. All other recorded facts are the same.`, null, h('div', { class: 'two-columns wide-left' }, left, h('dl', { class: 'definitions' }, ...data.same.map(([name, of]) => h('div', {}, h('dt', {}, name), h('dd', {}, of))))));
}
