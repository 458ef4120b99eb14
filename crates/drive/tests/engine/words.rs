//! What clients say when a script goes wrong: stock pgbench's words.

use std::path::Path;
use std::process::Command;
use std::thread;

use pgdyno_drive::Drive;
use pgdyno_measurement::Failure;
use pgdyno_server::Address;
use pgdyno_spec::QueryMode;
use pgdyno_testkit::{skip, stock_pgbench};
use pgdyno_wire::Addr;

use crate::support::*;
use QueryMode::{Extended, Prepared, Simple};

/// Scripts that end their client, and under which failure.
const WRONG: &[(QueryMode, &str, &str)] = &[
    (Simple, "select 1;\nselect 1 / 0;\n", "22012"),
    (Simple, "select 1\\; select 1 / 0\\; select 2;\n", "22012"),
    (Extended, "select 1 / 0;\n", "22012"),
    (Simple, "\\set x 12345\nselect :x + nope;\n", "42703"),
    (Extended, "\\set x 12345\nselect :x + nope;\n", "42703"),
    (Prepared, "\\set x 12345\nselect :x + nope;\n", "42703"),
    (Prepared, "select 1 / 0;\n", "22012"),
    (Prepared, "select 1\\; select 2;\n", "42601"),
    (Simple, "select 1 where false \\gset\n", "script"),
    (Simple, "select generate_series(1, 2) \\gset\n", "script"),
    (
        Extended,
        "select generate_series(1, 2) \\gset x\n",
        "script",
    ),
    (Simple, "select 1\\; set x.y = 1 \\gset\n", "script"),
    (Simple, "select 1 as \"a b\" \\gset\n", "script"),
    (Simple, "begin;\nselect 1;\n", "open-block"),
    (
        Extended,
        "\\set x 1\n\\startpipeline\nselect :x;\n\\if :x = 2\nselect 2;\n\\endif\n\
         select nope, :x;\nselect 3;\n\\endpipeline\n",
        "42703",
    ),
    (
        Extended,
        "\\startpipeline\nselect 1;\nselect 2;\n\\syncpipeline\nselect 3;\nselect nope;\n\
         \\endpipeline\n",
        "42703",
    ),
    (
        Prepared,
        "\\startpipeline\nselect 1;\nselect nope;\nselect 2;\n\\endpipeline\n",
        "42703",
    ),
    (
        Extended,
        "create temp table c (n int);\nbegin;\n\\startpipeline\nselect 1;\ncopy c from stdin;\n\
         select 2;\n\\endpipeline\n",
        "script",
    ),
    (
        Extended,
        "create temp table c (n int);\nbegin;\n\\startpipeline\nselect 1;\ncopy c from stdin;\n\
         \\endpipeline\n",
        "script",
    ),
    (Simple, "begin;\ncopy (select 1) to stdout;\n", "script"),
    (Extended, "begin;\ncopy (select 1) to stdout;\n", "script"),
    (Prepared, "begin;\ncopy (select 1) to stdout;\n", "script"),
    (
        Simple,
        "create temp table c (n int);\nbegin;\ncopy c from stdin;\n",
        "script",
    ),
    (
        Extended,
        "create temp table c (n int);\nbegin;\ncopy c from stdin;\n",
        "script",
    ),
    (
        Extended,
        "begin;\n\\startpipeline\nselect 1;\ncopy (select 1) to stdout;\nselect 2;\n\
         \\endpipeline\n",
        "script",
    ),
    (
        Simple,
        "select 1;\n\\startpipeline\nselect 1;\n\\endpipeline\n",
        "script",
    ),
    (
        Extended,
        "\\startpipeline\n\\startpipeline\n\\endpipeline\n",
        "script",
    ),
    (
        Prepared,
        "\\startpipeline\n\\startpipeline\n\\endpipeline\n",
        "script",
    ),
    (Extended, "\\endpipeline\n", "script"),
    (Extended, "\\syncpipeline\n", "script"),
    (Extended, "\\startpipeline\nselect 1;\n", "script"),
    (
        Extended,
        "\\startpipeline\nselect 1 as a \\gset\n\\endpipeline\n",
        "script",
    ),
    (
        Prepared,
        "\\startpipeline\nselect 1 as a \\aset\n\\endpipeline\n",
        "script",
    ),
    (
        Extended,
        "\\startpipeline\nselect 1;\nselect 1 / 0;\n\\endpipeline\n",
        "22012",
    ),
    (
        Extended,
        "\\startpipeline\nselect 1;\n\\syncpipeline\nselect 1 / 0;\n\\endpipeline\n",
        "22012",
    ),
    (
        Extended,
        "\\startpipeline\n\\syncpipeline\nselect 1;\nselect 1 / 0;\n\\endpipeline\n",
        "22012",
    ),
    (
        Simple,
        "begin;\nselect pg_terminate_backend(pg_backend_pid());\n",
        "connection-lost",
    ),
    (
        Extended,
        "begin;\nselect pg_terminate_backend(pg_backend_pid());\n",
        "connection-lost",
    ),
    (
        Prepared,
        "begin;\n\\startpipeline\nselect 1;\nselect pg_terminate_backend(pg_backend_pid());\n\\endpipeline\n",
        "connection-lost",
    ),
    (Simple, "\\set x 1 / 0\n", "script"),
    (Simple, "\\set x 1 + :nothing\n", "script"),
    (Simple, "\\if 1 / 0\n\\endif\n", "script"),
    (Simple, "\\if 0\n\\elif 1 / 0\n\\endif\n", "script"),
    (Simple, "\\sleep :nothing\n", "script"),
    (Simple, "\\shell exit 3\n", "script"),
    (Simple, "\\setshell x echo one\n", "script"),
    (Simple, "\\setshell x true\n", "script"),
    (Simple, "\\shell echo :nothing\n", "script"),
];

/// What stock pgbench says while it runs one transaction on some server.
fn stock_says(
    pgbench: &Path,
    address: &Address,
    mode: QueryMode,
    script: &str,
    options: &[&str],
) -> String {
    let dir = std::env::temp_dir().join(format!("pgdyno-words-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let thread = format!("{:?}.sql", thread::current().id());
    let path = dir.join(thread);
    std::fs::write(&path, script).unwrap();
    let output = Command::new(pgbench)
        .args(["-n", "-t", "1", "-M", mode.name(), "-U", "postgres", "-h"])
        .arg(&address.socket_dir)
        .args(["-p", &address.port.to_string(), "-f"])
        .arg(&path)
        .args(options)
        .arg("postgres")
        .output()
        .unwrap();
    let theirs = String::from_utf8(output.stderr).unwrap();
    let theirs = theirs.replace(&path.display().to_string(), "script-0");
    let theirs = theirs.split("pgbench: error: Run was aborted").next();
    let theirs = theirs.unwrap_or_default().replace("pgbench: error: ", "");
    let _ = std::fs::remove_file(&path);
    theirs
}

fn lines(seen: &Seen) -> String {
    seen.messages.iter().map(|m| format!("{m}\n")).collect()
}

#[test]
fn a_client_that_ends_says_why_in_stock_pgbenchs_words() {
    let Some(pgbench) = stock_pgbench() else {
        skip!(
            "a_client_that_ends_says_why_in_stock_pgbenchs_words",
            "no stock pgbench 18"
        );
    };
    let address = pgdyno_testkit::postgres().address();
    let mut wrong = Vec::new();
    for (mode, script, code) in WRONG {
        let theirs = stock_says(&pgbench, address, *mode, script, &[]);
        if pgdyno_script::parse("x", script, &mut pgdyno_script::Names::new()).is_err() {
            wrong.push(format!("{script:?} is no script: {theirs}"));
            continue;
        }
        let (recording, seen) = run(&Drive {
            max_tries: 0,
            ..drive_in(*mode, script)
        });
        let ours = lines(&seen);
        if ours != theirs {
            wrong.push(format!(
                "{mode:?} {script:?}\n  ours   {ours:?}\n  theirs {theirs:?}"
            ));
        }
        let codes: Vec<&str> = counts(&recording)
            .failed
            .keys()
            .map(Failure::code)
            .map(|c| match c {
                c if c == *code => *code,
                _ => "another",
            })
            .collect();
        if codes != [*code] || counts(&recording).total() != 1 || recording.clients.aborted != 1 {
            wrong.push(format!("{mode:?} {script:?} {:?}", counts(&recording)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn without_repetitions(text: &str) -> String {
    let mut is_looking = false;
    let is_new = |line: &&str| {
        let is_repeated = is_looking && *line == "client 0 receiving";
        // A notice may come before the answer.
        is_looking = line.ends_with("receiving") || (is_looking && line.starts_with("NOTICE"));
        !is_repeated
    };
    let lines: Vec<&str> = text.lines().filter(is_new).collect();
    lines.join("\n")
}

/// Scripts whose every step is reported under `--debug`.
const REPORTED: &[(&[QueryMode], &str)] = &[
    (
        &[Simple, Extended, Prepared],
        "\\set x 1 + 2\n\\if :x > 5\nselect 1;\n\\elif :x = 3\nselect 3 as a \\gset\n\\else\n\
         select 3;\n\\endif\n\\if 0\nselect 1;\n\\else\nselect :a::int;\n\\endif\n\\if 0\n\\endif\n\
         \\sleep 2ms\n\\sleep 2 ms\n\\setshell y echo 7\n\\setshell z true && echo 5\n\
         \\shell true\ndrop table if exists no_such_table;\nselect :y::int;\n",
    ),
    (
        &[Extended, Prepared],
        "\\set x 1\nselect :x::int;\n\\startpipeline\nselect :x::int;\n\\syncpipeline\n\
         select 2;\nselect 3;\n\\endpipeline\nselect 4;\n\\startpipeline\n\\endpipeline\n",
    ),
    (
        &[Extended, Prepared],
        "\\startpipeline\nselect 1;\nselect nope;\nselect 2;\n\\syncpipeline\nselect 3;\n\
         \\endpipeline\n",
    ),
    (
        &[Simple, Extended, Prepared],
        "begin;\nselect words_never();\nend;\n",
    ),
    (
        &[Extended, Prepared],
        "\\startpipeline\nbegin;\nselect words_never();\nend;\n\\endpipeline\n",
    ),
    (&[Simple, Prepared], "begin;\nselect nope;\n"),
    (&[Simple], "begin;\nselect 1;\n"),
];

#[test]
fn debug_output_is_that_of_stock_pgbench() {
    let Some(pgbench) = stock_pgbench() else {
        skip!(
            "debug_output_is_that_of_stock_pgbench",
            "no stock pgbench 18"
        );
    };
    sql(
        "create function words_never() returns int language plpgsql as
             $$ begin raise 'not now' using errcode = 'serialization_failure'; end $$",
    );
    let address = pgdyno_testkit::postgres().address();
    let mut wrong = Vec::new();
    for (modes, script) in REPORTED {
        for mode in *modes {
            let options = ["--debug", "--max-tries=2", "--verbose-errors"];
            let theirs = stock_says(&pgbench, address, *mode, script, &options);
            let theirs = theirs.replace("pgbench: ", "");
            // The first line tells the options.
            let theirs = theirs.split_once('\n').map_or("", |(_, rest)| rest);
            let (_, seen) = run(&Drive {
                debug: true,
                verbose_errors: true,
                max_tries: 2,
                ..drive_in(*mode, script)
            });
            // An answer that is there at once is looked for once, a later one twice.
            let (ours, theirs) = (
                without_repetitions(&lines(&seen)),
                without_repetitions(theirs),
            );
            if ours != theirs {
                wrong.push(format!(
                    "{mode:?} {script:?}\n--- ours\n{ours}--- theirs\n{theirs}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// When and how a connection is lost.
const LOST: &[(&str, &str)] = &[
    (
        "select 'first';\nbegin;\n\\sleep 1500 ms\nselect 'last';\nend;\n",
        "-TERM",
    ),
    (
        "select 'first';\nbegin;\n\\sleep 1500 ms\nselect 'last';\nend;\n",
        "-KILL",
    ),
    (
        "begin;\n\\sleep 1500 ms\n\\startpipeline\n\\set x 1\nselect 1;\nselect 2;\n\\endpipeline\n",
        "-TERM",
    ),
    ("begin;\nselect pg_sleep(30);\nend;\n", "-TERM"),
    ("begin;\nselect pg_sleep(30);\nend;\n", "-KILL"),
];

#[test]
fn a_lost_connection_has_stock_pgbenchs_words_in_simple_mode() {
    lost_connections(
        "a_lost_connection_has_stock_pgbenchs_words_in_simple_mode",
        Simple,
    );
}

#[test]
fn a_lost_connection_has_stock_pgbenchs_words_in_extended_mode() {
    lost_connections(
        "a_lost_connection_has_stock_pgbenchs_words_in_extended_mode",
        Extended,
    );
}

#[test]
fn a_lost_connection_has_stock_pgbenchs_words_in_prepared_mode() {
    lost_connections(
        "a_lost_connection_has_stock_pgbenchs_words_in_prepared_mode",
        Prepared,
    );
}

fn lost_connections(test: &str, mode: QueryMode) {
    let Some(pgbench) = stock_pgbench() else {
        skip!(test, "no stock pgbench 18");
    };
    // A backend that is killed takes all sessions of its server with it.
    let server = pgdyno_testkit::postgres_with(&[]);
    let socket = server.address().socket_path();
    let kill = |signal: &str, application: &str, is_asleep: bool| {
        let mut admin = connected(&socket);
        let condition = if is_asleep {
            "wait_event = 'PgSleep'"
        } else {
            "state = 'idle in transaction'"
        };
        let pid = format!(
            "select coalesce(min(pid), 0) from pg_stat_activity
             where application_name = '{application}' and {condition}"
        );
        wait_until(&mut admin, &pid);
        let pid = value_of(&mut admin, &pid).to_string();
        let done = Command::new("kill").args([signal, &pid]).status().unwrap();
        assert!(done.success());
        // Only then the server has seen that a backend died, and refuses no connection later.
        while signal == "-KILL" && admin.execute("select 1").is_ok() {
            thread::sleep(millis(5));
        }
    };
    let mut wrong = Vec::new();
    for (script, signal) in LOST {
        let is_asleep = script.contains("pg_sleep");
        if mode == Simple && script.contains("pipeline") {
            continue;
        }
        drop(connected(&socket));
        let theirs = thread::scope(|scope| {
            scope.spawn(|| kill(signal, "pgbench", is_asleep));
            stock_says(&pgbench, server.address(), mode, script, &[])
        });
        drop(connected(&socket));
        let candidate = candidate_at(Addr::Unix(socket.clone()), &["application_name=words"]);
        let drive = Drive {
            endpoints: vec![vec![candidate]],
            ..drive_in(mode, script)
        };
        let (recording, seen) = thread::scope(|scope| {
            scope.spawn(|| kill(signal, "words", is_asleep));
            run(&drive)
        });
        assert_eq!(failed(&recording, Failure::ConnectionLost), 1);
        let ours = lines(&seen);
        if ours != theirs {
            wrong.push(format!(
                "{mode:?} {signal} {script:?}\n--- ours\n{ours}--- theirs\n{theirs}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn copy_is_refused() {
    sql("create table copied (n int)");
    for mode in MODES {
        for copy in ["copy copied from stdin;\n", "copy copied to stdout;\n"] {
            let (recording, seen) = run(&drive_in(mode, copy));
            assert_eq!(
                seen.messages,
                ["COPY is not supported in pgbench, aborting"]
            );
            assert_eq!(recording.clients.aborted, 1);
            assert_eq!(counts(&recording).committed, 0);
            assert_eq!(counts(&recording).total(), 1);
        }
    }
    assert_eq!(value("select count(*) from copied"), 0);
}
