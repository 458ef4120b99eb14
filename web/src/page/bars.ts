/** Small drawings within tables: bars, ranges on a log axis, sparklines. */

import { svg } from './dom';

/** A bar of a share of the widest. */
export function bar(share: number, color: string, width = 140): SVGElement {
  const full = Math.max(0, Math.min(1, share)) * width;
  return svg(
    'svg',
    { class: 'bar', width, height: 12, viewBox: `0 0 ${width} 12`, preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    svg('rect', { x: 0, y: 1, width, height: 10, fill: 'var(--tint)' }),
    // Whatever is there can be seen.
    share > 0 && svg('rect', { x: 0, y: 1, width: Math.max(1, full), height: 10, fill: `var(--${color})` }),
  );
}

/** p50 to p99 as a bar, the worst as a tick, on a log axis of whole decades. */
export function logRange(p50: number | null, p99: number | null, worst: number | null, low: number, high: number, width = 170): SVGElement {
  const x = (us: number): number => ((Math.log10(Math.max(us, low)) - Math.log10(low)) / (Math.log10(high) - Math.log10(low))) * width;
  const decades = Math.round(Math.log10(high / low));
  const lines = Array.from({ length: decades + 1 }, (_, i) => svg('line', { x1: (i / decades) * width, x2: (i / decades) * width, y1: 1, y2: 13, stroke: 'var(--line1)' }));
  const from = p50 ?? p99 ?? worst;
  const shapes = [...lines];
  if (from !== null && worst !== null) shapes.push(svg('line', { x1: x(from), x2: x(worst), y1: 7, y2: 7, stroke: 'var(--line2)', 'stroke-width': 1.5 }));
  if (p50 !== null && p99 !== null) shapes.push(svg('rect', { x: x(p50), y: 3.5, width: Math.max(2, x(p99) - x(p50)), height: 7, fill: 'var(--p50)' }));
  if (worst !== null) shapes.push(svg('line', { x1: x(worst), x2: x(worst), y1: 2.5, y2: 11.5, stroke: 'var(--ink3)', 'stroke-width': 2 }));
  return svg('svg', { class: 'log-range', width: width + 2, height: 14, viewBox: `-1 0 ${width + 2} 14`, 'aria-hidden': 'true' }, ...shapes);
}

/** A small line, with spans behind it and a mark on it. */
export function sparkline(values: (number | null)[], mark: number, spans: [from: number, to: number][], width = 170, height = 28): SVGElement {
  const known = values.filter((v): v is number => v !== null && v > 0).map(Math.log10);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const x = (i: number): number => 3 + (i / Math.max(1, values.length - 1)) * (width - 6);
  const y = (v: number): number => (high > low ? height - 5 - ((Math.log10(v) - low) / (high - low)) * (height - 10) : height / 2);
  let pen = false;
  let d = '';
  values.forEach((v, i) => {
    if (v === null || v <= 0) pen = false;
    else {
      d += `${pen ? 'L' : 'M'}${x(i).toFixed(1)} ${y(v).toFixed(1)}`;
      pen = true;
    }
  });
  const at = values[mark];
  return svg(
    'svg',
    { class: 'spark', width, height, 'aria-hidden': 'true' },
    ...spans.map(([from, to]) => svg('rect', { x: x(Math.max(0, from)), y: 0, width: Math.max(2, x(Math.min(values.length - 1, to)) - x(Math.max(0, from))), height, fill: 'var(--ipc)', opacity: 0.18 })),
    svg('path', { d, fill: 'none', stroke: 'var(--accent)', 'stroke-width': 1.2 }),
    at !== null && at !== undefined && at > 0 && svg('circle', { cx: x(mark), cy: y(at), r: 3.5, fill: 'var(--ink1)' }),
  );
}
