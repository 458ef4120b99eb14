//! How far standbys are behind while a migration runs, and what their replay of it cancels.
//!
//! Not for: a commit that waits for one (`watcher`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use pgdyno_database::open::Target;
use pgdyno_model::document::MigrationStandby;
use pgdyno_session::{Patience, Session};

/// How often it looks.
const INTERVAL: Duration = Duration::from_millis(100);
/// How long it may take to connect to what may be a standby.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);
/// Sessions hand their counters over once a second at most (pgstat.c, PGSTAT_MIN_INTERVAL).
const COUNTERS_LATE: Duration = Duration::from_millis(1200);

/// What a standby is asked: what it has replayed, queries that were cancelled for a lock, and for anything.
const OF_STANDBY: &str = "SELECT pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0'), confl_lock, \
    confl_lock + confl_tablespace + confl_snapshot + confl_bufferpin + confl_deadlock \
    FROM pg_stat_database_conflicts WHERE datname = current_database()";
/// The same of all that stream, as far as the primary has heard.
const OF_PRIMARY: &str = "SELECT application_name, pg_wal_lsn_diff(replay_lsn, '0/0') FROM pg_stat_replication \
    WHERE state = 'streaming' AND replay_lsn IS NOT NULL";
const WRITTEN: &str = "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')";

/// Watches standbys from when it is started until [`Standbys::end`].
pub struct Standbys {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Eye>,
}

impl Standbys {
    /// Watches those that `target` names, or else those that stream from the server of `primary`; `None`: there
    /// are none.
    pub fn start(target: &Target, primary: Session) -> Option<Self> {
        let mut eye = Eye {
            primary,
            named: named(target),
            standbys: Vec::new(),
            written: Vec::new(),
        };
        eye.look().ok()?;
        if eye.standbys.is_empty() {
            return None;
        }
        let is_over = Arc::<AtomicBool>::default();
        let over = Arc::clone(&is_over);
        let thread = thread::Builder::new().name("disturb.standbys".to_owned());
        let thread = thread.spawn(move || {
            while !over.load(Ordering::Relaxed) && eye.look().is_ok() {
                thread::sleep(INTERVAL);
            }
            eye
        });
        Some(Self {
            is_over,
            thread: thread.ok()?,
        })
    }

    /// The migration is over: looks on until they have replayed it, or `is_trial_over`.
    pub fn end(self, is_trial_over: &dyn Fn() -> bool) -> Vec<MigrationStandby> {
        self.is_over.store(true, Ordering::Relaxed);
        let ended = Instant::now();
        let Ok(mut eye) = self.thread.join() else {
            return Vec::new();
        };
        let Ok(all) = eye.written() else {
            return eye.documents();
        };
        let mut is_whole = false;
        while !is_whole && eye.look().is_ok() {
            is_whole = true;
            for one in &mut eye.standbys {
                if one.replayed >= all {
                    let after_us = ended.elapsed().as_micros() as u64;
                    one.of_run.replayed_after_us.get_or_insert(after_us);
                } else {
                    is_whole = false;
                }
            }
            if is_trial_over() {
                return eye.documents();
            }
            thread::sleep(INTERVAL);
        }
        if !eye.named.is_empty() {
            thread::sleep(COUNTERS_LATE);
            let _ = eye.look();
        }
        eye.documents()
    }
}

/// Sessions with the standbys among the target's servers, and what they are called.
fn named(target: &Target) -> Vec<(String, Session)> {
    let mut known: Vec<String> = Vec::new();
    let mut standbys = Vec::new();
    let all = target.endpoints_of_all_roles();
    for candidate in all.flat_map(|endpoint| &endpoint.candidates) {
        let place = candidate.place();
        if known.contains(&place) {
            continue;
        }
        known.push(place.clone());
        let one = std::slice::from_ref(candidate);
        let session = Session::connect_with(one, Some(CONNECT_LIMIT), Patience::default());
        let Ok(mut session) = session else { continue };
        let is_standby = session.query_one_value("SELECT pg_is_in_recovery()");
        if matches!(is_standby, Ok(Some(is)) if is == "t") {
            standbys.push((place, session));
        }
    }
    standbys
}

struct One {
    of_run: MigrationStandby,
    replayed: u64,
    /// Queries that were cancelled before the migration: for anything, and for a lock.
    before: Option<(u64, u64)>,
}

struct Eye {
    primary: Session,
    named: Vec<(String, Session)>,
    standbys: Vec<One>,
    /// When the server had written how much.
    written: Vec<(Instant, u64)>,
}

fn number(value: Option<&Option<String>>) -> Option<u64> {
    let value: f64 = value?.as_ref()?.parse().ok()?;
    (value >= 0.0).then_some(value as u64)
}

impl Eye {
    fn written(&mut self) -> Result<u64, String> {
        let value = self.primary.query_one_value(WRITTEN);
        let value = value.map_err(|e| e.to_string())?;
        number(Some(&value)).ok_or_else(|| "the server does not say what it has written".to_owned())
    }

    fn look(&mut self) -> Result<(), String> {
        let written = self.written()?;
        self.written.push((Instant::now(), written));
        if self.named.is_empty() {
            let rows = self
                .primary
                .query(OF_PRIMARY)
                .map_err(|e| e.to_string())?
                .rows;
            for row in rows {
                if let [Some(name), value] = row.as_slice() {
                    self.seen(name, number(Some(value)), None);
                }
            }
        } else {
            let mut named = std::mem::take(&mut self.named);
            for (name, session) in &mut named {
                let rows = session.query(OF_STANDBY).map(|outcome| outcome.rows);
                for row in rows.unwrap_or_default() {
                    let cancelled = number(row.get(2)).zip(number(row.get(1)));
                    self.seen(name, number(row.first()), cancelled);
                }
            }
            self.named = named;
        }
        // What all have replayed is of no use any more.
        let least = self.standbys.iter().map(|one| one.replayed).min();
        self.written.retain(|(_, written)| Some(*written) > least);
        Ok(())
    }

    /// Takes what a standby has replayed, and how many queries it has cancelled: for anything, and for a lock.
    fn seen(&mut self, name: &str, replayed: Option<u64>, cancelled: Option<(u64, u64)>) {
        let Some(replayed) = replayed else { return };
        let known = self.standbys.iter().position(|one| one.of_run.name == name);
        let at = known.unwrap_or_else(|| {
            let of_run = MigrationStandby {
                name: name.to_owned(),
                ..MigrationStandby::default()
            };
            self.standbys.push(One {
                of_run,
                replayed,
                before: cancelled,
            });
            self.standbys.len() - 1
        });
        let one = &mut self.standbys[at];
        one.replayed = replayed;
        let of_run = &mut one.of_run;
        let last = self.written.last().map_or(0, |(_, written)| *written);
        of_run.behind_bytes_max = of_run.behind_bytes_max.max(last.saturating_sub(replayed));
        let oldest = self.written.iter().find(|(_, written)| *written > replayed);
        let behind_us = oldest.map_or(0, |(at, _)| at.elapsed().as_micros() as u64);
        of_run.behind_us_max = of_run.behind_us_max.max(behind_us);
        if let Some(((all, by_lock), (all_before, by_lock_before))) = cancelled.zip(one.before) {
            of_run.cancelled = Some(all.saturating_sub(all_before));
            of_run.cancelled_by_lock = Some(by_lock.saturating_sub(by_lock_before));
        }
    }

    fn documents(self) -> Vec<MigrationStandby> {
        self.standbys.into_iter().map(|one| one.of_run).collect()
    }
}
