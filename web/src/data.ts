/**
 * The data contract: what the Rust side writes into `<script type="application/json" id="data">`.
 * Types only, no code. Documents that pgdyno prints with `--json` are embedded as they are
 * (docs/json.md), so that figures on the page are those of the notebook.
 *
 * Rules: times are whole microseconds on the clock of the trial's seconds (0: clients began to
 * work; below 0: before), latencies microseconds, shares 0 to 1, stamps UTC as text. `null` is "not
 * known"; an optional field that is missing means "not recorded". Nothing here is HTML: every string
 * is shown as text. Sentences have no full stop forced on them and may hold `code` in backquotes.
 * Unknown fields and unknown codes are no error.
 */

import type { Common, Histogram, Latencies, Packed, TrialData } from './document';

export * from './document';

export type Data = TrialData | ExperimentData | CompareData;

/** The code of a limit, as `Verdict` has it. */
export type LimitCode = string;

// ---------------------------------------------------------------- an experiment

export interface ExperimentData extends Common {
  kind: 'experiment';
  name: string;
  uuid: string;
  /** What defines it. */
  definition: string;
  definition_name?: string;
  between?: string;
  environment: [name: string, words: string][];
  /** p99 asked for. */
  slo_us?: number | null;
  /** What varies. Points stand on a grid of these; zipped axes are one axis. */
  axes: Axis[];
  points: Point[];
  /** Every trial of the points, in run order, those that do not count too. */
  trials: TrialRef[];
  /** Index in points: the best. */
  best?: number | null;
  /** From first to last, and what of it was measured. */
  took_s?: number | null;
  measured_s?: number | null;
  /** Zones of size on the axis named: where it ends fitting shared_buffers, memory. */
  zones?: { axis: string; shared_buffers_bytes?: number | null; memory_bytes?: number | null };
  /** The document of report/capacity.rs. */
  capacity?: Capacity | null;
  /** What `pgdyno lab retries --json` prints. */
  retries_lab?: RetriesLab | null;
  /** Trials that have a page of their own within this file: `#trial=NUMBER`. */
  pages?: TrialData[];
  /** What `pgdyno calibrate --json` prints; several with --compare. */
  calibrations?: Calibration[];
  slob?: SlobSweep | null;
}

export interface Axis {
  /** `clients`, `params.scale`, `rate`. */
  name: string;
  /** `clients`, `scale`. */
  title: string;
  /** As typed, in order. */
  values: string[];
  /** The same as numbers, where all are. */
  numbers?: number[] | null;
  /** Below each value: the size of the database, `150 MB`. */
  sizes_bytes?: (number | null)[];
}

/** Over the repeats of a point. */
export interface Spread {
  n: number;
  median: number;
  min: number;
  max: number;
  interval: [low: number, high: number] | null;
  /** In the order of the point's trials. */
  values: (number | null)[];
}

export interface PointFigure {
  over_repeats: Spread | null;
  /** Percentiles: of all repeats' transactions. */
  together_us?: number | null;
}

export interface Point {
  title: string;
  workload: string;
  /** Index of its value on each axis. */
  at: number[];
  repeats: number;
  /** Numbers of the trials that count. */
  trials: { trial: number; repeat: number | null }[];
  left_out: { trial: number; repeat: number | null; why: string }[];
  latency: 'service' | 'response';
  /** goodput, p50, p90, p95, p99, p99.9. */
  figures: Record<string, PointFigure>;
  retries_per_commit?: number | null;
  committed: number;
  failed: number;
  retries: number;
  /** The verdict of most of its repeats. */
  limit?: { code: LimitCode; name: string; agree: number; of: number } | null;
  outliers: { figure: string; trial: number; repeat: number | null; modified_z_score: number }[];
  note?: string;
}

export interface TrialRef {
  trial: number;
  uuid?: string;
  /** Index in points. */
  point: number;
  repeat: number | null;
  state: string;
  /** Counts in its point. */
  counts: boolean;
  goodput_per_s: number | null;
  p50_us?: number | null;
  p99_us?: number | null;
  limit?: { code: LimitCode; name: string } | null;
  /** Said of it: outlier, aborted, a note's words. */
  flag?: string;
  started?: string;
  /** A report of it, relative, where one was written beside this file; `pages` come first. */
  href?: string;
}

export interface Estimate {
  is: string;
  per_s: number;
  interval?: { low: number; high: number; level: number } | null;
}

export interface Capacity {
  slo_us: number;
  ladders: {
    point: unknown;
    title?: string;
    loads: {
      rate_per_s: number;
      trials: number[];
      goodput_per_s: (number | null)[];
      response_p50_us: (number | null)[];
      response_p99_us: (number | null)[];
      failed: (number | null)[];
    }[];
    capacity: Estimate | null;
    knee: Estimate | null;
    gaps: string[];
  }[];
}

export interface RetriesLab {
  points: {
    given: Record<string, unknown>;
    isolation: string | null;
    forms: {
      form: string;
      goodput_per_s: { median: number; min: number; max: number; repeats: number[] } | null;
      service?: Latencies | null;
      committed?: number;
      failed?: number;
      retries_per_commit?: number | null;
      server_retries_per_commit?: number | null;
      given_up?: number;
      lost_time_share?: number | null;
      lost_statement_share?: number | null;
      not_run?: string[] | string | null;
    }[];
    says: string | null;
  }[];
  says: string[] | string | null;
}

export interface Calibration {
  calibration: string;
  uuid: string;
  created: string;
  target: unknown;
  baseline: 'met' | 'missed' | null;
  lines: {
    line: string;
    trial: number | null;
    count: number;
    min_us: number | null;
    p50_us: number | null;
    p95_us: number | null;
    p99_us: number | null;
    max_us: number | null;
    mean_us: number | null;
    expected: { low_us: number; high_us: number } | null;
    verdict: string | null;
    without_round_trip_us: number | null;
    parts: Record<string, number | null> | null;
    cause: { part: string; sentence: string; evidence: string[] } | null;
    doubts: string[];
  }[];
  sync?: { difference_us: number | null; server_us: number | null; sentences: string[] } | null;
  concurrency?: {
    steps: {
      trial: number | null;
      clients: number;
      goodput_per_s: number | null;
      p50_us: number | null;
      p99_us: number | null;
      failed: number;
      client_bound: boolean;
    }[];
    throughput_stops?: { is: string; clients: number; goodput_per_s?: number } | null;
    p99_bends?: { is: string; clients?: number } | null;
  } | null;
}

/** Cache-fit: logical reads per second against the active set, with where the caches end. */
export interface SlobSweep {
  /** What is swept: active set, sessions, share of updates. */
  x: { title: string; unit: 'bytes' | 'sessions' | '%' | '' };
  points: {
    x: number;
    /** Logical reads (LIOPS) over the repeats. */
    liops: Spread | null;
    /** Shares and rates, null where not seen. */
    hit_share?: number | null;
    misses_per_s?: number | null;
    device_reads_per_s?: number | null;
    p50_us?: number | null;
    p99_us?: number | null;
    /** Cost of one logical read. */
    us_per_read?: number | null;
    trials: number[];
  }[];
  /** Vertical marks: where shared_buffers and memory end. */
  marks: { x: number; name: string }[];
  knees: { x: number; sentence: string }[];
  sentences?: string[];
}

// ---------------------------------------------------------------- a comparison

export interface CompareData extends Common {
  kind: 'compare';
  a: Side;
  b: Side;
  /** A table of differences for each point both sides have. The first is the page's subject. */
  pairs: Pair[];
  /** What changed, with why it may matter. */
  changed: { kind: string; name: string; a: string; b: string; why?: string }[];
  /** As in ExperimentData. */
  pages?: TrialData[];
  /** What did not: words. */
  same: [name: string, words: string][];
  only?: { side: 'A' | 'B'; words: string }[];
  method: [name: string, words: string][];
}

export interface Side {
  /** As named on the command line. */
  name: string;
  facts: string;
}

export interface Pair {
  point: string;
  paired: boolean;
  a: SideFigures;
  b: SideFigures;
  differences: Difference[];
  latency: 'service' | 'response';
  /** Milliseconds of one client per commit, by what its session did. */
  time_per_commit?: { class: string; name: string; a_us: number; b_us: number }[];
  statements?: {
    text: string;
    a_mean_us: number | null;
    b_mean_us: number | null;
    a_p99_us: number | null;
    b_p99_us: number | null;
    /** null: not tested. */
    significant?: boolean | null;
  }[];
}

export interface SideFigures {
  trials: { trial: number; order: number }[];
  /** All repeats' transactions together. */
  histogram: Histogram;
  /** Each repeat's, for the range. */
  repeats: Histogram[];
  /** Merged second by second over the repeats, from their start of measuring. */
  over_time?: {
    step_us: number;
    buckets_us: number[];
    merged: Packed[];
    /** Least and greatest p99 of a repeat in that step; null below ten samples beyond it. */
    p99_low_us?: (number | null)[];
    p99_high_us?: (number | null)[];
  };
  /** Checkpoints of each repeat, in the order of trials: [from, to] on the repeat's clock. */
  checkpoints?: [from_us: number, to_us: number][][];
}

export interface Difference {
  figure: string;
  name: string;
  /** `tps`, `µs`, `bytes`, ``. */
  unit: string;
  higher_is_better: boolean | null;
  not_compared?: string;
  a?: Spread;
  b?: Spread;
  /** B to A as a share: 0.106 is +10.6 %. */
  change?: number | null;
  change_interval?: [low: number, high: number] | null;
  p?: number | null;
  verdict?: 'higher' | 'lower' | 'no-significant-difference' | 'not-enough-repeats';
  /** A relative limit of the gate on it, as a share. */
  gate?: number | null;
}
