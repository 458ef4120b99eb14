//! Sessions of disturbances: without the user's interrupts, since what was done is put back after Ctrl-C.

use std::time::{Duration, Instant};

use pgdyno_database::admin;
use pgdyno_database::open::{CONNECT_LIMIT, Target};
use pgdyno_session::{Patience, Session, quote_literal};

use super::Scene;
use crate::settings::{self, Header, Journal};

/// How long a server that was restarted may take until it can be undone on it.
pub const UNDO_LIMIT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);

/// A session with the first endpoint that takes one.
///
/// # Errors
/// None does.
pub fn connect(target: &Target) -> Result<Session, String> {
    let mut why = "there is no endpoint".to_owned();
    for endpoint in &target.endpoints {
        let limit = Some(CONNECT_LIMIT);
        match Session::connect_with(&endpoint.candidates, limit, Patience::default()) {
            Ok(session) => return Ok(session),
            Err(e) => why = e.to_string(),
        }
    }
    Err(why)
}

/// The same, tried again until the server is back.
///
/// # Errors
/// It is not back within [`UNDO_LIMIT`].
pub fn connect_again(target: &Target) -> Result<Session, String> {
    let until = Instant::now() + UNDO_LIMIT;
    loop {
        match connect(target) {
            Ok(session) => return Ok(session),
            Err(why) if Instant::now() > until => return Err(why),
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

/// A value.
///
/// # Errors
/// The statement fails.
pub fn value(session: &mut Session, sql: &str) -> Result<Option<String>, String> {
    admin::value(session, sql).map_err(|e| e.to_string())
}

/// A journal of what is to be undone on this server after kill -9, once this session is gone.
///
/// # Errors
/// The server cannot be asked, or the journal not be written.
pub fn journal(target: &Target, session: &mut Session) -> Result<Journal, String> {
    let own = "SELECT pid || ' ' || extract(epoch FROM backend_start) FROM pg_stat_activity \
               WHERE pid = pg_backend_pid()";
    let own = value(session, own)?;
    let identifier = "SELECT system_identifier FROM pg_control_system()";
    let header = Header {
        target: target.administration_address().to_owned(),
        title: target.title.clone(),
        system_identifier: value(session, identifier).ok().flatten(),
    };
    let directory = settings::directory().map_err(|e| e.message)?;
    let mut journal = Journal::create(&directory, &header).map_err(|e| e.message)?;
    if let Some(own) = own {
        journal.note_session(&own).map_err(|e| e.message)?;
    }
    Ok(journal)
}

/// The table that is named, or else all of the workload's, as the elements of an array in SQL.
pub fn names(scene: &Scene<'_>, given: &str) -> String {
    let quoted = |name: &String| quote_literal(name);
    let names: Vec<String> = match given {
        "" => scene.tables.iter().map(quoted).collect(),
        given => vec![quote_literal(given)],
    };
    names.join(", ")
}

/// The table to disturb, as SQL names it: what the user says, or the largest (else the smallest that has rows)
/// of the workload's.
///
/// # Errors
/// There is none.
pub fn table(
    session: &mut Session,
    scene: &Scene<'_>,
    given: &str,
    is_largest: bool,
) -> Result<String, String> {
    let order = if is_largest { "DESC" } else { "ASC" };
    let sql = format!(
        "SELECT c.oid::regclass FROM unnest(ARRAY[{}]::text[]) AS named(name) \
         JOIN pg_class AS c ON c.oid = to_regclass(named.name) \
         WHERE c.relkind = 'r' AND pg_relation_size(c.oid) > 0 \
         ORDER BY pg_relation_size(c.oid) {order}, c.relname LIMIT 1",
        names(scene, given)
    );
    value(session, &sql)?.ok_or_else(|| match given {
        "" => "no table of the workload has rows: name one, table=NAME".to_owned(),
        given => format!("there is no table \"{given}\" with rows"),
    })
}
