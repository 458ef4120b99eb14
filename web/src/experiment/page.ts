/** An experiment: what it says, the map, the curves, every point, whether the machine was steady. */

import type { ExperimentData } from '../data';
import { asked, change, count, DASH, many, percent, rate, significant, span, time, timeText } from '../pure/format';
import { namePage } from '../chart/figure';
import { limitColor } from '../page/classes';
import { h, scroll, type Child } from '../page/dom';
import { assemble, commandBlock, definitions, headlines, notesBlock, section, titleBlock, verdictBlock, type Headline, type Section } from '../page/shell';
import { calibrations } from './calibration';
import { disturbLab } from './disturb';
import { disturbFigures, sureBlock as sureDisturbed } from './disturbSure';
import { curves } from './curves';
import { maps } from './map';
import { bestWithin, driftShare, goodput, latencyOf, median, plane, spreadShare, type Plane } from './model';
import { allPoints, legend, steady } from './points';
import { searchFigures, sureBlock } from './search';
import { capacitySection, retriesLab, slobSweep } from './special';


export function experimentPage(data: ExperimentData): void {
  namePage(data.name);
  const of = plane(data.axes);
  const matrix = of !== null && data.points.length > 0;
  const go = (point: number): void => {
    const row = document.getElementById(`point-${point}`);
    row?.scrollIntoView({ block: 'center' });
    row?.focus({ preventScroll: true });
  };
  const sections: (Section | null)[] = [];
  const capacity = data.capacity ?? null;
  if (capacity !== null) sections.push(capacitySection(capacity, data.trials));
  // One search is what the page is about.
  const search = capacity !== null && capacity.ladders.length === 1 && capacity.ladders[0]!.search.steps > 0 ? { capacity, ladder: capacity.ladders[0]! } : null;
  const disturbed = data.disturb_lab ?? null;
  if (disturbed !== null) sections.push(disturbLab(disturbed));
  // Its rates and lengths are the search's own choice, and no plane; nor is a control one.
  if (matrix && search === null && disturbed === null) sections.push(...planes(data, of, go));
  if (data.slob !== undefined && data.slob !== null) sections.push(slobSweep(data.slob));
  if (data.retries_lab !== undefined && data.retries_lab !== null) sections.push(retriesLab(data.retries_lab));
  if (data.calibrations !== undefined && data.calibrations.length > 0) sections.push(calibrations(data.calibrations));
  if (matrix) sections.push(allPoints(data, of), steady(data, of));
  sections.push(plan(data));
  const beside = search !== null ? sureBlock(search.capacity, search.ladder) : disturbed !== null ? sureDisturbed(disturbed) : of === null ? null : best(data, of);
  const top: Section = { id: 'verdict', link: 'Findings', element: verdictBlock(data.verdict, beside, null) };
  const figures = search !== null ? searchFigures(search.capacity, search.ladder) : disturbed !== null ? disturbFigures(disturbed) : matrix ? figuresOf(data) : [];
  const trust: Section = { id: 'figures', element: h('div', { class: 'trust' }, notesBlock(data.notes, null), figures.length > 0 && headlines(figures, data.notes, false)) };
  assemble(data, [titleBlock(data)], [top, trust, ...sections.filter((s): s is Section => s !== null)], null, `set ${data.uuid}`);
}

/** Map and curves, with a choice for every axis beyond two. */
function planes(data: ExperimentData, of: Plane, go: (point: number) => void): Section[] {
  const map = h('div', {});
  const curve = h('div', { class: 'two-columns even' });
  const choice = h('span', {});
  const draw = (): void => {
    const { element, choice: buttons } = maps(data, of, go);
    map.replaceChildren(element);
    choice.replaceChildren(buttons);
    curve.replaceChildren(...curves(data, of, go));
  };
  draw();
  const selects = of.rest.map((rest) => {
    const select = h('select', {}, ...rest.axis.values.map((value, i) => h('option', { value: String(i) }, value)));
    select.addEventListener('change', () => {
      rest.value = Number(select.value);
      draw();
    });
    return h('label', { class: 'mark-name' }, `${rest.axis.title} `, select);
  });
  return [
    { id: 'map', link: 'Map', element: section('map', 'Map', 'Median of the repeats at each point. Click a cell for its trials. Thick frame: the best point.', h('span', { class: 'mark-name' }, ...selects, choice), map) },
    { id: 'curves', link: 'Curves', element: section('curves', 'Curves', 'Large marks: median, with its 95 % interval from six repeats on. Small dots: the repeats. Ringed: an outlier.', legend(of), curve) },
  ];
}

/** The best point of each line under the limit. */
function best(data: ExperimentData, of: Plane): HTMLElement | null {
  const slo = data.slo_us ?? null;
  const found = bestWithin(data, of, slo);
  if (found.length === 0) return data.points.length === 0 ? null : h('div', {}, h('h2', { class: 'eyebrow' }, slo === null ? 'Most goodput' : `Most goodput with p99 ≤ ${asked(slo)}`), h('p', {}, 'No point kept it.'));
  const top = found.reduce((a, b) => (goodput(b.point)! > goodput(a.point)! ? b : a));
  const limits = found.some(({ point }) => point.limit !== undefined && point.limit !== null);
  const closed = data.points.every((point) => point.latency === 'service');
  return h(
    'div',
    {},
    h('h2', { class: 'eyebrow' }, slo === null ? 'Most goodput' : `Most goodput with p99 ≤ ${asked(slo)}`),
    scroll(
      'Best points: rows',
      h(
        'table',
        { class: 'figures' },
        h('thead', {}, h('tr', {}, of.line !== null && h('th', { scope: 'col' }, of.line.title), h('th', { scope: 'col', class: 'n' }, of.x.title), h('th', { scope: 'col', class: 'n' }, 'goodput'), h('th', { scope: 'col', class: 'n' }, 'p99'), limits && h('th', { scope: 'col' }, 'limited by'))),
        h(
          'tbody',
          {},
          ...found.map((row) => {
            const { point } = row;
            const cells: Child[] = [
              of.line !== null && h('th', { scope: 'row' }, of.line.values[row.line]!),
              h('td', { class: 'n' }, of.x.values[point.at[of.xIndex]!] ?? ''),
              h('td', { class: 'n' }, `${rate(goodput(point)!)}\u00a0tps`),
              h('td', { class: 'n' }, timeText(latencyOf(point, 'p99'))),
              limits && h('td', {}, point.limit === undefined || point.limit === null ? DASH : h('span', { class: 'chip', style: { '--chip': `var(--${limitColor(point.limit.code)})` } }, point.limit.name)),
            ];
            return h('tr', { class: row === top ? 'strong' : undefined }, ...cells);
          }),
        ),
      ),
    ),
    closed && slo !== null && h('p', { class: 'sub' }, 'Closed loop: p99 is service time. A run at a given rate may show a lower limit.'),
  );
}

function figuresOf(data: ExperimentData): Headline[] {
  const peak = data.points.map((point) => ({ point, of: point.figures.goodput?.over_repeats ?? null })).filter((p) => p.of !== null).reduce<{ point: (typeof data.points)[number]; of: NonNullable<(typeof data.points)[number]['figures'][string]['over_repeats']> } | null>((a, b) => (a === null || b.of!.median > a.of.median ? { point: b.point, of: b.of! } : a), null);
  const fastest = data.points.map((point) => ({ point, us: latencyOf(point, 'p99') })).filter((p): p is { point: (typeof data.points)[number]; us: number } => p.us !== null).reduce<{ point: (typeof data.points)[number]; us: number } | null>((a, b) => (a === null || b.us < a.us ? b : a), null);
  const noise = data.points.map((point) => spreadShare(point.figures.goodput?.over_repeats)).filter((v): v is number => v !== null);
  const drifted = driftShare(data);
  const counting = data.trials.filter((t) => t.counts).length;
  const aborted = data.trials.filter((t) => t.state !== 'complete').length;
  const outliers = data.points.reduce((sum, p) => sum + new Set(p.outliers.map((o) => o.trial)).size, 0);
  const list: Headline[] = [];
  if (peak !== null) list.push({ key: 'goodput', label: 'Peak goodput', value: rate(peak.of.median), unit: 'tps', context: peak.of.interval === null ? `range ${rate(peak.of.min)} to ${rate(peak.of.max)}, ${many(peak.of.n, 'repeat')}` : `95 % interval ${rate(peak.of.interval[0])} to ${rate(peak.of.interval[1])}` });
  if (fastest !== null) {
    const { value, unit } = time(fastest.us);
    list.push({ key: 'p99', label: 'Lowest p99', value, unit, context: fastest.point.title });
  }
  const middle = median(noise);
  list.push({ key: 'noise', label: 'Repeat noise', value: middle === null ? DASH : significant(middle * 100, 2), unit: '%', context: middle === null ? 'it takes two repeats of a point' : `median spread (standard deviation over mean) of ${many(noise.length, 'point')}` });
  list.push({ key: 'drift', label: 'Drift', value: drifted === null ? DASH : change(drifted).replace('\u00a0%', ''), unit: '%', context: drifted === null ? 'it takes eight trials' : 'from the first to the last quarter of the trials' });
  list.push({ key: 'trials', label: 'Trials', value: count(counting), unit: `of ${count(data.trials.length)}`, context: `${count(aborted)} aborted or failed, ${many(outliers, 'outlier')}` });
  if (data.took_s !== undefined && data.took_s !== null) list.push({ key: 'took', label: 'Took', value: span(data.took_s), context: data.measured_s === undefined || data.measured_s === null ? undefined : `of it ${span(data.measured_s)} measured (${percent(data.measured_s / data.took_s)})` });
  return list;
}

function plan(data: ExperimentData): Section {
  const { box, button } = commandBlock(data.command);
  return {
    id: 'plan',
    link: 'Plan',
    element: section(
      'plan',
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
    ),
  };
}
