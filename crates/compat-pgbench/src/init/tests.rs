//! Against a real server, and beside stock pgbench: the same statements, texts, tables and rows.

use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use pgdyno_platform::child::{Signal, send_signal};
use pgdyno_testkit::{Connection, Kind, RecordingProxy, postgres, skip, stock_pgbench};

use super::*;
use pgdyno_database::open::{self};
use pgdyno_spec::TargetSpec;

/// Where a database is reached.
#[derive(Debug, Clone)]
struct Place {
    host: String,
    port: u16,
    database: String,
}

impl Place {
    /// A new, empty database on the shared server.
    fn new() -> Place {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let address = postgres().address();
        let mut place = Place {
            host: address.socket_dir.display().to_string(),
            port: address.port,
            database: "postgres".to_owned(),
        };
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("init_{}_{number}", std::process::id());
        // From the template, which takes no connections.
        place.sql(&format!("CREATE DATABASE {name} TEMPLATE template0"));
        place.database = name;
        place
    }

    fn through(&self, proxy: &RecordingProxy) -> Place {
        Place {
            host: proxy.socket_dir().display().to_string(),
            port: proxy.port(),
            database: self.database.clone(),
        }
    }

    fn session_as(&self, user: &str) -> Session {
        let Place {
            host,
            port,
            database,
        } = self;
        let wanted = TargetSpec::at(format!(
            "postgresql://{user}@/{database}?host={host}&port={port}"
        ));
        open::existing(&wanted).unwrap().unwrap().connect().unwrap()
    }

    fn session(&self) -> Session {
        self.session_as("postgres")
    }

    fn sql(&self, sql: &str) {
        self.session().simple_query(sql).unwrap();
    }

    /// All rows of a query in one text.
    fn answer(&self, sql: &str) -> String {
        let rows = self.session().query(sql).unwrap().rows;
        let line = |row: Vec<Option<String>>| {
            let values = row.into_iter().map(|v| v.unwrap_or("NULL".to_owned()));
            values.collect::<Vec<_>>().join("|")
        };
        rows.into_iter().map(line).collect::<Vec<_>>().join("\n")
    }

    fn pgbench(&self, pgbench: &std::path::Path, user: &str, args: &[&str]) -> Output {
        Command::new(pgbench)
            .arg("-i")
            .args(args)
            .args(["-h", &self.host, "-p", &self.port.to_string(), "-U", user])
            .arg(&self.database)
            .env("PGSSLMODE", "disable")
            .env("PGGSSENCMODE", "disable")
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }
}

fn options(steps: &str) -> InitOptions {
    InitOptions {
        steps: steps.to_owned(),
        scale: 1,
        fillfactor: 100,
        partitions: 0,
        partition_method: None,
        tablespace: None,
        index_tablespace: None,
        unlogged: false,
        quiet: false,
        tables: Tables::PGBENCH,
    }
}

/// What was printed, with the error at its end as pgbench prints it.
fn said(session: &mut Session, options: &InitOptions, terminal: bool) -> String {
    let mut out = Vec::new();
    let screen = InitScreen {
        out: &mut out,
        terminal,
    };
    let result = run_on(session, options, None, screen);
    let mut text = String::from_utf8(out).unwrap();
    if let Err(failure) = result {
        assert_eq!(failure.exit, Exit::Failed);
        text += &failure.to_string().replace("pgdyno: ", "pgbench: ");
        text += "\n";
    }
    text
}

fn masked(text: &str) -> String {
    let is_time = |word: &str| word.contains('.') && word.parse::<f64>().is_ok();
    // With -q there is one each five seconds, wherever a slow machine has come to by then.
    let is_between = |line: &&str| {
        let count = line
            .split_once(" of ")
            .map(|(count, _)| count.parse::<u64>());
        line.contains(" tuples (")
            && !line.contains("(100%)")
            && count.is_some_and(|count| count.is_ok_and(|count| count % 100_000 != 0))
    };
    let kept = text.split_inclusive('\n').filter(|line| !is_between(line));
    let text: String = kept.collect();
    let words = text.split(' ');
    words
        .map(|word| if is_time(word) { "#" } else { word })
        .collect::<Vec<_>>()
        .join(" ")
}

/// What a client had done, CopyData put together: the sizes of these messages mean nothing.
fn stream(connection: &Connection) -> Vec<String> {
    let mut stream = Vec::new();
    let mut copied = Vec::new();
    for message in &connection.messages {
        if message.tag == b'd' {
            copied.extend_from_slice(&message.body);
            continue;
        }
        if !copied.is_empty() {
            stream.push(String::from_utf8(std::mem::take(&mut copied)).unwrap());
        }
        // libpq asks for text results in so many words, where saying nothing means the same.
        let described = message.describe();
        stream.push(described.replace("results [0]", "results []"));
    }
    stream
}

fn only_session(proxy: &RecordingProxy) -> Vec<String> {
    let connections = proxy.settle();
    proxy.clear();
    let mut sessions = connections.iter().filter(|c| c.kind == Kind::Session);
    let stream = stream(sessions.next().unwrap());
    assert!(sessions.next().is_none());
    stream
}

/// Options as pgbench takes them and as they are here.
fn combinations() -> Vec<(Vec<&'static str>, InitOptions)> {
    let case = |args: &[&'static str], steps: &str, change: fn(&mut InitOptions)| {
        let mut options = options(steps);
        change(&mut options);
        (args.to_vec(), options)
    };
    vec![
        case(&[], "dtgvp", |_| {}),
        case(&["-s", "2", "-F", "77"], "dtgvp", |o| {
            o.scale = 2;
            o.fillfactor = 77;
        }),
        case(&["-I", "dtGvpf"], "dtGvpf", |_| {}),
        case(&["-I", "dt pf g v"], "dt pf g v", |_| {}),
        case(&["-n", "--foreign-keys"], "dtg pf", |_| {}),
        case(&["--unlogged-tables", "-q", "-s", "10"], "dtgvp", |o| {
            o.unlogged = true;
            o.quiet = true;
            o.scale = 10;
        }),
        case(
            &[
                "--partitions=3",
                "--unlogged-tables",
                "-F",
                "50",
                "-I",
                "dtgvpf",
            ],
            "dtgvpf",
            |o| {
                o.partitions = 3;
                o.unlogged = true;
                o.fillfactor = 50;
            },
        ),
        case(
            &[
                "--partitions",
                "4",
                "--partition-method=hash",
                "-I",
                "dtGggvp",
            ],
            "dtGggvp",
            |o| {
                o.partitions = 4;
                o.partition_method = Some(PartitionMethod::Hash);
            },
        ),
        case(&["-I", "dt", "-s", "20000"], "dt", |o| o.scale = 20_000),
        case(
            &["--tablespace=pg_default", "--index-tablespace=pg_default"],
            "dtgvp",
            |o| {
                o.tablespace = Some("pg_default".to_owned());
                o.index_tablespace = Some("pg_default".to_owned());
            },
        ),
    ]
}

const CONTENTS: &str = "\
    SELECT 'b', count(*), sum(hashtextextended(b::text, 0)) FROM pgbench_branches b \
    UNION ALL SELECT 't', count(*), sum(hashtextextended(t::text, 0)) FROM pgbench_tellers t \
    UNION ALL SELECT 'a', count(*), sum(hashtextextended(a::text, 0)) FROM pgbench_accounts a \
    UNION ALL SELECT 'h', count(*), NULL FROM pgbench_history";

/// Tables and indexes with all that options change about them.
const SHAPE: &str = "\
    SELECT c.relname, c.relkind, c.relpersistence, c.reloptions, t.spcname, \
        pg_get_expr(c.relpartbound, c.oid), pg_get_partkeydef(c.oid), \
        (SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod) || attnotnull, ',' \
            ORDER BY attnum) FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0), \
        (SELECT string_agg(conname || pg_get_constraintdef(k.oid), ',' ORDER BY conname) \
            FROM pg_constraint k WHERE conrelid = c.oid) \
    FROM pg_class c LEFT JOIN pg_tablespace t ON t.oid = c.reltablespace \
    WHERE c.relnamespace = 'public'::regnamespace ORDER BY 1";

#[test]
fn statements_texts_tables_and_rows_are_stock_pgbenchs() {
    let Some(pgbench) = stock_pgbench() else {
        skip!(
            "init::tests::statements_texts_tables_and_rows_are_stock_pgbenchs",
            "no stock pgbench 18"
        );
    };
    let proxy = RecordingProxy::start(postgres().address().socket_path());
    for (args, options) in combinations() {
        let (theirs, ours) = (Place::new(), Place::new());
        // The second time there is something to drop; once is enough to see that.
        let rounds = if args.is_empty() { 2 } else { 1 };
        for round in 0..rounds {
            let output = theirs.through(&proxy).pgbench(&pgbench, "postgres", &args);
            assert!(output.status.success(), "{args:?}: {output:?}");
            let their_stream = only_session(&proxy);
            let our_text = said(&mut ours.through(&proxy).session(), &options, false);
            let our_stream = only_session(&proxy);
            let their_text = String::from_utf8(output.stderr).unwrap();
            assert_eq!(masked(&their_text), masked(&our_text), "{args:?} {round}");
            for (theirs, ours) in their_stream.iter().zip(&our_stream) {
                if theirs != ours {
                    let lines = theirs.lines().zip(ours.lines());
                    let differs = lines.enumerate().find(|(_, (a, b))| a != b);
                    panic!("{args:?} {round}: {differs:?}");
                }
            }
            assert_eq!(their_stream.len(), our_stream.len(), "{args:?} {round}");
        }
        assert_eq!(theirs.answer(SHAPE), ours.answer(SHAPE), "{args:?}");
        assert_eq!(theirs.answer(CONTENTS), ours.answer(CONTENTS), "{args:?}");
    }
}

/// What goes wrong: statements before, as whom, pgbench's arguments, the options.
#[test]
fn errors_have_stock_pgbenchs_words() {
    let Some(pgbench) = stock_pgbench() else {
        skip!(
            "init::tests::errors_have_stock_pgbenchs_words",
            "no stock pgbench 18"
        );
    };
    let tables = "CREATE TABLE pgbench_accounts(aid int, bid int, abalance int, filler char(84)); \
        CREATE TABLE pgbench_branches(bid int, bbalance int, filler char(88)); \
        CREATE TABLE pgbench_tellers(tid int, bid int, tbalance int, filler char(84)); \
        CREATE TABLE pgbench_history(tid int, bid int, aid int); ";
    let elsewhere = |options: &mut InitOptions| options.tablespace = Some("no \"such".to_owned());
    let indexes_elsewhere =
        |options: &mut InitOptions| options.index_tablespace = Some("nowhere".to_owned());
    let same = |_: &mut InitOptions| {};
    type Change<'a> = &'a dyn Fn(&mut InitOptions);
    let cases: [(&str, &str, &str, &[&str], Change<'_>); 12] = [
        ("", "postgres", "g", &[], &same),
        ("", "postgres", "G", &[], &same),
        ("", "postgres", "v", &[], &same),
        ("", "postgres", "p", &[], &same),
        ("", "postgres", "f", &[], &same),
        ("", "postgres", "dtt", &[], &same),
        ("", "postgres", "dtgpp", &[], &same),
        ("", "postgres", "dtf", &[], &same),
        (
            "",
            "postgres",
            "dt",
            &["--tablespace", "no \"such"],
            &elsewhere,
        ),
        (
            "",
            "postgres",
            "dtp",
            &["--index-tablespace", "nowhere"],
            &indexes_elsewhere,
        ),
        // The copy is refused before its rows are read …
        (
            "GRANT TRUNCATE, SELECT ON ALL TABLES IN SCHEMA public TO PUBLIC;",
            "guest",
            "g",
            &[],
            &same,
        ),
        // … and because of one of them, after a notice.
        (
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                RAISE NOTICE 'about to refuse % % %', 1, 2, 3; RAISE 'refused' USING DETAIL = \
                'It is a test.', HINT = 'Go on.'; END $$; \
             CREATE TRIGGER refuse BEFORE INSERT ON pgbench_tellers FOR EACH ROW \
                EXECUTE FUNCTION refuse();",
            "postgres",
            "g",
            &[],
            &same,
        ),
    ];
    postgres_role("guest");
    for (before, user, steps, args, change) in cases {
        let (theirs, ours) = (Place::new(), Place::new());
        for place in [&theirs, &ours] {
            if !before.is_empty() {
                place.sql(tables);
                place.sql(before);
            }
        }
        let args: Vec<&str> = ["-I", steps]
            .into_iter()
            .chain(args.iter().copied())
            .collect();
        let output = theirs.pgbench(&pgbench, user, &args);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {output:?}");
        let mut options = options(steps);
        change(&mut options);
        let our_text = said(&mut ours.session_as(user), &options, false);
        let their_text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(masked(&their_text), masked(&our_text), "{args:?}");
        assert!(our_text.contains("pgbench: error: "), "{our_text}");
    }
}

fn postgres_role(name: &str) {
    let address = postgres().address();
    let place = Place {
        host: address.socket_dir.display().to_string(),
        port: address.port,
        database: "postgres".to_owned(),
    };
    place.sql(&format!("CREATE ROLE {name} LOGIN"));
}

#[test]
fn an_unknown_step_is_refused_when_its_turn_comes() {
    let place = Place::new();
    let text = said(&mut place.session(), &options("dx"), false);
    assert!(
        text.ends_with("\npgbench: error: unrecognized initialization step \"x\"\n"),
        "{text}"
    );
}

#[test]
fn tables_and_indexes_lie_in_their_tablespaces() {
    let server = postgres();
    if server.version().major < 15 {
        skip!(
            "init::tests::tables_and_indexes_lie_in_their_tablespaces",
            "no tablespaces in place before PostgreSQL 15"
        );
    }
    let place = Place::new();
    let mut admin = place.session();
    admin.query("SET allow_in_place_tablespaces = on").unwrap();
    for name in ["\"init tables\"", "init_indexes"] {
        admin
            .query(&format!("CREATE TABLESPACE {name} LOCATION ''"))
            .unwrap();
    }
    let options = InitOptions {
        tablespace: Some("init tables".to_owned()),
        index_tablespace: Some("init_indexes".to_owned()),
        ..options("dtgp")
    };
    let text = said(&mut place.session(), &options, false);
    assert!(text.contains("done in "), "{text}");
    let places = "SELECT relname, spcname FROM pg_class c JOIN pg_tablespace t \
        ON t.oid = c.reltablespace WHERE relname LIKE 'pgbench%' ORDER BY 1";
    assert_eq!(
        place.answer(places),
        "pgbench_accounts|init tables\npgbench_accounts_pkey|init_indexes\n\
         pgbench_branches|init tables\npgbench_branches_pkey|init_indexes\n\
         pgbench_history|init tables\n\
         pgbench_tellers|init tables\npgbench_tellers_pkey|init_indexes"
    );
}

#[test]
fn ysql_bench_declares_keys_at_once_and_commits_batches() {
    let place = Place::new();
    let proxy = RecordingProxy::start(postgres().address().socket_path());
    let options = InitOptions {
        tables: Tables {
            batch_rows: Some(30_000),
            ..Tables::YSQL_BENCH
        },
        ..options("dtgpf")
    };
    let text = said(&mut place.through(&proxy).session(), &options, false);
    assert_eq!(
        masked(&text),
        "dropping old tables...\n\
         NOTICE:  table \"ysql_bench_accounts\" does not exist, skipping\n\
         NOTICE:  table \"ysql_bench_branches\" does not exist, skipping\n\
         NOTICE:  table \"ysql_bench_history\" does not exist, skipping\n\
         NOTICE:  table \"ysql_bench_tellers\" does not exist, skipping\n\
         creating tables (with primary keys)...\n\
         generating data (client-side)...\n\
         100000 of 100000 tuples (100%) of ysql_bench_accounts done (elapsed # s, remaining # s)\n\
         creating foreign keys...\n\
         done in # s (drop tables # s, create tables # s, client-side generate # s, \
         foreign keys # s).\n"
    );
    let sent = only_session(&proxy);
    let copies = |table: &str| {
        let copy = format!("Query \"copy {table} from stdin\"");
        sent.iter().filter(|sent| **sent == copy).count()
    };
    assert_eq!(copies("ysql_bench_branches"), 1);
    assert_eq!(copies("ysql_bench_accounts"), 4);
    assert!(!sent.iter().any(|sent| sent.contains("begin")), "{sent:?}");
    let contents = CONTENTS.replace("pgbench_", "ysql_bench_");
    let of_pgbench = Place::new();
    said(
        &mut of_pgbench.session(),
        &super::tests::options("dtg"),
        false,
    );
    assert_eq!(place.answer(&contents), of_pgbench.answer(CONTENTS));
    assert_eq!(
        place.answer(
            "SELECT count(*) FROM pg_constraint WHERE contype = 'p' AND conname LIKE 'ysql%'"
        ),
        "3"
    );
    // What was committed before a batch failed stays.
    place.sql(
        "ALTER TABLE ysql_bench_accounts DROP CONSTRAINT ysql_bench_accounts_pkey CASCADE, \
         ADD CHECK (aid <> 70000) NOT VALID",
    );
    let again = InitOptions {
        steps: "g".to_owned(),
        ..options
    };
    let text = said(&mut place.session(), &again, false);
    assert!(
        text.ends_with("pgbench: error: PQendcopy failed\n"),
        "{text}"
    );
    assert_eq!(
        place.answer("SELECT count(*) FROM ysql_bench_accounts"),
        "60000"
    );
}

#[test]
fn a_terminal_shows_one_line_that_goes_away() {
    let place = Place::new();
    let text = said(&mut place.session(), &options("dtg"), true);
    let reported = masked(&text);
    let (line, rest) = reported
        .split_once("generating data (client-side)...\n")
        .unwrap()
        .1
        .split_once('\r')
        .unwrap();
    assert_eq!(
        line,
        "100000 of 100000 tuples (100%) of pgbench_accounts done (elapsed # s, remaining # s)"
    );
    let (blanks, rest) = rest.split_once('\r').unwrap();
    assert!(blanks.len() > line.len() && blanks.bytes().all(|b| b == b' '));
    assert!(rest.starts_with("done in "), "{rest}");
}

#[test]
fn a_lost_connection_has_libpqs_words() {
    let place = Place::new();
    said(&mut place.session(), &options("dt"), false);
    // In a statement: it waits for a lock until it is ended.
    let mut holder = place.session();
    holder
        .simple_query("BEGIN; LOCK TABLE pgbench_accounts")
        .unwrap();
    let end = |place: &Place, pid: i32, when: &str| {
        let (place, when) = (place.clone(), when.to_owned());
        std::thread::spawn(move || {
            for _ in 0..500 {
                if place.answer(&when) == "t" {
                    place.sql(&format!("SELECT pg_terminate_backend({pid})"));
                    return;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            panic!("never: {when}");
        })
    };
    let mut session = place.session();
    let pid = session.backend_pid();
    let waits = format!("SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = {pid}");
    let ending = end(&place, pid, &waits);
    let text = said(&mut session, &options("d"), false);
    ending.join().unwrap();
    assert_eq!(
        text,
        "dropping old tables...\n\
         pgbench: error: query failed: FATAL:  terminating connection due to administrator command\n\
         server closed the connection unexpectedly\n\
         \tThis probably means the server terminated abnormally\n\
         \tbefore or while processing the request.\n\
         pgbench: detail: Query was: drop table if exists pgbench_accounts, pgbench_branches, \
         pgbench_history, pgbench_tellers\n"
    );
    drop(holder);

    // In a copy.
    let mut session = place.session();
    let pid = session.backend_pid();
    let copies =
        format!("SELECT query LIKE 'copy%accounts%' FROM pg_stat_activity WHERE pid = {pid}");
    let ending = end(&place, pid, &copies);
    let long = InitOptions {
        scale: 200,
        ..options("g")
    };
    let text = said(&mut session, &long, false);
    ending.join().unwrap();
    assert!(
        text.ends_with("pgbench: error: PQputline failed\n"),
        "{text}"
    );
    assert_eq!(place.answer("SELECT count(*) FROM pgbench_branches"), "0");
}

/// The program that the tests below interrupt: this test program again, chosen by its environment
/// to run one initialisation. Does nothing otherwise.
#[test]
fn child() {
    let Ok(database) = std::env::var("PGDYNO_TEST_INIT_DATABASE") else {
        return;
    };
    let var = |name: &str| std::env::var(name).unwrap();
    let place = Place {
        host: var("PGDYNO_TEST_INIT_HOST"),
        port: var("PGDYNO_TEST_INIT_PORT").parse().unwrap(),
        database,
    };
    let interrupts = Interrupts::install().unwrap();
    let options = InitOptions {
        scale: 200,
        ..options(&var("PGDYNO_TEST_INIT_STEPS"))
    };
    let code = match run(&mut place.session(), &options, interrupts) {
        Ok(()) => 0,
        Err(failure) => {
            pgdyno_output::remark!("{failure}");
            failure.exit.code()
        }
    };
    std::process::exit(code.into());
}

/// Interrupts an initialisation once `when` is true; its exit code and what it said.
fn interrupted(place: &Place, steps: &str, signal: Signal, when: &str) -> (Option<i32>, String) {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "init::tests::child", "--nocapture"])
        .env("PGDYNO_TEST_INIT_DATABASE", &place.database)
        .env("PGDYNO_TEST_INIT_HOST", &place.host)
        .env("PGDYNO_TEST_INIT_PORT", place.port.to_string())
        .env("PGDYNO_TEST_INIT_STEPS", steps)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut session = place.session();
    let mut tries = 0;
    while session.query_one_value(when).unwrap().as_deref() != Some("t") {
        tries += 1;
        assert!(tries < 1_000, "never: {when}");
        std::thread::sleep(Duration::from_millis(10));
    }
    send_signal(child.id(), signal).unwrap();
    let output = child.wait_with_output().unwrap();
    (
        output.status.code(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

#[test]
fn an_interrupted_copy_leaves_nothing() {
    let place = Place::new();
    said(&mut place.session(), &options("dtg"), false);
    let copying = "SELECT coalesce(bool_or(tuples_processed > 50000), false) \
        FROM pg_stat_progress_copy WHERE datname = current_database()";
    let (code, text) = interrupted(&place, "g", Signal::Interrupt, copying);
    assert_eq!(code, Some(1), "{text}");
    let at = text.find("Cancel request sent\n").unwrap();
    let (sent, rest) = text[at..].split_once('\n').unwrap();
    assert_eq!(sent, "Cancel request sent");
    let lines: Vec<&str> = rest.lines().filter(|l| !l.contains(" tuples (")).collect();
    assert_eq!(lines[0], "ERROR:  canceling statement due to user request");
    assert!(
        lines[1].starts_with("CONTEXT:  COPY pgbench_accounts, line "),
        "{text}"
    );
    assert_eq!(lines[2..], ["pgdyno: error: PQendcopy failed"], "{text}");
    // What the database had before is there: the truncation was rolled back too.
    assert_eq!(
        place.answer("SELECT count(*) FROM pgbench_accounts"),
        "100000"
    );
}

#[test]
fn an_interrupt_cancels_the_running_statement() {
    let place = Place::new();
    said(&mut place.session(), &options("dtg"), false);
    let mut holder = place.session();
    holder
        .simple_query("BEGIN; LOCK TABLE pgbench_accounts")
        .unwrap();
    let waits = "SELECT coalesce(bool_or(wait_event_type = 'Lock'), false) FROM pg_stat_activity \
        WHERE datname = current_database()";
    for (signal, expected) in [(Signal::Interrupt, 1), (Signal::Terminate, 143)] {
        let (code, text) = interrupted(&place, "dt", signal, waits);
        assert_eq!(code, Some(expected), "{text}");
        assert_eq!(
            text,
            "dropping old tables...\n\
             Cancel request sent\n\
             pgdyno: error: query failed: ERROR:  canceling statement due to user request\n\
             pgdyno: detail: Query was: drop table if exists pgbench_accounts, pgbench_branches, \
             pgbench_history, pgbench_tellers\n"
        );
    }
}
