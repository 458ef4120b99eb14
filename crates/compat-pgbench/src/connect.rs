//! From `-h`, `-p`, `-U` and the database to a target and a first session, as pgbench connects:
//! libpq's defaults, and a password asked for at the terminal when the server wants one.

use std::time::Duration;

use pgdyno_platform::terminal;
use pgdyno_session::{Env, Error, Given, Patience, Session, resolve};
use pgdyno_wire::ConnectErrorKind;

use super::messages::{Messages, Stop, theirs, write_all};
use super::options;
use pgdyno_database::open::{CONNECT_LIMIT, Target};
use pgdyno_model::document::TargetKind;

/// A server that is silent for so long, and answers no new connection, hangs.
const HANG_LIMIT: Duration = Duration::from_secs(30);

/// Connects.
///
/// # Errors
/// Why not, in libpq's words.
pub fn open(options: &options::Target, say: &Messages) -> Result<(Target, Session), Stop> {
    let given = Given {
        target: options.database.clone(),
        host: options.host.clone(),
        port: options.port.clone(),
        user: options.user.clone(),
        password: None,
        fallback_application_name: Some(say.program().to_owned()),
        ..Given::default()
    };
    let refused = |error: pgdyno_session::ConnInfoError| Stop::fatal(error.text());
    let mut info = resolve(&given, &Env::of_process()).map_err(refused)?;
    for warning in info.warnings() {
        write_all(&format!("{warning}\n"));
    }
    // Asked for once: an empty answer is an answer.
    let mut has_asked = false;
    let mut unknown_setting = None;
    loop {
        let target = Target::of(&info, TargetKind::Named).map_err(refused)?;
        match Session::connect_with(
            &target.endpoints[0].candidates,
            Some(CONNECT_LIMIT),
            patience(),
        ) {
            Ok(mut session) => {
                session.on_notice(|notice| {
                    write_all(&theirs(&format!("{}\n", notice.libpq_notice_text())))
                });
                return Ok((target, session));
            }
            Err(error) if wants_password(&error) && !has_asked => {
                has_asked = true;
                let password = terminal::ask_password("Password: ")
                    .map_err(|error| Stop::fatal(format!("could not read a password: {error}")))?;
                info = info.with_password(&password);
            }
            // As libpq takes it, the server may be too old to know application_name.
            Err(error) if unknown_setting.is_none() && lacks_setting(&error) => {
                unknown_setting = Some(error.to_string());
                info = info.with_application_name("");
            }
            Err(error) => {
                let attempts = unknown_setting.into_iter().chain([error.to_string()]);
                return Err(Stop::fatal(attempts.collect::<Vec<_>>().join("\n")));
            }
        }
    }
}

/// What is slow is waited for, as pgbench does; a server that hangs is not.
pub fn patience() -> Patience {
    Patience {
        hang_limit: Some(HANG_LIMIT),
        ..Patience::default()
    }
}

/// Whether the server refused the session because it does not know something that it was asked to
/// set.
fn lacks_setting(error: &Error) -> bool {
    const UNDEFINED_OBJECT: &str = "42704";
    error.sqlstate() == Some(UNDEFINED_OBJECT)
}

fn wants_password(error: &Error) -> bool {
    matches!(error, Error::Connect { last, .. }
        if matches!(last.kind(), ConnectErrorKind::PasswordMissing))
}
