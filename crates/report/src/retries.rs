//! Retries in the terminal: the policy, what tries were lost to, what they cost, and what the server
//! counted beside.

use std::cmp::Ordering;

use pgdyno_model::Fact;
use pgdyno_model::document::{Figures, Reason, Run};
use pgdyno_spec::{Policy, RetryPolicy, backoff, text as figures};

/// How much of a message is shown: all of it is in the JSON document.
const MESSAGE_CHARS_MAX: usize = 400;

/// The policy, for the line that says how clients ran; nothing when there is none.
pub fn policy(retry: &RetryPolicy) -> String {
    let policy = retry.policy();
    if policy == Policy::None {
        return String::new();
    }
    let mut text = match retry.tries() {
        0 => format!(", retry {} without limit", policy.name()),
        tries => format!(
            ", retry {} up to {}",
            policy.name(),
            figures::plural(tries.into(), "try")
        ),
    };
    if let Some(pauses) = retry.pauses() {
        text += &format!(", backoff {}", backoff::text(Some(&pauses)));
    }
    if let Some(deadline) = retry.deadline() {
        text += &format!(", no try after {}", figures::asked(deadline));
    }
    text
}

/// All there is to say; nothing when every first try went well.
pub fn text(run: &Run) -> String {
    let mut text = totals(&run.measured.all);
    text += &server(run);
    for reason in &run.reasons {
        text += &line(reason);
    }
    text
}

fn totals(all: &Figures) -> String {
    let (counts, work) = (&all.counts, &all.work);
    let mut text = String::new();
    if counts.retries > 0 {
        let each = counts.retries as f64 / counts.committed.max(1) as f64;
        text += &format!(
            "retries      {} of {} ({each:.2} per committed one)\n",
            figures::count(counts.retries),
            figures::plural(counts.retried, "transaction")
        );
    }
    if work.given_up > 0 {
        text += &format!(
            "given up     {}, after the last try\n",
            figures::plural(work.given_up, "transaction")
        );
    }
    if work.cut_off > 0 {
        text += &format!(
            "cut off      {} that had no time for another try before the end\n",
            figures::plural(work.cut_off, "transaction")
        );
    }
    if work.lost_tries > 0 {
        let percent = |share: Option<f64>| share.map_or_else(|| "–".to_owned(), figures::share);
        text += &format!(
            "thrown away  {}: {} of the time in tries ({}), {} of the statements ({})\n",
            figures::plural(work.lost_tries, "try"),
            percent(work.lost_time_share),
            figures::seconds(work.lost_us as f64 / 1e6),
            percent(work.lost_statement_share),
            figures::count(work.lost_statements)
        );
    }
    if work.backoff_us > 0 {
        text += &format!(
            "pauses       {} between tries, summed over clients\n",
            figures::seconds(work.backoff_us as f64 / 1e6)
        );
    }
    text
}

/// Retries that the server made by itself; nothing where scripts count none.
pub fn by_server(all: &Figures) -> String {
    let (counts, work) = (&all.counts, &all.work);
    if work.server_retries == 0 {
        return String::new();
    }
    let each = work.server_retries as f64 / counts.committed.max(1) as f64;
    format!(
        "by server    {} made by the server, as counted by the scripts ({each:.2} per committed \
         one)\n",
        figures::plural(work.server_retries, "retry")
    )
}

/// The server's counters beside what clients saw, both over the whole run.
fn server(run: &Run) -> String {
    let Fact::Known(counters) = &run.server_counters else {
        return String::new();
    };
    let grown: Vec<String> = counters
        .counted
        .iter()
        .filter(|(_, grown)| **grown > 0)
        .map(|(name, grown)| format!("{name} {}", figures::count(*grown)))
        .collect();
    let (retries, given_up) = of_run(run);
    let seen = retries + given_up;
    let mut text = String::new();
    if let Some(restarts) = counters.restarts.filter(|restarts| seen + restarts > 0) {
        text += &gap(seen, restarts, &counters.restarted);
    }
    if !grown.is_empty() && (seen > 0 || !run.reasons.is_empty()) {
        text += &format!("counted      {} ({})\n", grown.join(", "), counters.source);
    }
    text
}

fn gap(seen: u64, restarts: u64, restarted: &[String]) -> String {
    let gap = match seen.cmp(&restarts) {
        _ if !restarted.is_empty() => format!(
            "at least, because {} was restarted and lost its earlier counts",
            restarted.join(" and ")
        ),
        Ordering::Equal => "as many".to_owned(),
        Ordering::Less => format!("{} more", figures::count(restarts - seen)),
        Ordering::Greater => format!("{} fewer", figures::count(seen - restarts)),
    };
    format!(
        "server       clients restarted {} (retries and given up), the server counted {}: {gap}\n",
        figures::plural(seen, "time"),
        figures::plural(restarts, "restart")
    )
}

/// Retries of the clients and transactions they gave up, warm-up included, as the server's counters
/// have it.
fn of_run(run: &Run) -> (u64, u64) {
    let warmup = run.warmup.as_ref().map(|warmup| &warmup.phase);
    let phases = [Some(&run.measured), warmup].into_iter().flatten();
    phases.fold((0, 0), |(retries, given_up), phase| {
        let all = &phase.all;
        (
            retries + all.counts.retries,
            given_up + all.work.given_up + all.work.cut_off,
        )
    })
}

fn line(reason: &Reason) -> String {
    let sqlstate = reason.sqlstate.as_ref();
    let sqlstate = sqlstate.map_or_else(String::new, |code| format!(" [{code}]"));
    let mut message: String = reason.message.chars().take(MESSAGE_CHARS_MAX).collect();
    if message.len() < reason.message.len() {
        message.push('…');
    }
    format!(
        "{:<12} {} by {}{sqlstate}, {} of them retried\n{}\n",
        reason.class,
        figures::plural(reason.tries, "try"),
        reason.reason,
        figures::count(reason.tries_retried),
        indented(&message)
    )
}

fn indented(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("    {line}")).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_model::document::Work;

    #[test]
    fn the_gap_between_clients_and_server_is_reported_both_ways() {
        for (seen, restarts, reported) in [
            (96, 96, "96 restarts: as many\n"),
            (96, 1200, "1,200 restarts: 1,104 more\n"),
            (120, 118, "118 restarts: 2 fewer\n"),
        ] {
            let gap = gap(seen, restarts, &[]);
            assert!(gap.ends_with(reported), "{gap}");
        }
        let of_restarted = gap(96, 40, &["db2:26257".to_owned()]);
        let reported =
            "40 restarts: at least, because db2:26257 was restarted and lost its earlier counts\n";
        assert!(of_restarted.ends_with(reported), "{of_restarted}");
    }

    #[test]
    fn nothing_is_said_where_nothing_was_tried_again() {
        assert_eq!(totals(&Figures::default()), "");
        assert_eq!(policy(&RetryPolicy::default()), "");
        let script = Figures {
            work: Work {
                kept_us: 10,
                kept_statements: 1,
                ..Work::default()
            },
            ..Figures::default()
        };
        assert_eq!(totals(&script), "");
    }

    #[test]
    fn a_long_message_is_cut_and_follows_its_reason() {
        let reason = Reason {
            class: "serialization".to_owned(),
            reason: "RETRY_SERIALIZABLE".to_owned(),
            sqlstate: Some("40001".to_owned()),
            tries: 2,
            tries_retried: 1,
            tries_ended: 1,
            statement: None,
            message: format!("ERROR:  one\n{}", "é".repeat(500)),
        };
        let text = line(&reason);
        assert!(
            text.starts_with(
                "serialization 2 tries by RETRY_SERIALIZABLE [40001], 1 of them retried\n    \
                 ERROR:  one\n    éé"
            ),
            "{text}"
        );
        assert!(
            text.ends_with("é…\n") && text.chars().count() < 500,
            "{text}"
        );
    }
}
