//! What transactions observe (`\observe`), written as they end into memory that was taken before the run; the
//! form is that of [`RecordedHistory`](pgdyno_measurement::RecordedHistory).

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};

use pgdyno_isolation::Status;
use pgdyno_measurement::NO_ANSWER;
use pgdyno_script::Observation;

use super::Report;

/// A thread's bytes are handed over beyond so many.
const CHUNK_BYTES: usize = 192 << 10;
/// There is room for a long transaction behind them.
const ROOM_BYTES: usize = 256 << 10;
/// One operation of a transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Observed {
    pub(crate) what: Observation,
    pub(crate) key: i64,
    pub(crate) value: i64,
    /// Of a read: where its text is, if it found anything.
    pub(crate) answer: Option<(usize, usize)>,
    /// A write that changed no row is none.
    pub(crate) is_void: bool,
}

/// A transaction that has ended.
pub(crate) struct Ending<'a> {
    pub(crate) process: u32,
    pub(crate) status: Status,
    pub(crate) begin_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) operations: &'a [Observed],
    pub(crate) answers: &'a [u8],
}

/// What one thread has not handed over yet.
pub(crate) struct Own {
    bytes: Vec<u8>,
    recycled: Receiver<Vec<u8>>,
    /// Transactions that begin from here on are not kept.
    cut_ns: Arc<AtomicU64>,
}

impl Own {
    pub(crate) fn new(recycled: Receiver<Vec<u8>>, cut_ns: Arc<AtomicU64>) -> Self {
        Self {
            bytes: Vec::with_capacity(ROOM_BYTES),
            recycled,
            cut_ns,
        }
    }

    /// Whether a transaction that begins now is kept.
    pub(crate) fn keeps(&self, now_ns: u64) -> bool {
        now_ns < self.cut_ns.load(Ordering::Relaxed)
    }

    /// Takes note of a transaction of `thread`.
    pub(crate) fn add(&mut self, ending: &Ending<'_>, thread: usize, reports: &Sender<Report>) {
        let bytes = &mut self.bytes;
        let operations = ending.operations.iter().filter(|one| !one.is_void);
        // No script has so many; what is behind them would be missing.
        let count = operations.clone().count().min(usize::from(u16::MAX));
        bytes.extend_from_slice(&ending.process.to_le_bytes());
        bytes.push(ending.status as u8);
        bytes.extend_from_slice(&ending.begin_ns.to_le_bytes());
        bytes.extend_from_slice(&ending.end_ns.to_le_bytes());
        bytes.extend_from_slice(&(count as u16).to_le_bytes());
        for one in operations.take(count) {
            bytes.push(one.what as u8);
            bytes.extend_from_slice(&one.key.to_le_bytes());
            if !one.what.is_read() {
                bytes.extend_from_slice(&one.value.to_le_bytes());
                continue;
            }
            // What a transaction read that did not commit proves nothing.
            let committed = ending.status == Status::Committed;
            match one.answer.filter(|_| committed) {
                None => bytes.extend_from_slice(&NO_ANSWER.to_le_bytes()),
                Some((start, end)) => {
                    bytes.extend_from_slice(&((end - start) as u32).to_le_bytes());
                    bytes.extend_from_slice(&ending.answers[start..end]);
                }
            }
        }
        if self.bytes.len() >= CHUNK_BYTES {
            self.hand_over(thread, reports);
        }
    }

    /// Hands over what there is.
    pub(crate) fn hand_over(&mut self, thread: usize, reports: &Sender<Report>) {
        if self.bytes.is_empty() {
            return;
        }
        let next = self.recycled.try_recv();
        let next = next.unwrap_or_else(|_| Vec::with_capacity(ROOM_BYTES));
        let bytes = mem::replace(&mut self.bytes, next);
        // The collector outlives the threads; if it is gone, there is no receiver.
        let _ = reports.send(Report::Observed(thread, bytes));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use pgdyno_isolation::{History, Operation};
    use pgdyno_measurement::{RecordedHistory, RecordedHistoryError};

    use super::*;

    fn one(what: Observation, key: i64, value: i64, answer: Option<(usize, usize)>) -> Observed {
        Observed {
            what,
            key,
            value,
            answer,
            is_void: false,
        }
    }

    fn ending<'a>(
        (process, status): (u32, Status),
        (begin_ns, end_ns): (u64, u64),
        operations: &'a [Observed],
        answers: &'a str,
    ) -> Ending<'a> {
        Ending {
            process,
            status,
            begin_ns,
            end_ns,
            operations,
            answers: answers.as_bytes(),
        }
    }

    fn recorded(endings: &[Ending<'_>]) -> RecordedHistory {
        let (reports, inbox) = channel();
        let cut_ns = Arc::new(AtomicU64::new(u64::MAX));
        let mut own = Own::new(channel().1, cut_ns);
        endings.iter().for_each(|one| own.add(one, 0, &reports));
        own.hand_over(0, &reports);
        let mut all = RecordedHistory::begun();
        for report in inbox.try_iter() {
            if let Report::Observed(_, bytes) = report {
                all.keep(&bytes);
            }
        }
        all
    }

    #[test]
    fn what_is_recorded_is_what_the_history_has() {
        use Observation::{Append, Insert, List, Read, Rows, Write};
        let mut void = one(Write, 2, 8, None);
        void.is_void = true;
        let first = [
            one(Append, 1, 5, None),
            one(List, 1, 0, Some((0, 5))),
            void,
            one(Write, 2, 7, None),
            one(Read, 2, 0, Some((5, 6))),
            one(Read, 9, 0, None),
            one(Insert, 3, 4, None),
            one(Rows, 3, 0, Some((6, 10))),
            one(Rows, 3, 0, None),
        ];
        let second = [one(List, 1, 0, Some((0, 3))), one(Append, 1, 6, None)];
        let mut all = recorded(&[
            ending((0, Status::Committed), (10, 20), &first, "{3,5}76,4,"),
            ending((1, Status::Unknown), (12, 25), &second, "3,5"),
            ending((1, Status::Aborted), (30, 35), &second, "3,5"),
        ]);
        all.append(recorded(&[ending(
            (0, Status::Committed),
            (40, 41),
            &second[..1],
            "3,5",
        )]));
        let history = all.history().unwrap();
        let transactions = history.transactions();
        let clients: Vec<u32> = transactions.iter().map(|one| one.client).collect();
        // Those of a run afterwards are others.
        assert_eq!(clients, [0, 1, 1, 2]);
        let reported = history.operations(0);
        assert_eq!(reported.len(), 8);
        assert!(matches!(reported[1], Operation::ReadList { spine, len, .. }
            if history.list(spine, len) == [3, 5]));
        assert!(matches!(reported[3], Operation::Read { value: 7, .. }));
        assert!(matches!(reported[4], Operation::ReadNothing { .. }));
        assert!(matches!(reported[6], Operation::ReadRows { start, len, .. }
            if history.rows(start, len) == [4, 6]));
        assert!(matches!(history.operations(1)[0], Operation::Unread { .. }));
        assert_eq!(transactions[2].status, Status::Aborted);
        assert!(!all.is_cut_off() && all.bytes() > 100);
    }

    /// Every transaction of a history in words: who, when, how it ended, what it did.
    fn words(history: &History) -> Vec<String> {
        let operation = |&of: &Operation| {
            let key = history.key(of.key());
            match of {
                Operation::ReadList { spine, len, .. } => {
                    format!("list {key} {:?}", history.list(spine, len))
                }
                Operation::ReadRows { start, len, .. } => {
                    format!("rows {key} {:?}", history.rows(start, len))
                }
                Operation::Append { value, .. } => format!("append {key} {value}"),
                Operation::Write { value, .. } => format!("write {key} {value}"),
                Operation::Insert { value, .. } => format!("insert {key} {value}"),
                Operation::Read { value, .. } => format!("read {key} {value}"),
                Operation::ReadNothing { .. } => format!("read {key} nothing"),
                Operation::Unread { .. } => format!("unread {key}"),
                Operation::UnreadRows { .. } => format!("unread rows {key}"),
            }
        };
        let transaction = |(number, one): (u32, &pgdyno_isolation::Transaction)| {
            let operations: Vec<String> =
                history.operations(number).iter().map(operation).collect();
            format!(
                "{} {:?} {}-{}: {}",
                one.client,
                one.status,
                one.begin_ns,
                one.end_ns,
                operations.join(", ")
            )
        };
        let mut words: Vec<String> = (0..).zip(history.transactions()).map(transaction).collect();
        words.sort();
        words
    }

    #[test]
    fn what_is_kept_and_what_is_written_to_a_file_come_back_as_they_were() {
        use Observation::{Append, Insert, List, Read, Rows, Write};
        let all_kinds = [
            one(Append, 1, 5, None),
            one(List, 1, 0, Some((0, 3))),
            one(Write, 2, 7, None),
            one(Read, 2, 0, Some((4, 5))),
            one(Read, 9, 0, None),
            one(List, 8, 0, None),
            one(Insert, 3, 4, None),
            one(Rows, 3, 0, Some((6, 10))),
            one(Rows, 4, 0, None),
        ];
        let others = [
            one(Append, 1, 6, None),
            one(Append, 8, 6, None),
            one(Write, 9, 6, None),
            one(Insert, 3, 6, None),
            one(List, 1, 0, Some((0, 3))),
            one(Rows, 3, 0, None),
        ];
        let mut recorded = recorded(&[
            ending((0, Status::Committed), (10, 20), &all_kinds, "3,5 7 6,4,"),
            ending((1, Status::Unknown), (12, 25), &others, "3,5"),
            ending((0, Status::Aborted), (30, 35), &others[..1], ""),
            // The session that was the second one's before.
            ending((3, Status::Committed), (31, 33), &others[1..2], ""),
            ending((2, Status::Committed), (32, 36), &others[..1], ""),
        ]);
        recorded.cut(34);
        recorded.append(self::recorded(&[ending(
            (0, Status::Committed),
            (40, 41),
            &all_kinds[1..2],
            "3,5",
        )]));
        let kept = RecordedHistory::of_parts(recorded.parts().to_vec());
        assert_eq!(kept, recorded);
        assert!(kept.is_cut_off());

        let history = kept.history().unwrap();
        let reported = words(&history);
        assert_eq!(reported.len(), 6);
        // It ended behind the cut.
        assert!(
            reported
                .iter()
                .any(|one| one.starts_with("2 Unknown 32-36"))
        );
        for format in [
            pgdyno_isolation::Format::Edn,
            pgdyno_isolation::Format::Json,
        ] {
            let mut text = Vec::new();
            pgdyno_isolation::write(&history, format, &mut text).unwrap();
            let text = String::from_utf8(text).unwrap();
            let read = pgdyno_isolation::read(&text).unwrap();
            assert_eq!(words(&read), reported, "{text}");
        }
    }

    #[test]
    fn behind_the_cut_a_commit_counts_as_unknown() {
        let writes = [one(Observation::Append, 1, 5, None)];
        let mut all = recorded(&[
            ending((0, Status::Committed), (10, 20), &writes, ""),
            ending((1, Status::Committed), (10, 21), &writes, ""),
        ]);
        all.cut(20);
        assert!(all.is_cut_off());
        let history = all.history().unwrap();
        let status = history.transactions().iter().map(|one| one.status);
        assert!(status.eq([Status::Committed, Status::Unknown]));
    }

    #[test]
    fn an_answer_of_another_form_is_named() {
        for (what, answer, words) in [
            (
                Observation::List,
                "1,x",
                "list 4 was answered with \"1,x\", which is no list",
            ),
            (
                Observation::Read,
                "1,2",
                "read 4 was answered with \"1,2\", which is no whole",
            ),
            (
                Observation::Rows,
                "1,,",
                "rows 4 was answered with \"1,,\", which is no column",
            ),
        ] {
            let reads = [one(what, 4, 0, Some((0, answer.len())))];
            let all = recorded(&[ending((0, Status::Committed), (1, 2), &reads, answer)]);
            let error = all.history().unwrap_err().to_string();
            assert!(error.starts_with(words), "{error}");
        }
        let mut all = RecordedHistory::begun();
        all.keep(&[1, 2, 3]);
        assert_eq!(all.history().err(), Some(RecordedHistoryError::Short));
    }
}
