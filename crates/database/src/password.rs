//! A password that the server wants and that is given nowhere: asked for at the terminal, as psql does.

use std::time::Duration;

use pgdyno_model::document::TargetKind;
use pgdyno_platform::terminal;
use pgdyno_session::{ConnInfo, Error, Patience, Session};
use pgdyno_spec::{Exit, Failure, TargetSpec};
use pgdyno_wire::ConnectErrorKind;

use super::target::Target;
use super::trouble;

/// A server that says nothing for so long is left to those that connect in earnest.
const LIMIT: Duration = Duration::from_secs(5);

/// Puts a password that was asked for into all of `infos`, if one is to be asked for: always with `-W`, never
/// with `-w`; else at a terminal, of a server that refuses a session without one. Only then is one tried.
///
/// # Errors
/// There is no terminal to ask `-W` at, or nothing can be read there.
pub fn ask(infos: &mut [ConnInfo], wanted: &TargetSpec) -> Result<(), Failure> {
    let has_terminal = terminal::stdin_is_terminal() && terminal::stderr_is_terminal();
    if wanted.password && !has_terminal {
        let text = "-W asks for a password, but there is no terminal";
        return Err(Failure::with(Exit::Usage, text)
            .hint("give the password: PGPASSWORD, or the password file ~/.pgpass"));
    }
    let is_known = infos.iter().all(ConnInfo::has_password);
    let may_ask = !wanted.no_password && has_terminal && !is_known && !wanted.is_of_file;
    let Some(first) = infos.first().filter(|_| wanted.password || may_ask) else {
        return Ok(());
    };
    if !wanted.password && !is_wanted(first)? {
        return Ok(());
    }
    let place = if !wanted.is_of_file {
        String::new()
    } else {
        let hosts: Vec<&str> = infos.iter().flat_map(ConnInfo::hosts).collect();
        format!(" at {}, which a file names", hosts.join(", "))
    };
    let prompt = format!("Password for user {}{place}: ", first.user());
    let password = terminal::ask_password(&prompt)
        .map_err(|error| Failure::new(format!("could not read a password: {error}")))?;
    for info in infos {
        *info = info.with_password(&password);
    }
    Ok(())
}

/// Whether the server refuses a session for the lack of a password. Other troubles are for those that connect
/// in earnest.
fn is_wanted(info: &ConnInfo) -> Result<bool, Failure> {
    let target = Target::of(info, TargetKind::Named).map_err(|e| trouble::candidates(&e))?;
    let candidates = &target.endpoints[0].candidates;
    match Session::connect_with(candidates, Some(LIMIT), Patience::default()) {
        Ok(session) => {
            session.close();
            Ok(false)
        }
        Err(Error::Connect { last, .. }) => {
            Ok(matches!(last.kind(), ConnectErrorKind::PasswordMissing))
        }
        Err(e @ Error::Interrupted { .. }) => Err(trouble::connect(&e, TargetKind::Named)),
        Err(_) => Ok(false),
    }
}
