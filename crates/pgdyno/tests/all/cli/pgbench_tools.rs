//! A results database of pgbench-tools in the notebook.

use std::path::PathBuf;

use crate::support::{Database, Ran, pgdyno, ran};

/// Its tables, as far as they are read; releases before lack those of settings and metrics.
const TABLES: &str = "
    CREATE TABLE testset (server text NOT NULL, set serial, info text, category text);
    CREATE TABLE tests (server text NOT NULL, test serial, set int NOT NULL, scale int, dbsize int8,
        start_time timestamp DEFAULT now(), end_time timestamp, tps decimal DEFAULT 0, script text,
        clients int, workers int, trans int, avg_latency float, max_latency float,
        percentile_90_latency float, rate_limit numeric, server_version text);
    CREATE TABLE test_stat_database (test int NOT NULL, blks_read bigint, blks_hit bigint, server text);
    INSERT INTO testset VALUES ('lab', 1, 'Disks before', NULL), ('lab', 2, NULL, NULL);
    INSERT INTO tests VALUES
        ('lab', 1, 1, 10, 170000000, '2026-01-31 12:00:00', '2026-01-31 12:01:01', 1000.5, 'select.sql',
         4, 2, 60030, 3.5, 40.25, 7.125, NULL, 'PostgreSQL 17.2 on x86_64'),
        ('lab', 2, 1, 10, 170000000, '2026-01-31 12:02:00', '2026-01-31 12:03:00', 1100, 'select.sql',
         4, 2, 66000, 3, 30, 6, NULL, 'PostgreSQL 17.2 on x86_64'),
        ('lab', 3, 1, 100, NULL, '2026-01-31 12:04:00', '2026-01-31 12:05:00', 500, 'select.sql',
         8, 2, 30000, 16, 90, 20, 500, NULL),
        ('lab', 4, 1, 100, NULL, '2026-01-31 12:06:00', '2026-01-31 12:07:00', 0, 'select.sql',
         8, 2, NULL, NULL, NULL, NULL, NULL, NULL),
        ('lab', 5, 2, 100, NULL, '2026-01-31 12:08:00', NULL, 0, 'select.sql',
         8, 2, NULL, NULL, NULL, NULL, NULL, NULL);
    INSERT INTO test_stat_database VALUES (1, 123, 456789, 'lab');
";

const DETAILS: &str = "
    CREATE TABLE test_settings (server text, test int, name text, setting text, unit text, boot_val text);
    INSERT INTO test_settings VALUES
        ('lab', 1, 'work_mem', '8192', 'kB', '4096'), ('lab', 1, 'fsync', 'on', NULL, 'on');
    CREATE TABLE test_metrics_data (collected timestamp, value float, metric text, test int, server text);
    INSERT INTO test_metrics_data VALUES
        ('2026-01-31 12:00:01', 17.5, 'us', 1, 'lab'), ('2026-01-31 12:00:02', 18, 'us', 1, 'lab');
    CREATE TABLE test_statements (server text, test int, queryid bigint, query text, calls bigint,
        total_exec_time float, rows bigint, shared_blks_hit bigint);
    INSERT INTO test_statements VALUES ('lab', 1, 7, 'BEGIN', 60030, 12.5, 0, 0),
        ('lab', 1, -8, 'SELECT $1', 60030, 2000.25, 60030, 90), ('lab', 2, 9, 'SELECT 2', 3, NULL, NULL, 1);
    CREATE TABLE test_statio (test int, tablename name, indexname name, rel_blks_hit bigint, server text);
    INSERT INTO test_statio VALUES (1, 'pgbench_accounts', NULL, 11, 'lab'),
        (1, 'pgbench_accounts', 'pgbench_accounts_pkey', 22, 'lab'), (2, 'pgbench_accounts', NULL, 33, 'lab');
    CREATE TABLE test_buffercache (server text, test int, relname text, bytes bigint);
    INSERT INTO test_buffercache VALUES ('lab', 1, 'pgbench_accounts', 8192);
    CREATE TABLE server (server text PRIMARY KEY, server_cpu text);
    INSERT INTO server VALUES ('lab', 'a fast one');
    CREATE TABLE timing (ts timestamp, latency float); INSERT INTO timing SELECT now(), 1 FROM generate_series(1, 1234);
    CREATE TABLE buckets (bucket_left numeric);
";

struct Notebook(tempfile::TempDir, PathBuf);

impl Notebook {
    fn new() -> Notebook {
        let Notebook(folder, file) = Notebook::in_file();
        let store = crate::support::notebook::at(&file);
        Notebook(folder, store)
    }

    /// A file in any case, to be asked in SQLite's words.
    fn in_file() -> Notebook {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let file = folder.path().join("store");
        Notebook(folder, file)
    }

    fn pgdyno(&self, args: &[&str]) -> Ran {
        ran(pgdyno(args).arg("--store").arg(&self.1))
    }

    #[track_caller]
    fn sql(&self, query: &str) -> String {
        self.pgdyno(&["sql", query]).expect(0, &[]).stdout
    }
}

#[test]
fn tests_of_pgbench_tools_become_trials_once() {
    let results = Database::new("results_of_pgbench_tools");
    results.sql(TABLES);
    results.sql(DETAILS);
    let notebook = Notebook::in_file();
    let import = ["import", "--from-pgbench-tools", &results.url];
    notebook.pgdyno(&import).expect(
        0,
        &[
            "4 trials added",
            "tests that have not ended were left out: 1",
            "tables without a place in the notebook were left out, with their rows: timing (1,234)",
        ],
    );
    notebook
        .pgdyno(&import)
        .expect(0, &["0 trials added", "4 trials there already"]);
    let rows = notebook.sql(
        "SELECT e.name, t.state, t.started, t.clients, t.threads, t.rate_per_s, t.committed, t.elapsed_us, \
         t.goodput_per_s, t.service_mean_us, t.service_p90_us, t.service_max_us, t.response_p90_us, \
         t.server_version, t.repeat, t.position, t.target, t.workload \
         FROM trial t JOIN experiment e ON e.number = t.experiment ORDER BY t.number",
    );
    for row in [
        [
            "Disks before",
            "complete",
            "2026-01-31T12:00:00.000000Z",
            "1000.5",
            "3500",
            "7125",
            "40250",
            "17.2",
        ],
        [
            "Disks before",
            "complete",
            "2026-01-31T12:02:00.000000Z",
            "66000",
            "60000000",
            "6000",
            "30000",
            "lab",
        ],
        [
            "Disks before",
            "complete",
            "2026-01-31T12:04:00.000000Z",
            "500",
            "30000",
            "20000",
            "8",
            "lab",
        ],
        [
            "Disks before",
            "failed",
            "2026-01-31T12:06:00.000000Z",
            "8",
            "2",
            "1",
            "4",
            "lab",
        ],
    ] {
        let line = rows.lines().find(|line| line.contains(row[2]));
        let line = line.unwrap_or_else(|| panic!("no {} in {rows}", row[2]));
        assert!(
            row.iter().all(|value| line.contains(value)),
            "{row:?} {line}"
        );
    }
    // Repeats of one point are known, what the server had is kept.
    let repeats = notebook.sql("SELECT group_concat(repeat || point, ' ') FROM trial");
    assert!(
        repeats.contains(r#"1{"clients":4,"params.scale":10} 2{"clients":4,"params.scale":10}"#),
        "{repeats}"
    );
    let kept = notebook.sql(
        "SELECT (SELECT value ->> 'blks_hit' FROM finding WHERE name = 'test_stat_database') || ' ' || \
         (SELECT group_concat(at_us || '=' || value) FROM sample) || ' ' || \
         (SELECT facts ->> '$.changed_settings.work_mem' FROM trial WHERE number = 1)",
    );
    assert!(
        kept.contains("456789 1000000=17.5,2000000=18.0 8192 x kB"),
        "{kept}"
    );
    let statements = notebook.sql(
        "SELECT group_concat(trial || ':' || place || ' ' || text || ' ' || calls || ' ' || time_us || \
         ' ' || coalesce(rows, '-') || ' ' || (details ->> '$.queryid') || ' ' || \
         (details ->> '$.shared_blks_hit'), '; ') FROM server_statement",
    );
    assert!(
        statements.contains(
            "1:0 SELECT $1 60030 2000250.0 60030 -8 90; 1:1 BEGIN 60030 12500.0 0 7 0; \
             2:0 SELECT 2 3 0.0 - 9 1"
        ),
        "{statements}"
    );
    let lists = notebook.sql(
        "SELECT group_concat(f.trial || ' ' || f.name || ' ' || (f.value ->> '$.server_cpu'), ';') || ' ' || \
         (SELECT group_concat(l.trial || '=' || (j.value ->> 'rel_blks_hit')) \
          FROM finding l, json_each(l.value) j WHERE l.name = 'test_statio') || ' ' || \
         (SELECT value ->> '$[0].bytes' FROM finding WHERE name = 'test_buffercache') \
         FROM finding f WHERE f.name = 'server'",
    );
    assert!(
        lists.contains("1 server a fast one;2 server a fast one;3 server a fast one;4 server a fast one 1=11,1=22,2=33 8192"),
        "{lists}"
    );
}

#[test]
fn trials_of_pgbench_tools_are_shown_as_far_as_they_are_known() {
    let results = Database::new("results_to_show");
    results.sql(TABLES);
    let notebook = Notebook::new();
    notebook
        .pgdyno(&["import", "--from-pgbench-tools", &results.url])
        .expect(0, &["4 trials added"]);
    notebook.pgdyno(&["ls"]).expect(0, &["select.sql", "1,100"]);
    notebook
        .pgdyno(&["show", "--experiment", "Disks before"])
        .expect(0, &["1,050"]);
    notebook
        .pgdyno(&["compare", "1", "2"])
        .expect(0, &["goodput"]);
    // Zeros in place of seconds would be wrong.
    let only_totals = [
        "trial 1 comes from pgbench-tools, which keeps totals and no seconds",
        "pgdyno show --experiment 'Disks before'",
    ];
    notebook.pgdyno(&["show", "1"]).expect(2, &only_totals);
    let page = notebook.0.path().join("page.html");
    let page = page.to_str().expect("ASCII");
    notebook
        .pgdyno(&["report", "1", "-o", page])
        .expect(2, &only_totals);
    notebook
        .pgdyno(&["report", "Disks before", "-o", page])
        .expect(2, &["comes from pgbench-tools"]);
}

/// pgbench-tools since July 2025 loses the rate of every test.
#[test]
fn tests_that_have_transactions_and_no_rate_are_named() {
    let results = Database::new("results_without_rates");
    results.sql(TABLES);
    results.sql("UPDATE tests SET tps = NULL WHERE test = 2");
    let import = ["import", "--from-pgbench-tools", &results.url];
    let said = ["4 trials added", "without a rate became failed trials: 1 "];
    Notebook::new().pgdyno(&import).expect(0, &said);
}

#[test]
fn a_database_without_results_is_named() {
    let other = Database::new("no_results");
    let notebook = Notebook::new();
    notebook
        .pgdyno(&["import", "--from-pgbench-tools", &other.url])
        .expect(
            1,
            &[
                "has no results of pgbench-tools: relation \"tests\" does not exist",
                "RESULTDB",
            ],
        );
    notebook
        .pgdyno(&["import"])
        .expect(2, &["--from-pgbench-tools"]);
}
