// Generated from crates/model/src/document by: PGDYNO_WRITE_TYPES=1 cargo test -p pgdyno-model typescript

/**
 * The data contract: what pgdyno writes into `<script type="application/json" id="data">`. What it
 * prints with `--json` is embedded as it is (docs/json.md), so that figures on the page are those of
 * the notebook.
 *
 * Rules: times are whole microseconds on the clock of the trial's seconds (0: clients began to
 * work; below 0: before), latencies microseconds, shares 0 to 1, stamps UTC as text. `null` is "not
 * known"; an optional field that is missing means "not recorded". Nothing here is HTML: every string
 * is shown as text. Sentences have no full stop forced on them and may hold `code` in backquotes.
 * Unknown fields and unknown codes are no error.
 */

/** The version of these types. */
export const FORMAT = 1;

/** Fields of a page of any kind. */
export type Common = {
  /** The version of these types. The page refuses what it does not know. */
  format: number;
  /** The version of pgdyno that wrote the report. */
  pgdyno: string;
  /** When the report was written, UTC. */
  written: string;
  /** Small line above the title: `repeat 2 of 6 in “orders”, trial 7c41e9`. */
  eyebrow?: string;
  /** What was measured: `tpcb at scale 50, 32 clients, 4,200/s requested`. */
  title: string;
  /** The line below it, a fact each: server, isolation, query mode, how long, when. */
  facts: Array<string>;
  /** The command line that would do it again, or that made this. */
  command: string;
  /** `null`: no diagnosis was made. */
  verdict: Verdict | null;
  /** What a reader must know before believing it. */
  notes: Array<Note>;
};

/** What limited a trial. */
export type Verdict = {
  /**
   * The rule's code: client, network, server-cpu, durable-commit, contention, buffer-misses,
   * device-reads, connections, stalls, hot-range, leaders, clock-uncertainty, hops, rate-met; or
   * not-known. Others are drawn in a neutral colour.
   */
  limit: string;
  /** Words above the sentence; without it "What limited it". */
  label?: string;
  /** The one sentence. */
  sentence: string;
  /** What proves it, the strongest first. */
  evidence: Array<Evidence>;
  /** What would be met next. */
  second: LimitOf | null;
  /** What to try, a sentence each. */
  try: Array<string>;
  /** Of a comparison: that several things changed at once. */
  careful?: string;
  /** Of a comparison: `--fail-if` and what came of it. */
  gate?: Gate;
  /** Every rule that was examined, in order. */
  rules: Array<Rule>;
};

/** What became of a rule. */
export type Rule = {
  /** Its code. */
  code: string;
  /** Its name for people. */
  name: string;
  /** What came of it. */
  state: RuleState;
  /** The deciding figure, or the reason why there is none. */
  figure: string;
};

/** What came of a rule. */
export type RuleState = "limit" | "second" | "ruled-out" | "not-applicable" | "not-known";

/** One piece of evidence. */
export type Evidence = {
  /** Ready to be shown, short, with its unit: `99.0 %`, `1.32 s`, `37 ×`, `16 → 32`. */
  figure: string;
  /** What it is. */
  sentence: string;
  /** Where the page shows it. */
  link?: Link;
};

/** To a section of the page, or to a stretch of time. */
export type Link = {
  /** What to read on it. */
  text: string;
  /** The section's id. */
  section?: string;
  /** From here on, in microseconds on the trial's clock. */
  from_us?: number;
  /** Up to here. */
  to_us?: number;
};

/** A limit and its sentence. */
export type LimitOf = {
  /** The rule's code. */
  limit: string;
  /** In one sentence. */
  sentence: string;
};

/** A gate of a comparison. */
export type Gate = {
  /** `--fail-if` as typed. */
  condition: string;
  /** What came of it. */
  result: GateResult;
  /** The same in a sentence. */
  sentence: string;
};

/** What came of a gate. */
export type GateResult = "passed" | "failed" | "cannot-tell";

/** A validity note, with what the page adds. */
export type Note = {
  /** Headline figures that it affects: goodput, p50, p99, p99.9, retries, failed, client. */
  figures?: Array<string>;
  /** A bold beginning; without it the sentence stands alone. */
  title?: string;
  /** From when on it holds, in microseconds on the trial's clock. */
  from_us?: number;
  /** Until when. */
  to_us?: number;
  /** Such as `fsync-off`. */
  code: string;
  /** How much it matters. */
  severity: Severity;
  /** What is the case, with its figures. */
  sentence: string;
  /** What to do about it. */
  remedy: string;
};

/** How much a note matters. */
export type Severity = "notice" | "warning" | "serious";

/**
 * A histogram with buckets of its own: bucket `i` ends at `value_us[i]` (HdrHistogram's highest
 * equivalent value), ascending; same length as `count`. Sum of `count` is the number of values.
 */
export type Histogram = {
  /** Where each bucket ends, in microseconds. */
  value_us: Array<number>;
  /** How many values it has. */
  count: Array<number>;
  /** The longest, exact; `null` without any. */
  max_us: number | null;
};

/**
 * Counts of values by bucket: flat pairs `[gap, count, gap, count, …]`. The first gap is the index of
 * the first bucket, each further one the distance to the bucket before. Counts are above 0.
 */
export type Packed = Array<number>;

/** Latencies in microseconds. A percentile with fewer than ten values beyond it is `null`. */
export type Latencies = {
  /** How many there are. */
  count: number;
  /** Their mean. */
  mean_us: number | null;
  /** Their standard deviation, over all of them. */
  stddev_us: number | null;
  /** The median. */
  p50_us: number | null;
  /** The 90th percentile. */
  p90_us: number | null;
  /** The 95th percentile. */
  p95_us: number | null;
  /** The 99th percentile. */
  p99_us: number | null;
  /** The 99.9th percentile. */
  p99_9_us: number | null;
  /** The longest. */
  max_us: number | null;
};
