/**
 * Seconds put together into wider bins: which width a percentile takes, and what is in each bin.
 * Bins never straddle the end of the warm-up.
 */

import type { Packed } from '../data';
import { known, Sum } from './histogram';

/** Widths of bins, in seconds. */
export const STEPS = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800];
/** Beyond this a percentile over time says nothing any more. */
export const STEP_MAX = 30;

export interface Seconds {
  start_s: Float64Array;
  length_s: Float64Array;
  warmup: Uint8Array;
}

/** A bin is rows from..to (to left out). */
export interface Bin {
  from: number;
  to: number;
  start_s: number;
  end_s: number;
  warmup: boolean;
}

/** Rows of the timeline put into bins of this width, aligned to the clock of the run. */
export function bins(seconds: Seconds, step: number): Bin[] {
  const found: Bin[] = [];
  let key = NaN;
  let warm = -1;
  for (let row = 0; row < seconds.start_s.length; row += 1) {
    const start = seconds.start_s[row]!;
    const end = start + seconds.length_s[row]!;
    const cell = Math.floor((start + 1e-6) / step);
    const last = found[found.length - 1];
    if (last !== undefined && cell === key && seconds.warmup[row] === warm) {
      last.to = row + 1;
      last.end_s = end;
    } else {
      found.push({ from: row, to: row + 1, start_s: start, end_s: end, warmup: seconds.warmup[row] === 1 });
      key = cell;
      warm = seconds.warmup[row]!;
    }
  }
  return found;
}

/** Those of a range of time. */
export const binsIn = (seconds: Seconds, step: number, range: { from: number; to: number }): Bin[] => bins(seconds, step).filter((bin) => bin.end_s >= range.from && bin.start_s < range.to);

/** What a column comes to in a bin. */
export function sumIn(column: ArrayLike<number>, bin: Bin): number {
  let sum = 0;
  for (let row = bin.from; row < bin.to; row += 1) sum += column[row]!;
  return sum;
}

/** The narrowest step for a stretch of time in so many bins. */
export function stepFor(seconds: number, binsMax: number): number {
  return STEPS.find((step) => seconds / step <= binsMax) ?? STEPS[STEPS.length - 1]!;
}

/**
 * The narrowest step of at least `least` at which nine of ten bins with values in them have ten
 * beyond the percentile; `null` when there is none up to STEP_MAX (or `least` if that is wider).
 */
export function stepOfPercentile(seconds: Seconds, counts: ArrayLike<number>, p: number, least = 1): number | null {
  for (const step of STEPS.filter((s) => s >= least && s <= Math.max(STEP_MAX, least))) {
    let filled = 0;
    let enough = 0;
    const all = bins(seconds, step);
    for (const bin of all) {
      // What is left of a bin at the end of a phase decides nothing.
      if (all.length > 1 && bin.end_s - bin.start_s < step / 2) continue;
      const n = sumIn(counts, bin);
      if (n === 0) continue;
      filled += 1;
      if (known(n, p)) enough += 1;
    }
    if (filled > 0 && enough >= filled * 0.9) return step;
  }
  return null;
}

/** One percentile over time: a value or `null` for each bin. */
export function percentiles(
  binned: Bin[],
  packed: Packed[],
  max_us: ArrayLike<number | null>,
  sum: Sum,
  p: number,
): (number | null)[] {
  return binned.map((bin) => {
    sum.clear();
    let max = 0;
    for (let row = bin.from; row < bin.to; row += 1) {
      sum.add(packed[row]!);
      max = Math.max(max, max_us[row] ?? 0);
    }
    return sum.percentile(p, max > 0 ? max : Infinity);
  });
}

/** Rows of a heat map in a decade. */
export const ROWS_PER_DECADE = 10;

/** The row that a latency lies in. */
export const heatRow = (us: number): number => Math.floor(Math.log10(Math.max(us, 1)) * ROWS_PER_DECADE + 1e-9);

export interface Heat {
  /** The first row that has a value. */
  low: number;
  /** Rows. */
  rows: number;
  /** counts[second * rows + row − low]. */
  counts: Float64Array;
}

/** Seconds by rows of a heat map. */
export function heat(packed: Packed[], buckets_us: number[]): Heat {
  const rowOf = buckets_us.map(heatRow);
  let low = Infinity;
  let high = -Infinity;
  for (const second of packed) {
    if (second.length < 2) continue;
    let bucket = 0;
    for (let i = 0; i < second.length; i += 2) bucket += second[i]!;
    low = Math.min(low, rowOf[second[0]!] ?? low);
    high = Math.max(high, rowOf[bucket] ?? high);
  }
  if (!Number.isFinite(low)) return { low: 0, rows: 0, counts: new Float64Array(0) };
  const rows = high - low + 1;
  const counts = new Float64Array(packed.length * rows);
  packed.forEach((second, index) => {
    let bucket = 0;
    for (let i = 0; i + 1 < second.length; i += 2) {
      bucket += second[i]!;
      const row = rowOf[bucket];
      if (row !== undefined) counts[index * rows + row - low]! += second[i + 1]!;
    }
  });
  return { low, rows, counts };
}

/**
 * A line thinned to about two points a pixel: the least and the greatest of each pixel stay, in
 * their order, and so does every gap. Nothing is averaged.
 */
export function thin(
  x: ArrayLike<number>,
  y: ArrayLike<number | null>,
  from: number,
  to: number,
  pixels: number,
): [number, number | null][] {
  const out: [number, number | null][] = [];
  let first = lower(x, from);
  let last = lower(x, to);
  // One point beyond each end, so that lines leave the picture.
  first = Math.max(0, first - 1);
  last = Math.min(x.length - 1, last + 1);
  if (last - first < pixels * 2) {
    for (let i = first; i <= last; i += 1) out.push([x[i]!, y[i] ?? null]);
    return out;
  }
  const width = (to - from) / pixels;
  let i = first;
  while (i <= last) {
    const cell = Math.floor((x[i]! - from) / width);
    let least = -1;
    let most = -1;
    let gap = -1;
    while (i <= last && Math.floor((x[i]! - from) / width) === cell) {
      const value = y[i];
      if (value === null || value === undefined) gap = i;
      else {
        if (least < 0 || value < y[least]!) least = i;
        if (most < 0 || value > y[most]!) most = i;
      }
      i += 1;
    }
    const keep = [...new Set([least, most, gap])].filter((k) => k >= 0).sort((a, b) => a - b);
    for (const k of keep) out.push([x[k]!, y[k] ?? null]);
  }
  return out;
}

/** The first index whose value is not below. */
export function lower(sorted: ArrayLike<number>, value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
