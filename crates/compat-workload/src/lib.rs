//! `pgdyno workload init|run|check WORKLOAD`, and the same when the program is called `workload`:
//! cockroach's command line, with its flags, its output and its exit codes, on pgdyno's engine and
//! pgdyno's packs. Like every command it makes a trial and prints what came of it.
//!
//! - `generator`: the workloads; `flags`: what was typed; `help`: what can be typed; `urls`, `options`: what it means.
//! - `tables`: the database and what is in it; `init`, `run`, `check`: the three jobs.
//! - `node`: `cockroach start-single-node`.
//! - `watch`: while operations run; `format`, `snapshot`: what is printed and written of them; `tpmc`: what
//!   tpcc says besides.

mod check;
mod flags;
mod format;
mod generator;
mod help;
mod hints;
mod init;
mod metrics;
mod node;
mod openmetrics;
mod options;
mod run;
mod snapshot;
mod tables;
mod tpmc;
mod urls;
mod watch;

use std::process::ExitCode;

use flags::{End, Flag, ParsedFlags, Verb, go_values};
use generator::TransactionGenerator;
use help::OptionName;
use urls::Place;

use pgdyno_output::write_answer;
use pgdyno_spec::{Exit, Failure};

/// What the program is called when it is this command alone.
pub const NAME: &str = "workload";

/// What the command line says.
struct WorkloadOptions {
    generator: TransactionGenerator,
    parsed: ParsedFlags,
    place: Place,
    workload: options::CockroachWorkload,
}

/// Does what this command line says; `called` is what comes before its first argument:
/// `workload` or `pgdyno workload`.
pub fn open(called: &str, arguments: &[String]) -> ExitCode {
    let name = OptionName(called);
    let done = dispatch(name, arguments).unwrap_or_else(|failure| {
        tell(&failure);
        // cockroach knows but one code for what goes wrong.
        match failure.exit {
            Exit::Interrupted(code) => code,
            _ => Exit::Failed.code(),
        }
    });
    ExitCode::from(done)
}

/// The program's name in place of cockroach's.
pub const COCKROACH: &str = "cockroach";

/// Does what a command line of `cockroach` says: `workload` and what starts a server; `called` is what
/// comes before its first argument: `cockroach` or `pgdyno cockroach`.
pub fn open_cockroach(called: &str, arguments: &[String]) -> ExitCode {
    let first = arguments.first().map(String::as_str);
    if first == Some(NAME) {
        return open(&format!("{called} {NAME}"), &arguments[1..]);
    }
    let done = match first {
        None => show(&help::cockroach(called)),
        Some(word) if is_help(word) => print(&help::cockroach(called)),
        Some(word) if node::NAMES.contains(&word) => start(called, word, &arguments[1..]),
        Some(word) => {
            let (word, called) = (go_values::quoted(word), go_values::quoted(called));
            Err(Failure::new(format!("unknown command {word} for {called}"))
                .hint("pgdyno has workload, start-single-node and start of it; for SQL use psql"))
        }
    };
    ExitCode::from(done.unwrap_or_else(|failure| {
        tell(&failure);
        match failure.exit {
            Exit::Interrupted(code) => code,
            _ => Exit::Failed.code(),
        }
    }))
}

fn start(called: &str, word: &str, arguments: &[String]) -> Result<u8, Failure> {
    let flags: Vec<&Flag> = flags::node::FLAGS.iter().collect();
    let usage = || help::start(called, word, &flags);
    match flags::parse(&flags, arguments) {
        Ok(parsed) => {
            for remark in options::remarks(&parsed) {
                pgdyno_output::remark!("{remark}");
            }
            node::open(&parsed)
        }
        Err(End::Help) => print(&usage()),
        Err(End::Wrong(why)) => {
            pgdyno_output::remark!("{}\nError: {why}", usage());
            pgdyno_output::remark!("Failed running {}", go_values::quoted(word));
            Ok(Exit::Failed.code())
        }
    }
}

/// As cockroach tells an error: the message after `Error: `, then what is known and what to try.
fn tell(failure: &Failure) {
    pgdyno_output::remark!("Error: {}", failure.message);
    for detail in &failure.details {
        pgdyno_output::remark!("DETAIL: {detail}");
    }
    for hint in &failure.hints {
        pgdyno_output::remark!("HINT: {hint}");
    }
}

fn print(text: &str) -> Result<u8, Failure> {
    write_answer(format_args!("{text}"))?;
    Ok(0)
}

/// A usage text is an answer only to a request for help.
fn show(text: &str) -> Result<u8, Failure> {
    pgdyno_output::remark!("{}", text.trim_end());
    Ok(0)
}

fn dispatch(name: OptionName, arguments: &[String]) -> Result<u8, Failure> {
    let Some((first, rest)) = arguments.split_first() else {
        return show(&name.help());
    };
    if is_help(first) {
        return print(&name.help());
    }
    let Some(verb) = Verb::ALL.into_iter().find(|verb| verb.name() == first) else {
        let code = unknown(name, "", first);
        if let Some(way) = instead_of_fixtures(first, rest) {
            pgdyno_output::remark!("HINT: {way}");
        }
        return Ok(code);
    };
    let Some((workload, rest)) = rest.split_first() else {
        return show(&name.verb_help(verb));
    };
    if is_help(workload) {
        return print(&name.verb_help(verb));
    }
    let Some(generator) = TransactionGenerator::named(workload) else {
        return Ok(unknown(name, &format!(" {}", verb.name()), workload));
    };
    let flags = crate::flags::all(generator, verb);
    match flags::parse(&flags, rest) {
        Ok(parsed) => {
            for remark in options::remarks(&parsed) {
                pgdyno_output::remark!("{remark}");
            }
            job(generator, verb, parsed).map_err(|failure| hints::fit(failure, &flags))
        }
        Err(End::Help) => print(&name.workload_help(verb, generator)),
        Err(End::Wrong(why)) => {
            let command = format!("{} {} {}", NAME, verb.name(), generator.name());
            pgdyno_output::remark!("{}\nError: {why}", name.usage(verb, generator));
            pgdyno_output::remark!("Failed running {}", go_values::quoted(&command));
            Ok(Exit::Failed.code())
        }
    }
}

/// What to type instead of `fixtures import` and its like, which bring tables of a cloud's storage.
fn instead_of_fixtures(verb: &str, rest: &[String]) -> Option<String> {
    if verb != "fixtures" {
        return None;
    }
    let words = rest.strip_prefix(&["import".to_owned()]).unwrap_or(rest);
    let words = if words.is_empty() {
        "WORKLOAD [flags] [URL...]".to_owned()
    } else {
        words.join(" ")
    };
    Some(format!(
        "init makes and fills the tables here: {NAME} init {words}"
    ))
}

fn is_help(argument: &str) -> bool {
    ["-h", "--help"].contains(&argument)
}

/// What is no verb, and no workload of pgdyno's.
fn unknown(name: OptionName, verb: &str, word: &str) -> u8 {
    let said = if word.starts_with('-') {
        format!("unknown flag: {word}")
    } else {
        format!(
            "unknown command {} for {}",
            go_values::quoted(word),
            go_values::quoted(&format!("{}{verb}", name.0))
        )
    };
    pgdyno_output::remark!("Error: {said}");
    if !verb.is_empty() {
        let here = TransactionGenerator::ALL
            .map(TransactionGenerator::name)
            .join(", ");
        match generator::instead_of(word) {
            Some(instead) => pgdyno_output::remark!("HINT: instead of {word}: {instead}"),
            None => pgdyno_output::remark!("HINT: the workloads that pgdyno has here are {here}"),
        }
    }
    let command = format!("{NAME}{verb}");
    pgdyno_output::remark!("Failed running {}", go_values::quoted(&command));
    Exit::Failed.code()
}

fn job(generator: TransactionGenerator, verb: Verb, parsed: ParsedFlags) -> Result<u8, Failure> {
    let workload = options::workload(generator, verb, &parsed).map_err(Failure::new)?;
    let place = Place::of(generator, &parsed).map_err(Failure::new)?;
    // What is wrong with a command line is said before a server is asked anything.
    options::loading(&parsed).map_err(Failure::new)?;
    let options = WorkloadOptions {
        generator,
        parsed,
        place,
        workload,
    };
    match verb {
        Verb::Init => init::open(&options),
        Verb::Run => run::open(&options),
        Verb::Check => check::open(&options),
    }
}
