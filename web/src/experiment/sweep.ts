/** A sweep: its targets, and a section for each workload on its own scale: curves where numbers vary, rows where only kinds do, maps. */

import type { Answer, ExperimentData, Point, Ranking, TargetRow } from '../data';
import { asked, columnUnit, inUnit, rate } from '../pure/format';
import { lineOf } from '../page/classes';
import { h, type Child } from '../page/dom';
import { section, type Section } from '../page/shell';
import { figureTable, num, type Row } from '../page/table';
import { curves } from './curves';
import { maps } from './map';
import { goodput, latencyOf, lines, partsOf, planeOf, shownLatency, type Part } from './model';
import { legend, shape } from './points';
import { ranks } from './ranks';

/** What is between the answer and the table of all points. */
export function sweepSections(data: ExperimentData, go: (point: number) => void): Section[] {
  const parts = partsOf(data);
  const targets = data.targets ?? [];
  return [...(targets.length > 1 ? [targetsSection(targets)] : []), ...parts.map((part) => workload(part, go))];
}

function targetsSection(targets: TargetRow[]): Section {
  const unit = columnUnit(targets.map((of) => of.round_trip_us ?? null));
  const lead = 'A target’s short name is the part of its address that differs from the others. The whole address is here, without its password.';
  const rows = targets.map((of, i): Row => [h('span', { class: 'mark-name' }, shape(lineOf(i).symbol, lineOf(i).color), of.name), of.product ?? 'never reached', h('td', { class: 'where' }, h('code', {}, of.address)), of.isolation ?? 'not known, or not one', inUnit(of.round_trip_us ?? null, unit)]);
  return section('targets', 'Targets', 'Targets', lead, null, figureTable('Targets: rows', ['Name', 'What it is', 'Where', 'Isolation in effect', num('Round trip', unit.unit)], rows, { class: 'targets' }));
}

/** One workload: it has its own scale, and is held against no other. */
function workload(part: Part, go: (point: number) => void): Section {
  const { data, id } = part;
  const of = planeOf(part);
  const curve = h('div', { class: 'two-columns even' });
  const map = h('div', { id: `map${part.suffix}`, class: 'maps' });
  const choice = h('span', {});
  const key = h('div', {});
  const draw = (): void => {
    if (of === null || of.x === null) {
      curve.replaceChildren(...ranks(data, of, part, go));
      return;
    }
    const { element, choice: buttons } = maps(data, of, part, go);
    map.replaceChildren(element, missing(data));
    choice.replaceChildren(buttons);
    key.replaceChildren(legend(of) ?? '');
    curve.replaceChildren(...curves(data, of, part, go));
  };
  draw();
  // Rows have all values: there is nothing to choose.
  const rests = of?.x == null ? [] : of.rest;
  const selects = rests.map((rest) => {
    const select = h('select', {}, ...rest.axis.values.map((value, i) => h('option', { value: String(i), selected: i === rest.value }, value)));
    select.addEventListener('change', () => {
      rest.value = Number(select.value);
      draw();
    });
    return h('label', { class: 'mark-name' }, `${rest.axis.title} `, select);
  });
  const within = of?.x == null;
  return section(
    id,
    part.workload.length > 24 ? `${part.workload.slice(0, 22)}…` : part.workload,
    part.workload,
    within ? 'Upright line: median of the repeats. Bar: its 95 % interval, from six repeats on. Dots: the repeats.' : 'Large marks: median of the repeats, with its 95 % interval from six repeats on. Small dots: the repeats. Ringed: an outlier. Click a cell or a mark for its trials.',
    h('span', { class: 'mark-name' }, ...selects, choice),
    key,
    curve,
    map,
    within && missing(data),
  );
}

/** What has no figures, and why. */
function missing(data: ExperimentData): HTMLElement {
  const all = data.missing;
  return h('div', {}, all.length > 0 && h('ul', { class: 'missing' }, ...all.map((of) => h('li', {}, h('strong', {}, `${of.title}: `), of.why))));
}

/** To the answer's right: who is ahead where, or where each line has its most. */
export function besideSweep(data: ExperimentData, answer: Answer | null): Child {
  const ranking = answer?.ranking ?? null;
  if (ranking !== null) return rankingBlock(ranking);
  const parts = partsOf(data);
  const [part] = parts;
  // From one repeat there is no headline, and no workload is beside another.
  if (part === undefined || parts.length > 1 || part.data.points.some((point) => point.repeats === 1)) return null;
  const of = planeOf(part);
  if (of === null || of.x === null || of.line === null || of.rest.length > 0) return null;
  return mostOf(part.data, of.line.title, lines(of).map(({ index }) => part.data.points.filter((point) => point.at[of.lineIndex] === index)), of.line.values, of.xIndex, of.x.title, of.x.values);
}

function mostOf(data: ExperimentData, title: string, groups: Point[][], names: string[], xIndex: number, xTitle: string, xs: string[]): HTMLElement {
  const slo = data.slo_us ?? null;
  const unit = columnUnit(data.points.map((point) => latencyOf(point, 'p99')));
  const rows = groups.flatMap((points, i) => {
    const known = points.filter((point) => goodput(point) !== null && (slo === null || (latencyOf(point, 'p99') ?? Infinity) <= slo));
    const best = known.reduce<Point | null>((a, b) => (a === null || goodput(b)! > goodput(a)! ? b : a), null);
    return best === null ? [] : [[names[i]!, xs[best.at[xIndex]!] ?? '', rate(goodput(best)), shownLatency(best, 'p99', unit)]];
  });
  return h(
    'div',
    {},
    h('h2', { class: 'eyebrow' }, slo === null ? `Highest median for each ${title}` : `Highest median with p99 ≤ ${asked(slo)}`),
    figureTable('Highest medians: rows', [title, num(xTitle), num('goodput', 'tps'), num('p99', unit.unit)], rows),
  );
}

function rankingBlock(of: Ranking): HTMLElement {
  const short = of.columns.every((column) => / clients?$/.test(column) && !column.includes(', '));
  return h(
    'div',
    {},
    h('h2', { class: 'eyebrow' }, of.title),
    figureTable(
      `${of.title}: rows`,
      ['Workload', ...of.columns.map((column) => (short ? column.replace(/ clients?$/, '') : column === '' ? 'all' : column))],
      of.rows.map((row) => [row.workload, ...row.cells.map((cell) => h('td', { class: cell !== null && !cell.is_sure ? 'careful' : undefined }, cell === null ? '–' : cell.names.join(', ')))]),
      { class: 'ranking' },
    ),
    h('p', { class: 'sub' }, of.note),
  );
}
