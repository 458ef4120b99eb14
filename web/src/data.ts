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
  /** Only when a server gives the page. */
  served?: Served;
};

export type Verdict = {
  /**
   * The cause's code ([`Cause`]), or `not-known`; of an experiment or a comparison a code of its
   * own. Those without a colour are drawn in a neutral one.
   */
  limit: string;
  /**
   * What limited a trial: one cause; two that cannot be distinguished when it is not known which; or
   * none.
   */
  causes: Array<LimitCause>;
  /** Words above the sentence; without it "What limited it". */
  label?: string;
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
  /** The verdict's check of itself against what else is known, each with its figures. */
  checks: Array<Check>;
  /** Every cause that was examined, in order. */
  rules: Array<Rule>;
};

/** What can limit a trial (docs/verdict.md). */
export type LimitCause = "rate-met" | "think-time" | "client" | "other-processes" | "network" | "bandwidth" | "pooler" | "server-stopped" | "connections" | "server-cpu" | "cpu-quota" | "durable-commit" | "contention" | "lightweight-locks" | "buffer-misses" | "device-reads" | "data-writes" | "temporary-files" | "slru" | "relation-extension" | "ipc" | "other-waits" | "stalls" | "stragglers" | "clock-uncertainty" | "leaders" | "hot-range" | "slow-node" | "replication" | "passed-on" | "restarts" | "admission" | "write-stalls" | "unavailable";

export type Evidence = {
  /** Ready to be shown, short, with its unit: `99.0 %`, `1.32 s`, `37 ×`, `16 → 32`. */
  figure: string;
  sentence: string;
  /** Where the page shows it. */
  link?: Link;
};

/** To a section of the page, or to a stretch of time. */
export type Link = {
  /** What to read on it. */
  text: string;
  section?: string;
  /** From here on, in microseconds on the trial's clock. */
  from_us?: number;
  to_us?: number;
};

/** A limit and its sentence. */
export type LimitOf = {
  limit: string;
  sentence: string;
};

/** A gate of a comparison. */
export type Gate = {
  condition: string;
  result: GateResult;
  /** The same in a sentence. */
  sentence: string;
};

/** What came of a gate. */
export type GateResult = "passed" | "failed" | "cannot-tell";

/** One check of a verdict against what else is known. */
export type Check = {
  /** What holds when it has passed, in some words. */
  name: string;
  /** Whether it does; `null`: that cannot be said. */
  passed: boolean | null;
  figures: string;
};

/** What became of a rule. */
export type Rule = {
  code: string;
  name: string;
  state: RuleState;
  /** The deciding figure, or the reason why there is none. */
  figure: string;
};

/** What came of a rule. */
export type RuleState = "limit" | "second" | "ruled-out" | "not-applicable" | "not-known";

/** A validity note, with what the page adds. */
export type Note = {
  /** Headline figures that it affects: goodput, p50, p99, p99.9, retries, failed, client. */
  figures?: Array<string>;
  /** A bold prefix, if there is one. */
  title?: string;
  /** From when on it holds, in microseconds on the trial's clock. */
  from_us?: number;
  to_us?: number;
  code: string;
  severity: Severity;
  /** What is the case, with its figures. */
  sentence: string;
  /** What to do about it. */
  remedy: string;
};

/** How much a note matters. */
export type Severity = "notice" | "warning" | "serious";

/** Where a page comes from, and what may be done from it. */
export type Served = {
  /** Where the notebook is, without secrets. */
  notebook: string;
  /** Whether trials may be tagged, noted, excluded and stopped. */
  may_change: boolean;
  /**
   * The path where changes of this page are sent as server-sent events: `/trial/12/events`; `null`:
   * nothing will change.
   */
  events: string | null;
  /** Of a trial that is still running. */
  live: Live | null;
  /** Of a trial that is what one of several generators measured. */
  part: PartOf | null;
  /** Whether the page is of all generators together; `part` then says who they are. */
  together: boolean;
};

/** A trial that is running. */
export type Live = {
  /** Its number in the notebook. */
  number: number;
  /** Actions are asked for with it. */
  uuid: string;
  /**
   * Where the last second ended that is known, in microseconds on the clock of its seconds; `null`:
   * there is none yet.
   */
  now_us: number | null;
  /**
   * How long warm-up and measured time take together, in microseconds; `null`: it ends by
   * transactions.
   */
  planned_us: number | null;
  /** Why it cannot be stopped from here, and how else; `null`: it can. */
  cannot_stop: string | null;
  /**
   * For how many seconds nothing has come from it, though something should, in steps of five;
   * `null`: less than 15 s.
   */
  silent_s: number | null;
  /** Whether its process, which ran on this host, has ended without a word. */
  is_gone: boolean;
};

/** Which part of a trial of several generators a trial is, and what has become of all parts. */
export type PartOf = {
  /** Which generator's it is, from 0. */
  generator: number;
  /** How many generators the trial has. */
  generators: number;
  /** The number of the trial that all of them gave; `null`: they have not been added up. */
  whole: number | null;
  /** Parts that have begun, in the order of their generators; this one is among them. */
  parts: Array<GeneratorPart>;
};

/** What one of several generators measures. */
export type GeneratorPart = {
  generator: number;
  /** The number of its trial. */
  trial: number;
  /** What has become of it. */
  state: State;
  /** Whether it runs, and nothing was heard of it for so long that it counts as dead. */
  is_silent: boolean;
};

/** States of a trial. */
export type State = "running" | "complete" | "partial" | "failed" | "aborted";

/** A page, by its kind. */
export type Data = TrialData | ExperimentData | CompareData | NotebookData;

export type TrialData = {
  kind: 'trial';
  /** What `pgdyno show TRIAL --json` prints, without `seconds`, `observed` and `verdict`. */
  run: Run;
  /** Of a trial of several generators: whether they gave one result, and who weakened it. */
  one_result?: Array<Sure>;
  /** Where the clients' time went; left out when nothing was measured. */
  budget?: TimeBudget;
  /** The other repeats of its point, this one included, in the order of repeats. */
  siblings: Array<Sibling>;
  timeline: Timeline;
  /** Whole-run histograms of the measured time. */
  histograms: Histograms;
  /** Same order as the SQL commands of `run.statements`, flat; without those never executed. */
  statements: Array<StatementRow>;
  /** Try on which transactions were committed: `[0]` on the first. Not recorded yet. */
  commits_by_try?: Array<number>;
  /** A sentence on the client's counters beside the server's. Not made yet. */
  counters_sentence?: string;
  /** What the database holds beside what was counted. Not asked for yet. */
  balance?: Balance;
  instruments: Array<Instrument>;
  /** Times of samples, shared by series. */
  clocks_us: Array<Array<number>>;
  /** What was seen, but for waits. */
  series: Array<Series>;
  /** What sessions waited for, where that was sampled. */
  waits?: Waits;
  /** What happened to the server. */
  events: Array<Event>;
  worst: Array<Worst>;
  /** What the server counted by statement, the most expensive first. */
  server_statements: Array<ServerStatement>;
  /** What the storage layer did, where the workload is about that. */
  slob?: SlobTrial;
  /** Settings that are not as the server's program has them. */
  settings?: Array<Setting>;
  /** How many settings the server has, for "9 of 381". Not asked for yet. */
  settings_total?: number;
  /** Why they are not known. */
  settings_unknown?: string;
  /** In order: Server, Target, Database, Nodes, Load generator, pgdyno, Pack, … */
  environment: Array<[name: string, words: string]>;
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
  /** Only when a server gives the page. */
  served?: Served;
};

/** What was run, and what came of it: of `--json` all but its series and seconds (docs/json.md). */
export type Run = {
  /** Grows when a field changes its meaning or goes. */
  format: number;
  /** The version of pgdyno. */
  pgdyno: string;
  /** When clients began to work, UTC. */
  started: string;
  workload: Workload;
  /** All options, with defaults filled in and without passwords. */
  trial: TrialSpec;
  /** The server: facts, changed settings, nodes, tables. */
  target: Target;
  /** Where pgdyno ran. */
  host: Host;
  /**
   * Figures by phase: of the steps, bursts, parts of ramps or periods of a rate, or number of
   * clients, that moves; left out of other trials.
   */
  phases?: Array<PhaseFigures>;
  /** How many clients worked where their number moves; left out where it does not. */
  client_course?: ClientCourse;
  /**
   * Where the rate jumped, and how long response times were not steady then; left out where it
   * did not.
   */
  rate_steps?: Array<RateStep>;
  /** How it ended. */
  end: End;
  /** What `\error` said, behind its script and line. */
  broken_invariant: string | null;
  /** The figures, without the warm-up. */
  measured: Phase;
  /** The warm-up's, apart from all others. */
  warmup: Warmup | null;
  /** What the draws came to, where scripts say which row they are about. */
  key_skew: KeySkew | null;
  /** What the storage layer did, where the workload is about that. */
  accounting: Accounted | null;
  /** What disturbed it; left out of other trials. */
  disturbed?: DisturbedTrial;
  /** What must hold of the data, by the workload's pack; empty without any, or where none was asked. */
  checks: Array<DataCheck>;
  /** Figures that the workload's pack makes of it; empty without any. */
  figures: Array<PackFigure>;
  /** Of throughput, and with a rate of response time. */
  steadiness: Array<Steadiness>;
  /** Why tries of the measured time failed, most frequent first. */
  reasons: Array<Reason>;
  /** What the server counted itself during the run, warm-up included. */
  server_counters: Fact<ServerCounters>;
  /**
   * Whether the database has what it acknowledged, or why that is not known; left out where
   * transactions leave no receipts.
   */
  truth?: Fact<Truth>;
  /** How stale reads were at endpoints with a role; left out where that was not measured. */
  staleness?: Staleness;
  /** What its history shows, or why that is not known; left out where none was recorded. */
  isolation?: Fact<IsolationCheck>;
  /** What else accompanied the trial and found something; left out where nothing did. */
  findings?: Array<NamedFinding>;
  /** Times of each statement, by script. */
  statements: Array<ScriptStatements>;
  /** How long connecting took. */
  connections: Connections;
  /** Lost connections, with `reconnect`. */
  outages: Outages;
  /** By server that clients connected to. */
  endpoints: Array<Endpoint>;
  /** The cluster before and after; `null` where there is but one node. */
  cluster: Cluster | null;
  /** What happened to connections, the first thousand. */
  events: Array<ConnectionEvent>;
  /** Times without service. */
  stalls: Stalls;
  /** The committed transactions of the measured time that took longest, the longest first. */
  worst: Array<SlowTransaction>;
  /** How many clients there were, and how many ended early. */
  clients: Clients;
  /** CPU time and delays of pgdyno's threads. */
  client_cpu: ClientCpu;
  /** How much of what its generator can do that was; `null` when nothing was measured. */
  generator_share: GeneratorShare | null;
  /** Who measured it, where several pgdynos did; left out of other trials. */
  generators?: Generators;
  /** What a reader must know before believing it. */
  notes: Array<ValidityNote>;
  /** What the notebook knows beside; left out of a trial that is not read from one. */
  stored?: Stored;
};

export type Workload = {
  name: string;
  /** The pack's content, when it is a pack. */
  pack_sha256: string | null;
  /** Variables that every client started with. */
  variables: { [key in string]: string };
};

/**
 * One measured run as it is asked for. Serialized, it has no secrets; what is missing when it is read
 * is as the command line has it when nothing is typed.
 */
export type TrialSpec = {
  /**
   * A workload's name (`pgdyno pack list`), the path of a folder with a pack.toml, or script
   * files in pgbench's language, each with its weight
   */
  workload: Array<string>;
  /** For script files of a sweep: the pack whose tables they run on. */
  tables: string | null;
  /** Use one of the workload's mixes instead of its scripts' weights */
  mix: string | null;
  /** Let scripts run any program on this host as the current user (\shell, \setshell) */
  allow_shell: boolean;
  /** Threads that drive the clients [default: one per CPU, at most one per client] */
  threads: number | null;
  /**
   * How long to measure: 60, 60s, 2m [default: 10s]
   * With a rate or clients that move, the default is their length.
   */
  duration_s: number | null;
  /** Transactions per client, instead of a duration */
  transactions_per_client: number | null;
  /**
   * Count slower transactions as late; with --rate, skip transactions that are already this late
   * before they start
   */
  latency_limit_us: number | null;
  /**
   * A client that has waited this long for the answer to a statement gives its connection up, as if
   * it had been lost; the statement is cancelled on the server, if that still answers
   */
  statement_timeout_us: number | null;
  /** Protocol for sending statements [default: simple, unless the workload needs another] */
  query_mode: string | null;
  /**
   * Isolation level of the transactions, unless a script sets its own; pgdyno reads back which
   * level the server uses [default: the server's]
   */
  isolation: string | null;
  /**
   * Read from the nearest replica, a few seconds stale, in sessions that are read-only: on
   * CockroachDB and YugabyteDB
   */
  follower_reads: boolean;
  /**
   * Connect clients through a proxy that pgdyno starts on loopback before each endpoint: disturbances of the
   * network (pgdyno:net-delay and others) need it, and latencies include it. pgdyno's own sessions
   * go directly (pgdyno help disturb)
   */
  via?: boolean;
  /** Server settings by name, for sweeps. Session settings are set by the clients' sessions. */
  settings: { [key in string]: string };
  /**
   * Have each transaction leave a receipt, and ask the database for them afterwards: acknowledged
   * transactions that it does not have are lost writes (exit code 1). A script that writes pgbench's
   * history has it in that row; others get an INSERT more (pgdyno help failover)
   */
  receipts?: boolean;
  /**
   * Record what each transaction observes, read every key at the end, and check which isolation levels
   * that keeps. The workload must say what it observes: isolation does, and scripts with \observe
   * (pgdyno help isolation)
   */
  history?: boolean;
  /** Open a new connection for each transaction */
  connection_per_transaction: boolean;
  /**
   * How pgdyno waits for sockets. auto: io_uring where a thread has more than 8 clients and the kernel allows it, else epoll.
   * PGDYNO_IO sets it too
   */
  io: string;
  /**
   * Keep each thread on a CPU of its own, of those that pgdyno may use (taskset), one core after the other.
   * The result says which
   */
  pin?: boolean;
  /**
   * Seed of the random numbers: the same seed gives the same transactions
   * [default: from the clock]
   */
  seed: number | null;
  /**
   * Set a workload parameter (repeatable), such as scale=100
   * `pgdyno pack list NAME` shows them. Others are read from the loaded tables or have their defaults.
   */
  params: { [key in string]: string };
  /**
   * Do not ask the checks of the workload's pack (what must hold of the data) before, during and
   * after the trial
   */
  no_checks: boolean;
  /** What is observed during the trial. */
  observe: ObserveSpec;
  /** The server's options. */
  target: TargetSpec;
  /** What disturbs it. */
  disturb?: DisturbSpec;
  /** Options set only by compatible commands. */
  compatible?: Compatible;
  warmup_s: number;
  warmup_detected: boolean;
  /**
   * What to do after a serialization failure, a deadlock or another error that this server says
   * to retry [default: none; restart with --max-tries]
   */
  retry: string | null;
  /**
   * Maximum tries per transaction, including the first; 0: no limit [default: 10 with
   * --retry, else 1]
   */
  max_tries: number | null;
  /**
   * Pauses between tries: none, or exponential=BASE,CAP,JITTER; exponential alone means
   * exponential=1ms,1s,full. Jitter: none, equal (50 to 100 % of the pause), full (0 to 100 %)
   */
  backoff: string | null;
  /** Start no new try this long after the first try of the transaction started */
  retry_deadline_us: number | null;
  /**
   * Make the server inject retry errors, to test the retry policy (CockroachDB 22.1 or later,
   * with --retry savepoint)
   */
  inject_retries: boolean;
  /** Keep the client running after an error that is not retried; count the transaction as failed */
  continue_on_error: boolean;
  /** Print every error, including retried ones */
  verbose_errors: boolean;
  /**
   * Reconnect when a connection is lost or cannot be made: to the same endpoint, else to the
   * others in turn. With --retry a transaction whose connection was lost before its COMMIT was sent
   * is tried again on the next one. Without --reconnect the client ends
   */
  reconnect: boolean;
  /**
   * With --reconnect and several endpoints: a client that went to another endpoint stays there.
   * Without it, it returns between two transactions once its own accepts connections again
   */
  no_failback: boolean;
  /**
   * With --discover, and --reconnect or -C: clients also go to nodes that join the cluster during the
   * trial. Of the n endpoints that there are then, the new one gets every nth client, each between two
   * transactions. Without it endpoints are those of the start
   */
  new_nodes: boolean;
  /** Stop the run when a client ends early because of an error */
  exit_on_abort: boolean;
  /** A COMMIT that the server answers with ROLLBACK counts as committed: pgbench does not look. */
  trusts_commit: boolean;
  /** Every error of the server may be tried again (YCSB's inserts). */
  retries_every_error: boolean;
  /** A duplicate key may be tried again, as a serialization failure (sysbench). */
  retries_duplicates: boolean;
  /** The client ends when the last try of a transaction has failed, as with ysql_bench. */
  ends_on_last_try: boolean;
  /**
   * What pgbench does not count is not counted: a transaction whose try fails when the time is
   * over, and retries of a transaction that ends its client.
   */
  counts_as_pgbench: boolean;
  /**
   * Keep these hosts of --url, with or without port, for scripts of a role: reads=host2,host3; several
   * roles: reads=host2;reports=host3:5433. reads=standby: hosts of --url that are standbys
   */
  endpoint_role?: string;
  /**
   * Send scripts to the endpoints of a role: select-only=reads,report=reads. A pack can say it too
   * (role = "reads" of a script)
   */
  script_role?: string;
  /**
   * Measure how stale reads are at the endpoints that have a role: write a stamp through the primary
   * this often, and read the stamps there (pgdyno help standbys). 5ms is a good value
   */
  staleness_us?: number;
  /**
   * With --staleness, also judge the clients' own sessions: each transaction that writes leaves its client's
   * stamp (an UPDATE more, of a row of its own), and each that only reads reads it (a SELECT more). Says how
   * often a client did not read what it had written, or read less than before (pgdyno help standbys)
   */
  client_stamps?: boolean;
};

/** What is observed while clients are at work: docs/instruments.md. */
export type ObserveSpec = {
  /**
   * What to read once a second while clients run: auto (everything available on the server and
   * this host), none, or names of instruments or groups (pg,host.disk). What is not available is
   * listed with the reason
   */
  instruments: string;
  /**
   * Observe the server at this URL in place of the target's, such as the server behind a pooler; the
   * verdict asks it, too. It must be the same server and database
   */
  observe_url?: string;
  /**
   * Observe this disk of this host, such as nvme0n1 (repeatable) [default: the disk of the
   * server's data directory, if it is on this host]
   */
  disk: Array<string>;
  /**
   * Also read a Prometheus endpoint once a second, such as node_exporter on the server's host:
   * node=http://db1:9100/metrics. Filters are metric names, with * as wildcard, and label
   * values: node_load1,node_disk_*,node_cpu_seconds_total{mode=user}. Log in with
   * https://USER:PASSWORD@HOST/PATH, or with a bearer token by adding token_file=PATH or
   * token_env=NAME to the filters
   */
  scrape: Array<string>;
  /**
   * Serve metrics of the running trial for Prometheus at http://ADDR/metrics. A port alone
   * listens on 127.0.0.1 only [default: off]
   */
  metrics_listen: string | null;
};

/**
 * Where the database is. With none of these and none of PGHOST, PGHOSTADDR, PGPORT and PGSERVICE
 * set, pgdyno uses the server kept by `pgdyno server start`, or starts one of its own.
 */
export type TargetSpec = {
  /**
   * Server, as postgresql://user@host:port/db [default: PG* variables, else a private server]
   * A URL or key=value pairs; missing parts come from the PG* environment variables, as with psql. Without
   * either, pgdyno uses the server of `pgdyno server start` or starts one for this run. Repeated, or with a
   * list of hosts: clients are spread over all of them, client i to endpoint i modulo their number.
   */
  url: Array<string>;
  /**
   * Use all nodes of the server's cluster as endpoints, found by SQL or through a node's HTTP
   * port (CockroachDB: --discover=http://HOST:8080)
   */
  discover: string | null;
  /**
   * How long the server may stay silent before it answers a query of pgdyno itself; 0: no limit.
   * Statements that change or maintain something have no limit [default: 30s]
   */
  silence_timeout_s?: number;
  /**
   * How long pgdyno's own statements wait for a lock; not those of the workload
   * [default: the server's lock_timeout]
   */
  lock_timeout_s?: number;
  /**
   * Give the private server a streaming standby, of the version that it has. Clients are given both, and
   * use the one that takes writes
   */
  pg_standby?: string;
  /** Directory of PostgreSQL's programs, for a private server */
  pg_bindir: string | null;
  /** Setting of the private server (repeatable), such as shared_buffers=1GB */
  pg_set: Array<string>;
  /** Unprivileged system user that runs the private server when pgdyno runs as root */
  pg_user: string | null;
};

/** Commands that run beside a trial. Times count from the moment when measuring begins. */
export type DisturbSpec = {
  /**
   * Run this shell command (sh -c) while clients work, after --before
   * Such as kubectl delete pod …, systemctl stop …, tc … Its exit code, times and output are kept. PGHOST, PGPORT, PGUSER,
   * PGDATABASE and PGDYNO_ENDPOINTS tell it where the database is. pgdyno:NAME is a disturbance of
   * pgdyno's own: pgdyno lab disturb --list
   */
  during?: string;
  /** Run another command so long after measuring began (repeatable): --at '60s COMMAND' */
  at: Array<string>;
  /** How long the trial measures before --during [default: 10s] */
  before_s?: number;
  /**
   * How long the disturbance lasts [default: until its last command ends]
   * A command that still runs then is ended.
   */
  for_s?: number;
  /**
   * How long the trial goes on after --for, or without it after the last command has begun
   * [default: 20s]
   */
  after_s?: number;
  /**
   * Run this command when the trial is over, however it ended: after a failure and after Ctrl-C,
   * too, once a command has been started
   */
  undo?: string;
  /**
   * End a command that takes longer, and count it as failed [default: the end of the trial; for
   * --undo 60s]
   */
  command_timeout_s?: number;
  /**
   * What a transaction may take from its scheduled start to count as served
   * [default: five times the p99 before the first command]
   */
  within_us?: number;
  /**
   * Carry out what could harm a server that is not a private one of pgdyno's
   * pgdyno lab disturb --list says which disturbances, and how.
   */
  yes?: boolean;
  /**
   * One after the other: a command waits until those before it have ended, and what pgdyno did itself has
   * been put back (else that is put back when the trial is over)
   */
  one_by_one?: boolean;
  /** Run none of the commands: the same trial without its disturbance, to compare with */
  control?: boolean;
};

/** Set by a command that translates another tool's options; never typed. */
export type Compatible = {
  /** The share of transactions that are logged one by one (pgbench's `--log`), 0 to 1. */
  log_share: number | null;
  /** Time every command, also those that only compute (pgbench's `-r`). */
  times_every_command: boolean;
  /** Print every step (pgbench's `--debug`). */
  debug: boolean;
  /**
   * Each client ends after so many transactions even if the duration is not over (cockroach's
   * `--max-ops` beside `--duration`).
   */
  transactions_per_client_max: number | null;
  /**
   * So many clients, the first ones, do one transaction more: a total that clients do not divide
   * (YCSB's `operationcount`).
   */
  one_more_transaction: number | null;
  /**
   * Only committed transactions count for these: one that failed is followed by another (sysbench's
   * `--events`).
   */
  counts_committed: boolean;
  /** Clients draw the random numbers of sysbench's threads. */
  sysbench_draws: SysbenchDraws | null;
  /** Parameters that are given count, whatever the tables say of themselves (YCSB looks at no table). */
  trusts_params: boolean;
  /** Transactions of a client share blocks (JDBC without autocommit). */
  commits: Commits | null;
};

/** What happens in sysbench before a thread's first event, as far as random numbers go. */
export type SysbenchDraws = {
  /** Threads without events (reports, schedule) that take their random numbers before the first one with. */
  threads_before: number;
  /** Numbers that a thread has drawn by then. */
  drawn: number;
};

export type Commits = {
  /** The number of the script that writes, among those of the trial. */
  script: number;
  /** After so many transactions of it. */
  every: number;
};

export type Target = {
  title: string;
  kind: TargetKind;
  /** What is known about it. */
  facts: Facts;
};

export type TargetKind = "named" | "kept" | "own";

/** What is known about the server. */
export type Facts = {
  /** The dialect that is spoken to it. */
  dialect: string;
  /** Whether a dialect is written for this product; else PostgreSQL's is tried. */
  dialect_known: boolean;
  /** What workloads may need and this version does not have, as packs name it: `for-update`. */
  lacks: Array<string>;
  version: Fact<string>;
  /** Of the product itself, such as `18.1` or `22.2.0`. */
  server_version: Fact<string>;
  server_version_num: Fact<number>;
  fsync: Fact<boolean>;
  /** Setting, as this session has it. */
  synchronous_commit: Fact<string>;
  full_page_writes: Fact<boolean>;
  /** Whether the server was built with assertions. */
  debug_assertions: Fact<boolean>;
  shared_buffers_bytes: Fact<number>;
  max_connections: Fact<number>;
  /** Setting, as this session has it. */
  default_transaction_isolation: Fact<string>;
  /** Setting, as this session has it. */
  read_only: Fact<boolean>;
  /** Whether it is a standby (or still recovering). */
  in_recovery: Fact<boolean>;
  /** Size of the database that is measured. */
  database_size_bytes: Fact<number>;
  /** Where the data directory is on the server's host; for superusers and pg_read_all_settings. */
  data_directory: Fact<string>;
  /** Whether pgdyno runs on the server's host. */
  same_host: Fact<boolean>;
  /** Whether the data directory lies in memory. */
  data_in_memory: Fact<boolean>;
  /** Settings that are not as the server's program has them, with their units. */
  changed_settings: Fact<{ [key in string]: string }>;
  /** The nodes of the cluster. */
  nodes: Fact<Array<ClusterNode>>;
  /** How many copies of the rows the cluster is to keep. */
  replication_factor: Fact<number>;
  /**
   * The isolation level in effect in the workload's transactions, read back in one that begins
   * as they do; several with commas between.
   */
  isolation: Fact<string>;
  /** The tables that the workload reads or updates, by name, before the run. */
  tables: Fact<{ [key in string]: TableShape }>;
  /** Which node a connection to each endpoint met before the run. */
  reached: Array<Reached>;
  /** Where the ranges or tablets of the workload's tables were before the run. */
  placement: Fact<Placement>;
  /** Standbys of this server before the run, or the server that it follows. */
  replication: Fact<Replication>;
};

/** Something known, or why it is not. */
export type Fact<T> = T | {
  unknown: string
};

/** A node of a cluster, as the cluster reports it. */
export type ClusterNode = {
  /** Its number, where nodes have one. */
  id: string | null;
  address: string;
  locality: string | null;
  version: string | null;
  /** Whether it was alive when asked. */
  is_live: boolean | null;
  /** Whether it was draining: it hands its leaders over and takes no new connections. */
  is_draining: boolean | null;
};

/** What a table is like. */
export type TableShape = {
  /** About how many rows it has; `null` where the server has not counted. */
  rows_estimate: number | null;
  /** Its keys and indexes: `primary btree (aid)`; `null` without any. */
  keys: string | null;
};

export type Reached = {
  endpoint: string;
  /** The node, as it calls itself. */
  node: Fact<string>;
  /** Whether it is a standby; `null` where the product has none, or that is not known. */
  is_standby: boolean | null;
  /** How far away it is, on an idle session. */
  round_trip: Fact<RoundTrip>;
  /** The product and its version, such as `PostgreSQL 18.1`. */
  version: Fact<string>;
  /** The number that `initdb` gave the server's data; `null` where the product has none, or that is not known. */
  system_identifier: string | null;
};

/** How long an idle session waits for the answer to a trivial query. */
export type RoundTrip = {
  min_us: number;
  median_us: number;
  /** How many were measured, one after another. */
  count: number;
};

/** Where the parts of some tables are. */
export type Placement = {
  /** What the parts are called: `ranges`, `tablets`. */
  parts: string;
  tables: { [key in string]: TablePlacement };
};

/** Where the parts of a table are. A node is its id or, where nodes have none, its address. */
export type TablePlacement = {
  /** How many parts it has. */
  parts: number;
  /** By node: of how many parts it is the leader (the lease holder). */
  leaders: { [key in string]: number };
  /** By node: of how many parts it has a replica. */
  replicas: { [key in string]: number };
  /**
   * The settings of its zone, as the server has them; `null` where the product has no zones, or
   * does not show them.
   */
  zone: string | null;
};

/** The streaming replication of PostgreSQL, as one server sees it. */
export type Replication = {
  /** Those that receive its log. */
  standbys: Array<Standby>;
  /** `host:port` of the server that it receives its log from, as a standby. */
  primary: string | null;
};

/**
 * A standby, as the server that it receives the log from sees it. `null`: not known (yet), or hidden from
 * the role.
 */
export type Standby = {
  name: string | null;
  /** Where it connected from; without a port, `null` over a Unix socket. */
  address: string | null;
  state: string | null;
  sync_state: string | null;
  /** Log that it has not replayed yet. */
  lag_bytes: number | null;
  /** How long after the server it replays, as measured last. */
  lag_us: number | null;
};

/** The machine that pgdyno ran on. */
export type Host = {
  name: string | null;
  kernel: string | null;
  /** Model of its first CPU. */
  cpu_model: string | null;
  /** CPUs that pgdyno might use. */
  cpus: number;
  memory_bytes: number | null;
  /** What its load generator can do, by `pgdyno calibrate --self`; left out where that is not known. */
  ceiling?: Ceiling;
};

/** The row of a machine's self-calibration that is nearest to a trial. */
export type Ceiling = {
  /** When `pgdyno calibrate --self` began, UTC. */
  calibrated: string;
  threads: number;
  clients: number;
  query_mode: string;
  /** CPU time of the generator's threads for each round trip. */
  cpu_us_per_round_trip: number;
  /** Round trips a second that were measured. */
  measured_per_s: number;
};

/**
 * What came of a [`Phase`]: of the transactions that ended in its seconds, whole ones. A second that
 * two phases share counts in the one that has its middle.
 */
export type PhaseFigures = {
  /** The length of its seconds together: less than the phase where the trial ended in it. */
  measured_us: number;
  /** Committed transactions a second of its seconds; `null` when it has none. */
  goodput_per_s: number | null;
  /** Transactions that the schedule asked for in its seconds; `null` without a rate. */
  due: number | null;
  /** Clients asked for in its seconds, on average; left out where their number does not move. */
  clients_asked?: number;
  /** Clients that worked in its seconds, on average; left out likewise. */
  clients_working?: number;
  /** From the start of a committed transaction's first try to its end. */
  service: Latencies;
  /** From the scheduled start to the end; `null` without a rate. */
  response: Latencies | null;
  /** How late transactions started; `null` without a rate. */
  schedule_lag: Latencies | null;
  /** What people call it: `500/s`, `before`. */
  name: string;
  /** Where it begins, in microseconds since clients began to work. */
  from_us: number;
  to_us: number;
  committed: number;
  /** Ended badly: certainly not committed. */
  failed: number;
  /** The same by SQLSTATE, or a word. */
  failed_by_class: { [key in string]: number };
  /** Never started: already later than the latency limit. */
  skipped: number;
  unknown: number;
  /** Committed, but later than the latency limit. */
  late: number;
  /** Tries beyond the first, of all transactions. */
  retries: number;
  /** Transactions that were tried more than once. */
  retried: number;
};

/** Latencies in microseconds. A percentile with fewer than ten values beyond it is `null`. */
export type Latencies = {
  count: number;
  mean_us: number | null;
  /** Their standard deviation, over all of them. */
  stddev_us: number | null;
  p50_us: number | null;
  p90_us: number | null;
  p95_us: number | null;
  p99_us: number | null;
  p99_9_us: number | null;
  max_us: number | null;
  /** The 95 % intervals of the percentiles that are shown; left out where there are no seconds to tell. */
  intervals?: Array<PercentileInterval>;
};

/** The 95 % interval of a percentile that is shown, its transactions depending on one another. */
export type PercentileInterval = {
  percentile: number;
  /** The lower end; `null` in a trial of less than ten whole seconds. */
  low_us: number | null;
  /** The upper end; `null` where it is above all that was measured, too. */
  high_us: number | null;
  /**
   * So many independent transactions would show the figure as surely; `null` in a trial of less than ten whole
   * seconds.
   */
  effective: number | null;
  /**
   * Whether the figure is of this run only, and has the mark `~`: an end lies more than 25 % away or
   * is open, the slow transactions came in so few bursts that they count as fewer than ten, or the
   * trial has less than ten whole seconds.
   */
  uncertain: boolean;
};

/** Clients over the measured time. */
export type ClientCourse = {
  /** How many were asked for, on average. */
  asked: number;
  /** How many worked, on average: at a transaction, or waiting for one that they may begin. */
  working: number;
  /**
   * By how much both differ, second by second, as a share of those asked for: 0 where each second
   * had its number.
   */
  off_share: number;
  /** Second by second, warm-up included. */
  seconds: Array<ClientSecond>;
};

export type ClientSecond = {
  /** When it began, in microseconds since clients began to work. */
  start_us: number;
  /** How many were asked for, on average. */
  asked: number;
  /** How many worked, on average. */
  working: number;
};

/** A jump of the rate, and what followed. */
export type RateStep = {
  /** When, in microseconds since clients began to work. */
  at_us: number;
  /** Transactions a second before it. */
  from_per_s: number;
  /** Transactions a second after it. */
  to_per_s: number;
  /**
   * Which percentile of response time was followed, second by second: the highest of 95, 90 and 50
   * that each second has.
   */
  percentile: number | null;
  /** Its level before the step: the median of the last seconds. */
  before_us: number | null;
  /** Its level after it, once steady. */
  after_us: number | null;
  /** From the step until it was steady; `null` where it never was, or where that is not known. */
  settled_us: number | null;
  /** Why that is not known. */
  not_known: string | null;
  /**
   * Transactions that were due and not committed from the step until it was steady, or until the
   * next step.
   */
  missed: number | null;
};

export type End = "complete" | "running" | "interrupted" | "client-aborted" | "all-clients-aborted" | "invariant-broken";

/** Figures of the measured time, or of the warm-up. */
export type Phase = {
  /** From its beginning to the end of its last transaction. */
  elapsed_us: number;
  /** Of these, from the end of the asked duration on: transactions ended, none began. */
  drain_us: number;
  /** Transactions committed in that time; they are in all figures but goodput. */
  drain_committed: number;
  scripts: Array<ScriptFigures>;
  /** Committed transactions a second of the asked duration. */
  goodput_per_s: number;
  /** From the start of a committed transaction's first try to its end. */
  service: Latencies;
  /** From the start of the try that was committed to its end; `null` where there is but one. */
  attempt: Latencies | null;
  /** From the scheduled start to the end; `null` without a rate. */
  response: Latencies | null;
  /** How late transactions started; `null` without a rate. */
  schedule_lag: Latencies | null;
  work: Work;
  /** Work units by operation; empty where none are counted. */
  units: Array<UnitFigures>;
  committed: number;
  /** Ended badly: certainly not committed. */
  failed: number;
  /** The same by SQLSTATE, or a word. */
  failed_by_class: { [key in string]: number };
  /** Never started: already later than the latency limit. */
  skipped: number;
  unknown: number;
  /** Committed, but later than the latency limit. */
  late: number;
  /** Tries beyond the first, of all transactions. */
  retries: number;
  /** Transactions that were tried more than once. */
  retried: number;
};

export type ScriptFigures = {
  name: string;
  weight: number;
  /** Committed transactions a second of the asked duration. */
  goodput_per_s: number;
  /** From the start of a committed transaction's first try to its end. */
  service: Latencies;
  /** From the start of the try that was committed to its end; `null` where there is but one. */
  attempt: Latencies | null;
  /** From the scheduled start to the end; `null` without a rate. */
  response: Latencies | null;
  /** How late transactions started; `null` without a rate. */
  schedule_lag: Latencies | null;
  work: Work;
  /** Work units by operation; empty where none are counted. */
  units: Array<UnitFigures>;
  committed: number;
  /** Ended badly: certainly not committed. */
  failed: number;
  /** The same by SQLSTATE, or a word. */
  failed_by_class: { [key in string]: number };
  /** Never started: already later than the latency limit. */
  skipped: number;
  unknown: number;
  /** Committed, but later than the latency limit. */
  late: number;
  /** Tries beyond the first, of all transactions. */
  retries: number;
  /** Transactions that were tried more than once. */
  retried: number;
};

/** What tries cost: those that were committed, and those that were thrown away. */
export type Work = {
  /** Time in tries that were committed, in microseconds. */
  kept_us: number;
  kept_statements: number;
  /** Tries that failed, whether another followed or not. */
  lost_tries: number;
  /** Time in them until they were rolled back, in microseconds. */
  lost_us: number;
  lost_statements: number;
  /** The share of the time in tries that was thrown away, 0 to 1; `null` without any. */
  lost_time_share: number | null;
  /** The share of statements that were thrown away, 0 to 1; `null` without any. */
  lost_statement_share: number | null;
  /** Pauses between tries, in microseconds: in no other figure here. */
  backoff_us: number;
  /** Transactions that failed with an error that might be tried again, after their last try. */
  given_up: number;
  /** Those that would have been tried again, had the trial not been over. */
  cut_off: number;
  /** Retries that the server made itself, as committed transactions report. */
  server_retries: number;
};

/** Work units of one operation. */
export type UnitFigures = {
  operation: string;
  units: number;
  units_per_s: number;
  /** Rows that they found or changed. */
  rows: number;
  rows_per_s: number;
  /** How long a unit took. */
  latency: Latencies;
};

/** Figures of the warm-up, which are in no others. */
export type Warmup = {
  /** How it ended; `null` where its time was given. */
  detected: WarmupEnd | null;
  /** From its beginning to the end of its last transaction. */
  elapsed_us: number;
  /** Of these, from the end of the asked duration on: transactions ended, none began. */
  drain_us: number;
  /** Transactions committed in that time; they are in all figures but goodput. */
  drain_committed: number;
  scripts: Array<ScriptFigures>;
  /** Committed transactions a second of the asked duration. */
  goodput_per_s: number;
  /** From the start of a committed transaction's first try to its end. */
  service: Latencies;
  /** From the start of the try that was committed to its end; `null` where there is but one. */
  attempt: Latencies | null;
  /** From the scheduled start to the end; `null` without a rate. */
  response: Latencies | null;
  /** How late transactions started; `null` without a rate. */
  schedule_lag: Latencies | null;
  work: Work;
  /** Work units by operation; empty where none are counted. */
  units: Array<UnitFigures>;
  committed: number;
  /** Ended badly: certainly not committed. */
  failed: number;
  /** The same by SQLSTATE, or a word. */
  failed_by_class: { [key in string]: number };
  /** Never started: already later than the latency limit. */
  skipped: number;
  unknown: number;
  /** Committed, but later than the latency limit. */
  late: number;
  /** Tries beyond the first, of all transactions. */
  retries: number;
  /** Transactions that were tried more than once. */
  retried: number;
};

/** How such a warm-up ended. */
export type WarmupEnd = {
  ended_by: EndedBy;
  figure: Figure;
  /**
   * At the limit, what was still going on: the change over the later half, as a share of the
   * median there. `None` where it makes no share.
   */
  change: number | null;
};

/** Why a warm-up whose end was to be found came to it. */
export type EndedBy = "steady" | "limit" | "trial";

/** A figure of a second. */
export type Figure = "throughput" | "response_time";

/** What the draws came to. */
export type KeySkew = {
  draws: number;
  /** Whether the run made more than were replayed. */
  is_sample: boolean;
  distinct: number;
  /** Share of the row that was drawn most, 0 to 1. */
  hottest_share: number;
  /** Share of the hundred rows that were drawn most. */
  hottest_100_share: number;
};

/** The accounting with what follows from it; `null` where that is not known. */
export type Accounted = {
  figures: AccountingFigures;
  /** From the barrier to the end of the last transaction, in microseconds. */
  elapsed_us: number;
  sessions: number;
  /** CPUs of the server's host, where pgdyno is on it. */
  cpus: number | null;
  /** Counters of the buffer pool. */
  buffers: Fact<BufferCounters>;
  /** Reads of tables and indexes by who made them, where the server reports. */
  io: Fact<Array<IoRow>>;
  wal_bytes: Fact<number>;
  /** What the device under the server's files did (all processes). */
  device: Fact<DeviceUse>;
  /** CPU time of all the server's processes, in microseconds. */
  cpu_us: Fact<number>;
  /** What the sessions did, by kind of work unit. */
  units: Array<AccountedUnits>;
  /** What a unit is expected to read. */
  expected: Fact<Expected>;
  /** What the nodes of a distributed database count, under its own names. */
  nodes: Array<NodeFigures>;
};

/** What follows from an accounting: see the methods of [`Accounting`] of the same names. */
export type AccountingFigures = {
  logical_reads: number | null;
  liops: number | null;
  misses: number | null;
  misses_per_s: number | null;
  hit_ratio: number | null;
  device_reads_per_s: number | null;
  device_bytes_per_s: number | null;
  /** Blocks that came from the device as a share of all logical reads. */
  device_blocks_per_logical_read: number | null;
  wal_bytes_per_s: number | null;
  cpu_us_per_logical_read: number | null;
  liops_per_core: number | null;
  cores_busy: number | null;
  busy_share: number | null;
  us_per_logical_read: number | null;
  buffers_per_unit: number | null;
  counted_by_expected: number | null;
};

/** The counters of the session's database before and after. */
export type BufferCounters = {
  /** Whose they are: the database. */
  database: string;
  block_bytes: number;
  /** By name, at the barrier. */
  before: { [key in string]: number };
  /** By name, when all sessions had gone. */
  after: { [key in string]: number };
};

/** Reads of tables and indexes by one kind of process. */
export type IoRow = {
  /** Such as `client backend` or `io worker`. */
  backend: string;
  /** Such as `normal` or `bulkread`. */
  context: string;
  /** Reads, of one block or of several. */
  reads: number;
  read_bytes: number;
  /** Blocks found in the pool. */
  hits: number;
};

export type DeviceUse = {
  /** Its name, such as `nvme0n1`. */
  name: string;
  reads: number;
  read_bytes: number;
  writes: number;
  written_bytes: number;
};

/** How often the sessions did one kind of work. */
export type AccountedUnits = {
  kind: string;
  count: number;
  rows_each: number;
};

/** What units are expected to read. */
export type Expected = {
  /** The kind of unit, such as `select`. */
  kind: string;
  count: number;
  /** Buffers of one, on average. */
  mean: number;
  /** The fewest that one read. */
  min: number;
  max: number;
  /**
   * The plan, node by node from the top, with the number of units that had it; most had the
   * first.
   */
  plans: Array<[string, number]>;
};

/**
 * A figure of a distributed database's nodes: seeks, blocks, read operations. None of them is a
 * logical read as PostgreSQL has them.
 */
export type NodeFigures = {
  /** Its name among what is observed, such as `yb.reads`. */
  name: string;
  /** Its unit, such as `1/s`. */
  unit: string;
  /** The mean over the measured time, by node. */
  by_node: { [key in string]: number };
};

/** A disturbed trial as it is shown: its commands, and what they did to clients. */
export type DisturbedTrial = {
  /** What went wrong with them, a sentence each. */
  troubles: Array<string>;
  /** What they did; `null` where the trial came to nothing. */
  figures: DisturbFigures | null;
  /** Whether it is a control: none of the commands was run. */
  control: boolean;
  /** When the disturbance was to begin. */
  due_us: number;
  /**
   * When it began: the start of its first command. Of a control when it would have; `null` when
   * the trial had ended before.
   */
  began_us: number | null;
  /** When it was over: the end of its last command, or what `--for` says. */
  ended_us: number | null;
  /** The commands, in the order of their moments. */
  commands: Array<CommandRun>;
  /** What was run after the trial; `null` where nothing is to be undone. */
  undo: CommandRun | null;
};

/**
 * What a disturbance did to clients: definitions in docs/disturb.md. Transactions count where they
 * were to start; times count from the start of the first command, of a control from when it was due.
 */
export type DisturbFigures = {
  /** What a transaction may take from its scheduled start to count as served, in microseconds. */
  limit_us: Fact<number>;
  /** Whether that was given; else it is five times the p99 before the disturbance, rounded up. */
  limit_given: boolean;
  /** Transactions a second that were due before. */
  offered_per_s: number;
  /** The share of them that was served, 0 to 1. */
  served_share_before: number | null;
  phases: Array<PhaseFigures>;
  /** Until the first error of a client; `null`: there was none. */
  first_error_us: number | null;
  /** Until the first commit after it, to 100 ms; `null`: there was none. */
  first_success_us: number | null;
  /** The longest time without a commit by any client, whenever it began, if it ended after the start. */
  no_service_us: number;
  /** The longest time in which one client got no commit; `null`: below 100 ms. */
  worst_client_us: number | null;
  /** Until 90 % of the usual share was served for five seconds; 0 when it never was less. */
  back_us: Fact<number>;
  /** Whether it was before the end; `null` where that cannot be known. */
  is_back: boolean | null;
  /** The same at 99 %, where the time before allows it. */
  strictly_back_us: Fact<number>;
  /** How long less than 90 % were served, together, to a second. */
  below_us: number | null;
  /** Transactions that were due from the start on. */
  due: number;
  /** Of these, those that were not served. */
  missed: number | null;
  /** Of these: failed, and were not tried again. */
  failed: number;
  /** Of these: those whose commit is unknown. */
  unknown: number;
  /** Of these: skipped, because they were too late already. */
  skipped: number;
  /** Of these: committed beyond the limit. */
  late: number | null;
  /** Of these: never started before the trial was over. */
  never_started: number;
  /** Whether goodput stays down when the disturbance is over, at the same load. */
  metastable: Metastable;
  metastable_why: string;
  /** What was due and what was served, over time. */
  course: DisturbCourse;
};

/** Whether goodput stays down when a disturbance is over. */
export type Metastable = "yes" | "no" | "cannot_tell";

/** What was due and what came of it, in bins from when clients began to work. */
export type DisturbCourse = {
  /** The length of a bin. */
  bin_us: number;
  /** Transactions that were to start in each. */
  due: Array<number>;
  /** Of these, those that were served. */
  served: Array<number>;
  /** Commits in each, whenever they were to start. */
  commits: Array<number>;
  /** Tries that failed in each, and connections that were lost or refused. */
  errors: Array<number>;
  /** The errors of the measured time by kind and endpoint, the most frequent first. */
  errors_by: Array<DisturbErrors>;
  /** Response times by second, of commits in it. */
  response: Array<DisturbSecond>;
  /** Commits by endpoint and second; empty where there is one endpoint only. */
  endpoints: Array<DisturbEndpoint>;
};

/**
 * Errors of one kind at one endpoint, over time. An attempt to connect that finds no server counts at
 * each address that it tried.
 */
export type DisturbErrors = {
  /**
   * The SQLSTATE; without one `connection-lost`, `connection-refused`, `wrong-server` (not what
   * `target_session_attrs` asks for), or another word of `failed`.
   */
  code: string;
  says: string;
  endpoint: string;
  count: number;
  /**
   * The seconds that have some: when each began, in microseconds since clients began to work, and
   * how many.
   */
  seconds: Array<[number, number]>;
};

/** Response times of a second's commits, in microseconds; `null` where fewer than ten lie beyond. */
export type DisturbSecond = {
  /** When it began, in microseconds since clients began to work. */
  start_us: number;
  p50_us: number | null;
  p95_us: number | null;
  p99_us: number | null;
  max_us: number | null;
};

/** What was committed at an endpoint, over time. */
export type DisturbEndpoint = {
  endpoint: string;
  /** When the first second began, in microseconds since clients began to work. */
  from_us: number;
  /** Commits in each second; none after the last commit. */
  committed: Array<number>;
};

/** A command that was run, or was not. */
export type CommandRun = {
  /** As it was typed, without secrets. */
  command: string;
  /** When it was due; `null` of the undo. */
  due_us: number | null;
  /** When it was started; `null` when it was not. */
  began_us: number | null;
  ended_us: number | null;
  end: CommandEnd;
  /** Its exit code, where it ended by itself. */
  exit_code: number | null;
  /** The signal that ended it. */
  signal: number | null;
  /** Why it was not started. */
  reason: string | null;
  /**
   * What it wrote to standard output and standard error, without secrets: the first and the last
   * few kilobytes.
   */
  output: string;
  /** Bytes of the output that are left out. */
  output_left_out: number;
  /** What it did, of a migration (`pgdyno lab migrate`). */
  migration?: MigrationRun;
};

export type CommandEnd = "exited" | "ended" | "timed_out" | "never_ended" | "not_run";

/** A migration that was run beside a trial. Times are microseconds since it began. */
export type MigrationRun = {
  file: string;
  /** The tool whose transactions it was run in. */
  tool: string;
  /** `as-written`, `lock-timeout` or `online`. */
  form: string;
  /** Whether all of it was committed. */
  is_done: boolean;
  /** How often transactions were begun again because of `lock_timeout`. */
  retries: number;
  /** The last `lock_timeout` that was set; `null`: none. */
  lock_timeout_ms: number | null;
  /** What ended it before; `null`: nothing did. */
  error: string | null;
  /** What of it is left in the database, where that is not all or nothing. */
  left: string | null;
  statements: Array<MigrationStatement>;
  /** Sessions that it waited for. */
  holders: Array<MigrationHolder>;
  /** Sessions that waited behind it, the longest first, twenty at most. */
  victims: Array<MigrationVictim>;
  /** How many there were. */
  victims_total: number;
  /** How many sessions waited behind it, each time when that changed: when, and how many. */
  queue: Array<[number, number]>;
  /** Standbys that streamed from the server when it began. */
  standbys: Array<MigrationStandby>;
  /** How often the server was asked for that. */
  polls: number;
  /** Polls that failed; what failed first. */
  unseen: string | null;
};

/** A statement, at its last try. */
export type MigrationStatement = {
  file: string;
  line: number;
  statement: string;
  began_us: number;
  ended_us: number;
  /** Until when its locks were held: the end of its transaction. */
  held_until_us: number;
  /** How long it waited for locks; the last of a transaction at its commit also for a synchronous standby. */
  waited_us: number;
  /** Locks on relations that its transaction has had since it: what the statement added. */
  locks: Array<MigrationLock>;
  /** Whether they were read at its end; else while it ran, so that short ones may be missing. */
  locks_are_whole: boolean;
  /** Tables and indexes with a new file. */
  rewritten: Array<string>;
  /** What the server said of rows that it wrote anew or read, and its notices. */
  says: Array<string>;
  /** WAL of the whole server meanwhile, the clients' too; `null`: the server does not say. */
  wal_bytes: number | null;
  error: string | null;
};

export type MigrationLock = {
  relation: string;
  /** As SQL has it. */
  mode: string;
};

/** A session, or a prepared transaction, that had what the migration waited for. */
export type MigrationHolder = {
  /** `null`: a prepared transaction. */
  pid: number | null;
  application: string;
  /** `idle in transaction`, `active`, `prepared transaction`, `standby` (the commit waits for it) … */
  state: string;
  /** Its statement, or the prepared transaction's identifier. */
  query: string;
  /** How old its transaction was when it was first seen. */
  transaction_us: number | null;
  /** What the migration waited for: a relation, or another kind of lock. */
  on: string;
  /** The mode that the migration asked for, as SQL has it. */
  mode: string;
  from_us: number;
  to_us: number;
};

/** A session that waited behind the migration. */
export type MigrationVictim = {
  pid: number;
  application: string;
  query: string;
  on: string;
  mode: string;
  /** The longest of its waits. */
  waited_us: number;
};

/** A standby while the migration ran, and until it had replayed it. */
export type MigrationStandby = {
  /** Its `application_name`, or of one that `--url` names its place. */
  name: string;
  /** Most that it had not replayed of what the server had written. */
  behind_bytes_max: number;
  /** For how long, at most, it had not replayed something that the server had written; looked at every 100 ms. */
  behind_us_max: number;
  /** From the migration's end until it had replayed all of it; `null`: not before the trial was over. */
  replayed_after_us: number | null;
  /**
   * Queries that its replay cancelled from the migration's begin on (`pg_stat_database_conflicts`); `null`:
   * `--url` does not name it, so it was not asked.
   */
  cancelled: number | null;
  /** Of these, those that were in the way of a replayed lock. */
  cancelled_by_lock: number | null;
};

/**
 * A check of the workload's pack (`[[check]]`, workloads/README.md): what must hold of the data whatever
 * transactions do.
 */
export type DataCheck = {
  /** Its name in the pack. */
  name: string;
  /** What holds, in one sentence. */
  help: string;
  /** Whether it held each time; `null`: not known. */
  held: boolean | null;
  /** What the query must return: `no row`, a value. */
  expected: string;
  /** What it returned: the first time that it did not hold, else the last time; `null`: never asked. */
  found: string | null;
  /** When that was: `before`, `during`, `after` the trial. */
  at: string | null;
  /** How often it was asked. */
  looks: number;
  /** How often it did not hold. */
  failures: number;
  /** The longest time that the query took. */
  took_us_max: number;
  /** Why it was not asked, or not as often as it should. */
  unknown: string | null;
};

/** A figure of the workload's pack (`[[figure]]`, workloads/README.md), and whether it is within its limits. */
export type PackFigure = {
  /** Its name in the pack. */
  name: string;
  /** What it says, in one sentence. */
  help: string;
  /** Its unit: `a minute`, `ms`, `%`. */
  unit: string;
  value: number | null;
  /** The least that it should be; `null` where any is right. */
  at_least: number | null;
  /** The most that it should be; `null` where any is right. */
  at_most: number | null;
  /** Whether it is within these limits; `null`: there are none, or it is not known. */
  within: boolean | null;
  /** Why it is not known. */
  unknown: string | null;
};

/** Whether a figure was steady over the seconds of the measured time. */
export type Steadiness = {
  figure: Figure;
  /** How many seconds were judged. */
  seconds: number;
  verdict: SteadinessVerdict;
  /** From the first to the last quarter, as a share. */
  change: number | null;
  p: number | null;
  /** From which second on, after a warm-up. */
  steady_from_s: number | null;
  sentence: string;
};

/** What was found of a figure's seconds. */
export type SteadinessVerdict = "steady" | "drifts" | "warm-up" | "holes" | "alternates" | "level" | "too-short" | "incomplete";

/** Why tries of the measured time failed. */
export type Reason = {
  /** What kind of trouble it is. */
  class: string;
  /** What people call it; of an error that no rule knows, its SQLSTATE. */
  reason: string;
  /** The SQLSTATE; `null` when there was none. */
  sqlstate: string | null;
  tries: number;
  /** Of these, those after which the transaction was tried again. */
  tries_retried: number;
  /** Of these, those that were the last of their transaction. */
  tries_ended: number;
  /** One of its messages, whole: the first that was seen. */
  message: string;
  /** The statement it mostly came to. Not recorded yet. */
  statement?: string;
};

/** What was counted during a trial, warm-up included. */
export type ServerCounters = {
  /** Where the counters are from, for people. */
  source: string;
  /** How much each has grown. */
  counted: { [key in string]: number };
  /** The sum of those that count what clients retry for, where there are any. */
  restarts: number | null;
  /** Endpoints whose server was restarted meanwhile: what it counted before that is missing. */
  restarted: Array<string>;
};

/** What the receipts say. Numbers are transactions, warm-up included. */
export type Truth = {
  /** The tables that have them. */
  tables: Array<string>;
  /** Whose COMMIT the server has answered, with a receipt written before. */
  acknowledged: number;
  /** Of these, those without their receipt: lost writes. */
  lost: number;
  lost_first: Array<LostWrite>;
  /** Of which clients do not know whether they were committed. */
  in_doubt: number;
  /** Of these, those that were. */
  in_doubt_landed: number;
  in_doubt_first: Array<InDoubt>;
  /** Of which clients know that they were rolled back. */
  failed: number;
  /** Of these, those that were committed all the same. */
  failed_landed: number;
  /** That committed without a receipt: their script rolled back, or did not come to it. */
  without_receipt: number;
  /** Receipts that are there more than once. */
  twice: number;
  /** Of clients with too many errors, each of which was noted up to a limit: nothing is said of them. */
  not_followed: number;
  /** What the tables of a workload that keeps sums gained; `null` where there are none. */
  sums: Fact<Sums> | null;
  /** How long the database was read, in milliseconds. */
  read_ms: number;
};

/** An acknowledged transaction that the database does not have. */
export type LostWrite = {
  client: number;
  /** Which of its transactions, from 1. */
  number: number;
  /** By when it had been acknowledged, in microseconds since clients began to work. */
  by_us: number;
  /** How much earlier that may have been: times are kept about once a second. */
  within_us: number;
};

/** A transaction of which its client did not know whether it was committed. */
export type InDoubt = {
  client: number;
  /** Which of its transactions, from 1. */
  number: number;
  /**
   * When the client gave it up, in microseconds since clients began to work; of several one after
   * another the first.
   */
  at_us: number;
  landed: boolean;
};

/**
 * What a trial added to the balances of pgbench's tables: the same to all that its scripts change, if
 * transactions are atomic.
 */
export type Sums = {
  /** The tables, and by how much their sum has grown. */
  grown: Array<[string, number]>;
};

/** What the probe saw in the measured time. */
export type Staleness = {
  /** A stamp was to be written this often, in microseconds. */
  interval_us: number;
  /** Sessions that write by turns, each its own row. */
  sessions: number;
  /** Stamps whose COMMIT was answered. */
  written: number;
  /** Stamps that were not, or without an answer. */
  not_written: number;
  /** How long their COMMIT took. */
  write: Lags;
  /**
   * Where stamps were read; the first is the endpoint that they were written through: a control, which
   * is never stale.
   */
  endpoints: Array<StaleEndpoint>;
  /** The same of the clients' own sessions, where their scripts write and read stamps (`--client-stamps`). */
  clients?: ClientStaleness;
};

/** Times of one kind in microseconds. A percentile is `null` with fewer than ten values beyond it. */
export type Lags = {
  count: number;
  p50_us: number | null;
  p99_us: number | null;
  /** The longest; `null` without any. */
  max_us: number | null;
};

/** The reads of one server. */
export type StaleEndpoint = {
  /** The role of the endpoint; `null`: the control. */
  role: string | null;
  name: string;
  reads: number;
  /** Reads before the first stamp was seen there: they count in none of the figures. */
  before_first: number;
  failed: number;
  /** Why the last of them did. */
  error: string | null;
  /** Reads that did not show all stamps which were acknowledged before they began. */
  stale: number;
  /**
   * At the beginning of each read, how long ago the oldest acknowledged stamp that it did not show was
   * acknowledged; 0 of a read that showed all.
   */
  staleness: Lags;
  /** Its distribution: buckets that have reads, the shortest first. */
  histogram: Array<StaleBucket>;
  /** Sessions and reads before which a stamp of the session was acknowledged: what `own_unseen` is of. */
  after_write: number;
  /** How often a session read something older than what it had written itself: sessions and reads. */
  own_unseen: number;
  own_unseen_worst: OwnUnseen | null;
  /** Sessions and reads before which the session had read a stamp: what `went_back` is of. */
  after_read: number;
  /**
   * How often a session read something older than what it had read before: at any endpoint of the role, a
   * client at any endpoint.
   */
  went_back: number;
  went_back_worst: WentBack | null;
  /** The same by session; not of clients. */
  by_session: Array<SessionReads>;
  /** What the server says of its replay. */
  replay: Fact<Replay>;
  seconds: Array<StaleSecond>;
};

export type StaleBucket = {
  /**
   * The longest staleness that belongs here, in microseconds: 0 for reads that were not stale, 100 and
   * then ten to a decade.
   */
  upto_us: number;
  reads: number;
};

/** A session did not read what it had written. Times in microseconds since clients began to work. */
export type OwnUnseen = {
  session: number;
  /** Its oldest stamp that the read did not show. */
  stamp: number;
  written_us: number;
  read_us: number;
  /** The stamp that it showed. */
  shown: number;
};

/** A session read less than before. Times in microseconds since clients began to work. */
export type WentBack = {
  session: number;
  /** The stamp that it had read. */
  stamp: number;
  at: string;
  /** When that read had ended. */
  seen_us: number;
  /** When the later read began. */
  read_us: number;
  /** The stamp that it showed. */
  shown: number;
};

/** One session at one server. */
export type SessionReads = {
  session: number;
  /** Reads without its own last acknowledged stamp. */
  own_unseen: number;
  /** Reads that showed less than one before. */
  went_back: number;
};

/** Replay as the standby tells it, sampled beside the reads. */
export type Replay = {
  /**
   * By position: how long ago the oldest stamp was acknowledged whose WAL position the standby had not
   * replayed; 0 if it had replayed all. By pgdyno's clock alone.
   */
  by_position: Lags;
  /**
   * By timestamp: the standby's time less that of the last transaction that it replayed. Of two hosts'
   * clocks, where they are two.
   */
  by_timestamp: Lags;
};

/** The reads of a second. */
export type StaleSecond = {
  /** Which, since clients began to work. */
  at_s: number;
  /** Reads that began in it. */
  reads: number;
  stale: number;
  /** The median of the staleness, in microseconds; `null` with fewer than ten reads beyond it. */
  p50_us: number | null;
  /** The 99th percentile, in the same way. */
  p99_us: number | null;
  /** The longest staleness, in microseconds. */
  max_us: number;
  /**
   * The longest time that the replay was behind by position ([`Replay::by_position`]); `null` if it was not
   * sampled.
   */
  replay_us: number | null;
};

/** What the clients' own transactions showed: each client is a session with a stamp of its own. */
export type ClientStaleness = {
  /** Clients that could write one. */
  sessions: number;
  /** Transactions with a stamp that were acknowledged, over the whole trial. */
  written: number;
  /** Where stamps were read, by the role of the script; of scripts without a role it is the control. */
  endpoints: Array<StaleEndpoint>;
};

/** The check of a trial's history. */
export type IsolationCheck = {
  /**
   * The isolation level in effect, as the server reported it inside a transaction that began as
   * the workload's do.
   */
  in_effect: Fact<string>;
  /** What the product promises at that level. */
  promise: Fact<IsolationPromise>;
  /**
   * Where scripts of a role went, if some did not go where the others wrote:
   * `reads at db2:5432 (a standby)`.
   */
  reads: string | null;
  /** Tries of transactions in the history. */
  recorded: number;
  /** Of them, those that took effect. */
  committed: number;
  /** Of them, those that did not. */
  aborted: number;
  /** Of them, those of which that is not known, and no read shows it. */
  unknown: number;
  dependencies: number;
  /**
   * Pairs of transactions that ran at the same time, of which one overwrote what the other read or
   * wrote.
   */
  conflicting_pairs: number;
  /** Appends and inserts that were acknowledged. */
  acknowledged_writes: number;
  /** Of them, those whose key was read after all of its writes had ended: a lost one would be missed. */
  writes_read_at_end: number;
  /** Whether rows are read by predicates. */
  has_predicates: boolean;
  /** What is missing of the history, or was not looked for; `null`: all of it was checked. */
  not_whole: string | null;
  /** Every level and session guarantee, from the weakest. */
  levels: Array<IsolationKept>;
  found: Array<IsolationFound>;
  /** What a reader must know to believe it. */
  notes: Array<string>;
  took_ms: number;
};

/** What a product says of a level of its own. */
export type IsolationPromise = {
  /** The level of Adya and others that it promises: `snapshot isolation`. */
  level: string;
  /** What it documents as possible, in words. */
  allows: string;
  source: string;
  /** Anomalies that the level forbids and that are documented as possible all the same in this trial. */
  except: Array<string>;
};

/** Whether a level was kept. */
export type IsolationKept = {
  /** Its name, such as `serializable`. */
  level: string;
  /** `true`: nothing was seen that it forbids; `false`: it is broken; `null`: not known. */
  kept: boolean | null;
  /** The anomalies that break it. */
  by: Array<string>;
  /** Why it is not known. */
  unknown: string | null;
};

export type IsolationFound = {
  /** Its name, such as `G2-item`. */
  anomaly: string;
  /** What happened, in a phrase. */
  meaning: string;
  count: number;
  /** Whether there may be more. */
  at_least: boolean;
  /** Whether what the product promises forbids it; `null`: it is not known what it promises. */
  forbidden: boolean | null;
  example: IsolationExample;
};

/** An occurrence of an anomaly, to be reported and drawn. */
export type IsolationExample = {
  /** Its transactions, in the order of its cycle, where it is one. */
  transactions: Array<IsolationTransaction>;
  /** The steps of its cycle; none if it is no cycle. */
  links: Array<IsolationLink>;
  /** What happened, a sentence each. */
  story: Array<string>;
  /**
   * A history of these transactions and of the reads that prove their order, in JSON lines;
   * `null`: it would be too long.
   */
  replay: string | null;
  /** Whether that history, checked by itself, shows the anomaly again. */
  found_again: boolean | null;
};

/** A transaction of an example. */
export type IsolationTransaction = {
  /** `T3`: by its place in the history. */
  name: string;
  /** The process that ran it: the client, unless that lost a connection before. */
  client: number;
  /** When it began, in microseconds since the first of the example did; `null`: not recorded. */
  began_us: number | null;
  /** When its end was known. */
  ended_us: number | null;
  end: string;
  /** What it did, in order. */
  operations: Array<IsolationOperation>;
};

/** A step of a transaction. */
export type IsolationOperation = {
  /** `append 3 to 7`, `read 7 = [1 3]`. */
  did: string;
  key: string;
  writes: boolean;
  /** The statement as the script has it; `null`: not known. */
  statement: string | null;
};

/** Why one transaction of an example comes before another. */
export type IsolationLink = {
  /** Index in the example's transactions. */
  from: number;
  /** The same: it comes later. */
  to: number;
  /** `ww`, `wr`, `rw`, `rw predicate`, `session`, `real time`, `commit order`. */
  kind: string;
  /** The key, where it is about one. */
  key: string | null;
  why: string;
};

/** What a companion of the trial found. */
export type NamedFinding = {
  name: string;
  /** The same in words. */
  text: string;
  /** As it was found: the ends of names are units. */
  value: unknown;
};

/** The commands of a script. */
export type ScriptStatements = {
  script: string;
  commands: Array<Statement>;
};

/** A command of a script, over the measured time. */
export type Statement = {
  /** Its number in the script. */
  command: number;
  text: string;
  /** Whether it goes to the server. */
  is_sql: boolean;
  /**
   * From sending to the end of the answer; of executions that went well. Within a pipeline only
   * their number: the answer comes with its end.
   */
  latency: Latencies;
  /** Errors here after which the transaction was tried again. */
  retries: number;
  /** Errors here that ended the transaction. */
  failures: number;
};

/** Connections made, apart from all latencies. */
export type Connections = {
  /** Until all clients were connected; 0 with a connection per transaction. */
  initial_us: number;
  latency: Latencies;
};

export type Outages = {
  /** How often a client was without a connection. */
  count: number;
  /** Each from the loss until the client was connected again. */
  length: Latencies;
  /** Those that had not ended when the run did. */
  unended: number;
  /** Attempts to connect during all of them. */
  attempts: number;
  /** The share of their time that clients were without a connection while it was measured, 0 to 1. */
  share: number | null;
  /**
   * Committed transactions a second of the time that clients were connected: goodput, divided by
   * the rest of the share.
   */
  connected_goodput_per_s: number | null;
};

/** A server that clients connected to. */
export type Endpoint = {
  /** `host:port`, or the path of a Unix socket. */
  name: string;
  /** The position of its node, where the cluster tells. */
  locality: string | null;
  /** The part of its node in the cluster, as its nodes have it. */
  role: string | null;
  /** Clients that try it first. */
  clients: number;
  /** Connections made there; like the three below over the whole run. */
  connections: number;
  /** Connections to it that broke. */
  lost: number;
  /** How often a client came here from another endpoint. */
  arrived: number;
  /** How often a client of this endpoint came back to it; among those that arrived. */
  returned: number;
  service: Latencies;
  response: Latencies | null;
  /**
   * Times in which nothing was committed there, a second or longer; only where there are several
   * endpoints.
   */
  stalls: Array<Stall>;
  committed: number;
  /** Ended badly: certainly not committed. */
  failed: number;
  /** The same by SQLSTATE, or a word. */
  failed_by_class: { [key in string]: number };
  /** Never started: already later than the latency limit. */
  skipped: number;
  unknown: number;
  /** Committed, but later than the latency limit. */
  late: number;
  /** Tries beyond the first, of all transactions. */
  retries: number;
  /** Transactions that were tried more than once. */
  retried: number;
};

/** A time without service, of all or of an endpoint; of an endpoint what failed there, and its own rate. */
export type Stall = {
  /** When it began, in microseconds since clients began to work. */
  start_us: number;
  /** Its length: from the last commit before to the first after. */
  length_us: number;
  /** Whether a commit ended it; else the end of the asked duration did. */
  is_over: boolean;
  /** Transactions that failed in the seconds that it touches, by class. */
  failed: { [key in string]: number };
  /** Those whose commit is unknown. */
  unknown: number;
  /**
   * From its end to the end of the first second that had 90 % of the rate of the ten seconds before
   * it; `null` where there is no such second, before or after.
   */
  recovered_us: number | null;
};

/** The cluster of a trial; only where there is more than one node. */
export type Cluster = {
  /** What parts of tables are called: `ranges`, `tablets`; `null` where they are not known. */
  parts: string | null;
  /** Its nodes, as the cluster lists them; for PostgreSQL endpoints and standbys. */
  nodes: Array<Member>;
  /** Where the parts of the workload's tables were. */
  tables: Array<Placed>;
  /**
   * How many leaders moved at least: what nodes had less of after the trial, of all tables. `null`
   * where one of both is not known.
   */
  moved: number | null;
  /** What is not known, each with its reason. */
  unknown: Array<string>;
};

/** A node of a trial's cluster. */
export type Member = {
  /** Its number, or a standby's name. */
  id: string | null;
  /** `host:port` for clients; of a standby only the host, where no endpoint is known to be it. */
  address: string;
  locality: string | null;
  version: string | null;
  /**
   * Its part: `leaders` (of parts of the workload's tables), `followers` (replicas alone), `gateway`
   * (neither); `primary`, `standby`. `null`: not known.
   */
  role: string | null;
  /** Whether it was alive before the trial. */
  is_live: boolean | null;
  /** Whether it was alive after the trial. */
  is_live_after: boolean | null;
  /** Whether it was draining before the trial. */
  is_draining: boolean | null;
  /** Whether it was draining after the trial. */
  is_draining_after: boolean | null;
  /** Of how many parts of the workload's tables it was the leader before. */
  leaders: number | null;
  /** The same after the trial. */
  leaders_after: number | null;
  /** Of how many parts it had a replica before. */
  replicas: number | null;
  /** The same after the trial. */
  replicas_after: number | null;
  /** The endpoint whose connection met it. */
  endpoint: string | null;
  /** To it from here, before the trial. */
  round_trip: RoundTrip | null;
  /** Of a standby: `streaming, async`. */
  state: string | null;
  /** Of a standby: log that it had not replayed before the trial. */
  lag_bytes: number | null;
  /** The same after the trial. */
  lag_bytes_after: number | null;
};

/** A table, before the trial and after. */
export type Placed = {
  table: string;
  before: TablePlacement | null;
  /** After; `null` where that is not known. */
  after: TablePlacement | null;
};

/** Something that happened to a connection. */
export type ConnectionEvent = {
  /** When, in microseconds since clients began to work; 0: before. */
  at_us: number;
  /** `outage`, `reconnected`, `moved`, `returned`, `endpoint-down`, `endpoint-up`, `without-tls`, `server-replaced`. */
  kind: string;
  text: string;
};

/**
 * Times without service within the asked duration: from 100 ms on nothing was committed, and that is
 * not usual for the trial (docs/results.md).
 */
export type Stalls = {
  count: number;
  total_us: number;
  longest_us: number;
  /** The share of the asked duration, 0 to 1. */
  share: number;
  each: Array<Stall>;
  /**
   * The longest times in which one client wanted to commit and did not, ten at most, the longest
   * first: failures, connections lost and waits for locks, from 100 ms on.
   */
  clients: Array<ClientStall>;
  /** Times in which pgdyno itself did not run: stopped, frozen or suspended. They are none of the above. */
  generator: Array<GeneratorStop>;
  /**
   * What a request at a random moment would have taken; `null` without stalls, and with a rate,
   * where response times say it.
   */
  random_arrival: Latencies | null;
};

/** A time in which a client wanted to commit something and did not. */
export type ClientStall = {
  client: number;
  /**
   * When it began, in microseconds since clients began to work: with its last commit, or when what it
   * wanted next was scheduled.
   */
  start_us: number;
  length_us: number;
  /** Whether a commit ended it; else the run did, or the client's end. */
  is_over: boolean;
  /** Its transactions that failed meanwhile, by class. */
  failed: { [key in string]: number };
  /** Those whose commit is unknown. */
  unknown: number;
};

/** A time in which pgdyno itself did not run. */
export type GeneratorStop = {
  /** When it began, in microseconds since clients began to work. */
  start_us: number;
  length_us: number;
};

/** One of the committed transactions that took longest. */
export type SlowTransaction = {
  script: string | null;
  /** The number of its client. */
  client: number;
  /** When it ended, in microseconds since clients began to work. */
  ended_us: number;
  /** How long it took; from the scheduled start where there is a rate. */
  latency_us: number;
};

export type Clients = {
  total: number;
  /** Those that ended before their time, because of an error. */
  aborted: number;
  /** Of these, those whose connection broke or could not be made. */
  disconnected: number;
};

/** What pgdyno itself used in the measured time. */
export type ClientCpu = {
  /** CPU time in user mode, all threads. */
  user_us: number;
  /** CPU time in the kernel. */
  system_us: number;
  /** Both for each transaction booked. */
  us_per_transaction: number | null;
  /** How sockets were waited for: `io_uring`, `epoll`; `null` in trials kept before it was known. */
  io: string | null;
  /** Where io_uring was looked for without success: why. */
  why_not_io_uring: string | null;
  /** By thread, the CPU that `--pin` kept it on; without that left out. */
  pinned_cpus?: Array<number>;
  threads: Array<ClientThread>;
};

/** What one thread of pgdyno used. */
export type ClientThread = {
  wall_us: number;
  /** CPU time in user mode. */
  user_us: number;
  /** CPU time in the kernel. */
  system_us: number;
  /** Time in which it could have run and had no CPU. */
  waited_us: number;
  /** Share of wall time on a CPU. */
  busy_share: number;
  /** Share of wall time on a CPU or waiting for one. */
  wanted_share: number;
  /** Share of wall time waiting for one. */
  waited_share: number;
  /** How late the event loop was for a deadline, at worst. */
  deadline_lag_max_us: number;
  /** How late it was for answers and deadlines, the 99th percentile; `null` where too few say. */
  event_loop_lag_p99_us: number | null;
};

/** How much of what its generator can do a trial asked for. */
export type GeneratorShare = {
  /** Round trips of the measured time, a second. */
  round_trips_per_s: number;
  /** The most that the trial's threads can make. */
  ceiling_per_s: number;
  /** The first of the second, 0 to 1; above 1 where the trial did better than the calibration. */
  share: number;
  /** The trial's threads that had a CPU: no more than the host has. */
  threads: number;
  /**
   * Where the ceiling comes from: the row of `pgdyno calibrate --self`. `null`: it is an estimate, the
   * round trips divided by the share of a CPU that the busiest thread used.
   */
  calibration: Ceiling | null;
};

export type Generators = {
  /** How many there were to be. */
  asked: number;
  list: Array<Generator>;
  /** From the first that began to the last, in microseconds, by their own clocks. */
  start_spread_us: number | null;
  /** How wrong that may be, by how the clocks were compared. */
  start_uncertainty_us: number | null;
};

export type Generator = {
  generator: number;
  end: GeneratorEnd;
  /** Its own trial in the notebook. */
  trial: number | null;
  /** The name of its host. */
  host: string | null;
  clients: number;
  /** Transactions it committed in the measured time. */
  committed: number;
  goodput_per_s: number;
  /** CPU time of its engine, in microseconds; `null` when it is not known. */
  cpu_us: number | null;
  /** How much of the time its busiest thread wanted a CPU, 0 to 1. */
  busiest_share: number | null;
  /** How late its event loops were at worst, in microseconds. */
  lag_max_us: number | null;
  /** Mean of what it added to a latency itself, in microseconds; `null` when too few were followed. */
  added_mean_us: number | null;
  /** How late after the agreed instant its clients began, in microseconds, by its own clock. */
  began_late_us: number | null;
  /** Its clock beside the notebook's, before the trial. */
  clock: ClockReading | null;
  /** How far that had moved after the trial, in microseconds. */
  clock_drift_us: number | null;
  /** Until when it measured, in microseconds since clients began to work. */
  until_us: number;
  /**
   * Transactions it committed in each second, warm-up included, a second at each whole second; empty
   * where there are more than 32 generators.
   */
  committed_by_second: Array<number>;
};

/** What became of a generator. */
export type GeneratorEnd = "running" | "complete" | "early" | "waits" | "died" | "never-arrived";

/**
 * What was seen when the clock of a notebook was read: half of the way there and back is how wrong it
 * may be (RFC 5905: the offset of four stamps, of which the server's two are one).
 */
export type ClockReading = {
  /** The notebook's clock minus this host's, in microseconds. */
  offset_us: number;
  /** At most so far from the truth. */
  uncertainty_us: number;
};

/** One note. The code is stable: programs may look for it. */
export type ValidityNote = {
  code: string;
  severity: Severity;
  /** What is the case, with its figures. */
  sentence: string;
  /** What to do about it. */
  remedy: string;
};

/** What the notebook knows of a trial beside its result. */
export type Stored = {
  number: number;
  uuid: string;
  state: State;
  /** Why it did not end. */
  reason: string | null;
  ended: string | null;
  /** The name of its experiment. */
  experiment: string | null;
  /** Its place in the order of that. */
  position: number | null;
  point: unknown;
  /** Which repeat of its point. */
  repeat: number | null;
  tags: Array<string>;
  /** A note given by people. */
  note: string | null;
  /** Why it does not count. */
  excluded: string | null;
  command: string;
  /** The version of pgdyno that ran it. */
  pgdyno: string;
};

/** One check of an answer. */
export type Sure = {
  state: SureState;
  /** What was checked, in a few words without a stop: `Repeats`, `No drift`. */
  name: string;
  /** What came of it with its figures, without a full stop: `6 of each point`. */
  text: string;
};

/** What came of a check. */
export type SureState = "held" | "failed" | "limit";

/** The clients' time of a trial's measured time. */
export type TimeBudget = {
  clients: number;
  elapsed_s: number;
  /** All of it: what the parts are shares of. */
  client_seconds: number;
  /** Blocks of the trial that intervals are over. */
  blocks: number;
  /** In the order of a request's way; those that are nothing are left out. */
  parts: Array<BudgetPart>;
  phases: Array<BudgetPhase>;
  /** Why the server's parts are not known, where they are not. */
  unseen: string | null;
  /** What the generator itself adds to percentiles; empty where too few transactions were followed. */
  added: Array<AddedRow>;
};

/** A part of the clients' time. */
export type BudgetPart = {
  part: TimePart;
  name: string;
  /** Of all of the time, 0 to 1. */
  share: number;
  /** 95 % of its mean over blocks; `null` below 2 %, or with fewer than five blocks. */
  interval: [number, number] | null;
  client_s: number;
  /** For each committed transaction; `null` without any. */
  us_per_commit: number | null;
  /** What it is known from. */
  source: string;
};

/** What a client's time can go into, in the order of a request's way. */
export type TimePart = "rest" | "schedule" | "think" | "between" | "generator-cpu" | "generator-wait" | "generator-stopped" | "wire" | "queued" | "server-cpu" | "server-wait" | "sql" | "passed-on" | "admission" | "key-value" | "row-locks" | "lightweight-locks" | "wal" | "replication" | "data-reads" | "data-writes" | "temporary-files" | "slru" | "extension" | "client-io" | "ipc" | "others" | "not-attributed";

/** The parts' shares in a phase of the trial. */
export type BudgetPhase = {
  /** `before`, `checkpoint`, `after`; or halves. */
  name: string;
  /** When it begins, in microseconds since clients began to work. */
  from_us: number;
  to_us: number;
  /** As the parts of the whole. */
  shares: Array<number>;
};

/** What the generator itself adds to a percentile. */
export type AddedRow = {
  /** Such as 99; 100 is the longest of all, given where pgdyno itself did not run. */
  percentile: number;
  /** So many transactions were followed from their answers' arrival on: these figures are theirs. */
  followed: number;
  /** The percentile that they have as they are shown. */
  shown_us: number;
  adds_us: number;
  /** The most that it can be. */
  at_most_us: number;
  /** The estimate as a share of what is shown, 0 to 1. */
  share: number;
};

/** A repeat among its siblings, for the dot strips. */
export type Sibling = {
  /** Its number in the notebook. */
  trial: number;
  repeat: number | null;
  /** The trial of this page. */
  this: boolean;
  goodput_per_s: number | null;
  /** Of response times with a rate, else of service times. */
  p50_us: number | null;
  p99_us: number | null;
  p99_9_us: number | null;
  retries_per_commit: number | null;
  failed: number | null;
};

/** All scripts together, column by column, a row a second; warm-up included and marked. */
export type Timeline = {
  start_us: Array<number>;
  length_us: Array<number>;
  /** Of the warm-up: 1, else 0. Missing: none. */
  warmup?: Array<number>;
  committed: Array<number>;
  failed: Array<number>;
  skipped: Array<number>;
  /** Of which it is not known. */
  unknown: Array<number>;
  /** Committed, but later than the limit. */
  late: Array<number>;
  retries: Array<number>;
  /** Transactions that the schedule asked for in that second; missing: no rate. */
  due?: Array<number>;
  service_max_us: Array<number | null>;
  /** The longest response time, with a rate. */
  response_max_us?: Array<number | null>;
  /** The end of each bucket (highest equivalent value), shared by all histograms of the timeline. */
  buckets_us: Array<number>;
  /**
   * Largest relative error of a bucket: 0.001 as the notebook has them; larger where there were too
   * many of these for a page.
   */
  resolution: number;
  service: Array<Packed>;
  /** Histograms of response times, with a rate. */
  response?: Array<Packed>;
  /** Retries by reason, most frequent first. No notebook splits them yet: `retries` is drawn. */
  retries_by_reason?: Array<NamedCounts>;
  failed_by_class?: Array<NamedCounts>;
  /** Committed by script, in the order of `run.measured.scripts`; two scripts and more. */
  committed_by_script?: Array<Array<number>>;
};

/**
 * Counts of values by bucket: flat pairs `[gap, count, gap, count, …]`. The first gap is the index of
 * the first bucket, each further one the distance to the bucket before. Counts are above 0.
 */
export type Packed = Array<number>;

/** A column with a name. */
export type NamedCounts = {
  name: string;
  count: Array<number>;
};

/** Histograms of the measured time. */
export type Histograms = {
  service: Histogram;
  /** Of response times, with a rate. */
  response?: Histogram;
  /** Of the tries that were committed, where there may be several. */
  attempt?: Histogram;
};

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

/** An SQL command of a script. */
export type StatementRow = {
  script: string;
  text: string;
  executions: number;
  /** Errors after which the transaction was tried again. */
  retries: number;
  failures: number;
  sum_us: number;
  mean_us: number | null;
  p50_us: number | null;
  p99_us: number | null;
  max_us: number | null;
  /** Where its sessions mostly waited. Not known yet. */
  wait?: StatementWait;
};

/** Where a statement's sessions mostly waited. */
export type StatementWait = {
  class: string;
  event: string;
  share: number;
};

/** What the database holds beside what was counted, such as rows of pgbench_history. */
export type Balance = {
  /** `null`: that cannot be said. */
  balanced: boolean | null;
  sentence: string;
};

export type Instrument = {
  name: string;
  /** What it read: `PostgreSQL, pg_stat_io`, `/proc of db1`. */
  source: string;
  of: InstrumentOf;
  /** What it did not see. */
  gaps: Array<Gap>;
};

export type InstrumentOf = "server" | "host" | "client" | "other";

/** What an instrument did not see. */
export type Gap = {
  /** Part that is missing; empty: all of the instrument. */
  label: string;
  /** `null`: from the beginning. Both `null`: never read. */
  from_us: number | null;
  to_us: number | null;
  reason: string;
  /** The one command that closes it. */
  remedy: string | null;
  /** How many readings failed. No instrument counts them yet. */
  times?: number;
};

export type Series = {
  instrument: number;
  name: string;
  /** Of which part: `node 1`, `vda`; empty where there is but one. */
  label: string;
  /** `bytes/s`, `1/s`, `sessions`, `µs`, `bytes`, `%`, or empty. */
  unit: string;
  /** How it is to be taken. */
  kind: SeriesKind;
  /** What it tells, in a clause, where the instrument says. */
  what?: string;
  /** Index in `clocks_us`; missing: read before and after only. */
  clock?: number;
  /** Same length as the clock. `null`: no reading (a gap). */
  value?: Array<number | null>;
  before?: number | null;
  after?: number | null;
  /** How often it was found reset. */
  resets?: number | null;
};

/** How the readings of a series are to be taken. */
export type SeriesKind = "gauge" | "sparse" | "counter" | "before_after";

/** Average active sessions by what they waited for. */
export type Waits = {
  clock: number;
  /** The server's cores, where known: a dashed line. */
  cores: number | null;
  /** `sampled 10 × a second`. */
  how?: string;
  events: Array<WaitEvent>;
};

/** Sessions in one wait event. */
export type WaitEvent = {
  /** Class `CPU` is working, without a wait. */
  class: string;
  event: string;
  /** Same length as the clock. */
  sessions: Array<number | null>;
};

export type Event = {
  at_us: number;
  /** For how long, where it has a length. */
  length_us?: number | null;
  /** checkpoint, autovacuum, wal-switch, outage, reconnected, moved, returned, endpoint-down, endpoint-up, error, standby, … */
  kind: string;
  text: string;
  /** The instrument that saw it. */
  source?: string;
  /** For a checkpoint: start of its sync phase, after `at_us`. No instrument reports it yet. */
  sync_after_us?: number;
  sync_us?: number;
};

/** One of the longest transactions, with what happened around it. */
export type Worst = {
  at_us: number;
  /** From the scheduled start, with a rate. */
  response_us: number | null;
  /** How much of that it waited to begin. Not recorded yet. */
  queued_us: number | null;
  service_us: number | null;
  /** How often it was tried. Not recorded yet. */
  tries: number | null;
  /** Its script, where there are several. */
  script?: string;
  /** Where it ran. Not recorded yet. */
  endpoint?: string;
  /** Its slowest statement. Not recorded yet. */
  slowest?: SlowestStatement;
  around: string;
  events: Array<number>;
};

/** The statement that took longest in a transaction. */
export type SlowestStatement = {
  text: string;
  us: number;
};

/** What the server says it did for one statement. */
export type ServerStatement = {
  /** As the server has it. */
  text: string;
  /** How often it was executed. */
  calls: number;
  time_us: number;
  /** Rows it gave or changed. */
  rows: number | null;
  /** What else the server reports, by its own names. */
  details: { [key in string]: number };
};

/** Work units of slob and what they cost. */
export type SlobTrial = {
  /** A row each, in order. */
  accounting: Array<AccountingRow>;
  units: Histogram | null;
  units_label: string;
  /** What the server's count came to. */
  sentence?: string;
};

/** A figure of the storage layer, or why there is none. */
export type AccountingRow = {
  name: string;
  value: number | null;
  unit: string;
  /** The same for each work unit. */
  per_unit: number | null;
  /** Why it is not known. */
  unknown?: string;
  what?: string;
};

/** A setting of the server. */
export type Setting = {
  name: string;
  value: string;
  /** What the server's program has. */
  default: string | null;
  from: string | null;
  /** Whether it is listed although it is the default. No verdict names any yet. */
  named_by_verdict?: boolean;
};

/** An experiment's points on a grid of what varies, and every trial in run order. */
export type ExperimentData = {
  kind: 'experiment';
  /** What it says in place of the verdict, which is `null` then. */
  answer?: Answer;
  name: string;
  /** Its UUID; empty where no experiment holds the trials together. */
  uuid: string;
  definition: string;
  /** In order: Server, Target, Database, Load generator, pgdyno, Pack, … with words each. */
  environment: Array<[name: string, words: string]>;
  /** The limit of p99 of response times, where a capacity was asked for. */
  slo_us?: number;
  /** What varies. Points stand on a grid of these; zipped axes are one axis. */
  axes: Array<Axis>;
  /** The targets by the names that stand for them everywhere, where there are several. */
  targets?: Array<TargetRow>;
  /** Planned points that have no figures, with the reason. */
  missing: Array<Missing>;
  /** Trials that have ended and all that were planned, where some are missing; absent of a set. */
  so_far?: [number, number];
  /**
   * The change from the first to the last quarter of the trials, as medians of their shares of their
   * points' medians; `null` with fewer than eight.
   */
  drift: number | null;
  points: Array<Point>;
  /** Every trial of the points, in run order, those that do not count too. */
  trials: Array<TrialRef>;
  /** Index in points: the one with the highest median goodput. */
  best?: number;
  /** From the first trial's beginning to the last one's end. */
  took_s?: number;
  /** What of that was measured. */
  measured_s: number;
  /** Where on the axis of sizes memory ends. */
  zones?: Zones;
  /** How much load keeps the limit of p99. */
  capacity?: Capacity;
  /** What a laboratory shows below its answer; `null`: it is a sweep. */
  sections: Array<DocumentSection> | null;
  /** Whether its points are shown. */
  has_points: boolean;
  /** Whether its trials are shown in the order in which they ran. */
  has_repeats: boolean;
  /** Trials that have a page of their own within this file: `#trial=NUMBER`. */
  pages?: Array<TrialData>;
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
  /** Only when a server gives the page. */
  served?: Served;
};

export type Answer = {
  /** What was asked, in some words: `What was asked: tpcb with 1 to 64 clients`. */
  question: string;
  /** The answer, one sentence without its full stop. `` `code` `` is between backquotes. */
  sentence: string;
  state: AnswerState;
  /** Whether what was found is harm in itself (lost writes, a broken promise), and not a doubt. */
  is_harm: boolean;
  /** The figures that it rests on, the strongest first. */
  evidence: Array<Evidence>;
  /** What a reader would else take for granted: `clusters ran serializable, the others read committed`. */
  careful?: string;
  /** Who is ahead where, at a glance. */
  ranking?: Ranking;
  /** How sure it is: the answer's own checks. */
  sure: Array<Sure>;
  /** What to do next, or what would tell, a sentence each, commands between backquotes. */
  try: Array<string>;
};

/** Whether an answer could be given. */
export type AnswerState = "known" | "cannot-tell" | "not-known";

/** Who is ahead, within each workload and where all else is equal. */
export type Ranking = {
  /** `Best at each number of clients`. */
  title: string;
  /** Where, in words: `8 clients`. */
  columns: Array<string>;
  rows: Array<RankingRow>;
  note: string;
};

export type RankingRow = {
  workload: string;
  /** By column; `null`: fewer than two were measured there. */
  cells: Array<RankingCell | null>;
};

/** Who is in front at one place. */
export type RankingCell = {
  /** Those that cannot be distinguished, the best first. */
  names: Array<string>;
  /** Whether the first of them is surely ahead. */
  is_sure: boolean;
};

export type Axis = {
  name: string;
  title: string;
  kind: AxisKind;
  /** In words, in order: numbers as typed, targets by their names. */
  values: Array<string>;
  /** The same as numbers, where all are. */
  numbers: Array<number> | null;
  /** Of an axis of sizes: that of the database at each value. */
  sizes_bytes?: Array<number | null>;
};

/** What the values of an axis are. */
export type AxisKind = "workload" | "category" | "number";

export type TargetRow = {
  name: string;
  /** What it is: `PostgreSQL 18.1`; `null`: it was never reached. */
  product: string | null;
  /** Where it is, without a password. */
  address: string;
  /** The isolation level in effect, where it is one. */
  isolation: string | null;
  /** Of an idle session, p50. */
  round_trip_us: number | null;
};

/** A planned point that has no figures. */
export type Missing = {
  title: string;
  /** Index of its value on each axis; `null` where it has one that no measured point has. */
  at: Array<number> | null;
  /** `not measured yet`, `failed: too many connections`. */
  why: string;
};

/** A point on the grid. */
export type Point = {
  /** Index of its value on each axis. */
  at: Array<number>;
  retries_per_commit: number | null;
  /** The verdict of most of its repeats; `null`: none has one. */
  limit: PointLimit | null;
  title: string;
  /** What varies: values by path (`params.scale`). */
  varied: Record<string, unknown>;
  workload: string;
  point: unknown;
  /**
   * The isolation level at which its transactions really ran; `null` where that is not known, or not
   * the same for all.
   */
  isolation_in_effect: string | null;
  repeats: number;
  /** The trials that count, in the order in which they were run. */
  trials: Array<Repeat>;
  /** Those that do not count. */
  left_out: Array<LeftOut>;
  /** Which latencies the percentiles are of. */
  latency: LatencyKind;
  /** `goodput` (1/s), `p50`, `p90`, `p95`, `p99`, `p99.9` (µs). */
  figures: { [key in string]: PointFigure };
  /** Transactions of all trials that count. */
  committed: number;
  failed: number;
  retries: number;
  /** Repeats that lie far from the others; they count all the same. */
  outliers: Array<Outlier>;
  /** What is noted of repeats that were not steady; they count too. */
  unsteady: Array<Unsteady>;
  /** What happened in some repeats and not in others. */
  uneven: Array<ValidityNote>;
  /** Other validity notes on the repeats, warnings and serious ones. */
  notes: Array<NoteOfTrials>;
};

/** What limited most repeats of a point. */
export type PointLimit = {
  code: string;
  name: string;
  /** So many repeats have this verdict. */
  agree: number;
  of: number;
};

/** A trial among the repeats of its point. */
export type Repeat = {
  /** Its number in the notebook. */
  trial: number;
  /** Which repeat it is, from 1; `null`: none. */
  repeat: number | null;
};

/** A trial that does not count. */
export type LeftOut = {
  /** Its number in the notebook. */
  trial: number;
  /** Which repeat it was to be. */
  repeat: number | null;
  /** `excluded: a backup was running`, `failed: no connection`. */
  why: string;
};

export type LatencyKind = "service" | "response";

/** A figure of a point. */
export type PointFigure = {
  /** `null`: a repeat lacks it. */
  over_repeats: Spread | null;
  /** Of a percentile: that of all repeats' transactions together, `null` with too few of them. */
  together_us?: number | null;
  /** The 95 % interval of [`Self::together_us`], from the whole seconds of all repeats. */
  interval?: PercentileInterval;
};

/** A figure over repeats, with that of each. */
export type Spread = {
  /** Of each repeat, in the order of the trials; `null`: it does not have the figure. */
  values: Array<number | null>;
  n: number;
  /** Their median, in the unit of the figure. */
  median: number;
  min: number;
  max: number;
  /** The 95 % interval of the median, from six repeats on: low and high end. */
  interval: [number, number] | null;
};

/** A repeat that lies far from the others. */
export type Outlier = {
  figure: string;
  /** Its number in the notebook. */
  trial: number;
  repeat: number | null;
  value: number;
  modified_z_score: number;
};

/** A note on a repeat's warm-up or steadiness. */
export type Unsteady = {
  /** Its number in the notebook. */
  trial: number;
  repeat: number | null;
  code: string;
  sentence: string;
};

/** A note on trials that a table, a comparison or a page is made from. */
export type NoteOfTrials = {
  /** Numbers of the trials that have it, ascending. */
  trials: Array<number>;
  code: string;
  severity: Severity;
  /** What is the case, with its figures. */
  sentence: string;
  /** What to do about it. */
  remedy: string;
};

/** A trial of an experiment. */
export type TrialRef = {
  /** Its number in the notebook. */
  trial: number;
  uuid: string;
  point: number;
  /** Which repeat of its point. */
  repeat: number | null;
  state: string;
  /** Whether it counts in its point. */
  counts: boolean;
  goodput_per_s: number | null;
  /** Of response times under a rate, else of service times. */
  p50_us: number | null;
  p99_us: number | null;
  /** What limited it; `null`: no diagnosis was made. */
  limit: TrialLimit | null;
  /** Why it does not count, or what went wrong. */
  flag?: string;
  /** When it was begun, UTC. */
  started: string;
};

export type TrialLimit = {
  code: string;
  name: string;
};

/** Where on the axis of sizes memory ends. */
export type Zones = {
  axis: string;
  shared_buffers_bytes: number | null;
  /** Of the server's host, where pgdyno is on it. */
  memory_bytes: number | null;
};

/** Latency against load, and what follows. */
export type Capacity = {
  /** The limit of p99 of response times, µs. */
  slo_us: number;
  /** How narrow the capacity's interval was to be: its half as a share of the capacity. */
  width: number;
  /** How long the search was allowed to take for each ladder, seconds. */
  time_s: number;
  /** A ladder for each point that has rates. */
  ladders: Array<Ladder>;
};

/** Trials that differ in nothing but their rate. */
export type Ladder = {
  /** The point without its rate and duration. */
  point: unknown;
  /** What distinguishes it from the others, as text. */
  title: string;
  /** By rate, the lowest first. */
  loads: Array<Load>;
  /**
   * The highest load that keeps the limit; `null`: not known, as no step is surely within the limit,
   * and not all are over it, or as steps contradict each other.
   */
  capacity: Estimate | null;
  search: Search;
  /** The search's steps, in the order in which they were made. */
  steps: Array<SearchStep>;
  /** Beyond which load latency grows faster than load; `null`: there is no curve. */
  knee: Estimate | null;
  /** Which rates were left out of the curve, and why. */
  gaps: Array<string>;
  /** Why there is no curve. */
  no_curve?: string;
};

/** The repeats at one rate, in the order of their trials. */
export type Load = {
  /** Transactions a second that were to start. */
  rate_per_s: number;
  /** Their numbers in the notebook. */
  trials: Array<number>;
  /** Transactions a second that were committed. */
  goodput_per_s: Array<number | null>;
  response_p50_us: Array<number | null>;
  /** Of response times; `null` with too few transactions. */
  response_p99_us: Array<number | null>;
  /**
   * Of the response times of all of them together, as among the points of the experiment; `null` with too few
   * transactions.
   */
  p50_together_us: number | null;
  p99_together_us: number | null;
  /** The 95 % interval of that p99. */
  p99_interval?: PercentileInterval;
  failed: Array<number | null>;
};

export type Estimate = {
  is: EstimateIs;
  per_s: number;
  /** Of what is `at` a load: `null` with fewer than six repeats. */
  interval?: Interval | null;
};

/** Where a load lies as seen from a rate that was measured. */
export type EstimateIs = "at" | "below" | "at-least" | "at-or-below" | "above";

/** What else the repeats are compatible with. */
export type Interval = {
  /** Its lower end; `null`: not known. */
  low: number | null;
  /** Its upper end; `null`: not known. */
  high: number | null;
  /** Its confidence, 0 to 1. */
  level: number;
};

/** How a capacity was found. */
export type Search = {
  steps: number;
  /** What they took together, warm-ups included, seconds. */
  took_s: number;
  /** Whether the interval is as narrow as asked. */
  is_narrow: boolean;
  /**
   * Steps of the line that gives the estimate: how the share of transactions over the limit grows with the rate; 0:
   * the rates within and over the limit give it.
   */
  line_steps: number;
  /** By what share the capacity changed during these steps; `null`: no more than chance. */
  drift: number | null;
  /**
   * Steps that contradict each other, as of a machine that changes from step to step: where they agree on rates that
   * are near each other, these give the interval; else this is why there is no capacity.
   */
  contradiction?: Contradiction;
};

/** What steps that contradict each other agree on, by their p99. */
export type Contradiction = {
  /** The highest rate up to which all steps were within the limit; `null`: none. */
  within_up_to_per_s: number | null;
  /** The lowest rate from which on all steps were over it; `null`: none. */
  over_from_per_s: number | null;
};

/** A trial as a step of the search. */
export type SearchStep = {
  /** Its number in the notebook. */
  trial: number;
  /** Transactions a second that were to start. */
  rate_per_s: number;
  /** When measuring began, seconds since the first step began. */
  from_s: number;
  /** How long it was measured, seconds. */
  seconds: number;
  /** Of response times; `null` with too few transactions, or when the server fell behind. */
  response_p99_us: number | null;
  /** The lower end of its 95 % interval; `null`: not known. */
  low_us: number | null;
  /** The upper end; `null`: not known. */
  high_us: number | null;
  /**
   * The share of its transactions over the limit, without the beginning of a step that has no warm-up; `null`
   * without any.
   */
  share_over: number | null;
  /** On which side of the limit it lies, by its interval. */
  side: LimitSide;
  /** The server did less than was due: response times grow as long as the step lasts. */
  falls_behind: boolean;
};

/** On which side of the limit a step lies. */
export type LimitSide = "within" | "over" | "cannot-tell";

export type DocumentSection = {
  /** Its place on the page, to which evidence links. */
  id: string;
  /** In the navigation of the page. */
  link: string;
  title: string;
  /** How to read it, on the page. */
  lead: string;
  parts: Array<SectionPart>;
};

/** One of few sorts. */
export type SectionPart = {
  "sort": "text"
} & Paragraphs | {
  "sort": "table"
} & FigureTable | {
  "sort": "curve"
} & FigureCurve | {
  "sort": "lanes"
} & DisturbLanes | {
  "sort": "history"
} & HistoryExample;

/** Sentences, one below the other. `` `code` `` is between backquotes. */
export type Paragraphs = {
  /** Empty: none of their own. So of a table. */
  title: string;
  lines: Array<string>;
  /** Whether a terminal leaves it out; so of a table. */
  is_deep: boolean;
};

/** Figures in rows, as numbers or as bars. */
export type FigureTable = {
  title: string;
  /** The first has the names of the rows. */
  columns: Array<TableColumn>;
  rows: Array<TableRow>;
  /** Sentences below it. */
  notes: Array<string>;
  /** What the page shows of it, and of columns that are not `shown`, before it is opened; empty: it is open. */
  fold: string;
  is_deep: boolean;
};

export type TableColumn = {
  /** With its unit. */
  title: string;
  /** How to read it, on the page: `less is better`. */
  note: string;
  form: ColumnForm;
  place: ColumnPlace;
};

export type ColumnForm = "words" | "figure" | "bars" | "ratios";

export type ColumnPlace = "shown" | "page" | "folded" | "deep";

export type TableRow = {
  cells: Array<TableCell>;
  tone: Tone;
  /** Why it has no figures, in their place; empty: it has some. */
  missing: string;
  /** Whether it is below the fold of the page. */
  is_folded: boolean;
  /** Whether the page shows its figures at a glance, below the answer. */
  is_headline: boolean;
};

/** A figure as it is shown, and as data. */
export type TableCell = {
  text: string;
  /** Below it, on the page and in Markdown. */
  note: string;
  tone: Tone;
  bar: FigureBar | null;
  /** Numbers of trials, as links of the page. */
  trials: Array<number>;
};

export type Tone = "plain" | "strong" | "quiet" | "good" | "careful" | "bad";

/** A figure over repeats, in the unit of its column. */
export type FigureBar = {
  value: number | null;
  /** The ends of its interval, or the least and the greatest repeat. */
  low: number | null;
  high: number | null;
  repeats: Array<number>;
};

/** Lines over the places of an axis; a terminal has its figures in a table. */
export type FigureCurve = {
  /** On the page. */
  id: string;
  title: string;
  /** Below the title: the unit, and what else is drawn. */
  note: string;
  /** What runs to the right. */
  axis: string;
  /** Names of its places, at equal distances. */
  places: Array<string>;
  lines: Array<CurveLine>;
  /** Upright lines with names. */
  marks: Array<CurveMark>;
  /** Of times; else from 0. */
  is_logarithmic: boolean;
};

export type CurveLine = {
  name: string;
  /** Which of the page's colours. */
  color: number;
  places: Array<CurvePlace>;
};

export type CurvePlace = {
  /** Its place on the axis, from 0. */
  at: number;
  value: number;
  /** The ends of its interval. */
  low: number | null;
  high: number | null;
  repeats: Array<number>;
  /** What it is, in words. */
  words: string;
};

export type CurveMark = {
  /** On the axis; between two places where it is no whole number. */
  at: number;
  name: string;
};

/** What was due and served, response times, errors, endpoints and clients without service, over time. */
export type DisturbLanes = {
  /** Of so many repeats this is the worst one. */
  of: number;
  repeat: DisturbRepeat;
};

/** A trial of the laboratory. */
export type DisturbRepeat = {
  /** Its number in the notebook. */
  trial: number;
  /** Which repeat it is, from 1. */
  repeat: number;
  state: string;
  /** Why it is not complete. */
  reason: string | null;
  /** Whether it counts in the summary: its commands did what they were to do, and there are figures. */
  counts: boolean;
  /** What went wrong with its commands. */
  troubles: Array<string>;
  /** When its commands ran, by name, in the order of their moments; one that is undone before the next, until then. */
  commands: Array<NamedPhase>;
  /**
   * Whether the database has what it acknowledged, or why that is not known; `null` where
   * transactions left no receipts.
   */
  truth: Fact<Truth> | null;
  /** What the disturbance did; `null` where the trial came to nothing. */
  figures: DisturbFigures | null;
  /** Why tries failed, by SQLSTATE, over the measured time. */
  reasons: Array<Reason>;
  /** By server: connections made, lost and moved there, and transactions. */
  endpoints: Array<Endpoint>;
  /**
   * The longest times in which a client got no commit after the start, fifty at most, the longest
   * first.
   */
  clients: Array<ClientStall>;
  /** How many there were, from 100 ms on. */
  clients_stalls: number;
  /** How many clients had one. */
  clients_stalled: number;
  /** What the migration did, of `pgdyno lab migrate`. */
  migration?: MigrationRun;
};

/** A stretch of a trial with a name: from its beginning up to, but without, its end. */
export type NamedPhase = {
  /** What people call it: `500/s`, `before`. */
  name: string;
  /** Where it begins, in microseconds since clients began to work. */
  from_us: number;
  to_us: number;
};

export type HistoryExample = {
  /** What happened where, and whether that is allowed. */
  title: string;
  seen: IsolationSeen;
  /** Whether a terminal leaves it out. */
  is_deep: boolean;
};

export type IsolationSeen = {
  level: string;
  column: string;
  anomaly: string;
  /** What happened, in a phrase. */
  meaning: string;
  /** The trial in which it was seen. */
  trial: number;
  workload: string;
  /** Whether what is promised forbids it; `null`: it is not known what is promised. */
  forbidden: boolean | null;
  /** The file that a replay of it is written to by default. */
  file: string;
  example: IsolationExample;
};

/** Two sets of trials beside each other, point by point. */
export type CompareData = {
  kind: 'compare';
  /** What comes of all points together; of one point what comes of that. */
  answer: Answer;
  says: Says;
  /** The gate, and what came of it. */
  gate: Gate | null;
  a: Side;
  b: Side;
  /** A table of differences for each point that both sides have. The first is the page's subject. */
  pairs: Array<Pair>;
  /** Points that one side lacks. */
  lacking: Array<Lacking>;
  /** What differs in how the first trials of both sides were measured. */
  changed: Array<Differing>;
  /** How many more values differ that only name the server itself (port, paths). */
  left_out: number;
  /** What does not: its name, and words. */
  same: Array<[name: string, words: string]>;
  /** How it was compared: a name, and words. */
  method: Array<[name: string, words: string]>;
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
  /** Only when a server gives the page. */
  served?: Served;
};

/** What the headline's figures say of B, seen from A. */
export type Says = "better" | "worse" | "mixed" | "no-difference" | "cannot-tell";

/** One side of a comparison. */
export type Side = {
  /** What it has that the other has not, or as named on the command line: short, for charts. */
  name: string;
  /** How many trials, and when. */
  facts: string;
};

/** The repeats of one workload at one point on both sides. */
export type Pair = {
  /** What was measured, for people. */
  point: string;
  /** Whether repeats were compared in pairs. */
  paired: boolean;
  /** Which way its headline's figures point. */
  says: Says;
  sentence: string;
  /** Which latencies all figures are of. */
  latency: LatencyKind;
  a: SideFigures;
  b: SideFigures;
  /** What came of comparing each figure. */
  differences: Array<Difference>;
  /** Of a commit, by what its session did; missing: a trial was not observed. */
  time_per_commit?: Array<TimePerCommit>;
  /** Statements of both sides. Not compared yet. */
  statements?: Array<ComparedStatement>;
};

/** The latencies of one side. */
export type SideFigures = {
  /** In the order in which they were run. */
  trials: Array<OrderedTrial>;
  histogram: Histogram;
  /** Each repeat's, for the range. */
  repeats: Array<Histogram>;
  /** Merged step by step over the repeats, from their start of measuring. */
  over_time: OverTime;
  /**
   * Checkpoints of each repeat, in the order of trials: from and to in microseconds on the
   * repeat's clock. Not read yet.
   */
  checkpoints?: Array<Array<[number, number]>>;
};

/** A trial and its place in time. */
export type OrderedTrial = {
  /** Its number in the notebook. */
  trial: number;
  /** Grows with the time at which it was run. */
  order: number;
  /** When it was started, UTC. */
  started: string;
};

/** Histograms that share their buckets, one a step. */
export type OverTime = {
  /** The length of a step. */
  step_us: number;
  /** Where each bucket ends (its highest equivalent value), ascending. */
  buckets_us: Array<number>;
  merged: Array<Packed>;
  /** The least p99 of a repeat in each step. Not computed yet. */
  p99_low_us?: Array<number | null>;
  /** The greatest. Not computed yet. */
  p99_high_us?: Array<number | null>;
};

/** A figure of B vs. A's. */
export type Difference = {
  figure: string;
  name: string;
  unit: string;
  higher_is_better: boolean;
  /** A relative limit of the gate on it, as a share. */
  gate: number | null;
  /** Why it was not compared; then nothing of what follows is there. */
  not_compared?: string;
  a?: Spread;
  b?: Spread;
  /**
   * The 95 % interval of the percentile of all of A's transactions together, from the whole seconds of its trials;
   * left out of other figures.
   */
  a_within?: PercentileInterval;
  b_within?: PercentileInterval;
  /** What it was judged with. */
  family: Family;
  /**
   * B to A as a share, by the Hodges-Lehmann shift: 0.106 is +10.6 %; missing where a figure is not
   * positive, and without a verdict.
   */
  change?: number;
  /** The interval of the change; those of the primary family hold together at 95 %. */
  change_interval?: [number, number];
  /** From A's median to B's, as a share: what was measured, without an interval. */
  change_of_medians?: number;
  /** The smallest change that so many repeats with this noise show in 80 of 100 cases. */
  smallest_change?: number;
  /** What time has to do with it; missing: not tested. */
  drift?: Drift;
  /** How many repeats a side it takes, where there are not enough. */
  repeats_needed?: number;
  /** Two-sided p-value among its family; missing without a verdict. */
  p?: number;
  verdict?: DifferenceVerdict;
};

/** What a figure is judged with. */
export type Family = "primary" | "exploratory";

/** What time has to do with a difference. */
export type Drift = {
  /** Whether the sides took turns. */
  by_turns: boolean;
  /**
   * Whether the order of the turns was drawn; where it was not, noise with the turns' own period (A B B A: four
   * trials) looks like a difference.
   */
  drawn: boolean;
  /** From the middle of A's starts to the middle of B's. */
  apart_s: number;
  /** From the first repeat to the last, as a share. */
  first_to_last: number;
  /** Its interval, at the level of the figure's own. */
  first_to_last_interval: [number, number];
  /** What that foretells for B from A, as a share. */
  foretold: number;
  /** Its interval, of repeats that do not depend on one another. */
  foretold_interval: [number, number];
  /** From A's first repeat to its last, by a line through A alone, as a share. */
  within_a: number | null;
  within_b: number | null;
  /**
   * The figure at the first and at the last start, by one line through all repeats with no step
   * between A and B.
   */
  line: [number, number];
  /** The share of the repeats' spread that a line over time explains. */
  time_explains: number;
  /** The share that a step between A and B explains. */
  change_explains: number;
};

/** Where B lies as seen from A. */
export type DifferenceVerdict = "higher" | "lower" | "no-significant-difference" | "not-enough-repeats" | "time-explains" | "not-by-turns";

/** Time of one client for each commit, by what its session did. */
export type TimePerCommit = {
  /** The class of wait events; `CPU`: none, `Client`: outside the server, `Other`: the small ones. */
  class: string;
  name: string;
  a_us: number;
  b_us: number;
};

/** A statement on both sides. */
export type ComparedStatement = {
  text: string;
  /** Of an execution on A's side. */
  a_mean_us: number | null;
  /** Of an execution on B's side. */
  b_mean_us: number | null;
  /** Of executions on A's side. */
  a_p99_us: number | null;
  /** Of executions on B's side. */
  b_p99_us: number | null;
  /** Whether they differ; `null`: not tested. */
  significant: boolean | null;
};

/** A point that one side lacks. */
export type Lacking = {
  /** What was measured, for people. */
  point: string;
  /** `A` or `B`: the side without it. */
  side: string;
};

/** Something that is not the same on both sides. */
export type Differing = {
  kind: DifferingKind;
  /** A setting's name, or words: `clients`, `server version`. */
  what: string;
  /** A's value; `–` where it has none. */
  a: string;
  b: string;
  /** What it does, in some words; missing: pgdyno has none for it. */
  does?: string;
};

/** What something that differs belongs to. */
export type DifferingKind = "setting" | "version" | "trial" | "server" | "host";

export type NotebookData = {
  kind: 'notebook';
  trials_total: number;
  experiments_total: number;
  /** Trials that run now, the newest first. */
  running: Array<RunningTrial>;
  /** Experiments with a trial that runs now. */
  growing: Array<GrowingExperiment>;
  experiments: Array<ExperimentItem>;
  /** What the list was asked for. */
  query: NotebookQuery;
  found: number;
  pages: number;
  /** This page of them, the newest first. */
  trials: Array<TrialItem>;
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
  /** Only when a server gives the page. */
  served?: Served;
};

/** A trial that is running. */
export type RunningTrial = {
  number: number;
  uuid: string;
  workload: string;
  /** How many clients it has. */
  clients: number | null;
  /** Where it runs, without secrets. */
  target: string;
  /** The name of its experiment. */
  experiment: string | null;
  started: string;
  now_us: number | null;
  planned_us: number | null;
  /** Committed transactions a second in up to 40 seconds, the last one is the newest. */
  goodput_per_s: Array<number>;
  warmup: boolean;
  /** Of the last five seconds, in microseconds; `null` with fewer than ten transactions beyond it. */
  p50_us: number | null;
  p99_us: number | null;
  /** Failed transactions of the measured time so far. */
  failed: number;
  /** What most sessions waited for in the last five seconds, and how many did on average. */
  waits: Array<[event: string, sessions: number]>;
  cannot_stop: string | null;
  silent_s: number | null;
  is_gone: boolean;
  part: PartOf | null;
  /**
   * Where several generators measure one trial: figures above are of all of them together, these of
   * each. Empty: it is measured by one.
   */
  generators: Array<GeneratorNow>;
};

/** One of several generators, now. */
export type GeneratorNow = {
  generator: number;
  /** The number of its own trial. */
  trial: number;
  /** Whether its process has ended before its time, as far as is known. */
  has_died: boolean;
  /** Its part of the clients. */
  clients: number;
  /** The end of its last second. */
  now_us: number | null;
  /** What it committed a second in its last second; `null`: it has none. */
  goodput_per_s: number | null;
  /** Over its last five seconds, as [`RunningTrial::p99_us`]. */
  p99_us: number | null;
  /** Its failed transactions of the measured time so far. */
  failed: number;
};

/** An experiment that is running. */
export type GrowingExperiment = {
  number: number;
  uuid: string;
  name: string;
  /** When it was begun, UTC. */
  created: string;
  /** Trials that it will have; `null`: it decides on the way. */
  planned: number | null;
  done: number;
  /** Trials that failed, were aborted or are partial. */
  failed: number;
  /** Numbers of the trials that run. */
  running: Array<number>;
  /** Its points with their repeats. */
  points: Array<GrowingPoint>;
};

/** A point of an experiment that is running. */
export type GrowingPoint = {
  /** In words: `select-only, 8 clients`. */
  what: string;
  repeats: Array<GrowingRepeat>;
};

/** A repeat of a point: done, running, to come. */
export type GrowingRepeat = {
  /** How far it has come; `null`: it has not begun. */
  state: State | null;
  /** Its number in this notebook. */
  trial: number | null;
  /** Why it does not count. */
  excluded: string | null;
};

/** An experiment of the notebook. */
export type ExperimentItem = {
  number: number;
  uuid: string;
  name: string;
  /** When it was begun, UTC. */
  created: string;
  trials: number;
  /** Those that count: complete and not excluded. */
  counted: number;
};

/** Which trials a list is to show; all conditions must hold. */
export type NotebookQuery = {
  /**
   * Words that all stand in the workload, target, note, tags or experiment's name; a number or the
   * beginning of a UUID finds that trial.
   */
  q: string | null;
  workload: string | null;
  tag: string | null;
  /** In this state, by its name. */
  state: string | null;
  /** Of the experiment with this name, or whose UUID begins so. */
  experiment: string | null;
  /** Which page of the list, from 1 (0 counts as 1). */
  page: number;
};

/** A trial of the list. */
export type TrialItem = {
  number: number;
  uuid: string;
  /** How far it has come. */
  state: State;
  /** Why it is not complete. */
  reason: string | null;
  /** Why it does not count. */
  excluded: string | null;
  /** What people say of it. */
  note: string | null;
  tags: Array<string>;
  workload: string;
  /** How many clients it had. */
  clients: number | null;
  /** Where it ran, without secrets. */
  target: string;
  /** The name of its experiment. */
  experiment: string | null;
  started: string;
  goodput_per_s: number | null;
  /** Response times with a rate, else service times, in microseconds. */
  p50_us: number | null;
  p99_us: number | null;
  failed: number | null;
};
