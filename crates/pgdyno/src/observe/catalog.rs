//! All series that pgdyno's own instruments give, as docs/instruments.md lists them. Those of
//! `--scrape` are named by whoever is scraped.

use super::{Row, postgresql};

/// A chapter of the list.
#[derive(Debug, Clone, Copy)]
pub struct Chapter {
    /// What it is about, as its heading says.
    pub title: &'static str,
    /// Its series.
    pub rows: &'static [Row],
}

/// In the order of the document.
pub const CHAPTERS: &[Chapter] = &[
    postgresql::CHAPTERS[0],
    postgresql::CHAPTERS[1],
    postgresql::CHAPTERS[2],
    postgresql::CHAPTERS[3],
    postgresql::CHAPTERS[4],
    postgresql::CHAPTERS[5],
    postgresql::CHAPTERS[6],
    postgresql::CHAPTERS[7],
    postgresql::CHAPTERS[8],
    postgresql::CHAPTERS[9],
];

/// The row of a series.
pub fn row(name: &str) -> Option<&'static Row> {
    let mut rows = CHAPTERS.iter().flat_map(|chapter| chapter.rows);
    rows.find(|row| row.name == name)
}
