//! How sockets are waited for and on which CPUs, and what the result says about it.

use std::fs;

use pgdyno_drive::{Control, Live};
use pgdyno_measurement::{DriveError, Event, Interval, Message};
use pgdyno_platform::affinity;
use pgdyno_platform::io::{Backend, Choice, Uring};

use crate::support::*;

#[test]
fn the_recording_says_how_sockets_were_waited_for() {
    let mut drive = drive("select 1;");
    drive.clients = 20;
    let used = run_well(&drive).io.expect("it is known");
    match (io(), Uring::probe()) {
        (Choice::Epoll, _) => {
            assert_eq!((used.backend, used.why_not_uring), (Backend::Epoll, None));
        }
        (_, Ok(())) => assert_eq!((used.backend, used.why_not_uring), (Backend::Uring, None)),
        (_, Err(why)) => {
            assert_eq!(used.backend, Backend::Epoll);
            assert_eq!(used.why_not_uring, Some(why));
        }
    }
}

#[test]
fn io_uring_that_cannot_be_used_is_refused_with_the_reason() {
    let mut drive = drive("select 1;");
    drive.io = Choice::Uring;
    match (
        drive.run(&Control::default(), &mut Seen::default()),
        Uring::probe(),
    ) {
        (Ok(recording), Ok(())) => {
            let used = recording.io.expect("it is known");
            assert_eq!(used.backend, Backend::Uring);
        }
        (Err(DriveError::NoUring(error)), Err(why)) => {
            assert!(error.to_string().contains(&why), "{error}");
        }
        (outcome, probed) => panic!("{outcome:?}, while the probe says {probed:?}"),
    }
}

/// Where the threads of clients may run when they begin to work.
#[derive(Default)]
struct Places(Vec<String>);

impl Live for Places {
    fn second(&mut self, _: &Interval) {}
    fn message(&mut self, _: &Message) {}
    fn event(&mut self, _: &Event) {}

    fn ready(&mut self) {
        for task in fs::read_dir("/proc/self/task").unwrap().flatten() {
            // One of another test may have ended by now.
            let Ok(status) = fs::read_to_string(task.path().join("status")) else {
                continue;
            };
            let of = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
            if of("Name:").is_some_and(|name| name.trim() == "clients-0") {
                let cpus = of("Cpus_allowed_list:").unwrap_or_default();
                self.0.push(cpus.trim().to_owned());
            }
        }
    }
}

#[test]
fn a_pinned_thread_stays_on_its_cpu_and_the_recording_says_which() {
    let cpu = *affinity::spread().unwrap().last().unwrap();
    let free = run_well(&drive("select 1;"));
    assert!(free.io.unwrap().pinned_cpus.is_empty());
    let mut drive = drive("select 1;");
    drive.pin = Some(vec![cpu]);
    let mut places = Places::default();
    let recording = drive.run(&Control::default(), &mut places).unwrap();
    assert!(places.0.contains(&cpu.to_string()), "{:?}", places.0);
    assert_eq!(recording.io.unwrap().pinned_cpus, [cpu]);
}

#[test]
fn a_cpu_that_is_not_there_is_refused_by_name() {
    let allowed = affinity::allowed().unwrap();
    let missing = (0..1024).rev().find(|cpu| !allowed.contains(cpu)).unwrap();
    let mut drive = drive("select 1;");
    drive.clients = 2;
    drive.threads = 2;
    drive.pin = Some(vec![allowed[0], missing]);
    let error = drive.run(&Control::default(), &mut Seen::default());
    let Err(DriveError::NotPinned { cpu, .. }) = error else {
        panic!("{error:?}");
    };
    assert_eq!(cpu, missing);
    drive.pin = Some(vec![allowed[0]]);
    let error = drive.run(&Control::default(), &mut Seen::default());
    assert!(matches!(error, Err(DriveError::Invalid(_))), "{error:?}");
}
