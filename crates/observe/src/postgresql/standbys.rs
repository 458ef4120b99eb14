//! How far standbys are behind, and when one falls behind.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::place::{Connection, Place, Rows};
use crate::Readings;
use pgdyno_model::observed::{Gap, Kind, Row};
use pgdyno_spec::text;

/// From here on a lag is an event.
const LAG_MARKED: Duration = Duration::from_secs(1);

const LAG: Row = Row {
    name: "pg.standby.lag",
    unit: "s",
    kind: Kind::Gauge,
    source: "pg_stat_replication.replay_lag; on a standby pg_last_xact_replay_timestamp()",
    what: "how far the standby's replay is behind the server; on a standby with unreplayed log, the age of \
     the last record replayed",
};
const BEHIND: Row = Row {
    name: "pg.standby.bytes",
    unit: "bytes",
    kind: Kind::Gauge,
    source: "pg_stat_replication.replay_lsn; on a standby pg_last_wal_replay_lsn()",
    what: "log not yet replayed by the standby; on a standby, of the log it received",
};

pub const ROWS: &[Row] = &[LAG, BEHIND];

/// A row a standby; NULL where the role may not see it, or nothing is known yet. The functions under
/// pg_stat_replication, which joins more than is asked for here.
const OF_PRIMARY: &str = "SELECT coalesce(a.application_name, '') || coalesce(' ' || host(a.client_addr), ''), \
    extract(epoch FROM w.replay_lag), pg_wal_lsn_diff(pg_current_wal_lsn(), w.replay_lsn) \
    FROM pg_stat_get_wal_senders() w, pg_stat_get_activity(w.pid) a \
    WHERE w.state IS NULL OR w.state = 'streaming' ORDER BY w.pid";

const OF_STANDBY: &str = "SELECT '', \
    CASE WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() THEN 0 \
        ELSE extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()) END, \
    pg_wal_lsn_diff(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn())";

/// The standbys since the first reading.
#[derive(Debug, Default)]
pub struct Standbys {
    /// Those that lag: since when, and by how much at most, in seconds.
    late: BTreeMap<String, (Instant, f64)>,
    /// Those that received the log at the last reading.
    last: Option<BTreeSet<String>>,
}

impl Standbys {
    /// The question, for this server.
    pub fn sql(connection: &Connection) -> String {
        let sql = if connection.is_standby {
            OF_STANDBY
        } else {
            OF_PRIMARY
        };
        sql.to_owned()
    }

    /// Takes the answer, and tells who has caught up.
    pub fn read(&mut self, rows: Rows, connection: &Connection, place: &Place, out: &mut Readings) {
        let now = Instant::now();
        let is_hidden = !connection.is_standby && !connection.sees_others && !rows.is_empty();
        if is_hidden {
            let reason = format!(
                "how far standbys are is hidden from role {}",
                connection.role
            );
            let gap = Gap::because(reason).remedy(connection.grant_monitor());
            out.gap(place.label("standbys"), gap);
            return;
        }
        if !connection.is_standby {
            let names = rows.iter().filter_map(|row| row.first()?.clone());
            self.come_and_go(names.collect(), place, now, out);
        }
        let mut lags = BTreeMap::new();
        for row in rows {
            let [name, lag, bytes] = row.as_slice() else {
                continue;
            };
            let name = name.as_deref().unwrap_or_default();
            let number = |text: &Option<String>| text.as_ref().and_then(|t| t.parse().ok());
            if let Some(lag) = number(lag) {
                out.gauge(LAG.of(place.label(name)), lag);
                lags.insert(name.to_owned(), lag);
            }
            if let Some(bytes) = number(bytes) {
                out.gauge(BEHIND.of(place.label(name)), bytes);
            }
        }
        self.mark(&lags, now, out);
    }

    fn come_and_go(
        &mut self,
        names: BTreeSet<String>,
        place: &Place,
        now: Instant,
        out: &mut Readings,
    ) {
        let Some(last) = self.last.replace(names) else {
            return;
        };
        let names = self.last.iter().flatten();
        for name in last
            .iter()
            .filter(|name| !names.clone().any(|now| now == *name))
        {
            let text = format!("standby {} no longer streams", place.label(name));
            out.event("node-down", now, None, text);
        }
        for name in names.filter(|name| !last.contains(*name)) {
            let text = format!("standby {} streams", place.label(name));
            out.event("node-up", now, None, text);
        }
    }

    fn mark(&mut self, lags: &BTreeMap<String, f64>, now: Instant, out: &mut Readings) {
        let marked = LAG_MARKED.as_secs_f64();
        for (name, lag) in lags.iter().filter(|(_, lag)| **lag >= marked) {
            // It has been behind for as long as it is.
            let since = Duration::try_from_secs_f64(*lag).ok();
            let since = since
                .and_then(|since| now.checked_sub(since))
                .unwrap_or(now);
            let (_, most) = self.late.entry(name.clone()).or_insert((since, *lag));
            *most = most.max(*lag);
        }
        let is_late = |name: &str| lags.get(name).is_some_and(|lag| *lag >= marked);
        let caught_up: Vec<String> = self
            .late
            .keys()
            .filter(|name| !is_late(name))
            .cloned()
            .collect();
        for name in caught_up {
            self.tell(&name, now, out);
        }
    }

    fn tell(&mut self, name: &str, now: Instant, out: &mut Readings) {
        let Some((since, most)) = self.late.remove(name) else {
            return;
        };
        let length = now.saturating_duration_since(since);
        let who = if name.is_empty() {
            "this standby"
        } else {
            name
        };
        let text = format!("{who}, up to {} behind", text::seconds(most));
        out.event("standby lag", since, Some(length), text);
    }

    /// At the end: those that are still behind.
    pub fn conclude(&mut self, out: &mut Readings) {
        let now = Instant::now();
        for name in self.late.keys().cloned().collect::<Vec<_>>() {
            self.tell(&name, now, out);
        }
    }
}
