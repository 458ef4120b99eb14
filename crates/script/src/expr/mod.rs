//! Expressions of `\set`, `\if` and `\elif`: parsed once, evaluated often.

mod code;
mod function;
mod parse;
pub(crate) mod token;

pub(crate) use parse::GrammarError;

use crate::{DebugOutput, EvalError, Names, Prng, Value, Vars};
use code::Step;

/// Expressions that need no more room than this are evaluated without allocation; what people
/// write needs less than ten.
const ROOM: usize = 16;

/// A parsed expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    steps: Box<[Step]>,
    depth: usize,
}

impl Expr {
    pub(crate) fn parse<'a>(
        words: &[token::Word<'a>],
        names: &mut Names,
    ) -> Result<Self, GrammarError<'a>> {
        let steps = parse::parse(words, names)?;
        let depth = code::depth(&steps);
        Ok(Self {
            steps: steps.into(),
            depth,
        })
    }

    /// Evaluates the expression: random numbers are drawn in pgbench's order; `debug` gets what
    /// `debug()` has to say, in the order of evaluation, also before an error.
    pub fn eval(
        &self,
        vars: &Vars,
        prng: &mut Prng,
        debug: &mut dyn FnMut(DebugOutput),
    ) -> Result<Value, EvalError> {
        if self.depth <= ROOM {
            let mut stack = [Value::Null; ROOM];
            code::run(&self.steps, &mut stack, vars, prng, debug)
        } else {
            let mut stack = vec![Value::Null; self.depth];
            code::run(&self.steps, &mut stack, vars, prng, debug)
        }
    }
}
