//! A trial in which nothing was committed: the error, where it is, what to do. No verdict on nothing.

use pgdyno_model::document::{Reason, Run};
use pgdyno_model::pooler;
use pgdyno_spec::text as words;

use super::{INDENT, labelled};
use crate::table::one_line;

/// So many lines of a message are shown: with the place in the statement.
const LINES_MAX: usize = 5;

/// The block of such a trial; `None` where something was committed, or nothing failed. `error` is what a
/// client said, with the place in its script.
pub fn nothing_committed(run: &Run, error: Option<&str>) -> Option<String> {
    let counts = &run.measured.all.counts;
    if counts.committed > 0 || counts.failed == 0 {
        return None;
    }
    let all = words::count(counts.failed);
    let most = run.reasons.iter().max_by_key(|reason| reason.tries);
    let classes: Vec<&str> = counts.failed_by_class.keys().map(String::as_str).collect();
    let Some(most) = most else {
        let text = format!("all {all} transactions: {}", classes.join(", "));
        return Some(labelled("failed", &text));
    };
    let mut lines = most.message.lines();
    let first = one_line(lines.next().unwrap_or_default());
    let first = first
        .strip_prefix("ERROR:")
        .map_or(first.as_str(), str::trim_start);
    let code = most.sqlstate.as_deref().unwrap_or(&most.class);
    let place = error.and_then(in_script);
    let first = match (&place, first.rfind(" at character ")) {
        (Some(_), Some(end)) => &first[..end],
        _ => first,
    };
    let mut text = labelled("failed", &format!("all {all} transactions: {code} {first}"));
    match place {
        Some(lines) => {
            for line in lines {
                text += &format!("{:INDENT$}{line}\n", "");
            }
        }
        None => {
            for line in lines.take(LINES_MAX) {
                text += &format!("{:INDENT$}{}\n", "", one_line(line));
            }
            text += &command(run).map_or_else(String::new, |command| labelled("", &command));
        }
    }
    if let Some(remedy) = remedy(most) {
        text += &labelled("try", &remedy);
    }
    let others = classes.iter().filter(|class| **class != code);
    let others: Vec<&str> = others.copied().collect();
    if !others.is_empty() {
        text += &labelled("also", &others.join(", "));
    }
    Some(text)
}

/// `mine.sql:4:` with the line of the script and the mark below it, of what a client said.
fn in_script(error: &str) -> Option<Vec<String>> {
    let (_, placed) = error.split_once(" at ")?;
    let mut lines = placed.lines();
    let (place, _) = lines.next()?.split_once(": ")?;
    let source: Vec<&str> = lines.take(2).collect();
    let [line, mark] = source[..] else {
        return None;
    };
    (mark.trim() == "^").then(|| {
        let place = format!("{}:", one_line(place));
        let width = place.chars().count();
        vec![
            format!("{place}{}", one_line(line)),
            format!("{:width$}{mark}", ""),
        ]
    })
}

/// The statement that failed, by its script and its number.
fn command(run: &Run) -> Option<String> {
    let of_scripts = run.statements.iter().flat_map(|script| {
        let commands = script.commands.iter();
        commands.map(move |command| (&script.script, command))
    });
    let (script, command) = of_scripts.max_by_key(|(_, command)| command.failures)?;
    (command.failures > 0).then(|| {
        format!(
            "{script}, command {}: {}",
            command.command + 1,
            one_line(command.text.trim_end_matches(';'))
        )
    })
}

/// What to do about the errors that a first run meets.
fn remedy(reason: &Reason) -> Option<String> {
    let text = match reason.sqlstate.as_deref()? {
        "42P01" | "3F000" => {
            "correct the table's name, or create the tables first: pgdyno load WORKLOAD, or psql -f"
        }
        "42703" => "correct the column's name, or load the tables that the script is made for",
        "42601" => "correct the statement: psql shows the same error",
        "42501" => "grant this user what the statement needs, or connect as another one",
        "25006" => "connect to the primary, or run a workload that only reads: select-only",
        "57014" => "a longer --statement-timeout, or fewer clients",
        "40001" | "40P01" => "try failed transactions again: --max-tries 10, or use fewer clients",
        sqlstate => pooler::way_out(sqlstate, &reason.message)?,
    };
    Some(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_in_a_script_keeps_its_mark_below_the_word() {
        let error =
            "client 1 aborted at mine.sql:3: ERROR:  no such relation\n  FROM acounts;\n       ^";
        let lines = in_script(error).unwrap();
        assert_eq!(lines, ["mine.sql:3:  FROM acounts;", "                  ^"]);
        assert_eq!(in_script("client 1 aborted: no connection"), None);
    }
}
