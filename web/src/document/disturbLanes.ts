/** Of a disturbed trial, on its clock: errors by kind, what each endpoint committed, clients without service. */

import type { DisturbErrors, DisturbRepeat } from '../data';
import type { Bus } from '../pure/bus';
import { count, many, percent, rate, timeText } from '../pure/format';
import { inCommon } from '../pure/staleness';
import { linear } from '../pure/ticks';
import { linearAxis } from '../chart/axes';
import { drawn, rect, stacked, unclipped, within, words, type Api, type Box } from '../chart/shapes';
import { Strip, type Entry } from '../chart/strip';
import { token } from '../page/theme';

/** So many kinds of errors have a colour of their own; the rest is one. */
const KINDS_MAX = 5;
const KIND_COLORS = ['bad', 'lock', 'ipc', 'lwlock', 'client', 'other'];
const PLACE_COLORS = ['io', 'cpu', 'ipc', 'lwlock', 'client', 'other'];

export interface Kind {
  code: string;
  name: string;
  count: number;
  /** By second since clients began. */
  seconds: Map<number, number>;
}

/** Errors by kind, those of all endpoints together, the most frequent first; the rarest are one. */
export function kinds(all: DisturbErrors[]): Kind[] {
  const found = new Map<string, Kind>();
  for (const of of all) {
    const kind = found.get(of.code) ?? { code: of.code, name: named(of), count: 0, seconds: new Map<number, number>() };
    add(kind, of.seconds, of.count);
    found.set(of.code, kind);
  }
  const sorted = [...found.values()].sort((a, b) => b.count - a.count);
  if (sorted.length <= KINDS_MAX + 1) return sorted;
  const rest: Kind = { code: 'other', name: `Other kinds (${sorted.length - KINDS_MAX})`, count: 0, seconds: new Map() };
  for (const kind of sorted.slice(KINDS_MAX)) add(rest, [...kind.seconds], kind.count, 1);
  return [...sorted.slice(0, KINDS_MAX), rest];
}

function add(kind: Kind, seconds: [number, number][], n: number, unit = 1e6): void {
  kind.count += n;
  for (const [at, errors] of seconds) kind.seconds.set(at / unit, (kind.seconds.get(at / unit) ?? 0) + errors);
}

/** Paths of sockets by the part in which they differ; other names as they are. */
export function short(names: string[]): string[] {
  const parts = names.map((name) => name.split('/'));
  if (names.length < 2 || names.some((name) => !name.startsWith('/'))) return names;
  const { head, tail } = inCommon(parts);
  return parts.map((of) => of.slice(head, of.length - tail).join('/'));
}

/** What people call it, with the SQLSTATE before it. */
export const named = (of: DisturbErrors): string => (/^[0-9A-Z]{5}$/.test(of.code) && !of.says.includes(of.code) ? `${of.code} ${of.says}` : of.says);

/** Failed tries by SQLSTATE, stacked. */
export function errors(of: DisturbRepeat, bus: Bus, behind: object, id: string): Strip {
  const figures = of.figures!;
  const all = kinds(figures.course.errors_by);
  const color = (i: number): string => KIND_COLORS[Math.min(i, KIND_COLORS.length - 1)]!;
  const starts = [...new Set(all.flatMap((kind) => [...kind.seconds.keys()]))].sort((a, b) => a - b);
  const highest = Math.max(1, ...starts.map((at) => all.reduce((sum, kind) => sum + (kind.seconds.get(at) ?? 0), 0)));
  const axis = linear(highest, 3);
  const value = (kind: Kind) => (cursor: number | null): string => {
    const inside = [...kind.seconds].filter(([at]) => (cursor === null ? at + 1 > bus.range.from && at < bus.range.to : cursor >= at && cursor < at + 1));
    return count(inside.reduce((sum, [, n]) => sum + n, 0));
  };
  const total = all.reduce((sum, kind) => sum + kind.count, 0);
  return new Strip(
    {
      id: `${id}-errors`,
      title: 'Errors by SQLSTATE',
      subtitle: () => 'failed tries and refused connections per second',
      height: 110,
      entries: all.map((kind, i): Entry => ({ key: kind.code, name: () => kind.name, mark: 'block', color: color(i), value: value(kind) })),
      summary: () => (total === 0 ? 'No errors.' : `${many(total, 'error')}: ${all.map((kind) => `${count(kind.count)} ${kind.name}`).join('; ')}; the first ${figures.first_error_us === null ? 'before the disturbance' : `${timeText(figures.first_error_us)} after the start`}.`),
      data: () => ({ head: ['code', 'endpoint', 'start_s', 'errors'], rows: figures.course.errors_by.flatMap((kind) => kind.seconds.map(([at, n]) => [kind.code, kind.endpoint, at / 1e6, n])) }),
      build: (_, hidden) => ({
        grid: {},
        yAxis: linearAxis(axis.min, axis.max, axis.step),
        series: [
          behind,
          drawn((api, box) => {
            const seen = starts.filter((at) => at + 1 >= bus.range.from && at <= bus.range.to);
            const columns = seen.map((at) => ({ from: at, to: at + 1, values: all.map((kind) => (hidden.has(kind.code) ? 0 : (kind.seconds.get(at) ?? 0))) }));
            return stacked(columns, all.map((_, i) => ({ color: color(i), opacity: 0.9 })), api, box);
          }, 3),
        ],
      }),
    },
    bus,
  );
}

/** A row an endpoint: its commits in each second; red at its foot: seconds with errors there. */
export function servedBy(of: DisturbRepeat, bus: Bus, behind: object, id: string): Strip | null {
  const { endpoints, errors_by } = of.figures!.course;
  if (endpoints.length < 2) return null;
  const names = short(endpoints.map((one) => one.endpoint));
  const highest = linear(Math.max(1, ...endpoints.flatMap((one) => one.committed)), 2).max;
  const total = (i: number): number => endpoints[i]!.committed.reduce((a, b) => a + b, 0);
  const all = Math.max(1, endpoints.reduce((sum, _, i) => sum + total(i), 0));
  const color = (i: number): string => PLACE_COLORS[i % PLACE_COLORS.length]!;
  const value = (i: number) => (cursor: number | null): string => {
    const { committed, from_us } = endpoints[i]!;
    if (cursor !== null) return rate(committed[Math.floor(cursor - from_us / 1e6)] ?? 0);
    return percent(total(i) / all);
  };
  return new Strip(
    {
      id: `${id}-endpoints`,
      title: 'Served by endpoint',
      subtitle: () => `commits per second, each row 0 to ${count(highest)}; red: seconds with errors there`,
      height: 24 + endpoints.length * 34,
      entries: endpoints.map((one, i): Entry => ({ key: one.endpoint, name: () => `${i + 1}: ${names[i]}`, mark: 'block', color: color(i), value: value(i) })),
      summary: () => endpoints.map((one, i) => `${one.endpoint}: ${count(total(i))} committed, ${many(errorsAt(errors_by, one.endpoint), 'error')}`).join('; '),
      data: () => ({ head: ['endpoint', 'start_s', 'committed'], rows: endpoints.flatMap((one) => one.committed.map((n, k) => [one.endpoint, one.from_us / 1e6 + k, n])) }),
      build: (_, hidden) => ({
        grid: {},
        yAxis: { ...linearAxis(0, endpoints.length, 1), axisLabel: { show: false } },
        series: [
          behind,
          unclipped((api, box) => endpoints.map((_, i) => words(box.x - 8, api.coord([0, endpoints.length - i - 0.5])[1] - 6, String(i + 1), token('ink3'), { align: 'right' })), 3),
          drawn((api, box, shapes) => {
            endpoints.forEach((one, i) => {
              if (hidden.has(one.endpoint)) return;
              const foot = endpoints.length - i - 1;
              one.committed.forEach((n, k) => {
                const at = one.from_us / 1e6 + k;
                if (n === 0 || at + 1 < bus.range.from || at > bus.range.to) return;
                shapes.push(bar(api, box, [at, at + 1], [foot, foot + (0.86 * n) / highest], token(color(i)), 0.85));
              });
              for (const [at_us] of errors_by.filter((kind) => kind.endpoint === one.endpoint).flatMap((kind) => kind.seconds)) {
                const at = at_us / 1e6;
                if (at + 1 >= bus.range.from && at <= bus.range.to) shapes.push(bar(api, box, [at, at + 1], [foot, foot + 0.1], token('bad'), 1));
              }
            });
          }, 3),
        ],
      }),
    },
    bus,
  );
}

export const errorsAt = (all: DisturbErrors[], endpoint: string): number => all.filter((kind) => kind.endpoint === endpoint).reduce((sum, kind) => sum + kind.count, 0);

/** Times without a commit, a bar each, in the order of their ends: the longest of all. */
export function outages(of: DisturbRepeat, bus: Bus, behind: object, id: string): Strip | null {
  if (of.clients.length === 0) return null;
  const end = (c: { start_us: number; length_us: number }): number => c.start_us + c.length_us;
  const clients = [...of.clients].sort((a, b) => end(a) - end(b) || a.length_us - b.length_us);
  const longest = clients.reduce((a, b) => (b.length_us > a.length_us ? b : a));
  const all = `${many(of.clients_stalls, 'time')} of ${many(of.clients_stalled, 'client')}, from 100\u00a0ms on`;
  const lengths = clients.map((c) => c.length_us).sort((a, b) => a - b);
  return new Strip(
    {
      id: `${id}-clients`,
      title: 'Clients without service',
      subtitle: () => `from a commit to the next one, a bar each: ${of.clients_stalls > clients.length ? `the longest ${count(clients.length)} of ${all}` : all}`,
      height: 24 + Math.max(36, clients.length * Math.max(4, Math.min(12, 240 / clients.length))),
      entries: [
        { key: 'median', name: () => (of.clients_stalls > clients.length ? 'Median of those shown' : 'Median'), mark: 'block', color: 'ink2', value: () => timeText(lengths[Math.floor(lengths.length / 2)]) },
        { key: 'longest', name: () => `Longest: client ${longest.client}`, mark: 'block', color: 'bad', value: () => timeText(longest.length_us) },
      ],
      summary: () => `${all}; the longest ${timeText(longest.length_us)}, client ${longest.client}.`,
      data: () => ({ head: ['client', 'start_s', 'length_s', 'is_over'], rows: clients.map((c) => [c.client, c.start_us / 1e6, c.length_us / 1e6, c.is_over ? 'yes' : 'no']) }),
      build: (_, hidden) => ({
        grid: {},
        yAxis: { ...linearAxis(0, clients.length, clients.length), axisLabel: { show: false } },
        series: [
          behind,
          drawn((api, box, shapes) => {
            clients.forEach((c, i) => {
              const [from, to] = [c.start_us / 1e6, end(c) / 1e6];
              if (to < bus.range.from || from > bus.range.to || hidden.has(c === longest ? 'longest' : 'median')) return;
              const row = clients.length - i;
              shapes.push(bar(api, box, [from, to], [row - 0.85, row - 0.15], token(c === longest ? 'bad' : 'ink2'), 1));
            });
          }, 3),
        ],
      }),
    },
    bus,
  );
}

/** From one time to another, between two values; as wide as can be seen. */
export function bar(api: Api, box: Box, [from, to]: [number, number], [low, high]: [number, number], color: string, opacity: number): Record<string, unknown> {
  const [x0, y0] = api.coord([from, high]);
  const [x1, y1] = api.coord([to, low]);
  const left = within(x0, box);
  return rect(left, y0, Math.max(within(x1, box) - 0.5, left + 1.5), y1, color, opacity);
}
