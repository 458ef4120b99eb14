//! Host names that do not resolve any more, or to a dead address too. In a mount namespace of its own, which
//! has its own /etc/hosts: only root can make one.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{Fault, LOST, NO_FAULT, Way, all_lost};
use crate::faults::scene::Scene;

const NAME: &str = "db.faults.example";
const DEAD: &str = "127.0.0.9";

fn hosts(dir: &Path, addresses: &[&str]) {
    let lines = addresses
        .iter()
        .map(|address| format!("{address} {NAME}\n"));
    let text = format!("127.0.0.1 localhost\n{}", lines.collect::<String>());
    fs::write(dir.join("hosts"), text).unwrap();
}

/// The command with the case's own /etc/hosts.
fn with_hosts(dir: &Path, addresses: &[&str], command: &Command) -> Command {
    hosts(dir, addresses);
    let mount = format!(
        "mount --bind '{}' /etc/hosts || exit 99",
        dir.join("hosts").display()
    );
    super::client::in_namespace(command, &mount)
}

/// The name changes, and all sessions end.
fn renamed(scene: &Scene, addresses: &[&str]) {
    hosts(scene.dir.path(), addresses);
    scene.terminate(1000);
}

const NAMED: Fault = Fault {
    way: Way::Named(NAME),
    cannot: super::client::cannot_mount,
    codes: LOST,
    shows: all_lost,
    ..NO_FAULT
};

pub const FAULTS: &[Fault] = &[
    Fault {
        name: "name gone",
        how: "the host's name does not resolve any more, all sessions terminated",
        within: |dir, command| with_hosts(dir, &["127.0.0.1"], &command),
        strike: |scene| renamed(scene, &[]),
        ..NAMED
    },
    Fault {
        name: "name of a dead address",
        how: "the host's name has a dead address first, all sessions terminated",
        within: |dir, command| with_hosts(dir, &[DEAD, "127.0.0.1"], &command),
        strike: |scene| scene.terminate(1000),
        ..NAMED
    },
    Fault {
        name: "name moved",
        how: "the host's name leads to another, dead address, all sessions terminated",
        within: |dir, command| with_hosts(dir, &["127.0.0.1"], &command),
        strike: |scene| renamed(scene, &[DEAD]),
        ..NAMED
    },
];
