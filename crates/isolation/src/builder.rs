//! Makes a history, a transaction at a time: of a recording while it is read, of a file, in tests.

use std::fmt;

use crate::history::{ClockStep, History, Operation, Spine, Status, Transaction};
use crate::keys::{KeyKind, KeyName};

/// Why transactions are not a history that can be checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryError(pub(crate) String);

impl fmt::Display for HistoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for HistoryError {}

/// A history that grows. Begin a transaction, add its operations, begin the next; then
/// [`finish`](Self::finish).
#[derive(Default)]
pub struct Builder {
    history: History,
    /// By key: the spines that committed transactions read, and those of others.
    spines: Vec<[Vec<u32>; 2]>,
    error: Option<HistoryError>,
    placed: bool,
}

impl Builder {
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of a key, for the operations.
    pub fn key(&mut self, name: impl Into<KeyName>) -> u32 {
        let key = self.history.keys.number(name.into());
        if key as usize == self.spines.len() {
            self.spines.push([Vec::new(), Vec::new()]);
            self.history.kinds.push(KeyKind::Unwritten);
        }
        key
    }

    /// Begins a transaction of `client`. Times are in nanoseconds since any one moment; the end of
    /// an unknown one is when the client gave it up.
    pub fn begin(&mut self, client: u32, status: Status, begin_ns: i64, end_ns: i64) -> &mut Self {
        self.history.transactions.push(Transaction {
            client,
            status,
            begin_ns,
            end_ns,
            begin_place: 0,
            end_place: 0,
            first: short(self.history.operations.len()),
        });
        self
    }

    /// The same, where the order of events is known without times.
    pub(crate) fn begin_placed(
        &mut self,
        client: u32,
        status: Status,
        times_ns: (i64, i64),
        places: (u32, u32),
    ) {
        self.placed = true;
        self.begin(client, status, times_ns.0, times_ns.1);
        if let Some(transaction) = self.history.transactions.last_mut() {
            (transaction.begin_place, transaction.end_place) = places;
        }
    }

    /// It appends a value to a list.
    pub fn append(&mut self, key: u32, value: i64) -> &mut Self {
        self.add(KeyKind::List, Operation::Append { key, value })
    }

    pub fn write(&mut self, key: u32, value: i64) -> &mut Self {
        self.add(KeyKind::Register, Operation::Write { key, value })
    }

    /// It inserts a row that matches a predicate.
    pub fn insert(&mut self, key: u32, row: i64) -> &mut Self {
        self.add(KeyKind::Group, Operation::Insert { key, value: row })
    }

    pub fn read(&mut self, key: u32, value: i64) -> &mut Self {
        self.add(KeyKind::Register, Operation::Read { key, value })
    }

    /// It reads a list or register and finds nothing.
    pub fn read_nothing(&mut self, key: u32) -> &mut Self {
        self.add(KeyKind::Unwritten, Operation::ReadNothing { key })
    }

    /// It reads a list or register, and the answer is not known.
    pub fn unread(&mut self, key: u32) -> &mut Self {
        self.add(KeyKind::Unwritten, Operation::Unread { key })
    }

    /// It reads by a predicate, and the answer is not known.
    pub fn unread_rows(&mut self, key: u32) -> &mut Self {
        self.add(KeyKind::Group, Operation::UnreadRows { key })
    }

    /// It reads a list, from its first element to its last.
    pub fn read_list(&mut self, key: u32, elements: &[i64]) -> &mut Self {
        if elements.is_empty() {
            return self.add(KeyKind::List, Operation::ReadNothing { key });
        }
        let by = short(self.history.transactions.len()) - 1;
        let committed = self.history.transactions[by as usize].status == Status::Committed;
        let known = &mut self.spines[key as usize][usize::from(!committed)];
        let found = known.iter().copied().find(|&spine| {
            let have = &self.history.spines[spine as usize].elements;
            let shared = have.len().min(elements.len());
            have[..shared] == elements[..shared]
        });
        let spine = found.unwrap_or_else(|| {
            let spine = short(self.history.spines.len());
            known.push(spine);
            self.history.spines.push(Spine {
                key,
                elements: Vec::new(),
                committed,
                longest_by: by,
            });
            spine
        });
        let have = &mut self.history.spines[spine as usize];
        if let Some(more) = elements.get(have.elements.len()..)
            && !more.is_empty()
        {
            have.elements.extend_from_slice(more);
            have.longest_by = by;
        }
        let len = short(elements.len());
        self.add(KeyKind::List, Operation::ReadList { key, spine, len })
    }

    /// It reads all rows that match a predicate, in any order.
    pub fn read_rows(&mut self, key: u32, rows: &[i64]) -> &mut Self {
        let values = &mut self.history.row_values;
        let start = values.len();
        values.extend_from_slice(rows);
        values[start..].sort_unstable();
        let (start, len) = (short(start), short(rows.len()));
        self.add(KeyKind::Group, Operation::ReadRows { key, start, len })
    }

    fn add(&mut self, kind: KeyKind, operation: Operation) -> &mut Self {
        let key = operation.key();
        let known = &mut self.history.kinds[key as usize];
        if *known == KeyKind::Unwritten {
            *known = kind;
        } else if kind != KeyKind::Unwritten && *known != kind {
            let (name, known) = (self.history.keys.name(key), known.word());
            let number = self.history.transactions.len();
            self.error.get_or_insert_with(|| {
                HistoryError(format!(
                    "key {name} is a {known}, but transaction T{number} uses it as a {}: \
                     give each kind keys of its own",
                    kind.word()
                ))
            });
        }
        self.history.operations.push(operation);
        self
    }

    /// Ends a history.
    ///
    /// # Errors
    /// A key is used in two ways, or there are more than 4,294,967,294 operations, elements or rows.
    pub fn finish(self) -> Result<History, HistoryError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let mut history = self.history;
        let longest = [
            history.operations.len(),
            history.row_values.len(),
            history.transactions.len().saturating_mul(2),
        ];
        if longest.iter().any(|&len| len >= u32::MAX as usize) {
            return Err(HistoryError(
                "the history is too long to be checked at once: at most 4,294,967,294 \
                 operations and 2,147,483,647 transactions; check a part of its time"
                    .to_owned(),
            ));
        }
        if !self.placed {
            place(&mut history);
        }
        Ok(history)
    }
}

/// Lengths are checked by `finish`; what comes before may saturate.
fn short(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

/// Sets the places of begins and ends by their times. Of events at the same time begins come first,
/// so that nothing is called earlier that may not have been.
fn place(history: &mut History) {
    let mut events: Vec<(i64, bool, u32)> = Vec::with_capacity(2 * history.transactions.len());
    for (number, transaction) in (0..).zip(&history.transactions) {
        events.push((transaction.begin_ns, false, number));
        events.push((transaction.end_ns, true, number));
    }
    events.sort_unstable();
    for (place, &(_, is_end, number)) in (0..).zip(&events) {
        let transaction = &mut history.transactions[number as usize];
        if is_end {
            transaction.end_place = place;
        } else {
            transaction.begin_place = place;
        }
    }
    drop(events);

    // A client does one thing after another; where its times say otherwise, its clock was set back.
    let mut last_end_ns = std::collections::HashMap::new();
    let (mut times, mut largest_ns) = (0, 0);
    for transaction in &history.transactions {
        let last_ns = last_end_ns.insert(transaction.client, transaction.end_ns);
        let back_ns = [
            transaction.begin_ns.saturating_sub(transaction.end_ns),
            last_ns
                .unwrap_or(i64::MIN)
                .saturating_sub(transaction.begin_ns),
        ];
        for back_ns in back_ns.into_iter().filter(|&ns| ns > 0) {
            times += 1;
            largest_ns = largest_ns.max(back_ns);
        }
    }
    if times > 0 {
        history.clock_step = Some(ClockStep {
            times,
            largest_ns,
            order_known: false,
        });
    }
}
