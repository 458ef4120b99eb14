//! What clients say when a script goes wrong: stock pgbench's words.

use std::process::Command;

use pgdyno_drive::record::Failure;
use pgdyno_drive::{Drive, QueryMode};
use pgdyno_testkit::{skip, stock_pgbench};

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
    (Simple, "begin;\nselect 1;\n", "script"),
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

#[test]
fn a_client_that_ends_says_why_in_stock_pgbenchs_words() {
    let Some(pgbench) = stock_pgbench() else {
        skip!(
            "a_client_that_ends_says_why_in_stock_pgbenchs_words",
            "no stock pgbench 18"
        );
    };
    let address = pgdyno_testkit::postgres().address();
    let dir = std::env::temp_dir().join(format!("pgdyno-words-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join("script.sql");
    let mut wrong = Vec::new();
    for (mode, script, code) in WRONG {
        std::fs::write(&path, script).unwrap();
        let name = format!("{mode:?}").to_lowercase();
        let output = Command::new(&pgbench)
            .args(["-n", "-t", "1", "-M", &name, "-U", "postgres", "-h"])
            .arg(&address.socket_dir)
            .args(["-p", &address.port.to_string(), "-f"])
            .arg(&path)
            .arg("postgres")
            .output()
            .unwrap();
        let theirs = String::from_utf8(output.stderr).unwrap();
        if pgdyno_script::parse("x", script, &mut pgdyno_script::Names::new()).is_err() {
            wrong.push(format!("{script:?} is no script: {theirs}"));
            continue;
        }
        let (recording, seen) = run(&Drive {
            max_tries: 0,
            ..drive_in(*mode, script)
        });
        let ours: String = seen.messages.iter().map(|m| format!("{m}\n")).collect();
        let theirs = theirs.split("pgbench: error: Run was aborted").next();
        let theirs = theirs.unwrap_or_default().replace("pgbench: error: ", "");
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
    let _ = std::fs::remove_dir_all(&dir);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn copy_is_refused() {
    sql("create table copied (n int)");
    for mode in MODES {
        for copy in ["copy copied from stdin;\n", "copy copied to stdout;\n"] {
            let (recording, seen) = run(&drive_in(mode, copy));
            assert_eq!(
                seen.messages[0],
                "COPY is not supported in pgbench, aborting"
            );
            assert_eq!(recording.clients.aborted, 1);
            assert_eq!(counts(&recording).committed, 0);
            assert_eq!(counts(&recording).total(), 1);
        }
    }
    assert_eq!(value("select count(*) from copied"), 0);
}
