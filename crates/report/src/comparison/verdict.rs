//! What a comparison says of a point, in one sentence, and what its figures make of it.

use pgdyno_model::text;
use pgdyno_stats::{Direction, Family, Verdict};

use super::Compared;

/// What the primary figures say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Says {
    /// All that differ are better.
    Better,
    /// All that differ are worse.
    Worse,
    /// Some are better and some are worse.
    Mixed,
    /// None differs.
    NoDifference,
    /// There is no verdict.
    CannotTell,
}

/// What came of a point, with the sentence.
pub fn of(figures: &[Compared]) -> (Says, String) {
    let primary = figures.iter().filter_map(|(metric, result)| {
        let found = result.as_ref().ok()?;
        (found.family == Family::Primary).then_some((metric.figure.name, found))
    });
    let primary: Vec<_> = primary.collect();
    let change = |share: Option<f64>| share.map_or_else(String::new, |s| format!(" {}", signed(s)));
    let (mut better, mut worse) = (Vec::new(), Vec::new());
    for (name, found) in &primary {
        if let Verdict::Different { direction } = found.verdict {
            let said = format!("{name}{}", change(found.change()));
            match (*name == "goodput") == (direction == Direction::Higher) {
                true => better.push(said),
                false => worse.push(said),
            }
        }
    }
    let few = primary
        .iter()
        .find(|(_, found)| matches!(found.verdict, Verdict::NotEnoughRepeats { .. }));
    let hidden = primary
        .iter()
        .find(|(_, found)| found.verdict == Verdict::TimeExplains);
    let what = "more than chance or drift can explain";
    match (better.as_slice(), worse.as_slice()) {
        _ if primary.is_empty() => (
            Says::CannotTell,
            "Cannot tell: no headline figure was measured on both sides".to_owned(),
        ),
        ([], []) => match (few, hidden) {
            (Some((_, found)), _) => {
                let words = found.to_string();
                (Says::CannotTell, words.replacen("cannot", "Cannot", 1))
            }
            (None, Some((name, found))) => {
                let by = found.change_of_medians().map_or_else(String::new, |share| {
                    let side = if share < 0.0 { "lower" } else { "higher" };
                    let size = text::change(share.abs());
                    format!(
                        "{name} of B is {} {side}, but ",
                        size.trim_start_matches('+')
                    )
                });
                let text = format!("Cannot tell: {by}time alone explains as much");
                (Says::CannotTell, text)
            }
            (None, None) => (
                Says::NoDifference,
                "No significant difference was found".to_owned(),
            ),
        },
        (better, []) => (
            Says::Better,
            format!("B is better: {}, {what}", better.join(", ")),
        ),
        ([], worse) => (
            Says::Worse,
            format!("B is worse: {}, {what}", worse.join(", ")),
        ),
        (better, worse) => (
            Says::Mixed,
            format!(
                "B is better in {} and worse in {}, {what}",
                better.join(", "),
                worse.join(", ")
            ),
        ),
    }
}

/// With a real minus sign.
fn signed(share: f64) -> String {
    text::change(share).replace('-', "−")
}
