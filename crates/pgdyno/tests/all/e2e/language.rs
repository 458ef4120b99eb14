//! pgdyno's own language from a script file to the report.

use std::fs;

use serde_json::Value;

use crate::support::{Database, pgdyno, ran};

/// Three inserts a transaction, and the newest one read back.
const SCRIPT: &str = "\
BEGIN;
\\for i 1 3
\\set key ycsb_key(next_key('rows', :first), 'java')
\\set value 'it''s ' || zero_pad(:i, 4)
INSERT INTO usertable VALUES (:key, :value);
\\endfor
END;
\\set last acknowledged('rows', :first)
\\if :last >= :first
\\set key ycsb_key(latest(:first, :last), 'java')
SELECT count(*) AS found FROM usertable WHERE ycsb_key = :key \\gset
\\if :found <> 1
\\error :key || ' is lost'
\\endif
\\endif
";

#[test]
fn a_script_with_texts_loops_and_counters_runs_in_every_mode() {
    let db = Database::new("language");
    db.sql("CREATE TABLE usertable (ycsb_key text PRIMARY KEY, field0 text)");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("native.sql");
    fs::write(&file, SCRIPT).unwrap();
    let file = file.to_str().unwrap();
    for mode in ["simple", "extended", "prepared"] {
        db.sql("TRUNCATE usertable");
        let args = [
            "run", file, "-c", "4", "-j", "2", "-t", "20", "--param", "first=0", "-M", mode,
        ];
        db.pgdyno(&args).expect(0, &["(80 committed"]);
        let right = "SELECT count(*), count(DISTINCT field0), max(field0) FROM usertable";
        assert_eq!(db.rows(right), ["240|3|it's 0003"], "{mode}");
        let first = "SELECT count(*) FROM usertable WHERE ycsb_key = 'user6284781860667377211'";
        assert_eq!(db.value(first), "1", "{mode}");
    }
}

#[test]
fn a_broken_invariant_is_in_all_reports() {
    let db = Database::new("invariant");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("sum.sql");
    let script = "SELECT 999 AS sum \\gset\n\\if :sum <> 1000\n\
                  \\error 'the sum is ' || :sum || ', not 1000'\n\\endif\n";
    fs::write(&file, script).unwrap();
    let file = file.to_str().unwrap();
    let store = crate::support::notebook::at(&dir.path().join("store.sqlite"));
    let store = store.to_str().unwrap();
    let said = format!("{file}:3: the sum is 999, not 1000");
    let headline = format!("BROKEN INVARIANT: {said}");

    let run = db
        .pgdyno(&["run", file, "-c", "2", "-T", "30", "--store", store])
        .expect(1, &[&headline]);
    assert!(run.stderr.contains("found an invariant broken"), "{run:?}");
    let shown = ran(&mut pgdyno(&["show", "1", "--store", store]));
    shown.expect(0, &[&headline]);
    let json = ran(&mut pgdyno(&["show", "1", "--json", "--store", store])).expect(0, &[]);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["end"], "invariant-broken");
    assert_eq!(json["broken_invariant"], said);
    assert_eq!(json["stored"]["state"], "failed");
    let failed = &json["measured"]["failed_by_class"]["invariant"];
    assert!(failed.as_u64() >= Some(1), "{json}");
}

#[test]
fn the_pgbench_door_does_not_speak_it() {
    let db = Database::new("not_spoken");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("native.sql");
    fs::write(&file, SCRIPT).unwrap();
    let path = file.to_str().unwrap();
    let reported =
        format!("pgbench: error: {path}:2: invalid command in command \"for\"\n\\for i 1 3\n");
    let ran = ran(&mut pgdyno(&["pgbench", "-n", "-f", path, &db.url]));
    assert_eq!((ran.code, ran.stderr), (Some(1), reported));
}
