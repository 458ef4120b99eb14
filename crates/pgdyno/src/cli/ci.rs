//! `pgdyno ci`: whether a change may be merged, by two sides that are measured by turns, or at once, until a gate is
//! decided or the time is over.

mod duet;
mod side;
mod turns;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use pgdyno_model::document::GateResult;
use pgdyno_model::document::ci::{Ci, CiSide};
use pgdyno_model::notebook::TrialRow;
use pgdyno_output::{JsonArg, StoreArgs, Verbosity, remark, write_answer};
use pgdyno_platform::Output;
use pgdyno_report::{ci, notes};
use pgdyno_run::prepare;
use pgdyno_spec::{Exit, Failure, TrialSpec, Warmup, duration, seed_from_clock, text};
use pgdyno_stats::gate::{Gate, GateError, Outcome};
use pgdyno_stats::{Look, Ongoing};
use pgdyno_store::Store;

use super::pack_args::PackArgs;
use super::run::{tag, whole_paths};
use side::{Ready, Side};

/// The workload's scale where nothing else is said: small enough for memory and a start in seconds.
const SCALE: &str = "scale=5";

/// What the sides are called in the notebook.
const NAMES: [&str; 2] = ["base", "head"];

/// Which two, and how they are judged.
#[derive(Debug, Args)]
#[command(after_help = "\
What --base and --head can be:
  /opt/pg/bin                 PostgreSQL's programs: a private server of them
  postgresql://ci@db1/bench   a server that runs (also key=value pairs)
  base.conf                   settings, as in postgresql.conf: a private server with them
  base.sql                    a schema: a private server, where this is run on the loaded tables

Examples:
  pgdyno ci --base /opt/base/bin --head /opt/head/bin --fail-unless 'goodput > -5%'
  pgdyno ci --base main.sql --head branch.sql --workload ./my-pack --time-budget 5m
  pgdyno ci --base old/bin --head new/bin --duet              both at once, on half of the CPUs each
  pgdyno ci … --markdown comment.md --junit junit.xml --json=ci.json

The answer is pass, fail or cannot tell; exit codes 0, 1 and 4 (other codes: it could not be measured; pgdyno
--help). It comes as soon as it is sure, and looking at it several times makes no more false alarms: 5 of 100
at most for all looks at all figures.
How it is judged, by turns or at once: pgdyno help ci")]
pub struct CiArgs {
    /// What is there already (A)
    #[arg(long, value_name = "SIDE")]
    pub base: String,

    /// What is to be judged (B)
    #[arg(long, value_name = "SIDE")]
    pub head: String,

    /// Pass when it is shown: a loss of 5 % is excluded; fail when a loss of 5 % is shown
    /// [default: goodput > -5%]
    #[arg(long, value_name = "GATE")]
    pub fail_unless: Option<String>,

    /// Fail only when it is shown: 'p99 > +10%, goodput < -5%'; as for pgdyno compare
    #[arg(long, value_name = "GATE", conflicts_with = "fail_unless")]
    pub fail_if: Option<String>,

    /// What the exit code is when it cannot tell [default: 4]
    #[arg(long, value_enum, value_name = "ANSWER")]
    pub cannot_tell: Option<CannotTell>,

    /// Measure both at once, each with its clients on half of the CPUs, halves swapped within each block: for
    /// machines with noisy neighbours. Both sides must be private servers
    #[arg(long)]
    pub duet: bool,

    /// How long it may take, from the first trial on; it ends earlier when the answer is sure
    #[arg(long, value_name = "TIME", value_parser = duration::parse_positive, default_value = "15m")]
    pub time_budget: Duration,

    /// At most so many blocks, whatever time is left: each has two trials a side
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub blocks: Option<u32>,

    /// A pack by name or folder, or a script file
    #[arg(
        long,
        value_name = "WORKLOAD",
        default_value = "tpcb",
        help_heading = "Workload"
    )]
    pub workload: String,

    /// One of the pack's mixes
    #[arg(long, value_name = "NAME", help_heading = "Workload")]
    pub mix: Option<String>,

    /// Parameters of the workload.
    #[command(flatten)]
    pub pack: PackArgs,

    /// Clients at the same time; one shows best what a transaction costs
    #[arg(short, long, value_name = "COUNT", default_value_t = 1, help_heading = "Workload",
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub clients: u32,

    /// How long each trial measures. Many short ones show more than few long ones: what disturbs a machine
    /// lasts for seconds
    #[arg(short = 'T', long, value_name = "TIME", value_parser = duration::parse_positive,
          default_value = "2s", help_heading = "Workload")]
    pub duration: Duration,

    /// Load before it
    #[arg(long, value_name = "TIME", value_parser = duration::parse, default_value = "0.5s", help_heading = "Workload")]
    pub warmup: Duration,

    /// Seed of the random numbers [default: from the clock]
    #[arg(
        long,
        value_name = "NUMBER",
        allow_negative_numbers = true,
        help_heading = "Workload"
    )]
    pub seed: Option<i64>,

    /// Private servers that are no programs of their own: the directory of theirs
    #[arg(long, value_name = "DIR", help_heading = "Private servers")]
    pub pg_bindir: Option<PathBuf>,

    /// Setting of the private servers of both sides (repeatable). Without another, synchronous_commit is off:
    /// the disks of CI machines are noise. A side's own settings come later
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Private servers")]
    pub pg_set: Vec<String>,

    /// Unprivileged system user that runs the private servers when pgdyno runs as root
    #[arg(long, value_name = "USER", help_heading = "Private servers")]
    pub pg_user: Option<String>,

    /// The answer in Markdown, for a pull request
    #[arg(long, value_name = "FILE", help_heading = "Result")]
    pub markdown: Option<PathBuf>,

    /// The answer as JUnit's XML: a test for each condition
    #[arg(long, value_name = "FILE", help_heading = "Result")]
    pub junit: Option<PathBuf>,

    /// `--json`.
    #[command(flatten, next_help_heading = "Result")]
    pub json: JsonArg,

    /// What the trials are called in the notebook: an experiment's name, of a duet the beginning of a tag
    #[arg(long, value_name = "NAME", value_parser = tag, default_value = "ci", help_heading = "Result")]
    pub name: String,

    /// Tag of all trials in the notebook (repeatable)
    #[arg(long, value_name = "TAG", value_parser = tag, help_heading = "Result")]
    pub tag: Vec<String>,

    /// The notebook's options.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// What "cannot tell" is to be for a CI server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CannotTell {
    /// Exit code 0
    Pass,
    /// Exit code 1
    Fail,
}

/// So many times the blocks that there are, and more time is no advice.
const BLOCKS_FAR: f64 = 20.0;

/// What a way of measuring came to.
struct Measured {
    base: Vec<TrialRow>,
    head: Vec<TrialRow>,
    looks: Vec<Look>,
    elapsed: Duration,
    kept_as: String,
    /// The exit code of the signal that cut it short.
    interrupted: Option<u8>,
}

/// What all ways of measuring have.
struct Asked<'a> {
    args: &'a CiArgs,
    spec: TrialSpec,
    ongoing: Ongoing,
    verbosity: Verbosity,
    store: &'a Store,
    /// Which side of a block comes first is drawn from it.
    seed: i64,
}

impl Asked<'_> {
    /// Looks at the blocks so far, if it is time: whether the measuring is over.
    fn is_over(
        &mut self,
        (base, head): (&[TrialRow], &[TrialRow]),
        share: f64,
        looks: &mut Vec<Look>,
    ) -> Result<bool, Failure> {
        if !self.ongoing.is_due(share) {
            if !self.verbosity.quiet {
                let found = ci::judged_figures(self.ongoing.gate(), base, head, None);
                let blocks = base.len().min(head.len()) / 2;
                remark!("pgdyno: ci: {}", ci::block(&found, blocks, share));
            }
            return Ok(false);
        }
        let figures = ci::of_blocks(self.ongoing.gate(), base, head);
        let look = self.ongoing.look(&figures, share);
        let look = look.map_err(|error| Failure::new(error.to_string()))?;
        let Some(look) = look else {
            return Ok(share >= 1.0);
        };
        if !self.verbosity.quiet {
            remark!("pgdyno: ci: {}", ci::look(&look));
        }
        let is_decided = look.outcome != Outcome::CannotTell;
        looks.push(look);
        Ok(is_decided || share >= 1.0)
    }
}

/// The share of the budget that is over, of time or blocks; 1 where no other block fits in.
fn share(args: &CiArgs, elapsed: Duration, blocks: u32) -> f64 {
    let of_block = elapsed / blocks.max(1);
    let of_time = if elapsed + of_block > args.time_budget {
        1.0
    } else {
        elapsed.as_secs_f64() / args.time_budget.as_secs_f64()
    };
    let of_blocks = args
        .blocks
        .map_or(0.0, |most| f64::from(blocks) / f64::from(most));
    of_time.max(of_blocks).min(1.0)
}

/// Runs the command.
pub fn open(args: &CiArgs, verbosity: Verbosity) -> Result<Exit, Failure> {
    let (gate_text, gate) = gate(args)?;
    let base = Side::of("--base", &args.base)?;
    let head = Side::of("--head", &args.head)?;
    side::check(&base, &head, args)?;
    let spec = spec(args)?;
    let json_to = args.json.open()?;
    let [markdown, junit] = [&args.markdown, &args.junit].map(|path| {
        let file = path
            .as_ref()
            .map(|path| Output::open(path).map_err(|e| unwritten(path, &e)));
        file.transpose()
    });
    let (markdown, junit) = (markdown?, junit?);
    let store = args.store.open()?;
    store.check_writable()?;
    let interrupts = pgdyno_run::interrupts()?;
    let base = base.start("--base", args, &spec, verbosity, interrupts)?;
    let head = head.start("--head", args, &spec, verbosity, interrupts)?;
    let mut asked = Asked {
        args,
        spec,
        ongoing: Ongoing::new(gate),
        verbosity,
        store: &store,
        seed: args.seed.unwrap_or_else(seed_from_clock),
    };
    if !verbosity.quiet {
        let (mode, budget) = (mode(args), text::as_typed(args.time_budget));
        remark!("pgdyno: ci: measuring {mode}, for {budget} at most");
    }
    let measured = if args.duet {
        duet::measure(&mut asked, [&base, &head], interrupts)?
    } else {
        turns::measure(&mut asked, [&base, &head], interrupts)?
    };
    let document = document(&asked, (&gate_text, &measured), [&base, &head])?;
    let interrupted = measured.interrupted;
    let cannot_tell = args.cannot_tell.map(|as_what| match as_what {
        CannotTell::Pass => GateResult::Passed,
        CannotTell::Fail => GateResult::Failed,
    });
    if let Some(file) = markdown {
        write(file, &ci::markdown(&document))?;
    }
    if let Some(file) = junit {
        write(file, &ci::junit(&document, cannot_tell))?;
    }
    let written = json_to.write(&document);
    if !args.json.replaces_text() {
        write_answer(format_args!("{}", ci::text(&document)))?;
    }
    written?;
    if let Some(code) = interrupted {
        return Ok(Exit::Interrupted(code));
    }
    let answer = match (document.answer, cannot_tell) {
        (GateResult::CannotTell, Some(as_what)) => as_what,
        (answer, _) => answer,
    };
    Ok(match answer {
        GateResult::Passed => Exit::Ok,
        GateResult::Failed => Exit::Failed,
        GateResult::CannotTell => Exit::CannotTell,
    })
}

/// The gate and its words.
fn gate(args: &CiArgs) -> Result<(String, Gate), Failure> {
    type Parse = fn(&str, &[pgdyno_stats::gate::Figure<'_>]) -> Result<Gate, GateError>;
    let (option, text, parse): (&str, &str, Parse) = match (&args.fail_if, &args.fail_unless) {
        (Some(text), _) => ("--fail-if", text, Gate::parse),
        (None, Some(text)) => ("--fail-unless", text, Gate::parse_required),
        (None, None) => ("--fail-unless", "goodput > -5%", Gate::parse_required),
    };
    let gate = parse(text, &ci::figures())
        .map_err(|error| Failure::with(Exit::Usage, format!("{option}: {error}")))?;
    Ok((format!("{option} '{text}'"), gate))
}

/// A trial of either side, without its target.
fn spec(args: &CiArgs) -> Result<TrialSpec, Failure> {
    args.pack.pairs()?;
    let mut params = args.pack.param.clone();
    if args.workload == "tpcb" && params.is_empty() {
        params.push(SCALE.to_owned());
    }
    let workload = whole_paths(vec![args.workload.clone()]);
    let spec = TrialSpec {
        clients: Some(args.clients.into()),
        duration: Some(args.duration),
        warmup: Warmup::Given(args.warmup),
        mix: args.mix.clone(),
        params,
        seed: args.seed,
        workload,
        ..TrialSpec::default()
    };
    spec.check()?;
    prepare::check(&spec)?;
    Ok(spec)
}

fn document(
    asked: &Asked<'_>,
    (gate, measured): (&str, &Measured),
    sides: [&Ready; 2],
) -> Result<Ci, Failure> {
    let args = asked.args;
    let parsed = asked.ongoing.gate();
    let blocks = measured.base.len().min(measured.head.len()) / 2;
    let interim = match measured.interrupted {
        Some(_) => {
            let figures = ci::of_blocks(parsed, &measured.base, &measured.head);
            let share = share(args, measured.elapsed, blocks as u32);
            let interim = asked.ongoing.interim(&figures, share);
            interim.map_err(|error| Failure::new(error.to_string()))?
        }
        None => None,
    };
    let last = match measured.interrupted {
        Some(_) => interim.as_ref(),
        None => measured.looks.last(),
    };
    let of_side = |ready: &Ready, trials: &[TrialRow]| CiSide {
        given: ready.given.clone(),
        kind: ready.kind,
        version: trials.iter().find_map(|trial| trial.server_version.clone()),
        trials: trials.iter().map(|trial| trial.number).collect(),
    };
    let answer = last.map_or(GateResult::CannotTell, |look| ci::result(look.outcome));
    let all = measured.base.iter().chain(&measured.head);
    Ok(Ci {
        answer,
        gate: gate.to_owned(),
        mode: mode(args),
        workload: args.workload.clone(),
        clients: args.clients,
        trial_s: args.duration.as_secs_f64(),
        budget_s: args.time_budget.as_secs_f64(),
        elapsed_s: measured.elapsed.as_secs_f64(),
        blocks,
        seed: asked.seed,
        interrupted: measured.interrupted.is_some(),
        base: of_side(sides[0], &measured.base),
        head: of_side(sides[1], &measured.head),
        figures: ci::judged_figures(parsed, &measured.base, &measured.head, last),
        conditions: ci::conditions(parsed, last),
        looks: measured.looks.iter().map(ci::of_look).collect(),
        notes: notes::of(asked.store, all)?,
        advice: (answer == GateResult::CannotTell).then(|| advice(asked, last, measured.elapsed)),
        kept_as: measured.kept_as.clone(),
    })
}

fn mode(args: &CiArgs) -> &'static str {
    if args.duet { "duet" } else { "by turns" }
}

/// What would tell: how many blocks more, where an interval says it, and what else helps.
fn advice(asked: &Asked<'_>, last: Option<&Look>, elapsed: Duration) -> String {
    let duet = if asked.args.duet {
        ""
    } else {
        ", --duet where neighbours make the noise"
    };
    let others = format!("a quieter machine{duet}");
    let Some((look, needed)) =
        last.and_then(|look| Some((look, asked.ongoing.blocks_needed(look)?)))
    else {
        let budget = text::as_typed(asked.args.time_budget);
        return format!(
            "to decide: more blocks, there are too few for an interval; more time than {budget}, {others}"
        );
    };
    let more = (needed - look.blocks as f64).max(1.0).ceil();
    let time = elapsed.mul_f64(more / look.blocks as f64);
    if more > BLOCKS_FAR * look.blocks as f64 {
        format!(
            "to decide: {others}; with this noise it takes more than {BLOCKS_FAR} times these blocks, as the \
             change is near the threshold"
        )
    } else {
        format!(
            "to decide: about {} more, {}, if the change stays the same; {others}",
            text::plural(more as u64, "block"),
            text::about(time)
        )
    }
}

fn write(file: Output, text: &str) -> Result<(), Failure> {
    let path = file.path().to_owned();
    file.replace(text.as_bytes())
        .map_err(|error| unwritten(&path, &error))
}

fn unwritten(path: &std::path::Path, error: &std::io::Error) -> Failure {
    let text = format!("could not write {}: {error}", path.display());
    Failure::with(Exit::Usage, text).with_missing_folder(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Verb};
    use clap::Parser;

    fn args(more: &[&str]) -> CiArgs {
        let words = [
            "pgdyno",
            "ci",
            "--base",
            "a",
            "--head",
            "b",
            "--time-budget",
            "100s",
        ];
        let cli = Cli::try_parse_from([&words, more].concat()).unwrap();
        let Verb::Ci(args) = cli.verb else {
            panic!("it is pgdyno ci");
        };
        *args
    }

    #[test]
    fn the_budget_ends_where_no_other_block_fits_in() {
        let of = |more: &[&str], seconds: u64, blocks: u32| {
            share(&args(more), Duration::from_secs(seconds), blocks)
        };
        assert_eq!(of(&[], 50, 5), 0.5);
        assert_eq!(of(&[], 90, 9), 0.9, "another ten seconds fit in");
        assert_eq!(of(&[], 91, 9), 1.0);
        assert_eq!(of(&[], 120, 1), 1.0);
        assert_eq!(of(&["--blocks", "10"], 1, 4), 0.4);
        assert_eq!(of(&["--blocks", "10"], 1, 10), 1.0);
        assert_eq!(of(&["--blocks", "10"], 50, 2), 0.5);
    }

    #[test]
    fn a_gate_is_required_unless_it_is_bad() {
        let text = |more: &[&str]| gate(&args(more)).map(|(text, _)| text);
        assert_eq!(text(&[]).unwrap(), "--fail-unless 'goodput > -5%'");
        assert_eq!(
            text(&["--fail-if", "p99 > +5%"]).unwrap(),
            "--fail-if 'p99 > +5%'"
        );
        // What would fail when nothing changed.
        assert_eq!(
            text(&["--fail-if", "p99 > -5%"]).unwrap_err().exit,
            Exit::Usage
        );
    }
}
