//! What limited a trial, in two or three lines.

use pgdyno_model::document::{RuleRow, RuleState, Verdict};
use pgdyno_model::note::first_clause;

use super::labelled;
use crate::verdict::{RATE_MET, lower};

/// What limited it with the figure that shows it, and what would be next.
pub fn text(verdict: &Verdict) -> String {
    let rule = |state: RuleState| verdict.rules.iter().find(|rule| rule.state == state);
    let Some(limit) = rule(RuleState::Limit) else {
        let unknown = "What limited it is not known";
        let why = match verdict.sentence.strip_prefix(unknown) {
            Some(why) => format!("not known{why}"),
            None => verdict.sentence.clone(),
        };
        return labelled("limited by", &why);
    };
    let proof = verdict.evidence.first();
    let shown = proof.map_or_else(String::new, |proof| {
        format!(": {} {}", proof.figure, first_clause(&proof.sentence))
    });
    let mut text = format!("{}{shown}", lower(&limit.name));
    // Where the two overlap, such as the client's own time and what others took of its CPUs, their shares are no
    // parts of one whole.
    let first = proof.map_or("", |proof| &proof.figure);
    let fits = |second: &RuleRow| percent(first) + percent(&second.figure) <= 100.0;
    // Where a rate was met, most of the time was waiting for it.
    let is_part = |second: &&RuleRow| fits(second) && limit.code != RATE_MET;
    if let Some(second) = rule(RuleState::Second).filter(is_part) {
        text += &format!(" (next: {}, {})", lower(&second.name), share(second));
    }
    labelled("limited by", &text)
}

/// The figure that decides, without the words of the first one.
fn share(rule: &RuleRow) -> &str {
    let of_time = " of the clients’ time";
    rule.figure.strip_suffix(of_time).unwrap_or(&rule.figure)
}

/// Of `58 %` and `58 % of the clients’ time`; 0 of what is no share.
fn percent(figure: &str) -> f64 {
    let number = figure.split(['%', ' ', '\u{a0}']).next();
    let number = number.filter(|_| figure.contains('%'));
    number.and_then(|it| it.parse().ok()).unwrap_or(0.0)
}
