//! What must hold of the data, in the terminal.

use pgdyno_model::document::DataCheck;
use pgdyno_spec::text;

/// Checks that held in one line, each of the others in one of its own; empty without any.
pub fn text(checks: &[DataCheck]) -> String {
    let mut lines = String::new();
    let held: Vec<&str> = { checks.iter() }
        .filter(|check| check.held == Some(true))
        .map(|check| check.name.as_str())
        .collect();
    if !held.is_empty() {
        let of_all = text::count(checks.len() as u64);
        let held_count = text::count(held.len() as u64);
        lines += &format!(
            "checks       {held_count} of {of_all} held: {}\n",
            held.join(", ")
        );
    }
    for check in checks.iter().filter(|check| check.held != Some(true)) {
        let line = match (check.held, &check.unknown) {
            (Some(false), _) => format!(
                "FAILED {} ({} of {}): expected {}, found {}",
                check.name,
                text::count(check.failures),
                text::plural(check.looks, "look"),
                check.expected,
                check.found.as_deref().unwrap_or("nothing"),
            ),
            (_, why) => format!(
                "not known {}: {}",
                check.name,
                why.as_deref().unwrap_or("never asked"),
            ),
        };
        lines += &format!("check        {line}\n");
    }
    lines
}
