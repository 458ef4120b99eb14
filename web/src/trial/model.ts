/** A trial's data as the sections need them: seconds, percentiles by step, events with numbers. */

import type { Event, Packed, TrialData } from '../data';
import type { Range } from '../pure/bus';
import { bins, heat, lower, percentiles, stepOfPercentile, type Bin, type Heat, type Seconds } from '../pure/bins';
import { Sum } from '../pure/histogram';

export type Which = 'service' | 'response';

export interface Percentiles {
  step: number;
  bins: Bin[];
  us: (number | null)[];
}

export interface NumberedEvent extends Event {
  /** `E3`; empty for what is too frequent to be numbered. */
  name: string;
  index: number;
  from_s: number;
  to_s: number;
}

/** Kinds that are drawn as ticks and have no numbers. */
export const TICKS = new Set(['wal-switch']);
/** A command that disturbs the trial. */
export const DISTURBANCE = 'disturbance';
export const LOST = new Set(['outage', 'connection-lost', 'failover', 'node-down', 'endpoint-down']);
/** Clients that have a connection again, and servers that take them. */
export const AGAIN = new Set(['reconnected', 'moved', 'returned', 'endpoint-up']);

export class Model {
  readonly seconds: Seconds;
  readonly whole: Range;
  /** Until where it is known, while the trial runs. */
  readonly now_s: number | null;
  /** Where measuring began. */
  readonly measured_from_s: number;
  /** What latency charts are of: response time under a rate, else service time. */
  readonly primary: Which;
  readonly events: NumberedEvent[];
  readonly clocks: Float64Array[];
  /** Transactions with a latency in each second. */
  private readonly counts: Record<Which, Float64Array>;
  private readonly cache = new Map<string, Percentiles | null>();
  private readonly sum: Sum;
  private heatMap: Heat | null = null;

  constructor(readonly data: TrialData) {
    const { timeline } = data;
    const rows = timeline.start_us.length;
    this.seconds = {
      start_s: Float64Array.from(timeline.start_us, (us) => us / 1e6),
      length_s: Float64Array.from(timeline.length_us, (us) => us / 1e6),
      warmup: Uint8Array.from(timeline.warmup ?? new Array<number>(rows).fill(0)),
    };
    const first = rows > 0 ? this.seconds.start_s[0]! : 0;
    const last = rows > 0 ? this.seconds.start_s[rows - 1]! + this.seconds.length_s[rows - 1]! : 1;
    const live = data.served?.live ?? null;
    this.now_s = live === null ? null : rows > 0 ? last : 0;
    // While it runs the axis is the whole trial's, so that nothing moves but now; where its end is not known, it grows in steps.
    const end = live === null ? last : live.planned_us !== null ? Math.max(live.planned_us / 1e6, last) : stepsOf(last);
    this.whole = { from: Math.min(0, first), to: Math.max(end, first + 1) };
    const measured = this.seconds.warmup.indexOf(0);
    this.measured_from_s = measured >= 0 ? this.seconds.start_s[measured]! : rows > 0 ? last : this.whole.from;
    this.primary = timeline.response !== undefined ? 'response' : 'service';
    this.sum = new Sum(timeline.buckets_us);
    const counted = (packed: Packed[] | undefined): Float64Array => Float64Array.from(packed ?? [], valuesIn);
    this.counts = { service: counted(timeline.service), response: counted(timeline.response) };
    this.clocks = (data.clocks_us ?? []).map((clock) => Float64Array.from(clock, (us) => us / 1e6));
    let number = 0;
    const sorted = (data.events ?? []).map((event, index) => ({ event, index })).sort((a, b) => a.event.at_us - b.event.at_us);
    this.events = sorted.map(({ event, index }) => ({
      ...event,
      index,
      name: TICKS.has(event.kind) ? '' : `E${(number += 1)}`,
      from_s: event.at_us / 1e6,
      to_s: (event.at_us + (event.length_us ?? 0)) / 1e6,
    }));
  }

  get rows(): number {
    return this.seconds.start_s.length;
  }

  /** The event that `worst[].events` names by its place in the data. */
  eventAt(index: number): NumberedEvent | undefined {
    return this.events.find((event) => event.index === index);
  }

  max(which: Which): (number | null)[] {
    const { timeline } = this.data;
    return which === 'response' ? (timeline.response_max_us ?? []) : timeline.service_max_us;
  }

  packed(which: Which): Packed[] {
    const { timeline } = this.data;
    return which === 'response' ? (timeline.response ?? []) : timeline.service;
  }

  /** Over the whole run, in bins wide enough for it and at least so wide; null: never enough. */
  percentile(which: Which, p: number, least: number): Percentiles | null {
    const key = `${which} ${p} ${least}`;
    let found = this.cache.get(key);
    if (found === undefined) {
      const step = stepOfPercentile(this.seconds, this.counts[which], p, least);
      if (step === null) found = null;
      else {
        const binned = bins(this.seconds, step);
        found = { step, bins: binned, us: percentiles(binned, this.packed(which), this.max(which), this.sum, p) };
      }
      this.cache.set(key, found);
    }
    return found;
  }

  get heat(): Heat {
    this.heatMap ??= heat(this.packed(this.primary), this.data.timeline.buckets_us);
    return this.heatMap;
  }

  /** Rows that begin within a range. */
  rowsIn(range: Range): { from: number; to: number } {
    return { from: lower(this.seconds.start_s, range.from - 1e-6), to: lower(this.seconds.start_s, range.to - 1e-6) };
  }

  /** The same, each. */
  seen(range: Range): number[] {
    const { from, to } = this.rowsIn(range);
    return Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i);
  }

  /** Of a range, the measured time only: all its values together. */
  merged(which: Which, range: Range): { sum: Sum; max_us: number } {
    const { from, to } = this.rowsIn(range);
    const [packed, maxima] = [this.packed(which), this.max(which)];
    this.sum.clear();
    let max_us = 0;
    for (let row = from; row < to; row += 1) {
      if (this.seconds.warmup[row] === 1) continue;
      this.sum.add(packed[row]!);
      max_us = Math.max(max_us, maxima[row] ?? 0);
    }
    return { sum: this.sum, max_us };
  }

  /** The sum of a column over the measured rows of a range, and how long they were. */
  total(column: ArrayLike<number>, range: Range): { sum: number; seconds: number } {
    const { from, to } = this.rowsIn(range);
    let sum = 0;
    let seconds = 0;
    for (let row = from; row < to; row += 1) {
      if (this.seconds.warmup[row] === 1) continue;
      sum += column[row] ?? 0;
      seconds += this.seconds.length_s[row]!;
    }
    return { sum, seconds };
  }

  /** The row that holds a moment, or -1. */
  rowAt(at: number): number {
    const row = lower(this.seconds.start_s, at + 1e-9) - 1;
    return row >= 0 && at < this.seconds.start_s[row]! + this.seconds.length_s[row]! + 0.5 ? row : -1;
  }

  /** Digits that a percentile of a stretch of time has. */
  get digits(): number {
    return this.data.timeline.resolution > 0.002 ? 2 : 3;
  }
}

/** The next of 1, 1.5, 2, 3, 5, 7 and 10 times a power of ten from 30 s on: an axis that grows seldom. */
export function stepsOf(seconds: number): number {
  let power = 10;
  for (;;) {
    for (const by of [1, 1.5, 2, 3, 5, 7]) if (by * power >= Math.max(30, seconds)) return by * power;
    power *= 10;
  }
}

function valuesIn(packed: Packed): number {
  let n = 0;
  for (let i = 1; i < packed.length; i += 2) n += packed[i]!;
  return n;
}
