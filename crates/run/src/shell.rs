//! Refuses scripts that run programs on this host, unless `--allow-shell` is given: workloads may come
//! from elsewhere. (The pgbench-compatible command runs them as pgbench does.)

use pgdyno_model::Failure;
use pgdyno_script::{Op, Script};

/// Refuses a script that runs programs. `file` is its name in errors.
///
/// # Errors
/// It has a `\shell` or `\setshell`: names the line of the first one.
pub fn refuse(script: &Script, file: &str) -> Result<(), Failure> {
    let runs = |op: &Op| matches!(op, Op::Shell { .. } | Op::SetShell { .. });
    let found = script.commands.iter().find(|command| runs(&command.op));
    let Some(command) = found else {
        return Ok(());
    };
    let name = command.words.first().map_or("shell", String::as_str);
    Err(Failure::new(format!(
        "{file}:{}: \\{name} would run a program on this host\n{}",
        command.line, command.text
    ))
    .hint(
        "if you trust the script: --allow-shell (in an experiment: allow_shell = true, and pgdyno sweep \
         --allow-shell)",
    ))
}
