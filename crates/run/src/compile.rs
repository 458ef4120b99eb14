//! Scripts as they are written, made ready to be run.

use pgdyno_database::dialect::RESTART_SAVEPOINT;
use pgdyno_drive::{Drive, Script, StatementNames};
use pgdyno_script::{Language, Names, ScriptErrorKind, Slot};
use pgdyno_spec::{Failure, QueryMode, Retry};
use pgdyno_workload::mix::WeightedScript;

use super::companion::{staleness, truth};
use super::shell;

/// The scripts, ready to be run, with the names of their variables.
///
/// # Errors
/// A script with an error (names its file), one that cannot be sent in this mode or retried in this
/// way, or one that runs programs if it may not; with receipts or stamps, one that cannot leave any.
pub fn compile(
    scripts: &[WeightedScript],
    mode: QueryMode,
    retry: Retry,
    allows_shell: bool,
    (leaves_receipts, has_stamps): (bool, bool),
) -> Result<(Vec<Script>, Names), Failure> {
    let mut names = Names::new();
    let mut parsed = Vec::new();
    for script in scripts {
        let in_history = truth::in_history(&script.text).filter(|_| leaves_receipts);
        let text = in_history.as_ref().unwrap_or(&script.text);
        let text = Language::Pgdyno.parse(&script.file, text, &mut names);
        let mut text = text.map_err(|error| {
            let failure = Failure::new(error.to_string());
            match error.kind {
                ScriptErrorKind::Empty => failure.hint(
                    "a script has statements, each ended by ; and \\set, \\if and others: pgdyno help scripts",
                ),
                _ => failure,
            }
        })?;
        if leaves_receipts && script.weight > 0 {
            text = truth::leave(text, &mut names)?;
        }
        if has_stamps && script.weight > 0 {
            text = staleness::stamp(text, &script.text, &mut names)?;
        }
        if !allows_shell {
            shell::refuse(&text, &script.file)?;
        }
        // Mistakes are reported by file, results by name.
        text.name.clone_from(&script.name);
        parsed.push((text, u64::from(script.weight)));
    }
    // Where nothing but the server's answer speaks of it, the script does not have it yet.
    let reported = scripts.iter().map(|script| script.retries.as_deref());
    let reported: Vec<Option<Slot>> = reported
        .map(|name| name.map(|name| names.intern(name)))
        .collect();
    let savepoint = (retry == Retry::Savepoint).then_some(RESTART_SAVEPOINT);
    let compiled = Drive::compile_with(parsed, mode, savepoint, StatementNames::of_a_run());
    let mut compiled = compiled.map_err(|error| Failure::new(error.to_string()))?;
    for ((script, reported), text) in compiled.iter_mut().zip(reported).zip(scripts) {
        script.server_retries = reported;
        script.must_find = text.must_find;
    }
    Ok((compiled, names))
}
