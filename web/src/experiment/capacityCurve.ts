/** p99 against what was offered: the limit, the interval of the capacity, and on which side each rate lies. */

import type { Capacity, Ladder, LimitSide, Load } from '../data';
import { asked, count, DASH, percent, present, rate, timeText } from '../pure/format';
import { along, place, type Box } from '../pure/placing';
import { decades, linear, linearLabel, timeTick } from '../pure/ticks';
import { Drawing, textWidth } from '../chart/drawing';
import { figure } from '../chart/figure';
import { svg, h } from '../page/dom';
import { median } from './model';
import { intervalOf, sideOf } from './search';

/** What is drawn of the steps at one rate. */
export interface Mark {
  rate: number;
  /** Median of its steps; null: no percentile can be given. */
  p99: number | null;
  /** Of 95 %. */
  between: [number, number] | null;
  side: LimitSide | null;
  /** The server did less than was due: response times grow as long as it lasts. */
  behind: boolean;
  served: number | null;
  trials: number[];
}

export function marks({ loads, steps }: Ladder): Mark[] {
  return [...loads]
    .sort((a, b) => a.rate_per_s - b.rate_per_s)
    .map((load) => {
      const of = steps.filter((step) => load.trials.includes(step.trial));
      const behind = of.length > 0 && of.every((step) => step.falls_behind);
      return { rate: load.rate_per_s, p99: behind ? null : p99Of(load), between: behind ? null : intervalOf(of), side: sideOf(of), behind, served: median(present(load.goodput_per_s)), trials: load.trials };
    });
}

/** Median over the steps that have one. */
export const p99Of = (load: Load): number | null => load.p99_together_us ?? median(present(load.response_p99_us));

const SIZE = 12;
const LINE = 15;

interface Label {
  lines: { text: string; color: string; weight?: number }[];
  wanted: (width: number, height: number) => Box[];
}

export function capacityCurve(capacity: Capacity, ladder: Ladder, id: string, title: string): HTMLElement {
  const list = marks(ladder);
  const found = ladder.capacity;
  const at = found !== null && found.is === 'at' ? found : null;
  const interval = at?.interval ?? null;
  const knee = ladder.knee !== null && ladder.knee.is === 'at' ? ladder.knee : null;
  const shown = list.filter((mark) => mark.p99 !== null);
  const values = shown.flatMap((mark) => [mark.p99!, ...(mark.between ?? [])]).concat(capacity.slo_us);
  const y = decades(Math.min(...values) / 1.3, Math.max(...values) * 1.3);
  const x = linear(Math.max(...list.map((mark) => mark.rate), at?.per_s ?? 0, 1) * 1.04, 5);
  const limit = `p99 ≤ ${asked(capacity.slo_us)}`;
  const drawing = new Drawing({
    height: 360,
    build: ({ width, height }) => {
      const frame: Box = { x: 58, y: 12, width: width - 58 - 24, height: height - 12 - 46 };
      const bottom = frame.y + frame.height;
      const px = (v: number): number => frame.x + (v / x.max) * frame.width;
      const py = (us: number): number => bottom - (Math.log10(us / y.min) / Math.log10(y.max / y.min)) * frame.height;
      const there: Box[] = [];
      const back: SVGElement[] = [];
      const front: SVGElement[] = [];
      const labels: Label[] = [];
      const line = (x0: number, y0: number, x1: number, y1: number, stroke: string, more: Record<string, unknown> = {}): SVGElement => svg('line', { x1: x0, y1: y0, x2: x1, y2: y1, stroke: `var(--${stroke})`, ...more });
      for (let us = y.min; us <= y.max * 1.0001; us *= 10) back.push(line(frame.x, py(us), frame.x + frame.width, py(us), 'line1'), svg('text', { x: frame.x - 8, y: py(us) + 4, 'text-anchor': 'end', fill: 'var(--ink3)' }, timeTick(us)));
      const room = Math.max(1, Math.floor(frame.width / 64));
      const ticks = Array.from({ length: Math.round(x.max / x.step) + 1 }, (_, i) => i * x.step);
      const every = Math.ceil(ticks.length / room);
      ticks.forEach((v, i) => {
        if (i % every === 0) back.push(line(px(v), bottom, px(v), bottom + 4, 'line2'), svg('text', { x: px(v), y: bottom + 18, 'text-anchor': 'middle', fill: 'var(--ink3)' }, linearLabel(v, x.step)));
      });
      back.push(line(frame.x, bottom, frame.x + frame.width, bottom, 'line2'), svg('text', { x: frame.x + frame.width / 2, y: height - 6, 'text-anchor': 'middle', fill: 'var(--ink3)' }, 'offered, transactions per second'));
      if (interval !== null) {
        const [low, high] = [px(Math.max(0, interval.low ?? 0)), px(Math.min(x.max, interval.high ?? x.max))];
        back.push(svg('rect', { class: 'capacity-band', x: low, y: frame.y, width: Math.max(2, high - low), height: frame.height, fill: 'var(--accent)', opacity: 0.13 }));
      }
      if (at !== null) {
        front.push(line(px(at.per_s), frame.y, px(at.per_s), bottom, 'accent', { 'stroke-width': 1.4 }));
        there.push({ x: px(at.per_s) - 1, y: frame.y, width: 2, height: frame.height });
        const level = interval === null ? [] : [{ text: `${percent(interval.level).replace('.0', '')}: ${interval.low === null ? '0' : rate(interval.low)} to ${interval.high === null ? 'more' : rate(interval.high)}`, color: 'ink2' }];
        const [low, high] = [px(interval?.low ?? at.per_s), px(Math.min(x.max, interval?.high ?? at.per_s))];
        labels.push({ lines: [{ text: `capacity ${rate(at.per_s)}/s`, color: 'accent', weight: 650 }, ...level], wanted: (w, t) => [0, 40, 80, 120, 200, 240].flatMap((down) => [{ x: low - w - 7, y: frame.y + 4 + down, width: w, height: t }, { x: high + 7, y: frame.y + 4 + down, width: w, height: t }]) });
      }
      const dashed = py(capacity.slo_us);
      front.push(line(frame.x, dashed, frame.x + frame.width, dashed, 'bad', { 'stroke-width': 1.3, 'stroke-dasharray': '5 4' }));
      there.push({ x: frame.x, y: dashed - 1, width: frame.width, height: 2 });
      labels.push({ lines: [{ text: `asked: ${limit}`, color: 'bad' }], wanted: (w, t) => [4, frame.width / 3, frame.width - w - 4].flatMap((from) => [dashed - t - 3, dashed + 3].map((top) => ({ x: frame.x + from, y: top, width: w, height: t }))) });
      shown.forEach((mark, i) => {
        const [cx, cy] = [px(mark.rate), py(mark.p99!)];
        const next = shown[i + 1];
        // Where a rate fell behind in between the line breaks: it has no figure.
        if (next !== undefined && !list.some((other) => other.p99 === null && other.rate > mark.rate && other.rate < next.rate)) {
          front.push(line(cx, cy, px(next.rate), py(next.p99!), 'p99', { 'stroke-width': 1.7 }));
          there.push(...along(cx, cy, px(next.rate), py(next.p99!)));
        }
        if (mark.between !== null) {
          const [y0, y1] = [py(Math.max(y.min, mark.between[0])), py(Math.min(y.max, mark.between[1]))];
          front.push(line(cx, y0, cx, y1, 'p99', { 'stroke-width': 1.4 }), line(cx - 4, y0, cx + 4, y0, 'p99', { 'stroke-width': 1.4 }), line(cx - 4, y1, cx + 4, y1, 'p99', { 'stroke-width': 1.4 }));
          there.push({ x: cx - 4, y: y1, width: 8, height: Math.max(1, y0 - y1) });
        }
        there.push({ x: cx - 6, y: cy - 6, width: 12, height: 12 });
      });
      for (const mark of shown) {
        const hollow = mark.side === 'cannot-tell';
        front.push(svg('circle', { class: hollow ? 'mark hollow' : 'mark', cx: px(mark.rate), cy: py(mark.p99!), r: 4.5, fill: hollow ? 'var(--bg)' : 'var(--p99)', stroke: 'var(--p99)', 'stroke-width': 1.6 }, svg('title', {}, markText(mark, limit))));
      }
      for (const mark of list.filter((one) => one.behind)) {
        const [cx, top] = [px(mark.rate), frame.y + 4];
        front.push(svg('path', { class: 'behind', d: `M${cx} ${top} l6 10 h-12 Z`, fill: 'var(--bad)' }, svg('title', {}, markText(mark, limit))));
        there.push({ x: cx - 6, y: top, width: 12, height: 10 });
      }
      const [behind, ...more] = list.filter((one) => one.behind);
      if (behind !== undefined) {
        const [cx, below] = [px(behind.rate), frame.y + 18];
        // Of several the lowest is named: there is no room for each, and the table has them.
        const [name, word] = more.length > 0 ? [`${rate(behind.rate)} and more:`, 'fall behind'] : [`${rate(behind.rate)}:`, 'falls behind'];
        const head = frame.width < 420 ? [name, word] : [`${name} ${word}`];
        const served = more.length > 0 || behind.served === null ? [] : [{ text: `${rate(behind.served)} served,`, color: 'ink2' }];
        labels.push({ lines: [...head.map((text) => ({ text, color: 'bad', weight: 650 })), ...served, { text: 'no p99 to give', color: 'ink2' }], wanted: (w, t) => [0, 52, 104, 156].flatMap((down) => [cx - w / 2, cx - w - 10, cx + 10].map((left) => ({ x: left, y: below + down, width: w, height: t }))) });
      }
      if (knee !== null) {
        const near = shown.reduce<Mark | null>((best, mark) => (best === null || Math.abs(mark.rate - knee.per_s) < Math.abs(best.rate - knee.per_s) ? mark : best), null);
        const top = near === null ? bottom - 60 : Math.min(bottom - 40, py(near.p99!) + 14);
        const kx = px(knee.per_s);
        front.push(line(kx, top, kx, bottom - 4, 'warn', { 'stroke-width': 1.3 }));
        there.push({ x: kx - 1, y: top, width: 2, height: bottom - 4 - top });
        const without = (knee.interval ?? null) === null ? [{ text: 'no interval: it takes six repeats', color: 'ink2' }] : [];
        labels.push({ lines: [{ text: `knee ${rate(knee.per_s)}/s`, color: 'warn', weight: 650 }, ...without], wanted: (w, t) => [bottom - t - 6, top + 4, bottom - t - 30].flatMap((up) => [{ x: kx - w - 6, y: up, width: w, height: t }, { x: kx + 6, y: up, width: w, height: t }]) });
      }
      const texts = labels.flatMap(({ lines, wanted }) => {
        const [w, t] = [Math.max(...lines.map((of) => textWidth(of.text, SIZE, of.weight))), lines.length * LINE];
        const box = place(wanted(w, t), there, frame);
        // To the side of what it names words end there.
        const anchor = box.x + w / 2;
        return lines.map((of, i) => svg('text', { class: 'label', x: anchor, y: box.y + LINE * i + 12, 'text-anchor': 'middle', 'font-size': SIZE, 'font-weight': of.weight, fill: `var(--${of.color})` }, of.text));
      });
      return [...back, ...front, ...texts];
    },
  });
  const key = h(
    'p',
    { class: 'sub key-line' },
    ...[
      { has: shown.some((mark) => mark.side !== 'cannot-tell'), sign: '●', color: 'p99', words: 'within the limit or over it by its whole interval' },
      { has: shown.some((mark) => mark.side === 'cannot-tell'), sign: '○', color: 'p99', words: `the interval crosses ${asked(capacity.slo_us)}: neither within nor over` },
      { has: list.some((mark) => mark.behind), sign: '▲', color: 'bad', words: 'falls behind: response grows as long as it lasts' },
      { has: interval !== null, sign: '▮', color: 'heat1', words: 'interval of the capacity' },
    ]
      .filter(({ has }) => has)
      .map(({ sign, color, words }) => h('span', { class: 'key-of' }, h('span', { style: { color: `var(--${color})` }, 'aria-hidden': 'true' }, `${sign} `), words)),
  );
  return figure(
    {
      id,
      title,
      subtitle: 'response time, log scale; bar: 95 % interval of the steps at a rate',
      summary: () => list.map((mark) => markText(mark, limit)).join('; '),
      data: () => ({ head: ['offered_per_s', 'done_per_s', 'p99_us', 'low_us', 'high_us', 'side', 'falls_behind', 'trials'], rows: list.map((mark) => [mark.rate, mark.served, mark.p99, mark.between?.[0] ?? null, mark.between?.[1] ?? null, mark.side ?? '', mark.behind ? 'yes' : 'no', mark.trials.join(' ')]) }),
    },
    drawing,
    key,
  );
}

/** What a mark is, in words. */
export function markText(mark: Mark, limit: string): string {
  const head = `${rate(mark.rate)}/s offered: `;
  if (mark.behind) return `${head}falls behind${mark.served === null ? '' : `, ${rate(mark.served)} served`}`;
  if (mark.p99 === null) return `${head}too few transactions for p99`;
  const sides: Record<LimitSide, string> = { within: 'within', over: 'over', 'cannot-tell': 'cannot tell' };
  const between = mark.between === null ? '' : `, ${timeText(mark.between[0])} to ${timeText(mark.between[1])}`;
  return `${head}p99 ${timeText(mark.p99)}${between}; ${limit}: ${mark.side === null ? DASH : sides[mark.side]}; ${count(mark.trials.length)} ${mark.trials.length === 1 ? 'step' : 'steps'}`;
}
