//! Each form's goodput beside each other's. All pairs are judged together: among many some would differ
//! by chance.

use std::collections::BTreeMap;

use pgdyno_model::document::retries_lab::LabPair;
use pgdyno_stats::{
    CompareOptions, Comparison, Direction, Family, Row, Sample, Verdict, compare_all,
    repeats_needed,
};

use super::Form;

/// Comparisons by the names of the forms, the better one first.
pub struct Pairs(BTreeMap<(String, String), Comparison>);

impl Pairs {
    /// All pairs of these forms, which are in their order.
    pub fn of(forms: &[&Form]) -> Self {
        let samples: Vec<(&str, Sample)> = { forms.iter() }
            .filter_map(|form| Some((form.name.as_str(), form.sample()?)))
            .collect();
        let names = places(samples.len());
        let rows: Vec<Row<'_>> = { names.iter() }
            .map(|(first, second)| Row {
                a: &samples[*second].1,
                b: &samples[*first].1,
                starts: None,
                drawn: None,
                family: Family::Primary,
            })
            .collect();
        let compared = compare_all(&rows, &CompareOptions::default()).unwrap_or_default();
        let named = names.into_iter().zip(compared);
        Self(
            named
                .map(|((first, second), compared)| {
                    let name = |at: usize| samples[at].0.to_owned();
                    ((name(first), name(second)), compared)
                })
                .collect(),
        )
    }

    /// The better one beside the other.
    pub fn get(&self, better: &str, other: &str) -> Option<&Comparison> {
        self.0.get(&(better.to_owned(), other.to_owned()))
    }
}

/// Every two of so many, in their order.
fn places(of: usize) -> Vec<(usize, usize)> {
    let firsts = 0..of;
    firsts
        .flat_map(|first| (first + 1..of).map(move |second| (first, second)))
        .collect()
}

/// So many repeats each of so many forms needs to be distinguished from any other.
pub fn repeats_needed_of(forms: usize) -> usize {
    let pairs = forms * forms.saturating_sub(1) / 2;
    repeats_needed(pairs, false, CompareOptions::default().level)
}

/// As the document has them; the forms are in their order.
pub fn document(forms: &[&Form]) -> Vec<LabPair> {
    let all = Pairs::of(forms);
    let pairs = places(forms.len());
    let need = repeats_needed_of(forms.len()) as u64;
    let pairs = pairs.into_iter().filter_map(|(first, second)| {
        let (first, second) = (forms[first], forms[second]);
        let compared = all.get(&first.name, &second.name)?;
        let ratio = compared.ratio.filter(|_| compared.verdict.can_tell());
        let ahead = match compared.verdict {
            Verdict::Different { direction } => Some(match direction {
                Direction::Higher => first.name.clone(),
                Direction::Lower => second.name.clone(),
            }),
            _ => None,
        };
        Some(LabPair {
            first: first.name.clone(),
            second: second.name.clone(),
            difference: ratio.map(|it| it.estimate - 1.0),
            interval: ratio.map(|it| (it.interval.low - 1.0, it.interval.high - 1.0)),
            level: CompareOptions::default().level,
            ahead,
            needs_repeats: (!compared.verdict.can_tell()).then_some(need),
        })
    });
    pairs.collect()
}
