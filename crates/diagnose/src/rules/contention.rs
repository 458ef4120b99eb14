//! Clients in each other's way: sessions that wait for locks on rows or on what the server shares, and
//! tries thrown away because another was first.

use pgdyno_drive::ErrorClass;
use pgdyno_drive::record::Reason;

use crate::evidence::Evidence;
use crate::rule::{Examined, Found, Rule};
use crate::waits::Class;
use pgdyno_model::document::Proof;
use pgdyno_model::text;

/// The rule.
pub const RULE: Rule = Rule {
    code: "contention",
    name: "Row or lock contention",
    is_of_checkpoints: false,
    examine,
};

fn examine(evidence: &Evidence<'_>) -> Examined {
    let lost = evidence.lost_share() * (1.0 - evidence.connecting_share());
    let waiting = evidence.class_share(Class::Contention);
    if waiting.is_none() && lost == 0.0 {
        return Examined::NotKnown(evidence.blind.clone().unwrap_or_default());
    }
    let waiting = waiting.unwrap_or(0.0);
    let lost = lost * conflicts_of_reasons(evidence);
    let mut proofs = Vec::new();
    if waiting > 0.0 {
        proofs.push(of_waiting(evidence, waiting));
    }
    if lost > 0.0 {
        proofs.push(of_lost_tries(evidence, lost));
        if lost > waiting {
            proofs.reverse();
        }
    }
    let statement = dearest(evidence);
    if let Some((text, mean_us)) = statement {
        proofs.push(
            Proof::new(
                text::time(mean_us),
                format!("mean time of `{text}`, the most expensive statement"),
            )
            .at("statements", "Statements"),
        );
    }
    let (sentence, remedies) = if lost > waiting {
        (
            "Contention limited it: conflicting transactions had to be retried",
            vec![
                "compare forms and retry policies on this server: `pgdyno lab retries`".to_owned(),
                "lock rows early (`FOR UPDATE`), or spread the work over more rows".to_owned(),
            ],
        )
    } else {
        (
            "Contention limited it: sessions waited for each other’s locks",
            vec![
                "spread the work over more rows, or hold the lock for less time: put the locking \
                 statement last, directly before COMMIT"
                    .to_owned(),
            ],
        )
    };
    Examined::Found(Found {
        share: lost + waiting,
        figure: None,
        sentence: sentence.to_owned(),
        proofs,
        remedies,
    })
}

/// Of all tries thrown away, those lost to other transactions. What is lost to clocks is another rule's;
/// a mistake in a script is no conflict.
fn conflicts_of_reasons(evidence: &Evidence<'_>) -> f64 {
    let of_clocks = evidence.share_of_reasons(super::clock_uncertainty::is_reason);
    (evidence.share_of_reasons(is_conflict) - of_clocks).max(0.0)
}

/// A serialization failure, a deadlock, or a lock that was not to be had in time (PostgreSQL's manual,
/// appendix "Error Codes": 55P03 lock_not_available).
fn is_conflict(reason: &Reason) -> bool {
    matches!(
        reason.class,
        ErrorClass::Serialization | ErrorClass::Deadlock
    ) || reason.sqlstate == "55P03"
}

fn of_waiting(evidence: &Evidence<'_>, share: f64) -> Proof {
    let event = evidence.budget.as_ref();
    let event = event.and_then(|budget| budget.events_of(Class::Contention).next());
    let mostly = event.map_or_else(String::new, |(event, _)| format!(", mostly in {event}"));
    let text =
        format!("of the clients’ time their sessions waited for locks of each other{mostly}");
    Proof::new(text::roughly(share), text).at("sessions", "What sessions were doing")
}

fn of_lost_tries(evidence: &Evidence<'_>, share: f64) -> Proof {
    let reason = evidence.outcome.recording.reasons.first();
    let why = reason.map_or_else(String::new, |reason| {
        format!(
            ", most of them because of {} ({})",
            reason.name, reason.sqlstate
        )
    });
    let tries = text::count(evidence.all.work.lost_tries);
    let text =
        format!("of the clients’ time was spent on {tries} tries that were thrown away{why}");
    Proof::new(text::roughly(share), text).at("retries", "Retries")
}

/// The statement that took most of the time, as the script has it, and its mean in microseconds.
fn dearest<'a>(evidence: &'a Evidence<'_>) -> Option<(&'a str, f64)> {
    let recording = &evidence.outcome.recording;
    let scripts = recording.scripts.iter().zip(&recording.statements);
    let statements = scripts.flat_map(|(script, totals)| script.statements.iter().zip(totals));
    let sql = statements.filter(|(statement, _)| statement.is_sql);
    let (statement, totals) = sql.max_by_key(|(_, totals)| totals.latencies.sum_us())?;
    Some((statement.text.as_str(), totals.latencies.mean_us()?))
}
