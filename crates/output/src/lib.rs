//! Text to the user, for the commands that print. Libraries print nothing: they tell observers.
//!
//! The standard macros panic when the output is closed (`pgdyno … | head -1`);
//! a measurement must not end because of that.

mod json;
mod keep;
mod loading;
mod reading;
mod rescue;
mod run;
mod store_args;
mod verbosity;

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};

pub use json::{JsonArg, Lines, Sink, sorted};
pub use keep::{Keep, StoredRun};
pub use loading::Loading;
pub use rescue::rescued;
pub use run::{Ran, Said, print_document};
pub use store_args::{KeepArgs, StoreArgs};
pub use verbosity::Verbosity;

use pgdyno_platform::terminal;
use pgdyno_report::wrap::{fitted, wrapped};
use pgdyno_script::octets;
use pgdyno_spec::{Failure, text};

/// Where standard output is no terminal.
const WIDTH_DEFAULT: usize = 110;

/// How wide what is printed may be, in columns.
pub fn width() -> usize {
    terminal::width().map_or(WIDTH_DEFAULT, usize::from)
}

/// How wide a table may be: as the terminal is, and as it likes where it is for programs and files.
pub fn table_width() -> usize {
    if terminal::stdout_is_terminal() {
        width()
    } else {
        usize::MAX
    }
}

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

/// What [`remark!`] does. What a server or a file put into the line is shown, not obeyed by the
/// terminal, and cut where it is too long to be read.
pub fn write_remark(line: Arguments<'_>) {
    let line = line.to_string();
    let line = text::message(&line);
    let line = if terminal::stderr_is_terminal() {
        fitting(&line)
    } else {
        line.into_owned()
    };
    // In one piece: lines of several threads stay apart.
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// The same text, with pgdyno's own sentences in lines that a terminal of the usual width shows whole. Lines of
/// scripts and servers stay as they are: what points into them must still stand below its place.
pub fn fitting(text: &str) -> String {
    const OWN: [&str; 3] = ["pgdyno: ", "error: ", "  tip: "];
    let lines = text.lines().map(|line| {
        let own = OWN.iter().find(|own| line.starts_with(**own));
        match own {
            Some(own) => wrapped(own, &line[own.len()..], 2).trim_end().to_owned(),
            None => line.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Writes to standard output, to the end. A reader that has left (`| head`) has what it wanted. What
/// a server put into the text is shown, not obeyed by the terminal.
///
/// # Errors
/// A full disk and the like: the result would be lost without a word.
pub fn write_answer(answer: Arguments<'_>) -> Result<(), Failure> {
    write_out(text::shown(&answer.to_string()).as_bytes())
}

/// The same for a text that people read: on a terminal its lines are no longer than that is wide.
///
/// # Errors
/// As [`write_answer`].
pub fn write_report(report: Arguments<'_>) -> Result<(), Failure> {
    if terminal::stdout_is_terminal() {
        write_answer(format_args!("{}", fitted(&report.to_string(), width())))
    } else {
        write_answer(report)
    }
}

/// As [`write_answer`], for a command that promises another program's bytes: as they are where no
/// terminal would obey them, octets of a script that are not UTF-8 among them.
///
/// # Errors
/// A full disk and the like.
pub fn write_promised(answer: Arguments<'_>) -> Result<(), Failure> {
    let answer = answer.to_string();
    if terminal::stdout_is_terminal() {
        write_out(&octets(&text::shown(&answer)))
    } else {
        write_out(&octets(&answer))
    }
}

fn write_out(octets: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(octets).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(Failure::new(format!(
            "could not write to standard output: {e}"
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::fitting;

    #[test]
    fn own_sentences_are_wrapped_and_lines_of_scripts_are_not() {
        let script = format!("\\set a {}\n      ^", "1 + ".repeat(30));
        let text = format!(
            "pgdyno: error: a.sql:1: {}\n{script}",
            "word ".repeat(20).trim_end()
        );
        let fitting = fitting(&text);
        assert!(
            fitting.starts_with("pgdyno: error: a.sql:1: word"),
            "{fitting}"
        );
        assert!(fitting.contains("\n  word"), "{fitting}");
        assert!(fitting.ends_with(&script), "{fitting}");
        assert!(
            fitting.lines().take(2).all(|line| line.len() <= 80),
            "{fitting}"
        );
    }
}
