//! The isolation laboratory: anomalies by levels, rates beside their verdicts, and the gravest example.

use pgdyno_model::Fact;
use pgdyno_model::document::isolation_lab::{IsolationLab, IsolationLevel};
use pgdyno_spec::text as figures;

use super::{escaped, rate, table};
use crate::isolation::words;

pub fn lab(lab: &IsolationLab) -> String {
    let mut heading = vec!["anomaly".to_owned()];
    heading.extend(lab.levels.iter().map(|level| level.asked.to_uppercase()));
    let row = |name: &str, of: &dyn Fn(&IsolationLevel) -> String| -> Vec<String> {
        let cells = lab.levels.iter().map(of);
        std::iter::once(escaped(name)).chain(cells).collect()
    };
    let mut rows = vec![
        row("in effect", &|level| fact(&level.in_effect, String::clone)),
        row("promised", &|level| {
            fact(&level.promise, |promise| promise.level.clone())
        }),
    ];
    for (at, column) in lab.anomalies.iter().enumerate() {
        rows.push(row(&column.title, &|level| {
            let cell = level.cells.get(at);
            escaped(&cell.map_or_else(String::new, words))
        }));
    }
    rows.push(row("overlapping conflicting pairs", &|level| {
        figures::count(level.conflicting_pairs)
    }));
    let mut text = table(&heading, &rows);
    let rates = lab.levels.iter().flat_map(|level| {
        level.rates.iter().map(|of| {
            let answers = match of.is_kept {
                Some(true) => "kept",
                Some(false) => "**wrong**",
                None => "not known",
            };
            vec![
                escaped(&level.asked),
                escaped(&of.workload),
                rate(of.goodput_per_s),
                answers.to_owned(),
            ]
        })
    });
    let heading = ["level", "pack", "committed/s, median", "answers"];
    text += &table(&heading, &rates.collect::<Vec<_>>());
    // The gravest is the first.
    if let Some(seen) = lab.examples.first() {
        text += &format!(
            "{} at {} (trial {}):\n\n",
            escaped(&seen.anomaly),
            escaped(&seen.level.to_uppercase()),
            seen.trial
        );
        for line in &seen.example.story {
            text += &format!("- {}\n", escaped(line));
        }
        text.push('\n');
    }
    text
}

fn fact<T>(of: &Fact<T>, says: impl Fn(&T) -> String) -> String {
    match of {
        Fact::Known(is) => escaped(&says(is)),
        Fact::Unknown(_) => "not known".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::lab;
    use crate::isolation::tests::seen_and_forbidden;

    #[test]
    fn the_table_says_what_is_forbidden_and_the_story_follows() {
        let text = lab(&seen_and_forbidden());
        assert!(text.contains("| anomaly | SERIALIZABLE |"), "{text}");
        assert!(text.contains("| Write skew | 3 FORBIDDEN |"), "{text}");
        assert!(
            text.contains("| Lost update | 0 (&lt; 1 in 3,300) |"),
            "{text}"
        );
        assert!(text.contains("| **wrong** |"), "{text}");
        assert!(
            text.contains("G2-item at SERIALIZABLE (trial 1):\n\n- T1 comes before T2\n"),
            "{text}"
        );
    }
}
