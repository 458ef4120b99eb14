//! Validity notes: serious ones before the figures, the others a line each behind them.

use pgdyno_model::note::STALLED;
use pgdyno_model::{Note, Severity};

use super::{INDENT, WIDTH};
use crate::wrap::wrapped;

/// So many warnings are there, whatever the number of lines.
const WARNINGS_MAX: usize = 3;

/// Settings that make commits less than durable are one line together: their codes and names.
const NOT_DURABLE: [(&str, &str); 3] = [
    ("fsync-off", "fsync"),
    ("synchronous-commit-off", "synchronous_commit"),
    ("full-page-writes-off", "full_page_writes"),
];

/// What spoils the figures, whole, with the first thing to do.
pub fn serious(notes: &[Note]) -> String {
    let serious = notes.iter().filter(|n| n.severity == Severity::Serious);
    let lines = serious.map(|note| {
        let remedy = note.remedy.split([',', ';']).next().unwrap_or_default();
        let text = format!("{}. {}.", note.sentence, capital(remedy));
        wrapped("!!", &text, 3)
    });
    lines.collect()
}

/// The others in so many lines, warnings first; more are only counted, in the last line. What the line on steadiness
/// says is not said again.
pub fn text(notes: &[Note], most: usize) -> String {
    let others = notes.iter().filter(|note| {
        note.severity < Severity::Serious && !note.is_of_steadiness() && note.code != STALLED
    });
    let others: Vec<&Note> = others.collect();
    let mut lines: Vec<String> = Vec::new();
    let is_durability = |note: &Note| NOT_DURABLE.iter().any(|(code, _)| *code == note.code);
    let mut durability = others.iter().copied().filter(|note| is_durability(note));
    if let Some(first) = durability.next() {
        let off: Vec<&str> = NOT_DURABLE
            .iter()
            .filter(|(code, _)| others.iter().any(|note| note.code == *code))
            .map(|(_, name)| *name)
            .collect();
        let verb = if off.len() == 1 { "is" } else { "are" };
        let text = format!("not durable: {} {verb} off", off.join(", "));
        lines.push(line(first.severity, &text));
    }
    let rest = others.iter().filter(|note| !is_durability(note));
    lines.extend(rest.map(|note| line(note.severity, note.headline())));
    lines.sort_by_key(|line| !line.starts_with('!'));
    // What the makers of a benchmark ask to be said with each result is not cut off.
    let asked = others.iter().find(|note| note.code == "pack-notice");
    if let Some(note) = asked {
        let asked = line(note.severity, note.headline());
        lines.retain(|line| *line != asked);
        lines.insert(0, asked);
    }
    let warnings = lines.iter().filter(|line| line.starts_with('!')).count();
    let shown = most.max(warnings.min(WARNINGS_MAX) + usize::from(warnings < lines.len()));
    if lines.len() > shown {
        let more = lines.len() - (shown - 1);
        lines.truncate(shown - 1);
        lines.push(format!("and {more} more: -v"));
    }
    let labels = ["trust"].into_iter().chain(std::iter::repeat(""));
    let lines = labels.zip(&lines);
    lines
        .map(|(label, line)| format!("{label:<INDENT$}{line}\n"))
        .collect()
}

fn line(severity: Severity, text: &str) -> String {
    let sign = match severity {
        Severity::Notice => 'i',
        _ => '!',
    };
    let (text, room) = (format!("{sign} {text}"), WIDTH - INDENT);
    if text.chars().count() <= room {
        return text;
    }
    // Words stay whole.
    let cut: String = text.chars().take(room - 1).collect();
    let end = cut.rfind(' ').unwrap_or(cut.len());
    format!("{}…", cut[..end].trim_end_matches([',', ' ']))
}

pub fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(code: &'static str, severity: Severity, sentence: &str) -> Note {
        Note::new(code, severity, sentence.to_owned(), "do something")
    }

    #[test]
    fn settings_that_make_commits_not_durable_are_one_line_and_warnings_come_first() {
        let notes = [
            note(
                "same-host",
                Severity::Notice,
                "client and server share a host: they compete",
            ),
            note(
                "fsync-off",
                Severity::Warning,
                "fsync is off: commits do not wait",
            ),
            note(
                "full-page-writes-off",
                Severity::Warning,
                "full_page_writes is off: less WAL",
            ),
            note("stalls", Severity::Warning, "nothing was committed once"),
            note(
                "assertions-on",
                Severity::Serious,
                "the server was built with assertions",
            ),
        ];
        let expected = "\
trust        ! not durable: fsync, full_page_writes are off
             i client and server share a host
";
        assert_eq!(text(&notes, 3), expected);
        assert_eq!(
            serious(&notes),
            "!! the server was built with assertions. Do something.\n"
        );
    }

    #[test]
    fn many_notes_are_counted_and_long_ones_cut() {
        let long = note("a", Severity::Notice, &"word ".repeat(40));
        let text = text(&vec![long; 9], 3);
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(text.ends_with("and 7 more: -v\n"), "{text}");
        assert!(text.contains("word…\n"), "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= WIDTH),
            "{text}"
        );
    }
}
