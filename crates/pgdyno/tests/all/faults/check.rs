//! The accounting beside the database's truth.

use serde_json::Value;

use crate::faults::kinds::Fault;
use crate::faults::scene::{CLIENTS, Call, Left, TRANSACTIONS};

/// What was counted, and what the database has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    pub committed: u64,
    pub failed: u64,
    pub unknown: u64,
    pub rows: u64,
    pub aborted: u64,
    pub outages: u64,
    /// Of the failed ones: broken off by Ctrl-C.
    pub interrupted: u64,
}

/// Compares all that a case left with what must hold.
///
/// # Errors
/// What does not.
pub fn check(fault: &Fault, call: Call, left: &Left) -> Result<Counted, String> {
    let ran = &left.ran;
    let mut wrong = Vec::new();
    let mut must = |holds: bool, what: &str| {
        if !holds {
            wrong.push(what.to_owned());
        }
    };
    let place = Call::ALL.iter().position(|c| *c == call).unwrap_or(0);
    let code = fault.codes[place];
    must(ran.code == Some(code), &format!("exit code {code}"));
    must(!ran.stderr.contains("panicked"), "no panic");
    for words in fault.words {
        let is_said = ran.stdout.contains(words) || ran.stderr.contains(words);
        must(is_said || call.as_pgbench, &format!("\"{words}\" is said"));
    }
    must(left.rows == left.different_rows, "each row at most once");
    let mut counted = Counted {
        rows: left.rows,
        ..Counted::default()
    };
    match &left.document {
        Some(json) => counts(&mut counted, json, left, call, &mut must),
        None => must(left.rows == 0 && code != 0, "a result"),
    }
    if call.as_pgbench && counted.committed > 0 {
        printed(&counted, &ran.stdout, call, &mut must);
    }
    must((fault.shows)(&counted, call), "what the fault is to show");
    if wrong.is_empty() {
        Ok(counted)
    } else {
        Err(format!("not so: {}; {counted:?}", wrong.join("; ")))
    }
}

fn counts(
    counted: &mut Counted,
    json: &Value,
    left: &Left,
    call: Call,
    must: &mut impl FnMut(bool, &str),
) {
    let number = |value: &Value| value.as_u64().unwrap_or(u64::MAX);
    let measured = &json["measured"];
    let of = |what: &str| number(&measured[what]);
    counted.committed = of("committed");
    counted.failed = of("failed");
    counted.unknown = of("unknown");
    counted.aborted = number(&json["clients"]["aborted"]);
    counted.outages = json["outages"]["count"].as_u64().unwrap_or(0);
    let (committed, unknown) = (counted.committed, counted.unknown);
    must(of("skipped") == 0, "nothing skipped");
    must(
        committed <= left.rows && left.rows <= committed + unknown,
        "rows between committed and committed + unknown",
    );
    let classes = measured["failed_by_class"].as_object();
    let by_class: u64 = classes
        .into_iter()
        .flat_map(|c| c.values().map(number))
        .sum();
    must(by_class == counted.failed, "failed = sum of its classes");
    counted.interrupted = measured["failed_by_class"]["interrupted"]
        .as_u64()
        .unwrap_or(0);
    for what in ["committed", "failed", "unknown"] {
        let seconds = json["seconds"].as_array().into_iter().flatten();
        let scripts = seconds.flat_map(|second| second["scripts"].as_array().into_iter().flatten());
        let sum: u64 = scripts.map(|script| number(&script[what])).sum();
        must(sum == of(what), &format!("{what} = sum of its seconds"));
    }
    // Started transactions: the script numbers them.
    let ended = committed + counted.failed + unknown;
    must(ended >= left.highest, "all that started are counted");
    let is_whole = json["end"] == "complete" && counted.aborted == 0;
    if is_whole && json["trial"]["transactions_per_client"] == TRANSACTIONS {
        must(ended == CLIENTS * TRANSACTIONS, "all were started");
    }
    // A client that ends early, or is interrupted, fails in its last transaction only.
    let broken_off = if json["end"] == "interrupted" {
        CLIENTS
    } else {
        counted.aborted
    };
    if !call.reconnects && json["trial"]["continue_on_error"] == false {
        let most = left.highest + broken_off;
        must(ended <= most, "none counted that was not started");
    }
}

/// What is printed in pgbench's form.
fn printed(counted: &Counted, stdout: &str, call: Call, must: &mut impl FnMut(bool, &str)) {
    let after = |label: &str| {
        let line = stdout.lines().find_map(|line| line.strip_prefix(label))?;
        let end = line.find(|c: char| !c.is_ascii_digit());
        line[..end.unwrap_or(line.len())].parse::<u64>().ok()
    };
    let processed = after("number of transactions actually processed: ");
    must(
        processed == Some(counted.committed),
        "processed = committed",
    );
    let unknown = after("number of transactions with an unknown result: ");
    if call.reconnects {
        let failed = after("number of failed transactions: ");
        // pgbench's form has none that Ctrl-C broke off: they did not fail by themselves.
        let own = counted.failed - counted.interrupted;
        must(failed == Some(own), "failed are printed");
        must(
            unknown.unwrap_or(0) == counted.unknown,
            "unknown are printed",
        );
    }
}
