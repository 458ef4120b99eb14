//! Work units to be explained: what a pack's script for it comes to, statement by statement.

use std::collections::BTreeMap;

use pgdyno_script::{Language, Names, Vars};

use super::manifest::Explain;
use super::pack::Pack;
use super::recipe;

/// The statements that the script makes, each a work unit with a key of its own.
///
/// # Errors
/// A mistake in the script, told with its file.
pub fn statements(
    pack: &Pack,
    explain: &Explain,
    dialect: &str,
    values: &BTreeMap<String, String>,
) -> Result<Vec<String>, String> {
    // Pack::new has made sure that the file is there.
    let Some((file, text)) = pack.sql_file(&explain.file, dialect) else {
        return Ok(Vec::new());
    };
    let place = format!("{}/{file}", pack.place);
    let text = pack.made(&place, text, values)?;
    let mut names = Names::new();
    let script = Language::Pgdyno.parse(&place, &text, &mut names);
    let script = script.map_err(|e| e.to_string())?;
    let mut vars = Vars::new(&names);
    for (name, value) in values {
        if let Some(slot) = names.get(name) {
            vars.set_text(slot, value);
        }
    }
    recipe::statements(Some(&script), &vars, &recipe::Chance::new(&names))
}
