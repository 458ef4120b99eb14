/** Where the clients' time went: one bar in the verdict, a table of its parts, and the same by phase. */

import type { BudgetPart, TimeBudget, TrialData } from '../data';
import { DASH, fixed, join, many, percent, percentileName, significant, time } from '../pure/format';
import { h, svg, type Child } from '../page/dom';
import { section, type Section } from '../page/shell';
import { figureTable, nums, type Cell, type Row } from '../page/table';
import { partColor, partOpacity } from '../page/classes';

const WIDTH = 1280;
const HEIGHT = 46;
/** Parts from here on are labelled inside the bar. */
const INSIDE = 0.12;
/** Thinner ones have a leader down to from here on; the rest is in the table. */
const LEADER = 0.004;
const ROW = 18;
/** A letter of a name inside is at most so wide. */
const LETTER = 7.8;

/** Whether every client worked to the end: those that end before another one's last transaction have no more time. */
const isWhole = (budget: TimeBudget): boolean => Math.abs(budget.clients * budget.elapsed_s - budget.client_seconds) <= 0.005 * budget.client_seconds;

/** The hatching of what is not attributed, once for each drawing. */
function hatching(id: string): SVGElement {
  return svg('pattern', { id, width: 7, height: 7, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' }, svg('rect', { width: 7, height: 7, fill: 'var(--bg)' }), svg('line', { x1: 0, y1: 0, x2: 0, y2: 7, stroke: 'var(--line2)', 'stroke-width': 3 }));
}

/** A part as a stretch of its bar. */
const box = (part: BudgetPart, x: number, width: number, height: number, id: string): SVGElement =>
  svg('rect', { x, y: 0, width: Math.max(0.8, width - 1), height, fill: part.part === 'not-attributed' ? `url(#${id})` : `var(--${partColor(part.part)})`, 'fill-opacity': partOpacity(part.part), stroke: part.part === 'not-attributed' ? 'var(--line2)' : 'none' });

/** A label in a part: its ink is what is read best on the part's colour in each theme. */
function label(part: BudgetPart, x: number, y: number, text: string, strong = false): SVGElement {
  const [color, opacity] = [partColor(part.part), partOpacity(part.part)];
  const isBright = ['client', 'ipc', 'other'].includes(color);
  const dark = opacity <= 0.6 || isBright ? ' ink-in-light' : '';
  const light = opacity <= 0.4 || (opacity <= 0.6 && !['client', 'ipc'].includes(color)) ? ' ink-in-dark' : '';
  return svg('text', { x, y, class: `part-label${strong ? ' strong' : ''}${dark}${light}` }, text);
}

/** Shares as rectangles, in the order of the parts. */
function rectangles(parts: BudgetPart[], shares: number[], height: number, id: string, minimum: number): SVGElement[] {
  let x = 0;
  return parts.flatMap((part, i) => {
    const from = x;
    const width = shares[i]! * WIDTH;
    x += width;
    const rect = box(part, from, width, height, id);
    const inside = width >= minimum ? label(part, from + 8, height / 2 + 5, `${fixed(shares[i]! * 100, 1)}`) : null;
    return inside === null || part.part === 'not-attributed' ? [rect] : [rect, inside];
  });
}

/** A letter beside a leader is at most so wide. */
const TICK = 6.6;

/**
 * Where texts stand that lines lead down to, `at` in their order: in which row, and on which side of their line.
 * No line and no text crosses another: those on the left go to the right, as far as there is room, and the others
 * to the left; one that is in the way of another has a row below it.
 */
export function leaders(thin: { at: number; text: string }[], width: number): { placed: { at: number; text: string; row: number; toLeft: boolean }[]; rows: number } {
  const reach = thin.map(({ text }) => 15 + text.length * TICK);
  const first = (split: number): number => thin[split]?.at ?? Infinity;
  const fits = (split: number): boolean => thin.every(({ at }, i) => (i < split ? at + reach[i]! <= Math.min(width, first(split)) : at - reach[i]! >= 0));
  const splits = thin.map((_, i) => i).concat(thin.length);
  const middle = thin.filter(({ at }) => at < width / 2).length;
  const near = (split: number): number => Math.abs(split - middle);
  const split = splits.filter(fits).sort((a, b) => near(a) - near(b))[0] ?? middle;
  const extents: { from: number; to: number; row: number }[] = [];
  const placed = [...thin.keys()].slice(0, split).reverse().concat([...thin.keys()].slice(split)).map((i) => {
    const { at, text } = thin[i]!;
    const toLeft = i >= split;
    const [from, to] = toLeft ? [at - reach[i]!, at] : [at, at + reach[i]!];
    const row = Math.max(-1, ...extents.filter((of) => of.from <= to && from <= of.to).map((of) => of.row)) + 1;
    extents.push({ from, to, row });
    return { at, text, row, toLeft };
  });
  return { placed, rows: Math.max(-1, ...placed.map(({ row }) => row)) + 1 };
}

/** The whole as one bar. */
export function budgetBar(budget: TimeBudget): HTMLElement {
  let x = 0;
  const thin: { part: BudgetPart; at: number }[] = [];
  const shapes: SVGElement[] = [];
  for (const part of budget.parts) {
    const width = part.share * WIDTH;
    shapes.push(box(part, x, width, HEIGHT, 'hatch-bar'));
    if (part.share >= INSIDE && part.part !== 'not-attributed' && part.name.length * LETTER + 20 <= width) {
      shapes.push(label(part, x + 10, 20, part.name, true), label(part, x + 10, 37, percent(part.share)));
    } else if (part.share >= LEADER) thin.push({ part, at: x + width / 2 });
    x += width;
  }
  const { placed, rows } = leaders(thin.map(({ part, at }) => ({ at, text: `${part.name} ${percent(part.share)}` })), WIDTH);
  for (const { at, text, row, toLeft } of placed) {
    const y = HEIGHT + 16 + row * ROW;
    const end = toLeft ? at - 10 : at + 10;
    shapes.push(
      svg('path', { d: `M${at} ${HEIGHT + 2} V${y} H${end}`, fill: 'none', stroke: 'var(--ink3)' }),
      svg('text', { x: toLeft ? end - 5 : end + 5, y: y + 4, class: 'tick', 'text-anchor': toLeft ? 'end' : 'start' }, text),
    );
  }
  const words = budget.parts.map((part) => `${part.name} ${percent(part.share)}`).join(', ');
  return h(
    'div',
    { class: 'budget' },
    h('p', { class: 'budget-head' }, h('strong', {}, 'Where the clients’ time went'), ` ${many(budget.clients, 'client')}${isWhole(budget) ? ` × ${significant(budget.elapsed_s)} s =` : ' till their ends:'} ${significant(budget.client_seconds, 4)} client-seconds, each in exactly one part, in the order of a request’s way`),
    h('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': words }, svg('svg', { class: 'budget-bar', width: WIDTH, height: HEIGHT + 10 + rows * ROW, viewBox: `0 0 ${WIDTH} ${HEIGHT + 10 + rows * ROW}`, 'aria-hidden': 'true' }, svg('defs', {}, hatching('hatch-bar')), ...shapes)),
  );
}

function table(budget: TimeBudget): HTMLElement {
  const sorted = [...budget.parts].sort((a, b) => Number(a.part === 'not-attributed') - Number(b.part === 'not-attributed') || b.share - a.share);
  const swatch = (part: BudgetPart): SVGElement => svg('svg', { class: 'swatch', width: 11, height: 11, 'aria-hidden': 'true' }, svg('rect', { width: 11, height: 11, fill: part.part === 'not-attributed' ? 'none' : `var(--${partColor(part.part)})`, 'fill-opacity': partOpacity(part.part), stroke: part.part === 'not-attributed' ? 'var(--ink3)' : 'none' }));
  const range = (part: BudgetPart): string => {
    if (part.interval !== null) return `${fixed(part.interval[0] * 100, 1)} to ${fixed(part.interval[1] * 100, 1)}`;
    return part.part === 'not-attributed' ? DASH : part.share < 0.02 ? 'under 2 %: none' : 'fewer than 5 blocks';
  };
  const each = (us: number | null): string => (us === null ? DASH : significant(us / 1000));
  const all = budget.parts.reduce((sum, part) => sum + (part.us_per_commit ?? 0), 0);
  const row = (name: Cell, share: string, interval: string, client_s: number, commit: string, source: string): Row => [name, h('td', { class: 'n strong' }, share), h('td', { class: 'n quiet' }, interval), fixed(client_s, 1), commit, source];
  return figureTable('Parts of the clients’ time', ['Part', ...nums('Of the time, %', '95 % interval, %', 'Client-seconds', 'A commit, ms'), 'Known from'], [
    ...sorted.map((part) => row([swatch(part), ' ', part.name], fixed(part.share * 100, 1), range(part), part.client_s, each(part.us_per_commit), part.source)),
    row('All parts', '100.0', DASH, budget.client_seconds, all > 0 ? each(all) : DASH, DASH),
  ]);
}

function added(budget: TimeBudget): HTMLElement {
  const head = h('h3', {}, 'What the generator adds');
  if (budget.added.length === 0) return h('div', {}, head, h('p', { class: 'sub' }, 'Not shown: too few transactions were followed; a percentile needs ten beyond it.'));
  return h(
    'div',
    {},
    head,
    figureTable(
      'What the generator adds: rows',
      ['Percentile', ...nums('Of those followed', 'Adds', 'At most', 'Share')],
      budget.added.map((row) => [row.percentile < 100 ? percentileName(row.percentile / 100) : 'max', ...[row.shown_us, row.adds_us, row.at_most_us].map((us) => join(time(us))), percent(row.share)]),
    ),
    h('p', { class: 'sub' }, 'From the run-queue wait of pgdyno’s threads and the place of each answer in its turn, of the transactions that were followed.'),
  );
}

function phases(budget: TimeBudget): Child {
  if (budget.phases.length === 0) return null;
  return h(
    'div',
    { class: 'phases' },
    h('h3', {}, 'By phase of the trial'),
    h('p', { class: 'sub' }, 'The same parts, order and scale.'),
    ...budget.phases.map((phase, at) => {
      const id = `hatch-phase-${at}`;
      const words = budget.parts.map((part, i) => `${part.name} ${percent(phase.shares[i])}`).join(', ');
      return h(
        'div',
        { class: 'phase' },
        h('div', { class: 'phase-name' }, h('strong', {}, phase.name), h('span', { class: 'sub' }, `${fixed(phase.from_us / 1e6, 0)} to ${fixed(phase.to_us / 1e6, 0)} s`)),
        h('div', { class: 'phase-bar', tabindex: 0, role: 'group', 'aria-label': words }, svg('svg', { width: WIDTH, height: 26, viewBox: `0 0 ${WIDTH} 26`, preserveAspectRatio: 'none', 'aria-hidden': 'true' }, svg('defs', {}, hatching(id)), ...rectangles(budget.parts, phase.shares, 26, id, 90))),
      );
    }),
  );
}

export function budgetSection(data: TrialData): Section | null {
  const { budget } = data;
  if (budget === undefined || budget === null || budget.parts.length === 0) return null;
  const unseen = budget.unseen === null ? null : h('p', { class: 'sub' }, h('strong', {}, 'The server’s parts are not known: '), budget.unseen);
  return section('time-budget', 'Time budget', 'Time budget', 'Every part with its figure, the largest first. What no source explains is shown, never spread over the others.', h('div', { class: 'two-columns wide-left' }, h('div', {}, table(budget), unseen), added(budget)), phases(budget));
}
