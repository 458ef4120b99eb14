//! What a server, or its host, shows of a disturbance: without it one that does nothing, and says it did, would pass.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use pgdyno_platform::child;
use pgdyno_session::{Env, Given, Session, resolve};

use super::state::is_stopped;

/// How often it is looked for.
const INTERVAL: Duration = Duration::from_millis(5);

/// What shows that a disturbance was done.
#[derive(Clone, Copy)]
pub enum Trace {
    /// This is true at some moment of the trial.
    Seen(&'static str),
    /// The answer to this becomes another.
    Changes(&'static str),
    /// All of the server's processes are stopped at some moment.
    Stopped,
    /// An unused file is no longer in the page cache.
    Uncached,
}

/// The control file has another checkpoint.
pub const CHECKPOINT: Trace = Trace::Changes("SELECT checkpoint_lsn FROM pg_control_checkpoint()");
/// Since 15 statistics begin anew after a crash.
pub const CRASH: Trace = Trace::Changes("SELECT stats_reset FROM pg_stat_bgwriter");
/// The server's first process is another.
pub const RESTART: Trace = Trace::Changes("SELECT pg_postmaster_start_time()");
/// A session waits for one that was idle for half a second.
pub const HELD_UP: Trace = Trace::Seen(
    "SELECT EXISTS (SELECT FROM pg_stat_activity AS one WHERE state = 'idle in transaction' \
     AND state_change < clock_timestamp() - interval '500 ms' AND EXISTS \
     (SELECT FROM pg_stat_activity AS other WHERE one.pid = ANY (pg_blocking_pids(other.pid))))",
);

/// A trace that is looked for.
pub struct Watched {
    trace: Trace,
    url: String,
    session: Option<Session>,
    first: u32,
    /// The answer at the beginning.
    before: Option<String>,
    file: Option<tempfile::NamedTempFile>,
    is_seen: bool,
}

impl Watched {
    pub fn new(trace: Trace, url: &str, first: u32) -> Self {
        let mut watched = Self {
            trace,
            url: url.to_owned(),
            session: None,
            first,
            before: None,
            file: None,
            is_seen: false,
        };
        match trace {
            Trace::Changes(sql) => watched.before = watched.answer(sql),
            Trace::Uncached => {
                let file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
                fs::write(file.path(), vec![1; 1 << 20]).unwrap();
                file.as_file().sync_all().unwrap();
                watched.file = Some(file);
                assert!(watched.cached() > 0, "the file is not cached");
            }
            Trace::Seen(_) | Trace::Stopped => {}
        }
        watched
    }

    /// Looks once, unless it has been seen; whether it was.
    pub fn look(&mut self) -> bool {
        if !self.is_seen {
            self.is_seen = match self.trace {
                Trace::Seen(sql) => self.answer(sql).as_deref() == Some("t"),
                Trace::Changes(sql) => {
                    let now = self.answer(sql);
                    now.is_some() && now != self.before
                }
                Trace::Stopped => {
                    let mut all = child::children(self.first).unwrap_or_default();
                    all.push(self.first);
                    all.len() > 4 && all.into_iter().all(is_stopped)
                }
                Trace::Uncached => self.cached() == 0,
            };
            std::thread::sleep(INTERVAL);
        }
        self.is_seen
    }

    /// The only value, or none where the server does not answer.
    fn answer(&mut self, sql: &str) -> Option<String> {
        if self.session.is_none() {
            self.session = session(&self.url);
        }
        let answer = self.session.as_mut()?.query(sql);
        match answer {
            Ok(answer) => answer.rows.into_iter().next()?.into_iter().next()?,
            Err(_) => {
                self.session = None;
                None
            }
        }
    }

    /// Bytes of the file that are in the page cache.
    fn cached(&self) -> u64 {
        let path = self.file.as_ref().map(|file| PathBuf::from(file.path()));
        let mut command = Command::new("fincore");
        command.args(["--bytes", "--noheadings", "--output", "RES"]);
        let reported = command.arg(path.unwrap()).output().unwrap().stdout;
        String::from_utf8(reported).unwrap().trim().parse().unwrap()
    }
}

/// A session, where the server takes one.
pub fn session(url: &str) -> Option<Session> {
    let info = resolve(&Given::target(url), &Env::empty()).unwrap();
    let candidates = info.candidates().unwrap();
    Session::connect(&candidates.list, Some(Duration::from_secs(30))).ok()
}
