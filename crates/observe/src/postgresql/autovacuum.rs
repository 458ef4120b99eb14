//! Autovacuum at work, table by table, as events.
//!
//! A worker that is seen at work tells since when; one that came and went between two readings is
//! known by the table's count, which tells when it was over, and (18+) how long it took.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use pgdyno_session::Error;

use super::clock::ServerClock;
use super::place::{Connection, Rows};
use crate::Readings;

/// Workers and what they are at; what they say is `autovacuum: VACUUM public.t (to prevent …)`. The whole
/// of a session's state is made only of those who say so: of all sessions it costs several times as much.
pub const WORKERS: &str = "SELECT regexp_replace(a.query, '^autovacuum: ', ''), \
    (extract(epoch FROM a.query_start) * 1000000)::bigint \
    FROM pg_stat_get_backend_idset() AS id, pg_stat_get_activity(pg_stat_get_backend_pid(id)) AS a \
    WHERE pg_stat_get_backend_activity(id) LIKE 'autovacuum: %' \
    AND a.backend_type = 'autovacuum worker' AND a.state = 'active' \
    AND a.datid = (SELECT oid FROM pg_database WHERE datname = current_database()) \
    AND a.query LIKE 'autovacuum: %'";

/// The largest tables, catalogs too: vacuuming these is work as well. Times only from 18 on.
const COUNTS: &str = "SELECT n.nspname || '.' || c.relname, \
    pg_stat_get_autovacuum_count(c.oid), \
    (extract(epoch FROM pg_stat_get_last_autovacuum_time(c.oid)) * 1000000)::bigint, \
    {vacuum_time}, \
    pg_stat_get_autoanalyze_count(c.oid), \
    (extract(epoch FROM pg_stat_get_last_autoanalyze_time(c.oid)) * 1000000)::bigint, \
    {analyze_time} \
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
    WHERE c.relkind IN ('r', 'm', 't') AND c.relpersistence <> 't' \
    ORDER BY c.relpages DESC, c.oid LIMIT 200";

/// The counts of all tables are dear: they are asked for so often, and when a worker that was seen is
/// gone. When a vacuum was over the server reports, however late it is asked.
const COUNTS_INTERVAL: Duration = Duration::from_secs(5);

/// Autovacuums since the first reading.
#[derive(Debug, Default)]
pub struct Autovacuum {
    /// By name, from the last reading.
    tables: Option<BTreeMap<String, Table>>,
    counted: Option<Instant>,
    /// Workers seen since then, as in `working`.
    starts: BTreeMap<String, Instant>,
    /// Workers seen now, by what they say, with when they began with it.
    working: BTreeMap<String, Instant>,
    count: u64,
}

#[derive(Debug, Clone, Default)]
struct Table {
    vacuum: Work,
    analyze: Work,
}

/// What was done so far, and when the last was over.
#[derive(Debug, Clone, Default)]
struct Work {
    count: u64,
    ended_us: Option<i64>,
    time_ms: Option<f64>,
}

impl Autovacuum {
    /// Takes the answer to [`WORKERS`], asks for the counts where they are due, and tells what has ended
    /// since the last time; the last time for certain.
    ///
    /// # Errors
    /// The server's or the connection's.
    pub fn read(
        &mut self,
        workers: Rows,
        connection: &mut Connection,
        clock: &ServerClock,
        is_last: bool,
        out: &mut Readings,
    ) -> Result<(), Error> {
        let working: BTreeMap<String, Instant> = workers
            .into_iter()
            .filter_map(|row| worker(row, clock))
            .collect();
        let is_gone = self.working.keys().any(|what| !working.contains_key(what));
        // A worker may be at the next table already, and still tell of this one.
        self.starts.extend(working.clone());
        self.working = working;
        let is_due = self
            .counted
            .is_none_or(|counted| counted.elapsed() >= COUNTS_INTERVAL);
        if !(is_due || is_gone || is_last) {
            return Ok(());
        }
        let times = if connection.major >= 18 {
            [
                "pg_stat_get_total_autovacuum_time(c.oid)",
                "pg_stat_get_total_autoanalyze_time(c.oid)",
            ]
        } else {
            ["NULL"; 2]
        };
        let sql = COUNTS
            .replace("{vacuum_time}", times[0])
            .replace("{analyze_time}", times[1]);
        let tables = connection
            .again("pgdyno_vacuums", &sql)?
            .into_iter()
            .filter_map(table);
        let tables: BTreeMap<String, Table> = tables.collect();
        self.counted = Some(Instant::now());
        let starts = std::mem::replace(&mut self.starts, self.working.clone());
        let known = self.tables.replace(tables.clone());
        let Some(known) = known else { return Ok(()) };
        for (name, now) in tables {
            let before = known.get(&name).cloned().unwrap_or_default();
            let start = |verb| {
                let mut starts = starts.iter();
                starts.find_map(|(what, start)| is_at(what, verb, &name).then_some(*start))
            };
            if now.vacuum.count > before.vacuum.count {
                self.count += now.vacuum.count - before.vacuum.count;
                let (from, length) = span(&now.vacuum, &before.vacuum, start("VACUUM"), clock);
                out.event("autovacuum", from, length, &name);
            }
            if now.analyze.count > before.analyze.count {
                // It is the same worker's second step where it does both.
                let vacuumed = now.vacuum.ended_us.and_then(|us| clock.here(us));
                let start = start("ANALYZE").map(|start| vacuumed.map_or(start, |v| v.max(start)));
                let (from, length) = span(&now.analyze, &before.analyze, start, clock);
                out.event("autoanalyze", from, length, &name);
            }
        }
        Ok(())
    }

    /// At the end: what workers are still at; gives how many times a table was vacuumed.
    pub fn conclude(&mut self, out: &mut Readings) -> u64 {
        for (what, since) in std::mem::take(&mut self.working) {
            let is_vacuum = what.starts_with("VACUUM");
            self.count += u64::from(is_vacuum);
            let kind = if is_vacuum {
                "autovacuum"
            } else {
                "autoanalyze"
            };
            let table = what.rsplit(' ').next().unwrap_or_default();
            let length = since.elapsed();
            out.event(kind, since, Some(length), format!("{table}, not over yet"));
        }
        self.count
    }
}

fn worker(row: Vec<Option<String>>, clock: &ServerClock) -> Option<(String, Instant)> {
    let mut row = row.into_iter().flatten();
    let (what, since_us) = (row.next()?, row.next()?.parse().ok()?);
    // `(to prevent wraparound)` follows the name.
    let what = what.split(" (").next().unwrap_or_default().to_owned();
    Some((what, clock.here(since_us)?))
}

fn table(row: Vec<Option<String>>) -> Option<(String, Table)> {
    let mut row = row.into_iter();
    let name = row.next()??;
    let mut work = || {
        Some(Work {
            count: row.next()??.parse().ok()?,
            ended_us: row.next()?.and_then(|text| text.parse().ok()),
            time_ms: row.next()?.and_then(|text| text.parse().ok()),
        })
    };
    let (vacuum, analyze) = (work()?, work()?);
    Some((name, Table { vacuum, analyze }))
}

/// Whether a worker says that it does this with that table: `VACUUM ANALYZE public.t`.
fn is_at(what: &str, verb: &str, table: &str) -> bool {
    let mut words = what.split(' ');
    what.ends_with(table) && words.next_back() == Some(table) && words.any(|word| word == verb)
}

/// From when on and for how long, by what is known: the time that it took, or when its worker began.
fn span(
    now: &Work,
    before: &Work,
    start: Option<Instant>,
    clock: &ServerClock,
) -> (Instant, Option<Duration>) {
    let ended = now.ended_us.and_then(|us| clock.here(us));
    let ended = ended.unwrap_or_else(Instant::now);
    let took = match (now.time_ms, before.time_ms.or(Some(0.0))) {
        (Some(now), Some(before)) => Some(Duration::from_secs_f64((now - before).max(0.0) / 1e3)),
        _ => start.map(|start| ended.saturating_duration_since(start)),
    };
    match took.and_then(|took| Some((ended.checked_sub(took)?, took))) {
        Some((from, took)) => (from, Some(took)),
        None => (ended, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_known_by_what_it_says() {
        assert!(is_at("VACUUM public.t", "VACUUM", "public.t"));
        assert!(is_at("VACUUM ANALYZE public.t", "ANALYZE", "public.t"));
        assert!(!is_at("ANALYZE public.t", "VACUUM", "public.t"));
        assert!(!is_at("VACUUM public.other_t", "VACUUM", "t"));
    }

    #[test]
    fn vacuum_durations_are_reported_when_known() {
        let now = Instant::now() + Duration::from_secs(100);
        let mut clock = ServerClock::default();
        clock.compare(now, 50_000_000, now);
        let ended = Work {
            count: 1,
            ended_us: Some(48_000_000),
            time_ms: None,
        };
        let none = Work::default();
        let end = now - Duration::from_secs(2);
        assert_eq!(span(&ended, &none, None, &clock), (end, None));
        let start = end - Duration::from_secs(7);
        let seven = Some(Duration::from_secs(7));
        assert_eq!(span(&ended, &none, Some(start), &clock), (start, seven));
        let timed = Work {
            time_ms: Some(1500.0),
            ..ended
        };
        let took = Duration::from_millis(1500);
        assert_eq!(span(&timed, &none, None, &clock), (end - took, Some(took)));
    }
}
