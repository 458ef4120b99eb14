//! `pgdyno lab disturb`: what a disturbance does to clients, over repeats and against controls.

use std::time::Duration;

use clap::Args;
use pgdyno_model::document::disturb_lab::DisturbLab as Document;
use pgdyno_output::{JsonArg, Sink, StoreArgs, Verbosity, write_report};
use pgdyno_report::disturb;
use pgdyno_report::lab::{Lab, Trials};
use pgdyno_run::disturb::catalogue::{self, random};
use pgdyno_run::experiment::notebook::StoredExperiment;
use pgdyno_run::experiment::plan::Plan;
use pgdyno_run::generators::Conductor;
use pgdyno_spec::experiment::Kind;
use pgdyno_spec::experiment::disturb_lab::DisturbLab;
use pgdyno_spec::secret::has_password;
use pgdyno_spec::{Exit, Failure, TrialSpec};
use pgdyno_spec::{GeneratorsSpec, OWN, Policy, TargetSpec, seed_from_clock};
use pgdyno_store::Store;
use serde::Serialize;

use super::super::generators::{Together, completed, own_points};
use super::super::observing::observing;
use super::super::of_capacity;
use super::super::serve::ServeArgs;
use super::super::sweep::kept_as;
use super::conducted::{Conducted, WithArgs, all_complete, print, show};
use super::{WIDTH, begin};

/// What is offered unless said otherwise: a share of the maximum, so that it can catch up.
pub(super) const RATE: &str = "50%";

/// How long `--with random` goes on unless said otherwise.
const RANDOM_LASTS: Duration = Duration::from_secs(60);

/// What is disturbed, how, and how often.
#[derive(Debug, Args)]
#[command(after_help = "\
Phases: before (--before), during (from the start of the first command to the end of the last, or
--for), after (--after). Each run has a control by turns: the same trial without its commands. An
effect is only claimed against controls, and an interval only from six repeats on.

A command finds the database by PGHOST, PGPORT, PGUSER, PGDATABASE (psql needs no option),
PGDYNO_ENDPOINTS (all endpoints, HOST:PORT each), PGDYNO_URL and PGDYNO_DATA (the data directory).
Clients reconnect, keep running after errors, and try again what may be tried again, with pauses;
--retry none or --backoff none turns that off.

Which rate? One that the database serves with ease. Without -R it is half of what the same clients
get at most, which a first trial of 15 s measures; -R 30% is another share of that, -R '50% of peak'
one of the capacity that the experiment peak found, -R 2000 a number.

Examples:
  pgdyno lab disturb tpcb -c 8 -R 200 --with sigstop:for=3s       one of pgdyno's own, on a private server
  pgdyno lab disturb --list                       disturbances that pgdyno can carry out itself
  pgdyno lab disturb tpcb -c 8 --during 'psql -c CHECKPOINT'       at half of the maximum
  pgdyno report lab-disturb                       its page
  pgdyno lab disturb tpcb -c 32 -R 2000 --during 'kubectl delete pod crdb-2 --grace-period=0' \\
      --before 60s --after 120s --repeat 6
  pgdyno lab disturb tpcb -c 8 -R 200 --during 'systemctl stop postgresql' --at '20s systemctl start
      postgresql' --undo 'systemctl start postgresql'
  pgdyno lab disturb tpcb -c 8 -R 200 --during 'stress-ng --cpu 4' --for 10s     ended after 10 s
  pgdyno lab disturb tpcb -c 32 -R 500 --url postgresql://me@db1,db2/bench \\
      --against postgresql://me@other1,other2/bench --during './kill-one'        two databases
  pgdyno lab disturb tpcb -c 8 -R 200 --url … --with checkpoint --with idle-lock --yes
  pgdyno lab disturb tpcb -c 8 -R 200 --with random --seed 7 --for 10m             chaos that repeats
  pgdyno lab disturb … --print > mine.toml        the experiment, to change and sweep

What each figure means: pgdyno help disturb")]
pub struct DisturbArgs {
    /// The trial and its disturbance.
    #[command(flatten)]
    pub spec: TrialSpec,

    /// Of this laboratory, or of that of failovers.
    #[arg(skip = Kind::Disturb)]
    pub kind: Kind,

    /// Disturbances by name.
    #[command(flatten)]
    pub with: WithArgs,

    /// Of --with random: only these
    #[arg(
        long,
        value_name = "NAME,…",
        value_delimiter = ',',
        help_heading = "Disturbance"
    )]
    pub only: Vec<String>,

    /// Of --with random: none of these
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub except: Vec<String>,

    /// Print what pgdyno can do itself, and exit
    ///
    /// With what it needs and risks and how it is undone; works with --json.
    #[arg(long, help_heading = "Laboratory")]
    pub list: bool,

    /// Do not have each transaction leave a receipt: lost writes are not looked for
    #[arg(long, help_heading = "Laboratory")]
    pub no_receipts: bool,

    /// Disturbed trials, on each target
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "Laboratory")]
    pub repeat: u32,

    /// Run no controls: nothing says then what would have happened without the disturbance
    #[arg(long, help_heading = "Laboratory")]
    pub no_controls: bool,

    /// Disturb this database in the same way, by turns with that of --url (repeatable); commands tell
    /// them apart by PGDYNO_URL
    #[arg(long, value_name = "URL", help_heading = "Laboratory")]
    pub against: Vec<String>,

    /// Continue an interrupted laboratory: skip trials that are complete in the notebook
    #[arg(long, help_heading = "Laboratory")]
    pub resume: bool,

    /// Print the experiment as TOML for `pgdyno sweep` and exit
    #[arg(long, conflicts_with_all = ["json", "resume"], help_heading = "Laboratory")]
    pub print: bool,

    /// Several pgdynos for each trial.
    #[command(flatten)]
    pub generators: GeneratorsSpec,

    /// `--json`.
    #[command(flatten, next_help_heading = "Result")]
    pub json: JsonArg,

    /// The notebook's options.
    #[command(flatten)]
    pub store: StoreArgs,

    /// The notebook in the browser meanwhile.
    #[command(flatten)]
    pub serve: ServeArgs,
}

impl DisturbArgs {
    fn lab(&self) -> Result<DisturbLab, Failure> {
        let mut spec = self.spec.clone();
        let usage = |text: &str| Failure::with(Exit::Usage, text);
        if spec.disturb.control {
            return Err(usage("the laboratory runs its controls itself")
                .hint("one alone: pgdyno run … --control"));
        }
        if self.generators.generators.is_some() && !self.no_receipts {
            return Err(usage(
                "transactions of several generators leave no receipts: lost writes cannot be counted",
            )
            .hint("add --no-receipts, or use one generator"));
        }
        let is_random = |with: &String| with.strip_prefix(OWN).unwrap_or(with) == random::NAME;
        match self.with.with.iter().any(is_random) {
            true => self.draw(&mut spec)?,
            false if !self.only.is_empty() || !self.except.is_empty() => {
                return Err(usage("--only and --except are for --with random"));
            }
            false => self.with.add(&mut spec.disturb)?,
        }
        catalogue::check(&spec.disturb, &spec.target)?;
        spec.receipts = !self.no_receipts;
        // As good applications behave.
        spec.errors.reconnect = true;
        spec.errors.continue_on_error = true;
        if spec.retry.policy.is_none() && spec.retry.max_tries.is_none() {
            spec.retry.policy = Some(Policy::Restart);
            spec.retry.backoff = spec
                .retry
                .backoff
                .or_else(|| "exponential=10ms,1s,full".parse().ok());
        }
        // A share of what the database does at most: the experiment measures that first.
        let rate = match &spec.rate {
            None => Some(RATE.parse().map_err(|why: String| Failure::new(why))?),
            Some(rate) => rate.is_of_maximum().then(|| rate.clone()),
        };
        if rate.is_some() {
            spec.rate = None;
        }
        spec.check()?;
        spec.rate = rate.or(spec.rate);
        Ok(DisturbLab {
            kind: self.kind,
            targets: self.targets(&spec)?,
            spec,
            repeats: self.repeat,
            controls: !self.no_controls,
        })
    }

    /// Draws the disturbances by the seed, which is kept.
    fn draw(&self, spec: &mut TrialSpec) -> Result<(), Failure> {
        let disturb = &mut spec.disturb;
        if self.with.with.len() > 1 || !disturb.steps().is_empty() {
            let text =
                "--with random must be the only disturbance: it draws what is done, and when";
            return Err(Failure::with(Exit::Usage, text)
                .hint("to change its list: --print > mine.toml, then pgdyno sweep mine.toml"));
        }
        let seed = *spec.seed.get_or_insert_with(seed_from_clock);
        let lasting = *disturb.lasting.get_or_insert(RANDOM_LASTS);
        let wanted = random::Wanted {
            only: &self.only,
            except: &self.except,
            yes: disturb.yes,
            via: spec.via,
        };
        let place = random::Place::of(&spec.target)?;
        disturb.at = random::draw(seed as u64, (disturb.before(), lasting), &wanted, &place)?;
        disturb.one_by_one = true;
        Ok(())
    }

    /// The targets that are compared.
    fn targets(&self, spec: &TrialSpec) -> Result<Vec<String>, Failure> {
        if self.against.is_empty() {
            return Ok(Vec::new());
        }
        let usage = |text: &str| Failure::with(Exit::Usage, text);
        let [url] = spec.target.urls.as_slice() else {
            return Err(
                usage("--against compares with the database of one --url").hint(
                    "name all hosts of a database in its URL: postgresql://me@db1,db2,db3/bench",
                ),
            );
        };
        let mut all = vec![url.secret().to_owned()];
        all.extend(self.against.iter().cloned());
        if all.iter().any(|url| has_password(url)) {
            return Err(usage(
                "targets that are compared are kept with the results: leave their passwords out",
            )
            .hint("use a password file (~/.pgpass) or PGPASSWORD"));
        }
        Ok(all)
    }

    /// The target of points that name none.
    fn wanted(&self) -> TargetSpec {
        let target = self.spec.target.clone();
        if self.against.is_empty() {
            target
        } else {
            TargetSpec {
                urls: Vec::new(),
                ..target
            }
        }
    }
}

/// Runs the command.
pub fn open(args: &DisturbArgs, verbosity: Verbosity) -> Result<Exit, Failure> {
    if args.list {
        return list(args);
    }
    let made = args.lab()?.experiment();
    if args.print {
        return print(made);
    }
    let experiment = of_capacity::of_experiment(made.experiment, &args.store)?;
    let json_to = args.json.open()?;
    let store = args.store.open()?;
    let _served = args.serve.start(&args.store)?;
    let seed = experiment.seed.unwrap_or_else(seed_from_clock);
    let plan = Plan::new(experiment.clone(), &args.wanted(), seed)?;
    let points = own_points(&plan, &args.wanted())?;
    let together = Together {
        options: &args.generators,
        identity: (&plan.identity.name, &plan.identity.sha256),
        store: &store,
        complete: &|point, spec| completed(&points, point, spec),
    };
    let conducted = together.conduct(verbosity, |generators, goes_on| {
        let begun = begin(&store, &plan, &args.wanted(), (args.resume, goes_on))?;
        conducted(args, verbosity, (&store, json_to), begun, generators)
    })?;
    Ok(conducted.unwrap_or(Exit::Ok))
}

/// What pgdyno can do itself.
#[derive(Debug, Serialize)]
struct Catalogue {
    disturbances: Vec<&'static catalogue::Entry>,
}

fn list(args: &DisturbArgs) -> Result<Exit, Failure> {
    let json_to = args.json.open()?;
    let disturbances: Vec<_> = catalogue::all().collect();
    if !args.json.replaces_text() {
        let mut text = String::new();
        for entry in &disturbances {
            let mut line = |name: &str, words: &str| {
                text.push_str(&format!("  {name:<8} {words}\n"));
            };
            let needs: Vec<_> = entry.needs.iter().map(|need| need.words()).collect();
            if !needs.is_empty() {
                line("needs", &needs.join("; "));
            }
            let yes = if entry.harms {
                " (--yes on a server that is not private)"
            } else {
                ""
            };
            line("risks", &format!("{}{yes}", entry.risks));
            line("undone", entry.undone);
            for key in entry.keys {
                let default = match key.default {
                    "" => String::new(),
                    default => format!(" [{default}]"),
                };
                line(key.name, &format!("{}{default}", key.help));
            }
            let heading = format!("{}: {}\n", entry.name, entry.summary);
            let lines = std::mem::take(&mut text);
            write_report(format_args!("{heading}{lines}"))?;
        }
    }
    json_to.write(&Catalogue { disturbances })?;
    Ok(Exit::Ok)
}

/// Carries it out, and shows what came of it.
fn conducted(
    args: &DisturbArgs,
    verbosity: Verbosity,
    (store, json_to): (&Store, Sink),
    (plan, notebook): (Plan, StoredExperiment<'_>),
    generators: Option<Conductor<'_>>,
) -> Result<Exit, Failure> {
    let ended = Conducted {
        name: &format!("lab {}", args.kind.word()),
        plan: &plan,
        notebook: &notebook,
        wanted: args.wanted(),
        observe: observing(&args.spec.observe, verbosity)?,
        generators,
    }
    .run(verbosity)?;
    let document = conclude(store, &notebook, (&args.json, json_to))?;
    kept_as(&plan.identity.name, verbosity);
    all_complete(ended)?;
    Ok(if document.has_lost_writes() {
        Exit::Failed
    } else {
        Exit::Ok
    })
}

/// Shows and writes what came of it.
pub(super) fn conclude(
    store: &Store,
    notebook: &StoredExperiment<'_>,
    json: (&JsonArg, Sink),
) -> Result<Document, Failure> {
    let row = store.experiment(notebook.uuid()?)?;
    let document = disturb::lab(&Trials::of(store, &row)?)?;
    let found = (!document.targets.is_empty()).then_some(&document as &dyn Lab);
    show(found, &document, (store, notebook), json, WIDTH)?;
    Ok(document)
}
