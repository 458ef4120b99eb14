//! How much load a system takes, for people.

use std::time::Duration;

use pgdyno_model::document::Interval;
use pgdyno_model::document::capacity::{
    Capacity, Contradiction, Estimate, EstimateIs, Ladder, LimitSide, Load,
};
use pgdyno_stats::Sample;

use crate::table::Table;
use pgdyno_spec::text as figures;

/// Characters of the longest bar.
const BAR: f64 = 24.0;
const WIDTH_MAX: usize = 100;

/// All of it, ready to be printed.
pub fn text(found: &Capacity, width: usize) -> String {
    let limit = ms(found.slo_us);
    let mut text = format!(
        "How much load keeps p99 within {limit} ms (response times: from when a transaction was to \
         start)\n"
    );
    for ladder in &found.ladders {
        text += &format!("\n{}\n", ladder.title);
        text += &table(ladder, width);
        for gap in &ladder.gaps {
            text += &format!("left out: {gap}\n");
        }
        match &ladder.capacity {
            Some(capacity) => text += &capacity_words(found, ladder, capacity),
            None if ladder.search.steps > 0 => text += &not_known(found, ladder),
            None => {}
        }
        if let Some(knee) = &ladder.knee {
            text += &knee_words(knee);
        }
        if let Some(why) = &ladder.no_curve {
            text += &format!("no curve: {why}\n");
        }
    }
    text
}

fn capacity_words(found: &Capacity, ladder: &Ladder, capacity: &Estimate) -> String {
    let limit = ms(found.slo_us);
    let per_s = figures::rate(capacity.per_s);
    let text = match capacity.is {
        EstimateIs::Below | EstimateIs::AtOrBelow => {
            let mut lower = ladder.steps.iter();
            let why = if !lower.any(|step| step.rate_per_s < capacity.per_s) {
                "the lowest rate tried"
            } else {
                "that is too much, and lower rates are undecided"
            };
            format!("capacity  below {per_s} transactions/s, {why}\n")
        }
        EstimateIs::AtLeast | EstimateIs::Above => {
            format!("capacity  {per_s} transactions/s or more: no rate tried broke the limit\n")
        }
        EstimateIs::At => {
            let mut text = format!(
                "capacity  {per_s} transactions/s keep p99 within {limit} ms{}\n",
                interval(capacity)
            );
            if let Some(load) = highest_load(ladder, capacity.per_s) {
                text += &format!(
                    "          measured at {}/s: {} done, p99 {} ms\n",
                    figures::rate(load.rate_per_s),
                    figures::rate(median(known(&load.goodput_per_s)).unwrap_or(0.0)),
                    p99(load),
                );
            }
            if let Some(contradiction) = &ladder.search.contradiction {
                let words = contradiction_words(contradiction, &format!("{limit} ms"));
                text += &format!("          {words}\n");
            }
            text
        }
    };
    text + &search_words(found, ladder)
}

/// No answer, and what would give one.
fn not_known(found: &Capacity, ladder: &Ladder) -> String {
    if let Some(contradiction) = &ladder.search.contradiction {
        let words = contradiction_words(contradiction, &format!("{} ms", ms(found.slo_us)));
        return format!(
            "capacity  not known: {words}\n{}",
            search_words(found, ladder)
        );
    }
    format!(
        "capacity  not known: no step is clearly within {} ms or over it; by p99 alone {}\n{}",
        ms(found.slo_us),
        by_p99_alone(found, ladder),
        search_words(found, ladder)
    )
}

/// What was safe, and what failed, on a machine that changes from step to step.
pub(super) fn contradiction_words(contradiction: &Contradiction, limit: &str) -> String {
    let safe = contradiction.within_up_to_per_s.map_or_else(
        || "no rate was safe".to_owned(),
        |rate| {
            format!(
                "all steps up to {} were within {limit}",
                figures::per_second(rate)
            )
        },
    );
    let failed = contradiction.over_from_per_s.map_or_else(
        || "none failed in all steps".to_owned(),
        |rate| format!("all from {} on were over it", figures::per_second(rate)),
    );
    format!(
        "the machine changes from step to step: {safe}, {failed}, and those between contradict each \
         other"
    )
}

/// Where the limit lies by the steps' p99 as they were measured, without their intervals.
pub(super) fn by_p99_alone(found: &Capacity, ladder: &Ladder) -> String {
    let rates = |is_over: bool| {
        let steps = ladder.steps.iter().filter(move |step| {
            let p99 = step.response_p99_us.map(|us| us > found.slo_us);
            p99.unwrap_or(step.falls_behind) == is_over && (p99.is_some() || step.falls_behind)
        });
        steps.map(|step| step.rate_per_s)
    };
    let low = rates(false).max_by(f64::total_cmp).map(figures::rate);
    let high = rates(true).min_by(f64::total_cmp).map(figures::rate);
    match (low, high) {
        (Some(low), Some(high)) => format!("the limit is kept at {low}/s and broken at {high}/s"),
        (Some(low), None) => format!("it is kept up to {low}/s"),
        (None, Some(high)) => format!("it is broken from {high}/s on"),
        (None, None) => "it is not known either: too few transactions".to_owned(),
    }
}

/// How sure it is, and why no surer.
fn search_words(found: &Capacity, ladder: &Ladder) -> String {
    let search = &ladder.search;
    let seconds = |s: f64| figures::as_typed(Duration::from_secs(s.round() as u64));
    let mut text = format!(
        "          {} in {}: {}",
        figures::plural(search.steps, "step"),
        seconds(search.took_s),
        sides(ladder)
    );
    let allow = format!(
        "allow more than {} (--capacity-time)",
        seconds(found.time_s)
    );
    match &ladder.capacity {
        Some(capacity) if capacity.is == EstimateIs::At && !search.is_narrow => {
            text += &format!(
                "; the interval is wider than the ± {} asked for: {allow}",
                figures::roughly(found.width),
            );
        }
        None if search.contradiction.is_some() => text += &format!("; {allow}"),
        None => text += &format!("; steps have to be longer: {allow}"),
        Some(_) => {}
    }
    text.push('\n');
    if let Some(drift) = search.drift {
        let word = if drift < 0.0 { "fell" } else { "rose" };
        text += &format!(
            "          the capacity {word} by {} during the search: this is its middle\n",
            figures::roughly(drift.abs())
        );
    }
    text
}

/// How many steps are on which side of the limit, by their intervals.
fn sides(ladder: &Ladder) -> String {
    let all = [LimitSide::Within, LimitSide::Over, LimitSide::CannotTell];
    let counted = all.into_iter().filter_map(|side| {
        let steps = ladder.steps.iter().filter(|step| step.side == side);
        let count = steps.count();
        (count > 0).then(|| format!("{count} {}", side_words(side)))
    });
    counted.collect::<Vec<_>>().join(", ")
}

/// Steps at one rate are taken together; `None` without steps.
fn side_at(ladder: &Ladder, load: &Load) -> Option<LimitSide> {
    let steps = ladder.steps.iter();
    let mut sides = steps
        .filter(|step| load.trials.contains(&step.trial))
        .map(|step| step.side);
    let first = sides.next()?;
    Some(if sides.all(|side| side == first) {
        first
    } else {
        LimitSide::CannotTell
    })
}

fn side_words(side: LimitSide) -> &'static str {
    match side {
        LimitSide::Within => "within",
        LimitSide::Over => "over",
        LimitSide::CannotTell => "cannot tell",
    }
}

/// The highest load up to this one that has a p99.
fn highest_load(ladder: &Ladder, up_to: f64) -> Option<&Load> {
    let mut loads = ladder.loads.iter().rev();
    loads.find(|load| load.rate_per_s <= up_to && load.p99_together_us.is_some())
}

/// That of all steps at a load together, as among the points, with the mark of doubt.
fn p99(load: &Load) -> String {
    let shown = load.p99_together_us.map(|us| shortly(us as f64));
    let marked = shown.map(|shown| Interval::marked(shown, load.p99_interval.as_ref()));
    marked.unwrap_or_else(|| figures::DASH.to_owned())
}

/// p99 of each repeat; `None` where one has too few transactions for it.
fn p99s(load: &Load) -> Option<Vec<f64>> {
    let p99s = load.response_p99_us.iter();
    p99s.map(|us| us.map(|us| us as f64)).collect()
}

fn known(values: &[Option<f64>]) -> Vec<f64> {
    values.iter().copied().flatten().collect()
}

fn table(ladder: &Ladder, width: usize) -> String {
    let all = ladder.loads.iter().filter_map(|load| load.p99_together_us);
    let (least, most) = all.fold((f64::MAX, 1.0f64), |(l, m), us| {
        (l.min(us as f64), m.max(us as f64))
    });
    let mut table = Table::default();
    table.row([
        "offered/s",
        "done/s",
        "failed",
        "p50 ms",
        "p99 ms",
        "of repeats",
        "limit",
        "",
    ]);
    for load in &ladder.loads {
        let failed: u64 = load.failed.iter().flatten().sum();
        let (mut range, mut bar) = (String::new(), String::new());
        if let Some(p99s) = p99s(load).filter(|p99s| p99s.len() > 1) {
            let (low, high) = ends(&p99s);
            range = format!("{}–{}", shortly(low), shortly(high));
        }
        if let Some(us) = load.p99_together_us {
            // Logarithmic: overload is a hundred times what is normal.
            let share = (us as f64 / least).ln() / (most / least).ln().max(1e-9);
            bar = "█".repeat(1 + (share * (BAR - 1.0)).round() as usize);
        }
        table.row([
            figures::rate(load.rate_per_s),
            median(known(&load.goodput_per_s)).map_or_else(|| "–".to_owned(), figures::rate),
            figures::count(failed),
            load.p50_together_us
                .map_or_else(|| figures::DASH.to_owned(), |us| shortly(us as f64)),
            p99(load),
            range,
            side_at(ladder, load).map_or("–", side_words).to_owned(),
            // Figures stand to the right, a bar grows to the right.
            format!("{bar:<width$}", width = BAR as usize),
        ]);
    }
    table.text(width.min(WIDTH_MAX))
}

fn knee_words(knee: &Estimate) -> String {
    let per_s = figures::rate(knee.per_s);
    match knee.is {
        EstimateIs::At => format!(
            "knee      {per_s} transactions/s{}: beyond it latency grows faster than load\n",
            interval(knee)
        ),
        EstimateIs::Below | EstimateIs::AtOrBelow => format!(
            "knee      {per_s} transactions/s or less: latency grows faster than load from there on\n"
        ),
        EstimateIs::AtLeast | EstimateIs::Above => {
            format!("knee      above {per_s} transactions/s: measure higher rates\n")
        }
    }
}

fn interval(estimate: &Estimate) -> String {
    match estimate.interval.as_ref().and_then(Option::as_ref) {
        Some(interval) => format!(
            " ({} interval {} to {})",
            figures::roughly(interval.level),
            interval.low.map_or_else(|| "0".to_owned(), figures::rate),
            interval
                .high
                .map_or_else(|| "more than was tried".to_owned(), figures::rate)
        ),
        None => " (no interval: it takes six repeats)".to_owned(),
    }
}

fn median(values: Vec<f64>) -> Option<f64> {
    Sample::new(&values).ok().map(|sample| sample.median())
}

fn ends(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::MAX, 0.0), |(low, high), v| {
        (low.min(*v), high.max(*v))
    })
}

/// In three digits, as among the points.
fn shortly(us: f64) -> String {
    figures::ms_as_shown(us)
}

fn ms(us: f64) -> String {
    figures::ms(us.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_model::document::capacity::{Search, SearchStep};

    #[test]
    fn without_a_step_surely_within_or_over_the_capacity_is_not_known() {
        let step = SearchStep {
            trial: 1,
            rate_per_s: 100.0,
            from_s: 1.0,
            seconds: 10.0,
            response_p99_us: Some(19_000.0),
            low_us: None,
            high_us: None,
            share_over: None,
            side: LimitSide::CannotTell,
            falls_behind: false,
        };
        let load = Load {
            rate_per_s: 100.0,
            trials: vec![1],
            goodput_per_s: vec![Some(100.0)],
            response_p50_us: vec![Some(2_000)],
            response_p99_us: vec![Some(19_000)],
            p50_together_us: Some(2_000),
            p99_together_us: Some(19_000),
            p99_interval: None,
            failed: vec![Some(0)],
        };
        let ladder = Ladder {
            point: serde_json::Value::Null,
            title: "tpcb".to_owned(),
            loads: vec![load],
            capacity: None,
            search: Search {
                steps: 1,
                took_s: 11.0,
                is_narrow: false,
                line_steps: 0,
                drift: None,
                contradiction: None,
            },
            steps: vec![step],
            knee: None,
            gaps: Vec::new(),
            no_curve: None,
        };
        let mut found = Capacity {
            slo_us: 20_000.0,
            width: 0.05,
            time_s: 20.0,
            ladders: vec![ladder],
        };
        let plain = text(&found, WIDTH_MAX);
        for part in [
            " cannot tell  ",
            "capacity  not known: no step is clearly within 20.000 ms or over it; by p99 alone it is kept up \
             to 100.0/s\n",
            "1 step in 11s: 1 cannot tell; steps have to be longer: allow more than 20s",
        ] {
            assert!(plain.contains(part), "{part}: {plain}");
        }
        assert!(!plain.contains("interval"), "{plain}");

        found.ladders[0].search.contradiction = Some(Contradiction {
            within_up_to_per_s: Some(80.0),
            over_from_per_s: Some(200.0),
        });
        let changing = text(&found, WIDTH_MAX);
        for part in [
            "capacity  not known: the machine changes from step to step: all steps up to 80.0/s were within \
             20.000 ms, all from 200/s on were over it, and those between contradict each other\n",
            "1 step in 11s: 1 cannot tell; allow more than 20s (--capacity-time)\n",
        ] {
            assert!(changing.contains(part), "{part}: {changing}");
        }
        // Where these rates give an interval, too.
        found.ladders[0].capacity = Some(Estimate::beside(EstimateIs::At, 120.0));
        let bounded = text(&found, WIDTH_MAX);
        assert!(
            bounded.contains("capacity  120.0 transactions/s")
                && bounded.contains("\n          the machine changes"),
            "{bounded}"
        );
    }
}
