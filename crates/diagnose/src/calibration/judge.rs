//! Verdicts: each line's mean against what is expected, and what the time of a line consists of, by
//! subtraction of medians. The greatest part is the likely cause of a miss; where the median alone
//! would be as expected, it is the tail.

use super::read::{Calibration, Measured};
use pgdyno_model::Fact;
use pgdyno_model::document::Facts;
use pgdyno_model::document::calibration::{
    Cause, Grown, LineVerdict, Part, Range, Sync, What, Yardstick,
};

/// Waiting for a sync that costs less is answered by a cache, not by a disk.
const CACHE_US: f64 = 50.0;
/// Syncs for each commit between which they are taken to be the commits' own.
const SYNCS_PER_COMMIT: std::ops::RangeInclusive<f64> = 0.5..=1.5;
/// From so many sequential scans for each transaction on they are taken to be the transactions'.
const SCANS_PER_TRANSACTION: f64 = 0.9;
/// A table with fewer rows fits in a few blocks, and to read them all is right.
const SCANNED_ROWS_MIN: f64 = 100.0;
/// Validity notes that make a durable change worth less than it seems.
const DOUBTS: [&str; 4] = [
    "fsync-off",
    "synchronous-commit-off",
    "full-page-writes-off",
    "data-in-memory",
];

/// A line of the result.
pub struct Line<'a> {
    pub what: What,
    /// What was measured: of several endpoints at the one where it takes longest.
    pub measured: &'a Measured,
    /// Which endpoint that is, where there are several.
    pub endpoint: Option<&'a str>,
    /// Each endpoint and what came of it; none where there is one only.
    pub endpoints: Vec<(&'a str, &'a Measured, LineVerdict)>,
    /// What was expected of the mean.
    pub expected: Range,
    pub yardstick: Yardstick,
    pub verdict: LineVerdict,
    /// The median without that of the round trip, and whether this is within expectation; `None` for
    /// the round trip itself.
    pub without_round_trip: Option<(f64, bool)>,
    /// Its parts; empty when the round trip is not known. Their sum is the mean.
    pub parts: Vec<(Part, f64)>,
    pub cause: Option<Cause>,
    /// Why the figure may be worth less than it seems.
    pub doubts: Vec<String>,
}

/// A calibration and what came of it.
pub struct Judged<'a> {
    /// The lines that were measured, in their order.
    pub lines: Vec<Line<'a>>,
    /// The sync of a commit.
    pub sync: Sync,
}

/// What makes a change durable, for each of them.
#[derive(Clone, Copy)]
enum Durable {
    Sync(f64),
    Commit(f64),
    Unknown,
}

impl<'a> Judged<'a> {
    pub fn of(c: &'a Calibration) -> Self {
        let sync = of_sync(c);
        let lines = [
            (What::RoundTrip, c.round_trip.as_ref()),
            (What::Commit, c.commit.as_ref()),
            (What::Read, c.read.as_ref()),
            (What::Update, c.update.as_ref()),
        ];
        let lines = lines.into_iter().filter_map(|(what, measured)| {
            let all = measured?;
            let (endpoint, measured) = all.worst();
            // What is measured at one endpoint is so beside the round trip of that one.
            let round_trip = c.round_trip.as_ref().map(|all| all.at(endpoint));
            let commit = c.commit.as_ref().map(|all| all.at(endpoint));
            let durable = match (sync.difference_us, commit, round_trip) {
                (Some(us), _, _) => Durable::Sync(us),
                (None, Some(commit), Some(round_trip)) => {
                    Durable::Commit((commit.median_us() - round_trip.median_us()).max(0.0))
                }
                _ => Durable::Unknown,
            };
            let judging = Judging {
                what,
                measured,
                endpoint,
                all,
                round_trip,
                durable,
                facts: &c.facts,
                sync: &sync,
            };
            Some(judging.line(c.expectations.of(what, &c.host)))
        });
        Self {
            lines: lines.collect(),
            sync,
        }
    }

    /// Whether read and update are as expected or better; `None` when they were not measured.
    pub fn is_met(&self) -> Option<bool> {
        let of = |what| {
            let line = self.lines.iter().find(|line| line.what == what)?;
            Some(line.verdict != LineVerdict::Missed)
        };
        of(What::Read)
            .zip(of(What::Update))
            .map(|(read, update)| read && update)
    }
}

/// What is known of the sync of a commit.
fn of_sync(c: &Calibration) -> Sync {
    let mut sync = Sync::default();
    let Some(commit) = c.commit.as_ref().map(Measured::first) else {
        return sync;
    };
    match c.commit_no_wait.as_ref().map(Measured::first) {
        Some(no_wait) => {
            let difference_us = (commit.median_us() - no_wait.median_us()).max(0.0);
            sync.difference_us = Some(difference_us);
            sync.sentences.push(format!(
                "waiting until it is durable takes {} ms of a commit (median): without it the \
                 same statement takes {} ms",
                ms(difference_us),
                ms(no_wait.median_us())
            ));
        }
        None => {
            let why = c.no_wait.as_deref().unwrap_or("it was not measured");
            let text = format!("the disk wait of a commit is not known: {why}");
            sync.sentences.push(text);
        }
    }
    let longest = c.log_syncs.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let series = c.sync_series.as_deref().unwrap_or_default();
    match (&commit.server_side, longest) {
        (Fact::Known(grown), _) => {
            let (server_us, sentence) = of_server(grown, commit.transactions);
            sync.server_us = server_us;
            sync.sentences.extend(sentence);
        }
        (Fact::Unknown(_), Some((node, us))) => {
            sync.server_us = Some(*us);
            let shortest = c.log_syncs.iter().map(|(_, us)| *us);
            let shortest_us = shortest.fold(f64::INFINITY, f64::min);
            let others = match c.log_syncs.len() {
                1 => String::new(),
                count => format!("; the shortest of {count} {} ms", ms(shortest_us)),
            };
            sync.sentences.push(format!(
                "making the log durable takes {} ms on {node} by its own clock (median of the \
                 seconds, {series}){others}",
                ms(*us)
            ));
        }
        (Fact::Unknown(why), None) => {
            let mut text = format!("the server's own time of a sync is not known: {why}");
            if c.sync_series.is_some() {
                text += &format!("; the trial has no readings of {series}");
            }
            sync.sentences.push(text);
        }
    }
    sync
}

/// What came of the expectation of a mean.
fn of_mean(mean_us: f64, expected: Range) -> LineVerdict {
    if mean_us > expected.high_us {
        LineVerdict::Missed
    } else if mean_us < expected.low_us {
        LineVerdict::Better
    } else {
        LineVerdict::Met
    }
}

/// What the server counted of syncs during so many commits.
fn of_server(grown: &Grown, commits: u64) -> (Option<f64>, Option<String>) {
    let Some(syncs) = grown.get("syncs") else {
        return (None, None);
    };
    let source = &grown.source;
    let counted = format!("{syncs} syncs during {commits} commits ({source})");
    if syncs == 0 {
        let text = format!(
            "the server counted {counted}: fsync is off, or wal_sync_method syncs as it writes"
        );
        return (None, Some(text));
    }
    let per_commit = syncs as f64 / commits.max(1) as f64;
    let sync_us = grown.get("sync_us").unwrap_or(0);
    if !grown.timed {
        let text = format!("the server counted {counted}; this role may not have them timed");
        (None, Some(text))
    } else if !SYNCS_PER_COMMIT.contains(&per_commit) {
        let text = format!("the server counted {counted}: including those of other sessions");
        (None, Some(text))
    } else {
        let each_us = sync_us as f64 / syncs as f64;
        let text = format!(
            "a sync takes {} ms by the server's own clock: {counted}",
            ms(each_us)
        );
        (Some(each_us), Some(text))
    }
}

struct Judging<'a, 'b> {
    what: What,
    measured: &'a Measured,
    /// Where that was, and what was measured everywhere.
    endpoint: Option<&'a str>,
    all: &'a Measured,
    round_trip: Option<&'a Measured>,
    durable: Durable,
    facts: &'b Facts,
    sync: &'b Sync,
}

impl<'a> Judging<'a, '_> {
    fn line(&self, (expected, yardstick): (Range, Yardstick)) -> Line<'a> {
        let mean_us = self.measured.mean_us();
        let scan = self.scan();
        // As fast as a scan may be while the table is small, it is no access by primary key.
        let verdict = match scan {
            Some(_) => LineVerdict::Missed,
            None => of_mean(mean_us, expected),
        };
        let parts = self.parts();
        let without_round_trip = self
            .round_trip
            .filter(|_| self.what != What::RoundTrip)
            .map(|round_trip| {
                let rest_us = (self.measured.median_us() - round_trip.median_us()).max(0.0);
                (rest_us, rest_us <= expected.high_us)
            });
        let endpoints = self.all.endpoints.iter();
        Line {
            what: self.what,
            measured: self.measured,
            endpoint: self.endpoint,
            endpoints: endpoints
                .map(|(name, at)| (name.as_str(), at, of_mean(at.mean_us(), expected)))
                .collect(),
            expected,
            yardstick,
            verdict,
            without_round_trip,
            cause: match (scan, verdict) {
                (Some(scan), _) => Some(scan),
                (None, LineVerdict::Missed) => self.cause(&parts, expected),
                (None, LineVerdict::Met | LineVerdict::Better) => None,
            },
            parts,
            doubts: self.doubts(verdict, yardstick),
        }
    }

    /// Where rows are found by reading the table instead of by its primary key.
    fn scan(&self) -> Option<Cause> {
        if !matches!(self.what, What::Read | What::Update) {
            return None;
        }
        let grown = self.measured.server_side.known()?;
        let (scans, rows) = (grown.get("scans")?, grown.get("rows_scanned")?);
        let each = rows as f64 / scans.max(1) as f64;
        let per_transaction = scans as f64 / self.measured.transactions.max(1) as f64;
        (per_transaction >= SCANS_PER_TRANSACTION && each >= SCANNED_ROWS_MIN).then(|| Cause {
            part: Part::Server,
            sentence: format!(
                "rows are not found by the primary key but by sequential scans of {each:.0} rows \
                 each, which take longer the larger the table is"
            ),
            evidence: vec![
                format!(
                    "{scans} sequential scans during {} transactions (pg_stat_user_tables)",
                    self.measured.transactions
                ),
                "check that usertable has its primary key, and the planner's settings \
                 (enable_indexscan …)"
                    .to_owned(),
            ],
        })
    }

    fn parts(&self) -> Vec<(Part, f64)> {
        let Some(round_trip) = self.round_trip else {
            return Vec::new();
        };
        let median_us = self.measured.median_us();
        let way_us = round_trip.median_us().min(median_us);
        let client_us = round_trip.client_us.min(way_us);
        let rest_us = median_us - way_us;
        let mut parts = vec![
            (Part::Client, client_us),
            (Part::Network, way_us - client_us),
        ];
        let durable = match (self.what, self.durable) {
            (What::Commit | What::Update, Durable::Sync(us)) => Some((Part::Sync, us.min(rest_us))),
            (What::Commit | What::Update, Durable::Commit(us)) => {
                Some((Part::Commit, us.min(rest_us)))
            }
            _ => None,
        };
        parts.extend(durable);
        if self.what != What::RoundTrip {
            let durable_us = durable.map_or(0.0, |(_, us)| us);
            parts.push((Part::Server, rest_us - durable_us));
        }
        parts.push((Part::Tail, self.measured.mean_us() - median_us));
        parts
    }

    fn cause(&self, parts: &[(Part, f64)], expected: Range) -> Option<Cause> {
        let median_us = self.measured.median_us();
        let find = |part: Part| parts.iter().find(|(other, _)| *other == part);
        let steady = parts.iter().filter(|(part, _)| *part != Part::Tail);
        let (part, us) = *if self.measured.is_client_bound() {
            // Whatever else there is waits for it.
            find(Part::Client)?
        } else if median_us <= expected.high_us {
            find(Part::Tail)?
        } else {
            steady.max_by(|a, b| a.1.total_cmp(&b.1))?
        };
        let rest_us = median_us - us;
        let within = if rest_us <= expected.high_us {
            "within expectation"
        } else {
            "which is still too much"
        };
        let (us, median, rest) = (ms(us), ms(median_us), ms(rest_us));
        let of_median = format!("{us} of {median} ms (median)");
        let without = format!("without it {rest} ms, {within}");
        let sentence = match part {
            Part::Network if self.what == What::RoundTrip => {
                format!("{of_median} are the network round trip")
            }
            Part::Network => format!("{of_median} are the network round trip; {without}"),
            Part::Client if self.measured.is_client_bound() => {
                "pgdyno itself is short of CPU on this host".to_owned()
            }
            Part::Client => format!("{of_median} are pgdyno's own CPU time"),
            Part::Sync => format!("{of_median} are waiting until it is durable; {without}"),
            Part::Commit => {
                format!("{of_median} are the commit of one changed row; {without}")
            }
            Part::Server => {
                format!("{of_median} are the server's own work, after subtracting the other parts")
            }
            Part::Tail => format!(
                "the median of {median} ms is as expected; the slowest raise the mean by {us} ms"
            ),
        };
        Some(Cause {
            part,
            sentence,
            evidence: self.evidence(part),
        })
    }

    fn evidence(&self, part: Part) -> Vec<String> {
        let mut evidence = Vec::new();
        let round_trip = self.round_trip.filter(|_| self.what != What::RoundTrip);
        match part {
            Part::Network => {
                if let Some(way) = round_trip {
                    evidence.push(format!(
                        "an empty query takes {} ms (median), of which pgdyno uses {}",
                        ms(way.median_us()),
                        ms(way.client_us.min(way.median_us()))
                    ));
                }
                if self.facts.same_host == Fact::Known(true) {
                    evidence.push(
                        "client and server share a host: a proxy between them delays, or the \
                         host's CPUs are busy"
                            .to_owned(),
                    );
                }
            }
            Part::Client => evidence.push(format!(
                "its busiest thread used or waited for a CPU for {} of the time",
                pgdyno_spec::text::roughly(self.measured.client_share)
            )),
            Part::Tail => {
                evidence.push(format!(
                    "the longest took {} ms; pgdyno itself waited {} ms a transaction for a CPU",
                    pgdyno_spec::text::ms(self.measured.latencies.max_us()),
                    ms(self.measured.client_waited_us)
                ));
            }
            Part::Sync | Part::Commit => evidence.extend(self.sync.sentences.iter().cloned()),
            Part::Server => evidence.extend(self.blocks()),
        }
        evidence
    }

    /// Whether rows were in the server's cache.
    fn blocks(&self) -> Option<String> {
        let grown = self.measured.server_side.known()?;
        let (read, hit) = (grown.get("blocks_read")?, grown.get("blocks_hit")?);
        let each = read as f64 / self.measured.transactions.max(1) as f64;
        Some(if each >= 0.01 {
            format!(
                "{each:.2} blocks per transaction were not in shared_buffers, {read} of {}: they \
             came from the disk or the page cache",
                read + hit
            )
        } else {
            "its rows were in shared_buffers: what is left is CPU time, or waiting for a CPU"
                .to_owned()
        })
    }

    fn doubts(&self, verdict: LineVerdict, yardstick: Yardstick) -> Vec<String> {
        let notes = &self.measured.notes;
        let with = |codes: &[&str]| -> Vec<String> {
            let notes = notes
                .iter()
                .filter(|note| codes.contains(&note.code.as_ref()));
            notes.map(|note| note.sentence.clone()).collect()
        };
        let mut doubts = match self.what {
            What::Commit | What::Update => with(&DOUBTS),
            What::RoundTrip | What::Read => Vec::new(),
        };
        let sync_us = self.sync.difference_us.unwrap_or(f64::INFINITY);
        if self.what == What::Commit && doubts.is_empty() && sync_us < CACHE_US {
            doubts.push(format!(
                "waiting for the disk takes {} ms: only a cache is this fast. Check that it survives a power \
                 failure",
                ms(sync_us)
            ));
        }
        if verdict == LineVerdict::Better && doubts.is_empty() {
            match yardstick {
                Yardstick::Host => doubts.push(
                    "it takes less than a third of a sync of this host's disk: it did not wait for the disk, \
                     or a cache answered"
                        .to_owned(),
                ),
                Yardstick::Asked | Yardstick::Article => doubts.extend(with(&["same-host"])),
            }
        }
        doubts
    }
}

pub fn ms(us: f64) -> String {
    pgdyno_spec::text::ms(us.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_measurement::Latencies;
    use pgdyno_model::document::calibration::HostSpeed;
    use pgdyno_model::{Note, Severity};

    fn measured(us: u64) -> Measured {
        let mut latencies = Latencies::default();
        (0..1000).for_each(|_| latencies.record(us));
        Measured {
            trial: 1,
            latencies,
            client_us: 20.0,
            client_waited_us: 0.0,
            client_share: 0.3,
            transactions: 1000,
            server_side: Fact::Unknown("not requested".to_owned()),
            notes: Vec::new(),
            endpoints: Vec::new(),
        }
    }

    #[test]
    fn the_slowest_of_several_endpoints_is_judged_and_named_beside_its_own_round_trip() {
        let mut c = calibration([300, 3300, 0, 1500, 3500]);
        let by_endpoint = |times: [(&str, u64); 2]| {
            let of = |(name, us): (&str, u64)| (name.to_owned(), measured(us));
            times.map(of).into()
        };
        let ways = by_endpoint([("near", 300), ("far", 9000)]);
        c.round_trip.as_mut().unwrap().endpoints = ways;
        let commits = by_endpoint([("near", 3300), ("far", 12_000)]);
        c.commit.as_mut().unwrap().endpoints = commits;
        let judged = Judged::of(&c);
        let [way, commit, read, update] = judged.lines.as_slice() else {
            panic!("four lines");
        };
        use LineVerdict::{Met, Missed};
        assert_eq!((way.endpoint, way.verdict), (Some("far"), Missed));
        let verdicts = commit.endpoints.iter();
        let verdicts: Vec<_> = verdicts
            .map(|(name, _, verdict)| (*name, *verdict))
            .collect();
        assert_eq!(verdicts, [("near", Met), ("far", Missed)]);
        let cause = commit.cause.as_ref().unwrap();
        assert_eq!((commit.endpoint, cause.part), (Some("far"), Part::Network));
        assert!(commit.without_round_trip.is_some_and(|(us, _)| us < 3100.0));
        // A single client reads at the first, and so do its updates.
        assert_eq!((read.endpoint, read.verdict), (None, Met));
        assert!(read.without_round_trip.is_some_and(|(us, _)| us > 1100.0));
        let of_update = parts(update);
        let commit = of_update
            .iter()
            .find(|(part, _)| *part == "commit")
            .unwrap();
        assert!((2900..=3100).contains(&commit.1), "{of_update:?}");
    }

    #[test]
    fn the_time_of_a_sync_is_what_the_nodes_logs_took() {
        let mut c = calibration([300, 3300, 0, 1500, 3500]);
        let of = |c: &Calibration| Judged::of(c).sync;
        assert!(of(&c).sentences[1].contains("own time of a sync is not known: not requested"));
        c.sync_series = Some("crdb.raft.log.mean".to_owned());
        let text = of(&c).sentences.pop().unwrap();
        assert!(
            text.ends_with("; the trial has no readings of crdb.raft.log.mean"),
            "{text}"
        );
        c.log_syncs = vec![("node 1".to_owned(), 400.0), ("node 3".to_owned(), 2600.0)];
        let sync = of(&c);
        assert_eq!(sync.server_us, Some(2600.0));
        assert_eq!(
            sync.sentences[1],
            "making the log durable takes 2.600 ms on node 3 by its own clock (median of the seconds, \
             crdb.raft.log.mean); the shortest of 2 0.400 ms"
        );
    }

    /// Means in microseconds: round trip, commit, one that does not wait, read, update.
    fn calibration([round_trip, commit, no_wait, read, update]: [u64; 5]) -> Calibration {
        Calibration {
            round_trip: Some(measured(round_trip)),
            commit: Some(measured(commit)),
            commit_no_wait: (no_wait > 0).then(|| measured(no_wait)),
            read: Some(measured(read)),
            update: Some(measured(update)),
            ..Calibration::nothing_yet("n", "u")
        }
    }

    fn parts(line: &Line<'_>) -> Vec<(&'static str, u64)> {
        let parts = line.parts.iter();
        parts
            .map(|(part, us)| (part.name(), us.round() as u64))
            .collect()
    }

    #[test]
    fn each_line_is_judged_by_its_mean_against_the_upper_end() {
        let c = calibration([200, 3000, 400, 1500, 1900]);
        let judged = Judged::of(&c);
        let verdicts: Vec<_> = judged.lines.iter().map(|line| line.verdict).collect();
        use LineVerdict::{Better, Met};
        assert_eq!(verdicts, [Met, Met, Met, Better]);
        assert_eq!(judged.is_met(), Some(true));
        assert!(judged.lines.iter().all(|line| line.cause.is_none()));
    }

    #[test]
    fn a_far_server_misses_because_of_the_network_alone() {
        let c = calibration([6100, 6900, 6300, 6300, 6700]);
        let judged = Judged::of(&c);
        assert_eq!(judged.is_met(), Some(false));
        for line in &judged.lines {
            let cause = line.cause.as_ref().unwrap();
            assert_eq!(
                (line.verdict, cause.part),
                (LineVerdict::Missed, Part::Network)
            );
        }
        let update = &judged.lines[3];
        assert_eq!(
            parts(update),
            [
                ("client", 20),
                ("network", 6080),
                ("sync", 600),
                ("server", 0),
                ("tail", 0)
            ]
        );
        assert_eq!(update.without_round_trip, Some((600.0, true)));
        let cause = update.cause.as_ref().unwrap();
        assert_eq!(
            cause.sentence,
            "6.080 of 6.700 ms (median) are the network round trip; without it 0.620 ms, within expectation"
        );
        assert!(cause.evidence[0].starts_with("an empty query takes 6.100 ms (median)"));
    }

    #[test]
    fn a_slow_disk_is_named_with_the_servers_own_time_of_a_sync() {
        let mut c = calibration([100, 9000, 300, 250, 9500]);
        let grown = |timed, syncs, sync_us| {
            Fact::Known(Grown {
                source: "pg_stat_wal".to_owned(),
                timed,
                counted: [("syncs".to_owned(), syncs), ("sync_us".to_owned(), sync_us)].into(),
            })
        };
        c.commit.as_mut().unwrap().server_side = grown(true, 1001, 8_608_600);
        let judged = Judged::of(&c);
        let update = judged.lines[3].cause.as_ref().unwrap();
        assert_eq!(update.part, Part::Sync);
        assert!(update.sentence.contains("8.700 of 9.500 ms"), "{update:?}");
        assert_eq!(judged.sync.server_us, Some(8600.0));
        let words = update.evidence.join("\n");
        for part in [
            "without it the same statement takes 0.300 ms",
            "a sync takes 8.600 ms by the server's own clock: 1001 syncs during 1000 commits",
        ] {
            assert!(words.contains(part), "{words}");
        }
        for (timed, syncs, want) in [
            (true, 0, "fsync is off, or"),
            (true, 4000, "including those of other sessions"),
            (false, 1000, "may not have them timed"),
        ] {
            c.commit.as_mut().unwrap().server_side = grown(timed, syncs, 5);
            let sync = Judged::of(&c).sync;
            assert_eq!(sync.server_us, None);
            assert!(sync.sentences[1].contains(want), "{sync:?}");
        }
    }

    #[test]
    fn where_the_wait_cannot_be_left_out_the_commit_is_one_part() {
        let mut c = calibration([500, 9000, 0, 900, 9900]);
        c.no_wait = Some("CockroachDB has no setting for it".to_owned());
        let judged = Judged::of(&c);
        let update = &judged.lines[3];
        assert_eq!(
            parts(update),
            [
                ("client", 20),
                ("network", 480),
                ("commit", 8500),
                ("server", 900),
                ("tail", 0)
            ]
        );
        let cause = update.cause.as_ref().unwrap();
        assert_eq!(cause.part, Part::Commit);
        assert!(
            cause.evidence[0].contains("CockroachDB has no setting"),
            "{cause:?}"
        );
    }

    #[test]
    fn a_server_short_of_memory_or_cpu_is_recognised_by_its_blocks() {
        let mut c = calibration([100, 900, 300, 5000, 3000]);
        let mut counted = |read, hit| {
            let counted = [
                ("blocks_read".to_owned(), read),
                ("blocks_hit".to_owned(), hit),
            ];
            c.read.as_mut().unwrap().server_side = Fact::Known(Grown {
                source: "pg_stat_database".to_owned(),
                timed: false,
                counted: counted.into(),
            });
            let judged = Judged::of(&c);
            let cause = judged.lines[2].cause.clone().unwrap();
            assert_eq!(cause.part, Part::Server);
            cause.evidence.join("\n")
        };
        assert!(
            counted(2500, 1500).contains("2.50 blocks per transaction were not in shared_buffers")
        );
        assert!(counted(1, 4000).contains("CPU time"));
    }

    #[test]
    fn a_client_without_cpu_is_blamed_itself() {
        let mut c = calibration([1500, 900, 300, 5000, 3000]);
        for line in [&mut c.round_trip, &mut c.read] {
            line.as_mut().unwrap().client_share = 0.97;
        }
        let judged = Judged::of(&c);
        let cause = judged.lines[2].cause.as_ref().unwrap();
        assert_eq!(cause.part, Part::Client);
        assert!(cause.evidence[0].contains("97 % of the time"), "{cause:?}");
    }

    #[test]
    fn stalls_are_separate_from_the_cost_of_every_transaction() {
        let mut c = calibration([200, 900, 300, 1200, 3000]);
        let stalls = |measured: &mut Option<Measured>| {
            let measured = measured.as_mut().unwrap();
            (0..10).for_each(|_| measured.latencies.record(500_000));
        };
        stalls(&mut c.round_trip);
        stalls(&mut c.read);
        let judged = Judged::of(&c);
        let read = &judged.lines[2];
        let cause = read.cause.as_ref().unwrap();
        assert_eq!(
            (read.verdict, cause.part),
            (LineVerdict::Missed, Part::Tail)
        );
        assert!(
            cause
                .sentence
                .starts_with("the median of 1.200 ms is as expected"),
            "{cause:?}"
        );
        assert!(
            cause.evidence[0].starts_with("the longest took 500.000 ms"),
            "{cause:?}"
        );
        // They neither make the way longer nor hide what else is slow.
        assert_eq!(read.without_round_trip, Some((1000.0, true)));
        let sum: f64 = read.parts.iter().map(|(_, us)| us).sum();
        assert!((sum - read.measured.mean_us()).abs() < 1e-6);
        c.update.as_mut().unwrap().latencies = measured(9000).latencies;
        let judged = Judged::of(&c);
        assert_eq!(judged.lines[3].cause.as_ref().unwrap().part, Part::Server);
    }

    #[test]
    fn what_is_too_good_to_be_durable_needs_an_eye() {
        let mut c = calibration([50, 90, 80, 150, 190]);
        let doubts = |c: &Calibration, line: usize| Judged::of(c).lines[line].doubts.join("\n");
        assert!(doubts(&c, 1).contains("only a cache is this fast"));
        assert_eq!(doubts(&c, 3), "");
        let note = |code: &'static str| Note {
            code: code.into(),
            severity: Severity::Warning,
            sentence: format!("it is so: {code}"),
            remedy: String::new(),
        };
        for measured in [&mut c.commit, &mut c.update, &mut c.read] {
            measured.as_mut().unwrap().notes = vec![note("same-host"), note("fsync-off")];
        }
        assert_eq!(doubts(&c, 1), "it is so: fsync-off");
        assert_eq!(doubts(&c, 3), "it is so: fsync-off");
        assert_eq!(doubts(&c, 2), "it is so: same-host");
    }

    #[test]
    fn a_sequential_scan_is_a_miss_however_fast_it_is() {
        let verdict = |scans: u64, rows: u64| {
            let mut c = calibration([20, 2000, 80, 150, 2100]);
            let counted = [
                ("scans".to_owned(), scans),
                ("rows_scanned".to_owned(), rows),
            ];
            c.read.as_mut().unwrap().server_side = Fact::Known(Grown {
                source: "pg_stat_database".to_owned(),
                timed: false,
                counted: counted.into(),
            });
            let judged = Judged::of(&c);
            let cause = judged.lines[2].cause.clone();
            (judged.lines[2].verdict, cause.map(|cause| cause.sentence))
        };
        assert_eq!(verdict(0, 0), (LineVerdict::Better, None));
        let (missed, why) = verdict(1000, 10_000_000);
        assert_eq!(missed, LineVerdict::Missed);
        assert!(why.unwrap().contains("sequential scans of 10000 rows each"));
        // Of a few blocks a scan is right; a few scans are of others.
        assert_eq!(verdict(1000, 20_000).0, LineVerdict::Better);
        assert_eq!(verdict(10, 100_000).0, LineVerdict::Better);
    }

    #[test]
    fn durable_faster_than_the_disk_of_this_host_is_doubtful() {
        let mut c = calibration([20, 900, 80, 150, 900]);
        c.host = Fact::Known(HostSpeed {
            round_trip_us: 15.0,
            way: "a Unix socket".to_owned(),
            sync_us: Fact::Known(3000.0),
            work_us: 500.0,
        });
        let judged = Judged::of(&c);
        let verdicts: Vec<_> = judged.lines.iter().map(|line| line.verdict).collect();
        use LineVerdict::{Better, Met};
        assert_eq!(verdicts, [Met, Better, Met, Better]);
        for line in [1, 3] {
            assert!(judged.lines[line].doubts[0].contains("less than a third of a sync"));
        }
        // A read cannot be faster than the host's own round trip.
        assert!(judged.lines[2].doubts.is_empty());
    }

    #[test]
    fn without_all_of_its_lines_nothing_is_met_or_missed() {
        let mut c = calibration([50, 90, 80, 150, 190]);
        c.round_trip = None;
        let judged = Judged::of(&c);
        assert_eq!(judged.lines.len(), 3);
        assert!(judged.lines.iter().all(|line| line.parts.is_empty()));
        c.update = None;
        assert_eq!(Judged::of(&c).is_met(), None);
    }
}
