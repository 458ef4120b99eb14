import { describe, expect, it } from 'vitest';
import type { StaleEndpoint, Staleness } from '../src/data';
import { bucketName, ends, measured, secondAt, shares, shortNames, shortOf, sources, violations } from '../src/pure/staleness';

const none = { count: 0, p50_us: null, p99_us: null, max_us: null };
const endpoint = (of: Partial<StaleEndpoint>): StaleEndpoint => ({
  role: 'reads',
  name: 'db2:5432',
  reads: 10,
  before_first: 0,
  failed: 0,
  error: null,
  stale: 0,
  staleness: none,
  histogram: [],
  after_write: 0,
  own_unseen: 0,
  own_unseen_worst: null,
  after_read: 0,
  went_back: 0,
  went_back_worst: null,
  by_session: [],
  replay: { unknown: 'no standby' },
  seconds: [],
  ...of,
});

describe('staleness', () => {
  it('is of the probe and of the clients, and can only be where a role is read', () => {
    const staleness: Staleness = {
      interval_us: 5000,
      sessions: 4,
      written: 1,
      not_written: 0,
      write: none,
      endpoints: [endpoint({ role: null, name: 'db1:5432' }), endpoint({})],
      clients: { sessions: 3, written: 9, endpoints: [endpoint({}), endpoint({ name: 'db3:5432', reads: 0 })] },
    };
    const all = sources(staleness);
    expect(all.map((one) => `${one.of} ${one.name}`)).toEqual(['probe control: db1:5432', 'probe reads: db2:5432', 'clients reads: db2:5432', 'clients reads: db3:5432']);
    expect(measured(all).map((one) => one.of)).toEqual(['probe', 'clients']);
  });

  it('names sockets by what tells them apart', () => {
    const [a, b] = ['/run/servers/server-a/socket/.s.PGSQL.5432', '/run/servers/server-b/socket/.s.PGSQL.5432'];
    const short = shortNames([a, b, 'db1:5432', a]);
    expect([short.get(a), short.get(b), short.get('db1:5432')]).toEqual(['…/server-a/…', '…/server-b/…', undefined]);
    expect(shortNames([a]).get(a)).toBe(a);
    expect(shortNames(['/tmp/.s.PGSQL.1', '/tmp/.s.PGSQL.2']).get('/tmp/.s.PGSQL.2')).toBe('…/.s.PGSQL.2');
    const all = sources({ interval_us: 1, sessions: 1, written: 1, not_written: 0, write: none, endpoints: [endpoint({ role: null, name: a }), endpoint({ name: b })] });
    expect(all[1]!.name).toBe('reads: …/server-b/…');
    expect(shortOf(all, a)).toBe('…/server-a/…');
  });

  it('has buckets without gaps between the stale ones', () => {
    const some = [{ upto_us: 0, reads: 30 }, { upto_us: 125_000, reads: 5 }];
    const other = [{ upto_us: 250_000, reads: 5 }];
    const at = ends([some, other]);
    expect(at).toEqual([0, 125_000, 160_000, 200_000, 250_000]);
    expect(shares(some, at)).toEqual([30 / 35, 5 / 35, 0, 0, 0]);
    expect(shares([], at)).toEqual([0, 0, 0, 0, 0]);
    expect(ends([[{ upto_us: 0, reads: 1 }]])).toEqual([0]);
    expect(ends([[{ upto_us: 800, reads: 1 }], [{ upto_us: 1250, reads: 1 }]])).toEqual([800, 1000, 1250]);
    expect(ends([])).toEqual([]);
    expect([0, 100, 3150, 12_500, 1e6].map(bucketName)).toEqual(['fresh', '100\u00a0µs', '3.15\u00a0ms', '12.5\u00a0ms', '1\u00a0s']);
  });

  it('says of how many reads violations are', () => {
    expect(violations(3, 0)).toBe('–');
    expect(violations(30, 1200)).toContain('30 of 1,200 (2.5');
  });

  it('finds the second at a time', () => {
    const seconds = [{ at_s: 4, reads: 1, stale: 0, p50_us: null, p99_us: null, max_us: 0, replay_us: null }];
    expect(secondAt(seconds, 4.9)?.at_s).toBe(4);
    expect(secondAt(seconds, 5)).toBeUndefined();
  });
});
