//! What those type who come from other tools (sysbench, YCSB, `cockroach workload`, psql), or who have only read
//! half of `--help`: an answer that says what to type. It is asked where clap does not know a word; pgbench's
//! letters have been looked at before (`letters`).

use std::ffi::OsString;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use pgdyno_model::suggest::nearest;
use pgdyno_model::{Exit, Failure};
use pgdyno_workload::shipped;

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
        "think time stands in a script: \\think 0.05 waits so many seconds (pgdyno help scripts)",
    ),
    (
        "--pipeline",
        "a pipeline stands in a script: \\startpipeline … \\endpipeline, with -M extended",
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
    ("--last", "the newest so many: --limit COUNT"),
    ("--head", "the newest so many: --limit COUNT"),
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
        "pgdyno load --replace makes tables anew; none are dropped (psql: DROP TABLE …); pgdyno rm deletes trials",
    ),
    (
        "clean",
        "pgdyno load --replace makes tables anew; none are dropped (psql: DROP TABLE …); pgdyno rm deletes trials",
    ),
    (
        "drop",
        "pgdyno load --replace makes tables anew; none are dropped (psql: DROP TABLE …); pgdyno rm deletes trials",
    ),
    (
        "oltp",
        "pgdyno sysbench oltp_read_write … has sysbench's options",
    ),
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

/// Options with a value as one types it.
const EXAMPLES: &[(&str, &str)] = &[
    ("--clients", "-c 8"),
    ("--threads", "-j 2"),
    ("--duration", "-T 60s"),
    ("--transactions", "-t 1000"),
    ("--rate", "-R 500"),
    ("--warmup", "--warmup 5s"),
    ("--latency-limit", "-L 50ms"),
    ("--mix", "--mix NAME; pgdyno pack list WORKLOAD shows them"),
    ("--param", "--param scale=10"),
    ("--url", "--url postgresql://me@db1/bench"),
    ("--repeat", "--repeat 5"),
    ("--tag", "--tag baseline"),
    ("--note", "--note 'new disks'"),
    ("--reason", "--reason 'a backup was running'"),
    ("--store", "--store runs.sqlite"),
    ("--output", "-o first.html"),
    ("--since", "--since 7d"),
    ("--retry", "--retry restart"),
    ("--max-tries", "--max-tries 10"),
    ("--backoff", "--backoff exponential=1ms,1s,full"),
    ("--isolation", "--isolation serializable"),
    ("--observe", "--observe host,pg.waits"),
    ("--slo", "--slo 20ms"),
    ("--capacity-time", "--capacity-time 5m"),
    ("--time-budget", "--time-budget 15m"),
];

/// Options whose value stands behind an equals sign, or none does.
const BEHIND_EQUALS: &[&str] = &["--serve", "--json", "--discover"];

/// A value that is missing or wrong, in clap's own words where they say what it must be, with one that is right.
pub fn value(command: &Command, words: &[OsString], wrong: &clap::Error) -> Option<Failure> {
    let text = |kind| match wrong.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let option = text(ContextKind::InvalidArg)?;
    let value = text(ContextKind::InvalidValue)?;
    let (name, placeholder) = option.split_once(' ').unwrap_or((option, "a value"));
    let what = match wrong.kind() {
        ErrorKind::InvalidValue if value.is_empty() => format!("{name} needs {placeholder}"),
        ErrorKind::ValueValidation => {
            let says = std::error::Error::source(wrong)?;
            format!("invalid value '{value}' for '{option}': {says}")
        }
        _ => return None,
    };
    let example = EXAMPLES.iter().find(|(known, _)| *known == name);
    let path: Vec<&str> = verbs(command, words)
        .iter()
        .map(|verb| verb.get_name())
        .collect();
    let path = path.join(" ");
    Some(usage(what).hint(match example {
        Some((_, example)) => format!("for example: {example}"),
        None if name.starts_with('-') => format!("pgdyno {path} --help explains {name}"),
        None => format!("pgdyno {path} --help"),
    }))
}

/// A value in a word of its own where it must stand behind an equals sign: `--serve 8080`.
pub fn behind_equals(words: &[OsString]) -> Option<Failure> {
    let texts: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    texts.windows(2).find_map(|pair| {
        let [option, value] = pair else { return None };
        let is_one = BEHIND_EQUALS.contains(option)
            && match *option {
                "--json" => value.ends_with(".json") || value.ends_with(".jsonl"),
                _ => value.starts_with(|c: char| c.is_ascii_digit()) || value.contains("://"),
            };
        is_one.then(|| {
            usage(format!(
                "{option} {value}: its value stands behind an equals sign"
            ))
            .hint(format!("{option}={value}"))
        })
    })
}

/// What is to be typed, if it is known.
pub fn answer(command: &Command, words: &[OsString], wrong: &clap::Error) -> Option<Failure> {
    let text = |kind| match wrong.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let verbs = verbs(command, words);
    match wrong.kind() {
        ErrorKind::UnknownArgument => {
            let typed = text(ContextKind::InvalidArg)?;
            let name = typed.split('=').next().unwrap_or(typed);
            option(&verbs, name, typed).or_else(|| same_letters(&verbs, name))
        }
        ErrorKind::InvalidSubcommand => {
            let typed = text(ContextKind::InvalidSubcommand)?;
            Some(match verbs.last() {
                None => no_command(typed),
                Some(verb) => nothing_below(verb, typed),
            })
        }
        // psql's option takes no value, and clap would print it.
        ErrorKind::TooManyValues
            if text(ContextKind::InvalidArg).is_some_and(|arg| arg == "--password") =>
        {
            Some(
                usage("--password takes no value: it has pgdyno ask for the password")
                    .hint("give the password: PGPASSWORD, or the password file ~/.pgpass"),
            )
        }
        ErrorKind::MissingRequiredArgument => {
            let verb = verbs.last()?;
            let missing = match wrong.get(ContextKind::InvalidArg) {
                Some(ContextValue::Strings(missing)) => missing.join(" "),
                _ => return None,
            };
            let path: Vec<&str> = verbs.iter().map(|verb| verb.get_name()).collect();
            let path = path.join(" ");
            let failure = usage(format!("pgdyno {path} needs {missing}"));
            Some(match example(verb, &path) {
                Some(example) => failure.hint(format!("for example: {example}")),
                None => failure.hint(format!("pgdyno {path} --help")),
            })
        }
        ErrorKind::ArgumentConflict => {
            let name = |option: &str| option.split(' ').next().unwrap_or(option).to_owned();
            let option = name(text(ContextKind::InvalidArg)?);
            let others = match wrong.get(ContextKind::PriorArg)? {
                ContextValue::String(other) => vec![name(other)],
                ContextValue::Strings(others) => others.iter().map(|other| name(other)).collect(),
                _ => return None,
            };
            Some(if others == [option.clone()] {
                usage(format!("{option} is given twice")).hint("leave one of them out")
            } else {
                let others = others.join(" or ");
                usage(format!("{option} cannot be used with {others}"))
                    .hint(format!("leave one of them out: {option}, or {others}"))
            })
        }
        ErrorKind::ValueValidation | ErrorKind::InvalidValue => {
            let option = text(ContextKind::InvalidArg)?;
            let value = text(ContextKind::InvalidValue)?;
            is_list(option, value).then(|| {
                usage(format!("invalid value '{value}' for '{option}': a trial has one number"))
                    .hint("one after the other, with repeats: pgdyno sweep --preset quick --print > mine.toml, \
                           then clients = [1, 2, 4] there")
            })
        }
        _ => None,
    }
}

/// Without a suggestion that is like what was typed only by a measure of clap's own.
pub fn without_far_fetched(command: &Command, words: &[OsString], wrong: &mut clap::Error) {
    let (Some(ContextValue::String(typed)), Some(ContextValue::String(suggested))) = (
        wrong.get(ContextKind::InvalidArg),
        wrong.get(ContextKind::SuggestedArg),
    ) else {
        return;
    };
    let bare = |text: &str| text.trim_start_matches('-').to_owned();
    let (typed, suggested) = (bare(typed), bare(suggested));
    let is_like = typed.starts_with(&suggested) || suggested.starts_with(&typed);
    if is_like || nearest(&typed, [suggested.as_str()]).is_some() {
        return;
    }
    wrong.remove(ContextKind::SuggestedArg);
    wrong.remove(ContextKind::Usage);
    let verbs = verbs(command, words);
    let path: Vec<&str> = verbs.iter().map(|verb| verb.get_name()).collect();
    if let Some(verb) = verbs.last() {
        let called = format!("pgdyno {}", path.join(" "));
        let usage = (*verb).clone().bin_name(called).render_usage();
        wrong.insert(ContextKind::Usage, ContextValue::StyledStr(usage));
    }
}

/// Whether a word in the place of a command has an answer of its own.
pub fn is_known(typed: &str) -> bool {
    COMMANDS.iter().any(|(other, _)| *other == typed)
        || shipped::exists(typed)
        || typed.starts_with("oltp_")
        || [".sql", ".toml"].iter().any(|end| typed.ends_with(end))
}

fn usage(text: impl Into<String>) -> Failure {
    Failure::with(Exit::Usage, text)
}

/// The commands that the words name, the last one the innermost.
fn verbs<'c>(command: &'c Command, words: &[OsString]) -> Vec<&'c Command> {
    let mut verbs = Vec::new();
    let mut within = command;
    for word in words.iter().skip(1).filter_map(|word| word.to_str()) {
        match within.find_subcommand(word) {
            Some(found) => {
                within = found;
                verbs.push(found);
            }
            None if word.starts_with('-') && verbs.is_empty() => {}
            None => break,
        }
    }
    verbs
}

/// An option that is not known, or a word too many; `whole` with the value that it was given.
fn option(verbs: &[&Command], typed: &str, whole: &str) -> Option<Failure> {
    let name = verbs.last()?.get_name();
    let path: Vec<&str> = verbs.iter().map(|verb| verb.get_name()).collect();
    let path = path.join(" ");
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
        let has_params = verbs
            .last()?
            .get_arguments()
            .any(|arg| arg.get_long() == Some("param"));
        return Some(match what {
            "" if has_params && whole.contains('=') => failure.hint(format!("--param {whole}")),
            "" => match verbs.last().and_then(|verb| example(verb, &path)) {
                Some(example) => failure.hint(format!("for example: {example}")),
                None => failure.hint(format!("pgdyno {path} --help")),
            },
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
fn same_letters(verbs: &[&Command], typed: &str) -> Option<Failure> {
    let sorted = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters
    };
    let typed = typed.strip_prefix("--")?;
    let mut longs = verbs
        .last()?
        .get_arguments()
        .filter_map(|arg| arg.get_long());
    let meant = longs.find(|long| sorted(long) == sorted(typed))?;
    let path: Vec<&str> = verbs.iter().map(|verb| verb.get_name()).collect();
    let failure = usage(format!("pgdyno {} has no option --{typed}", path.join(" ")));
    Some(failure.hint(format!("did you mean --{meant}?")))
}

fn run_options() -> Command {
    use clap::Args;
    super::run::RunArgs::augment_args(Command::new("run"))
}

fn has(command: &Command, typed: &str) -> bool {
    command.get_arguments().any(|arg| {
        let long = arg.get_long().map(|long| format!("--{long}"));
        let short = arg.get_short().map(|short| format!("-{short}"));
        long.as_deref() == Some(typed) || short.as_deref() == Some(typed)
    })
}

/// A first word that is no command.
fn no_command(typed: &str) -> Failure {
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
        None => failure.hint("the usual beginning: pgdyno run tpcb"),
    };
    failure.hint(all)
}

fn nothing_below(verb: &Command, typed: &str) -> Failure {
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

/// Numbers that a sweep would take one by one.
fn is_list(option: &str, value: &str) -> bool {
    let is_numbers = |separator: char| {
        let mut numbers = value.split(separator);
        value.contains(separator) && numbers.all(|number| number.trim().parse::<u64>().is_ok())
    };
    let takes_one = ["--clients ", "--threads ", "--rate "];
    takes_one.iter().any(|name| option.starts_with(name)) && (is_numbers(',') || is_numbers('-'))
}

/// The first example of the command's own in its help.
fn example(verb: &Command, path: &str) -> Option<String> {
    let help = verb.get_after_help()?.to_string();
    let begin = format!("pgdyno {path} ");
    let mut lines = help.lines().map(str::trim);
    let line = lines.find_map(|line| {
        let at = line.find(&begin)?;
        Some(line[at..].to_owned())
    })?;
    let words = line.split("  ").next().unwrap_or(&line);
    Some(words.trim_end_matches(['\\', ' ', ')']).to_owned())
}
