//! `pgdyno compare`: two sets of trials of the notebook beside each other.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use pgdyno_stats::CompareOptions;
use pgdyno_stats::gate::{Figure, Gate, Outcome as GateOutcome};
use serde::Serialize;
use serde_json::Value;

use super::trials_arg::trials as side;
use pgdyno_model::document::Facts;
use pgdyno_model::notebook::TrialRow;
use pgdyno_model::{Exit, Fact, Failure, TrialSpec, document};
use pgdyno_output::{StoreArgs, answer, sorted, width, write_answer};
use pgdyno_report::comparison::{self, Compared, METRICS, Pair};
use pgdyno_report::{documents, markdown, page};
use pgdyno_run::command_line;
use pgdyno_store::Store;

/// What to compare, and how.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pgdyno compare 3-8 9-14                        trials by their numbers
  pgdyno compare before after                    two experiments, by name, point by point
  pgdyno compare tag:pg17 tag:pg18 --paired      interleaved repeats
  pgdyno compare 3-8 9-14 --fail-if 'p99 > +5%, goodput < -3%'

A verdict needs five repeats a side, six for --paired; only complete trials count, and none
that are excluded. With --fail-if the exit code is 1 when a condition is met or cannot be decided.
How it is computed: docs/statistics.md")]
pub struct CompareArgs {
    /// An experiment's name or the first characters of its UUID, tag:NAME, or trials: 3-8, 3,5,7
    #[arg(value_name = "A")]
    pub a: String,

    /// The set to compare with A, named the same way
    #[arg(value_name = "B")]
    pub b: String,

    /// Compare the first repeat of A with the first of B, and so on: for interleaved repeats, so
    /// that shared drift cancels out
    #[arg(long)]
    pub paired: bool,

    /// Fail when a figure is worse: goodput, p50, p90, p95, p99, p99.9, with `>` or `<`, a change
    /// (+5%, +2ms) or a level (20ms); separated by commas; one is enough to fail
    #[arg(long, value_name = "GATE")]
    pub fail_if: Option<String>,

    /// Print JSON
    #[arg(long)]
    pub json: bool,

    /// Print Markdown, for a ticket
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,

    /// Also write one self-contained HTML page to this file
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// With --html: overwrite a file that is not a report
    #[arg(long, requires = "html")]
    pub force: bool,

    /// The notebook's options.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Runs the command.
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
        let gate = args.fail_if.as_ref().zip(verdict.as_ref());
        let gate = gate.map(|(condition, judged)| document::Gate {
            condition: condition.clone(),
            result: match judged.passes {
                Some(true) => document::GateResult::Passed,
                Some(false) => document::GateResult::Failed,
                None => document::GateResult::CannotTell,
            },
            sentence: judged.words.join("; "),
        });
        let document = page::compare(
            &store,
            &page::Sides {
                a: &args.a,
                b: &args.b,
                compared: &compared,
                paired: args.paired,
                surroundings: &surroundings,
                gate,
                command: &command_line::of_process(),
            },
        )?;
        if let Some(path) = &args.html {
            super::report::put(path, args.force, &document.common.title, &document)?;
        }
        if args.markdown {
            write_answer(format_args!("{}", markdown::comparison(&document)))?;
        }
    }
    if args.markdown {
        // That was the answer.
    } else {
        let document = comparison::document(&compared, &surroundings);
        match args.json {
            true => answer!("{:#}", sorted(&document)?)?,
            false => write_answer(format_args!("{}", comparison::text(&document, width())))?,
        }
    }
    let Some(judged) = verdict else {
        return Ok(Exit::Ok);
    };
    for words in &judged.words {
        pgdyno_output::remark!("pgdyno: {words}");
    }
    Ok(match judged.passes {
        Some(true) => Exit::Ok,
        _ => Exit::Failed,
    })
}

/// How a side was measured: that of its first trial.
#[derive(Serialize)]
struct Surroundings {
    pgdyno: String,
    trial: TrialSpec,
    variables: BTreeMap<String, String>,
    target: String,
    server: Facts,
    host: document::Host,
}

/// What differs in how the first trials of both sides were measured.
fn surroundings(store: &Store, pair: &Pair<'_>) -> Result<Vec<(String, String, String)>, Failure> {
    let kept = |trials: &[&TrialRow]| -> Result<Value, Failure> {
        let Some(first) = trials.first() else {
            return Ok(Value::Null);
        };
        let run = documents::run(&store.outcome(first.number)?);
        sorted(&Surroundings {
            pgdyno: first.pgdyno.clone(),
            trial: TrialSpec {
                // Each repeat has its own.
                seed: None,
                ..run.trial
            },
            variables: run.workload.variables,
            target: run.target.title,
            server: Facts {
                // It grows with every trial.
                database_size_bytes: Fact::default(),
                ..run.target.facts
            },
            host: run.host,
        })
    };
    Ok(comparison::differences(&kept(&pair.a)?, &kept(&pair.b)?))
}

/// What a gate says of all points.
struct Judged {
    /// `None` when it cannot be determined of one, and none fails.
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
