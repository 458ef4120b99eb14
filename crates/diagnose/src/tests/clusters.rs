//! Clusters: each limit with its figures, and beside it the case that looks like it and is none.

use pgdyno_model::document::{Cause, Part, RuleState, TimeBudget, Verdict};

use super::made::Made;
use super::verdicts::{assert_limit, judged, share};

/// Four clients that are all but always at the nodes: three of them in requests, a half in the SQL layer.
fn made() -> Made {
    Made::of_three_nodes(4, 10)
}

fn row<'a>(verdict: &'a Verdict, code: &str) -> (&'a str, RuleState) {
    let row = verdict.rules.iter().find(|row| row.code == code);
    let row = row.unwrap_or_else(|| panic!("{code}: {verdict:#?}"));
    (row.figure.as_str(), row.state)
}

fn figure<'a>(verdict: &'a Verdict, code: &str) -> &'a str {
    row(verdict, code).0
}

/// Not a limit, and this is said of it.
fn assert_ruled_out(of: &(TimeBudget, Verdict), code: &str, figure: &str) {
    let (said, state) = row(&of.1, code);
    assert_eq!(state, RuleState::RuledOut, "{code}: {said}");
    assert!(said.contains(figure), "{code}: {said}");
}

#[test]
fn time_is_divided_by_what_nodes_tell_and_the_rest_is_not_attributed() {
    let (budget, verdict) = judged(&made());
    let at = |part| (share(&budget, part) * 1000.0).round() / 1000.0;
    // Of four clients: 3 in requests, 600 commits of 1,500 µs in them; 120 passed on for 1 ms.
    assert_eq!(at(Part::Wal), 0.075);
    assert_eq!(at(Part::Replication), 0.15);
    assert_eq!(at(Part::KeyValue), 0.525);
    assert_eq!(at(Part::PassedOn), 0.03);
    assert_eq!(at(Part::Sql), 0.12);
    assert!(share(&budget, Part::NotAttributed) > 0.05);
    assert_eq!(budget.unseen, None);
    // Half of the CPUs are idle: what requests take is not known to be anything.
    assert_eq!(verdict.limit, "not-known", "{verdict:#?}");
    // No rule that nodes have figures for is without an answer.
    let unknown: Vec<&str> = verdict
        .rules
        .iter()
        .filter(|row| row.state == RuleState::NotKnown)
        .map(|row| row.code.as_str())
        .collect();
    assert_eq!(
        unknown,
        [
            // These are seen on the server's host only.
            "other-processes",
            "server-stopped",
            "cpu-quota",
            "contention",
            "restarts",
            "write-stalls"
        ]
    );
}

#[test]
fn unread_nodes_are_reported_not_guessed() {
    let blind = made().without("crdb.kv.time").without("crdb.kv.batches");
    let (budget, verdict) = judged(&blind);
    assert!(share(&budget, Part::NotAttributed) > 0.9);
    assert!(budget.unseen.is_some());
    for code in [
        "leaders",
        "hot-range",
        "slow-node",
        "replication",
        "passed-on",
    ] {
        let (why, state) = row(&verdict, code);
        assert_eq!(state, RuleState::NotKnown, "{code}: {why}");
        assert!(why.contains("were not read"), "{code}: {why}");
    }
}

#[test]
fn one_server_has_no_causes_of_clusters() {
    let (_, verdict) = judged(&Made::of(4, 10).with("pg.waits", "Running", 3.0));
    for code in [
        "leaders",
        "hot-range",
        "slow-node",
        "replication",
        "passed-on",
        "restarts",
    ] {
        assert_eq!(row(&verdict, code), ("one node", RuleState::NotApplicable));
    }
}

#[test]
fn busy_cpus_of_nodes_limit_and_half_idle_ones_do_not() {
    let busy = made().on_all("crdb.cpu.share", 0.93);
    let verdict = assert_limit(&busy, Cause::ServerCpu);
    assert!(
        verdict.sentence.contains("The CPUs of node"),
        "{}",
        verdict.sentence
    );
    let of = judged(&made());
    assert_ruled_out(&of, "server-cpu", "used 50 % of its CPUs");
    // Nodes on this host share its CPUs: none of them has them all, and all are busy.
    let shared = made().on_all("crdb.cpu.share", 0.3).cpus(2.0, 0.02);
    let verdict = assert_limit(&shared, Cause::ServerCpu);
    assert!(
        verdict.sentence.contains("the nodes’ host"),
        "{}",
        verdict.sentence
    );
    // What each node used was not read: no figure of it is among the evidence.
    let unread = shared.without("crdb.cpu.user").without("crdb.cpu.system");
    let unread = assert_limit(&unread, Cause::ServerCpu);
    let evidence = format!("{:?} {:?}", verdict.evidence, unread.evidence);
    assert!(
        evidence.contains("\"7.50\", sentence: \"CPUs used by all nodes"),
        "{evidence}"
    );
    assert!(!evidence.contains("not read"), "{evidence}");
    // Others have them.
    let others = made()
        .on_all("crdb.cpu.share", 0.1)
        .cpus(2.0, 0.02)
        .with("host.server.cpu", "", 0.4)
        .with("host.cpu.others", "", 1.5);
    assert_limit(&others, Cause::OtherProcesses);
    // Cores alone do not tell how many there are.
    let (_, verdict) = judged(&made().without("crdb.cpu.share"));
    assert_eq!(row(&verdict, "server-cpu").1, RuleState::NotKnown);
    assert!(figure(&verdict, "server-cpu").contains("7.50 CPUs used by all nodes"));
}

#[test]
fn a_slow_log_limits_where_commits_wait_for_it() {
    let slow = || made().on_all("crdb.raft.log.time", 200.0 * 0.004);
    let verdict = assert_limit(&slow(), Cause::DurableCommit);
    assert!(
        verdict.evidence[1].figure.contains("4.00 ms"),
        "{verdict:#?}"
    );
    // The same log, and hardly anything is written.
    let of = judged(&slow().on_all("crdb.raft.applied", 6.0));
    assert_ruled_out(&of, "durable-commit", "< 1 %");
    // One node's disk.
    let one = slow().on_all("crdb.raft.log.time", 200.0 * 0.0025).with(
        "crdb.raft.log.time",
        "node 2",
        200.0 * 0.009,
    );
    let verdict = assert_limit(&one, Cause::DurableCommit);
    assert!(
        verdict.remedies[0].contains("disk of node 2"),
        "{verdict:#?}"
    );
}

#[test]
fn nodes_far_from_each_other_limit_commits_and_near_ones_do_not() {
    let far = || {
        made()
            .on_all("crdb.round_trip.time", 0.0045)
            .on_all("crdb.rpc.local", 200.0)
    };
    let verdict = assert_limit(&far(), Cause::Replication);
    assert!(
        verdict.evidence.iter().any(|of| of.figure == "4.50 ms"),
        "{verdict:#?}"
    );
    // Rows without copies do not wait.
    let of = judged(&far().on_all("crdb.replicas", 30.0));
    assert_ruled_out(&of, "replication", "0 %");
    // A heartbeat that waits for a CPU is no way: the shortest one counts.
    let jitter = made().on_all("crdb.rpc.local", 200.0);
    let jitter = ["node 1", "node 2", "node 3"]
        .into_iter()
        .fold(jitter, |made, node| {
            made.varying("crdb.round_trip.time", node, &[0.03, 0.0002, 0.02])
        });
    assert_ruled_out(&judged(&jitter), "replication", "200 µs");
}

#[test]
fn requests_passed_on_limit_when_the_way_is_long() {
    let passing = || {
        made()
            .on_all("crdb.rpc.local", 10.0)
            .on_all("crdb.raft.applied", 6.0)
            .on_all("crdb.kv.time", 0.2)
    };
    let verdict = assert_limit(
        &passing().on_all("crdb.round_trip.time", 0.005),
        Cause::PassedOn,
    );
    assert!(verdict.evidence[1].figure.contains("95 %"), "{verdict:#?}");
    let near = passing().on_all("crdb.round_trip.time", 0.00005);
    assert_ruled_out(
        &judged(&near),
        "passed-on",
        "95 % of the requests went to another node",
    );
    let (_, verdict) = judged(&passing().without("crdb.rpc.sent"));
    assert_eq!(row(&verdict, "passed-on").1, RuleState::NotKnown);
}

/// Node 2 does three quarters of the requests.
fn uneven() -> Made {
    made()
        .with("crdb.kv.batches", "node 2", 1200.0)
        .with("crdb.kv.time", "node 2", 3.0)
        .on_all("crdb.sql.time", 1.2)
}

#[test]
fn the_node_that_leads_and_does_most_is_named_when_its_cpus_are_busy() {
    let busy = || {
        uneven()
            .with("crdb.cpu.share", "node 2", 0.96)
            .with("crdb.leaseholders", "node 2", 200.0)
    };
    let verdict = assert_limit(&busy(), Cause::Leaders);
    assert!(verdict.sentence.contains("node 2"), "{}", verdict.sentence);
    assert!(verdict.evidence[0].figure.contains("75 %"), "{verdict:#?}");
    // Its leaders are as many as others': a few of them are hot.
    let hot = busy().with("crdb.leaseholders", "node 2", 31.0);
    let verdict = assert_limit(&hot, Cause::HotRange);
    assert!(verdict.sentence.contains("node 2"), "{}", verdict.sentence);
    // It does most, and is idle: that limits nothing.
    let idle = busy().with("crdb.cpu.share", "node 2", 0.3);
    let of = judged(&idle);
    assert_ne!(of.1.causes, [Cause::Leaders]);
    assert_ruled_out(&of, "leaders", "node 2 did 75 % of the work");
    // All are busy, and no node has more than its part.
    let all = made()
        .on_all("crdb.cpu.share", 0.95)
        .with("crdb.leaseholders", "node 2", 200.0);
    assert_limit(&all, Cause::ServerCpu);
}

#[test]
fn a_node_that_takes_longer_for_the_same_is_slow_and_one_that_does_more_is_not() {
    let slow = made()
        .on_all("crdb.kv.time", 0.1)
        .on_all("crdb.raft.applied", 6.0)
        .with("crdb.kv.time", "node 3", 2.8)
        .with("crdb.cpu.share", "node 3", 0.98);
    let verdict = assert_limit(&slow, Cause::SlowNode);
    assert!(verdict.sentence.contains("node 3"), "{}", verdict.sentence);
    assert!(verdict.evidence[0].figure.contains("28"), "{verdict:#?}");
    assert!(verdict.evidence[1].figure.contains("98 %"), "{verdict:#?}");
    // Ten times as many requests that take as long each.
    let more = made()
        .with("crdb.kv.time", "node 3", 3.0)
        .with("crdb.kv.batches", "node 3", 600.0);
    assert_ruled_out(
        &judged(&more),
        "slow-node",
        "no node took three times as long",
    );
    // A node without clients takes long for its own work.
    let idle = made()
        .with("crdb.kv.batches", "node 3", 3.0)
        .with("crdb.kv.time", "node 3", 0.15);
    assert_ruled_out(
        &judged(&idle),
        "slow-node",
        "no node took three times as long",
    );
    // The others do next to nothing: theirs are heartbeats, and not to be compared with.
    let alone = slow
        .with("crdb.kv.batches", "node 1", 5.0)
        .with("crdb.kv.batches", "node 2", 5.0)
        .with("crdb.kv.time", "node 1", 0.001)
        .with("crdb.kv.time", "node 2", 0.001);
    assert_ruled_out(
        &judged(&alone),
        "slow-node",
        "no node took three times as long",
    );
}

/// Measured on three nodes of 19.1 on a host that others kept busy: nine clients read rows of a table of one
/// range through all three nodes. By node: requests and statements, seconds of each a second, batches sent and
/// done by itself, leaseholders, share of the CPUs.
fn measured(by_node: [[f64; 8]; 3]) -> Made {
    const NAMES: [&str; 8] = [
        "crdb.kv.batches",
        "crdb.kv.time",
        "crdb.sql.queries",
        "crdb.sql.time",
        "crdb.rpc.sent",
        "crdb.rpc.local",
        "crdb.leaseholders",
        "crdb.cpu.share",
    ];
    let nodes = ["node 1", "node 2", "node 3"].into_iter().zip(by_node);
    let made = Made::of_three_nodes(9, 20).on_all("crdb.raft.applied", 2.8);
    nodes.fold(made, |made, (node, figures)| {
        let figures = NAMES.into_iter().zip(figures);
        figures.fold(made, |made, (name, value)| made.with(name, node, value))
    })
}

#[test]
fn a_real_node_that_was_stopped_for_most_of_each_second_is_found() {
    let hung = judged(&measured([
        [1293.2, 0.332, 755.9, 0.686, 759.8, 756.9, 4.0, 0.163],
        [0.72, 0.006, 95.9, 1.806, 96.9, 0.33, 8.0, 0.045],
        [3.78, 0.021, 443.8, 1.782, 445.0, 1.01, 12.0, 0.083],
    ]));
    assert_ruled_out(
        &hung,
        "slow-node",
        "a statement took 9.15 times as long on node 2",
    );
    // The range is on node 1, which has few leaders and CPU enough.
    assert_ruled_out(
        &hung,
        "hot-range",
        "node 1 did > 99 % of the work and has 17 % of the leaders",
    );
    assert_ruled_out(
        &hung,
        "passed-on",
        "42 % of the requests went to another node",
    );
    // The same without a fault: requests that are passed on take longer, and no node is slow.
    let even = judged(&measured([
        [589.9, 0.606, 249.8, 0.816, 252.6, 250.8, 4.4, 0.145],
        [0.63, 0.018, 173.2, 2.056, 176.3, 0.37, 8.0, 0.059],
        [6.35, 0.034, 166.3, 1.991, 170.2, 3.17, 12.9, 0.068],
    ]));
    assert_ruled_out(&even, "slow-node", "no node took three times as long");
}

#[test]
fn hidden_restarts_are_reported_by_reason() {
    let restarting = || {
        made()
            .with("crdb.restarts", "node 1 writetooold", 9000.0)
            .with("crdb.restarts", "node 2 readwithinuncertainty", 1000.0)
    };
    let verdict = assert_limit(&restarting().without("crdb.rpc.sent"), Cause::Restarts);
    assert!(
        verdict.evidence[0].sentence.contains("writetooold 9,000"),
        "{verdict:#?}"
    );
    // Clients learned of each: it is their tries that were lost.
    let mut few = made().with("crdb.restarts", "node 1 writetooold", 100.0);
    few = few.conflicts(0.5);
    assert_ruled_out(&judged(&few), "restarts", "0");
    assert_limit(&few, Cause::Contention);
}

#[test]
fn admission_control_and_stalls_of_writes_are_found_where_nodes_tell_them() {
    let queued = made()
        .on_all("crdb.admission.waited", 0.85)
        .on_all("crdb.raft.applied", 0.0);
    let verdict = assert_limit(&queued, Cause::Admission);
    assert!(verdict.sentence.contains("admission") || verdict.sentence.contains("Admission"));
    let of = judged(&made().on_all("crdb.admission.waited", 0.0));
    assert_ruled_out(&of, "admission", "0 %");
    assert_eq!(
        row(&judged(&made()).1, "admission").1,
        RuleState::NotApplicable
    );

    let stalled = made()
        .on_all("crdb.lsm.write_stalled", 0.0)
        .with("crdb.lsm.write_stalled", "node 2", 0.9)
        .with("crdb.lsm.l0_sublevels", "node 2", 35.0);
    let verdict = assert_limit(&stalled, Cause::WriteStalls);
    assert!(verdict.sentence.contains("node 2"), "{}", verdict.sentence);
    assert!(
        verdict.evidence[0].sentence.contains("35 sublevels"),
        "{verdict:#?}"
    );
    let (_, verdict) = judged(&made());
    assert!(
        figure(&verdict, "write-stalls").contains("5 files"),
        "{}",
        figure(&verdict, "write-stalls")
    );
}

#[test]
fn unavailable_ranges_limit_only_while_commits_fall() {
    let gone = || made().varying("crdb.ranges.unavailable", "node 1", &[4.0]);
    // Commits go on as before: no client uses those ranges.
    let of = judged(&gone());
    assert_ruled_out(&of, "unavailable", "4.00 ranges unavailable");
    let stopped = Made::of_three_nodes(4, 20).stopping(10);
    let readings: Vec<f64> = (0..20).map(|at| if at < 10 { 0.0 } else { 4.0 }).collect();
    let stopped = stopped.varying("crdb.ranges.unavailable", "node 1", &readings);
    let verdict = assert_limit(&stopped, Cause::Unavailable);
    assert_eq!(verdict.evidence[0].figure, "2.00");
    // Commits fall, and all ranges are there.
    let other = Made::of_three_nodes(4, 20).stopping(10);
    assert_ruled_out(&judged(&other), "unavailable", "0.00 ranges unavailable");
}

#[test]
fn clocks_are_reported_with_the_restarts_they_cause() {
    let (_, verdict) = judged(&made().with("crdb.clock.offset", "node 3", -180.0));
    let said = figure(&verdict, "clock-uncertainty");
    assert!(said.contains("180 ms from node 3’s"), "{said}");
}

#[test]
fn yugabytedb_answers_from_its_own_counters() {
    let figures = [
        ("yb.reads", 300.0),
        ("yb.read.time", 0.2),
        ("yb.writes", 100.0),
        ("yb.write.time", 1.0),
        ("yb.sql.time", 1.3),
        ("yb.consensus.time", 1.0),
        ("yb.consensus.updates", 110.0),
        ("yb.leaders", 10.0),
        ("yb.cpu.user", 1.0),
        ("yb.cpu.system", 0.2),
        ("yb.log.syncs", 3.0),
        ("yb.lsm.stalls", 0.0),
        ("yb.cache.hits", 100.0),
        ("yb.cache.misses", 0.0),
        ("yb.clock.skew", 0.3),
    ];
    let made = figures
        .into_iter()
        .fold(Made::of_yugabytedb(4, 10), |made, (name, value)| {
            made.on_all(name, value)
        });
    let of = judged(&made);
    assert_eq!(of.1.causes, [Cause::Replication], "{:#?}", of.1);
    assert_ruled_out(&of, "durable-commit", "do not wait by default");
    assert_ruled_out(&of, "leaders", "33 % of the work");
    assert_ruled_out(&of, "write-stalls", "");
    assert_eq!(row(&of.1, "passed-on").1, RuleState::NotKnown);
    assert_eq!(row(&of.1, "restarts").1, RuleState::NotKnown);
}
