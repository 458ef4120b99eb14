/** What is in place of a matrix: capacity, slob's cache fit. */

import type { Capacity, Estimate, SlobSweep, Spread, TrialRef } from '../data';
import { asked, bytesText, columnUnit, count, DASH, inUnit, intervalText, marked, percent, present, rate, significant, timeText } from '../pure/format';
import { linesChart, type Line } from '../chart/lines';
import { lineOf } from '../page/classes';
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

export function slobSweep(slob: SlobSweep): Section {
  const name = (x: number): string => (slob.x.unit === 'bytes' ? bytesText(x) : slob.x.unit === '%' ? `${significant(x)}\u00a0%` : count(x));
  const points = [...slob.points].sort((a, b) => a.x - b.x);
  // Places stand equally spaced; what lies between two of them is put there by its logarithm.
  const at = (x: number): number => {
    const right = points.findIndex((p) => p.x >= x);
    if (right < 0) return points.length - 0.6;
    if (right === 0) return x >= points[0]!.x ? 0 : -0.4;
    const [a, b] = [points[right - 1]!.x, points[right]!.x];
    const share = a > 0 ? Math.log(x / a) / Math.log(b / a) : (x - a) / (b - a);
    return right - 1 + share;
  };
  const line = (key: 'misses_per_s' | 'device_reads_per_s', words: string, style: { color: string; symbol: string }): Line => ({
    name: words,
    ...style,
    places: points.flatMap((p, i) => (p[key] === undefined || p[key] === null ? [] : [{ x: i, y: p[key]!, words: `${name(p.x)}: ${words} ${rate(p[key]!)}/s` }])),
  });
  const lines: Line[] = [
    { name: 'logical reads', ...lineOf(1), places: points.flatMap((p, i) => (p.liops === null ? [] : [{ x: i, y: p.liops.median, low: p.liops.interval?.[0] ?? null, high: p.liops.interval?.[1] ?? null, dots: present(p.liops.values), words: `${name(p.x)}: ${rate(p.liops.median)} logical reads a second${p.us_per_read !== undefined && p.us_per_read !== null ? `, ${timeText(p.us_per_read)} each` : ''}` }])) },
    line('misses_per_s', 'misses', lineOf(5)),
    line('device_reads_per_s', 'device reads', lineOf(3)),
  ].filter((line) => line.places.length > 0);
  // What lies beyond all that was measured has no place on the axis: it is in words.
  const ends = points.at(-1)?.x ?? 0;
  const beyond = slob.marks.filter((mark) => mark.x > ends * 1.5);
  const verticals = slob.marks.filter((mark) => !beyond.includes(mark)).map((mark) => ({ x: at(mark.x), name: slob.x.unit === 'bytes' ? `${mark.name} (${bytesText(mark.x)})` : mark.name }));
  const chart = linesChart({
    id: 'slob-chart',
    title: `Reads against ${slob.x.title}`,
    subtitle: 'per second; dashed: where caches end',
    lines,
    places: points.map((p) => ({ name: name(p.x) })),
    xName: slob.x.title,
    log: false,
    verticals,
    summary: () => (slob.sentences ?? slob.knees.map((k) => k.sentence)).join(' '),
    data: () => ({ head: [slob.x.title, 'liops', 'hit_share', 'misses_per_s', 'device_reads_per_s', 'us_per_read', 'p50_us', 'p99_us', 'trials'], rows: points.map((p) => [p.x, p.liops?.median ?? null, p.hit_share ?? null, p.misses_per_s ?? null, p.device_reads_per_s ?? null, p.us_per_read ?? null, p.p50_us ?? null, p.p99_us ?? null, p.trials.join(' ')]) }),
  });
  const cost: Line[] = [{ name: 'each', ...lineOf(1), places: points.flatMap((p, i) => (p.us_per_read === undefined || p.us_per_read === null || p.us_per_read <= 0 ? [] : [{ x: i, y: p.us_per_read, words: `${name(p.x)}: ${timeText(p.us_per_read)} for a logical read` }])) }];
  const costChart =
    cost[0]!.places.length > 1
      ? linesChart({ id: 'slob-cost', title: 'What a logical read costs', subtitle: 'time of a session for one, log scale', lines: cost, places: points.map((p) => ({ name: name(p.x) })), xName: slob.x.title, log: true, verticals, summary: () => cost[0]!.places.map((p) => p.words).join('; '), data: () => ({ head: [slob.x.title, 'us_per_read'], rows: points.map((p) => [p.x, p.us_per_read ?? null]) }) })
      : null;
  const spread = (of: Spread | null): string => (of === null ? DASH : of.n < 2 ? 'one trial' : of.interval !== null ? `${rate(of.interval[0])} to ${rate(of.interval[1])}` : `range ${rate(of.min)} to ${rate(of.max)}`);
  const hits = figureTable(
    'Reads: rows',
    [...nums(slob.x.title, 'Logical reads /s', '95 % interval', 'Hits', 'Misses /s', 'Device reads /s', 'Each'), 'Trials'],
    points.map((p) => [h('th', { scope: 'row', class: 'n' }, name(p.x)), h('td', { class: 'n strong' }, p.liops === null ? DASH : rate(p.liops.median)), h('td', { class: 'n quiet' }, spread(p.liops)), percent(p.hit_share), ...[p.misses_per_s, p.device_reads_per_s].map((v) => (v === undefined || v === null ? DASH : rate(v))), timeText(p.us_per_read), trialLinks(p.trials)]),
  );
  return section('slob', 'Cache fit', 'Cache sizes and the cost of a read', [...(slob.sentences ?? []), ...beyond.map((mark) => `Beyond what was measured: ${mark.name}${slob.x.unit === 'bytes' ? `, ${bytesText(mark.x)}` : ''}.`)].join(' ') || null, null, h('div', { class: 'two-columns even' }, chart, costChart), hits);
}
