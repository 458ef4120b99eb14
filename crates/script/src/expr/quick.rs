//! Frequent forms of expressions, evaluated without the stack machine: arithmetic and comparisons of
//! integers, and the draws that a request of a benchmark begins with.
//!
//! The steps ([`super::code`]) say what an expression means. A form here either gives what they would give
//! or declines, and leaves no draw and no text behind then: a value is no integer, a sum overflows, a
//! range is empty. Then the steps are run, which know what is wrong. So no rule about types and errors
//! is here twice. (A counter that was looked at is looked at once more then, and the transaction ends.)

use super::code::Step;
use super::draw::{self, drawn_until_readable, range, scrambled};
use super::function::{DrawFunction, Function, TextFunction};
use super::operator::Binary;
use crate::counter::CounterId;
use crate::draws::scrambled_ranks;
use crate::vars::MAX_TEXT_BYTES;
use crate::ycsb::{KeyFormat, write_key};
use crate::zipf::Gray;
use crate::{Draws, Prng, SCRAMBLED_ITEMS, Slot, Value, Vars};

/// Deeper expressions are left to the steps: evaluating a form uses the thread's stack.
const DEPTH_MAX: u32 = 16;

/// An expression's form, if it is one of those here.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Quick {
    None,
    /// `random()` between two constants that are right.
    Between(i64, i64),
    Random(Number, Number),
    Number(Number),
    Truth(Truth),
    /// `acknowledged()`: the counter and its start.
    Acknowledged(CounterId, Number),
    /// `readable()`: the counter, its start, and the number wanted.
    Readable(CounterId, Number, Number),
    Scrambled(Box<Scrambled>),
    Key(Key),
    /// `random_string()` of so many characters.
    RandomString(Number),
}

/// What gives an integer, or declines.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Number {
    Constant(i64),
    Variable(Slot),
    Computed(Box<Computed>),
}

/// A number that is not at hand.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Computed {
    Operation(Binary, [Number; 2]),
    /// The first if the condition holds, else the second.
    Case(Truth, [Number; 2]),
}

/// What is true or false, or declines.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Truth {
    Compared(Comparison, [Number; 2]),
    /// A number that is taken as a condition.
    NotZero(Number),
    Not(Box<Truth>),
    And(Box<[Truth; 2]>),
    Or(Box<[Truth; 2]>),
}

/// How two integers compare: which of less, equal and greater make it true.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Comparison {
    /// One bit for each of them, from the lowest on.
    holds: u8,
}

/// `scrambled_zipfian()` over a range and with a theta that are known, and right.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scrambled {
    low: i64,
    count: u64,
    ranks: Ranks,
    /// The highest key that can be read.
    readable: Number,
}

/// How its ranks are drawn.
#[derive(Debug, Clone, PartialEq)]
enum Ranks {
    /// With constants that depend on theta alone.
    Gray(Gray),
    Exact(f64),
}

/// `ycsb_key()` in a format and a width that are known, and right.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Key {
    number: Number,
    format: KeyFormat,
    width: usize,
}

impl Number {
    #[inline(always)]
    fn evaluate(&self, vars: &Vars) -> Option<i64> {
        match self {
            Number::Constant(number) => Some(*number),
            Number::Variable(slot) => vars.integer(*slot),
            Number::Computed(computed) => Some(computed.evaluate(vars)?),
        }
    }
}

impl Computed {
    #[inline(never)]
    fn evaluate(&self, vars: &Vars) -> Option<i64> {
        match self {
            Computed::Operation(operator, [left, right]) => {
                operate(*operator, left.evaluate(vars)?, right.evaluate(vars)?)
            }
            Computed::Case(condition, [then, otherwise]) => {
                let holds = condition.evaluate(vars)?;
                if holds { then } else { otherwise }.evaluate(vars)
            }
        }
    }
}

impl Comparison {
    /// That of an operator which compares.
    fn of(operator: Binary) -> Option<Self> {
        let holds = match operator {
            Binary::Less => 0b001,
            Binary::Equal => 0b010,
            Binary::LessEqual => 0b011,
            Binary::NotEqual => 0b101,
            _ => return None,
        };
        Some(Self { holds })
    }

    #[inline(always)]
    fn holds(self, left: i64, right: i64) -> bool {
        let is = 1 + left.cmp(&right) as i8;
        self.holds >> is & 1 != 0
    }
}

impl Truth {
    #[inline(always)]
    pub(crate) fn evaluate(&self, vars: &Vars) -> Option<bool> {
        match self {
            Truth::Compared(comparison, [left, right]) => {
                Some(comparison.holds(left.evaluate(vars)?, right.evaluate(vars)?))
            }
            other => other.decide(vars),
        }
    }

    /// The same of what is no comparison.
    #[inline(never)]
    fn decide(&self, vars: &Vars) -> Option<bool> {
        Some(match self {
            Truth::Compared(..) => return self.evaluate(vars),
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
    #[inline(always)]
    fn draw(&self, vars: &Vars, prng: &mut Prng, draws: &mut Draws) -> Option<i64> {
        let readable = self.readable.evaluate(vars)?;
        if let Ranks::Gray(gray) = &self.ranks {
            // Nearly always the first one can be read.
            let mut drawing = prng.clone();
            let key = scrambled((self.low, self.count), gray.draw(&mut drawing));
            if key <= readable {
                *prng = drawing;
                return Some(key);
            }
        }
        self.draw_until(readable, prng, draws)
    }

    /// Draws until a key can be read.
    #[inline(never)]
    fn draw_until(&self, readable: i64, prng: &mut Prng, draws: &mut Draws) -> Option<i64> {
        // Where none can, nothing is to be drawn here.
        let mut drawing = prng.clone();
        let key = drawn_until_readable((self.low, self.count), readable, || match &self.ranks {
            Ranks::Gray(gray) => gray.draw(&mut drawing),
            Ranks::Exact(theta) => draws.zipfian(SCRAMBLED_ITEMS, *theta, &mut drawing),
        })?;
        *prng = drawing;
        Some(key)
    }
}

impl Key {
    /// The number that is in the key.
    #[inline(always)]
    fn number(&self, vars: &Vars) -> Option<u64> {
        let number = u64::try_from(self.number.evaluate(vars)?).ok()?;
        self.format.number_in_key(number)
    }
}

impl Quick {
    /// Sets a variable, which has a value already, to the expression's; `None` if the form declines, and
    /// nothing has happened.
    #[inline(always)]
    pub(crate) fn set(
        &self,
        slot: Slot,
        vars: &mut Vars,
        prng: &mut Prng,
        draws: &mut Draws,
    ) -> Option<()> {
        // Whether its name is one that can be set, the steps' way finds out once.
        let variable = vars.to_be_set(slot)?;
        let number = match self {
            Quick::None => return None,
            Quick::Between(low, high) => prng.range(*low, *high),
            Quick::Number(number) => number.evaluate(vars)?,
            Quick::Scrambled(scrambled) => scrambled.draw(vars, prng, draws)?,
            Quick::Random(low, high) => {
                let (low, high) = (low.evaluate(vars)?, high.evaluate(vars)?);
                if !is_range(low, high) {
                    return None;
                }
                prng.range(low, high)
            }
            Quick::Acknowledged(counter, start) => {
                draw::acknowledged(*counter, start.evaluate(vars)?, draws)?
            }
            Quick::Readable(counter, start, wanted) => {
                let (start, wanted) = (start.evaluate(vars)?, wanted.evaluate(vars)?);
                draw::readable(*counter, start, wanted, draws)?
            }
            Quick::Truth(truth) => {
                variable.set(Value::Bool(truth.evaluate(vars)?));
                return Some(());
            }
            Quick::Key(key) => {
                let number = key.number(vars)?;
                write_key(number, key.width, vars.own_text(slot)?);
                return Some(());
            }
            Quick::RandomString(length) => {
                let length = draw::length_of_text(length.evaluate(vars)?)?;
                draw::write_random(length, prng, vars.own_text(slot)?);
                return Some(());
            }
        };
        variable.set(Value::Int(number));
        Some(())
    }

    /// The condition that it is, if it draws nothing and makes no text.
    pub(crate) fn condition(&self) -> Option<Truth> {
        match self {
            Quick::Truth(truth) => Some(truth.clone()),
            Quick::Number(number) => Some(Truth::NotZero(number.clone())),
            _ => None,
        }
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
            let theta = draw::theta(theta.as_ref()).ok()?;
            Quick::Scrambled(Box::new(Scrambled {
                low,
                // Fits: `range` has seen to it.
                count: (high - low + 1) as u64,
                ranks: if theta < 1.0 {
                    Ranks::Gray(scrambled_ranks(theta))
                } else {
                    Ranks::Exact(theta)
                },
                readable,
            }))
        }
        (Function::Draw(DrawFunction::RandomString), _) => {
            let [length] = numbers(arguments)?;
            Quick::RandomString(length)
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
                let case = Computed::Case(condition.condition(), [then, otherwise]);
                (Operand::Number(Number::Computed(case.into())), below + 1)
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
    if depth < DEPTH_MAX {
        one(steps, depth + 1)
    } else {
        None
    }
}

fn operation(operator: Binary, operands: [Number; 2]) -> Option<Operand> {
    use Binary::*;
    if matches!(operator, ShiftLeft | ShiftRight | Concat) {
        return None;
    }
    if let Some(comparison) = Comparison::of(operator) {
        return Some(Operand::Truth(Truth::Compared(comparison, operands)));
    }
    // What goes wrong between constants does so when it is its turn.
    let known = match &operands {
        [Number::Constant(left), Number::Constant(right)] => operate(operator, *left, *right),
        _ => None,
    };
    Some(Operand::Number(match (known, operator, operands) {
        (Some(known), ..) => Number::Constant(known),
        (_, Add, [Number::Constant(0), other]) => other,
        (_, _, operands) => Number::Computed(Computed::Operation(operator, operands).into()),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Expr;
    use crate::{Counters, EvalError, Language, Names, Op};

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
            match self.prng.range(0, 13) {
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
                11 => format!("random_string({one})"),
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
        /// What the steps give, and how it is shown.
        fn by_steps(&mut self, expr: &Expr) -> (String, Result<Value, EvalError>) {
            let World { vars, prng, draws } = self;
            let result = expr.eval(vars, prng, draws, &mut |_| {});
            (shown(&result, vars), result)
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
        let mut worlds = [(); 2].map(|()| World {
            vars: given.clone(),
            prng: Prng::seed(7),
            draws: Draws::new(Counters::new(&names)),
        });
        let [steps, forms] = &mut worlds;
        let mut writer = Writer {
            prng: Prng::seed(20_261_126),
        };
        let result = slots[slots.len() - 1];
        let (mut have_form, mut given_at_once) = (0, 0);
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
            let form = expr.quick();
            have_form += u32::from(form != Quick::None);
            let (expected, value) = steps.by_steps(&expr);
            let World { vars, prng, draws } = forms;
            let before = prng.clone();
            match form.set(result, vars, prng, draws) {
                Some(()) => {
                    given_at_once += 1;
                    if let Ok(value) = value {
                        steps.vars.set(result, value);
                    }
                    assert_eq!(forms.text(result), steps.text(result), "{text}");
                }
                None => {
                    assert_eq!(*prng, before, "{text}");
                    assert_eq!(forms.by_steps(&expr).0, expected, "{text}");
                }
            }
            assert_eq!(forms.prng, steps.prng, "{text}");
            for world in [&mut *steps, &mut *forms] {
                world.vars.set(result, Value::Int(case));
                // Its numbers are settled: the next case finds more of them.
                if case % 8 == 0 {
                    assert_eq!(world.draws.next(counter), Ok((case / 8) as u64), "{text}");
                    world.draws.end();
                }
            }
        }
        // Otherwise nothing would have been compared.
        assert!(have_form > 4_000, "{have_form} expressions have a form");
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
            expr.quick()
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
        assert!(matches!(form("random_string(:i)"), Quick::RandomString(_)));
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
