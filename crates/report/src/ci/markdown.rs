//! For a pull request.

use pgdyno_model::document::GateResult;
use pgdyno_model::document::ci::Ci;
use pgdyno_spec::text as figures;

use super::text::row;
use super::{faster, word};
use crate::markdown::{escaped, table};
use crate::notes;

/// All of it, ready to be posted.
pub fn markdown(document: &Ci) -> String {
    let mark = match document.answer {
        GateResult::Passed => "✅",
        GateResult::Failed => "❌",
        GateResult::CannotTell => "❔",
    };
    let answer = if document.interrupted {
        format!("interrupted, {} so far", word(document.answer))
    } else {
        word(document.answer).to_owned()
    };
    let mut text = format!("### {mark} pgdyno: {answer}\n\n`{}`\n\n", document.gate);
    for condition in &document.conditions {
        text += &format!(
            "- **{}**: {}: {}\n",
            escaped(&condition.condition),
            word(condition.result),
            escaped(&condition.evidence)
        );
    }
    if let Some(faster) = faster(document) {
        text += &format!("\n{}\n", escaped(&faster));
    }
    let rows: Vec<Vec<String>> = document
        .figures
        .iter()
        .map(|figure| row(figure).map(|cell| escaped(&cell)).to_vec())
        .collect();
    text += &format!(
        "\n{}",
        table(
            &["", "A", "B", "change", "interval", "smallest seen"],
            &rows
        )
    );
    for (side, of) in [("A", &document.base), ("B", &document.head)] {
        let version = of.version.as_deref().unwrap_or("version not known");
        text += &format!("{side}: {} ({})  \n", escaped(&of.given), escaped(version));
    }
    text += &format!(
        "{}: {} at {}, {} of two trials a side, {}\n",
        document.mode,
        escaped(&document.workload),
        figures::plural(document.clients.into(), "client"),
        figures::plural(document.blocks as u64, "block"),
        figures::seconds(document.elapsed_s),
    );
    for note in &document.notes {
        text += &format!("\n> {}\n", escaped(&notes::line(note)));
    }
    if let Some(advice) = &document.advice {
        text += &format!("\n{}\n", escaped(advice));
    }
    text
}
