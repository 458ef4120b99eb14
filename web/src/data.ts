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

import type { Common, Histogram, Latencies, Packed } from './document';

export * from './document';

export type Data = TrialData | ExperimentData | CompareData;

/** The code of a limit, as `Verdict` has it. */
export type LimitCode = string;

// ---------------------------------------------------------------- a trial

export interface TrialData extends Common {
  kind: 'trial';
  /** What `pgdyno show TRIAL --json` prints, without `seconds`. */
  run: Run;
  /** The other repeats of its point, this one included, in the order of repeats. */
  siblings?: Sibling[];
  timeline: Timeline;
  /** Whole-run histograms of the measured time. */
  histograms: { service: Histogram; response?: Histogram; attempt?: Histogram };
  /** Same order as the SQL commands of run.statements, flat; without those never executed. */
  statements: StatementRow[];
  /** Try on which transactions were committed: [0] on the first. */
  commits_by_try?: number[];
  /** A sentence on the client's counters beside the server's. */
  counters_sentence?: string;
  /** What the database holds beside the books, e.g. rows of pgbench_history. */
  books?: { balanced: boolean | null; sentence: string };
  instruments: Instrument[];
  /** Times of samples, shared by series. */
  clocks_us: number[][];
  series: Series[];
  waits?: Waits;
  events: Event[];
  worst?: Worst[];
  server_statements?: ServerStatement[];
  slob?: SlobTrial;
  settings?: Setting[];
  /** How many settings the server has, for "9 of 381". */
  settings_total?: number;
  settings_unseen?: string;
  /** In order: Server, Server host, Database, Nodes, Load generator, pgdyno, Pack, Before, … */
  environment: [name: string, words: string][];
}

export interface Counts {
  committed: number;
  failed: number;
  failed_by_class: Record<string, number>;
  skipped: number;
  unknown: number;
  late: number;
  retries: number;
  retried: number;
}

export interface Work {
  kept_us: number;
  kept_statements: number;
  lost_tries: number;
  lost_us: number;
  lost_statements: number;
  lost_time_share: number | null;
  lost_statement_share: number | null;
  backoff_us: number;
  given_up: number;
  server_retries: number;
}

export interface Figures extends Counts {
  goodput_per_s: number;
  service: Latencies;
  response: Latencies | null;
  attempt?: Latencies | null;
  schedule_lag?: Latencies | null;
  work?: Work | null;
}

/** docs/json.md. Only what the page reads is named here. */
export interface Run {
  started: string;
  end: string;
  broken_invariant?: string | null;
  workload: { name: string; pack_sha256: string | null; variables: Record<string, string> };
  trial: {
    clients: number;
    threads: number;
    query_mode: string;
    duration_s: number | null;
    transactions_per_client: number | null;
    warmup_s: number;
    rate_per_s: number | null;
    latency_limit_us: number | null;
    retry: string | null;
    max_tries: number;
    isolation: string | null;
    seed: number;
  };
  target: { title: string; kind: string; facts: Record<string, unknown> };
  host: Record<string, unknown>;
  measured: Figures & {
    elapsed_us: number;
    scripts: (Figures & { name: string; weight: number })[];
  };
  reasons: Reason[];
  server_counters?: {
    source?: string;
    counted?: Record<string, number>;
    restarts?: number | null;
    unseen?: string;
  } | null;
  connections?: { initial_us: number | null; latency: Latencies } | null;
  outages?: { count: number; length: Latencies; unended: number; attempts: number } | null;
  endpoints: (Counts & {
    name: string;
    clients: number;
    connections: number;
    lost: number;
    arrived: number;
    service: Latencies;
    response: Latencies | null;
  })[];
  clients: { total: number; aborted: number; disconnected: number };
  client_cpu?: {
    user_us: number;
    system_us: number;
    us_per_transaction: number | null;
    threads: {
      wall_us: number;
      user_us: number;
      system_us: number;
      waited_us: number;
      busy_share: number;
      wanted_share: number;
      deadline_lag_max_us: number;
      event_loop_lag_p99_us?: number | null;
    }[];
  } | null;
  steadiness?: { figure: string; verdict: string; sentence: string; change: number | null }[];
  touched?: {
    draws: number;
    is_sample: boolean;
    distinct: number;
    hottest_share: number;
    hottest_100_share: number;
  } | null;
  stored?: {
    number: number;
    uuid: string;
    state: string;
    reason?: string | null;
    tags?: string[];
    note?: string | null;
    excluded?: string | null;
  };
}

export interface Reason {
  class: string;
  reason: string;
  sqlstate: string | null;
  tries: number;
  tries_retried: number;
  tries_ended: number;
  message: string;
  /** The statement it mostly came to, where known. */
  statement?: string;
}

/** A repeat among its siblings, for the dot strips. */
export interface Sibling {
  trial: number;
  repeat: number | null;
  /** The trial of this page. */
  this: boolean;
  goodput_per_s: number | null;
  p50_us: number | null;
  p99_us: number | null;
  p99_9_us: number | null;
  retries_per_commit: number | null;
  failed: number | null;
}

/** All scripts together, column by column, a row a second; warm-up included and marked. */
export interface Timeline {
  start_us: number[];
  length_us: number[];
  /** Of the warm-up: 1, else 0. Missing: none. */
  warmup?: number[];
  committed: number[];
  failed: number[];
  skipped: number[];
  unknown: number[];
  late?: number[];
  retries: number[];
  /** Transactions that the schedule asked for in that second; missing: no rate. */
  due?: number[];
  service_max_us: (number | null)[];
  response_max_us?: (number | null)[];
  /** The end of each bucket (highest equivalent value), shared by all histograms of the timeline. */
  buckets_us: number[];
  /** Largest relative error of a bucket: 0.001 as the notebook has them; larger where Rust merged
   *  buckets because there were too many for a page (see PAGE.md). */
  resolution: number;
  service: Packed[];
  /** With a rate. */
  response?: Packed[];
  /** Retries per second by reason, most frequent first; rows as above. Where the notebook has not
   *  split them: missing, and `retries` is drawn. */
  retries_by_reason?: { name: string; count: number[] }[];
  /** Failed transactions per second by class. */
  failed_by_class?: { name: string; count: number[] }[];
  /** Committed per second by script, in the order of run.measured.scripts; two scripts and more. */
  committed_by_script?: number[][];
}

export interface StatementRow {
  script: string;
  text: string;
  executions: number;
  retries: number;
  failures: number;
  sum_us: number;
  mean_us: number | null;
  p50_us: number | null;
  p99_us: number | null;
  max_us: number | null;
  /** Where its sessions mostly waited, when known; class `CPU` for none. */
  wait?: { class: string; event: string; share: number };
}

export interface ServerStatement {
  text: string;
  calls: number;
  time_us: number;
  rows: number | null;
  /** What else the server tells, by its own names. */
  details?: Record<string, number>;
}

export interface Instrument {
  /** `pg_stat_io`, `host.disk`, `waits`, `scrape.node`. */
  name: string;
  /** What it read: `PostgreSQL, pg_stat_io`, `/proc of db1`. */
  source: string;
  /** The column that it stands in. */
  of: 'server' | 'host' | 'client' | 'other';
  gaps: Gap[];
}

export interface Gap {
  /** Part that is missing; empty: all of the instrument. */
  label?: string;
  /** null: from the beginning / to the end. Both null: never read. */
  from_us: number | null;
  to_us: number | null;
  reason: string;
  /** The one command that closes it. */
  remedy?: string | null;
  /** How many readings failed. */
  times?: number;
}

export interface Series {
  /** Index in `instruments`. */
  instrument: number;
  /** `pg.wal.bytes`, `host.cpu.user`. */
  name: string;
  /** Of which part: `node 1`, `vda`; empty where there is but one. */
  label: string;
  /** `bytes/s`, `1/s`, `sessions`, `µs`, `bytes`, `%`, `` … */
  unit: string;
  kind: 'gauge' | 'sparse' | 'counter' | 'before_after';
  /** What it tells, in a clause, where the instrument says. */
  what?: string;
  /** Index in `clocks_us`; before_after: missing. */
  clock?: number;
  /** Same length as the clock. null: no reading (a gap). */
  value?: (number | null)[];
  before?: number | null;
  after?: number | null;
  resets?: number;
}

/** Average active sessions by what they waited for. */
export interface Waits {
  /** Index in clocks_us. */
  clock: number;
  /** The server's cores, where known: a dashed line. */
  cores: number | null;
  /** `sampled 10 × a second`. */
  how?: string;
  /** Same length as the clock each; class `CPU` is working, without a wait. */
  events: { class: string; event: string; sessions: (number | null)[] }[];
  /** Totals by event over the measured time, as the notebook has them; else the mean is taken. */
}

export interface Event {
  at_us: number;
  length_us?: number | null;
  /** checkpoint, autovacuum, wal-switch, outage, reconnected, moved, error, standby, … */
  kind: string;
  text: string;
  source?: string;
  /** A checkpoint: when its sync phase began, µs after at_us. */
  sync_after_us?: number | null;
  sync_us?: number | null;
}

export interface Worst {
  /** When it ended. */
  at_us: number;
  response_us: number | null;
  queued_us: number | null;
  service_us: number | null;
  tries: number | null;
  script?: string;
  endpoint?: string;
  slowest?: { text: string; us: number } | null;
  /** What happened around it. */
  around: string;
  /** Indexes in `events`. */
  events?: number[];
}

export interface Setting {
  name: string;
  value: string;
  default: string | null;
  from: string | null;
  /** Why it stands here though it is the default. */
  named_by_verdict?: boolean;
}

/** Work units of slob and what they cost. */
export interface SlobTrial {
  /** A row each, in order: `Logical reads`, value with unit, and what it says. */
  accounting: { name: string; value: number | null; unit: string; per_unit?: number | null; unseen?: string; what?: string }[];
  /** Work units' times. */
  units: Histogram | null;
  units_label?: string;
  sentence?: string;
}

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
