//! Another way to the same database that joins while a run goes on: it gets its share of the clients.

use std::cell::Cell;
use std::time::Duration;

use pgdyno_drive::{Control, Drive, Live, Newcomers};
use pgdyno_measurement::{Event, EventKind, Interval, Message};
use pgdyno_spec::{QueryMode, Until};

use crate::failback::{links, over, plain, rows_are_those_booked, way};

/// Does something after the first second and at each event.
struct Steps<'a> {
    has_begun: bool,
    first: &'a dyn Fn(),
    event: &'a dyn Fn(&Event),
}

impl Live for Steps<'_> {
    fn second(&mut self, _interval: &Interval) {
        if !std::mem::replace(&mut self.has_begun, true) {
            (self.first)();
        }
    }

    fn message(&mut self, message: &Message) {
        panic!("{}", message.text);
    }

    fn event(&mut self, event: &Event) {
        (self.event)(event);
    }
}

#[test]
fn an_endpoint_that_joins_gets_its_share_and_they_return_to_it_after_it_was_lost() {
    let links = links(plain(), plain());
    let newcomers = Newcomers::default();
    let drive = Drive {
        endpoints: vec![way(&links[0])],
        newcomers: Some(newcomers.clone()),
        until: Until::Elapsed(Duration::from_secs(30)),
        ..over(&links, QueryMode::Prepared, "newcomers")
    };
    let control = Control::default();
    let (moved, returned) = (Cell::new(0), Cell::new(0));
    let count = |of: &Cell<u32>| of.replace(of.get() + 1) + 1;
    let mut live = Steps {
        has_begun: false,
        first: &|| assert!(newcomers.add(way(&links[1]))),
        event: &|event| match event.kind {
            EventKind::Moved if count(&moved) == 3 => links[1].go_down(),
            EventKind::Moved if moved.get() == 6 => links[1].come_up(),
            EventKind::Returned if count(&returned) == 3 => control.finish(),
            _ => {}
        },
    };
    let recording = drive.run(&control, &mut live).unwrap();
    rows_are_those_booked(&recording, "newcomers");
    assert_eq!(
        (moved.get(), returned.get()),
        (6, 3),
        "{:?}",
        recording.events
    );
    let [first, joined] = recording.endpoints.as_slice() else {
        panic!("{:?}", recording.endpoints);
    };
    assert_eq!(joined.name, links[1].address().to_string());
    // Every second one of six.
    assert_eq!((first.clients, joined.clients), (3, 3));
    assert_eq!((first.lost, first.arrived, first.returned), (0, 3, 0));
    assert_eq!((joined.lost, joined.arrived, joined.returned), (3, 6, 3));
    assert!(first.counts.committed > 0 && joined.counts.committed > 0);
    // To go there costs no transaction, and what was before it came is no outage of it.
    assert_eq!(recording.outages.count, 3);
    let begins = joined.stalls.iter().map(|stall| stall.start_us);
    assert!(begins.min().is_none_or(|us| us > 1_000_000), "{joined:?}");
    let texts = recording.events.iter().map(|event| event.text.as_str());
    let reported = texts.filter(|text| text.ends_with(": its endpoint has joined"));
    assert_eq!(reported.count(), 3, "{:?}", recording.events);
}

#[test]
fn clients_without_failback_go_to_it_when_they_connect_again_and_of_none_there_is_no_trace() {
    for joins in [true, false] {
        let links = links(plain(), plain());
        let newcomers = Newcomers::default();
        let drive = Drive {
            endpoints: vec![way(&links[0])],
            newcomers: Some(newcomers.clone()),
            comes_back: false,
            until: Until::Elapsed(Duration::from_secs(2)),
            ..over(&links, QueryMode::Simple, "newcomers_stay")
        };
        let mut live = Steps {
            has_begun: false,
            first: &|| {
                if joins {
                    newcomers.add(way(&links[1]));
                    // Each is lost, and half of them belong to the newcomer.
                    links[0].go_down();
                    links[0].come_up();
                }
            },
            event: &|_| {},
        };
        let recording = drive.run(&Control::default(), &mut live).unwrap();
        rows_are_those_booked(&recording, "newcomers_stay");
        let moved = { recording.events.iter() }.filter(|event| event.kind == EventKind::Moved);
        let clients: Vec<u64> = recording.endpoints.iter().map(|one| one.clients).collect();
        if joins {
            assert_eq!(moved.count(), 3, "{:?}", recording.events);
            assert_eq!(clients, [3, 3]);
        } else {
            assert_eq!((moved.count(), clients), (0, vec![6]))
        }
    }
}
