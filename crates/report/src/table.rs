//! A table of text: the first column to the left, figures to the right.

/// Rows of cells, the first one the heading.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Adds a row.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// The text, with the first column cut so that lines are at most `width` characters where that
    /// is possible.
    pub fn text(&self, width: usize) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut widths = vec![0; columns];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let figures: usize = widths.iter().skip(1).map(|width| width + 2).sum();
        if let Some(first) = widths.first_mut() {
            *first = (*first).min(width.saturating_sub(figures).max(24));
        }
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (index, (cell, width)) in row.iter().zip(&widths).enumerate() {
                if index == 0 {
                    line += &format!("{:<width$}", cut(cell, *width));
                } else {
                    line += &format!("  {cell:>width$}");
                }
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

/// Text from a store, which anybody may have written, must not move the cursor.
pub fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
