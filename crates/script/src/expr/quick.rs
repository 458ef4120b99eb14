//! Frequent forms of expressions, evaluated without the stack machine: arithmetic and comparisons of
//! integers, and the draws that a request of a benchmark begins with.
//!
//! The steps ([`super::code`]) say what an expression means. A form here either gives what they would give
//! or declines, and declines before anything is drawn or made: a value is no integer, a sum overflows, a
//! range is empty. Then the steps are run, which know what is wrong. So no rule about types and errors
//! is here twice.

use super::code::Step;
use super::draw::{self, range};
use super::function::{DrawFunction, Function, TextFunction};
use super::operator::Binary;
use crate::counter::CounterId;
use crate::vars::MAX_TEXT_BYTES;
use crate::ycsb::{KeyFormat, write_key};
use crate::{Draws, EvalError, Prng, Slot, Value, Vars};

/// Deeper expressions are left to the steps: evaluating a form uses the thread's stack.
const DEPTH_MAX: u32 = 16;

/// An expression's form, if it is one of those here.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Quick {
    /// It is none.
    None,
    /// `random()` between two constants that are right.
    Between(i64, i64),
    /// `random()` between others.
    Random(Number, Number),
    Number(Number),
    Truth(Truth),
    /// `acknowledged()`: the counter and its start.
    Acknowledged(CounterId, Number),
    /// `readable()`: the counter, its start, and the number wanted.
    Readable(CounterId, Number, Number),
    Scrambled(Scrambled),
    Key(Key),
}

/// What gives an integer, or declines.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Number {
    Constant(i64),
    Variable(Slot),
    Operation(Binary, Box<[Number; 2]>),
    /// The first if the condition holds, else the second.
    Case(Box<(Truth, [Number; 2])>),
}

/// What is true or false, or declines.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Truth {
    Compared(Binary, [Number; 2]),
    /// A number that is taken as a condition.
    NotZero(Number),
    Not(Box<Truth>),
    And(Box<[Truth; 2]>),
    Or(Box<[Truth; 2]>),
}

/// `scrambled_zipfian()` over a range and with a theta that are known, and right.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scrambled {
    low: i64,
    count: u64,
    theta: f64,
    /// The highest key that can be read.
    readable: Number,
}

/// `ycsb_key()` in a format and a width that are known, and right.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Key {
    number: Number,
    format: KeyFormat,
    width: usize,
}

impl Number {
    #[inline]
    fn evaluate(&self, vars: &Vars) -> Option<i64> {
        match self {
            Number::Constant(number) => Some(*number),
            Number::Variable(slot) => vars.integer(*slot),
            other => other.compute(vars),
        }
    }

    /// The same of what is not at hand.
    #[inline(never)]
    fn compute(&self, vars: &Vars) -> Option<i64> {
        match self {
            Number::Constant(_) | Number::Variable(_) => self.evaluate(vars),
            Number::Operation(operator, operands) => {
                let [left, right] = &**operands;
                operate(*operator, left.evaluate(vars)?, right.evaluate(vars)?)
            }
            Number::Case(case) => {
                let (condition, [then, otherwise]) = &**case;
                match condition.evaluate(vars)? {
                    true => then.evaluate(vars),
                    false => otherwise.evaluate(vars),
                }
            }
        }
    }
}

impl Truth {
    fn evaluate(&self, vars: &Vars) -> Option<bool> {
        Some(match self {
            Truth::Compared(operator, [left, right]) => {
                let (left, right) = (left.evaluate(vars)?, right.evaluate(vars)?);
                match operator {
                    Binary::Equal => left == right,
                    Binary::NotEqual => left != right,
                    Binary::Less => left < right,
                    // What is left of the operators that get here.
                    _ => left <= right,
                }
            }
            Truth::NotZero(number) => number.evaluate(vars)? != 0,
            Truth::Not(truth) => !truth.evaluate(vars)?,
            Truth::And(both) => both[0].evaluate(vars)? && both[1].evaluate(vars)?,
            Truth::Or(both) => both[0].evaluate(vars)? || both[1].evaluate(vars)?,
        })
    }
}

/// An operator between integers that gives one; `None` where that is an error.
#[inline]
fn operate(operator: Binary, left: i64, right: i64) -> Option<i64> {
    match operator {
        Binary::Add => left.checked_add(right),
        Binary::Subtract => left.checked_sub(right),
        Binary::Multiply => left.checked_mul(right),
        Binary::Divide => left.checked_div(right),
        Binary::Modulo if right == 0 => None,
        Binary::Modulo => Some(left.wrapping_rem(right)),
        Binary::BitAnd => Some(left & right),
        Binary::BitOr => Some(left | right),
        Binary::BitXor => Some(left ^ right),
        _ => None,
    }
}

impl Scrambled {
    #[inline]
    fn draw(
        &self,
        vars: &Vars,
        prng: &mut Prng,
        draws: &mut Draws,
    ) -> Result<Option<i64>, EvalError> {
        let Some(readable) = self.readable.evaluate(vars) else {
            return Ok(None);
        };
        draw::scrambled((self.low, self.count), self.theta, readable, (draws, prng)).map(Some)
    }
}

impl Key {
    /// The number that stands in the key.
    #[inline]
    fn number(&self, vars: &Vars) -> Option<u64> {
        let number = u64::try_from(self.number.evaluate(vars)?).ok()?;
        self.format.number_in_key(number)
    }
}

impl Quick {
    /// The number that a form gives which gives one; `None` if it is another one, or declines.
    #[inline(always)]
    fn number(
        &self,
        vars: &Vars,
        prng: &mut Prng,
        draws: &mut Draws,
    ) -> Result<Option<i64>, EvalError> {
        match self {
            Quick::Between(low, high) => Ok(Some(prng.range(*low, *high))),
            Quick::Number(number) => Ok(number.evaluate(vars)),
            Quick::Scrambled(scrambled) => scrambled.draw(vars, prng, draws),
            Quick::Random(low, high) => {
                let bounds = low.evaluate(vars).zip(high.evaluate(vars));
                let Some((low, high)) = bounds.filter(|(low, high)| is_range(*low, *high)) else {
                    return Ok(None);
                };
                Ok(Some(prng.range(low, high)))
            }
            Quick::Acknowledged(counter, start) => match start.evaluate(vars) {
                Some(start) => draw::acknowledged(*counter, start, draws).map(Some),
                None => Ok(None),
            },
            Quick::Readable(counter, start, wanted) => {
                match start.evaluate(vars).zip(wanted.evaluate(vars)) {
                    Some((start, wanted)) => {
                        draw::readable(*counter, start, wanted, draws).map(Some)
                    }
                    None => Ok(None),
                }
            }
            Quick::None | Quick::Truth(_) | Quick::Key(_) => Ok(None),
        }
    }

    /// The expression's value; `None` if the form declines.
    ///
    /// # Errors
    /// Those of the steps that come after a draw.
    #[inline]
    pub(super) fn value(
        &self,
        vars: &mut Vars,
        prng: &mut Prng,
        draws: &mut Draws,
    ) -> Result<Option<Value>, EvalError> {
        match self {
            Quick::None => Ok(None),
            Quick::Truth(truth) => Ok(truth.evaluate(vars).map(Value::Bool)),
            Quick::Key(key) => {
                let Some(number) = key.number(vars) else {
                    return Ok(None);
                };
                let text = vars.make_text(|out| write_key(number, key.width, out))?;
                Ok(Some(Value::Text(text)))
            }
            _ => Ok(self.number(vars, prng, draws)?.map(Value::Int)),
        }
    }

    /// Sets a variable, which has a value already, to the expression's; false if the form declines.
    ///
    /// # Errors
    /// As of [`Quick::value`].
    #[inline]
    pub(super) fn set(
        &self,
        slot: Slot,
        vars: &mut Vars,
        prng: &mut Prng,
        draws: &mut Draws,
    ) -> Result<bool, EvalError> {
        // Whether its name is one that can be set, the steps' way finds out once.
        if matches!(self, Quick::None) || !vars.is_set(slot) {
            return Ok(false);
        }
        if let Quick::Key(key) = self {
            let Some(number) = key.number(vars) else {
                return Ok(false);
            };
            vars.set_made(slot, |out| write_key(number, key.width, out));
            return Ok(true);
        }
        let value = match self {
            Quick::Truth(truth) => truth.evaluate(vars).map(Value::Bool),
            _ => self.number(vars, prng, draws)?.map(Value::Int),
        };
        match value {
            Some(value) => vars.reset(slot, value),
            None => return Ok(false),
        }
        Ok(true)
    }
}

/// Whether `random()` can draw between these.
#[inline]
fn is_range(low: i64, high: i64) -> bool {
    // The number of values must fit, too.
    low <= high && high.checked_sub(low).is_some_and(|d| d < i64::MAX)
}

/// The form of an expression of these steps and constant texts.
pub(super) fn of(steps: &[Step], literals: &[Box<str>]) -> Quick {
    if let Some((last, arguments)) = steps.split_last()
        && let Step::Call(function, _) = *last
        && let Some(form) = of_call(function, arguments, literals)
    {
        return form;
    }
    match one(steps, 0) {
        Some(Operand::Number(number)) => Quick::Number(number),
        Some(Operand::Truth(truth)) => Quick::Truth(truth),
        None => Quick::None,
    }
}

fn of_call(function: Function, arguments: &[Step], literals: &[Box<str>]) -> Option<Quick> {
    let int = |step: Step| match step {
        Step::Constant(Value::Int(int)) => Some(int),
        _ => None,
    };
    let counter = |step: Step| int(step).map(|number| CounterId(number as u32));
    Some(match (function, arguments) {
        (Function::Random, _) => {
            let [low, high] = numbers(arguments)?;
            match (&low, &high) {
                (Number::Constant(low), Number::Constant(high)) => {
                    is_range(*low, *high).then_some(Quick::Between(*low, *high))?
                }
                _ => Quick::Random(low, high),
            }
        }
        (Function::Draw(DrawFunction::Acknowledged), [first, rest @ ..]) => {
            let [start] = numbers(rest)?;
            Quick::Acknowledged(counter(*first)?, start)
        }
        (Function::Draw(DrawFunction::Readable), [first, rest @ ..]) => {
            let [start, wanted] = numbers(rest)?;
            Quick::Readable(counter(*first)?, start, wanted)
        }
        (Function::Draw(DrawFunction::ScrambledZipfian), [low, high, rest @ ..]) => {
            let (low, high) = range(constant(*low)?, constant(*high)?).ok()?;
            let (theta, readable) = match rest {
                [] => (None, Number::Constant(high)),
                [theta] => (Some(constant(*theta)?), Number::Constant(high)),
                [theta, readable @ ..] => {
                    let [readable] = numbers(readable)?;
                    (Some(constant(*theta)?), readable)
                }
            };
            Quick::Scrambled(Scrambled {
                low,
                // Fits: `range` has seen to it.
                count: (high - low + 1) as u64,
                theta: draw::theta(theta.as_ref()).ok()?,
                readable,
            })
        }
        (Function::Text(TextFunction::YcsbKey), _) => {
            let name = |step: &Step| matches!(step, Step::Literal(_));
            let at = arguments.iter().position(name)?;
            let [number] = numbers(&arguments[..at])?;
            let width = match arguments[at + 1..] {
                [] => 1,
                [width] => usize::try_from(int(width)?.max(0)).ok()?,
                _ => return None,
            };
            let Step::Literal(name) = arguments[at] else {
                return None;
            };
            Quick::Key(Key {
                number,
                format: KeyFormat::find(literals.get(name as usize)?.as_bytes())?,
                // With the digits, which may be more, and the word before them.
                width: Some(width).filter(|width| *width <= MAX_TEXT_BYTES / 2)?,
            })
        }
        _ => return None,
    })
}

fn constant(step: Step) -> Option<Value> {
    match step {
        Step::Constant(value) => Some(value),
        _ => None,
    }
}

/// What steps leave behind.
#[derive(Debug, Clone)]
enum Operand {
    Number(Number),
    Truth(Truth),
}

impl Operand {
    fn number(self) -> Option<Number> {
        match self {
            Operand::Number(number) => Some(number),
            Operand::Truth(_) => None,
        }
    }

    fn truth(self) -> Option<Truth> {
        match self {
            Operand::Truth(truth) => Some(truth),
            Operand::Number(_) => None,
        }
    }

    /// As a condition of CASE.
    fn condition(self) -> Truth {
        match self {
            Operand::Truth(truth) => truth,
            Operand::Number(number) => Truth::NotZero(number),
        }
    }
}

/// The steps as so many numbers.
fn numbers<const N: usize>(steps: &[Step]) -> Option<[Number; N]> {
    let operands = all(steps, 0)?.into_iter();
    let numbers: Option<Vec<Number>> = operands.map(Operand::number).collect();
    numbers?.try_into().ok()
}

/// The steps as one operand.
fn one(steps: &[Step], depth: u32) -> Option<Operand> {
    let [operand] = <[Operand; 1]>::try_from(all(steps, depth)?).ok()?;
    Some(operand)
}

/// The steps as operands, if all of them have a form here. `depth`: how many branches they are in.
fn all(steps: &[Step], depth: u32) -> Option<Vec<Operand>> {
    // With how deep they are.
    let mut stack: Vec<(Operand, u32)> = Vec::new();
    let mut at = 0;
    while let Some(step) = steps.get(at) {
        at += 1;
        let (made, below) = match *step {
            Step::Constant(Value::Int(int)) => (Operand::Number(Number::Constant(int)), 0),
            Step::Variable(slot) | Step::ValueOrText(slot) => {
                (Operand::Number(Number::Variable(slot)), 0)
            }
            Step::NoText => stack.pop()?,
            Step::Not => {
                let (operand, below) = stack.pop()?;
                (
                    Operand::Truth(Truth::Not(operand.truth()?.into())),
                    below + 1,
                )
            }
            Step::Binary(operator) => {
                let ((right, first), (left, second)) = (stack.pop()?, stack.pop()?);
                let operands = [left.number()?, right.number()?];
                (operation(operator, operands)?, first.max(second) + 1)
            }
            Step::Call(Function::Mod, 2) => {
                let ((right, first), (left, second)) = (stack.pop()?, stack.pop()?);
                let operands = [left.number()?, right.number()?];
                (operation(Binary::Modulo, operands)?, first.max(second) + 1)
            }
            Step::AndLeft(jump) | Step::OrLeft(jump) => {
                // To behind the `LogicRight` that the right operand ends with.
                let (right, end) = (at, at + jump as usize);
                let [rest @ .., Step::LogicRight] = steps.get(right..end)? else {
                    return None;
                };
                let (left, below) = stack.pop()?;
                let both = Box::new([left.truth()?, deeper(rest, depth)?.truth()?]);
                at = end;
                match step {
                    Step::AndLeft(_) => (Operand::Truth(Truth::And(both)), below + 1),
                    _ => (Operand::Truth(Truth::Or(both)), below + 1),
                }
            }
            Step::Unless(jump) => {
                // To behind the jump that the branch ends with.
                let otherwise = at + jump as usize;
                let [then @ .., Step::Jump(rest)] = steps.get(at..otherwise)? else {
                    return None;
                };
                let end = otherwise + *rest as usize;
                let (condition, below) = stack.pop()?;
                let then = deeper(then, depth)?.number()?;
                let otherwise = deeper(steps.get(otherwise..end)?, depth)?.number()?;
                at = end;
                let case = (condition.condition(), [then, otherwise]);
                (Operand::Number(Number::Case(case.into())), below + 1)
            }
            _ => return None,
        };
        if below > DEPTH_MAX {
            return None;
        }
        stack.push((made, below));
    }
    Some(stack.into_iter().map(|(operand, _)| operand).collect())
}

/// The steps of a branch.
fn deeper(steps: &[Step], depth: u32) -> Option<Operand> {
    match depth < DEPTH_MAX {
        true => one(steps, depth + 1),
        false => None,
    }
}

fn operation(operator: Binary, operands: [Number; 2]) -> Option<Operand> {
    use Binary::*;
    let is_truth = match operator {
        Equal | NotEqual | Less | LessEqual => true,
        Add | Subtract | Multiply | Divide | Modulo | BitAnd | BitOr | BitXor => false,
        ShiftLeft | ShiftRight | Concat => return None,
    };
    if is_truth {
        return Some(Operand::Truth(Truth::Compared(operator, operands)));
    }
    // What goes wrong between constants does so when it is its turn.
    let known = match &operands {
        [Number::Constant(left), Number::Constant(right)] => operate(operator, *left, *right),
        _ => None,
    };
    Some(Operand::Number(match (known, operator, operands) {
        (Some(known), ..) => Number::Constant(known),
        (_, Add, [Number::Constant(0), other]) => other,
        (_, _, operands) => Number::Operation(operator, operands.into()),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Expr;
    use crate::{Counters, Language, Names, Op};

    /// Variables and what they hold: integers mostly, as in most scripts.
    const VARIABLES: [(&str, Option<Value>); 12] = [
        ("a", Some(Value::Int(5))),
        ("b", Some(Value::Int(-3))),
        ("c", Some(Value::Int(0))),
        ("e", Some(Value::Int(10_000))),
        ("f", Some(Value::Int(77))),
        ("big", Some(Value::Int(i64::MAX - 1))),
        ("low", Some(Value::Int(i64::MIN))),
        ("d", Some(Value::Double(2.5))),
        ("n", Some(Value::Null)),
        ("o", Some(Value::Bool(true))),
        ("unset", None),
        ("result", Some(Value::Int(1))),
    ];
    const TEXTS: [(&str, &str); 3] = [("t", "a text"), ("s", "12"), ("h", "1e2")];

    struct Writer {
        prng: Prng,
    }

    impl Writer {
        fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
            all[self.prng.range(0, all.len() as i64 - 1) as usize]
        }

        fn number(&mut self, depth: u32) -> String {
            if depth == 0 || self.prng.range(0, 5) == 0 {
                let mut frequent = vec![
                    "0", "1", "2", "7", "100", "10000", ":a", ":b", ":c", ":e", ":f", ":s",
                ];
                if self.prng.range(0, 7) == 0 {
                    frequent = vec![
                        "9223372036854775807",
                        "-9223372036854775808",
                        "0.5",
                        "null",
                        "true",
                        "'x'",
                        ":big",
                        ":low",
                        ":d",
                        ":n",
                        ":o",
                        ":unset",
                        ":t",
                        ":h",
                    ];
                }
                return self.of(&frequent).to_owned();
            }
            let (left, right) = (self.number(depth - 1), self.number(depth - 1));
            match self.prng.range(0, 11) {
                0..=5 => {
                    let operator = self.of(&["+", "-", "*", "/", "%", "&", "|", "#", "<<", ">>"]);
                    format!("({left} {operator} {right})")
                }
                6 => format!("-({left})"),
                7 => format!("~({left})"),
                8 => format!("mod({left}, {right})"),
                9 => format!("abs({left})"),
                _ => {
                    let mut case = String::from("case");
                    for _ in 0..self.prng.range(1, 3) {
                        let (when, then) = (self.truth(depth - 1), self.number(depth - 1));
                        case += &format!(" when {when} then {then}");
                    }
                    if self.prng.range(0, 5) > 0 {
                        case += &format!(" else {left}");
                    }
                    format!("{case} end")
                }
            }
        }

        fn truth(&mut self, depth: u32) -> String {
            if depth == 0 {
                return format!("({} < {})", self.number(0), self.number(0));
            }
            let depth = depth - 1;
            match self.prng.range(0, 9) {
                0..=4 => {
                    let operator = self.of(&["=", "<>", "!=", "<", "<=", ">", ">="]);
                    format!("({} {operator} {})", self.number(depth), self.number(depth))
                }
                5 => format!("({} and {})", self.truth(depth), self.truth(depth)),
                6 => format!("({} or {})", self.truth(depth), self.truth(depth)),
                7 => format!("(not {})", self.truth(depth)),
                8 => format!("({} is null)", self.number(depth)),
                _ => self.number(depth),
            }
        }

        fn expression(&mut self) -> String {
            let depth = self.prng.range(0, 4) as u32;
            let small = u32::from(self.prng.range(0, 3) == 0);
            let (one, other) = (self.number(small), self.number(small));
            match self.prng.range(0, 12) {
                0..=3 => self.number(depth),
                4..=5 => self.truth(depth),
                6 => format!("random({one}, {other})"),
                7 => format!("random({}, {} + 1000)", self.number(depth), one),
                8 => format!("acknowledged('k', {one})"),
                9 => format!("readable('k', {one}, {other})"),
                10 => {
                    let more = self.of(&["", ", 0.99", ", 1.2", ", 0", ", :d", ", null"]);
                    // Draws that must be repeated very often are few here.
                    let last = match more {
                        "" => "",
                        _ => self.of(&["", ", 100", ", :e", ", 20000", ", :s", ", :d", ", -9"]),
                    };
                    let low = self.of(&["0", "1", ":a", "-7"]);
                    let high = self.of(&["100", ":e", "10000 + :a", "0", ":big"]);
                    format!("scrambled_zipfian({low}, {high}{more}{last})")
                }
                _ => {
                    let format = self.of(&["java", "go-ycsb", "crdb-old", "crdb", "ordered", "no"]);
                    let width = self.of(&["", ", 1", ", 25", ", -4", ", 2000000", ", :a", ", 0.6"]);
                    format!("ycsb_key({one}, '{format}'{width})")
                }
            }
        }
    }

    /// What an evaluation gave, with what is in its text.
    fn shown(result: &Result<Value, EvalError>, vars: &Vars) -> String {
        match result {
            Ok(Value::Text(text)) => format!("text {:?}", vars.bytes(*text)),
            other => format!("{other:?}"),
        }
    }

    /// One of several worlds in which the same happens.
    struct World {
        vars: Vars,
        prng: Prng,
        draws: Draws,
    }

    impl World {
        fn by_steps(&mut self, expr: &Expr) -> String {
            self.vars.begin_texts();
            let result = expr.run(&mut self.vars, &mut self.prng, &mut self.draws, &mut |_| {});
            shown(&result, &self.vars)
        }

        fn text(&self, slot: Slot) -> String {
            let mut text = Vec::new();
            self.vars.write_sql(slot, &mut text);
            format!(
                "{} {:?}",
                String::from_utf8_lossy(&text),
                self.vars.value(slot)
            )
        }
    }

    #[test]
    fn every_form_gives_what_the_steps_give_or_declines_with_nothing_drawn() {
        let mut names = Names::new();
        let slots: Vec<Slot> = VARIABLES
            .iter()
            .map(|(name, _)| names.intern(name))
            .collect();
        let texts: Vec<Slot> = TEXTS.iter().map(|(name, _)| names.intern(name)).collect();
        names.intern("default_seed");
        let counter = names.counter("k");
        let mut given = Vars::new(&names);
        for (slot, (_, value)) in slots.iter().zip(VARIABLES) {
            if let Some(value) = value {
                given.set(*slot, value);
            }
        }
        for (slot, (_, text)) in texts.iter().zip(TEXTS) {
            given.set_text(*slot, text);
        }
        let mut worlds = [(); 3].map(|()| World {
            vars: given.clone(),
            prng: Prng::seed(7),
            draws: Draws::new(Counters::new(&names)),
        });
        let [steps, eval, set] = &mut worlds;
        let mut writer = Writer {
            prng: Prng::seed(20_261_126),
        };
        let result = slots[slots.len() - 1];
        let (mut forms, mut given_at_once) = (0, 0);
        for case in 0..12_000 {
            let text = writer.expression();
            let line = format!("\\set result {text}\n");
            let Ok(mut script) = Language::Pgdyno.parse("s", &line, &mut names) else {
                panic!("{text} is no expression");
            };
            let mut op = script.commands.remove(0).op;
            if case % 2 == 0 {
                op.settle(&|slot| {
                    given
                        .value(slot)
                        .ok()
                        .filter(|_| slot == slots[0] || slot == slots[3])
                });
            }
            let Op::Set { expr, .. } = op else {
                panic!("{text} is no \\set");
            };
            forms += u32::from(expr.quick != Quick::None);
            let expected = steps.by_steps(&expr);
            let World { vars, prng, draws } = eval;
            let value = expr.eval(vars, prng, draws, &mut |_| {});
            assert_eq!(shown(&value, vars), expected, "{text}");
            let World { vars, prng, draws } = set;
            let before = prng.clone();
            match expr.set_at_once(result, vars, prng, draws) {
                Ok(true) => {
                    given_at_once += 1;
                    if let Ok(value) = value {
                        eval.vars.set(result, value);
                    }
                    assert_eq!(set.text(result), eval.text(result), "{text}");
                }
                Ok(false) => {
                    assert_eq!(*prng, before, "{text}");
                    assert_eq!(set.by_steps(&expr), expected, "{text}");
                }
                Err(error) => assert_eq!(format!("{:?}", Err::<(), _>(error)), expected, "{text}"),
            }
            for world in [&eval, &set] {
                assert_eq!(world.prng, steps.prng, "{text}");
            }
            for world in [&mut *steps, &mut *eval, &mut *set] {
                world.vars.set(result, Value::Int(case));
                // Its numbers are settled: the next case finds more of them.
                if case % 8 == 0 {
                    assert_eq!(world.draws.next(counter), Ok((case / 8) as u64), "{text}");
                    world.draws.end();
                }
            }
        }
        // Otherwise nothing would have been compared.
        assert!(forms > 4_000, "{forms} expressions have a form");
        assert!(given_at_once > 3_000, "{given_at_once} were set at once");
    }

    #[test]
    fn what_ycsb_asks_for_has_its_forms_and_deep_expressions_have_none() {
        let form = |text: &str| {
            let line = format!("\\set x {text}\n");
            let mut names = Names::new();
            let script = Language::Pgdyno.parse("s", &line, &mut names);
            let op = script.expect(text).commands.remove(0).op;
            let Op::Set { expr, .. } = op else {
                panic!("{text} is no \\set");
            };
            expr.quick
        };
        assert_eq!(form("random(1, 100 * 1000)"), Quick::Between(1, 100_000));
        assert!(matches!(form("random(1, :scale)"), Quick::Random(..)));
        assert!(matches!(
            form("acknowledged('k', 1 + :n)"),
            Quick::Acknowledged(..)
        ));
        assert!(matches!(form("readable('k', 5, :i)"), Quick::Readable(..)));
        assert!(matches!(
            form("scrambled_zipfian(0, 9, 0.9, :i)"),
            Quick::Scrambled(_)
        ));
        assert!(matches!(form("ycsb_key(:i, 'java', 1)"), Quick::Key(_)));
        assert!(matches!(
            form("case when :i < 5 then :i else 5 + :i end"),
            Quick::Number(_)
        ));
        assert!(matches!(form(":field = 3 and not :i"), Quick::None));
        assert!(matches!(form(":field = 3 and not :i > 2"), Quick::Truth(_)));
        for none in [
            "random(2, 1)",
            "ycsb_key(:i, 'other')",
            "ycsb_key(:i, 'java', :w)",
            ":x || 'a'",
        ] {
            assert_eq!(form(none), Quick::None, "{none}");
        }
        let sum = |terms: usize| vec![":x"; terms].join(" + ");
        assert!(matches!(form(&sum(16)), Quick::Number(_)));
        assert_eq!(form(&sum(5000)), Quick::None);
        let nested = |depth: usize| {
            let whens = "case when :x then 1 else ".repeat(depth);
            format!("{whens} 2 {}", "end ".repeat(depth))
        };
        assert!(matches!(form(&nested(10)), Quick::Number(_)));
        assert_eq!(form(&nested(150)), Quick::None);
    }
}
