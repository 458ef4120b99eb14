//! `pgdyno lab migrate`: what a migration does to clients, in which form; `--explain`: what it will lock, without
//! running it.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValuesParser;
use pgdyno_database::{dialect, open};
use pgdyno_migration::{Migration, Product, explain};
use pgdyno_observe::ObserveOptions;
use pgdyno_output::{Verbosity, remark, write_report};
use pgdyno_report::disturb;
use pgdyno_run::disturb::migrate::{Copies, UNDO, column_type, groups, version};
use pgdyno_run::experiment::plan::Plan;
use pgdyno_run::experiment::study::{Study, TrialsAlone};
use pgdyno_session::Session;
use pgdyno_spec::{
    DisturbSpec, Exit, Failure, OWN, Policy, QueryMode, Rate, TrialSpec,
    command::ShellCommand,
    duration,
    experiment::{
        migrate_lab::FORMS, migrate_lab::MigrateLab, migrate_lab::NAME, migrate_lab::encoded,
        migrate_lab::option_of,
    },
    seed_from_clock,
    text::{self, as_typed},
};

use super::super::made_args::MadeArgs;
use super::super::of_capacity;
use super::super::sweep::kept_as;
use super::begin;
use super::conducted::{Conducted, all_complete, print};
use super::disturb::{RATE, conclude};

/// The version that `--explain` is for without a server.
const VERSION: u32 = *pgdyno_migration::VERSIONS.end();

/// Which migration, in which forms, under which load.
#[derive(Debug, Args)]
#[command(after_help = "\
The file is run in the transactions that its tool makes: Flyway by its name (V2__x.sql), Liquibase's formatted
SQL, golang-migrate and sqlx (.up.sql, .down.sql), dbmate and goose by their comments, all else as psql -f does
(BEGIN, \\i, \\set keep their meaning).

After each run it is undone: by its down part, on a private server by a copy of the database, or by --undo.

Examples:
  pgdyno lab migrate V2__note.sql --explain                       its locks by the table, without a server
  pgdyno lab migrate V2__note.sql --explain --url postgresql://me@db1/shop      types are looked up there
  pgdyno lab migrate V2__note.sql --param scale=20                tpcb's tables on a private server
  pgdyno lab migrate 7_x.up.sql --workload mine.sql -c 32 -R 500 --url postgresql://me@staging/shop
  pgdyno lab migrate 7_x.up.sql --reader 30s                      a long reader in the way, too
  pgdyno lab migrate 7_x.up.sql --forms as-written --fail-if 'outage > 1s'      for CI
  pgdyno report lab-migrate                                       its page

What each figure means, where each lock is documented: pgdyno help migrate")]
pub struct MigrateArgs {
    /// The migration
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Print what each statement locks, writes anew and reads by the table of locks, and exit; nothing is run
    #[arg(long, help_heading = "Without a load")]
    pub explain: bool,

    /// Explain for this major version of PostgreSQL [default: the server's; without --url 18]
    #[arg(long, value_name = "VERSION", value_parser = clap::value_parser!(u32).range(13..=18), requires = "explain", help_heading = "Without a load")]
    pub pg: Option<u32>,

    /// Explain for another product, by its documentation alone [default: the server's]
    #[arg(long, value_name = "NAME", value_parser = ["cockroachdb", "yugabytedb"], requires = "explain", conflicts_with = "pg", help_heading = "Without a load")]
    pub product: Option<String>,

    /// The workload: a pack, or script files
    #[arg(long, value_name = "WORKLOAD", default_value = "tpcb", num_args = 1..)]
    pub workload: Vec<String>,

    /// Forms, by turns: as the file has it; with lock_timeout and retries; with the online forms of its
    /// statements, and both [default: those that there are]
    #[arg(long, value_name = "FORM,…", value_delimiter = ',', value_parser = PossibleValuesParser::new(FORMS))]
    pub forms: Vec<String>,

    /// lock_timeout of lock-timeout and online; of several each is tried
    #[arg(long, value_name = "TIME,…", value_delimiter = ',', default_value = "50ms", value_parser = duration::parse_positive)]
    pub lock_wait: Vec<Duration>,

    /// Tries of each transaction, with pauses of 100 ms to 1 s
    #[arg(long, value_name = "COUNT", default_value_t = 40, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub tries: u64,

    /// Run each form also behind a transaction that has read its tables and lasts so long
    #[arg(long, value_name = "TIME", value_parser = duration::parse_positive)]
    pub reader: Option<Duration>,

    /// Undo it by this shell command, in place of its down part or a copy
    #[arg(long, value_name = "COMMAND")]
    pub undo: Option<String>,

    /// Leave it as it is after the only run: --forms with one form, --repeat 1
    #[arg(long, conflicts_with = "undo")]
    pub no_undo: bool,

    /// Protocol for sending statements [default: simple, unless the workload needs another]
    #[arg(short = 'M', long, value_enum)]
    pub query_mode: Option<QueryMode>,

    /// Clients that run at the same time
    #[arg(short, long, value_name = "COUNT", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub clients: u32,

    /// Transactions per second over all clients; 30% is a share of what they get at most, which a first
    /// trial measures (pgdyno run --help) [default: 50%]
    #[arg(short = 'R', long, value_parser = Rate::from_str)]
    pub rate: Option<Rate>,

    /// How long each trial measures before the migration
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration::parse_positive)]
    pub before: Duration,

    /// How long it goes on after the migration has begun [default: 20s, and as long as --reader]
    #[arg(long, value_name = "TIME", value_parser = duration::parse_positive)]
    pub after: Option<Duration>,

    /// Trials of each form, and of the control
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,

    /// Run no controls: nothing says then what would have happened without the migration
    #[arg(long)]
    pub no_controls: bool,

    /// End with exit code 1 when all clients are without a commit for longer: 'outage > 1s'
    #[arg(long, value_name = "CONDITION", value_parser = limit)]
    pub fail_if: Option<Duration>,

    /// Continue an interrupted laboratory: skip trials that are complete in the notebook
    #[arg(long, conflicts_with = "print")]
    pub resume: bool,

    /// What every made experiment has.
    #[command(flatten)]
    pub made: MadeArgs,
}

/// The limit of `outage > 1s`.
fn limit(condition: &str) -> Result<Duration, String> {
    let limit = condition.trim().strip_prefix("outage").map(str::trim_start);
    let limit = limit.and_then(|rest| rest.strip_prefix('>'));
    let limit = limit.ok_or("expected 'outage > TIME', such as 'outage > 1s'")?;
    duration::parse_positive(limit.trim())
}

fn usage(text: impl Into<String>) -> Failure {
    Failure::with(Exit::Usage, text)
}

/// Runs the command.
pub fn open(args: &MigrateArgs, verbosity: Verbosity) -> Result<Exit, Failure> {
    let path = std::path::absolute(&args.file)
        .map_err(|e| usage(format!("{}: {e}", args.file.display())))?;
    let migration = pgdyno_migration::read(if args.explain { &args.file } else { &path });
    let migration =
        migration.map_err(|why| usage(format!("the migration cannot be read: {why}")))?;
    if args.explain {
        return explained(args, &migration);
    }
    conducted(args, &path, &migration, verbosity)
}

/// A session with the server that is named, if one is.
fn named_server(args: &MigrateArgs) -> Result<Option<Session>, Failure> {
    if args.pg.is_some() || args.product.is_some() {
        return Ok(None);
    }
    let target = open::existing(&args.made.target)?;
    target.map(|target| target.connect()).transpose()
}

fn explained(args: &MigrateArgs, migration: &Migration) -> Result<Exit, Failure> {
    let json_to = args.made.json.open()?;
    let mut session = named_server(args)?;
    let reported = session.as_ref().and_then(dialect::Product::reported);
    let named = args.product.as_deref();
    let named = named.or(reported.map(|product| product.dialect.name));
    let product = match named.and_then(Product::named) {
        Some(product) => product,
        None => Product::PostgreSql {
            version: postgresql(args, session.as_ref())?,
        },
    };
    let mut column = |table: &str, column: &str| column_type(session.as_mut()?, table, column);
    let document = explain(migration, product, &mut column);
    json_to.write(&document)?;
    if !args.made.json.replaces_text() {
        write_report(format_args!("{}", explain::text(&document)))?;
    }
    Ok(Exit::Ok)
}

/// The major version of PostgreSQL to explain for.
fn postgresql(args: &MigrateArgs, session: Option<&Session>) -> Result<u32, Failure> {
    let of_server = session.map(version).transpose().map_err(Failure::new)?;
    let version = args.pg.or(of_server).unwrap_or(VERSION);
    let known = pgdyno_migration::VERSIONS;
    if !known.contains(&version) {
        return Err(usage(format!(
            "the table of locks is about PostgreSQL {} to {}, not {version}",
            known.start(),
            known.end()
        ))
        .hint("give the version to explain for: --pg 18"));
    }
    Ok(version)
}

impl MigrateArgs {
    /// The commands of all forms, and how each is undone.
    fn commands(&self, path: &Path, forms: &[String], undo: &str) -> Vec<String> {
        let readers = std::iter::once(None).chain(self.reader.map(Some));
        let mut all = Vec::new();
        for reader in readers {
            for form in forms {
                let begin = format!("{OWN}{NAME} file={} form={form}", encoded(path));
                let end = reader.map_or_else(String::new, |reader| {
                    format!(" reader={}", as_typed(reader))
                });
                let end = format!("{end} undo={undo}");
                if form == FORMS[0] {
                    all.push(begin + &end);
                    continue;
                }
                all.extend(self.lock_wait.iter().map(|wait| {
                    let recipe = format!(" timeout={} tries={}", as_typed(*wait), self.tries);
                    format!("{begin}{recipe}{end}")
                }));
            }
        }
        all
    }

    fn undo_by(
        &self,
        migration: &Migration,
        is_private: bool,
        runs: usize,
    ) -> Result<&'static str, Failure> {
        let [down, copy, command, none] = UNDO;
        match (&self.undo, &migration.down) {
            (Some(_), _) => Ok(command),
            (None, _) if self.no_undo && runs == 1 => Ok(none),
            (None, _) if self.no_undo => {
                Err(usage(format!("--no-undo is for one run, not for {runs}"))
                    .hint("name one form, and --repeat 1: --forms as-written"))
            }
            _ if is_private => Ok(copy),
            (None, Some(_)) => Ok(down),
            (None, None) => Err(
                usage("nothing says how the migration is undone between its runs")
                    .hint("a down part, or a file beside it (.down.sql, U2__x.sql)")
                    .hint("--undo COMMAND, or a private server (leave --url out)")
                    .hint("one run that stays: --forms as-written --repeat 1 --no-undo"),
            ),
        }
    }

    fn lab(
        &self,
        path: &Path,
        migration: &Migration,
        session: Option<&mut Session>,
    ) -> Result<MigrateLab, Failure> {
        let is_private = session.is_none();
        let has_online = match session {
            Some(session) => groups(migration, FORMS[2], session)
                .map_err(Failure::new)?
                .is_some(),
            None => {
                pgdyno_migration::online::migration(migration, VERSION, &mut |_, _| None).is_some()
            }
        };
        if !has_online && self.forms.iter().any(|form| form == FORMS[2]) {
            return Err(
                usage("no statement of the file has an online form that pgdyno makes")
                    .hint("what it knows of each: --explain"),
            );
        }
        let forms: Vec<String> = match self.forms.as_slice() {
            [] => FORMS
                .iter()
                .filter(|form| has_online || **form != FORMS[2])
                .map(|form| (*form).to_owned())
                .collect(),
            given => given.to_vec(),
        };
        let runs = forms.len() * if self.reader.is_some() { 2 } else { 1 } * self.repeat as usize;
        let undo = self.undo_by(migration, is_private, runs)?;
        let longest = self.reader.unwrap_or_default();
        let mut spec = TrialSpec {
            workload: self.workload.clone(),
            clients: Some(self.clients.into()),
            query_mode: self.query_mode,
            target: self.made.target.clone(),
            seed: self.made.seed,
            params: self.made.pack.param.clone(),
            disturb: DisturbSpec {
                before: Some(self.before),
                after: Some(self.after.unwrap_or(Duration::from_secs(20) + longest)),
                undo: self.undo.as_deref().map(ShellCommand::from),
                ..DisturbSpec::default()
            },
            ..TrialSpec::default()
        };
        self.made.pack.pairs()?;
        // As good applications behave.
        spec.errors.reconnect = true;
        spec.errors.continue_on_error = true;
        spec.retry.policy = Some(Policy::Restart);
        spec.retry.backoff = "exponential=10ms,1s,full".parse().ok();
        let commands = self.commands(path, &forms, undo);
        spec.disturb.during = commands.first().map(|command| command.as_str().into());
        let share = self.rate.as_ref().filter(|rate| rate.is_of_maximum());
        spec.rate = self.rate.clone().filter(|_| share.is_none());
        spec.check()?;
        spec.rate = match &self.rate {
            Some(rate) => Some(rate.clone()),
            None => Some(RATE.parse().map_err(|why: String| Failure::new(why))?),
        };
        Ok(MigrateLab {
            spec,
            commands,
            repeats: self.repeat,
            controls: !self.no_controls,
        })
    }
}

/// The online form, before it is run.
fn show_online(
    migration: &Migration,
    session: Option<&mut Session>,
    verbosity: Verbosity,
) -> Result<(), Failure> {
    let made = match session {
        Some(session) => groups(migration, FORMS[2], session).map_err(Failure::new)?,
        None => pgdyno_migration::online::migration(migration, VERSION, &mut |_, _| None),
    };
    if verbosity.quiet {
        return Ok(());
    }
    for group in made.iter().flatten() {
        for statement in &group.statements {
            remark!("pgdyno: online form: {};", statement.text);
        }
    }
    Ok(())
}

fn conducted(
    args: &MigrateArgs,
    path: &Path,
    migration: &Migration,
    verbosity: Verbosity,
) -> Result<Exit, Failure> {
    let mut session = named_server(args)?;
    let lab = args.lab(path, migration, session.as_mut())?;
    let any_has = |key: &str, value: &str| {
        let mut given = lab.commands.iter().map(|command| option_of(command, key));
        given.any(|given| given == Some(value))
    };
    let (has_online, is_copied) = (any_has("form", FORMS[2]), any_has("undo", UNDO[1]));
    let made = lab.experiment();
    if args.made.print {
        return print(made);
    }
    if has_online {
        show_online(migration, session.as_mut(), verbosity)?;
    }
    drop(session);
    let experiment = of_capacity::of_experiment(made.experiment, &args.made.store)?;
    let json_to = args.made.json.open()?;
    let store = args.made.store.open()?;
    let _served = args.made.serve.start(&args.made.store)?;
    let seed = experiment.seed.unwrap_or_else(seed_from_clock);
    let plan = Plan::new(experiment, &args.made.target, seed)?;
    let (plan, notebook) = begin(&store, &plan, &args.made.target, (args.resume, false))?;
    let (mut copies, mut alone) = (Copies::default(), TrialsAlone);
    let study: &mut dyn Study = if is_copied { &mut copies } else { &mut alone };
    let ended = Conducted {
        name: "lab migrate",
        plan: &plan,
        notebook: &notebook,
        wanted: args.made.target.clone(),
        observe: ObserveOptions::default(),
        generators: None,
    }
    .run_with(study, verbosity)?;
    let document = conclude(&store, &notebook, (&args.made.json, json_to))?;
    kept_as(&plan.identity.name, verbosity);
    all_complete(ended)?;
    let Some(limit) = args.fail_if else {
        return Ok(Exit::Ok);
    };
    gate(disturb::outage_us(&document), limit, verbosity)
}

/// What the gate says: passed, failed, or that there is nothing to say it of.
fn gate(outage_us: Option<u64>, limit: Duration, verbosity: Verbosity) -> Result<Exit, Failure> {
    let limit_words = text::asked(limit);
    let (exit, words) = match outage_us {
        Some(us) if Duration::from_micros(us) > limit => (
            Exit::Failed,
            format!(
                "failed: all clients were without a commit for {}, and {limit_words} is the limit",
                text::time(us as f64)
            ),
        ),
        Some(us) => (
            Exit::Ok,
            format!(
                "passed: all clients were without a commit for {} at most, and {limit_words} is the limit",
                text::time(us as f64)
            ),
        ),
        None => (Exit::CannotTell, "cannot tell: no run counts".to_owned()),
    };
    if !verbosity.quiet {
        remark!("pgdyno: --fail-if: {words}");
    }
    Ok(exit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gate_is_a_limit_of_an_outage() {
        assert_eq!(limit("outage > 1s"), Ok(Duration::from_secs(1)));
        assert_eq!(limit(" outage>250ms "), Ok(Duration::from_millis(250)));
        assert!(
            limit("p99 > 1s").is_err()
                && limit("outage < 1s").is_err()
                && limit("outage > x").is_err()
        );
        let of = |us| gate(us, Duration::from_secs(1), Verbosity::default()).unwrap();
        assert_eq!(
            (of(Some(1_000_000)), of(Some(1_000_001)), of(None)),
            (Exit::Ok, Exit::Failed, Exit::CannotTell)
        );
    }
}
