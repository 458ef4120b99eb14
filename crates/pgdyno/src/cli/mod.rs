//! The command line: what the user typed, verb by verb. A command translates and prints; it has no
//! engine of its own.

pub mod calibrate;
pub mod compare;
pub mod exchange;
pub mod lab;
pub mod load;
pub mod ls;
mod made_args;
pub mod marks;
mod observing;
pub mod pack;
pub mod pack_args;
pub mod pgio;
pub mod report;
pub mod rerun;
pub mod restore;
pub mod rows_args;
pub mod run;
pub mod server;
pub mod show;
pub mod slob;
pub mod sql;
pub mod store_args;
pub mod sweep;
pub mod target;
mod trials_arg;

use clap::{ArgAction, Args, Parser, Subcommand};

use pgdyno_database::waiting;
use pgdyno_platform::interrupt::Interrupts;
use pgdyno_platform::terminal;

use crate::screen::Form;
use pgdyno_model::{Exit, Failure, exit};
use pgdyno_output::Loading;

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "pgdyno",
    version,
    about = "A dynamometer for databases that speak PostgreSQL's protocol",
    max_term_width = 100,
    disable_help_subcommand = true,
    after_help = after_help()
)]
pub struct Cli {
    /// How much to say.
    #[command(flatten)]
    pub verbosity: Verbosity,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// How much to say on standard error; results are printed either way.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct Verbosity {
    /// Say more; twice for all
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,
    /// No progress, only results and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
}

impl Verbosity {
    /// How a run is shown while it goes on.
    pub fn screen(self) -> Form {
        match (self.quiet, terminal::stderr_is_terminal()) {
            (true, _) => Form::Quiet,
            (false, true) => Form::Bar,
            (false, false) => Form::Lines,
        }
    }

    /// How a load reports.
    pub fn progress(self) -> Loading {
        match self.quiet {
            true => Loading::quiet(),
            false => Loading::new(terminal::stderr_is_terminal()),
        }
    }
}

/// Catches Ctrl-C and SIGTERM from here on, so that they end what is under way in good order.
pub fn interrupts() -> Result<&'static Interrupts, Failure> {
    Interrupts::install().map_err(|e| Failure::new(format!("could not catch interrupts: {e}")))
}

/// What pgdyno can be told to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Measure a workload: load what is missing, run it, report
    Run(Box<run::RunArgs>),
    /// Measure a matrix of trials from a file or preset, with repeats, in order
    Sweep(sweep::SweepArgs),
    /// Is this infrastructure as fast as it should be? Four figures with verdicts
    Calibrate(Box<calibrate::CalibrateArgs>),
    /// Which form of a transaction bears contention best on this server
    #[command(subcommand)]
    Lab(lab::LabVerb),
    /// Random blocks: where the caches end, and what a logical read costs
    #[command(subcommand)]
    Slob(slob::SlobVerb),
    /// Put back settings that a sweep which died had changed
    Restore(restore::RestoreArgs),
    /// Create and fill a workload's tables, without running it
    Load(load::LoadArgs),
    /// What a server is: product, nodes, isolation in effect, what is different, what can be seen
    Target(target::TargetVerbArgs),
    /// List the workloads, or show one to copy and change
    #[command(subcommand)]
    Pack(pack::PackVerb),
    /// Keep a PostgreSQL server of pgdyno's own across runs
    #[command(subcommand)]
    Server(server::ServerVerb),
    /// List the trials of the notebook
    Ls(ls::LsArgs),
    /// Show a trial's result again
    Show(show::ShowArgs),
    /// Run a trial of the notebook once more, as it was asked for
    Rerun(Box<rerun::RerunArgs>),
    /// Write down something about a trial
    Note(marks::NoteArgs),
    /// Give trials words to find them by
    Tag(marks::TagArgs),
    /// Let a trial not count, with a reason
    Exclude(marks::ExcludeArgs),
    /// Remove trials for good
    Rm(marks::RmArgs),
    /// Copy trials into a new store
    Export(exchange::ExportArgs),
    /// Add the trials of another store
    Import(exchange::ImportArgs),
    /// Ask the notebook anything, in SQL
    Sql(sql::SqlArgs),
    /// A trial, an experiment or a set of trials as one page to look at
    Report(report::ReportArgs),
    /// Two sets of trials beside each other, with intervals and a verdict
    Compare(compare::CompareArgs),
    /// pgio's setup and run, from its own pgio.conf, with honest figures (also by that name)
    #[command(subcommand)]
    Pgio(pgio::PgioVerb),
    /// pgbench 18, to the letter: the same options, texts and statements (also by that name)
    Pgbench(Compatible),
    /// The same as YugabyteDB's ysql_bench (also by that name)
    #[command(name = "ysql_bench")]
    YsqlBench(Compatible),
    /// cockroach's workload command: init, run and check ycsb (also by that name)
    Workload(Compatible),
}

/// The command line of a compatible command. It is read in its own way, before this one; here it is for
/// `--help`, and for those who put something before it.
#[derive(Debug, Args)]
pub struct Compatible {
    /// Its own options: `pgdyno pgbench --help`
    #[arg(
        value_name = "OPTION",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub arguments: Vec<String>,
}

fn after_help() -> String {
    format!(
        "\
Examples:
  pgdyno run tpcb                             load and measure a server of pgdyno's own
  pgdyno run tpcb -c 8 -T 60 --url postgresql://me@db1/bench
  pgdyno run mine.sql@9 other.sql@1 -c 4      script files in pgbench's language, with weights
  pgdyno sweep experiment.toml                a matrix of runs, with repeats
  pgdyno calibrate postgresql://me@db1/bench  is this infrastructure as fast as it should be
  pgdyno lab retries                          which form of a transaction bears contention best
  pgdyno slob sweep                           where the caches end, what a logical read costs
  pgdyno load tpcb --param scale=100          create and fill the tables only
  pgdyno target postgresql://me@db1/bench     what is there, and what pgdyno makes of it
  pgdyno pack show tpcb --to mine             a workload to copy and change: pgdyno run ./mine
  pgdyno ls; pgdyno show 12                   what was measured before
  pgdyno report 12 -o slow.html               the same as a page, with pictures and reasons
  pgdyno server start                         a server that stays for the next runs
  pgdyno pgbench -c 8 -T 60 bench             what pgbench would do and say

{}",
        exit::HELP
    )
}

/// Does what the command line says.
pub fn open(cli: Cli) -> Result<Exit, Failure> {
    if !cli.verbosity.quiet {
        waiting::say_with(|what| pgdyno_output::remark!("pgdyno: {what}"));
    }
    match cli.verb {
        Verb::Run(args) => run::open(&args, cli.verbosity),
        Verb::Sweep(args) => sweep::open(&args, cli.verbosity),
        Verb::Calibrate(args) => calibrate::open(&args, cli.verbosity),
        Verb::Lab(verb) => lab::open(&verb, cli.verbosity),
        Verb::Slob(verb) => slob::open(&verb, cli.verbosity),
        Verb::Restore(args) => restore::open(&args, cli.verbosity),
        Verb::Load(args) => load::open(&args, cli.verbosity),
        Verb::Target(args) => target::open(&args, cli.verbosity),
        Verb::Pack(verb) => pack::open(&verb, cli.verbosity),
        Verb::Server(verb) => server::open(&verb, cli.verbosity),
        Verb::Ls(args) => ls::open(&args, cli.verbosity),
        Verb::Show(args) => show::open(&args),
        Verb::Rerun(args) => rerun::open(&args, cli.verbosity),
        Verb::Note(args) => marks::note(&args),
        Verb::Tag(args) => marks::tag(&args),
        Verb::Exclude(args) => marks::exclude(&args),
        Verb::Rm(args) => marks::rm(&args),
        Verb::Export(args) => exchange::export(&args, cli.verbosity),
        Verb::Import(args) => exchange::import(&args, cli.verbosity),
        Verb::Sql(args) => sql::open(&args),
        Verb::Report(args) => report::open(&args),
        Verb::Compare(args) => compare::open(&args),
        Verb::Pgio(verb) => pgio::open(&verb, cli.verbosity),
        Verb::Pgbench(_) | Verb::YsqlBench(_) | Verb::Workload(_) => Err(Failure::with(
            Exit::Usage,
            "pgbench, ysql_bench and workload come first, with their own options after them",
        )
        .hint("pgdyno pgbench --help")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_mistyped_verb_or_option_is_answered_with_the_right_one() {
        let e = Cli::try_parse_from(["pgdyno", "laod", "tpcb"]).unwrap_err();
        assert!(e.to_string().contains("'load'"), "{e}");
        let cli = Cli::try_parse_from(["pgdyno", "-q", "pgbench", "-i"]).unwrap();
        let e = open(cli).unwrap_err();
        assert!(e.to_string().contains("come first"), "{e}");
        let e = Cli::try_parse_from(["pgdyno", "load", "tpcb", "--parm", "scale=1"]).unwrap_err();
        assert!(e.to_string().contains("'--param'"), "{e}");
        assert_eq!(e.exit_code(), i32::from(Exit::Usage.code()));
    }
}
