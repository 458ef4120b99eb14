//! In which line of `pack.toml` things are: for messages.

use std::collections::HashMap;

use toml::de::{DeTable, DeValue};

/// Lines by paths such as `param.0.default`.
#[derive(Debug, Clone, Default)]
pub struct Lines(HashMap<String, usize>);

impl Lines {
    /// The lines of everything in a text.
    pub(super) fn of(text: &str) -> Lines {
        let mut lines = Lines::default();
        let (table, _) = DeTable::parse_recoverable(text);
        lines.table(&Newlines::of(text), "", table.get_ref());
        lines
    }

    /// The line of what this path names, or of the nearest that it is part of; the first line for none.
    pub fn line(&self, path: &str) -> usize {
        let mut path = path;
        loop {
            match (self.0.get(path), path.rsplit_once('.')) {
                (Some(line), _) => return *line,
                (None, Some((of, _))) => path = of,
                (None, None) => return 1,
            }
        }
    }

    fn table(&mut self, newlines: &Newlines, path: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            let path = match path {
                "" => key.get_ref().to_string(),
                path => format!("{path}.{}", key.get_ref()),
            };
            self.0
                .insert(path.clone(), newlines.line_at(key.span().start));
            self.value(newlines, &path, value.get_ref());
        }
    }

    fn value(&mut self, newlines: &Newlines, path: &str, value: &DeValue<'_>) {
        match value {
            DeValue::Table(table) => self.table(newlines, path, table),
            DeValue::Array(items) => {
                for (i, item) in items.iter().enumerate() {
                    let path = format!("{path}.{i}");
                    let line = newlines.line_at(item.span().start);
                    self.0.insert(path.clone(), line);
                    self.value(newlines, &path, item.get_ref());
                }
            }
            _ => {}
        }
    }
}

/// Where the lines of a text end: a manifest has thousands of places to find.
pub(super) struct Newlines(Vec<usize>);

impl Newlines {
    pub(super) fn of(text: &str) -> Newlines {
        Newlines(text.match_indices('\n').map(|(at, _)| at).collect())
    }

    /// The line, from 1, of the byte at this place.
    pub(super) fn line_at(&self, at: usize) -> usize {
        1 + self.0.partition_point(|newline| *newline < at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_wherever_they_are_written() {
        let text = "name = \"a\"\n\n[[param]]\nname = \"b\"\ndefault = 1\n\n[[param]]\nname = \"c\"\n\
                    [[table]]\ncolumns = [\n  { name = \"x\" },\n  { name = \"y\",\n    value = \"1\" },\n]\n\
                    [define]\nd = \"e\"\n";
        let lines = Lines::of(text);
        for (path, line) in [
            ("name", 1),
            ("param.0.default", 5),
            ("param.1.name", 8),
            ("param.1.default", 7),
            ("table.0.columns.0.name", 11),
            ("table.0.columns.1.value", 13),
            ("table.0.rows", 9),
            ("define.d", 16),
            ("nothing", 1),
        ] {
            assert_eq!(lines.line(path), line, "{path}");
        }
    }
}
