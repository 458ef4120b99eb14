//! What a proxy recorded, replayed: keys that the server gives are replaced, answers are compared.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use pgdyno_recording::Obstacle;
use pgdyno_recording::proxy::{Options as ProxyOptions, Recorder};
use pgdyno_replay::{Options, Replayed, Sync};
use pgdyno_session::Session;
use pgdyno_stats::SplitMix64;

use crate::made::{Recording, candidate, connection, try_replay};

const LIMIT: Duration = Duration::from_secs(60);

/// Databases of one server: the one that is recorded, and the one that it is replayed on.
pub struct Pair {
    pub then: String,
    pub now: String,
}

impl Pair {
    /// With these tables in both; `differently` makes the second one another.
    fn new(name: &str, tables: &str, differently: &str) -> Self {
        let url = pgdyno_testkit::postgres().address().url();
        let mut owner = connection(&url);
        let pair = ["then", "now"].map(|when| {
            let database = format!("{name}_{when}");
            owner
                .simple_query(&format!("CREATE DATABASE {database}"))
                .unwrap();
            url.replace("@/postgres?", &format!("@/{database}?"))
        });
        for url in &pair {
            connection(url).simple_query(tables).unwrap();
        }
        let [then, now] = pair;
        connection(&now).simple_query(differently).unwrap();
        Self { then, now }
    }

    /// Records what sessions do that are made by `connect`, and which all end.
    fn recorded(&self, work: impl FnOnce(&(dyn Fn() -> Session + std::marker::Sync))) -> Recording {
        let server = candidate(&self.then);
        let options = ProxyOptions {
            listen: "127.0.0.1:0".parse().unwrap(),
            server: &server,
            tls: None,
            made_by: "test",
        };
        let recorder = Recorder::start(options, Vec::new()).unwrap();
        let mut way = server.clone();
        way.via = recorder.address();
        let made = AtomicU64::new(0);
        work(&|| {
            made.fetch_add(1, Ordering::Relaxed);
            Session::connect(&[way.clone()], Some(LIMIT)).unwrap()
        });
        let until = Instant::now() + LIMIT;
        // The recorder learns of a session after its client does.
        let all_ended = || {
            let progress = recorder.progress();
            progress.sessions == made.load(Ordering::Relaxed) && progress.open == 0
        };
        while !all_ended() {
            assert!(Instant::now() < until, "{:?}", recorder.progress());
            std::thread::sleep(Duration::from_millis(5));
        }
        let (bytes, ending) = recorder.finish().unwrap();
        assert_eq!(ending.unsaid, BTreeMap::new());
        Recording::of(&bytes)
    }

    fn replayed(&self, recording: &Recording, speed: f64) -> Replayed {
        let options = Options {
            sync: Sync::Commit,
            speed,
            ..Options::default()
        };
        try_replay(recording, &self.now, &options).unwrap()
    }

    /// The same question on both.
    fn both(&self, sql: &str) -> [Vec<Vec<Option<String>>>; 2] {
        [&self.then, &self.now].map(|url| connection(url).query(sql).unwrap().rows)
    }
}

const TABLES: usize = 10;

/// Ten tables of which each refers to the one before, every third with keys that are UUIDs.
fn tables() -> String {
    let type_of = |table: usize| if table % 3 == 2 { "uuid" } else { "bigint" };
    let key = |table: usize| match type_of(table) {
        "uuid" => "uuid PRIMARY KEY DEFAULT gen_random_uuid()".to_owned(),
        _ => "bigserial PRIMARY KEY".to_owned(),
    };
    let one = |table: usize| {
        let before = (table + TABLES - 1) % TABLES;
        let refers = if table == 0 {
            "bigint".to_owned()
        } else {
            format!("{} REFERENCES keyed_{before}", type_of(before))
        };
        format!(
            "CREATE TABLE keyed_{table} (id {}, before_id {refers}, label text NOT NULL, touched int NOT NULL DEFAULT 0)",
            key(table)
        )
    };
    (0..TABLES).map(one).collect::<Vec<_>>().join(";")
}

/// Keys of committed rows by table, of all sessions.
type Pool = Arc<Vec<Mutex<Vec<String>>>>;

fn keys(pool: &Pool, table: usize) -> MutexGuard<'_, Vec<String>> {
    pool[table].lock().unwrap()
}

/// A session's statements: rows that refer to any session's rows, alone and in transactions, by every protocol.
fn session(mut session: Session, number: u64, statements: usize, pool: &Pool) {
    let mut draw = SplitMix64(number);
    let mut sent = 0;
    while sent < statements {
        let table = (draw.next() % TABLES as u64) as usize;
        let mut pick = |table: usize| {
            let keys = keys(pool, table);
            let length = keys.len() as u64;
            (length > 0).then(|| keys[(draw.next() % length) as usize].clone())
        };
        let before = if table == 0 { None } else { pick(table - 1) };
        if table > 0 && before.is_none() {
            continue;
        }
        let label = format!("{number}:{sent}");
        let insert =
            format!("INSERT INTO keyed_{table} (before_id, label) VALUES ($1, $2) RETURNING id");
        let value = |rows: Vec<Vec<Option<String>>>| rows[0][0].clone().unwrap();
        let id = match sent % 3 {
            0 => {
                let before = before
                    .as_ref()
                    .map_or("NULL".to_owned(), |before| format!("'{before}'"));
                let sql = insert
                    .replace("$1", &before)
                    .replace("$2", &format!("'{label}'"));
                value(session.simple_query(&sql).unwrap().remove(0).rows)
            }
            1 => {
                session.simple_query("BEGIN").unwrap();
                let id = one(&mut session, &insert, &[before.as_deref(), Some(&label)]);
                let sql = format!("UPDATE keyed_{table} SET touched = touched + 1 WHERE id = $1");
                session.query_with(&sql, &[&id]).unwrap();
                session.simple_query("COMMIT").unwrap();
                sent += 3;
                id
            }
            _ => one(&mut session, &insert, &[before.as_deref(), Some(&label)]),
        };
        sent += 1;
        keys(pool, table).push(id.clone());
        // By a key that any session may have made; and by what a query has returned.
        if let Some(other) = pick(table) {
            let sql = format!(
                "SELECT id, label FROM keyed_{table} WHERE id IN ('{other}', '{id}') ORDER BY label"
            );
            session.query(&sql).unwrap();
            let sql = format!("UPDATE keyed_{table} SET touched = touched + 1 WHERE id = $1");
            session.query_with(&sql, &[&other]).unwrap();
            sent += 2;
        }
    }
    session.close_and_wait(LIMIT);
}

fn one(session: &mut Session, sql: &str, values: &[Option<&str>]) -> String {
    let mut id = None;
    session
        .query_each(sql, values, &mut |_, row| {
            let first = row.first().copied().flatten();
            id = first.map(|value| String::from_utf8_lossy(value).into_owned());
        })
        .unwrap();
    id.unwrap()
}

/// Sessions use each other's keys, and every one of them is another in the replay.
fn sessions_use_each_others_keys(name: &str, sessions: u64, statements: usize) {
    let numbered = (0..TABLES).filter(|table| table % 3 != 2);
    let restarts: Vec<String> = numbered
        .map(|table| {
            format!(
                "ALTER SEQUENCE keyed_{table}_id_seq RESTART WITH {}",
                7 + 3 * table
            )
        })
        .collect();
    let pair = Pair::new(name, &tables(), &restarts.join(";"));
    let recording = pair.recorded(|connect| {
        let pool: Pool = Arc::new((0..TABLES).map(|_| Mutex::default()).collect());
        std::thread::scope(|scope| {
            for number in 0..sessions {
                let pool = &pool;
                scope.spawn(move || session(connect(), number, statements, pool));
            }
        });
    });
    let replayed = pair.replayed(&recording, 1.0);
    let least = sessions * statements as u64;
    assert!(
        replayed.sent >= least && replayed.answered == replayed.sent,
        "{replayed:?}"
    );
    assert!(replayed.errors.new.is_empty(), "{:?}", replayed.errors);
    let answers = replayed.answers;
    println!(
        "{} statements, {:?}, {:?}, {:?}",
        replayed.sent, answers, replayed.keys, replayed.order
    );
    let others = answers.other_rows + answers.other_values;
    assert!(others * 1000 <= replayed.sent, "{answers:?}");
    assert!(answers.values_compared > least / 2, "{answers:?}");
    assert!(
        replayed.keys.differed > 0 && replayed.keys.replaced > 0,
        "{:?}",
        replayed.keys
    );
    // Which row refers to which is the same, by what the client has called them.
    for table in 0..TABLES {
        let of_before = format!(
            "(SELECT b.label FROM keyed_{} b WHERE b.id = t.before_id)",
            (table + 9) % TABLES
        );
        let before = if table == 0 { "NULL" } else { &of_before };
        let [then, now] = pair.both(&format!(
            "SELECT t.label, {before}, t.touched FROM keyed_{table} t ORDER BY t.label"
        ));
        assert_eq!(then, now, "{table}");
    }
}

#[test]
fn keys_of_other_sessions_are_replaced_and_no_foreign_key_fails() {
    sessions_use_each_others_keys("keys_few", 5, 40);
}

#[test]
#[ignore = "PART=logs: 100,000 statements of 20 sessions"]
fn keys_of_other_sessions_are_replaced_in_a_hundred_thousand_statements() {
    sessions_use_each_others_keys("keys_many", 20, 5000);
}

#[test]
fn keys_come_from_sequences_and_queries_and_binary_values_are_replaced() {
    let pair = Pair::new(
        "keys_sources",
        "CREATE TABLE made (id serial PRIMARY KEY, label text); CREATE TABLE uses (made_id int REFERENCES made, n int)",
        "ALTER SEQUENCE made_id_seq RESTART WITH 500",
    );
    let recording = pair.recorded(|connect| {
        let mut session = connect();
        let mut value = |sql: &str| session.query_one_value(sql).unwrap().unwrap();
        let by_sequence = value("SELECT nextval('made_id_seq')");
        value(&format!("INSERT INTO made VALUES ({by_sequence}, 'a') RETURNING label"));
        value("WITH new AS (INSERT INTO made (label) VALUES ('b') RETURNING label) SELECT label FROM new");
        let by_query = value("SELECT id FROM made WHERE label = 'b'");
        session.simple_query("INSERT INTO made (label) VALUES ('c')").unwrap();
        let by_lastval = session.query_one_value("SELECT lastval()").unwrap().unwrap();
        for (n, id) in [&by_sequence, &by_query, &by_lastval].into_iter().enumerate() {
            session.simple_query(&format!("INSERT INTO uses VALUES ({id}, {n})")).unwrap();
        }
        let list = format!("{{{by_sequence},{by_lastval}}}");
        session.query_with("UPDATE uses SET n = n + 10 WHERE made_id = ANY ($1)", &[&list]).unwrap();
        // A number that is no key stays, although it is one's.
        session.simple_query(&format!("UPDATE uses SET n = n + {by_query} WHERE made_id = {by_query}")).unwrap();
        session.close_and_wait(LIMIT);
    });
    let replayed = pair.replayed(&recording, 1.0);
    assert!(replayed.errors.new.is_empty(), "{:?}", replayed.errors);
    let sql = "SELECT label, n FROM uses JOIN made ON id = made_id ORDER BY label";
    let [then, now] = pair.both(sql);
    assert_eq!(then, now);
    assert_eq!(
        pair.both("SELECT min(made_id) FROM uses")[1][0][0].as_deref(),
        Some("500")
    );
    assert_eq!(
        replayed.answers.other_rows + replayed.answers.other_values,
        0,
        "{:?}",
        replayed.texts
    );
}

/// Sessions that wait for the same row, in whatever order, have the same sums.
#[test]
fn transactions_that_contend_for_a_row_are_all_there_again() {
    let pair = Pair::new(
        "contended",
        "CREATE TABLE branch (balance int); INSERT INTO branch VALUES (0); CREATE TABLE history (session int, delta int)",
        "",
    );
    let recording = pair.recorded(|connect| {
        std::thread::scope(|scope| {
            for number in 0..4 {
                scope.spawn(move || {
                    let mut session = connect();
                    for delta in 0..15 {
                        for sql in [
                            "BEGIN".to_owned(),
                            format!("UPDATE branch SET balance = balance + {delta}"),
                            format!("INSERT INTO history VALUES ({number}, {delta})"),
                            "COMMIT".to_owned(),
                        ] {
                            session.simple_query(&sql).unwrap();
                        }
                    }
                    session.close_and_wait(LIMIT);
                });
            }
        });
    });
    let replayed = pair.replayed(&recording, 1.0);
    println!("{:?} in {:?}", replayed.order, replayed.length);
    assert_eq!((replayed.answered, replayed.errors.new.len()), (240, 0));
    let sql = "SELECT balance, (SELECT sum(delta) FROM history), (SELECT count(*) FROM history) FROM branch";
    let [then, now] = pair.both(sql);
    assert_eq!(then, now);
}

#[test]
fn a_pipeline_is_one_transaction_again() {
    let pair = Pair::new("pipelines", "CREATE TABLE piped (a int CHECK (a < 9))", "");
    let recording = pair.recorded(|connect| {
        let mut session = connect();
        let mut send = |values: [&str; 3]| {
            let lists: Vec<[Option<&str>; 1]> = values.map(|value| [Some(value)]).into();
            let lists: Vec<&[Option<&str>]> = lists.iter().map(|list| &list[..]).collect();
            let sql = "INSERT INTO piped VALUES ($1)";
            session.query_all(sql, &lists, &mut |_, _, _| {}).is_ok()
        };
        assert!(send(["1", "2", "3"]));
        assert!(!send(["4", "9", "5"]));
        assert!(send(["6", "7", "8"]));
        session.close_and_wait(LIMIT);
    });
    let replayed = pair.replayed(&recording, 1.0);
    assert_eq!(
        (replayed.sent, replayed.errors.same),
        (8, 1),
        "{:?}",
        replayed.errors
    );
    let skipped: Vec<_> = replayed.obstacles.into_iter().collect();
    assert_eq!(skipped, [(Obstacle::Skipped, 1)]);
    let [then, now] = pair.both("SELECT a FROM piped ORDER BY a");
    assert_eq!((then.len(), then), (6, now));
}

#[test]
fn answers_that_differ_are_counted_and_those_of_the_clock_are_not() {
    let pair = Pair::new(
        "answers",
        "CREATE TABLE answered (a int, b text, at timestamptz DEFAULT now()); INSERT INTO answered SELECT n, 'x' FROM generate_series(1, 3) n",
        "UPDATE answered SET b = 'y' WHERE a = 1; DELETE FROM answered WHERE a = 3; CREATE TABLE answered_new (a int); ALTER TABLE answered ADD CHECK (a < 100)",
    );
    let recording = pair.recorded(|connect| {
        let mut session = connect();
        for sql in [
            "SELECT a, at FROM answered WHERE a = 1",
            "SELECT b FROM answered WHERE a = 1",
            "SELECT a FROM answered",
            "SELECT now()::text",
            "UPDATE answered SET b = 'z'",
            "SELECT 1 / a FROM answered_new",
            "SELECT 1 / 0",
            "INSERT INTO answered VALUES (200)",
            "SELECT a FROM answered WHERE a < 3 ORDER BY a DESC",
        ] {
            let _ = session.simple_query(sql);
        }
        session.close_and_wait(LIMIT);
    });
    let replayed = pair.replayed(&recording, 1.0);
    let errors = &replayed.errors;
    assert_eq!(
        (errors.same, errors.other, errors.gone),
        (1, 0, 1),
        "{errors:?}"
    );
    assert_eq!(errors.new.keys().collect::<Vec<_>>(), ["23514"]);
    let answers = replayed.answers;
    // The clock's own is compared in its rows alone.
    assert_eq!(
        (answers.compared, answers.values_compared),
        (6, 3),
        "{answers:?}"
    );
    assert_eq!((answers.other_rows, answers.other_values), (2, 1));
    let other = |text: &str| {
        let of = replayed.texts.iter().find(|of| of.text == text).unwrap();
        (of.other_rows, of.other_values)
    };
    assert_eq!(other("SELECT b FROM answered WHERE a = ?"), (0, 1));
    assert_eq!(other("UPDATE answered SET b = ?"), (1, 0));
}
