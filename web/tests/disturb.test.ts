import { describe, expect, it } from 'vitest';
import type { DisturbRepeat } from '../src/data';
import { worst } from '../src/experiment/disturb';

const repeat = (trial: number, figures: { missed: number | null; is_back: boolean } | null): DisturbRepeat => ({ trial, figures }) as unknown as DisturbRepeat;

describe('the repeat that is shown', () => {
  it('is the one that missed most', () => {
    expect(worst([repeat(1, { missed: 3, is_back: true }), repeat(2, { missed: 9, is_back: true }), repeat(3, null)])?.trial).toBe(2);
  });
  it('is one that was not back, if there is any', () => {
    expect(worst([repeat(1, { missed: 99, is_back: true }), repeat(2, { missed: 9, is_back: false })])?.trial).toBe(2);
  });
  it('is none where no trial has figures', () => {
    expect(worst([repeat(1, null)])).toBeNull();
  });
});
