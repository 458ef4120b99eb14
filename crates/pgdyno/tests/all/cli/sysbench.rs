//! `pgdyno sysbench` on a real PostgreSQL: statements, counts and output are as those of sysbench
//! 1.0.20, whose facts are recorded here. With sysbench itself: `against_sysbench` below.

mod against;
mod tpcc;

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::support::{Database, Ran, ended, pgdyno, ran};

/// Options that name a database of a server.
struct Place {
    database: Database,
    options: Vec<String>,
}

impl Place {
    fn on(server: &pgdyno_server::Server, name: &str) -> Self {
        let port = server.address().port;
        let database = Database::on(server, name);
        let user = database.value("SELECT current_user");
        let options = [
            "--db-driver=pgsql".to_owned(),
            format!("--pgsql-host={}", server.address().socket_dir.display()),
            format!("--pgsql-port={port}"),
            format!("--pgsql-user={user}"),
            format!("--pgsql-db={name}"),
        ];
        Self {
            database,
            options: options.into(),
        }
    }

    fn new(name: &str) -> Self {
        Self::on(pgdyno_testkit::postgres(), name)
    }

    fn command(&self, line: &str) -> Command {
        let mut command = pgdyno(&["sysbench"]);
        command.args(&self.options).args(line.split_whitespace());
        command
    }

    fn sysbench(&self, line: &str) -> Ran {
        ran(&mut self.command(line))
    }
}

/// read, write, other, transactions of a report.
fn counts(text: &str) -> [u64; 4] {
    ["read:", "write:", "other:", "transactions:"].map(|name| {
        let line = text.lines().find(|line| line.trim().starts_with(name));
        let line = line.unwrap_or_else(|| panic!("no {name} in {text}"));
        let word = line.split_whitespace().nth(1).unwrap();
        word.parse().unwrap()
    })
}

fn shape(text: &str) -> String {
    let mut shape = String::new();
    for c in text.chars() {
        let c = if c.is_ascii_digit() || c == '.' {
            'N'
        } else {
            c
        };
        if !(c == 'N' && shape.ends_with('N')) {
            shape.push(c);
        }
    }
    shape
        .split(' ')
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn every_script_counts_as_sysbench_does_and_leaves_nothing() {
    let place = Place::new("sysbench_scripts");
    let size = "--tables=2 --table-size=500";
    place
        .sysbench(&format!("oltp_read_write {size} prepare"))
        .expect(
            0,
            &[
                "Creating table 'sbtest1'...",
                "Inserting 500 records into 'sbtest2'",
            ],
        );
    // Of 1.0.20 with one thread, for one event.
    for (script, [reads, writes, others]) in [
        ("oltp_read_write", [14, 4, 2]),
        ("oltp_read_only", [14, 0, 2]),
        ("oltp_write_only", [0, 4, 2]),
        ("oltp_point_select", [1, 0, 0]),
        ("oltp_update_index", [0, 1, 0]),
        ("oltp_update_non_index", [0, 1, 0]),
        ("oltp_insert", [0, 1, 0]),
    ] {
        let ran = place.sysbench(&format!("{script} {size} --events=20 --time=0 run"));
        let ran = ran.expect(0, &["Threads started!", "Latency (ms):"]);
        let want = [20 * reads, 20 * writes, 20 * others, 20];
        assert_eq!(counts(&ran.stdout), want, "{script}: {}", ran.stdout);
    }
    for script in ["select_random_points", "select_random_ranges"] {
        let ran = place.sysbench(&format!(
            "{script} --table-size=500 --threads=3 --events=20 --time=0 run"
        ));
        assert_eq!(
            counts(&ran.expect(0, &[]).stdout),
            [20, 0, 0, 20],
            "{script}"
        );
    }
    // A row is deleted once; then its DELETE is neither read nor write.
    let ran = place
        .sysbench("oltp_delete --table-size=1 --events=20 --time=0 run")
        .expect(0, &[]);
    assert_eq!(counts(&ran.stdout), [0, 1, 19, 20]);
    place
        .sysbench(&format!("oltp_read_write {size} cleanup"))
        .expect(0, &["Dropping table 'sbtest2'..."]);
    assert_eq!(
        place
            .database
            .value("SELECT count(*) FROM pg_tables WHERE tablename LIKE 'sbtest%'"),
        "0"
    );
    place
        .sysbench(&format!("oltp_read_write {size} cleanup"))
        .expect(0, &[]);
}

#[test]
fn tables_are_as_sysbench_makes_them() {
    let place = Place::new("sysbench_tables");
    place
        .sysbench("oltp_insert --table-size=3000 prepare")
        .expect(0, &[]);
    let columns = "SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod) || ' ' || attnotnull, ', ' \
                   ORDER BY attnum) FROM pg_attribute WHERE attnum > 0 AND attrelid = 'sbtest1'::regclass";
    assert_eq!(
        place.database.value(columns),
        "id integer true, k integer true, c character(120) true, pad character(60) true"
    );
    let indexes = "SELECT string_agg(indexdef, '; ' ORDER BY indexname) FROM pg_indexes WHERE tablename = 'sbtest1'";
    assert_eq!(
        place.database.value(indexes),
        "CREATE INDEX k_1 ON public.sbtest1 USING btree (k); \
         CREATE UNIQUE INDEX sbtest1_pkey ON public.sbtest1 USING btree (id)"
    );
    let rows = "SELECT count(*), min(id), max(id), min(k) >= 1, max(k) <= 3000, bool_and(rtrim(c) ~ '^(\\d{11}-){9}\\d{11}$'), \
                bool_and(rtrim(pad) ~ '^(\\d{11}-){4}\\d{11}$'), \
                count(*) FILTER (WHERE k BETWEEN 1485 AND 1516) BETWEEN 2150 AND 2400 FROM sbtest1";
    assert_eq!(place.database.value(rows), "3000|1|3000|t|t|t|t|t");
    // New rows go behind those.
    place
        .sysbench("oltp_insert --table-size=3000 --events=2 --time=0 run")
        .expect(0, &[]);
    assert_eq!(
        place
            .database
            .value("SELECT max(id), count(*) FROM sbtest1"),
        "3002|3002"
    );
}

#[test]
fn tables_that_sysbench_has_prepared_are_run_on() {
    let place = Place::new("sysbench_theirs");
    // As sysbench 1.0.20 makes them, with other rows.
    for number in 1..=2 {
        place.database.sql(&format!(
            "CREATE TABLE sbtest{number}(id SERIAL, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, \
             pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)); \
             INSERT INTO sbtest{number} (k, c, pad) SELECT i, i, i FROM generate_series(1, 100) i; \
             CREATE INDEX k_{number} ON sbtest{number}(k)"
        ));
    }
    let line = "oltp_write_only --tables=2 --table-size=100 --events=50 --time=0 run";
    let ran = place.sysbench(line).expect(0, &[]);
    assert_eq!(counts(&ran.stdout), [0, 200, 100, 50], "{ran:?}");
    let changed = "SELECT (SELECT count(*) FROM sbtest1 WHERE c LIKE '%-%') BETWEEN 1 AND 99, \
                   (SELECT count(*) FROM sbtest2 WHERE c LIKE '%-%') BETWEEN 1 AND 99";
    assert_eq!(place.database.value(changed), "t|t");
    place
        .sysbench("oltp_write_only --tables=2 cleanup")
        .expect(0, &[]);
}

#[test]
fn output_has_the_form_of_sysbenchs() {
    let place = Place::new("sysbench_output");
    place
        .sysbench("oltp_read_write --table-size=1000 prepare")
        .expect(0, &[]);
    let line = "oltp_read_write --table-size=1000 --threads=2 --time=2 --report-interval=1 --rand-seed=7 run";
    let ran = place.sysbench(line).expect(0, &[]);
    let text = ran.stdout;
    let (first, rest) = text.split_once('\n').unwrap();
    assert!(
        first.starts_with("sysbench 1.0.20 (using pgdyno "),
        "{first}"
    );
    let want = "\nRunning the test with following options:\nNumber of threads: 2\n\
        Report intermediate results every 1 second(s)\n\
        Initializing random number generator from seed (7).\n\n\nInitializing worker threads...\n\nThreads started!\n\n";
    let rest = rest.strip_prefix(want).unwrap_or_else(|| panic!("{text}"));
    let (lines, totals) = rest.split_once("SQL statistics:\n").unwrap();
    assert_eq!(lines.lines().count(), 2, "{lines}");
    for line in lines.lines() {
        let want =
            "[ Ns ] thds: N tps: N qps: N (r/w/o: N/N/N) lat (ms,N%): N err/s: N reconn/s: N";
        assert_eq!(shape(line), want);
    }
    let recorded = include_str!("../../../../compat-sysbench/src/recorded/totals.txt");
    assert_eq!(
        shape(&format!("SQL statistics:\n{totals}")),
        shape(recorded)
    );
    let [reads, writes, others, events] = counts(&text);
    assert_eq!(reads, 14 * events);
    // Two clients that delete the same row: one of them deletes none.
    assert!(
        writes <= 4 * events && writes + others == 6 * events,
        "{text}"
    );
}

/// The regular expressions by which public wrappers read sysbench's output, in their own words for
/// what they look for: PerfKitBenchmarker (its lines and its totals), DBTune, a table of totals.
/// docs/sysbench.md says which programs were run.
#[test]
fn wrappers_find_their_figures() {
    let place = Place::new("sysbench_wrappers");
    place
        .sysbench("oltp_read_only --table-size=100 prepare")
        .expect(0, &[]);
    let line = "oltp_read_only --table-size=100 --time=2 --report-interval=1 run";
    let text = place.sysbench(line).expect(0, &[]).stdout;
    let number = |text: &str| {
        text.parse::<f64>()
            .unwrap_or_else(|_| panic!("no number: {text}"))
    };
    let between = |text: &str, before: &str, after: &str| {
        let (_, rest) = text
            .split_once(before)
            .unwrap_or_else(|| panic!("no {before} in {text}"));
        number(rest.split(after).next().unwrap().trim())
    };
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with('[')).collect();
    assert_eq!(lines.len(), 2);
    for line in lines {
        let tps = between(line, "tps: ", " ");
        let qps = between(line, "qps: ", " (");
        assert!((qps / tps - 16.0).abs() < 0.1, "{line}");
        assert!(between(line, "lat (ms,95%): ", " ") > 0.0);
        assert_eq!(between(line, "err/s: ", " "), 0.0);
        assert_eq!(between(line, "reconn/s: ", "\n"), 0.0);
        assert_eq!(between(line, "(r/w/o: ", "/") > 0.0, tps > 0.0);
    }
    let events = between(&text, "total number of events:", "\n");
    let transactions = between(&text, "transactions:", "(");
    assert_eq!(events, transactions);
    let per_s = |name: &str| {
        let (_, rest) = text.split_once(name).unwrap();
        between(rest, "(", " per sec.)")
    };
    assert!((per_s("    queries:") / per_s("transactions:") - 16.0).abs() < 0.01);
    let total_s = between(&text, "total time:", "s");
    assert!((events / total_s / per_s("transactions:") - 1.0).abs() < 0.01);
    let (min, avg) = (between(&text, "min:", "\n"), between(&text, "avg:", "\n"));
    let (max, p95) = (
        between(&text, "max:", "\n"),
        between(&text, "95th percentile:", "\n"),
    );
    assert!(min <= avg && avg <= max && p95 <= max * 1.02, "{text}");
    assert!(
        (between(&text, "sum:", "\n") / (avg * events) - 1.0).abs() < 0.05,
        "{text}"
    );
    assert_eq!(between(&text, "events (avg/stddev):", "/"), events);
    assert!(between(&text, "execution time (avg/stddev):", "/") <= total_s);
}

#[test]
fn errors_are_said_in_sysbenchs_words() {
    let place = Place::new("sysbench_errors");
    let missing = "FATAL: PQprepare() failed: ERROR:  relation \"sbtest1\" does not exist";
    place
        .sysbench("oltp_read_only run")
        .expect(1, &[missing, "with prepare instead of run"]);
    place.database.sql("CREATE TABLE sbtest1 (mine int)");
    place
        .sysbench("oltp_read_only cleanup")
        .expect(1, &["will not drop sbtest1"]);
    let there = "FATAL: PQexec() failed: 7 relation \"sbtest1\" already exists";
    place
        .sysbench("oltp_read_only prepare")
        .expect(1, &["Creating table 'sbtest1'...", there]);
    let sysbench = |line: &str| ran(pgdyno(&["sysbench"]).args(line.split_whitespace()));
    let ended = sysbench("oltp_read_only --frob=1 run").expect(1, &[]);
    assert!(
        ended.stderr.starts_with("invalid option: --frob\n"),
        "{ended:?}"
    );
    assert!(
        ended.stdout.starts_with("sysbench 1.0.20 (using pgdyno "),
        "{ended:?}"
    );
    sysbench("oltp_read_only run").expect(
        1,
        &[
            "FATAL: invalid database driver name: 'mysql'\nFATAL: `thread_init' function failed: ",
            "add --db-driver=pgsql",
        ],
    );
    sysbench("oltp_read_only --db-driver=pgsql --pgsql-port=1 run").expect(
        1,
        &[
            "FATAL: Connection to database failed: ",
            "FATAL: Thread initialization failed!",
        ],
    );
    sysbench("./mine.lua --db-driver=pgsql run")
        .expect(1, &["pgdyno pack show sysbench --to mine"]);
    sysbench("oltp_read_only frob").expect(1, &["Unknown command: frob"]);
    sysbench("oltp_read_only check").expect(1, &["Unknown command: check", "of tpcc also check"]);
    sysbench("tpcc prewarm").expect(1, &["Unknown command: prewarm"]);
    sysbench("tpcc help").expect(0, &["tpcc options:", "--scale=N", "--trx-level=STRING"]);
    sysbench("oltp_read_only").expect(
        1,
        &["FATAL: Command is required. Supported commands: prepare,"],
    );
    sysbench("oltp_read_only prewarm").expect(1, &["pg_prewarm"]);
    sysbench("oltp_read_only help").expect(0, &["oltp_read_only options:", "--table-size=N"]);
    sysbench("--help").expect(
        0,
        &[
            "--db-driver=STRING",
            "oltp_read_write",
            "pgdyno help sysbench",
        ],
    );
    sysbench("--version").expect(0, &["sysbench 1.0.20"]);
}

#[test]
fn an_error_that_is_no_conflict_ends_the_run_without_a_report() {
    let place = Place::new("sysbench_fatal");
    place
        .sysbench("oltp_read_only --table-size=10 prepare")
        .expect(0, &[]);
    place.database.sql(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS \
         $$BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '23514'; END$$; \
         CREATE TRIGGER refuse BEFORE UPDATE ON sbtest1 FOR EACH ROW EXECUTE FUNCTION refuse()",
    );
    let ran = place
        .sysbench("oltp_update_index --table-size=10 --threads=2 run")
        .expect(
            1,
            &[
                "FATAL: PQexecPrepared() failed: 7 refused\nFATAL: `thread_run' function failed: ",
                "state = '23514': refused",
            ],
        );
    assert!(!ran.stdout.contains("SQL statistics"), "{ran:?}");
}

#[test]
fn conflicts_are_ignored_errors_and_begun_again_with_other_values() {
    let place = Place::new("sysbench_conflicts");
    place
        .sysbench("oltp_write_only --table-size=1000 prepare")
        .expect(0, &[]);
    // Every third insert of a row meets a duplicate, a deadlock or a serialization failure.
    place.database.sql(
        "CREATE SEQUENCE turns; CREATE FUNCTION meet() RETURNS trigger LANGUAGE plpgsql AS $$ \
         DECLARE turn int := nextval('turns'); BEGIN IF turn % 3 = 0 THEN \
         RAISE EXCEPTION 'conflict' USING ERRCODE = (ARRAY['23505', '40P01', '40001'])[turn / 3 % 3 + 1]; \
         END IF; RETURN NEW; END$$; \
         CREATE TRIGGER meet BEFORE INSERT ON sbtest1 FOR EACH ROW EXECUTE FUNCTION meet()",
    );
    let ran = place
        .sysbench("oltp_write_only --table-size=1000 --events=60 --time=0 run")
        .expect(0, &[]);
    // 60 are done; 29 times the transaction was rolled back, and begun again.
    let [_, writes, others, events] = counts(&ran.stdout);
    assert_eq!((events, writes, others), (60, 240, 120), "{ran:?}");
    assert!(
        ran.stdout
            .contains("    ignored errors:                      29     ("),
        "{ran:?}"
    );
    assert_eq!(place.database.value("SELECT count(*) FROM sbtest1"), "1000");
}

#[test]
fn a_restart_of_the_server_is_survived() {
    let server = pgdyno_testkit::postgres_with(&[]);
    let place = Place::on(&server, "sysbench_restart");
    place
        .sysbench("oltp_read_write --table-size=1000 prepare")
        .expect(0, &[]);
    let line = "oltp_read_write --table-size=1000 --threads=2 --time=4 run";
    let mut command = place.command(line);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    place.database.wait_for(
        "SELECT 1 FROM pg_stat_database WHERE datname = 'sysbench_restart' AND xact_commit > 200",
    );
    server.restart().unwrap();
    let ran = ended(child.wait_with_output().unwrap()).expect(0, &["SQL statistics:"]);
    let line = ran
        .stdout
        .lines()
        .find(|line| line.trim().starts_with("reconnects:"));
    let reconnects: u64 = line
        .unwrap()
        .split_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    assert_eq!(reconnects, 2, "{ran:?}");
    assert!(counts(&ran.stdout)[3] > 100, "{ran:?}");
}

/// The statements that a server logged of a database: texts with how often, and the first parameters
/// of those with `WHERE id=$1`.
#[derive(Debug, Default)]
struct Logged {
    texts: BTreeMap<String, u64>,
    /// The kinds of one session's statements in their order, as texts without numbers of tables.
    order: Vec<String>,
    ids: Vec<u32>,
}

impl Logged {
    fn read(text: &str, script: &str) -> Self {
        let mut logged = Self::default();
        let text = text.replace("\n\t", "\n");
        let entries: Vec<&str> = text.split("\nMARK ").collect();
        for entry in entries {
            let entry = entry.trim_start_matches("MARK ");
            let Some((name, rest)) = entry.split_once(':') else {
                continue;
            };
            if name != script {
                continue;
            }
            let rest = rest.trim_end_matches('\n');
            let is_of = |marker: &str| rest.split_once(marker).map(|(_, text)| text);
            if let Some(values) = is_of("DETAIL:  parameters: ").or(is_of("DETAIL:  Parameters: "))
            {
                let last = logged.order.last().map_or("", String::as_str);
                if last.contains("WHERE id=$1") {
                    let id = values.split('\'').nth(1).unwrap();
                    logged.ids.push(id.parse().unwrap());
                }
                continue;
            }
            let executed = is_of("LOG:  execute ").and_then(|text| text.split_once(": "));
            // pgdyno's own questions, before and after a run, are not prepared.
            let is_of_script = |text: &&str| text.contains(" sbtest") && !text.contains("AS seen");
            let sent = is_of("LOG:  statement: ").filter(is_of_script);
            let Some(statement) = executed.map(|(_, text)| text).or(sent) else {
                continue;
            };
            let statement = statement.trim().trim_end_matches(';').trim();
            // Literals of text that is not prepared differ each time.
            let mut literal = false;
            let plain: String = statement
                .chars()
                .filter(|c| {
                    literal ^= *c == '\'';
                    !(literal && c.is_ascii_digit())
                })
                .collect();
            let plain = match plain.split_once("VALUES (") {
                Some((head, tail)) if !tail.starts_with('$') => {
                    format!(
                        "{head}VALUES ({}",
                        tail.trim_start_matches(|c: char| c.is_ascii_digit())
                    )
                }
                _ => plain,
            };
            *logged.texts.entry(plain.trim().to_owned()).or_default() += 1;
            logged
                .order
                .push(plain.trim().replace("sbtest2", "sbtest1"));
        }
        logged
    }
}

/// A server with a log whose entries begin with `MARK` and the database.
fn logging() -> pgdyno_server::Server {
    pgdyno_testkit::postgres_with(&[
        "logging_collector=on",
        "log_rotation_size=0",
        "log_line_prefix=MARK %d:",
        "log_min_messages=error",
    ])
}

/// The server's log up to now: its collector writes later than statements end, so a mark is waited for.
fn log_of(place: &Place) -> String {
    static MARKS: AtomicUsize = AtomicUsize::new(0);
    let mark = format!("read up to {};", MARKS.fetch_add(1, Ordering::Relaxed));
    place
        .database
        .sql(&format!("DO $$ BEGIN RAISE LOG '{mark}'; END $$"));
    loop {
        let log = place
            .database
            .value("SELECT pg_read_file(pg_current_logfile())");
        // Where statements are logged the one with the mark is, too: its own entry begins with it.
        if log.contains(&format!("LOG:  {mark}")) {
            return log;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Statements of sysbench 1.0.20, as the server logged them of one event of `oltp_read_write` on one
/// table.
const READ_WRITE: [(&str, u64); 11] = [
    ("BEGIN", 1),
    ("COMMIT", 1),
    ("DELETE FROM sbtest1 WHERE id=$1", 1),
    (
        "INSERT INTO sbtest1 (id, k, c, pad) VALUES ($1, $2, $3, $4)",
        1,
    ),
    (
        "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN $1 AND $2 ORDER BY c",
        1,
    ),
    ("SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN $1 AND $2", 1),
    ("SELECT c FROM sbtest1 WHERE id BETWEEN $1 AND $2", 1),
    (
        "SELECT c FROM sbtest1 WHERE id BETWEEN $1 AND $2 ORDER BY c",
        1,
    ),
    ("SELECT c FROM sbtest1 WHERE id=$1", 10),
    ("UPDATE sbtest1 SET c=$1 WHERE id=$2", 1),
    ("UPDATE sbtest1 SET k=k+1 WHERE id=$1", 1),
];

#[test]
fn statements_are_sysbenchs_and_ids_as_special_as_its_own() {
    let server = logging();
    let place = Place::on(&server, "sb_statements");
    place
        .sysbench("oltp_read_write --table-size=10000 prepare")
        .expect(0, &[]);
    place
        .database
        .sql("ALTER DATABASE sb_statements SET log_statement = 'all'");
    place
        .sysbench("oltp_read_write --table-size=10000 --events=200 --time=0 run")
        .expect(0, &[]);
    let logged = Logged::read(&log_of(&place), "sb_statements");
    for (text, each) in READ_WRITE {
        let count = logged.texts.get(text).copied().unwrap_or(0);
        assert_eq!(count, 200 * each, "{text}: {:?}", logged.texts);
    }
    // Measured of sysbench: three quarters are in the upper three quarters of the central 1 %.
    let ids = &logged.ids;
    let central = ids.iter().filter(|id| (4975..=5051).contains(*id)).count();
    let share = central as f64 / ids.len() as f64;
    // Five standard deviations of so many draws on either side.
    assert_eq!(ids.len(), 2_400);
    assert!((0.72..0.81).contains(&share), "{share} of {}", ids.len());
    assert!(ids.iter().any(|id| *id < 4000) && ids.iter().any(|id| *id > 6000));
    for (script, text) in [
        (
            "select_random_points",
            "SELECT id, k, c, pad\n          FROM sbtest1\n          WHERE k IN ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        ),
        (
            "select_random_ranges --number-of-ranges=2",
            "SELECT count(k)\n          FROM sbtest1\n          WHERE k BETWEEN $1 AND $2 OR k BETWEEN $3 AND $4",
        ),
        (
            "oltp_insert",
            "INSERT INTO sbtest1 (k, c, pad) VALUES (, '---------', '----')",
        ),
        (
            "oltp_delete --db-ps-mode=disable",
            "DELETE FROM sbtest1 WHERE id=1",
        ),
    ] {
        let size = if script.starts_with("oltp_delete") {
            1
        } else {
            10_000
        };
        place
            .sysbench(&format!(
                "{script} --table-size={size} --events=3 --time=0 run"
            ))
            .expect(0, &[]);
        let logged = Logged::read(&log_of(&place), "sb_statements");
        assert_eq!(
            logged.texts.get(text),
            Some(&3),
            "{script}: {:?}",
            logged.texts
        );
    }
}

/// The largest distance of two samples' distributions, and the one that one pair in ten thousand of the
/// same distribution exceeds (Kolmogorov and Smirnov).
fn distance(ours: &[u32], theirs: &[u32]) -> (f64, f64) {
    let (mut ours, mut theirs) = (ours.to_vec(), theirs.to_vec());
    ours.sort_unstable();
    theirs.sort_unstable();
    let share = |sample: &[u32], id: u32| {
        sample.partition_point(|has| *has <= id) as f64 / sample.len() as f64
    };
    let distances = ours.iter().chain(&theirs);
    let worst = distances.map(|id| (share(&ours, *id) - share(&theirs, *id)).abs());
    let (n, m) = (ours.len() as f64, theirs.len() as f64);
    let limit = (-(0.0001_f64 / 2.0).ln() / 2.0).sqrt() * ((n + m) / (n * m)).sqrt();
    (worst.fold(0.0, f64::max), limit)
}

/// `make test-long PART=sysbench`: 100,000 statements of both, by the server's log.
#[test]
#[ignore = "compares with sysbench itself: make test-long PART=sysbench"]
fn against_sysbench() {
    let found = Command::new("sysbench").arg("--version").output();
    let Ok(version) = found.map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
    else {
        println!("skipped: sysbench is not installed (Debian: apt install sysbench)");
        return;
    };
    println!("{}", version.trim());
    let server = logging();
    let place = Place::on(&server, "sb_ours");
    let theirs = Place::on(&server, "sb_theirs");
    for place in [&place, &theirs] {
        place
            .sysbench("oltp_read_write --tables=2 --table-size=10000 prepare")
            .expect(0, &[]);
    }
    for name in ["sb_ours", "sb_theirs"] {
        place
            .database
            .sql(&format!("ALTER DATABASE {name} SET log_statement = 'all'"));
    }
    for rand in ["special", "uniform", "gaussian", "pareto"] {
        let line = format!(
            "oltp_read_write --tables=2 --table-size=10000 --rand-type={rand} --events=1300 --time=0 run"
        );
        let before = log_of(&place).len();
        place.sysbench(&line).expect(0, &[]);
        let mut stock = Command::new("sysbench");
        stock.args(&theirs.options).args(line.split_whitespace());
        ran(&mut stock).expect(0, &[]);
        let log = log_of(&place);
        let (ours, stock) = (
            Logged::read(&log[before..], "sb_ours"),
            Logged::read(&log[before..], "sb_theirs"),
        );
        assert_eq!(
            ours.texts.keys().collect::<Vec<_>>(),
            stock.texts.keys().collect::<Vec<_>>(),
            "{rand}"
        );
        let skipped =
            |order: &[String]| order.len() - order.iter().position(|text| text == "BEGIN").unwrap();
        let length = skipped(&ours.order).min(skipped(&stock.order));
        let of = |order: &[String]| order[order.len() - length..].to_vec();
        assert_eq!(of(&ours.order), of(&stock.order), "{rand}: order of kinds");
        let (worst, limit) = distance(&ours.ids, &stock.ids);
        println!(
            "{rand}: {length} statements of each in the same order; {} and {} ids: distance {worst:.5}, limit {limit:.5}",
            ours.ids.len(),
            stock.ids.len()
        );
        assert!(worst < limit, "{rand}");
    }
}

/// The number behind this word.
fn figure(text: &str, name: &str) -> u64 {
    let line = text.lines().find(|line| line.trim().starts_with(name));
    let line = line.unwrap_or_else(|| panic!("no {name} in {text}"));
    let word = line[line.find(':').unwrap() + 1..]
        .split_whitespace()
        .next();
    word.unwrap().parse().unwrap()
}

#[test]
fn an_event_that_meets_a_conflict_is_begun_again_until_all_are_done() {
    let place = Place::new("sysbench_exact_events");
    // A deadlock is found after this time, by default a second.
    place
        .database
        .sql("ALTER DATABASE sysbench_exact_events SET deadlock_timeout = '10ms'");
    let size = "--tables=1 --table-size=100";
    place
        .sysbench(&format!("oltp_write_only {size} prepare"))
        .expect(0, &[]);
    for (script, more, events) in [
        ("oltp_write_only", "", 400),
        ("oltp_read_write", "--verbosity=4", 203),
        ("oltp_read_write", "--db-ps-mode=disable --rate=2000", 101),
    ] {
        let line = format!("{script} {size} {more} --threads=8 --events={events} --time=0 run");
        let ran = place.sysbench(&line).expect(0, &[]);
        assert_eq!(counts(&ran.stdout)[3], events, "{script}: {}", ran.stdout);
        assert_eq!(figure(&ran.stdout, "total number of events:"), events);
        let ignored = figure(&ran.stdout, "ignored errors:");
        let kinds = ran.stderr.contains("pgdyno: ignored errors: ");
        assert_eq!(
            kinds,
            more == "--verbosity=4" && ignored > 0,
            "{ignored}: {}",
            ran.stderr
        );
    }
}

#[test]
fn oltp_common_prepares_and_cleans_up_and_says_that_it_does_not_run() {
    let place = Place::new("sysbench_common");
    for script in ["oltp_common", "/usr/share/sysbench/oltp_common.lua"] {
        place
            .sysbench(&format!("{script} --tables=2 --table-size=50 prepare"))
            .expect(0, &["Creating table 'sbtest2'..."]);
        assert_eq!(place.database.value("SELECT count(*) FROM sbtest2"), "50");
        place.sysbench(&format!("{script} --tables=2 run")).expect(
            1,
            &[
                "FATAL: cannot find benchmark 'event' function",
                "oltp_read_write",
            ],
        );
        place
            .sysbench(&format!("{script} --tables=2 cleanup"))
            .expect(0, &[]);
        assert_eq!(
            place
                .database
                .value("SELECT to_regclass('sbtest1') IS NULL"),
            "t"
        );
    }
}

#[test]
fn bulk_insert_fills_a_table_for_each_thread() {
    let place = Place::new("sysbench_bulk");
    let prepare = "bulk_insert --threads=2 prepare";
    place
        .sysbench(prepare)
        .expect(0, &["Creating table 'sbtest2'..."]);
    place.sysbench(prepare).expect(0, &[]);
    let ran = place
        .sysbench("bulk_insert --threads=2 --events=5000 --time=0 run")
        .expect(0, &[]);
    assert_eq!(counts(&ran.stdout), [0, 5, 0, 5000], "{}", ran.stdout);
    assert_eq!(figure(&ran.stdout, "total number of events:"), 5000);
    let rows = "SELECT (SELECT count(*) FROM sbtest1) + (SELECT count(*) FROM sbtest2) || ' ' || \
                (SELECT bool_and(id = k) FROM sbtest1)";
    assert_eq!(place.database.value(rows), "5000 true");
    place
        .sysbench("bulk_insert --threads=2 cleanup")
        .expect(0, &["Dropping table 'sbtest2'..."]);
    assert_eq!(
        place
            .database
            .value("SELECT to_regclass('sbtest2') IS NULL"),
        "t"
    );
}

#[test]
fn rows_that_are_not_there_are_counted_and_named() {
    let place = Place::new("sysbench_missing");
    place
        .sysbench("oltp_point_select --table-size=100 prepare")
        .expect(0, &[]);
    let fewer = "sbtest1 has ids up to 100, and --table-size=10000 asks for ids up to 10000";
    // The most wanted ids are in the middle: none of them is there.
    for script in ["oltp_point_select", "oltp_read_only", "oltp_update_index"] {
        let ran = place.sysbench(&format!("{script} --threads=2 --events=50 --time=0 run"));
        let ran = ran.expect(0, &[fewer, "events found no row with their id"]);
        assert_eq!(counts(&ran.stdout)[3], 50, "{script}: {}", ran.stdout);
        assert_eq!(figure(&ran.stdout, "ignored errors:"), 0, "{script}");
    }
    place
        .sysbench("oltp_read_write --events=5 --time=0 run")
        .expect(0, &[fewer]);
    let ran = place
        .sysbench("oltp_point_select --table-size=100 --events=50 --time=0 run")
        .expect(0, &[]);
    assert!(
        !ran.stderr.contains("no row") && !ran.stderr.contains("asks for ids"),
        "{}",
        ran.stderr
    );
}

#[test]
fn options_come_from_a_configuration_file() {
    let place = Place::new("sysbench_config_file");
    place
        .sysbench("oltp_point_select --table-size=100 prepare")
        .expect(0, &[]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sb.conf");
    let options: Vec<String> = place.options.iter().map(|o| o.replace("--", "")).collect();
    std::fs::write(
        &file,
        options.join("\n") + "\nthreads=2\nevents = 20\ntime=0\n",
    )
    .unwrap();
    let mut command = pgdyno(&["sysbench", "oltp_point_select", "--table-size=100", "run"]);
    command.arg(format!("--config-file={}", file.display()));
    let ran = ran(&mut command).expect(0, &["Number of threads: 2"]);
    assert_eq!(counts(&ran.stdout)[3], 20);
}
