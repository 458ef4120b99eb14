//! From `-h`, `-p`, `-U` and the database to a target and a first session, as pgbench connects:
//! libpq's defaults, and a password asked for at the terminal when the server wants one.

use pgdyno_platform::terminal;
use pgdyno_session::{Env, Error, Given, Session, resolve};
use pgdyno_wire::ConnectErrorKind;

use super::messages::{Messages, Stop, theirs, write_all};
use super::options;
use pgdyno_database::open::Target;
use pgdyno_model::document::TargetKind;

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
    };
    let refused = |error: pgdyno_session::ConnInfoError| Stop::fatal(error.text());
    let mut info = resolve(&given, &Env::of_process()).map_err(refused)?;
    for warning in info.warnings() {
        write_all(&format!("WARNING: {warning}\n"));
    }
    // Asked for once: an empty answer is an answer.
    let mut has_asked = false;
    loop {
        let target = Target::of(&info, TargetKind::Named).map_err(refused)?;
        match Session::connect(&target.endpoints[0].candidates, None) {
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
            Err(error) => return Err(Stop::fatal(error.to_string())),
        }
    }
}

fn wants_password(error: &Error) -> bool {
    matches!(error, Error::Connect { last, .. }
        if matches!(last.kind(), ConnectErrorKind::PasswordMissing))
}
