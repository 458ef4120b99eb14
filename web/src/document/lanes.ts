/** A disturbed trial on one clock: what was due and served, response times, errors, endpoints, clients, a queue. */

import type { DisturbFigures, DisturbLanes, DisturbRepeat, NamedPhase } from '../data';
import { Bus } from '../pure/bus';
import { count, DASH, known, rate, timeText } from '../pure/format';
import { linear, timeTicks } from '../pure/ticks';
import { LEFT, linearAxis, log, logAxis, RIGHT } from '../chart/axes';
import { drawn, hatch, rect, segment, unclipped, within, words, type Api, type Box } from '../chart/shapes';
import { Strip, type Entry } from '../chart/strip';
import { token } from '../page/theme';
import { trialLink } from '../page/shell';
import { h } from '../page/dom';
import { phasesTable } from '../trial/phases';
import { errors, outages, servedBy } from './disturbLanes';
import { queue } from './queue';

/** Where a phase begins and ends, in seconds since clients began. */
const phase = (of: DisturbFigures, name: string): { from: number; to: number } | null => {
  const found = of.phases.find((one) => one.name === name);
  return found === undefined ? null : { from: found.from_us / 1e6, to: found.to_us / 1e6 };
};

/** A letter of a command's name is so many pixels wide, about. */
const LETTER = 6.5;

/** When the disturbance began. */
const began = (of: DisturbFigures): number => (phase(of, 'during') ?? phase(of, 'after'))?.from ?? 0;

/** What all plots of a page have in common: the clock, and the highest rate. */
export interface Scale {
  bus: Bus;
  highest: number;
}

/** Several targets are seen on one clock and one scale. */
export function scaleOf(all: DisturbLanes[]): Scale {
  const courses = all.map((of) => of.repeat.figures!.course);
  return {
    bus: new Bus({ from: 0, to: Math.max(5, ...courses.map((course) => (course.due.length * course.bin_us) / 1e6)) }),
    highest: Math.max(1, ...courses.map((course) => (Math.max(...course.due, ...course.served, ...course.commits) * 1e6) / course.bin_us)),
  };
}

/** Commands in seconds, with the beginning of the next one: there is room for a name until then. */
export function stretches(commands: NamedPhase[]): { name: string; from: number; to: number; room: number }[] {
  const inOrder = [...commands].sort((a, b) => a.from_us - b.from_us);
  return inOrder.map(({ name, from_us, to_us }, i) => ({
    name: name.split(' ')[0]!,
    from: from_us / 1e6,
    to: to_us / 1e6,
    room: inOrder[i + 1] === undefined ? Infinity : inOrder[i + 1]!.from_us / 1e6,
  }));
}

/** Narrower plots have their own labels of time (chart/strip.ts). */
const NARROW = 560 - LEFT - RIGHT;

/** Words above a plot stand in rows. */
const LABEL_ROW = 16;

/** One clock: what was due and served, errors, and clients without a commit. */
export function lanes({ repeat: of, of: repeats }: DisturbLanes, id: string, { bus, highest }: Scale): HTMLElement {
  const figures = of.figures!;
  const { course } = figures;
  const bin = course.bin_us / 1e6;
  const x = (i: number): number => (i + 0.5) * bin;
  const start = began(figures);
  const back = known(figures.back_us);
  const ticksOf = (box: Box): { at: number; label: string }[] => timeTicks(bus.range.from, bus.range.to, Math.max(2, Math.floor(box.width / 90)));
  const to = Math.max(start, phase(figures, 'during')?.to ?? start);
  // Several are seen one by one, each with its name as far as there is room.
  const several = of.commands.length > 1 ? stretches(of.commands) : [];
  const isSeen = (from: number, to: number): boolean => to >= bus.range.from && from <= bus.range.to;
  const green = back !== null && back > 0 ? start + back / 1e6 : null;
  const place = (api: Api, box: Box) => (s: number): number => within(api.coord([s, api.value(1)])[0], box);
  const behind = (): object =>
    drawn((api, box) => {
      const at = place(api, box);
      const bottom = box.y + box.height;
      const shapes = ticksOf(box).map((tick) => segment(at(tick.at), box.y, at(tick.at), bottom, token('line1')));
      if (isSeen(start, to)) {
        shapes.push(rect(at(start), box.y, Math.max(at(to), at(start) + 1.5), bottom, token('bad'), several.length > 0 ? 0.04 : 0.1));
        for (const { from, to } of several) if (isSeen(from, to)) shapes.push(rect(at(from), box.y, Math.max(at(to), at(from) + 1.5), bottom, token('bad'), 0.14));
        shapes.push(segment(at(start), box.y, at(start), bottom, token('bad'), 1.2));
      }
      if (green !== null && isSeen(green, green)) shapes.push(segment(at(green), box.y, at(green), bottom, token('ok'), 1.4, [4, 3]));
      return shapes;
    }, 0);
  // Beside the plot: within it lines go where they like.
  const labels = (): object =>
    unclipped((api, box) => {
      const at = place(api, box);
      // A narrow strip has an axis of its own.
      const ticks = box.width < NARROW ? [] : ticksOf(box).filter((tick) => at(tick.at) < box.x + box.width - 40);
      const shapes = ticks.map((tick) => words(at(tick.at) + 3, box.y + box.height + 5, tick.label, token('ink3'), { fontSize: 11 }));
      const row = box.y - LABEL_ROW;
      const end = box.x + box.width + RIGHT;
      if (isSeen(start, to)) {
        let taken = at(to);
        for (const { name, from, to, room } of several) {
          if (!isSeen(from, to) || at(room) - at(from) <= name.length * LETTER) continue;
          shapes.push(words(at(from) + 3, row, name, token('ink2'), { fontSize: 11 }));
          taken = Math.max(taken, at(from) + 3 + name.length * LETTER);
        }
        if (at(start) - 4 > 'before'.length * LETTER) shapes.push(words(at(start) - 4, row, 'before', token('ink3'), { align: 'right' }));
        if (taken + 4 + 'after'.length * LETTER < end) shapes.push(words(taken + 4, row, 'after', token('ink3')));
      }
      if (green !== null && isSeen(green, green)) {
        const isLast = at(green) + 4 + 'served again'.length * LETTER > end;
        shapes.push(words(at(green) + (isLast ? -4 : 4), row - LABEL_ROW, 'served again', token('ok'), { align: isLast ? 'right' : 'left' }));
      }
      return shapes;
    }, 6);
  const mean = (column: number[]) => (cursor: number | null): string => {
    if (cursor !== null) return rate((column[Math.floor(cursor / bin)] ?? 0) / bin);
    const { from, to } = bus.range;
    const inside = column.filter((_, i) => x(i) >= from && x(i) < to);
    return inside.length === 0 ? DASH : rate(inside.reduce((a, b) => a + b, 0) / (inside.length * bin));
  };
  const data = () => ({ head: ['start_s', 'due', 'served', 'commits', 'errors'], rows: course.due.map((due, i) => [i * bin, due, course.served[i]!, course.commits[i]!, course.errors[i]!]) });
  const line = (column: number[], color: string, more: object): object => ({ type: 'line', showSymbol: false, silent: true, clip: true, data: column.map((n, i) => [x(i), n / bin]), lineStyle: { color: token(color), width: 1.6, ...more } });
  const limit = known(figures.limit_us);
  const entries: Entry[] = [
    { key: 'due', name: () => 'Offered', mark: 'dashed', color: 'ink1', value: mean(course.due) },
    { key: 'served', name: () => (limit === null ? 'Committed at last' : `Served within ${timeText(limit)}`), mark: 'line', color: 'accent', value: mean(course.served) },
    { key: 'commits', name: () => 'Commits, by end time', mark: 'line', color: 'ok', value: mean(course.commits) },
  ];
  const rates = linear(highest, 4);
  const served = new Strip(
    {
      id: `${id}-served`,
      title: 'Offered and served',
      subtitle: () => 'transactions per second, by scheduled time',
      height: 170 + 2 * LABEL_ROW,
      entries,
      summary: () => `Of ${count(figures.due)} transactions that were due from the start of the disturbance on, ${figures.missed === null ? 'an unknown number' : count(figures.missed)} were not served.`,
      data,
      build: (_, hidden) => ({
        grid: { top: 6 + 2 * LABEL_ROW, bottom: 22 },
        yAxis: linearAxis(rates.min, rates.max, rates.step),
        series: [
          behind(),
          labels(),
          ...(hidden.has('served') ? [] : [{ ...line(course.served, 'accent', {}), areaStyle: { color: token('accent'), opacity: 0.1 }, z: 4 }]),
          ...(hidden.has('commits') ? [] : [{ ...line(course.commits, 'ok', { width: 1.1 }), z: 3 }]),
          ...(hidden.has('due') ? [] : [{ ...line(course.due, 'ink1', { width: 1.4, type: [4, 3] }), z: 5 }]),
        ],
      }),
    },
    bus,
  );
  return h(
    'div',
    {},
    h('p', { class: 'sub' }, repeats > 1 ? `Shown: repeat ${of.repeat} of ${repeats}, the one that missed most (` : 'Shown: ', trialLink(of.trial, `trial ${of.trial}`), repeats > 1 ? '). ' : '. ', 'Red: the commands run; green: served again.'),
    h('div', { class: 'strips' }, served.element, response(of, bus, behind(), id)?.element ?? null, errors(of, bus, behind(), id).element, servedBy(of, bus, behind(), id)?.element ?? null, outages(of, bus, behind(), id)?.element ?? null, queue(of, bus, behind(), id)?.element ?? null),
    figures.phases.length > 0 && h('div', {}, h('h4', {}, 'By phase'), phasesTable(figures.phases, `, trial ${of.trial}`)),
  );
}

/** Stretches of whole seconds in which nothing was committed, in seconds since clients began. */
export function withoutCommits(seconds: { start_us: number; max_us: number | null }[]): { from: number; to: number }[] {
  const gaps: { from: number; to: number }[] = [];
  for (const second of seconds.filter((one) => one.max_us === null)) {
    const from = second.start_us / 1e6;
    const last = gaps.at(-1);
    if (last !== undefined && Math.abs(last.to - from) < 0.01) last.to = from + 1;
    else gaps.push({ from, to: from + 1 });
  }
  return gaps;
}

/** Response times by second; where too few were committed there is no percentile, and the line breaks. */
function response(of: DisturbRepeat, bus: Bus, behind: object, id: string): Strip | null {
  const seconds = of.figures!.course.response;
  type Key = 'p50_us' | 'p95_us' | 'p99_us' | 'max_us';
  const kinds: [Key, string, string][] = [['p50_us', 'p50', 'p50'], ['p95_us', 'p95', 'p99'], ['p99_us', 'p99', 'p999']];
  const shown = kinds.filter(([key]) => seconds.some((s) => s[key] !== null));
  const all = seconds.flatMap((s) => [s.p50_us, s.max_us]).filter((v): v is number => v !== null && v > 0);
  if (all.length === 0) return null;
  const axis = logAxis(Math.min(...all), Math.max(...all));
  const worstOf = (key: Key) => (cursor: number | null): string => {
    const inside = seconds.filter((s) => (cursor === null ? s.start_us / 1e6 >= bus.range.from && s.start_us / 1e6 < bus.range.to : cursor >= s.start_us / 1e6 && cursor < s.start_us / 1e6 + 1));
    const values = inside.map((s) => s[key]).filter((v): v is number => v !== null);
    return values.length === 0 ? DASH : timeText(Math.max(...values));
  };
  const x = (s: { start_us: number }): number => s.start_us / 1e6 + 0.5;
  const max = Math.max(...all);
  return new Strip(
    {
      id: `${id}-response`,
      title: 'Response',
      subtitle: () => 'from the scheduled start, by second; log scale; in the legend the worst second',
      height: 150,
      entries: [...shown.map(([key, name, color]): Entry => ({ key, name: () => name, mark: 'line', color, value: worstOf(key) })), { key: 'max_us', name: () => 'Longest', mark: 'dots', color: 'ink2', value: worstOf('max_us') }],
      summary: () => `The longest response took ${timeText(max)}.`,
      data: () => ({ head: ['start_s', 'p50_us', 'p95_us', 'p99_us', 'max_us'], rows: seconds.map((s) => [s.start_us / 1e6, s.p50_us, s.p95_us, s.p99_us, s.max_us]) }),
      build: (_, hidden) => ({
        grid: {},
        yAxis: axis,
        series: [
          behind,
          drawn((api, box, shapes) => {
            for (const gap of withoutCommits(seconds)) {
              if (gap.to < bus.range.from || gap.from > bus.range.to) continue;
              const [left, right] = [within(api.coord([gap.from, 0])[0], box), within(api.coord([gap.to, 0])[0], box)];
              shapes.push(rect(left, box.y, right, box.y + box.height, hatch()));
              if (right - left > 80) shapes.push(words((left + right) / 2, box.y + box.height / 2 - 14, 'no commit,\nno percentile', token('ink2'), { align: 'center', lineHeight: 15, backgroundColor: token('bg'), padding: 4 }));
            }
          }, 1),
          ...shown.filter(([key]) => !hidden.has(key)).map(([key, , color]) => ({ type: 'line', showSymbol: false, silent: true, clip: true, connectNulls: false, data: seconds.map((s) => [x(s), s[key] === null ? null : log(s[key]!)]), lineStyle: { color: token(color), width: 1.6 }, z: 3 })),
          ...(hidden.has('max_us') ? [] : [{ type: 'scatter', symbolSize: 4, silent: true, clip: true, data: seconds.flatMap((s) => (s.max_us === null ? [] : [[x(s), log(s.max_us)]])), itemStyle: { color: token('ink2') }, z: 4 }]),
        ],
      }),
    },
    bus,
  );
}
