/** What all pages have: top bar, title, verdict, validity notes, headlines, sections, footer. */

import type { Answer, Data, Evidence, Gate, Note, Sure, Verdict } from '../data';
import type { Bus } from '../pure/bus';
import { fromHash, toHash } from '../pure/bus';
import { DASH } from '../pure/format';
import { limitColor } from './classes';
import { h, rich, svg, type Child } from './dom';
import { themeSwitch } from './theme';

export interface Section {
  id: string;
  /** In the top bar; without it there is no link. */
  link?: string;
  element: HTMLElement;
}

/** A section with its heading. */
export function section(id: string, title: string, sentence: string | null, right: Child, ...children: Child[]): HTMLElement {
  return h(
    'section',
    { id, 'aria-labelledby': `${id}-title` },
    h('div', { class: 'section-head' }, h('h2', { id: `${id}-title` }, title), right),
    sentence !== null && h('p', { class: 'lead' }, sentence),
    ...children,
  );
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

/** The largest sentence of the page, what speaks for it, and on the right what else was examined. */
export function verdictBlock(verdict: Verdict | null, right: Child, bus: Bus | null, below: Child = null): HTMLElement {
  if (verdict === null) {
    return h(
      'section',
      { class: 'verdict', id: 'verdict', 'aria-label': 'Verdict', style: { '--limit': 'var(--other)' } },
      h('div', { class: 'verdict-left' }, h('p', { class: 'eyebrow' }, 'What limited it'), h('p', { class: 'sentence' }, 'Not examined: no diagnosis was recorded with this result.')),
      right !== null && right !== false && h('div', { class: 'verdict-right' }, right),
    );
  }
  const gate = verdict.gate;
  return h(
    'section',
    { class: 'verdict', id: 'verdict', 'aria-label': 'Verdict', style: { '--limit': `var(--${limitColor(verdict.limit)})` } },
    h(
      'div',
      { class: 'verdict-left' },
      h('p', { class: 'eyebrow' }, verdict.label ?? 'What limited it'),
      // Wrong answers are no limit among others.
      h('p', { class: verdict.limit === 'isolation-broken' ? 'sentence worse' : 'sentence' }, rich(verdict.sentence)),
      ...verdict.evidence.map((of) => evidence(of, bus)),
      verdict.second !== undefined && verdict.second !== null && aside('Second limit', rich(verdict.second.sentence)),
      verdict.careful !== undefined && verdict.careful !== null && aside('Careful', rich(verdict.careful)),
      ...(verdict.try ?? []).map((words, i) => aside(i === 0 ? 'Try' : '', rich(words))),
      gate !== undefined && gate !== null && gateLine(gate),
    ),
    right !== null && right !== false && h('div', { class: 'verdict-right' }, right),
    below,
  );
}

/** An answer: the largest sentence of its page; on the right how sure it is, below that whatever belongs there. */
export function answerBlock(answer: Answer, right: Child = null, more: { color?: string; gate?: Gate | null; sure?: string } = {}): HTMLElement {
  const color = more.color ?? (answer.is_harm ? 'bad' : answer.state === 'known' ? 'accent' : 'warn');
  const sure = sureBlock(answer, more.sure);
  return h(
    'section',
    { class: 'verdict', id: 'verdict', 'aria-label': 'Answer', style: { '--limit': `var(--${color})` } },
    h(
      'div',
      { class: 'verdict-left' },
      h('p', { class: 'eyebrow' }, answer.question),
      h('p', { class: answer.is_harm ? 'sentence worse' : 'sentence' }, rich(answer.sentence)),
      ...answer.evidence.map((of) => evidence(of, null)),
      answer.careful !== undefined && answer.careful !== null && aside('Careful', rich(answer.careful)),
      ...answer.try.map((words, i) => aside(i === 0 ? 'Try' : '', rich(words))),
      more.gate !== undefined && more.gate !== null && gateLine(more.gate),
    ),
    (sure !== null || (right !== null && right !== false)) && h('div', { class: 'verdict-right' }, right, sure),
  );
}

/** How sure an answer is: its own checks. */
function sureBlock(answer: Answer, title = 'How sure is it?'): HTMLElement | null {
  return sureList(title, answer.sure);
}

/** Checks that held, that failed, and where what is known ends. */
export function sureList(title: string, list: Sure[]): HTMLElement | null {
  if (list.length === 0) return null;
  const marks = { held: ['✓', 'ok', 'held'], failed: ['✗', 'bad', 'failed'], limit: ['○', 'warn', 'a limit'] } as const;
  return h(
    'div',
    { class: 'sure' },
    h('h2', { class: 'eyebrow' }, title),
    h(
      'ul',
      { class: 'checks' },
      ...list.map((of) => {
        const [mark, color, word] = marks[of.state] ?? marks.limit;
        return h('li', {}, h('span', { class: 'state', style: { color: `var(--${color})` }, 'aria-hidden': 'true' }, mark), h('span', {}, h('span', { class: 'visually-hidden' }, `${word}: `), h('strong', {}, `${of.name}.`), ' ', rich(capital(of.text))));
      }),
    ),
  );
}

/** The verdict's check of itself; every cause that was examined behind it. */
export function checks(verdict: Verdict | null): HTMLElement | null {
  const list = verdict?.checks ?? [];
  if (list.length === 0) return rules(verdict);
  const passed = list.every((check) => check.passed !== false);
  const mark = (of: boolean | null): [string, string, string] => (of === true ? ['✓', 'ok', 'held'] : of === false ? ['✗', 'bad', 'failed'] : ['○', 'ink3', 'not known']);
  return h(
    'div',
    {},
    h('h2', { class: 'eyebrow' }, `The verdict’s own check: ${passed ? 'passed' : 'failed'}`),
    h(
      'ul',
      { class: 'checks' },
      ...list.map((check) => {
        const [sign, color, word] = mark(check.passed);
        return h('li', {}, h('span', { class: 'state', style: { color: `var(--${color})` }, 'aria-hidden': 'true' }, sign), h('span', {}, h('strong', {}, `${check.name}.`), ' ', h('span', { class: 'visually-hidden' }, `${word}: `), check.figures));
      }),
    ),
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
  const button = h('button', { type: 'button', class: 'copy' }, 'Copy command');
  button.addEventListener('click', () => {
    const done = (): void => {
      button.textContent = 'Copied';
      setTimeout(() => (button.textContent = 'Copy command'), 2000);
    };
    const select = (): void => {
      getSelection()?.selectAllChildren(pre);
      button.textContent = 'Selected: Ctrl+C';
    };
    if (navigator.clipboard === undefined) select();
    else navigator.clipboard.writeText(command).then(done, select);
  });
  return { box: pre, button };
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
