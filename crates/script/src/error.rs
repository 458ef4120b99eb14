//! What can be wrong with a script, in pgbench's words: [`ScriptError`] when it is read,
//! [`EvalError`] when it runs.

use std::fmt;

use crate::number::Fixed;

/// Why a script cannot be used. Its text is what pgbench prints after `pgbench: error: `, further
/// lines included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptError {
    /// The script as the user named it.
    pub script: Box<str>,
    /// The line where the command begins that is at fault, from 1.
    pub line: u32,
    /// Where the error was found: bytes into `source_line`, from 1.
    pub column: Option<u32>,
    pub message: Box<str>,
    /// The text it is about.
    pub more: Option<Box<str>>,
    /// The meta command at fault, as the user wrote it, without its backslash.
    pub command: Option<Box<str>>,
    /// The meta command in full; several lines if it is continued.
    pub source_line: Option<Box<str>>,
    /// Which form the message has.
    pub kind: ScriptErrorKind,
}

/// The forms of a [`ScriptError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScriptErrorKind {
    Syntax,
    /// `\if`, `\elif`, `\else` and `\endif` do not fit together.
    Condition {
        /// The command at fault, from 1; one past the last when an `\endif` is missing.
        command_number: usize,
    },
    /// There is no command in it.
    Empty,
}

impl std::error::Error for ScriptError {}

impl fmt::Display for ScriptError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let script = &self.script;
        match self.kind {
            ScriptErrorKind::Empty => {
                return write!(out, "empty command list for script \"{script}\"");
            }
            ScriptErrorKind::Condition { command_number } => {
                return write!(
                    out,
                    "condition error in script \"{script}\" command {command_number}: {}",
                    self.message
                );
            }
            ScriptErrorKind::Syntax => {}
        }
        write!(out, "{script}:{}: {}", self.line, self.message)?;
        if let Some(more) = &self.more {
            write!(out, " ({more})")?;
        }
        if let Some(command) = &self.command {
            write!(out, " in command \"{command}\"")?;
        }
        if let Some(line) = &self.source_line {
            write!(out, "\n{line}")?;
            if let Some(column) = self.column {
                let width = column as usize;
                write!(out, "\n{:>width$} error found here", '^')?;
            }
        }
        Ok(())
    }
}

/// A statement mentions more variables than the extended protocol's form of it may have
/// parameters. Its text is what pgbench prints after `pgbench: error: `.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("statement has too many arguments (maximum is {maximum}): {statement}")]
pub struct TooManyArguments {
    /// How many there may be.
    pub maximum: usize,
    pub statement: String,
}

/// Why a command could not be evaluated. Its text is what pgbench prints after
/// `pgbench: error: `, before the line that says which client was aborted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    /// A variable without a value.
    #[error("undefined variable \"{0}\"")]
    Undefined(Box<str>),
    /// The variable holds the empty text. pgbench prints nothing about it: this error's text is
    /// empty, and only the line about the aborted client should be printed.
    #[error("")]
    EmptyVariable,
    /// The variable's text is neither NULL, boolean nor number.
    #[error("malformed variable \"{name}\" value: \"{text}\"")]
    Malformed { name: Box<str>, text: Box<str> },
    /// The variable's text is an integer that does not fit.
    #[error("value \"{0}\" is out of range for type bigint")]
    BigintRange(Box<str>),
    /// The variable's text looks like an integer without digits.
    #[error("invalid input syntax for type bigint: \"{0}\"")]
    BigintSyntax(Box<str>),
    /// A value of one type where another is needed.
    #[error("cannot coerce {from} to {to}")]
    Coerce {
        from: &'static str,
        to: &'static str,
    },
    /// A double that no integer is near to.
    #[error("double to int overflow for {}", Fixed(*.0))]
    DoubleToInt(f64),
    /// `least` or `greatest` with more than 16 arguments.
    #[error("too many function arguments, maximum is {0}")]
    TooManyArguments(usize),
    /// Integer arithmetic out of range; the operation is `add`, `sub`, `mul` or `div`.
    #[error("bigint {0} out of range")]
    Overflow(&'static str),
    /// An integer divided by zero.
    #[error("division by zero")]
    DivisionByZero,
    /// A random function whose lower bound exceeds the upper.
    #[error("empty range given to random")]
    EmptyRange,
    /// A random function whose bounds are further apart than an integer can say.
    #[error("random range is too large")]
    RangeTooLarge,
    #[error(
        "gaussian parameter must be at least {} (not {})",
        Fixed(crate::prng::MIN_GAUSSIAN_PARAM), Fixed(*.0)
    )]
    GaussianParameter(f64),
    #[error(
        "zipfian parameter must be in range [{:.3}, {:.0}] (not {})",
        crate::prng::MIN_ZIPFIAN_PARAM, crate::prng::MAX_ZIPFIAN_PARAM, Fixed(*.0)
    )]
    ZipfianParameter(f64),
    #[error("exponential parameter must be greater than zero (not {})", Fixed(*.0))]
    ExponentialParameter(f64),
    /// The size given to `permute`.
    #[error("permute size parameter must be greater than zero")]
    PermuteSize,
    /// The theta of a draw by Zipf's law.
    #[error("theta must be greater than 0 and at most {:.0} (not {})", crate::prng::MAX_ZIPFIAN_PARAM, Fixed(*.0))]
    Theta(f64),
    /// A share of the data or of the operations.
    #[error("{name} must be between 0 and 1 (not {})", Fixed(*.value))]
    Fraction { name: &'static str, value: f64 },
    /// A part of the data, or of the draws.
    #[error("{name} must be between 0 and 100 percent (not {})", Fixed(*.value))]
    Percentage { name: &'static str, value: f64 },
    /// How many draws a number is the mean of.
    #[error("a number is the mean of 1 to {maximum} draws (not {count})")]
    Summands { maximum: i64, count: i64 },
    #[error("percentile must be greater than 0 and less than 100 (not {})", Fixed(*.0))]
    Percentile(f64),
    /// None of many draws gave a key that can be read.
    #[error("{tries} draws gave no key up to {readable}{}", if_empty(*.readable))]
    NothingReadable {
        tries: u32,
        /// The highest key that can be read.
        readable: i64,
    },
    /// A counter whose numbers are used up.
    #[error("all {count} numbers of counter \"{name}\" are drawn")]
    Exhausted { name: Box<str>, count: i64 },
    /// A counter that was not there when the run began.
    #[error("the run has no such counter")]
    NoCounter,
    /// A name that is not among those a function knows.
    #[error("{function} does not know \"{name}\", but {known}")]
    UnknownName {
        function: &'static str,
        name: Box<str>,
        known: &'static str,
    },
    /// A number below 0 where there can be none.
    #[error("{what} must not be negative (not {value})")]
    Negative { what: &'static str, value: i64 },
    /// A number that is too large for a key format or for octets.
    #[error("{number} is too large for {what}, whose limit is 2^56")]
    TooLargeFor { number: i64, what: &'static str },
    /// A text that grew too long.
    #[error("a text may have at most {0} bytes")]
    TextTooLong(usize),
    /// A text that is no number.
    #[error("\"{0}\" is not a number")]
    NotANumber(Box<str>),
    /// A text in a place of a statement that it cannot be pasted into.
    #[error(
        "variable \"{0}\" holds a text, which cannot be inside quotes or a comment: write :{0} \
         without quotes, pgdyno quotes it"
    )]
    QuotedText(Box<str>),
    /// A loop that is too long.
    #[error("a loop may have at most {maximum} steps (not from {from} to {to})")]
    LoopTooLong {
        /// How many it may have.
        maximum: u64,
        from: i64,
        to: i64,
    },
    /// A value was assigned to a variable that cannot be.
    #[error("{context}: invalid variable name: \"{name}\"")]
    InvalidName {
        /// The command or option that assigns.
        context: Box<str>,
        name: Box<str>,
    },
    /// An argument of `\sleep`, `\shell` or `\setshell` without a value.
    #[error("{command}: undefined variable \"{name}\"")]
    UndefinedArgument {
        /// `sleep`, or the first word of the shell's command.
        command: Box<str>,
        /// The variable, for the shell with its colon.
        name: Box<str>,
    },
    /// `\sleep` with a variable that holds no number.
    #[error("{command}: invalid sleep time \"{text}\" for variable \"{name}\"")]
    SleepTime {
        /// `sleep` as the user wrote it.
        command: Box<str>,
        text: Box<str>,
        name: Box<str>,
    },
    /// The shell's command line exceeds pgbench's limit.
    #[error("{0}: shell command is too long")]
    ShellTooLong(Box<str>),
    /// What `\setshell` ran did not print an integer.
    #[error("{command}: shell command must return an integer (not \"{output}\")")]
    ShellOutput {
        /// The first word of the shell's command.
        command: Box<str>,
        /// What was read of its output.
        output: Box<str>,
    },
}

/// Why no key can be read where the highest is below the first.
fn if_empty(readable: i64) -> &'static str {
    if readable < 0 {
        ": the table has none yet (was it loaded?)"
    } else {
        ""
    }
}
