/** A history that a level forbids, or allows: its transactions in time, and why no order explains them. */

import type { IsolationExample, IsolationSeen } from '../data';
import { DASH, fixed } from '../pure/format';
import { h, more, save, scroll, svg } from '../page/dom';
import { trialLink } from '../page/shell';
import { figureTable, nums, type Row } from '../page/table';
import { inTime } from './cycle';

export function history(of: IsolationSeen): HTMLElement {
  const download = of.example.replay === null ? null : h('button', { type: 'button', on: { click: () => save(of.file, new Blob([of.example.replay!], { type: 'application/json' })) } }, `Save ${of.file}`);
  return h(
    'div',
    {},
    h('div', { class: of.example.links.length > 0 ? 'cycle' : undefined }, circle(of.example), drawing(of.example)),
    table(of.example),
    h('ol', { class: 'story' }, ...of.example.story.map((line) => h('li', {}, line))),
    h('p', { class: 'sub' }, 'Seen in ', trialLink(of.trial, `trial ${of.trial}`), ` (${of.workload}).`),
    download !== null && h('p', { class: 'replay' }, download, ' and see it again: ', h('code', {}, `pgdyno check-history ${of.file}`)),
  );
}

function drawing(of: IsolationExample): HTMLElement | null {
  const picture = inTime(of);
  if (picture === null) return null;
  const statements = of.transactions.some((one) => one.operations.some((operation) => (operation.statement ?? null) !== null));
  return h(
    'figure',
    {},
    scroll('Transactions in time', picture),
    h('figcaption', { class: 'sub' }, `Time goes down; a bar is a transaction from its begin to its acknowledged end.${of.links.length > 0 ? ' An arrow goes to what must come later.' : ''} ${statements ? 'Statements' : 'Operations'} are in their order within the bar: their own moments are not recorded.`),
  );
}

/** The place of a node on the circle, from the top and clockwise. */
export function places(n: number, radius: number): { x: number; y: number }[] {
  return Array.from({ length: n }, (_, i) => {
    const angle = (2 * Math.PI * i) / n - Math.PI / 2;
    return { x: radius * Math.cos(angle), y: radius * Math.sin(angle) };
  });
}

/** Why no order exists: each arrow says that one comes before the other. */
function circle(of: IsolationExample): HTMLElement | null {
  if (of.links.length === 0) return null;
  const [size, radius, node] = [300, 105, 30];
  const at = places(of.transactions.length, radius).map(({ x, y }) => ({ x: x + size / 2, y: y + size / 2 }));
  const arrows = of.links.flatMap((link, i) => {
    const [a, b] = [at[link.from]!, at[link.to]!];
    const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
    const [ux, uy] = [(b.x - a.x) / length, (b.y - a.y) / length];
    // Two arrows between the same two transactions bend to opposite sides.
    const bend = 34;
    const from = { x: a.x + ux * node, y: a.y + uy * node };
    const to = { x: b.x - ux * (node + 7), y: b.y - uy * (node + 7) };
    const middle = { x: (a.x + b.x) / 2 + uy * bend, y: (a.y + b.y) / 2 - ux * bend };
    const head = Math.atan2(to.y - middle.y, to.x - middle.x);
    const wing = (turn: number): string => `${to.x - 9 * Math.cos(head + turn)} ${to.y - 9 * Math.sin(head + turn)}`;
    return [
      svg('path', { d: `M${from.x} ${from.y} Q${middle.x} ${middle.y} ${to.x} ${to.y}`, fill: 'none', stroke: 'var(--bad)', 'stroke-width': 1.6 }),
      svg('path', { d: `M${to.x} ${to.y} L${wing(0.45)} L${wing(-0.45)} Z`, fill: 'var(--bad)' }),
      svg('text', { x: (from.x + to.x) / 2 + uy * 32, y: (from.y + to.y) / 2 - ux * 32 + 4, 'text-anchor': 'middle', fill: 'var(--bad)', 'font-size': 12, 'font-weight': 650, stroke: 'var(--bg)', 'stroke-width': 4, 'paint-order': 'stroke' }, `${i + 1}`),
    ];
  });
  const nodes = of.transactions.map((one, i) => svg('g', {}, svg('circle', { cx: at[i]!.x, cy: at[i]!.y, r: node, fill: 'var(--bg)', stroke: 'var(--ink1)', 'stroke-width': 1.4 }), svg('text', { x: at[i]!.x, y: at[i]!.y - 1, 'text-anchor': 'middle', fill: 'var(--ink1)', 'font-size': 12, 'font-weight': 650 }, one.name), svg('text', { x: at[i]!.x, y: at[i]!.y + 13, 'text-anchor': 'middle', fill: 'var(--ink3)', 'font-size': 10.5 }, `client ${one.client}`)));
  const summary = of.links.map((link) => `${of.transactions[link.from]!.name} before ${of.transactions[link.to]!.name}: ${link.why}`).join('; ');
  return h(
    'figure',
    {},
    svg('svg', { viewBox: `0 0 ${size} ${size}`, width: size, height: size, role: 'img', 'aria-label': summary, style: { 'max-width': '100%' } }, ...arrows, ...nodes),
    h('figcaption', { class: 'sub' }, h('ol', {}, ...of.links.map((link) => h('li', {}, h('strong', {}, link.kind), ` ${of.transactions[link.from]!.name} before ${of.transactions[link.to]!.name}: ${link.why}`))), 'Each must come before the next, and the last before the first: no order exists.'),
  );
}

/** The same transactions as a table: what each did, when it began and ended. */
function table(of: IsolationExample): HTMLElement | null {
  if (of.transactions.length === 0) return null;
  const ms = (us: number | null): string => (us === null ? DASH : fixed(us / 1000, 2));
  const rows = of.transactions.map((one): Row => [[one.name, h('div', { class: 'sub' }, `client ${one.client}, ${one.end}`)], ms(one.began_us), ms(one.ended_us), one.operations.map((operation) => h('div', {}, (operation.statement ?? null) !== null && h('div', { class: 'sub' }, h('code', {}, operation.statement)), operation.did))]);
  return more(
    'As a table',
    figureTable('Transactions in time: rows', ['Transaction', ...nums('Began ms', 'Ended ms'), 'What it did'], rows),
  );
}
