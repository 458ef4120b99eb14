//! A real PostgreSQL and short ways to run scripts on it.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pgdyno_drive::{Control, Drive, Live};
use pgdyno_measurement::{Counts, Event, Failure, Interval, LoggedTransaction, Message, Recording};
use pgdyno_platform::io::{Choice, Uring};
use pgdyno_script::Names;
use pgdyno_session::Session;
use pgdyno_spec::{QueryMode, Until};
use pgdyno_wire::{Addr, Candidate, Login};

pub const MODES: [QueryMode; 3] = [QueryMode::Simple, QueryMode::Extended, QueryMode::Prepared];

/// The Unix socket of the server that all tests share.
pub fn socket() -> PathBuf {
    pgdyno_testkit::postgres().address().socket_path()
}

/// A way to a server, with server settings (`name=value`) for its sessions.
pub fn candidate_at(addr: Addr, settings: &[&str]) -> Candidate {
    let mut login = Login::new("postgres", "postgres");
    let options: Vec<String> = settings.iter().map(|set| format!("-c {set}")).collect();
    if !options.is_empty() {
        let options = ("options".to_owned(), options.join(" "));
        login.parameters.push(options);
    }
    Candidate::new(addr, Arc::new(login))
}

/// The usual way to the shared server, by a name that `pg_stat_activity` shows.
pub fn named(application: &str) -> Vec<Vec<Candidate>> {
    let setting = format!("application_name={application}");
    vec![vec![candidate_at(Addr::Unix(socket()), &[&setting])]]
}

/// A session of one's own beside the clients.
pub fn admin() -> Session {
    admin_at(socket(), &[])
}

pub fn admin_at(socket: PathBuf, settings: &[&str]) -> Session {
    let candidate = candidate_at(Addr::Unix(socket), settings);
    Session::connect(&[candidate], None).unwrap_or_else(|error| panic!("{error}"))
}

/// A session on a server that may be about to recover from a crash.
pub fn connected(socket: &Path) -> Session {
    let begin = Instant::now();
    loop {
        let candidate = candidate_at(Addr::Unix(socket.to_owned()), &[]);
        match Session::connect(&[candidate], None) {
            Ok(session) => return session,
            Err(error) => assert!(begin.elapsed() < Duration::from_secs(20), "{error}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Has the server restart after a crash: one of its processes is killed. Some live but for one
/// transaction, and killing one that has just ended does nothing.
pub fn crash(socket: &Path, application: &str, condition: &str) {
    let mut admin = connected(socket);
    let pid = format!(
        "select coalesce(min(pid), 0) from pg_stat_activity
         where application_name = '{application}' and {condition}"
    );
    wait_until(&mut admin, &pid);
    let begun = Instant::now();
    while let Ok(Some(pid)) = admin.query_one_value(&pid) {
        assert!(begun.elapsed().as_secs() < 20, "the server does not crash");
        if pid != "0" {
            // One that is gone cannot be killed.
            let _ = Command::new("kill").args(["-KILL", &pid]).status();
        }
        std::thread::sleep(millis(5));
    }
}

/// Runs SQL for its effect on the shared server.
pub fn sql(text: &str) {
    let done = admin().simple_query(text);
    done.unwrap_or_else(|error| panic!("{text}: {error}"));
}

/// A function NAME() that fails with a serialization failure at those of its calls, counted from 1, of
/// which this holds (`% 3 <> 0`); sequences do not roll back.
pub fn fails_at_calls(name: &str, which: &str) {
    sql(&format!(
        "create sequence {name}_calls;
         create function {name}() returns int language plpgsql as $$
         begin
            if nextval('{name}_calls') {which} then
                raise 'not now' using errcode = 'serialization_failure';
            end if;
            return 1;
         end $$"
    ));
}

/// The value that a query gives on the shared server.
pub fn value(query: &str) -> i64 {
    value_of(&mut admin(), query)
}

pub fn value_of(session: &mut Session, query: &str) -> i64 {
    let value = session.query_one_value(query);
    let value = value.unwrap_or_else(|error| panic!("{query}: {error}"));
    value
        .and_then(|value| value.parse().ok())
        .expect("a number")
}

/// Waits until a query gives something other than 0.
pub fn wait_until(session: &mut Session, query: &str) {
    let begin = Instant::now();
    while value_of(session, query) == 0 {
        assert!(begin.elapsed() < Duration::from_secs(20), "never: {query}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// How sockets are waited for in this program: with io_uring where there is one, however few the clients are.
pub fn io() -> Choice {
    match env!("CARGO_CRATE_NAME") {
        "engine_epoll" => Choice::Epoll,
        _ if std::env::var("PGDYNO_IO").is_ok_and(|kind| kind == "epoll") => Choice::Epoll,
        _ if Uring::probe().is_ok() => Choice::Uring,
        _ => Choice::Auto,
    }
}

/// A drive of one script, in simple mode, one client.
pub fn drive(script: &str) -> Drive {
    mix(&[(script, 1)], QueryMode::Simple)
}

/// A drive of one script in some mode.
pub fn drive_in(mode: QueryMode, script: &str) -> Drive {
    mix(&[(script, 1)], mode)
}

/// A drive of these scripts, each with its weight; one client.
pub fn mix(scripts: &[(&str, u64)], mode: QueryMode) -> Drive {
    let mut names = Names::new();
    let parse = |(index, (text, weight)): (usize, &(&str, u64))| {
        let script = pgdyno_script::parse(&format!("script-{index}"), text, &mut names);
        (script.expect("a valid script"), *weight)
    };
    let scripts = scripts.iter().enumerate().map(parse).collect();
    let scripts = Drive::compile(scripts, mode, None).expect("a script that can be sent");
    Drive {
        query_mode: mode,
        seed: 1,
        until: transactions(1),
        io: io(),
        ..Drive::new(named("engine"), scripts, names)
    }
}

pub fn transactions(count: u64) -> Until {
    Until::Transactions(NonZeroU64::new(count).expect("not zero"))
}

pub fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[derive(Debug, Default)]
pub struct Seen {
    pub messages: Vec<String>,
    pub seconds: Vec<(f64, f64, Counts)>,
    /// With the number of their thread.
    pub logged: Vec<(usize, LoggedTransaction)>,
    /// Threads that ended, and when.
    pub ended_us: Vec<(usize, u64)>,
}

impl Live for Seen {
    fn second(&mut self, interval: &Interval) {
        let counts = interval.all().counts;
        self.seconds
            .push((interval.start_s(), interval.length_s(), counts));
    }

    fn message(&mut self, message: &Message) {
        self.messages.push(message.text.clone());
    }

    fn event(&mut self, event: &Event) {
        self.messages.push(event.text.clone());
    }

    fn logged(&mut self, thread: usize, transactions: &[LoggedTransaction]) {
        assert!(!transactions.is_empty());
        assert!(self.ended_us.iter().all(|(ended, _)| *ended != thread));
        self.logged
            .extend(transactions.iter().map(|t| (thread, *t)));
    }

    fn thread_ended(&mut self, thread: usize, at_us: u64) {
        self.ended_us.push((thread, at_us));
    }
}

pub fn run(drive: &Drive) -> (Recording, Seen) {
    run_with(drive, &Control::default())
}

pub fn run_with(drive: &Drive, control: &Control) -> (Recording, Seen) {
    let mut seen = Seen::default();
    let recording = drive.run(control, &mut seen);
    (recording.unwrap_or_else(|e| panic!("{e}")), seen)
}

/// Runs what must go well: every transaction commits at once, without messages.
pub fn run_well(drive: &Drive) -> Recording {
    let (recording, seen) = run(drive);
    let counts = recording.measured.all().counts;
    assert_eq!(seen.messages, Vec::<String>::new());
    assert_eq!(counts.committed, counts.total(), "{counts:?}");
    assert_eq!(recording.clients.aborted, 0);
    recording
}

pub fn counts(recording: &Recording) -> Counts {
    recording.measured.all().counts
}

/// How many transactions failed for this reason.
pub fn failed(recording: &Recording, failure: Failure) -> u64 {
    counts(recording).failed.get(&failure).copied().unwrap_or(0)
}
