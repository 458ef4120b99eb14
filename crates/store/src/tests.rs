//! The store as a whole: whose file it takes for its own, and how it grows.

use pgdyno_model::stamp::stamp;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use pgdyno_model::State;
use pgdyno_spec::{Failure, TrialSpec};

use super::begin::example;
use super::schema::ddl;
use super::{Copied, Store, schema};
use pgdyno_model::notebook::{ExperimentHeader, Filter, TrialHeader};

fn dir() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn a_store_of_a_newer_pgdyno_is_read_and_left_as_it_is() {
    let dir = dir();
    let path = dir.path().join("s");
    drop(Store::open(&path).unwrap());
    let raw = Connection::open(&path).unwrap();
    raw.pragma_update(None, "user_version", 99).unwrap();
    drop(raw);
    let before = std::fs::read(&path).unwrap();
    let store = Store::open(&path).unwrap();
    assert_eq!(store.count(&Filter::default()), Ok(0), "it is read");
    let header = ExperimentHeader {
        name: "x".to_owned(),
        definition: String::new(),
    };
    for e in [
        store.check_writable().unwrap_err(),
        store.begin(&example()).err().unwrap(),
        store.begin_experiment(&header).unwrap_err(),
        store.set_note(1, None).unwrap_err(),
        store.add_tag(1, "a").unwrap_err(),
        store.remove(1).unwrap_err(),
        store.import(&dir.path().join("other")).unwrap_err(),
    ] {
        let e = e.to_string();
        assert!(e.contains("is of a newer pgdyno (version 99"), "{e}");
        assert!(e.contains("hint: use the newer pgdyno"), "{e}");
    }
    drop(store);
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn another_programs_database_is_left_as_it_is() {
    let dir = dir();
    let path = dir.path().join("theirs");
    let raw = Connection::open(&path).unwrap();
    raw.execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
        .unwrap();
    drop(raw);
    let before = std::fs::read(&path).unwrap();
    for open in [Store::open, Store::existing] {
        let e = open(&path).err().unwrap().to_string();
        assert!(e.contains("is no pgdyno store"), "{e}");
    }
    let own = Store::open(&dir.path().join("s"));
    let e = own.unwrap().import(&path).unwrap_err().to_string();
    assert!(e.contains("is no pgdyno store"), "{e}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(
        std::fs::read_dir(dir.path()).unwrap().count(),
        2,
        "no journal is left"
    );
}

#[test]
fn a_damaged_store_is_said_to_be_damaged() {
    let dir = dir();
    let path = dir.path().join("s");
    drop(Store::open(&path).unwrap());
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[100..4096].fill(0xff);
    std::fs::write(&path, bytes).unwrap();
    let e = Store::open(&path).err().unwrap().to_string();
    assert!(e.contains("the file is damaged"), "{e}");
}

#[test]
fn the_tables_are_made_once_by_however_many_at_once() {
    let dir = dir();
    let path = dir.path().join("deep/down/s");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let store = Store::open(&path).unwrap();
                store.begin(&example()).unwrap().fail("over").unwrap();
            });
        }
    });
    let store = Store::existing(&path).unwrap();
    assert_eq!(store.count(&Filter::default()), Ok(8));
    let version = store
        .db
        .query_row("PRAGMA user_version", [0; 0], |row| row.get(0));
    assert_eq!(version.ok(), Some(schema::VERSION));
}

#[test]
fn a_specs_values_have_columns_of_their_own() {
    let dir = dir();
    let store = Store::open(&dir.path().join("s")).unwrap();
    let spec = TrialSpec {
        rate: Some(2.5.into()),
        ..example().spec
    };
    let header = TrialHeader {
        spec: spec.clone(),
        ..example()
    };
    let number = store.begin(&header).unwrap().number();
    let trial = store.trial(&number.to_string()).unwrap();
    assert_eq!(
        (&trial.spec, trial.load_sha256),
        (&spec, spec.load_sha256())
    );
    assert_eq!(store.outcome(number).unwrap().spec, spec);
    let sql = "SELECT clients, rate_per_s, warmup_s, retry, max_tries, reconnect FROM trial";
    let row = store.db.query_row(sql, [0; 0], |row| {
        Ok((
            row.get(0)?,
            row.get(1)?,
            row.get(2)?,
            row.get(3)?,
            row.get(4)?,
            row.get(5)?,
        ))
    });
    let row: (u32, f64, f64, String, u32, bool) = row.unwrap();
    assert_eq!(row, (1, 2.5, 0.0, "none".to_owned(), 1, false));
    // Fields that another build knows are no reason not to read a trial; what lacks is the default.
    let other = "UPDATE trial_begun SET spec = '{\"clients\": 7, \"from_the_future\": [1]}'";
    store.db.execute_batch(other).unwrap();
    let read = store.outcome(number).unwrap().spec;
    assert_eq!(
        read,
        TrialSpec {
            clients: Some(7.into()),
            ..TrialSpec::default()
        }
    );
}

#[test]
fn a_store_that_is_open_keeps_its_locks_when_it_is_opened_again() {
    let dir = dir();
    let path = dir.path().join("s");
    let store = Store::open(&path).unwrap();
    let locks = || {
        let inode = std::fs::metadata(&path).unwrap().ino();
        let pid = std::process::id();
        let locks = std::fs::read_to_string("/proc/locks").unwrap();
        let ours = |line: &&str| {
            line.contains(&format!(" {pid} ")) && line.contains(&format!(":{inode} "))
        };
        locks.lines().filter(ours).count()
    };
    let before = locks();
    assert!(before > 0, "SQLite holds a lock while a store is open");
    for _ in 0..2 {
        drop(Store::open(&path).unwrap());
        drop(Store::existing(&path).unwrap());
        assert_eq!(locks(), before);
    }
    drop(store);
    assert_eq!(locks(), 0);
}

#[test]
fn ten_thousand_trials_are_listed_without_reading_each_for_itself() {
    let dir = dir();
    let store = Store::open(&dir.path().join("s")).unwrap();
    let sweep = ExperimentHeader {
        name: "big".to_owned(),
        definition: String::new(),
    };
    let of_experiment = TrialHeader {
        experiment: Some(store.begin_experiment(&sweep).unwrap().number),
        tags: vec!["new".to_owned()],
        ..example()
    };
    store.begin(&of_experiment).unwrap().fail("over").unwrap();
    let rest = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 9999)";
    let values = |table: &str| {
        let columns = ddl::of(table)
            .columns
            .iter()
            .map(|column| match column.name {
                "number" | "trial" => "n + 1",
                "uuid" => "lower(hex(randomblob(16)))",
                "workload" => "'load' || (n % 10)",
                "experiment" => "iif(n % 100, NULL, experiment)",
                "created" => "strftime('%Y-%m-%dT%H:%M:%fZ', created, '-' || n || ' minutes')",
                // Facts of a real server are so long.
                "facts" => "json_set(facts, '$.version', hex(zeroblob(1000)))",
                other => other,
            });
        columns.collect::<Vec<_>>().join(", ")
    };
    for table in ["trial_begun", "trial_ended"] {
        let (names, values) = (ddl::of(table).names(), values(table));
        let sql = format!("{rest} INSERT INTO {table} ({names}) SELECT {values} FROM n, {table}");
        store.db.execute_batch(&sql).unwrap();
    }
    let quick = |filter: Filter, count: usize| {
        let began = Instant::now();
        assert_eq!(store.trials(&filter).unwrap().len(), count, "{filter:?}");
        let took = began.elapsed();
        // A look at all for each, 10^8 rows, takes minutes. How fast a list is: make test-long PART=size.
        assert!(took < Duration::from_secs(20), "{took:?} for {filter:?}");
    };
    let all = Filter::default;
    quick(all(), 10_000);
    quick(
        Filter {
            limit: Some(50),
            ..all()
        },
        50,
    );
    quick(
        Filter {
            workload: Some("load3".to_owned()),
            ..all()
        },
        1000,
    );
    quick(
        Filter {
            experiment: Some("big".to_owned()),
            ..all()
        },
        100,
    );
    quick(
        Filter {
            tags: vec!["new".to_owned()],
            ..all()
        },
        1,
    );
    quick(
        Filter {
            state: Some(State::Running),
            ..all()
        },
        0,
    );
    let hour_ago = stamp(std::time::SystemTime::now() - Duration::from_secs(3600));
    quick(
        Filter {
            since: Some(hour_ago),
            ..all()
        },
        60,
    );
    assert_eq!(store.count(&all()), Ok(10_000));
    assert_eq!(store.count_up_to(&all(), 100), Ok(100));
    // One trial, one experiment, the running ones: found by an index, however many there are.
    for (condition, index) in [
        (
            "uuid >= 'ab' AND uuid < 'abg'",
            "sqlite_autoindex_trial_begun_1",
        ),
        ("workload = 'load3'", "trial_workload"),
        ("experiment = 1", "trial_experiment"),
        ("created >= '2026'", "trial_created"),
        ("true ORDER BY created DESC, number DESC", "trial_created"),
    ] {
        let sql = format!("EXPLAIN QUERY PLAN SELECT * FROM trial WHERE {condition}");
        let plan: String = store.db.query_row(&sql, [0; 0], |row| row.get(3)).unwrap();
        assert!(plan.contains(index), "{condition}: {plan}");
    }
}

#[test]
fn what_has_ended_is_not_looked_at_when_a_file_is_opened() {
    let dir = dir();
    let path = dir.path().join("s");
    let store = Store::open(&path).unwrap();
    let over = store.begin(&example()).unwrap();
    let ended = over.number();
    over.fail("over").unwrap();
    let runs = store.begin(&example()).unwrap();
    let found = |sql: &str| -> Vec<i64> {
        let select = store.db.prepare(sql);
        select.query_map([0; 0], |row| row.get(0)).unwrap()
    };
    assert_eq!(found(super::end::MAY_RUN), [runs.number()]);
    assert_eq!(
        found("SELECT number FROM trial_begun WHERE pid IS NULL"),
        [ended]
    );
    let sql = format!("EXPLAIN QUERY PLAN {}", super::end::MAY_RUN);
    let plan: String = store.db.query_row(&sql, [0; 0], |row| row.get(3)).unwrap();
    assert!(plan.contains("trial_runs"), "{plan}");
    // Opened by another: the one that runs is left alone, and is known to have died when it has.
    assert_eq!(Store::open(&path).unwrap().count(&Filter::default()), Ok(2));
    let sql = "UPDATE trial_begun SET pid_started = 1 WHERE number = ?";
    store.db.execute(sql, [runs.number()]).unwrap();
    drop(Store::open(&path).unwrap());
    let state = |number: i64| store.trial(&number.to_string()).unwrap().state;
    assert_eq!(state(ended), State::Failed);
    assert_eq!(state(runs.number()), State::Aborted);
    assert!(found(super::end::MAY_RUN).is_empty());
}

#[test]
fn trials_are_copied_once_with_their_experiment() {
    let dir = dir();
    let (path, copy) = (dir.path().join("s"), dir.path().join("copy"));
    let store = Store::open(&path).unwrap();
    let sweep = ExperimentHeader {
        name: "disks".to_owned(),
        definition: String::new(),
    };
    let experiment = store.begin_experiment(&sweep).unwrap().number;
    let of_experiment = TrialHeader {
        experiment: Some(experiment),
        tags: vec!["new".to_owned()],
        ..example()
    };
    store.begin(&of_experiment).unwrap().fail("over").unwrap();
    store.begin(&example()).unwrap().fail("over").unwrap();
    let running = store.begin(&example()).unwrap();
    let copied = |trials, known, running| {
        Ok(Copied {
            trials,
            known,
            running,
        })
    };
    assert_eq!(store.export(None, &copy), copied(2, 0, 1));
    let e = store.export(None, &copy).unwrap_err().to_string();
    assert!(e.contains("exists already"), "{e}");
    let other = Store::open(&dir.path().join("other")).unwrap();
    other.begin(&example()).unwrap().fail("over").unwrap();
    assert_eq!(other.import(&copy), copied(2, 0, 0));
    assert_eq!(other.import(&copy), copied(0, 2, 0));
    let filter = Filter {
        experiment: Some("disks".to_owned()),
        tags: vec!["new".to_owned()],
        ..Filter::default()
    };
    let there = other.trials(&filter).unwrap();
    let here = store.trials(&filter).unwrap();
    assert_eq!((there.len(), here.len()), (1, 1));
    assert_eq!(there[0].uuid, here[0].uuid);
    assert_ne!(there[0].number, here[0].number);
    let statements = "SELECT count(*) FROM statement";
    let count = other.query(statements).unwrap().rows[0][0].text();
    assert_eq!(count, "3");
    // Its numbers go on behind those that were removed.
    let number = there[0].number;
    other.remove(number).unwrap();
    assert!(
        other.experiment("disks").is_err(),
        "gone with its last trial"
    );
    assert_eq!(other.import(&copy), copied(1, 1, 0));
    assert!(other.trials(&filter).unwrap()[0].number > number);
    let e = store.remove(running.number()).unwrap_err().to_string();
    assert!(e.contains("trial 3 is running"), "{e}");
    let e = store.import(&path).unwrap_err().to_string();
    assert!(e.contains("is the store itself"), "{e}");
}

#[test]
fn a_number_that_no_trial_has_is_no_beginning_of_a_uuid() {
    let dir = dir();
    let store = Store::open(&dir.path().join("s")).unwrap();
    for uuid in ["1234567a-0", "1234567a-1", "12345678-0"] {
        store.begin(&example()).unwrap().fail("over").unwrap();
        let sql = "UPDATE trial_begun SET uuid = ? WHERE number = (SELECT max(number) FROM trial)";
        store.db.execute(sql, [uuid]).unwrap();
    }
    assert_eq!(store.trial_number("3"), Ok(3));
    assert_eq!(store.trial_number("12345678"), Ok(3));
    assert_eq!(store.trial_number("1234567A-1"), Ok(2));
    for none in ["1234", "1234567", "0", "-1", "", "12345679", "beef", "123g"] {
        let e = store.trial_number(none).unwrap_err().to_string();
        assert!(e.contains("there is no trial"), "{none}: {e}");
    }
    let e = store.trial_number("1234567a").unwrap_err().to_string();
    assert!(
        e.contains("2 trials have a UUID that begins with 1234567a"),
        "{e}"
    );
}

#[test]
fn sql_changes_nothing_and_opens_no_other_file() {
    let dir = dir();
    let store = Store::open(&dir.path().join("s")).unwrap();
    store.begin(&example()).unwrap().fail("over").unwrap();
    let other = dir.path().join("other");
    let other = other.display();
    for sql in [
        "DELETE FROM trial".to_owned(),
        "UPDATE trial SET note = 'x' RETURNING number".to_owned(),
        format!("ATTACH '{other}' AS other"),
        format!("VACUUM INTO '{other}'"),
        "PRAGMA user_version = 7".to_owned(),
        "CREATE TEMP TABLE t (a)".to_owned(),
        "SELECT 1; DELETE FROM trial".to_owned(),
        "SELEC 1".to_owned(),
        "SELECT ?".to_owned(),
        String::new(),
    ] {
        let answer = store.query(&sql);
        // A value that is not given is NULL; a second statement is never reached.
        let harmless = ["SELECT ?", "PRAGMA user_version = 7"].contains(&&*sql);
        assert!(answer.is_err() || harmless, "{sql}: {answer:?}");
    }
    assert!(!dir.path().join("other").exists());
    let answer = store
        .query("SELECT count(*), 1.5, NULL, x'0a', (SELECT user_version FROM pragma_user_version) FROM trial")
        .unwrap();
    let cells: Vec<String> = answer.rows[0].iter().map(|cell| cell.text()).collect();
    assert_eq!(cells, ["1", "1.5", "", "0a", &schema::VERSION.to_string()]);
}

/// A store of one trial, changed by SQL that is not pgdyno's.
fn changed(sql: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let store = Store::open(&path).unwrap();
    store.begin(&example()).unwrap().fail("broke").unwrap();
    drop(store);
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    (dir, path)
}

#[test]
fn a_store_with_tables_that_are_not_pgdynos_is_refused_before_anything_is_read() {
    let endless = "CREATE VIEW trial AS WITH RECURSIVE r(number) AS \
                   (SELECT 1 UNION ALL SELECT number FROM r) SELECT number FROM r";
    let forged = "PRAGMA writable_schema = ON; INSERT INTO sqlite_schema VALUES ('trigger', 'sqlite_x', \
                  'trial_begun', 0, 'CREATE TRIGGER sqlite_x AFTER UPDATE ON trial_begun BEGIN SELECT 1; END')";
    let cases = [
        (format!("DROP VIEW trial; {endless}"), "trial"),
        ("CREATE TABLE more (a)".to_owned(), "more"),
        (
            "CREATE TRIGGER t AFTER UPDATE ON tag BEGIN DELETE FROM tag; END".to_owned(),
            "t",
        ),
        ("CREATE INDEX i ON tag (lower(tag))".to_owned(), "i"),
        (forged.to_owned(), "sqlite_x"),
        // A name of an export's tables is no way around it, either.
        ("CREATE VIEW bucket AS SELECT 1 AS n".to_owned(), "bucket"),
        // Another version than this pgdyno's is no way around it.
        (
            format!("DROP VIEW trial; {endless}; PRAGMA user_version = 9"),
            "trial",
        ),
        (
            format!("{}; PRAGMA user_version = 9", "CREATE VIEW v AS SELECT 1"),
            "v",
        ),
        (
            "CREATE VIEW v AS SELECT 1; PRAGMA user_version = -3".to_owned(),
            "v",
        ),
    ];
    for (sql, name) in cases {
        let (_dir, path) = changed(&sql);
        for open in [Store::existing, Store::open] {
            let error = open(&path).map(drop).expect_err(&sql).to_string();
            for word in ["are not pgdyno's", &format!("{name:?}"), "--store"] {
                assert!(error.contains(word), "{sql}: {error}");
            }
        }
        assert!(
            !Store::unjudged(&path)
                .unwrap()
                .foreign_tables()
                .unwrap()
                .is_empty()
        );
    }
    // Statistics are SQLite's own.
    let (_dir, path) = changed("ANALYZE");
    assert_eq!(
        Store::existing(&path).unwrap().foreign_tables().unwrap(),
        [""; 0]
    );
}

#[test]
fn texts_have_limits() {
    let (_dir, path) = changed("UPDATE trial_begun SET note = hex(zeroblob(2000000))");
    let store = Store::existing(&path).unwrap();
    let note = store.trial("1").unwrap().note.unwrap();
    assert_eq!(note.len(), 65_536);
    let error = store.set_note(1, Some(&note.repeat(2))).unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("at most 65536 characters") && error.contains("keep the text in a file"),
        "{error}"
    );
    store.set_note(1, Some(&note)).unwrap();
    // What fills the memory is not read at all.
    let (_dir, path) = changed("UPDATE trial_begun SET note = hex(zeroblob(20000000))");
    let error = Store::existing(&path).unwrap().trial("1").unwrap_err();
    assert!(error.to_string().contains("longer than 32 MiB"), "{error}");
}

#[test]
fn all_texts_of_a_trial_have_a_limit() {
    // Each value is short enough by itself.
    let events = |pieces: u32, bytes: u32| {
        let sql = format!(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {pieces}) \
             INSERT INTO event SELECT 1, 1000 + i, 5, 'note', hex(zeroblob({bytes} / 2)), NULL, NULL FROM n"
        );
        changed(&sql)
    };
    let (_dir, path) = events(7, 8 << 20);
    let store = Store::existing(&path).unwrap();
    assert_eq!(store.events(1, "note").unwrap().len(), 7);
    assert!(store.outcome(1).is_ok());
    let (_dir, path) = events(9, 8 << 20);
    let store = Store::existing(&path).unwrap();
    let said = "trial 1 has 72 MiB of text, and at most 64 are read";
    let refused = |error: Failure| assert!(error.to_string().contains(said), "{error}");
    refused(store.outcome(1).err().unwrap());
    refused(store.events(1, "note").unwrap_err());
    let dir = dir();
    let own = Store::open(&dir.path().join("own")).unwrap();
    refused(own.import(&path).unwrap_err());
    assert_eq!(own.count(&Filter::default()).unwrap(), 0);
    // Lists read none of it, and the beginnings of names.
    assert_eq!(store.trials(&Filter::default()).unwrap().len(), 1);
    let (_dir, path) = changed(
        "UPDATE trial_begun SET workload = hex(zeroblob(100000)), target = workload, note = workload, \
         excluded = workload",
    );
    let listed = Store::existing(&path).unwrap().listed(&Filter::default());
    let listed = listed.unwrap().remove(0);
    let note = listed.note.unwrap();
    let texts = [&listed.workload, &listed.target, &note];
    assert!(texts.iter().all(|text| text.len() <= 4096));
    assert_eq!(listed.workload.len(), 4096);
}

#[test]
fn sqlite_is_built_without_what_notebooks_do_not_use() {
    let connection = Connection::open_in_memory().unwrap();
    let mut select = connection.prepare("PRAGMA compile_options").unwrap();
    let options = select.query_map([], |row| row.get(0)).unwrap();
    let options: Vec<String> = options.map(Result::unwrap).collect();
    for unused in ["FTS", "RTREE", "ENABLE_LOAD_EXTENSION"] {
        let found: Vec<&String> = options.iter().filter(|one| one.contains(unused)).collect();
        assert!(found.is_empty(), "{found:?}");
    }
}

#[test]
fn a_journal_that_cannot_be_mapped_is_a_lack_of_memory() {
    use rusqlite::ffi::{Error as Code, SQLITE_IOERR_READ, SQLITE_IOERR_SHMMAP};
    let said = |code| {
        let error = rusqlite::Error::SqliteFailure(Code::new(code), None);
        super::trouble("n.sqlite".as_ref(), "cannot read", &error.into()).to_string()
    };
    assert!(said(SQLITE_IOERR_SHMMAP).contains("hint: raise the limit on memory"));
    assert!(!said(SQLITE_IOERR_READ).contains("memory"));
}

#[test]
fn a_new_file_that_another_process_still_writes_is_waited_for() {
    let dir = dir();
    let path = dir.path().join("s");
    drop(Store::open(&path).unwrap());
    // As it is when its tables were just made.
    let other = Connection::open(&path).unwrap();
    let to_rollback = other.pragma_update(None, "journal_mode", "delete");
    to_rollback.unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let opening = std::thread::spawn(move || Store::open(&path).map(drop));
    std::thread::sleep(Duration::from_millis(200));
    assert!(!opening.is_finished(), "it waits");
    other.execute_batch("COMMIT").unwrap();
    opening.join().unwrap().unwrap();
}
