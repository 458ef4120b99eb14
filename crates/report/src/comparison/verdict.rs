//! What a comparison says of a point, in one sentence, and what its figures make of it.

use pgdyno_model::document::comparison::Says;
use pgdyno_spec::text;
use pgdyno_stats::{Direction, Family, Verdict};

use super::Compared;

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
            if (*name == "goodput") == (direction == Direction::Higher) {
                better.push(said)
            } else {
                worse.push(said)
            }
        }
    }
    let few = primary
        .iter()
        .find(|(_, found)| matches!(found.verdict, Verdict::NotEnoughRepeats { .. }));
    let hidden = primary
        .iter()
        .find(|(_, found)| matches!(found.verdict, Verdict::TimeExplains | Verdict::NotByTurns));
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
                let why = match found.verdict {
                    Verdict::NotByTurns => "the sides did not run by turns",
                    _ => "time alone explains as much",
                };
                (Says::CannotTell, format!("Cannot tell: {by}{why}"))
            }
            (None, None) => {
                let [(name, found), ..] = primary.as_slice() else {
                    return (Says::NoDifference, String::new());
                };
                let within = found.ratio.map_or_else(String::new, |ratio| {
                    let [low, high] =
                        [ratio.interval.low, ratio.interval.high].map(|r| signed(r - 1.0));
                    format!(": B’s {name} lies within {low} and {high} of A’s")
                });
                let text = format!("No significant difference was found{within}");
                (Says::NoDifference, text)
            }
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
pub(super) fn signed(share: f64) -> String {
    text::change(share).replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::METRICS;
    use pgdyno_stats::{CompareOptions, Row, Sample, Starts, compare_all};

    const NOISE: [f64; 6] = [0.1, -0.2, 0.05, 0.15, -0.1, 0.02];

    /// The headline's figures, each B to A by this factor.
    fn figures(factors: [f64; 3], repeats: usize, starts: Option<&Starts>) -> Vec<Compared> {
        let a: Vec<f64> = NOISE[..repeats].iter().map(|by| 100.0 + by).collect();
        let a = Sample::new(&a).unwrap();
        let b = factors.map(|by| {
            let values: Vec<f64> = a.values().iter().map(|v| v * by).collect();
            Sample::new(&values).unwrap()
        });
        let rows: Vec<Row<'_>> = b
            .iter()
            .map(|b| Row {
                a: &a,
                b,
                starts,
                drawn: None,
                family: Family::Primary,
            })
            .collect();
        let found = compare_all(&rows, &CompareOptions::default()).unwrap();
        let primary = METRICS.iter().filter(|m| m.family == Family::Primary);
        primary.zip(found.into_iter().map(Ok)).collect()
    }

    #[test]
    fn the_sentence_names_what_differs_and_which_way_is_better() {
        let says = |factors| of(&figures(factors, 6, None));
        let (found, sentence) = says([1.1, 1.0, 0.8]);
        assert_eq!(found, Says::Better);
        assert!(
            sentence.starts_with("B is better: goodput +10.0 %, p99 −20.0 %"),
            "{sentence}"
        );
        assert_eq!(says([0.9, 1.0, 1.0]).0, Says::Worse);
        let (found, sentence) = says([1.1, 1.2, 1.0]);
        assert_eq!(found, Says::Mixed);
        assert!(sentence.contains("worse in p50 +20.0 %"), "{sentence}");
        assert_eq!(says([1.0, 1.0, 1.0]).0, Says::NoDifference);
    }

    #[test]
    fn an_undecided_comparison_says_why() {
        let few = of(&figures([1.1, 1.0, 1.0], 3, None));
        let want = "Cannot tell: 3 repeats, 5 needed".to_owned();
        assert_eq!(few, (Says::CannotTell, want));
        assert_eq!(of(&[]).0, Says::CannotTell);
    }

    #[test]
    fn a_line_over_time_through_both_sides_is_no_verdict() {
        let starts = Starts {
            a: (0..6).map(f64::from).collect(),
            b: (6..12).map(f64::from).collect(),
        };
        let line = |from: usize| -> Sample {
            let at = (from..from + 6).map(|i| 100.0 - i as f64 + NOISE[i % 6]);
            Sample::new(&at.collect::<Vec<f64>>()).unwrap()
        };
        let (a, b) = (line(0), line(6));
        let row = Row {
            a: &a,
            b: &b,
            starts: Some(&starts),
            drawn: None,
            family: Family::Primary,
        };
        let found = compare_all(&[row], &CompareOptions::default()).unwrap();
        let figures: Vec<Compared> = METRICS.iter().zip(found.into_iter().map(Ok)).collect();
        let (says, sentence) = of(&figures);
        assert_eq!(says, Says::CannotTell);
        let want = "Cannot tell: goodput of B is 6.";
        assert!(sentence.starts_with(want), "{sentence}");
        assert!(
            sentence.ends_with("lower, but time alone explains as much"),
            "{sentence}"
        );
    }
}
