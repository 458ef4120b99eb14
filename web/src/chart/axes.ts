/** Axes as all charts have them: hairlines, round ticks, labels in the third ink. */

import { token } from '../page/theme';
import { decades, linearLabel, timeTick, timeTicks } from '../pure/ticks';

export const LEFT = 54;
export const RIGHT = 14;

type Axis = Record<string, unknown>;

const label = (): Axis => ({ color: token('ink3'), fontSize: 11.5 });
const split = (show = true): Axis => ({ show, lineStyle: { color: token('line1'), width: 1 } });
const line = (show: boolean): Axis => ({ show, onZero: false, lineStyle: { color: token('line2'), width: 1 } });

/** Linear, ticks every `by`. */
export function linearAxis(min: number, max: number, by: number, more: Axis = {}): Axis {
  return {
    type: 'value',
    min,
    max,
    interval: by,
    axisLabel: { ...label(), formatter: (value: number) => linearLabel(value, by) },
    axisTick: { show: false },
    axisLine: line(false),
    splitLine: split(),
    ...more,
  };
}

/**
 * Log of microseconds, whole decades: data are given as log10(µs), because drawing in plain
 * coordinates lets bands and areas end where they should.
 */
export function logAxis(low_us: number, high_us: number, more: Axis = {}): Axis & { min: number; max: number } {
  const { min, max } = decades(low_us, high_us);
  const [from, to] = [Math.log10(min), Math.log10(max)];
  return {
    type: 'value',
    min: from,
    max: to,
    interval: 1,
    axisLabel: { ...label(), formatter: (value: number) => (Math.abs(value - Math.round(value)) < 1e-6 ? timeTick(10 ** value) : '') },
    axisTick: { show: false },
    axisLine: line(false),
    splitLine: split(),
    minorTick: { show: false },
    ...more,
  } as Axis & { min: number; max: number };
}

export const log = (us: number | null | undefined): number | null => (us === null || us === undefined || us <= 0 ? null : Math.log10(us));

/** Time in seconds; labels only where asked for. */
export function timeAxis(from: number, to: number, width: number, labels: boolean): Axis {
  const ticks = timeTicks(from, to, Math.max(2, Math.floor(width / 90)));
  const by = ticks.length > 1 ? ticks[1]!.at - ticks[0]!.at : to - from || 1;
  const names = new Map(ticks.map((tick) => [Math.round(tick.at * 1000), tick.label]));
  return {
    type: 'value',
    min: from,
    max: to,
    // Ticks of our own: those of the library begin at the edge and not at a round moment.
    axisLabel: { ...label(), show: labels, customValues: ticks.map((t) => t.at), formatter: (value: number) => names.get(Math.round(value * 1000)) ?? '', hideOverlap: true },
    axisTick: { show: labels, customValues: ticks.map((t) => t.at), lineStyle: { color: token('line2') }, length: 4 },
    axisLine: line(labels),
    splitLine: { ...split(), show: false },
    interval: by,
  };
}

/** Equally spaced categories. */
export function categories(names: string[], more: Axis = {}): Axis {
  return {
    type: 'category',
    data: names,
    boundaryGap: true,
    axisLabel: { ...label(), interval: 0, lineHeight: 15, hideOverlap: true },
    axisTick: { show: false },
    axisLine: line(true),
    splitLine: { show: false },
    ...more,
  };
}

/** A name below or beside an axis. */
export const named = (name: string, gap: number): Axis => ({ name, nameLocation: 'middle', nameGap: gap, nameTextStyle: { color: token('ink3'), fontSize: 11.5 } });
