//! `--rate '80% of EXPERIMENT'`: a share of the capacity that an experiment found.

use pgdyno_model::document::capacity::{Capacity, Estimate, EstimateIs};
use pgdyno_output::{StoreArgs, remark};
use pgdyno_report::points;
use pgdyno_spec::{Exit, Experiment, Failure, Rate, text};
use serde_json::Value;

/// The rate in transactions a second, where it is such a share: says of what.
///
/// # Errors
/// The notebook has no such experiment, or that has not found one capacity.
pub fn resolved(rate: Rate, store: &StoreArgs) -> Result<Rate, Failure> {
    let Some(name) = rate.of() else {
        return Ok(rate);
    };
    let store = store.existing()?;
    let row = store.experiment(name)?;
    let found = points::of_experiment(&store, &row)?;
    let estimate = one(name, found.capacity.as_ref())?;
    let asked = rate.resolved(estimate.per_s);
    remark!(
        "pgdyno: the capacity that {} found is {}/s: the rate is {asked}",
        row.name,
        text::rate(estimate.per_s)
    );
    Ok(asked)
}

/// The experiment with its rates in transactions a second, where they are such shares.
///
/// # Errors
/// As [`resolved`].
pub fn of_experiment(experiment: Experiment, store: &StoreArgs) -> Result<Experiment, Failure> {
    experiment.with_each("rate", |value| {
        let rate = value.as_str().and_then(|text| text.parse::<Rate>().ok());
        let Some(rate) = rate.filter(|rate| rate.of().is_some()) else {
            return Ok(value.clone());
        };
        let rate = resolved(rate, store)?;
        let number = rate.constant().map(Value::from);
        Ok(number.unwrap_or_else(|| Value::from(rate.to_string())))
    })
}

/// The one capacity of an experiment.
fn one<'a>(name: &str, capacity: Option<&'a Capacity>) -> Result<&'a Estimate, Failure> {
    let usage = |text: String, way_out: &str| {
        Err(Failure::with(Exit::Usage, text).hint(way_out.to_owned()))
    };
    let Some(capacity) = capacity else {
        let text = format!("experiment {name} did not look for a capacity");
        return usage(text, "pgdyno sweep --preset capacity --slo 20ms finds one");
    };
    let ladder = match &capacity.ladders[..] {
        [ladder] => ladder,
        ladders => {
            let titles: Vec<&str> = ladders.iter().map(|one| one.title.as_str()).collect();
            let text = format!(
                "experiment {name} found {} capacities, not one: {}",
                ladders.len(),
                titles.join("; ")
            );
            return usage(
                text,
                "give the rate as a number: pgdyno show --experiment has them",
            );
        }
    };
    match &ladder.capacity {
        Some(estimate) if estimate.is == EstimateIs::At => Ok(estimate),
        Some(estimate) => {
            let side = match estimate.is {
                EstimateIs::Below | EstimateIs::AtOrBelow => "below",
                _ => "at least",
            };
            let text = format!(
                "experiment {name} found no capacity, only that it is {side} {}/s",
                text::rate(estimate.per_s)
            );
            usage(
                text,
                "search over other rates, or give the rate as a number",
            )
        }
        None if ladder.search.contradiction.is_some() => usage(
            format!(
                "experiment {name} has not found its capacity: the machine changed from step to step"
            ),
            "continue the search with a longer --capacity-time (pgdyno sweep --resume), or give the rate as a \
             number",
        ),
        None => {
            let lowest = ladder.steps.iter().map(|step| step.rate_per_s);
            let lowest = lowest.fold(f64::INFINITY, f64::min);
            let text = format!(
                "experiment {name} has not found its capacity: no step is clearly within the limit{}",
                if lowest.is_finite() {
                    format!(", the lowest rate tried is {}/s", text::rate(lowest))
                } else {
                    String::new()
                }
            );
            usage(
                text,
                "continue the search (pgdyno sweep --resume), search from a lower rate, or give the rate as a \
                 number",
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_model::document::capacity::{Contradiction, Ladder, Search};

    fn capacity(capacities: &[Option<(EstimateIs, f64)>]) -> Capacity {
        let ladder = |of: &Option<(EstimateIs, f64)>| Ladder {
            title: "clients 8".to_owned(),
            point: serde_json::Value::Null,
            loads: Vec::new(),
            capacity: of.map(|(is, per_s)| Estimate::beside(is, per_s)),
            search: Search {
                steps: 3,
                took_s: 30.0,
                is_narrow: true,
                line_steps: 0,
                drift: None,
                contradiction: None,
            },
            steps: Vec::new(),
            knee: None,
            gaps: Vec::new(),
            no_curve: None,
        };
        Capacity {
            slo_us: 20_000.0,
            width: 0.05,
            time_s: 60.0,
            ladders: capacities.iter().map(ladder).collect(),
        }
    }

    #[test]
    fn a_share_is_of_one_capacity_that_was_found() {
        let at = Some((EstimateIs::At, 400.0));
        let estimate = |of: &[Option<(EstimateIs, f64)>]| {
            let capacity = capacity(of);
            let found = one("peak", Some(&capacity)).map(|estimate| estimate.per_s);
            found.map_err(|failure| failure.message)
        };
        assert_eq!(estimate(&[at]), Ok(400.0));
        for (of, why) in [
            (vec![None], "has not found its capacity"),
            (
                vec![at, at],
                "found 2 capacities, not one: clients 8; clients 8",
            ),
            (
                vec![Some((EstimateIs::Below, 9.0))],
                "only that it is below 9",
            ),
            (
                vec![Some((EstimateIs::AtLeast, 9.0))],
                "only that it is at least 9",
            ),
        ] {
            let said = estimate(&of).unwrap_err();
            assert!(said.contains(why), "{said}");
        }
        let mut changing = capacity(&[None]);
        changing.ladders[0].search.contradiction = Some(Contradiction {
            within_up_to_per_s: Some(400.0),
            over_from_per_s: None,
        });
        let said = one("peak", Some(&changing)).unwrap_err().message;
        assert!(
            said.ends_with("the machine changed from step to step"),
            "{said}"
        );
        let said = one("peak", None).unwrap_err().message;
        assert!(said.contains("did not look for a capacity"), "{said}");
    }
}
