//! `pgdyno ycsb load|run jdbc` and `pgdyno go-ycsb load|run pg`, also when the program is called by
//! these names: the command lines, properties and output of YCSB and go-ycsb, on pgdyno's engine and
//! pgdyno's pack `ycsb`. Like every command it makes a trial and prints what came of it.
//!
//! - `properties`: properties files; `command`: what was typed; `help`: what can be typed.
//! - `known`: which properties there are; `plan`: what they mean; `jdbc`: where the database is;
//!   `lengths`: the file of field lengths.
//! - `tables`: the table; `run`: the trial; `operations`: its figures by YCSB's names.
//! - `java`, `go`: what each of the two prints.
//! - `generators`: tests that keys and lengths are drawn as YCSB draws them.

mod command;
#[doc(hidden)]
pub mod fuzz;
#[cfg(test)]
mod generators;
mod go;
mod help;
mod java;
mod jdbc;
mod known;
mod lengths;
mod messages;
mod operations;
mod plan;
mod properties;
mod run;
mod tables;

use std::process::ExitCode;

use command::{TypedCommand, YcsbCommand};
use pgdyno_output::{remark, write_answer};
use pgdyno_spec::{Exit, Failure};

/// Which of the two programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum YcsbTool {
    /// YCSB, in Java, with its binding `jdbc`.
    Ycsb,
    /// go-ycsb with its database `pg`.
    GoYcsb,
}

impl YcsbTool {
    /// The tool that a program or verb of this name is.
    pub fn called(name: &str) -> Option<Self> {
        match name {
            "ycsb" | "ycsb.sh" => Some(Self::Ycsb),
            "go-ycsb" => Some(Self::GoYcsb),
            _ => None,
        }
    }
}

/// Why nothing was measured, and the exit code that says so.
#[derive(Debug)]
struct YcsbRefusal {
    failure: Failure,
    code: u8,
}

impl YcsbRefusal {
    /// With the exit code that both tools have for impossible counts.
    fn impossible(message: impl Into<String>) -> Self {
        Self {
            failure: Failure::with(Exit::Usage, message),
            code: 255,
        }
    }

    /// A value or an option that cannot be.
    fn usage(message: impl Into<String>) -> Self {
        Failure::with(Exit::Usage, message).into()
    }

    fn hint(mut self, text: impl Into<String>) -> Self {
        self.failure = self.failure.hint(text);
        self
    }
}

impl From<Failure> for YcsbRefusal {
    fn from(failure: Failure) -> Self {
        let code = failure.exit.code();
        Self { failure, code }
    }
}

/// Does what this command line says; `called` is what comes before its first argument: `ycsb` or
/// `pgdyno ycsb`.
pub fn open(tool: YcsbTool, called: &str, arguments: &[String]) -> ExitCode {
    let code = dispatch(tool, called, arguments).unwrap_or_else(|refusal| {
        remark!("{}", refusal.failure);
        refusal.code
    });
    ExitCode::from(code)
}

fn dispatch(tool: YcsbTool, called: &str, arguments: &[String]) -> Result<u8, YcsbRefusal> {
    match YcsbCommand::read(tool, arguments)? {
        TypedCommand::Help => {
            write_answer(format_args!("{}", help::text(tool, called)))?;
            Ok(0)
        }
        TypedCommand::Command(command) => run::open(&command),
    }
}
