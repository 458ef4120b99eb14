/** How much: the headline figures of a trial, and the accounting below them. */

import type { PercentileInterval, Sibling, TrialData } from '../data';
import { count, DASH, many, marked, partOf, percent, rate, shortCount, significant, time, timeText } from '../pure/format';
import { needed } from '../pure/histogram';
import { h, type Child } from '../page/dom';
import { dotStrip, headlines, type Headline } from '../page/shell';
import { askedRate } from './rate';

export function trialHeadlines(data: TrialData): HTMLElement {
  const { run } = data;
  const { measured } = run;
  const isLive = (data.served?.live ?? null) !== null;
  const siblings = data.siblings ?? [];
  const dots = (of: (sibling: Sibling) => number | null, words: string): Element | null =>
    dotStrip(
      siblings.map((s) => ({ value: of(s), mine: s.this })),
      `${words}: this repeat (full) among ${many(siblings.length, 'repeat')}`,
    );
  const response = measured.response;
  const main = response ?? measured.service;
  const word = response === null ? 'Service' : 'Response';
  const latency = (key: string, name: string, us: number | null, service: number | null, p: number, strip: Element | null): Headline => {
    const interval = main.intervals?.find((i) => Math.abs(i.percentile - 100 * p) < 1e-6);
    if (us === null) {
      const beyond = Math.floor(main.count * (1 - p) + 1e-6);
      const context = isLive ? `waits for 10 samples beyond it; ${count(beyond)} now` : `not shown: ${many(beyond, 'sample')} beyond it, 10 needed (${count(needed(p))} in all)`;
      return { key, label: `${word} ${name}`, value: DASH, context, strip };
    }
    const { value, unit } = time(us);
    const sure = certainty(interval);
    const beside = response === null ? null : `service ${timeText(service)}`;
    const context = sure === null && beside === null ? undefined : h('span', {}, sure, sure !== null && beside !== null && '; ', beside);
    return { key, label: `${word} ${name}`, value: marked(value, interval), unit, context, strip };
  };
  const started = measured.committed + measured.failed + measured.skipped + measured.unknown;
  const asked = askedRate(run.trial);
  const work = measured.work ?? null;
  const retriesEach = measured.committed > 0 ? measured.retries / measured.committed : null;
  const list: Headline[] = [
    {
      key: 'goodput',
      label: 'Goodput',
      value: rate(measured.goodput_per_s),
      unit: 'tps',
      context: `${partOf(measured.committed, started)} started${asked === null ? '' : `; ${typeof asked === 'number' ? `${rate(asked)}/s` : asked} asked for`}`,
      strip: dots((s) => s.goodput_per_s, 'Goodput'),
    },
    latency('p50', 'p50', main.p50_us, measured.service.p50_us, 0.5, dots((s) => s.p50_us, 'p50')),
    latency('p99', 'p99', main.p99_us, measured.service.p99_us, 0.99, dots((s) => s.p99_us, 'p99')),
    {
      key: 'failed',
      label: 'Failed',
      value: count(measured.failed),
      unit: `of ${shortCount(started)}`,
      context: `${count(measured.unknown)} unknown, ${count(measured.skipped)} skipped`,
      strip: dots((s) => s.failed, 'Failed'),
    },
    latency('p99.9', 'p99.9', main.p99_9_us, measured.service.p99_9_us, 0.999, dots((s) => s.p99_9_us, 'p99.9')),
    {
      key: 'retries',
      label: 'Retries',
      value: retriesEach === null ? DASH : retriesEach === 0 ? '0' : significant(retriesEach),
      unit: 'per commit',
      context: work !== null && work.lost_time_share !== null ? `${percent(work.lost_time_share)} of the time in tries thrown away` : measured.retries === 0 ? 'nothing was tried again' : undefined,
      strip: dots((s) => s.retries_per_commit, 'Retries'),
    },
  ];
  const cpu = run.client_cpu;
  if (cpu !== undefined && cpu !== null && measured.elapsed_us > 0 && cpu.threads.length > 0) {
    const cores = (cpu.user_us + cpu.system_us) / measured.elapsed_us;
    const busiest = Math.max(...cpu.threads.map((thread) => thread.wanted_share));
    const lag = Math.max(...cpu.threads.map((thread) => thread.deadline_lag_max_us));
    list.push({ key: 'client', label: 'Load generator', value: significant(cores, 2), unit: 'cores', context: `busiest thread ${percent(busiest)} busy or waiting${lag > 0 ? `, late by up to ${timeText(lag)}` : ''}` });
  }
  return headlines(list, data.notes, isLive || isPartial(data), isLive ? ' so far' : undefined);
}

/** A percentile's 95 % interval, or that it is of this run only. */
function certainty(interval: PercentileInterval | undefined): Child {
  if (interval === undefined) return null;
  if (interval.low_us === null) return 'of this run only: under ten seconds';
  const words = `95 %: ${timeText(interval.low_us)} ${interval.high_us === null ? 'or more' : `to ${timeText(interval.high_us)}`}`;
  if (!interval.uncertain) return words;
  return h('span', { title: 'Slow transactions came together: measure longer, or repeat' }, `${words}; of this run only`);
}

/** Ended before its time: everything on the page is of a part. */
export const isPartial = (data: TrialData): boolean => {
  const state = data.run.stored?.state ?? 'complete';
  return state !== 'complete' || data.run.end === 'interrupted';
};

/** Started = committed + failed + skipped + unknown, and what the database holds. */
export function accounting(data: TrialData): HTMLElement {
  const { measured } = data.run;
  const parts: [number, string][] = [
    [measured.committed, 'committed'],
    [measured.failed, 'failed'],
    [measured.skipped, 'skipped'],
    [measured.unknown, 'unknown'],
  ];
  const started = parts.reduce((sum, [n]) => sum + n, 0);
  const term = (n: number, word: string): Child => h('span', {}, h('strong', {}, count(n)), `\u00a0${word}`);
  const held = data.balance;
  return h(
    'p',
    { class: 'accounting' },
    h('span', {}, term(started, 'started'), ...parts.flatMap(([n, word], i) => [h('span', { class: 'op' }, i === 0 ? ' = ' : ' + '), term(n, word)])),
    held !== undefined && h('span', { class: held.balanced === true ? 'balanced' : held.balanced === false ? 'unbalanced' : 'unproved' }, held.sentence),
  );
}

/** With a capital letter and a period. */
const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, '')}. `;

/** Why what is below is not the whole. */
export function banner(data: TrialData): HTMLElement | null {
  const stored = data.run.stored;
  const words: Child[] = [];
  const isLive = (data.served?.live ?? null) !== null;
  if (isLive) {
    // The bar says that it runs.
  } else if (stored !== undefined && stored.state !== 'complete') words.push(h('p', {}, h('strong', {}, `This trial is ${stored.state}. `), sentence(stored.reason ?? 'It did not come to its end'), 'Figures are of the measured part.'));
  else if (data.run.end === 'interrupted') words.push(h('p', {}, h('strong', {}, 'This trial was interrupted. '), 'Figures are of the measured part.'));
  else if (data.run.end !== 'complete') words.push(h('p', {}, h('strong', {}, `This trial ended early: ${data.run.end.replace(/-/g, ' ')}. `), data.run.broken_invariant ?? ''));
  if (stored?.excluded !== undefined && stored.excluded !== null) words.push(h('p', {}, h('strong', {}, 'Excluded: it does not count. '), stored.excluded));
  if (stored?.note !== undefined && stored.note !== null && stored.note !== '') words.push(h('p', {}, h('strong', {}, 'Note. '), stored.note));
  return words.length > 0 ? h('div', { class: 'banner', role: 'note' }, ...words) : null;
}
