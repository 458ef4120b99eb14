//! `pgdyno rerun BUNDLE`: a trial or an experiment of a bundle once more, on a server of one's own, from the
//! packs and scripts of the bundle; and both beside each other.

use std::path::{Path, PathBuf};

use pgdyno_evidence::bundle::Bundle;
use pgdyno_evidence::{compared, experiments_of, set, trials_of, verify};
use pgdyno_model::State;
use pgdyno_model::notebook::{ExperimentRow, Filter, TrialRow};
use pgdyno_output::{KeepArgs, StoreArgs, Verbosity, answer, width, write_answer};
use pgdyno_platform::user;
use pgdyno_report::comparison::{self, Set};
use pgdyno_report::table::one_line;
use pgdyno_run::experiment::reader;
use pgdyno_run::experiment::toml_text::Source;
use pgdyno_spec::{Exit, Failure, ObserveSpec, TargetSpec, text};
use pgdyno_store::Store;
use serde_json::Value;

use super::rerun::{RerunArgs, print, with_params};
use super::run::{self, ResultArgs};
use super::sweep::{self, SweepArgs};
use super::trust;

/// Whether this names a file, not a trial.
pub fn is_named(called: &str) -> bool {
    called.contains(['/', '.']) || Path::new(called).is_file()
}

/// What is to be run again.
enum Subject {
    Trial(Box<TrialRow>),
    Experiment(Box<ExperimentRow>, Vec<TrialRow>),
}

/// Runs the command.
pub fn open(args: &RerunArgs, verbosity: Verbosity) -> Result<Exit, Failure> {
    if args.result.keep.no_store {
        let text = "a bundle that is run again is kept in the notebook, and compared from there";
        return Err(
            Failure::with(Exit::Usage, text).hint("leave --no-store out; --store names a notebook")
        );
    }
    let path = Path::new(&args.trial);
    let bundle = Bundle::read(path)?;
    warn(path)?;
    let unpacked = bundle.notebook()?;
    let there = Store::unjudged(&unpacked.file)?;
    if !there.foreign_tables()?.is_empty() {
        let text = format!(
            "{}: the tables of its notebook are not pgdyno's",
            path.display()
        );
        return Err(
            Failure::with(Exit::Usage, text).hint("what else does not agree: pgdyno verify FILE")
        );
    }
    let subject = subject(&bundle, &there, args.only.as_deref())?;
    let scratch;
    let root = if args.dry_run {
        scratch = Scratch::new()?;
        scratch.0.clone()
    } else {
        kept_at(&bundle)?
    };
    match subject {
        Subject::Trial(trial) => of_trial(args, (&bundle, &there), &trial, &root, verbosity),
        Subject::Experiment(row, trials) => {
            of_experiment(args, (&bundle, &there), (&row, trials), &root, verbosity)
        }
    }
}

/// A bundle that does not agree with itself is run all the same: what is measured here is not its.
fn warn(path: &Path) -> Result<(), Failure> {
    let found = verify::verify(path)?;
    if !found.agrees {
        pgdyno_output::remark!(
            "pgdyno: warning: of what {} shows, {} not agree: pgdyno verify {}",
            path.display(),
            match found.disagreements.len() {
                1 => "1 thing does".to_owned(),
                number => format!("{number} things do"),
            },
            path.display()
        );
    }
    Ok(())
}

/// A directory that goes with this.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self, Failure> {
        let path = std::env::temp_dir().join(format!("pgdyno-rerun-{}", std::process::id()));
        match std::fs::create_dir(&path) {
            Ok(()) => Ok(Self(path)),
            Err(e) => Err(Failure::new(format!(
                "cannot make the directory {}: {e}",
                path.display()
            ))
            .hint("name another directory for temporary files: TMPDIR")),
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Where its packs and scripts stay, so that the trials can be run again from the notebook, too.
fn kept_at(bundle: &Bundle) -> Result<PathBuf, Failure> {
    let data = user::data_home().ok_or_else(|| {
        Failure::new("no place for the bundle's packs and scripts: HOME is not set")
            .hint("name a directory for data: XDG_DATA_HOME")
    })?;
    let hash = &bundle.manifest.sha256;
    let is_hash = hash.len() >= 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    match hash.get(..16).filter(|_| is_hash) {
        Some(hash) => Ok(data.join("pgdyno/bundles").join(hash)),
        None => Err(
            Failure::with(Exit::Usage, "the bundle's manifest has no SHA-256")
                .hint("the file is damaged: get it again from where it was made"),
        ),
    }
}

/// The one that is there, or that was asked for.
fn subject(bundle: &Bundle, there: &Store, only: Option<&str>) -> Result<Subject, Failure> {
    let mut trials = trials_of(there)?;
    let place = bundle.path.display();
    let experiments = experiments_of(there, &trials)?;
    let of_experiment = |row: &ExperimentRow| {
        let of = trials
            .iter()
            .filter(|trial| trial.experiment == Some(row.number));
        Subject::Experiment(Box::new(row.clone()), of.cloned().collect())
    };
    let list = || {
        let mut words: Vec<String> = experiments
            .iter()
            .map(|row| format!("experiment {}", row.name))
            .collect();
        let alone = trials.iter().filter(|trial| trial.experiment.is_none());
        words.extend(alone.map(|trial| format!("trial {} ({})", trial.number, trial.workload)));
        one_line(&words.join(", "))
    };
    if let Some(only) = only {
        if let Ok(trial) = there.trial(only) {
            return Ok(Subject::Trial(Box::new(trial)));
        }
        if let Ok(row) = there.experiment(only) {
            return Ok(of_experiment(&row));
        }
        return Err(Failure::with(
            Exit::Usage,
            format!("{place} has no trial or experiment {only}"),
        )
        .hint(format!("it has {}", list())));
    }
    let are_of_one = trials.iter().all(|trial| trial.experiment.is_some());
    match (experiments.as_slice(), trials.len()) {
        (_, 0) => Err(Failure::with(Exit::Usage, format!("{place} has no trials"))
            .hint("pgdyno export TRIAL --bundle FILE makes a bundle")),
        (_, 1) => Ok(Subject::Trial(Box::new(trials.remove(0)))),
        ([row], _) if are_of_one => Ok(of_experiment(row)),
        _ => Err(Failure::with(
            Exit::Usage,
            format!("{place} has several things to run again"),
        )
        .detail(list())
        .hint(format!(
            "name one: pgdyno rerun {place} --only {}",
            trials[0].number
        ))),
    }
}

fn of_trial(
    args: &RerunArgs,
    (bundle, there): (&Bundle, &Store),
    trial: &TrialRow,
    root: &Path,
    verbosity: Verbosity,
) -> Result<Exit, Failure> {
    let mut spec = trial.spec.clone();
    if spec.workload.is_empty() {
        let text = format!(
            "trial {} of the bundle was run by another command",
            trial.number
        );
        return Err(Failure::with(Exit::Usage, text)
            .detail(format!("its command: {}", one_line(&trial.command)))
            .hint("type that command yourself: it names scripts that no notebook keeps"));
    }
    spec.workload = bundle.laid_out(trial.number, &spec, root)?;
    with_params(&mut spec, &args.params)?;
    spec.target = here(&spec.target, &args.target);
    spec.observe = without_addresses(&spec.observe);
    spec.disturb.check(None)?;
    let of = format!("trial {} of the bundle", trial.number);
    if !args.dry_run {
        // What was typed here is the user's own.
        let mut theirs = spec.clone();
        let typed = &args.target.own.pg_set;
        theirs.target.own.pg_set.retain(|set| !typed.contains(set));
        trust::trial(&of, &theirs, args.allow_shell)?;
        if args.allow_shell {
            pgdyno_output::remark!("{}", sql(bundle, &[trial.number]).trim_end());
        }
        spec.allow_shell |= args.allow_shell;
    }
    if args.dry_run {
        origin(bundle, &format!("trial {}", trial.number))?;
        let kept = kept_at(bundle)?.display().to_string();
        for name in &mut spec.workload {
            *name = name.replacen(&root.display().to_string(), &kept, 1);
        }
        print(&spec, args.repeat)?;
        let sql = sql(bundle, &[trial.number]);
        return write_answer(format_args!("{sql}")).map(|()| Exit::Ok);
    }
    let tag = tag_of(&trial.uuid);
    let result = result(args, &tag);
    let before = newest(&args.result.keep.store)?;
    let exit = match args.repeat {
        None => run::run(spec.clone(), &result, verbosity)?,
        Some(repeats) => run::repeated(&result, spec.clone(), repeats, verbosity)?,
    };
    let a = set(std::slice::from_ref(trial), &[trial.number]);
    let a = as_laid_out(a, &|_| spec.workload.clone());
    beside(args, (there, a), (&tag, before))?;
    Ok(exit)
}

fn of_experiment(
    args: &RerunArgs,
    (bundle, there): (&Bundle, &Store),
    (row, trials): (&ExperimentRow, Vec<TrialRow>),
    root: &Path,
    verbosity: Verbosity,
) -> Result<Exit, Failure> {
    let name = one_line(&row.name);
    let bundled = bundle
        .manifest
        .experiments
        .iter()
        .find(|one| one.uuid == row.uuid);
    let toml = bundled.and_then(|one| bundle.parts.get(one.path.as_ref()?));
    let toml = toml.and_then(|toml| String::from_utf8(toml.clone()).ok());
    let mut toml = toml.ok_or_else(|| {
        Failure::with(
            Exit::Usage,
            format!("the bundle does not have the file of experiment {name}"),
        )
        .hint("run one of its trials again: --only TRIAL")
    })?;
    let mut paths: Vec<(String, String)> = Vec::new();
    for one in &bundle.manifest.workloads {
        if trials
            .iter()
            .any(|trial| one.trials.contains(&trial.number))
        {
            paths.push((one.typed.clone(), bundle.lay_out(one, root)?));
        }
    }
    // The file names packs and scripts in quotes, with their weights behind them.
    for (typed, path) in paths.iter().filter(|(typed, path)| typed != path) {
        for end in ['"', '@'] {
            toml = toml.replace(&format!("\"{typed}{end}"), &format!("\"{path}{end}"));
        }
    }
    let source = Source {
        name: &format!("{}: {name}", bundle.path.display()),
        text: &toml,
    };
    // Whatever else the file may name is looked for where nothing is.
    let mut experiment = reader::read(source, &row.name, root)?;
    let is_bundled = |value: &Value| -> bool {
        let words: Vec<&str> = match value {
            Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
            one => one.as_str().into_iter().collect(),
        };
        words.iter().all(|word| {
            paths
                .iter()
                .any(|(_, path)| word.starts_with(path.as_str()))
        })
    };
    experiment = experiment.with_each("workload", |value| {
        if is_bundled(value) {
            Ok(value.clone())
        } else {
            Err(Failure::with(
                Exit::Usage,
                format!("the bundle does not have what experiment {name} runs: {value}"),
            )
            .hint("what is not in it: pgdyno verify FILE"))
        }
    })?;
    if experiment.fixed.remove("target").is_some() {
        pgdyno_output::remark!(
            "pgdyno: note: the server is the command line's or a private one, not the experiment's"
        );
    }
    experiment.name = format!("{}-rerun", row.name);
    experiment.repeats = args.repeat.unwrap_or(experiment.repeats);
    let tag = tag_of(&row.uuid);
    if args.dry_run {
        origin(bundle, &format!("experiment {name}"))?;
        let kept = kept_at(bundle)?.display().to_string();
        let toml = experiment
            .to_toml()
            .replace(&root.display().to_string(), &kept);
        let numbers: Vec<i64> = trials.iter().map(|trial| trial.number).collect();
        let sql = sql(bundle, &numbers);
        return write_answer(format_args!("{toml}{sql}")).map(|()| Exit::Ok);
    }
    if !args.params.is_empty() {
        return Err(
            Failure::with(Exit::Usage, "--param is for a trial of the bundle")
                .hint("an experiment has its parameters in its file: --dry-run prints it"),
        );
    }
    let before = newest(&args.result.keep.store)?;
    if args.allow_shell {
        let numbers: Vec<i64> = trials.iter().map(|trial| trial.number).collect();
        pgdyno_output::remark!("{}", sql(bundle, &numbers).trim_end());
    }
    let sweep = SweepArgs {
        tag: result(args, &tag).tag,
        allow_shell: args.allow_shell,
        json: args.result.json.clone(),
        store: args.result.keep.store.clone(),
        target: args.target.clone(),
        ..SweepArgs::default()
    };
    let exit = sweep::sweep(&sweep, verbosity, experiment)?;
    let numbers: Vec<i64> = trials.iter().map(|trial| trial.number).collect();
    let path_of = |typed: &String| {
        let found = paths
            .iter()
            .find(|(from, _)| typed == from || typed.starts_with(&format!("{from}@")));
        found.map_or_else(|| typed.clone(), |(from, to)| typed.replacen(from, to, 1))
    };
    let a = as_laid_out(set(&trials, &numbers), &|own| {
        own.iter().map(path_of).collect()
    });
    beside(args, (there, a), (&tag, before))?;
    Ok(exit)
}

/// The files of the packs and scripts that these trials ran: what would be sent, and what decides on it. As
/// comments of an experiment's file, which may come before them.
fn sql(bundle: &Bundle, trials: &[i64]) -> String {
    let mut text = String::new();
    let workloads = bundle.manifest.workloads.iter();
    for one in workloads.filter(|one| one.trials.iter().any(|of| trials.contains(of))) {
        for (path, part) in &bundle.parts {
            let is_of = |root: &str| {
                path.strip_prefix(root)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            if is_of(&one.path) || one.uses.as_deref().is_some_and(is_of) {
                text += &trust::shown(path, &String::from_utf8_lossy(part));
            }
        }
    }
    text
}

/// What would be run comes from there.
fn origin(bundle: &Bundle, what: &str) -> Result<(), Failure> {
    let hash = &bundle.manifest.sha256;
    answer!(
        "{what} of {}, SHA-256 {}",
        bundle.path.display(),
        one_line(hash)
    )?;
    for one in &bundle.manifest.workloads {
        answer!(
            "{} {}, SHA-256 {}",
            match one.what {
                pgdyno_evidence::bundle::What::Pack => "pack",
                pgdyno_evidence::bundle::What::Script => "script",
            },
            one_line(&one.name),
            one_line(&one.sha256)
        )?;
    }
    Ok(())
}

/// Where it is run: what was typed, else a private server with the settings that the bundle's private server had.
fn here(own: &TargetSpec, typed: &TargetSpec) -> TargetSpec {
    let mut target = typed.clone();
    if target.urls.is_empty() && target.own.is_empty() && own.urls.is_empty() {
        target.own.pg_set.clone_from(&own.own.pg_set);
        target.pg_standby = target.pg_standby.or(own.pg_standby);
    }
    target
}

/// What is observed here: not the hosts that the bundle's maker looked at.
fn without_addresses(own: &ObserveSpec) -> ObserveSpec {
    ObserveSpec {
        instruments: own.instruments.clone(),
        ..ObserveSpec::default()
    }
}

/// Marks what was run again.
fn tag_of(uuid: &str) -> String {
    let plain = uuid.chars().filter(char::is_ascii_alphanumeric);
    format!("rerun-of-{}", plain.take(8).collect::<String>())
}

fn result(args: &RerunArgs, tag: &str) -> ResultArgs {
    let of = &args.result;
    ResultArgs {
        json: of.json.clone(),
        keep: KeepArgs {
            store: of.keep.store.clone(),
            no_store: false,
        },
        tag: of.tag.iter().cloned().chain([tag.to_owned()]).collect(),
        history: of.history.clone(),
        note: of.note.clone(),
        serve: of.serve.clone(),
    }
}

/// The largest number of a trial, before there are new ones.
fn newest(store: &StoreArgs) -> Result<i64, Failure> {
    let newest = store.open()?.trials(&Filter {
        limit: Some(1),
        ..Filter::default()
    })?;
    Ok(newest.first().map_or(0, |trial| trial.number))
}

/// The bundle's trials by the names that their packs and scripts have here.
fn as_laid_out(mut of: Set, workload: &dyn Fn(&[String]) -> Vec<String>) -> Set {
    for trial in &mut of.trials {
        let names = workload(&trial.spec.workload);
        if trial.pack_sha256.is_none() {
            trial.workload = names.join(" ");
        }
        if let Some(Value::Object(point)) = &mut trial.point
            && point.contains_key("workload")
        {
            point.insert("workload".to_owned(), Value::from(names));
        }
    }
    of
}

/// Prints what was measured beside what the bundle has.
fn beside(
    args: &RerunArgs,
    (there, a): (&Store, Set),
    (tag, before): (&str, i64),
) -> Result<(), Failure> {
    let store = args.result.keep.store.existing()?;
    let mut trials = store.trials(&Filter {
        tags: vec![tag.to_owned()],
        state: Some(State::Complete),
        ..Filter::default()
    })?;
    trials.retain(|trial| trial.number > before);
    trials.sort_by_key(|trial| trial.number);
    let b = set(
        &trials,
        &trials.iter().map(|trial| trial.number).collect::<Vec<_>>(),
    );
    let say = |text: &str| {
        if args.result.json.replaces_text() {
            pgdyno_output::remark!("{}", text.trim_end());
            Ok(())
        } else {
            write_answer(format_args!("{text}"))
        }
    };
    if a.trials.is_empty() || b.trials.is_empty() {
        let side = if a.trials.is_empty() {
            "the bundle"
        } else {
            "this run"
        };
        return say(&format!(
            "\nnot compared: {side} has no complete trial that counts\n"
        ));
    }
    let numbers: Vec<i64> = b.trials.iter().map(|trial| trial.number).collect();
    let document = compared((there, &a), (&store, &b))?;
    say(&format!(
        "\nA is the bundle, B is {} here (tag {tag}). Both sides did not take turns: no difference between\n\
         then and there, and now and here, is claimed.\n{}",
        text::trials(&numbers),
        comparison::text(&document, width())
    ))
}
