//! Events in the order of time.

use std::collections::BTreeMap;

use pgdyno_recording::{Event, Timeline};
use pgdyno_stats::SplitMix64;

use crate::drawn::{Drawn, draw, write};

fn timeline(bytes: &[u8]) -> (Vec<Event>, Timeline) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("r");
    std::fs::write(&path, bytes).unwrap();
    let mut timeline = Timeline::open(&path).unwrap();
    let mut events = Vec::new();
    while let Some(event) = timeline.next_event().unwrap() {
        events.push(event);
    }
    (events, timeline)
}

#[test]
fn events_come_by_the_time_at_which_they_are_due_and_none_is_lost() {
    let drawn = draw(8, 20_000);
    let (events, timeline) = timeline(&write(&drawn));
    assert_eq!(events.len(), drawn.len());
    assert!(events.is_sorted_by_key(Event::at_us));
    assert!(timeline.losses().is_none() && timeline.ending().is_some());
    // Those of a session at one time keep the order in which they were written.
    let mut by_session: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for event in &events {
        let text = format!("{:?}", Drawn::of(event));
        by_session
            .entry(event.session().number)
            .or_default()
            .push(text);
    }
    let mut expected: BTreeMap<u32, Vec<(i64, String)>> = BTreeMap::new();
    for event in &drawn {
        let (number, at_us) = match event {
            Drawn::Begin(session, at_us, _) | Drawn::End(session, at_us) => {
                (session.number, *at_us)
            }
            Drawn::Statement(statement) => (statement.session.number, statement.start_us),
        };
        expected
            .entry(number)
            .or_default()
            .push((at_us, format!("{event:?}")));
    }
    for (number, mut events) in expected {
        events.sort_by_key(|(at_us, _)| *at_us);
        let events: Vec<String> = events.into_iter().map(|(_, text)| text).collect();
        assert_eq!(by_session[&number], events);
    }
}

#[test]
fn damage_loses_its_block_and_is_counted() {
    let drawn = draw(9, 20_000);
    let bytes = write(&drawn);
    let mut draw = SplitMix64(4);
    for _ in 0..10 {
        let mut bytes = bytes.clone();
        let at = 400 + (draw.next() % (bytes.len() as u64 - 800)) as usize;
        bytes[at] ^= 0x55;
        let (events, timeline) = timeline(&bytes);
        let losses = timeline.losses();
        assert_eq!(
            events.len() as u64 + losses.events,
            drawn.len() as u64,
            "{losses:?}"
        );
        assert!(losses.events > 0 && !losses.is_torn);
        let (events, timeline) = self::timeline(&bytes[..at]);
        assert!(timeline.losses().is_torn && events.len() < drawn.len());
    }
}
