//! Two sets of trials beside each other, for people: what differs first, then what came of it.

use pgdyno_model::document::Interval;
use pgdyno_model::document::comparison::{
    Compared, ComparedFigure, ComparedPoint, Comparison, Differing, Family, Verdict,
};
use pgdyno_spec::text::{change, plural};
use pgdyno_stats::gate::{Figure, Unit};

use super::METRICS;
use crate::answer;
use crate::notes;
use crate::table::{Table, cut, one_line};

/// All of it, ready to be printed.
pub fn text(comparison: &Comparison, width: usize) -> String {
    let mut text = differences(comparison, width);
    text += &format!("\n{}", answer::text(&comparison.answer));
    if !comparison.notes.is_empty() || !comparison.lacking.is_empty() {
        text.push('\n');
    }
    for of in &comparison.notes {
        text += &format!("{}\n", notes::line(of));
    }
    for lacking in &comparison.lacking {
        let (side, point) = (lacking.side, one_line(&lacking.point));
        text += &format!("not compared: {side} has no trials of {point}\n");
    }
    let points = comparison.points.iter();
    let are_many = comparison.points.len() > 1;
    text += &points
        .map(|of| format!("\n{}", point(of, are_many, width)))
        .collect::<String>();
    let tables = comparison.points.iter().flat_map(|of| of.figures.values());
    let compared = tables.filter_map(|figure| match figure {
        ComparedFigure::Compared(compared) => Some(&**compared),
        ComparedFigure::Not { .. } => None,
    });
    let compared: Vec<&Compared> = compared.collect();
    if compared.iter().any(|of| of.change.is_some()) {
        text += "\nB to A: Hodges–Lehmann shift of the logarithms; primary intervals hold together at \
                 95 %\n(Holm), exploratory figures by Benjamini–Hochberg; ±: the smallest change \
                 shown in 80 of 100\n";
    }
    text
}

/// Settings first, each on a line: `shared_buffers  128MB → 1GB`.
fn differences(comparison: &Comparison, width: usize) -> String {
    let left_out = match comparison.left_out {
        0 => String::new(),
        1 => "; 1 value that only names the server is left out".to_owned(),
        many => format!("; {many} values that only name the server are left out"),
    };
    if comparison.differences.is_empty() {
        return format!(
            "no differences of settings, versions and environment are recorded{left_out}\n"
        );
    }
    let count = plural(comparison.differences.len() as u64, "difference");
    let mut text = format!("{count} from A to B{left_out}\n");
    let names = comparison.differences.iter();
    let longest = names.map(|one| one.what.chars().count()).max();
    // Names are whole: values give way.
    let names = longest.unwrap_or(0).min(width / 2);
    for one in &comparison.differences {
        text += &line(one, names, width);
    }
    text
}

fn line(one: &Differing, names: usize, width: usize) -> String {
    let Differing { what, a, b, .. } = one;
    let (a, b) = (one_line(a), one_line(b));
    let room = width.saturating_sub(names.max(what.chars().count()) + 7);
    let (long_a, long_b) = (a.chars().count(), b.chars().count());
    let half = room / 2;
    let [a, b] = match long_a + long_b > room {
        true if long_a <= half => [a, cut(&b, room - long_a)],
        true if long_b <= half => [cut(&a, room - long_b), b],
        true => [cut(&a, half), cut(&b, half)],
        false => [a, b],
    };
    format!("  {what:<names$}  {a} → {b}\n")
}

fn point(point: &ComparedPoint, is_one_of_many: bool, width: usize) -> String {
    let mut table = Table::default();
    table.row([
        point.point.as_str(),
        "A",
        "B",
        "B to A",
        "interval",
        "±",
        "B is",
    ]);
    // Figures that are not compared, by the reason.
    let mut missing: Vec<(&String, Vec<&str>)> = Vec::new();
    for family in [Family::Primary, Family::Exploratory] {
        for metric in &METRICS {
            let Figure { name, unit } = metric.figure;
            if Family::from(metric.family) != family {
                continue;
            }
            let unit = match unit {
                Unit::TimeUs => "ms",
                _ => "tx/s",
            };
            let title = match family {
                Family::Primary => format!("{name}, {unit}"),
                Family::Exploratory => format!("{name}, {unit} (exploratory)"),
            };
            let blank = String::new;
            match point.figures.get(name) {
                None => {}
                Some(ComparedFigure::Compared(of)) => table.row([
                    title,
                    Interval::marked(metric.shown(of.a.median), of.a_within.as_ref()),
                    Interval::marked(metric.shown(of.b.median), of.b_within.as_ref()),
                    // Without a verdict the medians stay as they were measured.
                    match of.change {
                        Some(share) => change(share),
                        None if of.verdict != Verdict::NotEnoughRepeats => of
                            .change_of_medians
                            .map_or_else(blank, |share| format!("({})", change(share))),
                        None => blank(),
                    },
                    of.change_interval.map_or_else(blank, |[low, high]| {
                        format!("{} to {}", change(low), change(high))
                    }),
                    of.smallest_change
                        .filter(|_| of.change.is_some())
                        .map_or_else(blank, |share| {
                            change(share).trim_start_matches('+').to_owned()
                        }),
                    words(of).to_owned(),
                ]),
                Some(ComparedFigure::Not { not_compared }) => {
                    match missing.iter_mut().find(|(why, _)| *why == not_compared) {
                        Some((_, names)) => names.push(name),
                        None => missing.push((not_compared, vec![name])),
                    }
                }
            }
        }
    }
    let mut text = table.text(width);
    for (why, names) in missing {
        text += &format!("{}: {why}\n", names.join(", "));
    }
    let (a, b) = (point.a.len(), point.b.len());
    text += &format!("medians of {a} and {b} trials");
    let is_marked = |figure: &ComparedFigure| match figure {
        ComparedFigure::Compared(of) => [of.a_within, of.b_within]
            .into_iter()
            .flatten()
            .any(|within| within.uncertain),
        ComparedFigure::Not { .. } => false,
    };
    if point.figures.values().any(is_marked) {
        text += "; ~: of these trials only";
    }
    if is_one_of_many {
        format!("{text}\n{}\n", point.answer.sentence)
    } else {
        text + "\n"
    }
}

/// The last cell of a row.
fn words(compared: &Compared) -> &'static str {
    match compared.verdict {
        Verdict::NotEnoughRepeats | Verdict::TimeExplains | Verdict::NotByTurns => "cannot tell",
        Verdict::NoSignificantDifference => "not different",
        Verdict::Higher => "higher",
        Verdict::Lower => "lower",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_model::document::answer::Answer;
    use pgdyno_model::document::comparison::DifferingKind;

    #[test]
    fn settings_fit_into_eighty_columns_with_whole_names() {
        let differing = |what: &str, a: &str, b: &str| Differing {
            kind: DifferingKind::Setting,
            what: what.to_owned(),
            a: a.to_owned(),
            b: b.to_owned(),
            does: None,
        };
        let comparison = Comparison {
            answer: Answer::default(),
            points: Vec::new(),
            lacking: Vec::new(),
            notes: Vec::new(),
            differences: vec![
                differing("shared_buffers", "128MB", "1GB"),
                differing("autovacuum_vacuum_cost_delay", "2ms", "default"),
                differing("server.version", &"15 ".repeat(40), &"18 ".repeat(40)),
            ],
            left_out: 2,
        };
        let text = text(&comparison, 80);
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        assert!(
            text.contains("  shared_buffers                128MB → 1GB\n"),
            "{text}"
        );
        assert!(
            text.contains("autovacuum_vacuum_cost_delay  2ms → default\n"),
            "{text}"
        );
        assert!(
            text.contains("2 values that only name the server are left out"),
            "{text}"
        );
    }
}
