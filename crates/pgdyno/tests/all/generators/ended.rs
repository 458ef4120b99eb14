//! A signal to one of them.

use std::time::{Duration, Instant};

use pgdyno_platform::child::Signal;

use crate::child::{Running, wait_until};
use crate::generators::crew::{Crew, ends, note, number, rows};

/// Three that measure for a minute, or as long as the line says.
fn three(crew: &Crew, more: &str) -> Vec<Running> {
    crew.target.sql("CREATE TABLE done (client int)");
    let script = crew.write(
        "done.sql",
        "\\sleep 5 ms\nINSERT INTO done VALUES (:client_id);\n",
    );
    let line = format!("run {script} -c 3 --generators 3 {more}");
    (0..3).map(|_| crew.start(&line)).collect()
}

fn measured(crew: &Crew, seconds: i64) {
    let count = "SELECT count(DISTINCT start_us) FROM second WHERE length_us > 900000";
    wait_until("seconds that were measured", || {
        crew.number(count).is_some_and(|count| count >= seconds)
    });
}

#[test]
fn a_signal_to_one_ends_all() {
    let crew = Crew::in_file("ended_all");
    let all = three(&crew, "-T 60");
    measured(&crew, 1);
    let began = Instant::now();
    all[1].signal(Signal::Interrupt);
    let ran: Vec<_> = all.into_iter().map(Running::ended).collect();
    let took = began.elapsed();
    for ran in ran {
        ran.expect(130, &["kept as trial 4"]);
    }
    // Within two seconds where CPUs are idle; a busy machine takes longer, but not the minute.
    assert!(took < Duration::from_secs(30), "{took:?}");
    let whole = crew.whole("aborted");
    assert_eq!(ends(&whole), ["early"; 3]);
    let committed = number(&whole["measured"]["committed"]);
    let rows = crew.target.value("SELECT count(*) FROM done");
    assert_eq!(committed.to_string(), rows);
}

#[test]
fn a_signal_to_one_that_may_leave_ends_it_alone() {
    let crew = Crew::in_file("ended_one");
    let mut all = three(&crew, "-T 4 --leave");
    measured(&crew, 1);
    let left = all.remove(1);
    left.signal(Signal::Interrupt);
    let ran: Vec<_> = all.into_iter().map(Running::ended).collect();
    for ran in ran {
        ran.expect(1, &["kept as trial 4"]);
    }
    left.ended().expect(130, &["kept as trial 4"]);
    let whole = crew.whole("partial");
    let mut is = ends(&whole);
    is.sort_unstable();
    assert_eq!(is, ["complete", "complete", "early"]);
    let said = note(&whole, "generators-missing", "serious");
    assert!(said.contains("ended early: nothing of it after"), "{said}");
    let early = rows(&whole)
        .iter()
        .find(|row| row["end"] == "early")
        .unwrap();
    assert!(number(&early["until_us"]) < 3_500_000, "{early}");
    let committed = number(&whole["measured"]["committed"]);
    let rows = crew.target.value("SELECT count(*) FROM done");
    assert_eq!(committed.to_string(), rows);
}

/// Nothing was measured: there is nothing to keep.
#[test]
fn a_signal_to_one_that_waits_for_others_ends_all_that_wait() {
    let crew = Crew::in_file("ended_waiting");
    let line = format!(
        "run {} -c 3 -T 60 --generators 3",
        crew.write("one.sql", "SELECT 1;\n")
    );
    let two: Vec<Running> = (0..2).map(|_| crew.start(&line)).collect();
    wait_until("both wait", || {
        crew.number("SELECT count(*) FROM word WHERE what = 'ready'") == Some(2)
    });
    let began = Instant::now();
    two[0].signal(Signal::Terminate);
    let ran: Vec<_> = two.into_iter().map(Running::ended).collect();
    let took = began.elapsed();
    for ran in ran {
        assert!(ran.code != Some(0), "{ran:#?}");
        assert!(!ran.stderr.contains("kept as trial"), "{ran:#?}");
    }
    // Within two seconds where CPUs are idle; a busy machine takes longer, but not the minute.
    assert!(took < Duration::from_secs(30), "{took:?}");
}

#[test]
fn a_signal_while_one_prepares_ends_all() {
    let crew = Crew::in_file("ended_preparing");
    let pack = crew.slow_pack(30);
    let line = |number: u32| {
        format!("run {pack} -c 3 -T 60 --generators 3 --generator {number} --join slow")
    };
    let mut all = vec![crew.start(&line(0))];
    wait_until("one prepares", || {
        crew.number("SELECT count(*) FROM word WHERE what = 'preparing'") == Some(1)
    });
    all.extend([1, 2].map(|number| crew.start(&line(number))));
    wait_until("the others wait", || {
        crew.number("SELECT count(*) FROM generator") == Some(3)
    });
    let began = Instant::now();
    all[2].signal(Signal::Interrupt);
    let ran: Vec<_> = all.into_iter().map(Running::ended).collect();
    let took = began.elapsed();
    for ran in ran {
        assert!(ran.code != Some(0), "{ran:#?}");
    }
    // Within two seconds where CPUs are idle; a busy machine takes longer, but not the minute.
    assert!(took < Duration::from_secs(30), "{took:?}");
}
