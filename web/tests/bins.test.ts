import { describe, expect, it } from 'vitest';
import { bins, heat, heatRow, lower, percentiles, stepFor, stepOfPercentile, thin, type Seconds } from '../src/pure/bins';
import { Sum } from '../src/pure/histogram';
import { means, rates, small } from '../src/pure/stack';

const seconds = (n: number, warmup = 0, from = 0): Seconds => ({
  start_s: Float64Array.from({ length: n }, (_, i) => from + i),
  length_s: new Float64Array(n).fill(1),
  warmup: Uint8Array.from({ length: n }, (_, i) => (i < warmup ? 1 : 0)),
});

describe('bins', () => {
  it('are aligned to the clock of the run', () => {
    expect(bins(seconds(7, 0, 3), 5).map((b) => [b.from, b.to, b.start_s, b.end_s])).toEqual([
      [0, 2, 3, 5],
      [2, 7, 5, 10],
    ]);
  });
  it('never straddle the end of the warm-up', () => {
    expect(bins(seconds(10, 3), 5).map((b) => [b.from, b.to, b.warmup])).toEqual([
      [0, 3, true],
      [3, 5, false],
      [5, 10, false],
    ]);
  });
  it('are as narrow as fits', () => {
    expect(stepFor(300, 900)).toBe(1);
    expect(stepFor(7200, 900)).toBe(10);
  });
});

describe('the step of a percentile', () => {
  it('is the narrowest with ten values beyond it in nine of ten bins', () => {
    const counts = new Array<number>(60).fill(800);
    expect(stepOfPercentile(seconds(60), counts, 0.5)).toBe(1);
    expect(stepOfPercentile(seconds(60), counts, 0.99)).toBe(2);
    expect(stepOfPercentile(seconds(60), counts, 0.999)).toBe(30);
    expect(stepOfPercentile(seconds(60), counts, 0.9999)).toBeNull();
  });
  it('is at least as wide as asked for', () => expect(stepOfPercentile(seconds(600), new Array<number>(600).fill(10000), 0.5, 60)).toBe(60));
  it('is not decided by what is left of a bin at the end', () => {
    expect(stepOfPercentile(seconds(61), [...new Array<number>(60).fill(400), 1], 0.99, 5)).toBe(5);
  });
  it('of a run without transactions is none', () => expect(stepOfPercentile(seconds(5), [0, 0, 0, 0, 0], 0.5)).toBeNull());
});

describe('percentiles over time', () => {
  it('merge the histograms of a bin, bounded by its worst', () => {
    const packed = [[0, 20], [1, 20], [], [0, 5]];
    const found = percentiles(bins(seconds(4), 2), packed, [9, 19, null, 9], new Sum([10, 20]), 0.5);
    expect(found).toEqual([10, null]);
  });
});

describe('the heat map', () => {
  it('has ten rows a decade', () => {
    expect(heatRow(1000)).toBe(30);
    expect(heatRow(999)).toBe(29);
    expect(heatRow(1259)).toBe(31);
  });
  it('counts each second’s values by row', () => {
    const found = heat([[0, 2, 1, 3], [], [1, 7]], [1000, 10000]);
    expect(found.low).toBe(30);
    expect(found.rows).toBe(11);
    expect(found.counts[0]).toBe(2);
    expect(found.counts[10]).toBe(3);
    expect(found.counts[2 * 11 + 10]).toBe(7);
    expect(found.counts.reduce((a, b) => a + b, 0)).toBe(12);
  });
  it('of nothing is nothing', () => expect(heat([[], []], [1]).rows).toBe(0));
});

describe('a thinned line', () => {
  const x = Array.from({ length: 10000 }, (_, i) => i);
  it('keeps the least, the greatest and the gaps of each pixel', () => {
    const y: (number | null)[] = x.map(() => 5);
    y[4321] = 99;
    y[4333] = -7;
    y[7000] = null;
    const points = thin(x, y, 0, 9999, 100);
    expect(points.length).toBeLessThan(400);
    expect(points.some(([, v]) => v === 99)).toBe(true);
    expect(points.some(([, v]) => v === -7)).toBe(true);
    expect(points.some(([at, v]) => at === 7000 && v === null)).toBe(true);
  });
  it('is left alone where there is room, with a point beyond each end', () => {
    expect(thin(x, x, 10, 20, 800).map(([at]) => at)).toEqual([9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21]);
  });
  it('is searched by halves', () => expect([lower(x, 17), lower(x, 17.5), lower(x, 1e9), lower([], 1)]).toEqual([17, 18, 10000, 0]));
});

describe('stacks', () => {
  it('are rates a second of what fell into a column, or counts', () => {
    const of = seconds(4);
    expect(rates(of, [[1, 3, 5, 7]], 2, { from: 0, to: 4 }).map((c) => c.values)).toEqual([[2], [6]]);
    expect(rates(of, [[1, 3, 5, 7]], 2, { from: 0, to: 4 }, false).map((c) => c.values)).toEqual([[4], [12]]);
  });
  it('are means of readings; a column without one is a gap', () => {
    expect(means([0, 1, 2, 3], [[2, 4, null, null]], { from: 0, to: 3 }, 2).map((c) => c.values)).toEqual([[3], [null]]);
  });
  it('put small parts together', () => expect(small([90, 9.5, 0.5], 0.01)).toEqual({ stay: [0, 1], merge: [2] }));
});
