/** Figures by phase, and what followed where the rate jumped. */

import type { PhaseFigures, RateStep, TrialData } from '../data';
import { columnUnit, count, DASH, fixed, intervalText, inUnit, marked, rate, timeText } from '../pure/format';
import { rowsBehind } from '../chart/figure';
import { h } from '../page/dom';
import { section, type Section } from '../page/shell';
import { figureTable, num, nums, td } from '../page/table';

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
  return figureTable(
    `By phase: rows${where}`,
    ['Phase', num('From', 's'), num('To', 's'), num('Goodput', '/s'), rated && num('Due', '/s'), moving && num('Clients asked for'), moving && num('Working'), ...['p50', 'p95', 'p99'].map((name) => num(name, unit.unit)), ...nums('Failed', 'Unknown', 'Skipped', 'Late')],
    phases.map((phase) => [
      phase.name,
      fixed(phase.from_us / 1e6, 1),
      fixed(phase.to_us / 1e6, 1),
      perSecond(phase.goodput_per_s),
      perSecond(dueOf(phase)),
      perSecond(phase.clients_asked ?? null),
      perSecond(phase.clients_working ?? null),
      ...([['p50_us', 50], ['p95_us', 95], ['p99_us', 99]] as const).map(([name, percentile]) => {
        const interval = times(phase).intervals?.find((one) => one.percentile === percentile);
        return h('td', { class: 'n', title: intervalText(interval) }, marked(inUnit(times(phase)[name], unit), interval));
      }),
      ...[phase.failed, phase.unknown, phase.skipped, phase.late].map((n) => count(n)),
    ]),
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
  const { buttons, table } = rowsBehind(
    'By phase',
    ['phase', 'from_us', 'to_us', 'goodput_per_s', 'due_per_s', 'clients_asked', 'clients_working', 'p50_us', 'p95_us', 'p99_us', 'failed', 'unknown', 'skipped', 'late'],
    () => phases.map((phase) => [phase.name, phase.from_us, phase.to_us, phase.goodput_per_s, dueOf(phase), phase.clients_asked ?? null, phase.clients_working ?? null, times(phase).p50_us, times(phase).p95_us, times(phase).p99_us, phase.failed, phase.unknown, phase.skipped, phase.late]),
  );
  return section(
    'by-phase',
    'By phase',
    'By phase',
    `Transactions by the second in which they ended; ${rated ? 'response times from the scheduled start' : 'service times'}.`,
    buttons,
    phasesTable(phases),
    table,
    steps(data.run.rate_steps ?? []),
  );
}

function steps(all: readonly RateStep[]): HTMLElement | null {
  if (all.length === 0) return null;
  return figureTable(
    'Steps of the rate',
    [num('Step at', 's'), num('From', '/s'), num('To', '/s'), 'Response steady again after', ...nums('Level before', 'Level after', 'Missed meanwhile')],
    all.map((step) => [
      td(fixed(step.at_us / 1e6, 1), true),
      rate(step.from_per_s),
      rate(step.to_per_s),
      settled(step),
      timeText(step.before_us),
      timeText(step.after_us),
      step.missed === null ? DASH : count(Math.round(step.missed)),
    ]),
  );
}
