/** Repeats in the order of time: clocks and lines. */

/** Clock of a start, as short as tells the repeats apart. */
export function startText(ms: number, span_ms: number): string {
  const at = new Date(ms).toISOString();
  if (span_ms > 36 * 3_600_000) return `${at.slice(0, 10)} ${at.slice(11, 16)}`;
  return span_ms > 10 * 60_000 ? at.slice(11, 16) : at.slice(11, 19);
}

/** A figure's own line of a side beside the drift that both share, at a moment: least squares on the logarithms. */
export function sideLine(points: [number, number][], slope: number): (at: number) => number {
  const mean = (values: number[]): number => values.reduce((sum, v) => sum + v, 0) / Math.max(1, values.length);
  const [x, y] = [mean(points.map(([at]) => at)), mean(points.map(([, v]) => Math.log(v)))];
  return (at) => Math.exp(y + slope * (at - x));
}
