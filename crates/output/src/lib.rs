//! Text to the user, for the commands that print. Libraries print nothing: they tell observers.
//!
//! The standard macros panic when nobody reads any more (`pgdyno … | head -1`);
//! a measurement must not end because of that.

mod json;
mod keep;
mod loading;
mod rescue;

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};

pub use json::{JsonArg, Lines, Sink, sorted};
pub use keep::Keep;
pub use loading::Loading;
pub use rescue::rescued;

use pgdyno_model::Failure;

/// A line on standard error: progress, warnings, errors. Whether it is read does not matter.
#[macro_export]
macro_rules! remark {
    ($($arg:tt)*) => { $crate::write_remark(format_args!($($arg)*)) };
}

/// A line on standard output: a result. It fails as [`write_answer`](crate::write_answer)
/// does.
#[macro_export]
macro_rules! answer {
    ($($arg:tt)*) => { $crate::write_answer(format_args!("{}\n", format_args!($($arg)*))) };
}

/// What [`remark!`] does.
pub fn write_remark(line: Arguments<'_>) {
    // In one piece: lines of several threads stay apart.
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// Writes to standard output, to the end. A reader that has left (`| head`) has what it wanted.
///
/// # Errors
/// A full disk and the like: the result would be lost without a word.
pub fn write_answer(text: Arguments<'_>) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_fmt(text).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(Failure::new(format!(
            "could not write to standard output: {e}"
        ))),
        _ => Ok(()),
    }
}
