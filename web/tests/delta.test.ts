import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { applied, type Delta } from '../src/pure/delta';

const cases = JSON.parse(readFileSync(join(__dirname, '../../crates/report/src/page/delta/cases.json'), 'utf8')) as { old: unknown; new: unknown; delta: Delta }[];

describe('differences', () => {
  it('make the new value of the old one, as the server does it', () => {
    expect(cases.length).toBeGreaterThan(10);
    for (const of of cases) expect(applied(structuredClone(of.old), of.delta)).toEqual(of.new);
  });

  it('that do not fit are told', () => {
    expect(() => applied([1], { a: { 3: { v: 1 } } })).toThrow('element 3');
    expect(() => applied(null, { o: {} })).toThrow('not there');
    expect(() => applied({ a: 1 }, { o: { a: { t: [1] } } })).toThrow('not there');
  });
});
