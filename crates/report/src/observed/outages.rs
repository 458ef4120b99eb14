//! Which times without service a slow transaction fell into: of all, of an endpoint, of its own client.

use crate::summary::span;
use pgdyno_model::document::{Run, SlowTransaction};

/// A connection that was lost so long before may be why it had to wait.
const BEFORE_US: u64 = 1_000_000;
/// Events of connections that say that a client is without one.
const OUTAGE: &str = "outage";

/// In words; nothing where it fell into none.
pub fn around(run: &Run, slow: &SlowTransaction) -> Vec<String> {
    let from_us = slow.ended_us.saturating_sub(slow.latency_us);
    let overlaps =
        |start_us: u64, length_us: u64| start_us < slow.ended_us && start_us + length_us > from_us;
    let mut told = Vec::new();
    let all = run.stalls.each.iter();
    for stall in all.filter(|stall| overlaps(stall.start_us, stall.length_us)) {
        let span = span(stall.start_us, stall.length_us, stall.is_over);
        told.push(format!("nothing was committed at all {span}"));
    }
    // Of all it is said already.
    if told.is_empty() {
        for endpoint in &run.endpoints {
            let stalls = endpoint.stalls.iter();
            for stall in stalls.filter(|stall| overlaps(stall.start_us, stall.length_us)) {
                let span = span(stall.start_us, stall.length_us, stall.is_over);
                told.push(format!("no service at {} {span}", endpoint.name));
            }
        }
    }
    let of_client = format!("client {} ", slow.client);
    let lost = run.events.iter().find(|event| {
        event.kind == OUTAGE
            && event.text.starts_with(&of_client)
            && (from_us.saturating_sub(BEFORE_US)..=slow.ended_us).contains(&event.at_us)
    });
    if let Some(event) = lost {
        let at_s = pgdyno_model::text::seconds(event.at_us as f64 / 1e6);
        told.push(format!("its client was without a connection at {at_s}"));
    }
    told
}
