//! Validity notes: what a reader must know before believing a result. Pure functions from what is
//! known about a run to notes that travel with its figures.
//!
//! Not for: finding out (`pgdyno-database`, `pgdyno-workload`), printing (report).

#[cfg(test)]
mod of_servers;
mod server;

use std::time::Duration;

use pgdyno_model::client_bound::limiting;
use pgdyno_model::note::{
    DRIFTS, LOST_WRITES, STALLED, TRUTH_UNKNOWN, WARMUP_CUT_SHORT, WARMUP_MEASURED,
};
use pgdyno_model::{Fact, Note, Severity};
use pgdyno_spec::{TrialSpec, text};
use pgdyno_workload::contention::FewRows;
use serde::Serialize;

use crate::shared::Shared;
use pgdyno_diagnose::{added, too_much};
use pgdyno_measurement::{Added, EventKind, Latencies, Recording, ThreadUse};

use pgdyno_database::dialect::{self, Product};
use pgdyno_database::locate::Role;
use pgdyno_model::document::{
    Accounting, ClientCourse, Disturbed, Facts, StaleEndpoint, Staleness, Stalls, Steadiness,
    SteadinessVerdict, Truth, WarmupEnd,
};
use pgdyno_model::observed::Observed;

/// The schedule of a rate was not kept.
pub const SCHEDULE_MISSED: &str = "schedule-missed";
/// pgdyno itself did not run for a while.
pub const GENERATOR_STOPPED: &str = "generator-stopped";
/// Transactions found no row, and count as done.
pub const MISSING_ROWS: &str = "missing-rows";
/// The counter of scripts for these.
const MISSING_COUNTER: &str = "missing";
/// From this share of the time on, being held back by a quota is reported.
const HELD_BACK_SHARE: f64 = 0.01;
const RAISE_QUOTA: &str = "raise the CPU limit of pgdyno's container, or run pgdyno outside of it";
/// The notebook is on the server under test.
const NOTEBOOK_HERE: &str = "notebook-here";

/// A variable that says one thing while the loaded tables have another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mismatch {
    /// The variable, without its colon.
    pub variable: String,
    pub used: String,
    pub loaded: String,
}

/// Transactions of the measured time that a schedule had, and what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScheduleCounts {
    pub due: u64,
    /// Never started: already too late.
    pub skipped: u64,
    /// Started a second late or later: in another second than they were due.
    pub late: u64,
    /// Not started when the time was over.
    pub left: u64,
}

impl ScheduleCounts {
    /// Of a recording with a rate and an asked duration.
    pub fn of(recording: &Recording) -> Option<Self> {
        let due = recording.due?;
        let all = recording.measured.all();
        let started_late = |lag: &Latencies| -> u64 {
            let buckets = lag.histogram().buckets();
            let late = buckets.filter(|bucket| bucket.middle_us() >= LATE_US);
            late.map(|bucket| bucket.count).sum()
        };
        Some(Self {
            due,
            skipped: all.counts.skipped,
            late: all.lag.as_ref().map_or(0, started_late),
            left: due.saturating_sub(all.counts.total()),
        })
    }
}

/// What is known about a run once it is over. Each field that is empty leads to no note.
#[derive(Debug, Default)]
pub struct Situation<'a> {
    /// What the server says about itself.
    pub facts: Option<&'a Facts>,
    /// The isolation level asked for, by its name in SQL.
    pub isolation_asked: Option<&'a str>,
    /// Clients that ran at the same time.
    pub clients: usize,
    /// Whether the workload changes rows.
    pub writes: bool,
    /// Updated tables with fewer rows than clients.
    pub few_rows: &'a [FewRows],
    /// Variables that do not fit the tables.
    pub mismatches: &'a [Mismatch],
    /// What the notebook shares with what is measured.
    pub shared: Option<Shared>,
    /// What each of pgdyno's threads used.
    pub threads: &'a [ThreadUse],
    /// What the generator itself added to latencies.
    pub added: Option<&'a Added>,
    /// Clients without a connection when the run ended, with the share of all clients' time that was
    /// without one.
    pub lost_server: Option<(u64, f64)>,
    /// What clients say that went without TLS though it was preferred.
    pub without_tls: Option<&'a str>,
    /// The schedule, and what of it was kept; `None` without a rate.
    pub schedule: Option<ScheduleCounts>,
    /// How long pgdyno itself did not run while it was measured.
    pub stopped: Stopped,
    /// The CPU quota that held pgdyno back, in CPUs, and for how long.
    pub held_back: Option<HeldBack>,
    pub stalls: Stalls,
    /// What the measured seconds tell.
    pub courses: &'a [Steadiness],
    /// A warm-up that came to its limit, with its length in microseconds.
    pub warmup_cut_short: Option<(WarmupEnd, u64)>,
    pub observed: Option<&'a Observed>,
    /// When what is measured began, in microseconds since clients began to work.
    pub measured_from_us: i64,
}

/// Times of the measured phase in which pgdyno itself did not run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stopped {
    count: usize,
    total_us: u64,
    /// When the longest began, after the start of what is measured.
    longest_at_us: u64,
    longest_us: u64,
    /// For so long the host was suspended, which no figure shows.
    suspended_us: u64,
}

impl Stopped {
    /// Of a recording whose measured phase began at this time.
    pub fn of(recording: &Recording, from_us: u64) -> Self {
        let until_us = from_us + recording.measured.elapsed_us;
        let mut all = Self::default();
        for stop in &recording.generator_stops {
            let length_us = stop.within_us(from_us, until_us);
            let is_measured = (from_us..until_us).contains(&stop.start_us);
            if length_us == 0 && !(is_measured && stop.suspended_us > 0) {
                continue;
            }
            all.count += 1;
            all.total_us += length_us;
            all.suspended_us += stop.suspended_us;
            if length_us >= all.longest_us {
                all.longest_us = length_us;
                all.longest_at_us = stop.start_us.saturating_sub(from_us);
            }
        }
        all
    }

    /// How long that was in all.
    pub fn length(self) -> Duration {
        Duration::from_micros(self.total_us + self.suspended_us)
    }

    fn note(self) -> Option<Note> {
        if self.count == 0 {
            return None;
        }
        let at = text::seconds(self.longest_at_us as f64 / 1e6);
        let length = |us: u64| text::seconds(us as f64 / 1e6);
        let mut sentence = match (self.total_us, self.count) {
            (0, _) => format!(
                "this host was suspended for {} at {at}: no figure includes that time, though the server may have gone on",
                length(self.suspended_us)
            ),
            (total_us, 1) => format!(
                "pgdyno itself did not run for {} at {at}: it was stopped, frozen or paused",
                length(total_us)
            ),
            (total_us, count) => format!(
                "pgdyno itself did not run {count} times, for {} in all, the longest {} at {at}: it was stopped, \
                 frozen or paused",
                length(total_us),
                length(self.longest_us)
            ),
        };
        if self.total_us > 0 {
            sentence += "; transactions that were slow or late then are not the server's fault";
        }
        Some(Note::new(
            GENERATOR_STOPPED,
            Severity::Serious,
            sentence,
            "measure on a host that does not stop pgdyno",
        ))
    }
}

/// A CPU quota that held pgdyno back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeldBack {
    /// CPUs that pgdyno's control group may use together.
    pub cpus: f64,
    /// For how long it was held back, all its CPUs together.
    pub held_us: u64,
    pub of_us: u64,
}

impl HeldBack {
    fn is_much(self) -> bool {
        self.held_us as f64 >= HELD_BACK_SHARE * self.of_us as f64
    }

    fn note(self) -> Note {
        Note::new(
            "own-quota",
            Severity::Warning,
            format!(
                "pgdyno used up its CPU quota of {} CPUs: its control group was throttled for {} (all CPUs together) of {}, \
                 which limits the generator",
                text::some(self.cpus),
                text::seconds(self.held_us as f64 / 1e6),
                text::seconds(self.of_us as f64 / 1e6),
            ),
            RAISE_QUOTA,
        )
    }
}

/// All notes on a run, the gravest first.
pub fn notes(s: &Situation<'_>) -> Vec<Note> {
    let mut notes = Vec::new();
    let held_back = s.held_back.filter(|held| held.is_much());
    notes.extend(s.stopped.note());
    notes.extend(s.lost_server.map(|lost| lost_server(lost, s.clients)));
    notes.extend(s.without_tls.map(without_tls));
    notes.extend(s.few_rows.iter().map(|t| few_rows(t, s.clients)));
    notes.extend(s.mismatches.iter().map(mismatch));
    let own = match limiting(s.threads) {
        Some(thread) => Some(client_bound(thread)),
        None => s.added.and_then(adds),
    };
    notes.extend(own.map(|note| match held_back {
        // No other process had the CPUs.
        Some(_) => Note {
            remedy: RAISE_QUOTA.to_owned(),
            ..note
        },
        None => note,
    }));
    notes.extend(held_back.map(HeldBack::note));
    notes.extend(s.shared.map(notebook_here));
    notes.extend(s.warmup_cut_short.map(warmup_cut_short));
    let missed = s.schedule.and_then(schedule_missed);
    notes.extend(missed.map(|note| match s.stopped.total_us {
        0 => note,
        _ => Note {
            sentence: note.sentence + "; pgdyno did not run for a while",
            remedy: "measure on a host that does not stop pgdyno".to_owned(),
            ..note
        },
    }));
    notes.extend(stalled(&s.stalls));
    notes.extend(s.courses.iter().filter_map(not_steady));
    if let Some(facts) = s.facts {
        notes.extend(durability(facts, s.writes));
        notes.extend(server(facts, s.writes));
        notes.extend(shared_host(facts, s.observed));
        notes.extend(isolation(facts, s.isolation_asked));
        notes.extend(same_node(facts));
        notes.extend(untried(facts));
    }
    if let Some(observed) = s.observed {
        notes.extend(observed.notes.iter().cloned());
        notes.extend(server::cache_warming(observed, s.measured_from_us));
    }
    // Stable: within a severity the order above stays.
    notes.sort_by_key(|n| std::cmp::Reverse(n.severity));
    notes
}

/// What follows for the notes from a load that is asked to move: that is not steady, and clients follow.
pub fn of_course(notes: &mut Vec<Note>, spec: &TrialSpec, recording: &Recording) {
    if spec.moves() {
        notes.retain(|note| ![DRIFTS, WARMUP_MEASURED].contains(&&*note.code));
    }
    let course = ClientCourse::of(recording, spec.clients.as_ref());
    notes.extend(course.as_ref().and_then(clients_off));
    // Stable: within a severity the order stays.
    notes.sort_by_key(|n| std::cmp::Reverse(n.severity));
}

/// Reads without a row where the workload says that rows are there, and which count as done all the same. Scripts
/// count them with `next_key('missing', 1)`, built-in scripts of pgbench have them counted by the engine.
pub fn missing_rows(recording: &Recording) -> Option<Note> {
    let drawn = recording.drawn.get(MISSING_COUNTER).copied();
    let missing = recording.missing_rows + drawn.unwrap_or_default();
    (missing > 0).then(|| {
        Note::new(
            MISSING_ROWS,
            Severity::Warning,
            format!(
                "{} found no row where the workload has one, and count as done: they are faster than those that find it",
                text::plural(missing, "transaction")
            ),
            "load as many rows as the run asks for",
        )
    })
}

/// Another server than at the beginning answered at an endpoint. `is_disturbed`: perhaps that was asked for.
pub fn server_replaced(recording: &Recording, is_disturbed: bool) -> Option<Note> {
    // The last one is named by more than what sessions report, where it is of the end.
    let mut events = recording.events.iter().rev();
    let event = events.find(|event| event.kind == EventKind::ServerReplaced)?;
    Some(Note::new(
        "server-replaced",
        if is_disturbed {
            Severity::Notice
        } else {
            Severity::Serious
        },
        format!("more than one server was measured: {}", event.text),
        "measure each server by itself",
    ))
}

fn clients_off(course: &ClientCourse) -> Option<Note> {
    let note = || {
        Note::new(
            "clients-off",
            Severity::Warning,
            format!(
                "{} clients worked on average, {} were asked for: by second the number was {} off",
                text::some(course.working),
                text::some(course.asked),
                text::share(course.off_share)
            ),
            "change the number more slowly or in longer steps: a client ends its transaction before it rests",
        )
    };
    (!course.is_kept()).then(note)
}

fn without_tls(said: &str) -> Note {
    Note::new(
        "without-tls",
        Severity::Serious,
        format!("{said}: all sessions were unencrypted"),
        "set sslmode=require to see why TLS failed, or sslmode=disable to measure without TLS",
    )
}

fn lost_server((without, share): (u64, f64), clients: usize) -> Note {
    // Clients that do not connect again end, and their time with them.
    let of_time = if share > 0.0 {
        format!(
            "; clients had none for {} of their time",
            text::share(share)
        )
    } else {
        String::new()
    };
    Note::new(
        "server-lost",
        Severity::Serious,
        format!(
            "the server was lost and did not come back: {without} of {clients} clients had no \
             connection at the end of the run{of_time}"
        ),
        "look in the server's log why it stopped, and measure again",
    )
}

/// What there is to note of the commands that were to disturb a trial.
pub fn disturbed(it: &Disturbed) -> Vec<Note> {
    let note = |trouble: String| {
        Note::new(
            "disturbance-failed",
            Severity::Serious,
            format!("a command of the disturbance failed: {trouble}"),
            "run the command by itself until it works, and measure again: pgdyno help disturb",
        )
    };
    it.troubles().into_iter().map(note).collect()
}

/// What there is to note of the storage layer's account.
pub fn accounting(it: &Accounting) -> Vec<Note> {
    let mut notes = Vec::new();
    if let (Some(off), Some(expected)) = (it.is_off(), it.expected.known()) {
        notes.push(Note::new(
            "accounting-off",
            Severity::Warning,
            format!(
                "the server counted {} {} logical reads than expected: {} {}s of {:.1} buffers each were measured",
                text::share(off.abs()),
                if off > 0.0 { "more" } else { "fewer" },
                it.units.first().map_or(0, |units| units.count),
                expected.kind,
                expected.mean,
            ),
            "check for other sessions in this database, and whether the plan is the one that \
             EXPLAIN showed",
        ));
    }
    if let Some(expected) = it.expected.known().filter(|e| !e.is_by_index()) {
        notes.push(Note::new(
            "not-by-index",
            Severity::Serious,
            format!(
                "work units do not use an index scan: their plan is {}, so reads are not random",
                expected.plan()
            ),
            "run ANALYZE, or check the server's planner settings",
        ));
    }
    notes
}

/// Notes on reads at standbys, where the measurement itself is in doubt.
pub fn staleness(staleness: &Staleness) -> Vec<Note> {
    let mut notes = Vec::new();
    if !staleness.is_sound() {
        notes.push(Note::new(
            "stale-control",
            Severity::Serious,
            "the control server did not show all stamps: they were written through it, but its reads miss some"
                .to_owned(),
            "use the primary's own address as control: a balancer or a host list may reach another server; after a \
             failover the missing stamps are lost writes",
        ));
    }
    let is_unread = |one: &&StaleEndpoint| one.reads == 0;
    for one in staleness.endpoints.iter().filter(is_unread) {
        let why = match &one.error {
            Some(why) => why.clone(),
            None => format!("{} reads saw no stamp", text::count(one.before_first)),
        };
        notes.push(Note::new(
            "staleness-unknown",
            Severity::Warning,
            format!("staleness at {} is not known: {why}", one.name),
            "measure longer than the standby lags, and check that it replays",
        ));
    }
    notes
}

/// Notes on what the database has of what it acknowledged.
pub fn truth(truth: &Fact<Truth>) -> Vec<Note> {
    let truth = match truth {
        Fact::Known(truth) => truth,
        Fact::Unknown(why) => {
            return vec![Note::new(
                TRUTH_UNKNOWN,
                Severity::Warning,
                format!("whether writes were lost is not known: {why}"),
                "run the trial again when the database takes writes",
            )];
        }
    };
    let mut notes = Vec::new();
    let mut add = |is_so: bool, code, severity, sentence: String, remedy| {
        if is_so {
            notes.push(Note::new(code, severity, sentence, remedy));
        }
    };
    add(
        truth.lost > 0,
        LOST_WRITES,
        Severity::Serious,
        format!(
            "{} of {} acknowledged transactions were lost: they are not in the database",
            text::count(truth.lost),
            text::count(truth.acknowledged)
        ),
        "commit synchronously, or promote the standby that received most",
    );
    add(
        truth.twice > 0,
        "committed-twice",
        Severity::Serious,
        format!(
            "{} transactions are in the database twice",
            text::count(truth.twice)
        ),
        "report it to the database's maker: a transaction was applied again",
    );
    let sums = truth.sums.as_ref().and_then(Fact::known);
    let disagreeing = sums.filter(|sums| !sums.agree()).map(|sums| {
        let grown = sums.grown.iter();
        let grown = grown.map(|(table, by)| format!("{table} by {by}"));
        grown.collect::<Vec<_>>().join(", ")
    });
    add(
        disagreeing.is_some(),
        "sums-disagree",
        Severity::Serious,
        format!(
            "balances do not add up: the tables' sums grew differently ({})",
            disagreeing.unwrap_or_default()
        ),
        "check that only this trial writes to these tables; otherwise a transaction was applied in part",
    );
    add(
        truth.failed_landed > 0,
        "failed-landed",
        Severity::Warning,
        format!(
            "{} failed transactions are in the database: clients got an error for them",
            text::count(truth.failed_landed)
        ),
        "check the statements after the script's COMMIT",
    );
    add(
        truth.not_followed > 0,
        "receipts-limit",
        Severity::Warning,
        format!(
            "{} transactions were not checked for loss: their clients had too many errors",
            text::count(truth.not_followed)
        ),
        "shorten the trial, or use more clients",
    );
    notes
}

fn few_rows(table: &FewRows, clients: usize) -> Note {
    let FewRows { table, rows } = table;
    let only = if *rows == 1 { "row" } else { "rows" };
    Note::new(
        "clients-outnumber-rows",
        Severity::Warning,
        format!(
            "{clients} clients update {table}, which has {rows} {only}: clients wait for each other's \
             row locks"
        ),
        "load more rows (for tpcb a scale of at least the number of clients) or use fewer clients",
    )
}

fn mismatch(m: &Mismatch) -> Note {
    let Mismatch {
        variable,
        used,
        loaded,
    } = m;
    Note::new(
        "scale-differs",
        Severity::Serious,
        format!(
            "scripts used :{variable} = {used}, but the tables have {loaded}: they were loaded with another value"
        ),
        "leave the value out: it is then read from the tables; or load the tables with it",
    )
}

fn notebook_here(shared: Shared) -> Note {
    let (severity, sentence) = match shared {
        Shared::Database => (
            Severity::Warning,
            "this trial is stored in the database that it measures: rows are written each second, and the server's \
             counters include them",
        ),
        Shared::Server => (
            Severity::Notice,
            "this trial is stored on the server that it measures: a few rows are written to another database each \
             second",
        ),
    };
    Note::new(
        NOTEBOOK_HERE,
        severity,
        sentence.to_owned(),
        "use a notebook on another server, or a file that you copy later (pgdyno store move)",
    )
}

fn client_bound(thread: &ThreadUse) -> Note {
    let lag = match thread.lag_p99_us {
        Some(us) => format!(", event-loop delay p99 {}", text::time(us as f64)),
        None => String::new(),
    };
    Note::new(
        "client-bound",
        Severity::Serious,
        format!(
            "pgdyno was the limit, not the server: its busiest thread used a CPU for {} of the time and waited for \
             one for {}{lag}",
            text::roughly(thread.busy_share()),
            text::roughly(thread.waited_share())
        ),
        if thread.waited_share() > thread.busy_share() {
            "run pgdyno on a host of its own, stop other processes there, or set a rate that leaves CPUs idle (-R)"
        } else {
            "use more threads (-j) or another host"
        },
    )
}

/// Threads that are not busy, and that yet let answers wait: for a CPU that others had.
fn adds(of: &Added) -> Option<Note> {
    let rows = added(of);
    too_much(&rows).map(|most| {
        Note::new(
            "client-bound",
            Severity::Serious,
            format!(
                "pgdyno added {} to the {} of {}: answers waited for its threads; that is {} of it, at most {}, in {} \
                 followed transactions",
                text::time(most.adds_us),
                text::percentile_name(most.percentile),
                text::time(most.shown_us),
                text::roughly(most.share),
                text::time(most.at_most_us),
                text::count(most.followed),
            ),
            "run pgdyno on a host of its own, stop other processes there, set a rate that leaves CPUs idle (-R), or use \
             more threads (-j)",
        )
    })
}

/// Whether transactions ran at the level that was asked for.
fn isolation(facts: &Facts, asked: Option<&str>) -> Option<Note> {
    let asked = asked?;
    let in_effect = facts.isolation.known().filter(|level| *level != asked)?;
    Some(Note::new(
        "isolation-differs",
        Severity::Serious,
        format!(
            "transactions ran at {in_effect}, not at {asked}: the server or the script sets the isolation level"
        ),
        "read the figures as those of that level, or enable the requested one on the server",
    ))
}

/// A version of which nothing was captured.
fn untried(facts: &Facts) -> Option<Note> {
    let version = facts.version.known().filter(|_| facts.dialect_known)?;
    let product = Product::recognise(version);
    Some(Note::new(
        "untried-version",
        Severity::Notice,
        product.untried()?,
        "pgdyno target --facts says what each fact rests on",
    ))
}

/// Endpoints that lead to one and the same node.
fn same_node(facts: &Facts) -> Option<Note> {
    let nodes: Option<Vec<&String>> = facts.reached.iter().map(|r| r.node.known()).collect();
    let nodes = nodes?;
    let (first, others) = nodes.split_first()?;
    // A node's name may not tell a standby from its primary.
    let is_standby = |number: usize| facts.reached[number].is_standby;
    if (1..nodes.len()).any(|number| is_standby(number) != is_standby(0)) {
        return None;
    }
    (!others.is_empty() && others.iter().all(|node| node == first)).then(|| {
        Note::new(
            "one-node",
            Severity::Warning,
            format!("all {} endpoints lead to one node: {first}", nodes.len()),
            "use the nodes' own addresses, not those of a proxy or load balancer",
        )
    })
}

fn warmup_cut_short((ended, elapsed_us): (WarmupEnd, u64)) -> Note {
    let figure = ended.figure.name();
    let still = match ended.change {
        Some(change) => {
            let verb = if change < 0.0 { "fell" } else { "rose" };
            format!(
                "{figure} still {verb} by {} in its second half",
                text::roughly(change.abs())
            )
        }
        None => format!("there was not enough data to judge whether {figure} was steady"),
    };
    Note::new(
        WARMUP_CUT_SHORT,
        Severity::Warning,
        format!(
            "the warm-up ended at its limit of {}: {still}",
            text::about(Duration::from_micros(elapsed_us))
        ),
        "use a longer limit (--warmup auto=5m); an overload or a growing table never becomes steady",
    )
}

/// Schedules are kept to within so much of their transactions, or a note says so.
const KEPT_SHARE: f64 = 0.01;
/// From so late on a transaction starts in another second than it was due.
const LATE_US: u64 = 1_000_000;

fn schedule_missed(kept: ScheduleCounts) -> Option<Note> {
    let missed = kept.skipped + kept.late + kept.left;
    let is_kept = missed as f64 <= KEPT_SHARE * kept.due as f64;
    if is_kept || kept.due == 0 {
        return None;
    }
    let share = |count: u64| text::share(count as f64 / kept.due as f64);
    let parts = [
        (kept.late, "started a second late or later"),
        (kept.skipped, "were skipped, too late for --latency-limit"),
        (kept.left, "had not started when the time was over"),
    ];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts
        .map(|(count, what)| format!("{} {what}", share(count)))
        .collect();
    Some(Note::new(
        SCHEDULE_MISSED,
        Severity::Warning,
        format!(
            "{} of the scheduled transactions were late or missing: of {} due, {}",
            share(missed),
            text::count(kept.due),
            parts.join(", ")
        ),
        "lower --rate, use more clients (-c) if all were busy, or read the figures as those of an overload",
    ))
}

fn stalled(stalls: &Stalls) -> Option<Note> {
    let times = match stalls.count {
        0 => return None,
        1 => "once, for",
        _ => "several times, at most for",
    };
    let closed_loop = match stalls.random_arrival {
        Some(_) => "; waiting clients send nothing, so latencies leave most of it out",
        None => "",
    };
    Some(Note::new(
        STALLED,
        Severity::Warning,
        format!(
            "commits stopped {times} {}: clients waited, in all for {} of the time{closed_loop}",
            text::time(stalls.longest_us as f64),
            text::share(stalls.share)
        ),
        "look at what the server did then (pgdyno report): locks, checkpoints, a frozen or overloaded host; latencies \
         at a random time, or with --rate, include these times",
    ))
}

fn not_steady(course: &Steadiness) -> Option<Note> {
    let (code, remedy) = match course.verdict {
        SteadinessVerdict::Drifts => (
            DRIFTS,
            "look at what changed during the trial (pgdyno report): a filling cache, a growing table, a checkpoint, \
             another load; measure longer, or warm up until steady (--warmup auto)",
        ),
        SteadinessVerdict::Holes | SteadinessVerdict::Alternates | SteadinessVerdict::Level => (
            DRIFTS,
            "look at what happened in these seconds (pgdyno report): checkpoints, vacuums, locks, other work on the host; \
             measure longer",
        ),
        SteadinessVerdict::WarmUp => (
            WARMUP_MEASURED,
            "warm up before measuring (--warmup auto or a time)",
        ),
        _ => return None,
    };
    Some(Note::new(
        code,
        Severity::Warning,
        course.sentence.clone(),
        remedy,
    ))
}

/// Notes on what a commit is worth on this server; of no weight when nothing is written.
fn durability(facts: &Facts, writes: bool) -> Vec<Note> {
    let severity = if writes {
        Severity::Warning
    } else {
        Severity::Notice
    };
    let mut notes = Vec::new();
    if facts.fsync == Fact::Known(false) {
        notes.push(Note::new(
            "fsync-off",
            severity,
            "fsync is off: commits do not wait for the disk, and a crash can destroy the database"
                .to_owned(),
            "set fsync = on, as in production",
        ));
    }
    // `local` only means less than `on` where there are synchronous standbys.
    if facts.synchronous_commit.known().is_some_and(|v| v == "off") {
        notes.push(Note::new(
            "synchronous-commit-off",
            severity,
            "synchronous_commit is off: a commit is confirmed before it is on disk".to_owned(),
            "set synchronous_commit = on for durable commits",
        ));
    }
    if facts.full_page_writes == Fact::Known(false) {
        notes.push(Note::new(
            "full-page-writes-off",
            severity,
            "full_page_writes is off: less WAL is written after a checkpoint, and torn pages cannot be repaired"
                .to_owned(),
            "set full_page_writes = on unless the file system writes pages atomically",
        ));
    }
    if facts.data_in_memory == Fact::Known(true) {
        notes.push(Note::new(
            "data-in-memory",
            severity,
            "the data directory is in memory (tmpfs): no disk is measured".to_owned(),
            "put the data directory on a disk",
        ));
    }
    notes
}

/// Whether client and server share a host: by its processes where they were looked for, else by the
/// server's address, behind which may be a tunnel to another host.
fn shared_host(facts: &Facts, observed: Option<&Observed>) -> Option<Note> {
    let fact = |name| observed?.fact(name)?.as_str();
    let is_address_here = facts.same_host == Fact::Known(true);
    let is_shared = match fact("host.role") {
        None => is_address_here,
        Some(role) if role == Role::ClientPerhapsServer.word() => {
            return is_address_here.then(|| {
                let why = fact("host.role_because").unwrap_or("its processes are not seen");
                Note::new(
                    "same-host-unclear",
                    Severity::Notice,
                    format!("client and server may share a host: {why}"),
                    "run pgdyno where it can see the server's processes, or on another host",
                )
            });
        }
        Some(role) => role == Role::ClientAndServer.word(),
    };
    is_shared.then(|| {
        Note::new(
            "same-host",
            Severity::Notice,
            "client and server share a host: they compete for its CPUs, and no network is measured"
                .to_owned(),
            "run pgdyno on another host for figures of the server alone",
        )
    })
}

fn server(facts: &Facts, writes: bool) -> Vec<Note> {
    let mut notes = Vec::new();
    if facts.debug_assertions == Fact::Known(true) {
        notes.push(Note::new(
            "assertions-on",
            Severity::Serious,
            "the server was built with assertions, which make it much slower".to_owned(),
            "measure a server built without --enable-cassert",
        ));
    }
    if let (false, Some(version)) = (facts.dialect_known, facts.version.known()) {
        notes.push(Note::new(
            "unknown-product",
            Severity::Notice,
            dialect::unknown(&facts.dialect, &text::message(version)),
            "check the figures of this server with care",
        ));
    }
    let read_only = match (facts.in_recovery.known(), facts.read_only.known()) {
        (Some(true), _) => Some(("standby", "the server is a standby")),
        (_, Some(true)) => Some(("read-only", "default_transaction_read_only is on")),
        _ => None,
    };
    if let Some((code, what)) = read_only {
        notes.push(if writes {
            Note::new(
                code,
                Severity::Serious,
                format!("{what}: every transaction that writes fails"),
                "use the primary, or run a read-only workload (select-only)",
            )
        } else {
            Note::new(
                code,
                Severity::Notice,
                format!("{what}: only reads can be measured"),
                "none needed",
            )
        });
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_model::document::Reached;
    use std::borrow::Cow;

    /// A server about which there is nothing to say.
    fn sound() -> Facts {
        Facts {
            fsync: Fact::Known(true),
            synchronous_commit: Fact::Known("on".to_owned()),
            full_page_writes: Fact::Known(true),
            debug_assertions: Fact::Known(false),
            in_recovery: Fact::Known(false),
            read_only: Fact::Known(false),
            same_host: Fact::Known(false),
            data_in_memory: Fact::Known(false),
            ..Facts::unknown("not asked in this test")
        }
    }

    fn codes(facts: &Facts, writes: bool) -> Vec<(Cow<'static, str>, Severity)> {
        let situation = Situation {
            facts: Some(facts),
            clients: 8,
            writes,
            ..Situation::default()
        };
        notes(&situation)
            .into_iter()
            .map(|n| (n.code, n.severity))
            .collect()
    }

    #[test]
    fn a_schedule_that_was_not_kept_to_within_one_percent_is_noted() {
        let note = |due, skipped, late, left| {
            let kept = ScheduleCounts {
                due,
                skipped,
                late,
                left,
            };
            schedule_missed(kept).map(|note| note.sentence)
        };
        assert_eq!(note(1000, 3, 3, 4), None);
        assert_eq!(note(0, 0, 0, 0), None);
        let text = note(1000, 5, 100, 0).unwrap();
        assert!(text.contains("of 1,000 due, 10"), "{text}");
        assert!(text.contains("a second late or later, 0.5"), "{text}");
        assert!(!text.contains("when the time was over"), "{text}");
        assert!(note(1000, 0, 0, 11).unwrap().contains("had not started"));
    }

    #[test]
    fn clients_that_were_not_those_asked_for_are_noted() {
        let course = |working, off_share| ClientCourse {
            asked: 36.0,
            working,
            off_share,
            seconds: Vec::new(),
        };
        assert_eq!(clients_off(&course(36.2, 0.0099)), None);
        // On average they may well be right.
        let note = clients_off(&course(36.0, 0.05)).unwrap();
        assert_eq!(
            (&*note.code, note.severity),
            ("clients-off", Severity::Warning)
        );
        assert!(
            note.sentence
                .starts_with("36.0 clients worked on average, 36.0 were asked for:"),
            "{}",
            note.sentence
        );
        assert!(note.sentence.contains("5.0 % off"), "{}", note.sentence);
        // What is asked to move is not called unsteady.
        let mut notes = vec![Note::new(
            DRIFTS,
            Severity::Warning,
            "it drifts".to_owned(),
            "do not",
        )];
        let moving = TrialSpec {
            clients: Some("1..8/9s".parse().unwrap()),
            ..TrialSpec::of("tpcb")
        };
        of_course(&mut notes, &TrialSpec::of("tpcb"), &Recording::default());
        assert_eq!(notes.len(), 1);
        of_course(&mut notes, &moving, &Recording::default());
        assert_eq!(notes.len(), 0);
    }

    #[test]
    fn a_sound_server_and_one_that_tells_nothing_get_no_notes() {
        assert_eq!(codes(&sound(), true), []);
        assert_eq!(codes(&Facts::unknown("no privilege"), true), []);
        assert_eq!(notes(&Situation::default()), []);
    }

    #[test]
    fn settings_that_make_commits_cheap_weigh_more_when_the_workload_writes() {
        type Change = fn(&mut Facts);
        let cases: [(Change, &str); 4] = [
            (|f| f.fsync = Fact::Known(false), "fsync-off"),
            (
                |f| f.synchronous_commit = Fact::Known("off".to_owned()),
                "synchronous-commit-off",
            ),
            (
                |f| f.full_page_writes = Fact::Known(false),
                "full-page-writes-off",
            ),
            (|f| f.data_in_memory = Fact::Known(true), "data-in-memory"),
        ];
        for (change, code) in cases {
            let mut facts = sound();
            change(&mut facts);
            assert_eq!(codes(&facts, true), [(code.into(), Severity::Warning)]);
            assert_eq!(codes(&facts, false), [(code.into(), Severity::Notice)]);
        }
    }

    #[test]
    fn assertions_and_a_shared_host_are_noted() {
        let facts = Facts {
            debug_assertions: Fact::Known(true),
            ..sound()
        };
        assert_eq!(
            codes(&facts, false),
            [("assertions-on".into(), Severity::Serious)]
        );
        let facts = Facts {
            same_host: Fact::Known(true),
            ..sound()
        };
        assert_eq!(
            codes(&facts, false),
            [("same-host".into(), Severity::Notice)]
        );
    }

    #[test]
    fn neighbours_on_a_host_are_named_by_process_when_known() {
        let codes = |same_host: bool, role: Option<Role>| {
            let facts = Facts {
                same_host: Fact::Known(same_host),
                ..sound()
            };
            let fact = |role: Role| (0, "host.role".to_owned(), role.word().into());
            let observed = Observed {
                facts: role.map(fact).into_iter().collect(),
                ..Observed::default()
            };
            let notes = notes(&Situation {
                facts: Some(&facts),
                observed: Some(&observed),
                ..Situation::default()
            });
            let codes = notes.into_iter().map(|note| note.code.into_owned());
            codes.collect::<Vec<_>>()
        };
        assert_eq!(codes(true, None), ["same-host"]);
        // A container of this host, under an address that is none of it.
        assert_eq!(codes(false, Some(Role::ClientAndServer)), ["same-host"]);
        // The end of a tunnel.
        let unclear = codes(true, Some(Role::ClientPerhapsServer));
        assert_eq!(unclear, ["same-host-unclear"]);
        assert_eq!(codes(false, Some(Role::ClientPerhapsServer)), [""; 0]);
        assert_eq!(codes(false, Some(Role::Client)), [""; 0]);
    }

    #[test]
    fn another_isolation_level_than_asked_for_is_serious() {
        let facts = Facts {
            isolation: Fact::Known("serializable".to_owned()),
            ..sound()
        };
        let of = |asked| {
            let situation = Situation {
                facts: Some(&facts),
                isolation_asked: asked,
                ..Situation::default()
            };
            notes(&situation)
        };
        assert_eq!(of(None), []);
        assert_eq!(of(Some("serializable")), []);
        let got = of(Some("read committed"));
        assert_eq!(
            (&*got[0].code, got[0].severity),
            ("isolation-differs", Severity::Serious)
        );
        assert!(
            got[0]
                .sentence
                .starts_with("transactions ran at serializable, not at read committed:")
        );
    }

    #[test]
    fn endpoints_of_one_node_are_noted() {
        let reached = |nodes: &[&str]| {
            let reached = nodes.iter().map(|node| Reached {
                endpoint: format!("db:{node}"),
                node: match *node {
                    "" => Fact::Unknown("refused".to_owned()),
                    node => Fact::Known(node.to_owned()),
                },
                is_standby: None,
                round_trip: Fact::default(),
                version: Fact::default(),
                system_identifier: None,
            });
            let facts = Facts {
                reached: reached.collect(),
                ..sound()
            };
            codes(&facts, true)
        };
        assert_eq!(reached(&["1"]), []);
        assert_eq!(reached(&["1", "2"]), []);
        assert_eq!(reached(&["1", ""]), []);
        assert_eq!(
            reached(&["1", "1"]),
            [("one-node".into(), Severity::Warning)]
        );
    }

    #[test]
    fn a_product_without_a_dialect_is_noted() {
        let facts = Facts {
            version: Fact::Known("CockroachDB v22".to_owned()),
            ..sound()
        };
        assert_eq!(
            codes(&facts, true),
            [("unknown-product".into(), Severity::Notice)]
        );
    }

    #[test]
    fn writing_to_a_standby_or_read_only_server_is_serious() {
        let facts = Facts {
            in_recovery: Fact::Known(true),
            ..sound()
        };
        assert_eq!(codes(&facts, true), [("standby".into(), Severity::Serious)]);
        assert_eq!(codes(&facts, false), [("standby".into(), Severity::Notice)]);
        let facts = Facts {
            read_only: Fact::Known(true),
            ..sound()
        };
        assert_eq!(
            codes(&facts, true),
            [("read-only".into(), Severity::Serious)]
        );
    }

    #[test]
    fn clients_that_outnumber_rows_are_counted() {
        let few = [FewRows {
            table: "pgbench_branches".to_owned(),
            rows: 1,
        }];
        let got = notes(&Situation {
            clients: 8,
            few_rows: &few,
            ..Situation::default()
        });
        assert_eq!(got.len(), 1);
        assert_eq!(got[0].code, "clients-outnumber-rows");
        assert!(
            got[0]
                .sentence
                .starts_with("8 clients update pgbench_branches, which has 1 row:")
        );
    }

    #[test]
    fn the_first_clause_of_a_note_fits_a_line_whatever_its_figures() {
        let stalls = Stalls {
            count: 12,
            longest_us: 1_234_567,
            share: 0.1234,
            ..Stalls::default()
        };
        let schedule = ScheduleCounts {
            due: 12_345_678,
            late: 1_234_567,
            ..ScheduleCounts::default()
        };
        let few = FewRows {
            table: "pgbench_branches".to_owned(),
            rows: 1234,
        };
        let wrong = Mismatch {
            variable: "scale".to_owned(),
            used: "10000".to_owned(),
            loaded: "12345".to_owned(),
        };
        let held = HeldBack {
            cpus: 12.34,
            held_us: 123_456_789,
            of_us: 1_234_567_890,
        };
        let all = [
            lost_server((1234, 0.1234), 1234),
            few_rows(&few, 1234),
            mismatch(&wrong),
            held.note(),
            notebook_here(Shared::Database),
            notebook_here(Shared::Server),
            client_bound(&ThreadUse::default()),
            schedule_missed(schedule).unwrap(),
            stalled(&stalls).unwrap(),
        ];
        for note in all {
            let headline = note.headline();
            assert!(headline.chars().count() <= 64, "{headline}");
            assert!(
                headline.len() < note.sentence.len(),
                "no detail: {headline}"
            );
        }
    }

    #[test]
    fn a_scale_that_is_not_what_is_loaded_is_serious() {
        let wrong = [Mismatch {
            variable: "scale".to_owned(),
            used: "1".to_owned(),
            loaded: "100".to_owned(),
        }];
        let got = notes(&Situation {
            mismatches: &wrong,
            ..Situation::default()
        });
        assert_eq!(
            (&*got[0].code, got[0].severity),
            ("scale-differs", Severity::Serious)
        );
        assert!(got[0].sentence.contains(":scale = 1") && got[0].sentence.contains("100"));
    }

    #[test]
    fn the_client_is_the_limit_from_four_fifths_of_a_cpu_on_or_when_it_waits_half_of_the_time() {
        let at = |busy: u64, waited: u64| {
            let thread = ThreadUse {
                wall_us: 100,
                user_us: busy,
                waited_us: waited,
                lag_p99_us: Some(1234),
                ..ThreadUse::default()
            };
            notes(&Situation {
                threads: &[ThreadUse::default(), thread],
                ..Situation::default()
            })
        };
        for (busy, waited) in [(79, 0), (40, 39), (0, 49)] {
            assert!(at(busy, waited).is_empty(), "{busy} {waited}");
        }
        for (busy, waited) in [(80, 0), (40, 40), (0, 50)] {
            let got = at(busy, waited);
            assert_eq!(got[0].code, "client-bound");
            let shares = format!("used a CPU for {busy} % of the time");
            assert!(got[0].sentence.contains(&shares), "{}", got[0].sentence);
            assert!(
                got[0]
                    .sentence
                    .contains(&format!("waited for one for {waited} %"))
            );
            assert!(got[0].sentence.contains("1.23 ms"));
        }
    }

    #[test]
    fn an_unsteady_trial_has_one_note_per_figure_and_a_short_one_none() {
        use pgdyno_model::document::Figure;
        let course = Steadiness::of;
        let rises: Vec<f64> = (0..30).map(|s| 100.0 + f64::from(s)).collect();
        let cold: Vec<f64> = (0..30).map(|s| if s < 5 { 50.0 } else { 100.0 }).collect();
        let of = |courses: &[Steadiness]| {
            let notes = notes(&Situation {
                courses,
                ..Situation::default()
            });
            notes
                .into_iter()
                .map(|n| (n.code, n.sentence))
                .collect::<Vec<_>>()
        };
        let reported = of(&[
            course(Figure::Throughput, &cold),
            course(Figure::ResponseTime, &rises),
        ]);
        assert_eq!(reported.len(), 2, "{reported:?}");
        assert_eq!(reported[0].0, "warm-up-measured");
        assert_eq!(
            reported[0].1,
            "throughput was 50 % below the rest during the first 5 s"
        );
        assert_eq!(reported[1].0, "not-steady");
        assert!(
            reported[1].1.starts_with("response time rose by "),
            "{reported:?}"
        );
        let holes: Vec<f64> = (0..30)
            .map(|s| if s % 5 == 4 { 0.0 } else { 100.0 })
            .collect();
        let reported = of(&[course(Figure::Throughput, &holes)]);
        assert_eq!(reported[0].0, "not-steady");
        assert!(
            reported[0].1.contains("6 of 30 s were below half"),
            "{reported:?}"
        );
        assert_eq!(of(&[course(Figure::Throughput, &[100.0; 30])]), []);
        assert_eq!(of(&[course(Figure::Throughput, &rises[..9])]), []);
        assert_eq!(of(&[course(Figure::ResponseTime, &[f64::NAN; 30])]), []);
    }

    #[test]
    fn a_warm_up_that_came_to_its_limit_says_what_was_still_going_on() {
        use pgdyno_model::document::EndedBy;
        use pgdyno_model::document::Figure;
        let reported = |change| {
            let ended = WarmupEnd {
                by: EndedBy::Limit,
                figure: Figure::Throughput,
                change,
            };
            let notes = notes(&Situation {
                warmup_cut_short: Some((ended, 60_000_000)),
                ..Situation::default()
            });
            assert_eq!(notes.len(), 1);
            assert_eq!(notes[0].code, "warm-up-cut-short");
            notes[0].sentence.clone()
        };
        assert_eq!(
            reported(Some(0.123)),
            "the warm-up ended at its limit of 60 s: throughput still rose by 12 % in its second half"
        );
        assert!(reported(Some(-0.2)).ends_with("still fell by 20 % in its second half"));
        assert!(reported(None).ends_with("enough data to judge whether throughput was steady"));
    }

    #[test]
    fn stalls_of_pgdyno_are_noted_first_and_a_quota_is_not_other_processes() {
        use pgdyno_measurement::GeneratorStop;
        let stop = |start_us, length_us, suspended_us| GeneratorStop {
            start_us,
            length_us,
            suspended_us,
        };
        let mut recording = Recording {
            generator_stops: vec![stop(500_000, 400_000, 0), stop(4_000_000, 3_000_000, 0)],
            ..Recording::default()
        };
        recording.measured.elapsed_us = 9_000_000;
        let stopped = Stopped::of(&recording, 1_000_000);
        assert_eq!((stopped.count, stopped.total_us), (1, 3_000_000));
        let held_back = |held_us| HeldBack {
            cpus: 0.5,
            held_us,
            of_us: 10_000_000,
        };
        let kept = ScheduleCounts {
            due: 100,
            late: 50,
            ..ScheduleCounts::default()
        };
        let got = notes(&Situation {
            stopped,
            held_back: Some(held_back(2_000_000)),
            lost_server: Some((1, 0.5)),
            threads: &[ThreadUse {
                wall_us: 100,
                user_us: 20,
                waited_us: 70,
                ..ThreadUse::default()
            }],
            schedule: Some(kept),
            ..Situation::default()
        });
        let of = |code: &str| got.iter().find(|note| note.code == code).unwrap();
        assert_eq!(got[0].code, GENERATOR_STOPPED);
        let first =
            "pgdyno itself did not run for 3.00 s at 3.00 s: it was stopped, frozen or paused; ";
        assert!(got[0].sentence.starts_with(first), "{got:?}");
        assert_eq!(of("client-bound").remedy, RAISE_QUOTA);
        let quota = &of("own-quota").sentence;
        assert!(
            quota.contains("quota of 0.50 CPUs:") && quota.contains("for 2.00 s"),
            "{quota}"
        );
        assert!(
            of(SCHEDULE_MISSED)
                .sentence
                .ends_with("did not run for a while")
        );
        // A quota that is hardly reached is nothing.
        let got = notes(&Situation {
            held_back: Some(held_back(90_000)),
            ..Situation::default()
        });
        assert_eq!(got, []);
        recording.generator_stops =
            vec![stop(2_000_000, 0, 60_000_000), stop(9_500_000, 900_000, 0)];
        let sentence = Stopped::of(&recording, 1_000_000).note().unwrap().sentence;
        assert!(sentence.contains("did not run 2 times"), "{sentence}");
        recording.generator_stops.truncate(1);
        let sentence = Stopped::of(&recording, 1_000_000).note().unwrap().sentence;
        assert!(
            sentence.starts_with("this host was suspended for 1 min 00 s at 1.00 s"),
            "{sentence}"
        );
        recording.generator_stops.clear();
        assert_eq!(Stopped::of(&recording, 0).note(), None);
    }

    #[test]
    fn the_gravest_note_comes_first() {
        let facts = Facts {
            same_host: Fact::Known(true),
            fsync: Fact::Known(false),
            debug_assertions: Fact::Known(true),
            ..sound()
        };
        let got: Vec<_> = codes(&facts, true)
            .into_iter()
            .map(|(code, _)| code)
            .collect();
        assert_eq!(got, ["assertions-on", "fsync-off", "same-host"]);
    }

    #[test]
    fn an_untested_version_is_noted() {
        let of = |version: &str| {
            let facts = Facts {
                dialect_known: true,
                version: Fact::Known(version.to_owned()),
                ..Facts::unknown("not asked")
            };
            untried(&facts).map(|note| note.code)
        };
        assert_eq!(of("PostgreSQL 18.6 on x86_64"), None);
        assert_eq!(of("CockroachDB CCL v19.1.0 (x86_64)"), None);
        assert_eq!(
            of("PostgreSQL 19.1 on x86_64").as_deref(),
            Some("untried-version")
        );
        assert_eq!(
            of("CockroachDB CCL v24.3.1 (x86_64)").as_deref(),
            Some("untried-version")
        );
    }
}
