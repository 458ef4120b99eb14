import { describe, expect, it } from 'vitest';
import type { DisturbLab, DisturbRepeat } from '../src/data';
import { withoutCommits, worst } from '../src/experiment/disturb';
import { kinds, short } from '../src/experiment/disturbLanes';
import { checks } from '../src/experiment/disturbSure';

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

describe('what was checked', () => {
  const trial = (trial: number, truth: object | null, troubles: string[] = []) => ({ trial, truth, troubles, counts: true });
  const lab = (repeats: object[], is_seen: boolean | null = null) => ({ targets: [{ title: 't', repeats, controls: [], summary: [], effect: { is_seen, p: null, says: 'there are no controls' } }] }) as unknown as DisturbLab;
  const truth = (lost: number, grown = [3, 3]) => ({ acknowledged: 100, lost, in_doubt: 4, in_doubt_landed: 1, sums: { grown: [['pgbench_tellers', grown[0]], ['pgbench_history', grown[1]]] } });
  const marks = (of: DisturbLab) => checks(of).map(({ passed, name, words }) => `${passed} ${name} ${words}`);
  it('is red for lost writes, sums that differ and commands that failed', () => {
    const said = marks(lab([trial(1, truth(0)), trial(2, truth(7, [3, 4]), ['`x` ended with exit code 3'])]));
    expect(said[0]).toMatch(/^false Trial 2: 7.acknowledged transactions are missing/);
    expect(said).toContainEqual(expect.stringMatching(/^true Unknown, resolved: of 8.COMMITs without an answer 2 are there, 6 not/));
    expect(said).toContainEqual(expect.stringMatching(/^false Trial 2: sums differ: pgbench_tellers 3, pgbench_history 4/));
    expect(said).toContainEqual(expect.stringMatching(/^false A command failed in 1 of 2.runs: `x` ended/));
  });
  it('says what is not known', () => {
    const said = marks(lab([trial(1, null)]));
    expect(said[0]).toBe('null Lost writes: not looked for. Transactions left no receipts.');
    expect(said).toContainEqual('null No controls: there are no controls');
    expect(said).toContainEqual(expect.stringMatching(/^null A range, no interval: 1.run; it takes six/));
    expect(marks(lab([trial(1, { unknown: 'nobody answers' })]))).toContainEqual('null Trial 1: receipts could not be read: nobody answers');
  });
});
