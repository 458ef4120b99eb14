//! Findings without a field of their own in the document: a line each. The ends of names are units (`_us`, `_bytes`,
//! `_share`, `_per_s`).

use pgdyno_model::Findings;
use pgdyno_model::document::NamedFinding;
use pgdyno_spec::text;
use serde_json::Value;

use crate::wrap::wrapped;

/// Where text begins in the terminal.
const INDENT: usize = 13;

/// They, with words.
pub fn document(findings: &Findings) -> Vec<NamedFinding> {
    let named = findings.others().map(|(name, value)| NamedFinding {
        name: name.to_owned(),
        text: words(value),
        value: value.clone(),
    });
    named.collect()
}

/// A line each.
pub fn text(findings: &[NamedFinding]) -> String {
    let line = |it: &NamedFinding| wrapped(&words_of(&it.name), &it.text, INDENT);
    findings.iter().map(line).collect()
}

fn words(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| field(name, value));
            fields.collect::<Vec<_>>().join(", ")
        }
        other => plain(other),
    }
}

type Shown = fn(f64) -> String;

/// What the end of a field's name says of its unit.
const UNITS: [(&str, Shown); 4] = [
    ("_us", text::time),
    ("_bytes", text::bytes),
    ("_share", text::share),
    ("_per_s", text::per_second),
];

fn field(name: &str, value: &Value) -> String {
    for (unit, shown) in UNITS {
        if let (Some(name), Some(number)) = (name.strip_suffix(unit), value.as_f64()) {
            return format!("{} {}", words_of(name), shown(number));
        }
    }
    format!("{} {}", words_of(name), plain(value))
}

fn words_of(name: &str) -> String {
    text::shown(name).replace('_', " ")
}

fn plain(value: &Value) -> String {
    match value {
        Value::Number(number) => match (number.as_u64(), number.as_f64()) {
            (Some(count), _) => text::count(count),
            (None, Some(number)) => text::significant(number, 3),
            (None, None) => number.to_string(),
        },
        Value::String(text) => text::shown(text).into_owned(),
        Value::Null => "not known".to_owned(),
        other => text::shown(&other.to_string()).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_finding_is_shown_by_its_names_with_their_units() {
        let mut findings = Findings::default();
        findings.insert(
            "page_cache".to_owned(),
            json!({
                "kept_bytes": 3 << 20,
                "hit_share": 0.5,
                "reads_per_s": 1234.0,
                "slowest_us": 1500,
                "evictions": 12_345,
                "of": "pg\u{1b}[31mdata",
                "limit_bytes": null,
            }),
        );
        findings.insert("rounds".to_owned(), json!(7));
        findings.insert("checks".to_owned(), json!([]));
        let document = document(&findings);
        assert_eq!(document[0].value["evictions"], 12_345);
        let lines = text(&document).replace('\u{a0}', " ");
        for part in [
            "page cache   evictions 12,345, hit 50.0 %",
            "kept 3 MB",
            "limit bytes not known",
            "reads 1,234/s",
            "slowest 1.50 ms",
            "rounds       7",
        ] {
            assert!(lines.contains(part), "{part}: {lines}");
        }
        assert!(!lines.contains('\u{1b}'), "{lines:?}");
        assert!(!lines.contains("checks"), "{lines}");
    }
}
