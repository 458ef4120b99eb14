//! Histories that mislead: those that look right and are not, and the other way round. Answers are from the
//! definitions, by hand.

use pgdyno_isolation::Level::{
    self, Causal, MonotonicReads, MonotonicWrites, ReadAtomic, ReadCommitted, ReadUncommitted,
    ReadYourWrites, RepeatableRead, Serializable, SnapshotIsolation, StrictSerializable,
    StrongSessionSerializable, WritesFollowReads,
};
use pgdyno_isolation::{LevelVerdict, NOTHING_OVERWRITTEN, read};

use super::notation::{breaks, checked, names, report};

/// Why it misleads, the history, levels that it breaks, levels that it does not.
type Nasty = (
    &'static str,
    &'static str,
    &'static [Level],
    &'static [Level],
);

const NASTY: [Nasty; 17] = [
    (
        "an effect is seen without its cause, which is a row and was read by no other",
        "i p1 ; p p[1] a y1 ; p p[] r y[1]",
        &[Causal, SnapshotIsolation, StrictSerializable],
        &[ReadCommitted, ReadAtomic, RepeatableRead, WritesFollowReads],
    ),
    (
        "its own row is missing to the only transaction that there is",
        "i p1 p p[]",
        &[ReadAtomic, RepeatableRead, Serializable],
        &[ReadCommitted],
    ),
    (
        "an unknown row took effect, since it was seen, and then it is gone",
        "INFO i p1 | @7 p p[1] ; @7 p p[]",
        &[MonotonicReads, Causal, StrictSerializable],
        &[Serializable, ReadYourWrites],
    ),
    (
        "unknown writes that are never read may never have happened",
        "INFO i p1 | INFO a x1 ; p p[] r x[]",
        &[],
        &Level::ALL,
    ),
    (
        "a row of an aborted transaction",
        "FAIL i p1 | p p[1]",
        &[ReadCommitted, Serializable],
        &[ReadUncommitted],
    ),
    (
        "a session reads a register backwards; its order of versions is the writer's session",
        "@1 w x1 ; @1 w x2 ; @2 g x2 ; @2 g x1",
        &[Causal],
        &[ReadCommitted, ReadAtomic, Serializable],
    ),
    (
        "a register's lost update needs no order of versions",
        "w x1 ; g x1 w x2 | g x1 w x3 ; g x3",
        &[RepeatableRead, SnapshotIsolation, Serializable],
        &[ReadCommitted, ReadAtomic],
    ),
    (
        "an acknowledged append is replaced by another: a promoted standby that had not received it",
        "@1 a x1 ; @1 a x2 ; @1 r x[1 2] ; @2 a x3 ; @2 r x[1 3]",
        &[ReadCommitted, Serializable],
        &[ReadUncommitted],
    ),
    (
        "a write skew of three, of which no two are one",
        "g x w y1 | g y w z1 | g z w x1",
        &[RepeatableRead, Serializable],
        &[SnapshotIsolation, Causal],
    ),
    (
        "the unknown append lands last, after its reader's own",
        "INFO a x1 | @6 r x[] ; @6 a x2 ; @6 r x[2] ; @6 r x[2 1]",
        &[],
        &Level::ALL,
    ),
    (
        "two readers see two rows of one predicate in opposite orders",
        "i p1 | i p2 | p p[1] | p p[2]",
        &[SnapshotIsolation, Serializable],
        &[ReadAtomic, Causal, RepeatableRead, MonotonicReads],
    ),
    (
        "a session sees one of its own writes and not the other",
        "@1 i p1 a x1 ; @1 r x[1] p p[]",
        &[ReadYourWrites, ReadAtomic, SnapshotIsolation],
        &[ReadCommitted, RepeatableRead, MonotonicReads],
    ),
    (
        "a list that shrinks in a session: serializable, if sessions do not count",
        "a x1 | a x2 ; @9 r x[1 2] ; @9 r x[1]",
        &[MonotonicReads, StrongSessionSerializable, Causal],
        &[Serializable, ReadYourWrites, MonotonicWrites],
    ),
    (
        "the order of a register's writers is shown by a row alone",
        "i p1 w x1 | w x2 w z1 | g x2 p p[1] | g x1 g z1",
        &[ReadAtomic, Causal],
        &[ReadCommitted],
    ),
    (
        "the same with the row first, which is older than what a later statement saw",
        "i p1 w x1 | w x2 w z1 | p p[1] g x2 | g z1 g x1",
        &[ReadCommitted, ReadAtomic],
        &[ReadUncommitted],
    ),
    (
        "a transaction that reads what it wrote itself conflicts with no other",
        "r x[] a x1 r x[1] | r y[]",
        &[],
        &Level::ALL,
    ),
    (
        "a row is inserted by the one who reads it twice: no phantom",
        "p p[] i p1 p p[1] ; p p[1]",
        &[],
        &Level::ALL,
    ),
];

#[test]
fn histories_that_mislead_get_the_answers_of_the_definitions() {
    let mut wrong = Vec::new();
    for (why, text, broken, unbroken) in NASTY {
        let report = report(text);
        let kept = broken.iter().filter(|&&level| !breaks(&report, level));
        wrong.extend(kept.map(|level| format!("{why}: {text}: {level} is not broken\n{report}")));
        let broke = unbroken.iter().filter(|&&level| breaks(&report, level));
        wrong.extend(broke.map(|level| format!("{why}: {text}: {level} is broken\n{report}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_session_is_named_where_it_closes_the_circle_and_only_there() {
    let causal = |text: &str| -> Vec<&str> {
        let names = names(&report(text)).into_iter();
        names.filter(|name| name.starts_with("no-causal")).collect()
    };
    for text in [
        "a x1 | a x2 ; @9 r x[1 2] ; @9 r x[1]",
        "@1 i p1 | @0 p p[1] ; @0 p p[]",
    ] {
        assert_eq!(causal(text), ["no-causal-order-process"], "{text}");
    }
    for text in [
        "a x1 a y1 | r x[] r y[1]",
        "a x1 | r x[1] a x2 a y2 | r x[1] r y[2]",
        "i p1 a y1 | p p[] r y[1]",
    ] {
        assert_eq!(causal(text), ["no-causal-order"], "{text}");
    }
}

#[test]
fn two_that_conflict_in_several_ways_are_one_pair() {
    // Each overwrote in x and in y what the other had read, and one of them read x twice.
    let skew = report("r x[] r x[] r y[] a x1 a y1 | r x[] r y[] a x2 a y2 ; r x[1 2] r y[1 2]");
    assert_eq!(skew.counts.conflicting_overlaps, 1);
    let three = report("r x[] | a x1 a y1 | r y[] ; r x[1] r y[1]");
    assert_eq!(three.counts.conflicting_overlaps, 2);
}

#[test]
fn readers_alone_and_transactions_without_operations_show_nothing() {
    for text in ["r x[] r y[] | r x[]", "p p[] | p p[]", "g x | g x"] {
        let report = report(text);
        let all = report.levels.iter();
        let is_open =
            |(_, kept): &&(Level, LevelVerdict)| matches!(kept, LevelVerdict::NotKnown(_));
        assert_eq!(all.filter(is_open).count(), Level::ALL.len(), "{report}");
    }
    let nothing = "{:type :invoke :process 0 :value []} {:type :ok :process 0 :value []}";
    let nothing = read(nothing).unwrap();
    assert_eq!(nothing.transactions().len(), 1);
    assert_eq!(names(&checked(&nothing)), [""; 0]);
}

#[test]
fn where_no_key_is_written_twice_no_write_cycle_could_be_seen() {
    for text in ["i p1 | p p[1] i p2 | p p[2]", "a x1 | r x[] | r x[1]"] {
        let report = report(text);
        let LevelVerdict::NotKnown(why) = report.verdict(ReadUncommitted) else {
            panic!("{text}\n{report}");
        };
        assert_eq!(why, NOTHING_OVERWRITTEN);
        assert_eq!(
            *report.verdict(ReadCommitted),
            LevelVerdict::NoViolation,
            "{text}"
        );
    }
}

#[test]
fn a_key_of_two_kinds_and_a_row_inserted_twice_are_refused() {
    for (operation, other) in [
        ("[:append x 1]", "[:w x 2]"),
        ("[:append x 1]", "[:insert x 2]"),
        ("[:insert x 1]", "[:insert x 1]"),
    ] {
        let event = |kind: &str, operation: &str| {
            format!("{{:type :{kind} :process 0 :value [{operation}]}}\n")
        };
        let all = [operation, other].map(|of| event("invoke", of) + &event("ok", of));
        // What is wrong with the whole is said when it is read or when it is checked.
        let problem = match read(&all.concat()) {
            Err(error) => error.to_string(),
            Ok(history) => {
                let checked =
                    pgdyno_isolation::check(&history, pgdyno_isolation::Depth::All, &mut |_| ());
                checked.unwrap_err().to_string()
            }
        };
        assert!(problem.contains('x'), "{operation} {other}: {problem}");
    }
}
