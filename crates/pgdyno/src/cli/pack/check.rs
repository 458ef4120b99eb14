//! `pgdyno pack check`: all that is wrong with a pack's files.

use serde_json::json;

use pgdyno_spec::{Exit, text};
use pgdyno_workload::soundness;

/// What is wrong, a paragraph each, or what is there; and how the command ends.
pub(super) fn check(name: &str, is_json: bool) -> (String, Exit) {
    let (pack, wrong) = soundness::check(name);
    let exit = if wrong.is_empty() {
        Exit::Ok
    } else {
        Exit::Failed
    };
    if is_json {
        let wrong = wrong.iter();
        let wrong = wrong.map(|e| json!({"file": e.file, "line": e.line, "message": e.message}));
        let document = json!({"pack": name, "wrong": wrong.collect::<Vec<_>>()});
        return (format!("{document:#}\n"), exit);
    }
    let mut said: String = wrong.iter().map(|error| format!("{error}\n")).collect();
    said += &match &pack {
        Some(pack) if wrong.is_empty() => {
            let m = &pack.manifest;
            format!(
                "{name}: nothing wrong in {}, {} and {}\n",
                text::plural(m.scripts.len() as u64, "script"),
                text::plural(pack.tables().len() as u64, "table"),
                text::plural(m.checks.len() as u64, "check"),
            )
        }
        _ => format!("{name}: {}\n", text::plural(wrong.len() as u64, "mistake")),
    };
    (said, exit)
}
