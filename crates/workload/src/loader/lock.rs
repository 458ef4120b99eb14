//! Only one load into a database at a time.

use pgdyno_session::Session;
use sha2::{Digest, Sha256};

use crate::pack::Pack;
use pgdyno_database::dialect::{Dialect, Product};
use pgdyno_database::{admin, trouble};
use pgdyno_model::Failure;

/// Taken for the session, so that a lost connection frees it.
pub(super) fn lock(session: &mut Session, pack: &Pack, product: &Product) -> Result<(), Failure> {
    let Some(query) = product.dialect.try_lock else {
        return Ok(());
    };
    let query = query.replace("{key}", &lock_key().to_string());
    let got = match admin::value(session, &query) {
        // A product that is not known may have no such lock.
        Err(_) if !product.known && !session.is_broken() => return Ok(()),
        got => got.map_err(|e| trouble::server(&e, "could not lock the load"))?,
    };
    if got.as_deref() == Some("t") {
        return Ok(());
    }
    Err(Failure::new(format!(
        "cannot load {}: another pgdyno is loading into this database",
        pack.tables_pack().name()
    ))
    .hint("wait until it is done"))
}

pub(super) fn unlock(session: &mut Session, dialect: &Dialect) {
    if let Some(query) = dialect.unlock {
        // A connection that is lost has given the lock back already.
        let _ = admin::run(session, &query.replace("{key}", &lock_key().to_string()));
    }
}

/// A number that no other program is likely to lock.
fn lock_key() -> i64 {
    let hash = Sha256::digest(b"pgdyno load");
    i64::from_be_bytes(std::array::from_fn(|i| hash[i]))
}
