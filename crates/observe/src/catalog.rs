//! All series that pgdyno's own instruments give, as docs/instruments.md lists them. Those of
//! `--scrape` are named by the scraped endpoint.

use super::{cluster, host, postgresql};
use pgdyno_model::observed::{Chapter, Row};

/// Those of each family of instruments, in the order of the document.
const FAMILIES: &[&[Chapter]] = &[&postgresql::CHAPTERS, &host::CHAPTERS, &cluster::CHAPTERS];

/// All chapters, in the order of the document.
pub fn chapters() -> impl Iterator<Item = &'static Chapter> {
    FAMILIES.iter().copied().flatten()
}

/// The row of a series.
pub fn row(name: &str) -> Option<&'static Row> {
    let mut rows = chapters().flat_map(|chapter| chapter.rows);
    rows.find(|row| row.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::fmt::Write;

    const BEGIN: &str = "PGDYNO_WRITE_DOCS=1 cargo test -p pgdyno-observe catalog -->\n";
    const END: &str = "<!-- end -->\n";

    /// The list as the document has it.
    fn list() -> String {
        let mut text = String::new();
        for chapter in chapters() {
            write!(text, "\n### {}\n\n", chapter.title).unwrap();
            text += "| Series | Unit | Kind | Source | Meaning |\n";
            text += "| --- | --- | --- | --- | --- |\n";
            for row in chapter.rows {
                let kind = row.kind.name().replace('_', " and ");
                let cells = [row.unit, &kind, row.source, row.what];
                let cells = cells.map(|cell| cell.replace('|', "\\|"));
                writeln!(text, "| `{}` | {} |", row.name, cells.join(" | ")).unwrap();
            }
        }
        text + "\n"
    }

    #[test]
    fn the_document_lists_every_series() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/instruments.md");
        let text = std::fs::read_to_string(path).unwrap();
        let (head, rest) = text.split_once(BEGIN).unwrap();
        let (_, tail) = rest.split_once(END).unwrap();
        let made = format!("{head}{BEGIN}{}{END}{tail}", list());
        if std::env::var_os("PGDYNO_WRITE_DOCS").is_some() {
            std::fs::write(path, made).unwrap();
        } else {
            let hint =
                "PGDYNO_WRITE_DOCS=1 cargo test -p pgdyno-observe catalog brings it up to date";
            assert!(
                made == text,
                "docs/instruments.md is not what the code has: {hint}"
            );
        }
    }

    #[test]
    fn every_series_is_listed_once_and_says_what_it_is() {
        let mut names = BTreeSet::new();
        for row in chapters().flat_map(|chapter| chapter.rows) {
            assert!(names.insert(row.name), "{} is defined twice", row.name);
            assert!(row.name.contains('.'), "{} is of no group", row.name);
            assert!(
                !row.source.is_empty() && !row.what.is_empty(),
                "{}",
                row.name
            );
            // Seconds of CPU time a second.
            let is_rate = row.unit.ends_with("/s") || row.unit == "cores";
            let is_counter = row.kind == pgdyno_model::observed::Kind::Counter;
            assert!(
                is_rate || !is_counter,
                "{}: a rate has a unit a second",
                row.name
            );
        }
        // The list and what instruments look up are the same.
        assert!(names.iter().all(|name| row(name).is_some()));
        assert!(row("no.such").is_none());
    }
}
