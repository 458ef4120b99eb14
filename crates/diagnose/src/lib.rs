//! What limited a trial, in one sentence with its evidence: the verdict.
//!
//! The currency of all rules is the clients' time. A client of a closed loop is always somewhere: in
//! the server on a CPU, in it waiting for a lock, for the log, for a block; between the two ends; in
//! a try that is thrown away. [`Evidence`] has what was recorded of this, and each rule in `rules/`
//! says which share of that time it stands for, from it alone. The greatest share is the limit when
//! it stands out; what does not stand out is "not known". A verdict is computed from a recorded
//! trial whenever it is shown, so that better rules judge old trials too.
//!
//! Not for: what a reader must know before believing a figure (`crates/run/src/validity.rs`).

mod budget;
pub mod calibration;
pub mod capacity;
mod evidence;
mod ratio;
mod rule;
mod rules;
mod stalls;
mod waits;

pub use evidence::Evidence;

use rule::{Examined, Found};
use rules::RULES;

use pgdyno_model::Outcome;
use pgdyno_model::document::{LimitOf, Proof, RuleRow, RuleState, Verdict};

/// The code of a verdict that names no limit.
const NOT_KNOWN: &str = "not-known";

/// From this share of the clients' time on, something is what limited them.
const LIMIT_SHARE: f64 = 0.35;
/// It also has to be so many times the next one, or neither stands out.
const LEAD: f64 = 1.15;
/// From this share on, the next one is worth telling.
const SECOND_SHARE: f64 = 0.1;

/// The verdict on a trial; `None` when nothing was measured that could be judged.
pub fn diagnose(outcome: &Outcome) -> Option<Verdict> {
    let evidence = Evidence::of(outcome)?;
    Some(judge(&evidence))
}

/// The name of a limit for people, by its code.
pub fn name(code: &str) -> &str {
    let mut rules = RULES.iter();
    let rule = rules.find(|rule| rule.code == code);
    rule.map_or("not known", |rule| rule.name)
}

fn judge(evidence: &Evidence<'_>) -> Verdict {
    let examined: Vec<Examined> = RULES.iter().map(|rule| (rule.examine)(evidence)).collect();
    let mut order: Vec<(usize, &Found)> = examined
        .iter()
        .enumerate()
        .filter_map(|(at, examined)| Some((at, examined.found()?)))
        .collect();
    // Stable: of equal shares the rule that stands first.
    order.sort_by(|a, b| b.1.share.total_cmp(&a.1.share));
    let mut order = order.into_iter();
    let (first, next) = (order.next(), order.next());
    let share = |found: Option<(usize, &Found)>| found.map_or(0.0, |(_, found)| found.share);
    let stands_out = share(first) >= LIMIT_SHARE
        && share(first) >= LEAD * share(next)
        && share(first) > evidence.unexplained_share();
    let limit = first.filter(|_| stands_out);
    let second = match limit {
        Some(_) => next,
        None => None,
    }
    .filter(|(_, found)| found.share >= SECOND_SHARE);
    let rows = RULES.iter().zip(&examined).enumerate();
    let rows = rows.map(|(at, (rule, examined))| {
        let state = match (limit, second) {
            (Some((limit, _)), _) if limit == at => RuleState::Limit,
            (_, Some((second, _))) if second == at => RuleState::Second,
            _ => examined.state(),
        };
        RuleRow {
            code: rule.code.to_owned(),
            name: rule.name.to_owned(),
            state,
            figure: examined.figure(),
        }
    });
    let rows = rows.collect();
    let Some((at, found)) = limit.filter(|(at, _)| !is_blurred(evidence, *at)) else {
        return not_known(evidence, [first, next], rows);
    };
    Verdict {
        limit: RULES[at].code.to_owned(),
        sentence: found.sentence.clone(),
        evidence: found.proofs.clone(),
        second: second.map(|(at, found)| LimitOf {
            limit: RULES[at].code.to_owned(),
            sentence: format!("{}: {}", RULES[at].name, found.figure()),
        }),
        remedies: found.remedies.clone(),
        rules: rows,
        ..Verdict::default()
    }
}

/// Checkpoints without a pause cost CPU time, log and reads, and nothing without them is there to be
/// set beside it: then none of these is told from the checkpoints.
fn is_blurred(evidence: &Evidence<'_>, limit: usize) -> bool {
    let is_frequent = evidence.stalls.as_ref().is_some_and(|s| s.is_frequent);
    is_frequent && RULES[limit].is_of_checkpoints
}

/// "Not known" says why, and what came nearest.
fn not_known(
    evidence: &Evidence<'_>,
    nearest: [Option<(usize, &Found)>; 2],
    rules: Vec<RuleRow>,
) -> Verdict {
    let nearest: Vec<Proof> = nearest
        .into_iter()
        .flatten()
        .filter(|(_, found)| found.share >= SECOND_SHARE)
        .flat_map(|(_, found)| found.proofs.first().cloned())
        .collect();
    let (sentence, remedies) = match (&evidence.blind, nearest.is_empty()) {
        (Some(why), _) => (
            format!("What limited it is not known: {why}"),
            evidence.closing.iter().cloned().collect(),
        ),
        _ if evidence.stalls.as_ref().is_some_and(|s| s.is_frequent) => (
            "What limited it is not known: checkpoints were so frequent that their cost cannot \
             be separated"
                .to_owned(),
            vec!["make checkpoints less frequent: a larger `max_wal_size` and `checkpoint_timeout`".to_owned()],
        ),
        (None, false) => (
            "What limited it is not known: no single cause dominates".to_owned(),
            Vec::new(),
        ),
        (None, true) => (
            "What limited it is not known: the recorded data explains too little of the clients' time"
                .to_owned(),
            Vec::new(),
        ),
    };
    Verdict {
        limit: NOT_KNOWN.to_owned(),
        sentence,
        evidence: nearest,
        second: None,
        remedies,
        rules,
        ..Verdict::default()
    }
}

#[cfg(test)]
mod tests;
