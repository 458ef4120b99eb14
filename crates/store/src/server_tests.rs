//! A notebook on a server, against real ones.

use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};

use pgdyno_measurement::{Interval, ScriptInterval};
use pgdyno_model::notebook::{ExperimentHeader, Filter, Kind, Offer, Rendezvous, TrialHeader};
use pgdyno_model::{Observer, Outcome, State};
use pgdyno_testkit::{MAJORS, RecordingProxy, postgres, postgres_of, record_skip};

use super::begin::example;
use super::db::{Db, Value, params};
use super::schema::ddl::{TABLES, Table};
use super::{Place, Pushed, Store};

/// A new database on a server: its URL.
pub(super) fn database(server: &str) -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("notes_{}_{number}", std::process::id());
    execute(server, &format!("CREATE DATABASE {name}"));
    server.replace("/postgres?", &format!("/{name}?"))
}

fn execute(url: &str, sql: &str) {
    let (db, _) = super::connect(url).unwrap();
    db.execute_batch(sql).unwrap();
}

/// A notebook there, for which rows wait in this folder.
pub(super) fn notebook(url: &str, folder: &Path) -> Store {
    let (store, made) = Store::init(Path::new(url)).unwrap();
    assert!(made);
    drop(store);
    opened(url, folder)
}

fn opened(url: &str, folder: &Path) -> Store {
    let mut store = Store::open(Path::new(url)).unwrap();
    let Place::Server(remote) = &mut store.place else {
        panic!("{url} is a file");
    };
    remote.waiting = folder.join("waiting.sqlite");
    store
}

/// A row in every table that belongs to the trial, with values that are hard to carry.
fn fill(db: &Db, trial: i64) {
    let parts = TABLES.iter().filter(|table| table.is_part());
    for table in parts.filter(|table| table.name != "trial_ended") {
        let sql = "SELECT name, type FROM pragma_table_info(?) ORDER BY cid";
        let columns = db.prepare(sql).query_map([table.name], |row| {
            Ok((row.get::<String>(0)?, row.get::<String>(1)?))
        });
        let value = |(name, kind): (String, String)| match (name.as_str(), kind.as_str()) {
            ("trial", _) => Value::Integer(trial),
            ("kind", _) if table.name == "series" => Value::Text("gauge".to_owned()),
            ("figures", _) => Value::Text(r#"{"3":0.30000000000000004}"#.to_owned()),
            (_, "INTEGER") => Value::Integer(i64::MAX - 7),
            (_, "REAL") => Value::Real(0.1 + 0.2),
            (_, "BLOB") => Value::Blob((0..=255).collect()),
            (_, "BOOLEAN") => Value::Integer(1),
            _ => Value::Text("it's \\ \"ß\" \n? $1 \u{1f600}".to_owned()),
        };
        let values: Vec<Value> = columns.unwrap().into_iter().map(value).collect();
        let places = vec!["?"; values.len()].join(", ");
        let sql = format!(
            "INSERT INTO {} VALUES ({places}) ON CONFLICT DO NOTHING",
            table.name
        );
        db.execute(&sql, values).unwrap();
    }
}

/// All rows, without the numbers, which are each store's own.
fn dump(store: &Store, table: &Table) -> Vec<String> {
    let own = ["number", "trial", "experiment"];
    let names = table.columns.iter().map(|column| column.name);
    let names: Vec<&str> = names.filter(|name| !own.contains(name)).collect();
    let sql = format!("SELECT {} FROM {}", names.join(", "), table.name);
    let mut rows = store.db.prepare(&sql).query_map([0; 0], |row| {
        let values: Vec<Value> = (0..names.len()).map(|at| row.value(at).unwrap()).collect();
        Ok(format!("{values:?}"))
    });
    let rows = rows.as_mut().unwrap();
    rows.sort_unstable();
    std::mem::take(rows)
}

fn second(writer: &mut super::TrialWriter) {
    let mut interval = Interval::default();
    interval.scripts.push(ScriptInterval::default());
    Observer::<Outcome>::second(writer, &interval);
}

#[test]
fn trials_go_to_every_version_and_back_with_every_table() {
    for major in MAJORS {
        let server = match postgres_of(major) {
            Ok(server) => server,
            Err(why) => {
                record_skip("trials_go_to_every_version_and_back_with_every_table", &why);
                continue;
            }
        };
        let dir = tempfile::tempdir().unwrap();
        let file = Store::open(&dir.path().join("s")).unwrap();
        let sweep = ExperimentHeader {
            name: "disks".to_owned(),
            definition: "clients = [1, 2]".to_owned(),
        };
        let header = TrialHeader {
            experiment: Some(file.begin_experiment(&sweep).unwrap().number),
            tags: vec!["new".to_owned(), "old".to_owned()],
            note: Some("it's".to_owned()),
            ..example()
        };
        let writer = file.begin(&header).unwrap();
        let number = writer.number();
        writer.fail("over").unwrap();
        fill(&file.db, number);
        let url = database(&server.address().url());
        let there = notebook(&url, dir.path());
        // So that numbers differ.
        let other = Store::open(&dir.path().join("other")).unwrap();
        other.begin(&example()).unwrap().fail("another").unwrap();
        assert_eq!(there.copy_from(&other, None).unwrap().trials, 1);
        assert_eq!(there.copy_from(&file, None).unwrap().trials, 1);
        assert_eq!(there.copy_from(&file, None).unwrap().known, 1);
        let back = Store::open(&dir.path().join("back")).unwrap();
        let filter = Filter {
            experiment: Some("disks".to_owned()),
            tags: vec!["new".to_owned()],
            ..Filter::default()
        };
        let listed = there.trials(&filter).unwrap();
        assert_eq!((listed.len(), listed[0].number), (1, 2), "{major}");
        assert_eq!(back.copy_from(&there, Some(&[2])).unwrap().trials, 1);
        // Nor does a copy have where a trial ran.
        assert!(file.ran_here(number).unwrap() && !there.ran_here(2).unwrap());
        let forgotten = "UPDATE trial_begun SET host_name = NULL";
        file.db.execute(forgotten, params![]).unwrap();
        // Where generators met is of no use elsewhere.
        let stays = |table: &&Table| ["meeting", "generator", "word"].contains(&table.name);
        for table in TABLES.iter().filter(|table| !stays(table)) {
            let first = dump(&file, table);
            assert!(!first.is_empty(), "{major}: {}", table.name);
            assert_eq!(first, dump(&back, table), "{major}: {}", table.name);
        }
        let mut here = file.trials(&filter).unwrap();
        (here[0].number, here[0].experiment) = (2, listed[0].experiment);
        assert_eq!(here, listed, "{major}");
        let sql = "SELECT clients, seed, reconnect, duration_s, observe FROM trial \
                   ORDER BY number DESC LIMIT 1";
        let cells = |store: &Store| {
            let row = store.query(sql).unwrap().rows.remove(0);
            row.iter().map(|cell| cell.text()).collect::<Vec<_>>()
        };
        assert_eq!(cells(&back), cells(&there), "{major}");
        for view in [
            "timeline",
            "failures",
            "setting",
            "reading",
            "statement",
            "result",
        ] {
            there.query(&format!("SELECT * FROM {view}")).unwrap();
        }
        there.remove(2).unwrap();
        assert!(
            there.experiment("disks").is_err(),
            "gone with its last trial"
        );
    }
}

#[test]
fn a_trial_on_a_server_reads_as_one_in_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let store = notebook(&database(&postgres().address().url()), dir.path());
    let mut writer = store.begin(&example()).unwrap();
    let number = writer.number();
    second(&mut writer);
    writer.keep_event("error", 5, "it's gone");
    writer.fail("over").unwrap();
    assert_eq!(store.waits(), Ok(0), "all of it has arrived");
    let file = Store::open(&dir.path().join("file")).unwrap();
    assert_eq!(file.copy_from(&store, None).unwrap().trials, 1);
    let outcome = |store: &Store| format!("{:?}", store.outcome(number).unwrap().recording);
    assert_eq!(outcome(&store), outcome(&file));
    assert_eq!(store.seconds(number), file.seconds(number));
    let latencies = |store: &Store| {
        store
            .latencies(number, None, Kind::Service)
            .unwrap()
            .count()
    };
    assert_eq!(latencies(&store), latencies(&file));
    assert_eq!(store.events(number, "error").unwrap(), ["it's gone"]);
    assert_eq!(store.happened(number, "checkpoint", "pg.events"), Ok(None));
    store.set_note(number, Some("mine")).unwrap();
    store.set_excluded(number, Some("noise")).unwrap();
    store.add_tag(number, "a").unwrap();
    store.add_tag(number, "a").unwrap();
    let trial = store.trial(&number.to_string()).unwrap();
    assert_eq!(
        (trial.note.as_deref(), trial.tags),
        (Some("mine"), vec!["a".to_owned()])
    );
    assert_eq!(trial.excluded.as_deref(), Some("noise"));
    assert_eq!(store.trial_number(&trial.uuid[..8]), Ok(number));
    assert_eq!(store.remove_tag(number, "a"), Ok(true));
}

#[test]
fn a_server_without_a_notebook_says_how_to_make_one() {
    let url = database(&postgres().address().url());
    let e = Store::open(Path::new(&url)).err().unwrap().to_string();
    assert!(e.contains("there is no notebook at postgresql://"), "{e}");
    assert!(e.contains("pgdyno store init"), "{e}");
    let e = Store::init(Path::new("s.sqlite"))
        .err()
        .unwrap()
        .to_string();
    assert!(e.contains("names no server"), "{e}");
    let e = Store::open(Path::new("service=no_such_service"))
        .err()
        .unwrap();
    assert!(e.to_string().contains("cannot be used"), "{e}");
    let closed = pgdyno_testkit::closed_address();
    let e = Store::open(Path::new(&format!("postgresql://me@{closed}/x")))
        .err()
        .unwrap();
    assert!(
        e.to_string()
            .contains("cannot open the store postgresql://me@"),
        "{e}"
    );
    Store::init(Path::new(&url)).unwrap();
    let (_, made) = Store::init(Path::new(&url)).unwrap();
    assert!(!made, "a second time changes nothing");
    execute(&url, "UPDATE notebook SET version = 99");
    let store = Store::open(Path::new(&url)).unwrap();
    assert_eq!(store.count(&Filter::default()), Ok(0), "it is read");
    let e = store.check_writable().unwrap_err().to_string();
    assert!(e.contains("is of a newer pgdyno (version 99"), "{e}");
}

#[test]
fn select_and_insert_suffice_for_those_who_measure() {
    let dir = tempfile::tempdir().unwrap();
    let url = database(&postgres().address().url());
    drop(notebook(&url, dir.path()));
    let role = format!("measures_{}", std::process::id());
    execute(
        &url,
        &format!(
            "CREATE ROLE {role} LOGIN; \
             GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA public TO {role}"
        ),
    );
    let store = opened(&format!("{url}&options=-crole%3D{role}"), dir.path());
    store.check_writable().unwrap();
    let writer = store.begin(&example()).unwrap();
    let number = writer.number();
    writer.fail("over").unwrap();
    assert_eq!(store.waits(), Ok(0), "all of it has arrived");
    let e = store.set_note(number, Some("no")).unwrap_err().to_string();
    assert!(
        e.contains("permission denied") && e.contains("UPDATE"),
        "{e}"
    );
    let may = |store: &Store| -> Vec<Option<bool>> {
        let grants = store.grants().unwrap();
        grants.into_iter().map(|(_, may)| may).collect()
    };
    let (yes, no) = (Some(true), Some(false));
    assert_eq!(may(&store), [yes, yes, no, no]);
    // A server that does not tell is not asked for more.
    execute(
        &url,
        "REVOKE EXECUTE ON FUNCTION has_table_privilege(text, text) FROM PUBLIC",
    );
    assert_eq!(may(&store), [None; 4]);
    store.check_writable().unwrap();
    let e = store
        .query("DELETE FROM trial_begun")
        .unwrap_err()
        .to_string();
    assert!(e.contains("read-only"), "{e}");
}

#[test]
fn ten_writers_at_once_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let url = database(&postgres().address().url());
    let store = notebook(&url, dir.path());
    std::thread::scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|| {
                let store = opened(&url, dir.path());
                let mut writer = store.begin(&example()).unwrap();
                for at_us in 0..20 {
                    writer.keep_event("error", at_us, "lost");
                }
                writer.fail("over").unwrap();
            });
        }
    });
    store.push().unwrap();
    let sql = "SELECT count(DISTINCT trial), count(*) FROM event WHERE kind = 'error'";
    let cells = store.query(sql).unwrap().rows.remove(0);
    let cells: Vec<String> = cells.iter().map(|cell| cell.text()).collect();
    assert_eq!(cells, ["10", "200"]);
    assert_eq!(store.count(&Filter::default()), Ok(10));
    assert_eq!(store.waits(), Ok(0));
}

#[test]
fn generators_without_a_key_that_come_at_once_meet_in_one_place() {
    let dir = tempfile::tempdir().unwrap();
    let url = database(&postgres().address().url());
    let store = notebook(&url, dir.path());
    let together = Barrier::new(8);
    let met = || {
        let store = opened(&url, dir.path());
        let met = (0..100).map(|round| {
            let offer = Offer {
                key: None,
                generators: 8,
                load_sha256: format!("{round:08}"),
                spec: "{}".to_owned(),
                age_max_us: 1_000_000,
            };
            together.wait();
            store.meet(&offer, 1).unwrap().uuid
        });
        met.collect::<Vec<String>>()
    };
    let all: Vec<Vec<String>> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..8).map(|_| scope.spawn(met)).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let made = store.query("SELECT uuid FROM meeting ORDER BY load_sha256");
    let made = made.unwrap().rows.into_iter();
    let made: Vec<String> = made.map(|cells| cells[0].text()).collect();
    assert_eq!(made.len(), 100);
    for one in all {
        assert_eq!(one, made);
    }
}

#[test]
fn a_trial_of_a_process_that_is_gone_and_of_which_nothing_waits_is_aborted_by_a_push() {
    let dir = tempfile::tempdir().unwrap();
    let url = database(&postgres().address().url());
    let store = notebook(&url, dir.path());
    let (dead, running) = (
        store.begin(&example()).unwrap(),
        store.begin(&example()).unwrap(),
    );
    // As if pgdyno had been killed, and the file in which its rows waited deleted.
    let (number, runs) = (dead.number(), running.number());
    std::mem::forget(dead);
    execute(
        &url,
        &format!("UPDATE trial_begun SET pid_started = 1 WHERE number = {number}"),
    );
    let Place::Server(remote) = &store.place else {
        panic!("a server")
    };
    let waiting = rusqlite::Connection::open(&remote.waiting).unwrap();
    let forgotten = "DELETE FROM trial_begun WHERE number = ?";
    waiting.execute(forgotten, [number]).unwrap();
    let pushed = Pushed {
        running: 1,
        aborted: 1,
        ..Pushed::default()
    };
    assert_eq!(store.push(), Ok(pushed));
    let state = |number: i64| store.trial(&number.to_string()).unwrap().state;
    assert_eq!(state(number), State::Aborted);
    assert_eq!(state(runs), State::Running);
    drop(running);
}

#[test]
fn what_a_server_refuses_waits_until_it_is_pushed() {
    let dir = tempfile::tempdir().unwrap();
    let url = database(&postgres().address().url());
    let store = notebook(&url, dir.path());
    let mut writer = store.begin(&example()).unwrap();
    let number = writer.number();
    // As a full disk would: nothing can be added.
    execute(
        &url,
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS \
         $$ BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = '53100'; END $$; \
         CREATE TRIGGER full_disk BEFORE INSERT ON event EXECUTE FUNCTION full_disk()",
    );
    writer.keep_event("error", 5, "it's gone");
    writer.fail("over").unwrap();
    assert_eq!(store.waits(), Ok(1));
    let e = store.push().unwrap_err().to_string();
    assert!(
        e.contains("no space left") && e.contains("make room"),
        "{e}"
    );
    execute(&url, "DROP TRIGGER full_disk ON event");
    let pushed = Pushed {
        trials: 1,
        ..Pushed::default()
    };
    assert_eq!(store.push(), Ok(pushed));
    assert_eq!(store.push(), Ok(Pushed::default()));
    assert_eq!(store.events(number, "error").unwrap(), ["it's gone"]);
    let trial = store.trial(&number.to_string()).unwrap();
    assert_eq!(trial.reason.as_deref(), Some("over"));
}

#[test]
fn statements_that_are_not_kept_are_asked_again() {
    let url = database(&postgres().address().url());
    let (db, _) = super::connect(&url).unwrap();
    db.execute_batch("CREATE TABLE counted (n bigint PRIMARY KEY)")
        .unwrap();
    let insert = |n: i64| db.execute("INSERT INTO counted VALUES (?)", [n]);
    let sum = || {
        let sql = "SELECT coalesce(sum(n), 0)::bigint FROM counted WHERE n > ?";
        db.query_row(sql, [0], |row| row.get::<i64>(0)).unwrap()
    };
    let kept = || {
        let sql = "SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'pgdyno%'";
        db.query_row(sql, [] as [i64; 0], |row| row.get::<i64>(0))
            .unwrap()
    };
    assert_eq!(insert(1).unwrap(), 1);
    assert_eq!(sum(), 1);
    assert_eq!(kept(), 3);
    // As behind a pooler: this connection has none of them. A query, a statement that writes, and one in the
    // middle of a transaction, which is done again as a whole.
    let forget = |db: &Db| db.execute_batch("DEALLOCATE ALL");
    forget(&db).unwrap();
    let mut tries = 0;
    let done = db.transaction(|db| {
        tries += 1;
        db.execute("INSERT INTO counted VALUES (?)", [10])?;
        db.execute("INSERT INTO counted VALUES (?)", [20])
    });
    assert_eq!((done.unwrap(), tries), (1, 2));
    assert_eq!(sum(), 31);
    assert_eq!(kept(), 0, "asked without names from now on");
    let (db, _) = super::connect(&url).unwrap();
    for n in [100, 200] {
        db.execute("INSERT INTO counted VALUES (?)", [n]).unwrap();
        forget(&db).unwrap();
    }
    assert_eq!(sum(), 331);
    // Refused for another reason: not asked again.
    let twice = db.execute("INSERT INTO counted VALUES (?)", [100]);
    assert!(twice.unwrap_err().to_string().contains("duplicate key"));
}

#[test]
fn trials_that_are_read_ahead_cost_few_waits_and_read_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let address = postgres().address();
    let url = database(&address.url());
    let store = notebook(&url, dir.path());
    let numbers: Vec<i64> = (0..40)
        .map(|nth| {
            let mut writer = store.begin(&example()).unwrap();
            second(&mut writer);
            writer.keep_event("error", nth, &format!("trial {nth}"));
            let number = writer.number();
            writer.fail("over").unwrap();
            number
        })
        .collect();
    let read = |store: &Store, ahead: &[i64]| -> Vec<String> {
        store.db.will_read(ahead);
        let one = |number: &i64| {
            let outcome = store.outcome(*number).unwrap();
            let events = store.events(*number, "error").unwrap();
            format!("{:?} {:?} {events:?}", outcome.recording, outcome.notes)
        };
        let all = numbers.iter().map(one).collect();
        store.db.will_read(&[]);
        all
    };
    let proxy = RecordingProxy::start(address.socket_path());
    let own = url.rsplit_once("?host=").unwrap().0;
    let via = format!(
        "{own}?host={}&port={}",
        proxy.socket_dir().display(),
        proxy.port()
    );
    let waits = |ahead: &[i64]| {
        let store = opened(&via, dir.path());
        let all = read(&store, ahead);
        drop(store);
        let sent = proxy.settle();
        proxy.clear();
        let messages = sent.iter().flat_map(|connection| &connection.messages);
        (all, messages.filter(|message| message.tag == b'S').count())
    };
    let (one_by_one, many) = waits(&[]);
    let (ahead, few) = waits(&numbers);
    assert_eq!(one_by_one, ahead);
    assert!(ahead[7].contains("trial 7"), "{}", ahead[7]);
    assert!(many > 40 * 20, "{many} waits one by one");
    assert!(few * 10 < many, "{few} waits in place of {many}");
    // What was changed meanwhile is seen by the next who reads.
    execute(
        &url,
        &format!(
            "UPDATE event SET text = 'other' WHERE trial = {}",
            numbers[0]
        ),
    );
    assert!(read(&store, &numbers)[0].contains("other"));
    // A trial that is gone is an error of its own, with others read ahead or not.
    store.remove(numbers[1]).unwrap();
    store.db.will_read(&numbers);
    assert!(store.outcome(numbers[0]).is_ok());
    assert!(store.outcome(numbers[1]).is_err());
    assert!(store.outcome(numbers[2]).is_ok());
}
