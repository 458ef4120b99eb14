//! `pgdyno pack`, help and usage errors.

use std::process::Command;

use crate::support::{Database, pgdyno, ran};

#[test]
fn a_newcomer_finds_the_way_by_help() {
    let whole = ran(&mut pgdyno(&["--help"])).expect(0, &["pgdyno run tpcb", "Exit codes:"]);
    assert_eq!(ran(&mut pgdyno(&["-h"])).stdout, whole.stdout);
    ran(&mut pgdyno(&["run", "-h"])).expect(0, &["Most used:", "More, explained by pgdyno run"]);
    ran(&mut pgdyno(&["load", "--help"])).expect(0, &["Examples:", "--drop-tables", "--url"]);
    ran(&mut pgdyno(&["--version"])).expect(0, &[concat!("pgdyno ", env!("CARGO_PKG_VERSION"))]);
    ran(&mut pgdyno(&["pack", "list"])).expect(0, &["select-only", "pgdyno pack list NAME"]);
    ran(&mut pgdyno(&["pack", "list", "tpcb"])).expect(0, &["scale (default 1)"]);
}

#[test]
fn usage_errors_have_an_exit_code_of_their_own() {
    ran(&mut pgdyno(&["laod"])).expect(2, &["did you mean pgdyno load?"]);
    ran(&mut pgdyno(&["load", "tpcb", "--scale", "3"])).expect(2, &["--param scale=3"]);
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
            &format!("{path}/pack.toml:2: unknown field `sumary`"),
            "did you mean `summary`?",
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
fn a_new_pack_is_sound_and_all_mistakes_made_in_it_are_listed() {
    let dir = tempfile::tempdir().unwrap();
    let mine = dir.path().join("my-pack");
    let mine = mine.to_str().unwrap();
    ran(&mut pgdyno(&["pack", "new", mine])).expect(0, &["pgdyno pack check ", "pgdyno run "]);
    let right = "nothing wrong in 2 scripts, 1 table and 1 check";
    ran(&mut pgdyno(&["pack", "check", mine])).expect(0, &[right]);
    ran(&mut pgdyno(&["pack", "new", mine])).expect(1, &["is there already"]);
    let other = dir.path().join("other");
    let other = other.to_str().unwrap();
    ran(&mut pgdyno(&["pack", "new", other, "--from", "smallbank"])).expect(0, &[]);
    ran(&mut pgdyno(&["pack", "check", other])).expect(0, &["nothing wrong in 6 scripts"]);
    let named = std::fs::read_to_string(format!("{other}/pack.toml")).unwrap();
    assert!(named.starts_with("name = \"other\"\n"), "{named}");
    ran(&mut pgdyno(&["pack", "new", "a b"])).expect(2, &["letters, digits, - and _"]);
    ran(&mut pgdyno(&["pack", "new", "x", "--table", "T"])).expect(2, &["lower-case letters"]);

    let manifest = std::fs::read_to_string(format!("{mine}/pack.toml")).unwrap();
    let broken = manifest
        .replace("read.sql", "reed.sql")
        .replace("min = 1\n", "min = 1_000_000\n");
    std::fs::write(format!("{mine}/pack.toml"), broken).unwrap();
    let reported = ran(&mut pgdyno(&["pack", "check", mine]));
    let reported = reported.expect(
        1,
        &[
            "there is no file \"reed.sql\"",
            "it must be at least",
            "2 mistakes",
        ],
    );
    assert!(
        reported.stdout.starts_with(&format!("{mine}/pack.toml:")),
        "{reported:#?}"
    );
    let json = ran(&mut pgdyno(&["pack", "check", mine, "--json"])).expect(1, &[]);
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["wrong"].as_array().unwrap().len(), 2, "{json:#}");
    assert!(json["wrong"][0]["line"].as_u64().unwrap() > 1);
    ran(&mut pgdyno(&["pack", "check", "./nowhere"])).expect(1, &["there is no such folder"]);
}

#[test]
fn a_new_pack_loads_and_runs_and_a_mistake_of_sql_has_its_line() {
    let database = Database::new("pack_new");
    let dir = tempfile::tempdir().unwrap();
    let mine = dir.path().join("mine");
    let mine = mine.to_str().unwrap();
    ran(&mut pgdyno(&["pack", "new", mine, "--table", "items"])).expect(0, &[]);
    let run = ["run", mine, "--no-store", "-t", "20", "-c", "2"];
    database
        .pgdyno(&run)
        .expect(0, &["0 failed", "1 of 1 held"]);
    database.sql("DELETE FROM items WHERE id = 7");
    let kept = ["run", mine, "--no-store", "-t", "1", "--mix", "write-only"];
    database.pgdyno(&kept).expect(0, &["1 of 1 held"]);
    database.sql("UPDATE items SET hits = -1 WHERE id = 8");
    database.pgdyno(&kept).expect(1, &["FAILED hits "]);

    let schema = "-- Mine.\nCREATE TABLE items (\n  id bigint PRIMARY KEY,\n  hits bigimt NOT NULL,\n  note text);\n";
    std::fs::write(format!("{mine}/schema.sql"), schema).unwrap();
    let want = format!(
        "could not create the tables ({mine}/schema.sql:4): type \"bigimt\" does not exist"
    );
    database
        .pgdyno(&["load", mine, "--replace", "--quiet"])
        .expect(1, &[&want]);
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
