//! Rows by ranges: over several connections at the same time, each range in a transaction of its own
//! that also records it, so that an interrupted load can go on, and several processes can fill a table.
//!
//! Not for: creating tables, marks, what comes when the rows are in (`loader.rs`).

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use pgdyno_platform::host;
use pgdyno_session::{Error, Session, quote_literal};

use super::loader::{Others, Share};
use super::recipe::{Form, TableRows};
use super::stop::Stop;
use pgdyno_database::dialect::{Filling, Product};
use pgdyno_database::open::Endpoint;
use pgdyno_database::waiting::Limits;
use pgdyno_database::{admin, trouble};
use pgdyno_model::Progress;
use pgdyno_model::document::TargetKind;
use pgdyno_spec::{Failure, text};

/// Rows of a range where the product has no wish of its own: some ten megabytes of YCSB's.
const RANGE_ROWS: u64 = 20_000;

/// Rows of one INSERT.
const INSERT_ROWS: u64 = 500;

/// Bytes of COPY data made between two looks at whether to stop.
const CHUNK_BYTES: usize = 64 << 10;

/// More connections than this are opened only on request.
const JOBS_DEFAULT_MAX: usize = 8;

/// Tries of a range that another one gets in the way of (SQLSTATE class 40).
const TRIES_MAX: u32 = 5;

/// SQLSTATE of a key that is there already.
const UNIQUE_VIOLATION: &str = "23505";

/// How often the collector looks whether to stop.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// How rows travel, as the user wants it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Connections {
    /// How many fill a table at the same time; `None`: one a CPU for tables that are filled by ranges
    /// anyway, else one.
    pub jobs: Option<usize>,
    /// By which statement.
    pub method: Method,
}

/// How rows travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Method {
    /// COPY; INSERT where the server takes no COPY
    #[default]
    Copy,
    /// INSERT with many rows each
    Insert,
}

impl Connections {
    /// As this product takes rows.
    #[must_use]
    pub fn on(self, product: &Product) -> Self {
        match product.takes_no_copy() {
            None => self,
            Some(_) => Self {
                method: Method::Insert,
                // It has one session, and they would wait for each other.
                jobs: Some(1),
            },
        }
    }
}

/// One table's filling.
pub struct Job<'a> {
    /// Which product.
    pub product: &'a Product,
    /// How rows travel.
    pub connections: Connections,
    /// Where to connect to, in turn; without any where the load's own session is.
    pub endpoints: &'a [Endpoint],
    /// Where ranges that are in are recorded, if anywhere.
    pub record: Option<&'a str>,
    /// Whether to stop.
    pub stop: Stop,
}

/// Who hears of a filling, and who fills the same table.
pub struct Beside<'a> {
    pub progress: &'a mut dyn Progress,
    /// What is to be reported of it when it is done.
    pub means: &'a mut Vec<String>,
    /// Other processes that do the same, with the same record.
    pub others: Option<&'a dyn Others>,
}

/// What all connections of a filling share.
struct Shared<'a> {
    job: &'a Job<'a>,
    ranges: &'a [Range<u64>],
    next: AtomicUsize,
    is_over: AtomicBool,
    /// Whether the server has refused COPY.
    by_insert: &'a AtomicBool,
}

enum Said {
    /// So many rows are in.
    Rows(u64),
    /// The same, and another process has put them in.
    RowsOfOthers(u64),
    NoCopy(String),
    NoConnection(String, Failure),
    Failed(Failure),
}

/// Why a range was not put in.
enum Trouble {
    Server(Error),
    Other(Failure),
    /// It is in: another process has put it in meanwhile, or the server has ended what one that was
    /// killed had sent it.
    IsIn,
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Server(error)
    }
}

impl Job<'_> {
    /// How many connections fill this table.
    pub fn connections_for(&self, table: &TableRows) -> usize {
        let unasked = if table.by_ranges {
            host::cpus().min(JOBS_DEFAULT_MAX).max(self.endpoints.len())
        } else {
            1
        };
        self.connections.jobs.unwrap_or(unasked).max(1)
    }

    /// Whether the table is filled so.
    pub fn is_for(&self, table: &TableRows) -> bool {
        self.record.is_some()
            || table.by_ranges
            || self.connections_for(table) > 1
            || self.connections.method == Method::Insert
    }

    /// Fills the table but for the ranges that are recorded. Gives how many rows this process put in.
    ///
    /// # Errors
    /// The first that any connection met.
    pub fn fill(
        &self,
        session: &mut Session,
        table: &TableRows,
        beside: &mut Beside<'_>,
    ) -> Result<u64, Failure> {
        let size = self.product.dialect.tables.filling.batch_rows();
        let all = ranges(table.rows, size.unwrap_or(RANGE_ROWS));
        let by_insert = AtomicBool::new(self.connections.method == Method::Insert);
        let turns: &[Turn] = match beside.others {
            None => &[Turn::All],
            Some(_) => &[Turn::Own, Turn::OfOthers],
        };
        let mut own = 0;
        for turn in turns {
            let recorded = match self.record {
                None => BTreeSet::new(),
                Some(record) => recorded(session, record, &table.name)
                    .map_err(|e| trouble::server(&e, &format!("could not fill {}", table.name)))?,
            };
            let is_in = |(_, range): &(usize, Range<u64>)| recorded.contains(&range.start);
            let (there, missing): (Vec<_>, Vec<_>) =
                all.iter().cloned().enumerate().partition(is_in);
            let done: u64 = there.iter().map(|(_, r)| r.end - r.start).sum();
            if done > 0 && beside.others.is_none() {
                beside.means.push(format!(
                    "{}: {} of {} rows were there from an interrupted load",
                    table.name,
                    text::count(done),
                    text::count(table.rows)
                ));
            }
            let ranges = turn.of(missing, beside.others.map(Others::share));
            own += self.turn(session, table, &ranges, (done, &by_insert), beside)?;
        }
        if let Some(by_others) = table.rows.checked_sub(own).filter(|rows| *rows > 0)
            && beside.others.is_some()
        {
            let (by_others, rows) = (text::count(by_others), text::count(table.rows));
            let name = &table.name;
            let note = format!("{name}: {by_others} of {rows} rows by other generators");
            beside.means.push(note);
        }
        Ok(own)
    }

    /// Puts in these ranges; so many rows were there before. Gives how many rows this process put in.
    fn turn(
        &self,
        session: &Session,
        table: &TableRows,
        ranges: &[Range<u64>],
        (done, by_insert): (u64, &AtomicBool),
        beside: &mut Beside<'_>,
    ) -> Result<u64, Failure> {
        let rows_then = done + ranges.iter().map(|r| r.end - r.start).sum::<u64>();
        let shared = Shared {
            job: self,
            ranges,
            next: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
            by_insert,
        };
        let own = [Endpoint {
            name: String::new(),
            candidates: vec![session.candidate().clone()],
            limits: Limits::default(),
        }];
        let places = match self.endpoints {
            [] => &own,
            places => places,
        };
        let workers = self.connections_for(table).min(ranges.len());
        let nodes = places.len().min(workers);
        if nodes > 1 {
            let note = format!("filled through {nodes} nodes");
            beside.note(note);
        }
        let mut collected = Collected {
            done,
            own: 0,
            failure: None,
            unreachable: None,
        };
        thread::scope(|scope| {
            let (sender, inbox) = channel();
            for number in 0..workers {
                let (shared, place, table) =
                    (&shared, &places[number % places.len()], table.clone());
                let fail = move |sender: &Sender<Said>, failure| {
                    shared.is_over.store(true, Ordering::Release);
                    // The collector outlives its workers.
                    let _ = sender.send(Said::Failed(failure));
                };
                let of_worker = sender.clone();
                let spawned = thread::Builder::new().spawn_scoped(scope, move || {
                    if let Err(failure) = shared.work(place, table, &of_worker) {
                        fail(&of_worker, failure);
                    }
                });
                if let Err(e) = spawned {
                    fail(&sender, Failure::no_thread("that loads rows", &e));
                    break;
                }
            }
            drop(sender);
            collected.all(&inbox, &shared, &table.name, beside);
        });
        collected.result(rows_then, self.stop)
    }
}

/// The first rows of the ranges of a table, or the numbers of other things, that are recorded.
///
/// # Errors
/// There is no such record, or the server does not answer.
pub fn recorded(session: &mut Session, record: &str, of: &str) -> Result<BTreeSet<u64>, Error> {
    let sql = format!(
        "SELECT row_first FROM {record} WHERE filled = {}",
        quote_literal(of)
    );
    let rows = admin::rows(session, &sql)?.into_iter().flatten().flatten();
    Ok(rows.filter_map(|first| first.parse().ok()).collect())
}

/// Has the server give up a session for which others wait, when this process or its host is gone.
pub fn give_up_lost_client(session: &mut Session, product: &Product) {
    // A pooler's connection says nothing of this process.
    if !session.is_own() {
        return;
    }
    for setting in product.dialect.gives_up_lost_clients {
        // Where it is refused they wait longer.
        let _ = session.apply_settings(&[*setting]);
    }
}

/// Which of the ranges that are missing it is the turn of.
#[derive(Debug, Clone, Copy)]
enum Turn {
    /// All: no other is there.
    All,
    /// This process's share: dealt in turn, so that rows lie in the table about in their order.
    Own,
    /// What others have not put in, from the end: who has them goes on from the beginning. Each begins
    /// elsewhere.
    OfOthers,
}

impl Turn {
    fn of(self, missing: Vec<(usize, Range<u64>)>, share: Option<Share>) -> Vec<Range<u64>> {
        let share = share.unwrap_or(Share { index: 0, of: 1 });
        let (index, of) = (share.index as usize, share.of.max(1) as usize);
        let missing = missing.into_iter();
        match self {
            Turn::All => missing.map(|(_, range)| range).collect(),
            Turn::Own => missing
                .filter(|(number, _)| number % of == index)
                .map(|(_, range)| range)
                .collect(),
            Turn::OfOthers => {
                let mut ranges: Vec<Range<u64>> = missing.rev().map(|(_, range)| range).collect();
                let first = ranges.len() * index / of;
                ranges.rotate_left(first);
                ranges
            }
        }
    }
}

impl Beside<'_> {
    /// The same note is given once.
    fn note(&mut self, note: String) {
        if !self.means.contains(&note) {
            self.means.push(note);
        }
    }
}

/// What the workers of a filling have said so far.
struct Collected {
    /// Rows that are in.
    done: u64,
    /// Rows of them that this process put in now.
    own: u64,
    /// The first that any worker met.
    failure: Option<Failure>,
    /// Why the first place that could not be reached could not.
    unreachable: Option<Failure>,
}

impl Collected {
    /// Listens until all workers have ended, and tells them when to.
    fn all(
        &mut self,
        inbox: &Receiver<Said>,
        shared: &Shared<'_>,
        table: &str,
        beside: &mut Beside<'_>,
    ) {
        loop {
            match inbox.recv_timeout(LOOK_INTERVAL) {
                Ok(Said::Rows(rows)) => {
                    self.done += rows;
                    self.own += rows;
                    beside.progress.rows(self.done);
                }
                Ok(Said::RowsOfOthers(rows)) => {
                    self.done += rows;
                    beside.progress.rows(self.done);
                }
                Ok(Said::NoCopy(why)) => beside.note(format!(
                    "{table}: by INSERT, because the server refused COPY: {why}"
                )),
                Ok(Said::NoConnection(place, why)) => {
                    beside.note(format!("not filled through {place}: {}", why.message));
                    self.unreachable.get_or_insert(why);
                }
                Ok(Said::Failed(first)) => drop(self.failure.get_or_insert(first)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if shared.job.stop.asked() || beside.others.is_some_and(Others::is_over) {
                shared.is_over.store(true, Ordering::Release);
            }
        }
    }

    /// How the filling of so many rows went: how many of them this process put in.
    fn result(self, rows: u64, stop: Stop) -> Result<u64, Failure> {
        let missed = self.unreachable.filter(|_| self.done < rows);
        match self.failure.or(missed) {
            Some(failure) => Err(failure),
            None if stop.asked() => Err(Failure::new("interrupted")),
            None => Ok(self.own),
        }
    }
}

/// What could not be done; where a value of a user's own file is at fault, that file and line.
fn doing(table: &TableRows, range: &Range<u64>, error: &Error) -> String {
    let doing = format!("could not fill {}", table.name);
    let server = error.server();
    // Data exceptions and broken constraints.
    let is_data = server.is_some_and(|e| matches!(e.sqlstate().get(..2), Some("22" | "23")));
    let Some(first) = table.place_of(range.start + 1).filter(|_| is_data) else {
        return doing;
    };
    let context = server.and_then(|e| e.field(b'W'));
    match context.and_then(|context| line_of_copy(context, &table.name)) {
        Some(line) => {
            let place = table.place_of(range.start + line).unwrap_or(first);
            format!("{doing} from {place}")
        }
        None => {
            let last = table.place_of(range.end).unwrap_or_default();
            format!("{doing} from {first} to {last}")
        }
    }
}

/// The line of a COPY's data, in which each row is one, by the server's context: `COPY orders, line 17, column
/// id: "x"`, whatever the language.
fn line_of_copy(context: &str, table: &str) -> Option<u64> {
    let (_, behind) = context.split_once(&format!("COPY {table}, "))?;
    let digits = behind.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = digits.find(|c: char| !c.is_ascii_digit());
    digits[..end.unwrap_or(digits.len())].parse().ok()
}

fn ranges(rows: u64, size: u64) -> Vec<Range<u64>> {
    let size = size.max(1);
    let starts = (0..rows.div_ceil(size)).map(|n| n * size);
    starts
        .map(|start| start..rows.min(start.saturating_add(size)))
        .collect()
}

impl Shared<'_> {
    /// What one connection does.
    fn work(
        &self,
        place: &Endpoint,
        mut table: TableRows,
        sender: &Sender<Said>,
    ) -> Result<(), Failure> {
        let mut session = match place.connect() {
            Ok(session) => session,
            // The others do its share.
            Err(e) => {
                let why = trouble::connect(&e, TargetKind::Named);
                let _ = sender.send(Said::NoConnection(place.name.clone(), why));
                return Ok(());
            }
        };
        for setting in self.job.product.load_settings(self.job.record.is_some()) {
            // The load's own session has reported its result.
            let _ = session.apply_settings(&[(setting.name, setting.value)]);
        }
        if self.job.record.is_some() {
            // A session that finds a range recorded, and not committed, waits for this one.
            give_up_lost_client(&mut session, self.job.product);
        }
        while !self.is_over.load(Ordering::Acquire) {
            let next = self.next.fetch_add(1, Ordering::AcqRel);
            let Some(range) = self.ranges.get(next) else {
                break;
            };
            let rows = range.end - range.start;
            let said = if self.range(&mut session, &mut table, range, sender)? {
                Said::Rows(rows)
            } else {
                Said::RowsOfOthers(rows)
            };
            // The collector outlives its workers.
            let _ = sender.send(said);
        }
        session.close();
        Ok(())
    }

    /// One range, whatever it takes; whether it was put in here.
    fn range(
        &self,
        session: &mut Session,
        table: &mut TableRows,
        range: &Range<u64>,
        sender: &Sender<Said>,
    ) -> Result<bool, Failure> {
        let mut tries = 0;
        loop {
            let by_insert = self.by_insert.load(Ordering::Acquire);
            let error = match self.try_range(session, table, range, by_insert) {
                Ok(()) => return Ok(true),
                Err(Trouble::Other(failure)) => return Err(failure),
                Err(Trouble::IsIn) => {
                    admin::run(session, "ROLLBACK").map_err(|error| {
                        trouble::server(&error, &format!("could not fill {}", table.name))
                    })?;
                    return Ok(false);
                }
                Err(Trouble::Server(error)) => error,
            };
            // Without a transaction, or on a lost connection, there is nothing to undo.
            let _ = admin::run(session, "ROLLBACK");
            let code = error.server().map_or("", |e| e.sqlstate());
            tries += 1;
            // feature_not_supported, syntax_error: no such statement, or not here.
            if matches!(code, "0A000" | "42601") && !by_insert {
                if !self.by_insert.swap(true, Ordering::AcqRel) {
                    let why = error.server().map_or("", |e| e.message()).to_owned();
                    let _ = sender.send(Said::NoCopy(why));
                }
            } else if !(code.starts_with("40") && tries < TRIES_MAX) {
                return Err(trouble::server(&error, &doing(table, range, &error)));
            }
        }
    }

    fn try_range(
        &self,
        session: &mut Session,
        table: &mut TableRows,
        range: &Range<u64>,
        by_insert: bool,
    ) -> Result<(), Trouble> {
        let into = format!("{} ({})", table.name, table.column_list());
        // What is recorded goes in with its record.
        let filling = match self.job.record {
            None => self.job.product.dialect.tables.filling,
            Some(_) => Filling::Whole,
        };
        let commits_by_itself = matches!(filling, Filling::Committing { .. });
        if !commits_by_itself {
            admin::run(session, "BEGIN")?;
            self.record(session, table, range)?;
        }
        if by_insert {
            self.insert(session, table, range, &into)?;
        } else {
            let copy = format!("COPY {into} FROM STDIN{}", filling.options());
            self.copy(session, table, range, &copy)?;
        }
        if commits_by_itself {
            return Ok(());
        }
        Ok(admin::run(session, "COMMIT")?)
    }

    /// Records the range, before its rows: the server may still commit the same range of a load that was
    /// killed after the record was read. The record's key waits for that, and tells how it ended.
    fn record(
        &self,
        session: &mut Session,
        table: &TableRows,
        range: &Range<u64>,
    ) -> Result<(), Trouble> {
        let Some(record) = self.job.record else {
            return Ok(());
        };
        let (name, from, end) = (quote_literal(&table.name), range.start, range.end);
        let sql = format!("INSERT INTO {record} VALUES ({name}, {from}, {end})");
        admin::run(session, &sql).map_err(|error| {
            let code = error.server().map_or("", |e| e.sqlstate());
            match code {
                UNIQUE_VIOLATION => Trouble::IsIn,
                _ => Trouble::Server(error),
            }
        })
    }

    fn copy(
        &self,
        session: &mut Session,
        table: &mut TableRows,
        range: &Range<u64>,
        sql: &str,
    ) -> Result<(), Trouble> {
        let mut copy = session.copy_in(sql)?;
        let mut row = range.start;
        while row < range.end {
            let mut made = Ok(());
            copy.write_with(|out| {
                let full = out.len() + CHUNK_BYTES;
                made = table.push_rows(&mut row, range.end, full, out);
            })?;
            if let Err(why) = made {
                let _ = copy.abort("a row could not be generated");
                return Err(Trouble::Other(Failure::new(why)));
            }
            if self.is_over.load(Ordering::Acquire) {
                let _ = copy.abort("interrupted");
                return Err(Trouble::Other(Failure::new("interrupted")));
            }
        }
        let (copied, rows) = (copy.finish()?, range.end - range.start);
        if copied == rows {
            Ok(())
        } else {
            Err(Trouble::Other(Failure::new(format!(
                "the server took {copied} rows of {} and not {rows}",
                table.name
            ))))
        }
    }

    fn insert(
        &self,
        session: &mut Session,
        table: &mut TableRows,
        range: &Range<u64>,
        into: &str,
    ) -> Result<(), Trouble> {
        let mut row = range.start;
        while row < range.end {
            let mut sql = format!("INSERT INTO {into} VALUES ").into_bytes();
            for number in 0..INSERT_ROWS.min(range.end - row) {
                if number > 0 {
                    sql.push(b',');
                }
                row += 1;
                table
                    .push_row(row, Form::Values, &mut sql)
                    .map_err(|why| Trouble::Other(Failure::new(why)))?;
            }
            let sql = String::from_utf8_lossy(&sql);
            admin::run(session, &sql)?;
            if self.is_over.load(Ordering::Acquire) {
                return Err(Trouble::Other(Failure::new("interrupted")));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_dealt_in_turn_and_the_rest_is_taken_from_the_end() {
        let missing = || -> Vec<(usize, Range<u64>)> {
            let ranges = ranges(70, 10).into_iter().enumerate();
            ranges.filter(|(number, _)| *number != 2).collect()
        };
        let firsts = |turn: Turn, index| -> Vec<u64> {
            let ranges = turn.of(missing(), Some(Share { index, of: 3 }));
            ranges.into_iter().map(|range| range.start / 10).collect()
        };
        assert_eq!(firsts(Turn::Own, 0), [0, 3, 6]);
        assert_eq!(firsts(Turn::Own, 1), [1, 4]);
        assert_eq!(firsts(Turn::Own, 2), [5]);
        assert_eq!(firsts(Turn::OfOthers, 0), [6, 5, 4, 3, 1, 0]);
        assert_eq!(firsts(Turn::OfOthers, 1), [4, 3, 1, 0, 6, 5]);
        assert_eq!(firsts(Turn::OfOthers, 2), [1, 0, 6, 5, 4, 3]);
        let none = Turn::OfOthers.of(Vec::new(), Some(Share { index: 2, of: 3 }));
        assert_eq!(none, []);
    }

    #[test]
    fn the_line_of_a_copy_is_read_in_any_language() {
        for (context, line) in [
            ("COPY t, line 17, column id: \"x 3\"", Some(17)),
            ("COPY t, Zeile 5", Some(5)),
            ("COPY other, line 5", None),
            ("SQL function \"f\"", None),
        ] {
            assert_eq!(line_of_copy(context, "t"), line, "{context}");
        }
    }

    #[test]
    fn ranges_cover_all_rows_once() {
        assert_eq!(ranges(0, 10), []);
        assert_eq!(ranges(11, 10), [0..10, 10..11]);
        assert_eq!(ranges(21, 10), [0..10, 10..20, 20..21]);
        assert_eq!(ranges(2, 0), [0..1, 1..2]);
    }
}
