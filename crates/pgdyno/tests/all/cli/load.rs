//! `pgdyno load`: tables that equal pgbench's, and what happens to tables that are there already.

use std::process::{Command, Stdio};

use pgdyno_platform::child::{Signal, send_signal};

use crate::support::{Database, connect, ended, pgdyno, ran};

/// All that makes a table what it is to a query, and a digest of its rows.
const DEFINITIONS: &str = "
    SELECT c.relname, c.relkind, c.relpersistence, c.reloptions::text,
      (SELECT string_agg(concat_ws(' ', attnum, attname, format_type(atttypid, atttypmod),
              attnotnull, attstorage, attcollation::regcollation), ', ' ORDER BY attnum)
       FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0),
      (SELECT string_agg(pg_get_indexdef(indexrelid) || indisprimary, ', ' ORDER BY indexrelid)
       FROM pg_index WHERE indrelid = c.oid),
      (SELECT string_agg(conname || pg_get_constraintdef(oid), ', ' ORDER BY conname)
       FROM pg_constraint WHERE conrelid = c.oid)
    FROM pg_class c WHERE relname LIKE 'pgbench%' AND relkind = 'r' ORDER BY 1";

const ROWS: &str = "
    SELECT 'b', count(*), sum(hashtextextended(t::text, 0)) FROM pgbench_branches t
    UNION ALL SELECT 't', count(*), sum(hashtextextended(t::text, 0)) FROM pgbench_tellers t
    UNION ALL SELECT 'a', count(*), sum(hashtextextended(t::text, 0)) FROM pgbench_accounts t
    UNION ALL SELECT 'h', count(*), sum(hashtextextended(t::text, 0)) FROM pgbench_history t
    ORDER BY 1";

const OIDS: &str = "SELECT relname, oid FROM pg_class WHERE relname LIKE 'pgbench%' ORDER BY 1";

/// Stock pgbench on a database; it must succeed.
fn stock(pgbench: &std::path::Path, db: &Database, args: &[&str]) -> crate::support::Ran {
    ran(Command::new(pgbench).args(args).arg(&db.url)).expect(0, &[])
}

#[test]
fn tpcb_is_what_pgbench_i_makes() {
    let Some(pgbench) = pgdyno_testkit::stock_pgbench() else {
        pgdyno_testkit::skip!("tpcb_is_what_pgbench_i_makes", "no stock pgbench 18");
    };
    let theirs = Database::new("equal_theirs");
    let ours = Database::new("equal_ours");
    stock(&pgbench, &theirs, &["-i", "-q", "-s", "2", "-F", "90"]);
    ours.pgdyno(&[
        "load",
        "tpcb",
        "--param",
        "scale=2",
        "--param",
        "fillfactor=90",
    ])
    .expect(0, &["200,022 rows"]);
    assert_eq!(ours.rows(DEFINITIONS), theirs.rows(DEFINITIONS));
    assert_eq!(ours.rows(DEFINITIONS).len(), 4);
    assert_eq!(ours.rows(ROWS), theirs.rows(ROWS));
    // Frozen and seen by all, as pgbench leaves them: no vacuum will disturb a run.
    let pages = "SELECT relpages > 0 AND relallvisible = relpages FROM pg_class WHERE relname = \
                 'pgbench_accounts'";
    assert_eq!(ours.value(pages), "t");
    let frozen = "SELECT count(*) FROM pg_stat_all_tables WHERE relname = 'pgbench_accounts' AND \
                  last_analyze IS NOT NULL";
    ours.wait_for(&format!("{frozen} HAVING count(*) = 1"));

    stock(&pgbench, &ours, &["-t", "10", "-c", "3", "-b", "tpcb-like"])
        .expect(0, &["scaling factor: 2"]);
    assert_eq!(ours.value("SELECT count(*) FROM pgbench_history"), "30");
    theirs.pgdyno(&["load", "select-only"]).expect(
        0,
        &["that pgdyno did not create (fillfactor = 90, foreign_keys = false, scale = 2)"],
    );
}

#[test]
fn what_is_loaded_is_left_alone_until_it_may_be_replaced() {
    let db = Database::new("replaced");
    db.pgdyno(&["load", "tpcb"]).expect(
        0,
        &["tpcb is loaded (fillfactor = 100, foreign_keys = false, scale = 1): 100,011 rows"],
    );
    let oids = db.rows(OIDS);
    // By the same name, by another pack on the same tables, with the same value said.
    db.pgdyno(&["load", "tpcb"]).expect(
        0,
        &["already loaded (fillfactor = 100, foreign_keys = false, scale = 1)"],
    );
    db.pgdyno(&["load", "update", "--param", "scale=1"])
        .expect(0, &["already loaded"]);
    db.pgdyno(&["load", "tpcb", "--param", "scale=2"])
        .expect(1, &["loaded with scale = 1, not 2", "--replace"]);
    db.pgdyno(&["load", "tpcb", "--param", "fillfactor=50"])
        .expect(1, &["loaded with fillfactor = 100, not 50", "--replace"]);
    assert_eq!(db.rows(OIDS), oids);
    db.pgdyno(&["load", "tpcb", "--param", "scale=2", "--replace"])
        .expect(0, &["200,022 rows"]);
    assert_ne!(db.rows(OIDS), oids);
    let quiet = db.pgdyno(&["load", "tpcb", "-q"]).expect(0, &[]);
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("", ""));
}

#[test]
fn tables_that_pgdyno_did_not_make_are_dropped_only_by_name() {
    let db = Database::new("foreign_tables");
    db.sql("CREATE TABLE data (filler text); INSERT INTO data VALUES ('precious')");
    db.pgdyno(&["load", "insert-size"])
        .expect(0, &["that pgdyno did not create"]);
    db.pgdyno(&["load", "insert-size", "--replace"]).expect(
        1,
        &[
            "will not drop data: pgdyno did not make them",
            "--drop-tables data",
        ],
    );
    db.pgdyno(&["load", "insert-size", "--drop-tables", "other"])
        .expect(2, &["pack insert-size has no such table (it has: data)"]);
    assert_eq!(db.value("SELECT filler FROM data"), "precious");
    db.pgdyno(&["load", "insert-size", "--drop-tables", "data"])
        .expect(0, &["is loaded"]);
    assert_eq!(db.value("SELECT count(*) FROM data"), "0");

    // A comment that only looks like a mark makes nothing pgdyno's.
    db.sql("COMMENT ON TABLE data IS 'made by pgdyno: yes'");
    db.pgdyno(&["load", "insert-size", "--replace"])
        .expect(1, &["will not drop data"]);
}

#[test]
fn tables_that_do_not_fit_are_refused_and_kept() {
    let db = Database::new("misfits");
    db.sql("CREATE TABLE data (id int, filler text)");
    db.pgdyno(&["load", "insert-size"]).expect(
        1,
        &["table data has the columns id, filler, but pack insert-size needs filler"],
    );
    db.sql("CREATE TABLE pgbench_tellers (tid int)");
    db.pgdyno(&["load", "tpcb"]).expect(
        1,
        &[
            "pgbench_branches is missing",
            "--drop-tables pgbench_tellers",
        ],
    );
    assert_eq!(
        db.value("SELECT count(*) FROM pg_class WHERE relname IN ('data', 'pgbench_tellers')"),
        "2"
    );
    // Tables without rows hold no scale.
    db.sql("DROP TABLE pgbench_tellers");
    db.pgdyno(&["load", "tpcb"]).expect(0, &["is loaded"]);
    db.sql("TRUNCATE pgbench_branches");
    db.pgdyno(&["load", "tpcb"])
        .expect(1, &["with scale = 0: it must be at least 1"]);
    // What else hangs on a table is never dropped with it.
    db.sql("CREATE VIEW mine AS SELECT * FROM pgbench_tellers");
    db.pgdyno(&["load", "tpcb", "--replace"]).expect(
        1,
        &[
            "could not drop the old tables: cannot drop",
            "view mine depends on table pgbench_tellers",
            "the tables are as they were",
        ],
    );
    assert_eq!(db.value("SELECT count(*) FROM mine"), "10");
}

/// Begins a load that takes a while, and waits until accounts go in: the tables before have fewer
/// rows than are waited for.
fn long_load(db: &Database) -> std::process::Child {
    let child = pgdyno(&["load", "tpcb", "--param", "scale=500", "--url", &db.url])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    db.wait_for(
        "SELECT 1 FROM pg_stat_progress_copy WHERE tuples_processed > 10000 AND datname \
                 = current_database()",
    );
    child
}

#[test]
fn an_interrupted_load_says_what_it_leaves_and_is_taken_up_again() {
    let db = Database::new("interrupted");
    let child = long_load(&db);
    // No other process loads meanwhile.
    db.pgdyno(&["load", "tpcb"])
        .expect(1, &["another pgdyno is loading into this database"]);
    send_signal(child.id(), Signal::Interrupt).unwrap();
    ended(child.wait_with_output().unwrap()).expect(
        130,
        &[
            "loading tpcb was interrupted",
            "incomplete tables left: pgbench_branches, ",
            "starts again",
        ],
    );
    assert_eq!(
        db.value(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgdyno' \
                         AND datname = current_database()"
        ),
        "0"
    );
    // Other parameters would throw away what is there.
    for command in ["load", "run"] {
        db.pgdyno(&[command, "tpcb"]).expect(
            1,
            &[
                "a load of tpcb with scale = 500, not 1, was interrupted here",
                "--param scale=500` continues that load",
                "`pgdyno load tpcb --replace` drops the existing tables",
            ],
        );
    }
    assert_ne!(db.value("SELECT to_regclass('pgbench_accounts')"), "");
    db.pgdyno(&["load", "tpcb", "--replace"])
        .expect(0, &["100,011 rows"]);
    db.pgdyno(&["load", "tpcb"]).expect(0, &["already loaded"]);
}

#[test]
fn an_interrupt_also_ends_a_long_statement() {
    let db = Database::new("interrupted_statement");
    // A lock that another session holds: the load waits inside one statement.
    db.pgdyno(&["load", "insert-size"]).expect(0, &[]);
    let mut holder = connect(&db.url);
    holder.simple_query("BEGIN; LOCK TABLE data").unwrap();
    let child = pgdyno(&["load", "insert-size", "--replace", "--url", &db.url])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    db.wait_for(
        "SELECT 1 FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM \
                 pg_database WHERE datname = current_database())",
    );
    send_signal(child.id(), Signal::Terminate).unwrap();
    ended(child.wait_with_output().unwrap()).expect(
        143,
        &[
            "loading insert-size was interrupted",
            "the tables are as they were",
        ],
    );
    holder.simple_query("COMMIT").unwrap();
    db.pgdyno(&["load", "insert-size"])
        .expect(0, &["already loaded"]);
}

#[test]
fn a_connection_lost_during_a_load_is_an_error_and_the_next_load_works() {
    let db = Database::new("lost");
    let child = long_load(&db);
    db.sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = \
            'pgdyno' AND datname = current_database()",
    );
    ended(child.wait_with_output().unwrap()).expect(
        3,
        &["could not fill pgbench_accounts", "incomplete tables left"],
    );
    db.pgdyno(&["load", "tpcb", "--replace"])
        .expect(0, &["100,011 rows"]);
}

#[test]
fn a_role_without_the_right_to_create_tables_is_an_error() {
    let db = Database::new("unprivileged");
    db.sql("CREATE ROLE pgdyno_reader LOGIN");
    let url = db.url.replace("postgres@", "pgdyno_reader@");
    ran(&mut pgdyno(&["load", "tpcb", "--url", &url])).expect(
        1,
        &[
            "could not create the tables: permission denied for schema public (SQLSTATE 42501)",
            "no table was created",
        ],
    );
}

#[test]
fn a_read_only_server_is_an_error() {
    let db = Database::new("readonly");
    let url = format!("{}&options=-c%20default_transaction_read_only%3Don", db.url);
    ran(&mut pgdyno(&["load", "tpcb", "--url", &url]))
        .expect(1, &["read-only transaction", "standby"]);
}

#[test]
fn a_full_disk_is_an_error() {
    // A file system of a few megabytes, which only root can make.
    let dir = tempfile::Builder::new()
        .prefix("pgdyno-full-")
        .tempdir_in("/var/tmp")
        .unwrap();
    let path = dir.path().to_str().unwrap();
    let mount = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=8m,mode=777", "pgdyno-test", path])
        .output();
    if !mount.is_ok_and(|m| m.status.success()) {
        pgdyno_testkit::skip!(
            "a_full_disk_is_an_error",
            "only root can mount a small file system"
        );
    }
    struct Mounted<'a>(&'a str);
    impl Drop for Mounted<'_> {
        fn drop(&mut self) {
            let _ = Command::new("umount").args(["-l", self.0]).output();
        }
    }
    let _mounted = Mounted(path);
    let db = Database::new("full_disk");
    // The server's user must own the directory.
    let owner = db.value("SELECT (pg_stat_file('PG_VERSION')).size");
    assert_eq!(owner, "3");
    let data = pgdyno_testkit::postgres().data_dir();
    let chown = Command::new("chown")
        .arg(format!("--reference={}", data.display()))
        .arg(path)
        .output()
        .unwrap();
    assert!(chown.status.success());
    std::fs::set_permissions(
        dir.path(),
        std::os::unix::fs::PermissionsExt::from_mode(0o700),
    )
    .unwrap();
    let mut session = connect(&db.url);
    session
        .simple_query(&format!("CREATE TABLESPACE tiny LOCATION '{path}'"))
        .unwrap();
    let url = format!("{}&options=-c%20default_tablespace%3Dtiny", db.url);
    ran(&mut pgdyno(&["load", "tpcb", "--url", &url])).expect(
        1,
        &[
            "could not fill pgbench_accounts",
            "No space left on device (SQLSTATE 53100)",
            "incomplete tables left",
        ],
    );
    // With room elsewhere it is taken up again.
    db.pgdyno(&["load", "tpcb"]).expect(0, &["is loaded"]);
    session.simple_query("DROP TABLESPACE tiny").unwrap();
}

#[test]
fn a_users_own_folder_is_loaded_like_a_shipped_pack() {
    let db = Database::new("own_folder");
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    write(
        "pack.toml",
        r#"
name = "cities"
summary = "A table of all kinds of columns"
schema = "schema.sql"
[[param]]
name = "rows"
default = 5
min = 0
help = "Rows"
[[script]]
name = "one"
file = "one.sql"
[[table]]
name = "cities"
rows = ":rows"
columns = [
  { name = "id", value = ":row" },
  { name = "share", value = ":row / 2.0" },
  { name = "even", value = ":row % 2 = 0" },
  { name = "order", value = "CASE WHEN :row > 3 THEN NULL ELSE random(7, 7) END" },
  { name = "note", text = "tab\tand \\ and\nline" },
]
"#,
    );
    write(
        "schema.sql",
        "CREATE TABLE cities (id int, share float8, even bool, \"order\" int, note text);",
    );
    write("one.sql", "SELECT 1;");
    let path = dir.path().to_str().unwrap();
    db.pgdyno(&["load", path])
        .expect(0, &["cities is loaded (rows = 5): 5 rows"]);
    assert_eq!(
        db.rows(
            "SELECT id, share, even, \"order\", note = E'tab\\tand \\\\ and\\nline' FROM \
                 cities ORDER BY id"
        ),
        [
            "1|0.5|f|7|t",
            "2|1|t|7|t",
            "3|1.5|f|7|t",
            "4|2|t|NULL|t",
            "5|2.5|f|NULL|t"
        ]
    );
    // Without a `loaded` query the mark knows what the rows are.
    db.pgdyno(&["load", path, "--param", "rows=6"])
        .expect(1, &["loaded with rows = 5, not 6"]);
    db.pgdyno(&["load", path, "--param", "rows=0", "--replace"])
        .expect(0, &["0 rows"]);
    // A schema that the server refuses leaves nothing behind.
    write("schema.sql", "CREATE TABLE cities (id no_such_type);");
    db.pgdyno(&["load", path, "--replace"])
        .expect(1, &["no_such_type", "the tables are as they were"]);
    // The tables are of an older version of the pack now.
    db.pgdyno(&["load", path])
        .expect(0, &["already loaded", "another version of pack cities"]);
    // A value that does not fit its column.
    write(
        "schema.sql",
        "CREATE TABLE cities (id smallint, share float8, even bool, \"order\" int, note text);",
    );
    db.pgdyno(&["load", path, "--param", "rows=40000", "--replace"])
        .expect(
            1,
            &[
                "could not fill cities: value \"32768\" is out of range",
                "line 32768",
                "incomplete tables left",
            ],
        );

    // An expression that fails in some row.
    let manifest = std::fs::read_to_string(dir.path().join("pack.toml")).unwrap();
    write(
        "pack.toml",
        &manifest.replace(":row / 2.0", "100 / (:row - 30000)"),
    );
    db.pgdyno(&["load", path, "--param", "rows=40000", "--replace"])
        .expect(
            1,
            &[
                "column \"share\": value: division by zero (row 30000)",
                "incomplete tables left",
            ],
        );
    assert_eq!(db.value("SELECT count(*) FROM cities"), "0");
}

#[test]
fn foreign_keys_that_the_server_has_not_validated_are_named_after_a_load() {
    let db = Database::new("half_validated");
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    file(
        "pack.toml",
        "name = 'half'\nsummary = 'A parent and its children'\nschema = 'schema.sql'\n\
         after_load = 'keys.sql'\n[[script]]\nname = 'read'\nfile = 'read.sql'\n\
         [[table]]\nname = 'parent'\nrows = '10'\ncolumns = [{ name = 'id', value = ':row' }]\n\
         [[table]]\nname = 'child'\nrows = '10'\ncolumns = [{ name = 'id', value = ':row' }]\n",
    );
    file("read.sql", "SELECT 1;\n");
    file(
        "schema.sql",
        "CREATE TABLE parent (id int PRIMARY KEY);\nCREATE TABLE child (id int);\n",
    );
    let add = "ALTER TABLE child ADD CONSTRAINT child_id_fkey FOREIGN KEY (id) REFERENCES parent";
    let pack = folder.path().to_str().unwrap().to_owned();
    for (more, is_reported) in [(" NOT VALID", true), ("", false)] {
        file("keys.sql", &format!("{add}{more};\n"));
        let ran = db.pgdyno(&["load", &pack, "--drop-tables", "parent,child"]);
        let ran = ran.expect(0, &["is loaded"]);
        let reported = "foreign keys that are not validated: child_id_fkey: ";
        assert_eq!(ran.stderr.contains(reported), is_reported, "{ran:#?}");
        let remedy = "ALTER TABLE \"child\" VALIDATE CONSTRAINT \"child_id_fkey\"";
        assert_eq!(ran.stderr.contains(remedy), is_reported, "{ran:#?}");
    }
}
