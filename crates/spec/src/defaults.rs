//! What a configuration file says, for all that ask the environment: it is set once, before anything asks.
//!
//! Precedence is the usual one: the command line, the environment, the project's file, the user's file.

use std::path::PathBuf;
use std::sync::OnceLock;

use crate::secret::Address;

/// A value, and the file that it is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said<T> {
    pub value: T,
    pub by: PathBuf,
}

/// What is used where neither the command line nor the environment says anything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Defaults {
    pub url: Option<Said<Address>>,
    /// The notebook: a file's path or a server's address.
    pub store: Option<Said<PathBuf>>,
    /// Every trial gets them, besides those of the command line.
    pub tags: Option<Said<Vec<String>>>,
    pub observe: Option<Said<String>>,
}

static DEFAULTS: OnceLock<Defaults> = OnceLock::new();

/// Sets them for this process; those that were set before stay.
pub fn set(defaults: Defaults) {
    let _ = DEFAULTS.set(defaults);
}

/// Those of this process: none before they were set.
pub fn get() -> &'static Defaults {
    static NONE: Defaults = Defaults {
        url: None,
        store: None,
        tags: None,
        observe: None,
    };
    DEFAULTS.get().unwrap_or(&NONE)
}

/// The tags that every trial gets.
pub fn tags() -> Vec<String> {
    let said = get().tags.as_ref();
    said.map_or_else(Vec::new, |said| said.value.clone())
}
