//! How `\if`, `\elif`, `\else` and `\endif` fit together: checked, and their jumps resolved.

use crate::{Command, Op};

/// What is wrong, and with which command (an index; one past the last if something is missing).
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ConditionError {
    pub command: usize,
    pub message: &'static str,
}

/// An `\if` that is not closed yet.
struct Open {
    /// The `\if` or the last `\elif`, whose `on_false` is not known yet.
    pending: Option<usize>,
    /// The `\elif`s and `\else` so far, whose `end` is not known yet.
    branches: Vec<usize>,
    has_else: bool,
}

/// Resolves the jumps of all commands.
pub(crate) fn resolve(commands: &mut [Command]) -> Result<(), ConditionError> {
    let mut open: Vec<Open> = Vec::new();
    for at in 0..commands.len() {
        let error = |message| {
            Err(ConditionError {
                command: at,
                message,
            })
        };
        match commands[at].op {
            Op::If { .. } => open.push(Open {
                pending: Some(at),
                branches: Vec::new(),
                has_else: false,
            }),
            Op::Elif { .. } => match open.last_mut() {
                None => return error("\\elif without matching \\if"),
                Some(top) if top.has_else => return error("\\elif after \\else"),
                Some(top) => {
                    set_on_false(commands, top.pending.replace(at), at);
                    top.branches.push(at);
                }
            },
            Op::Else { .. } => match open.last_mut() {
                None => return error("\\else without matching \\if"),
                Some(top) if top.has_else => return error("\\else after \\else"),
                Some(top) => {
                    set_on_false(commands, top.pending.take(), at + 1);
                    top.branches.push(at);
                    top.has_else = true;
                }
            },
            Op::EndIf => match open.pop() {
                None => return error("\\endif without matching \\if"),
                Some(top) => {
                    set_on_false(commands, top.pending, at + 1);
                    for branch in top.branches {
                        if let Op::Elif { end, .. } | Op::Else { end } = &mut commands[branch].op {
                            *end = at + 1;
                        }
                    }
                }
            },
            _ => {}
        }
    }
    if open.is_empty() {
        return Ok(());
    }
    Err(ConditionError {
        command: commands.len(),
        message: "\\if without matching \\endif",
    })
}

fn set_on_false(commands: &mut [Command], at: Option<usize>, target: usize) {
    let op = at.map(|at| &mut commands[at].op);
    if let Some(Op::If { on_false, .. } | Op::Elif { on_false, .. }) = op {
        *on_false = target;
    }
}
