import { describe, expect, it } from 'vitest';
import type { GeneratorPart, PartOf } from '../src/data';
import { died, diedOfAll, which } from '../src/live/part';

const one = (generator: number, state: GeneratorPart['state'], is_silent = false): GeneratorPart => ({ generator, trial: 10 + generator, state, is_silent });
const of = (...parts: GeneratorPart[]): PartOf => ({ generator: 0, generators: parts.length, whole: null, parts });

describe('a part of a trial of several generators', () => {
  it('says which one it is, and nothing of those that are well', () => {
    const part = of(one(0, 'running'), one(1, 'complete'));
    expect(which(part)).toBe('generator 0 of 2');
    expect(died(part)).toBe('');
    expect(died(of(one(0, 'running', true), one(1, 'running')))).toBe('');
  });

  it('names those that have died, and what that means', () => {
    expect(died(of(one(0, 'running'), one(1, 'aborted')))).toBe('Generator 1 (trial 11) has ended before its time. The others measure on, and the result of all will be partial.');
    expect(died(of(one(0, 'running'), one(1, 'aborted'), one(2, 'failed')))).toMatch(/^Generator 1 \(trial 11\) and generator 2 \(trial 12\) have ended before their time\./);
    expect(died(of(one(0, 'running'), one(1, 'running', true)))).toMatch(/^Nothing has been heard of generator 1 \(trial 11\) for 20 s or more: it counts as dead\./);
    expect(died(of(...Array.from({ length: 12 }, (_, i) => one(i, i < 2 ? 'running' : 'aborted'))))).toMatch(/^10 generators have ended/);
  });

  it('of all together, names whoever has died', () => {
    const both = of(one(0, 'aborted'), one(1, 'running'));
    expect(died(both)).toBe('');
    expect(diedOfAll(both)).toMatch(/^Generator 0 \(trial 10\) has ended before its time\./);
    expect(diedOfAll(of(one(0, 'running'), one(1, 'complete')))).toBe('');
  });
});
