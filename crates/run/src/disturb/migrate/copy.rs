//! A private server's database before a migration, and again after it: copied from a copy between trials.

use pgdyno_database::open::{CONNECT_LIMIT, Target};
use pgdyno_model::document::TargetKind;
use pgdyno_model::event::{PlannedTrial, Role};
use pgdyno_session::{Patience, Session, quote_ident};
use pgdyno_spec::{
    Exit, Failure,
    experiment::{POINT_NAME, migrate_lab::CONTROL},
};
use std::sync::Arc;

use crate::experiment::study::Study;
use crate::prepare::Prepared;

/// What the copy is called.
const COPY: &str = "pgdyno_before_migration";
/// From where databases are made and dropped.
const ELSEWHERE: &str = "template1";

/// Puts the database back after each trial with a migration.
#[derive(Default)]
pub struct Copies {
    /// Where the trial runs, if its database is to be put back.
    target: Option<Target>,
    is_copied: bool,
}

impl Study for Copies {
    fn before(&mut self, trial: &PlannedTrial, prepared: &Prepared) -> Result<(), Failure> {
        let is_control = trial.point[POINT_NAME] == CONTROL || trial.role == Role::Maximum;
        let is_own = prepared.target.kind == TargetKind::Own;
        self.target = (is_own && !is_control).then(|| prepared.target.clone());
        let Some(target) = self.target.as_ref().filter(|_| !self.is_copied) else {
            return Ok(());
        };
        let (mut session, database, owner) = elsewhere(target)?;
        let sql = format!(
            "CREATE DATABASE {COPY} TEMPLATE {} OWNER {}",
            quote_ident(&database),
            quote_ident(&owner)
        );
        session
            .simple_query(&sql)
            .map_err(|e| failed("could not copy the database", &e.to_string()))?;
        self.is_copied = true;
        Ok(())
    }

    fn after(&mut self) -> Result<Option<(&'static str, serde_json::Value)>, Failure> {
        let Some(target) = self.target.take() else {
            return Ok(None);
        };
        let (mut session, database, owner) = elsewhere(&target)?;
        let (database, owner) = (quote_ident(&database), quote_ident(&owner));
        // Each is refused in a transaction, which several in one message are.
        for sql in [
            format!("DROP DATABASE {database} WITH (FORCE)"),
            format!("CREATE DATABASE {database} TEMPLATE {COPY} OWNER {owner}"),
        ] {
            session
                .simple_query(&sql)
                .map_err(|e| failed("could not put the database back", &e.to_string()))?;
        }
        Ok(Some((
            "migration-undone",
            serde_json::Value::from(format!("{database} is a copy of what it was before")),
        )))
    }
}

fn failed(what: &str, why: &str) -> Failure {
    Failure::with(Exit::Failed, format!("{what}: {why}"))
}

/// A session of the administrator with another database, the name of the one that trials run on, and who owns it.
fn elsewhere(target: &Target) -> Result<(Session, String, String), Failure> {
    let of = |target: &Target| {
        let candidate = target
            .endpoints
            .first()
            .and_then(|endpoint| endpoint.candidates.first());
        candidate
            .cloned()
            .ok_or_else(|| Failure::new("the target has no endpoint"))
    };
    let owner = of(target)?.login.user.clone();
    let mut candidate = of(&target.administration())?;
    let mut login = (*candidate.login).clone();
    let known = login
        .parameters
        .iter_mut()
        .find(|(name, _)| name == "database");
    let database = match known {
        Some((_, database)) => std::mem::replace(database, ELSEWHERE.to_owned()),
        None => {
            login
                .parameters
                .push(("database".to_owned(), ELSEWHERE.to_owned()));
            owner.clone()
        }
    };
    candidate.login = Arc::new(login);
    let session = Session::connect_with(&[candidate], Some(CONNECT_LIMIT), Patience::default());
    let session = session.map_err(|e| failed("could not put the database back", &e.to_string()))?;
    Ok((session, database, owner))
}
