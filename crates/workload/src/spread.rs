//! Filling a table through every node at once: rows are made once, in their order, and dealt in
//! batches to sessions of which each node has one. For products that commit a load batch by batch.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use pgdyno_session::{Error, Session};

use super::recipe::TableRows;
use super::stop::Stop;
use pgdyno_database::open::Endpoint;
use pgdyno_database::trouble;
use pgdyno_spec::Failure;

/// Sessions that fill tables, one a node.
pub struct Spread {
    sessions: Vec<Session>,
}

/// Rows as COPY takes them.
struct Batch(Vec<u8>);

impl Spread {
    /// Connects to every endpoint; also the names of those that cannot be reached, with the reason.
    /// `None` when no more than one can.
    pub fn connect(endpoints: &[Endpoint]) -> (Option<Spread>, Vec<String>) {
        let mut sessions = Vec::new();
        let mut left_out = Vec::new();
        if endpoints.len() < 2 {
            return (None, left_out);
        }
        for endpoint in endpoints {
            match endpoint.connect() {
                Ok(session) => sessions.push(session),
                // The load sees it too.
                Err(Error::Interrupted { .. }) => return (None, left_out),
                Err(e) => {
                    let why = e.to_string();
                    // Messages of libpq's kind go over several lines.
                    let why: Vec<&str> = why.split_whitespace().collect();
                    left_out.push(format!("{}: {}", endpoint.name, why.join(" ")));
                }
            }
        }
        let spread = (sessions.len() > 1).then_some(Spread { sessions });
        (spread, left_out)
    }

    /// How many nodes take part.
    pub fn nodes(&self) -> usize {
        self.sessions.len()
    }

    /// Runs a statement on each session, for its effect on the session.
    pub fn apply_settings(&mut self, settings: &[(&str, &str)]) -> Result<(), Error> {
        let mut sessions = self.sessions.iter_mut();
        sessions.try_for_each(|session| session.apply_settings(settings))
    }

    /// These rows (the first is 0) of a table by the COPY `sql`, `batch` rows each time; how many the
    /// servers say they took. `reported` hears how many have been made.
    ///
    /// # Errors
    /// The first that any session has, or a row that cannot be made; or an interrupt.
    pub fn copy(
        &mut self,
        sql: &str,
        table: &mut TableRows,
        rows: Range<u64>,
        batch: u64,
        stop: Stop,
        reported: &mut dyn FnMut(u64),
    ) -> Result<u64, Failure> {
        let doing = format!("could not fill {}", table.name);
        // One waits while each session is busy, so that making rows is never what is waited for.
        let (sender, receiver) = sync_channel::<Batch>(1);
        let receiver = Mutex::new(receiver);
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let mut workers = Vec::with_capacity(self.sessions.len());
            let mut made = Ok(());
            let (receiver, is_over) = (&receiver, &is_over);
            for session in &mut self.sessions {
                let worker = move || work(session, sql, receiver, is_over);
                match thread::Builder::new().spawn_scoped(scope, worker) {
                    Ok(worker) => workers.push(worker),
                    Err(e) => made = Err(Failure::no_thread("that loads rows", &e)),
                }
            }
            let mut row = rows.start;
            while row < rows.end && made.is_ok() && !is_over.load(Ordering::Relaxed) {
                let end = rows.end.min(row.saturating_add(batch.max(1)));
                let mut text = Vec::new();
                made = table
                    .push_rows(&mut row, end, usize::MAX, &mut text)
                    .map_err(Failure::new);
                if stop.asked() {
                    made = Err(Failure::new("interrupted"));
                }
                if made.is_ok() && sender.send(Batch(text)).is_err() {
                    break;
                }
                reported(row);
            }
            drop(sender);
            let results = workers.into_iter().map(|worker| {
                let gone = || Err(Error::Usage("a loading session broke off".to_owned()));
                worker.join().unwrap_or_else(|_| gone())
            });
            // All of them end before the first error is reported.
            let results: Vec<Result<u64, Error>> = results.collect();
            let copied: Result<u64, Error> = results.into_iter().sum();
            made?;
            copied.map_err(|e| trouble::server(&e, &doing))
        })
    }
}

/// Copies batches until there are no more; how many rows that were. After a failure, its own or
/// another's, it only takes what still comes, so that nothing waits to hand it over.
fn work(
    session: &mut Session,
    sql: &str,
    batches: &Mutex<Receiver<Batch>>,
    is_over: &AtomicBool,
) -> Result<u64, Error> {
    let mut rows = Ok(0);
    loop {
        let next = batches
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .recv();
        let Ok(Batch(text)) = next else {
            return rows;
        };
        if is_over.load(Ordering::Relaxed) {
            continue;
        }
        let copied = session.copy_in(sql).and_then(|mut copy| {
            copy.write(&text)?;
            copy.finish()
        });
        match copied {
            Ok(copied) => rows = rows.map(|rows| rows + copied),
            Err(e) => {
                is_over.store(true, Ordering::Relaxed);
                rows = Err(e);
            }
        }
    }
}
