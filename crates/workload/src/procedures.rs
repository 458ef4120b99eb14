//! Makes the procedures be there that a workload's scripts call: creates what is missing, replaces
//! pgdyno's own when its text is another one, and never touches another owner's.

use std::collections::BTreeMap;

use pgdyno_session::{Error, Session, quote_ident, quote_literal};
use sha2::{Digest, Sha256};

use super::manifest::Procedure;
use super::mark::ProcedureMark;
use super::pack::Pack;
use pgdyno_database::dialect::Dialect;
use pgdyno_database::{admin, trouble};
use pgdyno_spec::Failure;

/// Sees to each procedure of `needed` as the parameters have it, in the schema where the session creates what it creates.
///
/// # Errors
/// Something of that name is there which pgdyno did not make, or the server refuses.
pub fn ensure(
    session: &mut Session,
    dialect: &Dialect,
    pack: &Pack,
    needed: &[Procedure],
    values: &BTreeMap<String, String>,
) -> Result<(), Failure> {
    let made = pack.made_procedures(needed, dialect.name, values);
    for (name, text) in &made.map_err(Failure::new)? {
        let one = One {
            name,
            text,
            mark: ProcedureMark {
                pack: pack.name().to_owned(),
                sha256: sha256(text),
                pgdyno: env!("CARGO_PKG_VERSION").to_owned(),
            },
        };
        one.ensure(session)?;
    }
    Ok(())
}

/// A procedure that is to be there.
struct One<'a> {
    name: &'a str,
    text: &'a str,
    mark: ProcedureMark,
}

/// What is there under its name.
struct ExistingProcedure {
    /// With its arguments, as SQL takes it.
    signature: String,
    mark: Option<ProcedureMark>,
}

impl One<'_> {
    fn ensure(&self, session: &mut Session) -> Result<(), Failure> {
        let Some(old) = self.in_the_way(session)? else {
            return Ok(());
        };
        let Err(e) = self.make(session, &old) else {
            return Ok(());
        };
        // On a lost connection there is no transaction to end.
        let _ = admin::run(session, "ROLLBACK");
        match self.in_the_way(session) {
            // Another pgdyno has made it at the same time.
            Ok(None) => Ok(()),
            _ => Err(self.trouble(&e, "create")),
        }
    }

    /// What of pgdyno's own has to be dropped before it can be made; `None`: it is there already.
    fn in_the_way(&self, session: &mut Session) -> Result<Option<Vec<ExistingProcedure>>, Failure> {
        let found = self.find(session);
        let found = found.map_err(|e| self.trouble(&e, "look for"))?;
        if let Some(foreign) = found.iter().find(|found| found.mark.is_none()) {
            return Err(Failure::new(format!(
                "will not replace {}: pgdyno did not make it",
                foreign.signature
            ))
            .hint(format!(
                "the workload needs to create a procedure called {}: rename or drop the existing \
                 one, or use another schema (search_path)",
                self.name
            )));
        }
        let is_this = |found: &ExistingProcedure| {
            let mark = found.mark.as_ref();
            mark.is_some_and(|mark| mark.sha256 == self.mark.sha256)
        };
        Ok(match found.as_slice() {
            [one] if is_this(one) => None,
            _ => Some(found),
        })
    }

    fn find(&self, session: &mut Session) -> Result<Vec<ExistingProcedure>, Error> {
        let rows = admin::rows(
            session,
            &format!(
                "SELECT p.oid::regprocedure, obj_description(p.oid, 'pg_proc') FROM pg_proc p \
                 JOIN pg_namespace n ON n.oid = p.pronamespace \
                 WHERE n.nspname = current_schema() AND p.proname = {}",
                quote_literal(self.name)
            ),
        )?;
        let found = rows.into_iter().map(|row| {
            let mut row = row.into_iter().map(Option::unwrap_or_default);
            ExistingProcedure {
                signature: row.next().unwrap_or_default(),
                mark: row.next().as_deref().and_then(ProcedureMark::read),
            }
        });
        Ok(found.collect())
    }

    /// In one transaction: with its mark, or not at all.
    fn make(&self, session: &mut Session, old: &[ExistingProcedure]) -> Result<(), Error> {
        admin::run(session, "BEGIN")?;
        for old in old {
            admin::run(session, &format!("DROP PROCEDURE {}", old.signature))?;
        }
        admin::run(session, self.text)?;
        // With its schema: another one of the name may be on the search path.
        let schema = admin::value(session, "SELECT current_schema()")?.unwrap_or_default();
        let comment = quote_literal(&self.mark.comment());
        let (schema, name) = (quote_ident(&schema), quote_ident(self.name));
        admin::run(
            session,
            &format!("COMMENT ON PROCEDURE {schema}.{name} IS {comment}"),
        )?;
        admin::run(session, "COMMIT")
    }

    fn trouble(&self, error: &Error, doing: &str) -> Failure {
        trouble::server(error, &format!("could not {doing} procedure {}", self.name))
    }
}

fn sha256(text: &str) -> String {
    let hash = Sha256::digest(text.as_bytes());
    hash.iter().map(|b| format!("{b:02x}")).collect()
}
