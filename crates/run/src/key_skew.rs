//! What a run's draws come to: how large a share of its transactions the rows asked for most get, and
//! how many different ones there are. A distribution by its name says little: what a scrambled one
//! does to a small table is not what its theta promises.
//!
//! Nothing is noted while a run measures. Its scripts are replayed afterwards without the server, up
//! to their first statement, as often as they were run and with the run's seed: draws of the same
//! generators, though not one by one the run's own.

use std::collections::HashMap;

use pgdyno_drive::Script;
use pgdyno_drive::record::Recording;
use pgdyno_script::{Counters, Draws, Op, Prng, Slot, Value, Vars};

use super::prepare::Prepared;
use pgdyno_model::document::KeySkew;

/// So many transactions are replayed at most; a share is known to a tenth of a percent then.
const DRAWS_MAX: u64 = 1_000_000;

/// The shares of so many rows are told.
const HOTTEST: usize = 100;

/// By the scripts that say which row they are about; `None` when none of them ran.
pub fn by(prepared: &Prepared, recording: &Recording, seed: i64) -> Option<KeySkew> {
    let texts = prepared.workload.scripts.iter();
    let slots = texts.map(|text| text.key.as_ref().and_then(|n| prepared.names.get(n)));
    let slots: Vec<Option<Slot>> = slots.collect();
    let ran = recording.measured.scripts.iter();
    let ran: Vec<u64> = ran
        .map(|script| script.counts.committed + script.counts.failed.values().sum::<u64>())
        .collect();
    if slots
        .iter()
        .zip(&ran)
        .all(|(slot, ran)| slot.is_none() || *ran == 0)
    {
        return None;
    }
    let total: u64 = ran.iter().sum();
    let mut replay = Replay::new(prepared, seed);
    let mut drawn: HashMap<i64, u64> = HashMap::new();
    for _ in 0..total.min(DRAWS_MAX) {
        let mut at = replay.prng.range_u64(0, total - 1);
        let chosen = ran.iter().position(|ran| {
            let is_it = at < *ran;
            at = at.wrapping_sub(*ran);
            is_it
        });
        let Some(script) = chosen else { continue };
        let number = replay.run(&prepared.scripts[script], slots[script]);
        if let Some(number) = number {
            *drawn.entry(number).or_default() += 1;
        }
    }
    let mut counts: Vec<u64> = drawn.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let draws: u64 = counts.iter().sum();
    let share = |count: usize| {
        let hottest: u64 = counts.iter().take(count).sum();
        hottest as f64 / draws as f64
    };
    (draws > 0).then(|| KeySkew {
        draws,
        is_sample: total > DRAWS_MAX,
        distinct: counts.len() as u64,
        hottest_share: share(1),
        hottest_100_share: share(HOTTEST),
    })
}

/// A client without a server.
struct Replay {
    vars: Vars,
    prng: Prng,
    draws: Draws,
}

impl Replay {
    fn new(prepared: &Prepared, seed: i64) -> Self {
        let mut vars = Vars::new(&prepared.names);
        for (name, value) in &prepared.variables {
            if let Some(slot) = prepared.names.get(name) {
                vars.set_text(slot, value);
            }
        }
        Self {
            vars,
            prng: Prng::seed(seed as u64),
            draws: Draws::new(Counters::new(&prepared.names)),
        }
    }

    /// One transaction up to its first statement; what the variable is then, if it is a number.
    fn run(&mut self, script: &Script, key: Option<Slot>) -> Option<i64> {
        let commands = &script.program.script().commands;
        let (mut at, mut jumped) = (0, false);
        while let Some(command) = commands.get(at) {
            let came_by_jump = std::mem::take(&mut jumped);
            let Self { vars, prng, draws } = self;
            at = match &command.op {
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
        match self.vars.value(key?) {
            Ok(Value::Int(number)) => Some(number),
            _ => None,
        }
    }
}
