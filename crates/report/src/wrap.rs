//! Text in lines that are no longer than a terminal.

const WIDTH: usize = 80;

/// A word at the left, and text beside it that goes on in the next lines.
pub fn wrapped(word: &str, text: &str, indent: usize) -> String {
    let mut lines = String::new();
    let mut line = format!("{word:<indent$}");
    let mut is_empty = true;
    for next in words(text) {
        let length = line.chars().count() + next.chars().count() + usize::from(!is_empty);
        if length > WIDTH && !is_empty {
            lines += line.trim_end();
            lines.push('\n');
            line = " ".repeat(indent);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line += next;
        is_empty = false;
    }
    lines + line.trim_end() + "\n"
}

/// What is between spaces, a figure with its unit as one word: `(85.5 %)`.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut from = 0;
    for (at, _) in text.match_indices(' ') {
        if !is_of_one(&text[from..at], &text[at + 1..]) {
            words.push(&text[from..at]);
            from = at + 1;
        }
    }
    words.push(&text[from..]);
    words
}

/// Units of which the figure before them is not parted.
const UNITS: [&str; 18] = [
    "%", "µs", "us", "ms", "s", "min", "h", "B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB",
    "TiB", "tx/s", "tps",
];

/// Whether a figure ends before a space and its unit begins behind it.
fn is_of_one(before: &str, behind: &str) -> bool {
    let next = behind.split(' ').next().unwrap_or_default();
    let unit = next.trim_end_matches([',', '.', ';', ':', ')', ']']);
    let figure = before.trim_end_matches('~');
    figure.ends_with(|c: char| c.is_ascii_digit()) && UNITS.contains(&unit)
}

/// The same text in lines of at most `width` characters: what is longer goes on below where its text began,
/// behind a label or an indent. Words are not broken.
pub fn fitted(text: &str, width: usize) -> String {
    let mut fitted = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = match line.strip_suffix('\n') {
            Some(line) => (line, "\n"),
            None => (line, ""),
        };
        let indent = " ".repeat(text_begins(line));
        let mut rest = line.to_owned();
        while let Some(at) = break_at(&rest, width, indent.len()) {
            fitted += rest[..at].trim_end();
            fitted.push('\n');
            rest = format!("{indent}{}", rest[at..].trim_start());
        }
        fitted += &rest;
        fitted += end;
    }
    fitted
}

/// The column where a line's text begins: behind a label that two spaces follow, or two behind its indent.
fn text_begins(line: &str) -> usize {
    const LABEL_MAX: usize = 24;
    let indent = line.chars().take_while(|c| *c == ' ').count();
    let behind = &line[indent..];
    let label = behind.find("  ").filter(|label| {
        let is_short = |text: &str| text.chars().count() + indent <= LABEL_MAX;
        is_short(&behind[..*label])
    });
    match label {
        Some(label) => {
            let gap = behind[label..].chars().take_while(|c| *c == ' ').count();
            indent + behind[..label].chars().count() + gap
        }
        None => indent + 2,
    }
}

/// The byte before which a line that is too long ends; `None` where it fits or has no space to end at.
fn break_at(line: &str, width: usize, indent: usize) -> Option<usize> {
    let (end, _) = line.char_indices().nth(width)?;
    let from = line.char_indices().nth(indent).map_or(end, |(at, _)| at);
    let within = end_of_char(line, end);
    let mut spaces = line
        .match_indices(' ')
        .map(|(at, _)| at)
        .filter(|at| *at > from && !is_of_one(&line[..*at], &line[at + 1..]))
        .peekable();
    // A word that is too long by itself stays whole.
    let mut at = *spaces.peek()?;
    for space in spaces.take_while(|space| *space <= within) {
        at = space;
    }
    (!line[at..].trim().is_empty()).then_some(at)
}

/// The last byte of the character at this place.
fn end_of_char(line: &str, at: usize) -> usize {
    at + line[at..].chars().next().map_or(1, char::len_utf8) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_go_on_where_their_text_began() {
        let text =
            "note         one two three four five six\n  - é seven eight nine ten\n\nshort\n";
        assert_eq!(
            fitted(text, 24),
            "note         one two\n             three four\n             five six\n  - é seven eight nine\n    \
             ten\n\nshort\n"
        );
        let long = format!("{} {}", "x".repeat(30), "y".repeat(30));
        assert_eq!(
            fitted(&long, 24),
            format!("{}\n  {}", "x".repeat(30), "y".repeat(30))
        );
        assert_eq!(fitted("fits\n", 4), "fits\n");
    }

    #[test]
    fn a_figure_keeps_its_unit() {
        let text = "one two three four five (85.5 %), six 65.6 ms of it";
        assert_eq!(
            wrapped("", &text.repeat(2), 0),
            "one two three four five (85.5 %), six 65.6 ms of itone two three four five\n(85.5 %), six 65.6 ms of it\n"
        );
        assert_eq!(
            fitted(text, 30),
            "one two three four five\n  (85.5 %), six 65.6 ms of it"
        );
        // A figure without a unit may end a line.
        assert_eq!(fitted("aa 12 bb", 5), "aa 12\n  bb");
    }

    #[test]
    fn a_line_ends_before_the_word_that_does_not_fit() {
        let text = wrapped("try", &"words ".repeat(20), 12);
        assert!(
            text.lines().count() == 2 && text.lines().all(|line| line.chars().count() <= WIDTH)
        );
        assert!(text.starts_with("try         words") && text.contains("\n            words"));
        // What cannot be broken is not.
        let long = "x".repeat(100);
        assert_eq!(wrapped("", &long, 0), format!("{long}\n"));
    }
}
