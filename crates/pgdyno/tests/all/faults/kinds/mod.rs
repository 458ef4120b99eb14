//! The faults, each with what pgdyno promises about it.

mod client;
mod connections;
mod names;
mod network;
mod processes;
mod tables;

use std::path::Path;
use std::process::Command;

use crate::faults::check::Counted;
use crate::faults::scene::{CLIENTS, Call, Scene};
use crate::faults::server::Setup;

/// How clients get to the server.
#[derive(Debug, Clone, Copy)]
pub enum Way {
    Direct,
    Named(&'static str),
    /// By a network that can be harmed.
    Link,
    /// By a network with delay and jitter.
    Late,
}

pub struct Fault {
    pub name: &'static str,
    /// How it is made, for the documentation.
    pub how: &'static str,
    pub setup: Setup,
    pub way: Way,
    pub args: &'static [&'static str],
    /// Seconds of the trial; else it has a number of transactions.
    pub seconds: Option<u64>,
    /// It is made when so many clients have committed something.
    pub clients: u64,
    /// Makes it, and undoes it where it does not last.
    pub strike: fn(&Scene),
    /// Exit codes in the order of [`Call::ALL`].
    pub codes: [i32; 4],
    pub words: &'static [&'static str],
    /// What shows that it was made and counted for what it is.
    pub shows: fn(&Counted, Call) -> bool,
    /// Options for files, in a directory of the case.
    pub files: fn(&Path, Call) -> Vec<String>,
    /// What the command is run within.
    pub within: fn(&Path, Command) -> Command,
    /// Why it cannot be made here.
    pub cannot: fn() -> Option<String>,
}

const CALM: [i32; 4] = [0, 0, 0, 0];
/// Connections are lost, and the server comes back.
const LOST: [i32; 4] = [3, 0, 2, 0];
/// Errors of the server end clients that have a connection.
const ERRORS: [i32; 4] = [1, 1, 2, 2];

const NO_FAULT: Fault = Fault {
    name: "",
    how: "",
    setup: Setup {
        settings: "",
        tls: false,
        password: false,
    },
    way: Way::Direct,
    args: &[],
    seconds: None,
    clients: CLIENTS,
    strike: |_| (),
    codes: CALM,
    words: &[],
    shows: |_, _| true,
    files: |_, _| Vec::new(),
    within: |_, command| command,
    cannot: || None,
};

/// Without `--reconnect` clients have ended, with it connections were lost and all clients went on.
fn lost(counted: &Counted, call: Call) -> bool {
    if !call.reconnects {
        counted.aborted > 0 && counted.outages == 0
    } else {
        counted.aborted == 0 && counted.outages > 0
    }
}

/// The same, of all clients.
fn all_lost(counted: &Counted, call: Call) -> bool {
    lost(counted, call) && counted.aborted.max(counted.outages) >= CLIENTS
}

/// No transaction has failed, no client has noticed.
fn unharmed(counted: &Counted, _: Call) -> bool {
    let broken = counted.failed + counted.unknown;
    broken + counted.aborted + counted.outages == 0
}

/// Transactions have failed with errors of the server, and clients went on.
fn survived(counted: &Counted, _: Call) -> bool {
    counted.failed > 0 && counted.unknown + counted.aborted == 0
}

/// Clients have ended by an error of the server that leaves nothing open.
fn ended(counted: &Counted, _: Call) -> bool {
    counted.aborted > 0 && counted.unknown == 0 && counted.failed > 0
}

pub fn all() -> Vec<&'static Fault> {
    [
        processes::FAULTS,
        network::FAULTS,
        connections::FAULTS,
        names::FAULTS,
        tables::FAULTS,
        client::FAULTS,
    ]
    .into_iter()
    .flatten()
    .collect()
}
