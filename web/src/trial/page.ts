/** A trial: verdict, can I trust it, how much, when, where, what else, repeat it. */

import type { TrialData } from '../data';
import { Bus } from '../pure/bus';
import { count, fixed } from '../pure/format';
import { namePage } from '../chart/figure';
import { h, scroll, svg } from '../page/dom';
import { assemble, checks, notesBlock, section, titleBlock, verdictBlock, type Section } from '../page/shell';
import { budgetBar, budgetSection } from './budget';
import { clients } from './clients';
import { clusterSection } from './cluster';
import { distribution } from './distribution';
import { generatorsSection } from './generators';
import { banner, accounting, trialHeadlines } from './headline';
import { instruments } from './instruments';
import { Model } from './model';
import { phasesSection } from './phases';
import { repeatIt, settings } from './settings';
import { slobSection } from './slob';
import { isWaits, retries, sessions } from './stacks';
import { heatMap, latency, throughput } from './strips';
import { retriesSection, statements, worstSection } from './tables';
import { eventKey, timeBar } from './timebar';

export function trialPage(data: TrialData, back: { title: string } | null = null): void {
  const model = new Model(data);
  const bus = new Bus(model.whole);
  namePage(data.title);
  const sections = [generatorsSection(data), budgetSection(data), overTime(model, bus), phasesSection(data), clusterSection(data), slobSection(data), distribution(data), statements(data), retriesSection(data), worstSection(model, bus), instruments(model, bus), settings(data), repeatIt(data.command)].filter((s): s is Section => s !== null);
  const id = data.run.stored === undefined ? '' : `trial ${data.run.stored.uuid}`;
  const top: Section = { id: 'verdict', link: 'Verdict', element: verdictBlock(data.verdict, checks(data.verdict), bus, data.budget === undefined || data.budget === null || data.budget.parts.length === 0 ? null : budgetBar(data.budget)) };
  const up = back === null ? null : h('p', { class: 'back' }, h('a', { href: '#trial' }, `Back to ${back.title}`));
  assemble(data, [up, titleBlock(data), banner(data)], [top, { id: 'figures', element: h('div', { class: 'trust' }, notesBlock(data.notes, bus), trialHeadlines(data), accounting(data)) }, ...sections], bus, id);
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

function overTime(model: Model, bus: Bus): Section | null {
  const { data } = model;
  if (model.rows === 0) {
    return { id: 'over-time', link: 'Over time', element: section('over-time', 'Over time', 'No second was recorded.', null) };
  }
  const strips = [throughput(model, bus), clients(model, bus), latency(model, bus), heatMap(model, bus, heatKey), retries(model, bus), sessions(model, bus)].filter((strip) => strip !== null);
  const noWaits = data.waits === undefined ? data.instruments.find((of) => isWaits(of.name))?.gaps[0] : undefined;
  return {
    id: 'over-time',
    link: 'Over time',
    element: section(
      'over-time',
      'Over time',
      'All charts share one time axis. Drag to zoom all of them; double-click to show the whole run.',
      eventKey(model),
      h(
        'div',
        { class: 'strips' },
        timeBar(model, bus),
        ...strips.map((strip) => strip.element),
        noWaits !== undefined &&
          h(
            'div',
            { class: 'strip', id: 'sessions' },
            h('div', { class: 'rail' }, h('div', { class: 'strip-head' }, h('h3', {}, 'What sessions were doing'))),
            h('div', { class: 'absent' }, h('p', {}, h('strong', {}, 'Not recorded: '), noWaits.reason), noWaits.remedy !== undefined && noWaits.remedy !== null && h('p', {}, 'To enable it: ', h('code', {}, noWaits.remedy))),
          ),
        events(model),
      ),
    ),
  };
}

/** Every event that has a number, in words. */
function events(model: Model): HTMLElement | null {
  const named = model.events.filter((event) => event.name !== '');
  if (named.length === 0) return null;
  const shown = named.slice(0, 300);
  return h(
    'details',
    { class: 'more' },
    h('summary', {}, `Events in words (${count(named.length)})`),
    scroll(
      'Events',
      h(
        'table',
        { class: 'figures' },
        h('thead', {}, h('tr', {}, ...['', 'Begin, s', 'Length, s', 'Kind', 'What'].map((text, i) => h('th', { scope: 'col', class: i === 1 || i === 2 ? 'n' : undefined }, text)))),
        h('tbody', {}, ...shown.map((event) => h('tr', {}, h('th', { scope: 'row' }, event.name), h('td', { class: 'n' }, fixed(event.from_s, 1)), h('td', { class: 'n' }, event.length_us === undefined || event.length_us === null ? '' : fixed(event.length_us / 1e6, 1)), h('td', {}, event.kind), h('td', {}, event.text)))),
      ),
    ),
  );
}
