//! Scripts of a pack that are no transactions: what they come to, statement by statement.

use std::collections::BTreeMap;

use pgdyno_script::{Language, Names, Vars};

use super::pack::Pack;
use super::recipe;

/// The statements that this file's script makes.
///
/// # Errors
/// A mistake in the script, told with its file.
pub fn statements(
    pack: &Pack,
    file: &str,
    dialect: &str,
    values: &BTreeMap<String, String>,
) -> Result<Vec<String>, String> {
    // Pack::new has made sure that the file is there.
    let Some((file, text)) = pack.sql_file(file, dialect) else {
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
