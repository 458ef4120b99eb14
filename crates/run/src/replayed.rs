//! Waits until standbys show what was written on the primary: what a history begins with is the same wherever it
//! is read.

use std::thread;
use std::time::{Duration, Instant};

use pgdyno_database::open::Endpoint;
use pgdyno_database::{admin, trouble};
use pgdyno_drive::Control;
use pgdyno_spec::{Exit, Failure};

use super::prepare::Prepared;

const PAUSE: Duration = Duration::from_millis(10);

/// Returns when every standby with a role has replayed what the primary has written by now, or the trial is
/// stopped.
///
/// # Errors
/// One cannot be asked, or does not get there by `until`.
pub fn wait(prepared: &Prepared, control: &Control, until: Instant) -> Result<(), Failure> {
    let dialect = prepared.product.dialect;
    let queries = (
        dialect.is_standby,
        dialect.cluster.wal_position,
        dialect.cluster.wal_replayed,
    );
    let (Some(is_standby), Some(position), Some(replayed)) = queries else {
        return Ok(());
    };
    let endpoints: Vec<&Endpoint> = { prepared.target.roles.iter() }
        .flat_map(|role| &role.endpoints)
        .collect();
    if endpoints.is_empty() {
        return Ok(());
    }
    let mut primary = prepared.target.connect()?;
    let number = |text: Option<String>| text.and_then(|text| text.parse::<u64>().ok());
    let written = admin::value(&mut primary, position)
        .map_err(|e| trouble::server(&e, "could not read the primary's position"))?;
    primary.close();
    let Some(written) = number(written) else {
        return Ok(());
    };
    for endpoint in endpoints {
        let mut session = endpoint
            .connect()
            .map_err(|e| trouble::connect(&e, prepared.target.kind))?;
        let failed = |e| trouble::server(&e, &format!("could not ask {}", endpoint.name));
        let is_one = admin::value(&mut session, is_standby).map_err(failed)?;
        while is_one.as_deref() == Some("t") && !control.is_stopping() {
            let at = admin::value(&mut session, replayed).map_err(failed)?;
            if number(at).is_some_and(|at| at >= written) {
                break;
            }
            if Instant::now() > until {
                let text = format!(
                    "the standby {} has not replayed what a history begins with: its tables are not empty",
                    endpoint.name
                );
                return Err(Failure::with(Exit::Failed, text).hint(
                    "resume replay (pg_wal_replay_resume()), or find why it is so far behind",
                ));
            }
            thread::sleep(PAUSE);
        }
        session.close();
    }
    Ok(())
}
