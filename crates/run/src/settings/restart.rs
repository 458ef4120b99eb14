//! Restarting a server for settings that need it: a private one, or with the user's own command.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use pgdyno_session::Session;

use pgdyno_database::open::Target;
use pgdyno_database::{admin, trouble};
use pgdyno_spec::{Exit, Failure};

/// How long the server may take to answer once the command has ended.
const START_TIMEOUT: Duration = Duration::from_secs(60);
const BETWEEN_TRIES: Duration = Duration::from_millis(50);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Restart {
    Own,
    /// A command, run with `sh -c`.
    Command(String),
}

/// Restarts the server and waits until it answers again; a session on it.
///
/// # Errors
/// It cannot be restarted: a private server does not start, the command fails, the server does not come
/// back in time, or it was not restarted.
pub fn restart(session: &mut Session, target: &Target, how: &Restart) -> Result<Session, Failure> {
    match how {
        Restart::Own => {
            target.restart_own()?;
            target.administer()
        }
        Restart::Command(command) => by_command(session, target, command),
    }
}

fn by_command(session: &mut Session, target: &Target, command: &str) -> Result<Session, Failure> {
    let before = started(session)?;
    // Its output goes nowhere: a server that it starts would keep our ends open.
    let ended = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let said = match ended {
        Ok(status) if status.success() => None,
        Ok(status) => Some(status.to_string()),
        Err(error) => Some(error.to_string()),
    };
    if let Some(said) = said {
        return Err(
            Failure::new(format!("the restart command failed ({said}): {command}"))
                .hint("run it yourself to see its messages"),
        );
    }
    let began = Instant::now();
    loop {
        match target.administer() {
            Ok(mut session) => match started(&mut session) {
                Ok(now) if now == before => {
                    return Err(Failure::new(format!(
                        "the restart command ended, but the server was not restarted: {command}"
                    ))
                    .hint("the command must wait until the old server has ended"));
                }
                Ok(_) => return Ok(session),
                Err(failure) if began.elapsed() > START_TIMEOUT => return Err(failure),
                Err(_) => {}
            },
            Err(failure) if began.elapsed() > START_TIMEOUT => {
                return Err(Failure {
                    exit: Exit::Connection,
                    ..failure
                }
                .detail(format!(
                    "the server has not come back within {} s of its restart",
                    START_TIMEOUT.as_secs()
                ))
                .hint(
                    "see its log; if a setting keeps it from starting, take it out of \
                     postgresql.auto.conf, start it and run pgdyno restore",
                ));
            }
            Err(_) => {}
        }
        std::thread::sleep(BETWEEN_TRIES);
    }
}

/// When the server was started.
fn started(session: &mut Session) -> Result<Option<String>, Failure> {
    admin::value(session, "SELECT pg_postmaster_start_time()")
        .map_err(|e| trouble::server(&e, "could not read when the server was started"))
}
