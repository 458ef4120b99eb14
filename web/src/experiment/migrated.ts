/** What a migration did in a trial: its statements, whom it waited for, and who waited behind it. */

import type { DisturbRepeat, MigrationRun } from '../data';
import type { Bus } from '../pure/bus';
import { bytesText, count, DASH, fixed, many, timeText } from '../pure/format';
import { linear } from '../pure/ticks';
import { linearAxis } from '../chart/axes';
import { drawn } from '../chart/shapes';
import { Strip } from '../chart/strip';
import { h } from '../page/dom';
import { figureTable, num } from '../page/table';
import { token } from '../page/theme';
import { bar } from './disturbLanes';

const seconds = (us: number): string => fixed(us / 1e6, 2);

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

/** The migration of this trial; null: it had none. */
export function migrated(of: DisturbRepeat, where: string): HTMLElement | null {
  const run = of.migration;
  if (run === undefined) return null;
  const statements = run.statements.map((it) => [
    h('code', {}, it.statement),
    seconds(it.held_until_us - it.began_us),
    seconds(it.waited_us),
    it.locks.map((lock) => `${lock.mode} ${lock.relation}`).join(', ') + (it.locks_are_whole || it.locks.length === 0 ? '' : ' (seen while it ran)'),
    [...it.rewritten.map((name) => `new file of ${name}`), ...it.says].join('; ') || DASH,
    bytesText(it.wal_bytes),
  ]);
  const holders = run.holders.map((it) => [
    it.pid === null ? `prepared transaction ${it.query}` : `${it.application || 'a session'}, pid ${it.pid}`,
    it.state,
    `${it.mode} on ${it.on}`,
    seconds(it.to_us - it.from_us),
    it.transaction_us === null ? DASH : seconds(it.transaction_us),
    it.pid === null ? DASH : h('code', {}, it.query),
  ]);
  const victims = run.victims.map((it) => [`${it.application || 'a session'}, pid ${it.pid}`, `${it.mode} on ${it.on}`, seconds(it.waited_us), h('code', {}, it.query)]);
  const ended = run.is_done ? `Committed, as ${run.tool} runs it` : `Not finished: ${[run.error, run.left].filter((text) => text !== null).join('; ')}`;
  const retries = run.retries === 0 ? '' : `, tried ${many(run.retries + 1, 'time')} with a lock_timeout of ${count(run.lock_timeout_ms ?? 0)} ms`;
  return h(
    'div',
    {},
    h('h4', {}, 'The migration'),
    h('p', { class: 'sub' }, `${ended}${retries}.`),
    statements.length > 0 && figureTable(`Statements${where}`, ['Statement', num('Until its transaction ended, s'), num('Waited, s'), 'Locks', 'Rows', num('WAL of the server')], statements),
    holders.length > 0 && figureTable(`Waited for${where}`, ['Waited for', 'State', 'Lock', num('Seen for, s'), num('Its transaction then, s'), 'Statement'], holders),
    victims.length > 0 && figureTable(`Behind it${where}`, ['Behind it', 'Lock', num('Waited, s'), 'Statement'], victims),
    run.standbys.length > 0 && figureTable(`Standbys${where}`, ['Standby', num('Behind, at most'), num('Behind, s at most'), num('Replayed, s after its end'), num('Cancelled queries'), num('For a lock')], run.standbys.map((it) => [
      it.name,
      bytesText(it.behind_bytes_max),
      seconds(it.behind_us_max),
      it.replayed_after_us === null ? DASH : seconds(it.replayed_after_us),
      it.cancelled === null ? DASH : count(it.cancelled),
      it.cancelled_by_lock === null ? DASH : count(it.cancelled_by_lock),
    ])),
    run.victims_total > 0 && h('p', { class: 'sub' }, `${many(run.victims_total, 'session')} waited behind it, ${count(most(run))} at most at once, the longest ${timeText(Math.max(...run.victims.map((it) => it.waited_us)))}.`),
  );
}
