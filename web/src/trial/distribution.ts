/** The latency distribution: the percentile curve with its table. */

import type { Histogram, TrialData } from '../data';
import { columnUnit, count, inUnit, oneIn, percentileName, timeText } from '../pure/format';
import { BEYOND, curve, curveAt, known, needed, percentile, slower, total, type CurvePoint } from '../pure/histogram';
import { percentileTicks } from '../pure/ticks';
import { linearAxis, log, logAxis } from '../chart/axes';
import { figure } from '../chart/figure';
import { Plot } from '../chart/plot';
import { drawn, segment, words } from '../chart/shapes';
import { h, scroll } from '../page/dom';
import { section, type Section } from '../page/shell';
import { token } from '../page/theme';

const TABLE = [0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999, 0.999999];

/** Points of a curve thinned for drawing: steps stay steps. */
const path = (points: CurvePoint[]): [number, number | null][] => points.map((point) => [point.x, log(point.us)]);

export function distribution(data: TrialData): Section | null {
  const { service, response } = data.histograms;
  const main: Histogram = response ?? service;
  const all = total(main);
  if (all === 0) return null;
  const count_ = total(service);
  const what = response === undefined ? 'Service time' : 'Response';
  const lead =
    response === undefined
      ? `${count(all)} transactions. Service time counts from the start of a transaction’s first try to its end.`
      : `${count(all)} transactions. Response time counts from the moment a transaction was due, service time from the start of its first try: the space between is time spent waiting for a free client.`;
  return {
    id: 'latency',
    link: 'Latency',
    element: section('latency', 'Latency distribution', lead, null, h('div', { class: 'two-columns wide-left' }, chart(main, response === undefined ? null : service, what), percentiles(main, response === undefined ? null : service, all, count_, what))),
  };
}

function chart(main: Histogram, second: Histogram | null, what: string): HTMLElement {
  const first = curve(main);
  const other = second === null ? null : curve(second);
  const end = first.end ?? other?.end ?? null;
  if (end === null) {
    return h('div', { class: 'absent' }, h('p', {}, h('strong', {}, 'Not drawn: '), `${count(total(main))} transactions; a curve takes ${BEYOND * 2}.`));
  }
  const max_us = Math.max(main.max_us ?? 0, second?.max_us ?? 0, end.us);
  const low = Math.min(first.points[0]!.us, other?.points[0]?.us ?? Infinity);
  const xMax = Math.max(1, end.x + Math.max(0.5, end.x * 0.2));
  const readout = h('p', { class: 'readout', 'aria-live': 'polite' }, 'Move along the curve to read a percentile.');
  let cursor: number | null = null;
  const plot = new Plot({
    height: 330,
    build: () => {
      const ticks = percentileTicks(xMax);
      const series: object[] = [
        drawn((api, box) => {
          const bottom = box.y + box.height;
          const shapes = ticks.map((tick) => segment(api.coord([tick.x, 0])[0], box.y, api.coord([tick.x, 0])[0], bottom, token('line1')));
          if (other !== null && other.points.length > 1) {
            // The space between the curves.
            const upper = first.points.map((p) => api.coord([p.x, log(p.us)!]));
            const lower = other.points.map((p) => api.coord([p.x, log(p.us)!])).reverse();
            shapes.push({ type: 'polygon', shape: { points: [...upper, ...lower] }, style: { fill: token('accent'), opacity: 0.09 }, silent: true });
          }
          const x = api.coord([end.x, 0])[0];
          shapes.push(segment(x, box.y, x, bottom, token('line2'), 1, [3, 3]));
          const room = box.x + box.width - x > 80;
          shapes.push(words(room ? x + 6 : x - 6, bottom - 34, `fewer than\n${BEYOND} beyond`, token('ink3'), { lineHeight: 15, align: room ? 'left' : 'right' }));
          const right = x > box.x + box.width - 110;
          shapes.push(words(right ? box.x + box.width : x, api.coord([0, log(Math.max(max_us, 1))!])[1] - 18, `${timeText(main.max_us)} worst`, token('ink2'), { align: right ? 'right' : 'center' }));
          if (cursor !== null) {
            const at = api.coord([cursor, 0])[0];
            shapes.push(segment(at, box.y, at, bottom, token('ink2'), 1));
          }
          return shapes;
        }, 1),
      ];
      if (other !== null) series.push({ type: 'line', showSymbol: false, silent: true, data: path(other.points), lineStyle: { color: token('service'), width: 1.6, type: [5, 3] }, z: 3 });
      series.push({ type: 'line', showSymbol: false, silent: true, data: path(first.points), lineStyle: { color: token('accent'), width: 2.6 }, z: 4 });
      series.push({ type: 'scatter', silent: true, symbolSize: 8, data: [[end.x, log(end.us)]], itemStyle: { color: token('bg'), borderColor: token('ink1'), borderWidth: 1.5 }, z: 5 });
      // Names at the lines, where they are farthest apart.
      const place = (points: CurvePoint[], share: number): [number, number] | null => {
        const x = end.x * share;
        const us = curveAt(points, x);
        return us === null ? null : [x, log(us)!];
      };
      const name = (at: [number, number] | null, text: string, color: string, above: boolean): void => {
        if (at === null) return;
        series.push(
          drawn((api) => {
            const [x, y] = api.coord(at);
            return [words(x, above ? y - 20 : y + 8, text, color, { fontWeight: 600, align: above ? 'right' : 'left' })];
          }, 6),
        );
      };
      name(place(first.points, other === null ? 0.5 : 0.55), what, token('accent'), true);
      if (other !== null) name(place(other.points, 0.62), 'Service', token('service'), false);
      const axis = {
        ...linearAxis(0, xMax, xMax),
        axisLabel: {
          color: token('ink3'),
          fontSize: 11.5,
          lineHeight: 15,
          customValues: ticks.map((tick) => tick.x),
          formatter: (x: number) => {
            const tick = ticks.find((t) => Math.abs(t.x - x) < 1e-6);
            return tick === undefined ? '' : `${tick.label}\n${oneIn(tick.p)}`;
          },
          hideOverlap: true,
        },
        splitLine: { show: false },
        axisLine: { show: true, onZero: false, lineStyle: { color: token('line2') } },
      };
      return { grid: { left: 62, right: 20, top: 26, bottom: 42 }, xAxis: axis, yAxis: logAxis(low, max_us * 1.05), series };
    },
  });
  const say = (): void => {
    if (cursor === null) {
      readout.textContent = 'Move along the curve to read a percentile.';
      return;
    }
    const p = 1 - 10 ** -cursor;
    const at = (points: CurvePoint[]): string => timeText(curveAt(points, Math.min(cursor!, points[points.length - 1]?.x ?? 0)));
    const digits = Math.max(1, Math.ceil(cursor) - 0);
    readout.textContent = `p${(p * 100).toFixed(Math.max(0, digits - 1))} (${oneIn(p)}): ${what.toLowerCase()} ${at(first.points)}${other === null ? '' : `, service ${at(other.points)}`}`;
  };
  const move = (x: number | null): void => {
    cursor = x === null ? null : Math.max(0, Math.min(x, end.x));
    say();
    plot.redraw();
  };
  const element = figure(
    {
      title: 'Percentile curve',
      subtitle: 'log latency over log nines',
      summary: () => `${what}: ${TABLE.filter((p) => known(total(main), p)).map((p) => `${percentileName(p)} ${timeText(percentile(main, p))}`).join(', ')}, worst ${timeText(main.max_us)}. Arrows move along the curve.`,
      data: () => ({
        head: ['percentile', `${what.toLowerCase().replace(' time', '')}_us`, ...(other === null ? [] : ['service_us'])],
        rows: first.points.map((point) => [Number((point.p * 100).toFixed(6)), point.us, ...(other === null ? [] : [curveAt(other.points, point.x)])]),
      }),
      png: (name) => plot.png(name, 'Percentile curve', `${what}${other === null ? '' : ' and service time'}, ${count(total(main))} transactions`),
    },
    plot.element,
    readout,
  );
  const group = element.querySelector<HTMLElement>('.plot')!;
  group.addEventListener('pointermove', (event) => {
    const box = group.getBoundingClientRect();
    move(plot.value([event.clientX - box.left, event.clientY - box.top])?.[0] ?? null);
  });
  group.addEventListener('pointerleave', () => move(null));
  group.addEventListener('keydown', (event) => {
    const by = event.shiftKey ? 0.5 : 0.05;
    if (event.key === 'ArrowRight') move((cursor ?? 0.3) + by);
    else if (event.key === 'ArrowLeft') move((cursor ?? 0.3) - by);
    else if (event.key === 'Home') move(0);
    else if (event.key === 'End') move(end.x);
    else if (event.key === 'Escape') move(null);
    else return;
    event.preventDefault();
  });
  return element;
}

function percentiles(main: Histogram, second: Histogram | null, all: number, allService: number, what: string): HTMLElement {
  const shown = TABLE.filter((p) => known(all, p));
  const next = TABLE.find((p) => !known(all, p));
  const unit = columnUnit([percentile(main, 0.5), percentile(main, 0.99), main.max_us]);
  const head = (text: string): HTMLElement => h('th', { scope: 'col', class: 'n' }, text, h('span', { class: 'unit' }, ` ${unit.unit}`));
  const row = (name: string, ...cells: string[]): HTMLElement => h('tr', {}, h('th', { scope: 'row' }, name), ...cells.map((cell) => h('td', { class: 'n' }, cell)));
  const service = (p: number): string => (second === null ? '' : known(allService, p) ? inUnit(percentile(second, p), unit) : '–');
  const beyond = next === undefined ? 0 : Math.floor(all * (1 - next) + 1e-6);
  return h(
    'div',
    {},
    h('p', { class: 'sub' }, 'Merged from every second of the run, 3 digits.'),
    scroll(
      'Percentiles: rows',
      h(
        'table',
        { class: 'figures' },
        h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'Percentile'), head(what), second !== null && head('Service'), h('th', { scope: 'col', class: 'n' }, 'Slower'))),
        h(
          'tbody',
          {},
          ...shown.map((p) => row(percentileName(p), inUnit(percentile(main, p), unit), ...(second === null ? [] : [service(p)]), count(slower(all, p)))),
          row('Worst', inUnit(main.max_us, unit), ...(second === null ? [] : [inUnit(second.max_us, unit)]), '0'),
          next !== undefined &&
            h('tr', { class: 'withheld' }, h('th', { scope: 'row' }, percentileName(next)), h('td', { colspan: second === null ? 2 : 3 }, `not shown: ${count(beyond)} ${beyond === 1 ? 'sample' : 'samples'} beyond it, ${BEYOND} needed (${count(needed(next))} in all)`)),
        ),
      ),
    ),
  );
}
