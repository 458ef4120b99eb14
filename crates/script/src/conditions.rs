//! How `\if`, `\elif`, `\else` and `\endif`, `\for` and `\endfor` fit together: checked, and their
//! jumps resolved.

use crate::{Command, Op};

/// What is wrong, and with which command (an index; one past the last if something is missing).
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ConditionError {
    pub command: usize,
    pub message: &'static str,
    /// Whether a `\for` is involved, which pgbench has no words for.
    pub is_about_loop: bool,
}

/// An `\if` that is not closed yet.
struct OpenIf {
    /// The `\if` or the last `\elif`, whose `on_false` is not known yet.
    pending: Option<usize>,
    /// The `\elif`s and `\else` so far, whose `end` is not known yet.
    branches: Vec<usize>,
    has_else: bool,
}

/// What is not closed yet.
enum Open {
    If(OpenIf),
    /// The `\for`.
    For(usize),
}

/// Resolves the jumps of all commands.
pub(crate) fn resolve(commands: &mut [Command]) -> Result<(), ConditionError> {
    let mut open: Vec<Open> = Vec::new();
    for at in 0..commands.len() {
        let error = |message| {
            Err(ConditionError {
                command: at,
                message,
                is_about_loop: false,
            })
        };
        let loop_error = |message| {
            Err(ConditionError {
                command: at,
                message,
                is_about_loop: true,
            })
        };
        let in_loop = "\\endfor is missing before it";
        match commands[at].op {
            Op::If { .. } => open.push(Open::If(OpenIf {
                pending: Some(at),
                branches: Vec::new(),
                has_else: false,
            })),
            Op::Elif { .. } => match open.last_mut() {
                None => return error("\\elif without matching \\if"),
                Some(Open::For(_)) => return loop_error(in_loop),
                Some(Open::If(top)) if top.has_else => return error("\\elif after \\else"),
                Some(Open::If(top)) => {
                    set_on_false(commands, top.pending.replace(at), at);
                    top.branches.push(at);
                }
            },
            Op::Else { .. } => match open.last_mut() {
                None => return error("\\else without matching \\if"),
                Some(Open::For(_)) => return loop_error(in_loop),
                Some(Open::If(top)) if top.has_else => return error("\\else after \\else"),
                Some(Open::If(top)) => {
                    set_on_false(commands, top.pending.take(), at + 1);
                    top.branches.push(at);
                    top.has_else = true;
                }
            },
            Op::EndIf => match open.pop() {
                None => return error("\\endif without matching \\if"),
                Some(Open::For(_)) => return loop_error(in_loop),
                Some(Open::If(top)) => {
                    set_on_false(commands, top.pending, at + 1);
                    for branch in top.branches {
                        if let Op::Elif { end, .. } | Op::Else { end } = &mut commands[branch].op {
                            *end = at + 1;
                        }
                    }
                }
            },
            Op::For(_) => open.push(Open::For(at)),
            Op::EndFor { .. } => match open.pop() {
                Some(Open::For(begin)) => {
                    if let Op::For(its) = &mut commands[begin].op {
                        its.end = at + 1;
                    }
                    commands[at].op = Op::EndFor { begin };
                }
                Some(Open::If(_)) => return loop_error("\\endif is missing before it"),
                None => return loop_error("\\endfor without matching \\for"),
            },
            _ => {}
        }
    }
    match open.last() {
        None => Ok(()),
        Some(Open::If(_)) => Err(ConditionError {
            command: commands.len(),
            message: "\\if without matching \\endif",
            is_about_loop: false,
        }),
        Some(Open::For(begin)) => Err(ConditionError {
            command: *begin,
            message: "\\for without matching \\endfor",
            is_about_loop: true,
        }),
    }
}

fn set_on_false(commands: &mut [Command], at: Option<usize>, target: usize) {
    let op = at.map(|at| &mut commands[at].op);
    if let Some(Op::If { on_false, .. } | Op::Elif { on_false, .. }) = op {
        *on_false = target;
    }
}
