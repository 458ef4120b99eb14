//! Commands that clients execute themselves, and what they do with answers.

use std::time::Instant;

use pgdyno_drive::Drive;
use pgdyno_spec::{OnError, QueryMode, Until};

use crate::support::*;

#[test]
fn conditions_take_the_branch_that_holds_and_evaluate_no_other() {
    sql("create table branches (run text, x int, y int)");
    // `1/0` would end the client: it must not be evaluated once a branch was taken.
    let script = "\
\\set y 0
\\if :x = 1
\\set y 10
\\elif :x = 2
  \\if 0
  \\set y 20
  \\endif
\\elif 1 / (:x - 2) = 1
\\set y 30
\\else
  \\if :x > 4
  \\set y 40
  \\elif :x > 5
  \\set y 41
  \\else
  \\set y 42
  \\endif
\\endif
\\if 1
\\set y :y + 1
\\elif 1 / 0
\\set y -1
\\endif
\\if null
\\set y -2
\\endif
\\set x :x + 1
";
    let rows: String = (0..6)
        .map(|_| format!("{script}insert into branches values (':run', :x - 1, :y);\n"))
        .collect();
    for mode in MODES {
        sql("truncate branches");
        let script = match mode {
            QueryMode::Simple => format!("\\set x 1\n{rows}"),
            _ => format!("\\set x 1\n{rows}")
                .replace("':run', :x - 1, :y", "'', :x::int - 1, :y::int"),
        };
        run_well(&drive_in(mode, &script));
        let wrong = "select count(*) from branches join (values (1, 11), (2, 1), (3, 31), (4, 43),
             (5, 41), (6, 41)) right_ones (x, y) using (x, y)";
        assert_eq!(
            value(wrong),
            6,
            "{:?}",
            admin().query("select x, y from branches")
        );
    }
}

#[test]
fn many_sleeping_clients_cost_little_and_wake_in_time() {
    let begin = Instant::now();
    let recording = run_well(&Drive {
        clients: 200,
        threads: 2,
        until: transactions(3),
        ..drive("\\set ms 200\n\\sleep :ms ms\n")
    });
    assert_eq!(counts(&recording).committed, 600);
    let elapsed_s = begin.elapsed().as_secs_f64();
    assert!((0.6..20.0).contains(&elapsed_s), "{elapsed_s}");
    let service = recording.measured.all().service;
    let quickest_us = service.histogram().min_us().expect("values");
    assert!(quickest_us >= 199_900, "{quickest_us}");
    let median_us = service.percentile_us(50.0).expect("enough");
    assert!(median_us < 400_000, "{median_us}");
    for thread in &recording.threads {
        let used_us = thread.user_us + thread.system_us;
        assert!(used_us < 150_000, "{thread:?}");
    }
}

#[test]
fn a_script_that_never_waits_does_not_starve_the_others_of_its_thread() {
    let script = "\\if :client_id = 0\n\\set x 1\n\\else\nselect 1;\n\\endif\n";
    let recording = run_well(&Drive {
        clients: 2,
        threads: 1,
        until: Until::Elapsed(millis(1000)),
        ..drive(script)
    });
    // Starved, it would come to one or none; how many it comes to is the machine's business.
    let selects = recording.statements[0][3].latencies.count();
    assert!(selects >= 10, "{selects}");
    assert!(counts(&recording).committed > selects + 50);
}

#[test]
fn shell_commands_run_and_their_result_is_kept() {
    sql("create table shells (n int)");
    let script = "\\shell true :client_id\n\\setshell n echo 4 :client_id | tr -d ' '\n\
                  \\setshell m expr :n + 1; exit 3\ninsert into shells values (:n), (:m);\n";
    run_well(&Drive {
        clients: 2,
        ..drive(script)
    });
    let sorted = "select (array_agg(n order by n) = '{40,41,41,42}')::int from shells";
    assert_eq!(value(sorted), 1);
}

#[test]
fn gset_keeps_the_last_row_of_a_command_and_aset_of_each() {
    sql("create table kept_values (text text)");
    // NULL becomes an empty text, a prefix precedes each name, only the last result counts
    // for \gset, and results without rows change nothing for \aset.
    let script = "select 1 as a, null as b \\gset\n\
        select 2 as a\\; select 3 as c, 4 as d \\gset p_\n\
        select generate_series(1, 5) as e\\; select 6 as f\\; select 7 as f where false \\aset\n\
        insert into kept_values values ('[:a][:b][:p_a][:p_c][:p_d][:e][:f]');\n";
    run_well(&drive(script));
    let right = "select (text = '[1][][:p_a][3][4][5][6]')::int from kept_values";
    assert_eq!(value(right), 1, "{:?}", admin().query("table kept_values"));

    for mode in [QueryMode::Extended, QueryMode::Prepared] {
        sql("truncate kept_values");
        let script = "select 1 as a, null as b \\gset\nselect generate_series(:a::int, 5) as e \\aset q_\n\
            select 9 as q_e where false \\aset\n\
            insert into kept_values values ('[' || :a::text || '][' || :b::text || '][' || :q_e::text || ']');\n";
        run_well(&drive_in(mode, script));
        let right = "select (text = '[1][][5]')::int from kept_values";
        assert_eq!(value(right), 1, "{:?}", admin().query("table kept_values"));
    }
}

#[test]
fn results_larger_than_the_buffer_are_read_whole_in_each_mode() {
    for mode in MODES {
        let script = "select repeat('x', 300000);\nselect generate_series(1, 20000), 'some text';\n\
                      select repeat('y', 100000) as y \\gset\nselect 1 / (length(':y') = 100000)::int;\n";
        let script = match mode {
            QueryMode::Simple => script.to_owned(),
            _ => script.replace("':y'", ":y::text"),
        };
        let recording = run_well(&Drive {
            clients: 2,
            until: transactions(3),
            ..drive_in(mode, &script)
        });
        assert_eq!(counts(&recording).committed, 6);
    }
}

#[test]
fn notices_and_reported_settings_may_come_at_any_time() {
    let noise = "do $$ begin raise notice 'one'; raise warning 'two'; end $$";
    let script = format!(
        "{noise};\nset timezone = 'UTC';\nselect set_config('timezone', 'CET', false), 1 as one \\gset\n\
         listen noise;\nnotify noise, 'three';\nselect 1 / :one;\n"
    );
    for mode in MODES {
        let script = script.replace(
            "1 / :one",
            if mode == QueryMode::Simple {
                "1 / :one"
            } else {
                "1 / :one::int"
            },
        );
        let (recording, mut seen) = run(&Drive {
            clients: 3,
            until: transactions(5),
            ..drive_in(mode, &script)
        });
        assert_eq!(counts(&recording).committed, 15);
        seen.messages.sort();
        let reported = [["NOTICE:  one"; 15], ["WARNING:  two"; 15]].concat();
        assert_eq!(seen.messages, reported);
    }
}

#[test]
fn an_empty_query_is_a_query() {
    for mode in MODES {
        let recording = run_well(&Drive {
            until: transactions(3),
            ..drive_in(mode, "select 1;\n;\n")
        });
        let executed = recording.statements[0].iter();
        assert!(executed.clone().count() >= 1);
        assert!(
            executed
                .map(|s| s.latencies.count())
                .all(|count| count == 3)
        );
    }
    run_well(&drive("select 1\\;\\;select 2;\n"));
}

#[test]
fn a_script_that_leaves_a_block_open_ends_the_client_even_when_errors_do_not() {
    let (recording, seen) = run(&Drive {
        until: transactions(3),
        on_error: OnError::Continue,
        ..drive("begin;\nselect 1;\n")
    });
    assert_eq!(counts(&recording).committed, 0);
    assert_eq!(
        (counts(&recording).total(), recording.clients.aborted),
        (1, 1)
    );
    assert_eq!(recording.clients.disconnected, 0);
    assert_eq!(seen.messages.len(), 1);
}
