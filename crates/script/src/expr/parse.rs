//! The grammar of expressions: from words to steps, by precedence climbing.
//!
//! Precedence, lowest first: OR; AND; NOT; IS, ISNULL, NOTNULL; comparisons; `| # & << >>` and `~`;
//! `+ -`; `* / %`; sign. All are left-associative but the comparisons, which do not associate.

use super::code::{Binary, MAX_FUNCTION_ARGS, Step};
use super::function;
use super::token::{Token, Word};
use crate::{Names, Value};

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
    steps: Vec<Step>,
    nesting: usize,
    names: &'w mut Names,
}

/// Parses all of `words`, the last of which is [`Token::EndOfLine`].
pub(crate) fn parse<'a>(
    words: &[Word<'a>],
    names: &mut Names,
) -> Result<Vec<Step>, GrammarError<'a>> {
    let mut parser = Parser {
        words,
        at: 0,
        steps: Vec::new(),
        nesting: 0,
        names,
    };
    parser.expression(Level::Or)?;
    parser.expect(Token::EndOfLine)?;
    Ok(parser.steps)
}

fn binary(token: Token<'_>) -> Option<(Level, Binary, bool)> {
    use Binary::*;
    let (level, operator) = match token {
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
        self.steps.push(Step::Constant(value));
    }

    /// Reserves a jump, to be aimed by [`Parser::land`].
    fn jump(&mut self, step: fn(u32) -> Step) -> usize {
        self.steps.push(step(0));
        self.steps.len() - 1
    }

    /// Aims a jump behind the last step.
    fn land(&mut self, jump: usize) {
        let distance = (self.steps.len() - jump - 1) as u32;
        match &mut self.steps[jump] {
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
        let start = self.steps.len();
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
                let left = self.steps.len() - start;
                self.expression(level.next())?;
                if swapped {
                    self.steps[start..].rotate_left(left);
                }
                self.steps.push(Step::Binary(operator));
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
        self.steps.push(Step::LogicRight);
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
        self.steps.push(Step::Is(what));
        if negated {
            self.steps.push(Step::Not);
        }
        Ok(())
    }

    /// What stands left of an operator: a constant, variable, call, CASE, something in parentheses
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
                self.steps.push(Step::Variable(slot));
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
                self.steps.push(Step::Binary(Binary::Subtract));
                Ok(())
            }
            Token::Tilde => {
                self.constant(Value::Int(-1));
                self.expression(Level::Bits.next())?;
                self.steps.push(Step::Binary(Binary::BitXor));
                Ok(())
            }
            Token::Not => {
                self.expression(Level::Not)?;
                self.steps.push(Step::Not);
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
        let Some(entry) = function::find(name) else {
            return self.complain("unexpected function name", Some(name));
        };
        self.at += 1;
        self.expect(Token::Open)?;
        let mut given = 0;
        // Where the argument after the last allowed one begins.
        let mut cut = None;
        // The grammar allows nothing before the first comma: f(,1) is f(1).
        if self.token() != Token::Close {
            if self.token() != Token::Comma {
                self.expression(Level::Or)?;
                given = 1;
            }
            while self.accept(Token::Comma) {
                if given == MAX_FUNCTION_ARGS {
                    cut = Some(self.steps.len());
                }
                self.expression(Level::Or)?;
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
            self.steps.truncate(cut);
            self.steps.push(Step::TooManyArguments);
            return Ok(());
        }
        if entry.wants_seed(given) {
            let slot = self.names.intern("default_seed");
            self.steps.push(Step::Variable(slot));
            given += 1;
        }
        self.steps.push(Step::Call(entry.function, given as u8));
        Ok(())
    }
}
