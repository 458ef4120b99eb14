/** Bars in the cells of a table: a figure over its repeats, on an axis that its column has in common. */

import type { FigureBar, Tone } from '../data';
import { change } from '../pure/format';
import { between, linear, linearLabel } from '../pure/ticks';
import { h } from '../page/dom';

/** What a column has in common. */
export interface Axis {
  track: (bar: FigureBar | null, text: string, tone: Tone) => HTMLElement;
  ticks: () => HTMLElement;
  /** Whether its ticks are below the table. */
  isBelow: boolean;
}

/** The share of an axis that a figure needs beside its bar. */
const ROOM = 0.4;
const at = (share: number): string => `${(share * 100).toFixed(2)}%`;

/**
 * The place of the figure of a bar from `low` to `high`, beside it on the side that has room: the distance from
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
const barOf = ({ value, low, high }: FigureBar): { low: number; high: number } | null => (value === null ? null : { low: Math.min(low ?? value, value), high: Math.max(high ?? value, value) });

/** From 0, with the figure beside each bar. */
export function axisOf(bars: FigureBar[]): Axis {
  const most = Math.max(0, ...bars.flatMap((bar) => [bar.value ?? 0, bar.high ?? 0, ...bar.repeats]));
  // Of nothing but noughts the axis is 0 to 1.
  const { max, step } = axisWithRoom(bars.map(barOf).filter((bar) => bar !== null), most > 0 ? most * 1.02 : 1);
  const marks = between(0, max, step);
  const x = (v: number): number => Math.max(0, Math.min(1, v / max));
  return {
    isBelow: true,
    track: (of, text, tone) => {
      const bar = of === null ? null : barOf(of);
      const grid = marks.map((v) => h('span', { class: 'track-grid', style: { left: at(v / max) } }));
      if (of === null || bar === null) return h('div', { class: 'track' }, ...grid, h('span', { class: 'track-value', style: { left: '4px' } }, text));
      const [low, high] = [x(bar.low), x(bar.high)];
      const beside = placeOfText(low, high);
      return h(
        'div',
        { class: tone === 'good' ? 'track best' : 'track' },
        ...grid,
        h('span', { class: 'track-bar', style: { left: at(low), width: at(high - low) } }),
        h('span', { class: 'track-median', style: { left: at(x(of.value!)) } }),
        ...of.repeats.map((dot) => h('span', { class: 'track-dot', style: { left: at(x(dot)) } })),
        h('span', { class: 'track-value', style: 'left' in beside ? { left: `calc(${at(beside.left)} + 7px)` } : { right: `calc(${at(beside.right)} + 7px)` } }, text),
      );
    },
    ticks: () => {
      const last = marks.length - 1;
      // On a phone long labels have room at the ends and in the middle alone.
      const isLong = linearLabel(max, step).length > 5;
      const shown = marks.filter((_, k) => !isLong || k === 0 || k === last || 2 * k === last);
      return h('div', { class: 'track ticks' }, ...shown.map((v) => h('span', { class: v === 0 ? 'tick first' : v === marks[last] ? 'tick last' : 'tick', style: { left: at(v / max) } }, linearLabel(v, step))));
    },
  };
}

/** Round ratios, as shares above 1: of those as many as have room are marked. */
const ROUND = [0.01, 0.1, 0.2, 0.5, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2, 3, 5, 10, 30, 100, 1000].map((ratio) => ratio - 1);

/** Places on an axis of ratios, in logarithms: twice as much is as far as half as much. */
export function ratioPlaces(shares: number[]): { x: (share: number) => number; marks: number[] } {
  const log = (share: number): number => Math.log(Math.max(1e-3, 1 + share));
  const low = ROUND.filter((v) => v <= Math.min(0, ...shares)).at(-1) ?? ROUND[0]!;
  const high = ROUND.find((v) => v >= Math.max(0.1, ...shares)) ?? ROUND.at(-1)!;
  const x = (share: number): number => Math.max(0, Math.min(1, (log(share) - log(low)) / (log(high) - log(low))));
  const marks: number[] = [0];
  // Both ends and "same" first, then what has room between.
  for (const v of [high, low, ...ROUND]) if (v >= low && v <= high && marks.every((other) => Math.abs(x(v) - x(other)) > 0.2)) marks.push(v);
  return { x, marks: marks.sort((a, b) => a - b) };
}

/** By what share one exceeds another. */
export function ratioAxis(bars: FigureBar[]): Axis {
  const { x, marks } = ratioPlaces(bars.flatMap(({ low, high }) => (low === null || high === null ? [] : [low, high])));
  return {
    isBelow: false,
    track: (of, _, tone) =>
      h(
        'div',
        { class: tone === 'good' ? 'track pair sure' : 'track pair' },
        ...marks.map((v) => h('span', { class: v === 0 ? 'track-grid same' : 'track-grid', style: { left: at(x(v)) } })),
        of !== null && of.low !== null && of.high !== null && h('span', { class: 'track-bar', style: { left: at(x(of.low)), width: at(x(of.high) - x(of.low)) } }),
        of !== null && of.value !== null && h('span', { class: 'track-median', style: { left: at(x(of.value)) } }),
      ),
    ticks: () => h('div', { class: 'track ticks' }, ...marks.map((v) => h('span', { class: x(v) < 0.05 ? 'tick first' : x(v) > 0.95 ? 'tick last' : 'tick', style: { left: at(x(v)) } }, v === 0 ? 'same' : change(v).replace('.0', '')))),
  };
}
