/** How stale reads from standbys were: over time, by endpoint, and their distribution. */

import type { StaleSecond, TrialData } from '../data';
import type { Bus } from '../pure/bus';
import { bucketName, ends, measured, secondAt, shares, shortOf, sources, violations, type Source } from '../pure/staleness';
import { columnUnit, count, DASH, inUnit, percent, timeText } from '../pure/format';
import { linear } from '../pure/ticks';
import { categories, linearAxis } from '../chart/axes';
import { figure, rowsBehind } from '../chart/figure';
import { Plot } from '../chart/plot';
import { drawn, rect } from '../chart/shapes';
import { Strip, type Entry } from '../chart/strip';
import { h, svg } from '../page/dom';
import { section, type Section } from '../page/shell';
import { figureTable, num, nums } from '../page/table';
import { token } from '../page/theme';
import { marks } from './marks';
import type { Model } from './model';

/** More servers than these are in the table alone. */
const STRIPS_MAX = 6;
const COLORS = ['io', 'lock', 'cpu', 'lwlock', 'ipc', 'client'];

type Of = (second: StaleSecond) => number | null;

const LINES: { key: string; words: string; mark: Entry['mark']; color: string; width: number; type?: number[]; of: Of }[] = [
  { key: 'worst', words: 'Worst', mark: 'line', color: 'ink3', width: 1.2, of: (s) => s.max_us },
  { key: 'p50', words: 'p50', mark: 'line', color: 'p50', width: 1.4, of: (s) => s.p50_us },
  { key: 'p99', words: 'p99', mark: 'thick', color: 'p99', width: 2, of: (s) => s.p99_us },
  { key: 'replay', words: 'Replay behind, worst', mark: 'dashed', color: 'warn', width: 1.4, type: [4, 3], of: (s) => s.replay_us },
];

const whose = (of: Source['of']): string => (of === 'probe' ? 'Staleness' : 'Staleness seen by clients');

/** A strip for each server that could be stale. */
export function stalenessStrips(model: Model, bus: Bus): Strip[] {
  const { staleness } = model.data.run;
  if (staleness === undefined) return [];
  const known = measured(sources(staleness)).filter((one) => one.endpoint.seconds.length > 0);
  return known.slice(0, STRIPS_MAX).map((source, i) => strip(model, bus, source, i));
}

function strip(model: Model, bus: Bus, source: Source, number: number): Strip {
  const { endpoint } = source;
  const { seconds, staleness: whole } = endpoint;
  const lines = LINES.filter((line) => seconds.some((second) => line.of(second) !== null));
  const ofRun: Record<string, number | null> = {
    worst: whole.max_us,
    p50: whole.p50_us,
    p99: whole.p99_us,
    replay: 'unknown' in endpoint.replay ? null : endpoint.replay.by_position.max_us,
  };
  const high = Math.max(1, ...seconds.flatMap((second) => lines.map((line) => line.of(second) ?? 0)));
  const unit = high >= 2e6 ? { name: 's', us: 1e6 } : { name: 'ms', us: 1e3 };
  const axis = linear(high / unit.us, 4);
  const seen = (): StaleSecond[] => seconds.filter((second) => second.at_s + 1 > bus.range.from && second.at_s < bus.range.to);
  const value = (key: string, of: Of) => (at: number | null) => {
    if (at !== null) {
      const second = secondAt(seconds, at);
      return second === undefined ? DASH : timeText(of(second));
    }
    if (bus.isWhole) return timeText(ofRun[key]);
    // A percentile of a part of the run is not known: its seconds are not added up.
    const known = key === 'p50' || key === 'p99' ? [] : seen().map(of).filter((us) => us !== null);
    return known.length === 0 ? DASH : timeText(Math.max(...known));
  };
  const entries: Entry[] = lines.map((line) => ({ key: line.key, name: () => line.words, mark: line.mark, color: line.color, value: value(line.key, line.of) }));
  return Strip.of(
    {
      id: `staleness-over-time-${number}`,
      title: `${whose(source.of)}, ${source.name}`,
      hint: endpoint.name,
      subtitle: () => `of reads by the second in which they began, ${unit.name}; 0: all was shown`,
      height: 150,
      entries,
      summary: () => `${whose(source.of)} of reads at ${source.name}: ${count(endpoint.stale)} of ${count(endpoint.reads)} reads were stale; median ${timeText(whole.p50_us)}, p99 ${timeText(whole.p99_us)}, worst ${timeText(whole.max_us)}.`,
      data: () => ({
        head: ['at_s', 'reads', 'stale', 'p50_us', 'p99_us', 'worst_us', 'replay_worst_us'],
        rows: seen().map((s) => [s.at_s, s.reads, s.stale, s.p50_us, s.p99_us, s.max_us, s.replay_us]),
      }),
      build: (_, hidden) => {
        const series: object[] = [marks(model, bus.range)];
        lines.forEach((line, i) => {
          if (hidden.has(line.key)) return;
          const points: [number, number | null][] = [];
          let before: number | null = null;
          for (const second of seen()) {
            // Seconds without reads are a gap, not a line across it.
            if (before !== null && second.at_s > before + 1) points.push([before + 1, null]);
            before = second.at_s;
            const us = line.of(second);
            points.push([second.at_s + 0.5, us === null ? null : us / unit.us]);
          }
          series.push({ type: 'line', showSymbol: points.length < 3, symbolSize: 3, silent: true, clip: true, data: points, itemStyle: { color: token(line.color) }, lineStyle: { color: token(line.color), width: line.width, type: line.type ?? 'solid' }, z: 3 + i });
        });
        return { grid: {}, yAxis: linearAxis(axis.min, axis.max, axis.step), series };
      },
    },
    bus,
  );
}

export function stalenessSection(data: TrialData): Section | null {
  const { staleness } = data.run;
  if (staleness === undefined) return null;
  const all = sources(staleness);
  const { buttons, table } = rowsBehind(
    'Reads from standbys',
    ['by', 'role', 'endpoint', 'reads', 'stale', 'p50_us', 'p99_us', 'max_us', 'after_write', 'own_unseen', 'after_read', 'went_back', 'before_first', 'failed'],
    () => all.map(({ of, endpoint: e }) => [of, e.role ?? 'control', e.name, e.reads, e.stale, e.staleness.p50_us, e.staleness.p99_us, e.staleness.max_us, e.after_write, e.own_unseen, e.after_read, e.went_back, e.before_first, e.failed]),
  );
  const stamps = `A stamp was written every ${timeText(staleness.interval_us)} (${count(staleness.written)} in the measured time) and read at each endpoint.`;
  const own = staleness.clients === undefined || staleness.clients === null ? '' : ` ${count(staleness.clients.sessions)} clients wrote ${count(staleness.clients.written)} stamps of their own in their transactions, and read them.`;
  return section(
    'staleness',
    'Staleness',
    'Reads from standbys',
    `Staleness of a read: the age of the oldest acknowledged write that it did not show, 0 if it showed all.${' '}${stamps}${own}`,
    buttons,
    table,
    h('div', { class: 'staleness' }, byEndpoint('Staleness by endpoint', all), consistency(all), histogram(measured(all).slice(0, COLORS.length))),
  );
}

/** Who read: the heading of a group of rows. */
const reader = (of: Source['of']): string => (of === 'probe' ? 'pgdyno’s probe' : 'the clients');

function byEndpoint(title: string, all: readonly Source[]): HTMLElement {
  const unit = columnUnit(all.flatMap(({ endpoint }) => [endpoint.staleness.p50_us, endpoint.staleness.p99_us, endpoint.staleness.max_us]));
  const heads = ['Read at', 'By', ...nums('Reads', 'Stale'), ...['p50', 'p99', 'Worst', 'Replay behind p50', 'p99'].map((name) => num(name, unit.unit)), num('Failed')];
  const rows = all.map(({ of, name, endpoint: e }) => {
    const replay = 'unknown' in e.replay ? null : e.replay.by_position;
    return [h('th', { scope: 'row', title: e.name }, name), reader(of), count(e.reads), e.reads === 0 ? DASH : percent(e.stale / e.reads), ...[e.staleness.p50_us, e.staleness.p99_us, e.staleness.max_us, replay?.p50_us, replay?.p99_us].map((us) => inUnit(us, unit)), count(e.failed)];
  });
  return figureTable(title, heads, rows, { caption: title });
}

/** Violations of the two guarantees, of how many chances. */
function consistency(all: readonly Source[]): HTMLElement {
  return figureTable(
    'Violations',
    ['Read at', 'By', ...nums('Read your writes: after an own write', 'Monotonic reads: after an earlier read'), 'The worst'],
    all.map(({ of, name, endpoint: e }) => [h('th', { scope: 'row', title: e.name }, name), reader(of), violations(e.own_unseen, e.after_write), violations(e.went_back, e.after_read), h('td', { class: 'wrap' }, worst(e, of, all))]),
    { caption: 'Violations by endpoint, of the reads that could have been one' },
  );
}

function worst(e: Source['endpoint'], of: Source['of'], all: readonly Source[]): string {
  const who = of === 'probe' ? 'session' : 'client';
  const words = [];
  const own = e.own_unseen_worst;
  if (own !== null) words.push(`${who} ${own.session} did not see its write ${count(own.stamp)} after ${timeText(own.read_us - own.written_us)}`);
  const back = e.went_back_worst;
  if (back !== null) words.push(`${who} ${back.session} read ${count(back.stamp)} at ${shortOf(all, back.at)}, then ${count(back.shown)}`);
  return words.length === 0 ? DASH : words.join('; ');
}

function histogram(all: readonly Source[]): HTMLElement | null {
  const at = ends(all.map(({ endpoint }) => endpoint.histogram));
  if (at.length === 0) return null;
  const parts = all.map(({ endpoint }) => shares(endpoint.histogram, at));
  const axis = linear(Math.max(...parts.flat(), 0.01) * 100, 4);
  const label = (source: Source): string => `${source.name}, by ${reader(source.of)}`;
  const plot = new Plot({
    height: 230,
    build: ({ width }) => {
      const every = Math.max(1, Math.ceil(at.length / Math.max(2, Math.floor((width - 70) / 64))));
      return {
        grid: { left: 54, right: 14, top: 12, bottom: 30 },
        xAxis: categories(at.map(bucketName), { axisLabel: { color: token('ink3'), fontSize: 11.5, interval: (i: number) => i % every === 0 } }),
        yAxis: linearAxis(axis.min, axis.max, axis.step, { axisLabel: { color: token('ink3'), fontSize: 11.5, formatter: '{value} %' } }),
        series: [
          drawn((api, box) => {
            const column = box.width / at.length;
            const bar = Math.min(18, (column * 0.84) / parts.length);
            return parts.flatMap((values, i) =>
              values.flatMap((share, n) => {
                if (share === 0) return [];
                const x = api.coord([n, 0])[0] + (i - parts.length / 2) * bar;
                const [y0, y1] = [api.coord([n, 0])[1], api.coord([n, share * 100])[1]];
                // One read can be seen as well.
                return [rect(x, Math.min(y1, y0 - 1), x + Math.max(bar - 0.8, 1), y0, token(COLORS[i]!))];
              }),
            );
          }, 2),
        ],
      };
    },
  });
  const key = h(
    'ul',
    { class: 'key' },
    ...all.map((source, i) => h('li', {}, svg('svg', { width: 16, height: 10, 'aria-hidden': 'true' }, svg('rect', { width: 12, height: 10, fill: `var(--${COLORS[i]!})` })), label(source))),
  );
  return figure(
    {
      id: 'staleness-histogram',
      title: 'Distribution of the staleness',
      subtitle: 'share of the reads; a bar ends at the staleness below it',
      summary: () => all.map((source, i) => `${label(source)}: ${percent(at[0] === 0 ? parts[i]![0]! : 0)} of the reads showed all that was acknowledged`).join('. '),
      caption: all.map(label).join('; '),
      data: () => ({
        head: ['upto_us', ...all.map(label)],
        rows: at.map((end) => [end, ...all.map(({ endpoint }) => endpoint.histogram.find((bucket) => bucket.upto_us === end)?.reads ?? 0)]),
      }),
    },
    plot,
    key,
  );
}
