//! The grammar of expressions: from words to steps, by precedence climbing.
//!
//! Precedence, lowest first: OR; AND; NOT; IS, ISNULL, NOTNULL; comparisons; `| # & << >>` and `~`;
//! `+ -`; `* / %`; sign. All are left-associative but the comparisons, which do not associate.
//! pgdyno's `||` binds like `|`, as in PostgreSQL.

use std::ops::Range;

use super::code::{MAX_FUNCTION_ARGS, Step};
use super::function::{self, Entry};
use super::operator::Binary;
use super::token::{Token, Word};
use crate::{Language, Names, Value};

/// What is said of a function that there is not.
pub(crate) const UNKNOWN_FUNCTION: &str = "unexpected function name";

/// How deep parentheses, calls and operators may nest.
const MAX_NESTING: usize = 400;

/// What is wrong, and at which word.
#[derive(Debug, PartialEq)]
pub(crate) struct GrammarError<'a> {
    pub message: &'static str,
    pub more: Option<&'a str>,
    /// The offset behind the word.
    pub end: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Or = 1,
    And,
    Not,
    Is,
    Comparison,
    Bits,
    Sum,
    Product,
    Sign,
    /// Above all: only what needs no operator.
    None,
}

impl Level {
    fn next(self) -> Level {
        match self {
            Level::Or => Level::And,
            Level::And => Level::Not,
            Level::Not => Level::Is,
            Level::Is => Level::Comparison,
            Level::Comparison => Level::Bits,
            Level::Bits => Level::Sum,
            Level::Sum => Level::Product,
            Level::Product => Level::Sign,
            Level::Sign | Level::None => Level::None,
        }
    }
}

type Parsed<'a, T = ()> = Result<T, GrammarError<'a>>;

struct Parser<'w, 'a> {
    words: &'w [Word<'a>],
    at: usize,
    parsed: Steps,
    nesting: usize,
    names: &'w mut Names,
    language: Language,
}

#[derive(Debug, Default)]
pub(crate) struct Steps {
    pub steps: Vec<Step>,
    /// The constant texts in it.
    pub literals: Vec<Box<str>>,
}

/// Parses all of `words`, the last of which is [`Token::EndOfLine`], as so many expressions one
/// after the other.
pub(crate) fn parse<'a, const N: usize>(
    words: &[Word<'a>],
    names: &mut Names,
    language: Language,
) -> Result<[Steps; N], GrammarError<'a>> {
    let mut parser = Parser {
        words,
        at: 0,
        parsed: Steps::default(),
        nesting: 0,
        names,
        language,
    };
    let mut all = [const {
        Steps {
            steps: Vec::new(),
            literals: Vec::new(),
        }
    }; N];
    for one in &mut all {
        parser.expression(Level::Or)?;
        *one = std::mem::take(&mut parser.parsed);
    }
    parser.expect(Token::EndOfLine)?;
    Ok(all)
}

fn binary(token: Token<'_>) -> Option<(Level, Binary, bool)> {
    use Binary::*;
    let (level, operator) = match token {
        Token::Concat => (Level::Bits, Concat),
        Token::Pipe => (Level::Bits, BitOr),
        Token::Ampersand => (Level::Bits, BitAnd),
        Token::Hash => (Level::Bits, BitXor),
        Token::ShiftLeft => (Level::Bits, ShiftLeft),
        Token::ShiftRight => (Level::Bits, ShiftRight),
        Token::Plus => (Level::Sum, Add),
        Token::Minus => (Level::Sum, Subtract),
        Token::Star => (Level::Product, Multiply),
        Token::Slash => (Level::Product, Divide),
        Token::Percent => (Level::Product, Modulo),
        Token::Equal => (Level::Comparison, Equal),
        Token::NotEqual => (Level::Comparison, NotEqual),
        Token::Less => (Level::Comparison, Less),
        Token::LessEqual => (Level::Comparison, LessEqual),
        // "a > b" is evaluated as "b < a", b first.
        Token::Greater => return Some((Level::Comparison, Less, true)),
        Token::GreaterEqual => return Some((Level::Comparison, LessEqual, true)),
        _ => return None,
    };
    Some((level, operator, false))
}

impl<'a> Parser<'_, 'a> {
    fn word(&self) -> Word<'a> {
        // The last word is the end of the line, which is never passed.
        self.words[self.at.min(self.words.len() - 1)]
    }

    fn token(&self) -> Token<'a> {
        self.word().token
    }

    fn error<T>(&self) -> Parsed<'a, T> {
        self.complain("syntax error", None)
    }

    fn complain<T>(&self, message: &'static str, more: Option<&'a str>) -> Parsed<'a, T> {
        Err(GrammarError {
            message,
            more,
            end: self.word().end,
        })
    }

    fn accept(&mut self, token: Token<'_>) -> bool {
        let found = self.token() == token;
        self.at += usize::from(found && token != Token::EndOfLine);
        found
    }

    fn expect(&mut self, token: Token<'_>) -> Parsed<'a> {
        if self.accept(token) {
            Ok(())
        } else {
            self.error()
        }
    }

    fn constant(&mut self, value: Value) {
        self.parsed.steps.push(Step::Constant(value));
    }

    /// Reserves a jump, to be aimed by [`Parser::land`].
    fn jump(&mut self, step: fn(u32) -> Step) -> usize {
        self.parsed.steps.push(step(0));
        self.parsed.steps.len() - 1
    }

    /// Aims a jump behind the last step.
    fn land(&mut self, jump: usize) {
        let distance = (self.parsed.steps.len() - jump - 1) as u32;
        match &mut self.parsed.steps[jump] {
            Step::AndLeft(to) | Step::OrLeft(to) | Step::Unless(to) | Step::Jump(to) => {
                *to = distance;
            }
            _ => {}
        }
    }

    /// An expression of operators of `lowest` level and above.
    fn expression(&mut self, lowest: Level) -> Parsed<'a> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return self.complain("memory exhausted", None);
        }
        let start = self.parsed.steps.len();
        self.operand()?;
        let mut compared = false;
        loop {
            let token = self.token();
            if let Some((level, operator, swapped)) = binary(token) {
                if level < lowest {
                    break;
                }
                if level == Level::Comparison && compared {
                    return self.error();
                }
                self.at += 1;
                let left = self.parsed.steps.len() - start;
                self.expression(level.next())?;
                let steps = &self.parsed.steps[start..];
                let is_literal = |side: &[Step]| matches!(side, [Step::Literal(_)]);
                let has_literal = is_literal(&steps[..left]) || is_literal(&steps[left..]);
                if operator == Binary::Concat || (level == Level::Comparison && has_literal) {
                    self.take_as_text(start..start + left);
                    self.take_as_text(start + left..self.parsed.steps.len());
                }
                if swapped {
                    self.parsed.steps[start..].rotate_left(left);
                }
                self.parsed.steps.push(Step::Binary(operator));
                compared = level == Level::Comparison;
                continue;
            }
            compared = false;
            match token {
                Token::Or if lowest <= Level::Or => self.logic(Step::OrLeft, Level::And)?,
                Token::And if lowest <= Level::And => self.logic(Step::AndLeft, Level::Not)?,
                Token::Is | Token::IsNull | Token::NotNull if lowest <= Level::Is => self.is()?,
                _ => break,
            }
        }
        self.nesting -= 1;
        Ok(())
    }

    fn logic(&mut self, left: fn(u32) -> Step, right: Level) -> Parsed<'a> {
        self.at += 1;
        let jump = self.jump(left);
        self.expression(right)?;
        self.parsed.steps.push(Step::LogicRight);
        self.land(jump);
        Ok(())
    }

    /// `IS [NOT] NULL|TRUE|FALSE`, `ISNULL` and `NOTNULL` behind their operand.
    fn is(&mut self) -> Parsed<'a> {
        let token = self.token();
        self.at += 1;
        let mut negated = token == Token::NotNull;
        let mut what = Value::Null;
        if token == Token::Is {
            negated = self.accept(Token::Not);
            what = match self.token() {
                Token::Null => Value::Null,
                Token::Boolean(bool) => Value::Bool(bool),
                _ => return self.error(),
            };
            self.at += 1;
        }
        self.parsed.steps.push(Step::Is(what));
        if negated {
            self.parsed.steps.push(Step::Not);
        }
        Ok(())
    }

    /// What is left of an operator: a constant, variable, call, CASE, something in parentheses
    /// or a prefix operator with what it takes.
    fn operand(&mut self) -> Parsed<'a> {
        let token = self.token();
        match token {
            Token::Null => self.constant(Value::Null),
            Token::Boolean(bool) => self.constant(Value::Bool(bool)),
            Token::Integer(int) => self.constant(Value::Int(int)),
            Token::Double(double) => self.constant(Value::Double(double)),
            Token::Variable(name) => {
                let slot = self.names.intern(name);
                self.parsed.steps.push(if self.language.is_pgdyno() {
                    Step::ValueOrText(slot)
                } else {
                    Step::Variable(slot)
                });
            }
            Token::Text(quoted) => {
                let number = self.parsed.literals.len() as u32;
                self.parsed.literals.push(unquoted(quoted));
                self.parsed.steps.push(Step::Literal(number));
            }
            Token::Function(name) => return self.call(name),
            Token::Open | Token::Plus | Token::Minus | Token::Tilde | Token::Not | Token::Case => {}
            _ => return self.error(),
        }
        self.at += 1;
        match token {
            Token::Open => {
                self.expression(Level::Or)?;
                self.expect(Token::Close)
            }
            Token::Plus => self.expression(Level::Sign),
            Token::Minus if self.accept(Token::MaxIntegerPlusOne) => {
                self.constant(Value::Int(i64::MIN));
                Ok(())
            }
            Token::Minus => {
                self.constant(Value::Int(0));
                self.expression(Level::Sign)?;
                self.parsed.steps.push(Step::Binary(Binary::Subtract));
                Ok(())
            }
            Token::Tilde => {
                self.constant(Value::Int(-1));
                self.expression(Level::Bits.next())?;
                self.parsed.steps.push(Step::Binary(Binary::BitXor));
                Ok(())
            }
            Token::Not => {
                self.expression(Level::Not)?;
                self.parsed.steps.push(Step::Not);
                Ok(())
            }
            Token::Case => self.case(),
            _ => Ok(()),
        }
    }

    fn case(&mut self) -> Parsed<'a> {
        let mut ends = Vec::new();
        self.expect(Token::When)?;
        loop {
            self.expression(Level::Or)?;
            self.expect(Token::Then)?;
            let unless = self.jump(Step::Unless);
            self.expression(Level::Or)?;
            ends.push(self.jump(Step::Jump));
            self.land(unless);
            if self.accept(Token::When) {
                continue;
            }
            if self.accept(Token::Else) {
                self.expression(Level::Or)?;
            } else {
                self.constant(Value::Null);
            }
            self.expect(Token::End)?;
            break;
        }
        for end in ends {
            self.land(end);
        }
        Ok(())
    }

    fn call(&mut self, name: &'a str) -> Parsed<'a> {
        // An unknown name is reported at once, before anyone asks what follows it.
        let Some(entry) = function::find(name, self.language) else {
            return self.complain(UNKNOWN_FUNCTION, Some(name));
        };
        self.at += 1;
        self.expect(Token::Open)?;
        if entry.names_counter {
            return self.counter_call(entry);
        }
        let mut given = 0;
        // Where the argument after the last allowed one begins.
        let mut cut = None;
        // The grammar allows nothing before the first comma: f(,1) is f(1).
        if self.token() != Token::Close {
            if self.token() != Token::Comma {
                self.argument(entry, 0)?;
                given = 1;
            }
            while self.accept(Token::Comma) {
                if given == MAX_FUNCTION_ARGS {
                    cut = Some(self.parsed.steps.len());
                }
                self.argument(entry, given)?;
                given += 1;
            }
        }
        if self.token() != Token::Close {
            return self.error();
        }
        if let Some(message) = entry.complaint(given) {
            return self.complain(message, Some(entry.name));
        }
        self.at += 1;
        if let Some(cut) = cut {
            // The arguments before are evaluated, then the call fails.
            self.parsed.steps.truncate(cut);
            self.parsed.steps.push(Step::TooManyArguments);
            return Ok(());
        }
        if entry.wants_seed(given) {
            let slot = self.names.intern("default_seed");
            self.parsed.steps.push(Step::Variable(slot));
            given += 1;
        }
        self.parsed
            .steps
            .push(Step::Call(entry.function, given as u8));
        Ok(())
    }

    fn argument(&mut self, entry: Entry, number: usize) -> Parsed<'a> {
        let from = self.parsed.steps.len();
        self.expression(Level::Or)?;
        if number < 8 && entry.texts >> number & 1 == 1 {
            self.take_as_text(from..self.parsed.steps.len());
        }
        Ok(())
    }

    /// Where a text is wanted a variable from outside is taken as it came: the steps are those of
    /// one operand.
    fn take_as_text(&mut self, steps: Range<usize>) {
        if let [step] = &mut self.parsed.steps[steps]
            && let Step::ValueOrText(slot) = *step
        {
            *step = Step::TextOrValue(slot);
        }
    }

    /// A call whose first argument is a counter's name, to be known before anything runs.
    fn counter_call(&mut self, entry: Entry) -> Parsed<'a> {
        let Token::Text(name) = self.token() else {
            return self.complain("expected the name of a counter in quotes", Some(entry.name));
        };
        self.at += 1;
        let counter = self.names.counter(&unquoted(name));
        self.constant(Value::Int(counter.0.into()));
        let mut given = 1;
        while self.accept(Token::Comma) {
            self.expression(Level::Or)?;
            given += 1;
        }
        if self.token() != Token::Close {
            return self.error();
        }
        if let Some(message) = entry.complaint(given) {
            return self.complain(message, Some(entry.name));
        }
        self.at += 1;
        self.parsed
            .steps
            .push(Step::Call(entry.function, given as u8));
        Ok(())
    }
}

/// What a text between quotes says.
fn unquoted(text: &str) -> Box<str> {
    text.replace("''", "'").into()
}
