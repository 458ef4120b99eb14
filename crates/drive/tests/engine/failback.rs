//! Two ways to one database, so that its rows tell what was committed wherever a client was: clients
//! return to the way that was lost, and what was lost before COMMIT is tried again on the other one.

use std::thread;
use std::time::Duration;

use pgdyno_drive::{Control, Drive, Live};
use pgdyno_link::{CutAt, Direction, How, Link, LinkProxy};
use pgdyno_measurement::{Event, EventKind, Failure, Interval, Message, Recording};
use pgdyno_script::{Language, Names};
use pgdyno_spec::{ErrorClass, OnConnectionLoss, QueryMode, Until};
use pgdyno_wire::{Addr, Candidate};

use crate::support::*;

pub fn way(link: &LinkProxy) -> Vec<Candidate> {
    vec![candidate_at(Addr::Tcp(link.address()), &[])]
}

pub fn links(first: Link, second: Link) -> [LinkProxy; 2] {
    [first, second].map(|link| link.start().unwrap())
}

pub fn plain() -> Link {
    Link::to(&*socket())
}

/// Clients that insert numbers of their own through either way.
pub fn over(links: &[LinkProxy; 2], mode: QueryMode, table: &str) -> Drive {
    sql(&format!(
        "drop table if exists {table}; create table {table} (id int, client int)"
    ));
    let script = format!(
        "\\sleep 3 ms\n\\set id next_key('{table}', 1)\nbegin;\n\
         insert into {table} values (:id, :client_id);\nselect 1;\nend;\n"
    );
    Drive {
        clients: 6,
        threads: 2,
        tries_other_endpoints: true,
        comes_back: true,
        on_connection_loss: OnConnectionLoss::Reconnect,
        endpoints: links.iter().map(way).collect(),
        ..native(mode, &script)
    }
}

/// Numbers that are drawn once need the language of native scripts.
fn native(mode: QueryMode, script: &str) -> Drive {
    let mut names = Names::new();
    let script = Language::Pgdyno.parse("native.sql", script, &mut names);
    Drive {
        scripts: Drive::compile(vec![(script.unwrap(), 1)], mode, None).unwrap(),
        names,
        ..drive_in(mode, "select 1;\n")
    }
}

/// No row is there twice, and those that are were booked so.
pub fn rows_are_those_booked(recording: &Recording, table: &str) {
    let counts = counts(recording);
    let rows = value(&format!("select count(*) from {table}")) as u64;
    let different = value(&format!("select count(distinct id) from {table}")) as u64;
    assert_eq!(rows, different, "{counts:?}");
    let possible = counts.committed..=counts.committed + counts.unknown;
    assert!(possible.contains(&rows), "{rows} rows, {counts:?}");
}

/// Ends the run when clients have returned so often.
struct UntilReturned<'a> {
    control: &'a Control,
    returns: usize,
    down: &'a dyn Fn(&Event),
}

impl Live for UntilReturned<'_> {
    fn second(&mut self, _interval: &Interval) {}

    fn message(&mut self, message: &Message) {
        panic!("{}", message.text);
    }

    fn event(&mut self, event: &Event) {
        (self.down)(event);
        if event.kind == EventKind::Returned {
            self.returns -= 1;
            if self.returns == 0 {
                self.control.finish();
            }
        }
    }
}

#[test]
fn clients_return_one_after_the_other_when_their_endpoint_is_up_again() {
    for (mode, rate) in [
        (QueryMode::Prepared, None),
        (QueryMode::Simple, Some(600.0)),
    ] {
        let links = links(plain(), plain());
        let drive = Drive {
            rate: rate.map(Into::into),
            until: Until::Elapsed(Duration::from_secs(30)),
            ..over(&links, mode, "failback")
        };
        let control = Control::default();
        let recording = thread::scope(|scope| {
            scope.spawn(|| {
                let begun = "select (count(*) > 50)::int from failback";
                wait_until(&mut admin(), begun);
                links[1].go_down();
            });
            // It is up again when all have left; the first question was asked in vain before.
            let moved = std::cell::Cell::new(0);
            let down = |event: &Event| {
                moved.set(moved.get() + usize::from(event.kind == EventKind::Moved));
                if moved.get() == 3 {
                    links[1].come_up();
                }
            };
            let mut live = UntilReturned {
                control: &control,
                returns: 3,
                down: &down,
            };
            drive.run(&control, &mut live).unwrap()
        });
        rows_are_those_booked(&recording, "failback");
        let [stayed, lost] = recording.endpoints.as_slice() else {
            panic!("{:?}", recording.endpoints);
        };
        assert_eq!((stayed.lost, stayed.arrived, stayed.returned), (0, 3, 0));
        assert_eq!((lost.lost, lost.arrived, lost.returned), (3, 3, 3));
        // To return costs no transaction.
        assert_eq!(recording.outages.count, 3);
        let of_loss = failed(&recording, Failure::ConnectionLost) + counts(&recording).unknown;
        assert!(of_loss <= 3, "{:?}", counts(&recording));
        let times = |kind| {
            let events = recording.events.iter();
            let of_kind = events.filter(move |event| event.kind == kind);
            of_kind.map(|event| event.at_us).collect::<Vec<u64>>()
        };
        let [down, up] = [EventKind::EndpointDown, EventKind::EndpointUp].map(times);
        assert_eq!((down.len(), up.len()), (1, 1), "{:?}", recording.events);
        let returned = times(EventKind::Returned);
        // Spread over two seconds.
        assert!(
            returned[0] >= up[0] && up[0] >= down[0],
            "{:?}",
            recording.events
        );
        for pair in returned.windows(2) {
            assert!(pair[1] - pair[0] >= 300_000, "{returned:?}");
        }
        let name = links[1].address().to_string();
        let texts = recording.events.iter().map(|event| event.text.as_str());
        let up = texts
            .clone()
            .find(|text| text.contains("accepts connections again, "));
        assert!(up.unwrap().starts_with(&name), "{up:?}");
        assert!(
            texts.clone().any(|text| text.ends_with(&format!(
                "to {name}: its endpoint accepts connections again"
            ))),
            "{:?}",
            texts.collect::<Vec<_>>()
        );
    }
}

#[test]
fn what_is_lost_before_commit_is_tried_again_and_never_what_may_be_committed() {
    // Every connection of the first way ends within its first transactions, where a step further.
    for (mode, first, step) in [(QueryMode::Simple, 200, 14), (QueryMode::Prepared, 700, 25)] {
        let mut classes = (0, 0);
        for number in 0..8 {
            let cut = CutAt::Bytes(Direction::ToServer, first + step * number);
            let how = if number % 2 == 0 {
                How::End
            } else {
                How::Reset
            };
            let links = links(plain().cut(cut, how), plain());
            let drive = Drive {
                max_tries: 0,
                retries_lost: true,
                comes_back: false,
                until: transactions(12),
                ..over(&links, mode, "lost")
            };
            let (recording, _) = run(&drive);
            rows_are_those_booked(&recording, "lost");
            let counts = counts(&recording);
            assert_eq!(counts.total(), 72);
            assert_eq!(counts.committed + counts.unknown, 72, "{counts:?}");
            let reasons = recording.reasons.iter();
            let lost = reasons.filter(|reason| reason.class == ErrorClass::ConnectionLost);
            let retried: u64 = lost.map(|reason| reason.retried).sum();
            assert_eq!(retried, counts.retries, "{:?}", recording.reasons);
            classes = (classes.0 + retried, classes.1 + counts.unknown);
        }
        // Cuts came before COMMIT and within it.
        assert!(classes.0 > 20 && classes.1 > 0, "{mode:?}: {classes:?}");
    }
}

#[test]
fn a_transaction_that_loses_its_last_try_has_failed_and_none_is_tried_again_unasked() {
    let links = links(plain(), plain());
    for (retries_lost, max_tries) in [(true, 2), (false, 3)] {
        let table = over(&links, QueryMode::Simple, "lost_twice");
        // A server that goes ends its sessions so.
        let text = "\\set id next_key('lost_twice', 1)\nbegin;\n\
                    insert into lost_twice values (:id, :client_id);\n\
                    select pg_terminate_backend(pg_backend_pid());\nend;\n";
        let ends = native(QueryMode::Simple, text);
        let drive = Drive {
            max_tries,
            retries_lost,
            until: transactions(2),
            scripts: ends.scripts,
            names: ends.names,
            ..table
        };
        let (recording, _) = run(&drive);
        let counts = counts(&recording);
        assert_eq!(
            failed(&recording, Failure::ConnectionLost),
            12,
            "{counts:?}"
        );
        assert_eq!(counts.total(), 12);
        assert_eq!(value("select count(*) from lost_twice"), 0);
        let reasons: Vec<_> = { recording.reasons.iter() }
            .filter(|reason| reason.class == ErrorClass::ConnectionLost)
            .map(|reason| (reason.sqlstate.as_str(), reason.retried, reason.ended))
            .collect();
        if retries_lost {
            assert_eq!(
                (reasons.as_slice(), counts.retries),
                (&[("57P01", 12, 12)][..], 12)
            )
        } else {
            assert_eq!((reasons.len(), counts.retries), (0, 0))
        }
    }
}
