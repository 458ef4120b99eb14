//! A table of text: the first column to the left, figures to the right.

use std::ops::Range;

/// So much of the first column is seen in any case.
const FIRST_MIN: usize = 24;

/// More of a cell is not seen: a stranger's notebook may have names of any length.
const CELL_MAX: usize = 1000;

/// Rows of cells, the first one the heading.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        let cells = cells.into_iter().map(Into::into);
        let cells = cells.map(|cell: String| match cell.len() {
            ..=CELL_MAX => cell,
            _ => cut(&cell, CELL_MAX),
        });
        self.rows.push(cells.collect());
    }

    /// The text, in lines of at most `width` characters where that is possible: the first column is cut, and
    /// where the others do not fit beside each other either, they follow below, each part with the first column.
    pub fn text(&self, width: usize) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut widths = vec![0; columns];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let figures: usize = widths.iter().skip(1).map(|width| width + 2).sum();
        let least = FIRST_MIN.max(width.saturating_sub(figures));
        let first = widths.first().map_or(0, |first| (*first).min(least));
        if first.saturating_add(figures) <= width || columns <= 2 {
            if let Some(width) = widths.first_mut() {
                *width = first;
            }
            return self.part(1..columns, &widths);
        }
        // Of parts that stand alone more of their names is seen.
        if let Some(name) = widths.first_mut() {
            *name = (*name).min(FIRST_MIN.max(width / 2));
        }
        let mut parts: Vec<Range<usize>> = Vec::new();
        let room = width.saturating_sub(widths[0]);
        for group in self.groups(columns) {
            let taken = |columns: Range<usize>| -> usize {
                widths[columns].iter().map(|width| width + 2).sum()
            };
            match parts.last_mut() {
                Some(part) if taken(part.start..group.end) <= room => part.end = group.end,
                _ => parts.push(group),
            }
        }
        let parts = parts.into_iter().map(|columns| self.part(columns, &widths));
        parts.collect::<Vec<_>>().join("\n")
    }

    /// The columns behind the first: one without a heading of its own belongs to the one before it.
    fn groups(&self, columns: usize) -> Vec<Range<usize>> {
        let mut groups: Vec<Range<usize>> = Vec::new();
        for column in 1..columns {
            let heading = self.rows.first().and_then(|row| row.get(column));
            match groups.last_mut() {
                Some(group) if heading.is_some_and(String::is_empty) => group.end = column + 1,
                _ => groups.push(column..column + 1),
            }
        }
        groups
    }

    /// The first column and these.
    fn part(&self, columns: Range<usize>, widths: &[usize]) -> String {
        let mut text = String::new();
        for (number, row) in self.rows.iter().enumerate() {
            let cells = row.get(columns.start.min(row.len())..columns.end.min(row.len()));
            let cells = cells.unwrap_or_default();
            // What has nothing here is in another part, or is a heading of the first one.
            let is_empty = |cells: &[String]| cells.iter().all(String::is_empty);
            let is_whole = columns.start == 1 && is_empty(row.get(1..).unwrap_or_default());
            if number > 0 && is_empty(cells) && !is_whole {
                continue;
            }
            let mut line = String::new();
            if let (Some(cell), Some(width)) = (row.first(), widths.first()) {
                line += &format!("{:<width$}", cut_name(cell, *width));
            }
            for (cell, width) in cells.iter().zip(&widths[columns.start.min(widths.len())..]) {
                line += &format!("  {cell:>width$}");
            }
            text += line.trim_end();
            text.push('\n');
        }
        text
    }
}

/// A text of at most so many characters; one that was longer ends with `…`.
pub fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(width.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// What is reported of a name has so many characters at most, and the name keeps so many.
const REPORTED_MAX: usize = 20;
const NAME_MIN: usize = 8;

/// The same of a name and what is reported of it, which stays whole: `…/transfer.sql: schedule lag`.
fn cut_name(text: &str, width: usize) -> String {
    let reported = text
        .rsplit_once(": ")
        .map_or(0, |(name, _)| text.chars().count() - name.chars().count());
    // What does not leave room for a name is a part of it.
    if text.chars().count() <= width
        || reported == 0
        || reported > REPORTED_MAX
        || reported + NAME_MIN > width
    {
        return cut(text, width);
    }
    let kept: Vec<char> = text.chars().collect();
    let kept = &kept[kept.len() - (width - 1)..];
    std::iter::once('…').chain(kept.iter().copied()).collect()
}

/// Text from a store, of unknown origin, must not move the cursor.
pub fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_any_length_are_cut() {
        let mut table = Table::default();
        table.row(["", "first", "second"]);
        let long = "ü".repeat(70_000);
        table.row([&*long, &*long, "7"]);
        let text = table.text(80);
        assert!(text.contains('7') && text.len() < 10_000, "{}", text.len());
    }

    #[test]
    fn figures_stand_under_each_other_and_long_names_are_cut() {
        let mut table = Table::default();
        table.row(["", "count", "p50"]);
        table.row([
            "a statement that is much longer than the line",
            "1,000",
            "–",
        ]);
        let text = table.text(40);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0].chars().count(), 40 - 5 + 5);
        assert!(lines[1].starts_with("a statement that is much"), "{text}");
        assert!(
            lines[1].contains('…') && lines[1].ends_with("1,000    –"),
            "{text}"
        );
    }

    #[test]
    fn the_text_after_a_long_name_stays_whole() {
        let name = "/home/user/scripts/transfer.sql: schedule lag";
        assert_eq!(cut_name(name, 30), "…ts/transfer.sql: schedule lag");
        assert_eq!(cut_name(name, 80), name);
        assert_eq!(
            cut_name("SELECT a: b, c: d FROM some where AND so on", 12),
            "SELECT a: b…"
        );
    }

    #[test]
    fn columns_that_do_not_fit_follow_below_with_the_first_one() {
        let mut table = Table::default();
        table.row(["point", "goodput/s", "p50 ms", "p99 ms", "retries"]);
        table.row(["clients 1", "1,286.7", "0.155", "7.459", "0"]);
        table.row(["clients 64", "12,386.7", "1.155", "", ""]);
        table.row(["in all"]);
        assert_eq!(
            table.text(40),
            "point       goodput/s  p50 ms  p99 ms\n\
             clients 1     1,286.7   0.155   7.459\n\
             clients 64   12,386.7   1.155\n\
             in all\n\
             \n\
             point       retries\n\
             clients 1         0\n"
        );
        let widest = table.text(80).lines().map(str::len).max();
        assert!(widest < Some(80), "{}", table.text(80));
        assert_eq!(table.text(80).lines().count(), 4);
    }
}
