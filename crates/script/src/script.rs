//! A parsed script: a flat list of commands whose jumps are resolved.

use crate::{Expr, For, ShellArgs, Sleep, Slot, Sql, Value};

/// A parsed script.
///
/// # Running it
/// Commands are executed in order, from 0. The conditionals jump:
///
/// - [`Op::If`]: evaluate; if not true, go to `on_false`. Where that is an [`Op::Elif`] of the same
///   `\if`, evaluate that one, and so on.
/// - [`Op::Elif`] or [`Op::Else`] **reached in any other way**: a branch before it was taken and is
///   over; go to `end`, evaluate nothing.
/// - [`Op::EndIf`]: go on.
/// - [`Op::For`]: [`For::begin`]; without a first step, go to its `end`.
/// - [`Op::EndFor`]: [`For::step`] of the loop at `begin`; with one more step, go behind `begin`.
///
/// `on_false` is the next `\elif` of the same `\if`, else the command behind its `\else`, else the
/// command behind its `\endif`; `end` is the command behind the `\endif`. Both may be the number
/// of commands, which ends the script. The command behind an inner `\endif` may be an `\elif` of the
/// outer `\if`: that one is reached "in another way". This is what pgbench does: an `\endif` that
/// is jumped over is not executed, an `\elif` or `\else` that ends a taken branch is.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// The script as the user named it.
    pub name: String,
    /// The text it was parsed from.
    pub source: String,
    /// The commands in pgbench's numbering; its messages count from 0, `debug()` and condition
    /// errors from 1.
    pub commands: Vec<Command>,
}

/// One command.
#[derive(Debug, Clone, PartialEq)]
pub struct Command {
    /// The line it begins on, from 1.
    pub line: u32,
    /// What represents it in reports (`-r`): the first line of SQL, at most 127 bytes of it; a meta
    /// command whole, with its backslash.
    pub text: String,
    /// The words of a meta command as written, its name first without the backslash, then
    /// arguments; an expression is not among them. Empty for SQL.
    pub words: Vec<String>,
    /// What to do.
    pub op: Op,
}

/// What a command does.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Op {
    /// Send a statement.
    Sql(Sql),
    /// `\set`: assign (by [`crate::Vars::assign`], because the name may be one that cannot be).
    Set {
        /// The variable.
        slot: Slot,
        /// Its value.
        expr: Expr,
    },
    /// `\sleep`.
    Sleep(Sleep),
    /// `\shell`.
    Shell {
        /// What to run.
        args: ShellArgs,
    },
    /// `\setshell`: assign what it prints (by [`crate::Vars::assign`]).
    SetShell {
        /// The variable.
        slot: Slot,
        /// What to run.
        args: ShellArgs,
    },
    /// `\if`.
    If {
        /// True by [`crate::Value::is_true`].
        cond: Expr,
        /// Where to go otherwise.
        on_false: usize,
    },
    /// `\elif`.
    Elif {
        /// True by [`crate::Value::is_true`].
        cond: Expr,
        /// Where to go otherwise.
        on_false: usize,
        /// Where to go when a branch before was taken.
        end: usize,
    },
    /// `\else`.
    Else {
        /// Where to go when a branch before was taken.
        end: usize,
    },
    /// `\endif`.
    EndIf,
    /// `\for`.
    For(For),
    /// `\endfor`.
    EndFor {
        /// Its `\for`.
        begin: usize,
    },
    /// `\error`: an invariant is broken, and the run ends.
    Error {
        /// What is wrong.
        message: Expr,
    },
    /// `\think`, which precedes the first statement: the client waits, and its transaction begins
    /// when the wait is over.
    Think {
        /// How long, in seconds.
        seconds: Expr,
    },
    /// `\startpipeline`.
    StartPipeline,
    /// `\syncpipeline`.
    SyncPipeline,
    /// `\endpipeline`.
    EndPipeline,
}

impl Op {
    /// The variables that a meta command reads: they must be set by then. SQL leaves what is not set as it is.
    pub fn reads(&self) -> Vec<Slot> {
        let expressions: Vec<&Expr> = match self {
            Op::Set { expr, .. } => vec![expr],
            Op::If { cond, .. } | Op::Elif { cond, .. } => vec![cond],
            Op::For(one) => vec![&one.from, &one.to],
            Op::Error { message } => vec![message],
            Op::Think { seconds } => vec![seconds],
            Op::Sleep(sleep) => return sleep.reads().into_iter().collect(),
            _ => Vec::new(),
        };
        expressions.into_iter().flat_map(Expr::reads).collect()
    }

    /// Puts values in the place of variables that will never have others, where it evaluates expressions.
    pub fn settle(&mut self, known: &dyn Fn(Slot) -> Option<Value>) {
        match self {
            Op::Set { expr, .. } => expr.settle(known),
            Op::If { cond, .. } | Op::Elif { cond, .. } => cond.settle(known),
            Op::For(one) => {
                one.from.settle(known);
                one.to.settle(known);
            }
            _ => {}
        }
    }

    /// The variable that a meta command sets; those of `\gset` are known to the server alone.
    pub fn sets(&self) -> Option<Slot> {
        match self {
            Op::Set { slot, .. } | Op::SetShell { slot, .. } => Some(*slot),
            Op::For(one) => Some(one.slot),
            _ => None,
        }
    }
}
