/** Where axes have their marks: round numbers, whole decades, round times. */

import { clock, count, fixed } from './format';

/** Steps of 1, 2 or 5 times a power of ten, about `about` of them. */
export function step(range: number, about: number): number {
  if (!(range > 0)) return 1;
  const rough = range / Math.max(1, about);
  const power = 10 ** Math.floor(Math.log10(rough));
  const lead = rough / power;
  return (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10) * power;
}

/** A linear axis from 0 (or from a round number below `low`) to a round number above `high`. */
export function linear(high: number, about = 4, low = 0): { min: number; max: number; step: number } {
  const min0 = Math.min(low, high);
  const range = high - min0;
  const by = step(range > 0 ? range : Math.abs(high) || 1, about);
  const min = Math.floor(min0 / by + 1e-9) * by;
  let max = Math.ceil(high / by - 1e-9) * by;
  if (max <= min) max = min + by;
  return { min, max, step: by };
}

/** The ticks between, ends included. */
export function between(min: number, max: number, by: number): number[] {
  const ticks: number[] = [];
  for (let i = Math.ceil(min / by - 1e-9); i * by <= max + by * 1e-9; i += 1) ticks.push(Number((i * by).toPrecision(12)));
  return ticks;
}

/** Labels of a linear axis: as many decimals as its step needs. */
export function linearLabel(value: number, by: number): string {
  const decimals = Math.max(0, -Math.floor(Math.log10(by) + 1e-9));
  return decimals === 0 ? count(value) : fixed(value, decimals);
}

/** Whole decades around values. */
export function decades(low: number, high: number): { min: number; max: number } {
  const min = Math.floor(Math.log10(Math.max(low, 1e-9)) + 1e-9);
  let max = Math.ceil(Math.log10(Math.max(high, 1e-9)) - 1e-9);
  if (max <= min) max = min + 1;
  return { min: 10 ** min, max: 10 ** max };
}

/** A log tick in µs as a whole number of its unit: `10 ms`. */
export function timeTick(us: number): string {
  const unit: [number, string] = us >= 0.9995e6 ? [1e6, 's'] : us >= 999.5 ? [1e3, 'ms'] : [1, 'µs'];
  const value = us / unit[0];
  return `${value >= 1 ? count(value) : String(Number(value.toPrecision(2)))}\u00a0${unit[1]}`;
}

const TIMES = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400];

/** The step of a time axis with at most so many ticks. */
export function timeStep(seconds: number, most: number): number {
  return TIMES.find((by) => seconds / by <= most) ?? TIMES[TIMES.length - 1]!;
}

/** Round moments in a range, with their labels. */
export function timeTicks(from: number, to: number, most: number): { at: number; label: string }[] {
  const by = timeStep(to - from, most);
  const decimals = by < 1 ? 1 : 0;
  return between(from, to, by).map((at) => ({ at, label: clock(at, decimals) }));
}

/** Ticks of a percentile axis (x = −log10(1 − p)): 50 %, 90 %, 99 % … up to where there is data. */
export function percentileTicks(end: number): { x: number; p: number; label: string }[] {
  const all: [number, string][] = [
    [0.5, '50\u00a0%'],
    [0.9, '90\u00a0%'],
    [0.99, '99\u00a0%'],
    [0.999, '99.9\u00a0%'],
    [0.9999, '99.99\u00a0%'],
    [0.99999, '99.999\u00a0%'],
    [0.999999, '99.9999\u00a0%'],
  ];
  return all.map(([p, label]) => ({ x: -Math.log10(1 - p), p, label })).filter((tick) => tick.x <= end + 1e-9);
}
