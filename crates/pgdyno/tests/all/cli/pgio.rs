//! `pgdyno pgio` on a real PostgreSQL: pgio's configuration, lines and files are its own.

use std::ffi::OsStr;
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

/// A program with the environment of pgdyno's tests.
fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    for (name, value) in pgdyno(&[]).get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

/// The values of a session's file.
fn session(dir: &Path, table: u64, session: u64) -> Vec<String> {
    let file = dir.join(format!(".pgio_schema_{table}_{session}.out"));
    let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let head = text.lines().position(|line| line.starts_with(" mypid |"));
    let row = text.lines().nth(head.unwrap() + 2).unwrap();
    row.split('|').map(|cell| cell.trim().to_owned()).collect()
}

#[test]
fn the_articles_commands_run_with_another_size_time_and_server() {
    let database = Database::new("pgio_article");
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("pgio");
    pgio(dir.path(), &["files", "pgio"]).expect(0, &["pgio/setup.sh", "pgio/runit.sh"]);
    let line = ARTICLE
        .replace("SCALE=1000000", "SCALE=16384")
        .replace("RUN_TIME=1000", "RUN_TIME=5")
        .replace(
            "postgres://yugabyte:yugabyte@yb1.pachot.net:5433/yugabyte",
            &database.url,
        );
    fs::write(folder.join("pgio.conf"), line).unwrap();
    let sh = |script: &str| ran(program("sh").arg(script).current_dir(&folder));
    pgio(&folder, &["run", "--no-store"])
        .expect(1, &["there is no table pgio1", "pgdyno pgio setup"]);
    sh("./setup.sh").expect(
        0,
        &[
            "Job info:      Loading 16384 scale into 1 schemas as per pgio.conf->NUM_SCHEMAS.\n",
            "\nGroup data loading phase complete.         Elapsed: ",
            "pgio1: 16384 rows each, loaded in ",
        ],
    );
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let sizes = read("pgio_data_load_table_sizes.out");
    assert!(sizes.contains("| total_size "), "{sizes}");
    assert!(sizes.contains(" \"public\".\"pgio1\" "), "{sizes}");
    let base = read("pgio_base_table_load.out");
    let lines: Vec<&str> = base.lines().collect();
    assert_eq!(
        lines[..3],
        [
            "ERROR:  table \"pgio_base\" does not exist",
            "Timing is on.",
            "COPY 16384"
        ]
    );
    assert!(
        lines[3].starts_with("Time: ") && lines[3].ends_with(" ms"),
        "{base}"
    );
    // As psql describes the table.
    let table = "                  Table \"public.pgio_base\"
 Column  |      Type       | Collation | Nullable | Default~
---------+-----------------+-----------+----------+---------
 mykey   | bigint          |           | not null |~
 scratch | bigint          |           | not null |~
 filler  | character(1024) |           | not null |~

";
    assert!(base.ends_with(&table.replace('~', " ")), "{base}");
    let run = sh("./runit.sh").expect(
        0,
        &[
            "Testing 1 schemas with 1 thread(s) accessing 16384 (16384 blocks) of each schema.\n\
             Running iostat, vmstat and mpstat on current host--in background.\n\
             Launching sessions. 1 schema(s) will be accessed by 1 thread(s) each.\n\
             pg_stat_database stats:\n          \
             datname| blks_hit| blks_read|tup_returned|tup_fetched|tup_updated\nBEFORE:  pgio_article |",
            "\nDBNAME:  pgio_article. 1 schemas, 1 threads(each). Run time: 5 seconds. RIOPS >",
            "DBNAME=yugabyte names another database",
            "LIOPS        ",
            " by EXPLAIN (100 of them, ",
        ],
    );
    assert!(run.stdout.starts_with("Date: "), "{run:?}");
    assert!(!run.stdout.contains("WARNING [accounting-off]"), "{run:?}");
    assert_eq!(
        read("pgio_objects_creation.out"),
        "CREATE PROCEDURE\nCREATE TABLE\n"
    );
    assert_eq!(
        database.value("SELECT count(c10) FROM pgio_audit_table"),
        "0"
    );
    let row = session(&folder, 1, 1);
    let number = |index: usize| row[index].parse::<u64>().unwrap();
    assert!(number(0) > 0 && number(1) > 0, "{row:?}");
    assert_eq!((number(1), number(3)), (number(2), 0), "{row:?}");
    // Each SELECT reads as many rows as it says, not one more.
    assert_eq!(number(6), 1000 * number(2), "{row:?}");
    // Seconds with eight digits; none for updates that there were not.
    let (whole, digits) = row[4].split_once('.').unwrap();
    assert!(whole.parse::<u64>().is_ok() && digits.len() == 8, "{row:?}");
    assert_eq!(row[5], "0.0");
    let detail = read("pgio_session_detail.out");
    let of_detail: Vec<&str> = detail
        .lines()
        .nth(4)
        .unwrap()
        .split('|')
        .map(str::trim)
        .collect();
    assert_eq!(of_detail, row);
    for (name, head) in [
        ("iostat.out", "avg-cpu:  %user"),
        ("vmstat.out", " r  b   swpd   free"),
        ("mpstat.out", "     CPU    %usr"),
        ("pgio_diskstats.out", "\n"),
    ] {
        assert!(read(name).contains(head), "{name}: {}", read(name));
    }
    // One since the machine was started, and one each three seconds, or fewer where it is busy.
    assert!(read("iostat.out").matches("avg-cpu:").count() >= 2);
}

#[test]
fn a_table_grows_by_the_articles_statement_and_runs_on() {
    let database = Database::new("pgio_grown");
    let dir = tempfile::tempdir().unwrap();
    let conf = format!(
        "SCALE=${{SCALE:-1024}} RUN_TIME=1 NUM_SCHEMAS=1 NUM_THREADS=1 WORK_UNIT=64\nCONNECT_STRING='{}'\n",
        database.url
    );
    fs::write(dir.path().join("pgio.conf"), conf).unwrap();
    pgio(dir.path(), &["setup"]).expect(0, &["pgio1: 1024 rows each"]);
    let base = "SELECT count(*), count(DISTINCT mykey), min(mykey), max(mykey), pg_relation_size(\
                'pgio_base') < 200 * 8192 FROM pgio_base";
    assert_eq!(database.value(base), "1024|1024|1|1024|t");
    database.sql(
        "do $$ begin for i in 1..5 loop insert into pgio1 select * from pgio_base; commit; end \
         loop; end; $$",
    );
    assert_eq!(database.value("SELECT count(*) FROM pgio1"), "6144");
    pgio(dir.path(), &["run", "--no-store"]).expect(0, &["1 schemas, 1 threads(each)"]);
    let row = session(dir.path(), 1, 1);
    let number = |index: usize| row[index].parse::<u64>().unwrap();
    assert_eq!(number(6), 6 * 64 * number(2), "{row:?}");
    // The next setup begins again.
    pgio(dir.path(), &["setup"]).expect(0, &["pgio1: 1024 rows each, loaded"]);
    assert_eq!(database.value("SELECT count(*) FROM pgio1"), "1024");
}

#[test]
fn a_run_may_use_fewer_schemas_than_were_loaded_and_not_more() {
    let database = Database::new("pgio_fewer");
    let dir = tempfile::tempdir().unwrap();
    let conf = "SCALE=1024 RUN_TIME=1 NUM_SCHEMAS=3 NUM_THREADS=2 WORK_UNIT=64 UPDATE_PCT=100\n";
    let conf = format!("{conf}CONNECT_STRING='{}'\n", database.url);
    fs::write(dir.path().join("pgio.conf"), conf).unwrap();
    pgio(dir.path(), &["setup"]).expect(0, &["pgio1 to pgio3: 1024 rows each"]);
    let sum = |table: &str| database.value(&format!("SELECT sum(scratch) FROM {table}"));
    let before = ["pgio1", "pgio2", "pgio3"].map(sum);
    pgio(dir.path(), &["run", "--no-store", "NUM_SCHEMAS=2"]).expect(
        0,
        &[
            "Testing 2 schemas with 2 thread(s)",
            "2 schemas, 2 threads(each)",
        ],
    );
    let after = ["pgio1", "pgio2", "pgio3"].map(sum);
    assert!(before[0] != after[0] && before[1] != after[1]);
    assert_eq!(before[2], after[2]);
    for (table, number) in [(1, 1), (1, 2), (2, 1), (2, 2)] {
        assert!(
            session(dir.path(), table, number)[3]
                .parse::<u64>()
                .unwrap()
                > 0
        );
    }
    let more = pgio(dir.path(), &["run", "NUM_SCHEMAS=4"]);
    let said = ["there is no table pgio4", "NUM_SCHEMAS: fewer"];
    let more = more.expect(1, &said);
    assert!(!more.stderr.contains("--param"), "{more:#?}");
    pgio(dir.path(), &["run", "UPDATE_PCT=60"]).expect(
        2,
        &["FATAL : UPDATE_PCT \"60\" BETWEEN 51 and 99 ARE NOT SUPPORTED."],
    );
}

#[test]
fn tables_of_pgios_own_setup_are_run_on_and_replaced() {
    let database = Database::new("pgio_stock");
    let columns = "(mykey bigint, scratch bigint, filler character(1024))";
    for table in ["pgio1", "pgio2"] {
        database.sql(&format!(
            "CREATE TABLE {table} {columns} WITH (fillfactor=10); \
             CREATE INDEX {table}_idx ON {table} (mykey); \
             INSERT INTO {table} SELECT n, random() * 1000000000, 'X' FROM generate_series(1, 1024) n"
        ));
    }
    database.sql(&format!("CREATE TABLE pgio_base {columns}"));
    let dir = tempfile::tempdir().unwrap();
    let conf = "SCALE=1024 RUN_TIME=1 NUM_SCHEMAS=2 NUM_THREADS=1 WORK_UNIT=64\n";
    let conf = format!("{conf}CONNECT_STRING='{}'\n", database.url);
    fs::write(dir.path().join("pgio.conf"), conf).unwrap();
    pgio(dir.path(), &["run", "--no-store"]).expect(0, &["2 schemas, 1 threads(each)"]);
    pgio(dir.path(), &["setup"]).expect(
        0,
        &[
            "replaces tables of pgio's own setup: pgio1, pgio2, pgio_base",
            "loaded in",
        ],
    );
    assert_eq!(database.value("SELECT count(*) FROM pgio_base"), "1024");
    let own = pgio(dir.path(), &["setup"]).expect(0, &["loaded in"]);
    assert!(!own.stderr.contains("pgio's own setup"), "{own:?}");
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
    let mut named = program(&link);
    let run = ran(named
        .args(["run", "--no-store", "--out", out, "SCALE=1024"])
        .current_dir(dir.path()))
    .expect(0, &["2 schemas, 2 threads(each)"]);
    assert!(!run.stdout.contains("NOT VALID"), "{run:?}");
    let mut updates = 0;
    for (table, number) in [(1, 1), (1, 2), (2, 1), (2, 2)] {
        let file = format!("{out}/.pgio_schema_{table}_{number}.out");
        let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{file}: {e}"));
        let row = session(Path::new(out), table, number);
        let notice = format!(
            "NOTICE:  I am PID \"{}\" : My table is \"pgio{table}\" : UPDATE_PCT \"20\" : RUN TIME \
             SECONDS \"1\"\n",
            row[0]
        );
        assert!(text.starts_with(&notice), "{text}");
        updates += row[7].parse::<u64>().unwrap();
    }
    // Every row that a session says it changed has been changed.
    assert!(updates > 0);
}

#[test]
fn an_unreadable_configuration_is_an_error_with_its_place() {
    let dir = tempfile::tempdir().unwrap();
    pgio(dir.path(), &["run"]).expect(2, &["could not read pgio.conf", "--conf FILE"]);
    fs::write(dir.path().join("pgio.conf"), "SCALE=1G\nrm -rf /\n").unwrap();
    pgio(dir.path(), &["run"]).expect(1, &["pgio.conf:2: \"rm\" is no assignment"]);
    fs::write(dir.path().join("other"), "CONNECT_STRING='-X' SCALE=1G\n").unwrap();
    pgio(dir.path(), &["setup", "--conf", "other"]).expect(2, &["-X is no option"]);
    pgio(dir.path(), &["setup", "--conf", "other", "SCALE=1"]).expect(2, &["this is 1 blocks"]);
    pgio(dir.path(), &["setup", "--out", "none"]).expect(1, &["pgio.conf:2: \"rm\""]);
    fs::write(dir.path().join("runit.sh"), "#!/bin/bash\n").unwrap();
    pgio(dir.path(), &["files", "."])
        .expect(2, &["./runit.sh is there already", "another directory"]);
    // By its own name the usage is its own.
    let link = dir.path().join("pgio");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_pgdyno"), &link).unwrap();
    ran(program(&link).arg("run").arg("--help")).expect(0, &["Usage: pgio run [OPTIONS]"]);
    ran(program(&link).arg("rum")).expect(2, &["Usage: pgio [OPTIONS] <COMMAND>"]);
}
