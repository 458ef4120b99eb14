/** Stacks over time: columns wide enough to be seen, sums or means of what fell into each. */

import { binsIn, lower, sumIn, type Seconds } from './bins';

export interface Column {
  from: number;
  to: number;
  /** A value for each part; null: nothing is known of that time. */
  values: (number | null)[];
}

/** Counts of seconds in columns of `step` seconds, as rates a second or as they are. */
export function rates(seconds: Seconds, parts: ArrayLike<number>[], step: number, range: { from: number; to: number }, perSecond = true): Column[] {
  return binsIn(seconds, step, range).map((bin) => {
    const length_s = perSecond ? sumIn(seconds.length_s, bin) : 1;
    return { from: bin.start_s, to: bin.end_s, values: parts.map((part) => (length_s > 0 ? sumIn(part, bin) / length_s : null)) };
  });
}

/**
 * Readings (averages themselves) put together to at most so many columns, each the mean of its
 * readings. A column without a reading is null.
 */
export function means(at: ArrayLike<number>, parts: ArrayLike<number | null>[], range: { from: number; to: number }, most: number): Column[] {
  const first = Math.max(0, lower(at, range.from) - 1);
  const last = Math.min(at.length - 1, lower(at, range.to));
  const by = Math.max(1, Math.ceil((last - first + 1) / most));
  const columns: Column[] = [];
  // Aligned to the readings' own numbers, so that a column does not change while one scrolls.
  for (let i = first - (first % by); i <= last; i += by) {
    const end = Math.min(i + by, at.length);
    const values = parts.map((part) => {
      let sum = 0;
      let n = 0;
      for (let k = i; k < end; k += 1) {
        const value = part[k];
        if (value !== null && value !== undefined) {
          sum += value;
          n += 1;
        }
      }
      return n === 0 ? null : sum / n;
    });
    columns.push({ from: at[i]!, to: at[end - 1]!, values });
  }
  return columns;
}

/** Which readings are within a range. */
export function readIn(at: ArrayLike<number>, range: { from: number; to: number }): number[] {
  const first = lower(at, range.from);
  return Array.from({ length: Math.max(0, lower(at, range.to + 1e-9) - first) }, (_, i) => first + i);
}

/** The mean of the readings from one time to another; null: there is none. */
export function meanOf(at: ArrayLike<number>, values: ArrayLike<number | null>, from: number, to: number): number | null {
  const known = readIn(at, { from, to }).flatMap((k) => values[k] ?? []);
  return known.length === 0 ? null : known.reduce((a, b) => a + b, 0) / known.length;
}

/**
 * Parts below a share of the whole are merged: their indexes, and those that stay. The order is
 * kept.
 */
export function small(totals: number[], share: number): { stay: number[]; merge: number[] } {
  const all = totals.reduce((a, b) => a + b, 0);
  const stay: number[] = [];
  const merge: number[] = [];
  totals.forEach((n, i) => (n >= all * share ? stay : merge).push(i));
  return { stay, merge };
}
