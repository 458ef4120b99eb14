//! Errors of the layers below, put as the user sees them: thing, place, detail, hint, exit code.

use pgdyno_session::{ConnInfoError, Error};

use crate::safe_settings::NAMES;
use pgdyno_model::document::TargetKind;
use pgdyno_model::pooler;
use pgdyno_spec::{Exit, Failure, suggest::nearest};

/// A connection asked for a setting with a value that it does not take, or that there is not.
const INVALID_VALUE: &str = "22023";
const UNKNOWN_SETTING: &str = "42704";
const NAMES_OF_SETTINGS: &str = "their names: SELECT name FROM pg_settings";

/// What the server's SQLSTATE suggests, where the server itself gives no hint.
const REMEDIES: &[(&str, &str)] = &[
    (
        "53100",
        "the server's disk is full: free space on it, or load less",
    ),
    (
        "53300",
        "the server has no connection left: raise max_connections, or end other clients",
    ),
    (
        "42501",
        "the role lacks a privilege: grant it (GRANT CREATE ON SCHEMA …), or connect as another role",
    ),
    (
        "25006",
        "the server is read-only (a standby, or default_transaction_read_only): use the primary",
    ),
    (
        "55P03",
        "another session has it locked: wait for that, or longer (--lock-timeout)",
    ),
    (
        "3D000",
        "create the database (CREATE DATABASE …), or name another",
    ),
    (
        INVALID_VALUE,
        "correct the setting: SELECT name, vartype, unit, min_val, max_val, enumvals FROM pg_settings says what it takes",
    ),
    (UNKNOWN_SETTING, NAMES_OF_SETTINGS),
    (
        "28P01",
        "check the password: PGPASSWORD, the password file ~/.pgpass, or the URL; -W asks for it",
    ),
    (
        "28000",
        "name another role (PGUSER, --url), create it (CREATE ROLE … LOGIN), or let it in (pg_hba.conf)",
    ),
];

/// The way to a server that only a file names.
pub(super) const NAME_IT: &str = "if the server is yours, name it yourself, in the file's words: --url; if you trust the file: --allow-shell";

/// A request failed; `doing` says which, as in "could not create the tables".
pub fn server(error: &Error, doing: &str) -> Failure {
    if let Error::Interrupted { exit_code, .. } = error {
        return Failure::with(
            Exit::Interrupted(*exit_code),
            format!("{doing}: interrupted"),
        );
    }
    let lost = matches!(
        error,
        Error::Lost(_) | Error::TimedOut(_) | Error::Silent { .. } | Error::Protocol(_)
    ) || error
        .server()
        .is_some_and(|e| matches!(e.severity(), "FATAL" | "PANIC"));
    let exit = if lost { Exit::Connection } else { Exit::Failed };
    let Some(e) = error.server() else {
        let failure = Failure::with(exit, format!("{doing}: {}", one_line(&error.to_string())));
        return match error {
            Error::Silent { .. } => {
                failure.hint("give it more time: --silence-timeout=5m, or 0 for any time")
            }
            _ => failure,
        };
    };
    let mut failure = Failure::with(
        exit,
        format!("{doing}: {} (SQLSTATE {})", e.message(), e.sqlstate()),
    );
    for (code, title) in [(b'D', ""), (b'W', "context: ")] {
        if let Some(text) = e.field(code) {
            failure = failure.detail(format!("{title}{}", one_line(text)));
        }
    }
    match e.field(b'H') {
        Some(hint) => failure.hint(hint),
        None => with_remedy(failure, e.sqlstate()),
    }
}

/// No session with the target.
pub fn connect(error: &Error, kind: TargetKind) -> Failure {
    if let Error::Interrupted { exit_code, .. } = error {
        return Failure::with(
            Exit::Interrupted(*exit_code),
            "interrupted while connecting",
        );
    }
    let mut lines = error.to_string();
    lines.retain(|c| c != '\r');
    let mut attempts = lines.lines().map(str::trim);
    let message = attempts.next().unwrap_or_default().to_owned();
    let hint = way_there(&message);
    // An attempt without TLS after one with it often fails for the same reason.
    let others: Vec<&str> = attempts.filter(|more| *more != message).collect();
    let sqlstate = error.sqlstate().unwrap_or_default();
    // The server is there: what it was asked for is wrong.
    let is_setting = [INVALID_VALUE, UNKNOWN_SETTING].contains(&sqlstate)
        || message.contains(pooler::PARAMETER_REFUSED);
    let exit = if is_setting {
        Exit::Usage
    } else {
        Exit::Connection
    };
    let failure = Failure::with(exit, message);
    let mut failure = others.into_iter().fold(failure, Failure::detail);
    failure = with_remedy(failure, sqlstate);
    match kind {
        _ if is_setting => failure,
        TargetKind::Named if failure.hints.is_empty() => failure.hint(hint),
        TargetKind::Kept => failure.hint("see how the kept server is: pgdyno server status"),
        _ => failure,
    }
}

/// How a server that was named is reached after all, where the server itself said nothing.
fn way_there(message: &str) -> &'static str {
    const KNOWN: [(&str, &str); 6] = [
        (
            "none is sent to a server that only a file names",
            "if the server is yours, name it yourself, in the file's words: --url",
        ),
        ("only a file names this server", NAME_IT),
        (
            "no password supplied",
            "give the password: PGPASSWORD, the password file ~/.pgpass, or the URL; a terminal asks for it",
        ),
        (
            "iterations of SCRAM's hash",
            "or set the role's password anew with fewer: scram_iterations of the server",
        ),
        (
            "server does not support SSL",
            "turn TLS on in the server (ssl = on), or off in the client: sslmode=disable",
        ),
        (
            "on socket",
            "another host is named so: --url postgresql://USER@HOST:PORT/DATABASE, or PGHOST",
        ),
    ];
    let known = KNOWN.iter().find(|(words, _)| message.contains(words));
    known.map_or(
        "start the server, or correct its host and port: --url, PGHOST, PGPORT",
        |(_, way)| *way,
    )
}

/// The target is named in a way that cannot be understood.
pub fn conninfo(error: &ConnInfoError) -> Failure {
    from_lines(Exit::Usage, &error.to_string())
}

/// The target is named well, but there is no way to it: an unknown host name, a
/// certificate that is not there.
pub fn candidates(error: &ConnInfoError) -> Failure {
    let is_port = error.text().contains("port number") || error.text().contains("option \"port\"");
    let exit = if is_port {
        Exit::Usage
    } else {
        Exit::Connection
    };
    let failure = from_lines(exit, &error.to_string());
    let host = error
        .text()
        .strip_prefix("could not translate host name \"");
    match host.and_then(|rest| rest.split('"').next()) {
        Some(host) if host.contains('=') => failure.hint(
            "pairs stand apart by blanks: --url 'host=127.0.0.1 port=5432 dbname=bench'; commas are for several hosts",
        ),
        Some(_) => failure.hint("check the host's name: --url, PGHOST"),
        None => failure,
    }
}

/// A server of pgdyno's own could not be had.
pub fn own_server(error: pgdyno_server::Error) -> Failure {
    if let pgdyno_server::Error::Start { said, .. } = &error
        && let Some(failure) = refused_setting(said)
    {
        return failure;
    }
    let exit = match error {
        pgdyno_server::Error::Interrupted => Exit::Interrupted(130),
        _ => Exit::Failed,
    };
    // The way out is on lines of its own there.
    from_lines(exit, &error.to_string())
}

/// What the log of a private server that did not start says of a setting.
fn refused_setting(said: &str) -> Option<Failure> {
    let usage = |text: &str| {
        Failure::new(format!(
            "a setting of the private server (--pg-set) is refused: {text}"
        ))
    };
    let line = said.lines().find(|line| line.contains("parameter \""))?;
    // Without the time and the level.
    let says = line
        .split_once("LOG:")
        .or(line.split_once("FATAL:"))?
        .1
        .trim();
    if let Some(rest) = says.strip_prefix("unrecognized configuration parameter \"") {
        let name = rest.split('"').next().unwrap_or_default();
        // Without the file, which is a temporary one.
        let text = says.split(" in file ").next().unwrap_or(says);
        let failure = match nearest(name, NAMES) {
            Some(meant) => usage(text).hint(format!("did you mean {meant}?")),
            None => usage(text),
        };
        return Some(failure.hint(NAMES_OF_SETTINGS));
    }
    let failure = usage(says);
    Some(match said.split_once("HINT:") {
        Some((_, hint)) => failure.hint(hint.lines().next().unwrap_or_default().trim()),
        None => with_remedy(failure, INVALID_VALUE),
    })
}

fn from_lines(exit: Exit, text: &str) -> Failure {
    let mut lines = text.lines().map(str::trim);
    let failure = Failure::with(exit, lines.next().unwrap_or_default());
    lines.fold(failure, Failure::hint)
}

fn with_remedy(failure: Failure, sqlstate: &str) -> Failure {
    if let Some(way) = pooler::way_out(sqlstate, &failure.message) {
        return failure.hint(way);
    }
    match REMEDIES.iter().find(|(code, _)| *code == sqlstate) {
        Some((_, remedy)) => failure.hint(*remedy),
        None => failure,
    }
}

/// Messages of libpq's kind go over several lines.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_a_private_server_refuses_is_named_with_the_way_out() {
        // As PostgreSQL 17 writes them.
        let unknown = "  2026-01-01 12:00:00.000 UTC [1] LOG:  unrecognized configuration parameter \"shared_bufers\" \
                       in file \"/tmp/x/postgresql.conf\" line 12\n  FATAL:  configuration file \"/tmp/x\" contains errors";
        let failure = refused_setting(unknown).unwrap();
        let text = "a setting of the private server (--pg-set) is refused: unrecognized configuration parameter \"shared_bufers\"";
        assert_eq!((failure.exit, &*failure.message), (Exit::Failed, text));
        let hints = ["did you mean shared_buffers?", NAMES_OF_SETTINGS];
        assert_eq!(failure.hints, hints);
        let wrong = "  LOG:  invalid value for parameter \"shared_buffers\": \"1XB\"\n  HINT:  Valid units are \"B\".\n  FATAL:";
        let failure = refused_setting(wrong).unwrap();
        assert_eq!(
            failure.message,
            "a setting of the private server (--pg-set) is refused: invalid value for parameter \"shared_buffers\": \"1XB\""
        );
        assert_eq!(failure.hints, ["Valid units are \"B\"."]);
        let range =
            "  LOG:  5 is outside the valid range for parameter \"max_connections\" (10 .. 262143)";
        let failure = refused_setting(range).unwrap();
        assert!(
            failure.message.contains("outside the valid range"),
            "{failure}"
        );
        assert_eq!(failure.hints.len(), 1);
        assert_eq!(
            refused_setting("  FATAL:  could not create shared memory segment"),
            None
        );
    }
}
