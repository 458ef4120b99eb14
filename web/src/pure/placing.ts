/** Words beside marks: where nothing else is. */

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Whether two boxes share more than an edge. */
export const overlap = (a: Box, b: Box): boolean => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

const shared = (a: Box, b: Box): number => Math.max(0, Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x)) * Math.max(0, Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y));

/** A slanted line as small boxes along it. */
export function along(x0: number, y0: number, x1: number, y1: number, half = 2): Box[] {
  const steps = Math.max(1, Math.ceil(Math.max(Math.abs(x1 - x0), Math.abs(y1 - y0)) / (2 * half)));
  return Array.from({ length: steps + 1 }, (_, i) => ({ x: x0 + ((x1 - x0) * i) / steps - half, y: y0 + ((y1 - y0) * i) / steps - half, width: 2 * half, height: 2 * half }));
}

/**
 * The first of the wanted boxes that lies within the frame and on nothing that is there already; of none that
 * does, the one that covers least. What is placed is there for the next.
 */
export function place(wanted: Box[], there: Box[], frame: Box): Box {
  const inside = ({ x, y, width, height }: Box): Box => ({ x: Math.max(frame.x, Math.min(x, frame.x + frame.width - width)), y: Math.max(frame.y, Math.min(y, frame.y + frame.height - height)), width, height });
  const moved = wanted.map(inside);
  const cost = (box: Box): number => there.reduce((sum, other) => sum + shared(box, other), 0);
  const best = moved.reduce((a, b) => (cost(a) === 0 || cost(a) <= cost(b) ? a : b));
  there.push(best);
  return best;
}
