//! A client without a server: runs scripts for what they draw. Statements are not sent, so that what a script
//! learns by `\gset` stays unset.

use std::collections::BTreeMap;

use pgdyno_drive::Script;
use pgdyno_script::{Counters, Draws, Names, Op, Prng, Sql, Value, Vars};

pub struct DryRun {
    pub vars: Vars,
    pub prng: Prng,
    draws: Draws,
}

impl DryRun {
    /// With the variables that every client begins with.
    pub fn new(names: &Names, variables: &BTreeMap<String, String>, seed: i64) -> Self {
        let mut vars = Vars::new(names);
        for (name, value) in variables {
            if let Some(slot) = names.get(name) {
                vars.set_text(slot, value);
            }
        }
        Self {
            vars,
            prng: Prng::seed(seed as u64),
            draws: Draws::new(Counters::new(names)),
        }
    }

    /// One transaction, up to the statement at which `goes_on` says no.
    pub fn run(&mut self, script: &Script, goes_on: &mut dyn FnMut(&Sql, &Vars) -> bool) {
        let commands = &script.program.script().commands;
        let (mut at, mut jumped) = (0, false);
        while let Some(command) = commands.get(at) {
            let came_by_jump = std::mem::take(&mut jumped);
            let Self { vars, prng, draws } = self;
            at = match &command.op {
                Op::Sql(sql) if goes_on(sql, vars) => at + 1,
                Op::Sql(_) => break,
                Op::Set { slot, expr } => {
                    let value = expr.eval(vars, prng, draws, &mut |_| {});
                    // The run itself has said what is wrong.
                    let Ok(value) = value else { break };
                    vars.set(*slot, value);
                    at + 1
                }
                Op::If { cond, on_false } | Op::Elif { cond, on_false, .. }
                    if came_by_jump || matches!(command.op, Op::If { .. }) =>
                {
                    let holds = cond.eval(vars, prng, draws, &mut |_| {});
                    jumped = !holds.is_ok_and(Value::is_true);
                    if jumped { *on_false } else { at + 1 }
                }
                Op::Elif { end, .. } | Op::Else { end } => *end,
                Op::For(its) => match its.begin(vars, prng, draws, &mut |_| {}) {
                    Ok(true) => at + 1,
                    _ => its.end,
                },
                Op::EndFor { begin } => match &commands[*begin].op {
                    Op::For(its) if its.step(vars) => begin + 1,
                    _ => at + 1,
                },
                _ => at + 1,
            };
        }
        self.draws.end();
    }
}
