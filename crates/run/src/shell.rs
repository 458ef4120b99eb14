//! Refuses scripts and settings that run programs on this host, unless `--allow-shell` is given: workloads,
//! experiments and bundles may come from elsewhere. (The pgbench-compatible command runs them as pgbench does.)
//!
//! Not for: what statements may do on a private server (`database::scripts_role`).

use pgdyno_database::safe_settings::{NAMES, is_safe};
use pgdyno_script::{Op, Script};
use pgdyno_spec::Failure;

use crate::experiment::nearest;

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

/// Refuses settings that come from a file and can have a server run programs, load code, or read or write files.
/// `of` is where they come from.
///
/// # Errors
/// One is not known to be safe: names the first, with its value.
pub fn refuse_settings<'a>(
    of: &str,
    settings: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<(), Failure> {
    let mut settings = settings.into_iter();
    let Some((name, value)) = settings.find(|(name, value)| !is_safe(name, value)) else {
        return Ok(());
    };
    let failure = Failure::new(format!(
        "{of}: there is no such setting among those that a file may set: {name} = {value}"
    ));
    let failure = match nearest(name, NAMES) {
        Some(word) => failure.hint(format!("did you mean \"{word}\"?")),
        None => failure,
    };
    Err(failure.hint(
        "a file may set what can run nothing on the server's host; if you trust it: --allow-shell",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_runs_a_program_is_named_with_its_value_and_the_way_out() {
        let settings = [("work_mem", "4MB"), ("archive_command", "touch /tmp/x")];
        let error = refuse_settings("experiment x", settings).unwrap_err();
        let text = error.to_string();
        for word in [
            "experiment x",
            "archive_command = touch /tmp/x",
            "--allow-shell",
        ] {
            assert!(text.contains(word), "{text}");
        }
        assert!(refuse_settings("experiment x", [("shared_buffers", "1GB")]).is_ok());
    }
}
