//! The verdict in the terminal: what limited the trial, what shows it, what was checked, what to try.

use super::wrap::wrapped;
use pgdyno_model::document::{Check, Verdict};

/// The code of the limit of a trial that nothing limited, because its rate was met.
pub const RATE_MET: &str = "rate-met";

/// Where the text of a line begins.
const INDENT: usize = 12;

/// The verdict as lines of text.
pub fn text(verdict: &Verdict) -> String {
    let mut text = wrapped("", &format!("{}.", verdict.sentence), 0);
    for proof in &verdict.evidence {
        text += &wrapped(&format!("{:>10}", proof.figure), &proof.sentence, INDENT);
    }
    if let Some(second) = &verdict.second {
        text += &wrapped("second", &second.sentence, INDENT);
    }
    if !verdict.checks.is_empty() {
        text += &wrapped("checked", &checks(&verdict.checks), INDENT);
    }
    for remedy in &verdict.remedies {
        text += &wrapped("try", remedy, INDENT);
    }
    text
}

/// Those that have failed with their figures, the others by their number.
fn checks(checks: &[Check]) -> String {
    let failed = checks.iter().filter(|check| check.passed == Some(false));
    let failed: Vec<String> = failed
        .map(|check| format!("failed: {} ({})", check.name, check.figures))
        .collect();
    if !failed.is_empty() {
        return failed.join("; ");
    }
    let names: Vec<String> = checks
        .iter()
        .filter(|check| check.passed == Some(true))
        .map(|check| lower(&check.name))
        .collect();
    format!("passed: {}", names.join(", "))
}

/// Within a sentence; an abbreviation stays as it is.
pub fn lower(text: &str) -> String {
    let mut chars = text.chars();
    let (first, second) = (chars.next(), chars.next());
    match (first, second) {
        (Some(first), Some(second)) if second.is_lowercase() => {
            let rest = first.to_lowercase().chain([second]).chain(chars);
            rest.collect()
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_model::document::Proof;

    #[test]
    fn lines_are_no_longer_than_a_terminal_and_begin_at_the_same_place() {
        let verdict = Verdict {
            sentence: "The server’s CPU limited it: each session needs CPU time".to_owned(),
            evidence: vec![Proof::new(
                "99.0 %",
                "of the clients’ time their sessions had work in the server: 60.0 % on a CPU, \
                 39.0 % waiting for one",
            )],
            remedies: vec!["one thing".to_owned()],
            checks: vec![Check {
                name: "Significantly the largest share".to_owned(),
                passed: Some(true),
                figures: String::new(),
            }],
            ..Verdict::default()
        };
        let expected = "\
The server’s CPU limited it: each session needs CPU time.
    99.0 %  of the clients’ time their sessions had work in the server: 60.0 %
            on a CPU, 39.0 % waiting for one
checked     passed: significantly the largest share
try         one thing
";
        assert_eq!(text(&verdict), expected);
    }

    #[test]
    fn a_failed_check_has_its_figures() {
        let failed = Check {
            name: "Syncs explain it".to_owned(),
            passed: Some(false),
            figures: "none".to_owned(),
        };
        assert_eq!(lower("CPU time"), "CPU time");
        assert_eq!(checks(&[failed]), "failed: Syncs explain it (none)");
    }
}
