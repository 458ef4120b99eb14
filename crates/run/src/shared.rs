//! Whether the notebook is kept by the very server that is measured: then writing it down is part of what
//! is measured.
//!
//! Not for: judging (`validity.rs`).

use std::time::Duration;

use pgdyno_database::cluster;
use pgdyno_database::dialect::Dialect;
use pgdyno_database::open::Target;
use pgdyno_model::notebook::Notebook;

/// What the notebook shares with what is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shared {
    Database,
    /// The server, or its cluster, with a database of its own.
    Server,
}

/// An endpoint that does not answer is not waited for: the run itself finds out.
const LIMIT: Duration = Duration::from_secs(5);

/// Asks the notebook's server and every endpoint the same. `None`: they share nothing, or it is not
/// known.
pub fn with(target: &Target, dialect: &Dialect, notebook: &dyn Notebook) -> Option<Shared> {
    let theirs = cluster::whereabouts(dialect).map(|query| notebook.answer(query));
    let (server, database) = (theirs[0].as_ref()?, &theirs[1]);
    let mut shared = None;
    for endpoint in &target.endpoints {
        let Ok(mut session) = endpoint.within(LIMIT).connect() else {
            continue;
        };
        let [here, of] = cluster::whereabouts(dialect)
            .map(|query| session.query_one_value(query).ok().flatten());
        session.close();
        if here.as_ref() == Some(server) {
            if of.is_some() && of == *database {
                return Some(Shared::Database);
            }
            shared = Some(Shared::Server);
        }
    }
    shared
}
