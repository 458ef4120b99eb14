//! Histories that are too large for a part of the search: what was not looked for is not called kept.

use pgdyno_isolation::{Builder, Depth, Level, LevelVerdict, Status, check};

#[test]
fn reads_by_predicates_that_are_too_many_leave_levels_not_known() {
    // Each of 4,500 transactions reads no row, and inserts one.
    let mut builder = Builder::new();
    let rows = builder.key("rows");
    let list = builder.key("list");
    let mut lists = Vec::new();
    for row in 0..4_500 {
        let at_ns = 10 * row;
        let client = u32::try_from(row).unwrap();
        builder.begin(client, Status::Committed, at_ns, at_ns + 15);
        builder.read_rows(rows, &[]);
        builder.insert(rows, row).append(list, row);
        lists.push(row);
    }
    // What the lists show is still checked.
    builder.begin(4_500, Status::Committed, 50_000, 50_001);
    builder.read_list(list, &lists);
    let history = builder.finish().unwrap();
    let report = check(&history, Depth::All, &mut |_| {}).unwrap();
    assert_eq!(
        *report.verdict(Level::ReadUncommitted),
        LevelVerdict::NoViolation
    );
    for level in [
        Level::ReadCommitted,
        Level::SnapshotIsolation,
        Level::Serializable,
    ] {
        let LevelVerdict::NotKnown(why) = report.verdict(level) else {
            panic!("{level:?} is not known: {report:?}");
        };
        assert!(why.contains("fewer rows"), "{why}");
    }
}
