/** An experiment's points on a plane: what runs to the right, what makes lines, and what is chosen. */

import type { Axis, ExperimentData, Point, Spread } from '../data';
import { inUnit, marked, type TimeUnit } from '../pure/format';

export interface Plane {
  /** To the right: clients where they vary, else a rate or the last number; null: only kinds vary. */
  x: Axis | null;
  xIndex: number;
  /** A line each: targets, else scale, else the first other axis; null: one line. */
  line: Axis | null;
  lineIndex: number;
  /** All other axes, with the value that is shown. */
  rest: { axis: Axis; index: number; value: number }[];
  /** Axes that vary. */
  varying: Set<number>;
}

/** The same where there is something to the right. */
export type Drawn = Plane & { x: Axis };

/** The points of one workload, as a document of their own. */
export interface Part {
  workload: string;
  /** Of its section: `workload-1`. */
  id: string;
  /** After ids within it: empty for the first. */
  suffix: string;
  data: ExperimentData;
  /** Of each of its points: its place among all. */
  index: number[];
}

/** Workloads in their order, each with its own points. */
export function partsOf(data: ExperimentData): Part[] {
  const names = [...new Set(data.points.map((point) => point.workload))];
  return names.map((workload, nth) => {
    const index = data.points.flatMap((point, i) => (point.workload === workload ? [i] : []));
    const points = index.map((i) => data.points[i]!);
    const place = data.axes.findIndex((axis) => axis.kind === 'workload');
    const mine = points[0]!.at[place];
    const missing = data.missing.filter((of) => names.length === 1 || of.at === null || place < 0 || of.at[place] === mine);
    const best = points.reduce<number | undefined>((a, point, i) => (point.repeats > 1 && goodput(point) !== null && (a === undefined || goodput(point)! > goodput(points[a]!)!) ? i : a), undefined);
    const trials = data.trials.flatMap((trial) => (index.includes(trial.point) ? [{ ...trial, point: index.indexOf(trial.point) }] : []));
    return { workload, id: `workload-${nth + 1}`, suffix: nth === 0 ? '' : `-${nth + 1}`, data: { ...data, points, missing, trials, best }, index };
  });
}

/** Of the points of one workload: what it does not vary is left out. */
export function planeOf(part: Part): Plane | null {
  const { axes, points, missing } = part.data;
  const values = (i: number): Set<number> => new Set([...points.map((point) => point.at[i]!), ...missing.flatMap((of) => (of.at === null ? [] : [of.at[i]!]))]);
  return plane(axes.map((axis, i) => (axis.kind === 'workload' || values(i).size > 1 ? axis : { ...axis, values: axis.values.slice(0, 1) })), axes, points);
}

/** `shown` are all axes, of which `axes` say what varies. */
export function plane(axes: Axis[], shown: Axis[] = axes, points: Point[] = []): Plane | null {
  const usable = axes.map((axis, index) => ({ axis: shown[index]!, index, n: axis.values.length })).filter(({ axis, n }) => n > 1 && axis.kind !== 'workload');
  if (axes.length === 0) return null;
  const numeric = usable.filter(({ axis }) => axis.kind === 'number');
  const x = numeric.find(({ axis }) => axis.name === 'clients') ?? numeric.find(({ axis }) => axis.name === 'rate') ?? numeric[numeric.length - 1] ?? null;
  const others = usable.filter((of) => of !== x);
  const line = others.find(({ axis }) => axis.name === 'target') ?? others.find(({ axis }) => axis.name === 'params.scale') ?? others[0] ?? null;
  return {
    x: x?.axis ?? null,
    xIndex: x?.index ?? -1,
    line: line?.axis ?? null,
    lineIndex: line?.index ?? -1,
    rest: others.filter((of) => of !== line).map(({ axis, index }) => ({ axis, index, value: points[0]?.at[index] ?? 0 })),
    varying: new Set(usable.map(({ index }) => index)),
  };
}

/** The point at a place of the plane, or none. */
export function pointAt(data: ExperimentData, of: Plane, line: number, x: number): { point: Point; index: number } | null {
  const index = data.points.findIndex((point) => point.at[of.xIndex] === x && (of.line === null || point.at[of.lineIndex] === line) && of.rest.every((r) => point.at[r.index] === r.value));
  return index < 0 ? null : { point: data.points[index]!, index };
}

export const lines = (of: Plane): { name: string; index: number }[] => (of.line === null ? [{ name: '', index: 0 }] : of.line.values.map((value, index) => ({ name: lineName(of.line!, value), index })));

/** `scale 10`; a target or a level speaks for itself. */
export const lineName = (axis: Axis, value: string): string => (axis.kind === 'number' || axis.name.startsWith('settings.') ? `${axis.title} ${value}` : value);

/** Why there is nothing at a place; null: nothing was planned there. */
export function whyMissing(data: ExperimentData, of: Plane, line: number, x: number): string | null {
  const found = data.missing.find(({ at }) => at !== null && at[of.xIndex] === x && (of.line === null || at[of.lineIndex] === line) && of.rest.every((r) => at[r.index] === r.value));
  return found?.why ?? null;
}

/** The median over the repeats. */
export const goodput = (point: Point): number | null => point.figures.goodput?.over_repeats?.median ?? null;

/** Of all repeats' transactions together, as in the terminal. */
export function latencyOf(point: Point, figure: string): number | null {
  const of = point.figures[figure];
  return of?.together_us ?? of?.over_repeats?.median ?? null;
}

/** The same as it is shown: in a unit, with the mark of doubt. */
export const shownLatency = (point: Point, figure: string, unit: TimeUnit): string => marked(inUnit(latencyOf(point, figure), unit), point.figures[figure]?.interval);

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
