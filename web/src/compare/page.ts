/** Two sets beside each other: what differs, by how much, and where it shows. */

import type { CompareData, Difference, Pair, Says } from '../data';
import { change, columnUnit, count, DASH, inUnit, many, signed, timeText } from '../pure/format';
import { linear, linearLabel } from '../pure/ticks';
import { pushApart } from '../pure/labels';
import { linearAxis, named } from '../chart/axes';
import { figure, namePage } from '../chart/figure';
import { Plot } from '../chart/plot';
import { drawn, rect, unclipped, words as label } from '../chart/shapes';
import { waitColor } from '../page/classes';
import { h, scroll, svg, type Child } from '../page/dom';
import { answerBlock, assemble, commandBlock, definitions, link, notesBlock, section, titleBlock, trialLink, type Section } from '../page/shell';
import { figureTable, num, td, th, type Row } from '../page/table';
import { token } from '../page/theme';
import { inkOn } from '../pure/color';
import { sql } from '../trial/tables';
import { changed, changedTable, differences, shown, sideHead, sideMark } from './differences';
import { latency } from './latency';
import { sideLine, startText } from './times';

export function comparePage(data: CompareData): void {
  namePage(`${data.a.name} ${data.b.name}`);
  const unsure = data.says === 'cannot-tell';
  // Why there is no verdict is seen in the order of the repeats.
  const sections = [...(unsure ? [repeats(data), differences(data)] : [differences(data), repeats(data)]), latency(data), changed(data), timePerCommit(data), statements(data), method(data)].filter((s): s is Section => s !== null);
  const sides = h('div', { class: 'sides' }, ...(['a', 'b'] as const).map((side) => h('span', {}, sideMark(side), ' ', h('strong', {}, side.toUpperCase()), ` ${data[side].name}: ${data[side].facts}`)));
  const top: Section = { id: 'verdict', link: 'Verdict', element: answerBlock(data.answer, differs(data), { color: COLORS[data.says], gate: data.gate, sure: unsure ? 'What would tell' : undefined }) };
  const trust: Section = { id: 'figures', element: h('div', { class: 'trust' }, notesBlock(data.notes, null)) };
  assemble(data, [titleBlock(data, sides)], [top, trust, ...sections], null, '');
}

/** Red only for harm, amber for doubt, green for held. */
const COLORS: Record<Says, string> = { better: 'ok', worse: 'bad', mixed: 'warn', 'no-difference': 'ink3', 'cannot-tell': 'warn' };

/** So many are beside the verdict; the section has all. */
const SHOWN = 8;

/** Beside the verdict: what changed. */
function differs(data: CompareData): HTMLElement {
  const shown = data.changed.slice(0, SHOWN);
  const settings = data.changed.filter((row) => row.kind === 'setting').length;
  const of = data.changed.length === 0 ? 'nothing that is recorded' : settings === data.changed.length ? many(settings, 'setting') : many(data.changed.length, 'thing');
  const same = data.same.filter(([name]) => name !== 'Workload').map(([name]) => name.toLowerCase());
  const rest = [
    shown.length < data.changed.length ? `${count(data.changed.length - shown.length)} more below.` : '',
    same.length > 0 ? `Same: workload, ${same.join(', ')}.` : 'Same: workload.',
    data.left_out > 0 ? `${many(data.left_out, 'value')} that only ${data.left_out === 1 ? 'names' : 'name'} the server (port, paths) left out.` : '',
  ];
  return h('div', {}, h('h2', { class: 'eyebrow' }, `What changed: ${of}`), shown.length > 0 && scroll('What changed, in short', changedTable(shown)), h('p', { class: 'sub' }, `${rest.filter((words) => words !== '').join(' ')} `, link('All of it', 'changed', null)));
}

/** Each repeat at the time at which it began. */
function repeats(data: CompareData): Section | null {
  const pair = data.pairs[0];
  if (pair === undefined) return null;
  const wanted = pair.differences.filter((d) => d.a !== undefined && d.b !== undefined);
  const first = ['goodput', 'p50', 'p99'].flatMap((name) => wanted.filter((d) => d.figure === name));
  const rest = wanted.filter((d) => !first.includes(d));
  const shown = [...first, ...rest].slice(0, data.says === 'cannot-tell' ? 1 : 3);
  if (shown.length === 0) return null;
  const charts = shown.map((d) => repeatsOf(pair, d));
  return section('repeats', 'Repeats', 'Repeats in order of time', `Each repeat at the time at which it began${data.pairs.length > 1 ? `, at ${pair.point}` : ''}.${drift(pair)}`, null, h('div', { class: charts.length === 1 ? '' : charts.length === 2 ? 'two-columns even' : 'three-columns' }, ...charts), h('p', { class: 'sub' }, ...(['a', 'b'] as const).flatMap((side, i): Child[] => [i > 0 ? '; ' : 'Trials: ', sideMark(side), ` ${side.toUpperCase()} `, ...pair[side].trials.flatMap((t, k): Child[] => [k > 0 ? ', ' : '', trialLink(t.trial)])]), '.'));
}

/** What time has to do with the first figure. */
function drift(pair: Pair): string {
  const found = pair.differences.find((d) => d.drift !== undefined)?.drift;
  if (found === undefined) return '';
  const turns = found.drawn ? 'The order of the sides was drawn' : 'The sides ran by turns, in an order that was not drawn';
  const order = found.by_turns ? turns : 'The sides did not run by turns';
  const [low, high] = found.first_to_last_interval;
  if (pair.differences.some((d) => d.verdict === 'time-explains')) return ` ${order}, and one line over time fits both sides: that is why there is no verdict.`;
  return ` ${order}; the drift found is ${change(found.first_to_last)} from the first to the last (${change(low)} to ${change(high)}).`;
}

function repeatsOf(pair: Pair, d: Difference): HTMLElement {
  const unit = d.unit === 'µs' ? columnUnit([d.a!.median, d.b!.median]) : { unit: d.unit, us: 1 };
  const dots = (side: 'a' | 'b'): [number, number][] => d[side]!.values.flatMap((v, i): [number, number][] => (v === null || pair[side].trials[i] === undefined ? [] : [[Date.parse(pair[side].trials[i]!.started), v / unit.us]]));
  const sides = { a: dots('a'), b: dots('b') };
  const all = [...sides.a, ...sides.b];
  const ys = all.map(([, y]) => y);
  const [low, high] = [Math.min(...ys), Math.max(...ys)];
  // Where all lie close together, an axis from 0 would hide the spread; it says so then.
  const cut = low > 0 && (high - low) / high < 0.35;
  const pad = (high - low || high * 0.1) * 0.5;
  const axis = linear(high + (cut ? pad : 0), 4, cut ? Math.max(0, low - pad) : 0);
  const xs = all.map(([x]) => x);
  const [from, to] = [Math.min(...xs), Math.max(...xs)];
  const room = Math.max(1, (to - from) * 0.03);
  const hidden = d.verdict === 'time-explains';
  const slope = d.drift === undefined || to === from ? null : Math.log1p(d.drift.first_to_last) / (to - from);
  const single = d.a!.values.length === 1 && d.b!.values.length === 1;
  const starts = axis.min > 0 ? `; the axis starts at ${linearLabel(axis.min, axis.step)}` : '; axis from 0';
  const lines = hidden ? '; dashed: one line through all repeats, with no step between A and B' : slope !== null ? '; lines: each side along the drift that both share' : single ? '' : '; lines: medians';
  const plot = new Plot({
    height: 250,
    build: () => ({
      grid: { left: 58, right: 84, top: 10, bottom: 44 },
      xAxis: {
        ...linearAxis(from - room, to + room, to - from + 2 * room),
        splitLine: { show: false },
        axisLine: { show: true, onZero: false, lineStyle: { color: token('line2') } },
        axisLabel: { color: token('ink3'), fontSize: 11.5, customValues: to > from ? [from, to] : [from], formatter: (at: number) => startText(at, to - from), alignMinLabel: 'left', alignMaxLabel: 'right', hideOverlap: true },
        ...named('start of the repeat, UTC', 26),
      },
      yAxis: linearAxis(axis.min, axis.max, axis.step),
      series: [
        ...(['a', 'b'] as const).map((side) => ({ type: 'scatter', silent: true, symbol: side === 'a' ? 'circle' : 'diamond', symbolSize: side === 'a' ? 7 : 9, itemStyle: { color: token(side) }, data: sides[side], z: 3 })),
        unclipped((api, box, shapes) => {
          const wanted = (['a', 'b'] as const).map((side) => api.coord([from, d[side]!.median / unit.us])[1]);
          const placed = pushApart(wanted, 16, box.y + 6, box.y + box.height - 6);
          const along = (of: (at: number) => number, left: number, right: number): [number, number][] => Array.from({ length: 33 }, (_, i) => api.coord([left + ((right - left) * i) / 32, of(left + ((right - left) * i) / 32)]));
          if (hidden && d.drift !== undefined && to > from) {
            const [first, last] = d.drift.line.map((v) => Math.log(v / unit.us)) as [number, number];
            shapes.push(path(along((at) => Math.exp(first + ((last - first) * (at - from)) / (to - from)), from, to), token('warn'), 1.8, [5, 4]));
          } else if (!single) {
            for (const side of ['a', 'b'] as const) {
              const own = sides[side].map(([x]) => x);
              const line = slope === null ? () => d[side]!.median / unit.us : sideLine(sides[side], slope);
              if (own.length > 1) shapes.push(path(along(line, Math.min(...own), Math.max(...own)), token(side), 1.6, side === 'a' ? undefined : [6, 3]));
            }
          }
          (['a', 'b'] as const).forEach((side, i) => shapes.push(label(box.x + box.width + 8, placed[i]! - 6, `${side.toUpperCase()} ${shown(d, d[side]!.median)}`, token(side), { fontWeight: 600 })));
        }, 2),
      ],
    }),
  });
  return figure(
    {
      title: d.name,
      subtitle: `${unit.unit}; right: medians${starts}${lines}`,
      summary: () => `A: ${shown(d, d.a!.min)} to ${shown(d, d.a!.max)}, B: ${shown(d, d.b!.min)} to ${shown(d, d.b!.max)} ${unit.unit}.`,
      data: () => ({ head: ['side', 'started', 'trial', `${d.figure} ${d.unit}`.trim()], rows: (['a', 'b'] as const).flatMap((side) => d[side]!.values.map((v, i) => [side.toUpperCase(), pair[side].trials[i]?.started ?? null, pair[side].trials[i]?.trial ?? null, v])) }),
    },
    plot,
  );
}

/** A line through points that are given in pixels. */
const path = (points: [number, number][], stroke: string, lineWidth: number, lineDash?: number[]): Record<string, unknown> => ({ type: 'polyline', shape: { points }, style: { stroke, lineWidth, lineDash, fill: 'none' }, silent: true });

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
        drawn((api, _, shapes) => {
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
    },
    plot,
  );
  const together = [sums.a, sums.b].map((us) => inUnit(us, unit));
  const rowOf = (r: (typeof parts)[number]): Row => [h('span', { class: 'chip', style: { '--chip': `var(--${r.color})` } }, r.name), inUnit(r.a_us, unit), inUnit(r.b_us, unit), h('td', { class: 'n strong' }, r.b_us === r.a_us ? '0' : signed((r.b_us - r.a_us) / unit.us, 2)), delta(r.b_us - r.a_us, most)];
  const heads = [`${unit.unit} per commit`, sideHead('a', true), sideHead('b', true), num('B − A'), hidden('Difference as a bar')];
  const table = figureTable('Time per commit: rows', heads, parts.map(rowOf), { foot: ['Together', ...together, signed((sums.b - sums.a) / unit.us, 2), ''] });
  return section('time', 'Where the time goes', 'Time per commit', 'Client time per commit, by session state.', null, h('div', { class: 'two-columns wide-left' }, chart, table));
}

/** A head for those who hear the page. */
const hidden = (words: string): HTMLElement => th(h('span', { class: 'visually-hidden' }, words));

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
  const body = rows.map((r, i): Row => {
    const by = r.a_mean_us === null || r.b_mean_us === null ? null : r.b_mean_us - r.a_mean_us;
    return [
      td(String(i + 1), true),
      sql(r.text),
      inUnit(r.a_mean_us, unit),
      inUnit(r.b_mean_us, unit),
      h('td', { class: 'n strong' }, by === null ? DASH : signed(by / unit.us, 2)),
      by === null ? '' : delta(by, most),
      inUnit(r.a_p99_us, unit),
      inUnit(r.b_p99_us, unit),
      ratio(r.a_p99_us, r.b_p99_us),
      h('td', { class: 'quiet' }, r.significant === false ? 'not significant' : ''),
    ];
  });
  const heads = [num('#'), 'Statement', sideHead('a', true, ` mean ${unit.unit}`), sideHead('b', true, ` mean ${unit.unit}`), num('B − A'), hidden('Difference as a bar'), sideHead('a', true, ` p99 ${unit.unit}`), sideHead('b', true, ` p99 ${unit.unit}`), num('B to A'), tested && hidden('Significance')];
  return section('statements', 'Statements', 'Statements', 'Mean and p99 of each statement over all repeats; p99 from merged histograms.', null, figureTable('Statements: rows', heads, body, { class: 'statements' }));
}

function method(data: CompareData): Section {
  const { box, button } = commandBlock(data.command);
  return section('method', 'Method', 'Method and how to repeat it', null, button, h('div', { class: 'two-columns' }, definitions(data.method), box));
}
