//! What happened to connections, as charts over time mark it: what many clients met at the same time is
//! one mark.

use pgdyno_model::document::ConnectionEvent;
use pgdyno_model::document::page::Event;

/// Events of one kind that follow each other within that time are one.
const TOGETHER_US: u64 = 1_000_000;

/// The marks, in the order in which they begin.
pub fn marks(events: &[ConnectionEvent]) -> Vec<Event> {
    let mut marks: Vec<(Event, u64, u64)> = Vec::new();
    for event in events {
        let same = marks.iter_mut().rev().find(|(mark, last_us, _)| {
            mark.kind == event.kind && event.at_us.saturating_sub(*last_us) <= TOGETHER_US
        });
        if let Some((_, last_us, more)) = same {
            *last_us = event.at_us.max(*last_us);
            *more += 1;
            continue;
        }
        let mark = Event {
            at_us: event.at_us as i64,
            length_us: None,
            kind: event.kind.clone(),
            text: event.text.clone(),
            source: None,
            sync_after_us: None,
            sync_us: None,
        };
        marks.push((mark, event.at_us, 0));
    }
    let finished = marks.into_iter().map(|(mut mark, last_us, more)| {
        if more > 0 {
            mark.length_us = Some(last_us.saturating_sub(mark.at_us as u64));
            mark.text += &format!(" (and {more} more like it)");
        }
        mark
    });
    finished.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_many_clients_met_at_the_same_time_is_one_mark() {
        let event = |at_us, kind: &str, text: &str| ConnectionEvent {
            at_us,
            kind: kind.to_owned(),
            text: text.to_owned(),
        };
        let marks = marks(&[
            event(5_000_000, "outage", "client 1 lost its connection"),
            event(5_000_100, "moved", "client 1 is connected to b"),
            event(5_400_000, "outage", "client 4 lost its connection"),
            event(6_300_000, "outage", "client 7 lost its connection"),
            event(9_000_000, "outage", "client 1 lost its connection"),
        ]);
        let reported = marks.iter().map(|mark| {
            let Event {
                at_us,
                length_us,
                kind,
                text,
                ..
            } = mark;
            (*at_us, *length_us, kind.as_str(), text.as_str())
        });
        assert_eq!(
            reported.collect::<Vec<_>>(),
            [
                (
                    5_000_000,
                    Some(1_300_000),
                    "outage",
                    "client 1 lost its connection (and 2 more like it)"
                ),
                (5_000_100, None, "moved", "client 1 is connected to b"),
                (9_000_000, None, "outage", "client 1 lost its connection"),
            ]
        );
    }
}
