//! Figures by phase in the terminal, and what followed where the rate jumped.

use pgdyno_model::document::phases::PhaseFigures;
use pgdyno_model::document::{RateStep, Run};
use pgdyno_model::text as figures;

use super::table::Table;
use super::wrap::wrapped;

/// Where there is little room, so many are shown, the first ones.
const SHOWN: usize = 12;

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
    let has_rate = phases.iter().any(|one| one.due.is_some());
    let mut table = Table::default();
    let latency = if has_rate { "resp" } else { "service" };
    let moves = run.client_course.is_some();
    let mut heading = vec!["by phase", "from s", "to s", "goodput/s"];
    if has_rate {
        heading.push("due/s");
    }
    if moves {
        heading.extend(["clients", "working"]);
    }
    let ms = format!("{latency} p50 ms");
    heading.extend([ms.as_str(), "p95", "p99", "failed", "skipped", "late"]);
    table.row(heading);
    let shown = if is_brief { SHOWN } else { usize::MAX };
    for phase in phases.iter().take(shown) {
        table.row(row(phase, has_rate, moves));
    }
    let mut text = table.text(width);
    let more = phases.len().saturating_sub(shown);
    if more > 0 {
        text += &format!("{more} more phases: pgdyno show\n");
    }
    for step in run.rate_steps.iter().take(shown) {
        text += &wrapped("step", &sentence(step), INDENT);
    }
    text
}

fn row(phase: &PhaseFigures, has_rate: bool, moves: bool) -> Vec<String> {
    let dash = || "–".to_owned();
    let at = |us: u64| format!("{:.1}", us as f64 / 1e6);
    let rate = |per_s: Option<f64>| per_s.map_or_else(dash, figures::rate);
    let measured_s = phase.measured_us as f64 / 1e6;
    let mut cells = vec![
        phase.phase.name.clone(),
        at(phase.phase.from_us),
        at(phase.phase.to_us),
        rate(phase.goodput_per_s),
    ];
    if has_rate {
        cells.push(rate(phase.due.map(|due| due / measured_s)));
    }
    if moves {
        let clients = [phase.clients_asked, phase.clients_working];
        cells.extend(clients.map(|clients| clients.map_or_else(dash, figures::rate)));
    }
    let latency = phase.response.as_ref().unwrap_or(&phase.service);
    let percentiles = [latency.p50_us, latency.p95_us, latency.p99_us];
    cells.extend(percentiles.map(|us| us.map_or_else(dash, figures::ms)));
    let counts = &phase.counts;
    cells.extend([counts.failed, counts.skipped, counts.late].map(figures::count));
    cells
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
        return format!("{begin}how long response took to be steady is not known: {why}");
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
    use super::*;

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
