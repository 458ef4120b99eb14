//! Writes a history as a file that [`crate::read`] and Elle's tools read: EDN or JSON, one event a line.

use std::io::{self, Write};

use crate::hash::FastMap;
use crate::history::{History, Operation, Status, Transaction};
use crate::keys::{KeyKind, KeyName};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Elle's own: `{:index 0, :type :invoke, …}`.
    Edn,
    Json,
}

impl Format {
    fn word(self, word: &str) -> String {
        match self {
            Self::Edn => format!(":{word}"),
            Self::Json => format!("\"{word}\""),
        }
    }

    const fn nothing(self) -> &'static str {
        match self {
            Self::Edn => "nil",
            Self::Json => "null",
        }
    }

    const fn separator(self) -> &'static str {
        match self {
            Self::Edn => " ",
            Self::Json => ",",
        }
    }

    /// `{:index 0, …}` or `{"index":0,…}`.
    fn map(self, entries: &[(&str, String)]) -> String {
        let entries = entries.iter().map(|(name, value)| match self {
            Self::Edn => format!(":{name} {value}"),
            Self::Json => format!("\"{name}\":{value}"),
        });
        let entries: Vec<String> = entries.collect();
        let separator = match self {
            Self::Edn => ", ",
            Self::Json => ",",
        };
        format!("{{{}}}", entries.join(separator))
    }
}

/// Writes all events in their order.
///
/// # Errors
/// `to` does not take them.
pub fn write(history: &History, format: Format, to: &mut impl Write) -> io::Result<()> {
    let mut events: Vec<(u32, bool, u32)> = Vec::with_capacity(2 * history.transactions().len());
    for (number, transaction) in (0..).zip(history.transactions()) {
        events.push((transaction.begin_place, false, number));
        events.push((transaction.end_place, true, number));
    }
    events.sort_unstable();
    let processes = processes(history, &events);
    for (index, (_, is_end, number)) in events.into_iter().enumerate() {
        let transaction = &history.transactions()[number as usize];
        let (kind, time_ns) = match (is_end, transaction.status) {
            (false, _) => ("invoke", transaction.begin_ns),
            (true, Status::Committed) => ("ok", transaction.end_ns),
            (true, Status::Aborted) => ("fail", transaction.end_ns),
            (true, Status::Unknown) => ("info", transaction.end_ns),
        };
        let operations = history.operations(number).iter();
        let operations: Vec<String> = operations
            .map(|&operation| operation_text(history, operation, is_end, format))
            .collect();
        let event = format.map(&[
            ("index", index.to_string()),
            ("time", time_ns.to_string()),
            ("type", format.word(kind)),
            ("process", processes[number as usize].to_string()),
            ("f", format.word("txn")),
            (
                "value",
                format!("[{}]", operations.join(format.separator())),
            ),
        ]);
        writeln!(to, "{event}")?;
    }
    Ok(())
}

/// By transaction, the number of its client in the file: after an unknown one a client goes on under another.
fn processes(history: &History, events: &[(u32, bool, u32)]) -> Vec<u64> {
    let transactions = history.transactions();
    let clients = transactions
        .iter()
        .map(|transaction| transaction.client.into());
    let mut next = clients.max().unwrap_or(0_u64) + 1;
    let mut renamed: FastMap<u32, Option<u64>> = FastMap::default();
    let mut processes = vec![0; transactions.len()];
    for &(_, is_end, number) in events {
        let Transaction { client, status, .. } = transactions[number as usize];
        let process = renamed.entry(client).or_insert(Some(client.into()));
        if !is_end {
            processes[number as usize] = *process.get_or_insert_with(|| {
                next += 1;
                next - 1
            });
        } else if status == Status::Unknown {
            *process = None;
        }
    }
    processes
}

/// One operation: before it ran (reads are empty) or after.
fn operation_text(history: &History, operation: Operation, after: bool, format: Format) -> String {
    let list = |values: &[i64]| {
        let values: Vec<String> = values.iter().map(i64::to_string).collect();
        format!("[{}]", values.join(format.separator()))
    };
    let (verb, value) = match operation {
        Operation::Append { value, .. } => ("append", Some(value.to_string())),
        Operation::Write { value, .. } => ("w", Some(value.to_string())),
        Operation::Insert { value, .. } => ("insert", Some(value.to_string())),
        Operation::ReadRows { start, len, .. } => {
            ("rows", after.then(|| list(history.rows(start, len))))
        }
        Operation::UnreadRows { .. } => ("rows", None),
        Operation::ReadList { spine, len, .. } => {
            ("r", after.then(|| list(history.list(spine, len))))
        }
        Operation::Read { value, .. } => ("r", after.then(|| value.to_string())),
        Operation::ReadNothing { key } if history.kind(key) == KeyKind::List => {
            ("r", after.then(|| list(&[])))
        }
        Operation::ReadNothing { .. } | Operation::Unread { .. } => ("r", None),
    };
    let key = match history.key(operation.key()) {
        KeyName::Number(number) => number.to_string(),
        KeyName::Word(word) => quoted(word),
    };
    let parts = [
        format.word(verb),
        key,
        value.unwrap_or_else(|| format.nothing().to_owned()),
    ];
    format!("[{}]", parts.join(format.separator()))
}

/// A string of EDN and of JSON.
fn quoted(word: &str) -> String {
    let mut quoted = String::from("\"");
    for character in word.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            control if control.is_control() => {
                quoted.push_str(&format!("\\u{:04x}", u32::from(control)));
            }
            plain => quoted.push(plain),
        }
    }
    quoted.push('"');
    quoted
}
