import { describe, expect, it } from 'vitest';
import { along, overlap, place, type Box } from '../src/pure/placing';

const frame: Box = { x: 0, y: 0, width: 100, height: 100 };

describe('words beside marks', () => {
  it('stand where nothing else is', () => {
    const there: Box[] = [{ x: 0, y: 0, width: 50, height: 50 }];
    const first = place([{ x: 10, y: 10, width: 20, height: 10 }, { x: 60, y: 10, width: 20, height: 10 }], there, frame);
    expect(first.x).toBe(60);
    // The next one avoids it.
    const next = place([{ x: 60, y: 12, width: 20, height: 10 }, { x: 10, y: 80, width: 20, height: 10 }], there, frame);
    expect(overlap(first, next)).toBe(false);
  });
  it('stay within the frame, and of crowded places take the least', () => {
    expect(place([{ x: 95, y: -5, width: 20, height: 10 }], [], frame)).toEqual({ x: 80, y: 0, width: 20, height: 10 });
    const full = [{ x: 0, y: 0, width: 100, height: 90 }];
    expect(place([{ x: 0, y: 0, width: 20, height: 20 }, { x: 0, y: 80, width: 20, height: 20 }], full, frame).y).toBe(80);
  });
  it('know a slanted line by boxes along it', () => {
    const boxes = along(0, 0, 40, 40);
    expect(boxes.some((box) => overlap(box, { x: 18, y: 18, width: 4, height: 4 }))).toBe(true);
    expect(boxes.some((box) => overlap(box, { x: 30, y: 5, width: 4, height: 4 }))).toBe(false);
  });
});
