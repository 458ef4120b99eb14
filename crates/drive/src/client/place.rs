//! Where in its script a client ended, for pgdyno's own commands: `mine.sql:4: ` before what is wrong, and
//! below it the line of the script, with a caret where the place in it is known. Commands that are compatible
//! with pgbench have pgbench's words ([`crate::Drive::speaks_as_pgbench`]), which count scripts and commands.

use pgdyno_platform::io::Io;
use pgdyno_script::{Command, EvalError, Op, Slot};
use pgdyno_wire::cursor::{Excerpt, excerpt};
use pgdyno_wire::{ServerError, redact};

use super::Client;
use crate::context::Context;
use pgdyno_spec::QueryMode;

impl Client {
    /// An error of the server with its place in the script; `command` is what it speaks of.
    pub(super) fn placed_error<I: Io>(
        &self,
        cx: &Context<'_, I>,
        command: usize,
        error: &ServerError,
    ) -> String {
        let program = cx.program(self.script);
        let script = program.script();
        let Some(known) = script.commands.get(command) else {
            return format!("{}: {}", script.name, error.libpq_text(None));
        };
        let position = error.field(b'P').and_then(|position| position.parse().ok());
        let Op::Sql(sql) = &known.op else {
            return format!("{}:{}: {}", script.name, known.line, error.text_with(None));
        };
        if redact::has_secret(&sql.text) {
            return format!("{}:{}: {}", script.name, known.line, error.libpq_text(None));
        }
        let is_numbered = program.mode() != QueryMode::Simple;
        let origin = position
            .and_then(|position: usize| position.checked_sub(1))
            .and_then(|place| sql.origin(place, &self.vars, is_numbered));
        let found = origin.and_then(|(place, _)| excerpt(&sql.text, place + 1));
        let line = known.line as usize + found.as_ref().map_or(0, |found| found.line - 1);
        let below = match found {
            Some(Excerpt { text, columns, .. }) => format!("{text}\n{:columns$}^", ""),
            // Its beginning.
            None => excerpt(&sql.text, 1).map_or_else(String::new, |found| found.text),
        };
        let said = error.text_with(Some(&below));
        let hint = match origin {
            Some((_, Some(slot))) => self.hint_of_unset(slot),
            _ => None,
        };
        format!("{}:{line}: {said}{}", script.name, hint.unwrap_or_default())
    }

    /// `reason` with the place of the present command.
    pub(super) fn placed<I: Io>(&self, cx: &Context<'_, I>, reason: &str) -> String {
        let script = cx.program(self.script).script();
        match script.commands.get(self.command) {
            Some(command) => {
                // The line comes below the first one, before hints.
                let first = reason.split('\n').next().unwrap_or_default();
                let rest = &reason[first.len()..];
                let line = line_of(command);
                format!("{}:{}: {first}{line}{rest}", script.name, command.line)
            }
            None => format!("{}: {reason}", script.name),
        }
    }

    /// Why something could not be evaluated, with what helps.
    pub(super) fn placed_reason(&self, error: &EvalError) -> String {
        let unset = match error {
            EvalError::Undefined(name) | EvalError::UndefinedArgument { name, .. } => {
                hint_of_name(name.trim_start_matches(':'))
            }
            EvalError::EmptyVariable => return "a variable that it needs is empty".to_owned(),
            _ => String::new(),
        };
        format!("{error}{unset}")
    }

    fn hint_of_unset(&self, slot: Slot) -> Option<String> {
        (!self.vars.is_set(slot)).then(|| hint_of_name(self.vars.name(slot)))
    }
}

fn hint_of_name(name: &str) -> String {
    format!(
        "\nHINT:  :{name} has no value. Set it before with \\set {name} VALUE,\n       or for all clients with --param {name}=VALUE (pgbench's -D {name}=VALUE)."
    )
}

/// The command's line, below what is wrong with it.
fn line_of(command: &Command) -> String {
    if redact::has_secret(&command.text) {
        String::new()
    } else {
        format!("\n{}", command.text.trim_end())
    }
}
