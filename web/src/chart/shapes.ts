/** Shapes drawn by hand on canvases: rectangles, bands, hatching, vertical lines. */

import type { Box } from '../pure/placing';
import type { Column } from '../pure/stack';
import { token } from '../page/theme';

export type { Box };

export interface Api {
  coord: (point: [number, number]) => [number, number];
  value: (dimension: number) => number;
}

export interface Params {
  coordSys: Box;
  dataIndex: number;
}

type Shape = Record<string, unknown>;
/** Gives shapes, or puts them into the list that it gets. */
type Draw = (api: Api, box: Box, shapes: Shape[]) => Shape[] | void;

/** A custom series of one item that draws whatever it likes. */
export function drawn(draw: Draw, z: number, axes: { xAxisIndex?: number; yAxisIndex?: number } = {}): Shape {
  return {
    type: 'custom',
    ...axes,
    z,
    silent: true,
    clip: true,
    animation: false,
    // One point in the middle of nowhere: only that there be an item.
    data: [[0, 0]],
    renderItem: (params: Params, api: Api) => ({
      type: 'group',
      // An empty group would keep the children it had.
      $mergeChildren: false,
      children: children(draw, api, params.coordSys),
    }),
  };
}

function children(draw: Draw, api: Api, box: Box): Shape[] {
  const shapes: Shape[] = [];
  return draw(api, box, shapes) ?? shapes;
}

/** The same, where something is beyond the edges of the axes. */
export const unclipped = (draw: Draw, z: number, axes: { xAxisIndex?: number; yAxisIndex?: number } = {}): Shape => ({ ...drawn(draw, z, axes), clip: false });

export function rect(x0: number, y0: number, x1: number, y1: number, fill: unknown, opacity = 1): Shape {
  return {
    type: 'rect',
    shape: { x: Math.min(x0, x1), y: Math.min(y0, y1), width: Math.abs(x1 - x0), height: Math.abs(y1 - y0) },
    style: { fill, opacity },
    silent: true,
  };
}

export function segment(x0: number, y0: number, x1: number, y1: number, stroke: string, width = 1, dash?: number[]): Shape {
  return { type: 'line', shape: { x1: x0, y1: y0, x2: x1, y2: y1 }, style: { stroke, lineWidth: width, lineDash: dash, fill: 'none' }, silent: true };
}

export const FONT = '-apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", Arial, system-ui, sans-serif';

export function words(x: number, y: number, text: string, fill: string, more: Shape = {}): Shape {
  return { type: 'text', style: { x, y, text, fill, fontSize: 11.5, fontFamily: FONT, ...more }, silent: true };
}

/** Layers above each other over time, with a style each: areas that end where nothing is known. Values are divided by `unit`. */
export function areas(columns: Column[], styles: Shape[], api: Api, box: Box, unit = 1): Shape[] {
  const shapes: Shape[] = [];
  const stretch = (part: Column[]): void => {
    const x = part.map((column) => within(api.coord([(column.from + column.to) / 2, 0])[0], box));
    let base = part.map(() => 0);
    styles.forEach((style, i) => {
      const top = part.map((column, k) => base[k]! + (column.values[i] ?? 0) / unit);
      const points = [...top.map((value, k) => [x[k]!, api.coord([0, value])[1]]), ...base.map((value, k) => [x[k]!, api.coord([0, value])[1]]).reverse()];
      base = top;
      shapes.push({ type: 'polygon', shape: { points }, style, silent: true });
    });
  };
  let begin = 0;
  columns.forEach((column, end) => {
    if (column.values.some((value) => value !== null)) return;
    if (end > begin) stretch(columns.slice(begin, end));
    begin = end + 1;
  });
  if (begin < columns.length) stretch(columns.slice(begin));
  return shapes;
}

/** Columns of parts above each other, with a colour each; whatever there is can be seen, be it one. */
export function stacked(columns: Column[], parts: { color: string; opacity?: number }[], api: Api, box: Box): Shape[] {
  return columns.flatMap((column) => {
    const [x0, x1] = [column.from, column.to].map((at) => within(api.coord([at, 0])[0], box)) as [number, number];
    const gap = x1 - x0 > 3 ? 0.8 : 0;
    let below = 0;
    return column.values.flatMap((n, i) => {
      if (n === null || n === 0) return [];
      const y0 = api.coord([column.from, below])[1];
      below += n;
      const y1 = api.coord([column.from, below])[1];
      return [rect(x0, Math.min(y1, y0 - 1), Math.max(x1 - gap, x0 + 1), y0, token(parts[i]!.color), parts[i]!.opacity ?? 1)];
    });
  });
}

/** A line without marks. */
export const lineSeries = (data: unknown[], style: Shape, more: Shape = {}): Shape => ({ type: 'line', showSymbol: false, silent: true, clip: true, data, lineStyle: style, ...more });

/** Between the edges of a box. */
export const within = (x: number, box: Box): number => Math.max(box.x, Math.min(x, box.x + box.width));

const patterns = new Map<string, HTMLCanvasElement>();

/** Slanted hairlines: nothing is known here. */
export function hatch(): Shape {
  const color = token('line2');
  let tile = patterns.get(color);
  if (tile === undefined) {
    tile = document.createElement('canvas');
    tile.width = 8;
    tile.height = 8;
    const context = tile.getContext('2d')!;
    context.strokeStyle = color;
    context.lineWidth = 1;
    for (const shift of [-8, 0, 8]) {
      context.beginPath();
      context.moveTo(shift, 8);
      context.lineTo(shift + 8, 0);
      context.stroke();
    }
    patterns.set(color, tile);
  }
  return { image: tile, repeat: 'repeat' };
}
