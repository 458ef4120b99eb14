//! The verdict in the terminal: what limited the trial, what shows it, what to try.

use pgdyno_model::document::Verdict;

/// The verdict as lines of text.
pub fn text(verdict: &Verdict) -> String {
    let mut text = format!("{}.\n", verdict.sentence);
    for proof in &verdict.evidence {
        text += &format!("  {:>10}  {}\n", proof.figure, proof.sentence);
    }
    if let Some(second) = &verdict.second {
        text += &format!("  next limit  {}\n", second.sentence);
    }
    for remedy in &verdict.remedies {
        text += &format!("  try         {remedy}\n");
    }
    text
}
