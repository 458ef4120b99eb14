//! The order between sessions that must hold: a statement that began after another session's commit had
//! ended waits for that commit's replay.
//!
//! Of a statement that began while a commit was under way the recording does not say which came first: such
//! pairs are counted.

use std::collections::{BTreeSet, HashMap, VecDeque};

use pgdyno_recording::Statement;

/// What statements wait for beside their own session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sync {
    /// For nothing: the clock alone decides.
    #[default]
    None,
    /// For commits of other sessions that had ended before, of transactions that may have written.
    Commit,
    /// For all statements of other sessions that had ended before.
    Time,
}

/// Commands that write nothing themselves. A query may call a function that does; it is not waited for.
pub const READS: [&str; 22] = [
    "",
    "SELECT",
    "VALUES",
    "TABLE",
    "SHOW",
    "BEGIN",
    "START",
    "SET",
    "RESET",
    "COMMIT",
    "END",
    "ROLLBACK",
    "ABORT",
    "SAVEPOINT",
    "RELEASE",
    "DECLARE",
    "FETCH",
    "CLOSE",
    "EXPLAIN",
    "DEALLOCATE",
    "DISCARD",
    "LISTEN",
];

/// What others wait for: the end of a statement in the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    end_us: i64,
    number: u64,
    /// Whose statement it is.
    pub session: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Transaction {
    is_open: bool,
    may_have_written: bool,
}

#[derive(Debug, Default)]
pub struct Order {
    sync: Sync,
    points: u64,
    /// Not replayed yet.
    pending: BTreeSet<Point>,
    /// Those that are under way in the recording.
    under_way: BTreeSet<Point>,
    transactions: HashMap<u32, Transaction>,
    /// By the start of the statement that waits, with its client.
    parked: BTreeSet<(i64, u32)>,
    /// Hashes of keys that statements which are due will bring to light, and those of each session's transactions.
    expected: HashMap<u32, u32>,
    by_session: HashMap<u32, VecDeque<Vec<u32>>>,
    pub undetermined: u64,
}

impl Order {
    pub fn new(sync: Sync) -> Self {
        Self {
            sync,
            ..Self::default()
        }
    }

    /// A statement is due; statements come by their starts. What others wait for, if they do.
    pub fn due(&mut self, statement: &Statement) -> Option<Point> {
        if self.sync == Sync::None {
            return None;
        }
        while self
            .under_way
            .first()
            .is_some_and(|point| point.end_us <= statement.start_us)
        {
            self.under_way.pop_first();
        }
        self.undetermined += self.under_way.len() as u64;
        let is_point = self.is_point(statement);
        self.expect(statement);
        let lasts_us = i64::try_from(statement.duration_us?).unwrap_or(i64::MAX);
        if !is_point {
            return None;
        }
        self.points += 1;
        let point = Point {
            end_us: statement.start_us.saturating_add(lasts_us),
            number: self.points,
            session: statement.session.number,
        };
        self.pending.insert(point);
        self.under_way.insert(point);
        Some(point)
    }

    fn is_point(&mut self, statement: &Statement) -> bool {
        let number = statement.session.number;
        let before = self.transactions.entry(number).or_default();
        let command = statement.text.command();
        let is_rollback = matches!(&*command, "ROLLBACK" | "ABORT");
        let is_open = match &statement.wire {
            Some(wire) => wire.is_in_transaction,
            None => match &*command {
                "BEGIN" | "START" => true,
                "COMMIT" | "END" => false,
                // To a savepoint it ends nothing.
                "ROLLBACK" | "ABORT" => {
                    before.is_open && statement.text.readable().contains(" to ")
                }
                _ => before.is_open,
            },
        };
        let may_have_written = before.may_have_written || !READS.contains(&&*command);
        *before = Transaction {
            is_open,
            may_have_written: is_open && may_have_written,
        };
        let is_done = statement.failed.is_none();
        match self.sync {
            Sync::None => false,
            Sync::Commit => is_done && !is_open && !is_rollback && may_have_written,
            Sync::Time => true,
        }
    }

    /// What a statement that writes returned may be used by others once its transaction has ended.
    fn expect(&mut self, statement: &Statement) {
        let session = statement.session.number;
        let is_open = self.transactions.get(&session).is_some_and(|of| of.is_open);
        let transactions = self.by_session.entry(session).or_default();
        let wire = statement.wire.as_deref();
        let hashes = wire
            .and_then(|wire| wire.result.as_ref())
            .filter(|_| !READS.contains(&&*statement.text.command()))
            .map_or(&[][..], |result| &result.hashes[..]);
        if transactions.is_empty() {
            transactions.push_back(Vec::new());
        }
        if let Some(last) = transactions.back_mut() {
            last.extend_from_slice(hashes);
        }
        for hash in hashes {
            *self.expected.entry(*hash).or_default() += 1;
        }
        if !is_open {
            transactions.push_back(Vec::new());
        }
    }

    /// A transaction of this session has ended.
    pub fn settled(&mut self, session: u32) {
        let first = self.by_session.get_mut(&session);
        for hash in first.and_then(VecDeque::pop_front).into_iter().flatten() {
            if let Some(count) = self.expected.get_mut(&hash) {
                *count -= 1;
                if *count == 0 {
                    self.expected.remove(&hash);
                }
            }
        }
    }

    /// Whether one of these values may be a key that is not there yet.
    pub fn is_expected(&self, mut hashes: impl Iterator<Item = u32>) -> bool {
        !self.expected.is_empty() && hashes.any(|hash| self.expected.contains_key(&hash))
    }

    /// What all that wait wait for first.
    pub fn first(&self) -> Option<Point> {
        self.pending.first().copied()
    }

    /// Whether a statement that began then has something to wait for.
    pub fn must_wait(&self, start_us: i64) -> bool {
        let first = self.pending.first();
        first.is_some_and(|point| point.end_us < start_us)
    }

    pub fn park(&mut self, start_us: i64, client: u32) {
        self.parked.insert((start_us, client));
    }

    pub fn unpark(&mut self, start_us: i64, client: u32) {
        self.parked.remove(&(start_us, client));
    }

    pub fn parked(&self) -> impl Iterator<Item = (i64, u32)> {
        self.parked.iter().copied()
    }

    /// A point is replayed, or never will be.
    pub fn reached(&mut self, point: Point) {
        self.pending.remove(&point);
    }

    /// A client that has nothing to wait for any more.
    pub fn next_released(&mut self) -> Option<u32> {
        let (start_us, _) = *self.parked.first()?;
        if self.must_wait(start_us) {
            return None;
        }
        self.parked.pop_first().map(|(_, client)| client)
    }

    pub fn session_over(&mut self, session: u32) {
        self.transactions.remove(&session);
        while self
            .by_session
            .get(&session)
            .is_some_and(|of| !of.is_empty())
        {
            self.settled(session);
        }
        self.by_session.remove(&session);
    }
}
