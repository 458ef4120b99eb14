//! The verdict's check of itself: what must hold before a conclusion is shown.

use pgdyno_model::Fact;
use pgdyno_model::document::isolation_lab::{IsolationLab, IsolationSelfCheck};
use pgdyno_spec::text as figures;

use super::lab::{DEFAULT, Tried, not_whole};

/// What was checked, each with its figures.
pub fn checks(lab: &IsolationLab, tried: &[Tried]) -> Vec<IsolationSelfCheck> {
    let mut all = Vec::new();
    let mut add = |held: Option<bool>, name: &str, says: String| {
        all.push(IsolationSelfCheck {
            held,
            name: name.to_owned(),
            says,
        });
    };
    let known: Vec<_> = { tried.iter() }
        .filter_map(|it| Some((it.shown.trial, it.check.known()?)))
        .collect();
    if known.is_empty() {
        return all;
    }
    let recorded: u64 = known.iter().map(|(_, check)| check.recorded).sum();

    let uneven = known
        .iter()
        .find(|(_, check)| check.committed + check.aborted + check.unknown != check.recorded);
    match uneven {
        Some((trial, check)) => add(
            Some(false),
            "Counts do not add up",
            format!(
                "trial {trial}: {} committed, {} aborted and {} unknown of {} recorded",
                figures::count(check.committed),
                figures::count(check.aborted),
                figures::count(check.unknown),
                figures::count(check.recorded)
            ),
        ),
        None => add(
            Some(true),
            "Counts add up",
            format!(
                "committed, aborted and unknown are the {} recorded",
                figures::count(recorded)
            ),
        ),
    }

    let asked = lab
        .levels
        .iter()
        .all(|level| level.in_effect.known().is_some());
    if asked {
        add(
            Some(true),
            "In effect",
            "the level was read from the server inside transactions, not assumed".to_owned(),
        )
    } else {
        let why = lab.levels.iter().find_map(|level| match &level.in_effect {
            Fact::Known(_) => None,
            Fact::Unknown(why) => Some(format!("{}: {why}", level.asked)),
        });
        add(None, "Level in effect not known", why.unwrap_or_default());
    }

    let others = lab.levels.iter().filter_map(|level| {
        let is = level.in_effect.known().filter(|is| **is != level.asked)?;
        (level.asked != DEFAULT)
            .then(|| format!("{} was asked for, {is} was in effect", level.asked))
    });
    let others: Vec<String> = others.collect();
    if !others.is_empty() {
        add(None, "Another level than asked for", others.join("; "));
    }

    let undisturbed = tried
        .iter()
        .find_map(|it| Some((it.shown.trial, it.trouble.as_ref()?)));
    if let Some((trial, why)) = undisturbed {
        add(
            None,
            "Not disturbed as planned",
            format!("trial {trial}: {why}"),
        );
    }

    let forbidden: Vec<_> = { lab.examples.iter() }
        .filter(|seen| seen.forbidden == Some(true))
        .collect();
    let again = |is: Option<bool>| {
        forbidden
            .iter()
            .filter(move |seen| seen.example.found_again == is)
    };
    if let Some(seen) = again(Some(false)).next() {
        // Others that were found again are no less certain for it.
        let is_alone = again(Some(true)).next().is_none();
        add(
            is_alone.then_some(false),
            "Not found again",
            format!(
                "{} of trial {} is not in the history that was cut out to show it",
                seen.anomaly, seen.trial
            ),
        );
    }
    if again(Some(true)).next().is_some() {
        let n = again(Some(true)).count() as u64;
        add(
            Some(true),
            "Found again",
            format!(
                "{} in the history that was cut out to show it",
                figures::plural(n, "anomaly").replace("anomalys", "anomalies")
            ),
        );
    }
    if let Some(seen) = again(None).next() {
        add(
            None,
            "Not checked again",
            format!(
                "{} of trial {} has no history of its own",
                seen.anomaly, seen.trial
            ),
        );
    }

    let trials: Vec<&Tried> = tried.iter().collect();
    match not_whole(&trials) {
        Some((trial, why)) => add(None, "Not all was checked", format!("trial {trial}: {why}")),
        None => add(
            Some(true),
            "The whole history was checked",
            format!(
                "{}, none left out",
                figures::plural(recorded, "transaction")
            ),
        ),
    }

    let unknown: u64 = known.iter().map(|(_, check)| check.unknown).sum();
    if unknown > 0 {
        add(
            None,
            "Unknown commits",
            format!(
                "{} may have taken effect or not, and no read shows it",
                figures::count(unknown)
            ),
        );
    }
    add(
        None,
        "\"Not seen\" is not \"cannot happen\"",
        "each has the largest share of pairs in which it may occur, with 95 % confidence"
            .to_owned(),
    );
    all
}
