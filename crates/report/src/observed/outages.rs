//! Which times without service a slow transaction fell into: of all, of an endpoint, of its own client.

use crate::summary::span;
use pgdyno_model::document::{ConnectionEvent, Endpoint, Run, SlowTransaction, Stall};

/// A connection that was lost so long before may be why it had to wait.
const BEFORE_US: u64 = 1_000_000;
/// Events of connections that say that a client is without one.
const OUTAGE: &str = "outage";

/// In words; nothing where it fell into none.
pub fn around(run: &Run, slow: &SlowTransaction) -> Vec<String> {
    words(&run.stalls.each, &run.endpoints, &run.events, slow)
}

fn words(
    all: &[Stall],
    endpoints: &[Endpoint],
    events: &[ConnectionEvent],
    slow: &SlowTransaction,
) -> Vec<String> {
    let from_us = slow.ended_us.saturating_sub(slow.latency_us);
    let overlaps = |stall: &&Stall| {
        stall.start_us < slow.ended_us && stall.start_us + stall.length_us > from_us
    };
    let span = |stall: &Stall| span(stall.start_us, stall.length_us, stall.is_over);
    let of_all = all.iter().filter(overlaps);
    let mut reported: Vec<String> = of_all
        .map(|stall| format!("nothing was committed at all {}", span(stall)))
        .collect();
    // Of all it is said already.
    if reported.is_empty() {
        for endpoint in endpoints {
            let stalls = endpoint.stalls.iter().filter(overlaps);
            reported.extend(
                stalls.map(|stall| format!("no service at {} {}", endpoint.name, span(stall))),
            );
        }
    }
    let of_client = format!("client {} ", slow.client);
    let lost = events.iter().find(|event| {
        event.kind == OUTAGE
            && event.text.starts_with(&of_client)
            && (from_us.saturating_sub(BEFORE_US)..=slow.ended_us).contains(&event.at_us)
    });
    if let Some(event) = lost {
        let at = pgdyno_spec::text::seconds(event.at_us as f64 / 1e6);
        reported.push(format!("its client had no connection at {at}"));
    }
    reported
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_measurement::EndpointRecord;

    fn stall(start_us: u64, length_us: u64, is_over: bool) -> Stall {
        Stall {
            start_us,
            length_us,
            is_over,
            failed: [].into(),
            unknown: 0,
            recovered_us: None,
        }
    }

    #[test]
    fn a_slow_transaction_names_the_outage_the_endpoint_and_its_clients_lost_connection() {
        let slow = |ended_us| SlowTransaction {
            script: None,
            client: 3,
            ended_us,
            latency_us: 12_000_000,
        };
        let all = [stall(9_000_000, 8_000_000, true)];
        let mut endpoint = Endpoint::from(&EndpointRecord {
            name: "b:26257".to_owned(),
            ..EndpointRecord::default()
        });
        endpoint.stalls = vec![stall(6_000_000, 14_000_000, false)];
        let event = |client: usize, kind: &str, at_us| ConnectionEvent {
            at_us,
            kind: kind.to_owned(),
            text: format!("client {client} lost its connection"),
        };
        let events = [
            event(31, "outage", 8_500_000),
            event(3, "moved", 8_600_000),
            event(3, "outage", 9_100_000),
        ];
        let endpoints = [endpoint];
        let reported = words(&all, &endpoints, &events, &slow(20_000_000));
        assert_eq!(
            reported,
            [
                "nothing was committed at all from 9.00 s to 17.0 s",
                "its client had no connection at 9.10 s"
            ]
        );
        let reported = words(&[], &endpoints, &events[..2], &slow(20_000_000));
        assert_eq!(reported, ["no service at b:26257 from 6.00 s to the end"]);
        assert!(words(&all, &endpoints, &events, &slow(40_000_000)).is_empty());
    }
}
