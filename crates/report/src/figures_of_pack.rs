//! What the workload's pack makes of a trial, in the terminal.

use pgdyno_model::document::PackFigure;
use pgdyno_spec::text;

use crate::table::Table;

/// A table of them; empty without any.
pub fn text(figures: &[PackFigure], width: usize) -> String {
    if figures.is_empty() {
        return String::new();
    }
    let mut table = Table::default();
    table.row(["of the pack", "figure", "limits", ""]);
    for figure in figures {
        let value = match (figure.value, &figure.unknown) {
            (Some(value), _) => format!("{} {}", number(value), figure.unit),
            (None, why) => format!("not known: {}", why.as_deref().unwrap_or("no value")),
        };
        let judged = match figure.within {
            Some(false) => "OUTSIDE",
            Some(true) => "within",
            None => "",
        };
        table.row([
            figure.name.clone(),
            value,
            limits(figure),
            judged.to_owned(),
        ]);
    }
    table.text(width)
}

fn number(value: f64) -> String {
    text::significant(value, 4)
}

/// As they were given: 0.9, not 0.9000.
fn limits(figure: &PackFigure) -> String {
    let number = |limit: f64| match number(limit) {
        text if text.contains('.') => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        text => text,
    };
    match (figure.at_least, figure.at_most) {
        (Some(least), Some(most)) => format!("{} to {}", number(least), number(most)),
        (Some(least), None) => format!("at least {}", number(least)),
        (None, Some(most)) => format!("at most {}", number(most)),
        (None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_figure_is_shown_with_its_unit_its_limits_and_whether_it_is_within() {
        let figure = PackFigure {
            name: "p90".to_owned(),
            help: "h".to_owned(),
            unit: "ms".to_owned(),
            value: Some(5001.0),
            at_least: None,
            at_most: Some(5000.0),
            within: Some(false),
            unknown: None,
        };
        let unknown = PackFigure {
            name: "share".to_owned(),
            value: None,
            at_least: Some(0.9),
            at_most: Some(1.1),
            within: None,
            unknown: Some("too few transactions".to_owned()),
            ..figure.clone()
        };
        let text = text(&[figure, unknown], 100);
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let lines: Vec<String> = text.lines().map(words).collect();
        assert_eq!(lines[1], "p90 5,001 ms at most 5,000 OUTSIDE", "{text}");
        assert_eq!(lines[2], "share not known: too few transactions 0.9 to 1.1");
    }

    #[test]
    fn without_figures_there_is_no_table() {
        assert_eq!(text(&[], 80), "");
    }
}
