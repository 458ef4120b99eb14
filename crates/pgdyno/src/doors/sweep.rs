//! `pgdyno sweep`: a matrix of trials from a file, a preset or pgbench-tools' configuration.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, builder::PossibleValuesParser};
use pgdyno_platform::host::Host;
use pgdyno_platform::terminal;
use serde_json::json;

use super::Talk;
use super::json_arg::JsonArg;
use super::store_args::StoreArgs;
use super::target_args::TargetArgs;
use crate::exit::{Exit, Failure};
use crate::plan::experiment::conduct::{self, Means};
use crate::plan::experiment::json_lines::JsonLines;
use crate::plan::experiment::notebook::Notebook;
use crate::plan::experiment::parameter::PARAMETERS;
use crate::plan::experiment::plan::Plan;
use crate::plan::experiment::reader::{self, Experiment};
use crate::plan::experiment::schedule::{Role, Slot};
use crate::plan::experiment::toml_text::Source;
use crate::plan::experiment::{pgbench_tools, presets};
use crate::plan::prepare::Prepared;
use crate::plan::settings;
use crate::plan::trial::{self, Trial};
use crate::report::live::Form;
use crate::say::{answer, write_answer};
use crate::store::{ExperimentHeader, Keep, TrialHeader};
use crate::workload::progress::Progress;

/// What to sweep, and how.
#[derive(Debug, Args)]
#[command(after_help = after_help())]
pub struct SweepArgs {
    /// The experiment, in TOML
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// An experiment that pgdyno brings, sized to this host
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(presets::NAMES), conflicts_with = "file")]
    pub preset: Option<String>,

    /// The experiment that a configuration of pgbench-tools describes; it is read, never executed
    #[arg(long, value_name = "CONFIG", conflicts_with_all = ["file", "preset"])]
    pub from_pgbench_tools: Option<PathBuf>,

    /// Show the experiment as TOML and do nothing, to keep and change it
    #[arg(long, conflicts_with_all = ["dry_run", "resume", "out"])]
    pub print: bool,

    /// Show the trials in their order and how long they will take, and do nothing; with --json
    /// also for programs
    #[arg(long)]
    pub dry_run: bool,

    /// Go on with an experiment that was interrupted: trials that are complete in its results are
    /// not run again
    #[arg(long)]
    pub resume: bool,

    /// Where the results go, a line of JSON a trial [default: the experiment's name with .jsonl,
    /// beside its file]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// Keep the trials in the results file alone, and not in the notebook
    #[arg(long, conflicts_with = "store")]
    pub no_store: bool,

    /// With --dry-run.
    #[command(flatten)]
    pub json: JsonArg,

    /// Where trials are kept.
    #[command(flatten)]
    pub store: StoreArgs,

    /// Where the database is, when the experiment does not say it.
    #[command(flatten)]
    pub target: TargetArgs,
}

fn after_help() -> String {
    let mut text = "\
An experiment:
  workload = \"tpcb\"
  duration = \"1m\"
  repeats = 3                     # of each point; order = \"interleaved\", \"random\", \"sequential\"

  [matrix]                        # lists multiply: 2 x 3 points
  params.scale = [1, 10]
  clients = [1, 4, 16]

  [[zip]]                         # lists that go together
  isolation = [\"read committed\", \"serializable\"]
  max_tries = [1, 10]

  [settings]                      # of the server: by its sessions, or put back afterwards
  work_mem = [\"4MB\", \"64MB\"]

What a trial can be given; each of them can be a list:
"
    .to_owned();
    for parameter in PARAMETERS {
        text += &format!("  {:<18} {}\n", parameter.name, parameter.help);
    }
    text += "\
  params.NAME        one of the workload's parameters
  settings.NAME      one of the server's settings

Examples:
  pgdyno sweep --preset quick --print > mine.toml    something to begin with
  pgdyno sweep mine.toml --dry-run                   which trials, how long
  pgdyno sweep mine.toml --url postgresql://me@db1/bench
  pgdyno sweep mine.toml --resume                    after Ctrl-C, kill -9, a power cut
  pgdyno sweep --from-pgbench-tools ~/pgbench-tools/config --dry-run

All of it: docs/experiments.md";
    text
}

/// Does it.
pub fn open(args: &SweepArgs, talk: Talk) -> Result<Exit, Failure> {
    if args.json.json.is_some() && !args.dry_run {
        return Err(Failure::with(
            Exit::Usage,
            "--json goes with --dry-run; the results are JSON lines already (--out FILE)",
        ));
    }
    let text = Text::of(args)?;
    for remark in &text.remarks {
        crate::say::remark!("pgdyno: note: {remark}");
    }
    if args.print {
        return write_answer(format_args!("{}", text.toml)).map(|()| Exit::Ok);
    }
    let experiment = text.experiment()?;
    if args.dry_run {
        let seed = experiment.seed.unwrap_or_else(trial::seed_from_clock);
        let plan = Plan::new(experiment, &args.target.wanted(), seed)?;
        return dry_run(args, &plan);
    }
    sweep(args, talk, &text, experiment)
}

/// An experiment before it is read.
struct Text {
    toml: String,
    /// For messages.
    name: String,
    /// What the experiment is called unless it says so itself.
    title: String,
    /// Where its script files are.
    folder: PathBuf,
    remarks: Vec<String>,
}

impl Text {
    fn of(args: &SweepArgs) -> Result<Text, Failure> {
        let read = |path: &Path| {
            fs::read_to_string(path).map_err(|e| {
                Failure::with(
                    Exit::Usage,
                    format!("could not read {}: {e}", path.display()),
                )
            })
        };
        let stem = |path: &Path| {
            path.file_stem()
                .map(|stem| stem.to_string_lossy().into_owned())
        };
        let folder = |path: &Path| path.parent().map(Path::to_owned).unwrap_or_default();
        if let Some(path) = &args.file {
            return Ok(Text {
                toml: read(path)?,
                name: path.display().to_string(),
                title: stem(path).unwrap_or_default(),
                folder: folder(path),
                remarks: Vec::new(),
            });
        }
        if let Some(path) = &args.from_pgbench_tools {
            let config = read(path)?;
            let name = path.display().to_string();
            let converted = pgbench_tools::convert(&name, &config, &folder(path))?;
            return Ok(Text {
                toml: converted.toml,
                name: format!("{name} as an experiment"),
                title: "pgbench-tools".to_owned(),
                // The paths in it lead from where pgdyno is called, wherever it is kept.
                folder: PathBuf::new(),
                remarks: converted.remarks,
            });
        }
        let Some(preset) = args.preset.as_deref() else {
            return Err(Failure::with(Exit::Usage, "what is to be measured?")
                .hint("an experiment in TOML: pgdyno sweep FILE")
                .hint(format!(
                    "or one that pgdyno brings: --preset {}",
                    presets::NAMES.join("|")
                ))
                .hint("or pgbench-tools' own: --from-pgbench-tools CONFIG"));
        };
        Ok(Text {
            toml: presets::toml(preset, &Host::read()).unwrap_or_default(),
            name: format!("preset {preset}"),
            title: preset.to_owned(),
            folder: PathBuf::new(),
            remarks: Vec::new(),
        })
    }

    fn experiment(&self) -> Result<Experiment, Failure> {
        let source = Source {
            name: &self.name,
            text: &self.toml,
        };
        reader::read(source, &self.title, &self.folder)
    }
}

fn dry_run(args: &SweepArgs, plan: &Plan) -> Result<Exit, Failure> {
    let json_to = args.json.open()?;
    let (time, words) = conduct::whole_time(plan);
    if !args.json.replaces_text() {
        for (number, slot) in plan.slots.iter().enumerate() {
            answer!("{:>5}  {}", number + 1, plan.label(slot))?;
        }
        answer!("{} trials, {words}", plan.slots.len())?;
    }
    let slots = plan.slots.iter();
    let slots = slots.map(|slot| {
        json!({
            "role": slot.role.word(),
            "point": slot.point.to_json(),
            "repeat": slot.repeat,
        })
    });
    json_to.write(&json!({
        "name": plan.identity.name,
        "trials": slots.collect::<Vec<_>>(),
        "estimate_s": time.as_secs_f64(),
    }))?;
    Ok(Exit::Ok)
}

fn sweep(
    args: &SweepArgs,
    talk: Talk,
    text: &Text,
    experiment: Experiment,
) -> Result<Exit, Failure> {
    let wanted = args.target.wanted();
    // Everything that can be wrong without a server, before anything is written.
    let seed = experiment.seed;
    let mut plan = Plan::new(
        experiment,
        &wanted,
        seed.unwrap_or_else(trial::seed_from_clock),
    )?;
    let out = match &args.out {
        Some(out) => out.clone(),
        None => text.folder.join(format!("{}.jsonl", text.title)),
    };
    let journals = settings::directory()?;
    let interrupts = super::interrupts()?;
    let mut notebook = JsonLines::open(&out, args.resume)?;
    if let Some(begun_with) = notebook.seed()
        && begun_with != plan.identity.seed
    {
        if seed.is_some() {
            return Err(Failure::new(format!(
                "{} was begun with seed {begun_with}, and the experiment now says {}",
                out.display(),
                plan.identity.seed
            )));
        }
        // Nobody chose one: the order is the one it was begun with.
        plan = Plan::new(plan.experiment, &wanted, begun_with)?;
    }
    if !talk.quiet {
        let (_, words) = conduct::whole_time(&plan);
        let trials = plan.slots.len();
        crate::say::remark!("pgdyno: {}: {trials} trials, {words}", plan.identity.name);
    }
    let experiment = args.experiment(&plan);
    let keep = |slot: &Slot, position: u32, trial: &Trial, prepared: &Prepared| {
        let Some((path, experiment)) = &experiment else {
            return Keep::nothing();
        };
        let is_maximum = slot.role == Role::Maximum;
        let header = TrialHeader {
            experiment: Some(*experiment),
            point: Some(slot.point.to_json()),
            repeat: (!is_maximum).then_some(slot.repeat),
            position: Some(position),
            tags: is_maximum
                .then(|| "maximum".to_owned())
                .into_iter()
                .collect(),
            ..TrialHeader::of(trial, prepared)
        };
        Keep::begin(Some(path), &header)
    };
    let ended = conduct::conduct(
        &plan,
        &mut notebook,
        Means {
            wanted,
            journals: &journals,
            screen: talk.screen(),
            progress,
            tell: &mut |line| answer!("{line}"),
            keep: &keep,
            interrupts,
        },
    )?;
    let trials = plan.slots.len();
    let place = out.display();
    answer!(
        "{} of {trials} trials complete; results in {place}",
        ended.complete
    )?;
    if ended.complete == trials {
        return Ok(Exit::Ok);
    }
    let resume = format!(
        "go on with what is not complete: pgdyno sweep {} --resume",
        again(args)
    );
    match ended.early {
        Some(failure) => Err(failure.hint(resume)),
        None => Err(Failure::new(format!("{} trials failed", ended.failed)).hint(resume)),
    }
}

impl SweepArgs {
    /// The store's path and the experiment's number in it, begun anew or gone on with. A store that
    /// cannot be used is told, and costs no measurement: the results file has all.
    fn experiment(&self, plan: &Plan) -> Option<(PathBuf, i64)> {
        if self.no_store {
            return None;
        }
        let identity = &plan.identity;
        let header = ExperimentHeader {
            name: identity.name.clone(),
            definition: json!({
                "sha256": identity.sha256,
                "seed": identity.seed,
                "definition": identity.definition,
            })
            .to_string(),
        };
        let begun = self.store.open().and_then(|store| {
            let same = match self.resume {
                true => store.same_experiment(&header)?,
                false => None,
            };
            let number = match same {
                Some(number) => number,
                None => store.begin_experiment(&header)?,
            };
            Ok((store.path().to_owned(), number))
        });
        match begun {
            Ok(begun) => Some(begun),
            Err(failure) => {
                crate::say::remark!("pgdyno: warning: the sweep is not kept in the notebook");
                crate::say::remark!("{failure}");
                None
            }
        }
    }
}

/// What to type again.
fn again(args: &SweepArgs) -> String {
    let mut words = Vec::new();
    if let Some(file) = &args.file {
        words.push(file.display().to_string());
    }
    if let Some(preset) = &args.preset {
        words.push(format!("--preset {preset}"));
    }
    if let Some(config) = &args.from_pgbench_tools {
        words.push(format!("--from-pgbench-tools {}", config.display()));
    }
    if let Some(out) = &args.out {
        words.push(format!("--out {}", out.display()));
    }
    // They may hold passwords.
    words.extend(args.target.url.iter().map(|_| "--url …".to_owned()));
    match &args.target.discover {
        None => {}
        Some(None) => words.push("--discover".to_owned()),
        Some(Some(http)) => words.push(format!("--discover={http}")),
    }
    words.join(" ")
}

fn progress(form: Form) -> Progress {
    match form {
        Form::Quiet => Progress::quiet(),
        _ => Progress::new(terminal::stderr_is_terminal()),
    }
}
