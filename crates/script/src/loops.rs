//! `\for`: a loop over a range of integers that is known when it begins.

use crate::{DebugOutput, Draws, EvalError, Expr, Prng, Slot, Value, Vars};

/// The most steps a loop may have: a script that never ends is a mistake.
pub const MAX_STEPS: u64 = 1_000_000;

#[derive(Debug, Clone, PartialEq)]
pub struct For {
    pub slot: Slot,
    pub(crate) from: Expr,
    pub(crate) to: Expr,
    /// Where the loop itself counts: the script may do with its variable what it likes.
    pub(crate) at: Slot,
    pub(crate) last: Slot,
    /// The command behind the `\endfor`.
    pub end: usize,
}

impl For {
    /// Begins the loop: evaluates its bounds. Says whether there is a first step; if not, the
    /// script goes on at `end`.
    ///
    /// # Errors
    /// A bound that is no integer, or more than [`MAX_STEPS`] steps.
    pub fn begin(
        &self,
        vars: &mut Vars,
        prng: &mut Prng,
        draws: &mut Draws,
        debug: &mut dyn FnMut(DebugOutput),
    ) -> Result<bool, EvalError> {
        let from = self.from.eval(vars, prng, draws, debug)?.to_int()?;
        let to = self.to.eval(vars, prng, draws, debug)?.to_int()?;
        if from > to {
            return Ok(false);
        }
        if to.abs_diff(from) >= MAX_STEPS {
            return Err(EvalError::LoopTooLong {
                maximum: MAX_STEPS,
                from,
                to,
            });
        }
        vars.set(self.last, Value::Int(to));
        self.count(from, vars);
        Ok(true)
    }

    /// At its `\endfor`: says whether there is one more step.
    pub fn step(&self, vars: &mut Vars) -> bool {
        match (vars.value(self.at), vars.value(self.last)) {
            (Ok(Value::Int(at)), Ok(Value::Int(last))) if at < last => {
                self.count(at + 1, vars);
                true
            }
            _ => false,
        }
    }

    fn count(&self, to: i64, vars: &mut Vars) {
        vars.set(self.at, Value::Int(to));
        vars.set(self.slot, Value::Int(to));
    }
}
