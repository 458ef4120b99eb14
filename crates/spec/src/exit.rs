//! How pgdyno ends: its exit codes, and the one form in which every verb reports an error.

use std::fmt;
use std::io;
use std::path::Path;
use std::process::ExitCode;

/// Why pgdyno ended; the numbers are documented in `--help` and do not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It did what was asked.
    Ok,
    /// The run failed, or an input (script, pack, file) has a mistake.
    Failed,
    /// The command line is wrong, or names something that does not exist.
    Usage,
    /// The server could not be reached, refused the connection, or was lost and did not come back.
    Connection,
    /// A gate was neither passed nor failed: too little was measured, or it does not count.
    CannotTell,
    /// Ended by Ctrl-C (130), SIGTERM (143) or SIGHUP (129), with what was measured until then reported.
    Interrupted(u8),
}

/// The table of exit codes for `--help`.
pub const HELP: &str = "\
Exit codes:
  0    success
  1    the run failed, or an input (script, pack, file) has a mistake
  2    the command line is wrong, or names something that does not exist
  3    the server could not be reached, refused the connection, or was lost and did not come back
  4    a gate (pgdyno compare, ci, history) cannot tell: it is neither passed nor failed
  130  interrupted by Ctrl-C (143: by SIGTERM, 129: by SIGHUP); results so far are reported";

impl Exit {
    /// The number that the shell sees.
    pub fn code(self) -> u8 {
        match self {
            Exit::Ok => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Connection => 3,
            Exit::CannotTell => 4,
            Exit::Interrupted(code) => code,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// An error as the user sees it: what happened, what is known about it, what to try.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// The exit code that it leads to.
    pub exit: Exit,
    /// One sentence that names the thing and the place.
    pub message: String,
    /// More of what is known: the server's detail, what was left behind.
    pub details: Vec<String>,
    pub hints: Vec<String>,
}

impl Failure {
    /// A failure with exit code 1 and nothing but a message.
    pub fn new(message: impl Into<String>) -> Failure {
        Failure::with(Exit::Failed, message)
    }

    /// A failure with its exit code.
    pub fn with(exit: Exit, message: impl Into<String>) -> Failure {
        Failure {
            exit,
            message: message.into(),
            details: Vec::new(),
            hints: Vec::new(),
        }
    }

    /// There is no thread for what `purpose` says (`for the store`).
    pub fn no_thread(purpose: &str, error: &io::Error) -> Failure {
        Failure::new(format!("cannot start a thread {purpose}: {error}"))
            .hint("raise the limits on threads (ulimit -u, a container's) and memory (ulimit -v), or use fewer")
    }

    /// Adds how the folder of a file is made, if it is its folder that is missing.
    pub fn with_missing_folder(self, file: &Path) -> Failure {
        match file
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
        {
            Some(folder) if !folder.exists() => {
                let folder = folder.display();
                self.hint(format!("there is no folder {folder}: mkdir -p {folder}"))
            }
            _ => self,
        }
    }

    pub fn detail(mut self, text: impl Into<String>) -> Failure {
        self.details.push(text.into());
        self
    }

    pub fn hint(mut self, text: impl Into<String>) -> Failure {
        self.hints.push(text.into());
        self
    }
}

impl fmt::Display for Failure {
    /// As PostgreSQL's own tools print it, each part on a line that names its kind.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pgdyno: error: {}", self.message)?;
        for detail in &self.details {
            write!(f, "\npgdyno: detail: {detail}")?;
        }
        for hint in &self.hints {
            write!(f, "\npgdyno: hint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_prints_each_part_on_its_line() {
        let failure = Failure::new("no such table")
            .detail("it was dropped")
            .hint("load it");
        assert_eq!(
            failure.to_string(),
            "pgdyno: error: no such table\npgdyno: detail: it was dropped\npgdyno: hint: load it"
        );
        assert_eq!(failure.exit.code(), 1);
    }

    #[test]
    fn a_thread_that_cannot_be_started_says_what_for_and_what_to_raise() {
        let text =
            Failure::no_thread("for the store", &io::ErrorKind::WouldBlock.into()).to_string();
        assert!(
            text.starts_with("pgdyno: error: cannot start a thread for the store: "),
            "{text}"
        );
        assert!(text.contains("ulimit -u"), "{text}");
    }

    #[test]
    fn every_documented_exit_code_is_one_that_is_used() {
        for exit in [
            Exit::Ok,
            Exit::Failed,
            Exit::Usage,
            Exit::Connection,
            Exit::CannotTell,
            Exit::Interrupted(130),
        ] {
            assert!(HELP.contains(&format!("\n  {} ", exit.code())), "{exit:?}");
        }
    }
}
