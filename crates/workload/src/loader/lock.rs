//! Only one load into a database at a time.

use std::thread;
use std::time::{Duration, Instant};

use pgdyno_session::Session;
use sha2::{Digest, Sha256};

use super::Watch;
use crate::pack::Pack;
use crate::stop::Stop;
use pgdyno_database::dialect::{Dialect, Product};
use pgdyno_database::{admin, trouble};
use pgdyno_spec::Failure;

/// The server gives up the session of a process that is gone within 20 s.
const OF_DEAD_MAX: Duration = Duration::from_secs(30);
/// How often it is tried again.
const TRY_INTERVAL: Duration = Duration::from_millis(200);

/// Taken for the session, so that a lost connection frees it. Where others load, too, the one that had it
/// may just have died: it is waited for. A session that a pooler shares would leave the lock with others: there
/// none is taken, and that is said.
pub(super) fn lock(
    session: &mut Session,
    pack: &Pack,
    product: &Product,
    watch: &mut Watch<'_>,
) -> Result<(), Failure> {
    let Some(query) = product.dialect.try_lock else {
        return Ok(());
    };
    if product.known && !session.is_own() {
        let text =
            "two loads at the same time are not detected here: clients share the server's sessions";
        watch.progress.warning(text);
        return Ok(());
    }
    let query = query.replace("{key}", &lock_key().to_string());
    let (began, stop) = (Instant::now(), Stop::new(watch.interrupts));
    let mut is_reported = false;
    loop {
        let got = match admin::value(session, &query) {
            // A product that is not known may have no such lock.
            Err(_) if !product.known && !session.is_broken() => return Ok(()),
            got => got.map_err(|e| trouble::server(&e, "could not lock the load"))?,
        };
        if got.as_deref() == Some("t") {
            return Ok(());
        }
        if watch.others.is_none() || began.elapsed() > OF_DEAD_MAX || stop.asked() {
            break;
        }
        if !is_reported {
            let text = "waiting until another pgdyno does not load into this database any more";
            watch.progress.step(text);
            is_reported = true;
        }
        thread::sleep(TRY_INTERVAL);
    }
    Err(Failure::new(format!(
        "cannot load {}: another pgdyno is loading into this database",
        pack.tables_pack().name()
    ))
    .hint("wait until it is done"))
}

pub(super) fn unlock(session: &mut Session, dialect: &Dialect) {
    if let Some(query) = dialect.unlock.filter(|_| session.is_own()) {
        // A connection that is lost has given the lock back already.
        let _ = admin::run(session, &query.replace("{key}", &lock_key().to_string()));
    }
}

/// A number that no other program is likely to lock.
fn lock_key() -> i64 {
    let hash = Sha256::digest(b"pgdyno load");
    i64::from_be_bytes(std::array::from_fn(|i| hash[i]))
}
