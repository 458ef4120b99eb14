/** What lies behind every plot over time: warm-up, phases, checkpoints, vacuum, lost connections, gaps. */

import type { Range } from '../pure/bus';
import { timeTicks } from '../pure/ticks';
import { token } from '../page/theme';
import { drawn, hatch, rect, segment, within, words } from '../chart/shapes';
import { AGAIN, DISTURBANCE, LOST, TICKS, type Model } from './model';
import { boundaries } from './phases';

export interface Hole {
  from: number;
  to: number;
}

/** Spans that overlap put together; they come sorted by their begin. */
export function union(spans: { from_s: number; to_s: number }[]): Hole[] {
  const found: Hole[] = [];
  for (const { from_s, to_s } of spans) {
    const last = found[found.length - 1];
    if (last !== undefined && from_s <= last.to) last.to = Math.max(last.to, to_s);
    else found.push({ from: from_s, to: to_s });
  }
  return found;
}

/** Behind the lines, without words, which lines would cross (`eventKey` has them): vertical hairlines, bands of events, gaps. */
export function marks(model: Model, range: Range, axes: { xAxisIndex?: number; yAxisIndex?: number } = {}, holes: Hole[] = []): object {
  return drawn(
    (api, box) => {
      const x = (at: number): number => within(api.coord([at, api.value(1)])[0], box);
      const { y: top } = box;
      const bottom = top + box.height;
      const shapes = timeTicks(range.from, range.to, Math.max(2, Math.floor(box.width / 90))).map(({ at }) =>
        segment(x(at), top, x(at), bottom, token('line1')),
      );
      const seen = (from: number, to: number): boolean => to >= range.from && from <= range.to;
      if (model.measured_from_s > model.whole.from && seen(model.whole.from, model.measured_from_s)) {
        shapes.push(rect(x(model.whole.from), top, x(model.measured_from_s), bottom, token('tint2'), 0.6));
      }
      for (const at of boundaries(model.data.run.phases)) if (seen(at, at)) shapes.push(segment(x(at), top, x(at), bottom, token('ink3'), 1, [6, 3]));
      for (const event of model.events) {
        if (TICKS.has(event.kind) || !seen(event.from_s, event.to_s)) continue;
        if (event.kind === DISTURBANCE) {
          shapes.push(rect(x(event.from_s), top, Math.max(x(event.to_s), x(event.from_s) + 1.5), bottom, token('bad'), 0.1));
          if (event.from_s >= range.from) shapes.push(segment(x(event.from_s), top, x(event.from_s), bottom, token('bad'), 1.2));
        } else if (LOST.has(event.kind)) {
          if (event.to_s > event.from_s) shapes.push(rect(x(event.from_s), top, x(event.to_s), bottom, token('bad'), 0.08));
          shapes.push(segment(x(event.from_s), top, x(event.from_s), bottom, token('bad'), 1.2, [4, 3]));
        } else if (AGAIN.has(event.kind)) {
          shapes.push(segment(x(event.from_s), top, x(event.from_s), bottom, token('ok'), 1.2, [1, 3]));
        } else if (event.kind === 'checkpoint') {
          shapes.push(rect(x(event.from_s), top, Math.max(x(event.to_s), x(event.from_s) + 1), bottom, token('ipc'), 0.16));
          if (event.sync_after_us !== undefined && event.sync_after_us !== null) {
            const at = event.from_s + event.sync_after_us / 1e6;
            if (at >= range.from && at <= range.to) shapes.push(segment(x(at), top, x(at), bottom, token('ipc'), 1.2));
          }
        } else if (event.to_s === event.from_s && event.from_s >= range.from) {
          shapes.push(segment(x(event.from_s), top, x(event.from_s), bottom, token('line2'), 1, [1, 3]));
        }
      }
      // Spans that overlap are one band: more of them is not darker.
      for (const span of union(model.events.filter((event) => !TICKS.has(event.kind) && !LOST.has(event.kind) && event.kind !== DISTURBANCE && event.kind !== 'checkpoint' && event.to_s > event.from_s))) {
        if (seen(span.from, span.to)) shapes.push(rect(x(span.from), top, Math.max(x(span.to), x(span.from) + 1.5), bottom, token('other'), 0.16));
      }
      // What is still to come.
      if (model.now_s !== null && model.now_s < range.to) {
        const from = Math.max(model.now_s, range.from);
        shapes.push(rect(x(from), top, x(range.to), bottom, token('tint'), 1));
        if (x(range.to) - x(from) > 120 && box.height > 100) shapes.push(words((x(from) + x(range.to)) / 2, top + 8, 'to come', token('ink3'), { fontSize: 11, align: 'center' }));
        if (model.now_s >= range.from) shapes.push(segment(x(model.now_s), top, x(model.now_s), bottom, token('accent'), 1.6));
      }
      for (const hole of holes) {
        if (!seen(hole.from, hole.to)) continue;
        shapes.push(rect(x(hole.from), top, x(hole.to), bottom, token('bg')));
        shapes.push(rect(x(hole.from), top, x(hole.to), bottom, hatch()));
      }
      return shapes;
    },
    0,
    axes,
  );
}
