//! The versions of each key and who wrote them; for lists the order, as reads show it.
//!
//! Source of the order: Elle's list-append (K. Kingsbury & P. Alvaro, VLDB 2020): the longest read of a
//! list; every other read must be a beginning of it. Beyond Elle, committed appends that no read shows:
//!
//! A list only grows, and a read shows all of it. So an append that took effect and is not in the longest read was added
//! after all elements of it: the longest read's last writer precedes it in the order of versions (ww, perhaps over
//! others), and each read without it precedes it (rw to the next version, then perhaps ww). Where such an append lies
//! among others that no read shows does not matter to this, nor whether unknown transactions added something
//! between: the ways get longer, but lead to the same transaction with the same number of rw. It is not true where two
//! reads are no beginnings of one another, or a read has an element twice: then nothing is concluded for the key.
//!
//! These edges are also all that serializability needs: without a cycle, a topological order of the transactions is a
//! serial order, with unread appends at their places in it and unknown transactions that no read shows left out. For
//! snapshot isolation they are not: of two unread appends to one list one must see the other.

use crate::builder::HistoryError;
use crate::hash::{FastMap, FastSet};
use crate::history::{History, Operation, Status};
use crate::keys::KeyKind;
use crate::rows;
use crate::story::name;

pub(crate) const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
pub(crate) struct Written {
    pub by: u32,
    /// Whether it is its transaction's last of the key.
    pub last: bool,
    /// Whether a committed read shows it.
    pub seen: bool,
    /// Its place in the order of the key's versions, from 0, or [`NONE`]. Those of `unread` share one, the next.
    pub place: u32,
}

/// A version in its key's order.
#[derive(Clone, Copy)]
pub(crate) struct Version {
    pub value: i64,
    /// [`NONE`] if no transaction wrote it.
    pub by: u32,
}

/// A committed transaction's read of a key before it wrote the key itself.
#[derive(Clone, Copy)]
pub(crate) struct Seen {
    pub by: u32,
    pub key: u32,
    /// The number of versions before and with the one that it saw, or [`NONE`] if that is not known.
    pub len: u32,
    /// The value that it saw; nothing if there was none.
    pub value: Option<i64>,
    /// The index among its transaction's operations.
    pub at: u32,
}

pub(crate) struct Versions<'h> {
    pub history: &'h History,
    writes: FastMap<(u32, i64), Written>,
    /// By key; empty if nothing is known.
    pub order: Vec<Vec<Version>>,
    /// By key: whether `order` is all that there is to know.
    pub ordered: Vec<bool>,
    /// By spine: how many of its elements agree with the key's order.
    pub agreed: Vec<u32>,
    /// By transaction: it took effect for certain.
    pub effective: Vec<bool>,
    /// By key: appends that took effect, come after `order`, and among which the order is not known. None if they are
    /// all of one transaction: then they are the end of `order`.
    pub unread: Vec<Vec<Version>>,
    /// By key: inserted rows and who inserted them.
    pub rows: Vec<Vec<Version>>,
    /// Reads by predicates are too many to be compared with all rows.
    pub too_many_rows: bool,
}

impl<'h> Versions<'h> {
    pub fn of(history: &'h History) -> Result<Self, HistoryError> {
        let mut versions = Self {
            history,
            writes: writes(history)?,
            order: vec![Vec::new(); history.key_count()],
            ordered: vec![false; history.key_count()],
            agreed: vec![0; history.spines.len()],
            effective: history
                .transactions
                .iter()
                .map(|transaction| transaction.status == Status::Committed)
                .collect(),
            unread: vec![Vec::new(); history.key_count()],
            rows: vec![Vec::new(); history.key_count()],
            too_many_rows: false,
        };
        versions.see();
        versions.order_lists();
        versions.order_unread();
        versions.place();
        versions.too_many_rows = rows::too_many(&versions);
        Ok(versions)
    }

    /// The write of a value.
    pub fn write(&self, key: u32, value: i64) -> Option<&Written> {
        self.writes.get(&(key, value))
    }

    /// The writer of a value if it took effect, else [`NONE`].
    pub fn effective_writer(&self, key: u32, value: i64) -> u32 {
        self.write(key, value)
            .map_or(NONE, |written| self.effective_or_none(written.by))
    }

    pub fn effective_or_none(&self, transaction: u32) -> u32 {
        let effective = transaction != NONE && self.effective[transaction as usize];
        if effective { transaction } else { NONE }
    }

    /// Unknown transactions whose writes committed reads show have taken effect.
    fn see(&mut self) {
        let history = self.history;
        for spine in history.spines.iter().filter(|spine| spine.committed) {
            for &value in &spine.elements {
                self.see_value(spine.key, value);
            }
        }
        for (number, transaction) in (0..).zip(&history.transactions) {
            if transaction.status != Status::Committed {
                continue;
            }
            for &operation in history.operations(number) {
                match operation {
                    Operation::Read { key, value } => self.see_value(key, value),
                    Operation::ReadRows { key, start, len } => {
                        for &row in history.rows(start, len) {
                            self.see_value(key, row);
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    fn see_value(&mut self, key: u32, value: i64) {
        if let Some(written) = self.writes.get_mut(&(key, value)) {
            written.seen = true;
            let by = written.by as usize;
            self.effective[by] |= self.history.transactions[by].status == Status::Unknown;
        }
    }

    fn order_lists(&mut self) {
        let history = self.history;
        let mut longest = vec![NONE; history.key_count()];
        for (number, spine) in (0..).zip(&history.spines) {
            let best = &mut longest[spine.key as usize];
            let len = |spine: u32| history.spines[spine as usize].elements.len();
            if spine.committed && (*best == NONE || len(*best) < spine.elements.len()) {
                *best = number;
            }
        }
        let mut distinct = FastSet::default();
        for (key, &spine) in (0u32..).zip(&longest) {
            if spine == NONE {
                continue;
            }
            let elements = &history.spines[spine as usize].elements;
            distinct.clear();
            // With an element twice there is no order.
            if elements.iter().all(|&value| distinct.insert(value)) {
                self.order[key as usize] = elements
                    .iter()
                    .map(|&value| Version {
                        value,
                        by: self
                            .writes
                            .get(&(key, value))
                            .map_or(NONE, |written| written.by),
                    })
                    .collect();
            }
        }
        for (agreed, spine) in self.agreed.iter_mut().zip(&history.spines) {
            let order = self.order[spine.key as usize].iter();
            let same = order
                .zip(&spine.elements)
                .take_while(|(version, value)| version.value == **value);
            *agreed = u32::try_from(same.count()).unwrap_or(NONE);
        }
    }

    /// Places committed writes that no read shows, where only one place is possible, and says which
    /// keys' orders are complete.
    fn order_unread(&mut self) {
        #[derive(Clone, Default)]
        struct Unread {
            values: Vec<Version>,
            contradictory: bool,
            writes: u32,
            last: Option<Version>,
        }
        let history = self.history;
        let mut unread = vec![Unread::default(); history.key_count()];
        for (number, transaction) in (0..).zip(&history.transactions) {
            if transaction.status == Status::Aborted {
                continue;
            }
            for operation in history.operations(number) {
                let Some(value) = operation.written() else {
                    continue;
                };
                let key = operation.key();
                if history.kind(key) == KeyKind::Group {
                    if self.effective[number as usize] {
                        self.rows[key as usize].push(Version { value, by: number });
                    }
                    continue;
                }
                let of_key = &mut unread[key as usize];
                of_key.writes += 1;
                of_key.last = Some(Version { value, by: number });
                if self.effective[number as usize] && !self.writes[&(key, value)].seen {
                    of_key.values.push(Version { value, by: number });
                }
            }
        }
        // Two orders of a list: what no read shows may belong to either.
        for (spine, &agreed) in history.spines.iter().zip(&self.agreed) {
            unread[spine.key as usize].contradictory |=
                spine.committed && spine.elements.len() > agreed as usize;
        }
        for (key, unread) in (0u32..).zip(unread) {
            let at = key as usize;
            match history.kind(key) {
                KeyKind::Unwritten | KeyKind::Group => self.ordered[at] = true,
                KeyKind::List => {
                    self.ordered[at] = true;
                    let by_one = unread.values.windows(2).all(|two| two[0].by == two[1].by);
                    if unread.contradictory {
                        continue;
                    }
                    if by_one {
                        self.order[at].extend(unread.values);
                    } else {
                        self.unread[at] = unread.values;
                    }
                }
                // Without a record of their order, only a first write has a place: after nothing.
                KeyKind::Register => {
                    self.ordered[at] = unread.writes <= 1;
                    let effective = |version: &Version| self.effective[version.by as usize];
                    if unread.writes == 1 {
                        self.order[at].extend(unread.last.filter(effective));
                    }
                }
            }
        }
    }

    fn place(&mut self) {
        for (key, order) in (0u32..).zip(&self.order) {
            for (place, version) in (0..).zip(order) {
                if let Some(written) = self.writes.get_mut(&(key, version.value)) {
                    written.place = place;
                }
            }
        }
        // Any place after those that are known: no read is of so many elements.
        for (key, unread) in (0u32..).zip(&self.unread) {
            let place = u32::try_from(self.order[key as usize].len()).unwrap_or(NONE);
            for version in unread {
                if let Some(written) = self.writes.get_mut(&(key, version.value)) {
                    written.place = place;
                }
            }
        }
    }
}

/// Who wrote which value, also of those that did not commit.
fn writes(history: &History) -> Result<FastMap<(u32, i64), Written>, HistoryError> {
    let count = history
        .operations
        .iter()
        .filter(|operation| operation.written().is_some())
        .count();
    let mut writes: FastMap<(u32, i64), Written> = FastMap::default();
    writes.reserve(count);
    let mut later = FastSet::default();
    for by in 0..u32::try_from(history.transactions.len()).unwrap_or(NONE) {
        later.clear();
        for operation in history.operations(by).iter().rev() {
            let Some(value) = operation.written() else {
                continue;
            };
            let key = operation.key();
            let last = later.insert(key);
            let written = Written {
                by,
                last,
                seen: false,
                place: NONE,
            };
            if let Some(before) = writes.insert((key, value), written) {
                return Err(HistoryError(format!(
                    "value {value} of key {} is written twice, by {} and {}: a value must name \
                     its write; use new values also when a transaction is tried again",
                    history.key(key),
                    name(before.by),
                    name(by)
                )));
            }
        }
    }
    Ok(writes)
}
