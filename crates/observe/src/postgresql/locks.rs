//! Locks that sessions wait for: how many do, and, of waits that last, who waits for whom.
//!
//! Waits of milliseconds are for `waits.rs` to count. One that two readings see is an event, with the
//! lock, its relation, who holds it and what that one is doing.

use std::collections::BTreeMap;
use std::time::Instant;

use pgdyno_session::Error;

use super::clock::ServerClock;
use super::place::{Connection, Line, Place};
use crate::{Instrument, Readings};
use pgdyno_model::observed::{Gap, Kind, Row};

/// Finding out who blocks whom holds up the lock manager: so many are asked for at once.
const ASKED_MAX: usize = 8;
/// So many waits are reported one by one; the rest is counted.
const REPORTED_MAX: usize = 100;

const WAITING: Row = Row {
    name: "pg.locks.waiting",
    unit: "sessions",
    kind: Kind::Sparse,
    source: "pg_stat_activity.wait_event of type Lock",
    what: "sessions that wait for a lock, by its kind (transactionid: for another's row)",
};

pub const ROWS: &[Row] = &[WAITING];

/// Who waits; a statement that goes on is the same wait. The whole of a session's state is made only of
/// those that wait: of all sessions it costs several times as much.
const WAITERS: &str = "SELECT a.pid, a.wait_event, a.query_start \
    FROM pg_stat_get_backend_idset() AS id, pg_stat_get_activity(pg_stat_get_backend_pid(id)) AS a \
    WHERE pg_stat_get_backend_wait_event_type(id) = 'Lock' AND a.wait_event_type = 'Lock'";

/// Of these sessions: the lock, the relation (of a row: the one that the session has locked a row of
/// meanwhile), since when (14+), and who holds it.
const DETAILS: &str = "SELECT l.pid, l.locktype, l.mode, \
    coalesce(l.relation, (SELECT min(t.relation) FROM pg_locks t \
        WHERE t.pid = l.pid AND t.locktype = 'tuple' AND t.granted))::regclass, \
    (extract(epoch FROM {waitstart}) * 1000000)::bigint, \
    a.application_name, \
    (SELECT string_agg(b.pid || ' (' || coalesce(nullif(b.application_name, ''), 'no name') \
            || coalesce(', ' || b.state, '') || ')', ', ') \
        FROM pg_stat_get_activity(NULL) b WHERE b.pid = ANY (pg_blocking_pids(l.pid))) \
    FROM pg_locks l JOIN pg_stat_get_activity(NULL) a ON a.pid = l.pid \
    WHERE NOT l.granted AND l.pid IN ({pids})";

pub struct Locks {
    /// With why other roles' sessions are not seen.
    line: Line<Option<Gap>>,
    clock: ServerClock,
    waits: BTreeMap<(String, String), Wait>,
    reported: usize,
    untold: u64,
}

/// A wait that goes on.
#[derive(Debug)]
struct Wait {
    since: Instant,
    /// Who waits for whom; `None` until a second reading has seen it.
    text: Option<String>,
}

impl Locks {
    pub fn new(place: Place) -> Self {
        Self {
            line: Line::to(place),
            clock: ServerClock::default(),
            waits: BTreeMap::new(),
            reported: 0,
            untold: 0,
        }
    }

    fn is_over(&mut self, wait: Wait, out: &mut Readings) {
        let Some(text) = wait.text else { return };
        if self.reported == REPORTED_MAX {
            self.untold += 1;
            return;
        }
        self.reported += 1;
        out.event("lock wait", wait.since, Some(wait.since.elapsed()), text);
    }
}

impl Instrument for Locks {
    fn name(&self) -> &str {
        "pg.locks"
    }

    fn source(&self) -> String {
        self.line
            .place()
            .source("pg_stat_activity, pg_locks, pg_blocking_pids()")
    }

    fn begin(&mut self, out: &mut Readings) -> Result<(), Gap> {
        self.read(out)
    }

    fn read(&mut self, out: &mut Readings) -> Result<(), Gap> {
        let place = self.line.place().clone();
        let Self {
            line, clock, waits, ..
        } = self;
        let over = line.ask(
            |connection| Ok(connection.blind_to_others("locks waited for by sessions")),
            |connection, blind| {
                if let Some(gap) = blind {
                    out.gap(place.label("other roles"), gap.clone());
                }
                look(connection, clock, waits, &place, out)
            },
        )?;
        for wait in over {
            self.is_over(wait, out);
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Readings) -> Result<(), Gap> {
        let result = self.read(out);
        self.line.tell_cost(out);
        for (_, wait) in std::mem::take(&mut self.waits) {
            self.is_over(wait, out);
        }
        if self.untold > 0 {
            out.fact(
                "lock_waits_not_told",
                format!("{} beyond the first {REPORTED_MAX}", self.untold),
            );
        }
        result
    }
}

/// Who waits now; gives the waits that are over.
fn look(
    connection: &mut Connection,
    clock: &mut ServerClock,
    waits: &mut BTreeMap<(String, String), Wait>,
    place: &Place,
    out: &mut Readings,
) -> Result<Vec<Wait>, Error> {
    let rows = connection.again("pgdyno_waiters", WAITERS)?;
    let now = Instant::now();
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    let mut waiting = Vec::new();
    for row in rows {
        let [Some(pid), Some(kind), Some(statement)] = row.as_slice() else {
            continue;
        };
        *kinds.entry(kind.clone()).or_default() += 1;
        waiting.push((pid.clone(), statement.clone()));
    }
    for (kind, sessions) in kinds {
        out.sparse(WAITING.of(place.label(&kind)), sessions as f64);
    }
    let mut over = Vec::new();
    for key in waits.keys().cloned().collect::<Vec<_>>() {
        if !waiting.contains(&key) {
            over.extend(waits.remove(&key));
        }
    }
    let again: Vec<(String, String)> = waiting
        .iter()
        .filter(|key| waits.get(*key).is_some_and(|wait| wait.text.is_none()))
        .take(ASKED_MAX)
        .cloned()
        .collect();
    for key in waiting {
        waits.entry(key).or_insert(Wait {
            since: now,
            text: None,
        });
    }
    if again.is_empty() {
        return Ok(over);
    }
    let (before, there_us, after) = connection.clock()?;
    clock.compare(before, there_us, after);
    let pids: Vec<&str> = again.iter().map(|(pid, _)| pid.as_str()).collect();
    let waitstart = if connection.major >= 14 {
        "l.waitstart"
    } else {
        "NULL::timestamptz"
    };
    let sql = DETAILS
        .replace("{waitstart}", waitstart)
        .replace("{pids}", &pids.join(", "));
    for row in connection.rows(&sql)? {
        let Some((pid, since_us, text)) = describe(row) else {
            continue;
        };
        let key = again.iter().find(|(waiter, _)| *waiter == pid);
        let Some(wait) = key.and_then(|key| waits.get_mut(key)) else {
            continue;
        };
        wait.text = Some(text);
        if let Some(since) = since_us.and_then(|us| clock.here(us)) {
            wait.since = since;
        }
    }
    Ok(over)
}

/// The waiter, since when, and who waits for whom, in words.
fn describe(row: Vec<Option<String>>) -> Option<(String, Option<i64>, String)> {
    let [pid, kind, mode, relation, since, name, blockers] = <[_; 7]>::try_from(row).ok()?;
    let pid = pid?;
    let name = name.filter(|name| !name.is_empty());
    let name = name.unwrap_or_else(|| "no name".to_owned());
    let on = relation.map_or(String::new(), |relation| format!(" on {relation}"));
    let held = match blockers {
        Some(blockers) => format!("held by {blockers}"),
        // Granted meanwhile, or queued for.
        None => "whose holder is not seen".to_owned(),
    };
    let (kind, mode) = (kind.unwrap_or_default(), mode.unwrap_or_default());
    let text = format!("{pid} ({name}) waits for {mode} of {kind}{on}, {held}");
    let since = since.and_then(|text| text.parse().ok());
    Some((pid, since, text))
}
