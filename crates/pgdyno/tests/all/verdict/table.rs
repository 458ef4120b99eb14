//! What was said of each limit, and the table of bench/VERDICT.md.

use std::fmt::Write;

use serde_json::Value;

use crate::verdict::limits::{self, Limit};
use crate::verdict::stage::Made;

/// What a verdict is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// The limit that was made.
    Right,
    /// That it is not known, or something that is true and does not name it.
    NotKnown,
    Wrong,
}

/// A limit and what was said of it.
pub struct Row {
    pub limit: &'static Limit,
    /// Why it cannot be made here.
    pub skipped: Option<String>,
    repeats: Vec<(Said, String, String)>,
}

impl Row {
    pub fn new(limit: &'static Limit) -> Row {
        Row {
            limit,
            skipped: None,
            repeats: Vec::new(),
        }
    }

    /// One more repeat; its line, with all that led to the verdict unless it is right.
    pub fn add(&mut self, made: Made) -> String {
        let name = self.limit.name;
        let json = match made {
            Ok(json) => json,
            Err(reason) => {
                let line = format!("{name}: skipped, {reason}");
                self.skipped = Some(reason);
                return line;
            }
        };
        let verdict = &json["verdict"];
        let code = verdict["limit"].as_str().unwrap_or("no verdict").to_owned();
        let sentence = verdict["sentence"].as_str().unwrap_or_default();
        let words = limits::WORDS.iter().find(|(limit, _)| *limit == name);
        let is_said = words.is_none_or(|(_, words)| sentence.contains(words));
        let said = match &*code {
            code if self.limit.right.contains(&code) && !is_said => Said::Wrong,
            code if self.limit.right.contains(&code) => Said::Right,
            code if self.limit.partly.contains(&code) => Said::NotKnown,
            "not-known" => Said::NotKnown,
            _ => Said::Wrong,
        };
        let share = share(verdict, &code);
        let mut line = format!("{name}: {said:?}, {code} {share}");
        if said != Said::Right {
            let _ = write!(line, "\n{}", account(&json));
        }
        self.repeats.push((said, code, share));
        line
    }

    pub fn is_skipped(&self) -> bool {
        self.skipped.is_some()
    }

    pub fn has(&self, what: Said) -> bool {
        self.repeats.iter().any(|(said, ..)| *said == what)
    }

    /// More than half of the repeats name it, and none names another.
    pub fn is_named(&self) -> bool {
        let right = self
            .repeats
            .iter()
            .filter(|(said, ..)| *said == Said::Right);
        !self.has(Said::Wrong) && right.count() * 2 > self.repeats.len()
    }
}

/// The share of the clients' time that the cause has, as its rule shows it.
fn share(verdict: &Value, code: &str) -> String {
    let rules = verdict["rules"].as_array().map_or(&[][..], Vec::as_slice);
    let row = rules.iter().find(|row| row["code"] == code);
    let figure = row.and_then(|row| row["figure"].as_str()).unwrap_or("");
    figure.replace(" of the clients’ time", "")
}

/// What the verdict was made of: its words, its checks, the budget's parts from 2 % on, the causes.
fn account(json: &Value) -> String {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let verdict = &json["verdict"];
    let mut text = format!("  {} {}\n", verdict["sentence"], verdict["causes"]);
    for proof in list(&verdict["evidence"]) {
        let _ = writeln!(
            text,
            "  evidence: {} {}",
            proof["figure"], proof["sentence"]
        );
    }
    for check in list(&verdict["checks"]) {
        let (name, figures) = (&check["name"], &check["figures"]);
        let _ = writeln!(text, "  check {}: {name}: {figures}", check["passed"]);
    }
    for part in list(&json["budget"]["parts"]) {
        let share = part["share"].as_f64().unwrap_or(0.0);
        if share >= 0.02 {
            let (name, source) = (&part["part"], &part["source"]);
            let interval = &part["interval"];
            let _ = writeln!(
                text,
                "  {:3.0} % {name} {interval} ({source})",
                share * 100.0
            );
        }
    }
    for rule in list(&verdict["rules"]) {
        let (code, state, figure) = (&rule["code"], &rule["state"], &rule["figure"]);
        if state != "not-applicable" {
            let _ = writeln!(text, "  rule {code} {state}: {figure}");
        }
    }
    text
}

/// The table of bench/VERDICT.md.
pub fn markdown(rows: &[Row]) -> String {
    let mut text = String::from(
        "| Limit | Made by | Said | Share of the clients' time | Repeats |\n| --- | --- | --- | --- | --- |\n",
    );
    for row in rows {
        let mut codes: Vec<&str> = row.repeats.iter().map(|(_, code, _)| &**code).collect();
        codes.dedup();
        let mut shares: Vec<&str> = row.repeats.iter().map(|(.., share)| &**share).collect();
        shares.retain(|share| !share.is_empty());
        let marks = row.repeats.iter().map(|(said, ..)| match said {
            Said::Right => "right",
            Said::NotKnown => "not known",
            Said::Wrong => "**wrong**",
        });
        let marks: Vec<&str> = marks.collect();
        let marks = match &row.skipped {
            Some(reason) => format!("skipped: {reason}"),
            None => marks.join(", "),
        };
        let (name, made) = (row.limit.name, row.limit.made);
        let (codes, shares) = (codes.join(", "), shares.join(", "));
        let _ = writeln!(text, "| {name} | {made} | {codes} | {shares} | {marks} |");
    }
    let named = rows.iter().filter(|row| row.is_named()).count();
    let wrong = rows.iter().filter(|row| row.has(Said::Wrong)).count();
    let made = rows.iter().filter(|row| !row.is_skipped()).count();
    let _ = writeln!(
        text,
        "\n{named} of {made} named, {wrong} with a wrong verdict."
    );
    text
}
