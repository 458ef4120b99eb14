//! All series that pgdyno's own instruments give, as docs/instruments.md lists them. Those of
//! `--scrape` are named by whoever is scraped.

use super::Row;

/// A chapter of the list.
#[derive(Debug, Clone, Copy)]
pub struct Chapter {
    /// What it is about, as its heading says.
    pub title: &'static str,
    /// Its series.
    pub rows: &'static [Row],
}

/// In the order of the document.
pub const CHAPTERS: &[Chapter] = &[];

/// The row of a series.
pub fn row(name: &str) -> Option<&'static Row> {
    let mut rows = CHAPTERS.iter().flat_map(|chapter| chapter.rows);
    rows.find(|row| row.name == name)
}
