/** What all pages have: top bar, title, verdict, validity notes, headlines, sections, footer. */

import type { Answer, Data, Evidence, Gate, Note, Sure, Verdict } from '../data';
import type { Bus } from '../pure/bus';
import { fromHash, toHash } from '../pure/bus';
import { DASH } from '../pure/format';
import { limitColor } from './classes';
import { copyButton, h, rich, svg, type Child } from './dom';
import { themeSwitch } from './theme';

export interface Section {
  id: string;
  /** In the top bar; without it there is no link. */
  link?: string;
  element: HTMLElement;
}

/** A section with its heading. */
export function section(id: string, link: string | undefined, title: string, sentence: string | null, right: Child, ...children: Child[]): Section {
  const element = h(
    'section',
    { id, 'aria-labelledby': `${id}-title` },
    h('div', { class: 'section-head' }, h('h2', { id: `${id}-title` }, title), right),
    sentence !== null && h('p', { class: 'lead' }, sentence),
    ...children,
  );
  return link === undefined ? { id, element } : { id, link, element };
}

/** Trials that have a page of their own in this file, and files that lie beside it. */
let pages = new Map<number, string>();
let shownTrial: number | null = null;
/** A server has a page of every trial. */
let served = false;

/** Before a page is made: which trial it is of, and where others are. */
export function setRoute(trial: number | null, links: Map<number, string>, isServed = false): void {
  shownTrial = trial;
  served = isServed;
  pages = links;
}

/** A trial's number, as a link where there is a page of it. */
export function trialLink(number: number, text = String(number)): Child {
  const href = pages.get(number) ?? (served ? `/trial/${number}` : undefined);
  return href === undefined ? text : h('a', { href, 'aria-label': `trial ${number}${text === String(number) ? '' : `, ${text}`}` }, text);
}

/** Links to all of them. */
export const trialLinks = (numbers: number[]): Child[] => numbers.flatMap((number, i) => [i > 0 ? ' ' : '', trialLink(number)]);

/** Goes to a place of the page; the range of time stays in the address. */
export function goTo(id: string, bus: Bus | null): void {
  const target = document.getElementById(id);
  if (target === null) return;
  // The content as a whole begins with its title, not with its first chart.
  const plot = (target.tagName === 'MAIN' ? null : target.querySelector<HTMLElement>('.plot[tabindex]')) ?? target;
  target.scrollIntoView({ block: 'start' });
  if (plot === target && !target.hasAttribute('tabindex')) target.setAttribute('tabindex', '-1');
  plot.focus({ preventScroll: true });
  history.replaceState(null, '', toHash(id, bus === null || bus.isWhole ? null : bus.range, shownTrial) || location.pathname);
}

export function link(text: string, id: string, bus: Bus | null, range?: { from: number; to: number }): HTMLElement {
  const anchor = h('a', { href: `#${id}` }, text);
  anchor.addEventListener('click', (event) => {
    event.preventDefault();
    if (range !== undefined) bus?.zoom(range.from, range.to);
    goTo(id, bus);
  });
  return anchor;
}

const KINDS: Record<Data['kind'], string> = { trial: 'trial report', experiment: 'experiment report', compare: 'comparison', notebook: 'serve' };

export function topBar(data: Data, sections: Section[], bus: Bus | null): HTMLElement {
  return h(
    'header',
    { class: 'topbar' },
    h(
      'div',
      { class: 'topbar-in' },
      h('span', { class: 'brand' }, h('strong', {}, 'pgdyno'), ` ${KINDS[data.kind]}`),
      h('nav', { 'aria-label': 'Sections' }, ...sections.filter((s) => s.link !== undefined).map((s) => link(s.link!, s.id, bus))),
      themeSwitch(),
    ),
  );
}

export function titleBlock(data: Data, more: Child = null): HTMLElement {
  return h(
    'div',
    { class: 'title' },
    data.eyebrow !== undefined && data.eyebrow !== '' && h('p', { class: 'eyebrow' }, data.eyebrow),
    h('h1', {}, data.title),
    data.facts.length > 0 && h('ul', { class: 'facts' }, ...data.facts.map((fact) => h('li', {}, fact))),
    more,
  );
}

function evidence(of: Evidence, bus: Bus | null): HTMLElement {
  const range = typeof of.link?.from_us === 'number' && typeof of.link.to_us === 'number' ? { from: of.link.from_us / 1e6, to: of.link.to_us / 1e6 } : undefined;
  const target = of.link?.section ?? (range === undefined ? null : 'over-time');
  const there = target !== null && of.link !== undefined;
  return h(
    'div',
    { class: 'evidence' },
    h('div', { class: 'evidence-figure' }, of.figure),
    h('div', {}, rich(of.sentence), there && ' ', there && link(of.link!.text, target, bus, range)),
  );
}

const gateLine = (gate: Gate): HTMLElement => aside('Gate', h('code', {}, gate.condition), ' ', h('span', { class: `tag ${gate.result}` }, gate.result.replace('-', ' ')), ' ', rich(gate.sentence));

const aside = (name: string, ...children: Child[]): HTMLElement => h('div', { class: 'evidence small' }, h('div', { class: 'evidence-name' }, name), h('div', {}, ...children));

/** What a page says first. */
interface Statement {
  /** What it is, for those who hear the page. */
  name: string;
  color: string;
  question: string;
  sentence: Child;
  /** Wrong answers are no limit among others. */
  is_harm?: boolean;
  evidence?: Evidence[];
  /** What there is to say beside it, by name. */
  asides?: [name: string, words: string | null | undefined][];
  gate?: Gate | null;
}

/** The largest sentence of the page, what speaks for it, and what is on its right and below it. */
function statement(of: Statement, bus: Bus | null, right: Child[], below: Child = null): HTMLElement {
  const beside = right.filter((child) => child !== null && child !== undefined && child !== false);
  return h(
    'section',
    { class: 'verdict', id: 'verdict', 'aria-label': of.name, style: { '--limit': `var(--${of.color})` } },
    h(
      'div',
      { class: 'verdict-left' },
      h('p', { class: 'eyebrow' }, of.question),
      h('p', { class: of.is_harm === true ? 'sentence worse' : 'sentence' }, of.sentence),
      ...(of.evidence ?? []).map((one) => evidence(one, bus)),
      ...(of.asides ?? []).map(([name, words]) => words !== null && words !== undefined && aside(name, rich(words))),
      of.gate !== undefined && of.gate !== null && gateLine(of.gate),
    ),
    beside.length > 0 && h('div', { class: 'verdict-right' }, ...beside),
    below,
  );
}

/** What to try, named once. */
const tries = (list: string[]): [string, string][] => list.map((words, i) => [i === 0 ? 'Try' : '', words]);

/** What limited it; on the right what else was examined. */
export function verdictBlock(verdict: Verdict | null, right: Child, bus: Bus | null, below: Child = null): HTMLElement {
  if (verdict === null) {
    return statement({ name: 'Verdict', color: 'other', question: 'What limited it', sentence: 'Not examined: no diagnosis was recorded with this result.' }, bus, [right]);
  }
  const { limit, label, sentence, evidence, second, careful, gate } = verdict;
  const asides: Statement['asides'] = [['Second limit', second?.sentence], ['Careful', careful], ...tries(verdict.try ?? [])];
  return statement({ name: 'Verdict', color: limitColor(limit), question: label ?? 'What limited it', sentence: rich(sentence), is_harm: limit === 'isolation-broken', evidence, asides, gate: gate ?? null }, bus, [right], below);
}

/** An answer; on the right how sure it is, below that whatever belongs there. */
export function answerBlock(answer: Answer, right: Child = null, more: { color?: string; gate?: Gate | null; sure?: string } = {}): HTMLElement {
  const { question, sentence, is_harm, evidence, careful } = answer;
  const color = more.color ?? (is_harm ? 'bad' : answer.state === 'known' ? 'accent' : 'warn');
  const asides: Statement['asides'] = [['Careful', careful], ...tries(answer.try)];
  return statement({ name: 'Answer', color, question, sentence: rich(sentence), is_harm, evidence, asides, gate: more.gate ?? null }, null, [right, sureList(more.sure ?? 'How sure is it?', answer.sure)]);
}

const MARKS = { held: ['✓', 'ok', 'held'], failed: ['✗', 'bad', 'failed'], limit: ['○', 'warn', 'a limit'], unknown: ['○', 'ink3', 'not known'] } as const;

/** A sign, a name, and what else there is to say of it; the sign's word for those who hear the page. */
function check(state: keyof typeof MARKS, name: string, ...words: Child[]): HTMLElement {
  const [mark, color, word] = MARKS[state] ?? MARKS.limit;
  return h('li', {}, h('span', { class: 'state', style: { color: `var(--${color})` }, 'aria-hidden': 'true' }, mark), h('span', {}, h('span', { class: 'visually-hidden' }, `${word}: `), h('strong', {}, `${name}.`), ' ', ...words));
}

/** Checks that held, that failed, and where what is known ends. */
export function sureList(title: string, list: Sure[]): HTMLElement | null {
  if (list.length === 0) return null;
  return h('div', { class: 'sure' }, h('h2', { class: 'eyebrow' }, title), h('ul', { class: 'checks' }, ...list.map((of) => check(of.state, of.name, rich(capital(of.text))))));
}

/** The verdict's check of itself; every cause that was examined behind it. */
export function checks(verdict: Verdict | null): HTMLElement | null {
  const list = verdict?.checks ?? [];
  if (list.length === 0) return rules(verdict);
  const passed = list.every((of) => of.passed !== false);
  return h(
    'div',
    {},
    h('h2', { class: 'eyebrow' }, `The verdict’s own check: ${passed ? 'passed' : 'failed'}`),
    h('ul', { class: 'checks' }, ...list.map((of) => check(of.passed === true ? 'held' : of.passed === false ? 'failed' : 'unknown', of.name, of.figures))),
    rules(verdict),
  );
}

/** Every rule that was examined, closed: the limit is said above. */
function rules(verdict: Verdict | null): HTMLElement | null {
  const list = verdict?.rules ?? [];
  if (list.length === 0) return null;
  const names = { limit: 'limit', second: 'second', 'ruled-out': 'ruled out', 'not-applicable': 'does not apply', 'not-known': 'not known' } as const;
  const states = [...new Set(list.map((rule) => rule.state))];
  return h(
    'details',
    { class: 'more' },
    h('summary', {}, `Limits examined (${list.length})`),
    h(
      'ul',
      { class: 'rules' },
      ...list.map((rule) =>
        h('li', { class: rule.state }, state(rule.state), h('span', { class: 'rule-name' }, rule.name, h('span', { class: 'visually-hidden' }, ` (${names[rule.state] ?? rule.state})`)), h('span', { class: 'rule-figure' }, rule.figure)),
      ),
    ),
    h('ul', { class: 'key', 'aria-hidden': 'true' }, ...states.map((of) => h('li', {}, state(of), names[of] ?? of))),
  );
}

function state(of: string): Element {
  if (of === 'not-applicable') return h('span', { class: 'state', 'aria-hidden': 'true' }, DASH);
  if (of === 'not-known') return h('span', { class: 'state', 'aria-hidden': 'true' }, '?');
  const circle = svg('circle', { cx: 5.5, cy: 5.5, r: 4.5, fill: of === 'limit' ? 'var(--ink1)' : 'none', stroke: of === 'ruled-out' ? 'var(--ink3)' : 'var(--ink1)' });
  const half = of === 'second' ? svg('path', { d: 'M5.5 1 A4.5 4.5 0 0 0 5.5 10 Z', fill: 'var(--ink1)' }) : null;
  return svg('svg', { class: 'state', width: 11, height: 11, 'aria-hidden': 'true' }, circle, half);
}

const ICONS: Record<string, { color: string; name: string; path: string }> = {
  serious: { color: 'bad', name: 'Serious', path: 'M8 1.5 L15 14.5 L1 14.5 Z M8 6 L8 10 M8 12 L8 12.6' },
  warning: { color: 'warn', name: 'Warning', path: 'M8 1.5 L15 14.5 L1 14.5 Z M8 6 L8 10 M8 12 L8 12.6' },
  good: { color: 'ok', name: 'Good', path: 'M8 1 A7 7 0 1 0 8.01 1 M4.5 8.2 L7 10.6 L11.5 5.6' },
  notice: { color: 'ink3', name: 'Note', path: 'M8 1 A7 7 0 1 0 8.01 1 M8 7 L8 12 M8 4.2 L8 4.8' },
};

/** Can it be trusted? Of all notes those of `which`; they keep their numbers. */
export function notesBlock(notes: Note[], bus: Bus | null, which: (note: Note) => boolean = () => true): HTMLElement | null {
  if (!notes.some(which)) return null;
  const rank = ['serious', 'warning', 'notice', 'good'];
  const sorted = notes.map((note, i) => ({ note, i })).filter(({ note }) => which(note)).sort((a, b) => rank.indexOf(a.note.severity) - rank.indexOf(b.note.severity));
  return h(
    'ul',
    { class: 'notes', 'aria-label': 'Validity notes' },
    ...sorted.map(({ note, i }) => {
      const icon = ICONS[note.severity] ?? ICONS.notice!;
      const range = typeof note.from_us === 'number' && typeof note.to_us === 'number' ? { from: note.from_us / 1e6, to: note.to_us / 1e6 } : undefined;
      return h(
        'li',
        { id: `note-${i + 1}`, tabindex: -1 },
        svg('svg', { width: 18, height: 18, viewBox: '0 0 16 16', role: 'img', 'aria-label': icon.name }, svg('path', { d: icon.path, fill: 'none', stroke: `var(--${icon.color})`, 'stroke-width': 1.4, 'stroke-linejoin': 'round', 'stroke-linecap': 'round' })),
        h('p', {}, ...noteWords(note, i), range !== undefined && ' ', range !== undefined && link('Zoom there', 'over-time', bus, range)),
      );
    }),
  );
}

function noteWords(note: Note, index: number): Child[] {
  const sentence = stop(note.sentence);
  const remedy = note.remedy !== undefined && note.remedy !== null && note.remedy !== '' ? h('span', { class: 'remedy' }, ' ', rich(stop(capital(note.remedy)))) : null;
  const marker = (note.figures ?? []).length > 0 ? h('sup', {}, String(index + 1)) : null;
  if (note.title !== undefined && note.title !== '') return [h('strong', {}, stop(note.title)), marker, ' ', rich(capital(sentence)), remedy];
  // The finding itself is bold up to where its consequence begins.
  const colon = sentence.indexOf(': ');
  if (colon > 0) return [h('strong', {}, rich(capital(stop(sentence.slice(0, colon))))), marker, ' ', rich(capital(sentence.slice(colon + 2))), remedy];
  return [h('strong', {}, rich(capital(sentence))), marker, remedy];
}

const stop = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);
const capital = (text: string): string => (/^[a-z][a-z ]/.test(text) ? text[0]!.toUpperCase() + text.slice(1) : text);

export interface Headline {
  key: string;
  label: string;
  value: string;
  unit?: string;
  context?: Child;
  strip?: Element | null;
}

/** How much: borderless columns. Figures that a note affects bear its number. */
export function headlines(list: Headline[], notes: Note[], partial: boolean, word = ' partial'): HTMLElement {
  return h(
    'dl',
    { class: 'headlines' },
    ...list.map((of) => {
      const affected = notes.map((note, i) => ({ note, i })).filter(({ note }) => note.figures?.includes(of.key));
      return h(
        'div',
        {},
        h('dt', {}, of.label, partial && h('span', { class: word === ' partial' ? 'partial' : 'sub' }, word), ...affected.map(({ i }) => h('sup', {}, h('a', { href: `#note-${i + 1}`, 'aria-label': `${of.label}: note ${i + 1}` }, String(i + 1))))),
        h('dd', {}, h('span', { class: 'value' }, of.value), of.unit !== undefined && of.unit !== '' && h('span', { class: 'unit' }, ` ${of.unit}`)),
        of.context !== undefined && h('dd', { class: 'context' }, of.context),
        of.strip !== undefined && of.strip !== null && h('dd', { class: 'strip-of-dots' }, of.strip),
      );
    }),
  );
}

/** This repeat among its siblings: hollow, this one full. */
export function dotStrip(values: { value: number | null; mine: boolean }[], words: string): Element | null {
  const known = values.filter((v): v is { value: number; mine: boolean } => v.value !== null);
  if (known.length < 2 || !known.some((v) => v.mine)) return null;
  const low = Math.min(...known.map((v) => v.value));
  const high = Math.max(...known.map((v) => v.value));
  const x = (value: number): number => 5 + (high > low ? ((value - low) / (high - low)) * 110 : 55);
  const dots = [...known].sort((a, b) => Number(a.mine) - Number(b.mine));
  return svg(
    'svg',
    { class: 'dots', width: 120, height: 12, role: 'img', 'aria-label': words },
    svg('line', { x1: 5, x2: 115, y1: 6, y2: 6, stroke: 'var(--line1)' }),
    ...dots.map((v) => svg('circle', { cx: x(v.value), cy: 6, r: v.mine ? 4 : 3, fill: v.mine ? 'var(--accent)' : 'var(--bg)', stroke: v.mine ? 'var(--accent)' : 'var(--ink3)' })),
  );
}

/** Names and words, as a list. */
export function definitions(rows: [string, Child][]): HTMLElement {
  return h('dl', { class: 'definitions' }, ...rows.map(([name, words]) => h('div', {}, h('dt', {}, name), h('dd', {}, words))));
}

/** The command line, and a button that takes it along. */
export function commandBlock(command: string): { box: HTMLElement; button: HTMLElement } {
  const pre = h('pre', { class: 'command', tabindex: 0, role: 'region', 'aria-label': 'Command' }, h('code', {}, command));
  const select = (): string => {
    getSelection()?.selectAllChildren(pre);
    return 'Selected: Ctrl+C';
  };
  return { box: pre, button: copyButton('Copy command', 'copy', () => command, select) };
}

export function footer(data: Data, id: string): HTMLElement {
  const { served } = data;
  const written = data.written.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC');
  return h(
    'footer',
    {},
    h('span', {}, `pgdyno ${data.pgdyno}`),
    id !== '' && h('span', {}, id),
    served === undefined ? h('span', {}, `report written ${written}`) : h('span', {}, `notebook ${served.notebook}`),
    h('span', {}, served === undefined ? 'This file is self-contained: it loads nothing from other hosts.' : served.may_change ? 'Served by pgdyno serve.' : 'Served by pgdyno serve, read-only.'),
  );
}

/** Puts a page together. */
export function assemble(data: Data, before: Child[], sections: Section[], bus: Bus | null, id: string): void {
  document.title = `${data.title} – pgdyno`;
  const main = h('main', { id: 'main', tabindex: -1 }, ...before, ...sections.map((s) => s.element));
  document.body.replaceChildren(h('a', { class: 'skip', href: '#main' }, 'To the content'), topBar(data, sections, bus), main, footer(data, id));
  // Links within the page: the address keeps the trial and the range.
  for (const root of document.body.children) {
    root.addEventListener('click', (event) => {
      const href = (event.target as Element).closest?.('a')?.getAttribute('href') ?? '';
      if (event.defaultPrevented || !href.startsWith('#') || href.startsWith('#trial')) return;
      event.preventDefault();
      goTo(href.slice(1), bus);
    });
  }
  const start = fromHash(location.hash);
  if (start.range !== null) bus?.zoom(start.range.from, start.range.to);
  if (start.section !== null && start.section !== 'main') requestAnimationFrame(() => document.getElementById(start.section!)?.scrollIntoView());
  let wait = 0;
  bus?.subscribe((what) => {
    if (what !== 'range') return;
    clearTimeout(wait);
    wait = window.setTimeout(() => {
      const { section: now } = fromHash(location.hash);
      history.replaceState(null, '', toHash(now, bus.isWhole ? null : bus.range, shownTrial) || location.pathname + location.search);
    }, 200);
  });
}
