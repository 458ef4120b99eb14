//! Which cause is the limit: the largest share of the clients' time, when that is more than chance, when
//! what is not attributed could not turn it, and when it passes its own checks.

use pgdyno_model::document::{Check, LimitOf, Part, Proof, RuleRow, RuleState, Verdict};
use pgdyno_spec::text::roughly;

use super::blocks::{self, BLOCKS_MIN};
use super::evidence::Evidence;
use super::rule::{Assessment, Examined, Rule, check};
use super::rules::RULES;

/// The code of a verdict that names no limit.
const NOT_KNOWN: &str = "not-known";
/// From this share on, the next one is worth telling.
const SECOND_SHARE: f64 = 0.1;

/// A rule with what it found.
#[derive(Clone, Copy)]
struct Ranked<'a> {
    rule: &'static Rule,
    found: &'a Assessment,
    share: f64,
}

pub fn of(evidence: &Evidence<'_>) -> Verdict {
    let examined: Vec<Examined> = RULES.iter().map(|rule| (rule.examine)(evidence)).collect();
    let mut order: Vec<Ranked<'_>> = RULES.iter().zip(&examined).filter_map(ranked).collect();
    // Stable: of equal shares the rule listed first.
    order.sort_by(|a, b| {
        let decisive = b.found.is_decisive.cmp(&a.found.is_decisive);
        decisive.then(b.share.total_cmp(&a.share))
    });
    let (first, next) = (order.first().copied(), order.get(1).copied());
    let checks = first.map_or_else(Vec::new, |first| all_checks(evidence, first, next));
    let has_failed = checks.iter().any(|check| check.passed == Some(false));
    let is_named = first.is_some_and(|first| first.share > 0.0)
        && !has_failed
        && !first.is_some_and(|first| is_blurred(evidence, first));
    let limit = first.filter(|_| is_named);
    let second = next.filter(|next| limit.is_some() && next.share >= SECOND_SHARE);
    let rules = rows(&examined, limit, second);
    let Some(limit) = limit else {
        return Verdict {
            checks,
            rules,
            ..not_known(evidence, &order)
        };
    };
    Verdict {
        limit: limit.rule.code.to_owned(),
        causes: vec![limit.rule.cause],
        sentence: limit.found.sentence.clone(),
        evidence: limit.found.proofs.clone(),
        second: second.map(|second| LimitOf {
            limit: second.rule.code.to_owned(),
            sentence: format!("{}: {}", second.rule.name, second.found.figure()),
        }),
        remedies: limit.found.remedies.clone(),
        checks,
        rules,
        ..Verdict::default()
    }
}

fn ranked<'a>((rule, examined): (&'static Rule, &'a Examined)) -> Option<Ranked<'a>> {
    match examined {
        Examined::Found(found) => Some(Ranked {
            rule,
            found,
            share: found.share(),
        }),
        Examined::NotApplicable(_) | Examined::NotKnown(_) => None,
    }
}

fn rows(
    examined: &[Examined],
    limit: Option<Ranked<'_>>,
    second: Option<Ranked<'_>>,
) -> Vec<RuleRow> {
    let is = |of: Option<Ranked<'_>>, rule: &Rule| of.is_some_and(|of| of.rule.code == rule.code);
    let rows = RULES.iter().zip(examined).map(|(rule, examined)| RuleRow {
        code: rule.code.to_owned(),
        name: rule.name.to_owned(),
        state: match examined {
            _ if is(limit, rule) => RuleState::Limit,
            _ if is(second, rule) => RuleState::Second,
            Examined::Found(_) => RuleState::RuledOut,
            Examined::NotApplicable(_) => RuleState::NotApplicable,
            Examined::NotKnown(_) => RuleState::NotKnown,
        },
        figure: examined.figure(),
    });
    rows.collect()
}

/// Those of every verdict, and the cause's own.
fn all_checks(evidence: &Evidence<'_>, first: Ranked<'_>, next: Option<Ranked<'_>>) -> Vec<Check> {
    let mut checks = Vec::new();
    if !first.found.is_decisive {
        checks.push(by_more_than_chance(first, next));
        checks.push(unexplained(evidence, first, next));
    }
    checks.extend(first.found.checks.iter().cloned());
    checks
}

/// Whether the first is larger than the next by more than chance, over blocks of the trial.
fn by_more_than_chance(first: Ranked<'_>, next: Option<Ranked<'_>>) -> Check {
    let name = "Significantly the largest share";
    let shares = &first.found.shares;
    let Some(next) = next else {
        return check(name, shares.len() >= BLOCKS_MIN, "no other was found");
    };
    let pairs = shares.iter().zip(&next.found.shares);
    let leads: Vec<f64> = pairs.map(|(first, next)| first - next).collect();
    let (lead, half) = blocks::mean(&leads);
    let figures = format!(
        "{} against {} ({})",
        roughly(first.share),
        roughly(next.share),
        inside(next.rule.name)
    );
    match half {
        Some(half) => check(
            name,
            lead - half > 0.0,
            format!("{figures}, {} blocks", leads.len()),
        ),
        None => check(
            name,
            false,
            format!(
                "{figures}: {} of the {BLOCKS_MIN} blocks of a second needed",
                leads.len()
            ),
        ),
    }
}

/// Whether what is not attributed could not turn it.
fn unexplained(evidence: &Evidence<'_>, first: Ranked<'_>, next: Option<Ranked<'_>>) -> Check {
    let lead = first.share - next.map_or(0.0, |next| next.share);
    let (unexplained, _) = blocks::mean(&evidence.shares(&[Part::NotAttributed]));
    check(
        "The unattributed share is smaller than the lead",
        unexplained < lead,
        format!(
            "{} against a lead of {}",
            roughly(unexplained),
            roughly(lead)
        ),
    )
}

/// Checkpoints without a pause cost CPU time, log and reads, and nothing without them is there to be
/// set beside it: then none of these is distinguished from the checkpoints.
fn is_blurred(evidence: &Evidence<'_>, first: Ranked<'_>) -> bool {
    let is_frequent = evidence.stalls.as_ref().is_some_and(|s| s.is_frequent);
    is_frequent && first.rule.is_of_checkpoints
}

/// "Not known" says why, what came nearest, and what would tell.
fn not_known(evidence: &Evidence<'_>, order: &[Ranked<'_>]) -> Verdict {
    let (why, tells) = why(evidence, order);
    let nearest = match &why {
        Why::Either(all) => all.clone(),
        Why::Not(_) => order.iter().take(2).copied().filter(is_near).collect(),
    };
    let proofs = nearest.iter().filter_map(|of| of.found.proofs.first());
    Verdict {
        limit: NOT_KNOWN.to_owned(),
        evidence: proofs.cloned().collect::<Vec<Proof>>(),
        causes: match &why {
            Why::Either(all) => all.iter().map(|of| of.rule.cause).collect(),
            Why::Not(_) => Vec::new(),
        },
        sentence: match &why {
            Why::Either(all) => format!("{}: which of them is not known", either(all)),
            Why::Not(why) => format!("What limited it is not known: {why}"),
        },
        remedies: tells.into_iter().collect(),
        ..Verdict::default()
    }
}

fn is_near(of: &Ranked<'_>) -> bool {
    of.share >= SECOND_SHARE
}

/// The first, and those that chance or what is not attributed may have put behind it.
fn tied<'a>(evidence: &Evidence<'_>, order: &[Ranked<'a>]) -> Vec<Ranked<'a>> {
    let Some((first, others)) = order.split_first() else {
        return Vec::new();
    };
    let is_behind = |other: Ranked<'_>| {
        let checks = [
            by_more_than_chance(*first, Some(other)),
            unexplained(evidence, *first, Some(other)),
        ];
        checks.iter().all(|check| check.passed == Some(true))
    };
    let others = others.iter().copied().filter(is_near);
    let tied = others.filter(|other| !is_behind(*other));
    std::iter::once(*first).chain(tied).collect()
}

/// `A (50 %), b (40 %) or c (40 %) limited it`.
fn either(all: &[Ranked<'_>]) -> String {
    let mut text = String::new();
    for (at, of) in all.iter().enumerate() {
        let name = if at == 0 {
            of.rule.name.to_owned()
        } else {
            inside(of.rule.name)
        };
        text += match at {
            0 => "",
            _ if at + 1 == all.len() => " or ",
            _ => ", ",
        };
        text += &format!("{name} ({})", roughly(of.share));
    }
    text + " limited it"
}

enum Why<'a> {
    /// Causes that no check separates.
    Either(Vec<Ranked<'a>>),
    Not(String),
}

fn why<'a>(evidence: &Evidence<'_>, order: &[Ranked<'a>]) -> (Why<'a>, Option<String>) {
    let (first, next) = (order.first().copied(), order.get(1).copied());
    let not = |why: &str| Why::Not(why.to_owned());
    let longer = || {
        let blocks = evidence.budget.blocks.len();
        if blocks < BLOCKS_MIN {
            format!("measure for {BLOCKS_MIN} s or more")
        } else {
            "measure longer: intervals shrink with the root of the time".to_owned()
        }
    };
    let Some(first) = first.filter(|first| first.share > 0.0) else {
        return (
            not("no recorded figure explains the clients’ time"),
            closing(evidence),
        );
    };
    if is_blurred(evidence, first) {
        return (
            not("checkpoints were so frequent that their cost cannot be separated"),
            Some(
                "make checkpoints less frequent: a larger `max_wal_size` and `checkpoint_timeout`"
                    .to_owned(),
            ),
        );
    }
    if let Some(failed) = first.found.checks.iter().find(|c| c.passed == Some(false)) {
        return (
            Why::Not(format!(
                "{} has the largest share, but fails its check ({}: {})",
                inside(first.rule.name),
                failed.name,
                failed.figures
            )),
            Some(longer()),
        );
    }
    let unexplained = unexplained(evidence, first, next);
    let (share, _) = blocks::mean(&evidence.shares(&[Part::NotAttributed]));
    if unexplained.passed == Some(false) && share >= first.share {
        let why = match &evidence.budget.unseen {
            Some(gap) => gap.reason.clone(),
            None => format!("{} of the clients’ time is not attributed", roughly(share)),
        };
        return (Why::Not(why), closing(evidence));
    }
    if evidence.budget.blocks.len() < BLOCKS_MIN {
        return (not("the trial was too short"), Some(longer()));
    }
    let tied = tied(evidence, order);
    match tied.len() {
        2.. => (Why::Either(tied), Some(longer())),
        _ => (
            Why::Not(format!(
                "{} has the largest share, {}, and {} is not attributed",
                inside(first.rule.name),
                roughly(first.share),
                roughly(share)
            )),
            closing(evidence),
        ),
    }
}

/// A cause's name inside a sentence: without its capital, unless it is an abbreviation.
fn inside(name: &str) -> String {
    let mut letters = name.chars();
    match letters.next() {
        Some(first) if !letters.clone().next().is_some_and(char::is_uppercase) => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => name.to_owned(),
    }
}

/// What would let more be seen.
fn closing(evidence: &Evidence<'_>) -> Option<String> {
    let gap = evidence.budget.unseen.as_ref();
    let remedy = gap.and_then(|gap| gap.remedy.clone());
    remedy.or_else(|| {
        (evidence.mean("host.server.cpu").is_none()).then(|| {
            "run pgdyno on the server’s host once, or read an exporter there (`--scrape`): its sessions' CPU \
             time cannot be seen from here"
                .to_owned()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::inside;

    #[test]
    fn a_name_inside_a_sentence_has_no_capital_unless_it_is_an_abbreviation() {
        assert_eq!(inside("The client"), "the client");
        assert_eq!(inside("SLRU"), "SLRU");
        assert_eq!(inside("IPC and parallel"), "IPC and parallel");
    }
}
