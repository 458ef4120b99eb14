/** An example's transactions in time: a bar each, a column a client, what each did, and why one comes before another. */

import type { IsolationExample, IsolationLink, IsolationTransaction } from '../data';
import { fixed } from '../pure/format';
import { place as freely, type Box } from '../pure/placing';
import { svg } from '../page/dom';

/** One moment of a transaction. */
export interface Row {
  /** Which transaction. */
  of: number;
  /** Which operation; -1: its begin; the number of operations: its end. */
  step: number;
  /** In microseconds; nothing: between two moments that are known. */
  us: number | null;
  /** The first line, and what came of it. */
  says: string;
  result: string | null;
}

const ENDS: Record<string, [string, string]> = {
  committed: ['COMMIT', 'acknowledged'],
  aborted: ['ROLLBACK', 'did not commit'],
  unknown: ['COMMIT', 'no answer: not known whether it committed'],
};

/** All moments in their order. Of operations only the order within their transaction is known: they stand between its begin and its end. */
export function rows(transactions: IsolationTransaction[]): Row[] {
  const placed = transactions.flatMap((one, of) => {
    const [begin, end] = [one.began_us ?? 0, Math.max(one.ended_us ?? 0, one.began_us ?? 0)];
    const [last, after] = ENDS[one.end] ?? ['END', one.end];
    const all: Row[] = [
      { of, step: -1, us: one.began_us ?? null, says: 'BEGIN', result: null },
      ...one.operations.map((operation, step) => ({ of, step, us: null, says: operation.statement ?? operation.did, result: (operation.statement ?? null) === null ? null : operation.did })),
      { of, step: one.operations.length, us: one.ended_us ?? null, says: last, result: after },
    ];
    return all.map((row) => ({ row, at: begin + ((end - begin) * (row.step + 1)) / (one.operations.length + 1) }));
  });
  // A sort keeps the order of equals: moments of one transaction never change places.
  return placed.sort((a, b) => a.at - b.at).map(({ row }) => row);
}

/** Which moments an arrow joins. */
export function ends(link: IsolationLink, transactions: IsolationTransaction[]): [step: number, step: number] {
  const [from, to] = [transactions[link.from]!, transactions[link.to]!];
  const step = (one: IsolationTransaction, writes: boolean, last: boolean): number => {
    const is = (operation: { key: string; writes: boolean }): boolean => operation.key === link.key && operation.writes === writes;
    const all = one.operations.map(is);
    return last ? all.lastIndexOf(true) : all.indexOf(true);
  };
  const [begin, end] = [-1, from.operations.length];
  const otherwise = (found: number, other: number): number => (found < 0 ? other : found);
  if (link.kind === 'ww') return [otherwise(step(from, true, true), end), otherwise(step(to, true, false), begin)];
  if (link.kind === 'wr') return [otherwise(step(from, true, true), end), otherwise(step(to, false, true), begin)];
  if (link.kind.startsWith('rw')) return [otherwise(step(from, false, false), begin), otherwise(step(to, true, false), to.operations.length)];
  return [end, begin];
}

/** A column each client, in the order in which they come. */
export function columns(transactions: IsolationTransaction[]): number[] {
  const clients = [...new Set(transactions.map((one) => one.client))];
  return transactions.map((one) => clients.indexOf(one.client));
}

const [LEFT, TOP, ROW, NAME] = [74, 34, 38, 20];
/** A character of statements, in pixels: `.sql`. */
const CHARACTER = 7.6;
/** A letter of an arrow's name. */
const LETTER = 7;
const [NARROW, WIDE] = [230, 420];
const ARROW_ROOM = 46;

const shortened = (text: string, characters: number): string => (text.length > characters ? `${text.slice(0, characters - 1)}…` : text);

/** The drawing. */
export function inTime(of: IsolationExample): SVGElement | null {
  const { transactions, links } = of;
  if (transactions.length === 0) return null;
  const all = rows(transactions);
  const column = columns(transactions);
  const count = Math.max(...column) + 1;
  const longest = Math.max(...all.map((row) => Math.max(row.says.length, (row.result ?? '').length + 2)));
  const width = Math.min(WIDE, Math.max(NARROW, longest * CHARACTER + ARROW_ROOM + 12));
  const characters = Math.floor((width - ARROW_ROOM - 12) / CHARACTER);
  // Left of a column, where an arrow joins transactions of one client, its name has room.
  const names = links.map((link, i) => `${i + 1} ${link.kind}${link.key ? ` ${link.key}` : ''}`);
  const left = LEFT + Math.max(0, ...links.map((link, i) => (column[link.from] === column[link.to] ? names[i]!.length * LETTER + 30 : 0)));
  const x = (transaction: number): number => left + column[transaction]! * width + 10;
  const place = (transaction: number, step: number): number => all.findIndex((row) => row.of === transaction && row.step === step);
  // Later transactions of a client have their name where they begin, in a line of its own.
  const isLater = transactions.map((_, i) => column.indexOf(column[i]!) < i);
  const named = new Set(transactions.flatMap((_, i) => (isLater[i] ? [place(i, -1)] : [])));
  const tops = all.map((_, at) => TOP + at * ROW + 14 + NAME * [...named].filter((one) => one <= at).length);
  const y = (at: number): number => tops[at]!;
  const joined = links.map((link) => ends(link, transactions));
  const touched = new Set(links.flatMap((link, i) => [`${link.from} ${joined[i]![0]}`, `${link.to} ${joined[i]![1]}`]));
  const text = (at: number): string => shortened(all[at]!.says, characters);

  const bars = transactions.map((one, i) => svg('rect', { x: x(i) - 3, y: y(place(i, -1)), width: 6, height: Math.max(2, y(place(i, one.operations.length)) - y(place(i, -1))), rx: 3, fill: 'var(--line2)' }));
  const heads = transactions.map((one, i) => {
    const first = place(i, -1);
    const at = isLater[i] ? y(first) - 15 : 16;
    return svg('text', { x: x(i) - 4, y: at, fill: 'var(--ink1)', 'font-size': 12.5, 'font-weight': 650 }, `${one.name}, client ${one.client}`);
  });
  const moments = all.flatMap((row, at) => {
    const is = touched.has(`${row.of} ${row.step}`);
    const color = is ? 'var(--bad)' : 'var(--ink2)';
    return [
      row.us !== null && svg('text', { x: LEFT - 16, y: y(at) + 4, 'text-anchor': 'end', fill: 'var(--ink3)', 'font-size': 11.5 }, `${fixed(row.us / 1000, 2)} ms`),
      row.us !== null && svg('line', { x1: LEFT - 10, x2: x(row.of) - 6, y1: y(at), y2: y(at), stroke: 'var(--line1)' }),
      svg('circle', { cx: x(row.of), cy: y(at), r: 4.5, fill: color }),
      svg('text', { x: x(row.of) + 14, y: y(at) + 4, fill: is ? 'var(--ink1)' : 'var(--ink2)', class: 'sql' }, text(at)),
      row.result !== null && svg('text', { x: x(row.of) + 14, y: y(at) + 18, fill: is ? 'var(--bad)' : 'var(--ink3)', 'font-size': 11.5, 'font-weight': is ? 650 : 400 }, `→ ${shortened(row.result, characters - 2)}`),
    ];
  });
  const [w, height] = [left + count * width + 10, y(all.length - 1) + 30];
  // Where words stand already: names of arrows go where none is.
  const line = (x: number, y: number, length: number): Box => ({ x, y: y - 12, width: length, height: 16 });
  const words: Box[] = all.flatMap((row, at) => [line(x(row.of) + 14, y(at) + 4, text(at).length * CHARACTER), ...(row.result === null ? [] : [line(x(row.of) + 14, y(at) + 18, (Math.min(row.result.length, characters - 2) + 2) * LETTER)])]);
  words.push(...transactions.map((one, i) => line(x(i) - 4, isLater[i] ? y(place(i, -1)) - 15 : 16, `${one.name}, client ${one.client}`.length * CHARACTER)));
  const arrows = links.flatMap((link, i) => {
    const [from, to] = [place(link.from, joined[i]![0]), place(link.to, joined[i]![1])];
    const after = (at: number): number => x(all[at]!.of) + 20 + text(at).length * CHARACTER;
    const forward = column[link.from]! < column[link.to]!;
    const same = column[link.from] === column[link.to];
    const [x1, x2] = same ? [x(link.from) - 8, x(link.to) - 8] : forward ? [after(from), x(link.to) - 9] : [x(link.from) - 9, after(to)];
    const [y1, y2] = [y(from), y(to)];
    const bend = same ? -30 : (forward ? 1 : -1) * Math.max(26, Math.abs(x2 - x1) / 2);
    const [c1, c2] = [x1 + bend, same ? x2 + bend : x2 - bend];
    const label = names[i]!;
    const half = (label.length * LETTER) / 2;
    const middle = (x1 + 3 * c1 + 3 * c2 + x2) / 8;
    // Free of the column to its right; of one client to the left of the bend.
    const mx = same ? middle - half - 6 : Math.min(middle, Math.max(x(link.from), x(link.to)) - 12 - half);
    const my = (y1 + y2) / 2 + (forward ? -6 : 14);
    const on = (t: number): [number, number] => [x1 * (1 - t) ** 3 + 3 * c1 * t * (1 - t) ** 2 + 3 * c2 * t ** 2 * (1 - t) + x2 * t ** 3, y1 * (1 - t) ** 3 + 3 * y1 * t * (1 - t) ** 2 + 3 * y2 * t ** 2 * (1 - t) + y2 * t ** 3];
    const beside = [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8].flatMap((t) => [-6, 14].flatMap((dy) => [-half - 8, 0, half + 8].map((dx): [number, number] => [on(t)[0] + dx, on(t)[1] + dy])));
    const wanted = ([[mx, my], ...beside] as [number, number][]).map(([cx, cy]) => line(cx - half - 2, cy, 2 * half + 4));
    const found = freely(wanted, words, { x: 0, y: 0, width: w, height });
    const side = c2 < x2 ? -1 : 1;
    return [
      svg('path', { d: `M${x1} ${y1} C${c1} ${y1} ${c2} ${y2} ${x2} ${y2}`, fill: 'none', stroke: 'var(--bad)', 'stroke-width': 1.6, 'stroke-dasharray': forward || same ? undefined : '5 3' }),
      svg('path', { d: `M${x2} ${y2} L${x2 + side * 9} ${y2 - 4.5} L${x2 + side * 9} ${y2 + 4.5} Z`, fill: 'var(--bad)' }),
      svg('text', { x: found.x + half + 2, y: found.y + 12, 'text-anchor': 'middle', fill: 'var(--bad)', 'font-size': 11.5, 'font-weight': 650, stroke: 'var(--bg)', 'stroke-width': 4, 'paint-order': 'stroke' }, label),
    ];
  });
  const summary = transactions.map((one) => `${one.name} of client ${one.client}: ${one.operations.map((operation) => operation.did).join(', ')}; ${one.end}`).join('. ');
  return svg('svg', { viewBox: `0 0 ${w} ${height}`, width: w, height, role: 'img', 'aria-label': summary }, ...bars, ...moments.filter((part) => part !== false), ...heads, ...arrows);
}
