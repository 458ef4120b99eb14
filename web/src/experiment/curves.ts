/** The four curves of an experiment. */

import type { ExperimentData, Point } from '../data';
import { asked, bytesText, rate, timeText } from '../pure/format';
import { linesChart, type Line, type Place } from '../chart/lines';
import { lineOf } from '../page/classes';
import { goodput, latencyOf, lines, pointAt, type Part, type Plane } from './model';


function goodputPlace(point: Point, x: number, go: () => void): Place | null {
  const of = point.figures.goodput?.over_repeats;
  if (of === undefined || of === null) return null;
  const interval = of.interval;
  const flagged = point.outliers.filter((o) => o.figure === 'goodput').flatMap((o) => {
    const at = point.trials.findIndex((t) => t.trial === o.trial);
    const value = of.values[at];
    return value === undefined || value === null ? [] : [value];
  });
  const words = `${point.title}: ${rate(of.median)} tps, ${interval !== null ? `95 % interval ${rate(interval[0])} to ${rate(interval[1])}` : `range ${rate(of.min)} to ${rate(of.max)}`}, ${of.n} ${of.n === 1 ? 'repeat' : 'repeats'}`;
  return { x, y: of.median, low: interval?.[0] ?? null, high: interval?.[1] ?? null, dots: of.values.filter((v): v is number => v !== null), flagged, words, go };
}

function latencyPlace(point: Point, x: number, figure: string, go: () => void): Place | null {
  const of = point.figures[figure];
  const spread = of?.over_repeats ?? null;
  const y = latencyOf(point, figure);
  if (y === null) return null;
  return {
    x,
    y,
    low: spread?.interval?.[0] ?? null,
    high: spread?.interval?.[1] ?? null,
    dots: spread?.values.filter((v): v is number => v !== null) ?? [],
    words: `${point.title}: ${figure} ${timeText(y)}${spread === null ? ', all repeats together' : `, repeats ${timeText(spread.min)} to ${timeText(spread.max)}`}`,
    go,
  };
}

export function curves(data: ExperimentData, plane: Plane, part: Part, goAll: (point: number) => void): HTMLElement[] {
  const { line } = plane;
  const x = plane.x!;
  const go = (at: number): void => goAll(part.index[at]!);
  const id = (name: string): string => `${name}${part.suffix}`;
  const of = (make: (point: Point, x: number, go: () => void) => Place | null): Line[] =>
    lines(plane)
      .map(({ name, index }) => ({
        name,
        ...lineOf(index),
        places: x.values.flatMap((_, i) => {
          const found = pointAt(data, plane, index, i);
          const place = found === null ? null : make(found.point, i, () => go(found.index));
          return place === null ? [] : [place];
        }),
      }))
      .filter((l) => l.places.length > 0);
  const response = data.points.some((point) => point.latency === 'response');
  const what = response ? 'response time' : 'service time';
  const slo = data.slo_us ?? null;
  const places = x.values.map((name) => ({ name }));
  const rows = (make: (point: Point) => (number | null)[]) =>
    lines(plane).flatMap(({ index }) =>
      x.values.flatMap((value, i) => {
        const found = pointAt(data, plane, index, i);
        return found === null ? [] : [[line === null ? '' : line.values[index]!, value, ...make(found.point)]];
      }),
    );
  const head = [line?.title ?? 'line', x.title];
  const charts: HTMLElement[] = [];
  const good = of(goodputPlace);
  charts.push(
    linesChart({
      id: id('curve-x'),
      title: `Goodput against ${x.title}`,
      subtitle: 'tps',
      lines: good,
      places,
      xName: x.title,
      log: false,
      summary: () => good.map((l) => `${l.name}: ${rate(Math.max(...l.places.map((p) => p.y)))} tps at most`).join('; '),
      data: () => ({ head: [...head, 'median_tps', 'low', 'high', 'repeats'], rows: rows((p) => {
        const g = p.figures.goodput?.over_repeats ?? null;
        return [g?.median ?? null, g?.interval?.[0] ?? g?.min ?? null, g?.interval?.[1] ?? g?.max ?? null, p.repeats];
      }) }),
    }),
  );
  const slow = of((point, at, open) => latencyPlace(point, at, 'p99', open));
  if (slow.length > 0) {
    charts.push(
      linesChart({
        id: id('curve-p99'),
        title: `p99 latency against ${x.title}`,
        subtitle: `${what}, log scale${slo === null ? '' : `; dashed: the ${asked(slo)} asked for`}`,
        lines: slow,
        places,
        xName: x.title,
        log: true,
        ...(slo === null ? {} : { limit: { y: slo, name: `p99 ≤ ${asked(slo)}` } }),
        summary: () => slow.map((l) => `${l.name}: ${timeText(Math.min(...l.places.map((p) => p.y)))} to ${timeText(Math.max(...l.places.map((p) => p.y)))}`).join('; '),
        data: () => ({ head: [...head, 'p50_us', 'p99_us', 'p99.9_us'], rows: rows((p) => [latencyOf(p, 'p50'), latencyOf(p, 'p99'), latencyOf(p, 'p99.9')]) }),
      }),
    );
  }
  // Kinds are never joined: only along numbers.
  if (line !== null && line.kind === 'number') {
    const sizes = line.sizes_bytes ?? [];
    const across: Line[] = x.values.map((value, i) => ({
      name: x.name === 'clients' ? `${value} ${value === '1' ? 'client' : 'clients'}` : `${x.title} ${value}`,
      color: `heat${Math.min(7, 2 + Math.round((i / Math.max(1, x.values.length - 1)) * 5))}`,
      symbol: 'circle',
      places: line.values.flatMap((_, l) => {
        const found = pointAt(data, plane, l, i);
        const place = found === null ? null : goodputPlace(found.point, l, () => go(found.index));
        return place === null ? [] : [{ ...place, dots: [] }];
      }),
    }));
    charts.push(
      linesChart({
        id: id('curve-scale'),
        title: `Goodput against ${line.title}`,
        subtitle: `tps${sizes.some((s) => s !== null) ? '; below, the size of the database' : ''}`,
        lines: across.filter((l) => l.places.length > 0),
        places: line.values.map((name, i) => ({ name, ...(sizes[i] !== undefined && sizes[i] !== null ? { below: bytesText(sizes[i]) } : {}) })),
        xName: line.title,
        log: false,
        zones: zones(data, line.name, sizes),
        summary: () => across.map((l) => `${l.name}: ${rate(Math.max(...l.places.map((p) => p.y), 0))} tps at most`).join('; '),
        data: () => ({ head: [...head, 'median_tps'], rows: rows((p) => [goodput(p)]) }),
      }),
    );
  }
  const load: Line[] = lines(plane)
    .map(({ name, index }) => ({
      name,
      ...lineOf(index),
      places: x.values.flatMap((_, i) => {
        const found = pointAt(data, plane, index, i);
        const [g, p] = found === null ? [null, null] : [goodput(found.point), latencyOf(found.point, 'p99')];
        if (found === null || g === null || p === null) return [];
        return [{ x: g, y: p, words: `${found.point.title}: ${rate(g)} tps, p99 ${timeText(p)}`, go: () => go(found.index) }];
      }),
    }))
    .filter((l) => l.places.length > 0);
  if ((line === null || line.kind === 'number') && load.some((of) => of.places.length > 2)) {
    charts.push(
      linesChart({
        id: id('curve-load'),
        title: 'Latency against load',
        subtitle: `p99 (log) over goodput; ${line === null ? 'the path' : `a path for each ${line.title}`} goes through ${x.values.join(', ')} ${x.title}`,
        lines: load,
        xName: 'goodput, tps',
        log: true,
        endNames: false,
        ...(slo === null ? {} : { limit: { y: slo, name: `p99 ≤ ${asked(slo)}` } }),
        summary: () => load.map((l) => `${l.name}: from ${l.places[0]!.words} to ${l.places[l.places.length - 1]!.words}`).join('; '),
        data: () => ({ head: [...head, 'median_tps', 'p99_us'], rows: rows((p) => [goodput(p), latencyOf(p, 'p99')]) }),
      }),
    );
  }
  return charts;
}

/** Stretches of the axis where the database fits shared_buffers, fits memory, or neither. */
export function zones(data: ExperimentData, axis: string, sizes: (number | null)[]): { from: number; to: number; name: string; tint: boolean }[] {
  const { zones: of } = data;
  if (of === undefined || of.axis !== axis || sizes.length === 0 || sizes.some((s) => s === null)) return [];
  const upTo = (bytes: number | null | undefined): number | null => {
    if (bytes === null || bytes === undefined) return null;
    const n = sizes.filter((s) => s! <= bytes).length;
    return n - 0.5;
  };
  const end = sizes.length - 0.5;
  const found: { from: number; to: number; name: string; tint: boolean }[] = [];
  const shared = upTo(of.shared_buffers_bytes);
  const memory = upTo(of.memory_bytes);
  if (shared !== null && shared > -0.5) found.push({ from: -0.5, to: shared, name: `fits shared_buffers (${bytesText(of.shared_buffers_bytes)})`, tint: false });
  if (memory !== null && memory > (shared ?? -0.5)) found.push({ from: shared ?? -0.5, to: memory, name: `fits memory (${bytesText(of.memory_bytes)})`, tint: false });
  if (memory !== null && memory < end) found.push({ from: Math.max(memory, -0.5), to: end, name: `beyond memory (${bytesText(of.memory_bytes)})`, tint: true });
  return found;
}
