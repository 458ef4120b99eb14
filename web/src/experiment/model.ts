/** An experiment's points on a plane: what runs to the right, what makes lines, and what is chosen. */

import type { Axis, ExperimentData, Point, Spread } from '../data';

export interface Plane {
  /** To the right: clients where they vary, else the last axis. */
  x: Axis;
  xIndex: number;
  /** A line each: scale where it varies, else the first other axis; null: one line. */
  line: Axis | null;
  lineIndex: number;
  /** All other axes, with the value that is shown. */
  rest: { axis: Axis; index: number; value: number }[];
}

const varying = (axis: Axis): boolean => axis.values.length > 1;

export function plane(axes: Axis[]): Plane | null {
  const usable = axes.map((axis, index) => ({ axis, index })).filter(({ axis }) => varying(axis));
  const all = usable.length > 0 ? usable : axes.map((axis, index) => ({ axis, index })).slice(0, 1);
  if (all.length === 0) return null;
  const numeric = all.filter(({ axis }) => axis.numbers !== undefined && axis.numbers !== null);
  const x = all.find(({ axis }) => axis.name === 'clients') ?? numeric[numeric.length - 1] ?? all[all.length - 1]!;
  const others = all.filter((of) => of !== x);
  const line = others.find(({ axis }) => axis.name === 'params.scale') ?? others[0] ?? null;
  return {
    x: x.axis,
    xIndex: x.index,
    line: line?.axis ?? null,
    lineIndex: line?.index ?? -1,
    rest: others.filter((of) => of !== line).map(({ axis, index }) => ({ axis, index, value: 0 })),
  };
}

/** The point at a place of the plane, or none. */
export function pointAt(data: ExperimentData, of: Plane, line: number, x: number): { point: Point; index: number } | null {
  const index = data.points.findIndex((point) => point.at[of.xIndex] === x && (of.line === null || point.at[of.lineIndex] === line) && of.rest.every((r) => point.at[r.index] === r.value));
  return index < 0 ? null : { point: data.points[index]!, index };
}

export const lines = (of: Plane): { name: string; index: number }[] => (of.line === null ? [{ name: '', index: 0 }] : of.line.values.map((value, index) => ({ name: `${of.line!.title} ${value}`, index })));

/** Over repeats; a percentile of all repeats' transactions where the repeats have none. */
export const goodput = (point: Point): number | null => point.figures.goodput?.over_repeats?.median ?? null;

export function latencyOf(point: Point, figure: string): number | null {
  const of = point.figures[figure];
  return of?.over_repeats?.median ?? of?.together_us ?? null;
}

/** Coefficient of variation by the repeats: standard deviation over mean. */
export function spreadShare(spread: Spread | null | undefined): number | null {
  if (spread === null || spread === undefined) return null;
  const values = spread.values.filter((v): v is number => v !== null);
  if (values.length < 2) return null;
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  const variance = values.reduce((sum, v) => sum + (v - mean) ** 2, 0) / (values.length - 1);
  return mean > 0 ? Math.sqrt(variance) / mean : null;
}

export function median(values: number[]): number | null {
  if (values.length === 0) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}

/** Each trial that counts as a share of its point's median, in run order. */
export function drift(data: ExperimentData): { order: number; trial: number; point: number; share: number | null; flag: string | undefined; state: string; counts: boolean }[] {
  return data.trials.map((trial, order) => {
    const middle = data.points[trial.point] === undefined ? null : goodput(data.points[trial.point]!);
    const share = trial.goodput_per_s === null || middle === null || middle === 0 ? null : trial.goodput_per_s / middle - 1;
    return { order: order + 1, trial: trial.trial, point: trial.point, share: trial.counts ? share : null, flag: trial.flag, state: trial.state, counts: trial.counts };
  });
}

/** The change from the first to the last quarter of the trials, as medians of their shares. */
export function driftShare(data: ExperimentData): number | null {
  const shares = drift(data).map((of) => of.share).filter((share): share is number => share !== null);
  if (shares.length < 8) return null;
  const quarter = Math.floor(shares.length / 4);
  return median(shares.slice(-quarter))! - median(shares.slice(0, quarter))!;
}

/** Most goodput within the limit, for each line. */
export function bestWithin(data: ExperimentData, of: Plane, slo_us: number | null): { line: number; point: Point; index: number }[] {
  return lines(of).flatMap(({ index: line }) => {
    let best: { line: number; point: Point; index: number } | null = null;
    for (let x = 0; x < of.x.values.length; x += 1) {
      const found = pointAt(data, of, line, x);
      if (found === null) continue;
      const tps = goodput(found.point);
      const p99 = latencyOf(found.point, 'p99');
      if (tps === null || (slo_us !== null && (p99 === null || p99 > slo_us))) continue;
      if (best === null || tps > goodput(best.point)!) best = { line, ...found };
    }
    return best === null ? [] : [best];
  });
}
