import { describe, expect, it } from 'vitest';
import { stretches, withoutCommits } from '../src/document/lanes';
import { kinds, short } from '../src/document/disturbLanes';

describe('several commands', () => {
  it('are shaded each, with room for a name until the next begins', () => {
    const run = (name: string, from: number, to: number) => ({ name, from_us: from * 1e6, to_us: to * 1e6 });
    expect(stretches([run('sigstop for=3s', 20, 23), run('checkpoint', 10, 11)])).toEqual([
      { name: 'checkpoint', from: 10, to: 11, room: 20 },
      { name: 'sigstop', from: 20, to: 23, room: Infinity },
    ]);
  });
});

describe('errors by kind', () => {
  const of = (code: string, count: number, endpoint = 'a') => ({ code, says: `SQLSTATE ${code}`, endpoint, count, seconds: [[3_000_000, count]] as [number, number][] });
  it('are those of all endpoints together, the most frequent first', () => {
    const all = kinds([of('57P01', 2), of('08006', 3), of('57P01', 5, 'b')]);
    expect(all.map((kind) => [kind.code, kind.count])).toEqual([
      ['57P01', 7],
      ['08006', 3],
    ]);
    expect(all[0]!.seconds).toEqual(new Map([[3, 7]]));
  });
  it('are five, and the rest is one', () => {
    const all = kinds(Array.from({ length: 9 }, (_, i) => of(`0000${i}`, 9 - i)));
    expect(all.map((kind) => kind.count)).toEqual([9, 8, 7, 6, 5, 4 + 3 + 2 + 1]);
    expect(all[5]!.name).toBe('Other kinds (4)');
    expect(all[5]!.seconds).toEqual(new Map([[3, 10]]));
  });
});

describe('names of endpoints', () => {
  it('are the part of a path in which they differ', () => {
    expect(short(['/c/s-1/socket/.s.1', '/c/s-2/socket/.s.1'])).toEqual(['s-1', 's-2']);
    expect(short(['/c/.s.1', '/c/.s.2'])).toEqual(['.s.1', '.s.2']);
    expect(short(['/c/s/.s.1'])).toEqual(['/c/s/.s.1']);
    expect(short(['db1:5432', 'db2:5432'])).toEqual(['db1:5432', 'db2:5432']);
  });
});

describe('times without a commit', () => {
  it('are whole seconds, those that follow each other together', () => {
    const at = (s: number, max_us: number | null) => ({ start_us: s * 1e6, max_us });
    expect(withoutCommits([at(0, 5), at(1, null), at(2, null), at(3, 9), at(4, null)])).toEqual([
      { from: 1, to: 3 },
      { from: 4, to: 5 },
    ]);
  });
});
