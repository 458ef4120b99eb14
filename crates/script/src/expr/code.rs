//! The form an expression is evaluated in: steps for a small stack machine.
//!
//! A flat list instead of a tree, so that neither a long expression nor a deep one can exhaust the
//! thread's stack, and evaluating allocates nothing.

use super::draw::{self, range};
use super::function::Function;
use super::operator::Binary;
use super::text;
use super::world::World;
use crate::hash::{fnv1a, murmur2, permute};
use crate::prng::{MAX_ZIPFIAN_PARAM, MIN_GAUSSIAN_PARAM, MIN_ZIPFIAN_PARAM};
use crate::{DebugOutput, EvalError, Prng, Slot, Value};

/// More arguments than this are refused when the call is evaluated.
pub(crate) const MAX_FUNCTION_ARGS: usize = 16;

/// One step. Jumps are forward and relative: 0 goes on with the next step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Step {
    Constant(Value),
    Variable(Slot),
    Literal(u32),
    /// Push a variable's value; what pgbench would refuse is a text.
    ValueOrText(Slot),
    /// Push a variable's text if it came from outside, else its value.
    TextOrValue(Slot),
    /// Replace the two topmost values by the operator's result.
    Binary(Binary),
    /// Fail if the topmost value is a text: it is to be a condition.
    NoText,
    /// Replace the topmost value by its negation.
    Not,
    /// Replace the topmost value by whether it is this very NULL or boolean.
    Is(Value),
    /// The left operand of AND is topmost: if it decides, jump, else drop it.
    AndLeft(u32),
    /// The left operand of OR is topmost: if it decides, jump, else drop it.
    OrLeft(u32),
    /// The right operand of AND or OR is topmost and decides.
    LogicRight,
    /// Drop the topmost value and jump unless it is true.
    Unless(u32),
    Jump(u32),
    /// Replace the topmost values by the function's result.
    Call(Function, u8),
    /// Fail: a call has more than [`MAX_FUNCTION_ARGS`] arguments, the first of which have been
    /// evaluated.
    TooManyArguments,
}

impl Step {
    /// By how much the stack grows when the step is passed (not jumped from) in program order.
    fn growth(self) -> isize {
        match self {
            Step::Constant(_)
            | Step::Variable(_)
            | Step::Literal(_)
            | Step::ValueOrText(_)
            | Step::TextOrValue(_) => 1,
            Step::Not | Step::NoText | Step::Is(_) | Step::LogicRight => 0,
            // A jump leaves behind the value of a CASE's branch; the next branch starts without it.
            Step::Binary(_)
            | Step::AndLeft(_)
            | Step::OrLeft(_)
            | Step::Unless(_)
            | Step::Jump(_) => -1,
            Step::Call(_, arguments) => 1 - arguments as isize,
            Step::TooManyArguments => 1 - MAX_FUNCTION_ARGS as isize,
        }
    }
}

/// How many values the steps need room for.
pub(crate) fn depth(steps: &[Step]) -> usize {
    let mut depth = 0_isize;
    let mut deepest = 0;
    for step in steps {
        depth += step.growth();
        deepest = deepest.max(depth);
    }
    deepest as usize
}

/// The steps with constants for variables whose value is known; numbers that only constants lead to are
/// constants, too. Steps with jumps keep their places.
pub(super) fn settle(mut steps: Vec<Step>, known: &dyn Fn(Slot) -> Option<Value>) -> Vec<Step> {
    let mut has_jumps = false;
    for step in &mut steps {
        match *step {
            Step::Variable(slot) | Step::ValueOrText(slot) => {
                let number = known(slot).filter(|value| is_number(*value));
                *step = number.map_or(*step, Step::Constant);
            }
            Step::AndLeft(_) | Step::OrLeft(_) | Step::Unless(_) | Step::Jump(_) => {
                has_jumps = true;
            }
            _ => {}
        }
    }
    if has_jumps {
        return steps;
    }
    let mut settled = Vec::with_capacity(steps.len());
    for step in steps {
        let made = match (step, &settled[..]) {
            (Step::Binary(operator), &[.., Step::Constant(left), Step::Constant(right)]) => {
                let result = binary(operator, left, right);
                Some((2, result.ok().filter(|_| operator != Binary::Concat)))
            }
            (Step::Call(Function::Int, 1), &[.., Step::Constant(value)]) => {
                Some((1, value.to_int().ok().map(Value::Int)))
            }
            _ => None,
        };
        match made {
            Some((operands, Some(result))) if is_number(result) => {
                settled.truncate(settled.len() - operands);
                settled.push(Step::Constant(result));
            }
            // What goes wrong does so when it is its turn.
            _ => settled.push(step),
        }
    }
    settled
}

fn is_number(value: Value) -> bool {
    matches!(value, Value::Int(_) | Value::Double(_))
}

struct Stack<'a> {
    values: &'a mut [Value],
    used: usize,
}

impl Stack<'_> {
    #[inline]
    fn push(&mut self, value: Value) {
        self.values[self.used] = value;
        self.used += 1;
    }

    #[inline]
    fn pop(&mut self) -> Value {
        self.used -= 1;
        self.values[self.used]
    }

    #[inline]
    fn top(&mut self) -> &mut Value {
        &mut self.values[self.used - 1]
    }
}

/// Runs steps on a stack that has room for [`depth`] values.
pub(super) fn run(
    steps: &[Step],
    stack: &mut [Value],
    world: &mut World<'_>,
) -> Result<Value, EvalError> {
    let mut stack = Stack {
        values: stack,
        used: 0,
    };
    let mut at = 0;
    while let Some(&step) = steps.get(at) {
        at += 1;
        match step {
            Step::Constant(value) => stack.push(value),
            Step::Variable(slot) => stack.push(world.vars.value(slot)?),
            Step::Literal(number) => {
                let literal = world.literals[number as usize].as_bytes();
                let text = world.vars.make_text(|out| out.extend_from_slice(literal))?;
                stack.push(Value::Text(text));
            }
            Step::ValueOrText(slot) => stack.push(world.vars.value_or_text(slot)?),
            Step::TextOrValue(slot) => stack.push(world.vars.text_or_value(slot)?),
            Step::Binary(operator) => {
                let right = stack.pop();
                let left = stack.top();
                if let (Value::Int(a), Value::Int(b)) = (*left, right)
                    && let Some(result) = of_integers(operator, a, b)
                {
                    *left = result;
                    continue;
                }
                let is_text = |value: Value| matches!(value, Value::Text(_));
                *left = if operator == Binary::Concat || is_text(*left) || is_text(right) {
                    text::binary(operator, *left, right, world.vars)?
                } else {
                    binary(operator, *left, right)?
                };
            }
            Step::NoText => no_text(*stack.top())?,
            Step::Not => {
                let top = stack.top();
                if *top != Value::Null {
                    *top = Value::Bool(!top.to_bool()?);
                }
            }
            Step::Is(what) => {
                let top = stack.top();
                *top = Value::Bool(*top == what);
            }
            Step::AndLeft(jump) | Step::OrLeft(jump) => {
                let decides = matches!(step, Step::OrLeft(_));
                let left = *stack.top();
                if left == Value::Null || left.to_bool()? == decides {
                    at += jump as usize;
                } else {
                    stack.pop();
                }
            }
            Step::LogicRight => {
                let right = *stack.top();
                if right != Value::Null {
                    right.to_bool()?;
                }
            }
            Step::Unless(jump) => {
                let condition = stack.pop();
                no_text(condition)?;
                if !condition.is_true() {
                    at += jump as usize;
                }
            }
            Step::Jump(jump) => at += jump as usize,
            Step::Call(function, count) => {
                let first = stack.used - usize::from(count);
                let arguments = &stack.values[first..stack.used];
                let result = match (function, arguments) {
                    // What most scripts draw.
                    (Function::Random, [Value::Int(_), Value::Int(_)]) => {
                        random(function, arguments, world.prng)?
                    }
                    _ => call(function, arguments, world)?,
                };
                stack.used = first;
                stack.push(result);
            }
            Step::TooManyArguments => {
                return Err(EvalError::TooManyArguments(MAX_FUNCTION_ARGS));
            }
        }
    }
    Ok(stack.pop())
}

/// The frequent operators between integers, where nothing can go wrong.
#[inline]
fn of_integers(operator: Binary, left: i64, right: i64) -> Option<Value> {
    Some(match operator {
        Binary::Add => Value::Int(left.checked_add(right)?),
        Binary::Subtract => Value::Int(left.checked_sub(right)?),
        Binary::Multiply => Value::Int(left.checked_mul(right)?),
        Binary::Equal => Value::Bool(left == right),
        Binary::NotEqual => Value::Bool(left != right),
        Binary::Less => Value::Bool(left < right),
        Binary::LessEqual => Value::Bool(left <= right),
        _ => return None,
    })
}

/// Refuses a text as a condition.
#[inline]
fn no_text(value: Value) -> Result<(), EvalError> {
    match value {
        Value::Text(_) => Err(value.cannot_become("boolean")),
        _ => Ok(()),
    }
}

/// An operator between values neither of which is a text.
#[inline]
fn binary(operator: Binary, left: Value, right: Value) -> Result<Value, EvalError> {
    use Binary::*;
    if left == Value::Null || right == Value::Null {
        return Ok(Value::Null);
    }
    let has_double = matches!(left, Value::Double(_)) || matches!(right, Value::Double(_));
    let for_integers = matches!(
        operator,
        Modulo | BitAnd | BitOr | BitXor | ShiftLeft | ShiftRight
    );
    if has_double && !for_integers {
        let (left, right) = (left.to_double()?, right.to_double()?);
        return Ok(match operator {
            Add => Value::Double(left + right),
            Subtract => Value::Double(left - right),
            Multiply => Value::Double(left * right),
            Divide => Value::Double(left / right),
            Equal => Value::Bool(left == right),
            NotEqual => Value::Bool(left != right),
            Less => Value::Bool(left < right),
            // What is left of the operators that get here.
            _ => Value::Bool(left <= right),
        });
    }
    let (left, right) = (left.to_int()?, right.to_int()?);
    let checked =
        |result: Option<i64>, name| result.map(Value::Int).ok_or(EvalError::Overflow(name));
    Ok(match operator {
        Add => return checked(left.checked_add(right), "add"),
        Subtract => return checked(left.checked_sub(right), "sub"),
        Multiply => return checked(left.checked_mul(right), "mul"),
        Divide | Modulo if right == 0 => return Err(EvalError::DivisionByZero),
        Divide => return checked(left.checked_div(right), "div"),
        // The remainder of the least integer by -1 is 0, whatever the processor thinks.
        Modulo => Value::Int(left.wrapping_rem(right)),
        Equal => Value::Bool(left == right),
        NotEqual => Value::Bool(left != right),
        Less => Value::Bool(left < right),
        LessEqual => Value::Bool(left <= right),
        BitAnd => Value::Int(left & right),
        BitOr => Value::Int(left | right),
        BitXor => Value::Int(left ^ right),
        // The shift count counts modulo 64, as processors do it.
        ShiftLeft => Value::Int(left.wrapping_shl(right as u32)),
        ShiftRight => Value::Int(left.wrapping_shr(right as u32)),
        // That is a matter of texts.
        Concat => Value::Null,
    })
}

fn call(
    function: Function,
    arguments: &[Value],
    world: &mut World<'_>,
) -> Result<Value, EvalError> {
    if function == Function::Debug {
        (world.debug)(DebugOutput::new(arguments[0], world.vars));
        return Ok(arguments[0]);
    }
    if arguments.iter().any(|value| matches!(value, Value::Null)) {
        return Ok(Value::Null);
    }
    let int = |index: usize| arguments[index].to_int();
    let double = |index: usize| arguments[index].to_double();
    Ok(match function {
        Function::Debug => arguments[0],
        Function::Abs => match arguments[0] {
            Value::Int(int) => Value::Int(int.wrapping_abs()),
            // pgbench takes a boolean's bits for a double's.
            Value::Bool(truth) => Value::Double(f64::from_bits(u64::from(truth))),
            other => Value::Double(other.to_double()?.abs()),
        },
        Function::Int => Value::Int(text::number(arguments[0], world.vars)?.to_int()?),
        Function::Double => Value::Double(text::number(arguments[0], world.vars)?.to_double()?),
        Function::Sqrt => Value::Double(double(0)?.sqrt()),
        Function::Ln => Value::Double(double(0)?.ln()),
        Function::Exp => Value::Double(double(0)?.exp()),
        Function::Pi => Value::Double(std::f64::consts::PI),
        Function::Power => Value::Double(double(0)?.powf(double(1)?)),
        Function::Mod => return binary(Binary::Modulo, arguments[0], arguments[1]),
        Function::Least | Function::Greatest => return extreme(function, arguments),
        Function::HashFnv1a => Value::Int(fnv1a(int(0)?, int(1)?)),
        Function::HashMurmur2 => Value::Int(murmur2(int(0)?, int(1)?)),
        Function::Permute => {
            let (value, size, seed) = (int(0)?, int(1)?, int(2)?);
            if size <= 0 {
                return Err(EvalError::PermuteSize);
            }
            Value::Int(permute(value, size, seed))
        }
        Function::Random
        | Function::RandomExponential
        | Function::RandomGaussian
        | Function::RandomZipfian => return random(function, arguments, world.prng),
        Function::Text(function) => return text::call(function, arguments, world.vars),
        Function::Draw(function) => return draw::call(function, arguments, world),
    })
}

fn extreme(function: Function, arguments: &[Value]) -> Result<Value, EvalError> {
    let least = function == Function::Least;
    let has_double = arguments.iter().any(|v| matches!(v, Value::Double(_)));
    if has_double {
        let mut extreme = arguments[0].to_double()?;
        for argument in &arguments[1..] {
            let next = argument.to_double()?;
            // Spelled out because of NaN: the later one wins any comparison that is false.
            let keep = if least {
                extreme < next
            } else {
                extreme > next
            };
            extreme = if keep { extreme } else { next };
        }
        return Ok(Value::Double(extreme));
    }
    let mut extreme = arguments[0].to_int()?;
    for argument in &arguments[1..] {
        let next = argument.to_int()?;
        extreme = if least {
            extreme.min(next)
        } else {
            extreme.max(next)
        };
    }
    Ok(Value::Int(extreme))
}

fn random(function: Function, arguments: &[Value], prng: &mut Prng) -> Result<Value, EvalError> {
    let (low, high) = range(arguments[0], arguments[1])?;
    if function == Function::Random {
        return Ok(Value::Int(prng.range(low, high)));
    }
    let parameter = arguments[2].to_double()?;
    Ok(Value::Int(match function {
        Function::RandomGaussian => {
            if parameter < MIN_GAUSSIAN_PARAM {
                return Err(EvalError::GaussianParameter(parameter));
            }
            prng.gaussian(low, high, parameter)
        }
        Function::RandomZipfian => {
            // A NaN, which pgbench lets pass, would be drawn for ever.
            if !(MIN_ZIPFIAN_PARAM..=MAX_ZIPFIAN_PARAM).contains(&parameter) {
                return Err(EvalError::ZipfianParameter(parameter));
            }
            prng.zipfian(low, high, parameter)
        }
        _ => {
            if parameter <= 0.0 {
                return Err(EvalError::ExponentialParameter(parameter));
            }
            prng.exponential(low, high, parameter)
        }
    }))
}
