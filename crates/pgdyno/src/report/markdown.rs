//! A report's document as Markdown, for tickets and CI: the verdict, the figures, what to know before
//! believing them. The same document as the page's, so the same figures.

mod common;
mod trial;

use serde_json::Value;

use pgdyno_model::text as figures;

pub use trial::trial;

/// An experiment or a comparison, ready to be pasted.
pub fn text(document: &Value) -> String {
    let mut text = format!("## {}\n\n", inline(&document["title"]));
    let facts = strings(&document["facts"]);
    if !facts.is_empty() {
        text += &format!("{}\n\n", facts.join(" · "));
    }
    text += &verdict(&document["verdict"]);
    text += &match document["kind"].as_str() {
        Some("experiment") => experiment(document),
        Some("compare") => comparison(document),
        _ => String::new(),
    };
    text += &notes(&document["notes"]);
    let command = document["command"].as_str().unwrap_or_default();
    if !command.is_empty() {
        text += &format!("```\n{}\n```\n", command.replace("```", "'''"));
    }
    text
}

fn verdict(verdict: &Value) -> String {
    let Some(sentence) = verdict["sentence"].as_str() else {
        return String::new();
    };
    let mut text = format!("**{}.**\n\n", escaped(sentence));
    for proof in list(&verdict["evidence"]) {
        text += &format!(
            "- **{}** {}\n",
            inline(&proof["figure"]),
            inline(&proof["sentence"])
        );
    }
    if let Some(second) = verdict["second"]["sentence"].as_str() {
        text += &format!("- behind it: {}\n", escaped(second));
    }
    for remedy in strings(&verdict["try"]) {
        text += &format!("- try: {}\n", escaped(&remedy));
    }
    if let Some(careful) = verdict["careful"].as_str() {
        text += &format!("- careful: {}\n", escaped(careful));
    }
    if let Some(result) = verdict["gate"]["result"].as_str() {
        let condition = inline(&verdict["gate"]["condition"]);
        text += &format!("- gate {condition}: **{}**\n", result.replace('-', " "));
    }
    text + "\n"
}

fn experiment(document: &Value) -> String {
    let points = list(&document["points"]).map(|point| {
        let goodput = &point["figures"]["goodput"]["over_repeats"];
        vec![
            inline(&point["title"]),
            rate(&goodput["median"]),
            format!("{} to {}", rate(&goodput["min"]), rate(&goodput["max"])),
            ms(&point["figures"]["p50"]["together_us"]),
            ms(&point["figures"]["p99"]["together_us"]),
            point["repeats"].to_string(),
            inline(&point["limit"]["name"]),
        ]
    });
    let heading = [
        "point",
        "committed/s, median",
        "range",
        "p50, ms",
        "p99, ms",
        "repeats",
        "limited by",
    ];
    table(&heading, &points.collect::<Vec<_>>())
}

fn comparison(document: &Value) -> String {
    let mut text = String::new();
    for pair in list(&document["pairs"]) {
        text += &format!("### {}\n\n", inline(&pair["point"]));
        let rows = list(&pair["differences"]).map(|one| {
            let shown = |value: &Value| match one["unit"].as_str() {
                Some("µs") => ms(value),
                _ => rate(value),
            };
            let change = |share: &Value| {
                let change = share.as_f64().map(figures::change);
                change.unwrap_or_else(|| "–".to_owned())
            };
            let interval = &one["change_interval"];
            let says = one["not_compared"].as_str().map(escaped);
            let says = says.unwrap_or_else(|| inline(&one["verdict"]).replace('-', " "));
            let unit = if one["unit"] == "µs" { "ms" } else { "tx/s" };
            vec![
                format!("{}, {unit}", inline(&one["figure"])),
                shown(&one["a"]["median"]),
                shown(&one["b"]["median"]),
                change(&one["change"]),
                match interval.is_null() {
                    true => "–".to_owned(),
                    false => format!("{} to {}", change(&interval[0]), change(&interval[1])),
                },
                says,
            ]
        });
        let heading = ["figure", "A", "B", "change", "95 % interval", ""];
        text += &table(&heading, &rows.collect::<Vec<_>>());
    }
    let changed = list(&document["changed"])
        .map(|one| vec![inline(&one["name"]), inline(&one["a"]), inline(&one["b"])]);
    let changed: Vec<Vec<String>> = changed.collect();
    if !changed.is_empty() {
        text += &table(&["differs", "A", "B"], &changed);
    }
    text
}

fn notes(notes: &Value) -> String {
    let told = list(notes).map(|note| {
        format!(
            "- {}: {} ({})\n",
            inline(&note["severity"]),
            inline(&note["sentence"]),
            inline(&note["code"])
        )
    });
    let told: String = told.collect();
    match told.is_empty() {
        true => told,
        false => format!("Before believing it:\n\n{told}\n"),
    }
}

fn table<H: AsRef<str>>(heading: &[H], rows: &[Vec<String>]) -> String {
    let line = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
    let mut text = line(heading.iter().map(AsRef::as_ref).collect());
    text += &line(heading.iter().map(|_| "---").collect());
    for row in rows {
        text += &line(row.iter().map(String::as_str).collect());
    }
    text + "\n"
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn strings(value: &Value) -> Vec<String> {
    list(value).map(inline).collect()
}

fn inline(value: &Value) -> String {
    match value {
        Value::Null => "–".to_owned(),
        Value::String(text) => escaped(text),
        other => other.to_string(),
    }
}

/// Text that Markdown takes for nothing but text, on one line.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\n' | '\r' | '\t' => escaped.push(' '),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '\\' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' => {
                escaped.push('\\');
                escaped.push(char);
            }
            char => escaped.push(char),
        }
    }
    escaped
}

fn rate(value: &Value) -> String {
    value.as_f64().map_or_else(|| "–".to_owned(), figures::rate)
}

fn ms(value: &Value) -> String {
    let us = value.as_f64().map(|us| us.round() as u64);
    us.map_or_else(|| "–".to_owned(), figures::ms)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hostile_text_is_neither_a_table_nor_a_link_nor_html() {
        let document = json!({
            "kind": "experiment",
            "title": "a | b\n<img src=x> [x](javascript:1)",
            "points": [{ "title": "p|q", "repeats": 1 }],
        });
        let text = text(&document);
        assert!(
            text.starts_with("## a \\| b &lt;img src=x&gt; \\[x\\](javascript:1)\n"),
            "{text}"
        );
        assert!(text.contains("| p\\|q | – |"), "{text}");
    }
}
