//! Acknowledged writes that are not there when their key is read after all of its writes.

use pgdyno_isolation::Level::{ReadCommitted, Serializable, StrictSerializable};

use super::notation::{breaks, keeps, names, report};

#[test]
fn an_acknowledged_write_that_the_last_reading_misses_is_lost() {
    for (text, count) in [
        ("@0 a x1 ; @0 a x2 ; @9 r x[1]", 1),
        ("@0 a x1 ; @0 a x2 ; @9 r x[]", 2),
        // What only some readers miss was late, and is there.
        ("@0 a x1 ; @1 r x[] ; @9 r x[1]", 0),
        // The reading began before the write had ended.
        ("@0 a x1 | @9 r x[]", 0),
        // Not acknowledged.
        ("INFO a x1 ; @9 r x[]", 0),
        ("FAIL a x1 ; @9 r x[]", 0),
        // Of another key nothing is known.
        ("@0 a x1 ; @0 a y1 ; @9 r x[1]", 0),
    ] {
        let report = report(text);
        let found = report.anomaly("lost-write").map_or(0, |found| found.count);
        assert_eq!(found, count, "{text}\n{report}");
    }
}

#[test]
fn it_breaks_levels_of_real_time_and_its_example_names_writer_and_reader() {
    let report = report("@0 a x1 ; @0 a x2 ; @9 r x[1]");
    assert!(breaks(&report, StrictSerializable), "{report}");
    assert!(!breaks(&report, Serializable) && !breaks(&report, ReadCommitted));
    assert!(names(&report).contains(&"lost-write"));
    let found = report.anomaly("lost-write").unwrap();
    assert_eq!(found.example.transactions.len(), 2);
    let story = found.example.story.join("\n");
    assert!(
        story.contains("2 is not there: the write is lost"),
        "{story}"
    );
    assert_eq!(
        (
            report.counts.acknowledged_writes,
            report.counts.writes_read_at_end
        ),
        (2, 2)
    );
    let kept = super::notation::report("@0 a x1 ; @0 a x2 ; @9 r x[1 2]");
    assert!(keeps(&kept, StrictSerializable), "{kept}");
}
