import { describe, expect, it } from 'vitest';
import type { DocumentSection } from '../src/data';
import { atAGlance } from '../src/experiment/kinds';
import { axisWithRoom, placeOfText, ratioPlaces } from '../src/document/bars';

describe('bars in the cells of a table', () => {
  it('are on an axis of ratios, on which twice as much is as far as half as much', () => {
    const { x, marks } = ratioPlaces([-0.5, 1]);
    expect(x(1) - x(0)).toBeCloseTo(x(0) - x(-0.5));
    expect(marks).toContain(0);
    expect(marks.every((v) => x(v) >= 0 && x(v) <= 1)).toBe(true);
    expect(ratioPlaces([]).marks).toContain(0);
  });
  it('have room for their figures beside them, however wide they are', () => {
    expect(placeOfText(0.1, 0.3)).toEqual({ left: 0.3 });
    expect(placeOfText(0.7, 0.9)).toEqual({ right: expect.closeTo(0.3) as number });
    expect(axisWithRoom([{ low: 60, high: 95 }], 96).max).toBe(100);
    // One that reaches from end to end has room on its right.
    expect(axisWithRoom([{ low: 5, high: 95 }], 96).max).toBeGreaterThanOrEqual(95 / 0.6);
  });
});

describe('the figures at a glance', () => {
  const cell = (text: string, bar: object | null = null) => ({ text, bar });
  const row = (is_headline: boolean) => ({ is_headline, cells: [cell('`cte`'), cell('600', { low: 580, high: 620 }), cell('24.4')] });
  const table = (...rows: object[]) => [{ parts: [{ sort: 'table', columns: [{ title: 'form', form: 'words', place: 'shown' }, { title: 'goodput/s', form: 'bars', place: 'shown' }, { title: 'p50 ms', form: 'figure', place: 'folded' }], rows }] }] as unknown as DocumentSection[];
  it('are those of a row that is marked, as far as its table shows them', () => {
    expect(atAGlance(table(row(false), row(true)))).toEqual([{ key: 'goodput', label: 'goodput/s', value: '600', context: '580 to 620' }]);
    expect(atAGlance(table(row(false)))).toEqual([]);
  });
});
