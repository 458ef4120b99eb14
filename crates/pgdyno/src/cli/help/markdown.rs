//! Our documents' Markdown as text for a terminal: prose is broken into lines, tables are aligned where they
//! fit and lists of their rows where they do not, and what a link leads to is said in words.

use super::manual::{self, PACKS, heading};

/// The document in lines of this width, where they can be broken.
pub fn shown(document: &str, width: usize) -> String {
    let mut shown = Shown {
        text: String::new(),
        width,
    };
    let mut lines = document.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with("```") {
            let code = lines.by_ref().take_while(|line| !line.starts_with("```"));
            shown.code(code);
        } else if let Some((level, text)) = heading(line) {
            shown.heading(level, text);
        } else if line.starts_with('|') {
            let mut rows = vec![line];
            while let Some(row) = lines.next_if(|line| line.starts_with('|')) {
                rows.push(row);
            }
            shown.table(&rows);
        } else if line.starts_with("![") || line.starts_with("<!--") {
            // Pictures and marks are not for a terminal.
        } else if line.trim().is_empty() {
            shown.gap();
        } else {
            let mut text = line.to_owned();
            while let Some(more) = lines.next_if(|line| goes_on(line)) {
                text.push(' ');
                text += more.trim();
            }
            shown.prose(&text);
        }
    }
    shown.text.trim().to_owned() + "\n"
}

/// One paragraph in lines of this width.
pub fn paragraph(text: &str, width: usize) -> String {
    broken(&plain(text), "", "", width)
}

/// Whether a line belongs to the paragraph or item above it.
fn goes_on(line: &str) -> bool {
    let text = line.trim_start();
    !text.is_empty()
        && item(line).is_none()
        && heading(line).is_none()
        && !["```", "|", "![", "<!--"]
            .iter()
            .any(|mark| text.starts_with(mark))
}

/// The indent and mark of a list's item, and its text.
fn item(line: &str) -> Option<(&str, &str)> {
    let text = line.trim_start();
    let indent = line.len() - text.len();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let mark = match digits {
        0 => usize::from(text.starts_with("- ") || text.starts_with("* ")),
        n => usize::from(text[n..].starts_with(". ")) * (n + 1),
    };
    (mark > 0).then(|| line.split_at(indent + mark + 1))
}

struct Shown {
    text: String,
    width: usize,
}

impl Shown {
    fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    fn heading(&mut self, level: usize, text: &str) {
        self.gap();
        let text = plain(text);
        let line = if level < 3 { "=" } else { "-" };
        self.text += &format!("{text}\n{}\n", line.repeat(text.chars().count()));
    }

    fn code<'a>(&mut self, lines: impl Iterator<Item = &'a str>) {
        for line in lines {
            self.text += format!("    {line}").trim_end();
            self.text.push('\n');
        }
    }

    fn prose(&mut self, text: &str) {
        let (mark, text) = item(text).unwrap_or(("", text));
        let indent = " ".repeat(mark.len());
        self.text += &broken(&plain(text), mark, &indent, self.width);
    }

    fn table(&mut self, rows: &[&str]) {
        let mut rows: Vec<Vec<String>> = rows.iter().map(|row| cells(row)).collect();
        // The line of dashes.
        if rows.len() > 1 {
            rows.remove(1);
        }
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        rows.iter_mut()
            .for_each(|row| row.resize(columns, String::new()));
        let widths: Vec<usize> = (0..columns)
            .map(|column| {
                rows.iter()
                    .map(|row| length(&row[column]))
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        if widths.iter().sum::<usize>() + 2 * columns.saturating_sub(1) <= self.width {
            self.aligned(&rows, &widths)
        } else {
            self.listed(&rows)
        }
    }

    fn aligned(&mut self, rows: &[Vec<String>], widths: &[usize]) {
        for row in rows
            .iter()
            .filter(|row| row.iter().any(|cell| !cell.is_empty()))
        {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(widths) {
                line += &format!("{cell:width$}  ");
            }
            self.text += line.trim_end();
            self.text.push('\n');
        }
    }

    /// Each row by its first cell, the others below it with their columns' names.
    fn listed(&mut self, rows: &[Vec<String>]) {
        let Some((names, rows)) = rows.split_first() else {
            return;
        };
        for row in rows {
            self.text += &broken(&row[0], "", "  ", self.width);
            for (name, cell) in names.iter().zip(row).skip(1) {
                // With two columns it is clear what the second is.
                let mark = if name.is_empty() || names.len() == 2 {
                    "    ".to_owned()
                } else {
                    format!("    {name}: ")
                };
                if !cell.is_empty() {
                    self.text += &broken(cell, &mark, "      ", self.width);
                }
            }
        }
    }
}

/// The cells of a table's row.
fn cells(row: &str) -> Vec<String> {
    let inner = row.trim().trim_start_matches('|');
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    // A line in a cell is written \|.
    let inner = inner.replace("\\|", "\u{1}");
    let cell = |cell: &str| plain(&cell.replace('\u{1}', "|")).trim().to_owned();
    inner.split('|').map(cell).collect()
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// Text in lines of this width: the first begins with `mark`, the others with `indent`.
fn broken(text: &str, mark: &str, indent: &str, width: usize) -> String {
    let mut lines = String::new();
    let mut line = mark.to_owned();
    let mut is_begun = false;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        if is_begun && length(&line) + 1 + length(word) > width {
            lines += line.trim_end();
            lines.push('\n');
            indent.clone_into(&mut line);
            is_begun = false;
        }
        if is_begun {
            line.push(' ');
        }
        line += word;
        is_begun = true;
    }
    lines + line.trim_end() + "\n"
}

/// Without the marks of emphasis and code, and with links in words.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['[', '`', '*']) {
        plain += &rest[..at];
        rest = &rest[at..];
        let after = &rest[1..];
        if rest.starts_with('`') {
            // What is code is shown as it is.
            let end = after.find('`');
            plain += &after[..end.unwrap_or(after.len())];
            rest = end.map_or("", |end| &after[end + 1..]);
        } else if let Some(strong) = rest.strip_prefix("**") {
            rest = strong;
        } else if let Some((shown, address, end)) = link(rest) {
            plain += &led(&self::plain(shown), address);
            rest = end;
        } else {
            // One star is emphasis where it is at a word.
            let is_mark = rest.starts_with('*')
                && (after.starts_with(char::is_alphanumeric)
                    || plain.ends_with(|c: char| c.is_alphanumeric() || c == '…'));
            if !is_mark {
                plain.push_str(&rest[..1]);
            }
            rest = after;
        }
    }
    plain + rest
}

/// The text and address of the link that this begins with, and what comes after it.
fn link(text: &str) -> Option<(&str, &str, &str)> {
    let (shown, after) = text.strip_prefix('[')?.split_once("](")?;
    let (address, rest) = after.split_once(')')?;
    (!shown.contains('[')).then_some((shown, address, rest))
}

/// A link's text, with where it leads.
fn led(text: &str, address: &str) -> String {
    let (path, section) = address.split_once('#').unwrap_or((address, ""));
    if path.is_empty() {
        return text.to_owned();
    }
    if address.contains("://") {
        return format!("{text} ({address})");
    }
    let name = match path.rsplit('/').next().unwrap_or(path) {
        "README.md" if path.contains("workloads") => PACKS,
        file => match file.strip_suffix(".md") {
            Some(name) if manual::document(name).is_some() => name,
            _ => return text.to_owned(),
        },
    };
    let word = section.split('-').find(|word| word.len() > 3).unwrap_or("");
    let command = format!("pgdyno help {name} {word}");
    format!("{text} ({})", command.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_broken_and_links_are_said_in_words() {
        let text = "A `code *as is*` and **bold**, *slanted*, 3 * 4: [see](results.md#stalls) or\n\
                    [out](https://example.org/x), [here](#here), [own](../workloads/README.md).\n";
        let shown = shown(text, 60);
        assert_eq!(
            shown,
            "A code *as is* and bold, slanted, 3 * 4: see (pgdyno help\n\
             results stalls) or out (https://example.org/x), here, own\n\
             (pgdyno help packs).\n"
        );
    }

    #[test]
    fn lists_code_and_headings_keep_their_form() {
        let text = "# Title\n\n- one two three four\n  five six\n- seven\n\n```\nlet x  = 1;\n```\n## Next\n1. a\n";
        assert_eq!(
            shown(text, 20),
            "Title\n=====\n\n- one two three four\n  five six\n- seven\n\n    let x  = 1;\n\n\
             Next\n====\n1. a\n"
        );
    }

    #[test]
    fn a_table_is_aligned_where_it_fits_and_a_list_where_it_does_not() {
        let table = "| a | b \\| c |\n| --- | --- |\n| `x` | y |\n";
        assert_eq!(shown(table, 20), "a  b | c\nx  y\n");
        let wide = "| name | is | why |\n| --- | --- | --- |\n| `x` | long words here | |\n";
        assert_eq!(shown(wide, 16), "x\n    is: long\n      words here\n");
        let two = "| name | is |\n| --- | --- |\n| `x` | long words here |\n";
        assert_eq!(shown(two, 16), "x\n    long words\n      here\n");
    }

    #[test]
    fn what_is_not_closed_is_shown_as_it_is() {
        assert_eq!(shown("a [b and `c\n", 40), "a [b and c\n");
        assert_eq!(shown("", 40), "\n");
        assert_eq!(shown("|", 40), "\n");
    }
}
