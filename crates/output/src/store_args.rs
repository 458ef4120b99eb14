//! The option that names the store, the same on every native verb.

use std::path::PathBuf;

use clap::Args;

use pgdyno_spec::Failure;
use pgdyno_store::{Store, place};

use crate::Keep;

/// The notebook's options.
#[derive(Debug, Clone, Default, Args)]
pub struct StoreArgs {
    /// The notebook: a file, or a team's on a server (postgresql://…, service=…) [default:
    /// $PGDYNO_STORE, else pgdyno/notebook.sqlite in $XDG_DATA_HOME or ~/.local/share]
    #[arg(long, value_name = "PATH|URL")]
    pub store: Option<PathBuf>,
}

/// The same of a verb that runs one trial.
#[derive(Debug, Clone, Default, Args)]
pub struct KeepArgs {
    /// The notebook's options.
    #[command(flatten)]
    pub store: StoreArgs,

    /// Do not keep the trial in the notebook
    #[arg(long, conflicts_with = "store")]
    pub no_store: bool,
}

impl KeepArgs {
    /// Where the trial is kept, if it is to be.
    ///
    /// # Errors
    /// The store cannot be opened or written.
    pub fn open(&self) -> Result<Keep, Failure> {
        let store = (!self.no_store).then_some(self.store.store.as_deref());
        Keep::open(store).map_err(|failure| failure.hint("or do not keep the run: --no-store"))
    }
}

impl StoreArgs {
    /// The store, to read from it or to change what is there.
    ///
    /// # Errors
    /// There is none, or it cannot be used.
    pub fn existing(&self) -> Result<Store, Failure> {
        Store::existing(&place::path(self.store.as_deref())?)
    }

    /// The store, made when there is none.
    ///
    /// # Errors
    /// It cannot be used.
    pub fn open(&self) -> Result<Store, Failure> {
        Store::open(&place::path(self.store.as_deref())?)
    }
}
