/**
 * Histograms: merged, never averaged. A percentile needs ten values beyond it; else it is not
 * known. The same arithmetic as pgdyno's own (HdrHistogram's value at a quantile), so that figures
 * of the page and of the terminal are the same.
 */

import type { Histogram, Packed } from '../data';

export const BEYOND = 10;

/** Whether enough values lie beyond this percentile. */
export function known(total: number, p: number): boolean {
  // The tolerance is for products such as 1000 × 0.01.
  return total * (1 - p) + 1e-6 >= BEYOND;
}

/** How many values it takes for this percentile. */
export const needed = (p: number): number => Math.ceil((BEYOND / (1 - p)) * (1 - 1e-9));

/** Of counted values the one at a percentile, in buckets `low` to `high`. */
function ranked(counts: ArrayLike<number>, values_us: number[], all: number, p: number, max_us: number, low = 0, high = counts.length - 1): number | null {
  if (!known(all, p)) return null;
  const rank = Math.max(1, Math.ceil(p * all - 1e-9));
  let seen = 0;
  for (let i = low; i <= high; i += 1) {
    seen += counts[i]!;
    if (seen >= rank) return Math.min(values_us[i]!, max_us);
  }
  return null;
}

/** A histogram over given buckets, to add others to. */
export class Sum {
  readonly counts: Float64Array;
  total = 0;
  private low: number;
  private high = -1;

  constructor(readonly buckets_us: number[]) {
    this.counts = new Float64Array(buckets_us.length);
    this.low = buckets_us.length;
  }

  clear(): void {
    if (this.high >= this.low) this.counts.fill(0, this.low, this.high + 1);
    this.total = 0;
    this.low = this.buckets_us.length;
    this.high = -1;
  }

  add(packed: Packed): void {
    let bucket = 0;
    for (let i = 0; i + 1 < packed.length; i += 2) {
      bucket += packed[i]!;
      const n = packed[i + 1]!;
      if (bucket >= this.counts.length) return;
      this.counts[bucket]! += n;
      this.total += n;
    }
    if (packed.length >= 2) {
      this.low = Math.min(this.low, packed[0]!);
      this.high = Math.max(this.high, bucket);
    }
  }

  /** null: not ten values beyond it. `max_us` bounds it, as a bucket's end may lie above. */
  percentile(p: number, max_us = Infinity): number | null {
    return ranked(this.counts, this.buckets_us, this.total, p, max_us, this.low, this.high);
  }

  /** Values in buckets that end above this. */
  above(us: number): number {
    let n = 0;
    for (let i = this.high; i >= this.low && this.buckets_us[i]! > us; i -= 1) n += this.counts[i]!;
    return n;
  }
}

export function total(histogram: Histogram): number {
  return histogram.count.reduce((sum, n) => sum + n, 0);
}

/** Of a whole histogram. */
export function percentile(histogram: Histogram, p: number): number | null {
  return ranked(histogram.count, histogram.value_us, total(histogram), p, histogram.max_us ?? Infinity);
}

/** How many values are slower than the given percentile's rank. */
export const slower = (all: number, p: number): number => all - Math.max(1, Math.ceil(p * all - 1e-9));

export interface CurvePoint {
  /** −log10(1 − p). */
  x: number;
  p: number;
  us: number;
}

/**
 * The percentile curve, from the median's side of 0 to where ten values remain. `end` is the last
 * percentile shown, `null` when there are not twenty values.
 */
export function curve(histogram: Histogram): { points: CurvePoint[]; end: CurvePoint | null } {
  const all = total(histogram);
  const points: CurvePoint[] = [];
  let seen = 0;
  const last = all - BEYOND;
  for (let i = 0; i < histogram.count.length; i += 1) {
    const from = seen;
    seen += histogram.count[i]!;
    const us = Math.min(histogram.value_us[i]!, histogram.max_us ?? Infinity);
    const upTo = Math.min(seen, last);
    if (upTo <= 0 || from > last) break;
    // A step: the bucket holds from the rank behind the one before.
    const share = upTo / all;
    points.push({ x: -Math.log10(1 - share), p: share, us });
    if (seen >= last) break;
  }
  return { points, end: points[points.length - 1] ?? null };
}

/** The value of a curve at x, by the bucket that holds it. */
export function curveAt(points: CurvePoint[], x: number): number | null {
  let low = 0;
  let high = points.length - 1;
  if (high < 0 || x > points[high]!.x + 1e-9) return null;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle]!.x >= x - 1e-9) high = middle;
    else low = middle + 1;
  }
  return points[low]!.us;
}
