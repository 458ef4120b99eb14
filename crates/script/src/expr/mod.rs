//! Expressions of `\set`, `\if` and other commands: parsed once, evaluated often.

mod code;
mod draw;
mod function;
mod operator;
mod parse;
pub(crate) mod quick;
mod text;
pub(crate) mod token;
mod world;

pub(crate) use function::names as functions;
pub(crate) use parse::{GrammarError, UNKNOWN_FUNCTION};

use crate::{DebugOutput, Draws, EvalError, Language, Names, Prng, Slot, Value, Vars};
use code::Step;
use quick::Quick;
use world::World;

/// Expressions that need no more room than this are evaluated without allocation; what people
/// write needs less than ten.
const ROOM: usize = 16;
/// Nearly all need no more than this, and room that is cleared costs time.
const LITTLE_ROOM: usize = 4;

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
        Ok(parsed.map(|parsed| Self::of(parsed.steps, parsed.literals.into())))
    }

    fn of(steps: Vec<Step>, literals: Box<[Box<str>]>) -> Self {
        Self {
            depth: code::depth(&steps),
            steps: steps.into(),
            literals,
        }
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
        Self::of(steps, self.literals)
    }

    /// Puts values in the place of variables that will never have others, and works out what then
    /// consists of constants. Drawing and failing happen as before.
    pub(crate) fn settle(&mut self, known: &dyn Fn(Slot) -> Option<Value>) {
        let steps = std::mem::take(&mut self.steps).into_vec();
        *self = Self::of(
            code::settle(steps, known),
            std::mem::take(&mut self.literals),
        );
    }

    /// Its form, for evaluating it without the steps.
    pub(crate) fn quick(&self) -> Quick {
        quick::of(&self.steps, &self.literals)
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
        if self.depth <= LITTLE_ROOM {
            let mut stack = [Value::Null; LITTLE_ROOM];
            code::run(&self.steps, &mut stack, &mut world)
        } else if self.depth <= ROOM {
            let mut stack = [Value::Null; ROOM];
            code::run(&self.steps, &mut stack, &mut world)
        } else {
            let mut stack = vec![Value::Null; self.depth];
            code::run(&self.steps, &mut stack, &mut world)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Op;

    #[test]
    fn settled_variables_change_no_result_no_error_and_no_draw() {
        for (text, has_fewer_steps) in [
            ("random(1, 100000 * :scale)", true),
            ("0 + (:scale + 2) + int(2 * :scale * 0.5)", true),
            ("random(:scale, 1)", false),
            ("random(1, :x) + 2 * :scale", true),
            (
                "case when :x < :scale then 2 * :scale else :scale / 0 end",
                false,
            ),
            (":scale / 0", false),
            ("9223372036854775807 + :scale", false),
            (":name || :scale", false),
            (":scale = 100", false),
            ("int(:name)", false),
        ] {
            let mut names = Names::new();
            let script = format!("\\set y {text}\n");
            let script = Language::Pgdyno.parse("s", &script, &mut names);
            let op = script.expect(text).commands.remove(0).op;
            let (scale, x) = (names.intern("scale"), names.intern("x"));
            let name = names.intern("name");
            let mut vars = Vars::new(&names);
            vars.set(scale, Value::Int(100));
            vars.set(x, Value::Int(5));
            vars.set_text(name, "a");
            let evaluated = |op: &Op| {
                let Op::Set { expr, .. } = op else {
                    panic!("{text} is no \\set")
                };
                let (mut vars, mut prng) = (vars.clone(), Prng::seed(1));
                let value = expr.eval(&mut vars, &mut prng, &mut Draws::default(), &mut |_| {});
                (format!("{value:?}"), prng, expr.steps.len())
            };
            let before = evaluated(&op);
            let mut settled = op.clone();
            settled.settle(&|slot| {
                if slot == name {
                    Some(Value::Null)
                } else {
                    (slot == scale).then_some(Value::Int(100))
                }
            });
            let after = evaluated(&settled);
            assert_eq!((&before.0, &before.1), (&after.0, &after.1), "{text}");
            assert_eq!(after.2 < before.2, has_fewer_steps, "{text}");
        }
    }
}
