import { describe, expect, it } from 'vitest';
import type { LabForm, LabPair, LabPoint, RetriesLab } from '../src/data';
import { axisWithRoom, circumstances, columns, formsFigures, measured, placeOfText, ratioAxis, shownPairs } from '../src/experiment/forms';

const form = (name: string, repeats: number[], more: Partial<LabForm> = {}): LabForm =>
  ({ form: name, goodput_per_s: repeats.length === 0 ? null : { median: repeats[0], min: Math.min(...repeats), max: Math.max(...repeats), interval: null, repeats }, repeats: repeats.map((_, i) => ({ trial: i, order: i, p99_us: 20_000 + i, retries_per_commit: 0.001, lost_time_share: 0.1 })), service: { p50_us: 5_000, p99_us: 24_400 }, retries_per_commit: 0.001, lost_time_share: 0.079, not_run: [], ...more }) as unknown as LabForm;
const pair = (first: string, second: string): LabPair => ({ first, second, difference: 0.1, interval: [0.05, 0.15], level: 0.95, ahead: first, needs_repeats: null });
const point = (forms: LabForm[], pairs: LabPair[] = [], given: object = { clients: 8, isolation: 'serializable' }, isolation: string | null = 'serializable'): LabPoint => ({ given, isolation, forms, pairs, says: null }) as unknown as LabPoint;
const lab = (...points: LabPoint[]): RetriesLab => ({ points, says: [] }) as unknown as RetriesLab;

describe('forms side by side', () => {
  it('have a figure each in one unit a column, their repeats and the range of these', () => {
    const list = columns([form('cte', [600, 580, 620])]);
    expect(list.map((column) => column.of(form('cte', [600, 580, 620])).text)).toEqual(['600', '24.4', '< 0.01', '7.9']);
    expect(list[0]!.of(form('cte', [600, 580, 620]))).toMatchObject({ from: 580, to: 620, dots: [600, 580, 620] });
    expect(list[1]!.subtitle).toMatch(/^ms,/);
  });
  it('are those that committed something', () => {
    expect(measured(point([form('cte', [1]), form('procedure', [], { not_run: ['no procedures'] })])).map((of) => of.form)).toEqual(['cte']);
  });
  it('are told apart pair by pair: neighbours, and the first against the last', () => {
    const of = point(['a', 'b', 'c', 'd'].map((name) => form(name, [1, 2])), [pair('a', 'b'), pair('a', 'c'), pair('a', 'd'), pair('b', 'c'), pair('b', 'd'), pair('c', 'd')]);
    const { shown, behind } = shownPairs(of);
    expect(shown.map((one) => one.first + one.second)).toEqual(['ab', 'ad', 'bc', 'cd']);
    expect(behind).toHaveLength(2);
  });
  it('stand on an axis of ratios, on which twice as much is as far as half as much', () => {
    const { x, marks } = ratioAxis([-0.5, 1]);
    expect(x(1) - x(0)).toBeCloseTo(x(0) - x(-0.5));
    expect(marks).toContain(0);
    expect(marks.every((v) => x(v) >= 0 && x(v) <= 1)).toBe(true);
    expect(ratioAxis([]).marks).toContain(0);
  });
  it('have room for their figures beside their bars, however wide these are', () => {
    expect(placeOfText(0.1, 0.3)).toEqual({ left: 0.3 });
    expect(placeOfText(0.7, 0.9)).toEqual({ right: expect.closeTo(0.3) as number });
    expect(axisWithRoom([{ low: 60, high: 95 }], 96).max).toBe(100);
    // One that reaches from end to end has room on its right.
    expect(axisWithRoom([{ low: 5, high: 95 }], 96).max).toBeGreaterThanOrEqual(95 / 0.6);
  });
  it('have no headline of one repeat', () => {
    expect(formsFigures(lab(point([form('cte', [600])])), []).map((of) => of.key)).toEqual(['trials']);
    expect(formsFigures(lab(point([form('cte', [600, 610])])), []).map((of) => of.key)).toContain('goodput');
  });
  it('name the level in effect, and what was asked for where it is another', () => {
    const of = point([], [], { clients: 1, isolation: 'serializable' }, 'repeatable read');
    expect(circumstances(lab(of), of).replaceAll('\u00a0', ' ')).toBe('1 client, repeatable read (serializable was requested)');
    const other = point([], [], { clients: 8, isolation: 'serializable', params: { foreign_keys: true } });
    expect(circumstances(lab(other), other).replaceAll('\u00a0', ' ')).toBe('8 clients, serializable, foreign keys');
  });
});
