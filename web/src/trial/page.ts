/** A trial: how much, what limited it, can I trust it, when, where, what else, repeat it. */

import type { Note, TrialData } from '../data';
import { Bus } from '../pure/bus';
import { count, fixed, percent } from '../pure/format';
import { absent, namePage } from '../chart/figure';
import type { Strip } from '../chart/strip';
import { trialActions } from '../live/actions';
import { runningBar } from '../live/bar';
import { about } from '../live/part';
import { reconciled, refreshed } from '../live/refresh';
import { h, more, svg } from '../page/dom';
import { figureTable, num } from '../page/table';
import { assemble, checks, notesBlock, section, sureList, titleBlock, verdictBlock, type Section } from '../page/shell';
import { budgetBar, budgetSection } from './budget';
import { clients } from './clients';
import { clusterSection } from './cluster';
import { distribution } from './distribution';
import { generatorsSection } from './generators';
import { banner, accounting, trialHeadlines } from './headline';
import { grownInstruments, instruments } from './instruments';
import { Model } from './model';
import { phasesSection } from './phases';
import { repeatIt, settings } from './settings';
import { slobSection } from './slob';
import { isWaits, retries, sessions } from './stacks';
import { stalenessSection, stalenessStrips } from './staleness';
import { heatMap, latency, throughput } from './strips';
import { retriesSection, statements, worstSection } from './tables';
import { eventKey, timeBar } from './timebar';

/** A page that is shown. */
export interface Shown {
  /** Its data have grown. */
  update: () => void;
  /** Whether its reader wants it to stay as it is for now. */
  held?: () => boolean;
}

export function trialPage(data: TrialData, back: { title: string } | null = null): Shown {
  let model = new Model(data);
  const bus = new Bus(model.whole);
  const live = data.served?.live ?? null;
  const bar = live === null ? null : runningBar(data);
  let time = overTime(model, bus);
  let seen = instruments(model, bus);
  namePage(data.title);
  // What grows by itself is not made again.
  const sections = (): Section[] => [figures(data, bus), topOf(data, bus), trust(data, bus), generatorsSection(data), ...(live === null ? [budgetSection(data), time] : [time, budgetSection(data)]), phasesSection(data), clusterSection(data), stalenessSection(data), slobSection(data), distribution(data), statements(data), retriesSection(data), worstSection(model, bus), seen, live === null ? null : toCome(), settings(data), repeatIt(data.command)].filter((s): s is Section => s !== null);
  const id = data.run.stored === undefined ? '' : `trial ${data.run.stored.uuid}`;
  const up = back === null ? null : h('p', { class: 'back' }, h('a', { href: '#trial' }, `Back to ${back.title}`));
  assemble(data, [up, titleBlock(data, served(data)), bar?.element ?? null, banner(data)], sections(), bus, id);
  const shown: Shown = {
    held: () => bar?.held() === true,
    update: () => {
      if (bar === null) return;
      const main = document.getElementById('main');
      if (main === null) return;
      const wasEmpty = model.rows === 0;
      model = new Model(data);
      bus.grow(model.whole);
      bar.update();
      if (wasEmpty && model.rows > 0) {
        const old = document.getElementById('over-time');
        time = overTime(model, bus);
        old?.replaceWith(time.element);
      } else time.renew?.(model);
      const before = seen?.element;
      seen = grownInstruments(model, bus, seen);
      if (before !== undefined && seen !== null && seen.element !== before && before.isConnected) before.replaceWith(seen.element);
      reconciled(main, bar.element, sections().map((section) => section.element), new Set(['over-time', 'instruments']));
    },
  };
  return shown;
}

/** The verdict; before the end, where the clients' time goes. */
function topOf(data: TrialData, bus: Bus): Section {
  const budget = data.budget === undefined || data.budget === null || data.budget.parts.length === 0 ? null : data.budget;
  if ((data.served?.live ?? null) === null) {
    return { id: 'verdict', link: 'Verdict', element: verdictBlock(data.verdict, beside(data), bus, budget === null ? null : budgetBar(budget)) };
  }
  const leads = budget === null ? [] : [...budget.parts].filter((part) => part.part !== 'not-attributed').sort((a, b) => b.share - a.share);
  const lead = budget === null || leads.length === 0 ? 'Nothing was measured yet.' : `So far, ${count(Math.round(budget.client_seconds))} client-seconds. Most of it: ${leads[0]!.name}, ${percent(leads[0]!.share)}${leads[1] === undefined ? '' : `, then ${leads[1].name}, ${percent(leads[1].share)}`}. There is no verdict before the end, since its check needs the whole trial.`;
  return section('verdict', 'Running', 'Where the clients’ time goes', lead, null, budget === null ? null : budgetBar(budget));
}

const isSerious = (note: Note): boolean => note.severity === 'serious';

/** What spoils the figures comes before them. */
const figures = (data: TrialData, bus: Bus): Section => ({ id: 'figures', element: h('div', { class: 'trust', id: 'figures' }, notesBlock(data.notes, bus, isSerious), trialHeadlines(data)) });

const trust = (data: TrialData, bus: Bus): Section => ({ id: 'trust', element: h('div', { class: 'trust', id: 'trust' }, notesBlock(data.notes, bus, (note) => !isSerious(note)), accounting(data)) });

/** What is known at the end only has its place. */
const toCome = (): Section =>
  section('to-come', undefined, 'At the end', 'The verdict with its checks, statements, reasons of retries and failures, the worst moments, connections and the load generator’s threads come with the result; then this page becomes the report.', null);

/** What can be done to a trial of a notebook that is served. */
function served(data: TrialData): HTMLElement | null {
  const stored = data.run.stored;
  if (data.served === undefined || stored === undefined) return null;
  const all = h('p', { class: 'sub' }, h('a', { href: '/' }, 'All trials'), ` of ${data.served.notebook}`);
  const acts = data.served.may_change && data.served.live === null;
  const { part } = data.served;
  return h('div', {}, all, part !== null && data.served.live === null && about(part, false), acts && trialActions({ number: stored.number, uuid: stored.uuid, tags: stored.tags, note: stored.note ?? null, excluded: stored.excluded ?? null }, data.served.events !== null));
}

/** Whether several generators gave one result comes before what limited that. */
function beside(data: TrialData): HTMLElement | null {
  const one = sureList('One result?', data.one_result ?? []);
  const own = checks(data.verdict);
  return one === null ? own : h('div', { class: 'beside' }, one, own);
}

/** Colours of the heat map, from one to the most. */
function heatKey(most: number): HTMLElement {
  const ticks = [1];
  for (let n = 10; n <= most; n *= 10) ticks.push(n);
  const x = (n: number): number => (most <= 1 ? 0 : (Math.log(n + 1) / Math.log(most + 1)) * 168);
  return h(
    'div',
    { class: 'heat-key' },
    svg(
      'svg',
      { width: 176, height: 26, role: 'img', 'aria-label': `Colours: from 1 to ${count(most)} in a cell, log scale` },
      ...Array.from({ length: 8 }, (_, i) => svg('rect', { x: i * 21, y: 0, width: 21, height: 10, fill: `var(--heat${i})` })),
      ...ticks.filter((n, i) => i === 0 || x(n) - x(ticks[i - 1]!) > 24).map((n, i) => svg('text', { x: i === 0 ? 0 : x(n), y: 22, class: 'tick', 'text-anchor': i === 0 ? 'start' : x(n) > 150 ? 'end' : 'middle' }, count(n))),
    ),
    h('span', { class: 'sub' }, 'per cell, log colour'),
  );
}

interface OverTime extends Section {
  /** There are more seconds. */
  renew?: (model: Model) => void;
}

const stripsOf = (model: Model, bus: Bus): Strip[] =>
  [throughput(model, bus), clients(model, bus), latency(model, bus), heatMap(model, bus, heatKey), retries(model, bus), ...stalenessStrips(model, bus), sessions(model, bus)].filter((strip) => strip !== null);

function overTime(model: Model, bus: Bus): OverTime {
  const { data } = model;
  const live = data.served?.live ?? null;
  if (model.rows === 0) {
    return section('over-time', 'Over time', 'Over time', live === null ? 'No second was recorded.' : 'Clients have not worked for a second yet.', null);
  }
  const bar = timeBar(model, bus);
  const strips = h('div', { class: 'strips' }, bar.element, ...stripsOf(model, bus).map((strip) => strip.element));
  let key = eventKey(model);
  let gap = noWaits(data);
  let list = events(model);
  strips.append(...[gap, list].filter((element) => element !== null));
  const renew = (grown: Model): void => {
    bar.renew(grown);
    let last: Element = bar.element;
    for (const { element } of stripsOf(grown, bus)) {
      if (last.nextElementSibling !== element) last.after(element);
      last = element;
    }
    const swap = (old: HTMLElement | null, fresh: HTMLElement | null, after: Element): HTMLElement | null => {
      if (old !== null && fresh !== null) return refreshed(old, fresh);
      old?.remove();
      if (fresh !== null) after.after(fresh);
      return fresh;
    };
    key = swap(key, eventKey(grown), key)!;
    gap = swap(gap, noWaits(grown.data), last);
    list = swap(list, events(grown), gap ?? last);
  };
  const lead = live === null ? 'All charts share one time axis. Drag to zoom all of them; double-click to show the whole run.' : 'The axis is that of the whole trial: nothing moves but now. Drag to zoom all charts; double-click to show the whole run.';
  return { ...section('over-time', 'Over time', 'Over time', lead, key, strips), renew };
}

/** Why it is not known what sessions were doing. */
function noWaits(data: TrialData): HTMLElement | null {
  const gap = data.waits === undefined ? data.instruments.find((of) => isWaits(of.name))?.gaps[0] : undefined;
  if (gap === undefined) return null;
  return h(
    'div',
    { class: 'strip', id: 'sessions' },
    h('div', { class: 'rail' }, h('div', { class: 'strip-head' }, h('h3', {}, 'What sessions were doing'))),
    absent('Not recorded', gap.reason, gap.remedy),
  );
}

/** Every event that has a number, in words. */
function events(model: Model): HTMLElement | null {
  const named = model.events.filter((event) => event.name !== '');
  if (named.length === 0) return null;
  const shown = named.slice(0, 300);
  return more(
    `Events in words (${count(named.length)})`,
    figureTable(
      'Events',
      ['', num('Begin, s'), num('Length, s'), 'Kind', 'What'],
      shown.map((event) => [event.name, fixed(event.from_s, 1), event.length_us === undefined || event.length_us === null ? '' : fixed(event.length_us / 1e6, 1), event.kind, event.text]),
    ),
  );
}
