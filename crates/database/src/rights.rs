//! Servers that only a file names: whether the role that it gives may run programs there.
//!
//! A superuser is refused at each login (crate `wire`); other rights are asked for here, once for each address.

use std::collections::BTreeMap;
use std::sync::Arc;

use pgdyno_model::document::TargetKind;
use pgdyno_session::{Error, Session};
use pgdyno_spec::{Exit, Failure, TargetSpec};
use pgdyno_wire::ConnectErrorKind::{Closed, TimedOut, Unreachable};
use pgdyno_wire::{Candidate, SessionAttrs};

use super::open::{Endpoint, Target};
use super::{admin, safe_settings, trouble};

/// Roles of the current user that run programs or reach files; before PostgreSQL 16 one that makes roles may
/// give itself these.
const ROLES: &str = "SELECT rolname FROM pg_catalog.pg_roles \
    WHERE (rolsuper \
      OR rolname IN ('pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files') \
      OR rolcreaterole AND pg_catalog.current_setting('server_version_num')::int4 < 160000) \
    AND pg_catalog.pg_has_role(current_user, oid, 'MEMBER') ORDER BY 1";

/// From 15 on: settings that were granted to the current user.
const SETTINGS: &str = "SELECT parname FROM pg_catalog.pg_parameter_acl \
    WHERE pg_catalog.has_parameter_privilege(parname, 'SET') \
    OR pg_catalog.has_parameter_privilege(parname, 'ALTER SYSTEM')";

/// The target, if it may be used as it is named: without addresses that cannot be reached now, whose rights are not known.
///
/// # Errors
/// A role with rights to run programs; a server that cannot be asked.
pub(super) fn checked(mut target: Target, wanted: &TargetSpec) -> Result<Target, Failure> {
    if !wanted.is_of_file || wanted.may_run_programs {
        return Ok(target);
    }
    for endpoint in &mut target.endpoints {
        let mut addresses: BTreeMap<(usize, usize), Vec<Candidate>> = BTreeMap::new();
        for candidate in &endpoint.candidates {
            let address = (candidate.host_index, candidate.address_index);
            let mut candidate = candidate.clone();
            let mut login = (*candidate.login).clone();
            // Whichever role the server has now, it may have another later.
            login.session_attrs = SessionAttrs::Any;
            candidate.login = Arc::new(login);
            addresses.entry(address).or_default().push(candidate);
        }
        let mut first = None;
        for (address, candidates) in addresses {
            let alone = Endpoint {
                candidates,
                ..endpoint.clone()
            };
            match alone.connect() {
                Ok(mut session) => {
                    let found = dangerous(&mut session);
                    session.close();
                    let found = found.map_err(|e| {
                        trouble::server(
                            &e,
                            "could not ask for the role's rights on a file's server",
                        )
                    })?;
                    refuse(&alone, &found)?;
                }
                Err(e) if is_unreachable(&e) => {
                    let is_it = |one: &Candidate| (one.host_index, one.address_index) == address;
                    endpoint.candidates.retain(|one| !is_it(one));
                    first.get_or_insert(e);
                }
                Err(e) => return Err(trouble::connect(&e, TargetKind::Named)),
            }
        }
        if let Some(e) = first.filter(|_| endpoint.candidates.is_empty()) {
            return Err(trouble::connect(&e, TargetKind::Named));
        }
    }
    Ok(target)
}

/// What the session's role may do beyond its database, by the names of roles and settings.
fn dangerous(session: &mut Session) -> Result<Vec<String>, Error> {
    let names = |rows: Vec<Vec<Option<String>>>| rows.into_iter().flatten().flatten();
    let mut found: Vec<String> = names(admin::rows(session, ROLES)?).collect();
    let has_grants = "SELECT pg_catalog.to_regclass('pg_catalog.pg_parameter_acl') IS NOT NULL";
    if admin::value(session, has_grants)?.as_deref() == Some("t") {
        let granted = names(admin::rows(session, SETTINGS)?);
        let is_safe = |name: &String| safe_settings::NAMES.binary_search(&name.as_str()).is_ok();
        found.extend(granted.filter(|name| !is_safe(name)));
    }
    Ok(found)
}

fn refuse(endpoint: &Endpoint, found: &[String]) -> Result<(), Failure> {
    if found.is_empty() {
        return Ok(());
    }
    let login = &endpoint.candidates[0].login;
    let text = format!(
        "user \"{}\" at {} may run programs or reach files there ({}), and only a file names this server",
        login.user,
        endpoint.candidates[0].place(),
        found.join(", ")
    );
    Err(Failure::with(Exit::Connection, text).hint(trouble::NAME_IT))
}

/// Whether nothing answers there, as opposed to a server that refuses.
fn is_unreachable(error: &Error) -> bool {
    match error {
        Error::Connect { last, .. } => {
            matches!(last.kind(), Unreachable(_) | TimedOut | Closed)
        }
        _ => false,
    }
}
