//! Where a script went wrong, in pgdyno's own words: file, line and what is there.

use pgdyno_drive::Drive;
use pgdyno_script::{Language, Names};
use pgdyno_spec::QueryMode;

use crate::support::*;
use QueryMode::{Extended, Prepared, Simple};

fn native(mode: QueryMode, script: &str) -> Drive {
    let mut names = Names::new();
    let script = Language::Pgdyno.parse("mine.sql", script, &mut names);
    let script = script.unwrap_or_else(|error| panic!("{error}"));
    Drive {
        scripts: Drive::compile(vec![(script, 1)], mode, None).unwrap(),
        names,
        query_mode: mode,
        speaks_as_pgbench: false,
        ..drive_in(mode, "select 1;\n")
    }
}

/// The only message of a run.
fn said(mode: QueryMode, script: &str) -> String {
    let (_, seen) = run(&native(mode, script));
    assert_eq!(
        seen.messages.len(),
        1,
        "{mode:?} {script}: {:?}",
        seen.messages
    );
    seen.messages[0].clone()
}

#[test]
fn an_error_of_the_server_is_shown_in_the_scripts_line() {
    // The value is longer than its name, and the line is not the statement's first.
    let script = "select 1;\n\\set value 123456789\nselect :value,\n  :value + nope\n;\n";
    for mode in [Simple, Extended, Prepared] {
        assert_eq!(
            said(mode, script),
            "client 0 aborted at mine.sql:4: ERROR:  column \"nope\" does not exist\n  \
             :value + nope\n           ^",
            "{mode:?}"
        );
    }
    let script = "\\startpipeline\nselect 1;\nselect nope;\n\\endpipeline\n";
    for mode in [Extended, Prepared] {
        assert_eq!(
            said(mode, script),
            "client 0 aborted at mine.sql:3: ERROR:  column \"nope\" does not exist\n\
             select nope;\n       ^",
            "{mode:?}"
        );
    }
    assert_eq!(
        said(Simple, "select 1;\nselect 1 / 0;\n"),
        "client 0 aborted at mine.sql:2: ERROR:  division by zero\nselect 1 / 0;"
    );
}

#[test]
fn a_variable_without_a_value_is_named_with_ways_to_set_it() {
    let hint = "HINT:  :nothing has no value. Set it before with \\set nothing VALUE,\n       \
                or for all clients with --param nothing=VALUE (pgbench's -D nothing=VALUE).";
    assert_eq!(
        said(Simple, "select :nothing;\n"),
        format!(
            "client 0 aborted at mine.sql:1: ERROR:  syntax error at or near \":\"\n\
             select :nothing;\n       ^\n{hint}"
        )
    );
    assert_eq!(
        said(Simple, "select 1;\n\\set a :nothing + 1\n"),
        format!(
            "client 0 aborted at mine.sql:2: undefined variable \"nothing\"\n\
             \\set a :nothing + 1\n{hint}"
        )
    );
}

#[test]
fn what_a_command_cannot_do_is_said_with_its_line() {
    for (script, says) in [
        (
            "\\set a random(5, 1)\nselect 1;\n",
            "mine.sql:1: empty range given to random\n\\set a random(5, 1)",
        ),
        (
            "select 1;\n\\if 1 / 0\nselect 2;\n\\endif\n",
            "mine.sql:2: division by zero\n\\if 1 / 0",
        ),
        (
            "select 1 where false \\gset\n",
            "mine.sql:1: expected one row, got 0\nselect 1 where false",
        ),
        (
            "\\startpipeline\nselect 1;\n\\endpipeline\n",
            "mine.sql:1: cannot use pipeline mode with the simple query protocol\n\\startpipeline",
        ),
        (
            "copy pg_class to stdout;\n",
            "mine.sql:1: COPY is not supported in scripts, but from and to files of the server\n\
             copy pg_class to stdout;",
        ),
        (
            "begin;\nselect 1;\n",
            "mine.sql: end of script reached without completing the last transaction: \
             end it with COMMIT or END",
        ),
    ] {
        assert_eq!(said(Simple, script), format!("client 0 aborted at {says}"));
    }
    // It may be a pooler's.
    let says = said(Extended, "begin;\nselect 1;\n");
    assert!(
        says.ends_with("COMMIT or END, or use -M simple if a pooler (pgpool-II) began it"),
        "{says}"
    );
}
