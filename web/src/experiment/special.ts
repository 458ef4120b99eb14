/** Rates of a search for a capacity. */

import type { Capacity, Estimate, TrialRef } from '../data';
import { asked, columnUnit, count, DASH, inUnit, intervalText, marked, present, rate } from '../pure/format';
import { definitions, section, trialLinks, type Section } from '../page/shell';
import { figureTable, nums, type Row } from '../page/table';
import { h, type Child } from '../page/dom';
import { median } from './model';
import { capacityCurve, p99Of } from './capacityCurve';
import { contradiction, intervalOf, lengths, limitOf, searchChart, sideOf, SIDES } from './search';

function estimate(of: Estimate | null, names: Record<string, string>): string | null {
  if (of === null) return null;
  const words = names[of.is] ?? of.is;
  const interval = of.interval === undefined || of.interval === null ? '' : ` (${Math.round(of.interval.level * 100)}\u00a0% interval ${of.interval.low === null ? '0' : rate(of.interval.low)} to ${of.interval.high === null ? 'more than was tried' : rate(of.interval.high)})`;
  return `${words} ${rate(of.per_s)}/s${interval}`;
}

export function capacitySection(capacity: Capacity, trials: TrialRef[]): Section {
  const limits = new Map(trials.map((trial) => [trial.trial, trial.limit ?? null]));
  const blocks = capacity.ladders.map((ladder, i) => {
    const loads = [...ladder.loads].sort((a, b) => a.rate_per_s - b.rate_per_s);
    const cap = ladder.capacity;
    const knee = ladder.knee;
    const title = capacity.ladders.length > 1 ? ladder.title : 'p99 against offered rate';
    const chart = capacityCurve(capacity, ladder, `capacity-${i}`, title);
    const unit = columnUnit(loads.map(p99Of));
    const rows = loads.map((load): Row => {
      const steps = ladder.steps.filter((step) => load.trials.includes(step.trial));
      const [side, between, done] = [sideOf(steps), intervalOf(steps), median(present(load.goodput_per_s))];
      const behind = steps.length > 0 && steps.every((step) => step.falls_behind);
      const seconds = steps.reduce((sum, step) => sum + step.seconds, 0);
      return [
        h('th', { scope: 'row', class: 'n' }, rate(load.rate_per_s)),
        done === null ? DASH : rate(done),
        inUnit(load.p50_together_us ?? median(present(load.response_p50_us)), unit),
        h('td', { class: 'n', title: intervalText(load.p99_interval) }, marked(inUnit(p99Of(load), unit), load.p99_interval)),
        h('td', { class: 'n quiet' }, behind ? 'grows with its length' : between === null ? DASH : `${inUnit(between[0], unit)} to ${inUnit(between[1], unit)}`),
        h('td', { style: side === null ? {} : { color: `var(--${SIDES[side].color})` } }, side === null ? DASH : SIDES[side].name),
        count(present(load.failed).reduce((a, b) => a + b, 0)),
        count(steps.length),
        count(Math.round(seconds)),
        lengths(steps),
        limitOf(load.trials.map((n) => limits.get(n) ?? null)),
        trialLinks(load.trials),
      ];
    });
    const heads = [...nums('Offered /s', 'Done /s', `p50 ${unit.unit}`, `p99 ${unit.unit}`, '95 % interval'), `p99 ≤ ${asked(capacity.slo_us)}`, ...nums('Failed', 'Steps', 'Seconds'), 'Their lengths s', 'What limited it', 'Trials'];
    const words: [string, Child][] = [];
    const capWords = estimate(cap, CAPACITY);
    if (capWords === null && ladder.search.steps > 0) words.push(['Capacity', `not known: ${ladder.search.contradiction === undefined ? `no step is clearly within ${asked(capacity.slo_us)}` : contradiction(ladder.search.contradiction)}`]);
    if (capWords !== null) words.push(['Capacity', `${capWords}: the highest load that keeps p99 within ${asked(capacity.slo_us)}`]);
    const kneeWords = estimate(knee, KNEE);
    if (kneeWords !== null) words.push(['Knee', `${kneeWords}: beyond it latency grows faster than load`]);
    for (const gap of ladder.gaps) words.push(['Left out', gap]);
    return h('div', {}, h('div', { class: 'two-columns wide-left' }, chart, searchChart(ladder, `search-${i}`)), definitions(words), figureTable(`${title}: rates`, heads, rows));
  });
  return section('capacity', 'Capacity', 'How much load it takes', `Transactions start on schedule, whether the server keeps up or not; the limit for p99 of the response time is ${asked(capacity.slo_us)}.`, null, ...blocks);
}

const CAPACITY = { at: '', below: 'below', 'at-least': 'at least' } as Record<string, string>;
const KNEE = { at: '', 'at-or-below': 'at or below', above: 'above' } as Record<string, string>;
