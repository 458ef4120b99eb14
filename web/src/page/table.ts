/** Tables of figures. A cell goes to the right below a head of numbers; the first one of a row is its head. */

import { h, scroll, type Child } from './dom';

/** A column's head, with its unit. */
export const th = (text: Child, numeric = false, unit = ''): HTMLElement => h('th', { scope: 'col', class: numeric ? 'n' : undefined }, text, unit !== '' && h('span', { class: 'unit' }, ` ${unit}`));
export const num = (text: Child, unit = ''): HTMLElement => th(text, true, unit);
export const nums = (...texts: string[]): HTMLElement[] => texts.map((text) => num(text));
export const td = (child: Child, numeric = false): HTMLElement => h('td', { class: numeric ? 'n' : undefined }, child);

/** What is in a cell, or the cell itself where it is not like others of its column. */
export type Cell = Child | Child[];
/** The cells of a row, or the row itself where it is not like others. */
export type Row = Cell[] | HTMLElement | false | null;

/** `false` in place of a head: there is no such column, whatever rows have there. `hidden`: heads are for those who hear the page. */
export function table(heads: (string | HTMLElement | false | null)[], rows: Row[], more: { class?: string; id?: string; caption?: string; foot?: Row; hidden?: boolean } = {}): HTMLElement {
  const names = heads.map((head) => (typeof head === 'string' ? th(head) : head));
  const cell = (of: Cell, i: number): Child => {
    const head = names[i];
    if (head === false || head === null) return null;
    if (of instanceof HTMLTableCellElement) return of;
    const children = Array.isArray(of) ? of : [of];
    return i === 0 ? h('th', { scope: 'row' }, ...children) : h('td', { class: head?.classList.contains('n') === true ? 'n' : undefined }, ...children);
  };
  const line = (of: Row): Child => (Array.isArray(of) ? h('tr', {}, ...of.map(cell)) : of);
  return h(
    'table',
    { class: more.class === undefined ? 'figures' : `figures ${more.class}`, id: more.id },
    more.caption !== undefined && h('caption', {}, more.caption),
    h('thead', { class: more.hidden === true ? 'visually-hidden' : undefined }, h('tr', {}, ...names)),
    h('tbody', {}, ...rows.map(line)),
    more.foot !== undefined && h('tfoot', {}, line(more.foot)),
  );
}

/** The same in a box that what is too wide is scrolled in. */
export const figureTable = (label: string, ...of: Parameters<typeof table>): HTMLElement => scroll(label, table(...of));
