//! A network that is cut, dead or late.

use std::thread::sleep;
use std::time::Duration;

use pgdyno_link::{Direction, How, Side};
use pgdyno_platform::child::Signal;

use super::{Fault, LOST, NO_FAULT, Way, all_lost, unharmed};
use crate::faults::check::Counted;
use crate::faults::scene::{CLIENTS, Call, Scene};
use crate::faults::server::Setup;

const AWHILE: Duration = Duration::from_millis(1000);

/// Nothing arrives this way until all connections are cut.
fn deaf(scene: &Scene, direction: Direction) {
    let link = scene.link();
    link.block(direction);
    // Longer than a client is between its statements: each waits for an answer.
    sleep(AWHILE);
    link.cut_now(How::Reset);
    link.unblock(direction);
}

/// Each client was cut off while it waited for an answer.
fn cut_off(counted: &Counted, call: Call) -> bool {
    all_lost(counted, call) && counted.failed + counted.unknown >= CLIENTS
}

const LINK: Fault = Fault {
    way: Way::Link,
    ..NO_FAULT
};

pub const FAULTS: &[Fault] = &[
    Fault {
        name: "connections reset",
        how: "RST to both ends of all connections",
        strike: |scene| scene.link().cut_now(How::Reset),
        codes: LOST,
        shows: all_lost,
        ..LINK
    },
    Fault {
        name: "connections closed",
        how: "FIN to both ends of all connections",
        strike: |scene| scene.link().cut_now(How::End),
        codes: LOST,
        shows: all_lost,
        ..LINK
    },
    Fault {
        name: "black hole",
        how: "nothing arrives in either direction for 1 s, then all of it",
        strike: |scene| {
            let link = scene.link();
            let both = [Direction::ToServer, Direction::ToClient];
            both.into_iter().for_each(|direction| link.block(direction));
            sleep(AWHILE);
            both.into_iter()
                .for_each(|direction| link.unblock(direction));
        },
        shows: unharmed,
        ..LINK
    },
    Fault {
        name: "answers lost",
        how: "answers do not arrive for 1 s, then RST: what was sent is committed",
        strike: |scene| deaf(scene, Direction::ToClient),
        codes: LOST,
        // Whatever reached the server was done there.
        shows: |counted, call| cut_off(counted, call) && counted.rows > counted.committed,
        ..LINK
    },
    Fault {
        name: "requests lost",
        how: "statements do not arrive for 1 s, then RST: nothing of them is committed",
        strike: |scene| deaf(scene, Direction::ToServer),
        codes: LOST,
        shows: |counted, call| cut_off(counted, call) && counted.rows == counted.committed,
        ..LINK
    },
    Fault {
        name: "client's side gone",
        how: "half open: clients see the end, the server does not",
        // The server keeps the old sessions beside the new ones.
        setup: Setup {
            settings: "max_connections=300\n",
            ..NO_FAULT.setup
        },
        strike: |scene| scene.link().lose(Side::Client),
        codes: LOST,
        shows: all_lost,
        ..LINK
    },
    Fault {
        name: "server's side gone",
        how: "half open: clients get no answer any more, until Ctrl-C",
        strike: |scene| {
            scene.link().lose(Side::Server);
            sleep(AWHILE);
            scene.running.signal(Signal::Interrupt);
        },
        codes: [130, 130, 130, 130],
        ..LINK
    },
    Fault {
        name: "late",
        how: "30 ± 20 ms in each direction",
        shows: unharmed,
        way: Way::Late,
        ..NO_FAULT
    },
];
