/** How a search for a capacity went: each step as a bar over time, its rate, and its side of the limit. */

import type { Capacity, Contradiction, Ladder, LimitSide, SearchStep, TrialLimit } from '../data';
import { linearAxis, named } from '../chart/axes';
import { figure } from '../chart/figure';
import { Plot } from '../chart/plot';
import { drawn, rect } from '../chart/shapes';
import { h } from '../page/dom';
import { token } from '../page/theme';
import type { Headline } from '../page/shell';
import { asked, count, DASH, many, rate, significant, span, timeText } from '../pure/format';
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

/** Half of the interval as a share of the estimate; null without both ends. */
export function halfWidth(found: Ladder['capacity']): number | null {
  const interval = found?.interval;
  if (found === null || interval === undefined || interval === null || interval.low === null || interval.high === null) return null;
  return (interval.high - interval.low) / 2 / found.per_s;
}

/** Of a machine that changes from step to step: what was safe, and what failed. */
export function contradiction({ within_up_to_per_s: safe, over_from_per_s: failed }: Contradiction): string {
  const up = safe === null ? 'no rate was safe' : `all steps up to ${rate(safe)}/s were within the limit`;
  const on = failed === null ? 'none failed in all steps' : `all from ${rate(failed)}/s on were over it`;
  return `the machine changes from step to step: ${up}, ${on}`;
}

/** The figures below the headline. */
export function searchFigures(capacity: Capacity, { capacity: found, knee, search, steps }: Ladder): Headline[] {
  const { within, over } = surely(steps);
  const list: Headline[] = [];
  const tps = (key: string, label: string, value: number | null, context: string): void => {
    list.push({ key, label, value: value === null ? DASH : rate(value), unit: value === null ? '' : 'tps', context });
  };
  const half = halfWidth(found);
  const interval = found?.interval ?? null;
  const around = found === null ? (search.contradiction === undefined ? 'not known' : 'not known: the machine changes from step to step') : found.is === 'below' || found.is === 'at-or-below' ? (steps.some((step) => step.rate_per_s < found.per_s) ? 'that is too much; lower rates are undecided' : 'the lowest rate tried is too much') : found.is !== 'at' ? 'no rate that was tried broke the limit' : half !== null ? `95\u00a0% interval ${rate(interval!.low!)} to ${rate(interval!.high!)}` : interval === null || (interval.low === null && interval.high === null) ? 'no interval' : interval.low === null ? `at most ${rate(interval.high!)}, 95\u00a0% interval` : `at least ${rate(interval.low)}, 95\u00a0% interval`;
  tps('capacity', 'Capacity', found?.per_s ?? null, around);
  const sign = found === null || found.is === 'at' ? '' : found.is === 'below' || found.is === 'at-or-below' ? '<\u00a0' : '≥\u00a0';
  list[0]!.value = sign + list[0]!.value;
  tps('within', 'Highest step within', within, `p99 ≤ ${asked(capacity.slo_us)} in all of its interval`);
  tps('over', 'Lowest step over', over, `p99 > ${asked(capacity.slo_us)} in all of its interval`);
  // Of one repeat at each rate it is a look and no headline.
  if (knee !== null && knee.is === 'at' && (knee.interval ?? null) !== null) tps('knee', 'Knee', knee.per_s, 'beyond it p99 grows faster than the rate');
  list.push({ key: 'steps', label: 'Steps', value: String(search.steps), unit: '', context: `at ${many(new Set(steps.map((step) => step.rate_per_s)).size, 'rate')}` });
  const [took, unit] = search.took_s < 120 ? [search.took_s, 's'] : [search.took_s / 60, 'min'];
  list.push({ key: 'took', label: 'Took', value: significant(took), unit, context: `of ${span(capacity.time_s)} allowed` });
  return list;
}

const stepText = (step: SearchStep): string => (step.falls_behind ? 'falls behind' : step.response_p99_us === null ? 'too few transactions for p99' : `p99 ${timeText(step.response_p99_us)}`);

/** The steps over time. */
export function searchChart(ladder: Ladder, id: string): HTMLElement | null {
  const { steps } = ladder;
  if (steps.length === 0) return null;
  const end = Math.max(...steps.map((step) => step.from_s + step.seconds));
  // Short ones are in seconds.
  const [unit, by] = end < 180 ? ['s', 1] : ['min', 60];
  const x = linear(end / by, 4);
  const y = linear(Math.max(...steps.map((step) => step.rate_per_s)) * 1.06, 4);
  const interval = ladder.capacity?.is === 'at' ? ladder.capacity.interval : null;
  const words = (step: SearchStep): string => `trial ${step.trial}: ${rate(step.rate_per_s)}/s for ${span(step.seconds)}: ${SIDES[step.side].name}, ${stepText(step)}`;
  const plot = new Plot({
    height: 360,
    build: () => {
      const label = { color: token('ink3'), fontSize: 11.5, hideOverlap: true };
      return {
        grid: { left: 62, right: 20, top: 14, bottom: 44 },
        xAxis: { ...linearAxis(0, x.max, x.step), axisLabel: { ...label, formatter: (v: number) => `${linearLabel(v, x.step)}\u00a0${unit}` }, splitLine: { show: false }, axisLine: { show: true, onZero: false, lineStyle: { color: token('line2') } }, ...named('since the search began', 26) },
        yAxis: { ...linearAxis(0, y.max, y.step), axisLabel: label },
        series: [
          drawn((api, box, shapes) => {
            if (interval !== undefined && interval !== null && interval.low !== null && interval.high !== null) {
              shapes.push(rect(box.x, api.coord([0, interval.high])[1], box.x + box.width, api.coord([0, interval.low])[1], token('tint2'), 0.8));
            }
            for (const step of steps) {
              const [x0, at] = api.coord([step.from_s / by, step.rate_per_s]);
              // Short steps stay visible.
              const x1 = Math.max(api.coord([(step.from_s + step.seconds) / by, step.rate_per_s])[0], x0 + 4);
              const color = token(SIDES[step.side].color);
              // Undecided steps are hollow: not every reader sees the color.
              const hollow = step.side === 'cannot-tell';
              shapes.push({ type: 'rect', shape: { x: x0, y: at - 3.5, width: x1 - x0, height: 7 }, style: { fill: hollow ? token('bg') : color, stroke: color, lineWidth: 1.3 }, silent: true });
            }
          }, 3),
        ],
      };
    },
  });
  const sides = (Object.keys(SIDES) as LimitSide[]).map((side) => ({ side, count: steps.filter((step) => step.side === side).length }));
  const legend = h('p', { class: 'sub' }, ...sides.flatMap(({ side, count }, i) => [i > 0 ? ' · ' : '', h('span', { style: { color: `var(--${SIDES[side].color})` } }, side === 'cannot-tell' ? '□ ' : '■ '), `${SIDES[side].name} ${count}`]));
  return figure(
    {
      id,
      title: 'How the search went',
      subtitle: 'each bar is a step: its rate and how long it was measured; the band is the interval',
      summary: () => steps.map(words).join('; '),
      data: () => ({ head: ['trial', 'from_s', 'seconds', 'offered_per_s', 'p99_us', 'low_us', 'high_us', 'side', 'falls_behind'], rows: steps.map((step) => [step.trial, step.from_s, step.seconds, step.rate_per_s, step.response_p99_us, step.low_us, step.high_us, SIDES[step.side].name, step.falls_behind ? 'yes' : 'no']) }),
    },
    plot,
    legend,
  );
}
