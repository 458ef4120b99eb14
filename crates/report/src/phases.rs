//! Figures by phase in the terminal, and what followed where the rate jumped.

use pgdyno_model::document::phases::PhaseFigures;
use pgdyno_model::document::{RateStep, Run};
use pgdyno_spec::text as figures;

use super::table::Table;
use super::wrap::wrapped;

/// Where there is little room, so many are shown, the first ones.
const SHOWN: usize = 4;

/// Texts begin in this column.
const INDENT: usize = 13;

/// A small table, or nothing.
pub fn text(run: &Run, width: usize, is_brief: bool) -> String {
    // Where the rate does not move, those of what disturbed it.
    let disturbed = run.disturbed.as_ref().and_then(|it| it.figures.as_ref());
    let phases = match (run.phases.as_slice(), disturbed) {
        ([], Some(disturbed)) => &disturbed.phases,
        _ => &run.phases,
    };
    if phases.is_empty() {
        return String::new();
    }
    let shown = if is_brief { SHOWN } else { usize::MAX };
    let mut text = table(phases, run.client_course.is_some(), width, shown);
    for step in run.rate_steps.iter().take(shown) {
        text += &wrapped("step", &sentence(step), INDENT);
    }
    text
}

/// The first ones, and how many more there are.
fn table(phases: &[PhaseFigures], moves: bool, width: usize, shown: usize) -> String {
    let has_rate = phases.iter().any(|one| one.due.is_some());
    let mut table = Table::default();
    let columns = Columns {
        has_rate,
        moves,
        skipped: phases.iter().any(|one| one.counts.skipped > 0),
        late: phases.iter().any(|one| one.counts.late > 0),
    };
    table.row(columns.heading());
    for phase in phases.iter().take(shown) {
        table.row(columns.row(phase));
    }
    let mut text = table.text(width);
    let more = phases.len().saturating_sub(shown);
    if more > 0 {
        text += &format!("{more} more phases: pgdyno show\n");
    }
    text
}

/// Which columns there are: what is nowhere takes no room.
struct Columns {
    has_rate: bool,
    /// The number of clients does.
    moves: bool,
    skipped: bool,
    late: bool,
}

impl Columns {
    fn heading(&self) -> Vec<&'static str> {
        let mut heading = vec!["by phase", "s", "tps"];
        heading.extend(self.has_rate.then_some("due"));
        if self.moves {
            heading.extend(["clients", "working"]);
        }
        heading.push(if self.has_rate { "resp p50" } else { "p50" });
        heading.extend(["p95", "p99 ms", "failed"]);
        heading.extend(self.skipped.then_some("skipped"));
        heading.extend(self.late.then_some("late"));
        heading
    }

    fn row(&self, phase: &PhaseFigures) -> Vec<String> {
        let dash = || figures::DASH.to_owned();
        let at = |us: u64| {
            let tenths = format!("{:.1}", us as f64 / 1e6);
            tenths.trim_end_matches(".0").to_owned()
        };
        let rate = |per_s: Option<f64>| per_s.map_or_else(dash, figures::rate);
        let measured_s = phase.measured_us as f64 / 1e6;
        let mut cells = vec![
            phase.phase.name.clone(),
            format!("{}–{}", at(phase.phase.from_us), at(phase.phase.to_us)),
            rate(phase.goodput_per_s),
        ];
        if self.has_rate {
            cells.push(rate(phase.due.map(|due| due / measured_s)));
        }
        if self.moves {
            let clients = [phase.clients_asked, phase.clients_working];
            cells.extend(clients.map(|clients| clients.map_or_else(dash, figures::rate)));
        }
        let latency = phase.response.as_ref().unwrap_or(&phase.service);
        cells.extend([50.0, 95.0, 99.0].map(|percent| latency.percentile_ms_shortly(percent)));
        let counts = &phase.counts;
        cells.push(figures::count(counts.failed));
        cells.extend(self.skipped.then(|| figures::count(counts.skipped)));
        cells.extend(self.late.then(|| figures::count(counts.late)));
        cells
    }
}

/// `at 30.0 s from 500/s to 1,000/s: p95 response steady again after 7.0 s (…)`.
fn sentence(step: &RateStep) -> String {
    let per_s = |rate: f64| format!("{}/s", figures::rate(rate));
    let begin = format!(
        "at {:.1} s from {} to {}: ",
        step.at_us as f64 / 1e6,
        per_s(step.from_per_s),
        per_s(step.to_per_s)
    );
    if let Some(why) = &step.not_known {
        return format!("{begin}the time until response was steady is not known: {why}");
    }
    let percentile = step.percentile.map_or_else(String::new, |percent| {
        format!("{} response", figures::percentile_name(percent))
    });
    let level = |us: Option<u64>| us.map(|us| figures::time(us as f64));
    let missed = match step.missed {
        Some(missed) if missed >= 1.0 => format!(
            ", {} transactions missed meanwhile",
            figures::count(missed.round() as u64)
        ),
        _ => String::new(),
    };
    let levels = match (level(step.before_us), level(step.after_us)) {
        (Some(before), Some(after)) => format!(" at {after} ({before} before)"),
        (None, Some(after)) => format!(" at {after}"),
        _ => String::new(),
    };
    match step.settled_us {
        Some(0) => format!("{begin}{percentile} steady at once{levels}{missed}"),
        Some(us) => format!(
            "{begin}{percentile} steady after {}{levels}{missed}",
            figures::time(us as f64)
        ),
        None => format!("{begin}{percentile} never steady before the next step{missed}"),
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_model::document::phases::Phase;
    use pgdyno_model::document::{Interval, Latency};

    use super::*;

    #[test]
    fn a_ramp_fits_a_terminal_and_marks_what_is_of_its_phase_only() {
        let interval = |uncertain| Interval {
            percentile: 99.0,
            low_us: Some(8_260),
            high_us: Some(42_900),
            effective: Some(1_234.5),
            uncertain,
        };
        let phase = |at: u64| PhaseFigures {
            phase: Phase::new("1,000 to 2,000/s", at * 12_500_000, (at + 1) * 12_500_000),
            measured_us: 12_500_000,
            goodput_per_s: Some(1_446.7),
            due: Some(18_750.0),
            response: Some(Latency {
                p50_us: Some(1_265),
                p95_us: Some(7_675),
                p99_us: Some(21_711),
                intervals: Some(vec![interval(at == 1)]),
                ..Latency::default()
            }),
            ..PhaseFigures::default()
        };
        let mut phases: Vec<PhaseFigures> = (0..6).map(phase).collect();
        let whole = table(&phases, false, 80, usize::MAX);
        assert!(
            whole.lines().all(|line| line.chars().count() <= 80),
            "{whole}"
        );
        assert_eq!(whole.lines().count(), 7, "{whole}");
        assert!(whole.contains("12.5–25"), "{whole}");
        assert_eq!(whole.matches("21.7~").count(), 1, "{whole}");
        assert!(
            !whole.contains("skipped") && !whole.contains("late"),
            "{whole}"
        );
        let brief = table(&phases, false, 80, 4);
        assert_eq!(brief.lines().count(), 6, "{brief}");
        assert!(brief.ends_with("2 more phases: pgdyno show\n"), "{brief}");
        phases[5].counts.late = 3;
        assert!(table(&phases, false, 80, 4).contains("late"));
    }

    #[test]
    fn a_step_says_how_long_response_took_and_what_was_missed() {
        let step = RateStep {
            at_us: 30_000_000,
            from_per_s: 500.0,
            to_per_s: 1000.0,
            percentile: Some(95.0),
            before_us: Some(4000),
            after_us: Some(5000),
            settled_us: Some(7_000_000),
            not_known: None,
            missed: Some(1234.4),
        };
        let text = sentence(&step);
        assert!(text.starts_with("at 30.0 s from 500"), "{text}");
        assert!(text.contains("steady after 7"), "{text}");
        assert!(text.contains("1,234 transactions missed"), "{text}");
        let never = RateStep {
            settled_us: None,
            after_us: None,
            ..step.clone()
        };
        assert!(
            sentence(&never).contains("never steady"),
            "{}",
            sentence(&never)
        );
        let unknown = RateStep {
            not_known: Some("too short".to_owned()),
            ..step
        };
        assert!(sentence(&unknown).contains("not known: too short"));
    }
}
