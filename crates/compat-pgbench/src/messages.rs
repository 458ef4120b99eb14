//! Messages on standard error as PostgreSQL's own programs write them: `pgbench: error: …`, with
//! PG_COLOR and PG_COLORS. (Facts: PostgreSQL's `src/common/logging.c`.)

use std::borrow::Cow;
use std::fmt::Write;
use std::io::{self, Write as _};

use pgdyno_spec::{Failure, text};

/// What kind of line it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Something could not be done.
    Error,
    /// Something is not as it was asked for.
    Warning,
    Info,
    Debug,
    /// More about the line before.
    Detail,
    Hint,
}

/// One thing to be said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    Raw(String),
    /// With the program's name and the kind before it.
    Message(Kind, String),
}

/// Why the program ends here, with its exit code. Nothing of it has been said yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// What is to be said, in order.
    pub lines: Vec<Line>,
    pub code: u8,
}

impl Stop {
    /// An error, and exit code 1.
    pub fn fatal(text: impl Into<String>) -> Self {
        Self {
            lines: vec![Line::Message(Kind::Error, text.into())],
            code: 1,
        }
    }

    /// It is done: nothing more to say.
    pub fn done() -> Self {
        Self {
            lines: Vec::new(),
            code: 0,
        }
    }

    pub fn and(mut self, kind: Kind, text: impl Into<String>) -> Self {
        self.lines.push(Line::Message(kind, text.into()));
        self
    }

    /// Adds text as it is.
    pub fn raw(mut self, text: impl Into<String>) -> Self {
        self.lines.push(Line::Raw(text.into()));
        self
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        let stop = Self {
            // pgbench knows but one code for what goes wrong before a run.
            code: match failure.exit {
                pgdyno_spec::Exit::Interrupted(code) => code,
                _ => 1,
            },
            ..Self::fatal(failure.message)
        };
        let stop = failure
            .details
            .into_iter()
            .fold(stop, |stop, text| stop.and(Kind::Detail, text));
        failure
            .hints
            .into_iter()
            .fold(stop, |stop, text| stop.and(Kind::Hint, text))
    }
}

/// Escape sequences before each part of a line; empty without colours.
#[derive(Debug, Default, Clone)]
struct Colors {
    error: Option<String>,
    warning: Option<String>,
    note: Option<String>,
    locus: Option<String>,
}

impl Colors {
    /// `how` is PG_COLOR, `which` is PG_COLORS.
    fn new(how: Option<&str>, which: Option<&str>, is_terminal: bool) -> Self {
        let is_wanted = how == Some("always") || (how == Some("auto") && is_terminal);
        if !is_wanted {
            return Self::default();
        }
        let Some(which) = which else {
            let color = |code: &str| Some(code.to_owned());
            return Self {
                error: color("01;31"),
                warning: color("01;35"),
                note: color("01;36"),
                locus: color("01"),
            };
        };
        let mut colors = Self::default();
        for (name, code) in which.split(':').filter_map(|part| part.split_once('=')) {
            let part = match name {
                "error" => &mut colors.error,
                "warning" => &mut colors.warning,
                "note" => &mut colors.note,
                "locus" => &mut colors.locus,
                _ => continue,
            };
            *part = Some(code.to_owned());
        }
        colors
    }
}

/// Says things on standard error.
#[derive(Debug, Clone)]
pub struct Messages {
    program: String,
    colors: Colors,
    pub debug: bool,
}

impl Messages {
    /// For a program of this name, with the environment's colours.
    pub fn new(program: &str) -> Self {
        let var = |name| std::env::var(name).ok();
        let colors = Colors::new(
            var("PG_COLOR").as_deref(),
            var("PG_COLORS").as_deref(),
            pgdyno_platform::terminal::stderr_is_terminal(),
        );
        Self {
            program: program.to_owned(),
            colors,
            debug: false,
        }
    }

    pub fn program(&self) -> &str {
        &self.program
    }

    pub fn log(&self, kind: Kind, text: &str) {
        if kind == Kind::Debug && !self.debug {
            return;
        }
        write_all(&self.line(kind, &theirs(text)));
    }

    /// Says why the program ends.
    pub fn stop(&self, stop: &Stop) {
        for line in &stop.lines {
            match line {
                Line::Raw(text) => write_all(&theirs(text)),
                Line::Message(kind, text) => self.log(*kind, text),
            }
        }
    }

    fn line(&self, kind: Kind, text: &str) -> String {
        let (word, color) = match kind {
            Kind::Error => ("error: ", &self.colors.error),
            Kind::Warning => ("warning: ", &self.colors.warning),
            Kind::Detail => ("detail: ", &self.colors.note),
            Kind::Hint => ("hint: ", &self.colors.note),
            Kind::Info | Kind::Debug => ("", &None),
        };
        let mut line = String::new();
        painted(
            &mut line,
            &self.colors.locus,
            &format!("{}: ", self.program),
        );
        painted(&mut line, color, word);
        // The server's texts end with a newline of their own.
        line.push_str(text.strip_suffix('\n').unwrap_or(text));
        line.push('\n');
        line
    }
}

fn painted(line: &mut String, color: &Option<String>, text: &str) {
    match color {
        // Writing to a string does not fail.
        Some(color) => drop(write!(line, "\x1b[{color}m{text}\x1b[0m")),
        None => line.push_str(text),
    }
}

/// Text that may be the server's: as pgbench prints it, but for what a terminal would obey.
pub fn theirs(text: &str) -> Cow<'_, str> {
    if pgdyno_platform::terminal::stderr_is_terminal() {
        text::shown(text)
    } else {
        Cow::Borrowed(text)
    }
}

/// A script's octets are written as they are. A closed output is no error. What was printed before comes before.
pub fn write_all(text: &str) {
    let _ = io::stdout().flush();
    let _ = io::stderr().write_all(&pgdyno_script::octets(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn say(how: Option<&str>, which: Option<&str>) -> Messages {
        Messages {
            program: "pgbench".to_owned(),
            colors: Colors::new(how, which, false),
            debug: false,
        }
    }

    #[test]
    fn a_line_names_the_program_and_its_kind() {
        let say = say(None, None);
        assert_eq!(say.line(Kind::Error, "no\n"), "pgbench: error: no\n");
        assert_eq!(say.line(Kind::Detail, "more"), "pgbench: detail: more\n");
        assert_eq!(say.line(Kind::Info, "so"), "pgbench: so\n");
    }

    #[test]
    fn colours_are_those_of_the_environment() {
        assert_eq!(
            say(Some("always"), None).line(Kind::Error, "no"),
            "\x1b[01mpgbench: \x1b[0m\x1b[01;31merror: \x1b[0mno\n"
        );
        assert_eq!(
            say(Some("always"), Some("warning=33:x=1:note")).line(Kind::Warning, "ah"),
            "pgbench: \x1b[33mwarning: \x1b[0mah\n"
        );
        assert_eq!(
            say(Some("auto"), None).line(Kind::Hint, "try"),
            "pgbench: hint: try\n"
        );
    }
}
