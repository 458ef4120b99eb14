/** An experiment: what it says, the map, the curves, every point, whether the machine was steady. */

import type { ExperimentData } from '../data';
import { change, count, DASH, many, marked, percent, rate, significant, span, time } from '../pure/format';
import { namePage } from '../chart/figure';
import { h } from '../page/dom';
import { answerBlock, assemble, commandBlock, definitions, headlines, notesBlock, section, titleBlock, verdictBlock, type Headline, type Section } from '../page/shell';
import { kindOf } from './kinds';
import { latencyOf, median, plane, spreadShare } from './model';
import { allPoints, steady } from './points';
import { capacitySection } from './special';
import { besideSweep, sweepSections } from './sweep';


export function experimentPage(data: ExperimentData): void {
  namePage(data.name);
  const of = plane(data.axes);
  const matrix = data.points.length > 0;
  const go = (point: number): void => {
    const row = document.getElementById(`point-${point}`);
    row?.scrollIntoView({ block: 'center' });
    row?.focus({ preventScroll: true });
  };
  const sections: (Section | null)[] = [];
  const kind = kindOf(data);
  const capacity = data.capacity ?? null;
  if (kind !== null) sections.push(...kind.sections);
  // Rates of a sweep that were no search.
  else if (capacity !== null) sections.push(capacitySection(capacity, data.trials));
  // What a laboratory or a search varies is its own choice, and no plane.
  if (kind === null && matrix) sections.push(...sweepSections(data, go));
  if (matrix && data.has_points) sections.push(allPoints(data, of));
  if (matrix && data.has_repeats) sections.push(steady(data, of));
  sections.push(plan(data));
  const beside = kind !== null ? null : besideSweep(data, data.answer ?? null);
  const answer = data.answer ?? null;
  const top: Section = answer === null ? { id: 'verdict', link: 'Findings', element: verdictBlock(data.verdict, beside, null) } : { id: 'verdict', link: 'Answer', element: answerBlock(answer, beside) };
  const figures = kind !== null ? [...kind.figures, ...(data.has_repeats ? trialsOf(data) : [])] : matrix ? figuresOf(data) : [];
  const trust: Section = { id: 'figures', element: h('div', { class: 'trust' }, notesBlock(data.notes, null), figures.length > 0 && headlines(figures, data.notes, false)) };
  assemble(data, [titleBlock(data)], [top, trust, ...sections.filter((s): s is Section => s !== null)], null, `set ${data.uuid}`);
}

function figuresOf(data: ExperimentData): Headline[] {
  const peak = data.points.map((point) => ({ point, of: point.figures.goodput?.over_repeats ?? null })).filter((p) => p.of !== null).reduce<{ point: (typeof data.points)[number]; of: NonNullable<(typeof data.points)[number]['figures'][string]['over_repeats']> } | null>((a, b) => (a === null || b.of!.median > a.of.median ? { point: b.point, of: b.of! } : a), null);
  const fastest = data.points.map((point) => ({ point, us: latencyOf(point, 'p99') })).filter((p): p is { point: (typeof data.points)[number]; us: number } => p.us !== null).reduce<{ point: (typeof data.points)[number]; us: number } | null>((a, b) => (a === null || b.us < a.us ? b : a), null);
  const noise = data.points.map((point) => spreadShare(point.figures.goodput?.over_repeats)).filter((v): v is number => v !== null);
  const drifted = data.drift;
  // Workloads are not held against each other, and one repeat is no headline.
  const single = new Set(data.points.map((point) => point.workload)).size === 1;
  const once = data.points.some((point) => point.repeats === 1);
  const list: Headline[] = [];
  if (peak !== null && single && once) list.push({ key: 'goodput', label: 'Highest median', value: DASH, context: 'one repeat of a point is no headline' });
  else if (peak !== null && single) list.push({ key: 'goodput', label: 'Highest median', value: rate(peak.of.median), unit: 'tps', context: peak.of.interval === null ? `range ${rate(peak.of.min)} to ${rate(peak.of.max)}, ${many(peak.of.n, 'repeat')}` : `95 % interval ${rate(peak.of.interval[0])} to ${rate(peak.of.interval[1])}` });
  if (fastest !== null && single && !once) {
    const { value, unit } = time(fastest.us);
    list.push({ key: 'p99', label: 'Lowest p99', value: marked(value, fastest.point.figures.p99?.interval), unit, context: fastest.point.title });
  }
  const middle = median(noise);
  list.push({ key: 'noise', label: 'Repeat noise', value: middle === null ? DASH : significant(middle * 100, 2), unit: '%', context: middle === null ? 'it takes two repeats of a point' : `median spread (standard deviation over mean) of ${many(noise.length, 'point')}` });
  list.push({ key: 'drift', label: 'Drift', value: drifted === null ? DASH : change(drifted).replace('\u00a0%', ''), unit: '%', context: drifted === null ? 'it takes eight trials' : 'from the first to the last quarter of the trials' });
  list.push(...trialsOf(data));
  if (data.took_s !== undefined && data.took_s !== null) list.push({ key: 'took', label: 'Took', value: span(data.took_s), context: data.measured_s === undefined || data.measured_s === null ? undefined : `of it ${span(data.measured_s)} measured (${percent(data.measured_s / data.took_s)})` });
  return list;
}

function trialsOf(data: ExperimentData): Headline[] {
  const counting = data.trials.filter((t) => t.counts).length;
  const aborted = data.trials.filter((t) => t.state !== 'complete').length;
  const outliers = data.points.reduce((sum, p) => sum + new Set(p.outliers.map((o) => o.trial)).size, 0);
  return [{ key: 'trials', label: 'Trials', value: count(counting), unit: `of ${count(data.trials.length)}`, context: `${count(aborted)} aborted or failed, ${many(outliers, 'outlier')}` }];
}

function plan(data: ExperimentData): Section {
  const { box, button } = commandBlock(data.command);
  return section(
    'plan',
    'Plan',
    'Plan and environment',
    null,
    button,
    h(
      'div',
      { class: 'two-columns' },
      h('div', {}, h('h3', {}, 'Definition'), h('pre', { class: 'definition', tabindex: 0, role: 'region', 'aria-label': 'Definition' }, data.definition)),
      definitions(data.environment),
    ),
    box,
  );
}
