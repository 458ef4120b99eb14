/** Over time: retries by reason with failures below, and what sessions were doing. */

import type { Waits } from '../data';
import type { Bus } from '../pure/bus';
import { lower, stepFor } from '../pure/bins';
import { count, DASH, fixed, rate } from '../pure/format';
import { meanOf, means, rates, readIn, small } from '../pure/stack';
import { linear, step } from '../pure/ticks';
import { linearAxis } from '../chart/axes';
import { areas, drawn, segment, stacked } from '../chart/shapes';
import { NARROW, Strip, type Entry } from '../chart/strip';
import { OPACITY, PARTS, WAIT_ORDER, waitColor } from '../page/classes';
import { token } from '../page/theme';
import { marks, type Hole } from './marks';
import type { Model } from './model';
import { mostClients } from './rate';

interface Part {
  name: string;
  color: string;
  opacity?: number;
  count: number[];
}

export function retries(model: Model, bus: Bus): Strip | null {
  const { timeline, run } = model.data;
  const any = (column: number[]): boolean => column.some((n) => n > 0);
  const split = (timeline.retries_by_reason ?? []).filter((part) => any(part.count));
  const parts: Part[] =
    split.length > 0
      ? split.slice(0, PARTS.length - 1).map((part, i) => ({ name: part.name, color: PARTS[i]!, count: part.count }))
      : any(timeline.retries)
        ? [{ name: 'Retries', color: 'lock', count: timeline.retries }]
        : [];
  if (split.length > PARTS.length - 1) {
    const rest = split.slice(PARTS.length - 1);
    const counts = timeline.retries.map((_, row) => rest.reduce((sum, part) => sum + part.count[row]!, 0));
    parts.push({ name: `Other (${rest.length})`, color: 'other', count: counts });
  }
  const classes = (timeline.failed_by_class ?? []).filter((part) => any(part.count));
  const bad: Part[] = (classes.length > 0 ? classes : any(timeline.failed) ? [{ name: 'Failed', count: timeline.failed }] : [])
    .slice(0, 6)
    .map((part, i) => ({ name: classes.length > 0 ? `Failed: ${part.name}` : part.name, color: 'bad', opacity: [1, 0.7, 0.5, 0.4, 0.3, 0.25][i]!, count: part.count }));
  if (any(timeline.unknown)) bad.push({ name: 'Unknown', color: 'warn', count: timeline.unknown });
  if (any(timeline.skipped)) bad.push({ name: 'Skipped', color: 'other', count: timeline.skipped });
  if (parts.length === 0 && bad.length === 0) return null;
  const both = parts.length > 0 && bad.length > 0;
  const value = (part: Part, perSecond: boolean) => (at: number | null) => {
    const { sum, seconds } = at === null ? model.total(part.count, bus.range) : { sum: part.count[model.rowAt(at)] ?? 0, seconds: 1 };
    return perSecond ? rate(seconds > 0 ? sum / seconds : 0) : count(sum);
  };
  const entry = (part: Part, perSecond: boolean): Entry => ({
    key: part.name,
    name: () => part.name,
    mark: 'block',
    color: part.color,
    opacity: part.opacity ?? 1,
    value: value(part, perSecond),
  });
  const upper = parts.length > 0 ? 110 : 0;
  const lane = bad.length > 0 ? (both ? 32 : 80) : 0;
  const height = upper + lane + (both ? 24 : 12);
  const width5 = (width: number): number => stepFor(bus.range.to - bus.range.from, Math.max(20, width / 5));
  const axisOf = (list: Part[], by: number, about: number, perSecond: boolean) => {
    const columns = rates(model.seconds, list.map((p) => p.count), by, model.whole, perSecond);
    const high = Math.max(...columns.map((column) => column.values.reduce<number>((a, b) => a + (b ?? 0), 0)), 1e-9);
    return linear(high, about);
  };
  return Strip.of(
    {
      id: 'retries-over-time',
      title: parts.length > 0 ? 'Retries and failures' : 'Failures',
      subtitle: () => (parts.length === 0 ? 'failed transactions, counted' : `retries per second${split.length > 0 ? ', by reason' : ''}${bad.length > 0 ? '; below, failures counted' : ''}`),
      height,
      entries: [...parts.map((part) => entry(part, true)), ...bad.map((part) => entry(part, false))],
      summary: () => `${count(run.measured.retries)} ${run.measured.retries === 1 ? 'retry' : 'retries'}, ${count(run.measured.failed)} failed, ${count(run.measured.unknown)} unknown over the run.`,
      data: () => {
        const all = [...parts, ...bad];
        const rows = model.seen(bus.range).map((row) => [model.seconds.start_s[row]!, ...all.map((part) => part.count[row]!)]);
        return { head: ['start_s', ...all.map((part) => part.name)], rows };
      },
      build: ({ width, exported }, hidden) => {
        const by = width5(width);
        // Room for a ruler of its own, where it has one (Strip).
        const ruler = exported || width < NARROW ? 16 : 0;
        const grids: object[] = [];
        const yAxis: object[] = [];
        const series: object[] = [];
        const add = (list: Part[], top: number, tall: number, about: number, perSecond: boolean): void => {
          const gridIndex = grids.length;
          const axes = { xAxisIndex: gridIndex, yAxisIndex: gridIndex };
          const axis = axisOf(list, by, about, perSecond);
          grids.push({ top, height: tall, bottom: undefined });
          yAxis.push({ ...linearAxis(axis.min, axis.max, about === 1 ? axis.max : axis.step), gridIndex });
          const shown = list.filter((part) => !hidden.has(part.name));
          const columns = rates(model.seconds, shown.map((p) => p.count), by, bus.range, perSecond);
          series.push(marks(model, bus.range, axes));
          series.push(drawn((api, box) => stacked(columns, shown, api, box), 2, axes));
        };
        if (parts.length > 0) add(parts, 6, upper - ruler, 4, true);
        if (bad.length > 0) add(bad, both ? upper - ruler + 18 : 6, both ? lane : lane - ruler, both ? 1 : 3, false);
        return { grid: grids, yAxis, series };
      },
    },
    bus,
  );
}

/** The instrument that samples what sessions wait for. */
export const isWaits = (name: string): boolean => name === 'waits' || name.endsWith('.waits');

/** Below this share of all active time events are put together. */
const SMALL = 0.01;

interface Layer {
  key: string;
  name: string;
  color: string;
  opacity: number;
  sessions: (number | null)[];
  members: string[];
}

/** Events by class and frequency, from below; rare ones as one layer. */
export function layers(waits: Waits): Layer[] {
  const sums = waits.events.map((event) => event.sessions.reduce<number>((sum, n) => sum + (n ?? 0), 0));
  const { stay, merge } = small(sums, SMALL);
  const place = (of: string): number => {
    const at = WAIT_ORDER.indexOf(of);
    return at < 0 ? WAIT_ORDER.length : at;
  };
  const order = [...stay].sort((a, b) => place(waits.events[a]!.class) - place(waits.events[b]!.class) || waits.events[a]!.class.localeCompare(waits.events[b]!.class) || sums[b]! - sums[a]!);
  const rank = new Map<string, number>();
  const found: Layer[] = order.map((i) => {
    const event = waits.events[i]!;
    const color = waitColor(event.class);
    const nth = rank.get(color) ?? 0;
    rank.set(color, nth + 1);
    const name = event.class === 'CPU' ? 'CPU' : `${event.class}:${event.event}`;
    return { key: `${event.class}:${event.event}`, name, color, opacity: OPACITY[Math.min(nth, 2)]!, sessions: event.sessions, members: [name] };
  });
  if (merge.length > 0) {
    const length = waits.events[0]!.sessions.length;
    const sessions = Array.from({ length }, (_, k) => {
      const values = merge.map((i) => waits.events[i]!.sessions[k]).filter((v): v is number => v !== null && v !== undefined);
      return values.length === 0 ? null : values.reduce((a, b) => a + b, 0);
    });
    const members = merge.map((i) => `${waits.events[i]!.class}:${waits.events[i]!.event}`);
    found.push({ key: 'other', name: `Other (${merge.length} ${merge.length === 1 ? 'event' : 'events'})`, color: 'other', opacity: 1, sessions, members });
  }
  return found;
}

export function sessions(model: Model, bus: Bus): Strip | null {
  const { waits, run, instruments } = model.data;
  if (waits === undefined || waits.events.length === 0) return null;
  const at = model.clocks[waits.clock];
  if (at === undefined || at.length === 0) return null;
  const found = layers(waits);
  const clients = mostClients(run.trial);
  const totals = Array.from(at, (_, k) => found.reduce((sum, layer) => sum + (layer.sessions[k] ?? 0), 0));
  const highest = totals.reduce((a, b) => Math.max(a, b), 0);
  // From 0 to all clients, in quarters where that is round.
  const axis = highest <= clients ? { min: 0, max: clients, step: clients % 4 === 0 ? clients / 4 : step(clients, 4) } : linear(highest, 4);
  const holes: Hole[] = instruments
    .filter((instrument) => isWaits(instrument.name))
    .flatMap((instrument) => instrument.gaps)
    .map((gap) => ({ from: gap.from_us === null ? model.whole.from : gap.from_us / 1e6, to: gap.to_us === null ? model.whole.to : gap.to_us / 1e6 }));
  const mean = (layer: Layer) => (moment: number | null) => {
    if (moment !== null) {
      const k = lower(at, moment - 1e-9);
      const value = layer.sessions[Math.min(k, at.length - 1)];
      return value === null || value === undefined ? DASH : fixed(value, 1);
    }
    const value = meanOf(at, layer.sessions, Math.max(bus.range.from, model.measured_from_s), bus.range.to);
    return value === null ? DASH : value < 0.05 && value > 0 ? '< 0.1' : fixed(value, 1);
  };
  const entries: Entry[] = [...found].reverse().map((layer) => ({
    key: layer.key,
    name: () => layer.name,
    mark: 'block',
    color: layer.color,
    opacity: layer.opacity,
    value: mean(layer),
  }));
  const { cores } = waits;
  if (cores !== null) entries.push({ key: 'cores', name: () => `${count(cores)} cores of the server`, mark: 'dashed', color: 'ink1', value: () => '' });
  return Strip.of(
    {
      id: 'sessions',
      title: 'What sessions were doing',
      subtitle: () => `average active sessions${waits.how === undefined ? '' : `, ${waits.how}`}`,
      height: 232,
      entries,
      summary: () => {
        const most = [...found].sort((a, b) => sumOf(b.sessions) - sumOf(a.sessions)).slice(0, 3);
        return `Of ${count(clients)} clients, on average: ${most.map((layer) => `${layer.name} ${mean(layer)(null)}`).join(', ')}.`;
      },
      data: () => {
        const rows = readIn(at, bus.range).map((k) => [at[k]!, ...waits.events.map((event) => event.sessions[k] ?? null)]);
        return { head: ['at_s', ...waits.events.map((event) => `${event.class}:${event.event}`)], rows };
      },
      build: ({ width }, hidden) => {
        const shown = found.filter((layer) => !hidden.has(layer.key));
        const columns = means(at, shown.map((layer) => layer.sessions), bus.range, width / 2);
        const series: object[] = [marks(model, bus.range, {}, holes)];
        series.push(
          drawn((api, box) => {
            const dark = document.documentElement.dataset.theme === 'dark';
            const styles = shown.map((layer) => ({ fill: token(layer.color), opacity: layer.opacity * (dark ? 0.86 : 1), stroke: token('bg'), lineWidth: 0.6 }));
            const shapes = areas(columns, styles, api, box);
            if (cores !== null && !hidden.has('cores')) {
              const y = api.coord([bus.range.from, cores])[1];
              shapes.push(segment(box.x, y, box.x + box.width, y, token('ink1'), 1.3, [5, 3]));
            }
            return shapes;
          }, 2),
        );
        return { grid: {}, yAxis: linearAxis(axis.min, axis.max, axis.step), series };
      },
    },
    bus,
  );
}

const sumOf = (values: (number | null)[]): number => values.reduce<number>((a, b) => a + (b ?? 0), 0);
