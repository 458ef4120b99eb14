//! Whether prepared statements hold: a pooler in transaction mode may run what a client has prepared on a
//! session of the server that does not know it, or knows another client's of that name.

use pgdyno_session::Session;

use super::open::Endpoint;

/// So often two sessions are compared.
const ROUNDS: usize = 3;

/// Whether prepared statements are known not to hold at an endpoint: sessions share the server's, and names
/// reach those as they are. Where it cannot be asked, nothing is known.
pub fn are_lost(endpoint: &Endpoint) -> bool {
    ask(endpoint).unwrap_or(false)
}

fn ask(endpoint: &Endpoint) -> Option<bool> {
    let mut session = endpoint.connect().ok()?;
    if session.is_own() {
        return Some(false);
    }
    let name = format!("pgdyno_probe_{:x}", session.backend_pid());
    let sql =
        format!("SELECT count(*) FROM pg_catalog.pg_prepared_statements WHERE name = '{name}'");
    let outcome = session.query_named(&name, &sql).ok()?;
    let seen = outcome.rows.into_iter().flatten().flatten().next()?;
    if seen == "0" {
        // The pooler keeps names of its own.
        return Some(false);
    }
    let mut other = endpoint.connect().ok()?;
    let mut processes = Vec::new();
    for _ in 0..ROUNDS {
        processes.push(process(&mut session)?);
        if processes.contains(&process(&mut other)?) {
            return Some(true);
        }
    }
    Some(false)
}

/// The server's process that answers this session now.
fn process(session: &mut Session) -> Option<String> {
    let pid = session.query_one_value("SELECT pg_catalog.pg_backend_pid()");
    pid.ok().flatten()
}
