/** The queue behind a migration on the trial's clock. */

import type { DisturbRepeat, MigrationRun } from '../data';
import type { Bus } from '../pure/bus';
import { count, many, timeText } from '../pure/format';
import { linear } from '../pure/ticks';
import { linearAxis } from '../chart/axes';
import { drawn } from '../chart/shapes';
import { Strip } from '../chart/strip';
import { token } from '../page/theme';
import { bar } from './disturbLanes';

const most = (run: MigrationRun): number => Math.max(0, ...run.queue.map(([, sessions]) => sessions));

/** Sessions that waited, from one change to the next, in seconds since clients began. */
export function waiting(run: MigrationRun, start: number): { from: number; to: number; sessions: number }[] {
  const end = Math.max(0, ...run.statements.map((it) => it.held_until_us));
  return run.queue.map(([at, sessions], i) => ({ from: start + at / 1e6, to: start + (run.queue[i + 1]?.[0] ?? Math.max(at, end)) / 1e6, sessions })).filter((it) => it.sessions > 0);
}

/** The queue on the trial's clock: who held the lock, the migration, and how many waited behind it; null: nothing waited. */
export function queue(of: DisturbRepeat, bus: Bus, behind: object, id: string): Strip | null {
  const run = of.migration;
  const began = of.commands[0]?.from_us;
  if (run === undefined || began === undefined || (run.holders.length === 0 && run.queue.length === 0)) return null;
  const start = began / 1e6;
  const waits = waiting(run, start);
  const highest = linear(Math.max(1, most(run)), 3);
  const [lane, rows] = [highest.max * 0.12, highest.max * 1.4];
  const holders = run.holders.map((it) => ({ from: start + it.from_us / 1e6, to: start + it.to_us / 1e6 }));
  const held = run.statements.map((it) => ({ from: start + (it.began_us + it.waited_us) / 1e6, to: start + it.held_until_us / 1e6 }));
  const longest = Math.max(0, ...run.victims.map((it) => it.waited_us));
  return new Strip(
    {
      id: `${id}-queue`,
      title: 'The queue',
      subtitle: () => 'above: who held what the migration waited for, and the migration with its locks; below: sessions that waited behind it',
      height: 130,
      entries: [
        { key: 'holders', name: () => 'Holders', mark: 'block', color: 'ink2', value: () => count(run.holders.length) },
        { key: 'held', name: () => 'Migration', mark: 'block', color: 'accent', value: () => timeText(Math.max(0, ...run.statements.map((it) => it.held_until_us - it.began_us - it.waited_us))) },
        { key: 'waiting', name: () => 'Waiting behind it', mark: 'block', color: 'bad', value: (at) => count(at === null ? most(run) : (waits.find((it) => it.from <= at && at < it.to)?.sessions ?? 0)) },
      ],
      summary: () => `${many(run.holders.length, 'holder')}; ${many(run.victims_total, 'session')} waited behind the migration, ${count(most(run))} at most at once, the longest ${timeText(longest)}.`,
      data: () => ({ head: ['start_s', 'end_s', 'waiting'], rows: waits.map((it) => [it.from, it.to, it.sessions]) }),
      build: (_, hidden) => ({
        grid: {},
        yAxis: linearAxis(highest.min, rows, highest.step),
        series: [
          behind,
          drawn((api, box) => {
            const isSeen = (it: { from: number; to: number }): boolean => it.to >= bus.range.from && it.from <= bus.range.to;
            const of = (key: string, all: { from: number; to: number }[], low: number, color: string) => (hidden.has(key) ? [] : all.filter(isSeen).map((it) => bar(api, box, [it.from, it.to], [low, low + lane], token(color), 1)));
            const below = hidden.has('waiting') ? [] : waits.filter(isSeen).map((it) => bar(api, box, [it.from, it.to], [0, it.sessions], token('bad'), 0.6));
            return [...below, ...of('holders', holders, rows - lane * 1.2, 'ink2'), ...of('held', held, rows - lane * 2.6, 'accent')];
          }, 3),
        ],
      }),
    },
    bus,
  );
}
