import { expect, test } from 'vitest';
import type { MigrationRun } from '../src/data';
import { waiting } from '../src/document/queue';

test('the queue lasts from one change to the next, and the last until the migration ended', () => {
  const run = { queue: [[0, 2], [500_000, 0], [1_000_000, 3]], statements: [{ held_until_us: 2_000_000 }] } as unknown as MigrationRun;
  expect(waiting(run, 10)).toEqual([
    { from: 10, to: 10.5, sessions: 2 },
    { from: 11, to: 12, sessions: 3 },
  ]);
});
