//! The history of a run: what each transaction of the database observed (`\observe`), as bytes in memory
//! that was taken before the run. They are understood when it is over.
//!
//! A transaction: process u32, status u8, begin and end u64 (nanoseconds on the monotonic clock),
//! operations u16; an operation: what u8, key i64, then the value i64 of a write, or the length u32 and
//! the text of what a read was answered. All little-endian.

use std::str;

use pgdyno_isolation::{Builder, History, HistoryError, Status};
use pgdyno_script::Observation;

/// The length of an answer where there was no row, or NULL.
pub const NO_ANSWER: u32 = u32::MAX;

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
    pub fn begun() -> Self {
        Self {
            parts: vec![HistoryPart::default()],
        }
    }

    pub fn keep(&mut self, bytes: &[u8]) {
        if let Some(part) = self.parts.last_mut() {
            part.chunks.push(bytes.into());
        }
    }

    /// Nothing that begins from there on is in it.
    pub fn cut(&mut self, at_ns: u64) {
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
            NO_ANSWER => None,
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
