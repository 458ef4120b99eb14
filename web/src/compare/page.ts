/** Two sets beside each other: what differs, by how much, and where it shows. */

import type { CompareData, Difference, Pair } from '../data';
import { change, columnUnit, count, DASH, inUnit, percent, rate, signed, timeText } from '../pure/format';
import { linear, linearLabel } from '../pure/ticks';
import { pushApart } from '../pure/labels';
import { linearAxis, named } from '../chart/axes';
import { figure, namePage } from '../chart/figure';
import { Plot } from '../chart/plot';
import { drawn, rect, segment, words as label } from '../chart/shapes';
import { waitColor } from '../page/classes';
import { h, scroll, svg, type Child } from '../page/dom';
import { assemble, commandBlock, definitions, link, notesBlock, section, titleBlock, trialLink, verdictBlock, type Section } from '../page/shell';
import { token } from '../page/theme';
import { inkOn } from '../pure/color';
import { sql } from '../trial/tables';
import { changed, differences, sideMark } from './differences';
import { latency } from './latency';

export function comparePage(data: CompareData): void {
  namePage(`${data.a.name} ${data.b.name}`);
  const sections = [differences(data), changed(data), latency(data), repeats(data), timePerCommit(data), statements(data), method(data)].filter((s): s is Section => s !== null);
  const sides = h('div', { class: 'sides' }, ...(['a', 'b'] as const).map((side) => h('span', {}, sideMark(side), ' ', h('strong', {}, side.toUpperCase()), ` ${data[side].name}: ${data[side].facts}`)));
  const top: Section = { id: 'verdict', link: 'Verdict', element: verdictBlock(data.verdict, differs(data), null) };
  const trust: Section = { id: 'figures', element: h('div', { class: 'trust' }, notesBlock(data.notes, null)) };
  assemble(data, [titleBlock(data, sides)], [top, trust, ...sections], null, '');
}

/** Beside the verdict: the first of what differs. */
function differs(data: CompareData): HTMLElement {
  const shown = data.changed.slice(0, 6);
  return h(
    'div',
    {},
    h('h2', { class: 'eyebrow' }, data.changed.length === 0 ? 'Nothing recorded differs' : `What differs: ${count(data.changed.length)} ${data.changed.length === 1 ? 'thing' : 'things'}`),
    shown.length > 0 &&
      scroll(
        'What differs: rows',
        h(
          'table',
          { class: 'figures' },
          h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, h('span', { class: 'visually-hidden' }, 'Name')), h('th', { scope: 'col', class: 'n' }, sideMark('a'), ' A'), h('th', { scope: 'col', class: 'n' }, sideMark('b'), ' B'))),
          h('tbody', {}, ...shown.map((row) => h('tr', {}, h('th', { scope: 'row' }, row.kind === 'setting' ? h('code', {}, row.name) : row.name), h('td', { class: 'n value-cell quiet' }, row.a), h('td', { class: 'n value-cell strong' }, row.b)))),
        ),
      ),
    h('p', { class: 'sub' }, link('Full list', 'changed', null)),
  );
}

/** Each repeat in the order it ran. */
function repeats(data: CompareData): Section | null {
  const pair = data.pairs[0];
  if (pair === undefined) return null;
  const wanted = pair.differences.filter((d) => d.a !== undefined && d.b !== undefined);
  const first = ['goodput', 'p99'].flatMap((name) => wanted.filter((d) => d.figure === name));
  const rest = wanted.filter((d) => !first.includes(d) && !/^p\d/.test(d.figure));
  const shown = [...first, ...rest, ...wanted.filter((d) => !first.includes(d) && !rest.includes(d))].slice(0, 3);
  if (shown.length === 0) return null;
  const notes: string[] = [];
  const charts = shown.map((d) => repeatsOf(pair, d, notes));
  return {
    id: 'repeats',
    link: 'Repeats',
    element: section('repeats', 'Repeats', `Each repeat in the order it ran. The lines are the medians.${drift(pair)}`, null, h('div', { class: 'three-columns' }, ...charts), h('p', { class: 'sub' }, ...(['a', 'b'] as const).flatMap((side, i): Child[] => [i > 0 ? '; ' : 'Trials: ', sideMark(side), ` ${side.toUpperCase()} `, ...pair[side].trials.flatMap((t, k): Child[] => [k > 0 ? ', ' : '', trialLink(t.trial)])]), '.'), notes.length > 0 && h('p', { class: 'sub' }, notes.join(' '))),
  };
}

/** What time has to do with goodput. */
function drift(pair: Pair): string {
  const found = pair.differences.find((d) => d.drift !== undefined)?.drift;
  if (found === undefined) return '';
  const order = found.by_turns ? 'The sides ran by turns' : 'The sides did not run by turns';
  return ` ${order}; drift ${change(found.first_to_last)} from the first repeat to the last: time explains ${percent(found.time_explains)} of the spread, the change ${percent(found.change_explains)}.`;
}

function repeatsOf(pair: Pair, d: Difference, notes: string[]): HTMLElement {
  const unit = d.unit === 'µs' ? columnUnit([d.a!.median, d.b!.median]) : { unit: d.unit, us: 1 };
  const dots = (side: 'a' | 'b'): [number, number][] => d[side]!.values.flatMap((v, i): [number, number][] => (v === null ? [] : [[pair[side].trials[i]?.order ?? i, v / unit.us]]));
  const sides = { a: dots('a'), b: dots('b') };
  const all = [...sides.a, ...sides.b];
  const ys = all.map(([, y]) => y);
  const [low, high] = [Math.min(...ys), Math.max(...ys)];
  // Where all lie close together, an axis from 0 would hide the spread; it says so then.
  const cut = low > 0 && (high - low) / high < 0.35;
  const pad = (high - low || high * 0.1) * 0.5;
  const axis = linear(high + (cut ? pad : 0), 4, cut ? Math.max(0, low - pad) : 0);
  if (cut && axis.min > 0) notes.push(`The axis of ${d.name} starts at ${linearLabel(axis.min, axis.step)} to show the spread.`);
  const xs = all.map(([x]) => x);
  const [from, to] = [Math.min(...xs), Math.max(...xs)];
  const plot = new Plot({
    height: 240,
    build: () => ({
      grid: { left: 58, right: 76, top: 10, bottom: 34 },
      xAxis: { ...linearAxis(from - 0.5, to + 0.5, Math.max(1, to - from)), splitLine: { show: false }, axisLine: { show: true, onZero: false, lineStyle: { color: token('line2') } }, axisLabel: { show: false }, ...named('run order, first to last', 14) },
      yAxis: linearAxis(axis.min, axis.max, axis.step),
      series: [
        ...(['a', 'b'] as const).map((side) => ({ type: 'scatter', silent: true, symbol: side === 'a' ? 'circle' : 'diamond', symbolSize: side === 'a' ? 6.5 : 8.5, itemStyle: { color: token(side) }, data: sides[side], z: 3 })),
        (() => {
          const series = drawn((api, box) => {
            const wanted = (['a', 'b'] as const).map((side) => api.coord([0, d[side]!.median / unit.us])[1]);
            const placed = pushApart(wanted, 15, box.y + 6, box.y + box.height - 6);
            return (['a', 'b'] as const).flatMap((side, i) => [
              segment(box.x, wanted[i]!, box.x + box.width, wanted[i]!, token(side), 1.6, side === 'a' ? undefined : [6, 3]),
              label(box.x + box.width + 5, placed[i]! - 6, `${side.toUpperCase()} ${rate(d[side]!.median / unit.us)}`, token(side), { fontWeight: 600 }),
            ]);
          }, 2) as { clip: boolean };
          series.clip = false;
          return series;
        })(),
      ],
    }),
  });
  return figure(
    {
      title: d.name,
      subtitle: unit.unit,
      summary: () => `A: ${rate(d.a!.min / unit.us)} to ${rate(d.a!.max / unit.us)}, B: ${rate(d.b!.min / unit.us)} to ${rate(d.b!.max / unit.us)} ${unit.unit}.`,
      data: () => ({ head: ['side', 'order', 'trial', `${d.figure} ${d.unit}`.trim()], rows: (['a', 'b'] as const).flatMap((side) => d[side]!.values.map((v, i) => [side.toUpperCase(), pair[side].trials[i]?.order ?? null, pair[side].trials[i]?.trial ?? null, v])) }),
      png: (name) => plot.png(name, d.name, unit.unit),
    },
    plot.element,
  );
}

/** Milliseconds of one client for each commit, by what its session did. */
function timePerCommit(data: CompareData): Section | null {
  const rows = data.pairs[0]?.time_per_commit ?? [];
  if (rows.length === 0) return null;
  const sums = { a: rows.reduce((s, r) => s + r.a_us, 0), b: rows.reduce((s, r) => s + r.b_us, 0) };
  const unit = columnUnit([sums.a, sums.b]);
  const axis = linear((Math.max(sums.a, sums.b) / unit.us) * 1.1, 5);
  const seen = new Map<string, number>();
  const parts = rows.map((row) => {
    const color = waitColor(row.class);
    const nth = seen.get(color) ?? 0;
    seen.set(color, nth + 1);
    return { ...row, color, opacity: [1, 0.6, 0.4][Math.min(2, nth)]! };
  });
  const plot = new Plot({
    height: 190,
    build: () => ({
      grid: { left: 34, right: 76, top: 8, bottom: 28 },
      xAxis: { ...linearAxis(0, axis.max, axis.step), axisLabel: { color: token('ink3'), fontSize: 11.5, formatter: (v: number) => `${linearLabel(v, axis.step)}\u00a0${unit.unit}` } },
      yAxis: { ...linearAxis(-0.5, 1.5, 1), inverse: true, splitLine: { show: false }, axisLabel: { color: token('ink1'), fontWeight: 600, fontSize: 13, customValues: [0, 1], formatter: (v: number) => ['A', 'B'][Math.round(v)] ?? '' } },
      series: [
        drawn((api) => {
          const shapes: Record<string, unknown>[] = [];
          (['a', 'b'] as const).forEach((side, place) => {
            let at = 0;
            const y = api.coord([0, place])[1];
            for (const part of parts) {
              const us = side === 'a' ? part.a_us : part.b_us;
              const [x0, x1] = [api.coord([at / unit.us, 0])[0], api.coord([(at + us) / unit.us, 0])[0]];
              shapes.push(rect(x0, y - 25, Math.max(x0, x1 - 1), y + 25, token(part.color), part.opacity));
              const text = `${part.name}\n${inUnit(us, unit)}`;
              if (x1 - x0 > Math.max(...text.split('\n').map((t) => t.length)) * 6.8 + 12 && part.opacity === 1) shapes.push(label(x0 + 6, y - 15, text, inkOn(token(part.color)), { lineHeight: 15, fontWeight: 600 }));
              at += us;
            }
            shapes.push(label(api.coord([at / unit.us, 0])[0] + 8, y - 7, `${inUnit(at, unit)}\u00a0${unit.unit}`, token('ink1'), { fontWeight: 600, fontSize: 13 }));
          });
          return shapes;
        }, 2),
      ],
    }),
  });
  const most = Math.max(...rows.map((r) => Math.abs(r.b_us - r.a_us)), 1);
  const chart = figure(
    {
      title: 'Time per commit',
      subtitle: `${unit.unit}; both bars on one scale`,
      summary: () => `A ${timeText(sums.a)}, B ${timeText(sums.b)}; ${rows.map((r) => `${r.name} ${timeText(r.a_us)} and ${timeText(r.b_us)}`).join(', ')}.`,
      data: () => ({ head: ['part', 'class', 'a_us', 'b_us'], rows: rows.map((r) => [r.name, r.class, r.a_us, r.b_us]) }),
      png: (name) => plot.png(name, 'Time per commit', unit.unit),
    },
    plot.element,
  );
  const table = h(
    'table',
    { class: 'figures' },
    h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, `${unit.unit} per commit`), h('th', { scope: 'col', class: 'n' }, sideMark('a'), ' A'), h('th', { scope: 'col', class: 'n' }, sideMark('b'), ' B'), h('th', { scope: 'col', class: 'n' }, 'B − A'), h('th', { scope: 'col' }, h('span', { class: 'visually-hidden' }, 'Difference as a bar')))),
    h(
      'tbody',
      {},
      ...parts.map((r) => h('tr', {}, h('th', { scope: 'row' }, h('span', { class: 'chip', style: { '--chip': `var(--${r.color})` } }, r.name)), h('td', { class: 'n' }, inUnit(r.a_us, unit)), h('td', { class: 'n' }, inUnit(r.b_us, unit)), h('td', { class: 'n strong' }, r.b_us === r.a_us ? '0' : signed((r.b_us - r.a_us) / unit.us, 2)), h('td', {}, delta(r.b_us - r.a_us, most)))),
    ),
    h('tfoot', {}, h('tr', {}, h('th', { scope: 'row' }, 'Together'), h('td', { class: 'n' }, inUnit(sums.a, unit)), h('td', { class: 'n' }, inUnit(sums.b, unit)), h('td', { class: 'n' }, signed((sums.b - sums.a) / unit.us, 2)), h('td', {}))),
  );
  return { id: 'time', link: 'Where the time goes', element: section('time', 'Time per commit', 'Client time per commit, by session state.', null, h('div', { class: 'two-columns wide-left' }, chart, scroll('Time per commit: rows', table))) };
}

/** Less to the left in green, more to the right in red. */
function delta(by: number, most: number): SVGElement {
  const width = 100;
  const x = width / 2 + (by / most) * (width / 2 - 2);
  return svg('svg', { width, height: 14, 'aria-hidden': 'true' }, svg('rect', { x: Math.min(x, width / 2), y: 2, width: Math.max(1, Math.abs(x - width / 2)), height: 10, fill: by <= 0 ? 'var(--ok)' : 'var(--bad)' }), svg('line', { x1: width / 2, x2: width / 2, y1: 0, y2: 14, stroke: 'var(--ink3)' }));
}

function statements(data: CompareData): Section | null {
  const rows = data.pairs[0]?.statements ?? [];
  if (rows.length === 0) return null;
  const unit = columnUnit(rows.flatMap((r) => [r.a_mean_us, r.b_mean_us]));
  const most = Math.max(...rows.map((r) => Math.abs((r.b_mean_us ?? 0) - (r.a_mean_us ?? 0))), 1);
  const ratio = (a: number | null, b: number | null): Child => (a === null || b === null || a === 0 ? DASH : change(b / a - 1));
  const tested = rows.some((r) => r.significant !== undefined && r.significant !== null);
  const numeric = (text: Child, ...more: Child[]): HTMLElement => h('th', { scope: 'col', class: 'n' }, text, ...more);
  const body = rows.map((r, i) =>
    h(
      'tr',
      {},
      h('td', { class: 'n' }, String(i + 1)),
      h('td', {}, sql(r.text)),
      h('td', { class: 'n' }, inUnit(r.a_mean_us, unit)),
      h('td', { class: 'n' }, inUnit(r.b_mean_us, unit)),
      h('td', { class: 'n strong' }, r.a_mean_us === null || r.b_mean_us === null ? DASH : signed((r.b_mean_us - r.a_mean_us) / unit.us, 2)),
      h('td', {}, r.a_mean_us === null || r.b_mean_us === null ? '' : delta(r.b_mean_us - r.a_mean_us, most)),
      h('td', { class: 'n' }, inUnit(r.a_p99_us, unit)),
      h('td', { class: 'n' }, inUnit(r.b_p99_us, unit)),
      h('td', { class: 'n' }, ratio(r.a_p99_us, r.b_p99_us)),
      tested && h('td', { class: 'quiet' }, r.significant === false ? 'not significant' : ''),
    ),
  );
  return {
    id: 'statements',
    link: 'Statements',
    element: section(
      'statements',
      'Statements',
      'Mean and p99 of each statement over all repeats; p99 from merged histograms.',
      null,
      scroll(
        'Statements: rows',
        h(
          'table',
          { class: 'figures statements' },
          h('thead', {}, h('tr', {}, numeric('#'), h('th', { scope: 'col' }, 'Statement'), numeric(sideMark('a'), ` A mean ${unit.unit}`), numeric(sideMark('b'), ` B mean ${unit.unit}`), numeric('B − A'), h('th', { scope: 'col' }, h('span', { class: 'visually-hidden' }, 'Difference as a bar')), numeric(sideMark('a'), ` A p99 ${unit.unit}`), numeric(sideMark('b'), ` B p99 ${unit.unit}`), numeric('B to A'), tested && h('th', { scope: 'col' }, h('span', { class: 'visually-hidden' }, 'Significance')))),
          h('tbody', {}, ...body),
        ),
      ),
    ),
  };
}

function method(data: CompareData): Section {
  const { box, button } = commandBlock(data.command);
  return { id: 'method', link: 'Method', element: section('method', 'Method and how to repeat it', null, button, h('div', { class: 'two-columns' }, definitions(data.method), box)) };
}
