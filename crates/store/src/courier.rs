//! Takes the rows of a trial from the file in which they wait to the notebook on a server.
//!
//! A trial's writer knows nothing of it: rows go into a file of this host, each second, as into a
//! notebook that is a file. A thread reads what was added, sends it in batches, and tries again what
//! did not arrive: a notebook that is slow, away or full delays no other. When the trial has ended
//! and all of it is there, the file forgets it. What is sent twice is there once.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::{Place, Store};
use crate::bulk::Rows;
use crate::db::{self, Db, Server, Value};
use crate::schema::ddl::{self, On, TABLES, Table};
use pgdyno_spec::Failure;

/// How often what has come is sent.
const PERIOD: Duration = Duration::from_secs(1);
/// How long the end of a trial waits for its last rows to arrive.
const FAREWELL: Duration = Duration::from_secs(10);
/// The pause after a failure grows to this.
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// The thread that sends while a trial runs.
pub struct Courier {
    over: Sender<()>,
    thread: JoinHandle<Result<(), Failure>>,
}

impl Courier {
    /// For a trial whose rows wait for this store.
    pub fn of(store: &Store, number: i64) -> Result<Self, Failure> {
        let (Db::Server(server), Place::Server(remote)) = (&store.db, &store.place) else {
            return Err(Failure::new("rows wait only for a server"));
        };
        let (info, remote) = (server.info().clone(), remote.clone());
        let (over, reported) = channel();
        let thread = thread::Builder::new()
            .name("store-courier".to_owned())
            .spawn(move || {
                let waiting = Store::waiting(&remote.waiting)?;
                let mut way = Way::from(&waiting, number);
                way.work(&reported, || {
                    let server = Server::connect(info.clone(), false, FAREWELL)?;
                    Ok(Db::Server(Box::new(server)))
                })
                .map_err(|e| trouble(&waiting, &remote.shown, e))
            })
            .map_err(|e| Failure::no_thread("for the store", &e))?;
        Ok(Self { over, thread })
    }

    /// The trial is over: waits for its last rows to arrive, but not for long.
    ///
    /// # Errors
    /// Why rows still wait.
    pub fn finish(self) -> Result<(), Failure> {
        let _ = self.over.send(());
        let broke = || Failure::new("the thread that sends to the store broke");
        self.thread.join().map_err(|_| broke())?
    }
}

/// Why rows did not arrive: the file in which they wait, or the server.
fn trouble(waiting: &Store, server: &str, error: db::Error) -> Failure {
    match error {
        db::Error::File(_) => waiting.failed("cannot send what waits in")(error),
        _ => super::trouble_at(server, "cannot write to", &error),
    }
}

/// The way of one trial's rows.
struct Way<'a> {
    waiting: &'a Store,
    number: i64,
    /// By table, the last row that has arrived.
    arrived: BTreeMap<&'static str, i64>,
}

impl<'a> Way<'a> {
    fn from(waiting: &'a Store, number: i64) -> Self {
        Self {
            waiting,
            number,
            arrived: BTreeMap::new(),
        }
    }

    /// Sends until the trial has ended and arrived, or nothing could be sent for too long after its end.
    fn work(
        &mut self,
        reported: &Receiver<()>,
        connect: impl Fn() -> db::Result<Db>,
    ) -> db::Result<()> {
        let (mut db, mut pause, mut over) = (None, PERIOD, None);
        loop {
            match over {
                None => match reported.recv_timeout(pause) {
                    Err(RecvTimeoutError::Timeout) => {}
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => over = Some(Instant::now()),
                },
                Some(_) => thread::sleep(PERIOD.min(pause)),
            }
            let sent = match &db {
                Some(db) => self.send(db),
                None => connect().and_then(|new| self.send(db.insert(new))),
            };
            match (sent, over) {
                (Ok(true), _) => return Ok(()),
                (Ok(false), None) => pause = PERIOD,
                // It has ended in the file, or never will.
                (Ok(false), Some(since)) if since.elapsed() > PERIOD => return Ok(()),
                (Ok(false), Some(_)) => {}
                (Err(e), Some(since)) if since.elapsed() > FAREWELL => return Err(e),
                (Err(_), _) => {
                    db = None;
                    pause = (pause * 2).min(PAUSE_MAX);
                }
            }
        }
    }

    /// Sends what has come. Whether the trial has ended and all of it has arrived.
    fn send(&mut self, to: &Db) -> db::Result<bool> {
        let from = &self.waiting.db;
        // One state of the file: what is the end there has everything before it.
        from.execute_batch("BEGIN")?;
        let mut fresh = Vec::new();
        let sent = self.send_parts(to, &mut fresh);
        // Nothing was written there. A transaction that stays open would keep all others out.
        let ended = from.execute_batch("COMMIT");
        if ended.is_err() {
            let _ = from.execute_batch("ROLLBACK");
        }
        let has_ended = sent?;
        ended?;
        self.arrived.extend(fresh);
        if has_ended {
            let sql = "DELETE FROM trial_begun WHERE number = ?";
            from.execute(sql, [self.number])?;
        }
        Ok(has_ended)
    }

    fn send_parts(&self, to: &Db, fresh: &mut Vec<(&'static str, i64)>) -> db::Result<bool> {
        let end = ddl::of("trial_ended");
        let parts = TABLES.iter().filter(|table| table.is_part());
        for table in parts.filter(|table| table.name != end.name) {
            if let Some(last) = self.send_table(to, table)? {
                fresh.push((table.name, last));
            }
        }
        // Last: a trial that has ended is complete.
        Ok(self.send_table(to, end)?.is_some())
    }

    /// The last row of what was sent, if anything was.
    fn send_table(&self, to: &Db, table: &Table) -> db::Result<Option<i64>> {
        let sql = format!(
            "SELECT rowid, {} FROM {} WHERE trial = ? AND rowid > ? ORDER BY rowid",
            table.names(),
            table.name
        );
        let after = self.arrived.get(table.name).copied().unwrap_or(-1);
        let mut last = None;
        let mut rows = Rows::into_table(to, table);
        self.waiting.db.each(&sql, [self.number, after], |row| {
            last = Some(row.get(0)?);
            let values: db::Result<Vec<Value>> =
                (1..=table.columns.len()).map(|at| row.value(at)).collect();
            rows.add(values?)
        })?;
        rows.send()?;
        Ok(last)
    }
}

/// What came of sending what waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pushed {
    pub trials: usize,
    pub running: usize,
    /// Trials that the server took for running, and whose process on this host is gone: aborted now.
    pub aborted: usize,
}

impl Store {
    /// A file in which rows wait, made when there is none.
    pub(super) fn waiting(path: &Path) -> Result<Self, Failure> {
        Self::file(path, On::Waiting)
    }

    /// Trials of which rows wait on this host.
    ///
    /// # Errors
    /// The file in which they wait cannot be read.
    pub fn waits(&self) -> Result<usize, Failure> {
        let Place::Server(remote) = &self.place else {
            return Ok(0);
        };
        if !remote.waiting.exists() {
            return Ok(0);
        }
        let waiting = Self::waiting(&remote.waiting)?;
        let sql = "SELECT count(*) FROM trial_ended";
        let count = waiting.db.query_row(sql, [0; 0], |row| row.get(0));
        count.map_err(waiting.failed("cannot read"))
    }

    /// Sends the trials that wait on this host for this store and have ended. Those of this host that nothing
    /// will ever end, since their process is gone and no row of theirs waits, are aborted on the server.
    ///
    /// # Errors
    /// It cannot be written. What has not arrived waits on.
    pub fn push(&self) -> Result<Pushed, Failure> {
        self.check_version()?;
        let Place::Server(remote) = &self.place else {
            return Ok(Pushed::default());
        };
        let waiting = Self::waiting(&remote.waiting)?;
        let read = waiting.db.prepare("SELECT number, state FROM trial");
        let all = read.query_map([0; 0], |row| Ok((row.get(0)?, row.get::<String>(1)?)));
        let mut pushed = Pushed::default();
        for (number, state) in all.map_err(waiting.failed("cannot read"))? {
            if state == "running" {
                pushed.running += 1;
                continue;
            }
            let sent = Way::from(&waiting, number).send(&self.db);
            sent.map_err(|e| trouble(&waiting, &remote.shown, e))?;
            pushed.trials += 1;
        }
        pushed.aborted = self.abort_the_dead()?;
        Ok(pushed)
    }
}
