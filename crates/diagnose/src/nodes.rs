//! What the nodes of a cluster tell of the clients' time: as many clients at once, on average, as
//! requests were in their hands.
//!
//! Nodes count all requests, their own included, and the log and the other copies serve several
//! requests at once. So each part is the least that the figures support: as many waits as transactions
//! committed, and no more than there were writes; a round trip between nodes as short as it ever was.
//! What a request took beyond them stays with the requests.

use std::collections::BTreeMap;

use pgdyno_model::Outcome;
use pgdyno_model::document::Part;

use super::ratio::ratio;
use super::split::{Parts, Rest};

/// A node's series of key-value requests, by product: how long they took, and how many there were.
pub const REQUESTS: [(&[&str], &[&str]); 2] = [
    (&["crdb.kv.time"], &["crdb.kv.batches"]),
    (
        &["yb.read.time", "yb.write.time"],
        &["yb.reads", "yb.writes"],
    ),
];
/// The same of SQL statements.
pub const STATEMENTS: [(&[&str], &[&str]); 2] = [
    (&["crdb.sql.time"], &["crdb.sql.queries"]),
    (
        &["yb.sql.time"],
        &[
            "yb.sql.select",
            "yb.sql.insert",
            "yb.sql.update",
            "yb.sql.delete",
        ],
    ),
];

/// What holds for the trial as a whole.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Whole {
    /// The least round trip from node to node, of the nodes' on average, in seconds; `None` where
    /// nodes do not time them, or are alone.
    pub round_trip_s: Option<f64>,
    pub copies: f64,
}

/// Of a stretch of the trial. Every figure is seconds of requests for each second.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Nodes {
    /// SQL statements, without those that begin and end transactions.
    pub sql: f64,
    /// Key-value requests, with all that they wait for on the node that does them.
    pub key_value: f64,
    /// Of those: until they were admitted.
    pub admission: f64,
    pub locks: f64,
    /// Of those: for blocks from files.
    pub reads: f64,
    /// Of those: for the log of their node.
    pub log: f64,
    /// Of those: for messages to other copies and back.
    pub replication: f64,
    /// On the way from the node of the session to the one that does the request.
    pub passed_on: f64,
}

impl Whole {
    /// Of a trial whose measured time is this on the clock of the seconds.
    pub fn of(outcome: &Outcome, (from_us, to_us): (i64, i64)) -> Self {
        let observed = &outcome.observed;
        let sum = |name| -> f64 {
            let courses = observed.all(name);
            let means = courses.filter_map(|course| course.mean(from_us, to_us, 0));
            means.sum()
        };
        let reported = f64::from(
            outcome
                .facts
                .replication_factor
                .known()
                .copied()
                .unwrap_or(1),
        );
        let copies = match ratio(sum("crdb.replicas"), sum("crdb.ranges")) {
            0.0 => reported,
            copies => copies,
        };
        // Each node times its heartbeats every few seconds: of those within a second, the mean.
        let mut trips: BTreeMap<(&str, i64), f64> = BTreeMap::new();
        for course in observed.all("crdb.round_trips") {
            let label = course.of.series.label.as_str();
            trips.extend(
                course
                    .samples
                    .iter()
                    .map(|(at, count)| ((label, *at), *count)),
            );
        }
        let mut least: BTreeMap<&str, f64> = BTreeMap::new();
        for course in observed.all("crdb.round_trip.time") {
            let label = course.of.series.label.as_str();
            for (at_us, time) in &course.samples {
                let count = trips.get(&(label, *at_us)).copied().unwrap_or(0.0);
                if count > 0.0 && *time > 0.0 {
                    let known = least.entry(label).or_insert(f64::MAX);
                    *known = known.min(time / count);
                }
            }
        }
        let nodes = least.len() as f64;
        Self {
            round_trip_s: (nodes > 1.0).then(|| least.values().sum::<f64>() / nodes),
            copies,
        }
    }
}

impl Nodes {
    /// From the means of series over a stretch, all nodes together; `None` where no node was read.
    pub fn of(mean: &dyn Fn(&str) -> Option<f64>, whole: &Whole) -> Option<Self> {
        let sum = |of: &[(&[&str], &[&str]); 2]| -> Option<f64> {
            of.iter().find_map(|(times, _)| {
                let times = times.iter().filter_map(|name| mean(name));
                times.reduce(|a, b| a + b)
            })
        };
        let key_value = sum(&REQUESTS)?;
        let of = |name| mean(name).unwrap_or(0.0);
        let round_trip_s = whole.round_trip_s.unwrap_or(0.0);
        let waits = of("crdb.raft.applied") / whole.copies.max(1.0);
        let waits = waits.min(of("crdb.txn.commits"));
        let log_s = ratio(of("crdb.raft.log.time"), of("crdb.raft.log.commits"));
        // A write of YugabyteDB waits for its followers, and by default for no log.
        let update_s = ratio(of("yb.consensus.time"), of("yb.consensus.updates"));
        let replication = if whole.copies > 1.0 {
            waits * round_trip_s + of("yb.writes") * update_s
        } else {
            0.0
        };
        let passed_on = (of("crdb.rpc.sent") - of("crdb.rpc.local")).max(0.0);
        Some(Self {
            sql: sum(&STATEMENTS).unwrap_or(0.0),
            key_value,
            admission: of("crdb.admission.waited"),
            locks: of("crdb.contention"),
            reads: of("crdb.blocks.reading"),
            log: waits * log_s,
            replication,
            passed_on: passed_on * round_trip_s,
        })
    }

    /// Divides what is left of the clients' time. Requests come first; the SQL layer has what its
    /// statements took beyond them.
    pub fn split(&self, length_s: f64, parts: &mut Parts, rest: &mut Rest) {
        let all_s = rest.take(self.key_value * length_s);
        let mut inside = Rest(all_s);
        let waits = [
            (Part::Admission, self.admission),
            (Part::RowLocks, self.locks),
            (Part::DataReads, self.reads),
            (Part::Wal, self.log),
            (Part::Replication, self.replication),
        ];
        for (part, waited) in waits {
            parts[part as usize] += inside.take(waited * length_s);
        }
        parts[Part::KeyValue as usize] += inside.0;
        let passed_on_s = rest.take(self.passed_on * length_s);
        parts[Part::PassedOn as usize] += passed_on_s;
        parts[Part::Sql as usize] += rest.take(self.sql * length_s - all_s - passed_on_s);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> Whole {
        Whole {
            round_trip_s: Some(0.002),
            copies: 3.0,
        }
    }

    fn of(figures: &[(&str, f64)], whole: &Whole) -> Option<Nodes> {
        let mean = |name: &str| {
            let mut figures = figures.iter();
            figures.find_map(|(known, value)| (*known == name).then_some(*value))
        };
        Nodes::of(&mean, whole)
    }

    fn split(nodes: &Nodes, clients: f64) -> Parts {
        let mut parts = [0.0; Part::ALL.len()];
        let mut rest = Rest(clients * 10.0);
        nodes.split(10.0, &mut parts, &mut rest);
        let given: f64 = parts.iter().sum();
        assert!((given + rest.0 - clients * 10.0).abs() < 1e-9, "{parts:?}");
        assert!(parts.iter().all(|part| *part >= 0.0), "{parts:?}");
        parts
    }

    const BASE: [(&str, f64); 8] = [
        ("crdb.kv.time", 5.0),
        ("crdb.sql.time", 7.0),
        ("crdb.txn.commits", 100.0),
        ("crdb.raft.applied", 900.0),
        ("crdb.raft.log.time", 6.0),
        ("crdb.raft.log.commits", 600.0),
        ("crdb.rpc.sent", 500.0),
        ("crdb.rpc.local", 300.0),
    ];

    #[test]
    fn as_many_waits_are_counted_as_transactions_committed_and_no_more_than_there_were_writes() {
        let nodes = of(&BASE, &three()).unwrap();
        // 300 commands, 100 commits, 10 ms for the log.
        assert!((nodes.log - 1.0).abs() < 1e-9);
        assert!((nodes.replication - 0.2).abs() < 1e-9);
        assert!((nodes.passed_on - 0.4).abs() < 1e-9);
        // Mostly reads: 30 commands.
        let mut reads = BASE;
        reads[3].1 = 90.0;
        assert!((of(&reads, &three()).unwrap().log - 0.3).abs() < 1e-9);
        // A single node sends to no other.
        let alone = Whole {
            round_trip_s: None,
            copies: 1.0,
        };
        let nodes = of(&BASE, &alone).unwrap();
        assert_eq!((nodes.replication, nodes.passed_on), (0.0, 0.0));
        assert_eq!(of(&[("crdb.sql.time", 1.0)], &alone), None);
    }

    #[test]
    fn parts_are_never_more_than_the_clients_had() {
        let nodes = of(&BASE, &three()).unwrap();
        let parts = split(&nodes, 8.0);
        let at = |parts: &Parts, part: Part| (parts[part as usize] * 1e6).round() / 1e6;
        assert_eq!(at(&parts, Part::Wal), 10.0);
        assert_eq!(at(&parts, Part::Replication), 2.0);
        assert_eq!(at(&parts, Part::KeyValue), 38.0);
        assert_eq!(at(&parts, Part::PassedOn), 4.0);
        assert_eq!(at(&parts, Part::Sql), 16.0);
        // Requests of others, or in parallel, are no time of these clients.
        let parts = split(&nodes, 2.0);
        assert_eq!(at(&parts, Part::Wal), 10.0);
        assert_eq!(at(&parts, Part::KeyValue), 8.0);
        assert_eq!(at(&parts, Part::Sql), 0.0);
        // Waits are no more than the requests that they are in.
        let waiting = Nodes {
            locks: 9.0,
            ..nodes
        };
        let parts = split(&waiting, 8.0);
        assert_eq!(at(&parts, Part::RowLocks), 50.0);
        assert_eq!(at(&parts, Part::Wal) + at(&parts, Part::KeyValue), 0.0);
    }

    #[test]
    fn writes_of_yugabytedb_wait_for_followers_and_not_for_the_log() {
        let figures = [
            ("yb.read.time", 1.0),
            ("yb.write.time", 2.0),
            ("yb.writes", 200.0),
            ("yb.consensus.time", 4.0),
            ("yb.consensus.updates", 800.0),
            ("yb.log.time", 5.0),
        ];
        let nodes = of(&figures, &three()).unwrap();
        assert!((nodes.key_value - 3.0).abs() < 1e-9);
        assert!((nodes.replication - 1.0).abs() < 1e-9);
        assert_eq!(nodes.log, 0.0);
    }
}
