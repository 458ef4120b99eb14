//! `pgdyno sweep`: a matrix of trials from a file, a preset or pgbench-tools' configuration.

use pgdyno_diagnose::capacity::SecondsOver;
use pgdyno_model::document::points::Points;
use pgdyno_store::Store;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, builder::PossibleValuesParser};
use pgdyno_observe::ObserveOptions;
use pgdyno_platform::host::Host;
use pgdyno_platform::interrupt::Interrupts;

use super::generators::{Together, completed, own_points};
use super::observing::observing;
use super::of_capacity;
use super::run::tag;
use super::serve::ServeArgs;
use super::trust;
use crate::screen::Screen;
use crate::screen::experiment::Lines;
use pgdyno_model::document::sweep::{
    PlannedSearch, PlannedTrial, RepeatsNeeded, SweepCapacity, SweepPlan, SweepTrial,
};
use pgdyno_model::event::Finished;
use pgdyno_model::{Observer, Observers, Outcome};
use pgdyno_output::{
    JsonArg, Sink, StoreArgs, Verbosity, answer, table_width, write_answer, write_report,
};
use pgdyno_report::{capacity, documents, points};
use pgdyno_run::command_line::quoted;
use pgdyno_run::experiment::conduct::{self, Means};
use pgdyno_run::experiment::notebook::StoredExperiment;
use pgdyno_run::experiment::plan::{Plan, take_target};
use pgdyno_run::experiment::study::TrialsAlone;
use pgdyno_run::experiment::toml_text::Source;
use pgdyno_run::experiment::{mentioned, parameter, pgbench_tools, presets, reader, tables_there};
use pgdyno_run::generators::Conductor;
use pgdyno_run::settings;
use pgdyno_spec::{
    Discover, Exit, Experiment, Failure, GeneratorsSpec, ObserveSpec, TargetSpec, duration,
    experiment::{Capacity, Commented},
    seed_from_clock,
};

/// What to sweep, and how.
#[derive(Debug, Default, Args)]
#[command(after_help = after_help(false), after_long_help = after_help(true))]
pub struct SweepArgs {
    /// The experiment, in TOML
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// A built-in experiment, sized to this host
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(presets::NAMES), conflicts_with = "file")]
    pub preset: Option<String>,

    /// Convert a configuration of pgbench-tools; it is read, not executed
    #[arg(long, value_name = "CONFIG", conflicts_with_all = ["file", "preset"])]
    pub from_pgbench_tools: Option<PathBuf>,

    /// Its name in the notebook [default: the file's: name = "…", else the name of the file]
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with = "print",
        help_heading = "Result"
    )]
    pub name: Option<String>,

    /// Tag of all of its trials in the notebook (repeatable)
    #[arg(long, value_name = "TAG", value_parser = tag, conflicts_with = "print", help_heading = "Result")]
    pub tag: Vec<String>,

    /// Print the experiment as TOML and exit
    #[arg(long, conflicts_with_all = ["dry_run", "resume", "json"])]
    pub print: bool,

    /// Print the trials in order and how long they will take, and exit; works with --json
    #[arg(long)]
    pub dry_run: bool,

    /// Find the highest load that keeps p99 within this limit (20ms), and the knee of the latency
    /// curve; the experiment needs rates. Overrides [capacity]
    #[arg(long, value_name = "LIMIT", value_parser = duration::parse_positive)]
    pub slo: Option<Duration>,

    /// How narrow the capacity's interval is to be: half of it as a share of the capacity, 0.05
    /// unless the experiment says otherwise; steps are repeated and lengthened until then
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub capacity_width: Option<f64>,

    /// How long the search for a capacity may take for each ladder of rates; 20m unless the
    /// experiment says otherwise
    #[arg(long, value_name = "TIME", value_parser = duration::parse_positive)]
    pub capacity_time: Option<Duration>,

    /// So many repeats of each point, whatever the experiment says; with --resume those that are missing
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: Option<u32>,

    /// Continue an interrupted experiment: skip trials that are complete in the notebook and not
    /// excluded
    #[arg(long)]
    pub resume: bool,

    /// Drop tables that pgdyno loaded for something else when a point needs them with other
    /// parameters
    #[arg(long)]
    pub replace: bool,

    /// Accept an experiment with allow_shell, restart, or settings that can run programs on a server's host;
    /// what they are is shown before
    #[arg(long)]
    pub allow_shell: bool,

    /// Several pgdynos for each trial.
    #[command(flatten)]
    pub generators: GeneratorsSpec,

    /// The results, one line of JSON per trial when it is over, or with --dry-run the plan.
    #[command(flatten, next_help_heading = "Result")]
    pub json: JsonArg,

    /// Where trials are kept.
    #[command(flatten)]
    pub store: StoreArgs,

    /// The notebook in the browser meanwhile.
    #[command(flatten)]
    pub serve: ServeArgs,

    /// What is observed while trials run.
    #[command(flatten)]
    pub observe: ObserveSpec,

    /// Where the database is, when the experiment does not say it.
    #[command(flatten)]
    pub target: TargetSpec,
}

/// A share above 0 and below 1.
fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok();
    let share = share.filter(|share| 0.0 < *share && *share < 1.0);
    share.ok_or_else(|| "a share of the capacity between 0 and 1, such as 0.05".to_owned())
}

/// An experiment and examples; of `--help` also what can vary, an option a line.
fn after_help(is_whole: bool) -> String {
    let mut text = "\
An experiment:
  workload = \"tpcb\"
  duration = \"1m\"
  repeats = 3                     # of each point; order = \"drawn\", \"random\", \"sequential\"

  [matrix]                        # lists multiply: 2 x 3 points
  params.scale = [1, 10]
  clients = [1, 4, 16]

  [[zip]]                         # lists that go together
  isolation = [\"read committed\", \"serializable\"]
  max_tries = [1, 10]

  [settings]                      # of the server; restored afterwards
  work_mem = [\"4MB\", \"64MB\"]

"
    .to_owned();
    if is_whole {
        text += "Options of a trial; each can be a list:\n";
        for (name, help) in parameter::all() {
            text += &format!("  {name:<18} {help}\n");
        }
        text += "  params.NAME        one of the workload's parameters
  settings.NAME      one of the server's settings
  disturb.NAME       what disturbs trials: during, at, before, for, after, undo … (pgdyno run --help)

";
    } else {
        text += "All that can be a list: pgdyno sweep --help\n\n";
    }
    text += "\
Examples:
  pgdyno sweep --preset quick --print > mine.toml    an experiment to start from
  pgdyno sweep --preset capacity --slo 20ms          how much load keeps p99 within 20 ms
  pgdyno sweep mine.toml --dry-run                   which trials, how long
  pgdyno sweep mine.toml --url postgresql://me@db1/bench
  pgdyno sweep mine.toml --resume                    after Ctrl-C, kill -9, a power cut
  pgdyno sweep mine.toml --json=mine.jsonl           one line of JSON per trial
  pgdyno sweep --from-pgbench-tools ~/pgbench-tools/config --dry-run

More: pgdyno help experiments";
    text
}

/// Runs the command.
pub fn open(args: &SweepArgs, verbosity: Verbosity) -> Result<Exit, Failure> {
    opened(args, verbosity).map_err(|failure| match &args.file {
        Some(path) => match text_of(path) {
            Ok(text) => {
                let name = &path.display().to_string();
                mentioned::placed(Source { name, text: &text }, failure)
            }
            Err(_) => failure,
        },
        None => failure,
    })
}

fn opened(args: &SweepArgs, verbosity: Verbosity) -> Result<Exit, Failure> {
    let given = Given::of(args)?;
    for remark in &given.remarks {
        pgdyno_output::remark!("pgdyno: note: {remark}");
    }
    if args.print {
        return write_answer(format_args!("{}", given.toml())).map(|()| Exit::Ok);
    }
    let mut experiment = of_capacity::of_experiment(given.experiment()?, &args.store)?;
    if let Some(remark) = take_target(&mut experiment, &args.target)? {
        pgdyno_output::remark!("pgdyno: note: {remark}");
    }
    if let Some(name) = &args.name {
        experiment.name.clone_from(name);
    }
    if let Some(repeats) = args.repeat {
        experiment.repeats = repeats;
    }
    if let Some(slo) = args.slo {
        let asked = experiment.capacity.unwrap_or(Capacity::within(slo));
        experiment.capacity = Some(Capacity { slo, ..asked });
    }
    for (flag, is_given) in [
        ("--capacity-width", args.capacity_width.is_some()),
        ("--capacity-time", args.capacity_time.is_some()),
    ] {
        if is_given && experiment.capacity.is_none() {
            let text = format!("{flag} is for the search for a capacity, which has no limit here");
            return Err(Failure::with(Exit::Usage, text).hint("name one: --slo 20ms"));
        }
    }
    if let Some(asked) = &mut experiment.capacity {
        asked.width = args.capacity_width.unwrap_or(asked.width);
        asked.time = args.capacity_time.unwrap_or(asked.time);
    }
    if args.preset.is_some() && !args.dry_run {
        let taken = tables_there::taken(&mut experiment, &args.target)?;
        if let Some(remark) = taken {
            pgdyno_output::remark!("pgdyno: note: {remark}");
        }
    }
    if args.dry_run {
        let seed = experiment.seed.unwrap_or_else(seed_from_clock);
        let plan = planned(args, experiment, seed)?;
        return dry_run(args, &plan);
    }
    sweep(args, verbosity, experiment)
}

/// What there is to be swept.
struct Given {
    definition: Definition,
    /// What could not be taken over from elsewhere.
    remarks: Vec<String>,
}

enum Definition {
    /// A file, which may be wrong.
    File { path: PathBuf, text: String },
    /// What pgdyno has made.
    Made(Box<Commented>),
}

impl Given {
    fn of(args: &SweepArgs) -> Result<Given, Failure> {
        let read = |path: &Path| {
            text_of(path).map_err(|failure| {
                failure.hint(
                    "an experiment to start from: pgdyno sweep --preset quick --print > mine.toml; one \
                     trial of a workload: pgdyno run tpcb",
                )
            })
        };
        let (definition, remarks) = if let Some(path) = &args.file {
            if path.extension().is_some_and(|end| end == "sql") {
                let text = format!("{} is a script, not an experiment", path.display());
                return Err(Failure::with(Exit::Usage, text).hint(format!(
                    "pgdyno run {0} runs it; an experiment's file names it: workload = '{0}'",
                    path.display()
                )));
            }
            let (path, text) = (path.clone(), read(path)?);
            (Definition::File { path, text }, Vec::new())
        } else if let Some(path) = &args.from_pgbench_tools {
            let name = path.display().to_string();
            let mut converted = pgbench_tools::convert(&name, &read(path)?, &folder(path))?;
            // The configuration that pgbench-tools ships names a server.
            let is_named = !args.target.urls.is_empty() || !args.target.own.is_empty();
            if is_named && converted.made.experiment.fixed.remove("target").is_some() {
                let remark = "the server is the command line's, not TESTHOST's";
                converted.remarks.push(remark.to_owned());
            }
            (
                Definition::Made(Box::new(converted.made)),
                converted.remarks,
            )
        } else {
            let preset = args.preset.as_deref();
            let preset = preset.and_then(|name| presets::preset(name, &Host::read()));
            let preset = preset.ok_or_else(|| {
                Failure::with(
                    Exit::Usage,
                    "no experiment: give a file, --preset or --from-pgbench-tools",
                )
                .hint("an experiment in TOML: pgdyno sweep FILE")
                .hint(format!(
                    "or one that pgdyno brings: --preset {}",
                    presets::NAMES.join("|")
                ))
                .hint("or pgbench-tools' own: --from-pgbench-tools CONFIG")
            })?;
            (Definition::Made(Box::new(preset)), Vec::new())
        };
        Ok(Given {
            definition,
            remarks,
        })
    }

    /// The text of its file.
    fn toml(&self) -> Cow<'_, str> {
        match &self.definition {
            Definition::File { text, .. } => text.into(),
            Definition::Made(made) => made.to_toml().into(),
        }
    }

    fn experiment(self) -> Result<Experiment, Failure> {
        match self.definition {
            Definition::Made(made) => Ok(made.experiment),
            Definition::File { path, text } => of_file(&path, &text),
        }
    }
}

/// The text of an experiment's file.
pub(super) fn text_of(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|e| {
        let text = format!("could not read {}: {e}", path.display());
        Failure::with(Exit::Usage, text)
    })
}

/// The experiment of a file with this text.
pub(super) fn of_file(path: &Path, text: &str) -> Result<Experiment, Failure> {
    let source = Source {
        name: &path.display().to_string(),
        text,
    };
    let stem = path.file_stem().unwrap_or_default();
    reader::read(source, &stem.to_string_lossy(), &folder(path))
}

/// The plan. A value that no trial accepts is a mistake in the experiment's file, or in the command line
/// if there is no file.
fn planned(args: &SweepArgs, experiment: Experiment, seed: i64) -> Result<Plan, Failure> {
    let plan = Plan::new(experiment, &wanted(args), seed);
    plan.map_err(|failure| match (failure.exit, &args.file) {
        (Exit::Usage, Some(file)) => Failure {
            exit: Exit::Failed,
            message: format!("{}: {}", file.display(), failure.message),
            ..failure
        },
        _ => failure,
    })
}

/// The target of points that name none, and what is allowed of those that they name.
fn wanted(args: &SweepArgs) -> TargetSpec {
    TargetSpec {
        points_are_of_file: true,
        may_run_programs: args.allow_shell || args.target.may_run_programs,
        ..args.target.clone()
    }
}

/// Where a file is, for the paths in it.
fn folder(path: &Path) -> PathBuf {
    path.parent().map(Path::to_owned).unwrap_or_default()
}

fn dry_run(args: &SweepArgs, plan: &Plan) -> Result<Exit, Failure> {
    let json_to = args.json.open()?;
    let (time, words) = conduct::whole_time(plan);
    let search = search(plan);
    if !args.json.replaces_text() {
        for (number, slot) in plan.slots.iter().enumerate() {
            answer!("{:>5}  {}", number + 1, plan.label(slot))?;
        }
        write_report(format_args!("{} trials, {words}\n", plan.slots.len()))?;
        match &search {
            Some(search) => write_report(format_args!("{}\n", search_words(search)))?,
            None => write_report(format_args!("{}\n", enough(plan)))?,
        }
    }
    let slots = plan.slots.iter();
    let slots = slots.map(|slot| PlannedTrial {
        role: slot.role.word(),
        point: slot.point.to_json(),
        repeat: slot.repeat,
    });
    json_to.write(&SweepPlan {
        name: plan.identity.name.clone(),
        trials: slots.collect(),
        estimate_s: time.as_secs_f64(),
        repeats: plan.experiment.repeats,
        repeats_needed: RepeatsNeeded::of(plan.points.len()),
        search,
    })?;
    Ok(Exit::Ok)
}

/// The search for a capacity that the plan's trials are the first steps of.
fn search(plan: &Plan) -> Option<PlannedSearch> {
    let asked = plan.experiment.capacity?;
    let points = plan.points.iter().map(|planned| &planned.point);
    Some(PlannedSearch {
        slo_us: asked.slo_us(),
        width: asked.width,
        time_s: asked.time.as_secs_f64(),
        ladders: capacity::document(points, &plan.varied, asked, &[], &SecondsOver::new())
            .ladders
            .len(),
    })
}

/// That it is a search, and what it may take.
fn search_words(search: &PlannedSearch) -> String {
    let of_seconds = Duration::from_secs_f64;
    let (time, each) = match search.ladders {
        1 => (search.time_s, String::new()),
        several => (
            search.time_s * several as f64,
            format!(" for each of {several}"),
        ),
    };
    format!(
        "They are the first steps of a search for the highest rate with p99 within {}: steps are added and lengthened \
         until its interval is as narrow as ± {}, or {} are over{each}.\nIt may take {} in all, which --capacity-time \
         changes, besides loading and pauses between trials.",
        pgdyno_spec::text::asked(of_seconds(search.slo_us / 1e6)),
        pgdyno_spec::text::roughly(search.width),
        pgdyno_spec::text::about(of_seconds(search.time_s)),
        pgdyno_spec::text::about(of_seconds(time)),
    )
}

/// Whether the repeats are enough for comparisons.
fn enough(plan: &Plan) -> String {
    let (repeats, points) = (plan.experiment.repeats, plan.points.len());
    let need = RepeatsNeeded::of(points);
    let are_enough = repeats as usize >= need.two_points;
    let mut text = format!(
        "{} of each point {}",
        pgdyno_spec::text::plural(repeats.into(), "repeat"),
        match (points, are_enough) {
            (1, true) => "can be compared with another trial's",
            (1, false) => "cannot tell it from another trial's",
            (_, true) => "can tell two points apart",
            (_, false) => "cannot tell which of two points is faster",
        }
    );
    if !are_enough {
        text += &format!(": that takes {0} a side (--repeat {0})", need.two_points);
    }
    if points > 1 && (repeats as usize) < need.all_points {
        text += &format!(
            ";\nto compare all {points} points with those of another sweep takes {}",
            need.all_points
        );
    }
    text
}

/// Carries it out, prints what came of it and keeps it.
///
/// # Errors
/// It cannot be carried out, or a trial came to nothing.
pub(super) fn sweep(
    args: &SweepArgs,
    verbosity: Verbosity,
    experiment: Experiment,
) -> Result<Exit, Failure> {
    let wanted = wanted(args);
    let is_disturbed = ["disturb.during", "disturb.at"].map(|name| experiment.gives(name));
    let runs = match (experiment.gives("allow_shell"), &experiment.restart) {
        (true, _) => Some("allow_shell: its scripts run programs on this host".to_owned()),
        _ if is_disturbed.contains(&true) => {
            Some("commands that disturb its trials, on this host".to_owned())
        }
        (false, Some(command)) => Some(format!("a restart command: {command}")),
        (false, None) => None,
    };
    if let Some(runs) = runs.filter(|_| !args.allow_shell) {
        let text = format!("{} has {runs}", experiment.name);
        return Err(Failure::new(text).hint("if you trust it: pgdyno sweep --allow-shell"));
    }
    // Everything that can be wrong without a server, before anything is written.
    let seed = experiment.seed;
    let plan = planned(args, experiment, seed.unwrap_or_else(seed_from_clock))?;
    let settings = { plan.points.iter() }.flat_map(|planned| planned.point.settings());
    let settings: BTreeSet<(String, String)> = settings.collect();
    trust::settings(&plan.identity.name, &settings, args.allow_shell)?;
    let mut targets: Vec<_> = plan.points.iter().map(|it| &it.spec.target).collect();
    targets.dedup();
    for target in targets.into_iter().filter(|target| target.is_of_file) {
        let name = &plan.identity.name;
        trust::addresses(name, target, args.allow_shell)?;
        trust::own_server(name, target, args.allow_shell)?;
    }
    if args.file.is_some() && plan.experiment.gives("allow_shell") {
        trust::show_scripts(&plan)?;
    }
    let interrupts = pgdyno_run::interrupts()?;
    let json_to = args.json.open()?;
    let observe = observing(&args.observe, verbosity)?;
    let store = args.store.open()?;
    store.check_writable()?;
    let _served = args.serve.start(&args.store)?;
    let points = own_points(&plan, &wanted)?;
    let (name, sha256) = (plan.identity.name.clone(), plan.identity.sha256.clone());
    let together = Together {
        options: &args.generators,
        identity: (&name, &sha256),
        store: &store,
        complete: &|point, spec| completed(&points, point, spec),
    };
    let means = (json_to, observe, interrupts);
    let conducted = together.conduct(verbosity, |generators, goes_on| {
        conducted(
            args,
            verbosity,
            &store,
            (plan, seed, goes_on),
            generators,
            means,
        )
    })?;
    Ok(conducted.unwrap_or(Exit::Ok))
}

/// Carries it out, from its beginning or where it was.
fn conducted(
    args: &SweepArgs,
    verbosity: Verbosity,
    store: &Store,
    (mut plan, seed, goes_on): (Plan, Option<i64>, bool),
    generators: Option<Conductor<'_>>,
    (json_to, observe, interrupts): (Sink, ObserveOptions, &'static Interrupts),
) -> Result<Exit, Failure> {
    let journals = settings::directory()?;
    let notebook = if args.resume || goes_on {
        resumed(store, &mut plan, (args, seed, goes_on))?
    } else {
        None
    };
    let notebook = match notebook {
        Some(notebook) => notebook,
        None => StoredExperiment::new(store, &plan.identity),
    };
    let notebook = notebook.tagged(args.tag.clone());
    if !verbosity.quiet {
        let (_, words) = conduct::whole_time(&plan);
        let trials = plan.slots.len();
        let name = &plan.identity.name;
        pgdyno_output::remark!("pgdyno: {name}: {trials} trials, {words}");
        if let Some(search) = search(&plan) {
            pgdyno_output::remark!("pgdyno: {name}: {}", search_words(&search));
        }
    }
    let mut documents = Documents {
        to: json_to.lines(),
        experiment: &plan.identity.name,
    };
    let mut screen = Screen::new(verbosity);
    let mut lines = Lines::with_results(verbosity, args.json.replaces_text());
    let ended = conduct::conduct(
        &plan,
        Means {
            wanted: wanted(args),
            observe,
            target: None,
            replace: args.replace,
            journals: &journals,
            progress: &mut verbosity.progress(),
            observer: &mut Observers::new([&mut documents, &mut screen, &mut lines]),
            study: &mut TrialsAlone,
            notebook: &notebook,
            generators,
            interrupts,
        },
    )?;
    let trials = ended.trials;
    let found = of_notebook(store, &notebook)?;
    if !args.json.replaces_text() {
        write_report(format_args!("\n{}\n", points::text(&found, table_width())))?;
        if plan.experiment.capacity.is_none() && ended.complete > 0 {
            write_report(format_args!("{}\n", enough(&plan)))?;
        }
        answer!("{} of {trials} trials complete", ended.complete)?;
    }
    if let Some(capacity) = found.capacity
        && ended.complete > 0
    {
        if !args.json.replaces_text() {
            write_report(format_args!(
                "\n{}",
                capacity::text(&capacity, table_width())
            ))?;
        }
        documents.to.write(|| SweepCapacity { capacity })?;
    }
    kept_as(&plan.identity.name, verbosity);
    if ended.complete == trials {
        return Ok(Exit::Ok);
    }
    let failure = match ended.early {
        Some(failure) => failure,
        None => ended.of_failed(),
    };
    let is_defined =
        args.file.is_some() || args.preset.is_some() || args.from_pgbench_tools.is_some();
    Err(if is_defined {
        failure.hint(format!(
            "continue with incomplete trials: pgdyno sweep {} --resume",
            again(args)
        ))
    } else {
        failure
    })
}

/// The experiment that is to be gone on with, in the order in which it was begun; `None` where it was
/// not. With the target, and the seed where one was typed.
fn resumed<'a>(
    store: &'a Store,
    plan: &mut Plan,
    (args, seed, takes_over): (&SweepArgs, Option<i64>, bool),
) -> Result<Option<StoredExperiment<'a>>, Failure> {
    let Some(begun) = StoredExperiment::resume(store, &plan.identity, takes_over)? else {
        pgdyno_output::remark!(
            "pgdyno: note: no {} in {}: starting it",
            plan.identity.name,
            store.place()
        );
        return Ok(None);
    };
    if begun.seed != plan.identity.seed {
        if seed.is_some() {
            return Err(Failure::new(format!(
                "{} was started with seed {}, but the experiment now has {}",
                plan.identity.name, begun.seed, plan.identity.seed
            )));
        }
        // Without a choice the order is the one it was begun with.
        *plan = planned(args, plan.experiment.clone(), begun.seed)?;
    }
    Ok(Some(begun.notebook))
}

/// Writes each trial that is over, for programs.
struct Documents<'a> {
    to: pgdyno_output::Lines,
    experiment: &'a str,
}

impl Observer<Outcome> for Documents<'_> {
    fn trial_finished(&mut self, finished: &Finished<'_, Outcome>) -> Result<(), Failure> {
        self.to.write(|| line(self.experiment, finished))
    }
}

fn line(experiment: &str, finished: &Finished<'_, Outcome>) -> SweepTrial {
    let trial = finished.trial;
    SweepTrial {
        experiment: experiment.to_owned(),
        role: trial.role.word(),
        point: trial.point.clone(),
        repeat: trial.repeat,
        state: finished.state.name(),
        error: finished.error.map(str::to_owned),
        before: finished.before.clone(),
        result: finished.outcome.ok().map(documents::whole),
    }
}

/// Says by which name an experiment is kept.
pub(super) fn kept_as(name: &str, verbosity: Verbosity) {
    if verbosity.quiet {
        return;
    }
    let called = quoted(name);
    pgdyno_output::remark!(
        "pgdyno: kept as experiment {name} (pgdyno show --experiment {called}, pgdyno report {called})"
    );
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
    if let Some(name) = &args.name {
        words.push(format!("--name {}", quoted(name)));
    }
    words.extend(args.tag.iter().map(|tag| format!("--tag {tag}")));
    if let Some(repeats) = args.repeat {
        words.push(format!("--repeat {repeats}"));
    }
    if let Some(slo) = args.slo {
        words.push(format!("--slo {}", pgdyno_spec::text::as_typed(slo)));
    }
    if let Some(width) = args.capacity_width {
        words.push(format!("--capacity-width {width}"));
    }
    if let Some(time) = args.capacity_time {
        words.push(format!(
            "--capacity-time {}",
            pgdyno_spec::text::as_typed(time)
        ));
    }
    if args.replace {
        words.push("--replace".to_owned());
    }
    if let Some(store) = &args.store.store {
        words.push(format!("--store {}", store.display()));
    }
    // They may hold passwords.
    words.extend(args.target.urls.iter().map(|_| "--url …".to_owned()));
    match &args.target.discover {
        None => {}
        Some(Discover::Sql) => words.push("--discover".to_owned()),
        Some(Discover::Http(http)) => words.push(format!("--discover={}", http.public())),
    }
    words.join(" ")
}

/// What an experiment came to, point by point.
fn of_notebook(store: &Store, kept: &StoredExperiment<'_>) -> Result<Points, Failure> {
    points::of_experiment(store, &store.experiment(kept.uuid()?)?)
}
