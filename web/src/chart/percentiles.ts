/** Percentiles on log nines: their axis, and a cursor that keys and the pointer move along a curve. */

import { oneIn } from '../pure/format';
import { percentileTicks } from '../pure/ticks';
import { token } from '../page/theme';
import { linearAxis } from './axes';
import type { Plot } from './plot';
import { segment, type Api, type Box } from './shapes';

/** From 0 to so many nines, with labels or none. */
export function percentileAxis(end: number, labels = true): Record<string, unknown> {
  const ticks = percentileTicks(end);
  return {
    ...linearAxis(0, end, end),
    splitLine: { show: false },
    axisLine: { show: labels, onZero: false, lineStyle: { color: token('line2') } },
    axisLabel: {
      show: labels,
      color: token('ink3'),
      fontSize: 11.5,
      lineHeight: 15,
      hideOverlap: true,
      customValues: ticks.map((tick) => tick.x),
      formatter: (x: number) => {
        const tick = ticks.find((of) => Math.abs(of.x - x) < 1e-6);
        return tick === undefined ? '' : `${tick.label}\n${oneIn(tick.p)}`;
      },
    },
  };
}

/** Hairlines at the labels, and where the cursor is. */
export function percentileLines(end: number, cursor: number | null, api: Api, box: Box): Record<string, unknown>[] {
  const line = (at: number, color: string): Record<string, unknown> => segment(api.coord([at, 0])[0], box.y, api.coord([at, 0])[0], box.y + box.height, token(color));
  return [...percentileTicks(end).map(({ x }) => line(x, 'line1')), ...(cursor === null ? [] : [line(cursor, 'ink2')])];
}

/** What a place on the axis is: `p99.9 (1 in 1,000)`. */
export function percentileAt(nines: number): string {
  const p = 1 - 10 ** -nines;
  return `p${(p * 100).toFixed(Math.max(0, Math.ceil(nines) - 1))} (${oneIn(p)})`;
}

/** Moves a cursor from 0 to `end`; `moved` gets the place before the plot is drawn anew. */
export function followCurve(figure: HTMLElement, plot: Plot, end: number, moved: (nines: number | null) => void): void {
  const group = figure.querySelector<HTMLElement>('.plot')!;
  let cursor: number | null = null;
  const move = (nines: number | null): void => {
    cursor = nines === null ? null : Math.max(0, Math.min(end, nines));
    moved(cursor);
    plot.redraw();
  };
  group.addEventListener('pointermove', (event) => move(plot.value([event.clientX - group.getBoundingClientRect().left, 100])?.[0] ?? null));
  group.addEventListener('pointerleave', () => move(null));
  group.addEventListener('keydown', (event) => {
    const by = event.shiftKey ? 0.5 : 0.05;
    if (event.key === 'ArrowRight') move((cursor ?? 0.3) + by);
    else if (event.key === 'ArrowLeft') move((cursor ?? 0.3) - by);
    else if (event.key === 'Home') move(0);
    else if (event.key === 'End') move(end);
    else if (event.key === 'Escape') move(null);
    else return;
    event.preventDefault();
  });
}
