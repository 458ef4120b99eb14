//! What scripts left on the kept server that would spoil later runs: settings of pgdyno's role and its databases
//! (`ALTER ROLE … SET`, `ALTER DATABASE … SET`), databases that take no connections, no schema `public`.

use pgdyno_session::{ConnInfo, Session, quote_ident, quote_literal};

use super::admin;
use super::scripts_role::SCRIPTS_ROLE;
use super::target::Target;
use super::trouble;
use pgdyno_model::document::TargetKind;
use pgdyno_spec::Failure;

/// Scripts have no rights to this database, so it takes connections whatever they did to their own.
const APART: &str = "template1";

/// Undoes it as the superuser, and says what it was; `None`: nothing. `info` leads to the kept server.
///
/// # Errors
/// The server cannot be reached, or is not as pgdyno makes it.
pub(super) fn undo(info: &ConnInfo) -> Result<Option<String>, Failure> {
    let apart = Target::of(&info.with_dbname(APART), TargetKind::Kept);
    let mut session = { apart.map_err(|e| trouble::candidates(&e)) }?.administer()?;
    let undone = undone(&mut session);
    session.close();
    undone.map_err(|e| trouble::server(&e, "could not undo what scripts left on the kept server"))
}

fn undone(session: &mut Session) -> Result<Option<String>, pgdyno_session::Error> {
    let role = quote_literal(SCRIPTS_ROLE);
    // Each with the statement that undoes it.
    let left = format!(
        "SELECT pg_catalog.array_to_string(s.setconfig, ', '), \
           CASE WHEN s.setrole = 0 THEN pg_catalog.format('ALTER DATABASE %I RESET ALL', d.datname) \
             ELSE pg_catalog.format('ALTER ROLE %I ', r.rolname) \
               || coalesce('IN DATABASE ' || pg_catalog.quote_ident(d.datname) || ' ', '') || 'RESET ALL' END \
         FROM pg_catalog.pg_db_role_setting AS s \
           LEFT JOIN pg_catalog.pg_roles AS r ON r.oid = s.setrole \
           LEFT JOIN pg_catalog.pg_database AS d ON d.oid = s.setdatabase \
         WHERE r.rolname = {role} \
           OR s.setrole = 0 AND d.datdba = (SELECT oid FROM pg_catalog.pg_roles WHERE rolname = {role}) \
         UNION ALL \
         SELECT 'no connections to ' || datname, \
           pg_catalog.format('ALTER DATABASE %1$I ALLOW_CONNECTIONS true CONNECTION LIMIT -1', datname) \
         FROM pg_catalog.pg_database \
         WHERE datdba = (SELECT oid FROM pg_catalog.pg_roles WHERE rolname = {role}) \
           AND (NOT datallowconn OR datconnlimit <> -1) \
         UNION ALL \
         SELECT 'no right to connect to ' || datname, \
           pg_catalog.format('GRANT CONNECT, TEMPORARY, CREATE ON DATABASE %I TO {}', datname) \
         FROM pg_catalog.pg_database \
         WHERE datdba = (SELECT oid FROM pg_catalog.pg_roles WHERE rolname = {role}) \
           AND NOT (pg_catalog.has_database_privilege({role}, oid, 'CONNECT') \
             AND pg_catalog.has_database_privilege({role}, oid, 'TEMPORARY') \
             AND pg_catalog.has_database_privilege({role}, oid, 'CREATE'))",
        quote_ident(SCRIPTS_ROLE)
    );
    let mut what = Vec::new();
    for row in admin::rows(session, &left)? {
        if let [Some(left), Some(statement)] = &row[..] {
            admin::run(session, statement)?;
            what.push(left.clone());
        }
    }
    Ok((!what.is_empty()).then(|| what.join(", ")))
}
