//! A comparison.

use pgdyno_model::document::Interval;
use pgdyno_model::document::comparison::{Family, Verdict};
use pgdyno_model::document::page::{ComparePage, Difference, Pair};

use crate::answer;

use super::{common, escaped, ms_of, rate, table};

/// It, ready to be pasted.
pub fn comparison(document: &ComparePage) -> String {
    let mut text = String::new();
    let changed = document.changed.iter();
    let changed: Vec<Vec<String>> = changed
        .map(|one| {
            [&one.what, &one.a, &one.b]
                .map(|text| escaped(text))
                .to_vec()
        })
        .collect();
    if !changed.is_empty() {
        text += &table(&["differs", "A", "B"], &changed);
    }
    for lacking in &document.lacking {
        let (side, point) = (lacking.side, escaped(&lacking.point));
        text += &format!("Not compared: {side} has no trials of {point}\n\n");
    }
    text += &document.pairs.iter().map(pair).collect::<String>();
    let mut answer = answer::markdown(&document.answer);
    if let Some(gate) = &document.gate {
        answer += &common::gate(gate);
    }
    common::begin(&document.common) + &answer + &text + &common::end(&document.common)
}

fn pair(pair: &Pair) -> String {
    let rows: Vec<Vec<String>> = pair.differences.iter().map(row).collect();
    let heading = [
        "figure",
        "A",
        "B",
        "Hodges–Lehmann shift",
        "interval",
        "smallest seen",
        "",
    ];
    format!("### {}\n\n{}", escaped(&pair.point), table(&heading, &rows))
}

fn row(one: &Difference) -> Vec<String> {
    let is_time = one.unit == "µs";
    let shown = |value: Option<f64>, within: Option<&Interval>| {
        let shown = if is_time { ms_of(value) } else { rate(value) };
        Interval::marked(shown, within)
    };
    let dash = || "–".to_owned();
    let change = pgdyno_spec::text::change;
    let unit = if is_time { "ms" } else { "tx/s" };
    vec![
        match one.family {
            Family::Primary => format!("{}, {unit}", escaped(one.figure)),
            Family::Exploratory => format!("{}, {unit} (exploratory)", escaped(one.figure)),
        },
        shown(
            one.a.as_ref().map(|spread| spread.over.median),
            one.a_within.as_ref(),
        ),
        shown(
            one.b.as_ref().map(|spread| spread.over.median),
            one.b_within.as_ref(),
        ),
        match (one.change, one.change_of_medians) {
            (Some(share), _) => change(share),
            (None, Some(share)) if one.verdict != Some(Verdict::NotEnoughRepeats) => {
                format!("({}, medians)", change(share))
            }
            _ => dash(),
        },
        one.change_interval.map_or_else(dash, |[low, high]| {
            format!("{} to {}", change(low), change(high))
        }),
        one.smallest_change
            .filter(|_| one.change.is_some())
            .map_or_else(dash, change),
        match (&one.not_compared, one.verdict) {
            (Some(why), _) => escaped(why),
            (None, Some(verdict)) => words(verdict, one),
            (None, None) => dash(),
        },
    ]
}

fn words(verdict: Verdict, one: &Difference) -> String {
    match verdict {
        Verdict::Higher => "higher".to_owned(),
        Verdict::Lower => "lower".to_owned(),
        Verdict::NoSignificantDifference => "no significant difference".to_owned(),
        Verdict::NotByTurns => "cannot tell: not by turns".to_owned(),
        Verdict::TimeExplains => "cannot tell: time explains as much".to_owned(),
        Verdict::NotEnoughRepeats => {
            let need = one.repeats_needed.unwrap_or_default();
            format!("cannot tell: {need} repeats needed")
        }
    }
}
