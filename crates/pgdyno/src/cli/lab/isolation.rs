//! `pgdyno lab isolation`: histories at each isolation level, checked, and a verdict by level.

use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValuesParser;
use pgdyno_model::document::isolation_lab::IsolationLab as Document;
use pgdyno_observe::ObserveOptions;
use pgdyno_output::{Verbosity, remark};
use pgdyno_platform::Output;
use pgdyno_report::isolation;
use pgdyno_report::lab::{Lab, Trials};
use pgdyno_run::experiment::plan::Plan;
use pgdyno_run::prepare;
use pgdyno_spec::{
    DisturbSpec, Exit, Failure, Isolation, Policy, Rate, RetryPolicy, RolesSpec, TrialSpec,
    duration,
    experiment::{
        isolation_lab::IsolationLab, isolation_lab::LEVELS, isolation_lab::LEVELS_OF_STANDBYS,
        isolation_lab::MIXES, isolation_lab::MIXES_OF_ONE, isolation_lab::PACK,
        isolation_lab::SESSION,
    },
    seed_from_clock,
};

use super::super::made_args::MadeArgs;
use super::super::of_capacity;
use super::super::sweep::kept_as;
use super::begin;
use super::conducted::{Conducted, WithArgs, all_complete, print, show};

/// Tables are at most this wide, where that is possible.
const WIDTH: usize = 80;

/// At which levels, with what load.
#[derive(Debug, Args)]
#[command(after_help = "\
A level is judged by the product's documentation of the level in effect, which is read in a transaction. An anomaly
that it allows is shown as documented; one that it forbids makes the exit code 1. The smallest occurrence of each
anomaly is printed step by step. A forbidden one is also written to a file that `pgdyno check-history` judges again.

What a mix can show: append everything but what predicates make; register lost updates and what breaks read
committed, read atomic and causal; predicate write skew through predicates; bank readers that see half a
transfer; counter increments that are lost; long-fork two readers that disagree which of two writes came first.

Examples:
  pgdyno lab isolation                                    a private server, two minutes
  pgdyno lab isolation --url postgresql://me@db1/bench --isolation serializable -c 32 -T 1m --repeat 5
  pgdyno lab isolation --mix bank,counter,long-fork       three that show one anomaly each
  pgdyno lab isolation --mix append --param keys=3 --param read_percent=30
  pgdyno lab isolation --mix append --during 'kubectl delete pod db-2' --for 5s
  pgdyno lab isolation --pg-standby async --endpoint-role reads=standby        reads of a private standby
  pgdyno lab isolation --url 'host=db1,db2 dbname=b' --endpoint-role reads=db2    of your own
  pgdyno lab isolation --mix session --pg-standby async --with promotion:behind=500ms
  pgdyno report lab-isolation                             its page

What each anomaly is, and what each product documents: pgdyno help isolation")]
pub struct IsolationArgs {
    /// Levels, by turns [default: read-committed,repeatable-read,serializable]
    #[arg(
        long,
        value_enum,
        value_name = "LEVEL,…",
        value_delimiter = ',',
        ignore_case = true
    )]
    pub isolation: Vec<Isolation>,

    /// What is recorded: lists that are appended to, registers, rows read by predicates; bank, counter and
    /// long-fork show fractured reads, lost updates and long forks more often (below); session: sessions that
    /// write and then read [default: append,register,predicate; with --endpoint-role session]
    #[arg(long, value_name = "MIX,…", value_delimiter = ',', value_parser = PossibleValuesParser::new(mixes()))]
    pub mix: Vec<String>,

    /// Clients that run at the same time
    #[arg(short, long, value_name = "COUNT", default_value_t = 8, value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub clients: u32,

    /// Transactions per second over all clients; 30% is a share of what they get at most, which a first
    /// trial measures (pgdyno run --help) [default: as fast as they can]
    #[arg(short = 'R', long, value_parser = Rate::from_str)]
    pub rate: Option<Rate>,

    /// How long each trial measures; a disturbed one as long as --before, --for and --after say
    #[arg(short = 'T', long, value_name = "TIME", value_parser = duration::parse_positive, default_value = "5s")]
    pub duration: Duration,

    /// Trials of each mix at each level, in turn
    #[arg(long, value_name = "COUNT", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,

    /// Continue an interrupted laboratory: skip trials that are complete in the notebook
    #[arg(long, conflicts_with = "print")]
    pub resume: bool,

    /// What is tried again.
    #[command(flatten)]
    pub retry: RetryPolicy,

    /// Where reads go.
    #[command(flatten)]
    pub roles: RolesSpec,

    /// What disturbs each trial.
    #[command(flatten)]
    pub disturb: DisturbSpec,

    /// The same by name.
    #[command(flatten)]
    pub with: WithArgs,

    /// What every made experiment has.
    #[command(flatten)]
    pub made: MadeArgs,
}

/// Refuses a mix that cannot be run so, and one without a script that goes to the endpoints of a role.
fn check_mix(mix: &str, spec: &TrialSpec) -> Result<(), Failure> {
    let spec = TrialSpec {
        mix: Some(mix.to_owned()),
        ..spec.clone()
    };
    let checked = prepare::check(&spec)?;
    let mut scripts = checked.workload.scripts.iter();
    let roles = &spec.roles;
    if roles.endpoints().is_empty()
        || roles.script_role.is_some()
        || scripts.any(|script| script.role.is_some())
    {
        return Ok(());
    }
    let text = format!("--endpoint-role: no script of the mix {mix} goes elsewhere");
    Err(Failure::with(Exit::Usage, text)
        .hint("--mix session writes in one transaction and reads in another")
        .hint("or say which script does: --script-role SCRIPT=ROLE"))
}

/// All mixes.
fn mixes() -> impl Iterator<Item = &'static str> {
    MIXES.into_iter().chain(MIXES_OF_ONE).chain([SESSION])
}

impl IsolationArgs {
    fn lab(&self) -> Result<IsolationLab, Failure> {
        let mut disturb = self.disturb.clone();
        self.with.add(&mut disturb)?;
        let reads_elsewhere = !self.roles.endpoints().is_empty();
        let mut spec = TrialSpec {
            clients: Some(self.clients.into()),
            duration: disturb.is_empty().then_some(self.duration),
            retry: self.retry,
            roles: self.roles.clone(),
            disturb,
            target: self.made.target.clone(),
            seed: self.made.seed,
            params: self.made.pack.param.clone(),
            history: true,
            ..TrialSpec::of(PACK)
        };
        self.made.pack.pairs()?;
        if spec.disturb.control {
            let text = "each trial of this laboratory is disturbed: there are no controls";
            return Err(Failure::with(Exit::Usage, text).hint("leave --control out"));
        }
        // As good applications behave: what was refused is tried again, and is in the history each time.
        spec.errors.reconnect = true;
        spec.errors.continue_on_error = true;
        if spec.retry.policy.is_none() && spec.retry.max_tries.is_none() {
            spec.retry.policy = Some(Policy::Restart);
        }
        // A share of the maximum is measured by the experiment.
        let share = self.rate.as_ref().filter(|rate| rate.is_of_maximum());
        spec.rate = self.rate.clone().filter(|_| share.is_none());
        spec.check()?;
        spec.rate = self.rate.clone();
        let mixes = match (self.mix.as_slice(), reads_elsewhere) {
            ([], false) => MIXES.map(str::to_owned).to_vec(),
            ([], true) => vec![SESSION.to_owned()],
            (given, _) => given.to_vec(),
        };
        for mix in &mixes {
            check_mix(mix, &spec)?;
        }
        Ok(IsolationLab {
            spec,
            mixes,
            levels: match (self.isolation.as_slice(), reads_elsewhere) {
                ([], false) => LEVELS.to_vec(),
                ([], true) => LEVELS_OF_STANDBYS.to_vec(),
                (given, _) => given.to_vec(),
            },
            repeats: self.repeat,
        })
    }
}

/// Runs the command.
pub fn open(args: &IsolationArgs, verbosity: Verbosity) -> Result<Exit, Failure> {
    let made = args.lab()?.experiment();
    if args.made.print {
        return print(made);
    }
    let experiment = of_capacity::of_experiment(made.experiment, &args.made.store)?;
    let json_to = args.made.json.open()?;
    let store = args.made.store.open()?;
    let _served = args.made.serve.start(&args.made.store)?;
    let seed = experiment.seed.unwrap_or_else(seed_from_clock);
    let plan = Plan::new(experiment, &args.made.target, seed)?;
    let (plan, notebook) = begin(&store, &plan, &args.made.target, (args.resume, false))?;
    let ended = Conducted {
        name: "lab isolation",
        plan: &plan,
        notebook: &notebook,
        wanted: args.made.target.clone(),
        observe: ObserveOptions::default(),
        generators: None,
    }
    .run(verbosity)?;
    let row = store.experiment(notebook.uuid()?)?;
    let document = isolation::lab(&Trials::of(&store, &row)?)?;
    let found = (!document.levels.is_empty()).then_some(&document as &dyn Lab);
    let written = show(
        found,
        &document,
        (&store, &notebook),
        (&args.made.json, json_to),
        WIDTH,
    );
    write_replays(&document, verbosity)?;
    written?;
    kept_as(&plan.identity.name, verbosity);
    all_complete(ended)?;
    Ok(if document.is_broken() {
        Exit::Failed
    } else {
        Exit::Ok
    })
}

/// Writes a file for each anomaly that what is promised forbids.
fn write_replays(document: &Document, verbosity: Verbosity) -> Result<(), Failure> {
    let forbidden = document
        .examples
        .iter()
        .filter(|seen| seen.forbidden == Some(true));
    for seen in forbidden {
        let Some(replay) = &seen.example.replay else {
            continue;
        };
        let file = Output::open(Path::new(&seen.file));
        file.and_then(|file| file.replace(replay.as_bytes()))
            .map_err(|e| Failure::new(format!("{} could not be written: {e}", seen.file)))?;
        if !verbosity.quiet {
            remark!(
                "pgdyno: {} shows the {} again: pgdyno check-history {}",
                seen.file,
                seen.anomaly,
                seen.file
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use pgdyno_model::document::isolation::IsolationExample;
    use pgdyno_model::document::isolation_lab::IsolationSeen;

    use super::*;

    fn document(file: &str, forbidden: bool) -> Document {
        let seen = IsolationSeen {
            level: "serializable".to_owned(),
            column: "write-skew".to_owned(),
            anomaly: "G2-item".to_owned(),
            meaning: String::new(),
            trial: 1,
            workload: "append".to_owned(),
            forbidden: Some(forbidden),
            file: file.to_owned(),
            example: IsolationExample {
                replay: Some("a history".to_owned()),
                ..IsolationExample::default()
            },
        };
        Document {
            examples: vec![seen],
            ..isolation::empty()
        }
    }

    #[test]
    fn only_what_is_forbidden_is_written_to_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("cycle.json");
        let (path, quiet) = (file.display().to_string(), Verbosity::default());
        write_replays(&document(&path, false), quiet).unwrap();
        assert!(!file.exists());
        write_replays(&document(&path, true), quiet).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "a history");
        let nowhere = file.join("cycle.json").display().to_string();
        let why = write_replays(&document(&nowhere, true), quiet).unwrap_err();
        assert!(why.message.contains("could not be written"), "{why}");
    }
}
