//! A pack's script that is run once before a warm-up (`before_warmup`): it reads what transactions read,
//! for instance, which brings it into the caches sooner than random reads do.

use std::time::{Duration, Instant};

use pgdyno_drive::Control;

use super::prepare::Prepared;
use pgdyno_database::{admin, trouble};
use pgdyno_model::Failure;
use pgdyno_workload::statements;

/// However much there is to do, a trial does not wait longer for it.
const LONGEST: Duration = Duration::from_secs(120);

/// Runs the script, statement by statement, until it ends, its time is up or the trial is stopped.
///
/// # Errors
/// A mistake in the script, or a statement that the server refuses.
pub fn run(prepared: &Prepared, control: &Control) -> Result<(), Failure> {
    let pack = prepared.workload.pack.as_ref();
    let Some((pack, file)) =
        pack.and_then(|pack| Some((pack, pack.manifest.before_warmup.as_deref()?)))
    else {
        return Ok(());
    };
    let dialect = prepared.product.dialect.name;
    let statements = statements::of_file(pack, file, dialect, &prepared.variables);
    let statements = statements.map_err(Failure::new)?;
    if statements.is_empty() {
        return Ok(());
    }
    let begun = Instant::now();
    let mut session = prepared.target.connect()?;
    for statement in statements {
        if control.is_stopping() || begun.elapsed() > LONGEST {
            break;
        }
        admin::run(&mut session, &statement).map_err(|e| {
            let place = &pack.place;
            trouble::server(&e, &format!("could not run before_warmup ({place}/{file})"))
        })?;
    }
    session.close();
    Ok(())
}
