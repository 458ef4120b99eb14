//! Reads by predicates. A row is an item that is written once: each read of its predicate found it or saw it absent,
//! which is older. So of every row it is known what a read saw, and the levels of Biswas & Enea are decided as for
//! registers whose order is known (A. Bouajjani, C. Enea & E. Román-Calvo, CAV 2025, arXiv 2505.18409: *full* histories).

use crate::history::{History, Operation, Status};
use crate::versions::{NONE, Version, Versions};

/// Reads are compared with every row of their group: if that were more comparisons, none is made.
const COMPARISONS_MAX: u64 = 20_000_000;

/// A committed transaction's read of all rows that match a predicate.
#[derive(Clone, Copy)]
pub(crate) struct RowRead<'h> {
    pub by: u32,
    /// The index among its transaction's operations.
    pub at: u32,
    pub key: u32,
    pub rows: &'h [i64],
}

/// The reads by predicates of a transaction; none if it did not commit.
pub(crate) fn reads(history: &History, by: u32) -> impl Iterator<Item = RowRead<'_>> {
    let committed = history.transactions()[by as usize].status == Status::Committed;
    let operations = if committed {
        history.operations(by)
    } else {
        &[]
    };
    (0..)
        .zip(operations)
        .filter_map(move |(at, operation)| match *operation {
            Operation::ReadRows { key, start, len } => Some(RowRead {
                by,
                at,
                key,
                rows: history.rows(start, len),
            }),
            _ => None,
        })
}

/// Whether there are too many rows to compare each read with them.
pub(crate) fn too_many(versions: &Versions<'_>) -> bool {
    let history = versions.history;
    let all = 0..u32::try_from(history.transactions().len()).unwrap_or(NONE);
    let reads = all.flat_map(|by| reads(history, by));
    let comparisons = reads.map(|read| versions.rows[read.key as usize].len() as u64);
    comparisons.sum::<u64>() > COMPARISONS_MAX
}

/// Rows of other transactions that took effect, and whether the read found them. None if there are too many.
pub(crate) fn of_others<'a>(
    versions: &'a Versions<'_>,
    read: RowRead<'a>,
) -> impl Iterator<Item = (Version, bool)> + 'a {
    let all = if versions.too_many_rows {
        &[]
    } else {
        &versions.rows[read.key as usize][..]
    };
    let others = all.iter().filter(move |row| row.by != read.by);
    others.map(move |&row| (row, read.rows.binary_search(&row.value).is_ok()))
}

/// Who inserted the rows that a read found.
pub(crate) fn writers<'a>(
    versions: &'a Versions<'_>,
    read: RowRead<'a>,
) -> impl Iterator<Item = u32> + 'a {
    let found = of_others(versions, read).filter(|&(_, is_found)| is_found);
    found.map(|(row, _)| row.by)
}

/// The rows that a read saw absent.
pub(crate) fn missed<'a>(
    versions: &'a Versions<'_>,
    read: RowRead<'a>,
) -> impl Iterator<Item = Version> + 'a {
    let missed = of_others(versions, read).filter(|&(_, is_found)| !is_found);
    missed.map(|(row, _)| row)
}
