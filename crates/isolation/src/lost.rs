//! Acknowledged writes that are gone: what a failover loses. A list only grows and rows are not deleted, so that the
//! reading of a key that begins after all of its writes have ended has every one of them.
//!
//! Registers show nothing of the kind: a value that is not there may have been overwritten.

use crate::check::Counts;
use crate::finds::Finds;
use crate::hash::FastSet;
use crate::history::{History, Operation, Status};
use crate::level::Anomaly;
use crate::story::{example, name};

/// What is known of a key.
#[derive(Clone, Default)]
struct Key {
    /// Its acknowledged appends or inserts: by whom, what.
    written: Vec<(u32, i64)>,
    /// When the last of them had ended: a place among all begins and ends.
    ended: u32,
    /// The committed reading that began last, and when.
    read: Option<(u32, u32, Operation)>,
}

/// Looks for them; counts acknowledged writes, and those that a reading at the end would show.
/// Without the order of time none is known to be at the end.
pub(crate) fn check(history: &History, timed: bool, finds: &mut Finds, counts: &mut Counts) {
    let mut keys = vec![Key::default(); history.key_count()];
    for (by, transaction) in (0..).zip(history.transactions()) {
        if transaction.status != Status::Committed {
            continue;
        }
        for &operation in history.operations(by) {
            let key = &mut keys[operation.key() as usize];
            match operation {
                Operation::Append { value, .. } | Operation::Insert { value, .. } => {
                    key.written.push((by, value));
                    key.ended = key.ended.max(transaction.end_place);
                }
                Operation::ReadList { .. }
                | Operation::ReadRows { .. }
                | Operation::ReadNothing { .. }
                    if key
                        .read
                        .is_none_or(|(_, begin, _)| begin <= transaction.begin_place) =>
                {
                    key.read = Some((by, transaction.begin_place, operation));
                }
                _ => {}
            }
        }
    }
    let mut there = FastSet::<i64>::default();
    for (number, key) in (0..).zip(&keys) {
        counts.acknowledged_writes += key.written.len() as u64;
        let at_end = |(_, begin, _): &(u32, u32, Operation)| timed && *begin > key.ended;
        let Some((reader, _, read)) = key.read.filter(at_end) else {
            continue;
        };
        counts.writes_read_at_end += key.written.len() as u64;
        there.clear();
        there.extend(match read {
            Operation::ReadList { spine, len, .. } => history.list(spine, len),
            Operation::ReadRows { start, len, .. } => history.rows(start, len),
            _ => &[],
        });
        for &(writer, value) in key
            .written
            .iter()
            .filter(|(_, value)| !there.contains(value))
        {
            finds.add(Anomaly::LostWrite, 2, || {
                let sentence = format!(
                    "{} had committed before {} read {}, after all of its writes, and {value} is not there: the \
                     write is lost, unless {} read a copy that was late",
                    name(writer),
                    name(reader),
                    history.key(number),
                    name(reader)
                );
                example(history, &[writer, reader], number, sentence)
            });
        }
    }
}
