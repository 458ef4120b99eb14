//! The server that stays across runs.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use pgdyno_platform::child::{self, Signal};
use pgdyno_server::kept::{self, ServerStatus};
use pgdyno_server::{Cache, Error, Options};

/// A cache of the test's own.
struct Place {
    cache: Cache,
    _dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let dir = pgdyno_testkit::home();
        let [(_, cache), (_, servers)] = pgdyno_testkit::own_cache(dir.path());
        fs::create_dir(&servers).expect("ours");
        Place {
            cache: Cache::at(&cache).expect("absolute").with_servers(servers),
            _dir: dir,
        }
    }

    fn options(&self) -> Options {
        Options {
            cache: Some(self.cache.clone()),
            bindir: Some(pgdyno_testkit::installation().bindir.clone()),
            ..Options::default()
        }
    }

    fn start(&self) -> (kept::Running, bool) {
        kept::start(&self.options(), &mut |_| {}).expect("it starts")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // A test that fails must not leave a server either.
        let _ = kept::stop(&self.cache, true);
    }
}

#[test]
fn a_kept_server_stays_until_it_is_stopped() {
    let place = Place::new();
    assert_eq!(
        kept::status(&place.cache),
        ServerStatus::Stopped { data_dir: None }
    );
    let (running, started) = place.start();
    assert!(started);
    UnixStream::connect(running.address.socket_path()).expect("it listens");
    assert_eq!(
        kept::status(&place.cache),
        ServerStatus::Running(running.clone())
    );
    let (again, started) = place.start();
    assert!(!started, "one is enough");
    assert_eq!(again, running);

    let before = kept::stop(&place.cache, false).expect("it stops");
    assert_eq!(before, ServerStatus::Running(running.clone()));
    // The lock is let go of a moment before the process has ended.
    let gone = (0..1000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        !child::is_running(running.pid)
    });
    assert!(gone, "{running:?}");
    let stopped = ServerStatus::Stopped {
        data_dir: Some(running.data_dir),
    };
    assert_eq!(kept::status(&place.cache), stopped);
    assert_eq!(kept::stop(&place.cache, false).expect("again"), stopped);
}

#[test]
fn data_stay_for_the_next_start_unless_discarded() {
    let place = Place::new();
    let (running, _) = place.start();
    let token = running.data_dir.join("token");
    fs::write(&token, "").expect("root's or ours");
    kept::stop(&place.cache, false).expect("it stops");
    place.start();
    assert!(token.exists(), "the same data");
    kept::stop(&place.cache, true).expect("it stops");
    assert!(!running.data_dir.exists());
    assert_eq!(
        kept::status(&place.cache),
        ServerStatus::Stopped { data_dir: None }
    );
}

#[test]
fn a_server_that_was_killed_is_recognised_and_started_again() {
    let place = Place::new();
    let (running, _) = place.start();
    child::send_signal(running.pid, Signal::Kill).expect("ours");
    // Its children notice and end; the lock is free when the last has.
    let gone = (0..1000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        matches!(kept::status(&place.cache), ServerStatus::Stopped { .. })
    });
    assert!(gone, "{:?}", kept::status(&place.cache));
    let (again, started) = place.start();
    assert!(started);
    assert_ne!(again.pid, running.pid);
}

#[test]
fn a_state_that_makes_no_sense_is_no_state() {
    let place = Place::new();
    fs::write(place.cache.path().join("servers/kept.json"), "{ half").expect("ours");
    assert_eq!(
        kept::status(&place.cache),
        ServerStatus::Stopped { data_dir: None }
    );
    place.start();
}

#[test]
fn data_of_another_version_are_refused_with_the_way_out() {
    let place = Place::new();
    let (running, _) = place.start();
    kept::stop(&place.cache, false).expect("it stops");
    fs::write(running.data_dir.join("PG_VERSION"), "9.6\n").expect("root's or ours");
    let error = kept::start(&place.options(), &mut |_| {}).expect_err("other version");
    assert!(matches!(error, Error::OtherVersion { .. }), "{error}");
    assert!(error.to_string().contains("--discard"), "{error}");
}

/// Set when the test below is run by itself as a pgdyno that starts a kept server and ends.
const STARTERS_CACHE: &str = "PGDYNO_TEST_STARTERS_CACHE";

fn start_and_end(cache: &Path) {
    let options = Options {
        cache: Some(
            Cache::at(cache)
                .expect("absolute")
                .with_servers(cache.join("servers")),
        ),
        bindir: Some(pgdyno_testkit::installation().bindir.clone()),
        ..Options::default()
    };
    kept::start(&options, &mut |_| {}).expect("it starts");
}

#[test]
fn a_kept_server_outlives_the_pgdyno_that_started_it() {
    if let Some(cache) = std::env::var_os(STARTERS_CACHE) {
        return start_and_end(Path::new(&cache));
    }
    let place = Place::new();
    let this_test = "a_kept_server_outlives_the_pgdyno_that_started_it";
    let status = Command::new(std::env::current_exe().expect("known"))
        .args(["--exact", &format!("kept::{this_test}")])
        .env(STARTERS_CACHE, place.cache.path())
        .stdout(std::process::Stdio::null())
        .status()
        .expect("the starter starts");
    assert!(status.success());
    let ServerStatus::Running(running) = kept::status(&place.cache) else {
        panic!("{:?}", kept::status(&place.cache));
    };
    UnixStream::connect(running.address.socket_path()).expect("it listens");
}

/// What a process of a start that was killed holds until it ends.
fn lock_of_a_dying_start(place: &Place) -> fs::File {
    let dir = place.cache.path().join("servers/pgdyno-kept");
    fs::create_dir_all(&dir).expect("created");
    let lock = fs::File::create(dir.join("lock")).expect("created");
    lock.lock().expect("free");
    lock
}

#[test]
fn a_start_waits_for_the_processes_of_one_that_was_killed() {
    let place = Place::new();
    let lock = lock_of_a_dying_start(&place);
    let ends = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        drop(lock);
    });
    let (_, started) = place.start();
    assert!(started);
    ends.join().expect("it only waits");
}

#[test]
fn a_start_does_not_wait_for_ever_for_another() {
    let place = Place::new();
    let _lock = lock_of_a_dying_start(&place);
    let options = Options {
        start_limit: Duration::from_millis(100),
        ..place.options()
    };
    let error = kept::start(&options, &mut |_| {}).expect_err("it is held");
    assert!(matches!(error, Error::KeptBusy { .. }), "{error}");
}
