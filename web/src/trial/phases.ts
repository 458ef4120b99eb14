/** Figures by phase, and what followed where the rate jumped. */

import type { PhaseFigures, RateStep, TrialData } from '../data';
import { columnUnit, count, DASH, fixed, intervalText, inUnit, marked, rate, timeText } from '../pure/format';
import { actions } from '../chart/figure';
import { h, scroll, type Child } from '../page/dom';
import { section, type Section } from '../page/shell';

const th = (text: string, numeric = false, unit = ''): HTMLElement => h('th', { scope: 'col', class: numeric ? 'n' : undefined }, text, unit !== '' && h('span', { class: 'unit' }, ` ${unit}`));
const td = (child: Child, numeric = false): HTMLElement => h('td', { class: numeric ? 'n' : undefined }, child);

/** Where phases meet, in seconds. */
export function boundaries(phases: readonly PhaseFigures[] | undefined): number[] {
  return (phases ?? []).slice(1).map((phase) => phase.from_us / 1e6);
}

/** What a step came to, in words. */
export function settled(step: RateStep): string {
  if (step.not_known !== null) return `not known: ${step.not_known}`;
  if (step.settled_us === null) return 'never, before the next step';
  return step.settled_us === 0 ? 'at once' : timeText(step.settled_us);
}

/** A row a phase. `where` tells its region from others of the page. */
export function phasesTable(phases: readonly PhaseFigures[], where = ''): HTMLElement {
  const rated = phases.some((phase) => phase.due !== null);
  const moving = phases.some((phase) => phase.clients_asked !== undefined);
  const unit = columnUnit(phases.map((phase) => times(phase).p50_us));
  return scroll(
    `By phase: rows${where}`,
    h(
      'table',
      { class: 'figures' },
      h('thead', {}, h('tr', {}, th('Phase'), th('From', true, 's'), th('To', true, 's'), th('Goodput', true, '/s'), rated && th('Due', true, '/s'), moving && th('Clients asked for', true), moving && th('Working', true), th('p50', true, unit.unit), th('p95', true, unit.unit), th('p99', true, unit.unit), th('Failed', true), th('Unknown', true), th('Skipped', true), th('Late', true))),
      h(
        'tbody',
        {},
        ...phases.map((phase) =>
          h(
            'tr',
            {},
            h('th', { scope: 'row' }, phase.name),
            td(fixed(phase.from_us / 1e6, 1), true),
            td(fixed(phase.to_us / 1e6, 1), true),
            td(perSecond(phase.goodput_per_s), true),
            rated && td(perSecond(dueOf(phase)), true),
            moving && td(perSecond(phase.clients_asked ?? null), true),
            moving && td(perSecond(phase.clients_working ?? null), true),
            ...([['p50_us', 50], ['p95_us', 95], ['p99_us', 99]] as const).map(([name, percentile]) => {
              const interval = times(phase).intervals?.find((one) => one.percentile === percentile);
              return h('td', { class: 'n', title: intervalText(interval) }, marked(inUnit(times(phase)[name], unit), interval));
            }),
            td(count(phase.failed), true),
            td(count(phase.unknown), true),
            td(count(phase.skipped), true),
            td(count(phase.late), true),
          ),
        ),
      ),
    ),
  );
}

const times = (phase: PhaseFigures): PhaseFigures['service'] => phase.response ?? phase.service;
const dueOf = (phase: PhaseFigures): number | null => (phase.due === null || phase.measured_us === 0 ? null : (phase.due * 1e6) / phase.measured_us);
const perSecond = (value: number | null): string => (value === null ? DASH : rate(value));

export function phasesSection(data: TrialData): Section | null {
  // Where the rate does not move, those of what disturbed it.
  const moves = data.run.phases ?? [];
  const phases = moves.length > 0 ? moves : (data.run.disturbed?.figures?.phases ?? []);
  if (phases.length === 0) return null;
  const rated = phases.some((phase) => phase.due !== null);
  const { buttons, table } = actions({
    title: 'By phase',
    summary: () => '',
    data: () => ({
      head: ['phase', 'from_us', 'to_us', 'goodput_per_s', 'due_per_s', 'clients_asked', 'clients_working', 'p50_us', 'p95_us', 'p99_us', 'failed', 'unknown', 'skipped', 'late'],
      rows: phases.map((phase) => [phase.name, phase.from_us, phase.to_us, phase.goodput_per_s, dueOf(phase), phase.clients_asked ?? null, phase.clients_working ?? null, times(phase).p50_us, times(phase).p95_us, times(phase).p99_us, phase.failed, phase.unknown, phase.skipped, phase.late]),
    }),
  });
  return {
    id: 'by-phase',
    link: 'By phase',
    element: section(
      'by-phase',
      'By phase',
      `Transactions by the second in which they ended; ${rated ? 'response times from the scheduled start' : 'service times'}.`,
      buttons,
      phasesTable(phases),
      table,
      steps(data.run.rate_steps ?? []),
    ),
  };
}

function steps(all: readonly RateStep[]): HTMLElement | null {
  if (all.length === 0) return null;
  return scroll(
    'Steps of the rate',
    h(
      'table',
      { class: 'figures' },
      h('thead', {}, h('tr', {}, th('Step at', true, 's'), th('From', true, '/s'), th('To', true, '/s'), th('Response steady again after'), th('Level before', true), th('Level after', true), th('Missed meanwhile', true))),
      h(
        'tbody',
        {},
        ...all.map((step) =>
          h(
            'tr',
            {},
            td(fixed(step.at_us / 1e6, 1), true),
            td(rate(step.from_per_s), true),
            td(rate(step.to_per_s), true),
            td(settled(step)),
            td(timeText(step.before_us), true),
            td(timeText(step.after_us), true),
            td(step.missed === null ? DASH : count(Math.round(step.missed)), true),
          ),
        ),
      ),
    ),
  );
}
