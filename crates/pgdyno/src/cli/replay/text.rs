//! A replay for people: how far from the recording it was and why, then what the server made of it.

use pgdyno_output::table_width;
use pgdyno_replay::{Options, Replayed, Sync, TextResult, Times};
use pgdyno_report::table::{Table, cut};
use pgdyno_spec::text::{
    DASH, change, count, ms_precisely, per_second, percent, plural, seconds, share, time,
};
use pgdyno_stats::is_supported;

use crate::cli::record::show::lost;

/// Statements that are printed; JSON has all.
const STATEMENTS_MAX: usize = 12;
/// So much of a statement is printed in a sentence, and in the table.
const SENTENCE_MAX: usize = 50;
const TEXT_MAX: usize = 46;

pub fn of(replayed: &Replayed, options: &Options) -> String {
    lateness(replayed)
        + &statements(replayed, options)
        + &lost(replayed.losses)
        + "\n"
        + &latencies(replayed)
}

fn lateness(replayed: &Replayed) -> String {
    let lateness = &replayed.lateness;
    let times = &lateness.times;
    let p99 = if is_supported(99.0, times.count) {
        format!("; p99 {}", time(times.percentile_us(99.0) as f64))
    } else {
        String::new()
    };
    let mut text = format!(
        "{} of {} started within 1 ms of the recording's time{p99}\n",
        percent(lateness.on_time, replayed.sent),
        plural(replayed.sent, "statement")
    );
    if lateness.total_ns == 0 {
        return text;
    }
    let us = |ns: u64| time(ns as f64 / 1e3);
    let part = |ns: u64| share(ns as f64 / lateness.total_ns as f64);
    text += &format!(
        "of {} of lateness {} ({}) came from statements that took longer than recorded, {} ({}) from pgdyno, {} ({}) from connecting{}\n",
        us(lateness.total_ns),
        us(lateness.slow_ns),
        part(lateness.slow_ns),
        us(lateness.generator_ns),
        part(lateness.generator_ns),
        us(lateness.connection_ns),
        part(lateness.connection_ns),
        if lateness.order_ns > 0 {
            format!(
                ", {} ({}) from waits for other sessions",
                us(lateness.order_ns),
                part(lateness.order_ns)
            )
        } else {
            String::new()
        },
    );
    let worst = lateness
        .worst
        .iter()
        .filter(|worst| worst.charged_ns * 100 > lateness.total_ns);
    for worst in worst.take(3) {
        let of = replayed.texts.get(worst.slow.text as usize);
        let recorded = worst
            .slow
            .recorded_ns
            .map_or("a time not recorded".to_owned(), us);
        text += &format!(
            "  {} ({}) made {} late: {} in session {} at {} took {} in place of {recorded}\n",
            us(worst.charged_ns),
            part(worst.charged_ns),
            plural(worst.statements, "statement"),
            of.map_or(String::new(), |of| cut(&of.text, SENTENCE_MAX)),
            worst.slow.session,
            seconds(worst.slow.planned as f64 / 1e9),
            us(worst.slow.took_ns),
        );
    }
    text
}

fn statements(replayed: &Replayed, options: &Options) -> String {
    let length_s = replayed.length.as_secs_f64();
    let rate = |number: u64| per_second(number as f64 / length_s.max(1e-6));
    let mut text = String::new();
    let mut line = |name: &str, value: String| text += &format!("{name:11}{value}\n");
    let speed = if options.speed == 1.0 {
        String::new()
    } else {
        format!(" at {} times the recorded speed", options.speed)
    };
    line(
        "sent",
        format!(
            "{} in {} ({}){speed}",
            count(replayed.sent),
            seconds(length_s),
            rate(replayed.sent)
        ),
    );
    line(
        "sessions",
        format!(
            "{}, {} at once",
            count(replayed.sessions),
            count(replayed.sessions_most)
        ),
    );
    let errors = &replayed.errors;
    let new: u64 = errors.new.values().map(|(count, _)| count).sum();
    line(
        "errors",
        format!(
            "{} new, {} as recorded, {} gone, {} other",
            count(new),
            count(errors.same),
            count(errors.gone),
            count(errors.other)
        ),
    );
    for (state, (number, first)) in errors.new.iter().take(5) {
        line("", format!("{} {state}: {first}", count(*number)));
    }
    for (name, value) in answers(replayed, options) {
        line(name, value);
    }
    if replayed.unsent + replayed.unanswered > 0 {
        line(
            "lost",
            format!(
                "{} not sent, {} not answered; {} lost, {} refused",
                count(replayed.unsent),
                count(replayed.unanswered),
                plural(replayed.connections_lost, "connection"),
                count(replayed.connections_refused)
            ),
        );
    }
    if let Some(refusal) = &replayed.first_refusal {
        line("", refusal.clone());
    }
    let not: u64 = replayed.obstacles.values().sum();
    if not > 0 {
        line(
            "left out",
            format!("{} that cannot be replayed", plural(not, "statement")),
        );
        for (obstacle, number) in &replayed.obstacles {
            line("", format!("{} {}", count(*number), obstacle.words()));
        }
    }
    if replayed.others > 0 {
        line("", format!("{} by --only", count(replayed.others)));
    }
    let us_each = replayed.cpu_us as f64 / replayed.sent.max(1) as f64;
    line(
        "pgdyno",
        format!("{} of CPU time a statement", time(us_each)),
    );
    if replayed.is_interrupted {
        line(
            "",
            "interrupted: what was due later was not sent".to_owned(),
        );
    }
    text
}

/// What a recording from the wire says of answers, keys and order.
fn answers(replayed: &Replayed, options: &Options) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    let answers = &replayed.answers;
    if answers.compared > 0 {
        let same = answers.compared - answers.other_rows - answers.other_values;
        lines.push((
            "answers",
            format!(
                "{} as recorded; {} other numbers of rows, {} other values (of {} compared)",
                percent(same, answers.compared),
                count(answers.other_rows),
                count(answers.other_values),
                count(answers.values_compared)
            ),
        ));
        for of in replayed
            .texts
            .iter()
            .filter(|of| of.other_rows + of.other_values > 0)
            .take(3)
        {
            let text = cut(&of.text, SENTENCE_MAX);
            lines.push((
                "",
                format!("{} {text}", count(of.other_rows + of.other_values)),
            ));
        }
    }
    let keys = &replayed.keys;
    if keys.replaced + keys.differed > 0 {
        lines.push((
            "keys",
            format!(
                "{} of results were others, {} in statements replaced",
                count(keys.differed),
                count(keys.replaced)
            ),
        ));
    }
    if let Some(why) = &keys.unknown {
        let why = why.lines().next().unwrap_or_default();
        lines.push(("keys", format!("not all replaced: {why}")));
    }
    if options.sync != Sync::None {
        let order = &replayed.order;
        lines.push((
            "order",
            format!(
                "{} waited for other sessions, {} broken; {} undetermined",
                plural(order.waited, "statement"),
                plural(order.broken, "wait"),
                plural(order.undetermined, "pair")
            ),
        ));
    }
    lines
}

/// Then and now, by the time now.
fn latencies(replayed: &Replayed) -> String {
    let mut texts: Vec<&TextResult> = replayed.texts.iter().collect();
    texts.sort_by_key(|of| std::cmp::Reverse((of.now.sum_us, of.statements)));
    let sum_us: u64 = texts.iter().map(|of| of.now.sum_us).sum();
    let mut table = Table::default();
    table.row([
        "statement",
        "time",
        "count",
        "then ms",
        "now ms",
        "change",
        "p99 then",
        "p99 now",
        "failed",
    ]);
    for of in texts.iter().take(STATEMENTS_MAX) {
        let (then, now) = (of.then.mean_us(), of.now.mean_us());
        let ms = |us: Option<f64>| us.map_or(DASH.to_owned(), ms_precisely);
        let p99 = |times: &Times| {
            let is_shown = is_supported(99.0, times.count);
            ms(is_shown.then(|| times.percentile_us(99.0) as f64))
        };
        let changed = then.zip(now).filter(|(then, _)| *then > 0.0);
        table.row([
            cut(&of.text, TEXT_MAX),
            percent(of.now.sum_us, sum_us),
            count(of.statements),
            ms(then),
            ms(now),
            changed.map_or(DASH.to_owned(), |(then, now)| change(now / then - 1.0)),
            p99(&of.then),
            p99(&of.now),
            count(of.failed),
        ]);
    }
    let more = texts.len().saturating_sub(STATEMENTS_MAX);
    let mut text = table.text(table_width());
    if more > 0 {
        text += &format!("… and {} more: --json\n", count(more as u64));
    }
    text
}
