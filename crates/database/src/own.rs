//! Servers of pgdyno's own: how the user wants them.

use pgdyno_platform::interrupt::Interrupts;
use pgdyno_server::{Listen, Setting};

use super::trouble;
use pgdyno_spec::{Failure, OwnSpec};

/// A server of pgdyno's own as the user wants it, checked, as the server's layer takes it.
///
/// # Errors
/// A setting that is none.
pub fn options(wanted: &OwnSpec, listen: Listen) -> Result<pgdyno_server::Options, Failure> {
    let settings = wanted
        .pg_set
        .iter()
        .map(|text| {
            text.secret()
                .parse::<Setting>()
                .map_err(trouble::own_server)
        })
        .collect::<Result<_, _>>()?;
    Ok(pgdyno_server::Options {
        bindir: wanted.pg_bindir.clone(),
        user: wanted.pg_user.clone(),
        settings,
        listen,
        interrupted: || Interrupts::install().is_ok_and(|i| i.count() > 0),
        ..pgdyno_server::Options::default()
    })
}
