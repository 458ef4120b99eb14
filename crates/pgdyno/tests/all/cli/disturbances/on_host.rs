//! Ctrl-C and kill -9 while a disturbance is in force, where only the host can tell: the network through proxies,
//! private servers, groups of processes, what is mounted.

use std::path::{Path, PathBuf};

use pgdyno_platform::child::{self, Signal};
use pgdyno_platform::proc::{self, mounts};
use pgdyno_platform::user;

use super::{Place, trial};
use crate::child::{Running, wait_until};
use crate::cli::store::Notebook;
use crate::support::{connect, pgdyno, ran, rows};

/// Clients that have waited for long, as the server sees them.
const NOTHING_ARRIVES: &str = "\
    SELECT count(*) >= 4 FROM pg_stat_activity WHERE backend_type = 'client backend' \
    AND pid <> pg_backend_pid() AND query ~ 'pgbench_|BEGIN|END' AND now() - state_change > '0.7 s'";

fn through_proxies(place: &Place, command: &str, begun: &str) {
    let before = place.snapshot();
    let running = Running::start(place.trial(command, "10m").arg("--via"));
    let mut session = connect(&place.url);
    wait_until(command, || rows(&mut session, begun) == ["t"]);
    running.signal(Signal::Interrupt);
    running.ended().expect(130, &[]);
    drop(session);
    assert_eq!(place.snapshot(), before, "{command}");
}

#[test]
fn a_network_that_lets_nothing_through_is_interrupted() {
    through_proxies(
        &Place::new(),
        "pgdyno:net-black-hole for=5m",
        NOTHING_ARRIVES,
    );
}

#[test]
#[ignore = "make test-long PART=disturbances"]
fn each_fault_of_the_network_is_interrupted() {
    let place = Place::new();
    let runs = "SELECT count(*) > 0 FROM pg_stat_activity WHERE query ~ 'pgbench_|BEGIN|END' AND pid <> pg_backend_pid() \
                AND now() - backend_start > '1.5 s'";
    for (command, begun) in [
        (
            "pgdyno:net-one-way direction=to-server for=5m",
            NOTHING_ARRIVES,
        ),
        (
            "pgdyno:net-one-way direction=to-client for=5m",
            NOTHING_ARRIVES,
        ),
        ("pgdyno:net-delay ms=300 for=5m", runs),
        ("pgdyno:net-jitter ms=300 for=5m", runs),
        ("pgdyno:net-bandwidth rate=1kB for=5m", runs),
        ("pgdyno:net-cut", runs),
        ("pgdyno:net-half-open closed=client", runs),
    ] {
        println!("Ctrl-C: {command}");
        through_proxies(&place, command, begun);
    }
}

/// What waits for the end of this pgdyno to unmount something, and where that is.
fn unmounter(pid: u32) -> Option<(u32, PathBuf)> {
    child::children(pid).ok()?.into_iter().find_map(|id| {
        let line = std::fs::read(format!("/proc/{id}/cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).into_owned();
        let point = line.split("umount '").nth(1)?.split('\'').next()?;
        Some((id, PathBuf::from(point)))
    })
}

fn is_full(pid: u32) -> bool {
    unmounter(pid).is_some_and(|(_, point)| point.join("filler").exists())
}

fn is_mounted(point: &Path) -> bool {
    let all = mounts::parse(&proc::text("/proc/self/mountinfo").unwrap());
    all.iter().any(|mount| mount.point == point)
}

/// Groups that this pgdyno has made.
fn groups(pid: u32) -> Vec<PathBuf> {
    let names = ["", "-io"].map(|ending| format!("pgdyno-{pid}{ending}"));
    let tops = ["", "cpu", "blkio", "unified"].map(|top| PathBuf::from("/sys/fs/cgroup").join(top));
    let all = tops
        .iter()
        .flat_map(|top| names.iter().map(|name| top.join(name)));
    all.filter(|group| group.exists()).collect()
}

/// What the configurations of its servers say.
fn configurations(pid: u32) -> String {
    let mut text = String::new();
    for id in child::children(pid).unwrap_or_default() {
        let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        let path = line
            .split('\0')
            .find_map(|word| word.strip_prefix("config_file="));
        text.extend(path.and_then(|path| std::fs::read_to_string(path).ok()));
    }
    text
}

fn private(notebook: &Notebook, command: &str, more: &[&str]) -> Running {
    let bindir = pgdyno_testkit::installation().bindir.display().to_string();
    let mut run = trial(notebook, command, "10m");
    Running::start(run.args(["--pg-bindir", &bindir]).args(more))
}

#[test]
#[ignore = "make test-long PART=disturbances"]
fn on_a_private_server_nothing_is_left_after_ctrl_c() {
    type Begun = fn(u32) -> bool;
    let servers = |pid: u32| {
        let children = child::children(pid).unwrap_or_default();
        let is_one = |id: &u32| {
            std::fs::read(format!("/proc/{id}/cmdline"))
                .is_ok_and(|line| String::from_utf8_lossy(&line).contains("config_file="))
        };
        children.into_iter().filter(is_one).count()
    };
    let mut all: Vec<(&str, &[&str], Begun)> = vec![(
        "pgdyno:lagging-standby for=5m",
        &["--pg-standby", "sync"],
        |pid| configurations(pid).contains("recovery_min_apply_delay"),
    )];
    if user::is_root() {
        all.push(("pgdyno:cpu-quota for=5m", &[], |pid| {
            !groups(pid).is_empty()
        }));
        all.push(("pgdyno:block-limit for=5m", &[], |pid| {
            !groups(pid).is_empty()
        }));
        all.push(("pgdyno:wal-full for=5m", &[], is_full));
    }
    for (command, more, begun) in all {
        println!("Ctrl-C: {command}");
        let notebook = Notebook::new();
        let running = private(&notebook, command, more);
        let pid = running.id();
        wait_until(command, || begun(pid));
        let mounted = unmounter(pid).map(|(_, point)| point);
        assert!(mounted.iter().all(|point| is_mounted(point)), "{command}");
        running.signal(Signal::Interrupt);
        running.ended().expect(130, &[]);
        assert_eq!(groups(pid), [""; 0].map(PathBuf::from), "{command}");
        assert!(
            !mounted.is_some_and(|point| is_mounted(&point)),
            "{command}"
        );
    }
    // Down for long.
    let notebook = Notebook::new();
    let running = private(&notebook, "pgdyno:kill-postmaster down=5m", &[]);
    let pid = running.id();
    wait_until("there is a server", || servers(pid) == 1);
    wait_until("it is killed", || servers(pid) == 0);
    running.signal(Signal::Interrupt);
    running.ended().expect(130, &[]);
}

#[test]
#[ignore = "make test-long PART=disturbances"]
fn a_mounted_file_system_is_unmounted_after_kill_9() {
    if !user::is_root() {
        return;
    }
    let notebook = Notebook::new();
    for guarded in [true, false] {
        let running = private(&notebook, "pgdyno:wal-full for=5m", &[]);
        let pid = running.id();
        wait_until("WAL's file system is full", || is_full(pid));
        let (guard, point) = unmounter(pid).unwrap();
        if !guarded {
            child::send_signal(guard, Signal::Kill).unwrap();
        }
        running.signal(Signal::Kill);
        running.ended();
        if guarded {
            wait_until("it is unmounted", || !is_mounted(&point));
        }
        let said = format!("{} is unmounted", point.display());
        ran(&mut pgdyno(&["restore"])).expect(0, &[&said]);
        assert!(!is_mounted(&point));
    }
}
