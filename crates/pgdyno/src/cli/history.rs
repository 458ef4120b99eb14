//! `pgdyno history`: a figure over the trials of the notebook, and where its level changed.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use serde_json::Value;

use pgdyno_model::State;
use pgdyno_model::document::GateResult;
use pgdyno_model::document::history::{Change, History, HistoryGate};
use pgdyno_model::notebook::{Filter, TrialRow};
use pgdyno_output::{JsonArg, StoreArgs, answer, write_answer};
use pgdyno_platform::Output;
use pgdyno_report::history::{self, Group};
use pgdyno_spec::{Exit, Failure};
use pgdyno_stats::gate::{Condition, Gate, Threshold};
use pgdyno_stats::{Direction, MIN_SERIES};
use pgdyno_store::{Cell, Store};

use super::ls;

/// The newest trials that are looked at.
const LAST_DEFAULT: u64 = 1_000;

/// Of what, over which trials.
#[derive(Debug, Args)]
#[command(after_help = "\
Only trials that can be compared are put together: those of the newest one's load, target, settings and machine;
how many are left out, and why, is said. Versions may differ: their changes are what is looked for.

Examples:
  pgdyno history goodput --workload tpcb
  pgdyno history p99 --workload tpcb --point clients=8,scale=10 --since 90d
  pgdyno history goodput --tag nightly --fail-if 'goodput < -3%'
  pgdyno history goodput --workload tpcb --html goodput.html

Ten trials are needed. With --fail-if the exit code is 1 when the newest change is worse than that, and 4 when the
trials follow each other too closely to tell.
How changes are found: pgdyno help ci")]
pub struct HistoryArgs {
    /// goodput, p50, p90, p95, p99, p99.9
    #[arg(value_name = "FIGURE", default_value = "goodput")]
    pub figure: String,
    /// Only trials of this workload
    #[arg(long, value_name = "NAME")]
    pub workload: Option<String>,
    /// Only trials with this tag; repeated: with all of them
    #[arg(long, value_name = "TAG")]
    pub tag: Vec<String>,
    /// Only trials with these options: clients=8,scale=10
    #[arg(long, value_name = "NAME=VALUE,…", value_delimiter = ',')]
    pub point: Vec<String>,
    /// Only trials started since a date (2026-01-31, UTC), a time, or an age (12h, 90d)
    #[arg(long, value_name = "WHEN", value_parser = ls::since)]
    pub since: Option<String>,
    /// At most so many trials, the newest ones
    #[arg(long, value_name = "COUNT", default_value_t = LAST_DEFAULT, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub last: u64,
    /// Fail when the newest change is worse: 'goodput < -3%', 'p99 > +10%'
    #[arg(long, value_name = "GATE")]
    pub fail_if: Option<String>,
    /// Also write one self-contained HTML page to this file
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// `--json`.
    #[command(flatten)]
    pub json: JsonArg,
    /// The notebook's options.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Runs the command.
pub fn open(args: &HistoryArgs) -> Result<Exit, Failure> {
    let metric = history::figure(&args.figure).ok_or_else(|| {
        let names = pgdyno_report::ci::figures()
            .into_iter()
            .map(|figure| figure.name);
        Failure::with(
            Exit::Usage,
            format!("there is no figure \"{}\"", args.figure),
        )
        .hint(format!(
            "there are: {}",
            names.collect::<Vec<_>>().join(", ")
        ))
    })?;
    let condition = args
        .fail_if
        .as_deref()
        .map(|text| condition(text, &args.figure))
        .transpose()?;
    let points = points(&args.point)?;
    let json_to = args.json.open()?;
    let store = args.store.existing()?;
    let mut trials = store.trials(&Filter {
        workload: args.workload.clone(),
        tags: args.tag.clone(),
        state: Some(State::Complete),
        since: args.since.clone(),
        limit: Some(args.last),
        ..Filter::default()
    })?;
    trials.retain(|trial| {
        let is_measurement = trial.point.is_none() || trial.repeat.is_some();
        trial.excluded.is_none() && is_measurement && is_at(trial, &points)
    });
    trials.sort_by(|a, b| (&a.started, a.number).cmp(&(&b.started, b.number)));
    let hosts = hosts(&store, &trials)?;
    let host = |trial: &TrialRow| hosts.get(&trial.number).cloned().unwrap_or_default();
    let grouped = trials
        .into_iter()
        .map(|trial| (Group::of(&trial, &host(&trial)), trial));
    let (trials, left_out) = history::together(grouped.collect(), metric);
    let Some(newest) = trials.last().filter(|_| trials.len() >= MIN_SERIES) else {
        return Err(too_few(trials.len(), &left_out));
    };
    let (workload, target, on) = (
        newest.workload.clone(),
        history::target(newest),
        host(newest),
    );
    let load = load(newest);
    let series = history::series(&trials, metric);
    let (changes, masked_by) = history::changes(&series);
    let is_masked = masked_by.is_some();
    let gate = condition.map(|condition| judged(&condition, changes.last(), is_masked));
    let document = History {
        figure: args.figure.clone(),
        workload,
        load,
        target,
        host: on,
        trials: series,
        changes,
        masked_by,
        left_out,
        gate,
    };
    let written = json_to.write(&document);
    if !args.json.replaces_text() {
        write_answer(format_args!("{}", history::text(&document)))?;
    }
    if let Some(path) = &args.html {
        let page =
            Output::open(path).and_then(|it| it.replace(history::page(&document).as_bytes()));
        page.map_err(|error| {
            let text = format!("could not write {}: {error}", path.display());
            Failure::with(Exit::Usage, text).with_missing_folder(path)
        })?;
        if !args.json.replaces_text() {
            answer!("{}", path.display())?;
        }
    }
    written?;
    let Some(gate) = &document.gate else {
        return Ok(Exit::Ok);
    };
    pgdyno_output::remark!("pgdyno: {}: {}", gate.condition, gate.sentence);
    Ok(match gate.result {
        GateResult::Passed => Exit::Ok,
        GateResult::Failed => Exit::Failed,
        GateResult::CannotTell => Exit::CannotTell,
    })
}

fn too_few(found: usize, left_out: &[pgdyno_model::document::history::LeftOut]) -> Failure {
    let text = format!("{found} trials that can be compared, {MIN_SERIES} needed");
    let failure = Failure::with(Exit::CannotTell, text);
    let failure = left_out.iter().fold(failure, |failure, left_out| {
        failure.detail(format!(
            "left out: {} trials, {}",
            left_out.trials, left_out.why
        ))
    });
    failure
        .hint("pgdyno ls lists trials; --workload, --tag and --point choose among them")
        .hint("measure regularly with the same options, and changes will be seen")
}

/// A gate of one condition on this figure, a change in per cent.
fn condition(text: &str, figure: &str) -> Result<(Condition, f64), Failure> {
    let usage = |text: String| Failure::with(Exit::Usage, text);
    let gate = Gate::parse(text, &pgdyno_report::ci::figures())
        .map_err(|error| usage(format!("--fail-if: {error}")))?;
    let conditions: Vec<&Condition> = gate.conditions().collect();
    match conditions.as_slice() {
        [
            one @ Condition {
                threshold: Threshold::Relative(threshold),
                ..
            },
        ] if one.figure == figure => Ok(((*one).clone(), *threshold)),
        _ => Err(usage(format!(
            "--fail-if {text}: here a gate is one change of {figure} in per cent"
        ))
        .hint(format!("such as --fail-if '{figure} < -3%'"))),
    }
}

/// What a condition says of the newest change, or where trials that follow each other may hide one.
fn judged(
    (condition, threshold): &(Condition, f64),
    newest: Option<&Change>,
    is_masked: bool,
) -> HistoryGate {
    let (result, sentence) = match newest.map(|newest| (newest.first_after, newest.change)) {
        None if is_masked => (
            GateResult::CannotTell,
            "cannot tell: the trials follow each other so closely that they hide any change; pgdyno ci can tell"
                .to_owned(),
        ),
        None => (GateResult::Passed, "passes: no change of level".to_owned()),
        Some((trial, None)) => (
            GateResult::CannotTell,
            format!("cannot tell: the newest change, with trial {trial}, is no share: there are figures of 0"),
        ),
        Some((trial, Some(by))) => {
            let is_met = match condition.side {
                Direction::Higher => by > *threshold,
                Direction::Lower => by < *threshold,
            };
            let (result, word) = if is_met {
                (GateResult::Failed, "fails")
            } else {
                (GateResult::Passed, "passes")
            };
            let by = pgdyno_spec::text::change(by);
            (
                result,
                format!("{word}: the newest change, with trial {trial}, is {by}"),
            )
        }
    };
    HistoryGate {
        condition: condition.to_string(),
        result,
        sentence,
    }
}

/// Options by name.
fn points(given: &[String]) -> Result<Vec<(&str, &str)>, Failure> {
    let mut points = Vec::new();
    for text in given {
        let pair = text.split_once('=');
        let pair = pair.filter(|(name, value)| !name.is_empty() && !value.is_empty());
        points.push(pair.ok_or_else(|| {
            let text = format!("--point {text}: it must be NAME=VALUE");
            Failure::with(Exit::Usage, text).hint("such as --point clients=8,scale=10")
        })?);
    }
    Ok(points)
}

/// Whether a trial has all of these options.
fn is_at(trial: &TrialRow, points: &[(&str, &str)]) -> bool {
    if points.is_empty() {
        return true;
    }
    let options = history::options(trial);
    points.iter().all(|(name, value)| {
        let names = [
            (*name).to_owned(),
            format!("params.{name}"),
            format!("settings.{name}"),
        ];
        let found = names.iter().find_map(|name| options.get(name));
        found.is_some_and(|found| words(found) == *value)
    })
}

fn words(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// What is said of a load: its options by name.
fn load(trial: &TrialRow) -> Vec<String> {
    let options = history::options(trial);
    let shown = options
        .iter()
        .filter(|(name, _)| !matches!(name.as_str(), "workload" | "target" | "name"));
    shown
        .map(|(name, value)| {
            let name = name.strip_prefix("params.").unwrap_or(name);
            format!("{} {}", name.replace('_', " "), words(value))
        })
        .collect()
}

/// The machine that pgdyno ran on, by trial.
fn hosts(store: &Store, trials: &[TrialRow]) -> Result<BTreeMap<i64, String>, Failure> {
    let numbers = || trials.iter().map(|trial| trial.number);
    let (Some(first), Some(last)) = (numbers().min(), numbers().max()) else {
        return Ok(BTreeMap::new());
    };
    let found = store.query(&format!(
        "SELECT number, host_name, host FROM trial WHERE number BETWEEN {first} AND {last}"
    ))?;
    let of_row = |row: Vec<Cell>| {
        let [number, name, host] = row.as_slice() else {
            return None;
        };
        let host: Value = serde_json::from_str(&host.text()).ok()?;
        let name = match name.json() {
            Value::String(name) => name,
            _ => "a machine without a name".to_owned(),
        };
        let cpu = host["cpu_model"].as_str().unwrap_or("CPU not known");
        let text = format!("{name} ({} × {cpu})", host["cpus"]);
        Some((number.json().as_i64()?, text))
    };
    Ok(found.rows.into_iter().filter_map(of_row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(by: f64) -> Change {
        Change {
            index: 15,
            first_after: 16,
            started: String::new(),
            before: 1.0,
            after: 1.0 + by,
            change: Some(by),
            interval: None,
            p: 0.001,
            versions: None,
        }
    }

    #[test]
    fn the_newest_change_is_held_to_the_gate() {
        let condition = |text: &str| super::condition(text, "goodput").unwrap();
        let result =
            |text: &str, by: f64| judged(&condition(text), Some(&change(by)), false).result;
        assert_eq!(result("goodput < -3%", -0.05), GateResult::Failed);
        assert_eq!(result("goodput < -3%", -0.01), GateResult::Passed);
        assert_eq!(result("goodput < -3%", 0.2), GateResult::Passed);
        let without = |is_masked| judged(&condition("goodput < -3%"), None, is_masked).result;
        assert_eq!(without(false), GateResult::Passed);
        assert_eq!(without(true), GateResult::CannotTell);
        let of_zero = Change {
            change: None,
            ..change(0.0)
        };
        let of_zero = judged(&condition("goodput < -3%"), Some(&of_zero), false);
        assert_eq!(of_zero.result, GateResult::CannotTell);
    }

    #[test]
    fn a_gate_is_one_change_of_the_figure_in_per_cent() {
        for wrong in [
            "p99 > +5%",
            "goodput < 500/s",
            "goodput < -3%, p99 > +5%",
            "goodput <",
        ] {
            let failure = condition(wrong, "goodput").unwrap_err();
            assert_eq!(failure.exit, Exit::Usage, "{failure}");
            assert!(failure.to_string().contains("--fail-if"), "{failure}");
        }
    }

    #[test]
    fn points_are_names_with_values() {
        let given = ["clients=8".to_owned(), "scale=10".to_owned()];
        assert_eq!(points(&given).unwrap(), [("clients", "8"), ("scale", "10")]);
        for wrong in ["clients", "=8", "clients="] {
            let failure = points(&[wrong.to_owned()]).unwrap_err();
            assert!(
                failure.to_string().contains("must be NAME=VALUE"),
                "{failure}"
            );
        }
    }
}
