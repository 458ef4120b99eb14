//! A report's document as Markdown, for tickets and CI: the verdict, the figures, what to know before
//! believing them. The same document as the page's, so the same figures.

mod common;
mod comparison;
mod experiment;
mod trial;

pub use comparison::comparison;
pub use experiment::experiment;
pub use trial::trial;

use pgdyno_spec::text as figures;

pub(crate) fn table<H: AsRef<str>>(heading: &[H], rows: &[Vec<String>]) -> String {
    let line = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
    let mut text = line(heading.iter().map(AsRef::as_ref).collect());
    text += &line(heading.iter().map(|_| "---").collect());
    for row in rows {
        text += &line(row.iter().map(String::as_str).collect());
    }
    text + "\n"
}

/// Text that Markdown takes for nothing but text, on one line.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in figures::shown(text).chars() {
        match char {
            '\n' | '\t' => escaped.push(' '),
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

fn rate(per_second: Option<f64>) -> String {
    per_second.map_or_else(|| "–".to_owned(), |rate| figures::significant(rate, 3))
}

fn ms(us: Option<u64>) -> String {
    us.map_or_else(|| "–".to_owned(), figures::ms)
}

/// Microseconds over several trials, rounded as on their page.
fn ms_of(us: Option<f64>) -> String {
    us.map_or_else(|| "–".to_owned(), figures::ms_as_shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_model::document::Common;

    #[test]
    fn hostile_text_is_neither_a_table_nor_a_link_nor_html() {
        let title = "a | b\n<img src=x> [x](javascript:1)".to_owned();
        let common = Common::new("1.0", String::new(), title, Vec::new());
        let rows = [vec![escaped("p|q"), rate(None)]];
        let text = common::begin(&common) + &table(&["point", "rate"], &rows);
        assert!(
            text.starts_with("## a \\| b &lt;img src=x&gt; \\[x\\](javascript:1)\n"),
            "{text}"
        );
        assert!(text.contains("| p\\|q | – |"), "{text}");
    }
}
