/** What the laboratory for isolation found: levels by anomalies, the smallest cycle, rates beside their verdicts. */

import type { IsolationCell, IsolationExample, IsolationLab, IsolationLevel, IsolationSeen } from '../data';
import { count, DASH, fixed, known, many, rate } from '../pure/format';
import { h, more, save, scroll, svg } from '../page/dom';
import { section, trialLink, type Section } from '../page/shell';
import { figureTable, num, nums, type Cell, type Row } from '../page/table';
import { inTime } from './cycle';

/** An upper limit, never rounded down: `< 1 in 200,000`. */
export function below(share: number): string {
  if (share >= 0.01) return `<\u00a0${Math.ceil(share * 1000) / 10}\u00a0%`;
  const oneIn = Math.floor(1 / share);
  const digits = 10 ** Math.max(0, Math.floor(Math.log10(oneIn)) - 1);
  return `<\u00a01 in ${count(Math.floor(oneIn / digits) * digits)}`;
}

/** The words of a cell: how often; below it how sure, and whether that is allowed. */
export function words(cell: IsolationCell): { figure: string; below: string; color: 'bad' | 'warn' | 'ok' | 'ink3' } {
  if (cell.count > 0) {
    const seen = `in ${cell.trials} of ${many(Math.max(cell.of_trials, cell.trials), 'trial')}`;
    const verdict = cell.forbidden === true ? 'forbidden' : cell.forbidden === false ? 'allowed' : 'promise not known';
    return { figure: `${cell.at_least ? '≥\u00a0' : ''}${count(cell.count)}`, below: `${seen}; ${verdict}`, color: cell.forbidden === true ? 'bad' : 'warn' };
  }
  if (cell.unknown !== null) return { figure: '?', below: cell.unknown, color: 'ink3' };
  const allowed = cell.forbidden === true ? 'forbidden' : cell.forbidden === false ? 'allowed' : 'promise not known';
  return { figure: '0', below: `${cell.at_most === null ? 'not seen' : below(cell.at_most)}; ${allowed}`, color: 'ok' };
}

export function isolationLab(lab: IsolationLab): Section[] {
  const [first] = lab.examples;
  const cycle: Section[] = first === undefined ? [] : [section('isolation-cycle', 'Smallest example', 'Smallest example', `${first.anomaly} at ${first.level.toUpperCase()}: ${first.meaning}${first.forbidden === true ? '; forbidden' : first.forbidden === false ? '; allowed, as documented' : ''}.`, null, example(first), others(lab.examples.slice(1)))];
  return [
    section('isolation', 'By level', 'Verdict by level', 'Asked for, in effect, and what was seen. Red: forbidden and seen. Amber: seen and allowed. Green 0: not seen; the true share is below the figure, with 95 % confidence. ?: this history cannot show it.', null, matrix(lab), promises(lab), rates(lab)),
    ...cycle,
    section('isolation-trials', 'Histories', 'Histories', 'Each trial, the size of its history, and what was found in it.', null, trials(lab)),
  ];
}

function matrix(lab: IsolationLab): HTMLElement {
  const inEffect = (level: IsolationLevel): Cell => {
    const is = known(level.in_effect);
    return [is ?? h('span', { class: 'quiet' }, `not known: ${(level.in_effect as { unknown: string }).unknown}`), level.same_as !== null && h('div', { class: 'sub' }, `the same as ${level.same_as}`)];
  };
  const cell = (of: IsolationCell): HTMLElement => {
    const { figure, below: under, color } = words(of);
    return h('td', { class: 'top' }, h('div', { class: 'strong', style: { color: `var(--${color})` } }, figure), h('div', { class: 'sub' }, under));
  };
  return figureTable('Levels by anomalies', ['Anomaly', ...lab.levels.map((level) => level.asked.toUpperCase())], [
    ['In effect', ...lab.levels.map(inEffect)],
    ...lab.anomalies.map((column, i): Row => [[column.title, column.code !== '' && h('span', { class: 'unit' }, ` ${column.code}`), h('div', { class: 'sub' }, column.meaning)], ...lab.levels.map((level) => cell(level.cells[i]!))]),
    ['Overlapping conflicting pairs', ...lab.levels.map((level) => count(level.conflicting_pairs))],
  ], { id: 'isolation-matrix' });
}

function promises(lab: IsolationLab): HTMLElement {
  const row = (level: IsolationLevel): Row => {
    const promise = known(level.promise);
    if (promise === null) return [level.asked, h('td', { colspan: '3', class: 'quiet' }, `not known: ${(level.promise as { unknown: string }).unknown}`)];
    return [level.asked, promise.level, promise.allows === '' ? 'nothing' : promise.allows, h('td', { class: 'quiet' }, promise.source)];
  };
  return figureTable('What is promised', ['Asked for', 'Promised', 'Documented as possible', 'Source'], lab.levels.map(row));
}

/** A fast wrong answer is no speedup: each rate has its verdict beside it. */
function rates(lab: IsolationLab): HTMLElement {
  const answers = { true: ['kept', 'ok'], false: ['WRONG', 'bad'], null: ['not known', 'warn'] } as const;
  const rows = lab.levels.flatMap((level) =>
    level.rates.map((of): Row => {
      const [text, color] = answers[`${of.is_kept}`];
      const range = of.range === null || of.repeats < 2 ? 'one trial' : `${rate(of.range[0])} to ${rate(of.range[1])}`;
      return [
        level.asked,
        of.workload,
        h('td', { style: { color: `var(--${color})` } }, text),
        of.goodput_per_s === null ? DASH : rate(of.goodput_per_s),
        h('td', { class: 'n quiet' }, range),
        of.retries_per_commit === null ? DASH : fixed(of.retries_per_commit, 2),
        count(of.conflicting_pairs),
      ];
    }),
  );
  return figureTable('Rates and answers', ['Level', 'Pack', 'Answers', ...nums('Committed /s', 'Range', 'Retries per commit', 'Conflicting pairs')], rows);
}

function example(of: IsolationSeen): HTMLElement {
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

function others(list: IsolationSeen[]): HTMLElement | null {
  if (list.length === 0) return null;
  return h('div', {}, ...list.map((of) => more(`${of.anomaly} at ${of.level}${of.forbidden === true ? ' (forbidden)' : of.forbidden === false ? ' (allowed)' : ''}`, example(of))));
}

function drawing(of: IsolationExample): HTMLElement | null {
  const picture = inTime(of);
  if (picture === null) return null;
  const statements = of.transactions.some((one) => one.operations.some((operation) => (operation.statement ?? null) !== null));
  return h(
    'figure',
    {},
    scroll('Transactions in time', picture),
    h('figcaption', { class: 'sub' }, `Time goes down; a bar is a transaction from its begin to its acknowledged end.${of.links.length > 0 ? ' An arrow goes to what must come later.' : ''} ${statements ? 'Statements' : 'Operations'} stand in their order within the bar: their own moments are not recorded.`),
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

function trials(lab: IsolationLab): HTMLElement {
  return figureTable(
    'Histories: rows',
    ['Trial', 'Level', 'Pack', ...nums('Repeat', 'Transactions', 'Conflicting pairs'), 'Found', num('Checked in s')],
    lab.trials.map((of) => [trialLink(of.trial), of.level, of.workload, count(of.repeat), of.counts ? count(of.recorded) : DASH, of.counts ? count(of.conflicting_pairs) : DASH, of.reason ?? (of.found.length === 0 ? 'nothing' : of.found.map(([name, n]) => `${name} ${count(n)}`).join(', ')), of.counts ? fixed(of.checked_ms / 1000, 2) : DASH]),
  );
}
