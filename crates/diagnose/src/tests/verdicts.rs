//! The first eight were said wrongly on trials whose limit was made on purpose.

use pgdyno_measurement::Activity;
use pgdyno_model::document::{Cause, Part, TimeBudget, Verdict};
use serde_json::json;

use super::made::Made;
use crate::diagnose;

pub fn judged(made: &Made) -> (TimeBudget, Verdict) {
    let (budget, verdict) = diagnose(&made.outcome()).expect("something was measured");
    let all: f64 = budget.parts.iter().map(|part| part.share).sum();
    assert!((all - 1.0).abs() < 1e-9, "{all}: {budget:?}");
    (budget, verdict)
}

pub fn assert_limit(made: &Made, cause: Cause) -> Verdict {
    let (budget, verdict) = judged(made);
    assert_eq!(verdict.causes, [cause], "{verdict:#?}\n{budget:#?}");
    let code = serde_json::to_value(cause).unwrap();
    assert_eq!(code, verdict.limit.as_str());
    assert!(!verdict.remedies.is_empty() && !verdict.evidence.is_empty());
    assert!(
        verdict
            .checks
            .iter()
            .all(|check| check.passed != Some(false))
    );
    verdict
}

pub fn share(budget: &TimeBudget, part: Part) -> f64 {
    let found = budget.parts.iter().find(|of| of.part == part);
    found.map_or(0.0, |part| part.share)
}

#[test]
fn a_cpu_quota_is_not_the_network() {
    let made = Made::of(4, 10)
        .with("pg.waits", "Running", 0.2)
        .scheduled(0.2, 3.5)
        .with("host.server.quota", "", 0.2)
        .with("host.server.periods", "all", 10.0)
        .with("host.server.periods", "throttled", 9.75);
    let verdict = assert_limit(&made, Cause::CpuQuota);
    assert!(
        verdict.sentence.contains("0.20 CPUs"),
        "{}",
        verdict.sentence
    );
}

#[test]
fn a_serial_pooler_is_not_the_network() {
    let made = Made::of(8, 10)
        .with("pg.waits", "Running", 0.6)
        .scheduled(0.6, 0.0)
        .with("pg.sessions.connected", "", 1.0)
        .with("client.ping", "", 900.0);
    let verdict = assert_limit(&made, Cause::Pooler);
    assert!(!verdict.remedies[0].contains("more clients"));
    // Sessions enough, and yet an empty statement waits on its way.
    let proxy = Made::of(8, 10)
        .with("pg.waits", "Running", 0.6)
        .scheduled(0.6, 0.0)
        .with("client.ping", "", 900.0);
    assert_limit(&proxy, Cause::Pooler);
}

#[test]
fn frozen_backends_are_not_the_network() {
    let made = Made::of(8, 9)
        .varying("pg.waits", "Running", &[4.0, 4.0, 8.0])
        .varying("host.server.sessions.cpu", "", &[2.0, 2.0, 0.0])
        .varying("host.server.sessions.waited", "", &[2.0, 2.0, 0.0])
        .varying("host.server.sessions.stopped", "", &[0.0, 0.0, 8.0]);
    assert_limit(&made, Cause::ServerStopped);
}

#[test]
fn a_busy_host_is_not_the_network() {
    let made = Made::of(8, 10)
        .with("pg.waits", "Running", 6.0)
        .scheduled(0.3, 5.7)
        .cpus(2.0, 0.01)
        .with("host.cpu.others", "", 1.5)
        .with("client.ping", "", 9000.0);
    let verdict = assert_limit(&made.asked(5000.0), Cause::OtherProcesses);
    assert!(verdict.remedies[0].contains("other processes"));
}

#[test]
fn one_client_on_an_idle_host_has_neither_a_network_nor_busy_cpus() {
    let mut made = Made::of(1, 10)
        .with("pg.waits", "Running", 0.2)
        .scheduled(0.23, 0.02)
        .cpus(2.0, 1.5);
    made.time.ran_ns = 250_000_000;
    let (budget, verdict) = judged(&made);
    assert_eq!(share(&budget, Part::Wire), 0.0);
    assert_eq!(verdict.limit, "not-known");
    assert!(verdict.causes.is_empty(), "{verdict:#?}");
    assert!(!verdict.sentence.contains("all of them were busy"));
}

#[test]
fn temporary_files_are_no_reads_of_data() {
    let made = Made::of(2, 10)
        .with("pg.waits", "Running", 0.4)
        .with("pg.waits", "IO:BufFileWrite", 0.7)
        .with("pg.waits", "IO:BufFileRead", 0.8)
        .scheduled(0.4, 0.0)
        .with("pg.temp.bytes", "", 60e6)
        .with("pg.blocks.hit", "", 10_000.0)
        .with("pg.blocks.read", "", 0.0)
        .with("host.disk.reads", "", 500.0);
    let verdict = assert_limit(&made, Cause::TemporaryFiles);
    assert!(verdict.sentence.contains("`work_mem`"));
}

#[test]
fn think_time_is_not_the_servers_cpu() {
    let made = Made::of(20, 10)
        .at(Activity::Think, 0.98)
        .with("pg.waits", "Running", 0.15)
        .scheduled(0.19, 0.0);
    assert_limit(&made, Cause::ThinkTime);
}

#[test]
fn clients_that_rest_have_no_part_in_what_limits_the_others() {
    // Half of the clients' time is at rest; of the other half nearly all is think time.
    let made = Made::of(20, 10)
        .at(Activity::Rest, 0.5)
        .at(Activity::Think, 0.49)
        .with("pg.waits", "Running", 0.15)
        .scheduled(0.19, 0.0);
    let verdict = assert_limit(&made, Cause::ThinkTime);
    assert!(
        format!("{:?}", verdict.evidence[0]).contains("98"),
        "{verdict:#?}"
    );
    // The budget has all of it, so that it adds up.
    let (budget, _) = judged(&made);
    let rest = budget.parts.iter().find(|row| row.part == Part::Rest);
    assert!(
        rest.is_some_and(|row| (row.share - 0.5).abs() < 0.01),
        "{budget:#?}"
    );
}

#[test]
fn a_straggler_is_reported() {
    let made = Made::of(4, 20)
        .with("pg.waits", "Running", 4.0)
        .scheduled(4.0, 0.0)
        .drained(10);
    let verdict = assert_limit(&made, Cause::Stragglers);
    assert!(verdict.sentence.contains("10.0 s"), "{}", verdict.sentence);
}

#[test]
fn each_wait_is_named_by_its_cause() {
    let waits = [
        ("Lock:transactionid", Cause::Contention),
        ("LWLock:BufferContent", Cause::LightweightLocks),
        ("IO:WALSync", Cause::DurableCommit),
        ("IO:DataFileFlush", Cause::DataWrites),
        ("LWLock:SubtransSLRU", Cause::Slru),
        ("Lock:extend", Cause::RelationExtension),
        ("IPC:ExecuteGather", Cause::Ipc),
        ("Timeout:PgSleep", Cause::OtherWaits),
    ];
    for (event, cause) in waits {
        let made = Made::of(8, 10)
            .with("pg.waits", event, 6.5)
            .with("pg.waits", "Running", 0.8)
            .scheduled(0.8, 0.1)
            .with("pg.wal.syncs", "", 500.0);
        let verdict = assert_limit(&made, cause);
        assert!(verdict.evidence[0].sentence.contains(event), "{verdict:#?}");
    }
}

#[test]
fn reads_are_the_kernels_or_the_devices_and_need_misses() {
    let made = || {
        Made::of(4, 10)
            .with("pg.waits", "IO:DataFileRead", 3.0)
            .with("pg.waits", "Running", 0.7)
            .scheduled(0.7, 0.0)
            .with("pg.blocks.hit", "", 1000.0)
    };
    let cached = made()
        .with("pg.blocks.read", "", 9000.0)
        .with("host.disk.reads", "", 0.0);
    assert_limit(&cached, Cause::BufferMisses);
    let device = made()
        .with("pg.blocks.read", "", 9000.0)
        .with("host.disk.reads", "", 8000.0);
    assert_limit(&device, Cause::DeviceReads);
    // Nothing was missing.
    let (_, verdict) = judged(&made().with("pg.blocks.read", "", 0.0).with(
        "host.disk.reads",
        "",
        5.0,
    ));
    assert_eq!(verdict.limit, "not-known", "{verdict:#?}");
    assert!(
        verdict.sentence.contains("fails its check"),
        "{}",
        verdict.sentence
    );
}

#[test]
fn a_network_needs_a_delay_that_was_measured() {
    let mut far = Made::of(2, 10)
        .with("pg.waits", "Running", 0.1)
        .scheduled(0.1, 0.0)
        .fact("ping", json!({"least_us": 1900.0, "tcp_min_rtt_us": 1850}))
        .fact("host.role", json!("client"));
    far.time.round_trips = 1000;
    let verdict = assert_limit(&far, Cause::Network);
    assert!(
        verdict
            .evidence
            .iter()
            .all(|of| !of.sentence.contains("proxy"))
    );
    let tunnel = far.fact("ping", json!({"least_us": 1900.0, "tcp_min_rtt_us": 9}));
    let verdict = assert_limit(&tunnel, Cause::Network);
    assert!(
        verdict
            .evidence
            .iter()
            .any(|of| of.sentence.contains("proxy"))
    );
    // The same time outside of sessions, and no delay was measured.
    let near = tunnel
        .fact("ping", json!({"least_us": 40.0, "tcp_min_rtt_us": 9}))
        .fact("host.role", json!("client and server"));
    let (_, verdict) = judged(&near);
    assert_eq!(verdict.limit, "not-known", "{verdict:#?}");
}

#[test]
fn large_answers_that_trickle_are_bandwidth_and_not_round_trips() {
    let mut made = Made::of(2, 10)
        .with("pg.waits", "Running", 0.1)
        .scheduled(0.1, 0.0);
    made.time.round_trips = 5;
    made.time.received_bytes = 5_000_000;
    made.time.receiving_ns = 1_800_000_000;
    assert_limit(&made, Cause::Bandwidth);
    // The server waits for its client to take what it sends.
    made.time.receiving_ns = 200_000_000;
    assert_limit(
        &made.with("pg.waits", "Client:ClientWrite", 1.6),
        Cause::Bandwidth,
    );
}

#[test]
fn the_servers_cpus_are_all_busy_only_when_they_are() {
    let one = Made::of(1, 10)
        .with("pg.waits", "Running", 0.9)
        .scheduled(0.9, 0.0)
        .cpus(4.0, 3.0);
    let verdict = assert_limit(&one, Cause::ServerCpu);
    assert!(
        !verdict.sentence.contains("all of them"),
        "{}",
        verdict.sentence
    );
    let all = Made::of(16, 10)
        .with("pg.waits", "Running", 15.5)
        .scheduled(3.9, 11.5)
        .cpus(4.0, 0.05);
    let verdict = assert_limit(&all, Cause::ServerCpu);
    assert!(
        verdict.sentence.contains("all of them"),
        "{}",
        verdict.sentence
    );
}

#[test]
fn a_starved_generator_wants_fewer_neighbours_and_a_busy_one_more_threads() {
    let mut starved = Made::of(4, 10)
        .with("pg.waits", "Running", 0.3)
        .scheduled(0.3, 0.0);
    (starved.time.followed_ns, starved.time.added_ns) = (4_000_000_000, 3_400_000_000);
    starved.time.added_max_ns = starved.time.added_ns;
    starved.time.waited_ns = 800_000_000;
    let verdict = assert_limit(&starved, Cause::Client);
    assert!(
        verdict.remedies[0].contains("other processes"),
        "{:?}",
        verdict.remedies
    );
    let mut held_back = Made::of(4, 10)
        .with("pg.waits", "Running", 0.3)
        .scheduled(0.3, 0.0)
        .cpus(2.0, 0.1)
        .with("host.cpu.others", "", 1.6)
        .with("host.throttled", "", 0.85);
    held_back.time.ran_ns = 100_000_000;
    assert_limit(&held_back, Cause::Client);
    // To the scheduler a thread that is held back waits for a CPU, which others had, and for which the server waits.
    let mut held_back = Made::of(4, 10)
        .with("pg.waits", "Running", 0.6)
        .scheduled(0.05, 0.55)
        .cpus(2.0, 0.02)
        .with("host.cpu.others", "", 1.8)
        .with("host.throttled", "", 0.8);
    (held_back.time.ran_ns, held_back.time.waited_ns) = (100_000_000, 860_000_000);
    (held_back.time.followed_ns, held_back.time.added_ns) = (4_000_000_000, 3_250_000_000);
    held_back.time.added_max_ns = held_back.time.added_ns;
    let verdict = assert_limit(&held_back, Cause::Client);
    assert!(
        verdict.remedies[0].contains("CPU limit"),
        "{:?}",
        verdict.remedies
    );
    let mut busy = Made::of(1, 10)
        .with("pg.waits", "Running", 0.05)
        .scheduled(0.05, 0.0);
    busy.time.ran_ns = 900_000_000;
    let verdict = assert_limit(&busy, Cause::Client);
    assert!(
        verdict.remedies[0].contains("more threads"),
        "{:?}",
        verdict.remedies
    );
}

#[test]
fn tries_thrown_away_are_contention_whatever_the_server_did_in_them() {
    let made = Made::of(8, 10)
        .conflicts(0.7)
        .with("pg.waits", "Running", 7.5)
        .scheduled(3.0, 4.5);
    let verdict = assert_limit(&made, Cause::Contention);
    let advice = |verdict: &Verdict| verdict.remedies.join("\n");
    assert!(advice(&verdict).contains("lock rows early (`FOR UPDATE`)"));
    // Not where the server has none.
    let mut lacking = made.outcome();
    lacking.facts.lacks = vec!["for-update".to_owned()];
    let (_, verdict) = diagnose(&lacking).unwrap();
    assert!(!advice(&verdict).contains("lock rows early"), "{verdict:?}");
    assert!(
        advice(&verdict).contains("has no `FOR UPDATE`"),
        "{verdict:?}"
    );
}

#[test]
fn what_is_larger_by_chance_only_is_named_with_the_next() {
    let made = Made::of(8, 10)
        .varying("pg.waits", "IO:WALSync", &[6.0, 1.5])
        .varying("pg.waits", "Lock:transactionid", &[1.5, 5.8])
        .with("pg.waits", "Running", 0.5)
        .scheduled(0.5, 0.0)
        .with("pg.wal.syncs", "", 500.0);
    let (_, verdict) = judged(&made);
    assert_eq!(verdict.limit, "not-known");
    assert_eq!(verdict.causes, [Cause::DurableCommit, Cause::Contention]);
    assert!(verdict.sentence.contains("which of them is not known"));
    assert!(!verdict.remedies.is_empty());
}

#[test]
fn a_short_trial_says_that_it_is_one() {
    let made = Made::of(8, 3)
        .with("pg.waits", "Lock:transactionid", 7.5)
        .with("pg.waits", "Running", 0.3)
        .scheduled(0.3, 0.0);
    let (_, verdict) = judged(&made);
    assert_eq!(verdict.limit, "not-known");
    assert!(
        verdict.remedies[0].contains("5 s"),
        "{:?}",
        verdict.remedies
    );
}

#[test]
fn a_rate_that_is_met_is_no_limit() {
    let made = Made::of(4, 10).at(Activity::Schedule, 0.9).asked(1000.0);
    assert_limit(&made, Cause::RateMet);
}

#[test]
fn connecting_has_its_own_part() {
    let made = Made::of(4, 10)
        .at(Activity::Connect, 0.8)
        .with("pg.waits", "Running", 0.3)
        .scheduled(0.3, 0.0);
    assert_limit(&made, Cause::Connections);
}

#[test]
fn checkpoints_are_a_phase_of_their_own() {
    let made = Made::of(8, 20)
        .with("pg.waits", "Lock:transactionid", 7.5)
        .with("pg.waits", "Running", 0.3)
        .scheduled(0.3, 0.0)
        .checkpoint(8, 4);
    let (budget, _) = judged(&made);
    let names: Vec<&str> = budget
        .phases
        .iter()
        .map(|phase| phase.name.as_str())
        .collect();
    assert_eq!(names, ["before", "checkpoint", "after"]);
    for phase in &budget.phases {
        let all: f64 = phase.shares.iter().sum();
        assert!((all - 1.0).abs() < 1e-9, "{phase:?}");
    }
    assert_eq!(
        budget
            .parts
            .iter()
            .filter(|part| part.interval.is_some())
            .count(),
        2
    );
}

#[test]
fn leaders_on_few_nodes_are_found_by_what_the_nodes_did_and_not_by_their_cpu_time() {
    // Clients are connected to the first node, which uses most CPU time for SQL: rates of a counter
    // that nodes refresh every ten seconds named it (7.3 cores).
    let made = Made::of_three_nodes(8, 10)
        .with("crdb.kv.batches", "node 1", 400.0)
        .with("crdb.kv.batches", "node 2", 9000.0)
        .with("crdb.kv.batches", "node 3", 300.0)
        .with("crdb.cpu.user", "node 1", 7.3)
        .with("crdb.cpu.user", "node 2", 0.4)
        .with("crdb.cpu.user", "node 3", 0.1);
    let (_, verdict) = diagnose(&made.outcome()).unwrap();
    let reported = format!("{verdict:?}");
    assert!(reported.contains("node 2 did"), "{reported}");
    assert!(!reported.contains("node 1 did"), "{reported}");
}
