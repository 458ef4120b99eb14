//! The command line: what the user typed, verb by verb. A command translates and prints; it has no
//! engine of its own.

pub mod calibrate;
pub mod calibrate_self;
pub mod check_history;
pub mod ci;
pub mod compare;
pub mod completions;
pub mod config;
pub mod deploy;
pub mod exchange;
mod generators;
pub mod help;
pub mod history;
mod history_file;
pub mod lab;
pub mod load;
mod load_together;
pub mod ls;
mod made_args;
pub mod marks;
mod observing;
mod of_capacity;
pub mod pack;
pub mod pack_args;
mod pgbench_tools_results;
pub mod record;
pub mod replay;
pub mod report;
pub mod rerun;
mod rerun_bundle;
pub mod restore;
pub mod rows_args;
pub mod run;
pub mod serve;
pub mod server;
pub mod show;
pub mod slob;
pub mod sql;
pub mod store;
pub mod sweep;
pub mod target;
mod target_facts;
mod trials_arg;
mod trust;
mod typed;
pub mod verify;
mod version;
mod welcome;

use clap::builder::ArgPredicate;
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use pgdyno_database::waiting;

use crate::screen::Screen;
use pgdyno_output::Verbosity;
use pgdyno_spec::{Exit, Failure, exit};

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "pgdyno",
    version,
    long_version = version::long(),
    about = "A dynamometer for databases that speak PostgreSQL's protocol",
    max_term_width = 80,
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

impl Cli {
    /// Reads the command line, or ends the process as clap does.
    pub fn read() -> Self {
        let words: Vec<_> = std::env::args_os().collect();
        if let Some(welcome) = welcome::of(&words) {
            let written = pgdyno_output::write_answer(format_args!("{welcome}"));
            std::process::exit(
                written
                    .map_or_else(|failure| failure.exit.code(), |()| 0)
                    .into(),
            );
        }
        let asked = config::in_force(Self::asked());
        let read = match typed::read(&asked, words.clone()) {
            // Texts are laid out where they are shown.
            Err(typed::Wrong::Clap(e)) if shows_help(e.kind()) => {
                typed::read(&help::layout::laid_out(asked), words)
            }
            read => read,
        };
        let matches = match read {
            Ok(matches) => matches,
            Err(typed::Wrong::Clap(e)) => {
                let text = e.render().to_string();
                // As all errors begin.
                if let Some(says) = text.strip_prefix("error: ") {
                    let says = says.replace("\n  tip: ", "\npgdyno: hint: ");
                    pgdyno_output::remark!("pgdyno: error: {}", says.trim_end());
                    std::process::exit(e.exit_code());
                }
                e.exit()
            }
            Err(typed::Wrong::Answered(failure)) => {
                pgdyno_output::remark!("{failure}");
                std::process::exit(failure.exit.code().into())
            }
        };
        Self::from_arg_matches(&matches).unwrap_or_else(|e| e.exit())
    }

    /// Whether a mistake in a configuration file stops it.
    pub fn is_configured(&self) -> bool {
        !matches!(
            self.verb,
            Verb::Help(_) | Verb::Config(_) | Verb::Completions(_) | Verb::Man(_)
        )
    }

    /// `lab disturb --list` has no workload; each other trial has one.
    fn asked() -> clap::Command {
        with_negative_numbers(Self::command()).mut_subcommand("lab", |lab| {
            lab.mut_subcommand("disturb", |disturb| {
                disturb.mut_arg("workload", |workload| {
                    workload
                        .required(false)
                        .required_unless_present("list")
                        .default_value_if("list", ArgPredicate::IsPresent, "tpcb")
                })
            })
        })
    }
}

fn shows_help(kind: ErrorKind) -> bool {
    use ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand};
    matches!(kind, DisplayHelp | DisplayHelpOnMissingArgumentOrSubcommand)
}

/// pgdyno's commands.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Measure a workload: load what is missing, run it, report
    Run(Box<run::RunArgs>),
    /// Measure a matrix of trials, or search for the capacity
    Sweep(Box<sweep::SweepArgs>),
    /// Check whether the infrastructure is as fast as expected
    Calibrate(Box<calibrate::CalibrateArgs>),
    /// Laboratories: retries, disturb, failover, isolation, migrate
    #[command(subcommand)]
    Lab(lab::LabVerb),
    /// Read random blocks: cache sizes, the cost of a logical read
    #[command(subcommand)]
    Slob(slob::SlobVerb),
    /// Make a recording of a server's traffic from its logs
    Record(record::RecordArgs),
    /// Send a recording's statements in their own time; account for the late ones
    Replay(replay::ReplayArgs),
    /// Restore server settings left changed by a crashed sweep
    Restore(restore::RestoreArgs),
    /// Create and fill a workload's tables without running it
    Load(load::LoadArgs),
    /// Describe a server: product, nodes, what can be observed
    Target(target::TargetVerbArgs),
    /// List the workloads, show one, start one of your own or check it
    #[command(subcommand)]
    Pack(pack::PackVerb),
    /// Keep a private PostgreSQL server running between runs
    #[command(subcommand)]
    Server(server::ServerVerb),
    /// List the trials of the notebook
    Ls(ls::LsArgs),
    /// Show a trial's result again
    Show(show::ShowArgs),
    /// Run a trial of the notebook or of a bundle again
    Rerun(Box<rerun::RerunArgs>),
    /// Add a note to a trial
    Note(marks::NoteArgs),
    /// Tag trials to find them later
    Tag(marks::TagArgs),
    /// Exclude a trial from results, with a reason
    Exclude(marks::ExcludeArgs),
    /// Delete trials permanently
    Rm(marks::RmArgs),
    /// Copy trials into a new notebook file, or into a bundle that others can check and repeat
    Export(exchange::ExportArgs),
    /// Check that what a bundle, page or notebook shows follows from what was counted
    Verify(verify::VerifyArgs),
    /// Add the trials of another notebook file
    Import(exchange::ImportArgs),
    /// A team's notebook on a server: make, check, send, move, thin
    #[command(subcommand)]
    Store(store::StoreVerb),
    /// Query the notebook in SQL
    Sql(sql::SqlArgs),
    /// Write a trial, an experiment or a set as one HTML page
    Report(report::ReportArgs),
    /// Compare two sets of trials, with intervals and a verdict
    Compare(compare::CompareArgs),
    /// Show the notebook and running trials in the browser
    Serve(serve::ServeVerbArgs),
    /// Show how a figure changed over the notebook's trials, and when
    History(history::HistoryArgs),
    /// Judge a change: two sides measured until a gate can tell
    Ci(Box<ci::CiArgs>),
    /// Check which isolation levels a recorded history keeps
    CheckHistory(check_history::CheckHistoryArgs),
    /// Print what starts several generators on Kubernetes or Slurm
    #[command(subcommand)]
    Deploy(deploy::DeployVerb),
    /// Read the documents that are built in: pgdyno help lists them
    Help(help::HelpArgs),
    /// Show what is in effect where the command line says nothing, and from which file
    Config(config::ConfigArgs),
    /// Print what completes commands and options in bash, zsh or fish
    Completions(completions::CompletionsArgs),
    /// Write man pages into a folder
    #[command(hide = true)]
    Man(completions::ManArgs),
    /// pgio's setup and run, from a pgio.conf (also when called as pgio)
    #[command(subcommand)]
    Pgio(pgdyno_compat_pgio::PgioVerb),
    /// FranckPachot's ybio: setup, runit and remove (also when called as ybio)
    Ybio(pgdyno_compat_ybio::YbioArgs),
    /// pgbench 18: the same options, output and statements (also when called as pgbench)
    Pgbench(Compatible),
    /// YugabyteDB's ysql_bench (also when called as ysql_bench)
    #[command(name = "ysql_bench")]
    YsqlBench(Compatible),
    /// cockroach's workload command: init, run and check ycsb, kv, bank, tpcc (also when called as workload)
    Workload(Compatible),
    /// cockroach's workload, and start-single-node for a private PostgreSQL (also when called as cockroach)
    Cockroach(Compatible),
    /// sysbench's OLTP scripts and sysbench-tpcc with their options and output (also when called as sysbench)
    Sysbench(Compatible),
    /// YCSB's load and run with its binding jdbc (also when called as ycsb)
    Ycsb(Compatible),
    /// go-ycsb's load and run with its database pg (also when called as go-ycsb)
    #[command(name = "go-ycsb")]
    GoYcsb(Compatible),
}

/// The command line of a program that is called `pgio`.
#[derive(Debug, Parser)]
#[command(
    name = "pgio",
    version,
    about = "pgio's setup and run, by pgdyno",
    max_term_width = 80,
    disable_help_subcommand = true
)]
pub struct Pgio {
    #[command(flatten)]
    verbosity: Verbosity,
    #[command(subcommand)]
    verb: pgdyno_compat_pgio::PgioVerb,
}

impl From<Pgio> for Cli {
    fn from(called: Pgio) -> Self {
        Self {
            verbosity: called.verbosity,
            verb: Verb::Pgio(called.verb),
        }
    }
}

/// The command line of a program that is called `ybio`.
#[derive(Debug, Parser)]
#[command(
    name = "ybio",
    version,
    about = "ybio's setup, runit and remove, by pgdyno",
    max_term_width = 80
)]
pub struct Ybio {
    #[command(flatten)]
    verbosity: Verbosity,
    #[command(flatten)]
    args: pgdyno_compat_ybio::YbioArgs,
}

impl From<Ybio> for Cli {
    fn from(called: Ybio) -> Self {
        Self {
            verbosity: called.verbosity,
            verb: Verb::Ybio(called.args),
        }
    }
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

/// `-c -1` is a wrong number of clients, not an option `-1`.
fn with_negative_numbers(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|arg| {
        let takes_value = !arg.is_positional() && arg.get_action().takes_values();
        if takes_value {
            arg.allow_negative_numbers(true)
        } else {
            arg
        }
    });
    command.mut_subcommands(with_negative_numbers)
}

fn after_help() -> String {
    format!(
        "\
Examples:
  pgdyno run tpcb                             load and measure a private PostgreSQL server
  pgdyno run tpcb -c 8 -T 60 --url postgresql://me@db1/bench
  pgdyno run mine.sql@9 other.sql@1 -c 4      script files in pgbench's language, with weights
  pgdyno sweep experiment.toml                a matrix of runs, with repeats
  pgdyno calibrate postgresql://me@db1/bench  check whether the infrastructure is as fast as expected
  pgdyno ci --base old/bin --head new/bin     judge a change: pass, fail or cannot tell
  pgdyno lab retries                          compare ways to write a transaction under contention
  pgdyno slob sweep                           find the cache sizes and the cost of a logical read
  pgdyno load tpcb --param scale=100          create and fill the tables only
  pgdyno target postgresql://me@db1/bench     product, nodes, isolation levels, what can be observed
  pgdyno pack new mine                        start a workload of your own: pgdyno run ./mine
  pgdyno ls; pgdyno show 12                   list trials, show one
  pgdyno report 12 -o slow.html               the same as an HTML page with charts
  pgdyno serve                                the notebook and running trials in the browser
  pgdyno server start                         a server that keeps running for the next runs
  pgdyno pgbench -c 8 -T 60 bench             the same as pgbench
  pgdyno help results                         how results are computed; pgdyno help: all topics

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
        Verb::Record(args) => record::open(&args, cli.verbosity),
        Verb::Replay(args) => replay::open(&args, cli.verbosity),
        Verb::Restore(args) => restore::open(&args, cli.verbosity),
        Verb::Load(args) => load::open(&args, cli.verbosity),
        Verb::Target(args) => target::open(&args, cli.verbosity),
        Verb::Pack(verb) => pack::open(&verb, cli.verbosity),
        Verb::Server(verb) => server::open(&verb, cli.verbosity),
        Verb::Ls(args) => ls::open(&args, cli.verbosity),
        Verb::Show(args) => show::open(&args, cli.verbosity),
        Verb::Rerun(args) => rerun::open(&args, cli.verbosity),
        Verb::Note(args) => marks::note(&args),
        Verb::Tag(args) => marks::tag(&args),
        Verb::Exclude(args) => marks::exclude(&args),
        Verb::Rm(args) => marks::rm(&args),
        Verb::Export(args) => exchange::export(&args, cli.verbosity),
        Verb::Verify(args) => verify::open(&args),
        Verb::Import(args) => exchange::import(&args, cli.verbosity),
        Verb::Store(verb) => store::open(&verb, cli.verbosity),
        Verb::Sql(args) => sql::open(&args),
        Verb::Report(args) => report::open(&args, cli.verbosity),
        Verb::Compare(args) => compare::open(&args),
        Verb::Serve(args) => serve::open(&args, cli.verbosity),
        Verb::History(args) => history::open(&args),
        Verb::Ci(args) => ci::open(&args, cli.verbosity),
        Verb::CheckHistory(args) => check_history::open(&args, cli.verbosity),
        Verb::Deploy(verb) => deploy::open(&verb),
        Verb::Help(args) => help::open(&args),
        Verb::Config(args) => config::open(&args),
        Verb::Completions(args) => completions::open(&args),
        Verb::Man(args) => completions::man(&args),
        Verb::Pgio(verb) => {
            let mut screen = Screen::new(cli.verbosity);
            pgdyno_compat_pgio::open(&verb, cli.verbosity, &mut screen)
        }
        Verb::Ybio(args) => pgdyno_compat_ybio::open(&args, cli.verbosity),
        Verb::Pgbench(_)
        | Verb::YsqlBench(_)
        | Verb::Workload(_)
        | Verb::Cockroach(_)
        | Verb::Sysbench(_)
        | Verb::Ycsb(_)
        | Verb::GoYcsb(_) => Err(Failure::with(
            Exit::Usage,
            "pgbench, ysql_bench, workload, cockroach, ycsb and go-ycsb come first, with their own \
             options after them",
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
        Cli::asked().debug_assert();
        Pgio::command().debug_assert();
        Ybio::command().debug_assert();
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
