//! As JUnit's XML, which CI servers show as tests: a case for each condition of the gate. The form is that of the
//! schema that Jenkins' xUnit plugin has for it.

use pgdyno_model::document::GateResult;
use pgdyno_model::document::ci::Ci;

/// The document. Where the gate cannot tell, its case is an error, or by `cannot_tell` passed (skipped) or failed.
pub fn junit(document: &Ci, cannot_tell: Option<GateResult>) -> String {
    let cases = document.conditions.len();
    let count = |kind: &str| {
        let of = document.conditions.iter();
        of.filter(|condition| element(condition.result, cannot_tell) == Some(kind))
            .count()
    };
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"pgdyno ci\" \
         tests=\"{cases}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3}\">\n",
        count("failure"),
        count("error"),
        count("skipped"),
        document.elapsed_s
    );
    for condition in &document.conditions {
        text += &format!(
            "    <testcase classname=\"pgdyno.{}\" name=\"{}\" time=\"{:.3}\">",
            escaped(&document.workload),
            escaped(&condition.condition),
            document.elapsed_s / cases.max(1) as f64
        );
        let evidence = escaped(&condition.evidence);
        text += &match element(condition.result, cannot_tell) {
            None => format!("<system-out>{evidence}</system-out>"),
            Some("skipped") => format!("<skipped message=\"cannot tell: {evidence}\"/>"),
            Some(kind) => format!("<{kind} message=\"{evidence}\"/>"),
        };
        text += "</testcase>\n";
    }
    text + "  </testsuite>\n</testsuites>\n"
}

/// What a case holds that is not simply passed.
fn element(result: GateResult, cannot_tell: Option<GateResult>) -> Option<&'static str> {
    match (result, cannot_tell) {
        (GateResult::Passed, _) => None,
        (GateResult::Failed, _) | (GateResult::CannotTell, Some(GateResult::Failed)) => {
            Some("failure")
        }
        (GateResult::CannotTell, Some(GateResult::Passed)) => Some("skipped"),
        (GateResult::CannotTell, _) => Some("error"),
    }
}

/// Text within an attribute or an element; what XML cannot hold at all becomes a question mark.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            char if char.is_control() => escaped.push('?'),
            char => escaped.push(char),
        }
    }
    escaped
}
