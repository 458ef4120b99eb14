import { describe, expect, it } from 'vitest';
import { Bus, clamp, fromHash, toHash } from '../src/pure/bus';
import { contrast, inkOn, luminance, mix } from '../src/pure/color';
import { csv, fileName } from '../src/pure/csv';
import { pushApart } from '../src/pure/labels';
import { between, decades, linear, linearLabel, percentileTicks, timeTick, timeTicks } from '../src/pure/ticks';

describe('ticks', () => {
  it('are round and reach beyond the data', () => {
    expect(linear(4350, 4)).toEqual({ min: 0, max: 6000, step: 2000 });
    expect(linear(0.37, 2)).toEqual({ min: 0, max: 0.4, step: 0.2 });
    expect(linear(0).max).toBeGreaterThan(0);
    expect(linear(7700, 4, 6900).min).toBeGreaterThan(6000);
  });
  it('have the decimals of their step', () => {
    expect(between(0, 0.4, 0.2)).toEqual([0, 0.2, 0.4]);
    expect(linearLabel(0.4, 0.2)).toBe('0.4');
    expect(linearLabel(4000, 2000)).toBe('4,000');
  });
  it('of a log axis are whole decades', () => {
    expect(decades(1500, 1_310_000)).toEqual({ min: 1000, max: 10_000_000 });
    expect(decades(1000, 10000)).toEqual({ min: 1000, max: 10000 });
    expect(timeTick(10000)).toBe('10\u00a0ms');
    expect(timeTick(1e6)).toBe('1\u00a0s');
    expect(timeTick(100)).toBe('100\u00a0µs');
  });
  it('of time stand at round moments, not at the edge', () => {
    expect(timeTicks(3.2, 61, 4).map((t) => t.label)).toEqual(['00:15', '00:30', '00:45', '01:00']);
  });
  it('of percentiles end where the data do', () => expect(percentileTicks(3.1).map((t) => t.p)).toEqual([0.5, 0.9, 0.99, 0.999]));
});

describe('labels', () => {
  it('that have room stay', () => expect(pushApart([10, 50, 90], 15, 0, 100)).toEqual([10, 50, 90]));
  it('that touch are pushed apart around their middle', () => expect(pushApart([50, 50], 15, 0, 100)).toEqual([42.5, 57.5]));
  it('keep their order and their distance, within the box', () => {
    const placed = pushApart([99, 98, 97, 3, 1], 15, 0, 100);
    expect(placed).toEqual([100, 85, 70, 15, 0]);
    const sorted = [...placed].sort((a, b) => a - b);
    for (let i = 1; i < sorted.length; i += 1) expect(sorted[i]! - sorted[i - 1]!).toBeGreaterThanOrEqual(15 - 1e-9);
  });
  it('form one block when blocks meet', () => {
    const placed = pushApart([10, 12, 30, 31], 15, 0, 200);
    expect([...placed].sort((a, b) => a - b)).toEqual(placed);
    expect(placed[1]! - placed[0]!).toBeCloseTo(15);
  });
});

describe('the bus of time', () => {
  const whole = { from: 0, to: 300 };
  it('tells of the range once, to all', () => {
    const bus = new Bus(whole);
    let told = 0;
    bus.subscribe(() => (told += 1));
    bus.subscribe(() => (told += 1));
    bus.zoom(20, 10);
    expect(bus.range).toEqual({ from: 10, to: 20 });
    bus.zoom(10, 20);
    expect(told).toBe(2);
    bus.reset();
    expect(bus.isWhole).toBe(true);
  });
  it('is never narrower than four seconds nor beyond the run', () => {
    expect(clamp({ from: 10, to: 11 }, whole)).toEqual({ from: 8.5, to: 12.5 });
    expect(clamp({ from: -10, to: 1 }, whole)).toEqual({ from: 0, to: 4 });
    expect(clamp({ from: 299, to: 900 }, whole)).toEqual({ from: 296, to: 300 });
    expect(clamp({ from: 0, to: 1 }, { from: 0, to: 2 })).toEqual({ from: 0, to: 2 });
  });
  it('zooms around the cursor, and shifts without changing its width', () => {
    const bus = new Bus(whole);
    bus.point(100);
    bus.scale(0.5);
    expect(bus.range).toEqual({ from: 50, to: 200 });
    bus.shift(10);
    expect(bus.range).toEqual({ from: 150, to: 300 });
    bus.scale(100);
    expect(bus.isWhole).toBe(true);
  });
  it('is kept in the address beside the section', () => {
    expect(toHash('latency', { from: 10, to: 60.5 })).toBe('#latency&t=10~60.5');
    expect(fromHash('#latency&t=10~60.5')).toEqual({ section: 'latency', range: { from: 10, to: 60.5 }, trial: null });
    expect(toHash('latency', null, 12)).toBe('#trial=12&latency');
    expect(fromHash('#trial=12&latency')).toEqual({ section: 'latency', range: null, trial: 12 });
    expect(fromHash('#trial=x').trial).toBeNull();
    expect(fromHash('#t=9~3')).toEqual({ section: null, range: null, trial: null });
    expect(fromHash('#%E0%A4%A')).toEqual({ section: null, range: null, trial: null });
    expect(fromHash('')).toEqual({ section: null, range: null, trial: null });
  });
});

describe('colours', () => {
  it('take the ink that can be read on them', () => {
    expect(inkOn('#ffffff')).toBe('#000000');
    expect(inkOn('#0a2149')).toBe('#ffffff');
    for (const heat of ['#e3edf8', '#9cc2e5', '#3f7fc2', '#1c55a6', '#4a88cf', '#2a66aa']) expect(contrast(heat, inkOn(heat))).toBeGreaterThanOrEqual(4.5);
  });
  it('are mixed', () => {
    expect(mix('#ffffff', '#000000', 0.5)).toBe('#808080');
    expect(luminance('#fff')).toBeCloseTo(1);
  });
});

describe('CSV', () => {
  it('quotes what must be quoted and starts no formula', () => {
    expect(csv(['a', 'b'], [['x,y', 1.5], ['say "hi"', null], ['=1+1', NaN], ['-x', -2]])).toBe('a,b\r\n"x,y",1.5\r\n"say ""hi""",\r\n\'=1+1,\r\n\'-x,-2\r\n');
  });
  it('is saved under a name without anything odd', () => {
    expect(fileName('tpcb, scale 50', '../../etc <x>')).toBe('tpcb-scale-50-etc-x');
    expect(fileName('…')).toBe('pgdyno');
  });
});
