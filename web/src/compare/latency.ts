/** Latency of both sides: percentile curves with the range of repeats, and p99 over time. */

import type { CompareData, Histogram, Pair, SideFigures } from '../data';
import { percentileName, timeText } from '../pure/format';
import { curve, curveAt, known, percentile, Sum, total, type CurvePoint } from '../pure/histogram';
import { pushApart } from '../pure/labels';
import { linear, timeTicks } from '../pure/ticks';
import { linearAxis, log, logAxis, timeAxis } from '../chart/axes';
import { figure } from '../chart/figure';
import { followCurve, percentileAt, percentileAxis, percentileLines } from '../chart/percentiles';
import { Plot } from '../chart/plot';
import { drawn, rect, segment, unclipped, words } from '../chart/shapes';
import { h } from '../page/dom';
import { section, type Section } from '../page/shell';
import { token } from '../page/theme';
import { sideMark } from './differences';

const SIDES = ['a', 'b'] as const;

/** Least and greatest of the repeats at each x; only where every repeat still has ten values beyond. */
export function band(repeats: Histogram[], xs: number[]): { x: number; low: number; high: number }[] {
  const curves = repeats.map((of) => curve(of).points);
  if (curves.length < 2) return [];
  return xs.flatMap((x) => {
    const values = curves.map((points) => curveAt(points, x));
    if (values.some((v) => v === null)) return [];
    return [{ x, low: Math.min(...(values as number[])), high: Math.max(...(values as number[])) }];
  });
}

/** B's value as a share of A's where both are known. */
export function ratio(a: CurvePoint[], b: CurvePoint[], xs: number[]): [number, number][] {
  return xs.flatMap((x): [number, number][] => {
    const [of, to] = [curveAt(a, x), curveAt(b, x)];
    return of === null || to === null || of === 0 ? [] : [[x, to / of]];
  });
}

function curves(pair: Pair): HTMLElement | null {
  const sides = { a: curve(pair.a.histogram), b: curve(pair.b.histogram) };
  const end = Math.max(sides.a.end?.x ?? 0, sides.b.end?.x ?? 0);
  if (end === 0) return null;
  const xs = Array.from({ length: 201 }, (_, i) => (i / 200) * end);
  const bands = { a: band(pair.a.repeats, xs), b: band(pair.b.repeats, xs) };
  const ratios = ratio(sides.a.points, sides.b.points, xs.filter((x) => x > 0.02));
  const all = [...sides.a.points, ...sides.b.points].map((p) => p.us).concat(bands.a.map((v) => v.high), bands.b.map((v) => v.high));
  const [low, high] = [Math.min(...all.filter((v) => v > 0)), Math.max(...all)];
  const most = Math.max(1.2, ...ratios.map(([, v]) => v));
  const share = linear(most * 100, 3);
  const what = pair.latency === 'response' ? 'response time' : 'service time';
  const readout = h('p', { class: 'readout', 'aria-live': 'polite' });
  let cursor: number | null = null;
  const plot = new Plot({
    height: 450,
    build: () => {
      const lines = (index: number): object => drawn((api, box) => percentileLines(end, cursor, api, box), 1, { xAxisIndex: index, yAxisIndex: index });
      const series: object[] = [lines(0), lines(1)];
      for (const side of SIDES) {
        series.push(
          drawn((api) => {
            const of = bands[side];
            if (of.length < 2) return [];
            const points = [...of.map((p) => api.coord([p.x, log(p.high)!])), ...of.map((p) => api.coord([p.x, log(p.low)!])).reverse()];
            return [{ type: 'polygon', shape: { points }, style: { fill: token(side), opacity: 0.16 }, silent: true }];
          }, 2),
        );
        series.push({ type: 'line', showSymbol: false, silent: true, data: sides[side].points.map((p) => [p.x, log(p.us)]), lineStyle: { color: token(side), width: 2.2, type: side === 'a' ? 'solid' : [6, 3] }, z: 4 });
      }
      const names = unclipped((api, box) => {
        const there = SIDES.flatMap((side) => (sides[side].end === null ? [] : [{ side, end: sides[side].end }]));
        const wanted = there.map(({ end: of }) => api.coord([of.x, log(of.us)!])[1]);
        const placed = pushApart(wanted, 15, box.y + 6, box.y + box.height);
        return there.flatMap(({ side, end: of }, i) => [
          segment(api.coord([of.x, 0])[0], wanted[i]!, box.x + box.width + 4, placed[i]!, token('line2')),
          words(box.x + box.width + 6, placed[i]! - 6, `${side.toUpperCase()} ${timeText(of.us)}`, token(side), { fontWeight: 600 }),
        ]);
      }, 6);
      series.push(names);
      series.push({ type: 'line', xAxisIndex: 1, yAxisIndex: 1, showSymbol: false, silent: true, data: ratios.map(([x, v]) => [x, v * 100]), lineStyle: { color: token('ink1'), width: 1.6 }, z: 4 });
      series.push(unclipped((api, box) => [segment(box.x, api.coord([0, 100])[1], box.x + box.width, api.coord([0, 100])[1], token('ink2'), 1, [4, 3]), words(box.x + box.width + 6, api.coord([0, 100])[1] - 6, 'same', token('ink2'))], 3, { xAxisIndex: 1, yAxisIndex: 1 }));
      return {
        grid: [
          { left: 62, right: 84, top: 12, height: 270 },
          { left: 62, right: 84, top: 306, height: 96 },
        ],
        xAxis: [false, true].map((labels, gridIndex) => ({ ...percentileAxis(end, labels), gridIndex })),
        yAxis: [{ ...logAxis(low, high), gridIndex: 0 }, { ...linearAxis(0, share.max, share.step), gridIndex: 1, axisLabel: { color: token('ink3'), fontSize: 11.5, formatter: (v: number) => `${v}\u00a0%` } }],
        series,
      };
    },
  });
  const element = figure(
    {
      title: 'Percentile curves',
      subtitle: `${what}; log over log nines; below: B as a share of A`,
      summary: () => SIDES.map((side) => `${side.toUpperCase()}: ${[0.5, 0.9, 0.99, 0.999].filter((p) => known(total(pair[side].histogram), p)).map((p) => `${percentileName(p)} ${timeText(percentile(pair[side].histogram, p))}`).join(', ')}`).join('; '),
      data: () => ({ head: ['percentile', 'a_us', 'b_us', 'b_to_a'], rows: xs.map((x) => [Number(((1 - 10 ** -x) * 100).toFixed(5)), curveAt(sides.a.points, x), curveAt(sides.b.points, x), ratios.find(([at]) => at === x)?.[1] ?? null]) }),
      caption: `${what}; A solid, B dashed; below: B as a share of A`,
    },
    plot,
    readout,
  );
  followCurve(element, plot, end, (nines) => {
    cursor = nines;
    readout.textContent = nines === null ? '' : `${percentileAt(nines)}: A ${timeText(curveAt(sides.a.points, nines))}, B ${timeText(curveAt(sides.b.points, nines))}`;
  });
  return element;
}

/** p99 of all repeats' transactions of each step, from histograms merged. */
export function overTime(of: NonNullable<SideFigures['over_time']>, p: number): { step: number; us: (number | null)[] } | null {
  const sum = new Sum(of.buckets_us);
  for (const by of [1, 2, 5, 10, 30]) {
    const us: (number | null)[] = [];
    for (let i = 0; i < of.merged.length; i += by) {
      sum.clear();
      for (const packed of of.merged.slice(i, i + by)) sum.add(packed);
      us.push(sum.percentile(p));
    }
    if (us.length > 0 && us.filter((v) => v !== null).length >= us.length * 0.9) return { step: (by * of.step_us) / 1e6, us };
  }
  return null;
}

function time(pair: Pair): HTMLElement | null {
  const found = { a: pair.a.over_time === undefined ? null : overTime(pair.a.over_time, 0.99), b: pair.b.over_time === undefined ? null : overTime(pair.b.over_time, 0.99) };
  // A line takes some moments.
  if (SIDES.every((side) => (found[side]?.us.filter((us) => us !== null).length ?? 0) < 3)) return null;
  const length = Math.max(...SIDES.map((side) => (pair[side].over_time === undefined ? 0 : (pair[side].over_time!.merged.length * pair[side].over_time!.step_us) / 1e6)));
  const all = SIDES.flatMap((side) => [...(found[side]?.us ?? []), ...(pair[side].over_time?.p99_high_us ?? []), ...(pair[side].over_time?.p99_low_us ?? [])]).filter((v): v is number => v !== null && v !== undefined && v > 0);
  const rows = SIDES.flatMap((side) => (pair[side].checkpoints ?? []).map((spans, i) => ({ side, i, spans })));
  const any = rows.some((row) => row.spans.length > 0);
  const lane = any ? Math.min(120, rows.length * 8) : 0;
  const plot = new Plot({
    height: 300 + lane + (any ? 40 : 30),
    build: ({ width }) => {
      const ticks = timeTicks(0, length, Math.max(2, Math.floor(width / 90)));
      const axis = (gridIndex: number, labels: boolean): object => ({ ...timeAxis(0, length, width, labels), gridIndex });
      const grid = (gridIndex: number): object => drawn((api, box) => ticks.map((t) => segment(api.coord([t.at, 0])[0], box.y, api.coord([t.at, 0])[0], box.y + box.height, token('line1'))), 1, { xAxisIndex: gridIndex, yAxisIndex: gridIndex });
      const series: object[] = [grid(0)];
      for (const side of SIDES) {
        const of = pair[side].over_time;
        const line = found[side];
        if (of === undefined || line === null) continue;
        const [lows, highs] = [of.p99_low_us ?? [], of.p99_high_us ?? []];
        if (lows.length > 0) {
          series.push(
            drawn((api) => {
              const there = lows.map((v, i) => ({ i, low: v, high: highs[i] })).filter((v): v is { i: number; low: number; high: number } => typeof v.low === 'number' && typeof v.high === 'number');
              const x = (i: number): number => ((i + 0.5) * of.step_us) / 1e6;
              const points = [...there.map((v) => api.coord([x(v.i), log(v.high)!])), ...there.map((v) => api.coord([x(v.i), log(v.low)!])).reverse()];
              return points.length > 3 ? [{ type: 'polygon', shape: { points }, style: { fill: token(side), opacity: 0.14 }, silent: true }] : [];
            }, 2),
          );
        }
        series.push({ type: 'line', showSymbol: false, silent: true, data: line.us.map((us, i) => [Math.min(length, (i + 0.5) * line.step), log(us)]), lineStyle: { color: token(side), width: 1.8, type: side === 'a' ? 'solid' : [6, 3] }, z: 4 });
      }
      if (any) {
        series.push(grid(1));
        series.push(
          drawn(
            (api, box) =>
              rows.flatMap((row, place) => {
                const y = box.y + ((place + 0.5) / rows.length) * box.height;
                return [segment(box.x, y, box.x + box.width, y, token('line1')), ...row.spans.map(([from, to]) => rect(api.coord([from / 1e6, 0])[0], y - 2, Math.max(api.coord([to / 1e6, 0])[0], api.coord([from / 1e6, 0])[0] + 2), y + 2, token(row.side)))];
              }),
            3,
            { xAxisIndex: 1, yAxisIndex: 1 },
          ),
        );
      }
      return {
        grid: [{ left: 62, right: 16, top: 12, height: 270 }, ...(any ? [{ left: 62, right: 16, top: 296, height: lane }] : [])],
        xAxis: [axis(0, !any), ...(any ? [axis(1, true)] : [])],
        yAxis: [{ ...logAxis(Math.min(...all), Math.max(...all)), gridIndex: 0 }, ...(any ? [{ ...linearAxis(0, 1, 1), gridIndex: 1, splitLine: { show: false }, axisLabel: { show: false } }] : [])],
        series,
      };
    },
  });
  return figure(
    {
      title: any ? 'p99 over time, and checkpoints' : 'p99 over time',
      subtitle: `all repeats merged, per ${Math.max(found.a?.step ?? 0, found.b?.step ?? 0)} s${any ? '; below: each repeat’s checkpoints' : ''}`,
      summary: () => SIDES.map((side) => { const values = (found[side]?.us ?? []).filter((v): v is number => v !== null); return values.length === 0 ? `${side.toUpperCase()}: not known` : `${side.toUpperCase()}: p99 between ${timeText(Math.min(...values))} and ${timeText(Math.max(...values))}`; }).join('; '),
      data: () => ({ head: ['side', 'from_s', 'p99_us'], rows: SIDES.flatMap((side) => (found[side]?.us ?? []).map((us, i) => [side.toUpperCase(), i * found[side]!.step, us])) }),
      caption: 'A solid, B dashed; all repeats merged',
    },
    plot,
  );
}

export function latency(data: CompareData): Section | null {
  const pair = data.pairs[0];
  if (pair === undefined) return null;
  const charts = [curves(pair), time(pair)].filter((c) => c !== null);
  if (charts.length === 0) return null;
  const key = h('ul', { class: 'key' }, h('li', {}, sideMark('a'), `A ${data.a.name}`), h('li', {}, sideMark('b'), `B ${data.b.name}`), h('li', {}, 'pale: range of the repeats'));
  return section('latency', 'Latency', 'Latency', data.pairs.length > 1 ? `All repeats merged, at ${pair.point}.` : 'All repeats merged.', key, h('div', { class: charts.length > 1 ? 'two-columns even' : '' }, ...charts));
}
