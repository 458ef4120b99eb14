//! What pgbench-tools keeps in its results database, as experiments (its sets) and trials (its
//! tests). It keeps totals: transactions a second, the mean, the maximum and the 90th percentile of
//! latencies. (Facts: its `init/resultdb.sql`.)

use std::collections::BTreeMap;

use pgdyno_database::open;
use pgdyno_model::document::{Facts, Host, TargetKind};
use pgdyno_model::notebook::{ExperimentHeader, Latency, PGBENCH_TOOLS, TrialHeader};
use pgdyno_model::{Fact, Note, Severity};
use pgdyno_session::{Session, quote_ident, quote_literal};
use pgdyno_spec::{Address, Clients, Failure, TargetSpec, TrialSpec};
use pgdyno_store::{ForeignExperiment, ForeignStatement, ForeignTrial};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use uuid::Builder;

/// Its tests, each with its set, and its times as the notebook has them. Columns come by name: they
/// grew over the years.
const TESTS: &str = "
    SELECT to_jsonb(t), coalesce(to_jsonb(s), '{}'),
           to_char(t.start_time::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"'),
           to_char(t.end_time::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"'),
           extract(epoch FROM t.end_time - t.start_time)
    FROM tests t LEFT JOIN testset s ON s.server = t.server AND s.set = t.set
    ORDER BY t.server, t.set, t.test";

/// Tables of a row for each test that are kept as they are.
const ROWS: [&str; 2] = ["test_bgwriter", "test_stat_database"];

/// Tables of several rows for each test that are kept as they are, as one list.
const LISTS: [&str; 2] = ["test_statio", "test_buffercache"];

/// Tables that are read row by row.
const READ: [&str; 6] = [
    "tests",
    "testset",
    "server",
    "test_settings",
    "test_metrics_data",
    "test_statements",
];

/// What a results database has.
pub struct Results {
    /// Its sets with their tests.
    pub experiments: Vec<ForeignExperiment>,
    /// How many tests have no end.
    pub unended: usize,
    /// How many have transactions and no rate.
    pub without_rate: usize,
    /// Tables that have no place in the notebook, with how many rows they have.
    pub left_out: Vec<(String, u64)>,
}

/// All that is there.
///
/// # Errors
/// The server cannot be reached, or the database is no results database.
pub fn read(url: &str) -> Result<Results, Failure> {
    let wanted = TargetSpec {
        urls: vec![url.into()],
        ..TargetSpec::default()
    };
    let target = open::existing(&wanted)?
        .ok_or_else(|| Failure::new(format!("{} names no server", Address::from(url).public())))?;
    let mut session = target.connect()?;
    let no_results = |why: String| {
        Failure::new(format!(
            "{} has no results of pgbench-tools: {why}",
            target.title
        ))
        .hint("name its results database: the one that its config has as RESULTDB")
    };
    let tests = rows(&mut session, TESTS).map_err(no_results)?;
    let mut details = Details::default();
    details.read(&mut session).map_err(no_results)?;
    let left_out = left_out(&mut session).map_err(no_results)?;
    session.close();
    let mut experiments: Vec<ForeignExperiment> = Vec::new();
    let mut unended = 0;
    for row in &tests {
        let [test, set, started, ended, seconds] = row.as_slice() else {
            continue;
        };
        let (test, set) = (object(test), object(set));
        let (Some(started), Some(ended)) = (started, ended) else {
            unended += 1;
            continue;
        };
        let key = (word(&test, "server"), word(&test, "set"));
        let uuid = uuid(&["set", &key.0, &key.1, &word(&set, "info")]);
        if experiments.last().is_none_or(|last| last.uuid != uuid) {
            experiments.push(experiment(uuid, &set, &key, started));
        }
        let Some(experiment) = experiments.last_mut() else {
            continue;
        };
        let seconds = seconds.as_deref().and_then(|s| s.parse().ok());
        let position = experiment.trials.len() as u32 + 1;
        let mut trial = details.trial(test, started, ended, seconds);
        trial.header.position = Some(position);
        let is_repeat = |other: &&ForeignTrial| {
            other.header.point == trial.header.point
                && other.header.workload == trial.header.workload
        };
        let before = experiment.trials.iter().filter(is_repeat).count();
        trial.header.repeat = Some(before as u32 + 1);
        experiment.trials.push(trial);
    }
    let trials = experiments.iter().flat_map(|set| &set.trials);
    let has_no_rate = |trial: &&ForeignTrial| {
        trial.goodput_per_s.is_none() && trial.committed.is_some_and(|count| count > 0)
    };
    let without_rate = trials.filter(has_no_rate).count();
    Ok(Results {
        experiments,
        unended,
        without_rate,
        left_out,
    })
}

/// The tables that are not read, and have rows.
fn left_out(session: &mut Session) -> Result<Vec<(String, u64)>, String> {
    let known = READ.iter().chain(&ROWS).chain(&LISTS);
    let known: Vec<String> = known.map(|name| quote_literal(name)).collect();
    let sql = format!(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema() \
         AND table_type = 'BASE TABLE' AND table_name NOT IN ({}) ORDER BY table_name",
        known.join(", ")
    );
    let mut tables = Vec::new();
    for name in rows(session, &sql)?.into_iter().flatten().flatten() {
        let sql = format!("SELECT count(*) FROM {}", quote_ident(&name));
        let count = rows(session, &sql)?.into_iter().flatten().flatten().next();
        let count = count.and_then(|count| count.parse().ok()).unwrap_or(0);
        if count > 0 {
            tables.push((name, count));
        }
    }
    Ok(tables)
}

fn rows(session: &mut Session, sql: &str) -> Result<Vec<Vec<Option<String>>>, String> {
    match session.query(sql) {
        Ok(outcome) => Ok(outcome.rows),
        Err(error) => Err(error
            .server()
            .map_or(error.to_string(), |said| said.message().to_owned())),
    }
}

fn experiment(
    uuid: String,
    set: &Map<String, Value>,
    (server, number): &Key,
    started: &str,
) -> ForeignExperiment {
    let name = match word(set, "info") {
        info if info.is_empty() => format!("{server}, set {number}"),
        info => info,
    };
    ForeignExperiment {
        uuid,
        header: ExperimentHeader {
            name,
            definition: format!(
                "# Set {number} of server {server} in a results database of pgbench-tools."
            ),
        },
        created: started.to_owned(),
        trials: Vec::new(),
    }
}

/// A server and the number of a test there.
type Key = (String, String);

/// Values of metrics, each with microseconds since the test's start.
type Series = BTreeMap<String, Vec<(i64, f64)>>;

/// What other tables have of tests.
#[derive(Default)]
struct Details {
    settings: BTreeMap<Key, BTreeMap<String, String>>,
    rows: BTreeMap<Key, Vec<(String, Value)>>,
    series: BTreeMap<Key, Series>,
    statements: BTreeMap<Key, Vec<ForeignStatement>>,
}

impl Details {
    /// Older releases do not have all of the tables.
    fn read(&mut self, session: &mut Session) -> Result<(), String> {
        let mut there = |table: &str| {
            let sql = format!("SELECT 1 WHERE to_regclass('{table}') IS NOT NULL");
            rows(session, &sql).map(|rows| !rows.is_empty())
        };
        let (settings, metrics) = (there("test_settings")?, there("test_metrics_data")?);
        let (servers, statements) = (there("server")?, there("test_statements")?);
        let mut tables = Vec::new();
        for table in ROWS {
            if there(table)? {
                let sql = format!("SELECT server, test, to_jsonb(t) FROM {table} t");
                tables.push((table, sql));
            }
        }
        for table in LISTS {
            if there(table)? {
                let sql = format!(
                    "SELECT server, test, jsonb_agg(to_jsonb(t)) FROM {table} t GROUP BY server, test"
                );
                tables.push((table, sql));
            }
        }
        if servers {
            let sql =
                "SELECT t.server, t.test, to_jsonb(s) FROM tests t JOIN server s USING (server)";
            tables.push(("server", sql.to_owned()));
        }
        if settings {
            let sql = "SELECT server, test, name, setting || coalesce(' x ' || unit, '') \
                       FROM test_settings WHERE setting IS DISTINCT FROM boot_val";
            for row in rows(session, sql)? {
                let [Some(server), Some(test), Some(name), Some(value)] = row.as_slice() else {
                    continue;
                };
                let of_test = self.settings.entry((server.clone(), test.clone()));
                of_test.or_default().insert(name.clone(), value.clone());
            }
        }
        for (table, sql) in tables {
            for row in rows(session, &sql)? {
                let [Some(server), Some(test), Some(value)] = row.as_slice() else {
                    continue;
                };
                let value = serde_json::from_str(value).unwrap_or_default();
                let of_test = self.rows.entry((server.clone(), test.clone()));
                of_test.or_default().push((table.to_owned(), value));
            }
        }
        if statements {
            self.read_statements(session)?;
        }
        if metrics {
            let sql = "SELECT m.server, m.test, m.metric, m.value, \
                       round(extract(epoch FROM m.collected - t.start_time) * 1000000) \
                       FROM test_metrics_data m JOIN tests t USING (server, test)";
            for row in rows(session, sql)? {
                let [
                    Some(server),
                    Some(test),
                    Some(metric),
                    Some(value),
                    Some(at_us),
                ] = row.as_slice()
                else {
                    continue;
                };
                let (Ok(value), Ok(at_us)) = (value.parse(), at_us.parse()) else {
                    continue;
                };
                let of_test = self
                    .series
                    .entry((server.clone(), test.clone()))
                    .or_default();
                of_test
                    .entry(metric.clone())
                    .or_default()
                    .push((at_us, value));
            }
        }
        Ok(())
    }

    fn read_statements(&mut self, session: &mut Session) -> Result<(), String> {
        let sql = "SELECT server, test, to_jsonb(t) - '{server,test}'::text[] FROM test_statements t \
                   ORDER BY server, test, (to_jsonb(t) ->> 'total_exec_time')::float8 DESC NULLS LAST";
        for row in rows(session, sql)? {
            let [Some(server), Some(test), details] = row.as_slice() else {
                continue;
            };
            let mut details = object(details);
            let whole = |name: &str| number(&details, name).map(|n| n as u64);
            let statement = ForeignStatement {
                text: word(&details, "query"),
                calls: whole("calls").unwrap_or(0),
                time_us: number(&details, "total_exec_time").unwrap_or(0.0) * 1000.0,
                rows: whole("rows"),
                details: {
                    for column in ["query", "calls", "rows"] {
                        details.remove(column);
                    }
                    Value::Object(details)
                },
            };
            let of_test = self.statements.entry((server.clone(), test.clone()));
            of_test.or_default().push(statement);
        }
        Ok(())
    }

    fn trial(
        &mut self,
        test: Map<String, Value>,
        started: &str,
        ended: &str,
        seconds: Option<f64>,
    ) -> ForeignTrial {
        let key = (word(&test, "server"), word(&test, "test"));
        let number = |name: &str| number(&test, name).filter(|number| *number > 0.0);
        let (tps, count) = (number("tps"), number("trans"));
        // pgbench's time is that without connecting; the test's own has that, too.
        let elapsed_s = match (count, tps) {
            (Some(count), Some(tps)) => Some(count / tps),
            _ => seconds,
        };
        let us = |name: &str| number(name).map(|ms| ms * 1000.0);
        let header = self.header(&test, &key);
        ForeignTrial {
            uuid: uuid(&["test", &key.0, &key.1, started]),
            header,
            started: started.to_owned(),
            ended: ended.to_owned(),
            failure: tps
                .is_none()
                .then(|| "pgbench-tools has no result of it".to_owned()),
            elapsed_us: elapsed_s.map(|s| (s * 1e6) as u64),
            committed: count.map(|count| count as u64),
            goodput_per_s: tps,
            latency: Latency {
                mean_us: us("avg_latency"),
                p90_us: us("percentile_90_latency").map(|us| us.round() as u64),
                max_us: us("max_latency").map(|us| us.round() as u64),
                ..Latency::default()
            },
            series: self
                .series
                .remove(&key)
                .unwrap_or_default()
                .into_iter()
                .collect(),
            rows: {
                let mut all = self.rows.remove(&key).unwrap_or_default();
                all.push(("tests".to_owned(), Value::Object(test)));
                all
            },
            statements: self.statements.remove(&key).unwrap_or_default(),
        }
    }

    fn header(&mut self, test: &Map<String, Value>, key: &Key) -> TrialHeader {
        let whole = |name: &str| number(test, name).map(|n| n as u64);
        let script = word(test, "script");
        let rate = number(test, "rate_limit").filter(|rate| *rate > 0.0);
        let clients = whole("clients").unwrap_or(1);
        let mut point = Map::new();
        point.insert("clients".to_owned(), json!(clients));
        let parameters = [("scale", "params.scale"), ("multi", "params.multiplier")];
        let parameters = parameters.map(|(theirs, ours)| (ours, whole(theirs).filter(|n| *n > 0)));
        for (name, value) in parameters {
            point.extend(value.map(|value| (name.to_owned(), json!(value))));
        }
        point.extend(rate.map(|rate| ("rate".to_owned(), json!(rate))));
        let variables = parameters.into_iter().filter_map(|(name, value)| {
            let name = name.strip_prefix("params.")?;
            Some((name.to_owned(), value?.to_string()))
        });
        let variables: BTreeMap<String, String> = variables.collect();
        let spec = TrialSpec {
            clients: u32::try_from(clients).ok().map(Clients::from),
            threads: whole("workers").and_then(|n| u32::try_from(n).ok()),
            rate: rate.map(Into::into),
            params: variables
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect(),
            ..TrialSpec::of(script.clone())
        };
        let gap = "pgbench-tools does not keep it";
        let version = word(test, "server_version");
        let mut words = version
            .split(' ')
            .filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
        let short = words.next().map(str::to_owned);
        let settings = self.settings.remove(key);
        let known = |text: Option<String>| {
            text.filter(|text| !text.is_empty())
                .map_or(Fact::Unknown(gap.to_owned()), Fact::Known)
        };
        TrialHeader {
            experiment: None,
            point: Some(Value::Object(point)),
            repeat: None,
            position: None,
            tags: vec![PGBENCH_TOOLS.to_owned()],
            note: None,
            workload: script,
            pack_sha256: None,
            variables,
            target: key.0.clone(),
            target_kind: TargetKind::Named,
            facts: Facts {
                version: known(Some(version)),
                server_version: known(short),
                database_size_bytes: whole("dbsize")
                    .map_or(Fact::Unknown(gap.to_owned()), Fact::Known),
                changed_settings: settings.map_or(Fact::Unknown(gap.to_owned()), Fact::Known),
                ..Facts::unknown(gap)
            },
            host: Host {
                name: None,
                kernel: None,
                cpu_model: None,
                cpus: 0,
                memory_bytes: None,
                ceiling: None,
            },
            notes: vec![Note::new(
                "from-pgbench-tools",
                Severity::Notice,
                "this trial has only pgbench-tools' totals: mean, p90 and maximum latency of all \
                 transactions; with TRIM, of the middle 80 % of the time"
                    .to_owned(),
                "for other percentiles run the trial again: pgdyno sweep --from-pgbench-tools config",
            )],
            command: format!("test {} of pgbench-tools", key.1),
            spec,
            scripts: Vec::new(),
            operations: Vec::new(),
        }
    }
}

/// The same for the same words.
fn uuid(words: &[&str]) -> String {
    let text = format!("{PGBENCH_TOOLS}\0{}", words.join("\0"));
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&Sha256::digest(text)[..16]);
    Builder::from_custom_bytes(bytes).into_uuid().to_string()
}

fn object(text: &Option<String>) -> Map<String, Value> {
    let parsed = text
        .as_deref()
        .and_then(|text| serde_json::from_str(text).ok());
    parsed.unwrap_or_default()
}

/// A column as text; nothing where there is none.
fn word(row: &Map<String, Value>, column: &str) -> String {
    match row.get(column) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

fn number(row: &Map<String, Value>, column: &str) -> Option<f64> {
    row.get(column)?.as_f64()
}
