//! Words that fit the cause: what commits wait for, whose sessions wait, how many causes are tied.

use std::collections::BTreeMap;

use pgdyno_model::document::{Cause, Part, Replication, Standby, Verdict};
use pgdyno_model::{Fact, Outcome};

use super::made::Made;
use super::verdicts::{assert_limit, judged, share};
use crate::diagnose;

/// Eight clients, all but always at this event.
fn at(event: &'static str) -> Made {
    Made::of(8, 10)
        .with("pg.waits", event, 7.5)
        .with("pg.waits", "Running", 0.3)
        .scheduled(0.3, 0.0)
}

fn set(outcome: &mut Outcome, settings: &[(&str, &str)]) {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let settings: BTreeMap<String, String> = settings.iter().map(own).collect();
    outcome.facts.changed_settings = Fact::Known(settings);
}

fn with_standbys(outcome: &mut Outcome, states: &[&str]) {
    let standby = |state: &&str| Standby {
        name: Some("second".to_owned()),
        sync_state: Some((*state).to_owned()),
        ..Standby::default()
    };
    outcome.facts.replication = Fact::Known(Replication {
        standbys: states.iter().map(standby).collect(),
        primary: None,
    });
}

/// The verdict, which must name this cause and no other words than these.
fn assert_words(outcome: &Outcome, has: &[&str], has_not: &[&str]) -> Verdict {
    let (_, verdict) = diagnose(outcome).unwrap();
    assert_eq!(verdict.causes, [Cause::DurableCommit], "{verdict:#?}");
    let said = format!("{} {}", verdict.sentence, verdict.remedies.join(" "));
    for words in has {
        assert!(said.contains(words), "no {words}: {said}");
    }
    for words in has_not {
        assert!(!said.contains(words), "{words}: {said}");
    }
    verdict
}

#[test]
fn a_standby_that_applies_late_is_no_disk() {
    let made = at("IPC:SyncRep").with("pg.standby.lag", "second", 0.02);
    let disk = ["storage", "file system", "written to disk"];
    let mut outcome = made.outcome();
    with_standbys(&mut outcome, &["sync"]);
    outcome.facts.synchronous_commit = Fact::Known("remote_apply".to_owned());
    let verdict = assert_words(
        &outcome,
        &["to apply the WAL", "recovery_min_apply_delay"],
        &disk,
    );
    let proofs: Vec<&str> = verdict
        .evidence
        .iter()
        .map(|of| of.sentence.as_str())
        .collect();
    assert!(
        proofs
            .iter()
            .any(|proof| proof.contains("second had applied its WAL")),
        "{proofs:?}"
    );
    outcome.facts.synchronous_commit = Fact::Known("on".to_owned());
    assert_words(
        &outcome,
        &["to have the WAL on its disk", "syncs of its disk"],
        &["apply", "file system"],
    );
    outcome.facts.synchronous_commit = Fact::Known("remote_write".to_owned());
    assert_words(
        &outcome,
        &["to receive the WAL", "its round trip"],
        &["apply", "storage"],
    );
    // Syncs of a log that other processes write do not fail the check.
    let mut outcome = made.with("pg.wal.syncs", "", 0.1).outcome();
    with_standbys(&mut outcome, &["quorum", "async"]);
    assert_words(&outcome, &["waited for a standby"], &disk);
}

#[test]
fn a_standby_that_is_missing_is_named_as_that() {
    let mut outcome = at("IPC:SyncRep").with("pg.wal.syncs", "", 0.1).outcome();
    set(&mut outcome, &[("synchronous_standby_names", "missing")]);
    with_standbys(&mut outcome, &[]);
    let has = [
        "A missing standby limited it",
        "'missing'",
        "application_name",
    ];
    assert_words(&outcome, &has, &["storage", "disk"]);
    with_standbys(&mut outcome, &["async"]);
    let verdict = assert_words(&outcome, &has, &[]);
    assert!(
        verdict
            .checks
            .iter()
            .any(|check| check.figures.starts_with("1 standby connected")),
        "{verdict:#?}"
    );
    // What the role may not see is not missing.
    with_standbys(&mut outcome, &["sync"]);
    let Fact::Known(replication) = &mut outcome.facts.replication else {
        unreachable!()
    };
    replication.standbys[0].sync_state = None;
    assert_words(&outcome, &["waited for a standby"], &["missing standby"]);
}

#[test]
fn a_standby_that_few_commits_wait_for_is_not_the_reason() {
    let mut outcome = at("IO:WalSync")
        .with("pg.waits", "IPC:SyncRep", 0.2)
        .with("pg.wal.syncs", "", 100.0)
        .outcome();
    with_standbys(&mut outcome, &["sync"]);
    assert_words(&outcome, &["written to disk", "storage"], &["standby"]);
}

#[test]
fn a_commit_delay_is_no_file_system_and_storage_that_is_fast_needs_no_faster_one() {
    let made = || {
        at("LWLock:WALWrite")
            .with("pg.wal.syncs", "", 160.0)
            .with("host.disk.flush_await", "", 0.1)
    };
    let mut outcome = made().outcome();
    assert_words(
        &outcome,
        &["look above the disk"],
        &["faster syncs", "commit_delay"],
    );
    set(&mut outcome, &[("commit_delay", "5000")]);
    let verdict = assert_words(
        &outcome,
        &["`commit_delay`"],
        &["file system", "storage", "written to disk"],
    );
    assert!(
        verdict.evidence.iter().any(|of| of.figure == "5.00 ms"),
        "{verdict:#?}"
    );
    // It is not waited for with few clients, and explains nothing that takes much longer.
    set(
        &mut outcome,
        &[("commit_delay", "5000"), ("commit_siblings", "8")],
    );
    assert_words(&outcome, &["look above the disk"], &["commit_delay"]);
    set(&mut outcome, &[("commit_delay", "100")]);
    assert_words(&outcome, &["look above the disk"], &["commit_delay"]);
    // The disk is that slow.
    let outcome = made().with("host.disk.flush_await", "", 5.0).outcome();
    assert_words(&outcome, &["faster syncs"], &["above the disk"]);
}

#[test]
fn other_waits_are_said_in_the_words_of_their_event() {
    for (event, words) in [
        ("Timeout:PgSleep", "Sleeping statements"),
        ("Extension:PostgresFdwGetResult", "Another server"),
        ("Extension:Extension", "An extension"),
        ("Timeout:VacuumDelay", "Other waits"),
    ] {
        let verdict = assert_limit(&at(event), Cause::OtherWaits);
        assert!(verdict.sentence.starts_with(words), "{verdict:#?}");
    }
}

#[test]
fn a_tie_of_three_names_three() {
    let made = Made::of(9, 10)
        .varying("pg.waits", "IO:WalSync", &[5.0, 1.5, 1.5])
        .varying("pg.waits", "Lock:tuple", &[1.5, 5.0, 1.5])
        .varying("pg.waits", "LWLock:BufferContent", &[1.5, 1.5, 5.0])
        .with("pg.waits", "Running", 0.9)
        .scheduled(0.9, 0.0)
        .with("pg.wal.syncs", "", 500.0);
    let (_, verdict) = judged(&made);
    assert_eq!(verdict.limit, "not-known");
    let causes = [
        Cause::DurableCommit,
        Cause::Contention,
        Cause::LightweightLocks,
    ];
    assert_eq!(verdict.causes.len(), 3, "{verdict:#?}");
    assert!(
        causes.iter().all(|cause| verdict.causes.contains(cause)),
        "{verdict:#?}"
    );
    assert_eq!(verdict.evidence.len(), 3);
    let commas = verdict.sentence.matches(", ").count();
    assert!(
        commas == 1 && verdict.sentence.contains(" or "),
        "{}",
        verdict.sentence
    );
}

#[test]
fn waits_of_others_are_not_the_clients() {
    for strangers in [1.0, 10.0] {
        let made = at("Lock:transactionid")
            .with("pg.waits.others", "Timeout:PgSleep", strangers)
            .with("pg.sessions.others_active", "", strangers);
        assert_limit(&made, Cause::Contention);
        let (budget, _) = judged(&made);
        assert!(
            (share(&budget, Part::RowLocks) - 0.94).abs() < 0.01,
            "{budget:#?}"
        );
        assert_eq!(share(&budget, Part::Others), 0.0);
    }
    // Others that have the clients' name cannot be separated.
    let same = at("Lock:transactionid").with("pg.sessions.others_active", "", 3.0);
    let (budget, verdict) = judged(&same);
    assert!(
        budget
            .unseen
            .is_some_and(|why| why.contains("cannot be separated"))
    );
    assert_eq!(verdict.limit, "not-known");
    // Where a pooler gives sessions its own name, they may all be the trial's.
    let renamed = at("Lock:transactionid").without("pg.waits");
    let renamed = renamed
        .with("pg.sessions.connected", "", 0.0)
        .with("pg.waits.others", "Lock:transactionid", 2.0)
        .with("pg.sessions.others_active", "", 2.0);
    let (budget, _) = judged(&renamed);
    assert!(
        (share(&budget, Part::RowLocks) - 0.25).abs() < 0.01,
        "{budget:#?}"
    );
}

#[test]
fn cpu_time_of_others_is_not_the_clients() {
    let made = at("Lock:transactionid")
        .with("pg.waits.others", "Running", 1.0)
        .with("pg.sessions.others_active", "", 1.0)
        .scheduled(1.3, 0.0);
    let (budget, _) = judged(&made);
    assert!(
        (share(&budget, Part::ServerCpu) - 0.3 / 8.0).abs() < 0.005,
        "{budget:#?}"
    );
}

#[test]
fn readings_out_of_step_with_the_seconds_cover_all_of_them() {
    let made = Made::of(8, 30)
        .with("pg.waits", "Lock:transactionid", 7.7)
        .with("pg.waits", "Running", 0.3)
        .scheduled(0.3, 0.0)
        .sampled_every_ms(1_090);
    let (budget, _) = judged(&made);
    assert!(share(&budget, Part::NotAttributed) < 0.01, "{budget:#?}");
    let locks = budget
        .parts
        .iter()
        .find(|of| of.part == Part::RowLocks)
        .unwrap();
    let (low, high) = locks.interval.unwrap();
    assert!(high - low < 0.01, "{locks:?}");
    assert_eq!(budget.phases.len(), 2);
}
