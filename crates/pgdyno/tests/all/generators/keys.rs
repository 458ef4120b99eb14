//! Keys that runs insert: several generators draw from one counter, and no two insert one key.

use crate::generators::crew::{Crew, number};

/// A script that inserts what it draws, from 1 on.
fn inserting(crew: &Crew) -> String {
    crew.target
        .sql("CREATE TABLE keys (key bigint PRIMARY KEY, client int)");
    let text = "\\set key next_key('keys', 1)\nINSERT INTO keys VALUES (:key, :client_id);\n";
    crew.write("insert.sql", text)
}

#[test]
fn no_key_is_inserted_twice_and_none_is_left_out() {
    let crew = Crew::in_file("keys_even");
    let script = inserting(&crew);
    crew.run_well(3, &format!("run {script} -c 6 -t 20"));
    let keys = "SELECT count(*), min(key), max(key) FROM keys";
    assert_eq!(crew.target.value(keys), "120|1|120");
    let whole = crew.whole("complete");
    assert_eq!(number(&whole["measured"]["committed"]), 120);
}

/// By time each comes as far as it comes: what one has drawn has no gap.
#[test]
fn generators_that_come_differently_far_insert_no_key_twice() {
    let crew = Crew::in_file("keys_uneven");
    let script = inserting(&crew);
    crew.run_well(3, &format!("run {script} -c 7 -T 1"));
    let whole = crew.whole("complete");
    let committed = number(&whole["measured"]["committed"]);
    assert_eq!(number(&whole["measured"]["failed"]), 0);
    assert_eq!(
        crew.target.value("SELECT count(*) FROM keys"),
        committed.to_string()
    );
    // Generator 0 has clients 0 to 2, 1 has 3 and 4, 2 has 5 and 6.
    let of = "SELECT (key - 1) % 3, min(client), max(client), \
              max(key) - min(key) = 3 * (count(*) - 1), min(key) FROM keys GROUP BY 1 ORDER BY 1";
    assert_eq!(
        crew.target.rows(of),
        ["0|0|2|t|1", "1|3|4|t|2", "2|5|6|t|3"]
    );
}

#[test]
fn what_a_pack_inserts_is_read_by_all_and_the_next_trial_goes_on_behind_it() {
    let crew = Crew::in_file("keys_ycsb");
    let line = "run ycsb --mix custom --param insertproportion=1 --param recordcount=100";
    // The first generator inserts more than the others, so that some keys are missing in the end.
    for (clients, rows) in [(7, 310), (8, 550)] {
        crew.run_well(3, &format!("{line} -c {clients} -t 30"));
        let there = "SELECT count(*) FROM usertable";
        assert_eq!(crew.target.value(there), rows.to_string());
    }
    let alone = format!("{line} -c 2 -t 30 --url {}", crew.target.url);
    crew.pgdyno(&alone).expect(0, &[]);
    for (number, _) in crew.listed() {
        let failed = crew.shown(number)["measured"]["failed"].clone();
        assert_eq!(failed, 0, "trial {number}");
    }
}

/// YCSB's workload d reads the newest rows: those of others may not be there yet. With `dataintegrity` a
/// read that finds no row fails.
#[test]
fn the_newest_rows_are_read_by_generators_that_come_differently_far() {
    let crew = Crew::in_file("keys_latest");
    // Two clients, one and one: the first generator comes farther than the others. One transaction of twenty inserts.
    crew.run_well(
        3,
        "run ycsb --mix d --param recordcount=100 --param dataintegrity=true -c 4 -t 1000",
    );
    let whole = crew.whole("complete");
    assert_eq!(number(&whole["measured"]["failed"]), 0);
    let scripts = whole["measured"]["scripts"].as_array().unwrap();
    let insert = scripts.iter().find(|script| script["name"] == "insert");
    let inserted = number(&insert.unwrap()["committed"]);
    assert!(
        inserted > 100,
        "{inserted} rows are too few to read others'"
    );
    let rows = "SELECT count(*), count(DISTINCT ycsb_key) FROM usertable";
    let there = inserted + 100;
    assert_eq!(crew.target.value(rows), format!("{there}|{there}"));
}
