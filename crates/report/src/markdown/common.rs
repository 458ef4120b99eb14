//! What every report's Markdown begins and ends with.

use pgdyno_model::document::{Common, Gate, GateResult, PageNote, Verdict};

use super::escaped;

/// The title, the facts, the verdict.
pub fn begin(common: &Common) -> String {
    let mut text = format!("## {}\n\n", escaped(&common.title));
    if !common.facts.is_empty() {
        let facts: Vec<String> = common.facts.iter().map(|fact| escaped(fact)).collect();
        text += &format!("{}\n\n", facts.join(" · "));
    }
    text + &common.verdict.as_ref().map_or_else(String::new, verdict)
}

/// Validity notes, and how to do it again.
pub fn end(common: &Common) -> String {
    let mut text = notes(&common.notes);
    if !common.command.is_empty() {
        let command = common.command.replace("```", "'''");
        text += &format!("```\n{command}\n```\n");
    }
    text
}

fn verdict(verdict: &Verdict) -> String {
    let mut text = format!("**{}.**\n\n", escaped(&verdict.sentence));
    for proof in &verdict.evidence {
        let (figure, sentence) = (escaped(&proof.figure), escaped(&proof.sentence));
        text += &format!("- **{figure}** {sentence}\n");
    }
    if let Some(second) = &verdict.second {
        text += &format!("- next limit: {}\n", escaped(&second.sentence));
    }
    for remedy in &verdict.remedies {
        text += &format!("- try: {}\n", escaped(remedy));
    }
    if let Some(careful) = &verdict.careful {
        text += &format!("- careful: {}\n", escaped(careful));
    }
    if let Some(of) = &verdict.gate {
        text += &gate(of);
    }
    text + "\n"
}

/// What came of a gate.
pub fn gate(gate: &Gate) -> String {
    let result = match gate.result {
        GateResult::Passed => "passed",
        GateResult::Failed => "failed",
        GateResult::CannotTell => "cannot tell",
    };
    format!("- gate {}: **{result}**\n\n", escaped(&gate.condition))
}

fn notes(notes: &[PageNote]) -> String {
    let reported = notes.iter().map(|PageNote { note, .. }| {
        let severity = note.severity.word();
        let (sentence, code) = (escaped(&note.sentence), escaped(&note.code));
        format!("- {severity}: {sentence} ({code})\n")
    });
    let reported: String = reported.collect();
    if reported.is_empty() {
        reported
    } else {
        format!("Validity notes:\n\n{reported}\n")
    }
}
