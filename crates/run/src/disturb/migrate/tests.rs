//! Queues made on purpose, on a real server: holder, migration and victims are named.

use std::path::PathBuf;
use std::sync::mpsc;

use pgdyno_database::open;
use pgdyno_server::Server;
use pgdyno_spec::TargetSpec;
use pgdyno_testkit::lock_queue::{self, HOLDER, Holding, LOCK_QUEUES, LockQueue, wait_for_row};

use super::*;

/// A database of the test's own.
fn database(server: &Server, name: &str, schema: &str) -> String {
    let url = server.address().url();
    session(&url)
        .simple_query(&format!("CREATE DATABASE {name}"))
        .unwrap();
    let url = url.replace("@/postgres?", &format!("@/{name}?"));
    session(&url).simple_query(schema).unwrap();
    url
}

fn target(url: &str) -> Target {
    open::existing(&TargetSpec::at(url)).unwrap().unwrap()
}

fn session(url: &str) -> Session {
    catalogue::connect(&target(url)).unwrap()
}

/// A migration on this database, and the folder that it lies in.
fn migrate(
    url: &str,
    name: &str,
    text: &str,
    form: &str,
    undo: &str,
) -> (Migrate, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    let migration = pgdyno_migration::read(&path).unwrap();
    let mut session = session(url);
    let groups = groups(&migration, form, &mut session).unwrap().unwrap();
    // Without a journal.
    let mut target = target(url);
    target.kind = TargetKind::Own;
    let one = Migrate {
        target,
        version: version(&session).unwrap(),
        migration,
        groups,
        form: form.to_owned(),
        recipe: (form != FORMS[0]).then_some(Recipe {
            lock_timeout: Duration::from_millis(20),
            tries: 3,
        }),
        reader: None,
        undo: undo.to_owned(),
        may_be_committed: false,
        journal: None,
    };
    (one, folder)
}

fn migration_run(control: &Control) -> MigrationRun {
    let doing = control.take_migration();
    *doing.expect("it is kept")
}

const SCHEMA: &str = "CREATE TABLE r (id int PRIMARY KEY); INSERT INTO r VALUES (1); \
                      CREATE TABLE t (id int PRIMARY KEY, a int, r_id int); INSERT INTO t VALUES (1, 1, 1); ANALYZE";
const WAITS: &str = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() \
                     AND application_name = 'pgdyno migrate' AND wait_event_type = 'Lock'";
const VICTIM_WAITS: &str = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() \
                            AND application_name = 'victim' AND wait_event_type = 'Lock'";

/// Runs the migration while its lock is held, and has the victim come behind it.
fn queued(url: &str, queue: &LockQueue) -> MigrationRun {
    let mut held = queue.hold(url, None);
    let (mut one, _folder) = migrate(url, "a.sql", queue.file, FORMS[0], UNDO[3]);
    let control = Control::default();
    let mut observer = session(url);
    thread::scope(|scope| {
        let (send, ran) = mpsc::channel();
        let control = &control;
        scope.spawn(move || send.send(one.run(control)).unwrap());
        wait_for_row(&mut observer, WAITS);
        let behind = (!queue.victim.is_empty()).then(|| {
            let mut session = session(url);
            session
                .simple_query("SET application_name = 'victim'")
                .unwrap();
            scope.spawn(move || session.simple_query(queue.victim).unwrap())
        });
        if behind.is_some() {
            wait_for_row(&mut observer, VICTIM_WAITS);
        }
        // Two looks of the watcher, also on a busy machine.
        thread::sleep(Duration::from_millis(150));
        held.release();
        ran.recv().unwrap().unwrap();
        behind
            .into_iter()
            .for_each(|thread| drop(thread.join().unwrap()));
    });
    migration_run(&control)
}

/// Those that need a server of their own are in `make test-long PART=migrate`.
#[test]
fn holder_migration_and_victims_are_named() {
    let server = pgdyno_testkit::postgres_with(&["max_prepared_transactions=2"]);
    let by_sessions = LOCK_QUEUES
        .iter()
        .filter(|queue| matches!(queue.holding, Holding::Waiting(..) | Holding::Busy(..)));
    for (number, queue) in by_sessions.enumerate() {
        let url = database(&server, &format!("queue_{number}"), lock_queue::SCHEMA);
        let run = queued(&url, queue);
        let name = queue.name;
        let holder = run
            .holder()
            .unwrap_or_else(|| panic!("{name}: no holder: {run:#?}"));
        assert_eq!(
            (
                holder.state.as_str(),
                holder.on.as_str(),
                holder.mode.as_str()
            ),
            (queue.state, queue.on, queue.mode),
            "{name}: {run:#?}"
        );
        match holder.pid {
            Some(_) => assert_eq!(holder.application, HOLDER, "{name}: {run:#?}"),
            None => assert_eq!(holder.query, "gone", "{name}: {run:#?}"),
        }
        assert!(run.is_done && run.waited_us() > 0, "{name}: {run:#?}");
        let victims: Vec<&str> = run.victims.iter().map(|it| it.query.as_str()).collect();
        let expected: Vec<&str> = [queue.victim]
            .into_iter()
            .filter(|sql| !sql.is_empty())
            .collect();
        assert_eq!(victims, expected, "{name}: {run:#?}");
        assert_eq!(run.queue_max(), victims.len() as u64, "{name}: {run:#?}");
        assert!(
            run.victims
                .iter()
                .all(|victim| victim.application == "victim" && victim.waited_us > 0)
        );
    }
}

#[test]
fn what_each_statement_did_is_read_before_the_commit() {
    let url = database(pgdyno_testkit::postgres(), "migrate_seen", SCHEMA);
    let text = "BEGIN; ALTER TABLE t ADD COLUMN k int; ALTER TABLE t ALTER COLUMN a TYPE bigint; \
                CREATE TABLE n (r int REFERENCES r); COMMIT; CREATE INDEX CONCURRENTLY t_a ON t (a); TRUNCATE n; \
                DROP TABLE n";
    let (mut one, _folder) = migrate(&url, "a.sql", text, FORMS[0], UNDO[3]);
    let control = Control::default();
    one.run(&control).unwrap();
    let run = migration_run(&control);
    assert!(
        run.is_done && run.error.is_none() && run.holders.is_empty(),
        "{run:#?}"
    );
    let locks = |at: usize| {
        let all = run.statements[at].locks.iter();
        all.map(|lock| format!("{} {}", lock.mode, lock.relation))
            .collect::<Vec<_>>()
    };
    assert_eq!(locks(0), ["ACCESS EXCLUSIVE t"]);
    assert!(
        locks(2).contains(&"SHARE ROW EXCLUSIVE r".to_owned()),
        "{:?}",
        locks(2)
    );
    // What is dropped has its name still.
    assert!(
        locks(5).contains(&"ACCESS EXCLUSIVE n".to_owned()),
        "{:?}",
        locks(5)
    );
    assert_eq!(run.statements[0].rewritten, Vec::<String>::new());
    assert!(
        run.statements[1].rewritten.contains(&"t".to_owned()),
        "{run:#?}"
    );
    assert!(
        run.statements[1]
            .says
            .iter()
            .any(|says| says.contains("rewriting table")),
        "{run:#?}"
    );
    assert_eq!(
        run.statements[4].rewritten,
        Vec::<String>::new(),
        "TRUNCATE copies nothing"
    );
    // Locks are held until the end of the transaction.
    assert_eq!(
        run.statements[0].held_until_us,
        run.statements[2].held_until_us
    );
    assert!(run.statements[0].held_until_us >= run.statements[2].ended_us);
    assert!(run.statements[1].wal_bytes > Some(0), "{run:#?}");
    assert!(!run.statements[3].locks_are_whole && run.statements[0].locks_are_whole);
}

#[test]
fn lock_timeout_gives_way_and_gets_through_when_it_can() {
    let url = database(pgdyno_testkit::postgres(), "migrate_recipe", SCHEMA);
    let mut holding = session(&url);
    holding.simple_query("BEGIN; SELECT * FROM t").unwrap();
    let control = Control::default();
    let adding = "ALTER TABLE t ADD COLUMN k int";
    let (mut one, _folder) = migrate(&url, "a.sql", adding, FORMS[1], UNDO[3]);
    one.run(&control).unwrap();
    let run = migration_run(&control);
    assert!(!run.is_done && run.retries == 2, "{run:#?}");
    let gave_up = |run: &MigrationRun, says: &str| {
        let why = run.error.as_deref().unwrap_or_default();
        assert!(
            why.contains("gave up after") && why.contains(says),
            "{run:#?}"
        );
    };
    gave_up(&run, "3 tries");
    assert_eq!(
        run.left.as_deref(),
        Some("rolled back: nothing of it is left")
    );
    // It tries until the trial is over.
    one.recipe = Some(Recipe {
        lock_timeout: Duration::from_millis(20),
        tries: u64::MAX,
    });
    let mut doing = crate::disturb::own::Doing::new(Box::new(one));
    doing.start().unwrap();
    let is_between = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() \
                      AND application_name = 'pgdyno migrate' AND query = 'ROLLBACK'";
    wait_for_row(&mut session(&url), is_between);
    doing.end();
    assert!(doing.result().0, "a result");
    gave_up(&doing.migration().unwrap(), ": the trial was over");
    holding.simple_query("COMMIT").unwrap();
    let (mut one, _folder) = migrate(&url, "a.sql", adding, FORMS[1], UNDO[3]);
    one.run(&control).unwrap();
    let run = migration_run(&control);
    assert!(
        run.is_done && run.retries == 0 && run.lock_timeout_ms == Some(20),
        "{run:#?}"
    );
}

#[test]
fn a_wrong_migration_is_undone_and_says_so() {
    let url = database(pgdyno_testkit::postgres(), "migrate_wrong", SCHEMA);
    let columns = "SELECT count(*) FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0 AND NOT attisdropped";
    let count = || session(&url).query_one_value(columns).unwrap().unwrap();
    // In its transaction it is rolled back.
    let (mut one, _folder) = migrate(
        &url,
        "1_x.up.sql",
        "ALTER TABLE t ADD COLUMN k int; ALTER TABLE nowhere ADD k int",
        FORMS[0],
        UNDO[3],
    );
    let why = one.run(&Control::default()).unwrap_err();
    assert!(
        why.contains("1_x.up.sql:1") && why.ends_with("rolled back: nothing of it is left"),
        "{why}"
    );
    assert_eq!(one.undo(), Ok(None));
    assert_eq!(count(), "3");
    // Without one, what was committed before is undone by the down part.
    let text = "-- migrate:up transaction:false\nALTER TABLE t ADD COLUMN k int;\nSELECT 1 / 0;\n-- migrate:down\n\
                ALTER TABLE t DROP COLUMN k;\n";
    let (mut one, _folder) = migrate(&url, "1.sql", text, FORMS[0], UNDO[0]);
    let why = one.run(&Control::default()).unwrap_err();
    assert!(
        why.contains("1.sql:3") && why.contains("1 statement before it is committed"),
        "{why}"
    );
    assert_eq!(count(), "4");
    assert!(
        one.undo()
            .unwrap()
            .unwrap()
            .starts_with("ran the down part of")
    );
    assert_eq!(count(), "3");
    // What cannot be undone says so.
    let text = "-- migrate:up\nALTER TABLE t ADD COLUMN k int;\n-- migrate:down\nALTER TABLE t DROP COLUMN wrong;\n";
    let (mut one, _folder) = migrate(&url, "1.sql", text, FORMS[0], UNDO[0]);
    one.run(&Control::default()).unwrap();
    let why = one.undo().unwrap_err();
    assert!(
        why.contains("undo it by hand") && why.contains("wrong"),
        "{why}"
    );
}

#[test]
fn the_undo_of_a_killed_pgdyno_asks_whether_it_was_committed() {
    let url = database(pgdyno_testkit::postgres(), "migrate_killed", SCHEMA);
    let mut session = session(&url);
    let text = "-- migrate:up\nALTER TABLE t ADD COLUMN k int;\n-- migrate:down\nALTER TABLE t DROP COLUMN k;\n";
    let (one, _folder) = migrate(&url, "1.sql", text, FORMS[0], UNDO[0]);
    let statement = &one.migration.up[0].statements[0];
    let has = "SELECT 1 FROM pg_attribute WHERE attrelid = 't'::regclass AND attname = 'k' AND NOT attisdropped";
    for end in ["ROLLBACK", "COMMIT"] {
        session.simple_query("BEGIN").unwrap();
        session.simple_query(&statement.text).unwrap();
        let number = session
            .query_one_value("SELECT pg_current_xact_id()")
            .unwrap()
            .unwrap();
        session.simple_query(end).unwrap();
        assert_eq!(
            session.query(has).unwrap().rows.len(),
            usize::from(end == "COMMIT")
        );
        let undo = undo_of_killed(&one.migration, true, Some(&number), statement);
        session.simple_query(&undo).unwrap();
        assert!(session.query(has).unwrap().rows.is_empty(), "{end}");
        let undo = undo_of_killed(&one.migration, false, Some(&number), statement);
        let by_hand = session.simple_query(&undo);
        assert_eq!(by_hand.is_err(), end == "COMMIT", "{by_hand:?}");
    }
    let undo = undo_of_killed(&one.migration, true, None, statement);
    let why = session.simple_query(&undo).unwrap_err().to_string();
    assert!(
        why.contains("1.sql was interrupted") && why.contains("is not known"),
        "{why}"
    );
}
