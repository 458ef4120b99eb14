import { describe, expect, it } from 'vitest';
import { leaders } from '../src/trial/budget';

/** What a text or its line covers: the line from the bar down to its row. */
function crossings(thin: { at: number; text: string }[], width: number): string[] {
  const { placed, rows } = leaders(thin, width);
  const found: string[] = [];
  const text = (of: (typeof placed)[number]): [number, number] => (of.toLeft ? [of.at - 15 - of.text.length * 6.6, of.at - 15] : [of.at + 15, of.at + 15 + of.text.length * 6.6]);
  for (const one of placed) {
    const [from, to] = text(one);
    if (from < 0 || to > width) found.push(`${one.text} is cut off`);
    if (one.row >= rows) found.push(`${one.text} is below the drawing`);
    for (const other of placed) {
      if (other === one) continue;
      const [a, b] = text(other);
      if (other.row === one.row && from < b && a < to) found.push(`${one.text} on ${other.text}`);
      if (other.row >= one.row && other.at > from && other.at < to) found.push(`the line of ${other.text} through ${one.text}`);
    }
  }
  return found;
}

describe('texts that lines lead to', () => {
  const names = ['Generator waiting for a CPU 6.9 %', 'Server on a CPU 0.52 %', 'Server waiting for a CPU 7.0 %', 'Not attributed 5.9 %'];
  it.each([
    [[596, 642, 688, 1220]],
    [[10, 20, 30, 40]],
    [[1200, 1220, 1240, 1270]],
    [[5, 630, 650, 1275]],
    [[5, 10, 1270, 1275]],
    [[300, 500, 700, 900]],
  ])('at %j do not cross', (places) => {
    expect(crossings(places.map((at, i) => ({ at, text: names[i]! })), 1280)).toEqual([]);
  });

  it('need no row where there are none, and one where they do not meet', () => {
    expect(leaders([], 1280).rows).toBe(0);
    expect(leaders([{ at: 100, text: 'a' }, { at: 900, text: 'b' }], 1280).rows).toBe(1);
  });
});
