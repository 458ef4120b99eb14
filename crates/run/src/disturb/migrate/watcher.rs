//! Looks, on a session of its own, whom a migration waits for and who waits behind it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use pgdyno_migration::forms::Mode;
use pgdyno_model::document::{MigrationHolder, MigrationLock, MigrationRun, MigrationVictim};
use pgdyno_session::Session;

/// How often it looks.
const INTERVAL: Duration = Duration::from_millis(10);
/// So many changes of the queue are kept, and so many sessions that waited.
const QUEUE_MAX: usize = 5_000;
const VICTIMS_MAX: usize = 20;
/// So many holders are kept; one is the same as long as it is seen within this time.
const HOLDERS_MAX: usize = 100;
const SAME_HOLDER_US: u64 = 200_000;
/// Documented (pg_locks): `waitstart` since 14.
const WAITSTART_SINCE: u32 = 14;

/// What a holder is called that is a standby: the commit waits for its answer.
const STANDBY: &str = "standby";

/// A lock that is waited for, as the server shows it; or, of a commit, a standby's answer.
struct Waiting {
    pid: i32,
    mode: String,
    on: String,
    /// The number of the relation, where it is one.
    relation: Option<String>,
    /// The transaction that is to end, where it is one.
    transaction: Option<String>,
    blockers: Vec<i32>,
    /// Since the lock is waited for, where the server says so.
    since: Option<Duration>,
    application: String,
    query: String,
}

#[derive(Default)]
struct State {
    is_over: bool,
    /// What the migration has waited until now, since it was last asked for.
    waited: Duration,
    /// The wait that goes on.
    waits: Option<Duration>,
    /// How often it was asked for. A look that began before that is about a statement which is over.
    asked: u64,
    /// Locks of the migration's session, where it cannot read them itself.
    locks: BTreeSet<MigrationLock>,
    reads_locks: bool,
    holders: Vec<MigrationHolder>,
    victims: BTreeMap<i32, MigrationVictim>,
    queue: Vec<(u64, u64)>,
    polls: u64,
    unseen: Option<String>,
    /// Whether an ordinary autovacuum, which is cancelled after `deadlock_timeout`, is in the way.
    is_behind_autovacuum: bool,
}

/// Watches one session of the server from when it is started until it is dropped.
pub struct Watcher {
    state: Arc<Mutex<State>>,
    thread: Option<JoinHandle<()>>,
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    // Nothing is half done when a holder panics.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watcher {
    /// Watches the session of this number over `session`; times count from `began`.
    ///
    /// # Errors
    /// There is no thread.
    pub fn start(session: Session, pid: i32, began: Instant) -> Result<Self, String> {
        let state = Arc::<Mutex<State>>::default();
        let eye = Eye {
            is_since: session.parameter("server_version").and_then(major) >= Some(WAITSTART_SINCE),
            session,
            pid,
            began,
            waits: BTreeMap::new(),
            own_since: None,
        };
        let shared = Arc::clone(&state);
        let thread = thread::Builder::new().name("disturb.migrate".to_owned());
        let thread = thread
            .spawn(move || eye.watch(&shared))
            .map_err(|e| e.to_string())?;
        Ok(Self {
            state,
            thread: Some(thread),
        })
    }

    /// How long the migration has waited for locks since this was last asked.
    pub fn take_waited(&self) -> Duration {
        let mut state = lock(&self.state);
        state.asked += 1;
        let waits = state.waits.take().unwrap_or_default();
        std::mem::take(&mut state.waited) + waits
    }

    /// From now on locks of the migration's session are read while its statements run.
    pub fn reads_locks(&self, does: bool) {
        lock(&self.state).reads_locks = does;
    }

    pub fn take_locks(&self) -> Vec<MigrationLock> {
        let locks = std::mem::take(&mut lock(&self.state).locks).into_iter();
        locks.filter(|lock| !is_number(&lock.relation)).collect()
    }

    pub fn is_behind_autovacuum(&self) -> bool {
        std::mem::take(&mut lock(&self.state).is_behind_autovacuum)
    }

    /// Ends it, and writes what it saw into the result.
    pub fn end(mut self, run: &mut MigrationRun) {
        self.finish();
        let mut state = lock(&self.state);
        run.holders = std::mem::take(&mut state.holders);
        run.queue = std::mem::take(&mut state.queue);
        if let Some((at_us, 1..)) = run.queue.last().copied() {
            let ended_us = run.statements.iter().map(|it| it.held_until_us).max();
            run.queue.push((ended_us.unwrap_or(at_us).max(at_us), 0));
        }
        run.polls = state.polls;
        run.unseen = state.unseen.take();
        let mut victims: Vec<MigrationVictim> =
            std::mem::take(&mut state.victims).into_values().collect();
        run.victims_total = victims.len() as u64;
        victims.sort_by_key(|victim| std::cmp::Reverse(victim.waited_us));
        victims.truncate(VICTIMS_MAX);
        run.victims = victims;
    }

    fn finish(&mut self) {
        lock(&self.state).is_over = true;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.finish();
    }
}

/// The number before the point of `18.1`.
pub fn major(version: &str) -> Option<u32> {
    let digits = version
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(version.len());
    version[..digits].parse().ok()
}

struct Eye {
    session: Session,
    pid: i32,
    began: Instant,
    is_since: bool,
    /// Since when each session waits behind the migration.
    waits: BTreeMap<i32, Instant>,
    /// Since when the migration was seen to wait.
    own_since: Option<Instant>,
}

impl Eye {
    fn watch(mut self, state: &Mutex<State>) {
        loop {
            let looked = Instant::now();
            let result = self.look(state);
            let mut state = lock(state);
            state.polls += 1;
            if let Err(why) = result {
                state.unseen.get_or_insert(why);
            }
            if state.is_over || self.session.is_broken() {
                return;
            }
            drop(state);
            thread::sleep(INTERVAL.saturating_sub(looked.elapsed()));
        }
    }

    fn at_us(&self) -> u64 {
        self.began.elapsed().as_micros() as u64
    }

    fn look(&mut self, state: &Mutex<State>) -> Result<(), String> {
        let asked = lock(state).asked;
        let waiting = self.waiting()?;
        let own = waiting.iter().find(|one| one.pid == self.pid);
        let holders = match own {
            Some(own) => self.holders(own)?,
            None => Vec::new(),
        };
        let reads_locks = lock(state).reads_locks;
        let locks = if reads_locks {
            locks_of(&mut self.session, self.pid)?
        } else {
            Vec::new()
        };
        let at_us = self.at_us();
        let own_since = own.map(|_| self.own_since.unwrap_or_else(Instant::now));
        self.own_since = own_since;
        let mut state = lock(state);
        state.locks.extend(locks);
        match own {
            _ if state.asked != asked => self.own_since = None,
            Some(own) => {
                let waits = own.since.or(own_since.map(|since| since.elapsed()));
                let waits = waits.unwrap_or_default();
                // A wait that is shorter than the one before it is another one.
                if let Some(before) = state.waits.filter(|before| waits < *before) {
                    state.waited += before;
                }
                state.waits = Some(waits);
            }
            None => {
                let before = state.waits.take().unwrap_or_default();
                state.waited += before;
            }
        }
        for found in holders {
            state.is_behind_autovacuum |= found.is_ordinary_autovacuum;
            let holder = found.holder;
            let is_same = |it: &MigrationHolder| {
                let has_name = it.pid.is_some() || it.query == holder.query;
                // Seen again after a while, it is in the way anew.
                let goes_on = at_us.saturating_sub(it.to_us) < SAME_HOLDER_US;
                it.pid == holder.pid && it.on == holder.on && has_name && goes_on
            };
            let has_room = state.holders.len() < HOLDERS_MAX;
            match state.holders.iter_mut().find(|it| is_same(it)) {
                Some(known) => known.to_us = at_us,
                None if has_room => state.holders.push(MigrationHolder {
                    from_us: at_us,
                    to_us: at_us,
                    ..holder
                }),
                None => {}
            }
        }
        self.victims(&waiting, at_us, &mut state);
        Ok(())
    }

    /// Counts who waits for the migration, or for one that does.
    fn victims(&mut self, waiting: &[Waiting], at_us: u64, state: &mut State) {
        let mut behind = BTreeSet::from([self.pid]);
        loop {
            let before = behind.len();
            let more = waiting
                .iter()
                .filter(|one| one.blockers.iter().any(|pid| behind.contains(pid)));
            let more: Vec<i32> = more.map(|one| one.pid).collect();
            behind.extend(more);
            if behind.len() == before {
                break;
            }
        }
        behind.remove(&self.pid);
        let now = Instant::now();
        self.waits.retain(|pid, _| behind.contains(pid));
        for one in waiting.iter().filter(|one| behind.contains(&one.pid)) {
            let since = self.waits.entry(one.pid).or_insert(now);
            let waited = one.since.unwrap_or_else(|| since.elapsed()).as_micros() as u64;
            let victim = state.victims.entry(one.pid).or_default();
            if waited >= victim.waited_us {
                *victim = MigrationVictim {
                    pid: one.pid,
                    application: one.application.clone(),
                    query: one.query.clone(),
                    on: one.on.clone(),
                    mode: one.mode.clone(),
                    waited_us: waited,
                };
            }
        }
        let count = behind.len() as u64;
        let last = state.queue.last().map_or(0, |(_, count)| *count);
        if count != last && state.queue.len() < QUEUE_MAX {
            state.queue.push((at_us, count));
        }
    }

    fn waiting(&mut self) -> Result<Vec<Waiting>, String> {
        let since = if self.is_since {
            "extract(epoch FROM clock_timestamp() - l.waitstart)"
        } else {
            "NULL"
        };
        // A commit that waits for a synchronous standby has its locks until then, and waits for none.
        let sql = format!(
            "SELECT l.pid, l.mode, coalesce(c.oid::regclass::text, l.locktype), l.relation, \
             array_to_string(pg_blocking_pids(l.pid), ' '), {since}, a.application_name, left(a.query, 200), \
             l.transactionid::text \
             FROM pg_locks AS l JOIN pg_stat_activity AS a ON a.pid = l.pid \
             LEFT JOIN pg_class AS c ON c.oid = l.relation AND a.datname = current_database() \
             WHERE NOT l.granted \
             UNION ALL SELECT a.pid, 'synchronous_commit = ' || current_setting('synchronous_commit'), 'its commit', \
             NULL, (SELECT string_agg(pid::text, ' ') FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')), \
             NULL, a.application_name, '', NULL FROM pg_stat_activity AS a \
             WHERE a.pid = {} AND a.wait_event = 'SyncRep'",
            self.pid
        );
        let rows = self.session.query(&sql).map_err(|e| e.to_string())?.rows;
        let of = |row: Vec<Option<String>>| {
            let text = |at: usize| row.get(at).cloned().flatten();
            let pids = text(4).unwrap_or_default();
            Some(Waiting {
                pid: text(0)?.parse().ok()?,
                mode: mode_words(&text(1)?),
                on: plain(text(2)?),
                relation: text(3),
                transaction: text(8),
                blockers: pids.split(' ').filter_map(|pid| pid.parse().ok()).collect(),
                since: text(5).and_then(|s| Duration::try_from_secs_f64(s.parse().ok()?).ok()),
                application: text(6).unwrap_or_default(),
                query: one_line(&text(7).unwrap_or_default()),
            })
        };
        Ok(rows.into_iter().filter_map(of).collect())
    }

    /// Who has what the migration waits for, or waits for it before.
    fn holders(&mut self, own: &Waiting) -> Result<Vec<LockHolder>, String> {
        let pids: Vec<String> = own.blockers.iter().map(ToString::to_string).collect();
        let mut sql = format!(
            "SELECT pid::text, application_name, coalesce(state, ''), left(query, 200), \
             extract(epoch FROM clock_timestamp() - xact_start), backend_type \
             FROM pg_stat_activity WHERE pid = ANY ('{{{}}}'::int[])",
            pids.join(",")
        );
        // What a prepared transaction holds has no pid, and shows as blocker 0. It has the lock of its own number;
        // the virtual transaction that is documented (-1/number) is another one since 17.
        let is_it = match (&own.relation, &own.transaction) {
            (Some(relation), _) => Some(format!(
                "EXISTS (SELECT FROM pg_locks AS h JOIN pg_locks AS x USING (virtualtransaction) \
                 WHERE h.pid IS NULL AND h.relation = {relation} AND x.pid IS NULL \
                 AND x.transactionid = p.transaction)"
            )),
            (None, Some(transaction)) => Some(format!("p.transaction = '{transaction}'")),
            (None, None) => None,
        };
        if let Some(is_it) = is_it.filter(|_| own.blockers.contains(&0)) {
            sql += &format!(
                " UNION ALL SELECT NULL, '', 'prepared transaction', p.gid, \
                 extract(epoch FROM clock_timestamp() - p.prepared), '' FROM pg_prepared_xacts AS p WHERE {is_it}"
            );
        }
        let rows = self.session.query(&sql).map_err(|e| e.to_string())?.rows;
        let of = |row: Vec<Option<String>>| {
            let text = |at: usize| row.get(at).cloned().flatten().unwrap_or_default();
            let (query, kind) = (one_line(&text(3)), text(5));
            let is_autovacuum = kind == "autovacuum worker";
            let state = if kind == "walsender" {
                STANDBY.to_owned()
            } else {
                text(2)
            };
            LockHolder {
                // Documented (autovacuum, 24.1.6): one that prevents wraparound says so, and is not cancelled.
                is_ordinary_autovacuum: is_autovacuum && !query.contains("wraparound"),
                holder: MigrationHolder {
                    pid: text(0).parse().ok(),
                    application: if is_autovacuum { kind } else { text(1) },
                    state,
                    query,
                    transaction_us: text(4).parse::<f64>().ok().map(|s| (s * 1e6) as u64),
                    on: own.on.clone(),
                    mode: own.mode.clone(),
                    ..MigrationHolder::default()
                },
            }
        };
        Ok(rows.into_iter().map(of).collect())
    }
}

struct LockHolder {
    holder: MigrationHolder,
    is_ordinary_autovacuum: bool,
}

/// `AccessExclusiveLock` in SQL's words; others as they are.
fn mode_words(name: &str) -> String {
    Mode::of_view(name).map_or_else(|| name.to_owned(), |mode| mode.words().to_owned())
}

/// A relation as most people name it; the administrator of a private server has another search path.
fn plain(name: String) -> String {
    name.strip_prefix("public.")
        .map(str::to_owned)
        .unwrap_or(name)
}

pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Locks that a session has on the user's relations, the strongest of each; one that it has dropped is called by its
/// number.
///
/// # Errors
/// The server does not say.
pub fn locks_of(session: &mut Session, pid: i32) -> Result<Vec<MigrationLock>, String> {
    let sql = format!(
        "SELECT coalesce(c.oid::regclass::text, l.relation::text), l.mode FROM pg_locks AS l \
         LEFT JOIN pg_class AS c ON c.oid = l.relation LEFT JOIN pg_namespace AS n ON n.oid = c.relnamespace \
         JOIN pg_database AS d ON d.oid = l.database AND d.datname = current_database() \
         WHERE l.locktype = 'relation' AND l.granted AND l.pid = {pid} AND (c.oid IS NULL \
         OR n.nspname <> 'information_schema' AND (n.nspname !~ '^pg_' OR n.nspname = 'pg_toast'))"
    );
    let rows = session.query(&sql).map_err(|e| e.to_string())?.rows;
    let mut strongest: BTreeMap<String, Mode> = BTreeMap::new();
    for row in rows {
        let mut row = row.into_iter().flatten();
        if let (Some(relation), Some(mode)) =
            (row.next(), row.next().and_then(|name| Mode::of_view(&name)))
        {
            let known = strongest.entry(plain(relation)).or_insert(mode);
            *known = mode.max(*known);
        }
    }
    let of = |(relation, mode): (String, Mode)| MigrationLock {
        relation,
        mode: mode.words().to_owned(),
    };
    Ok(strongest.into_iter().map(of).collect())
}

/// Whether it is a number in place of a name: of a relation that is dropped.
pub fn is_number(relation: &str) -> bool {
    relation.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_has_a_major_number() {
        assert_eq!(major("18.1 (Debian 18.1-1)"), Some(18));
        assert_eq!(major("19beta1"), Some(19));
        assert_eq!(major("devel"), None);
        assert_eq!(mode_words("ShareLock"), "SHARE");
        assert_eq!(
            mode_words("ExclusiveLock on nothing"),
            "ExclusiveLock on nothing"
        );
    }
}
