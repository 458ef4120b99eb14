//! `pgdyno sysbench SCRIPT prepare|run|cleanup`, also by the name `sysbench`: the OLTP scripts of
//! sysbench 1.0 and sysbench-tpcc's with their options and output, on pgdyno's engine and its packs
//! `sysbench` and `tpcc`. Like every command it makes a trial and prints what came of it.
//!
//! - `typed`: the command line; `known`: which options there are; `options`: what they mean; `help`.
//! - `script`: the scripts, and what of a transaction is a read.
//! - `tables`: `prepare` and `cleanup`; `run`: the trial; `watch`: what is seen of it.
//! - `tpcc`: what sysbench-tpcc has that the others have not.
//! - `histogram`, `report`: figures and lines as sysbench has them.

mod help;
mod histogram;
mod known;
mod options;
mod report;
mod run;
mod script;
mod tables;
mod tpcc;
mod typed;
mod watch;

use std::process::ExitCode;

use pgdyno_output::{remark, write_promised};
use pgdyno_spec::Failure;

use options::Options;
use script::SysbenchScript;
use typed::TypedOptions;

/// The name by which it may be called.
pub const NAME: &str = "sysbench";

/// Exit code of everything that went wrong: sysbench has no other.
const FAILED: u8 = 1;

/// Why it ended early: what sysbench would print on standard output, and what pgdyno adds on standard
/// error: the way out.
#[derive(Debug, Default, PartialEq, Eq)]
struct Stop {
    lines: Vec<String>,
    /// What sysbench would print on standard error.
    errors: Vec<String>,
    hints: Vec<String>,
    code: Option<u8>,
}

impl Stop {
    /// With a line of sysbench's.
    fn with(line: impl Into<String>) -> Self {
        Self {
            lines: vec![line.into()],
            ..Self::default()
        }
    }

    /// With an error of sysbench's.
    fn fatal(text: impl AsRef<str>) -> Self {
        Self::with(format!("FATAL: {}", text.as_ref()))
    }

    /// An option that there is not.
    fn invalid_option(name: &str) -> Self {
        Self {
            errors: vec![format!("invalid option: {name}")],
            ..Self::default()
        }
    }

    /// Adds a line of sysbench's.
    fn and(mut self, line: impl Into<String>) -> Self {
        self.lines.push(line.into());
        self
    }

    fn hint(mut self, text: impl Into<String>) -> Self {
        self.hints.push(text.into());
        self
    }

    fn code(mut self, code: u8) -> Self {
        self.code = Some(code);
        self
    }
}

impl From<Failure> for Stop {
    /// What sysbench has no words for is said in pgdyno's.
    fn from(failure: Failure) -> Self {
        let mut stop = Self::fatal(&failure.message);
        stop.lines.extend(failure.details);
        // Those that name options of other commands are no way out here.
        let hints = failure.hints.len();
        stop.hints = failure.hints;
        stop.hints.retain(|hint| !hint.contains("--param"));
        if stop.hints.len() < hints {
            stop = stop
                .hint("the same command with cleanup, then with prepare, makes the tables again");
        }
        match failure.exit {
            pgdyno_spec::Exit::Interrupted(code) => stop.code(code),
            _ => stop,
        }
    }
}

/// Does what this command line says; `called` is what comes before its first argument: `sysbench` or
/// `pgdyno sysbench`.
pub fn open(called: &str, arguments: &[String]) -> ExitCode {
    let code = dispatch(called, arguments).unwrap_or_else(|stop| {
        let text: String = stop.lines.iter().map(|line| format!("{line}\n")).collect();
        // A disk that is full has no room for that either.
        let _ = write_promised(format_args!("{text}"));
        for error in &stop.errors {
            remark!("{error}");
        }
        for hint in &stop.hints {
            remark!("pgdyno: {hint}");
        }
        stop.code.unwrap_or(FAILED)
    });
    ExitCode::from(code)
}

fn dispatch(called: &str, arguments: &[String]) -> Result<u8, Stop> {
    let typed = TypedOptions::read(arguments).or_else(|stop| {
        write_promised(format_args!("{}\n", help::banner(&TypedOptions::default())))?;
        Err(stop)
    })?;
    for note in &typed.notes {
        remark!("{note}");
    }
    if typed.is_on("help") || arguments.is_empty() {
        write_promised(format_args!("{}", help::text(called)))?;
        return Ok(0);
    }
    if typed.is_on("version") {
        write_promised(format_args!("{}", help::banner(&typed)))?;
        return Ok(0);
    }
    write_promised(format_args!("{}\n", help::banner(&typed)))?;
    let options = Options::of(&typed)?;
    let is_tpcc = options.script == SysbenchScript::Tpcc;
    match typed.command.as_deref() {
        Some("help") => {
            write_promised(format_args!("{}", help::script(options.script)))?;
            Ok(0)
        }
        Some("prepare") if is_tpcc => tpcc::prepare(&options),
        Some("cleanup") if is_tpcc => tpcc::cleanup(&options),
        Some("check") if is_tpcc => tpcc::check(&options),
        Some("prepare") => tables::prepare(&options),
        Some("cleanup") => tables::cleanup(&options),
        Some("run") if options.script == SysbenchScript::Common => {
            Err(Stop::fatal("cannot find benchmark 'event' function")
                .hint("oltp_common prepares and cleans up; run oltp_read_write or another script"))
        }
        Some("run") => run::open(&options),
        Some("prewarm") if !is_tpcc => Err(Stop::fatal("prewarm is currently MySQL only")
            .hint("before a run: SELECT pg_prewarm('sbtest1')")),
        Some(command) => Err(Stop::with(format!("Unknown command: {command}"))
            .hint("the commands are prepare, run, cleanup and help; of tpcc also check")),
        None => Err(Stop::fatal(
            "Command is required. Supported commands: prepare, prewarm, run, cleanup, help",
        )),
    }
}
