import { describe, expect, it } from 'vitest';
import type { DisturbLab, DisturbRepeat } from '../src/data';
import { stretches, withoutCommits, worst } from '../src/experiment/disturb';
import { kinds, short } from '../src/experiment/disturbLanes';
import { disturbFigures } from '../src/experiment/disturbSure';

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

describe('the figures at a glance', () => {
  const summary = (n: number) => ({ figure: 'no_service_us', n, never: 0, median: 8.35e6, min: 8.1e6, max: 8.9e6, interval: null });
  const lab = (n: number, truth: object | null) => ({ targets: [{ repeats: [{ truth }], controls: [], summary: [summary(n)] }] }) as unknown as DisturbLab;
  it('begin with lost writes', () => {
    expect(disturbFigures(lab(2, { lost: 53 })).map((of) => `${of.label} ${of.value}`)).toEqual(['Lost writes 53', 'No service 8.35']);
    expect(disturbFigures(lab(2, null))[0]!.value).toBe('–');
  });
  it('have nothing of one run', () => {
    expect(disturbFigures(lab(1, { lost: 0 })).map((of) => of.key)).toEqual(['lost']);
  });
});
