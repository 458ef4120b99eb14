//! Finds out once where the server is, for all instruments that want to know.

use std::sync::{Arc, OnceLock};

use pgdyno_database::dialect::Dialect;
use pgdyno_database::locate::Located;
use pgdyno_database::open::Target;

/// Looks when first asked, which takes as long as connecting does.
#[derive(Clone)]
pub struct Scout(Arc<Inner>);

struct Inner {
    target: Target,
    dialect: &'static Dialect,
    located: OnceLock<Located>,
}

impl Scout {
    /// Of this target; `known` where it was found out before.
    pub fn new(target: &Target, dialect: &'static Dialect, known: Option<&Located>) -> Self {
        Self(Arc::new(Inner {
            target: target.clone(),
            dialect,
            located: known.cloned().map(OnceLock::from).unwrap_or_default(),
        }))
    }

    pub fn located(&self) -> &Located {
        let Inner {
            target, dialect, ..
        } = &*self.0;
        self.0
            .located
            .get_or_init(|| Located::find(target, dialect))
    }

    pub fn dialect(&self) -> &'static Dialect {
        self.0.dialect
    }
}
