//! Which scripts a history can be recorded of: the one that answers belong to what is being observed, and
//! the server's readiness ends it.

use pgdyno_script::{Op, Script};

use crate::effects::{rolls_back_to_savepoint, single_verb};
use crate::program::CompileError;

/// Refuses a script whose transactions cannot be distinguished from its answers.
///
/// # Errors
/// Names the line.
pub(crate) fn check(script: &Script) -> Result<(), CompileError> {
    let is_observed = |op: &Op| matches!(op, Op::Sql(sql) if !sql.observed.is_empty());
    if !script
        .commands
        .iter()
        .any(|command| is_observed(&command.op))
    {
        return Ok(());
    }
    for command in &script.commands {
        let reason = match &command.op {
            Op::Sql(sql) if !sql.observed.is_empty() && single_verb(&sql.text).is_none() => {
                "\\observe takes one statement, and this command has several"
            }
            Op::Sql(sql) if rolls_back_to_savepoint(&sql.text) => {
                "a script with \\observe cannot roll back to a savepoint: what is undone would be observed"
            }
            Op::SyncPipeline => {
                "a script with \\observe cannot have \\syncpipeline: a pipeline is one transaction there"
            }
            _ => continue,
        };
        return Err(CompileError {
            script: script.name.clone(),
            line: command.line,
            reason: reason.to_owned(),
        });
    }
    Ok(())
}
