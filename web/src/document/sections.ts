/** The sections of a document: one renderer for each of their sorts, whatever they are of. */

import type { DocumentSection, FigureCurve, FigureTable, Paragraphs, SectionPart, TableCell, TableRow, Tone } from '../data';
import { count } from '../pure/format';
import { rowsBehind } from '../chart/figure';
import { linesChart } from '../chart/lines';
import { lineOf } from '../page/classes';
import { h, more, rich, type Child } from '../page/dom';
import { section, trialLink, type Section } from '../page/shell';
import { figureTable, td, th, type Cell } from '../page/table';
import { axisOf, ratioAxis, type Axis } from './bars';
import { history } from './history';
import { lanes, scaleOf } from './lanes';

export const sectionsOf = (all: DocumentSection[]): Section[] =>
  all.filter((of) => of.parts.length > 0).map((of) => {
    const clocks = of.parts.flatMap((one) => (one.sort === 'lanes' ? [one] : []));
    const scale = clocks.length > 0 ? scaleOf(clocks) : null;
    const curves = of.parts.flatMap((one) => (one.sort === 'curve' ? [curve(one)] : []));
    const part = (one: SectionPart, nth: number): Child => {
      switch (one.sort) {
        case 'text':
          return paragraphs(one);
        case 'table':
          return table(one, of.parts.slice(0, nth).filter((other) => other.sort === 'table' && other.title === one.title).length);
        case 'history':
          return nth === 0 ? h('div', {}, h('p', { class: 'lead' }, `${one.title}.`), history(one.seen)) : more(one.title, history(one.seen));
        case 'lanes':
          return lanes(one, `disturb-${clocks.indexOf(one)}`, scale!);
        case 'curve':
          // All of them side by side, where the first one is.
          return of.parts.findIndex((other) => other.sort === 'curve') === nth && h('div', { class: 'two-columns even' }, ...curves);
      }
    };
    return section(of.id, of.link, of.title, of.lead === '' ? null : of.lead, null, h('div', { class: 'parts' }, ...of.parts.map(part)));
  });

function curve(of: FigureCurve): HTMLElement {
  const places = of.lines.flatMap((line) => line.places.map((place) => ({ line: line.name, ...place })));
  return linesChart({
    id: of.id,
    title: of.title,
    subtitle: of.note,
    lines: of.lines.map((line) => ({ name: line.name, ...lineOf(line.color), places: line.places.map((place) => ({ x: place.at, y: place.value, low: place.low, high: place.high, dots: place.repeats, words: place.words })) })),
    places: of.places.map((name) => ({ name })),
    xName: of.axis,
    log: of.is_logarithmic,
    verticals: of.marks.map((mark) => ({ x: mark.at, name: mark.name })),
    summary: () => places.map((place) => place.words).join('; '),
    data: () => ({ head: [of.axis, 'line', 'value', 'low', 'high', 'repeats'], rows: places.map((place) => [of.places[place.at] ?? '', place.line, place.value, place.low, place.high, place.repeats.join(' ')]) }),
  });
}

const heading = (title: string): Child => title !== '' && h('h3', {}, title);
const notes = (lines: string[]): HTMLElement[] => lines.map((line) => h('p', { class: 'sub' }, rich(line)));
const paragraphs = (of: Paragraphs): HTMLElement => h('div', {}, heading(of.title), ...notes(of.lines));

const COLORS: Partial<Record<Tone, string>> = { good: 'ok', careful: 'warn', bad: 'bad', quiet: 'ink3' };

function cell(of: TableCell, numeric: boolean, first: boolean): HTMLElement {
  const color = COLORS[of.tone];
  const text: Child[] = of.trials.length > 0 ? of.trials.flatMap((n, i) => [i > 0 ? ' ' : '', trialLink(n)]) : [rich(of.text)];
  return h(
    first ? 'th' : 'td',
    { scope: first ? 'row' : undefined, class: [numeric ? 'n' : '', of.note !== '' ? 'top' : '', of.tone === 'strong' ? 'strong' : ''].join(' ').trim() || undefined },
    ...(color === undefined ? text : [h('span', { class: of.note === '' ? undefined : 'strong', style: { color: `var(--${color})` } }, ...text)]),
    of.note !== '' && h('div', { class: 'sub' }, rich(of.note)),
  );
}

/** The rows of some columns, those with bars on axes of their own. */
function rowsOf(of: FigureTable, rows: TableRow[], isShown: (column: number) => boolean, label: string): HTMLElement {
  const shown = of.columns.flatMap((_, i) => (i === 0 || isShown(i) ? [i] : []));
  const bars = (i: number) => of.rows.flatMap((row) => row.cells[i]?.bar ?? []);
  const axes = new Map<number, Axis>(shown.flatMap((i): [number, Axis][] => (of.columns[i]!.form === 'bars' ? [[i, axisOf(bars(i))]] : of.columns[i]!.form === 'ratios' ? [[i, ratioAxis(bars(i))]] : [])));
  const heads = shown.map((i) => {
    const { title, note, form } = of.columns[i]!;
    const axis = axes.get(i);
    if (form === 'ratios') return h('th', { scope: 'col', class: 'track-cell' }, axis!.ticks());
    return note === '' ? th(title, form === 'figure') : h('th', { scope: 'col' }, title, h('div', { class: 'sub' }, note));
  });
  const cellsOf = (row: TableRow): Cell[] =>
    shown.map((i) => {
      const one = row.cells[i]!;
      const axis = axes.get(i);
      return axis === undefined ? cell(one, of.columns[i]!.form === 'figure', i === 0) : h('td', { class: 'track-cell' }, axis.track(one.bar, one.text, row.tone));
    });
  const line = (row: TableRow) => (row.missing === '' ? cellsOf(row) : h('tr', { class: 'withheld' }, cell(row.cells[0]!, false, true), h('td', { colspan: shown.length - 1 }, h('div', { class: 'not-run' }, h('span', {}, `not run: ${row.missing}`)))));
  const drawn = [...axes.values()].some((axis) => axis.isBelow);
  const foot = h('tr', { 'aria-hidden': 'true' }, ...shown.map((i) => (axes.get(i) === undefined ? td('') : h('td', { class: 'track-cell' }, axes.get(i)!.ticks()))));
  return figureTable(label, heads, rows.map(line), { class: axes.size === 0 ? undefined : drawn ? 'forms' : 'pairs', ...(drawn ? { foot } : {}) });
}

/** `before`: tables of the same title in its section. Regions of a page have names of their own. */
function table(of: FigureTable, before: number): HTMLElement {
  const name = of.title === '' ? of.columns.map((column) => column.title).join(', ') : `${of.title}: ${of.columns[1]?.title ?? 'rows'}`;
  const label = before === 0 ? name : `${name} (${before + 1})`;
  const folded = of.columns.map(({ place }) => place === 'folded' || place === 'deep');
  const rest = of.rows.filter((row) => row.is_folded);
  const hasBars = of.columns.some((column) => column.form === 'bars');
  const { buttons, table: data } = rowsBehind(of.title, ['row', 'column', 'value', 'low', 'high', 'repeats'], () => of.rows.flatMap((row) => row.cells.flatMap(({ bar }, i) => (bar === null ? [] : [[row.cells[0]!.text, of.columns[i]!.title, bar.value, bar.low, bar.high, bar.repeats.join(' ')]]))));
  return h(
    'div',
    {},
    hasBars ? h('div', { class: 'figure-head' }, h('span', {}, heading(of.title)), buttons) : heading(of.title),
    rowsOf(of, of.rows.filter((row) => !row.is_folded), (i) => !folded[i], label),
    hasBars && data,
    folded.includes(true) && more(of.fold, rowsOf(of, of.rows.filter((row) => row.missing === ''), (i) => folded[i]!, `More: ${label}`)),
    rest.length > 0 && more(of.fold, rowsOf(of, rest, (i) => !folded[i], `${count(rest.length)} others: ${label}`)),
    ...notes(of.notes),
  );
}
