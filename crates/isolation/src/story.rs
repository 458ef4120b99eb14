//! Says in words what transactions did and why one comes before another.

use crate::finds::{Example, Link, LinkKind};
use crate::history::{History, Operation, Status};
use crate::versions::Versions;

/// Longer lists are shown by their ends.
const ELEMENTS_MAX: usize = 8;
/// Longer transactions are shown by what concerns the story.
const OPERATIONS_MAX: usize = 12;

/// What a transaction is called.
pub(crate) fn name(transaction: u32) -> String {
    format!("T{}", u64::from(transaction) + 1)
}

/// `T3 (client 0): read x = [1 2], append 3 to y`.
pub(crate) fn did(history: &History, transaction: u32, keys: &[u32]) -> String {
    let of = &history.transactions()[transaction as usize];
    let operations = history.operations(transaction);
    let shown: Vec<String> = operations
        .iter()
        .filter(|operation| operations.len() <= OPERATIONS_MAX || keys.contains(&operation.key()))
        .take(OPERATIONS_MAX)
        .map(|&operation| said(history, operation))
        .collect();
    let left_out = operations.len() - shown.len();
    let more = if left_out > 0 {
        format!(", and {left_out} other operations")
    } else {
        String::new()
    };
    let end = match of.status {
        Status::Committed => "",
        Status::Aborted => "; did not commit",
        Status::Unknown => "; not known whether it committed",
    };
    format!(
        "{} (client {}): {}{more}{end}",
        name(transaction),
        of.client,
        shown.join(", ")
    )
}

fn said(history: &History, operation: Operation) -> String {
    let key = history.key(operation.key());
    match operation {
        Operation::Append { value, .. } => format!("append {value} to {key}"),
        Operation::Write { value, .. } => format!("write {key} = {value}"),
        Operation::Insert { value, .. } => format!("insert row {value} into {key}"),
        Operation::ReadList { spine, len, .. } => {
            format!("read {key} = {}", list(history.list(spine, len)))
        }
        Operation::Read { value, .. } => format!("read {key} = {value}"),
        Operation::ReadNothing { .. } => format!("read {key} = nothing"),
        Operation::ReadRows { start, len, .. } => {
            format!("read rows of {key} = {}", list(history.rows(start, len)))
        }
        Operation::Unread { .. } => format!("read {key}"),
        Operation::UnreadRows { .. } => format!("read rows of {key}"),
    }
}

/// `[1 2 3]`, `[… 24 25 26]`.
pub(crate) fn list(values: &[i64]) -> String {
    let skipped = values.len().saturating_sub(ELEMENTS_MAX);
    let values: Vec<String> = values[skipped..].iter().map(i64::to_string).collect();
    format!(
        "[{}{}]",
        if skipped > 0 { "… " } else { "" },
        values.join(" ")
    )
}

/// An example of transactions that did this, which is why `sentence`.
pub(crate) fn example(
    history: &History,
    transactions: &[u32],
    key: u32,
    sentence: String,
) -> Example {
    let mut distinct: Vec<u32> = Vec::new();
    for &transaction in transactions {
        if !distinct.contains(&transaction) {
            distinct.push(transaction);
        }
    }
    let mut story: Vec<String> = distinct
        .iter()
        .map(|&transaction| did(history, transaction, &[key]))
        .collect();
    story.push(sentence);
    Example {
        transactions: distinct,
        links: Vec::new(),
        story,
    }
}

/// An example that is a cycle: the last link leads to the first transaction.
pub(crate) fn cycle(versions: &Versions<'_>, links: Vec<Link>) -> Example {
    let history = versions.history;
    let keys: Vec<u32> = links.iter().filter_map(|link| link.key).collect();
    let transactions: Vec<u32> = links.iter().map(|link| link.from).collect();
    let mut story: Vec<String> = transactions
        .iter()
        .map(|&transaction| did(history, transaction, &keys))
        .collect();
    for (at, link) in links.iter().enumerate() {
        let (from, to) = (name(link.from), name(link.to));
        let why = because(versions, link);
        story.push(if at + 1 < links.len() {
            format!("{from} comes before {to}: {why}")
        } else {
            format!("but {from} comes before {to}: {why}, a contradiction")
        });
    }
    Example {
        transactions,
        links,
        story,
    }
}

fn because(versions: &Versions<'_>, link: &Link) -> String {
    let history = versions.history;
    let (from, to) = (name(link.from), name(link.to));
    let key = link.key.map(|key| history.key(key).to_string());
    let key = key.unwrap_or_default();
    let wrote = |transaction: u32| {
        let operations = history.operations(transaction).iter();
        let values: Vec<i64> = operations
            .filter(|operation| Some(operation.key()) == link.key)
            .filter_map(|operation| operation.written())
            .collect();
        match values[..] {
            [value] => value.to_string(),
            _ => list(&values),
        }
    };
    match link.kind {
        LinkKind::WriteWrite => format!(
            "in {key}, {} of {to} follows {} of {from}",
            wrote(link.to),
            wrote(link.from)
        ),
        LinkKind::WriteRead => format!(
            "{to} read in {key} what {from} wrote ({})",
            wrote(link.from)
        ),
        LinkKind::ReadWrite => format!("{from} read {key} without {} of {to}", wrote(link.to)),
        LinkKind::ReadWritePredicate => {
            format!(
                "{from} read the rows of {key} without row {} of {to}",
                wrote(link.to)
            )
        }
        LinkKind::Session => format!("their client ran {from} first"),
        LinkKind::RealTime => {
            let (end, begin) = (
                history.transactions()[link.from as usize].end_ns,
                history.transactions()[link.to as usize].begin_ns,
            );
            format!(
                "{from} had ended {} before {to} began",
                gap(begin.saturating_sub(end))
            )
        }
        LinkKind::CommitOrder => {
            format!("a transaction that saw {from} read an earlier {key}, written by {to}")
        }
    }
}

/// A duration in its usual unit.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn gap(ns: i64) -> String {
    match ns {
        ..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{:.3} µs", ns as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.3} ms", ns as f64 / 1e6),
        _ => format!("{:.3} s", ns as f64 / 1e9),
    }
}
