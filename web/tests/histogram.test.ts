import { describe, expect, it } from 'vitest';
import { curve, curveAt, known, needed, percentile, slower, Sum, total } from '../src/pure/histogram';

describe('a percentile', () => {
  it('needs ten values beyond it', () => {
    expect(known(1000, 0.99)).toBe(true);
    expect(known(999, 0.99)).toBe(false);
    expect(known(20, 0.5)).toBe(true);
    expect(needed(0.99)).toBe(1000);
    expect(needed(0.999)).toBe(10000);
    expect(needed(0.99999)).toBe(1_000_000);
    expect(needed(0.999999)).toBe(10_000_000);
  });
  it('is the end of the bucket that its rank lies in', () => {
    const histogram = { value_us: [10, 20, 30], count: [500, 490, 10], max_us: 30 };
    expect(total(histogram)).toBe(1000);
    expect(percentile(histogram, 0.5)).toBe(10);
    expect(percentile(histogram, 0.501)).toBe(20);
    expect(percentile(histogram, 0.99)).toBe(20);
    expect(slower(1000, 0.99)).toBe(10);
  });
  it('is never above the greatest value', () => {
    expect(percentile({ value_us: [1023], count: [100], max_us: 1000 }, 0.5)).toBe(1000);
  });
  it('is not known of too few', () => expect(percentile({ value_us: [10], count: [19], max_us: 10 }, 0.5)).toBeNull());
});

describe('a sum of histograms', () => {
  const buckets = [10, 20, 30, 40];
  it('merges packed ones, by gaps between buckets', () => {
    const sum = new Sum(buckets);
    sum.add([0, 5, 3, 1]);
    sum.add([1, 20]);
    sum.add([]);
    expect([...sum.counts]).toEqual([5, 20, 0, 1]);
    expect(sum.total).toBe(26);
    expect(sum.percentile(0.5)).toBe(20);
    expect(sum.percentile(0.99)).toBeNull();
    expect(sum.above(20)).toBe(1);
  });
  it('is empty after it was cleared', () => {
    const sum = new Sum(buckets);
    sum.add([2, 30]);
    sum.clear();
    expect([...sum.counts]).toEqual([0, 0, 0, 0]);
    expect(sum.percentile(0.5)).toBeNull();
    sum.add([0, 30]);
    expect(sum.percentile(0.5)).toBe(10);
  });
  it('survives a bucket that there is not', () => {
    const sum = new Sum(buckets);
    sum.add([9, 1]);
    expect(sum.total).toBe(0);
  });
  it('is not the mean of percentiles', () => {
    // Of 100 fast and 100 slow ones half are fast: a mean of medians would lie between.
    const sum = new Sum(buckets);
    sum.add([0, 100]);
    sum.add([3, 100]);
    expect(sum.percentile(0.5)).toBe(10);
    expect(sum.percentile(0.55)).toBe(40);
  });
});

describe('the curve', () => {
  const histogram = { value_us: [10, 20, 1000], count: [900, 95, 5], max_us: 990 };
  it('ends where ten values remain', () => {
    const { points, end } = curve(histogram);
    expect(end!.p).toBeCloseTo(0.99);
    expect(end!.us).toBe(20);
    expect(points.map((p) => p.us)).toEqual([10, 20]);
  });
  it('is read by the bucket that holds a rank', () => {
    const { points, end } = curve(histogram);
    expect(curveAt(points, 0.3)).toBe(10);
    expect(curveAt(points, 1)).toBe(10);
    expect(curveAt(points, 1.01)).toBe(20);
    expect(curveAt(points, end!.x + 0.1)).toBeNull();
  });
  it('is none of ten values', () => expect(curve({ value_us: [5], count: [10], max_us: 5 }).end).toBeNull());
});
