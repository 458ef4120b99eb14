//! Throughput, rate, retries, latency and steadiness, a line each.

use pgdyno_model::document::{End, Latency, Phase, Run, Stalls, Steadiness, SteadinessVerdict};
use pgdyno_spec::text::{self as words, DASH, PERCENTILES};

use super::{WIDTH, labelled};
use crate::retries::by_server;
use crate::wrap::fitted;

pub fn text(run: &Run) -> String {
    let measured = &run.measured;
    end(run)
        + &throughput(measured)
        + &rate(run)
        + &retried(measured)
        + &fitted(&by_server(&measured.all), WIDTH)
        + &latencies(measured)
        + &steady(run)
}

/// That it did not come to its end, or lost clients.
pub fn end(run: &Run) -> String {
    let mut text = match run.end {
        End::Complete => String::new(),
        End::Running => "RUNNING: results so far\n".to_owned(),
        End::Interrupted => "INTERRUPTED: results up to the interruption\n".to_owned(),
        End::ClientAborted => "ABORTED: a client ended early\n".to_owned(),
        End::InvariantBroken => {
            let what = run.broken_invariant.as_deref().unwrap_or_default();
            format!("BROKEN INVARIANT: {what}\n")
        }
        End::AllClientsAborted => "ABORTED: all clients ended early\n".to_owned(),
    };
    if run.clients.aborted > 0 && run.end != End::AllClientsAborted {
        let aborted = words::plural(run.clients.aborted as u64, "client");
        text += &format!(
            "INCOMPLETE: {aborted} of {} ended early\n",
            run.clients.total
        );
    }
    if run.outages.unended > 0 {
        text += &format!(
            "SERVER LOST: {} of {} clients had no connection when the run ended\n",
            run.outages.unended, run.clients.total
        );
    }
    text
}

fn throughput(measured: &Phase) -> String {
    let counts = &measured.all.counts;
    let count = |number: u64, what: &str| format!("{} {what}", words::count(number));
    let share = |number: u64| match number {
        0 => String::new(),
        number => format!(" ({})", words::percent(number, counts.total())),
    };
    let mut parts = vec![
        count(counts.committed, "committed"),
        count(counts.failed, "failed") + &share(counts.failed),
    ];
    let others = [
        ("unknown", counts.unknown),
        ("skipped", counts.skipped),
        ("late", counts.late),
    ];
    for (what, number) in others.into_iter().filter(|(_, number)| *number > 0) {
        parts.push(count(number, what) + &share(number));
    }
    parts.push(match counts.retries {
        1 => "1 retry".to_owned(),
        number => count(number, "retries"),
    });
    let rate = words::rate(measured.all.goodput_per_s);
    labelled("tps", &format!("{rate:<12}({})", parts.join(", ")))
}

/// What a schedule asked for, and how it was kept.
fn rate(run: &Run) -> String {
    let Some(rate) = &run.trial.rate else {
        return String::new();
    };
    let all = &run.measured.all;
    let started = all.counts.total() - all.counts.skipped;
    let elapsed_s = (run.measured.elapsed_us - run.measured.drain_us) as f64 / 1e6;
    let per_s = if elapsed_s > 0.0 {
        started as f64 / elapsed_s
    } else {
        0.0
    };
    let late_us = all.schedule_lag.as_ref().and_then(|lag| lag.max_us);
    let late = late_us.map_or_else(String::new, |us| {
        format!(", late by at most {}", words::time(us as f64))
    });
    let text = format!(
        "{} asked, {} started, {} skipped{late}",
        crate::page::asked(rate),
        words::rate(per_s),
        words::count(all.counts.skipped),
    );
    labelled("rate", &text)
}

fn retried(measured: &Phase) -> String {
    let (counts, work) = (&measured.all.counts, &measured.all.work);
    if counts.retries == 0 {
        return String::new();
    }
    let each = counts.retries as f64 / counts.committed.max(1) as f64;
    let mut text = format!("{} for each commit", words::significant(each, 2));
    if let Some(lost) = work.lost_time_share {
        text += &format!("; {} of the time in tries thrown away", words::share(lost));
    }
    labelled("retries", &text)
}

/// From the schedule where there is one, with the service times beside.
fn latencies(measured: &Phase) -> String {
    let all = &measured.all;
    let (text, main) = match &all.response {
        Some(response) => {
            let text = line("response ms", response) + &line("service ms", &all.service);
            (text, response)
        }
        None => (line("latency ms", &all.service), &all.service),
    };
    text + &interval(main) + &doubt(measured, main)
}

/// Mean, percentiles but the last, and the longest.
fn line(label: &str, latency: &Latency) -> String {
    let ms = |us: Option<f64>| us.map_or_else(|| DASH.to_owned(), words::ms_as_shown);
    let mut parts = vec![format!("mean {}", ms(latency.mean_us))];
    parts.extend(PERCENTILES[..4].iter().map(|percentile| {
        let name = words::percentile_name(*percentile);
        format!("{name} {}", latency.percentile_ms_shortly(*percentile))
    }));
    parts.push(format!("max {}", ms(latency.max_us.map(|us| us as f64))));
    // As far apart as the line has room for.
    let spaced = |blanks: &str| format!("{label:<13}{}\n", parts.join(blanks));
    let fits = |text: &String| text.trim_end().chars().count() <= WIDTH;
    let wide = ["   ", "  "].into_iter().map(spaced).find(fits);
    wide.unwrap_or_else(|| spaced(" "))
}

/// The 95 % interval of the highest percentile of the line above, and the percentile beyond it.
fn interval(latency: &Latency) -> String {
    let beyond = latency
        .p99_9_us
        .map(|_| format!("p99.9 {}", latency.percentile_ms_shortly(99.9)));
    let shown = latency.intervals.iter().flatten().rev();
    let mut shown = shown.filter(|it| it.percentile < 99.9);
    let known = shown.next().and_then(|it| Some((it, it.low_us?)));
    let known = known.map(|(it, low_us)| {
        let name = words::percentile_name(it.percentile);
        let high = match it.high_us {
            Some(us) => format!("to {}", words::ms_as_shown(us as f64)),
            None => "or more".to_owned(),
        };
        let value = latency.percentile_ms_shortly(it.percentile);
        format!(
            "{name} {value} (95 % interval {} {high})",
            words::ms_as_shown(low_us as f64)
        )
    });
    let parts: Vec<String> = [known, beyond].into_iter().flatten().collect();
    if parts.is_empty() {
        String::new()
    } else {
        labelled("", &parts.join(", "))
    }
}

/// What the marks mean that are there.
fn doubt(measured: &Phase, latency: &Latency) -> String {
    let mut parts = Vec::new();
    let mut intervals = latency.intervals.iter().flatten();
    if let Some(marked) = intervals.find(|it| it.uncertain) {
        parts.push(match marked.low_us {
            None => "~ uncertain: under ten seconds",
            Some(_) => "~ uncertain: slow transactions came together; run longer",
        });
    }
    if measured.all.counts.committed > 0 && latency.percentiles_us()[..4].contains(&None) {
        parts.push("– fewer than ten beyond it");
    }
    if parts.is_empty() {
        String::new()
    } else {
        labelled("", &parts.join("; "))
    }
}

/// Whether the trial was steady, and its times without service.
fn steady(run: &Run) -> String {
    let mut parts: Vec<String> = unsteady_text(&run.steadiness).into_iter().collect();
    parts.extend(stalls(&run.stalls));
    if parts.is_empty() {
        String::new()
    } else {
        labelled("steady", &parts.join("; "))
    }
}

fn unsteady_text(all: &[Steadiness]) -> Option<String> {
    let is = |verdict: SteadinessVerdict| all.iter().any(|one| one.verdict == verdict);
    if all.is_empty() {
        return None;
    }
    let unsteady = all.iter().filter(|one| {
        !matches!(
            one.verdict,
            SteadinessVerdict::Steady | SteadinessVerdict::TooShort | SteadinessVerdict::Incomplete
        )
    });
    let unsteady: Vec<&str> = unsteady.map(|one| one.sentence.as_str()).collect();
    Some(if !unsteady.is_empty() {
        format!("no: {}", unsteady.join(", "))
    } else if is(SteadinessVerdict::TooShort) {
        "not known: ten seconds are needed".to_owned()
    } else if is(SteadinessVerdict::Incomplete) {
        "not known: a second has no transactions".to_owned()
    } else {
        "yes".to_owned()
    })
}

fn stalls(stalls: &Stalls) -> Option<String> {
    let longest = words::time(stalls.longest_us as f64);
    let share = words::share(stalls.share);
    match stalls.count {
        0 => None,
        1 => Some(format!("one stall of {longest}, {share} of the time")),
        count => Some(format!(
            "{count} stalls, {share} of the time, the longest {longest}"
        )),
    }
}
