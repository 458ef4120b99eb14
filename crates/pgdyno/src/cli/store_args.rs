//! The option that names the store, the same on every native verb.

use std::path::PathBuf;

use clap::Args;

use pgdyno_model::Failure;
use pgdyno_output::Keep;
use pgdyno_store::{Store, place};

/// Which store.
#[derive(Debug, Clone, Default, Args)]
pub struct StoreArgs {
    /// The notebook's file [default: $PGDYNO_STORE, else pgdyno/notebook.sqlite in $XDG_DATA_HOME
    /// or ~/.local/share]
    #[arg(long, value_name = "PATH")]
    pub store: Option<PathBuf>,
}

impl StoreArgs {
    /// The store, to read from it or to change what is there.
    ///
    /// # Errors
    /// There is none, or it cannot be used.
    pub fn existing(&self) -> Result<Store, Failure> {
        Store::existing(&place::path(self.store.as_deref())?)
    }

    /// Where a run is kept, unless it is not to be.
    ///
    /// # Errors
    /// The store cannot be used.
    pub fn keep(&self, no_store: bool) -> Result<Keep, Failure> {
        match no_store {
            true => Ok(Keep::nothing()),
            false => Keep::open(self.store.as_deref())
                .map_err(|failure| failure.hint("or keep nothing: --no-store")),
        }
    }

    /// The store, made when there is none.
    ///
    /// # Errors
    /// It cannot be used.
    pub fn open(&self) -> Result<Store, Failure> {
        Store::open(&place::path(self.store.as_deref())?)
    }
}
