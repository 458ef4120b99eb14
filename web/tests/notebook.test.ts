import { describe, expect, it } from 'vitest';
import { words } from '../src/live/status';
import { passed, silence } from '../src/live/bar';
import { place } from '../src/notebook/page';
import { stepsOf } from '../src/trial/model';

describe('served pages', () => {
  it('name a target by host, port and database', () => {
    expect(place('database bench on db1, port 5432, user me')).toBe('db1:5432/bench');
    expect(place('database bench on /run/x, port 5433, user me')).toBe('socket:5433/bench');
    expect(place('PostgreSQL 18.1, started for this run')).toBe('PostgreSQL 18.1, started for this run');
  });

  it('say how far a trial has come, as far as its end is known', () => {
    expect(passed(37e6, 60e6)).toBe('00:37 of 01:00');
    expect(passed(null, 60e6)).toBe('00:00 of 01:00');
    expect(passed(37e6, null)).toContain('until its transactions are done');
  });

  it('tell of what nothing comes, and why', () => {
    expect(silence({ silent_s: null, is_gone: false })).toBe('');
    expect(silence({ silent_s: 75, is_gone: false })).toMatch(/^Nothing has come from it for 01:15: its process is halted/);
    expect(silence({ silent_s: 75, is_gone: true })).toMatch(/^Its process has ended without a word\./);
  });

  it('have an axis that grows in steps where the end is not known', () => {
    expect([0, 30, 31, 51, 71, 101, 4000].map(stepsOf)).toEqual([30, 30, 50, 70, 100, 150, 5000]);
  });

  it('tell what is away, and nothing when all is well', () => {
    expect(words({ kind: 'connected' })).toBeNull();
    expect(words({ kind: 'lost', since: new Date('2026-01-01T12:34:56Z') })!.join('')).toContain('of 12:34:56 UTC');
    expect(words({ kind: 'away', error: 'no such file', hints: ['bring it back'] })!.join('')).toContain('no such file. bring it back');
  });
});
