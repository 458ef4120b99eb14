//! `pgdyno pack`, help and usage errors: what needs no server.

use std::process::Command;

use crate::support::{pgdyno, ran};

#[test]
fn a_newcomer_finds_the_way_by_help() {
    ran(&mut pgdyno(&["--help"])).expect(0, &["Examples:", "pgdyno run tpcb", "Exit codes:"]);
    ran(&mut pgdyno(&["load", "--help"])).expect(0, &["Examples:", "--drop-tables", "--url"]);
    ran(&mut pgdyno(&["--version"])).expect(0, &[concat!("pgdyno ", env!("CARGO_PKG_VERSION"))]);
    ran(&mut pgdyno(&["pack", "list"])).expect(0, &["select-only", "scale (default 1)"]);
}

#[test]
fn usage_errors_have_an_exit_code_of_their_own() {
    ran(&mut pgdyno(&["laod"])).expect(2, &["'load'"]);
    ran(&mut pgdyno(&["load", "tpcb", "--scale", "3"])).expect(2, &["--scale"]);
    ran(&mut pgdyno(&["load", "tpcb", "--param", "sale=3"])).expect(
        2,
        &["pgdyno: error: --param sale=3: pack tpcb has no parameter \"sale\""],
    );
    ran(&mut pgdyno(&[
        "load",
        "tpcb",
        "--url",
        "host=x",
        "--pg-set",
        "fsync=off",
    ]))
    .expect(
        2,
        &["configure the private server, but --url selects another"],
    );
}

#[test]
fn a_pack_that_is_not_there_or_broken_is_named() {
    ran(&mut pgdyno(&["load", "tbcp"])).expect(2, &["tbcp: unknown pack", "tpcb"]);
    ran(&mut pgdyno(&["pack", "show", "./nowhere"]))
        .expect(2, &["./nowhere: there is no such folder"]);
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(
        dir.path().join("pack.toml"),
        "name = \"x\"\nsumary = \"s\"\n",
    )
    .unwrap();
    let path = dir.path().to_str().unwrap();
    ran(&mut pgdyno(&["load", path])).expect(
        1,
        &[
            &format!("{path}/pack.toml: "),
            "line 2",
            "unknown field `sumary`",
            "`summary`",
        ],
    );
}

#[test]
fn a_shown_pack_can_be_copied_out_changed_and_shown_again() {
    let dir = tempfile::tempdir().unwrap();
    let mine = dir.path().join("mine");
    let mine = mine.to_str().unwrap();
    ran(&mut pgdyno(&["pack", "show", "tpcb", "--to", mine])).expect(0, &["pgdyno run "]);
    std::fs::write(format!("{mine}/tpcb.sql"), "SELECT 42;\n").unwrap();
    ran(&mut pgdyno(&["pack", "show", mine])).expect(0, &["/tpcb.sql <==\nSELECT 42;"]);
    ran(&mut pgdyno(&["pack", "show", "tpcb", "--to", mine])).expect(1, &["is there already"]);
}

#[test]
fn the_three_built_in_scripts_are_pgbenchs() {
    let Some(pgbench) = pgdyno_testkit::stock_pgbench() else {
        pgdyno_testkit::skip!(
            "the_three_built_in_scripts_are_pgbenchs",
            "no stock pgbench 18"
        );
    };
    for (theirs, ours) in [
        ("tpcb-like", "tpcb"),
        ("simple-update", "simple-update"),
        ("select-only", "select-only"),
    ] {
        let shown =
            ran(Command::new(&pgbench).arg(format!("--show-script={theirs}"))).expect(0, &[]);
        // A line that names the script comes first.
        let (_, script) = shown.stderr.split_once('\n').unwrap();
        let file = format!(
            "{}/../../workloads/{ours}/{ours}.sql",
            env!("CARGO_MANIFEST_DIR")
        );
        assert_eq!(
            std::fs::read_to_string(file).unwrap().trim_end(),
            script.trim_end(),
            "{ours}"
        );
    }
}
