/** All points, and whether the machine was steady while they were measured. */

import type { ExperimentData, Point } from '../data';
import { bytesText, change, columnUnit, count, DASH, intervalText, rate, significant } from '../pure/format';
import { linear } from '../pure/ticks';
import { linearAxis, named } from '../chart/axes';
import { figure, rowsBehind } from '../chart/figure';
import { Plot } from '../chart/plot';
import { drawn, segment } from '../chart/shapes';
import { limitColor, lineOf } from '../page/classes';
import { h, svg, type Child } from '../page/dom';
import { section, trialLink, trialLinks, type Section } from '../page/shell';
import { figureTable, num, td, th } from '../page/table';
import { token } from '../page/theme';
import { drift, goodput, latencyOf, lineName, shownLatency, type Plane } from './model';

/** Repeats are drawn up to so far from their median; those beyond stand at the edge. */
const FAR = 0.15;
const WIDTH = 200;

/** The shape of a line, for tables and legends. */
export function shape(symbol: string, color: string, size = 10): SVGElement {
  const paths: Record<string, string> = {
    circle: 'M5 0.5a4.5 4.5 0 1 0 0.01 0Z',
    rect: 'M1 1H9V9H1Z',
    triangle: 'M5 0.5L9.6 9.2H0.4Z',
    diamond: 'M5 0L10 5L5 10L0 5Z',
    arrow: 'M5 0L10 10L5 7.2L0 10Z',
    pin: 'M5 10C2 6 1.2 5 1.2 3.6a3.8 3.8 0 0 1 7.6 0C8.8 5 8 6 5 10Z',
    roundRect: 'M3 1H7A2 2 0 0 1 9 3V7A2 2 0 0 1 7 9H3A2 2 0 0 1 1 7V3A2 2 0 0 1 3 1Z',
  };
  return svg('svg', { width: size, height: size, viewBox: '0 0 10 10', 'aria-hidden': 'true' }, svg('path', { d: paths[symbol] ?? paths.circle!, fill: `var(--${color})` }));
}

export function legend(plane: Plane): HTMLElement | null {
  if (plane.line === null) return null;
  return h('ul', { class: 'key' }, ...plane.line.values.map((value, i) => h('li', {}, shape(lineOf(i).symbol, lineOf(i).color), lineName(plane.line!, value))));
}

/** The shape of a line before its name. */
export const lineMark = (plane: Plane, index: number): SVGElement | null => (plane.line === null || plane.line.kind === 'number' ? null : shape(lineOf(index).symbol, lineOf(index).color));

function strip(point: Point, color: string): Child {
  const of = point.figures.goodput?.over_repeats;
  if (of === undefined || of === null || of.median === 0) return DASH;
  const x = (v: number): number => WIDTH / 2 + (Math.max(-FAR, Math.min(FAR, v / of.median - 1)) / FAR) * (WIDTH / 2 - 8);
  const flagged = new Set(point.outliers.filter((o) => o.figure === 'goodput').map((o) => o.trial));
  return svg(
    'svg',
    { width: WIDTH, height: 18, class: 'repeats', role: 'img', 'aria-label': `Repeats from ${change(of.min / of.median - 1)} to ${change(of.max / of.median - 1)} of the median` },
    ...[-0.1, 0, 0.1].map((share) => svg('line', { x1: x(of.median * (1 + share)), x2: x(of.median * (1 + share)), y1: 0, y2: 18, stroke: share === 0 ? 'var(--line2)' : 'var(--line1)' })),
    of.interval !== null && svg('rect', { x: x(of.interval[0]), y: 6, width: Math.max(1, x(of.interval[1]) - x(of.interval[0])), height: 6, fill: `var(--${color})`, opacity: 0.28 }),
    ...of.values.flatMap((v, i) => {
      if (v === null) return [];
      const odd = flagged.has(point.trials[i]?.trial ?? -1);
      return [svg('circle', { cx: x(v), cy: 9, r: odd ? 4 : 2.2, fill: odd ? 'none' : `var(--${color})`, stroke: odd ? 'var(--bad)' : 'none', 'stroke-width': 1.6 })];
    }),
  );
}

export function allPoints(data: ExperimentData, plane: Plane | null): Section | null {
  if (data.points.length === 0) return null;
  const unit = columnUnit(data.points.map((p) => latencyOf(p, 'p50')));
  const retries = data.points.some((p) => p.retries_per_commit !== undefined && p.retries_per_commit !== null);
  const limits = data.points.some((p) => p.limit !== undefined && p.limit !== null);
  const axes = data.axes;
  const { buttons, table } = rowsBehind(
    'All points',
    [...axes.map((a) => a.title), 'repeats', 'median_tps', 'low', 'high', 'p50_us', 'p99_us', 'p99_low_us', 'p99_high_us', 'p99_uncertain', 'retries_per_commit', 'limit', 'trials', 'left_out'],
    () => data.points.map((p) => {
    const g = p.figures.goodput?.over_repeats ?? null;
    return [...axes.map((a, i) => a.values[p.at[i]!] ?? ''), p.repeats, g?.median ?? null, g?.interval?.[0] ?? g?.min ?? null, g?.interval?.[1] ?? g?.max ?? null, latencyOf(p, 'p50'), latencyOf(p, 'p99'), p.figures.p99?.interval?.low_us ?? null, p.figures.p99?.interval?.high_us ?? null, p.figures.p99?.interval === undefined ? null : String(p.figures.p99.interval.uncertain), p.retries_per_commit ?? null, p.limit?.name ?? null, p.trials.map((t) => t.trial).join(' '), p.left_out.map((t) => `${t.trial}: ${t.why}`).join('; ')];
  }),
  );
  // A workload's points stand together, within them those of a line.
  const rank = (i: number): number => (axes[i]!.kind === 'workload' ? 0 : i === plane?.lineIndex ? 1 : 2);
  const order = axes.map((_, i) => i).sort((a, b) => rank(a) - rank(b));
  const workload = axes.findIndex((axis) => axis.kind === 'workload');
  let group = '';
  const sorted = data.points.map((point, index) => ({ point, index })).sort((a, b) => {
    for (const axis of order) if (a.point.at[axis] !== b.point.at[axis]) return a.point.at[axis]! - b.point.at[axis]!;
    return a.index - b.index;
  });
  const rows = sorted.map(({ point, index }) => {
    const line = plane === null || plane.lineIndex < 0 ? 0 : point.at[plane.lineIndex]!;
    const of = lineOf(line);
    const of_group = `${workload < 0 ? '' : point.at[workload]} ${line}`;
    const first = of_group !== group;
    group = of_group;
    const g = point.figures.goodput?.over_repeats ?? null;
    const words = g === null ? DASH : g.interval !== null ? `${rate(g.interval[0])} to ${rate(g.interval[1])}` : g.n > 1 ? `range ${rate(g.min)} to ${rate(g.max)}` : 'one repeat';
    const sizes = plane?.line?.sizes_bytes ?? [];
    const notes: Child[] = [];
    for (const o of point.outliers.filter((o) => o.figure === 'goodput')) notes.push(h('span', {}, `repeat ${o.repeat ?? '?'} is an outlier (trial  `, trialLink(o.trial), ')'));
    for (const l of point.left_out) notes.push(h('span', {}, 'trial ', trialLink(l.trial), ` left out: ${l.why}`));
    if (point.limit !== undefined && point.limit !== null && point.limit.agree < point.limit.of) notes.push(`${point.limit.agree} of ${point.limit.of} repeats agree`);
    return h(
      'tr',
      { id: `point-${index}`, tabindex: -1, class: first ? 'first' : undefined },
      ...order.map((axis) => {
        const value = axes[axis]!.values[point.at[axis]!] ?? '';
        if (axis === plane?.lineIndex) {
          return first ? h('th', { scope: 'row', class: 'scale' }, h('span', { class: 'mark-name' }, shape(of.symbol, of.color), value), sizes[line] !== undefined && sizes[line] !== null && h('span', { class: 'sub' }, ` ${bytesText(sizes[line])}`)) : h('td', {}, h('span', { class: 'visually-hidden' }, value));
        }
        return td(value, axes[axis]!.kind === 'number');
      }),
      h('td', { class: 'n strong' }, rate(goodput(point))),
      h('td', { class: 'n quiet' }, words),
      h('td', {}, strip(point, of.color)),
      ...['p50', 'p99'].map((figure) => h('td', { class: 'n', title: intervalText(point.figures[figure]?.interval) }, shownLatency(point, figure, unit))),
      retries && h('td', { class: 'n' }, point.retries_per_commit === undefined || point.retries_per_commit === null ? DASH : point.retries_per_commit === 0 ? '0' : significant(point.retries_per_commit, 2)),
      limits && h('td', {}, point.limit === undefined || point.limit === null ? DASH : h('span', { class: 'chip', style: { '--chip': `var(--${limitColor(point.limit.code)})` } }, point.limit.name)),
      h('td', { class: 'trials' }, ...trialLinks(point.trials.map((t) => t.trial))),
      h('td', { class: 'note' }, ...notes.flatMap((note, i) => [i > 0 ? '; ' : '', note])),
    );
  });
  const scaleHead = svg(
    'svg',
    { width: WIDTH, height: 14, 'aria-hidden': 'true' },
    ...([[-0.1, '−10 %'], [0, 'median'], [0.1, '+10 %']] as const).map(([share, text]) => svg('text', { x: WIDTH / 2 + (share / FAR) * (WIDTH / 2 - 8), y: 11, 'text-anchor': 'middle', class: 'tick' }, text)),
  );
  return section(
    'points',
    'All points',
    'All points',
    'Each repeat as its difference from the median of its point; the pale bar is the 95 % interval, from six repeats on.',
    buttons,
    figureTable(
      'All points: rows',
      [
        ...order.map((axis) => th(axes[axis]!.title, axis !== plane?.lineIndex && axes[axis]!.kind === 'number')),
        num('Goodput', 'tps'),
        num('95 % interval'),
        h('th', { scope: 'col' }, 'Repeats', h('br'), scaleHead),
        num('p50', unit.unit),
        num('p99', unit.unit),
        retries && num('Retries per commit'),
        limits && 'Limit',
        'Trials',
        'Note',
      ],
      rows,
      { class: 'points' },
    ),
    table,
  );
}

export function steady(data: ExperimentData, plane: Plane | null): Section | null {
  const all = drift(data);
  if (all.length < 2) return null;
  const far = Math.max(0.05, ...all.map((of) => Math.abs(of.share ?? 0))) * 100;
  const axis = linear(far, 3);
  const plot = new Plot({
    height: 250,
    build: () => ({
      grid: { left: 62, right: 20, top: 12, bottom: 44 },
      xAxis: { ...linearAxis(0, linear(all.length + 0.5, 6).max, linear(all.length + 0.5, 6).step), splitLine: { show: false }, axisLine: { show: true, onZero: false, lineStyle: { color: token('line2') } }, ...named('trial, in the order it ran', 26) },
      yAxis: { ...linearAxis(-axis.max, axis.max, axis.step), axisLabel: { color: token('ink3'), fontSize: 11.5, formatter: (v: number) => (v === 0 ? 'median' : `${v > 0 ? '+' : '−'}${significant(Math.abs(v), 2)}\u00a0%`) } },
      series: [
        drawn((api, box) => [segment(box.x, api.coord([0, 0])[1], box.x + box.width, api.coord([0, 0])[1], token('ink3'))], 1),
        ...[...new Set(all.map((of) => (plane === null || plane.lineIndex < 0 ? 0 : (data.points[of.point]?.at[plane.lineIndex] ?? 0))))].map((line) => ({
          type: 'scatter',
          silent: true,
          symbol: lineOf(line).symbol,
          symbolSize: 6,
          itemStyle: { color: token(lineOf(line).color) },
          data: all.filter((of) => of.share !== null && (plane === null || plane.lineIndex < 0 ? 0 : (data.points[of.point]?.at[plane.lineIndex] ?? 0)) === line).map((of) => [of.order, of.share! * 100]),
          z: 3,
        })),
        drawn((api, box, shapes) => {
          for (const of of all) {
            const x = api.coord([of.order, 0])[0];
            if (of.share === null) {
              const y = box.y + box.height - 12;
              shapes.push(segment(x - 4, y - 4, x + 4, y + 4, token('bad'), 1.6), segment(x - 4, y + 4, x + 4, y - 4, token('bad'), 1.6));
            } else if (of.flag !== undefined) {
              const y = api.coord([0, of.share * 100])[1];
              shapes.push({ type: 'circle', shape: { cx: x, cy: y, r: 6.5 }, style: { fill: 'none', stroke: token('bad'), lineWidth: 1.5 }, silent: true });
            }
          }
        }, 5),
      ],
    }),
  });
  const shares = all.map((of) => of.share).filter((s): s is number => s !== null);
  const odd = all.filter((of) => of.share === null || of.flag !== undefined);
  return section(
    'steady',
    'Steadiness',
    'Was the machine steady?',
    'Each trial in run order, as its difference from the median of its point. A slope or a step here makes every comparison above doubtful.',
    null,
    figure(
      {
        title: 'Trials in run order',
        subtitle: 'goodput, % from the median of its point',
        summary: () => `${count(all.length)} trials between ${change(Math.min(...shares))} and ${change(Math.max(...shares))} of their medians.`,
        data: () => ({ head: ['order', 'trial', 'point', 'share_of_median', 'state', 'flag'], rows: all.map((of) => [of.order, of.trial, data.points[of.point]?.title ?? '', of.share, of.state, of.flag ?? '']) }),
      },
      plot,
    ),
    odd.length > 0 &&
      h('ul', { class: 'missing' }, ...odd.map((of) => h('li', {}, h('strong', {}, of.share === null ? '× ' : '○ ', 'trial ', trialLink(of.trial), ` (${data.points[of.point]?.title ?? ''}): `), of.flag ?? of.state))),
  );
}
