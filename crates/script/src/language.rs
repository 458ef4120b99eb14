//! Which language a script is in: pgbench's, or pgdyno's, which has all of it and more.

use crate::{Names, Script, ScriptError, parse};

/// A language of scripts. Whatever pgbench accepts is a script of both and means the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Language {
    /// pgbench's: what pgbench refuses is refused, in its words.
    #[default]
    Pgbench,
    /// pgdyno's: texts, keys and draws of the field, counters, `\for`, `\error` besides.
    Pgdyno,
}

impl Language {
    /// Parses a script. `name` is what messages call it, `text` what is in it; as in pgbench, a NUL
    /// byte ends it. The names of all variables and counters it mentions are interned.
    ///
    /// # Errors
    /// The script has a mistake.
    pub fn parse(self, name: &str, text: &str, names: &mut Names) -> Result<Script, ScriptError> {
        parse::parse_in(self, name, text, names)
    }

    pub(crate) fn is_pgdyno(self) -> bool {
        self == Self::Pgdyno
    }
}
