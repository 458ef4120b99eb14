import { describe, expect, it } from 'vitest';
import type { Capacity, Ladder, SearchStep } from '../src/data';
import { marks, markText } from '../src/experiment/capacityCurve';
import { contradiction, halfWidth, intervalOf, lengths, limitOf, searchFigures, sideOf, surely } from '../src/experiment/search';

const step = (rate_per_s: number, side: SearchStep['side'], low_us: number | null = 1000, high_us: number | null = 2000): SearchStep => ({ trial: rate_per_s, rate_per_s, from_s: 0, seconds: 10, response_p99_us: 1500, low_us, high_us, share_over: 0.01, side, falls_behind: false });

const ladder = (more: Partial<Ladder>): Ladder => ({
  point: {},
  title: 'a',
  loads: [],
  capacity: { is: 'at', per_s: 100, interval: { low: 98, high: 104, level: 0.95 } },
  search: { steps: 3, took_s: 60, is_narrow: true, line_steps: 14, drift: null },
  steps: [step(90, 'within'), step(100, 'cannot-tell'), step(110, 'over')],
  knee: null,
  gaps: [],
  ...more,
});
const capacity = (of: Ladder): Capacity => ({ slo_us: 20000, width: 0.05, time_s: 1200, ladders: [of] });

describe('a search for a capacity', () => {
  it('takes steps at one rate together', () => {
    expect(sideOf([])).toBe(null);
    expect(sideOf([step(1, 'within'), step(1, 'within')])).toBe('within');
    expect(sideOf([step(1, 'within'), step(1, 'over')])).toBe('cannot-tell');
    expect(intervalOf([step(1, 'within', 1, 3), step(1, 'within', 2, 5)])).toEqual([1, 5]);
    expect(intervalOf([step(1, 'within', 1, 3), step(1, 'cannot-tell', null, null)])).toBe(null);
  });
  it('says how long the steps at a rate were, and what limited most of them', () => {
    expect(lengths([])).toBe('–');
    expect(lengths([step(1, 'within'), { ...step(1, 'within'), seconds: 20.02 }])).toBe('10 + 20');
    const [cpu, lock] = [{ code: 'cpu', name: 'Server CPU' }, { code: 'lock', name: 'Locks' }];
    expect(limitOf([null])).toBe('–');
    expect(limitOf([cpu, null, cpu])).toBe('Server CPU');
    expect(limitOf([lock, cpu, cpu])).toBe('Server CPU (2 of 3)');
  });
  it('has a highest rate surely within and a lowest one surely over', () => {
    expect(surely(ladder({}).steps)).toEqual({ within: 90, over: 110 });
    expect(surely([step(1, 'cannot-tell')])).toEqual({ within: null, over: null });
  });
  it('has no figure for what is not known', () => {
    expect(halfWidth(ladder({}).capacity)).toBeCloseTo(0.03);
    const found = ladder({ capacity: null, steps: [step(100, 'cannot-tell', null, null)], search: { steps: 1, took_s: 11, is_narrow: false, line_steps: 0, drift: null } });
    expect(searchFigures(capacity(found), found).map((of) => of.value).slice(0, 3)).toEqual(['–', '–', '–']);
    const changing = { ...found, search: { ...found.search, contradiction: { within_up_to_per_s: 90, over_from_per_s: null } } };
    expect(searchFigures(capacity(changing), changing)[0]!.context).toBe('not known: the machine changes from step to step');
    expect(contradiction(changing.search.contradiction)).toBe('the machine changes from step to step: all steps up to 90.0/s were within the limit, none failed in all steps');
  });
});

describe('the curve of a capacity', () => {
  const load = (rate_per_s: number, p99: number | null) => ({ rate_per_s, trials: [rate_per_s], goodput_per_s: [rate_per_s * 0.9], response_p50_us: [null], response_p99_us: [p99], p50_together_us: null, p99_together_us: p99, failed: [0] });
  const found = ladder({ loads: [load(110, 90_000), load(90, 4_000), load(200, 900_000)], steps: [step(90, 'within', 3_000, 5_000), step(110, 'cannot-tell'), { ...step(200, 'over', null, null), falls_behind: true }] });
  it('has a mark a rate, the lowest first, and no percentile where the server fell behind', () => {
    expect(marks(found).map((of) => [of.rate, of.p99, of.side])).toEqual([[90, 4_000, 'within'], [110, 90_000, 'cannot-tell'], [200, null, 'over']]);
    expect(markText(marks(found)[2]!, 'p99 ≤ 20 ms')).toBe('200/s offered: falls behind, 180 served');
    expect(markText(marks(found)[0]!, 'p99 ≤ 20 ms').replaceAll('\u00a0', ' ')).toBe('90.0/s offered: p99 4.00 ms, 3.00 ms to 5.00 ms; p99 ≤ 20 ms: within; 1 step');
  });
});
