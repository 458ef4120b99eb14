//! Compares what a line printed with what its tool printed: recorded, and where the tool is here beside
//! it.

use std::path::{Path, PathBuf};

use crate::pgbench::diff;
use crate::seeds::shape::{Columns, shape};
use crate::seeds::table::{Differs, Line, Side};
use crate::support::Ran;

fn recordings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/seeds/recorded")
}

/// The folder of a tool that runs beside pgdyno, if this variable names one.
pub fn peer(variable: &str) -> Option<PathBuf> {
    let named = std::env::var_os(variable).filter(|value| !value.is_empty());
    named.map(PathBuf::from)
}

/// What is between the two streams of a run.
pub const STANDARD_ERROR: &str = "== standard error";

/// What is compared of a run: both streams.
pub fn said(ran: &Ran) -> String {
    format!("{}{STANDARD_ERROR}\n{}", ran.stdout, ran.stderr)
}

/// Compares a line's output with the recording, and with the tool's own where there is one. With
/// `PGDYNO_WRITE_RECORDINGS` the latter becomes the recording.
#[track_caller]
pub fn compare(line: &Line, ours: &str, theirs: Option<&str>, columns: Columns) {
    let file = recordings().join(format!("{}.txt", line.name));
    let writes = std::env::var_os("PGDYNO_WRITE_RECORDINGS").is_some_and(|value| !value.is_empty());
    if let Some(theirs) = theirs {
        if writes {
            std::fs::write(&file, theirs).unwrap_or_else(|e| panic!("{file:?}: {e}"));
        }
        same(line, ours, theirs, columns, "the tool beside");
    }
    let recorded = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{file:?}: {e}"));
    same(line, ours, &recorded, columns, "the recording");
    for differs in line.differs {
        let text = match differs.side {
            Side::Ours => ours,
            Side::Theirs => &recorded,
        };
        assert!(
            text.contains(differs.has),
            "{}: a difference is listed that is none: {:?}\n{text}",
            line.name,
            differs.has
        );
    }
}

/// Fails, and shows both, when the shapes differ beyond what the table lists.
#[track_caller]
pub fn same(line: &Line, ours: &str, theirs: &str, columns: Columns, whose: &str) {
    let of = |text: &str, side: Side| shape(&without(text, line.differs, side), columns);
    let found = diff::lines(&of(theirs, Side::Theirs), &of(ours, Side::Ours));
    assert!(
        found.is_empty(),
        "{}: differs from {whose} (-)\n{}\n{}",
        line.name,
        line.typed,
        found.join("\n")
    );
}

/// The text without the lines that the other side has not: those that are listed, and what pgdyno says
/// of a run under its own name.
fn without(text: &str, differs: &[Differs], side: Side) -> String {
    let is_pgdynos = |line: &str| side == Side::Ours && line.starts_with("pgdyno: ");
    let mut kept = String::new();
    let mut until: &[&str] = &[];
    for line in text.lines() {
        if until.contains(&line) {
            until = &[];
        }
        let of_side = differs.iter().filter(|differs| differs.side == side);
        if let Some(found) = of_side
            .into_iter()
            .find(|differs| line.contains(differs.has))
        {
            until = found.until;
        } else if until.is_empty() && !is_pgdynos(line) {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}
