//! What happened when: events, and the transactions that took longest with what went on then.

use super::super::table::one_line;
use super::{EVENTS_MAX, Window, outages, rest, top_waits};
use pgdyno_model::document::{Observed, Run};
use pgdyno_spec::text::{self as figures, decimal_seconds as seconds};

/// What happened so long before or after a transaction may have to do with it.
const AROUND_US: i64 = 1_000_000;
/// So many kinds of waiting are shown of a moment.
const WAITS_MAX: usize = 3;

/// Something that happened: to the server or to connections.
pub struct Moment<'a> {
    pub at_us: i64,
    /// How long it took, where it has a length.
    pub length_us: Option<u64>,
    pub kind: &'a str,
    pub text: &'a str,
}

/// All that happened, in its order.
pub fn all<'a>(run: &'a Run, observed: &'a Observed) -> Vec<Moment<'a>> {
    let seen = observed.events.iter().map(|event| Moment {
        at_us: event.at_us,
        length_us: event.length_us,
        kind: &event.kind,
        text: &event.text,
    });
    let of_connections = run.events.iter().map(|event| Moment {
        at_us: event.at_us as i64,
        length_us: None,
        kind: &event.kind,
        text: &event.text,
    });
    let mut all: Vec<Moment<'_>> = seen.chain(of_connections).collect();
    all.sort_by_key(|moment| moment.at_us);
    all
}

pub fn events(run: &Run, observed: &Observed) -> String {
    let all = all(run, observed);
    if all.is_empty() {
        return String::new();
    }
    let mut text = String::from("events, s since clients began to work\n");
    for moment in all.iter().take(EVENTS_MAX) {
        let length = moment
            .length_us
            .map_or_else(String::new, |us| format!(", for {} s", seconds(us as i64)));
        let (kind, words) = (one_line(moment.kind), one_line(moment.text));
        text += &format!(
            "{:>8}  {kind:<14}  {words}{length}\n",
            seconds(moment.at_us)
        );
    }
    text + &rest(all.len(), EVENTS_MAX, "events")
}

/// The transactions that took longest, each with what went on then.
pub fn worst(run: &Run, observed: &Observed) -> String {
    if run.worst.is_empty() {
        return String::new();
    }
    let all = all(run, observed);
    let mut text =
        String::from("longest transactions, with what happened within a second of them\n");
    for slow in &run.worst {
        let to_us = slow.ended_us as i64;
        let from_us = to_us - slow.latency_us as i64;
        let script = slow.script.as_ref();
        let script = script.map_or_else(String::new, |name| format!("{}, ", one_line(name)));
        text += &format!(
            "{:>12} ms  from {} to {} s  {script}client {}",
            figures::ms(slow.latency_us),
            seconds(from_us),
            seconds(to_us),
            slow.client
        );
        let around = all.iter().filter(|moment| {
            let end_us = moment.at_us + moment.length_us.unwrap_or(0) as i64;
            moment.at_us <= to_us + AROUND_US && end_us >= from_us - AROUND_US
        });
        let around = around
            .map(|moment| format!("{} at {} s", one_line(moment.kind), seconds(moment.at_us)));
        let outages = outages::around(run, slow);
        let reported = outages.len() + WAITS_MAX;
        let mut around: Vec<String> = outages.into_iter().chain(around).collect();
        let more = around.len().saturating_sub(reported);
        around.truncate(reported);
        if more > 0 {
            around.push(format!("{more} more"));
        }
        // Waits are reported for whole seconds.
        let window = Window {
            from_us: from_us - AROUND_US,
            to_us: to_us + AROUND_US,
        };
        let waits = top_waits(observed, window);
        let waits = waits.iter().take(WAITS_MAX);
        let waits: Vec<String> = waits
            .map(|(label, mean)| format!("{} {}", one_line(label), figures::quantity(*mean)))
            .collect();
        if !around.is_empty() {
            text += &format!("; {}", around.join(", "));
        }
        if !waits.is_empty() {
            text += &format!("; waits: {}", waits.join(", "));
        }
        text.push('\n');
    }
    text
}
