//! What active sessions wait for: an active session history, sampled ten times a second.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use pgdyno_session::Error;
use serde_json::json;

use super::notes;
use super::place::{Connection, Line, Place};
use crate::{Instrument, Readings};
use pgdyno_model::observed::{Gap, Kind, Row};

/// So often, up to [`CONNECTIONS_FULL_RATE`] connections.
const INTERVAL: Duration = Duration::from_millis(100);
/// Looking at all sessions costs the server time with each of them: beyond so many the rate falls as
/// they grow in number, and as many sessions are looked at in a second. All observers together are to stay
/// under 0.5 % of a core (`make bench-watching`).
const CONNECTIONS_FULL_RATE: usize = 24;
/// So often what was seen is reported.
const TELL_INTERVAL: Duration = Duration::from_secs(1);

const WAITS: Row = Row {
    name: "pg.waits",
    unit: "sessions",
    kind: Kind::Sparse,
    source: "pg_stat_activity, ten times a second (less beyond 24 connections)",
    what: "sessions of this trial's clients that are in a statement, by what they wait for (type:event); \
           Running: on a CPU, or waiting for one",
};
const OTHERS_WAITS: Row = Row {
    name: "pg.waits.others",
    unit: "sessions",
    kind: Kind::Sparse,
    source: "pg_stat_activity, as pg.waits",
    what: "the same of clients' sessions that have another name, database or role than this trial's",
};
const OTHERS: Row = Row {
    name: "pg.sessions.others_active",
    unit: "sessions",
    kind: Kind::Gauge,
    source: "pg_stat_activity, as pg.waits",
    what: "sessions of pg.waits.others, and those of pg.waits that are more than this trial has clients",
};

const CONNECTED: Row = Row {
    name: "pg.sessions.connected",
    unit: "sessions",
    kind: Kind::Gauge,
    source: "pg_stat_activity, as pg.waits",
    what: "sessions of this trial's clients, idle ones included; behind a pooler fewer than clients",
};

pub const ROWS: &[Row] = &[WAITS, OTHERS_WAITS, OTHERS, CONNECTED];

/// Under the view, without what that joins. `f` tells the trial's own sessions by role, database and
/// name.
const SAMPLE: &str = "SELECT \
    CASE WHEN state = 'active' AND backend_type IN ('client backend', 'parallel worker') \
        AND application_name <> 'pgdyno observer' \
        THEN coalesce(wait_event_type || ':' || wait_event, 'Running') END, \
    NOT (application_name = {name} AND datid = {database}::oid AND usesysid = {role}::oid), \
    count(*), count(*) FILTER (WHERE backend_type = 'client backend') \
    FROM pg_stat_get_activity(NULL) GROUP BY 1, 2";

pub struct Waits {
    line: Line<Ready>,
    /// Clients of the trial: sessions beyond them are others'.
    clients: usize,
    due: Option<Instant>,
    second: Second,
    all: Totals,
}

/// What a session is asked, and why other roles' sessions are not seen.
struct Ready {
    sql: String,
    gap: Option<Gap>,
}

/// Since the last report.
#[derive(Default)]
struct Second {
    since: Option<Instant>,
    samples: u32,
    seen: BTreeMap<String, u64>,
    others_seen: BTreeMap<String, u64>,
    others: u64,
    ours: u64,
}

#[derive(Default)]
struct Totals {
    samples: u64,
    seen: BTreeMap<String, u64>,
    others: u64,
    connections_max: usize,
    since: Option<Instant>,
}

/// One look at all sessions.
#[derive(Debug, Default, PartialEq)]
struct Sample {
    seen: BTreeMap<String, u64>,
    others_seen: BTreeMap<String, u64>,
    others: u64,
    connections: usize,
    /// Of this trial's clients, idle ones included.
    ours: u64,
}

impl Waits {
    pub fn new(place: Place, clients: usize) -> Self {
        Self {
            // Looks that waited for the answers of others would be fewer on a far server, and less even.
            line: Line::to(place.alone()),
            clients,
            due: None,
            second: Second::default(),
            all: Totals::default(),
        }
    }

    fn sample(&mut self) -> Result<(), Gap> {
        let rows = self.line.ask(prepare, |connection, ready| {
            connection.again("pgdyno_waits", &ready.sql)
        })?;
        let sample = sample(rows, self.clients);
        let now = Instant::now();
        // A tick may come a little early.
        self.due = Some(now + interval(sample.connections) - INTERVAL / 2);
        self.second.since.get_or_insert(now);
        self.second.samples += 1;
        self.second.others += sample.others;
        self.second.ours += sample.ours;
        self.all.since.get_or_insert(now);
        self.all.samples += 1;
        self.all.others += sample.others;
        self.all.connections_max = self.all.connections_max.max(sample.connections);
        for (event, sessions) in sample.seen {
            *self.second.seen.entry(event.clone()).or_default() += sessions;
            *self.all.seen.entry(event).or_default() += sessions;
        }
        for (event, sessions) in sample.others_seen {
            *self.second.others_seen.entry(event).or_default() += sessions;
        }
        Ok(())
    }

    fn tell_gap(&self, out: &mut Readings) {
        if let Some(gap) = self.line.ready().and_then(|ready| ready.gap.as_ref()) {
            out.gap(self.line.place().label("other roles"), gap.clone());
        }
    }

    /// Reports the means of what was seen since the last time; the next begin here, so that they cover all of the time.
    fn tell(&mut self, out: &mut Readings) {
        if self.second.samples == 0 {
            return;
        }
        let next = Second {
            since: Some(Instant::now()),
            ..Second::default()
        };
        let second = std::mem::replace(&mut self.second, next);
        let samples = f64::from(second.samples);
        let place = self.line.place();
        for (event, sessions) in second.seen {
            out.sparse(WAITS.of(place.label(&event)), sessions as f64 / samples);
        }
        for (event, sessions) in second.others_seen {
            let series = OTHERS_WAITS.of(place.label(&event));
            out.sparse(series, sessions as f64 / samples);
        }
        out.gauge(OTHERS.of(place.label("")), second.others as f64 / samples);
        out.gauge(CONNECTED.of(place.label("")), second.ours as f64 / samples);
    }

    fn conclude(&self, out: &mut Readings) {
        let all = &self.all;
        let sessions: u64 = all.seen.values().sum();
        let share = |seen: &u64| *seen as f64 / sessions.max(1) as f64;
        let shares: BTreeMap<&String, f64> = all
            .seen
            .iter()
            .map(|(event, seen)| (event, share(seen)))
            .collect();
        let past = all.since.map_or(0.0, |since| since.elapsed().as_secs_f64());
        let node = self.line.place().label("");
        let mut reported = json!({
            "samples": all.samples,
            "samples_per_s": if past > 0.0 { json!(all.samples as f64 / past) } else { json!(null) },
            "connections_max": all.connections_max,
            "shares": shares,
        });
        if all.connections_max > CONNECTIONS_FULL_RATE {
            reported["rate_lowered"] = json!(format!(
                "above {CONNECTIONS_FULL_RATE} connections sampling is less frequent, so that observers use less than 0.5 % of a core of the server"
            ));
        }
        out.fact(
            if node.is_empty() {
                "waits".to_owned()
            } else {
                format!("waits {node}")
            },
            reported,
        );
        if all.samples > 0 {
            let mean = all.others as f64 / all.samples as f64;
            if let Some(note) = notes::others_active(mean) {
                out.note(note);
            }
        }
    }
}

/// How far samples are apart with so many connections.
fn interval(connections: usize) -> Duration {
    INTERVAL.mul_f64((connections as f64 / CONNECTIONS_FULL_RATE as f64).max(1.0))
}

fn prepare(connection: &mut Connection) -> Result<Ready, Error> {
    let literal = pgdyno_session::quote_literal;
    let name = literal(&connection.clients_name);
    let sql = "SELECT (SELECT oid FROM pg_database WHERE datname = current_database()), \
               (SELECT oid FROM pg_roles WHERE rolname = current_user)";
    let row = connection.rows(sql)?;
    let mut row = row.into_iter().flatten().flatten();
    let (database, role) = (
        row.next().unwrap_or_default(),
        row.next().unwrap_or_default(),
    );
    let sql = SAMPLE
        .replace("{name}", &name)
        .replace("{database}", &literal(&database))
        .replace("{role}", &literal(&role));
    let gap = connection.blind_to_others("what sessions wait for");
    Ok(Ready { sql, gap })
}

/// From rows of: event (NULL for anyone who is not in a statement), whether another's, sessions, of
/// which are clients' connections.
fn sample(rows: Vec<Vec<Option<String>>>, clients: usize) -> Sample {
    let mut sample = Sample::default();
    let mut ours = 0;
    for row in rows {
        let [event, is_others, sessions, connections] = row.as_slice() else {
            continue;
        };
        let count = |text: &Option<String>| text.as_ref().and_then(|t| t.parse::<u64>().ok());
        let sessions = count(sessions).unwrap_or(0);
        let connections = count(connections).unwrap_or(0);
        sample.connections += connections as usize;
        if is_others.as_deref() == Some("f") {
            sample.ours += connections;
        }
        let Some(event) = event else { continue };
        let seen = if is_others.as_deref() == Some("t") {
            sample.others += sessions;
            &mut sample.others_seen
        } else {
            ours += connections;
            &mut sample.seen
        };
        *seen.entry(event.clone()).or_default() += sessions;
    }
    // Another pgdyno has the same name, but not the same clients.
    sample.others += ours.saturating_sub(clients as u64);
    sample
}

impl Instrument for Waits {
    fn name(&self) -> &str {
        "pg.waits"
    }

    fn source(&self) -> String {
        self.line.place().source("pg_stat_activity")
    }

    fn interval(&self) -> Duration {
        INTERVAL
    }

    fn begin(&mut self, _out: &mut Readings) -> Result<(), Gap> {
        self.sample()?;
        // No client is working yet.
        self.second = Second::default();
        self.all = Totals::default();
        Ok(())
    }

    fn read(&mut self, out: &mut Readings) -> Result<(), Gap> {
        self.tell_gap(out);
        if self.due.is_none_or(|due| Instant::now() >= due) {
            self.sample()?;
        }
        let since = self.second.since;
        if since.is_some_and(|since| since.elapsed() + INTERVAL / 2 >= TELL_INTERVAL) {
            self.tell(out);
        }
        Ok(())
    }

    /// Clients have gone: there is nothing more to see.
    fn end(&mut self, out: &mut Readings) -> Result<(), Gap> {
        self.tell_gap(out);
        self.tell(out);
        self.conclude(out);
        self.line.tell_cost(out);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(event: Option<&str>, is_others: bool, sessions: u64) -> Vec<Option<String>> {
        let count = Some(sessions.to_string());
        let is_others = if is_others { "t" } else { "f" };
        vec![
            event.map(str::to_owned),
            Some(is_others.to_owned()),
            count.clone(),
            count,
        ]
    }

    #[test]
    fn sessions_of_others_are_counted_separately() {
        let rows = vec![
            row(None, true, 70),
            row(Some("IO:WalSync"), false, 6),
            row(Some("Running"), false, 2),
            row(Some("Running"), true, 3),
        ];
        let seen = sample(rows.clone(), 8);
        assert_eq!((seen.others, seen.connections, seen.ours), (3, 81, 8));
        assert_eq!((seen.seen["Running"], seen.others_seen["Running"]), (2, 3));
        // Sessions of ours beyond our clients are another pgdyno's.
        assert_eq!(sample(rows, 4).others, 7);
    }

    #[test]
    fn with_more_connections_samples_are_further_apart() {
        assert_eq!(interval(1), INTERVAL);
        assert_eq!(interval(24), INTERVAL);
        assert_eq!(interval(240), INTERVAL * 10);
    }
}
