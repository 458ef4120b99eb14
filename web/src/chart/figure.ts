/** The frame of a chart: heading, PNG, CSV and the Table behind it, and words for who cannot see it. */

import { csv, fileName, type Cell, type Rows } from '../pure/csv';
import { count } from '../pure/format';
import { h, save, uniqueId, type Child } from '../page/dom';

export interface Data {
  head: string[];
  rows: Rows;
}

export interface FrameSpec {
  id?: string;
  title: string;
  subtitle?: string;
  /** In a sentence: what there is to be seen. Read anew whenever the chart gets the focus. */
  summary: () => string;
  data: () => Data;
  /** Below the title of a saved picture, where that says more than the subtitle. */
  caption?: string;
}

/** A drawing that can be saved as a picture. */
interface Picture {
  readonly element: HTMLElement;
  png: (name: string, title: string, subtitle: string) => void;
}

/** Rows shown in a table; the file has all of them. */
const ROWS_MAX = 1500;

let page = 'pgdyno';
/** The first word of files saved from this page. */
export const namePage = (name: string): void => {
  page = name;
};

/** PNG, CSV and Table of a chart, and the place where the table opens. */
export function actions(spec: { title: string; data: () => Data; png?: (name: string) => void }): { buttons: HTMLElement; table: HTMLElement } {
  const name = (): string => fileName(page, spec.title);
  const table = h('div', { class: 'behind', hidden: true, tabindex: 0, role: 'region', 'aria-label': `${spec.title}: table` });
  table.id = uniqueId('table');
  const toggle = h('button', { type: 'button', class: 'act', 'aria-expanded': 'false', 'aria-controls': table.id, 'aria-label': `Table: ${spec.title}` }, 'Table');
  toggle.addEventListener('click', () => {
    const open = table.hidden;
    table.hidden = !open;
    toggle.setAttribute('aria-expanded', String(open));
    table.replaceChildren();
    if (open) table.append(tableOf(spec.data(), spec.title));
  });
  const saveCsv = h('button', { type: 'button', class: 'act', 'aria-label': `CSV: ${spec.title}` }, 'CSV');
  saveCsv.addEventListener('click', () => {
    const { head, rows } = spec.data();
    save(`${name()}.csv`, new Blob([csv(head, rows)], { type: 'text/csv' }));
  });
  const buttons = h('span', { class: 'actions' });
  if (spec.png !== undefined) {
    const png = h('button', { type: 'button', class: 'act', 'aria-label': `PNG: ${spec.title}` }, 'PNG');
    png.addEventListener('click', () => spec.png?.(`${name()}.png`));
    buttons.append(png);
  }
  buttons.append(saveCsv, toggle);
  return { buttons, table };
}

/** The same of a table: its figures as they are, without a unit. */
export const rowsBehind = (title: string, head: string[], rows: () => Rows): ReturnType<typeof actions> => actions({ title, data: () => ({ head, rows: rows() }) });

/** A plain table of a chart's data. */
export function tableOf({ head, rows }: Data, title: string): HTMLElement {
  const numeric = head.map((_, column) => rows.some((row) => typeof row[column] === 'number'));
  const body = h('tbody');
  for (const row of rows.slice(0, ROWS_MAX)) {
    body.append(h('tr', {}, ...head.map((_, i) => h('td', { class: numeric[i] ? 'n' : undefined }, shown(row[i])))));
  }
  const caption = rows.length > ROWS_MAX ? `${title}: the first ${count(ROWS_MAX)} of ${count(rows.length)} rows; the CSV has all` : title;
  return h(
    'table',
    { class: 'plain' },
    h('caption', {}, rows.length === 0 ? `${title}: nothing in what is seen` : caption),
    h('thead', {}, h('tr', {}, ...head.map((name, i) => h('th', { scope: 'col', class: numeric[i] ? 'n' : undefined }, name)))),
    body,
  );
}

function shown(cell: Cell): string {
  if (cell === null || cell === undefined) return '–';
  if (typeof cell !== 'number') return cell;
  return Number.isInteger(cell) ? count(cell) : String(Number(cell.toPrecision(6)));
}

/** A chart by itself: heading above, drawing below. */
export function figure(spec: FrameSpec, drawing: HTMLElement | Picture, ...more: Child[]): HTMLElement {
  const { title, subtitle, caption, data } = spec;
  const png = 'png' in drawing ? (name: string): void => drawing.png(name, title, caption ?? subtitle ?? '') : undefined;
  const { buttons, table } = actions({ title, data, ...(png === undefined ? {} : { png }) });
  const group = h('div', { class: 'plot', role: 'group', tabindex: 0, 'aria-label': `${title}. ${spec.summary()}` }, 'png' in drawing ? drawing.element : drawing);
  group.addEventListener('focus', () => group.setAttribute('aria-label', `${title}. ${spec.summary()}`));
  return h(
    'figure',
    { class: 'figure', id: spec.id },
    h('figcaption', { class: 'figure-head' }, h('span', {}, h('h3', {}, title), subtitle !== undefined && h('span', { class: 'sub' }, subtitle === '' ? '\u00a0' : subtitle)), buttons),
    group,
    table,
    ...more,
  );
}

/** A hatched box in place of something that is not there, with its reason and the way out. */
export function absent(tag: string, reason: string, remedy?: string | null): HTMLElement {
  return h(
    'div',
    { class: 'absent' },
    h('p', {}, h('strong', {}, `${tag}: `), reason),
    remedy !== undefined && remedy !== null && remedy !== '' && h('p', {}, 'To enable it: ', h('code', {}, remedy)),
  );
}
