/** Stacks over time: columns wide enough to be seen, sums or means of what fell into each. */

import { lower } from './bins';

export interface Column {
  from: number;
  to: number;
  /** A value for each part; null: nothing is known of that time. */
  values: (number | null)[];
}

/** Counts of seconds in columns of `step` seconds, as rates a second or as they are. */
export function rates(
  start_s: ArrayLike<number>,
  length_s: ArrayLike<number>,
  parts: ArrayLike<number>[],
  step: number,
  range: { from: number; to: number },
  perSecond = true,
): Column[] {
  const columns: Column[] = [];
  let row = Math.max(0, lower(start_s, range.from - step));
  while (row < start_s.length && start_s[row]! < range.to) {
    const cell = Math.floor((start_s[row]! + 1e-6) / step);
    const from = start_s[row]!;
    const sums = parts.map(() => 0);
    let seconds = 0;
    let to = from;
    while (row < start_s.length && Math.floor((start_s[row]! + 1e-6) / step) === cell) {
      parts.forEach((part, i) => (sums[i]! += part[row]!));
      seconds += length_s[row]!;
      to = start_s[row]! + length_s[row]!;
      row += 1;
    }
    if (to >= range.from && seconds > 0) columns.push({ from, to, values: sums.map((sum) => (perSecond ? sum / seconds : sum)) });
  }
  return columns;
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
