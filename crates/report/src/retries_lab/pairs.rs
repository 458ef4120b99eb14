//! Each form's goodput beside each other's. All pairs are judged together: among many some would differ
//! by chance.

use pgdyno_model::document::retries_lab::LabPair;
use pgdyno_stats::{
    CompareOptions, Direction, Family, Row, Sample, Verdict, compare_all, repeats_needed,
};

use super::Form;

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
    let samples: Vec<Sample> = forms.iter().filter_map(|form| form.sample()).collect();
    let pairs = places(samples.len());
    let row = |(first, second): &(usize, usize)| Row {
        a: &samples[*second],
        b: &samples[*first],
        starts: None,
        drawn: None,
        family: Family::Primary,
    };
    let rows: Vec<Row<'_>> = pairs.iter().map(row).collect();
    let compared = compare_all(&rows, &CompareOptions::default()).unwrap_or_default();
    let need = repeats_needed_of(forms.len()) as u64;
    let pairs = pairs
        .into_iter()
        .zip(compared)
        .map(|((first, second), compared)| {
            let (first, second) = (&forms[first].name, &forms[second].name);
            let ratio = compared.ratio.filter(|_| compared.verdict.can_tell());
            let ahead = match compared.verdict {
                Verdict::Different {
                    direction: Direction::Higher,
                } => Some(first.clone()),
                Verdict::Different {
                    direction: Direction::Lower,
                } => Some(second.clone()),
                _ => None,
            };
            LabPair {
                first: first.clone(),
                second: second.clone(),
                difference: ratio.map(|it| it.estimate - 1.0),
                interval: ratio.map(|it| (it.interval.low - 1.0, it.interval.high - 1.0)),
                level: CompareOptions::default().level,
                ahead,
                needs_repeats: (!compared.verdict.can_tell()).then_some(need),
            }
        });
    pairs.collect()
}
