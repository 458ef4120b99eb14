/** How a search for a capacity went: each step as a bar over time, its rate, and its side of the limit. */

import type { Capacity, Ladder, LimitSide, SearchStep, TrialLimit } from '../data';
import { linearAxis, named } from '../chart/axes';
import { figure } from '../chart/figure';
import { Plot } from '../chart/plot';
import { drawn, rect } from '../chart/shapes';
import { h } from '../page/dom';
import { token } from '../page/theme';
import type { Headline } from '../page/shell';
import { asked, change, count, DASH, many, percent, rate, significant, span, timeText } from '../pure/format';
import { linear, linearLabel } from '../pure/ticks';

export const SIDES: Record<LimitSide, { name: string; color: string }> = {
  within: { name: 'within', color: 'ok' },
  'cannot-tell': { name: 'cannot tell', color: 'warn' },
  over: { name: 'over', color: 'bad' },
};

/** Steps at one rate are taken together: on one side only if all are. */
export function sideOf(steps: SearchStep[]): LimitSide | null {
  const [first] = steps;
  if (first === undefined) return null;
  return steps.every((step) => step.side === first.side) ? first.side : 'cannot-tell';
}

/** The interval of steps at one rate: the widest of theirs; null: an end is not known. */
export function intervalOf(steps: SearchStep[]): [number, number] | null {
  const lows = steps.map((step) => step.low_us);
  const highs = steps.map((step) => step.high_us);
  if (steps.length === 0 || lows.includes(null) || highs.includes(null)) return null;
  return [Math.min(...(lows as number[])), Math.max(...(highs as number[]))];
}

/** How long each step was, in whole seconds: `10 + 20 + 20`. */
export const lengths = (steps: SearchStep[]): string => (steps.length === 0 ? DASH : steps.map((step) => count(Math.round(step.seconds))).join(' + '));

/** What limited most of the trials at one rate, and of how many where not all agree. */
export function limitOf(limits: (TrialLimit | null)[]): string {
  const names = limits.flatMap((limit) => (limit === null ? [] : [limit.name]));
  const agree = (name: string): number => names.filter((other) => other === name).length;
  const most = names.reduce<string | null>((best, name) => (best === null || agree(name) > agree(best) ? name : best), null);
  if (most === null) return DASH;
  return agree(most) === names.length ? most : `${most} (${agree(most)} of ${names.length})`;
}

/** The highest rate of a step within the limit by all of its interval, and the lowest one over it. */
export function surely(steps: SearchStep[]): { within: number | null; over: number | null } {
  const of = (side: LimitSide): number[] => steps.filter((step) => step.side === side).map((step) => step.rate_per_s);
  const within = of('within');
  const over = of('over');
  return { within: within.length > 0 ? Math.max(...within) : null, over: over.length > 0 ? Math.min(...over) : null };
}

export interface Sure {
  passed: boolean;
  name: string;
  words: string;
}

/** What speaks for the answer and against it. */
export function sure(capacity: Capacity, { search, steps, capacity: found }: Ladder): Sure[] {
  const { within, over } = surely(steps);
  const lengths = steps.map((step) => step.seconds);
  const [shortest, longest] = [Math.min(...lengths), Math.max(...lengths)];
  const seen = [within === null ? 'no step is within' : `a step at ${rate(within)}/s is within`, over === null ? 'no step is over' : `one at ${rate(over)}/s is over`].join(', ');
  const list: Sure[] = [{ passed: within !== null && over !== null, name: within !== null && over !== null ? 'Both sides were seen.' : 'Not both sides were seen.', words: `${seen}, in all of its 95\u00a0% interval` }];
  const half = halfWidth(found);
  const width = half === null ? `the interval has not both ends: allow more than ${span(capacity.time_s)}` : `± ${percent(half)}, asked for ± ${percent(capacity.width)}${search.is_narrow ? '' : `: allow more than ${span(capacity.time_s)}`}`;
  list.push({ passed: search.is_narrow, name: search.is_narrow ? 'As narrow as asked.' : 'Wider than asked.', words: width });
  if (search.line_steps > 0) list.push({ passed: true, name: 'Steps were repeated.', words: `${many(search.line_steps, 'step')} on both sides of the answer give it, of ${shortest === longest ? span(longest) : `${span(shortest)} to ${span(longest)}`}` });
  else list.push({ passed: false, name: 'No line through several steps.', words: 'the highest step within and the lowest one over give the interval' });
  if (search.line_steps > 0) list.push(search.drift === null ? { passed: true, name: 'No drift.', words: 'the answer did not change with time by more than chance' } : { passed: false, name: 'Drift.', words: `the answer changed by ${change(search.drift)} during these steps: it is that of their middle` });
  return list;
}

/** Half of the interval as a share of the estimate; null without both ends. */
export function halfWidth(found: Ladder['capacity']): number | null {
  const interval = found?.interval;
  if (found === null || interval === undefined || interval === null || interval.low === null || interval.high === null) return null;
  return (interval.high - interval.low) / 2 / found.per_s;
}

export function sureBlock(capacity: Capacity, ladder: Ladder): HTMLElement {
  const item = ({ passed, name, words }: Sure): HTMLElement => h('li', {}, h('span', { class: 'state', style: { color: `var(--${passed ? 'ok' : 'warn'})` }, 'aria-hidden': 'true' }, passed ? '✓' : '○'), h('span', {}, h('strong', {}, name), ` ${words}`));
  return h('div', {}, h('h2', { class: 'eyebrow' }, 'How sure is it?'), h('ul', { class: 'checks' }, ...sure(capacity, ladder).map(item)));
}

/** The figures below the headline. */
export function searchFigures(capacity: Capacity, { capacity: found, knee, search, steps }: Ladder): Headline[] {
  const { within, over } = surely(steps);
  const list: Headline[] = [];
  const tps = (key: string, label: string, value: number | null, context: string): void => {
    list.push({ key, label, value: value === null ? DASH : rate(value), unit: value === null ? '' : 'tps', context });
  };
  const half = halfWidth(found);
  tps('capacity', 'Capacity', found !== null && found.is === 'at' ? found.per_s : null, found === null ? 'not known' : half === null ? `no interval with both ends` : `95\u00a0% interval ${rate(found.interval!.low!)} to ${rate(found.interval!.high!)}`);
  tps('within', 'Highest step within', within, `p99 ≤ ${asked(capacity.slo_us)} in all of its interval`);
  tps('over', 'Lowest step over', over, `p99 > ${asked(capacity.slo_us)} in all of its interval`);
  if (knee !== null && knee.is === 'at') tps('knee', 'Knee', knee.per_s, 'beyond it p99 grows faster than the rate');
  list.push({ key: 'steps', label: 'Steps', value: String(search.steps), unit: '', context: `at ${many(new Set(steps.map((step) => step.rate_per_s)).size, 'rate')}` });
  const [took, unit] = search.took_s < 120 ? [search.took_s, 's'] : [search.took_s / 60, 'min'];
  list.push({ key: 'took', label: 'Took', value: significant(took), unit, context: `of ${span(capacity.time_s)} allowed` });
  return list;
}

const told = (step: SearchStep): string => (step.falls_behind ? 'falls behind' : step.response_p99_us === null ? 'too few transactions for p99' : `p99 ${timeText(step.response_p99_us)}`);

/** The steps over time. */
export function searchChart(ladder: Ladder, id: string): HTMLElement | null {
  const { steps } = ladder;
  if (steps.length === 0) return null;
  const end = Math.max(...steps.map((step) => step.from_s + step.seconds));
  const x = linear(end / 60, 4);
  const y = linear(Math.max(...steps.map((step) => step.rate_per_s)), 4);
  const interval = ladder.capacity?.is === 'at' ? ladder.capacity.interval : null;
  const words = (step: SearchStep): string => `trial ${step.trial}: ${rate(step.rate_per_s)}/s for ${span(step.seconds)}: ${SIDES[step.side].name}, ${told(step)}`;
  const plot = new Plot({
    height: 360,
    build: () => {
      const label = { color: token('ink3'), fontSize: 11.5, hideOverlap: true };
      return {
        grid: { left: 62, right: 20, top: 14, bottom: 44 },
        xAxis: { ...linearAxis(0, x.max, x.step), axisLabel: { ...label, formatter: (v: number) => `${linearLabel(v, x.step)} min` }, splitLine: { show: false }, axisLine: { show: true, onZero: false, lineStyle: { color: token('line2') } }, ...named('since the search began', 26) },
        yAxis: { ...linearAxis(0, y.max, y.step), axisLabel: label },
        series: [
          drawn((api, box) => {
            const shapes: Record<string, unknown>[] = [];
            if (interval !== undefined && interval !== null && interval.low !== null && interval.high !== null) {
              shapes.push(rect(box.x, api.coord([0, interval.high])[1], box.x + box.width, api.coord([0, interval.low])[1], token('tint2'), 0.8));
            }
            for (const step of steps) {
              const [x0, at] = api.coord([step.from_s / 60, step.rate_per_s]);
              // Short steps stay visible.
              const x1 = Math.max(api.coord([(step.from_s + step.seconds) / 60, step.rate_per_s])[0], x0 + 4);
              const color = token(SIDES[step.side].color);
              // What cannot be told is hollow: color alone would not say it to everyone.
              const hollow = step.side === 'cannot-tell';
              shapes.push({ type: 'rect', shape: { x: x0, y: at - 3.5, width: x1 - x0, height: 7 }, style: { fill: hollow ? token('bg') : color, stroke: color, lineWidth: 1.3 }, silent: true });
            }
            return shapes;
          }, 3),
        ],
      };
    },
  });
  const sides = (Object.keys(SIDES) as LimitSide[]).map((side) => ({ side, count: steps.filter((step) => step.side === side).length }));
  const legend = h('p', { class: 'sub' }, ...sides.flatMap(({ side, count }, i) => [i > 0 ? ' · ' : '', h('span', { style: { color: `var(--${SIDES[side].color})` } }, side === 'cannot-tell' ? '□ ' : '■ '), `${SIDES[side].name} ${count}`]));
  const title = 'How the search went';
  const subtitle = 'each bar is a step: its rate and how long it was measured; the band is the interval';
  return figure(
    {
      id,
      title,
      subtitle,
      summary: () => steps.map(words).join('; '),
      data: () => ({ head: ['trial', 'from_s', 'seconds', 'offered_per_s', 'p99_us', 'low_us', 'high_us', 'side', 'falls_behind'], rows: steps.map((step) => [step.trial, step.from_s, step.seconds, step.rate_per_s, step.response_p99_us, step.low_us, step.high_us, SIDES[step.side].name, step.falls_behind ? 'yes' : 'no']) }),
      png: (name) => plot.png(name, title, subtitle),
    },
    plot.element,
    legend,
  );
}
