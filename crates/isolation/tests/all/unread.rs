//! Appends that took effect and that no read shows: their order is not known, but they come after all that reads show.

use pgdyno_isolation::Level::{
    self, ReadAtomic, ReadCommitted, ReadYourWrites, RepeatableRead, Serializable,
    SnapshotIsolation, StrictSerializable, StrongSessionSerializable,
};

use super::notation::{breaks, keeps, names, report};

#[test]
fn lost_appends_are_found_though_their_order_is_not_known() {
    for (text, broken, unbroken) in [
        // Two acknowledged appends, and a read begun later that shows neither.
        (
            "@0 a x1 | @1 a x2 ; @2 r x[]",
            &[StrictSerializable][..],
            &[Serializable, StrongSessionSerializable][..],
        ),
        (
            "@0 a x1 | @1 a x2 ; @0 r x[]",
            &[
                StrictSerializable,
                StrongSessionSerializable,
                ReadYourWrites,
            ],
            &[Serializable],
        ),
        // One write of a transaction is seen, the other is not.
        (
            "a x1 a y1 | a x2 | r y[1] r x[]",
            &[ReadAtomic, RepeatableRead, SnapshotIsolation, Serializable],
            &[ReadCommitted],
        ),
        // After what reads show: it interleaves with another transaction.
        (
            "a x1 a x2 | a x3 | a x4 | r x[1 3]",
            &[Level::ReadUncommitted],
            &[],
        ),
        // Each misses the other's.
        (
            "r x[] a y1 | r y[] a x1 | a x2 | a y2",
            &[RepeatableRead, Serializable],
            &[SnapshotIsolation],
        ),
        // An unknown one may lie between, or may not have taken effect.
        (
            "@0 a x1 | @1 a x2 | INFO a x3 ; @2 r x[]",
            &[StrictSerializable],
            &[Serializable],
        ),
        (
            "INFO a x1 | INFO a x2 ; r x[] | a x3",
            &[],
            &[StrictSerializable],
        ),
        (
            "FAIL a x1 | FAIL a x2 ; r x[] | a x3",
            &[],
            &[StrictSerializable],
        ),
    ] {
        let report = report(text);
        for &level in broken {
            assert!(breaks(&report, level), "{text}: {level}\n{report}");
        }
        for &level in unbroken {
            assert!(!breaks(&report, level), "{text}: {level}\n{report}");
        }
    }
}

#[test]
fn snapshots_are_kept_if_some_order_of_unread_appends_explains_all() {
    let report = report("r x[] a y1 | r y[] a x1 | a x2 | a y2");
    assert!(keeps(&report, SnapshotIsolation), "{report}");
}

#[test]
fn two_orders_of_a_list_say_nothing_of_appends_that_neither_shows() {
    let report = report("a x1 | a x2 | a x3 | a x4 | r x[1] | r x[2]");
    assert_eq!(names(&report), ["incompatible-order"], "{report}");
}

#[test]
fn reading_what_is_written_only_afterwards_breaks_read_committed() {
    for text in [
        "r x[1] a x1",
        "g x1 w x1",
        "p p[1] i p1",
        "a x1 r x[1 2] a x2",
    ] {
        let report = report(text);
        assert_eq!(names(&report), ["future-read"], "{text}\n{report}");
        assert!(breaks(&report, ReadCommitted), "{text}\n{report}");
        assert!(!breaks(&report, Level::ReadUncommitted), "{text}\n{report}");
    }
}

#[test]
fn what_others_added_after_ones_own_append_is_a_dependency() {
    let report = report("a x1 r x[1 2] | a x2");
    assert!(breaks(&report, ReadCommitted), "{report}");
}

#[test]
fn a_transactions_appends_are_in_their_order_each_of_them() {
    for text in [
        "a x1 a x2 ; r x[2 1]",
        "a x1 a x2 ; r x[2]",
        "a x1 a x2 a x3 | a x4 ; r x[1 3]",
    ] {
        let report = report(text);
        assert!(
            report.anomaly("reordered-appends").is_some(),
            "{text}\n{report}"
        );
        assert!(breaks(&report, ReadCommitted), "{text}\n{report}");
    }
}
