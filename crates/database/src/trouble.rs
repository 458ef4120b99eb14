//! Errors of the layers below, put as the user sees them: thing, place, detail, hint, exit code.

use pgdyno_session::{ConnInfoError, Error};

use pgdyno_model::document::TargetKind;
use pgdyno_model::{Exit, Failure};

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
        "the role lacks a privilege: ask for it (GRANT CREATE ON SCHEMA …), or connect as \
         another role",
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
        "28P01",
        "check the password: PGPASSWORD, the password file ~/.pgpass, or the URL; -W asks for it",
    ),
    (
        "28000",
        "name another role (PGUSER, --url), create it (CREATE ROLE … LOGIN), or let it in (pg_hba.conf)",
    ),
];

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
    let failure = Failure::with(Exit::Connection, message);
    let mut failure = others.into_iter().fold(failure, Failure::detail);
    failure = with_remedy(failure, error.sqlstate().unwrap_or_default());
    match kind {
        TargetKind::Named if failure.hints.is_empty() => failure.hint(hint),
        TargetKind::Kept => failure.hint("see how the kept server is: pgdyno server status"),
        _ => failure,
    }
}

/// How a server that was named is reached after all, where the server itself said nothing.
fn way_there(message: &str) -> &'static str {
    const KNOWN: [(&str, &str); 3] = [
        (
            "no password supplied",
            "give the password: PGPASSWORD, the password file ~/.pgpass, or the URL; a terminal asks for it",
        ),
        (
            "server does not support SSL",
            "turn TLS on in the server (ssl = on), or do without it: sslmode=disable",
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
    from_lines(exit, &error.to_string())
}

/// A server of pgdyno's own could not be had.
pub fn own_server(error: pgdyno_server::Error) -> Failure {
    let exit = match error {
        pgdyno_server::Error::Interrupted => Exit::Interrupted(130),
        _ => Exit::Failed,
    };
    // The way out stands on lines of its own there.
    from_lines(exit, &error.to_string())
}

fn from_lines(exit: Exit, text: &str) -> Failure {
    let mut lines = text.lines().map(str::trim);
    let failure = Failure::with(exit, lines.next().unwrap_or_default());
    lines.fold(failure, Failure::hint)
}

fn with_remedy(failure: Failure, sqlstate: &str) -> Failure {
    match REMEDIES.iter().find(|(code, _)| *code == sqlstate) {
        Some((_, remedy)) => failure.hint(*remedy),
        None => failure,
    }
}

/// Messages of libpq's kind go over several lines.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
