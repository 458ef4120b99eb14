/** Shapes drawn by hand on canvases: rectangles, bands, hatching, vertical lines. */

import { token } from '../page/theme';

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Api {
  coord: (point: [number, number]) => [number, number];
  value: (dimension: number) => number;
}

export interface Params {
  coordSys: Box;
  dataIndex: number;
}

type Shape = Record<string, unknown>;
type Draw = (api: Api, box: Box) => Shape[];

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
      children: draw(api, params.coordSys),
    }),
  };
}

/** The same, where something stands beyond the edges of the axes. */
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
