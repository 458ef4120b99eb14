//! How `\if`, `\elif`, `\else` and `\endif`, `\for` and `\endfor` fit together: checked, and their
//! jumps resolved.

use crate::{Command, Op};

/// What is wrong, and with which command (an index; one past the last if something is missing).
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ConditionError {
    pub command: usize,
    pub message: &'static str,
    /// What is open when something is missing at the end.
    pub open: Option<usize>,
    /// Whether a `\for` is involved, which pgbench has no words for.
    pub is_about_loop: bool,
}

/// An `\if` that is not closed yet.
struct OpenIf {
    begin: usize,
    /// The `\if` or the last `\elif`, whose `on_false` is not known yet.
    pending: Option<usize>,
    /// The `\elif`s and `\else` so far, whose `end` is not known yet.
    branches: Vec<usize>,
    has_else: bool,
}

/// What is not closed yet.
enum Open {
    If(OpenIf),
    For(usize),
}

/// By command: whether a condition that does not hold leads to an `\elif` of its own, which is to be
/// evaluated then. (It may also lead past its `\endif` to an `\elif` of an outer `\if` whose branch has been
/// taken.)
pub fn leads_to_elif(commands: &[Command]) -> Vec<bool> {
    let mut leads = vec![false; commands.len()];
    let mut open = Vec::new();
    for (index, command) in commands.iter().enumerate() {
        match command.op {
            Op::If { .. } => open.push(index),
            Op::Elif { .. } => {
                if let Some(condition) = open.last_mut() {
                    leads[*condition] = true;
                    *condition = index;
                }
            }
            Op::EndIf => {
                open.pop();
            }
            _ => {}
        }
    }
    leads
}

/// Resolves the jumps of all commands.
pub(crate) fn resolve(commands: &mut [Command]) -> Result<(), ConditionError> {
    let mut open: Vec<Open> = Vec::new();
    for at in 0..commands.len() {
        match commands[at].op {
            Op::If { .. } => open.push(Open::If(OpenIf {
                begin: at,
                pending: Some(at),
                branches: Vec::new(),
                has_else: false,
            })),
            Op::Elif { .. } => {
                let top = if_at(at, open.last_mut(), "\\elif without matching \\if")?;
                if top.has_else {
                    return Err(about_if(at, "\\elif after \\else"));
                }
                set_on_false(commands, top.pending.replace(at), at);
                top.branches.push(at);
            }
            Op::Else { .. } => {
                let top = if_at(at, open.last_mut(), "\\else without matching \\if")?;
                if top.has_else {
                    return Err(about_if(at, "\\else after \\else"));
                }
                set_on_false(commands, top.pending.take(), at + 1);
                top.branches.push(at);
                top.has_else = true;
            }
            Op::EndIf => {
                let mut top = open.pop();
                let top = if_at(at, top.as_mut(), "\\endif without matching \\if")?;
                set_on_false(commands, top.pending, at + 1);
                for branch in &top.branches {
                    if let Op::Elif { end, .. } | Op::Else { end } = &mut commands[*branch].op {
                        *end = at + 1;
                    }
                }
            }
            Op::For(_) => open.push(Open::For(at)),
            Op::EndFor { .. } => match open.pop() {
                Some(Open::For(begin)) => {
                    if let Op::For(its) = &mut commands[begin].op {
                        its.end = at + 1;
                    }
                    commands[at].op = Op::EndFor { begin };
                }
                Some(Open::If(_)) => return Err(about_loop(at, "\\endif is missing before it")),
                None => return Err(about_loop(at, "\\endfor without matching \\for")),
            },
            _ => {}
        }
    }
    match open.last() {
        None => Ok(()),
        Some(Open::If(open)) => Err(ConditionError {
            open: Some(open.begin),
            ..about_if(commands.len(), "\\if without matching \\endif")
        }),
        Some(Open::For(begin)) => Err(about_loop(*begin, "\\for without matching \\endfor")),
    }
}

/// The `\if` that a command belongs to, or that there is `none`.
fn if_at<'a>(
    command: usize,
    open: Option<&'a mut Open>,
    none: &'static str,
) -> Result<&'a mut OpenIf, ConditionError> {
    match open {
        Some(Open::If(top)) => Ok(top),
        Some(Open::For(_)) => Err(about_loop(command, "\\endfor is missing before it")),
        None => Err(about_if(command, none)),
    }
}

fn about_if(command: usize, message: &'static str) -> ConditionError {
    ConditionError {
        command,
        message,
        open: None,
        is_about_loop: false,
    }
}

fn about_loop(command: usize, message: &'static str) -> ConditionError {
    ConditionError {
        is_about_loop: true,
        ..about_if(command, message)
    }
}

fn set_on_false(commands: &mut [Command], at: Option<usize>, target: usize) {
    let op = at.map(|at| &mut commands[at].op);
    if let Some(Op::If { on_false, .. } | Op::Elif { on_false, .. }) = op {
        *on_false = target;
    }
}
