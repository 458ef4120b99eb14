//! Trials made of observations.

use pgdyno_measurement::{
    Activity, ClientTime, Latencies, Outcome as Ended, Reason, ScriptInterval, ScriptSecond,
    Second, ThreadUse,
};
use pgdyno_model::document::Node;
use pgdyno_model::observed::{Batch, InstrumentRow, Kind, NewSeries, Sample, Series};
use pgdyno_model::{Fact, Outcome};
use pgdyno_spec::ErrorClass;
use pgdyno_store::{Store, example};
use serde_json::json;

/// A trial of so many clients and seconds, all of it in statements, on the server's host.
pub struct Made {
    clients: f64,
    seconds: u64,
    rate: u64,
    pub time: ClientTime,
    series: Vec<(&'static str, &'static str, Vec<f64>)>,
    facts: Vec<(&'static str, serde_json::Value)>,
    events: Vec<(i64, u64)>,
    reasons: Vec<Reason>,
    lost_us: u64,
    asked: Option<f64>,
    asked_s: Option<u64>,
    idle_seconds: u64,
    nodes: usize,
    sampled_every_us: i64,
}

impl Made {
    pub fn of(clients: u32, seconds: u64) -> Self {
        let clients = f64::from(clients);
        let mut time = ClientTime {
            round_trips: 10_000,
            received_bytes: 1_000_000,
            ran_ns: 50_000_000,
            ..ClientTime::default()
        };
        time.at_ns[Activity::Statement as usize] = (clients * 1e9) as u64;
        let made = Self {
            clients,
            seconds,
            rate: 1000,
            time,
            series: Vec::new(),
            facts: vec![
                ("host.role", json!("client and server")),
                (
                    "ping",
                    json!({"before": 20, "least_us": 40.0, "tcp_min_rtt_us": 8}),
                ),
            ],
            events: Vec::new(),
            reasons: Vec::new(),
            lost_us: 0,
            asked: None,
            asked_s: None,
            idle_seconds: 0,
            nodes: 0,
            sampled_every_us: 1_000_000,
        };
        made.with("pg.sessions.others_active", "", 0.0)
            .with("pg.sessions.connected", "", clients)
            .with("client.ping", "", 60.0)
            .with("host.server.sessions", "", clients)
            .with("host.server.sessions.stopped", "", 0.0)
            .cpus(2.0, 1.0)
    }

    /// A cluster of three nodes elsewhere, which tell of themselves what CockroachDB does: work that is
    /// spread evenly, half of the CPUs used, 5 ms for a request, 1 ms from node to node.
    pub fn of_three_nodes(clients: u32, seconds: u64) -> Self {
        let made = Self::of_three(clients, seconds);
        let each = 200.0;
        let figures = [
            ("crdb.kv.time", each * 0.005),
            ("crdb.kv.batches", each),
            ("crdb.sql.time", each * 0.006),
            ("crdb.sql.queries", each),
            ("crdb.txn.commits", each),
            ("crdb.raft.applied", 3.0 * each),
            ("crdb.raft.log.time", 0.0005 * each),
            ("crdb.raft.log.commits", each),
            ("crdb.round_trip.time", 0.001),
            ("crdb.round_trips", 1.0),
            ("crdb.rpc.sent", each),
            ("crdb.rpc.local", 0.8 * each),
            ("crdb.cpu.share", 0.5),
            ("crdb.cpu.user", 2.0),
            ("crdb.cpu.system", 0.5),
            ("crdb.leaseholders", 30.0),
            ("crdb.replicas", 90.0),
            ("crdb.ranges", 30.0),
            ("crdb.ranges.unavailable", 0.0),
            ("crdb.ranges.underreplicated", 0.0),
            ("crdb.clock.offset", 0.4),
            ("crdb.lsm.read_amplification", 5.0),
            ("crdb.cache.hits", 1000.0),
            ("crdb.cache.misses", 0.0),
        ];
        figures
            .into_iter()
            .fold(made, |made, (name, value)| made.on_all(name, value))
    }

    /// The same without any figure yet, with three copies of each row.
    pub fn of_yugabytedb(clients: u32, seconds: u64) -> Self {
        Self::of_three(clients, seconds)
    }

    fn of_three(clients: u32, seconds: u64) -> Self {
        let mut made = Self::of(clients, seconds);
        made.series.retain(|(name, ..)| *name == "client.ping");
        made.nodes = 3;
        made.time.round_trips = 1000;
        made.fact("host.role", json!("client"))
    }

    /// The same figure of each node.
    pub fn on_all(self, name: &'static str, value: f64) -> Self {
        let nodes = ["node 1", "node 2", "node 3"].into_iter();
        nodes.fold(self, |made, node| made.with(name, node, value))
    }

    pub fn without(mut self, name: &str) -> Self {
        self.series.retain(|(of, ..)| *of != name);
        self
    }

    /// A series that reads the same every second.
    pub fn with(mut self, name: &'static str, label: &'static str, value: f64) -> Self {
        self.series
            .retain(|(of, part, _)| (*of, *part) != (name, label));
        self.series.push((name, label, vec![value]));
        self
    }

    /// One that reads something else in each second, over and over.
    pub fn varying(mut self, name: &'static str, label: &'static str, values: &[f64]) -> Self {
        self.series
            .retain(|(of, part, _)| (*of, *part) != (name, label));
        self.series.push((name, label, values.to_vec()));
        self
    }

    /// What sessions wait for is reported this often, out of step with the seconds.
    pub fn sampled_every_ms(mut self, ms: i64) -> Self {
        self.sampled_every_us = ms * 1000;
        self
    }

    /// A host of so many CPUs, so many of them idle.
    pub fn cpus(self, all: f64, idle: f64) -> Self {
        self.with("host.cpu", "idle", idle)
            .with("host.cpu", "user", all - idle)
            .with("host.cpu.others", "", 0.0)
            .with("host.server.cpu", "", all - idle)
    }

    /// What the scheduler counts of the server's sessions: CPUs used, and waited for.
    pub fn scheduled(self, ran: f64, waited: f64) -> Self {
        self.with("host.server.sessions.cpu", "", ran).with(
            "host.server.sessions.waited",
            "",
            waited,
        )
    }

    pub fn fact(mut self, name: &'static str, value: serde_json::Value) -> Self {
        self.facts.retain(|(of, _)| *of != name);
        self.facts.push((name, value));
        self
    }

    /// So much of the time of each second is at this in place of statements.
    pub fn at(mut self, activity: Activity, share: f64) -> Self {
        let all = self.clients * 1e9;
        let ns = (share * all) as u64;
        self.time.at_ns[activity as usize] += ns;
        self.time.at_ns[Activity::Statement as usize] -= ns;
        self
    }

    /// Tries thrown away for conflicts, as a share of the time in tries.
    pub fn conflicts(mut self, share: f64) -> Self {
        self.lost_us = (share * self.clients * 1e6) as u64;
        self.reasons = vec![Reason {
            class: ErrorClass::Serialization,
            name: "40001".to_owned(),
            sqlstate: "40001".to_owned(),
            retried: 100,
            ended: 0,
            message: String::new(),
        }];
        self
    }

    /// A rate that was asked for.
    pub fn asked(mut self, rate: f64) -> Self {
        self.asked = Some(rate);
        self
    }

    /// The trial was to end so many seconds earlier, and nothing committed in them.
    pub fn drained(mut self, seconds: u64) -> Self {
        self.asked_s = Some(self.seconds - seconds);
        self.idle_seconds = seconds;
        self
    }

    /// Nothing commits in so many seconds at the end.
    pub fn stopping(mut self, seconds: u64) -> Self {
        self.idle_seconds = seconds;
        self
    }

    /// A checkpoint from then on, in seconds.
    pub fn checkpoint(mut self, at_s: i64, length_s: u64) -> Self {
        self.events.push((at_s * 1_000_000, length_s * 1_000_000));
        self
    }

    pub fn outcome(&self) -> Outcome {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("s")).unwrap();
        let writer = store.begin(&example()).unwrap();
        let number = writer.number();
        writer.fail("over").unwrap();
        let mut outcome = store.outcome(number).unwrap();
        let asked_s = self.asked_s.unwrap_or(self.seconds);
        outcome.spec.duration = Some(std::time::Duration::from_secs(asked_s));
        outcome.spec.rate = self.asked.map(Into::into);
        let recording = &mut outcome.recording;
        recording.warmup = None;
        recording.clients.total = self.clients as usize;
        recording.measured.elapsed_us = self.seconds * 1_000_000;
        let mut all = ScriptInterval::default();
        for at in 0..self.seconds {
            let mut script = ScriptInterval::default();
            let is_idle = at >= self.seconds - self.idle_seconds;
            let rate = if is_idle { 0 } else { self.rate };
            let service_us = (self.clients * 1e6) as u64 / self.rate;
            let mut service = Latencies::default();
            for _ in 0..rate {
                script.counts.book(Ended::Committed, 1);
                service.record(service_us);
            }
            script.service = service;
            script.work.kept_us = (self.clients * 1e6) as u64 - self.lost_us;
            script.work.lost_us = self.lost_us;
            script.work.lost_tries = u64::from(self.lost_us > 0) * 100;
            all.merge(&script);
            recording.measured.time.merge(&self.time);
            recording.seconds.push(Second {
                start_us: at * 1_000_000,
                length_us: 1_000_000,
                warmup: false,
                drain: false,
                time: self.time,
                scripts: vec![ScriptSecond {
                    counts: script.counts,
                    service: script.service.pack(),
                    work: script.work,
                    ..ScriptSecond::default()
                }],
            });
        }
        recording.measured.scripts = vec![all];
        recording.reasons = self.reasons.clone();
        recording.threads = vec![ThreadUse {
            wall_us: self.seconds * 1_000_000,
            user_us: self.time.ran_ns / 1000 * self.seconds,
            waited_us: self.time.waited_ns / 1000 * self.seconds,
            ..ThreadUse::default()
        }];
        outcome.observed.add(self.batch());
        let node = |number: usize| Node {
            id: Some(number.to_string()),
            address: format!("db{number}:26257"),
            locality: None,
            version: None,
            is_live: None,
            is_draining: None,
        };
        if self.nodes > 0 {
            outcome.facts.nodes = Fact::Known((1..=self.nodes).map(node).collect());
            outcome.facts.replication_factor = Fact::Known(3);
        }
        outcome
    }

    fn batch(&self) -> Batch {
        let mut batch = Batch {
            instruments: vec![InstrumentRow {
                number: 0,
                name: "pg.events".to_owned(),
                source: String::new(),
            }],
            ..Batch::default()
        };
        for (number, (name, label, values)) in self.series.iter().enumerate() {
            let kind = match *name {
                "pg.waits" | "pg.waits.others" => Kind::Sparse,
                _ => Kind::Gauge,
            };
            let every_us = match *name {
                name if name.starts_with("pg.waits") || name.starts_with("pg.sessions.") => {
                    self.sampled_every_us
                }
                _ => 1_000_000,
            };
            batch.series.push(NewSeries {
                number,
                instrument: 0,
                series: Series::new(name, "").of(*label),
                kind,
            });
            let ends = (1..).map(|at| at * every_us - 1);
            let ends = ends.take_while(|at_us| *at_us < self.seconds as i64 * 1_000_000);
            let samples = ends.zip(values.iter().cycle());
            batch.samples.extend(samples.map(|(at_us, value)| Sample {
                series: number,
                at_us,
                value: *value,
            }));
        }
        for (name, value) in &self.facts {
            batch.facts.push((0, (*name).to_owned(), value.clone()));
        }
        for (at_us, length_us) in &self.events {
            batch.events.push(pgdyno_model::observed::ObservedEvent {
                instrument: 0,
                at_us: *at_us,
                length_us: Some(*length_us),
                kind: "checkpoint".to_owned(),
                text: String::new(),
            });
        }
        batch
    }
}
