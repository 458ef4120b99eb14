//! `pgdyno pgio` on a real PostgreSQL: pgio's configuration, lines and files are its own.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{Database, Ran, pgdyno, ran};

/// The line of the article about SLOB on YugabyteDB, as its echo writes it.
const ARTICLE: &str = "UPDATE_PCT=0 RUN_TIME=1000 NUM_SCHEMAS=1 NUM_THREADS=1 WORK_UNIT=1000 \
    UPDATE_WORK_UNIT=8 SCALE=1000000 DBNAME=yugabyte \
    CONNECT_STRING='postgres://yugabyte:yugabyte@yb1.pachot.net:5433/yugabyte' \
    CREATE_BASE_TABLE=TRUE\n";

fn pgio(dir: &Path, args: &[&str]) -> Ran {
    ran(pgdyno(&["pgio"]).args(args).current_dir(dir))
}

#[test]
fn the_articles_configuration_runs_with_another_size_time_and_server() {
    let database = Database::new("pgio_article");
    let dir = tempfile::tempdir().unwrap();
    let line = ARTICLE
        .replace("SCALE=1000000", "SCALE=16384")
        .replace("RUN_TIME=1000", "RUN_TIME=8")
        .replace(
            "postgres://yugabyte:yugabyte@yb1.pachot.net:5433/yugabyte",
            &database.url,
        );
    fs::write(dir.path().join("pgio.conf"), line).unwrap();
    pgio(dir.path(), &["run", "--no-store"])
        .expect(1, &["there is no table pgio1", "pgdyno pgio setup"]);
    pgio(dir.path(), &["setup"]).expect(0, &["pgio1: 16384 rows each, loaded in "]);
    let run = pgio(dir.path(), &["run", "--no-store"]).expect(
        0,
        &[
            "Testing 1 schemas with 1 thread(s) accessing 16384 (16384 blocks) of each schema.\n\
             Launching sessions. 1 schema(s) will be accessed by 1 thread(s) each.\n\
             pg_stat_database stats:\n          \
             datname| blks_hit| blks_read|tup_returned|tup_fetched|tup_updated\nBEFORE:  pgio_article |",
            "\nDBNAME:  pgio_article. 1 schemas, 1 threads(each). Run time: 8 seconds. RIOPS >",
            "DBNAME=yugabyte names another database",
            "LIOPS        ",
            " by EXPLAIN (100 of them, ",
        ],
    );
    assert!(run.stdout.starts_with("Date: "), "{run:?}");
    assert!(!run.stdout.contains("WARNING [accounting-off]"), "{run:?}");
    let file = fs::read_to_string(dir.path().join(".pgio_schema_1_1.out")).unwrap();
    let row: Vec<&str> = file
        .lines()
        .nth(2)
        .unwrap()
        .split('|')
        .map(str::trim)
        .collect();
    let number = |index: usize| row[index].parse::<u64>().unwrap();
    assert!(number(0) > 0 && number(1) > 0, "{file}");
    assert_eq!((number(1), number(3)), (number(2), 0), "{file}");
    // Each SELECT reads as many rows as it says, not one more.
    assert_eq!(number(6), 1000 * number(2), "{file}");
}

#[test]
fn pgio_drops_only_what_it_made_and_touches_no_more_than_there_is() {
    let database = Database::new("pgio_own");
    database.sql("CREATE TABLE pgio1 (mine text); INSERT INTO pgio1 VALUES ('kept')");
    let dir = tempfile::tempdir().unwrap();
    let conf = "SCALE=1024 RUN_TIME=1 NUM_SCHEMAS=2 NUM_THREADS=2 UPDATE_PCT=20 WORK_UNIT=64\n";
    let conf = format!("{conf}CONNECT_STRING='{}'\n", database.url);
    fs::write(dir.path().join("pgio.conf"), conf).unwrap();
    let refused = pgio(dir.path(), &["setup"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert_eq!(database.value("SELECT mine FROM pgio1"), "kept");
    database.sql("DROP TABLE pgio1");
    pgio(dir.path(), &["setup"]).expect(0, &["pgio1 to pgio2: 1024 rows each, loaded"]);
    pgio(dir.path(), &["setup", "CREATE_BASE_TABLE=FALSE"]).expect(0, &["there already"]);
    pgio(dir.path(), &["run", "SCALE=2048"])
        .expect(1, &["SCALE=2048 is 2048 rows, and pgio1 has 1024"]);
    let out = dir.path().join("out");
    let out = out.to_str().unwrap();
    pgio(dir.path(), &["run", "--out", out]).expect(2, &["no such directory"]);
    fs::create_dir(out).unwrap();
    // By its own name.
    let link = dir.path().join("pgio");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_pgdyno"), &link).unwrap();
    let mut named = Command::new(&link);
    for (name, value) in pgdyno(&[]).get_envs() {
        match value {
            Some(value) => named.env(name, value),
            None => named.env_remove(name),
        };
    }
    let run = ran(named
        .args(["run", "--no-store", "--out", out, "SCALE=1024"])
        .current_dir(dir.path()))
    .expect(0, &["2 schemas, 2 threads(each)"]);
    assert!(!run.stdout.contains("NOT VALID"), "{run:?}");
    let mut updates = 0;
    for (table, session) in [(1, 1), (1, 2), (2, 1), (2, 2)] {
        let file = format!("{out}/.pgio_schema_{table}_{session}.out");
        let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{file}: {e}"));
        let row: Vec<&str> = text
            .lines()
            .nth(2)
            .unwrap()
            .split('|')
            .map(str::trim)
            .collect();
        updates += row[7].parse::<u64>().unwrap();
    }
    // Every row that a session says it changed has been changed.
    assert!(updates > 0);
}

#[test]
fn a_configuration_that_cannot_be_read_is_told_with_its_place() {
    let dir = tempfile::tempdir().unwrap();
    pgio(dir.path(), &["run"]).expect(2, &["could not read pgio.conf", "--conf FILE"]);
    fs::write(dir.path().join("pgio.conf"), "SCALE=1G\nrm -rf /\n").unwrap();
    pgio(dir.path(), &["run"]).expect(1, &["pgio.conf:2: \"rm\" is no assignment"]);
    fs::write(dir.path().join("other"), "CONNECT_STRING='-X' SCALE=1G\n").unwrap();
    pgio(dir.path(), &["setup", "--conf", "other"]).expect(2, &["-X is no option"]);
    pgio(dir.path(), &["setup", "--conf", "other", "SCALE=1"]).expect(2, &["this is 1 blocks"]);
}
