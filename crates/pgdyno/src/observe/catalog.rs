//! All series that pgdyno's own instruments give, as docs/instruments.md lists them. Those of
//! `--scrape` are named by whoever is scraped.

use super::{Row, cluster, host};

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
    host::CHAPTERS[0],
    host::CHAPTERS[1],
    host::CHAPTERS[2],
    host::CHAPTERS[3],
    host::CHAPTERS[4],
    host::CHAPTERS[5],
    cluster::CHAPTERS[0],
    cluster::CHAPTERS[1],
    cluster::CHAPTERS[2],
    cluster::CHAPTERS[3],
];

/// The row of a series.
pub fn row(name: &str) -> Option<&'static Row> {
    let mut rows = CHAPTERS.iter().flat_map(|chapter| chapter.rows);
    rows.find(|row| row.name == name)
}
