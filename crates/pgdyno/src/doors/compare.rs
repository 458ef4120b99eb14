//! `pgdyno compare`: two sets of trials of the notebook beside each other.

use std::path::PathBuf;

use clap::Args;
use pgdyno_platform::terminal;
use pgdyno_stats::gate::{Figure, Gate, Outcome as GateOutcome, Unit};
use pgdyno_stats::{CompareOptions, Comparison, Direction, Summary, Verdict};
use serde_json::{Value, json};

use super::store_args::StoreArgs;
use super::trials_arg::trials as side;
use crate::report::comparison::{self, Compared, METRICS, Pair};
use crate::report::documents;
use crate::report::table::Table;
use crate::report::{markdown, page};
use crate::say::{answer, write_answer};
use crate::store::{Store, TrialRow, command_line};
use pgdyno_model::{Exit, Failure};

/// Where standard output is no terminal.
const WIDTH_DEFAULT: usize = 110;

/// What to compare, and how.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pgdyno compare 3-8 9-14                        trials by their numbers
  pgdyno compare before after                    two experiments, by name, point by point
  pgdyno compare tag:pg17 tag:pg18 --paired      repeats that were run by turns
  pgdyno compare 3-8 9-14 --fail-if 'p99 > +5%, goodput < -3%'

The unit is the repeat: five a side are needed, six for pairs; only complete trials count, and none
that are excluded. With --fail-if the exit code is 1 when a condition is met or cannot be told.
How it is computed: docs/statistics.md")]
pub struct CompareArgs {
    /// An experiment's name or the first characters of its UUID, tag:NAME, or trials: 3-8, 3,5,7
    #[arg(value_name = "A")]
    pub a: String,

    /// The other ones
    #[arg(value_name = "B")]
    pub b: String,

    /// Compare the first repeat of A with the first of B, and so on: for repeats that were run by
    /// turns, so that a drift that both shared cancels out
    #[arg(long)]
    pub paired: bool,

    /// Fail when a figure got worse: goodput, p50, p90, p95, p99, p99.9, with `>` or `<`, a change
    /// (+5%, +2ms) or a level (20ms); a comma means or
    #[arg(long, value_name = "GATE")]
    pub fail_if: Option<String>,

    /// As JSON
    #[arg(long)]
    pub json: bool,

    /// As Markdown, for a ticket
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,

    /// Also as one self-contained page, in this file
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// With --html: replace a file that is no report
    #[arg(long, requires = "html")]
    pub force: bool,

    /// Which store.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Does it.
pub fn open(args: &CompareArgs) -> Result<Exit, Failure> {
    let figures: Vec<Figure<'_>> = METRICS.iter().map(|metric| metric.figure).collect();
    let gate = args.fail_if.as_deref().map(|text| {
        Gate::parse(text, &figures)
            .map_err(|error| Failure::with(Exit::Usage, format!("--fail-if: {error}")))
    });
    let gate = gate.transpose()?;
    let store = args.store.existing()?;
    let (a, b) = (side(&store, &args.a)?, side(&store, &args.b)?);
    let options = CompareOptions {
        paired: args.paired,
        ..CompareOptions::default()
    };
    let pairs = comparison::pairs(&a, &b)?;
    let compared: Vec<(&Pair<'_>, Vec<Compared>)> = pairs
        .iter()
        .map(|pair| (pair, pair.compare(&options)))
        .collect();
    let surroundings = surroundings(&store, &pairs[0])?;
    let verdict = gate.as_ref().map(|gate| judge(gate, &compared));
    if args.html.is_some() || args.markdown {
        let gate = args.fail_if.as_deref().zip(verdict.as_ref());
        let document = page::compare(
            &store,
            &page::Sides {
                a: &args.a,
                b: &args.b,
                compared: &compared,
                paired: args.paired,
                surroundings: &surroundings,
                gate: gate.map(|(text, judged)| (text, judged.passes, judged.words.join("; "))),
                command: &command_line::of_process(),
            },
        )?;
        if let Some(path) = &args.html {
            super::report::put(path, args.force, super::report::title(&document), &document)?;
        }
        if args.markdown {
            write_answer(format_args!("{}", markdown::text(&document)))?;
        }
    }
    if args.markdown {
        // That was the answer.
    } else if args.json {
        let points = compared
            .iter()
            .map(|(pair, figures)| point_json(pair, figures));
        answer!(
            "{:#}",
            json!({
                "points": points.collect::<Vec<_>>(),
                "differences": surroundings.iter().map(|(what, a, b)| {
                    json!({ "what": what, "a": a, "b": b })
                }).collect::<Vec<_>>(),
            })
        )?;
    } else {
        for (pair, figures) in &compared {
            write_answer(format_args!("{}\n", point_text(pair, figures)))?;
        }
        if surroundings.is_empty() {
            answer!("no differences of settings, versions and environment are recorded")?;
        } else {
            let mut table = Table::default();
            table.row(["differs", "A", "B"]);
            for (what, a, b) in &surroundings {
                table.row([what, a, b]);
            }
            write_answer(format_args!("{}", table.text(width())))?;
        }
    }
    let Some(judged) = verdict else {
        return Ok(Exit::Ok);
    };
    for words in &judged.words {
        crate::say::remark!("pgdyno: {words}");
    }
    Ok(match judged.passes {
        Some(true) => Exit::Ok,
        _ => Exit::Failed,
    })
}

fn width() -> usize {
    terminal::width().map_or(WIDTH_DEFAULT, usize::from)
}

/// What differs in how the first trials of both sides were measured.
fn surroundings(store: &Store, pair: &Pair<'_>) -> Result<Vec<(String, String, String)>, Failure> {
    let kept = |trials: &[&TrialRow]| -> Result<Value, Failure> {
        let Some(first) = trials.first() else {
            return Ok(Value::Null);
        };
        let document = json!(documents::run(&store.outcome(first.number)?));
        let mut trial = document["trial"].clone();
        if let Some(trial) = trial.as_object_mut() {
            // Each repeat has its own.
            trial.remove("seed");
        }
        let mut facts = document["target"]["facts"].clone();
        if let Some(facts) = facts.as_object_mut() {
            // It grows with every trial.
            facts.remove("database_size_bytes");
        }
        Ok(json!({
            "pgdyno": first.pgdyno,
            "trial": trial,
            "variables": document["workload"]["variables"],
            "target": document["target"]["title"],
            "server": facts,
            "host": document["host"],
        }))
    };
    Ok(comparison::differences(&kept(&pair.a)?, &kept(&pair.b)?))
}

fn point_text(pair: &Pair<'_>, compared: &[Compared]) -> String {
    let mut table = Table::default();
    table.row([pair.title.as_str(), "A", "", "B", "", "B beside A"]);
    for (metric, result) in compared {
        let Figure { name, unit } = metric.figure;
        let name = match unit {
            Unit::TimeUs => format!("{name}, ms"),
            _ => format!("{name}, tx/s"),
        };
        match result {
            Ok(comparison) => table.row([
                name,
                metric.shown(comparison.a.median),
                metric.spread(&comparison.a),
                metric.shown(comparison.b.median),
                metric.spread(&comparison.b),
                verdict(comparison),
            ]),
            Err(why) => table.row([
                name,
                "–".to_owned(),
                String::new(),
                "–".to_owned(),
                String::new(),
                why.clone(),
            ]),
        }
    }
    let (a, b) = (pair.a.len(), pair.b.len());
    format!(
        "{}medians of {a} and {b} trials; [ ] 95 % interval, ( ) range\n",
        table.text(width())
    )
}

fn verdict(comparison: &Comparison) -> String {
    let change = pgdyno_model::text::change;
    let by = comparison.ratio.map_or(String::new(), |ratio| {
        let interval = ratio.interval.map_or(String::new(), |interval| {
            let (low, high) = (change(interval.low - 1.0), change(interval.high - 1.0));
            format!(" [{low}, {high}]")
        });
        format!("{}{interval}", change(ratio.estimate - 1.0))
    });
    match comparison.verdict {
        Verdict::NotEnoughRepeats { need, .. } => format!("not enough repeats ({need} a side)"),
        Verdict::NoSignificantDifference => format!("no significant difference, {by}"),
        Verdict::Different { direction } => match direction {
            Direction::Higher => format!("higher, {by}"),
            Direction::Lower => format!("lower, {by}"),
        },
    }
}

fn point_json(pair: &Pair<'_>, compared: &[Compared]) -> Value {
    let summary = |summary: &Summary| {
        json!({
            "n": summary.n,
            "median": summary.median,
            "min": summary.min,
            "max": summary.max,
            "interval": summary.interval.map(|interval| [interval.low, interval.high]),
        })
    };
    let figure = |(metric, result): &Compared| {
        let figure = match result {
            Err(why) => json!({ "not_compared": why }),
            Ok(comparison) => json!({
                "a": summary(&comparison.a),
                "b": summary(&comparison.b),
                "paired": comparison.paired,
                "change": comparison.change(),
                "change_interval": comparison.ratio.and_then(|ratio| ratio.interval)
                    .map(|interval| [interval.low - 1.0, interval.high - 1.0]),
                "p": comparison.p,
                "verdict": match comparison.verdict {
                    Verdict::NotEnoughRepeats { .. } => "not-enough-repeats",
                    Verdict::NoSignificantDifference => "no-significant-difference",
                    Verdict::Different { direction: Direction::Higher } => "higher",
                    Verdict::Different { direction: Direction::Lower } => "lower",
                },
            }),
        };
        (metric.figure.name.to_owned(), figure)
    };
    let numbers = |trials: &[&TrialRow]| trials.iter().map(|t| t.number).collect::<Vec<_>>();
    json!({
        "point": pair.title,
        "a": numbers(&pair.a),
        "b": numbers(&pair.b),
        "figures": compared.iter().map(figure).collect::<serde_json::Map<_, _>>(),
    })
}

/// The exit code for machines; what was found is told.
/// What a gate says of all points.
struct Judged {
    /// `None` when it cannot be told of one, and none fails.
    passes: Option<bool>,
    words: Vec<String>,
}

fn judge(gate: &Gate, compared: &[(&Pair<'_>, Vec<Compared>)]) -> Judged {
    let mut judged = Judged {
        passes: Some(true),
        words: Vec::new(),
    };
    for (pair, figures) in compared {
        let comparison = |name: &str| {
            let found = figures
                .iter()
                .find(|(metric, _)| metric.figure.name == name);
            found.and_then(|(_, result)| result.as_ref().ok())
        };
        let (outcome, tested) = gate.evaluate(comparison);
        let tested = tested.iter();
        judged
            .words
            .extend(tested.map(|tested| format!("{}: {tested}", pair.title)));
        judged.passes = match (judged.passes, outcome) {
            (Some(false), _) | (_, GateOutcome::Fails) => Some(false),
            (None, _) | (_, GateOutcome::CannotTell) => None,
            (passes, GateOutcome::Passes) => passes,
        };
    }
    judged
}
