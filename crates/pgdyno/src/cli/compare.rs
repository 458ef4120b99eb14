//! `pgdyno compare`: two sets of trials of the notebook beside each other.

use std::path::PathBuf;

use clap::Args;
use pgdyno_stats::CompareOptions;
use pgdyno_stats::gate::{Figure, Gate, GateError, Outcome as GateOutcome};

use super::trials_arg::set;
use pgdyno_model::document::comparison::Lacking;
use pgdyno_model::document::page::ComparePage;
use pgdyno_model::{Severity, document};
use pgdyno_output::{StoreArgs, answer, sorted, width, write_answer, write_report};
use pgdyno_report::comparison::{self, Around, Compared, METRICS, Matched, Pair, Set};
use pgdyno_report::{markdown, notes, page};
use pgdyno_run::command_line;
use pgdyno_spec::{Exit, Failure};
use pgdyno_store::Store;

/// What to compare, and how.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pgdyno compare 3-8 9-14                        trials by their numbers
  pgdyno compare before after                    two experiments, by name, point by point
  pgdyno compare mine:clients=1 mine:clients=4   two points of one experiment
  pgdyno compare tag:pg17 tag:pg18 --paired      repeats that ran by turns
  pgdyno compare 3-8 9-14 --fail-if 'p99 > +5%, goodput < -3%'
  pgdyno compare 3-8 9-14 --fail-unless 'goodput > -5%'

A verdict on one point needs five repeats a side, seven for --paired, more for several points;
only complete trials count, and none that are excluded. Points of a sweep are compared within the
blocks in which their order was drawn. Sides that did not run by turns are not called different. With a gate the exit code is 1 when it
fails and 4 when it cannot tell.
How it is computed: pgdyno help statistics")]
pub struct CompareArgs {
    /// An experiment's name or the first characters of its UUID, tag:NAME, or trials: 3-8, 3,5,7
    #[arg(value_name = "A")]
    pub a: String,

    /// The set to compare with A, named the same way
    #[arg(value_name = "B")]
    pub b: String,

    /// Compare the first repeat of A with the first of B, and so on: for repeats that ran by turns in an
    /// order that was not drawn, so that shared drift cancels out
    #[arg(long)]
    pub paired: bool,

    /// Fail when a figure is worse: goodput, p50, p90, p95, p99, p99.9, with `>` or `<`, a change
    /// (+5%, +2ms) or a level (20ms); separated by commas; one is enough to fail
    #[arg(long, value_name = "GATE")]
    pub fail_if: Option<String>,

    /// Fail unless it is shown: `goodput > -5%` passes only when a loss of 5 % is excluded; all of
    /// several conditions, separated by commas
    #[arg(long, value_name = "GATE", conflicts_with = "fail_if")]
    pub fail_unless: Option<String>,

    /// Let a gate decide on trials with serious validity notes
    #[arg(long)]
    pub accept_serious: bool,

    /// Call sides different that did not run by turns, where no drift over time explains as much. Its
    /// price: of the same beside the same, up to 15 of 100 differ where the machine changes by a step at
    /// some moment, all where it does so between the sides
    #[arg(long)]
    pub accept_order: bool,

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
    let gate = Asked::of(args, &figures)?;
    let store = args.store.existing()?;
    let (a, b) = (set(&store, &args.a)?, set(&store, &args.b)?);
    let options = CompareOptions {
        paired: args.paired,
        needs_turns: !args.accept_order,
        ..CompareOptions::default()
    };
    let Comparisons {
        pairs,
        figures,
        around,
    } = Comparisons::of(&store, &a, &b, &options)?;
    let compared: Vec<(&Pair<'_>, Vec<Compared>)> = pairs.iter().zip(figures).collect();
    let verdict = gate
        .as_ref()
        .map(|asked| asked.judge(&compared, &around, args.accept_serious));
    if args.html.is_some() || args.markdown {
        let gate = gate.as_ref().zip(verdict.as_ref());
        let gate = gate.map(|(asked, judged)| document::Gate {
            condition: asked.text.clone(),
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
                around: &around,
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
        let document = comparison::document(&compared, &around);
        if args.json {
            answer!("{:#}", sorted(&document)?)?
        } else {
            write_report(format_args!("{}", comparison::text(&document, width())))?
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
        Some(false) => Exit::Failed,
        None => Exit::CannotTell,
    })
}

/// The page of a comparison without a gate, of sets as they are named on the command line.
///
/// # Errors
/// A side names nothing; the store cannot be read.
pub fn page(store: &Store, a: &str, b: &str, paired: bool) -> Result<ComparePage, Failure> {
    let sets = (set(store, a)?, set(store, b)?);
    let options = CompareOptions {
        paired,
        needs_turns: true,
        ..CompareOptions::default()
    };
    let Comparisons {
        pairs,
        figures,
        around,
    } = Comparisons::of(store, &sets.0, &sets.1, &options)?;
    let compared: Vec<(&Pair<'_>, Vec<Compared>)> = pairs.iter().zip(figures).collect();
    let flag = if paired { " --paired" } else { "" };
    let command = format!(
        "pgdyno compare {} {}{flag}",
        command_line::quoted(a),
        command_line::quoted(b)
    );
    page::compare(
        store,
        &page::Sides {
            a,
            b,
            compared: &compared,
            paired,
            around: &around,
            gate: None,
            command: &command,
        },
    )
}

/// What a comparison of two sets finds.
struct Comparisons<'a> {
    pairs: Vec<Pair<'a>>,
    /// Of each pair.
    figures: Vec<Vec<Compared>>,
    around: Around,
}

impl<'a> Comparisons<'a> {
    fn of(
        store: &Store,
        a: &'a Set,
        b: &'a Set,
        options: &CompareOptions,
    ) -> Result<Self, Failure> {
        let Matched { mut pairs, lacking } = comparison::matched(a, b)?;
        for pair in &mut pairs {
            pair.look_up_order(store)?;
        }
        let figures = comparison::compared(&pairs, options)?;
        // How the first trials of both sides were measured.
        let sides = [&pairs[0].a, &pairs[0].b];
        let [a_side, b_side] = sides.map(|trials| comparison::surroundings(store, trials));
        let (differences, left_out) = comparison::differences(&a_side?, &b_side?);
        let notes = notes::of(store, a.trials.iter().chain(&b.trials))?;
        let within = comparison::Within::of(&pairs, [store, store])?;
        Ok(Self {
            pairs,
            figures,
            around: Around {
                lacking,
                notes,
                differences,
                left_out,
                within,
            },
        })
    }
}

/// What a gate says of all points.
struct Judged {
    /// `None` when it cannot be determined of one, and none fails.
    passes: Option<bool>,
    words: Vec<String>,
}

/// A gate as it was given.
struct Asked {
    text: String,
    gate: Gate,
}

impl Asked {
    fn of(args: &CompareArgs, figures: &[Figure<'_>]) -> Result<Option<Asked>, Failure> {
        type Parse = fn(&str, &[Figure<'_>]) -> Result<Gate, GateError>;
        let (option, text, parse): (&str, &String, Parse) = match (&args.fail_if, &args.fail_unless)
        {
            (Some(text), _) => ("--fail-if", text, Gate::parse),
            (None, Some(text)) => ("--fail-unless", text, Gate::parse_required),
            (None, None) => return Ok(None),
        };
        let gate = parse(text, figures)
            .map_err(|error| Failure::with(Exit::Usage, format!("{option}: {error}")))?;
        Ok(Some(Asked {
            text: format!("{option} '{text}'"),
            gate,
        }))
    }

    fn judge(
        &self,
        compared: &[(&Pair<'_>, Vec<Compared>)],
        around: &Around,
        accepts_serious: bool,
    ) -> Judged {
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
            let (outcome, tested) = self.gate.evaluate(comparison);
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
        for Lacking { point, side } in &around.lacking {
            let words = format!("{point}: cannot tell: {side} has no trials of it");
            judged.words.push(words);
            judged.passes = judged.passes.filter(|passes| !passes);
        }
        let serious = around.notes.iter();
        let serious = serious.filter(|of| of.note.severity == Severity::Serious);
        for of in serious.filter(|_| !accepts_serious) {
            judged
                .words
                .push(format!("cannot tell: SERIOUS {}", of.words()));
            judged.passes = None;
        }
        judged
    }
}
