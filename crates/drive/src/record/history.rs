//! The history of a run: what each transaction of the database observed (`\observe`), as bytes in memory
//! that was taken before the run. They are understood when it is over.
//!
//! A transaction: process u32, status u8, begin and end u64 (nanoseconds on the monotonic clock),
//! operations u16; an operation: what u8, key i64, then the value i64 of a write, or the length u32 and
//! the text of what a read was answered. All little-endian.

use std::mem;
use std::str;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};

use pgdyno_isolation::{Builder, History, HistoryError, Status};
use pgdyno_script::Observation;

use super::Report;

/// A thread's bytes are handed over beyond so many.
const CHUNK_BYTES: usize = 192 << 10;
/// There is room for a long transaction behind them.
const ROOM_BYTES: usize = 256 << 10;
/// The length of an answer where there was no row, or NULL.
const NOTHING: u32 = u32::MAX;

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
                None => bytes.extend_from_slice(&NOTHING.to_le_bytes()),
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

/// What a run has observed, and of what followed it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedHistory {
    parts: Vec<HistoryPart>,
}

/// What one run has observed, in a form that is this module's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryPart {
    /// Its bytes, as its threads handed them over.
    pub chunks: Vec<Box<[u8]>>,
    /// When it was cut off, on the recorder's clock: what began later is not in it.
    pub cut_ns: Option<u64>,
}

/// Why what was recorded is no history.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordedHistoryError {
    /// A statement's answer is not what its `\observe` says.
    #[error("{wanted} {key} was answered with \"{answer}\", which is no {form}")]
    Answer {
        wanted: &'static str,
        key: i64,
        answer: String,
        form: &'static str,
    },
    /// The operations do not go together.
    #[error("{0}")]
    History(HistoryError),
    /// The record itself ends too early.
    #[error("the recorded history ends within a transaction")]
    Short,
}

impl RecordedHistory {
    /// Of a run that nothing was observed of so far.
    pub(crate) fn begun() -> Self {
        Self {
            parts: vec![HistoryPart::default()],
        }
    }

    pub(crate) fn keep(&mut self, bytes: &[u8]) {
        if let Some(part) = self.parts.last_mut() {
            part.chunks.push(bytes.into());
        }
    }

    /// Nothing that begins from there on is in it.
    pub(crate) fn cut(&mut self, at_ns: u64) {
        if let Some(part) = self.parts.last_mut() {
            part.cut_ns = Some(at_ns);
        }
    }

    /// Adds what was observed in a run afterwards, by other clients.
    pub fn append(&mut self, after: Self) {
        self.parts.extend(after.parts);
    }

    /// Bytes that it takes in memory.
    pub fn bytes(&self) -> usize {
        let chunks = self.parts.iter().flat_map(|part| &part.chunks);
        chunks.map(|chunk| chunk.len()).sum()
    }

    /// Whether it was cut off because it became too long.
    pub fn is_cut_off(&self) -> bool {
        self.parts.iter().any(|part| part.cut_ns.is_some())
    }

    /// What each run observed, to be kept.
    pub fn parts(&self) -> &[HistoryPart] {
        &self.parts
    }

    /// Of [`Self::parts`] that were kept. What is wrong with them is seen when the history is made.
    pub fn of_parts(parts: Vec<HistoryPart>) -> Self {
        Self { parts }
    }

    /// The history.
    ///
    /// # Errors
    /// A read was answered with something else than its `\observe` says; a key is used in two ways.
    pub fn history(&self) -> Result<History, RecordedHistoryError> {
        let mut builder = Builder::new();
        let mut values = Vec::new();
        let mut processes_before = 0;
        for part in &self.parts {
            let mut processes = 0;
            for chunk in &part.chunks {
                let mut from = Reader(chunk);
                while !from.0.is_empty() {
                    let process = transaction(
                        &mut from,
                        &mut builder,
                        &mut values,
                        (processes_before, part.cut_ns),
                    );
                    let process = process.ok_or(RecordedHistoryError::Short)??;
                    processes = processes.max(process + 1);
                }
            }
            processes_before = processes.max(processes_before);
        }
        builder.finish().map_err(RecordedHistoryError::History)
    }
}

/// Adds one transaction to the history, and says its process; nothing where the bytes end too early.
fn transaction(
    from: &mut Reader<'_>,
    builder: &mut Builder,
    values: &mut Vec<i64>,
    (processes_before, cut_ns): (u32, Option<u64>),
) -> Option<Result<u32, RecordedHistoryError>> {
    let process = u32::from_le_bytes(from.take()?) + processes_before;
    let [status] = from.take()?;
    let begin_ns = u64::from_le_bytes(from.take()?);
    let end_ns = u64::from_le_bytes(from.take()?);
    let count = u16::from_le_bytes(from.take()?);
    let status = match status {
        // It may have read what began too late to be recorded.
        _ if status == Status::Committed as u8 && cut_ns.is_some_and(|cut| end_ns > cut) => {
            Status::Unknown
        }
        _ if status == Status::Committed as u8 => Status::Committed,
        _ if status == Status::Aborted as u8 => Status::Aborted,
        _ => Status::Unknown,
    };
    builder.begin(process, status, begin_ns as i64, end_ns as i64);
    for _ in 0..count {
        let [what] = from.take()?;
        let name = i64::from_le_bytes(from.take()?);
        let key = builder.key(name);
        let is = |observation: Observation| what == observation as u8;
        if is(Observation::Append) {
            builder.append(key, i64::from_le_bytes(from.take()?));
            continue;
        }
        if is(Observation::Write) {
            builder.write(key, i64::from_le_bytes(from.take()?));
            continue;
        }
        if is(Observation::Insert) {
            builder.insert(key, i64::from_le_bytes(from.take()?));
            continue;
        }
        let answer = match u32::from_le_bytes(from.take()?) {
            NOTHING => None,
            length => Some(from.text(length as usize)?),
        };
        let (wanted, form) = match what {
            _ if is(Observation::List) => ("list", "list of whole numbers"),
            _ if is(Observation::Rows) => ("rows", "column of whole numbers"),
            _ => ("read", "whole number"),
        };
        if status != Status::Committed {
            match wanted {
                "rows" => builder.unread_rows(key),
                _ => builder.unread(key),
            };
            continue;
        }
        values.clear();
        let is_read = numbers(answer.unwrap_or_default(), values).is_some()
            && (wanted != "read" || values.len() <= 1);
        if !is_read {
            return Some(Err(RecordedHistoryError::Answer {
                wanted,
                key: name,
                answer: String::from_utf8_lossy(answer.unwrap_or_default()).into_owned(),
                form,
            }));
        }
        match (wanted, values.first()) {
            ("list", _) => builder.read_list(key, values),
            ("rows", _) => builder.read_rows(key, values),
            (_, Some(&value)) => builder.read(key, value),
            (_, None) => builder.read_nothing(key),
        };
    }
    Some(Ok(process))
}

/// The whole numbers of `1,2,3`, `{1,2,3}` or `[1, 2, 3]`; nothing where it is no such text.
fn numbers(text: &[u8], values: &mut Vec<i64>) -> Option<()> {
    let text = str::from_utf8(text).ok()?.trim();
    let inner = ["{}", "[]"].iter().find_map(|brackets| {
        let (open, close) = brackets.split_at(1);
        text.strip_prefix(open)?.strip_suffix(close)
    });
    let inner = inner.unwrap_or(text).trim();
    let inner = inner.strip_suffix(',').unwrap_or(inner);
    if inner.is_empty() {
        return Some(());
    }
    for number in inner.split(',') {
        values.push(number.trim().parse().ok()?);
    }
    Some(())
}

/// Bytes that are left to be read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    fn text(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use pgdyno_isolation::Operation;

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
