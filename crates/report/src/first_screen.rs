//! What `pgdyno run` prints: the figures first, then how steady they are, what limited them, and how
//! far to trust them. At most 25 lines of 80 columns for an ordinary trial.
//!
//! Not for: all there is to say, which `-v` and `pgdyno show` have (`summary.rs`).

mod failure;
mod figures;
mod heading;
mod limit;
mod slowest;
mod trust;

use pgdyno_model::document::Trial;

use super::wrap::wrapped;

pub use failure::nothing_committed;
pub use heading::SIZES;
pub use trust::{capital, serious};

/// Where the text of a line begins, behind its label.
const INDENT: usize = 13;
const WIDTH: usize = 80;
/// An ordinary trial takes no more: 25 with what to type next, and the line before it.
const LINES: usize = 23;

pub fn heading(trial: &Trial) -> String {
    heading::text(&trial.run)
}

/// Throughput, latency, steadiness; without a committed transaction the error instead, as a client said it.
pub fn figures(trial: &Trial, error: Option<&str>) -> String {
    match nothing_committed(&trial.run, error) {
        Some(failure) => figures::end(&trial.run) + &failure,
        None => figures::text(&trial.run),
    }
}

/// What limited it, in a sentence with its share, and what would be next.
pub fn limit(trial: &Trial) -> String {
    trial.verdict.as_ref().map_or_else(String::new, limit::text)
}

/// Notes that are not serious, a line each, about so many.
pub fn trust(trial: &Trial, lines: usize) -> String {
    trust::text(&trial.run.notes, lines)
}

/// So many statements, those that took most of the time.
pub fn slowest(trial: &Trial, lines: usize) -> String {
    slowest::text(&trial.run.statements, lines)
}

/// The longest of an ordinary trial that does not take more than the lines there are: with fewer statements, then with
/// fewer notes. `of` gives it with so many lines of notes and statements; what spoils the figures does not count.
pub fn fitted(of: impl Fn(usize, usize) -> String) -> String {
    let sizes = [(3, 3), (3, 2), (3, 1), (3, 0), (2, 0)];
    let fits = |text: &String| {
        let spoils = text.split("\n\n").filter(|part| part.starts_with("!!"));
        let spoils: usize = spoils.map(|part| part.lines().count() + 1).sum();
        text.lines().count() - spoils <= LINES
    };
    let mut texts = sizes
        .into_iter()
        .map(|(notes, statements)| of(notes, statements));
    texts.find(fits).unwrap_or_else(|| of(2, 0))
}

/// What to type for more of a trial that is kept by this number; `before` is an earlier one of the
/// same workload.
pub fn more(number: i64, before: Option<i64>) -> String {
    let compare = before.map_or_else(String::new, |before| {
        format!("   compare {before} {number}")
    });
    format!(
        "kept as trial {number}: pgdyno show {number}   report {number}   rerun {number}{compare}\n"
    )
}

/// A line with its label, wrapped.
fn labelled(label: &str, text: &str) -> String {
    wrapped(label, text, INDENT)
}
