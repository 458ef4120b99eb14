//! Processes of the server that end, are killed or stand still.

use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use pgdyno_platform::child::Signal;

use super::{Fault, LOST, NO_FAULT, all_lost, lost, unharmed};
use crate::child::wait_until;

/// So long something is stopped or away.
const AWHILE: Duration = Duration::from_millis(1000);

fn signal(name: &str, pids: &[u32]) {
    let pids = pids.iter().map(u32::to_string);
    // Some may have ended by now.
    let _ = Command::new("kill").arg(name).args(pids).output().unwrap();
}

pub const FAULTS: &[Fault] = &[
    Fault {
        name: "some sessions terminated",
        how: "`pg_terminate_backend`, 30 sessions",
        strike: |scene| scene.terminate(30),
        codes: LOST,
        words: &["terminating connection due to administrator command"],
        shows: lost,
        ..NO_FAULT
    },
    Fault {
        name: "all sessions terminated",
        how: "`pg_terminate_backend`, all sessions, three times",
        strike: |scene| {
            for _ in 0..3 {
                scene.terminate(1000);
                sleep(Duration::from_millis(100));
            }
        },
        codes: LOST,
        shows: all_lost,
        ..NO_FAULT
    },
    Fault {
        name: "backend killed",
        how: "`kill -9` of a backend: crash recovery",
        strike: |scene| signal("-KILL", &[scene.backend()]),
        codes: LOST,
        shows: all_lost,
        ..NO_FAULT
    },
    Fault {
        name: "server killed",
        how: "`kill -9` of the postmaster, started again after 1 s",
        strike: |scene| {
            scene.server.stop(Signal::Kill);
            sleep(AWHILE);
            scene.server.run();
        },
        codes: LOST,
        shows: all_lost,
        ..NO_FAULT
    },
    Fault {
        name: "fast restart",
        how: "SIGINT to the postmaster, started again",
        strike: |scene| {
            scene.server.stop(Signal::Interrupt);
            scene.server.run();
        },
        codes: LOST,
        shows: all_lost,
        ..NO_FAULT
    },
    Fault {
        name: "immediate restart",
        how: "SIGQUIT to the postmaster, started again",
        strike: |scene| {
            scene.server.stop(Signal::Quit);
            scene.server.run();
        },
        codes: LOST,
        shows: all_lost,
        ..NO_FAULT
    },
    Fault {
        name: "server away",
        how: "SIGQUIT to the postmaster in a trial of 4 s, started again when it is over",
        seconds: Some(4),
        strike: |scene| {
            scene.server.stop(Signal::Quit);
            wait_until("the end of the trial", || {
                !pgdyno_platform::child::is_running(scene.running.id())
            });
            scene.server.run();
        },
        codes: [3, 3, 2, 0],
        ..NO_FAULT
    },
    Fault {
        name: "some backends stopped",
        how: "SIGSTOP to 20 processes for 1 s",
        strike: |scene| {
            let pids = scene.server.processes();
            let pids = &pids[pids.len() - 20..];
            signal("-STOP", pids);
            sleep(AWHILE);
            signal("-CONT", pids);
        },
        shows: unharmed,
        ..NO_FAULT
    },
    Fault {
        name: "server stopped",
        how: "SIGSTOP to all processes for 1 s",
        strike: |scene| {
            let pids = scene.server.processes();
            signal("-STOP", &pids);
            sleep(AWHILE);
            signal("-CONT", &pids);
        },
        shows: unharmed,
        ..NO_FAULT
    },
    Fault {
        name: "postmaster stopped",
        how: "all sessions terminated, no new ones for 1 s: SIGSTOP to the postmaster",
        strike: |scene| {
            let mut admin = scene.server.admin("postgres");
            let postmaster = [scene.server.postmaster()];
            signal("-STOP", &postmaster);
            admin
                .query(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'bench'",
                )
                .unwrap();
            sleep(AWHILE);
            signal("-CONT", &postmaster);
        },
        codes: LOST,
        shows: all_lost,
        ..NO_FAULT
    },
];
