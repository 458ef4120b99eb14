//! How many sessions a server, or a pooler before it, has room for: clients come first, pgdyno's own sessions
//! take what is left.
//!
//! Not for: what is said when a client is refused (`trouble.rs`).

use std::sync::Arc;
use std::time::Duration;

use pgdyno_session::Session;
use pgdyno_wire::{Candidate, SessionAttrs};

use super::admin;
use super::dialect::Dialect;
use super::open::Endpoint;

const ASK_MAX: Duration = Duration::from_secs(2);
/// The session that asks has ended for the server, or is not waited for any longer.
pub(super) const CLOSE_MAX: Duration = Duration::from_millis(500);
/// The database in which PgBouncer is administered.
const PGBOUNCER: &str = "pgbouncer";

/// Sessions that can still be had, and what limits them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Room {
    pub sessions: u64,
    pub limit: String,
}

/// The limits that sessions meet at an endpoint.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rooms {
    /// What tells the server from all others, where it says; several endpoints may lead there.
    pub server: Option<String>,
    /// Its own limits, for all endpoints that lead there.
    pub of_server: Vec<Room>,
    /// That of a pooler before it, for this endpoint alone.
    pub of_pooler: Option<Room>,
}

/// The room at an endpoint of this product; nothing where it does not say.
pub fn at(endpoint: &Endpoint, dialect: &Dialect) -> Rooms {
    let Ok(mut session) = endpoint.within(ASK_MAX).connect() else {
        return Rooms::default();
    };
    let rooms = of(&mut session, dialect);
    session.close_and_wait(CLOSE_MAX);
    rooms
}

/// The room where a session leads that ends before it is needed.
pub fn of(session: &mut Session, dialect: &Dialect) -> Rooms {
    let Some(limits) = dialect.session_limits else {
        return Rooms::default();
    };
    session.set_answer_timeout(Some(ASK_MAX));
    let of_server = admin::rows(session, limits).ok();
    let of_server = of_server.into_iter().flatten().filter_map(|row| {
        let mut row = row.into_iter().flatten();
        let (limit, left) = (row.next()?, row.next()?.parse::<i64>().ok()?);
        // The session that asks ends.
        let sessions = u64::try_from(left + 1).unwrap_or(0);
        Some(Room { sessions, limit })
    });
    let of_server: Vec<Room> = of_server.collect();
    let server = admin::value(session, dialect.cluster.identity);
    let of_pooler = if session.is_own() {
        None
    } else {
        of_pgbouncer(session.candidate())
    };
    Rooms {
        server: server.ok().flatten(),
        of_server,
        of_pooler,
    }
}

/// The room in PgBouncer's pool of a login, where each client keeps its session and the login may look.
fn of_pgbouncer(candidate: &Candidate) -> Option<Room> {
    let (database, mut login) = (
        candidate.login.database().to_owned(),
        (*candidate.login).clone(),
    );
    login.parameters.retain(|(name, _)| name != "database");
    login
        .parameters
        .push(("database".to_owned(), PGBOUNCER.to_owned()));
    login.session_attrs = SessionAttrs::Any;
    let console = Candidate {
        login: Arc::new(login),
        ..candidate.clone()
    };
    let mut session = Session::connect(&[console], Some(ASK_MAX)).ok()?;
    session.set_answer_timeout(Some(ASK_MAX));
    let databases = table(&mut session, "SHOW DATABASES")?;
    let pools = table(&mut session, "SHOW POOLS")?;
    session.close();
    let of = databases
        .iter()
        .find(|row| row.get("name") == Some(&database))?;
    let size: u64 = of.get("pool_size")?.parse().ok()?;
    let user = of.get("force_user").unwrap_or(&candidate.login.user);
    let is_its =
        |row: &&Row| row.get("database") == Some(&database) && row.get("user") == Some(user);
    let pool = pools.iter().find(is_its)?;
    if pool.get("pool_mode").is_none_or(|mode| mode != "session") {
        return None;
    }
    let used: u64 = pool.get("sv_active")?.parse().ok()?;
    Some(Room {
        // The session that asks is one of them, and ends.
        sessions: (size + 1).saturating_sub(used),
        limit: format!("pool_size {size} of PgBouncer"),
    })
}

/// A row by the names of its columns, without those that are NULL.
type Row = std::collections::BTreeMap<String, String>;

fn table(session: &mut Session, show: &str) -> Option<Vec<Row>> {
    let outcomes = session.simple_query(show).ok()?;
    let outcome = outcomes.into_iter().next()?;
    let columns = outcome.columns;
    let rows = outcome.rows.into_iter().map(|row| {
        let named = columns.iter().zip(row);
        named
            .filter_map(|(column, value)| Some((column.name.clone(), value?)))
            .collect()
    });
    Some(rows.collect())
}
