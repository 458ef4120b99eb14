//! Generators that come late, or not at all.

use crate::child::{Running, wait_until};
use crate::generators::crew::{Crew, ends, note, number, rows};

#[test]
fn who_never_arrives_is_not_waited_for_beyond_the_deadline() {
    let crew = Crew::in_file("late_never");
    crew.target.sql("CREATE TABLE done (client int)");
    let script = crew.write(
        "done.sql",
        "\\sleep 5 ms\nINSERT INTO done VALUES (:client_id);\n",
    );
    let line = format!("run {script} -c 6 -T 1 --generators 3 --join-deadline 2s");
    let two: Vec<Running> = (0..2).map(|_| crew.start(&line)).collect();
    let ran: Vec<_> = two.into_iter().map(Running::ended).collect();
    for ran in ran {
        ran.expect(1, &["kept as trial 3"]);
    }
    let whole = crew.whole("partial");
    assert_eq!(ends(&whole), ["complete", "complete", "never-arrived"]);
    let note = note(&whole, "generators-missing", "serious");
    assert!(note.contains("generator 2 never arrived"), "{note}");
    assert!(!note.contains("generator 1"), "{note}");
    let committed = number(&whole["measured"]["committed"]);
    let by_client = "SELECT count(*), count(DISTINCT client), max(client) FROM done";
    assert_eq!(crew.target.value(by_client), format!("{committed}|4|3"));
    assert_eq!(rows(&whole)[2]["trial"], serde_json::Value::Null);
    assert_eq!(number(&rows(&whole)[2]["committed"]), 0);
}

/// The deadline is for those who come, not for what they wait for together.
#[test]
fn a_preparation_longer_than_the_deadline_loses_no_generator() {
    let crew = Crew::in_file("late_preparing");
    let pack = crew.slow_pack(3);
    crew.run_well(3, &format!("run {pack} -c 3 -T 1 --join-deadline 2s"));
    assert_eq!(ends(&crew.whole("complete")), ["complete"; 3]);
}

#[test]
fn a_late_generator_learns_that_the_others_have_begun() {
    let crew = Crew::in_file("late_begun");
    let script = crew.write("one.sql", "SELECT 1;\n\\sleep 5 ms\n");
    let line = format!("run {script} -c 3 -T 3 --generators 3 --join late --join-deadline 4s");
    let two: Vec<Running> = (0..2).map(|_| crew.start(&line)).collect();
    wait_until("the first second", || {
        crew.number("SELECT count(*) FROM second")
            .is_some_and(|n| n > 0)
    });
    let late = crew.start(&line).ended();
    late.expect(
        1,
        &[
            "late began without generator 2, which came late",
            "--join-deadline",
        ],
    );
    for ran in two.into_iter().map(Running::ended).collect::<Vec<_>>() {
        ran.expect(1, &["kept as trial"]);
    }
    let whole = crew.shown(number(&serde_json::json!(crew.listed()[0].0)));
    assert_eq!(ends(&whole), ["complete", "complete", "never-arrived"]);
}
