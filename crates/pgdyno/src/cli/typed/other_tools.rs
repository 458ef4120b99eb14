//! Words of other tools (sysbench, YCSB, `cockroach workload`, psql), and of those who have read half of `--help`: commands
//! and options that there are not, with what to type.

use clap::Command;

use pgdyno_spec::{Failure, suggest::nearest};
use pgdyno_workload::shipped;

use super::{is_anagram, path, usage, with_example};

/// Options of other tools, and what to type; those of sysbench and YCSB are below.
const OPTIONS: &[(&str, &str)] = &[
    ("--concurrency", "the clients are -c COUNT (--clients)"),
    ("--connections", "the clients are -c COUNT (--clients)"),
    ("--max-rate", "the rate is -R PER_SECOND (--rate)"),
    ("--target", "the rate is -R PER_SECOND (--rate)"),
    ("--ramp", "the warm-up is --warmup TIME"),
    (
        "--tolerate-errors",
        "errors end a client unless --continue-on-error is given",
    ),
    ("--retries", "retries are --retry restart --max-tries COUNT"),
    (
        "--retry-limit",
        "retries are --retry restart --max-tries COUNT",
    ),
    (
        "--max-retries",
        "retries are --retry restart --max-tries COUNT",
    ),
    (
        "--think-time",
        "think time is written in a script: \\think 0.05 waits 0.05 s (pgdyno help scripts)",
    ),
    (
        "--pipeline",
        "a pipeline is written in a script: \\startpipeline … \\endpipeline, with -M extended",
    ),
    (
        "--user",
        "the user is a part of the address: --url postgresql://USER@HOST/DATABASE, or -U USER",
    ),
    (
        "--db",
        "the database is a part of the address: --url postgresql://USER@HOST/DATABASE, or -d NAME",
    ),
    (
        "--database",
        "the database is a part of the address: --url postgresql://USER@HOST/DATABASE, or -d NAME",
    ),
    (
        "--sslmode",
        "it is a part of the address: --url 'postgresql://USER@HOST/DATABASE?sslmode=require', or PGSSLMODE",
    ),
    (
        "--output",
        "a result goes to a file with --json=FILE, a page with pgdyno report -o FILE.html",
    ),
    (
        "-o",
        "a result goes to a file with --json=FILE, a page with pgdyno report -o FILE.html",
    ),
    (
        "--html",
        "a page is made by pgdyno report -o FILE.html, of comparisons by compare --html FILE",
    ),
    ("--csv", "trials as CSV: pgdyno ls --csv"),
    (
        "--format",
        "the page is HTML: -o FILE.html; Markdown: --markdown; the figures: pgdyno show --json",
    ),
    (
        "--dry-run",
        "nothing is run by pgdyno pack check, pgdyno pack show, and pgdyno sweep --dry-run",
    ),
    ("--version", "the version is pgdyno --version"),
    ("--last", "the newest COUNT: --limit COUNT"),
    ("--head", "the newest COUNT: --limit COUNT"),
    (
        "--levels",
        "a level is --isolation LEVEL, several with commas",
    ),
    ("--loglevel", "more is printed with -v, less with -q"),
    ("--log-level", "more is printed with -v, less with -q"),
];

/// How sysbench's options begin.
const OF_SYSBENCH: &[&str] = &[
    "--tables",
    "--table-size",
    "--table_size",
    "--report-interval",
    "--db-driver",
    "--db-ps-mode",
    "--pgsql-",
    "--rand-",
    "--events",
    "--percentile",
    "--histogram",
    "--point-selects",
    "--range-selects",
    "--skip-trx",
    "--mysql-",
];

/// Words in the place of a command, and what to type.
const COMMANDS: &[(&str, &str)] = &[
    ("status", "pgdyno server status, pgdyno ls for the trials"),
    ("start", "pgdyno server start"),
    ("stop", "pgdyno server stop; a run is stopped by Ctrl-C"),
    ("url", "pgdyno server url"),
    ("restart", "pgdyno server stop, then pgdyno server start"),
    (
        "psql",
        "psql \"$(pgdyno server url)\" opens the kept server; pgdyno sql asks the notebook",
    ),
    (
        "cleanup",
        "pgdyno load --replace recreates tables; pgdyno drops none (psql: DROP TABLE …); pgdyno rm deletes \
         trials",
    ),
    (
        "clean",
        "pgdyno load --replace recreates tables; pgdyno drops none (psql: DROP TABLE …); pgdyno rm deletes \
         trials",
    ),
    (
        "drop",
        "pgdyno load --replace recreates tables; pgdyno drops none (psql: DROP TABLE …); pgdyno rm deletes \
         trials",
    ),
    (
        "oltp",
        "pgdyno sysbench oltp_read_write … has sysbench's options",
    ),
];

/// What other programs call a command.
const VERBS: [(&str, &str); 11] = [
    ("init", "load"),
    ("initialize", "load"),
    ("prepare", "load"),
    ("bench", "run"),
    ("benchmark", "run"),
    ("test", "run"),
    ("list", "ls"),
    ("delete", "rm"),
    ("diff", "compare"),
    ("packs", "pack list"),
    ("version", "--version"),
];

/// The same below a command.
const BELOW: &[(&str, &str, &str)] = &[
    ("pack", "ls", "pgdyno pack list"),
    ("pack", "create", "pgdyno pack new NAME"),
    ("pack", "init", "pgdyno pack new NAME"),
    ("pack", "validate", "pgdyno pack check FOLDER"),
    ("pack", "run", "pgdyno run FOLDER"),
    (
        "server",
        "restart",
        "pgdyno server stop, then pgdyno server start",
    ),
    ("deploy", "k8s", "pgdyno deploy kubernetes"),
    (
        "slob",
        "run",
        "pgdyno slob sweep; one trial: pgdyno run slob",
    ),
    (
        "slob",
        "setup",
        "pgdyno load slob; pgdyno slob sweep loads what is missing",
    ),
    ("lab", "retry", "pgdyno lab retries"),
    ("lab", "chaos", "pgdyno lab disturb --with random"),
];

/// An option that is not known, or a word too many; `whole` with the value that it was given.
pub fn option(verbs: &[&Command], typed: &str, whole: &str) -> Option<Failure> {
    let verb = verbs.last()?;
    let (name, path) = (verb.get_name(), path(verbs));
    let unknown = || usage(format!("pgdyno {path} has no option {typed}"));
    if !typed.starts_with('-') {
        let what = match name {
            "config" => {
                "values stand in pgdyno.toml, as in url = 'postgresql://…': pgdyno help guide"
            }
            "ls" => "a workload's trials: pgdyno ls --workload NAME; those with a tag: --tag NAME",
            "show" => {
                "an experiment is named by --experiment NAME; all of them: pgdyno ls --experiments"
            }
            "compare" => "two sets, of which each may be a list: pgdyno compare 1,2 3-5",
            _ => "",
        };
        let failure = usage(format!("pgdyno {path} takes no \"{whole}\""));
        let has_params = verb
            .get_arguments()
            .any(|arg| arg.get_long() == Some("param"));
        return Some(match what {
            "" if has_params && whole.contains('=') => failure.hint(format!("--param {whole}")),
            "" => with_example(failure, verb, &path),
            what => failure.hint(what),
        });
    }
    if OF_SYSBENCH.iter().any(|begin| typed.starts_with(begin)) {
        return Some(
            unknown().hint("it is sysbench's: pgdyno sysbench oltp_read_write … takes all of them"),
        );
    }
    if name == "sweep" && has(&run_options(), typed) {
        return Some(unknown().hint(format!(
            "an experiment has it in its file, where it may be a list: pgdyno sweep --preset quick --print > \
             mine.toml; one trial: pgdyno run … {typed}"
        )));
    }
    if matches!(name, "show" | "report" | "rerun")
        && typed.strip_prefix('-')?.parse::<u32>().is_ok()
    {
        return Some(
            unknown().hint("the newest trial is meant where none is named; all: pgdyno ls"),
        );
    }
    let (_, what) = OPTIONS.iter().find(|(known, _)| *known == typed)?;
    Some(unknown().hint(*what))
}

/// An option with the same letters in another order, which no measure of clap's finds: `--ulr`.
pub fn same_letters(verbs: &[&Command], typed: &str) -> Option<Failure> {
    let typed = typed.strip_prefix("--")?;
    let mut longs = verbs
        .last()?
        .get_arguments()
        .filter_map(|arg| arg.get_long());
    let meant = longs.find(|long| is_anagram(long, typed))?;
    let failure = usage(format!("pgdyno {} has no option --{typed}", path(verbs)));
    Some(failure.hint(format!("did you mean --{meant}?")))
}

fn run_options() -> Command {
    use clap::Args;
    crate::cli::run::RunArgs::augment_args(Command::new("run"))
}

fn has(command: &Command, typed: &str) -> bool {
    command.get_arguments().any(|arg| {
        let long = arg.get_long().map(|long| format!("--{long}"));
        let short = arg.get_short().map(|short| format!("-{short}"));
        long.as_deref() == Some(typed) || short.as_deref() == Some(typed)
    })
}

/// A first word that is no command.
pub fn no_command(command: &Command, typed: &str) -> Failure {
    let all = "all commands: pgdyno --help";
    // It may have a password in it.
    if typed.contains("://") || typed.contains("host=") || typed.contains("dbname=") {
        return usage("a command comes before the server's address")
            .hint("pgdyno run tpcb --url ADDRESS; what is there: pgdyno target ADDRESS")
            .hint(all);
    }
    let failure = usage(format!("there is no command \"{typed}\""));
    let known = COMMANDS.iter().find(|(other, _)| *other == typed);
    let failure = match known {
        Some((_, what)) => failure.hint(*what),
        None if shipped::exists(typed) => {
            failure.hint(format!("it is a workload: pgdyno run {typed}"))
        }
        None if typed.ends_with(".sql") => {
            failure.hint(format!("a script is run by pgdyno run {typed}"))
        }
        None if typed.ends_with(".toml") => {
            failure.hint(format!("an experiment is run by pgdyno sweep {typed}"))
        }
        None if typed.starts_with("oltp_") => failure.hint(format!(
            "it is a script of sysbench's: pgdyno sysbench {typed} …"
        )),
        None => match near(command, typed) {
            Some(meant) => {
                return failure.hint(format!(
                    "did you mean pgdyno {meant}? All commands: pgdyno --help"
                ));
            }
            None => failure.hint("the usual beginning: pgdyno run tpcb"),
        },
    };
    failure.hint(all)
}

/// The command that other programs call so, with nearly this name, or with the same letters.
fn near<'c>(command: &'c Command, typed: &str) -> Option<&'c str> {
    let names = || command.get_subcommands().map(Command::get_name);
    let called = VERBS.iter().find(|(other, _)| *other == typed);
    called
        .map(|(_, verb)| *verb)
        .or_else(|| names().find(|name| is_anagram(name, typed)))
        .or_else(|| nearest(typed, names()))
}

pub fn nothing_below(verb: &Command, typed: &str) -> Failure {
    let name = verb.get_name();
    let failure = usage(format!("pgdyno {name} has no command \"{typed}\""));
    let known = BELOW
        .iter()
        .find(|(of, other, _)| *of == name && *other == typed);
    let names: Vec<&str> = verb.get_subcommands().map(Command::get_name).collect();
    let failure = match known {
        Some((_, _, what)) => failure.hint(*what),
        None if name == "pack" && shipped::exists(typed) => {
            failure.hint(format!("pgdyno pack list {typed} describes it"))
        }
        None => match nearest(typed, names.iter().copied()) {
            Some(meant) => failure.hint(format!("did you mean pgdyno {name} {meant}?")),
            None => failure,
        },
    };
    failure.hint(format!("there are: {}", names.join(", ")))
}
