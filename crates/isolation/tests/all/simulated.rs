//! Histories of simulated databases, whose answers are known from how these work.

use pgdyno_isolation::Level;

use super::notation::{breaks, checked, keeps, names};
use super::store::{Kind, Rule, Settings, run};

fn settings(rule: Rule, kind: Kind) -> Settings {
    Settings {
        rule,
        kind,
        transactions: 60,
        clients: 5,
        keys: 4,
        failures: true,
    }
}

#[test]
fn a_thousand_correct_histories_pass() {
    for seed in 0..1_000 {
        let kind = [Kind::Lists, Kind::Registers, Kind::Groups][seed as usize % 3];
        let report = checked(&run(&settings(Rule::Serial, kind), seed).finish().unwrap());
        assert_eq!(names(&report), [""; 0], "seed {seed}\n{report}");
        for level in Level::ALL {
            let known = match kind {
                Kind::Lists => true,
                Kind::Registers => !level.needs_version_order(),
                // A row is never overwritten.
                Kind::Groups => level != Level::ReadUncommitted,
            };
            assert_eq!(
                keeps(&report, level),
                known,
                "seed {seed}, {level}\n{report}"
            );
        }
    }
}

/// How many of 60 histories break a level.
fn broken(rule: Rule, kind: Kind, level: Level) -> usize {
    let seeds = 0..60;
    seeds
        .filter(|&seed| {
            let report = checked(&run(&settings(rule, kind), seed).finish().unwrap());
            breaks(&report, level)
        })
        .count()
}

#[test]
fn a_snapshot_database_shows_write_skew_and_nothing_worse() {
    for kind in [Kind::Lists, Kind::Groups] {
        let broken = |level| broken(Rule::Snapshot, kind, level);
        assert_eq!(broken(Level::StrongSnapshotIsolation), 0);
        assert_eq!(broken(Level::SnapshotIsolation), 0);
        assert_eq!(broken(Level::Causal), 0);
        assert!(broken(Level::Serializable) > 30);
        // A skew through a predicate does not break repeatable read.
        let items = broken(Level::RepeatableRead);
        assert!(
            if kind == Kind::Lists {
                items > 30
            } else {
                items == 0
            },
            "{items}"
        );
    }
}

#[test]
fn a_read_committed_database_keeps_read_committed_and_sessions_alone() {
    let broken = |level| broken(Rule::ReadCommitted, Kind::Lists, level);
    for level in Level::ALL {
        if level == Level::ReadCommitted || level.is_session_guarantee() {
            assert_eq!(broken(level), 0, "{level}");
        }
    }
    for level in [
        Level::ReadAtomic,
        Level::RepeatableRead,
        Level::SnapshotIsolation,
    ] {
        assert!(broken(level) > 30, "{level}: {}", broken(level));
    }
}

#[test]
fn a_replica_that_lags_breaks_sessions_and_real_time_but_not_serializability() {
    let broken = |level| broken(Rule::Replica, Kind::Lists, level);
    assert_eq!(broken(Level::Serializable), 0);
    assert_eq!(broken(Level::MonotonicWrites), 0);
    for level in [
        Level::StrictSerializable,
        Level::StrongSessionSerializable,
        Level::MonotonicReads,
        Level::ReadYourWrites,
        Level::Causal,
    ] {
        assert!(broken(level) > 30, "{level}: {}", broken(level));
    }
}

#[test]
fn registers_of_weak_databases_break_the_weak_levels_that_these_do_not_keep() {
    let of = |rule, level| broken(rule, Kind::Registers, level);
    assert_eq!(of(Rule::Snapshot, Level::Causal), 0);
    assert_eq!(of(Rule::ReadCommitted, Level::ReadCommitted), 0);
    assert!(of(Rule::ReadCommitted, Level::ReadAtomic) > 30);
    assert!(of(Rule::Replica, Level::Causal) > 30);
}
