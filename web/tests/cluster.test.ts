import { describe, expect, it } from 'vitest';
import type { Member } from '../src/data';
import { count } from '../src/pure/format';
import { change, condition } from '../src/trial/cluster';

const node = (of: Partial<Member>): Member => ({
  id: '1',
  address: 'db1:26257',
  locality: null,
  version: null,
  role: null,
  is_live: true,
  is_live_after: true,
  is_draining: false,
  is_draining_after: false,
  leaders: null,
  leaders_after: null,
  replicas: null,
  replicas_after: null,
  endpoint: null,
  round_trip: null,
  state: null,
  lag_bytes: null,
  lag_bytes_after: null,
  ...of,
});

describe('a node before and after a trial', () => {
  it('is said once where nothing has changed', () => {
    expect(change(3, 3, count)).toBe('3');
    expect(change(3, 0, count)).toBe('3 → 0');
    expect(change(3, null, count)).toBe('3 → ?');
    expect(change<number>(null, null, count)).toBe('–');
  });
  it('was up, down or draining', () => {
    expect(condition(node({}))).toBe('up');
    expect(condition(node({ is_live_after: false }))).toBe('up → down');
    expect(condition(node({ is_draining_after: true }))).toBe('up → draining');
    expect(condition(node({ is_live: null, is_live_after: null }))).toBe('–');
    expect(condition(node({ state: 'streaming, async' }))).toBe('streaming, async');
    expect(condition(node({ state: 'streaming, async', is_live_after: false }))).toBe('streaming, async; up → down');
  });
});
