/** Kinds side by side: a row each, never joined. Dots: repeats; upright line: median; bar: its interval; from 0. */

import type { ExperimentData, Point, Spread } from '../data';
import { columnUnit, inUnit, rate, type TimeUnit } from '../pure/format';
import { linear, linearLabel } from '../pure/ticks';
import { figure } from '../chart/figure';
import { lineOf } from '../page/classes';
import { h, svg } from '../page/dom';
import { latencyOf, shownLatency, type Part, type Plane } from './model';
import { shape } from './points';

const HEIGHT = 24;

interface Figure {
  id: string;
  title: string;
  subtitle: string;
  spread: (point: Point) => Spread | null;
  shown: (point: Point) => string;
  tick: (value: number) => string;
  scale: number;
}

export function ranks(data: ExperimentData, of: Plane | null, part: Part, go: (point: number) => void): HTMLElement[] {
  const unit = columnUnit(data.points.map((point) => latencyOf(point, 'p99')));
  const response = data.points.some((point) => point.latency === 'response');
  const figures: Figure[] = [
    { id: 'rank-goodput', title: 'Goodput', subtitle: 'tps, from 0', spread: (point) => point.figures.goodput?.over_repeats ?? null, shown: (point) => rate(point.figures.goodput?.over_repeats?.median), tick: (v) => rate(v), scale: 1 },
    { id: 'rank-p99', title: `p99 ${response ? 'response' : 'service'}`, subtitle: `${unit.unit}, from 0; the figure is of all repeats’ transactions together`, spread: (point) => point.figures.p99?.over_repeats ?? null, shown: (point) => shownLatency(point, 'p99', unit), tick: tickOf(unit), scale: unit.us },
  ];
  return figures.map((spec) => rows(data, of, part, spec, go));
}

const tickOf = (unit: TimeUnit) => (value: number): string => inUnit(value, unit);

/** What a row is called: its kinds, without the workload. */
export function rowName(data: ExperimentData, of: Plane | null, point: Point): string {
  const axes = data.axes.map((axis, i) => ({ axis, i })).filter(({ axis, i }) => axis.kind !== 'workload' && (of === null || of.varying.has(i)));
  return axes.map(({ axis, i }) => axis.values[point.at[i]!] ?? '').join(', ') || point.title;
}

function rows(data: ExperimentData, of: Plane | null, part: Part, spec: Figure, go: (point: number) => void): HTMLElement {
  const value = (point: Point): number => spec.spread(point)?.median ?? -Infinity;
  const latency = spec.id === 'rank-p99';
  const known = data.points.map((point, index) => ({ point, index }));
  // The best first, as in the answer; the same order in both figures.
  known.sort((a, b) => (b.point.figures.goodput?.over_repeats?.median ?? -Infinity) - (a.point.figures.goodput?.over_repeats?.median ?? -Infinity));
  const high = Math.max(...known.flatMap(({ point }) => [spec.spread(point)?.max ?? 0, spec.spread(point)?.interval?.[1] ?? 0]), 1e-9);
  const axis = linear(high / spec.scale, 4);
  const x = (v: number): string => `${(v / spec.scale / axis.max) * 100}%`;
  const bar = ({ point, index }: { point: Point; index: number }): Element => {
    const spread = spec.spread(point);
    const { color } = lineOf(0);
    if (spread === null) {
      const why = data.missing.find((one) => one.title === point.title)?.why ?? (point.repeats === 0 ? 'no trial counts' : 'too few transactions for it in a repeat');
      return h('div', { class: 'absent small' }, why);
    }
    const group = svg(
      'svg',
      { class: 'rank', height: HEIGHT, width: '100%', 'aria-hidden': 'true' },
      ...Array.from({ length: Math.round(axis.max / axis.step) + 1 }, (_, i) => svg('line', { x1: x(i * axis.step * spec.scale), x2: x(i * axis.step * spec.scale), y1: 0, y2: HEIGHT, stroke: 'var(--line1)' })),
      spread.interval !== null && svg('rect', { x: x(spread.interval[0]), y: 7, width: `${((spread.interval[1] - spread.interval[0]) / spec.scale / axis.max) * 100}%`, height: 10, fill: `var(--${color})`, opacity: 0.28 }),
      ...spread.values.filter((v): v is number => v !== null).map((v) => svg('circle', { cx: x(v), cy: 12, r: 2.4, fill: `var(--${color})` })),
      spread.n > 1 && svg('line', { x1: x(spread.median), x2: x(spread.median), y1: 3, y2: 21, stroke: 'var(--ink1)', 'stroke-width': 2 }),
    );
    group.addEventListener('click', () => go(part.index[index]!));
    return group;
  };
  const grid = h(
    'div',
    { class: 'ranks' },
    ...known.flatMap((row) => [h('div', { class: 'rank-name' }, targetMark(data, of, row.point), rowName(data, of, row.point)), h('div', { class: 'rank-figure' }, spec.spread(row.point) === null ? '–' : spec.shown(row.point)), h('div', { class: 'rank-bar' }, bar(row))]),
    ...(known.every(({ point }) => spec.spread(point) === null) ? [] : [h('div', {}), h('div', {}), h('div', { class: 'rank-axis', 'aria-hidden': 'true' }, ...[0, axis.max / 2, axis.max].map((v) => h('span', {}, linearLabel(v, axis.max / 2))))]),
  );
  const said = known.filter(({ point }) => spec.spread(point) !== null).map(({ point }) => `${rowName(data, of, point)}: ${spec.shown(point)}${latency ? '' : ' tps'}`);
  return figure(
    {
      id: `${spec.id}${part.suffix}`,
      title: spec.title,
      subtitle: spec.subtitle,
      summary: () => said.join('; '),
      data: () => ({
        head: ['point', latency ? 'p99_us' : 'median_tps', 'low', 'high', 'repeats'],
        rows: known.map(({ point }) => [rowName(data, of, point), latency ? latencyOf(point, 'p99') : Number.isFinite(value(point)) ? value(point) : null, spec.spread(point)?.interval?.[0] ?? spec.spread(point)?.min ?? null, spec.spread(point)?.interval?.[1] ?? spec.spread(point)?.max ?? null, point.repeats]),
      }),
    },
    grid,
  );
}

/** The target's own mark before its name. */
function targetMark(data: ExperimentData, of: Plane | null, point: Point): Element | null {
  const at = data.axes.findIndex((axis) => axis.name === 'target');
  if (at < 0 || (of !== null && !of.varying.has(at))) return null;
  const { symbol, color } = lineOf(point.at[at]!);
  return shape(symbol, color);
}

