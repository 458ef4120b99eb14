//! pgdyno's own language at work: texts that reach the server, counters that clients share, loops,
//! broken invariants.

use pgdyno_drive::Drive;
use pgdyno_measurement::{Activity, End, Failure, Recording};
use pgdyno_script::{Language, Names};
use pgdyno_spec::{OnError, QueryMode, Retry, Until};

use crate::support::*;

/// A drive of one script in pgdyno's language.
fn native(mode: QueryMode, script: &str) -> Drive {
    native_with(mode, script, None)
}

fn native_with(mode: QueryMode, script: &str, savepoint: Option<&str>) -> Drive {
    let mut names = Names::new();
    let script = Language::Pgdyno.parse("native.sql", script, &mut names);
    let script = script.unwrap_or_else(|error| panic!("{error}"));
    Drive {
        scripts: Drive::compile(vec![(script, 1)], mode, savepoint).unwrap(),
        names,
        query_mode: mode,
        retry: savepoint.map_or(Retry::default(), |_| Retry::Savepoint),
        ..drive_in(mode, "select 1;\n")
    }
}

#[test]
fn a_text_arrives_as_it_is_in_every_mode() {
    sql("create table texts (t text primary key)");
    let nasty = "'it''s \\ \"quoted\"''); drop table texts; -- $$ /* é %s :x \\'''";
    let script = format!(
        "\\set t {nasty} || :n\n\\set n :n + 1\ninsert into texts values (:t);\n\
         select t, length(t) as length from texts where t = :t \\gset\n\
         \\if text(:t) <> {nasty} || (:n - 1) or :length <> length(:t)\n\\error 'not ' || :t\n\\endif\n\
         \\set t text(:t)\ndelete from texts where t = :t;\n"
    );
    for mode in MODES {
        run_well(&Drive {
            variables: vec![("n".into(), pgdyno_drive::Setup::Text("5".into()))],
            until: transactions(3),
            ..native(mode, &script)
        });
        assert_eq!(value("select count(*) from texts"), 0, "{mode:?}");
    }
}

#[test]
fn a_text_inside_quotes_ends_the_client_before_anything_is_sent() {
    let script = "\\set t 'x'\nselect ':t';\n";
    let (recording, seen) = run(&native(QueryMode::Simple, script));
    assert_eq!(failed(&recording, Failure::Script), 1);
    let expected = "client 0 aborted in command 1 (SQL) of script 0; variable \"t\" holds a text, \
                    which cannot be inside quotes or a comment: write :t without quotes, pgdyno quotes it";
    assert_eq!(seen.messages, [expected]);
}

#[test]
fn keys_are_readable_once_they_are_acknowledged_and_drawn_once() {
    sql("create table acked (k bigint primary key)");
    let script = "\
\\set key next_key('keys', :first)
insert into acked values (:key);
\\set last acknowledged('keys', :first)
select count(*) as found from acked where k <= :last \\gset
\\if :found <> :last - :first + 1
\\error 'up to ' || :last || ' only ' || :found
\\endif
";
    // The counter runs over the whole test of each mode; the table is emptied between them.
    for mode in MODES {
        sql("truncate acked");
        let recording = run_well(&Drive {
            clients: 8,
            threads: 4,
            variables: vec![("first".into(), pgdyno_drive::Setup::Text("1000".into()))],
            until: transactions(60),
            ..native(mode, script)
        });
        assert_eq!(counts(&recording).committed, 480);
        assert_eq!(recording.drawn["keys"], 480);
        let right = "select (count(*) = 480 and min(k) = 1000 and max(k) = 1479)::int from acked";
        assert_eq!(value(right), 1);
    }
}

#[test]
fn a_transaction_that_is_tried_again_keeps_its_numbers() {
    sql("create table kept (k bigint primary key, seen bigint)");
    fails_at_calls("kept_fails", "% 3 <> 0");
    let script = "\\set one next_key('kept', 1)\nbegin;\ninsert into kept values (:one, 0);\n\
                  \\set two next_key('kept', 1)\n\\set seen acknowledged('kept', 1)\n\
                  insert into kept values (:two, :seen);\nselect kept_fails();\nend;\n";
    for savepoint in [None, Some("again")] {
        sql("truncate kept");
        let recording = run_well(&Drive {
            clients: 2,
            max_tries: 0,
            until: transactions(10),
            ..native_with(QueryMode::Prepared, script, savepoint)
        });
        // Each needs three tries, on average: a number drawn again would leave a gap.
        assert!(counts(&recording).retries >= 20);
        let right = "select (count(*) = 40 and min(k) = 1 and max(k) = 40)::int from kept";
        assert_eq!(value(right), 1, "{savepoint:?}");
    }
}

#[test]
fn a_failed_insert_blocks_no_other_client() {
    sql("create table holes (k bigint primary key); insert into holes values (2), (5)");
    let script = "\\set last acknowledged('holes', 1)\n\\set key next_key('holes', 1)\n\
                  \\if :last <> :key - 1\n\\error :last || ' before ' || :key\n\\endif\n\
                  insert into holes values (:key);\n";
    let (recording, seen) = run(&Drive {
        on_error: OnError::Continue,
        until: transactions(8),
        ..native(QueryMode::Simple, script)
    });
    assert_eq!(seen.messages, Vec::<String>::new());
    let counts = counts(&recording);
    assert_eq!((counts.committed, counts.failed_total()), (6, 2));
}

#[test]
fn loops_go_through_statements_conditions_and_pipelines() {
    sql("create table looped (i int, j int)");
    let script = "\\startpipeline\nbegin;\n\\for i 1 3\n\\if :i <> 2\n\\for j :i 3\n\
                  insert into looped values (:i, :j);\n\\endfor\n\\endif\n\\endfor\nend;\n\
                  \\endpipeline\n\\for i 4 3\nselect 1 / 0;\n\\endfor\n";
    for mode in [QueryMode::Extended, QueryMode::Prepared] {
        sql("truncate looped");
        run_well(&Drive {
            until: transactions(2),
            ..native(mode, script)
        });
        let right = "select (count(*) = 8 and sum(i) = 12 and sum(j) = 18)::int from looped";
        assert_eq!(value(right), 1, "{mode:?}");
    }
    let too_long = "\\for i 1 1000001\n\\endfor\n";
    let (recording, seen) = run(&native(QueryMode::Simple, too_long));
    assert_eq!(failed(&recording, Failure::Script), 1);
    assert_eq!(
        seen.messages,
        [
            "a loop may have at most 1000000 steps (not from 1 to 1000001)",
            "client 0 aborted in command 0 (for) of script 0; evaluation of meta-command failed"
        ]
    );
}

#[test]
fn a_broken_invariant_ends_the_run_and_says_where() {
    sql("create table sums (a int); insert into sums values (1)");
    let script = "begin;\nupdate sums set a = a + 0;\nselect a from sums \\gset\n\
                  \\if :a <> 2 and :client_id = 1\n\
                  \\error 'the sum is ' || :a || ', not 2'\n\\endif\nend;\n";
    let (recording, seen) = run(&Drive {
        clients: 3,
        threads: 2,
        until: Until::Elapsed(millis(20_000)),
        ..native(QueryMode::Simple, script)
    });
    assert_eq!(recording.end, End::InvariantBroken);
    let place = "native.sql:5: the sum is 1, not 2";
    assert_eq!(recording.broken_invariant.as_deref(), Some(place));
    assert_eq!(
        seen.messages,
        [format!("client 1 found an invariant broken: {place}")]
    );
    assert_eq!(failed(&recording, Failure::Invariant), 1);
    // Well before its time.
    assert!(recording.measured.elapsed_us < 15_000_000);
}

/// The share of its clients' time in which they thought.
fn thought(recording: &Recording) -> f64 {
    let time = &recording.measured.time;
    time.at(Activity::Think) as f64 / time.all_ns() as f64
}

#[test]
fn think_time_comes_before_a_transaction_and_is_none_of_its_latency() {
    let recording = run_well(&Drive {
        clients: 2,
        until: transactions(5),
        ..native(QueryMode::Simple, "\\think 0.05 + 0.01 * 5\nselect 1;\n")
    });
    assert_eq!(counts(&recording).committed, 10);
    assert!(thought(&recording) > 0.6, "{}", thought(&recording));
    let mean_us = recording.measured.scripts[0].service.mean_us().unwrap();
    assert!(mean_us < 50_000.0, "{mean_us}");
}

#[test]
fn a_transaction_that_is_tried_again_thinks_once() {
    fails_at_calls("thought_fails", "% 20 <> 0");
    let recording = run_well(&Drive {
        max_tries: 0,
        until: transactions(2),
        ..native(QueryMode::Simple, "\\think 0.5\nselect thought_fails();\n")
    });
    assert_eq!(counts(&recording).retries, 38);
    // A second, and not twenty.
    let thought_ns = recording.measured.time.at(Activity::Think);
    assert!(
        (990_000_000..3_000_000_000).contains(&thought_ns),
        "{thought_ns}"
    );
}

#[test]
fn a_think_time_ends_with_the_run_and_not_before() {
    let recording = run_well(&Drive {
        until: Until::Elapsed(millis(300)),
        ..native(QueryMode::Simple, "\\think 3600\nselect 1;\n")
    });
    assert_eq!(counts(&recording).committed, 0);
    let elapsed_us = recording.measured.elapsed_us;
    assert!((299_000..30_000_000).contains(&elapsed_us), "{elapsed_us}");
}
