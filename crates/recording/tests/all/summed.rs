//! What `summary` says of a recording.

use pgdyno_recording::summary;

use crate::drawn::{Drawn, draw, write};

#[test]
fn a_summary_counts_what_was_written() {
    let events = draw(12, 5000);
    let summary = summary(&write(&events)[..]).unwrap();
    let statements: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Drawn::Statement(statement) => Some(statement),
            _ => None,
        })
        .collect();
    assert_eq!(summary.statements, statements.len() as u64);
    let sum: u64 = statements
        .iter()
        .filter_map(|statement| statement.duration_us)
        .sum();
    assert_eq!(
        summary.texts.iter().map(|text| text.sum_us).sum::<u64>(),
        sum
    );
    assert!(summary.texts.is_sorted_by(|a, b| a.sum_us >= b.sum_us));
    // Statements that differ in values alone are one: 50 tables, SELECT, INSERT and nothing.
    assert_eq!(summary.texts.len(), 53);
    assert_eq!(
        summary.begin_us,
        statements
            .iter()
            .map(|statement| statement.start_us)
            .min()
            .unwrap()
    );
    let failed = statements
        .iter()
        .filter(|statement| statement.failed.is_some())
        .count();
    assert_eq!(summary.failed, failed as u64);
    let with_obstacle = statements
        .iter()
        .filter(|statement| statement.obstacle.is_some())
        .count();
    assert_eq!(
        summary.obstacles.values().sum::<u64>(),
        with_obstacle as u64
    );
    assert!(summary.peak_statements > 0 && summary.losses.is_none());
}
