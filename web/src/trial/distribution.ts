/** The latency distribution: the percentile curve with its table. */

import type { Histogram, TrialData } from '../data';
import { columnUnit, count, inUnit, percentileName, timeText } from '../pure/format';
import { BEYOND, curve, curveAt, known, needed, percentile, slower, total, type CurvePoint } from '../pure/histogram';
import { log, logAxis } from '../chart/axes';
import { absent, figure } from '../chart/figure';
import { followCurve, percentileAt, percentileAxis, percentileLines } from '../chart/percentiles';
import { Plot } from '../chart/plot';
import { drawn, segment, words } from '../chart/shapes';
import { captioned, h } from '../page/dom';
import { section, type Section } from '../page/shell';
import { figureTable, num } from '../page/table';
import { token } from '../page/theme';

const HINT = 'Move along the curve to read a percentile.';
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
  return section('latency', 'Latency', 'Latency distribution', lead, null, h('div', { class: 'two-columns wide-left' }, chart(main, response === undefined ? null : service, what), percentiles(main, response === undefined ? null : service, all, count_, what)));
}

function chart(main: Histogram, second: Histogram | null, what: string): HTMLElement {
  const first = curve(main);
  const other = second === null ? null : curve(second);
  const end = first.end ?? other?.end ?? null;
  if (end === null) {
    return absent('Not drawn', `${count(total(main))} transactions; a curve takes ${BEYOND * 2}.`);
  }
  const max_us = Math.max(main.max_us ?? 0, second?.max_us ?? 0, end.us);
  const low = Math.min(first.points[0]!.us, other?.points[0]?.us ?? Infinity);
  const xMax = Math.max(1, end.x + Math.max(0.5, end.x * 0.2));
  const readout = h('p', { class: 'readout', 'aria-live': 'polite' }, HINT);
  let cursor: number | null = null;
  const plot = new Plot({
    height: 330,
    build: () => {
      const series: object[] = [
        drawn((api, box) => {
          const bottom = box.y + box.height;
          const shapes = percentileLines(xMax, cursor, api, box);
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
      return { grid: { left: 62, right: 20, top: 26, bottom: 42 }, xAxis: percentileAxis(xMax), yAxis: logAxis(low, max_us * 1.05), series };
    },
  });
  const element = figure(
    {
      title: 'Percentile curve',
      subtitle: 'log latency over log nines',
      summary: () => `${what}: ${TABLE.filter((p) => known(total(main), p)).map((p) => `${percentileName(p)} ${timeText(percentile(main, p))}`).join(', ')}, worst ${timeText(main.max_us)}. Arrows move along the curve.`,
      data: () => ({
        head: ['percentile', `${what.toLowerCase().replace(' time', '')}_us`, ...(other === null ? [] : ['service_us'])],
        rows: first.points.map((point) => [Number((point.p * 100).toFixed(6)), point.us, ...(other === null ? [] : [curveAt(other.points, point.x)])]),
      }),
      caption: `${what}${other === null ? '' : ' and service time'}, ${count(total(main))} transactions`,
    },
    plot,
    readout,
  );
  followCurve(element, plot, end.x, (nines) => {
    cursor = nines;
    const at = (points: CurvePoint[]): string => timeText(curveAt(points, Math.min(nines!, points[points.length - 1]?.x ?? 0)));
    readout.textContent = nines === null ? HINT : `${percentileAt(nines)}: ${what.toLowerCase()} ${at(first.points)}${other === null ? '' : `, service ${at(other.points)}`}`;
  });
  return element;
}

function percentiles(main: Histogram, second: Histogram | null, all: number, allService: number, what: string): HTMLElement {
  const shown = TABLE.filter((p) => known(all, p));
  const next = TABLE.find((p) => !known(all, p));
  const unit = columnUnit([percentile(main, 0.5), percentile(main, 0.99), main.max_us]);
  const service = (p: number): string => (second === null ? '' : known(allService, p) ? inUnit(percentile(second, p), unit) : '–');
  const beyond = next === undefined ? 0 : Math.floor(all * (1 - next) + 1e-6);
  return captioned(
    'Merged from every second of the run, 3 digits.',
    figureTable('Percentiles: rows', ['Percentile', num(what, unit.unit), second !== null && num('Service', unit.unit), num('Slower')], [
      ...shown.map((p) => [percentileName(p), inUnit(percentile(main, p), unit), service(p), count(slower(all, p))]),
      ['Worst', inUnit(main.max_us, unit), inUnit(second?.max_us, unit), '0'],
      next !== undefined && h('tr', { class: 'withheld' }, h('th', { scope: 'row' }, percentileName(next)), h('td', { colspan: second === null ? 2 : 3 }, `not shown: ${count(beyond)} ${beyond === 1 ? 'sample' : 'samples'} beyond it, ${BEYOND} needed (${count(needed(next))} in all)`)),
    ]),
  );
}
