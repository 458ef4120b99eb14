//! Fifteen short histories with the answers of another checker (adya 0.1.0), and their stories.

use pgdyno_isolation::Level::{
    self, ReadCommitted, ReadUncommitted, RepeatableRead, Serializable, SnapshotIsolation,
    StrictSerializable, StrongSessionSerializable,
};

use super::notation::{breaks, keeps, names, report};

/// A history, an anomaly that it shows, the levels that it keeps and those that it breaks.
type Case = (
    &'static str,
    &'static [&'static str],
    &'static [Level],
    &'static [Level],
);

const CASES: [Case; 11] = [
    (
        "a x1 a y1 | a x2 a y2 | r x[1 2] r y[2 1]",
        &["G0"],
        &[],
        &[ReadUncommitted],
    ),
    (
        "FAIL a x1 | r x[1]",
        &["G1a"],
        &[],
        &[ReadCommitted, Serializable],
    ),
    (
        "a x1 a x2 | r x[1]",
        &["G1b", "G-single-item"],
        &[ReadUncommitted],
        &[ReadCommitted, SnapshotIsolation],
    ),
    (
        "a x1 r y[1] | a y1 r x[1]",
        &["G1c"],
        &[ReadUncommitted],
        &[ReadCommitted],
    ),
    (
        "a x1 a y1 | r x[] r y[1]",
        &["fractured-read", "G-single-item"],
        &[ReadCommitted],
        &[Level::ReadAtomic, SnapshotIsolation, RepeatableRead],
    ),
    (
        "a x1 ; r x[1] a x2 | r x[1] a x3 ; r x[1 2 3]",
        &["lost-update", "G-single-item"],
        &[ReadCommitted],
        &[SnapshotIsolation, RepeatableRead],
    ),
    (
        "r x[] a y1 | r y[] a x1",
        &["G2-item"],
        &[ReadCommitted, SnapshotIsolation],
        &[RepeatableRead, Serializable],
    ),
    (
        "a x1 | a y1 | r x[1] r y[] | r x[] r y[1]",
        &["long-fork", "G-nonadjacent-item"],
        &[ReadCommitted, Level::ReadAtomic],
        &[SnapshotIsolation],
    ),
    (
        "@0 a x1 ; @0 r x[]",
        &["G-single-item-process", "missed-own-write"],
        &[Serializable],
        &[StrongSessionSerializable, Level::ReadYourWrites],
    ),
    (
        "@0 a x1 ; @1 r x[]",
        &["G-single-item-realtime"],
        &[Serializable, StrongSessionSerializable],
        &[StrictSerializable, Level::StrongSnapshotIsolation],
    ),
    (
        "a x1 | a x2 | r x[1] | r x[2 1]",
        &["incompatible-order"],
        &[ReadUncommitted],
        &[ReadCommitted],
    ),
];

#[test]
fn published_histories_get_their_published_answers() {
    for (text, anomalies, kept, broken) in CASES {
        let report = report(text);
        for anomaly in anomalies {
            assert!(
                report.anomaly(anomaly).is_some(),
                "{text}: {anomaly}\n{report}"
            );
        }
        for &level in kept {
            assert!(!breaks(&report, level), "{text}: {level}\n{report}");
        }
        for &level in broken {
            assert!(breaks(&report, level), "{text}: {level}\n{report}");
        }
    }
}

#[test]
fn published_correct_histories_keep_all_levels() {
    for text in [
        "a x1 r y[] ; r x[1] a y1 ; r x[1] r y[1]",
        "r x[] a y1 | r y[1] a x1",
        "INFO a x1 | r x[] ; r x[1]",
        "FAIL a x1 | a x2 ; r x[2]",
    ] {
        let report = report(text);
        assert_eq!(names(&report), [""; 0], "{text}\n{report}");
        assert!(
            keeps(&report, Level::StrictSerializable),
            "{text}\n{report}"
        );
    }
}

#[test]
fn a_story_says_who_read_what_and_why_that_is_a_contradiction() {
    let report = report("r x[] a y1 | r y[] a x1");
    let example = &report.anomaly("G2-item").unwrap().example;
    assert_eq!(
        example.story,
        [
            "T1 (client 100): read x = nothing, append 1 to y",
            "T2 (client 101): read y = nothing, append 1 to x",
            "T1 comes before T2: T1 read x without 1 of T2",
            "but T2 comes before T1: T2 read y without 1 of T1, a contradiction",
        ]
    );
}

#[test]
fn a_stale_read_has_its_age() {
    let report = report("@0 a x1 ; @1 r x[]");
    let story = &report
        .anomaly("G-single-item-realtime")
        .unwrap()
        .example
        .story;
    let gap = story
        .iter()
        .any(|line| line.contains("T1 had ended 9.000 ms before T2 began"));
    assert!(gap, "{story:?}");
}
