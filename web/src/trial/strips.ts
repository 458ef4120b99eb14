/** Over time: throughput, latency, heat map. */

import type { Bus } from '../pure/bus';
import { binsIn, stepFor, thin } from '../pure/bins';
import { asked, count, percentileName, rate, timeText } from '../pure/format';
import { linear } from '../pure/ticks';
import { needed } from '../pure/histogram';
import { linearAxis, log, logAxis } from '../chart/axes';
import { drawn, lineSeries } from '../chart/shapes';
import { Strip, type Entry } from '../chart/strip';
import { token } from '../page/theme';
import { marks } from './marks';
import type { Model, Which } from './model';

/** Shorter ones stand where a phase ends: a rate over a few milliseconds would be chance. */
const SHORT_S = 0.2;

const perSecond = (model: Model, column: ArrayLike<number>): (number | null)[] =>
  Array.from(model.seconds.length_s, (length, row) => (length < SHORT_S ? null : column[row]! / length));

const middles = (model: Model): Float64Array => model.seconds.start_s.map((start, row) => start + model.seconds.length_s[row]! / 2);

export function throughput(model: Model, bus: Bus): Strip {
  const { timeline, run } = model.data;
  const x = middles(model);
  const committed = perSecond(model, timeline.committed);
  const due = timeline.due === undefined ? null : perSecond(model, timeline.due);
  const bad = timeline.failed.map((n, row) => n + timeline.unknown[row]!);
  const anyBad = bad.some((n) => n > 0);
  const highest = Math.max(1, ...committed.map((v) => v ?? 0), ...(due ?? []).map((v) => v ?? 0));
  const axis = linear(highest, 4);
  const mean = (column: ArrayLike<number>) => (at: number | null) => {
    if (at !== null) {
      const row = model.rowAt(at);
      return row < 0 ? '–' : rate(column[row]! / model.seconds.length_s[row]!);
    }
    const { sum, seconds } = model.total(column, bus.range);
    return seconds > 0 ? rate(sum / seconds) : '–';
  };
  const entries: Entry[] = [
    {
      key: 'committed',
      name: () => 'Committed',
      mark: 'line',
      color: 'accent',
      value: (at) => (at === null && bus.isWhole ? rate(run.measured.goodput_per_s) : mean(timeline.committed)(at)),
    },
  ];
  if (due !== null) entries.push({ key: 'due', name: () => 'Due (schedule)', mark: 'dashed', color: 'ok', value: mean(timeline.due!) });
  if (anyBad) {
    entries.push({
      key: 'bad',
      name: () => 'Failed, unknown',
      mark: 'diamond',
      color: 'bad',
      value: (at) => (at === null ? count(model.total(bad, bus.range).sum) : count(bad[model.rowAt(at)] ?? 0)),
    });
  }
  return Strip.of(
    {
      id: 'throughput',
      title: 'Throughput',
      subtitle: () => 'transactions per second, by end time',
      height: 150,
      entries,
      summary: () => {
        const values = committed.filter((v, row): v is number => v !== null && model.seconds.warmup[row] === 0);
        return `Committed transactions per second: ${rate(run.measured.goodput_per_s)} over the run, between ${rate(Math.min(...values))} and ${rate(Math.max(...values))} in a second.`;
      },
      data: () => {
        const rows = model.seen(bus.range).map((row) => [
          model.seconds.start_s[row]!,
          model.seconds.length_s[row]!,
          model.seconds.warmup[row] === 1 ? 'warm-up' : 'measured',
          timeline.committed[row]!,
          timeline.due?.[row] ?? null,
          timeline.failed[row]!,
          timeline.unknown[row]!,
          timeline.skipped[row]!,
          timeline.retries[row]!,
        ]);
        return { head: ['start_s', 'length_s', 'phase', 'committed', 'due', 'failed', 'unknown', 'skipped', 'retries'], rows };
      },
      build: ({ width }, hidden) => {
        const { from, to } = bus.range;
        const series: object[] = [marks(model, bus.range)];
        if (!hidden.has('committed')) {
          series.push(lineSeries(thin(x, committed, from, to, width), { color: token('accent'), width: 1.6 }, { areaStyle: { color: token('accent'), opacity: 0.1 }, z: 3 }));
        }
        if (due !== null && !hidden.has('due')) {
          series.push(lineSeries(thin(x, due, from, to, width), { color: token('ok'), width: 1.4, type: [4, 3] }, { z: 2 }));
        }
        if (anyBad && !hidden.has('bad')) {
          const data = model.seen(bus.range).filter((row) => bad[row]! > 0).map((row) => [x[row]!, committed[row] ?? 0]);
          series.push({ type: 'scatter', symbol: 'diamond', symbolSize: 8, silent: true, large: false, data, itemStyle: { color: token('bad') }, z: 4 });
        }
        return { grid: {}, yAxis: linearAxis(axis.min, axis.max, axis.step), series };
      },
    },
    bus,
  );
}

/** Bins that fit side by side in a picture. */
const BINS_MAX = 900;

const LINES: { p: number; color: string; mark: 'line' | 'thick'; width: number }[] = [
  { p: 0.999, color: 'p999', mark: 'line', width: 1.3 },
  { p: 0.99, color: 'p99', mark: 'thick', width: 2 },
  { p: 0.5, color: 'p50', mark: 'line', width: 1.4 },
];

const WORDS: Record<Which, string> = { response: 'response time from the scheduled start', service: 'service time, from the first try to the end' };

export function latency(model: Model, bus: Bus): Strip {
  const which = model.primary;
  const { run } = model.data;
  const maxima = model.max(which);
  const x = middles(model);
  const least = (): number => stepFor(bus.range.to - bus.range.from, BINS_MAX);
  const whole = run.measured[which];
  const ofRun: Record<number, number | null | undefined> = { 0.5: whole?.p50_us, 0.99: whole?.p99_us, 0.999: whole?.p99_9_us };
  const value = (of: Which, p: number) => (at: number | null) => {
    if (at !== null) {
      const found = model.percentile(of, p, least());
      const bin = found?.bins.findIndex((b) => at >= b.start_s && at < b.end_s) ?? -1;
      return bin < 0 ? '–' : timeText(found!.us[bin], model.digits);
    }
    if (bus.isWhole) return timeText(of === which ? ofRun[p] : run.measured.service.p99_us);
    const { sum, max_us } = model.merged(of, bus.range);
    return timeText(sum.percentile(p, max_us), model.digits);
  };
  const name = (of: Which, p: number, words: string) => () => {
    const found = model.percentile(of, p, least());
    if (found === null) return `${words}: not drawn, under ${count(needed(p))} in 30 s`;
    return found.step === 1 ? words : `${words}, per ${found.step} s`;
  };
  const entries: Entry[] = [
    {
      key: 'worst',
      name: () => 'Worst',
      mark: 'dots',
      color: 'ink3',
      value: (at) => {
        if (at !== null) return timeText(maxima[model.rowAt(at)]);
        if (bus.isWhole) return timeText(whole?.max_us);
        const seen = model.seen(bus.range).filter((row) => model.seconds.warmup[row] === 0).flatMap((row) => maxima[row] ?? []);
        return seen.length > 0 ? timeText(Math.max(...seen)) : '–';
      },
    },
    ...LINES.map(({ p, color, mark }) => ({ key: `p${p}`, name: name(which, p, percentileName(p)), mark, color, value: value(which, p) })),
  ];
  if (which === 'response') {
    entries.push({ key: 'service', name: name('service', 0.99, 'Service p99'), mark: 'dashed', color: 'service', value: value('service', 0.99) });
  }
  let low = Infinity;
  let high = 1;
  for (const row of maxima) high = Math.max(high, row ?? 0);
  for (const us of model.percentile(which, 0.5, 1)?.us ?? []) if (us !== null) low = Math.min(low, us);
  for (const us of model.percentile('service', 0.5, 1)?.us ?? []) if (us !== null && which === 'response') low = Math.min(low, us);
  if (!Number.isFinite(low)) low = Math.min(...maxima.filter((v): v is number => v !== null && v > 0), high) / 2;
  return Strip.of(
    {
      id: 'latency-over-time',
      title: 'Latency percentiles',
      subtitle: () => `${WORDS[which]}, log scale`,
      height: 236,
      entries,
      summary: () =>
        `${WORDS[which]}: median ${timeText(whole?.p50_us)}, p99 ${timeText(whole?.p99_us)}, p99.9 ${timeText(whole?.p99_9_us)}, worst ${timeText(whole?.max_us)} over the run.`,
      data: () => {
        const step = least();
        const lines = LINES.map((line) => ({ ...line, found: model.percentile(which, line.p, step) }));
        const service = which === 'response' ? model.percentile('service', 0.99, step) : null;
        const at = (found: (typeof lines)[number]['found'], second: number): number | null => {
          const bin = found?.bins.findIndex((b) => second >= b.start_s - 1e-9 && second < b.end_s) ?? -1;
          return bin < 0 ? null : found!.us[bin]!;
        };
        const rows = model.seen(bus.range).map((row) => {
          const second = model.seconds.start_s[row]!;
          return [second, ...lines.map((line) => at(line.found, second)), maxima[row] ?? null, ...(service === null ? [] : [at(service, second)])];
        });
        const per = (found: { step: number } | null): string => (found === null ? '_us' : `_us_per_${found.step}s`);
        return {
          head: ['start_s', ...lines.map((line) => percentileName(line.p) + per(line.found)), 'worst_us', ...(service === null ? [] : [`service_p99${per(service)}`])],
          rows,
        };
      },
      build: ({ width }, hidden) => {
        const { from, to } = bus.range;
        const series: object[] = [marks(model, bus.range)];
        const draw = (of: Which, p: number, style: { color: string } & Record<string, unknown>, z: number): void => {
          const found = model.percentile(of, p, least());
          if (found === null) return;
          const points: [number, number | null][] = [];
          found.bins.forEach((bin, i) => {
            if (bin.end_s < from || bin.start_s > to) return;
            const us = log(found.us[i]);
            if (found.step === 1) points.push([(bin.start_s + bin.end_s) / 2, us]);
            else points.push([bin.start_s, us], [bin.end_s, us]);
          });
          series.push(lineSeries(points, style, { showSymbol: points.length < 3, symbolSize: 3, itemStyle: { color: style.color }, z }));
        };
        if (!hidden.has('worst')) {
          series.push({
            type: 'scatter',
            symbolSize: 2.4,
            silent: true,
            data: thin(x, maxima.map(log), from, to, width).filter(([, v]) => v !== null),
            itemStyle: { color: token('ink3'), opacity: 0.75 },
            z: 2,
          });
        }
        if (which === 'response' && !hidden.has('service')) draw('service', 0.99, { color: token('service'), width: 1.3, type: [4, 3] }, 3);
        LINES.forEach(({ p, color, width: thick }, i) => {
          if (!hidden.has(`p${p}`)) draw(which, p, { color: token(color), width: thick }, 4 + i);
        });
        return { grid: {}, yAxis: logAxis(low, high), series };
      },
    },
    bus,
  );
}

/** Columns of the heat map are at least so wide. */
const COLUMN_PX = 4;

export function heatMap(model: Model, bus: Bus, key: (max: number) => HTMLElement): Strip {
  const { heat, primary } = model;
  const { run } = model.data;
  const whole = run.measured[primary];
  const what = primary === 'response' ? 'responses' : 'transactions';
  // Slow is what the run itself calls late, else ten times the median, to the next power of ten.
  let slow = run.trial.latency_limit_us ?? 10 ** Math.ceil(Math.log10(Math.max(1, whole?.p50_us ?? 1000) * 10) - 1e-9);
  while (run.trial.latency_limit_us === null && slow > (whole?.max_us ?? Infinity) && slow > 1) slow /= 10;
  const steps = (): number => stepFor(bus.range.to - bus.range.from, Math.max(20, (lastWidth - 68) / COLUMN_PX));
  let lastWidth = 1000;
  let most = 1;
  for (const n of heat.counts) most = Math.max(most, n);
  const inRange = (at: number | null): { all: number; slow: number } => {
    const row = at === null ? 0 : model.rowAt(at);
    if (row < 0) return { all: 0, slow: 0 };
    const start = model.seconds.start_s[row]!;
    const { sum } = model.merged(primary, at === null ? bus.range : { from: start - 1e-3, to: start + 1e-3 });
    return { all: sum.total, slow: sum.above(slow) };
  };
  const low = 10 ** Math.floor(heat.low / 10);
  const high = 10 ** Math.ceil((heat.low + Math.max(1, heat.rows)) / 10);
  return Strip.of(
    {
      id: 'heat-map',
      title: 'Latency heat map',
      subtitle: () => `every ${primary === 'response' ? 'response' : 'transaction'}, 10 rows a decade, a column ${steps()} s`,
      height: 232,
      entries: [
        { key: 'all', name: () => what[0]!.toUpperCase() + what.slice(1), mark: 'block', color: 'heat4', value: (at) => count(inRange(at).all) },
        { key: 'slow', name: () => `Slower than ${asked(slow)}`, mark: 'block', color: 'heat2', value: (at) => count(inRange(at).slow) },
      ],
      rail: [key(most)],
      summary: () => `How many ${what} took how long in each second: ${count(whole?.count ?? 0)} in all, the worst ${timeText(whole?.max_us)}.`,
      data: () => {
        const rows = model.seen(bus.range).flatMap((row) =>
          Array.from(heat.counts.slice(row * heat.rows, (row + 1) * heat.rows), (n, r) => [model.seconds.start_s[row]!, Math.round(10 ** ((heat.low + r) / 10)), Math.round(10 ** ((heat.low + r + 1) / 10)), n]).filter(([, , , n]) => n! > 0),
        );
        return { head: ['start_s', 'from_us', 'to_us', what], rows };
      },
      build: ({ width }, hidden) => {
        lastWidth = width;
        const step = steps();
        const series: object[] = [marks(model, bus.range)];
        if (!hidden.has('all') && heat.rows > 0) {
          series.push(
            drawn(
              (_, box) => {
                const image = paint(model, bus, step, box.width, box.height, Math.log10(low), Math.log10(high), most, hidden.has('slow') ? slow : null);
                return [{ type: 'image', style: { image, x: box.x, y: box.y, width: box.width, height: box.height }, silent: true }];
              },
              2,
            ),
          );
        }
        return { grid: {}, yAxis: logAxis(low, high * 0.999), series };
      },
    },
    bus,
  );
}

/** The cells that are seen, on a canvas of their own. */
function paint(model: Model, bus: Bus, step: number, width: number, height: number, low: number, high: number, most: number, without: number | null): HTMLCanvasElement {
  const { heat } = model;
  const { from, to } = bus.range;
  const scale = Math.max(1, window.devicePixelRatio);
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  const context = canvas.getContext('2d')!;
  const colors = Array.from({ length: 8 }, (_, i) => token(`heat${i}`));
  const top = Math.log(most * step + 1);
  const x = (at: number): number => ((at - from) / (to - from)) * canvas.width;
  const y = (row: number): number => canvas.height - ((row / 10 - low) / (high - low)) * canvas.height;
  const sums = new Float64Array(heat.rows);
  const limit = without === null ? Infinity : Math.floor(Math.log10(without) * 10 + 1e-9);
  for (const bin of binsIn(model.seconds, step, bus.range)) {
    sums.fill(0);
    for (let i = bin.from * heat.rows; i < bin.to * heat.rows; i += 1) sums[i % heat.rows]! += heat.counts[i]!;
    const [x0, x1] = [Math.round(x(bin.start_s)), Math.round(x(bin.end_s))];
    for (let r = 0; r < heat.rows; r += 1) {
      const n = sums[r]!;
      if (n === 0 || heat.low + r >= limit) continue;
      context.fillStyle = colors[Math.min(7, Math.floor((Math.log(n + 1) / top) * 8))]!;
      const [y0, y1] = [Math.round(y(heat.low + r + 1)), Math.round(y(heat.low + r))];
      context.fillRect(x0, y0, Math.max(1, x1 - x0), Math.max(1, y1 - y0));
    }
  }
  return canvas;
}
