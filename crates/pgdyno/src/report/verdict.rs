//! The verdict in the terminal: what limited the trial, what shows it, what to try.

use crate::diagnose::diagnose;
use crate::plan::trial::Outcome;

/// It, ready to be printed; empty when there is nothing to be judged.
pub fn text(outcome: &Outcome) -> String {
    let Some(verdict) = diagnose(outcome) else {
        return String::new();
    };
    let mut text = format!("{}.\n", verdict.sentence);
    for proof in &verdict.evidence {
        text += &format!("  {:>10}  {}\n", proof.figure, proof.sentence);
    }
    if let Some(second) = &verdict.second {
        text += &format!("  behind it   {}\n", second.sentence);
    }
    for remedy in &verdict.remedies {
        text += &format!("  try         {remedy}\n");
    }
    text
}
