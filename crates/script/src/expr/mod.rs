//! Expressions of `\set`, `\if` and other commands: parsed once, evaluated often.

mod code;
mod draw;
mod function;
mod operator;
mod parse;
mod text;
pub(crate) mod token;
mod world;

pub(crate) use function::names as functions;
pub(crate) use parse::{GrammarError, UNKNOWN_FUNCTION};

use crate::{DebugOutput, Draws, EvalError, Language, Names, Prng, Slot, Value, Vars};
use code::Step;
use world::World;

/// Expressions that need no more room than this are evaluated without allocation; what people
/// write needs less than ten.
const ROOM: usize = 16;

/// A parsed expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    steps: Box<[Step]>,
    literals: Box<[Box<str>]>,
    depth: usize,
}

impl Expr {
    /// So many expressions one after the other, and nothing else.
    pub(crate) fn parse<'a, const N: usize>(
        words: &[token::Word<'a>],
        names: &mut Names,
        language: Language,
    ) -> Result<[Self; N], GrammarError<'a>> {
        let parsed = parse::parse(words, names, language)?;
        Ok(parsed.map(|parsed| Self {
            depth: code::depth(&parsed.steps),
            steps: parsed.steps.into(),
            literals: parsed.literals.into(),
        }))
    }

    /// The variables that it reads, each as often as it is named.
    pub(crate) fn reads(&self) -> impl Iterator<Item = Slot> {
        self.steps.iter().filter_map(|step| match step {
            Step::Variable(slot) | Step::ValueOrText(slot) | Step::TextOrValue(slot) => Some(*slot),
            _ => None,
        })
    }

    /// The same, but a text is an error instead of a condition.
    pub(crate) fn into_condition(self) -> Self {
        let mut steps = self.steps.into_vec();
        steps.push(Step::NoText);
        Self {
            steps: steps.into(),
            ..self
        }
    }

    /// Evaluates the expression: random numbers are drawn in pgbench's order; `debug` gets what
    /// `debug()` has to say, in the order of evaluation, also before an error. A text that comes
    /// out of it is in `vars` until they are used for the next evaluation.
    pub fn eval(
        &self,
        vars: &mut Vars,
        prng: &mut Prng,
        draws: &mut Draws,
        debug: &mut dyn FnMut(DebugOutput),
    ) -> Result<Value, EvalError> {
        vars.begin_texts();
        let mut world = World {
            literals: &self.literals,
            vars,
            prng,
            draws,
            debug,
        };
        if self.depth <= ROOM {
            let mut stack = [Value::Null; ROOM];
            code::run(&self.steps, &mut stack, &mut world)
        } else {
            let mut stack = vec![Value::Null; self.depth];
            code::run(&self.steps, &mut stack, &mut world)
        }
    }
}
