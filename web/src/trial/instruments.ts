/** Instruments: small charts in columns, on the clock of all others. */

import type { Bus } from '../pure/bus';
import { lower, thin } from '../pure/bins';
import { bytesUnit, clock, count, DASH, inUnitOf, join, many, UNIT_US } from '../pure/format';
import { meanOf, means, readIn } from '../pure/stack';
import { linear } from '../pure/ticks';
import { linearAxis } from '../chart/axes';
import { absent } from '../chart/figure';
import { areas, drawn } from '../chart/shapes';
import { Strip } from '../chart/strip';
import { h, more } from '../page/dom';
import { section, type Section } from '../page/shell';
import { figureTable, num, td } from '../page/table';
import { token } from '../page/theme';
import { marks } from './marks';
import type { Model } from './model';
import { panels, type Panel } from './panels';

const COLUMNS: { of: Panel['of']; name: string }[] = [
  { of: 'server', name: 'Server' },
  { of: 'host', name: 'Its host' },
  { of: 'client', name: 'Load generator' },
  { of: 'other', name: 'Others' },
];

/** What bytes and times are divided by so that an axis has round numbers in one unit. */
function axisUnit(unit: string, high: number): { by: number; name: string } {
  if (unit === 'bytes' || unit === 'bytes/s') {
    const { by, name } = bytesUnit(high);
    return { by, name: unit === 'bytes' ? name : `${name}/s` };
  }
  const base = UNIT_US[unit];
  if (base !== undefined) {
    const us = high * base;
    const [divisor, name]: [number, string] = us >= 1e6 ? [1e6, 's'] : us >= 1e3 ? [1e3, 'ms'] : [1, 'µs'];
    return { by: divisor / base, name };
  }
  return { by: 1, name: unit === '1/s' ? 'per second' : unit };
}

/** A panel keeps its name while others come. */
const nameOf = (panel: Panel): string => `instrument-${panel.of}-${panel.title.toLowerCase().replace(/[^a-z0-9]+/g, '-')}`;

function strip(panel: Panel, name: string, model: Model, bus: Bus): Strip | null {
  const at = model.clocks[panel.lines[0]!.series.clock!];
  if (at === undefined || at.length === 0) return null;
  const lines = panel.lines.filter((line) => model.clocks[line.series.clock!] !== undefined);
  let high = 0;
  let low = 0;
  if (panel.stack) {
    for (let k = 0; k < at.length; k += 1) high = Math.max(high, lines.reduce((sum, line) => sum + (line.series.value![k] ?? 0), 0));
  } else {
    for (const line of lines) for (const v of line.series.value!) if (v !== null) [low, high] = [Math.min(low, v), Math.max(high, v)];
  }
  const unit = axisUnit(panel.unit, Math.max(high, -low));
  const axis = linear(high / unit.by || 1, 2, low / unit.by);
  const holes = panel.gaps.map((gap) => ({ from: gap.from_us === null ? model.whole.from : gap.from_us / 1e6, to: gap.to_us === null ? model.whole.to : gap.to_us / 1e6 }));
  const value = (line: (typeof lines)[number]) => (moment: number | null) => {
    const x = model.clocks[line.series.clock!]!;
    const of = line.series.value!;
    const show = (v: number | null | undefined): string => join(inUnitOf(v, panel.unit));
    if (moment !== null) {
      const k = lower(x, moment - 1e-9);
      if (holes.some((hole) => moment >= hole.from && moment <= hole.to)) return DASH;
      return show(of[Math.min(k, of.length - 1)]);
    }
    const mean = meanOf(x, of, Math.max(bus.range.from, model.measured_from_s), bus.range.to);
    return mean === null ? DASH : show(mean);
  };
  const gapWords = panel.gaps.map((gap, i) => {
    const hole = holes[i]!;
    return h('p', { class: 'sub gap' }, `Hatched ${clock(Math.max(hole.from, model.whole.from))} to ${clock(Math.min(hole.to, model.whole.to))}: ${gap.reason}${gap.times !== undefined ? ` (${many(gap.times, 'reading')})` : ''}. Nothing is drawn across a gap.`);
  });
  const what = lines.map((line) => line.series.what).find((words) => words !== undefined && words !== '');
  return Strip.of(
    {
      id: name,
      title: panel.title,
      subtitle: () => unit.name,
      hint: what,
      height: 100,
      small: true,
      entries: lines.map((line) => ({ key: line.name, name: () => (lines.length === 1 ? 'mean' : line.name), mark: panel.stack ? 'block' : 'line', color: line.color, value: value(line) })),
      summary: () => `${lines.map((line) => `${line.name} ${value(line)(null)}`).join(', ')} on average.`,
      data: () => {
        const rows = readIn(at, bus.range).map((k) => [at[k]!, ...lines.map((line) => line.series.value![k] ?? null)]);
        return { head: ['at_s', ...lines.map((line) => `${line.series.name}${line.series.label === '' ? '' : ` ${line.series.label}`} ${panel.unit}`.trim())], rows };
      },
      below: gapWords,
      build: ({ width }, hidden) => {
        const { from, to } = bus.range;
        const shown = lines.filter((line) => !hidden.has(line.name));
        const series: object[] = [marks(model, bus.range, {}, holes)];
        if (panel.stack) {
          const columns = means(at, shown.map((line) => line.series.value!), bus.range, width / 2);
          series.push(
            drawn((api, box) => areas(columns, shown.map((line) => ({ fill: token(line.color) })), api, box, unit.by), 2),
          );
        } else {
          for (const line of shown) {
            const x = model.clocks[line.series.clock!]!;
            const scaled = thin(x, line.series.value!, from, to, width).map(([t, v]): [number, number | null] => [t, v === null ? null : v / unit.by]);
            series.push({ type: 'line', showSymbol: scaled.length < 3, symbolSize: 3, silent: true, data: broken(scaled, holes), lineStyle: { color: token(line.color), width: 1.3 }, connectNulls: false, z: 3 });
          }
        }
        return { grid: {}, yAxis: linearAxis(axis.min, axis.max, axis.step), series };
      },
    },
    bus,
  );
}

/** A line that stops where nothing was read. */
export function broken(points: [number, number | null][], holes: { from: number; to: number }[]): [number, number | null][] {
  if (holes.length === 0) return points;
  const out: [number, number | null][] = [];
  points.forEach((point, i) => {
    const before = points[i - 1];
    if (before !== undefined && holes.some((hole) => before[0] <= hole.from + 1e-9 && point[0] >= hole.to - 1e-9 && hole.to > hole.from)) out.push([(before[0] + point[0]) / 2, null]);
    out.push(point);
  });
  return out;
}

/** Charts of a column that are drawn without being asked for. */
const FIRST = 12;

/** Never anything but 0. */
const still = (panel: Panel): boolean => panel.lines.every((line) => line.series.value!.every((v) => v === null || v === 0));

/** What is made when it is opened first. */
function later(title: string, make: () => (HTMLElement | null)[]): HTMLElement {
  const box = h('div', { class: 'panels' });
  const details = more(title, box);
  details.addEventListener('toggle', () => {
    if (details.open && box.childElementCount === 0) box.append(...make().filter((element) => element !== null));
  });
  return details;
}

export function instruments(model: Model, bus: Bus): Section | null {
  const { data } = model;
  const { panels: found, missing } = panels(data.instruments, data.series);
  const totals = data.series.filter((series) => series.kind === 'before_after' && (series.before ?? series.after ?? null) !== null);
  if (found.length === 0 && missing.length === 0 && totals.length === 0) return null;
  const names = new Set<string>();
  const columns = COLUMNS.map(({ of, name }) => {
    const own = found.filter((panel) => panel.of === of);
    const moved = own.filter((panel) => !still(panel));
    const quiet = own.filter(still);
    const draw = (panel: Panel): HTMLElement | null => {
      let name = nameOf(panel);
      while (names.has(name)) name += '-';
      names.add(name);
      return strip(panel, name, model, bus)?.element ?? null;
    };
    // The first of them at once; the rest are drawn when they are asked for.
    const strips = [h('div', { class: 'panels' }, ...moved.slice(0, FIRST).map(draw)), moved.length > FIRST && later(`More of it (${moved.length - FIRST})`, () => moved.slice(FIRST).map(draw)), quiet.length > 0 && h('p', { class: 'sub gap' }, h('strong', {}, '0 throughout: '), quiet.map((panel) => panel.title).join(', '), '.')];
    const gone = missing.filter((m) => m.of === of).map((m) => h('div', { class: 'gone' }, h('div', { class: 'strip-head' }, h('h3', {}, m.title), h('span', { class: 'tag' }, tag(m.gap.reason))), absent('Not recorded', m.gap.reason, m.gap.remedy)));
    const sources = [...new Set(data.instruments.filter((instrument) => instrument.of === of).map((instrument) => instrument.source.split(',')[0]!))].filter((source) => source !== '').slice(0, 2);
    return { name, sources, children: [...strips, ...gone], any: own.length + gone.length > 0 };
  }).filter((column) => column.any);
  return section(
    'instruments',
    'Instruments',
    'Instruments',
    'Read during the trial, on separate connections and threads. They follow the zoom above; figures are means of the visible range.',
    null,
    h('div', { class: 'instruments', style: { '--columns': String(Math.max(1, Math.min(3, columns.length))), '--wide': columns.length === 1 ? '3' : '1' } }, ...columns.map((column) => h('div', { class: 'instrument-column' }, h('h3', { class: 'column-head' }, column.sources.length > 0 ? `${column.name}: ${column.sources.join(', ')}` : column.name), ...column.children))),
    totals.length > 0 &&
      h(
        'details',
        { class: 'more', open: found.length === 0 },
        h('summary', {}, `Before and after (${count(totals.length)})`),
        figureTable(
          'Before and after: rows',
          ['What', 'Of', num('Before'), num('After')],
          totals.map((series) => [td(series.name), series.label, join(inUnitOf(series.before, series.unit)), join(inUnitOf(series.after, series.unit))]),
        ),
      ),
  );
}

/** Which charts there are, and which of them moved. */
const layout = (model: Model): string => {
  const { panels: found, missing } = panels(model.data.instruments, model.data.series);
  return JSON.stringify([found.map((panel) => [nameOf(panel), still(panel), panel.lines.length]), missing.map((of) => [of.title, of.gap.reason])]);
};

const layouts = new WeakMap<Section, string>();

/** The section with what has come: charts that are there go on, others are put in their place. */
export function grownInstruments(model: Model, bus: Bus, before: Section | null): Section | null {
  const now = layout(model);
  if (before !== null && layouts.get(before) === now) {
    for (const panel of panels(model.data.instruments, model.data.series).panels) if (Strip.has(nameOf(panel), bus)) strip(panel, nameOf(panel), model, bus);
    return before;
  }
  // Who works in it is not disturbed.
  if (before !== null && before.element.contains(document.activeElement)) return before;
  const section = instruments(model, bus);
  if (section !== null) layouts.set(section, now);
  return section;
}

/** Two words for a reason, where it is one of the usual. */
function tag(reason: string): string {
  if (/privilege|permission|may not/i.test(reason)) return 'no privilege';
  if (/not installed|extension|not loaded/i.test(reason)) return 'no extension';
  if (/version|before|came with|since/i.test(reason)) return 'not in this version';
  return 'not seen';
}
