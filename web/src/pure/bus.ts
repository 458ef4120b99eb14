/** One range of time and one cursor for all plots of a page. Seconds on the clock of the run. */

export interface Range {
  from: number;
  to: number;
}

/** The narrowest that can be looked at. */
export const SPAN_MIN = 4;

export type What = 'range' | 'cursor';

export class Bus {
  private current: Range;
  private at: number | null = null;
  private readonly listeners: ((what: What) => void)[] = [];

  private all: Range;

  constructor(whole: Range) {
    this.all = { ...whole };
    this.current = { ...whole };
  }

  /** All that can be looked at. */
  get whole(): Range {
    return this.all;
  }

  /** There is more to look at, or less; who looks at all of it goes on doing so. */
  grow(whole: Range): void {
    if (whole.from === this.all.from && whole.to === this.all.to) return;
    const wasWhole = this.isWhole;
    this.all = { ...whole };
    this.current = wasWhole ? { ...whole } : clamp(this.current, whole);
    this.tell('range');
  }

  get range(): Range {
    return this.current;
  }

  get cursor(): number | null {
    return this.at;
  }

  get isWhole(): boolean {
    return this.current.from === this.whole.from && this.current.to === this.whole.to;
  }

  subscribe(listener: (what: What) => void): void {
    this.listeners.push(listener);
  }

  /** Moves the range; kept within the whole and at least four seconds wide. */
  zoom(from: number, to: number): void {
    const next = clamp({ from: Math.min(from, to), to: Math.max(from, to) }, this.whole);
    if (next.from === this.current.from && next.to === this.current.to) return;
    this.current = next;
    this.tell('range');
  }

  reset(): void {
    this.zoom(this.whole.from, this.whole.to);
  }

  /** Wider (above 1) or narrower, around the cursor where it is in sight, else the middle. */
  scale(factor: number): void {
    const { from, to } = this.current;
    const around = this.at !== null && this.at >= from && this.at <= to ? this.at : (from + to) / 2;
    const share = (around - from) / (to - from);
    const width = Math.max((to - from) * factor, Math.min(SPAN_MIN, this.whole.to - this.whole.from));
    this.zoom(around - width * share, around + width * (1 - share));
  }

  /** By a share of what is seen; its width stays. */
  shift(share: number): void {
    const { from, to } = this.current;
    const width = to - from;
    const start = Math.max(this.whole.from, Math.min(from + width * share, this.whole.to - width));
    this.zoom(start, start + width);
  }

  point(at: number | null): void {
    const next = at === null ? null : Math.max(this.whole.from, Math.min(at, this.whole.to));
    if (next === this.at) return;
    this.at = next;
    this.tell('cursor');
  }

  private tell(what: What): void {
    for (const listener of this.listeners) listener(what);
  }
}

/** Within the whole, at least SPAN_MIN wide (or as wide as the whole). */
export function clamp(range: Range, whole: Range): Range {
  const least = Math.min(SPAN_MIN, whole.to - whole.from);
  let from = Math.max(whole.from, Math.min(range.from, whole.to));
  let to = Math.max(whole.from, Math.min(range.to, whole.to));
  if (to - from < least) {
    const middle = (from + to) / 2;
    from = Math.max(whole.from, Math.min(middle - least / 2, whole.to - least));
    to = from + least;
  }
  return { from, to };
}

/** What the address keeps: `#trial=12&latency&t=10~60.5`. */
export function toHash(section: string | null, range: Range | null, trial: number | null = null): string {
  const parts = [];
  if (trial !== null) parts.push(`trial=${trial}`);
  if (section !== null && section !== '') parts.push(encodeURIComponent(section));
  if (range !== null) parts.push(`t=${round(range.from)}~${round(range.to)}`);
  return parts.length === 0 ? '' : `#${parts.join('&')}`;
}

export function fromHash(hash: string): { section: string | null; range: Range | null; trial: number | null } {
  let trial: number | null = null;
  let section: string | null = null;
  let range: Range | null = null;
  for (const part of hash.replace(/^#/, '').split('&')) {
    const found = /^t=(-?[\d.]+)~(-?[\d.]+)$/.exec(part);
    const of = /^trial=(\d{1,15})$/.exec(part);
    if (of !== null) trial = Number(of[1]);
    else if (found !== null) {
      const [from, to] = [Number(found[1]), Number(found[2])];
      if (Number.isFinite(from) && Number.isFinite(to) && to > from) range = { from, to };
    } else if (part !== '' && !part.includes('=')) {
      try {
        section = decodeURIComponent(part);
      } catch {
        // A mistyped address names no section.
      }
    }
  }
  return { section, range, trial };
}

const round = (value: number): string => String(Math.round(value * 1000) / 1000);
