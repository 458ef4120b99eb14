//! One of them is killed: the others finish, and what it sent counts to its last second.

use pgdyno_platform::child::Signal;
use serde_json::Value;

use crate::child::{Running, wait_until};
use crate::generators::crew::{Crew, ends, note, number, rows};

/// Each transaction leaves who made it, and when.
pub fn script(crew: &Crew) -> String {
    crew.target
        .sql("CREATE TABLE done (client int, at timestamptz)");
    let text = "\\sleep 5 ms\nINSERT INTO done VALUES (:client_id, clock_timestamp());\n";
    crew.write("done.sql", text)
}

/// What is reported of each generator is what the server has of its clients: all of those that measured to
/// their ends; of one that died no more than all, and all until its last kept second.
#[track_caller]
pub fn accounting_is_right(crew: &Crew, whole: &Value) {
    let start = crew.value("SELECT said FROM word WHERE what = 'start'");
    let start: Value = serde_json::from_str(&start).unwrap();
    let (mut first, mut sum) = (0, 0);
    for row in rows(whole) {
        let (kept, until_us) = (number(&row["committed"]), number(&row["until_us"]));
        let last = first + number(&row["clients"]);
        // One that is about to be counted may have been committed a moment before.
        let until_s = (number(&start["at_us"]) + until_us) as f64 / 1e6 - 0.1;
        let of = format!(
            "SELECT count(*), count(*) FILTER (WHERE at < to_timestamp({until_s})) \
             FROM done WHERE client >= {first} AND client < {last}"
        );
        let there = crew.target.value(&of);
        let (all, until) = there.split_once('|').unwrap();
        let (all, until): (u64, u64) = (all.parse().unwrap(), until.parse().unwrap());
        match row["end"].as_str().unwrap() {
            "died" => assert!((until..=all).contains(&kept), "{there} there: {row}"),
            _ => assert_eq!(kept, all, "{row}"),
        }
        sum += kept;
        first = last;
    }
    assert_eq!(number(&whole["measured"]["committed"]), sum);
}

#[test]
fn one_that_is_killed_is_missed_from_its_last_second_on() {
    let crew = Crew::in_file("a_dead_one");
    let script = script(&crew);
    let line = |number: u32| {
        format!("run {script} -c 5 -T 3 --generators 3 --join dead --generator {number}")
    };
    let mut all: Vec<Running> = (0..3).map(|number| crew.start(&line(number))).collect();
    let seconds = "SELECT count(*) FROM second JOIN part ON part.trial = second.trial \
                   WHERE part.generator = 0";
    wait_until("a second of the first", || {
        crew.number(seconds).is_some_and(|count| count >= 1)
    });
    all[0].signal(Signal::Kill);
    let killed = all.remove(0);
    for ran in all.into_iter().map(Running::ended).collect::<Vec<_>>() {
        ran.expect(1, &["kept as trial 4"]);
    }
    drop(killed);
    let whole = crew.whole("partial");
    assert_eq!(ends(&whole), ["died", "complete", "complete"]);
    let note = note(&whole, "generators-missing", "serious");
    let until_us = number(&rows(&whole)[0]["until_us"]);
    assert!((900_000..2_900_000).contains(&until_us), "{until_us}");
    let said = format!(
        "generator 0 died: nothing of it after {:.1} s",
        until_us as f64 / 1e6
    );
    assert!(note.contains(&said), "{note}");
    accounting_is_right(&crew, &whole);
    let seconds = whole["seconds"].as_array().unwrap();
    let in_time = seconds.iter().filter(|second| second["drain"] == false);
    // Only while all were there is a rate that of all.
    let in_time_us: u64 = in_time.map(|second| number(&second["length_us"])).sum();
    assert!(in_time_us <= until_us, "{in_time_us} of {until_us}");
    crew.pgdyno("show 4").expect(0, &["died", "partial"]);
}
