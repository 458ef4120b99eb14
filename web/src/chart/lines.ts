/**
 * Lines over equally spaced places (or a number axis): marks with whiskers, the repeats beside them,
 * names at the ends pushed apart.
 */

import { h } from '../page/dom';
import { token } from '../page/theme';
import { pushApart } from '../pure/labels';
import { linear, linearLabel } from '../pure/ticks';
import { linearAxis, logAxis, named } from './axes';
import { textWidth } from './drawing';
import { figure, type Data } from './figure';
import { Plot } from './plot';
import { drawn, rect, segment, unclipped, words, type Api, type Box } from './shapes';

export interface Place {
  /** On the x axis: an index of `places`, or a number. */
  x: number;
  y: number;
  low?: number | null;
  high?: number | null;
  /** Of each repeat. */
  dots?: number[];
  /** Of these, flagged. */
  flagged?: number[];
  /** What it is, in words, when pointed at. */
  words: string;
  label?: string;
  go?: () => void;
}

export interface Line {
  name: string;
  color: string;
  symbol: string;
  opacity?: number;
  places: Place[];
}

export interface LinesSpec {
  id: string;
  title: string;
  subtitle: string;
  /** 360 without it. */
  height?: number;
  lines: Line[];
  /** Names of the places, a second line below each; without them x is a number axis from 0. */
  places?: { name: string; below?: string }[];
  xName?: string;
  xFormat?: (x: number) => string;
  /** µs on whole decades, else linear from 0. */
  log: boolean;
  yFormat?: (y: number) => string;
  limit?: { y: number; name: string };
  verticals?: { x: number; name: string }[];
  zones?: { from: number; to: number; name: string; tint: boolean }[];
  /** Places joined in the order given even on a number axis. */
  data: () => Data;
  summary: () => string;
  endNames?: boolean;
}

export function linesChart(spec: LinesSpec): HTMLElement {
  const all = spec.lines.flatMap((line) => line.places);
  const highs = all.flatMap((place) => [place.y, place.high ?? 0, ...(place.dots ?? [])]).concat(spec.limit?.y ?? 0);
  const lows = all.flatMap((place) => [place.y, place.low ?? place.y, ...(place.dots ?? [])]).filter((v) => v > 0);
  const high = Math.max(...highs, 1e-9);
  const low = Math.min(...lows, spec.limit?.y ?? Infinity, high);
  const y = (value: number): number => (spec.log ? Math.log10(Math.max(value, 1e-3)) : value);
  const ticks = linear(high, 5);
  const { places, height = 360 } = spec;
  const xs = all.map((place) => place.x);
  const xAxisOf = linear(Math.max(...xs, 1e-9), 5);
  const several = spec.endNames !== false && spec.lines.length > 1;
  const wide = several ? Math.max(...spec.lines.map((line) => textWidth(line.name, 11.5, 600))) + 33 : 0;
  const readout = h('p', { class: 'readout', 'aria-live': 'polite' });
  let chosen: Place | null = null;
  /** Of the axis, in pixels. */
  const stretch = (zone: { from: number; to: number }, api: Api, box: Box): [number, number] => [Math.max(box.x, api.coord([zone.from, 0])[0]), Math.min(box.x + box.width, api.coord([zone.to, 0])[0])];
  const plot = new Plot({
    height,
    build: ({ width }) => {
      const narrow = width < 430;
      // Where names would take too much of the width, the legend above says them.
      const ends = several && wide <= width * 0.36 && spec.lines.length * 16 <= height - 60;
      const right = ends ? wide : 20;
      const series: object[] = [];
      series.push(
        drawn((api, box, shapes) => {
          const bottom = box.y + box.height;
          for (const zone of spec.zones ?? []) {
            const [x0, x1] = stretch(zone, api, box);
            if (x1 <= x0) continue;
            if (zone.tint) shapes.push(rect(x0, box.y, x1, bottom, token('tint2'), 0.6));
            shapes.push(segment(x1, box.y, x1, bottom, token('line2'), 1, [3, 3]));
          }
          if (places !== undefined) for (let i = 0; i < places.length; i += 1) shapes.push(segment(api.coord([i, 0])[0], box.y, api.coord([i, 0])[0], bottom, token('line1')));
          (spec.verticals ?? []).forEach(({ x, name }, i) => {
            const at = api.coord([x, 0])[0];
            shapes.push(segment(at, box.y, at, bottom, token('ink2'), 1.2, [4, 3]));
            const flip = at > box.x + box.width - 110;
            shapes.push(words(flip ? at - 5 : at + 5, box.y + 3 + (i % 3) * 15, name, token('ink2'), { align: flip ? 'right' : 'left' }));
          });
          if (spec.limit !== undefined) {
            const at = api.coord([0, y(spec.limit.y)])[1];
            shapes.push(segment(box.x, at, box.x + box.width, at, token('ink2'), 1.2, [5, 4]));
            shapes.push(words(box.x + 4, at - 15, spec.limit.name, token('ink2')));
          }
        }, 1),
      );
      spec.lines.forEach((line, i) => {
        const color = token(line.color);
        series.push({ type: 'line', showSymbol: false, silent: true, data: line.places.map((place) => [place.x, y(place.y)]), lineStyle: { color, width: 1.7, opacity: line.opacity ?? 1 }, z: 3 + i * 0.01 });
        series.push({ type: 'scatter', silent: true, symbol: line.symbol, symbolSize: (_: unknown, params: { dataIndex: number }) => (line.places[params.dataIndex] === chosen ? 13 : 8.5), data: line.places.map((place) => [place.x, y(place.y)]), itemStyle: { color, opacity: line.opacity ?? 1 }, z: 5 });
      });
      series.push(
        unclipped((api, box, shapes) => {
          // Above the plot, where no line goes.
          for (const zone of spec.zones ?? []) {
            const [x0, x1] = stretch(zone, api, box);
            if (x1 <= x0) continue;
            const short = zone.name.length * 6 > x1 - x0 - 8 ? zone.name.split(' (')[0]! : zone.name;
            shapes.push(words(x0 + 2, box.y - 17, short, token('ink2'), { width: x1 - x0 - 4, overflow: 'truncate' }));
          }
          spec.lines.forEach((line, nth) => {
            const color = token(line.color);
            // Repeats stand beside their mark, those of each line in a lane of their own.
            const beside = places === undefined ? 0 : 9 + (nth % 4) * 3;
            for (const [i, place] of line.places.entries()) {
              const [x] = api.coord([place.x, 0]);
              // A line that comes down to a mark, or goes up from it, passes above it: its label is below.
              const above = Math.max(line.places[i - 1]?.y ?? 0, line.places[i + 1]?.y ?? 0) <= place.y;
              if (place.low !== undefined && place.low !== null && place.high !== undefined && place.high !== null) {
                const [y0, y1] = [api.coord([0, y(place.low)])[1], api.coord([0, y(place.high)])[1]];
                shapes.push(segment(x, y0, x, y1, color, 1.4), segment(x - 4, y0, x + 4, y0, color, 1.4), segment(x - 4, y1, x + 4, y1, color, 1.4));
              }
              for (const dot of place.dots ?? []) {
                const at = api.coord([0, y(dot)])[1];
                shapes.push({ type: 'circle', shape: { cx: x + beside, cy: at, r: 1.7 }, style: { fill: color, opacity: 0.85 }, silent: true });
                if (place.flagged?.includes(dot) === true) shapes.push({ type: 'circle', shape: { cx: x + beside, cy: at, r: 5.5 }, style: { fill: 'none', stroke: token('bad'), lineWidth: 1.5 }, silent: true });
              }
              if (place.label !== undefined) shapes.push(words(x, api.coord([0, y(place.y)])[1] + (above ? -19 : 9), place.label, token('ink2'), { align: 'center', fontSize: 11 }));
            }
          });
          if (ends) {
            const last = spec.lines.map((line) => line.places[line.places.length - 1]);
            const there = spec.lines.map((line, i) => ({ line, place: last[i] })).filter((of): of is { line: Line; place: Place } => of.place !== undefined);
            const wanted = there.map(({ place }) => api.coord([0, y(place.y)])[1]);
            const edge = box.x + box.width + (places === undefined ? 2 : 4);
            const placed = pushApart(wanted, 16, box.y + 4, box.y + box.height - 4);
            there.forEach(({ line, place }, i) => {
              const x0 = api.coord([place.x, 0])[0] + (places === undefined ? 8 : 24);
              shapes.push(segment(Math.min(x0, edge), wanted[i]!, edge, placed[i]!, token('line2')));
              shapes.push(words(edge + 3, placed[i]! - 6, line.name, token('ink1'), { fontWeight: 600 }));
            });
          }
        }, 6),
      );
      const label = { color: token('ink3'), fontSize: 11.5, lineHeight: 15, hideOverlap: true };
      const xAxis =
        places === undefined
          ? { ...linearAxis(0, xAxisOf.max, xAxisOf.step), axisLabel: { ...label, formatter: (v: number) => spec.xFormat?.(v) ?? linearLabel(v, xAxisOf.step) }, axisLine: { show: true, onZero: false, lineStyle: { color: token('line2') } }, ...(spec.xName !== undefined ? named(spec.xName, 26) : {}) }
          : {
              ...linearAxis(-0.5, places.length - 0.5, 1),
              splitLine: { show: false },
              axisLine: { show: true, onZero: false, lineStyle: { color: token('line2') } },
              axisLabel: { ...label, customValues: places.map((_, i) => i), formatter: (v: number) => {
                const place = places[Math.round(v)];
                return place === undefined ? '' : place.below === undefined || narrow ? place.name : `${place.name}\n${place.below}`;
              } },
              ...(spec.xName !== undefined ? named(spec.xName, places.some((p) => p.below !== undefined) && !narrow ? 40 : 26) : {}),
            };
      const format = spec.yFormat;
      const yAxis = spec.log
        ? logAxis(low, high, format === undefined ? {} : { axisLabel: { ...label, formatter: (v: number) => (Math.abs(v - Math.round(v)) < 1e-6 ? format(10 ** v) : '') } })
        : { ...linearAxis(0, ticks.max, ticks.step), ...(format === undefined ? {} : { axisLabel: { ...label, formatter: format } }) };
      return { grid: { left: 62, right, top: (spec.zones ?? []).length > 0 ? 26 : 14, bottom: spec.xName === undefined ? 30 : places?.some((p) => p.below !== undefined) === true ? 58 : 44 }, xAxis, yAxis, series };
    },
  });
  const { id, title, subtitle, summary, data } = spec;
  const element = figure({ id, title, subtitle, summary, data }, plot, readout);
  const group = element.querySelector<HTMLElement>('.plot')!;
  const choose = (place: Place | null): void => {
    if (place === chosen) return;
    chosen = place;
    readout.textContent = place?.words ?? '';
    plot.redraw();
  };
  group.addEventListener('pointermove', (event) => {
    const box = group.getBoundingClientRect();
    let near: Place | null = null;
    let least = 24 ** 2;
    for (const place of all) {
      const at = plot.pixel([place.x, y(place.y)]);
      if (at === null) continue;
      const far = (at[0] - event.clientX + box.left) ** 2 + (at[1] - event.clientY + box.top) ** 2;
      if (far < least) [near, least] = [place, far];
    }
    group.style.cursor = near?.go === undefined ? '' : 'pointer';
    choose(near);
  });
  group.addEventListener('pointerleave', () => choose(null));
  group.addEventListener('click', () => chosen?.go?.());
  group.addEventListener('keydown', (event) => {
    const at = chosen === null ? -1 : all.indexOf(chosen);
    if (event.key === 'ArrowRight') choose(all[Math.min(all.length - 1, at + 1)] ?? null);
    else if (event.key === 'ArrowLeft') choose(all[Math.max(0, at - 1)] ?? null);
    else if (event.key === 'Home') choose(all[0] ?? null);
    else if (event.key === 'End') choose(all[all.length - 1] ?? null);
    else if (event.key === 'Enter') chosen?.go?.();
    else if (event.key === 'Escape') choose(null);
    else return;
    event.preventDefault();
  });
  return element;
}
