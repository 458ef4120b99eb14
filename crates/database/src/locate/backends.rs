//! What the processes that serve clients got of the CPUs, where the server is on this host and has one
//! for each session: time on a CPU, time in which they could have run and had none, and whether
//! they are stopped.

use std::collections::BTreeMap;

use pgdyno_platform::proc::task::{self, Scheduled};

use super::processes::{Proc, Process};

/// The sessions' processes of one server.
pub struct Backends {
    top: Process,
    proc: Proc,
    /// Children of the server: the last readings of the scheduler for those that serve clients, `None` for
    /// the others.
    known: BTreeMap<u32, Option<Scheduled>>,
    worked: Worked,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Worked {
    /// On a CPU, and waiting for one. What a process did after its last reading is not in it.
    pub scheduled: Scheduled,
    pub processes: usize,
    /// How many of them are stopped (state `T`).
    pub stopped: usize,
}

impl Backends {
    pub fn of(top: Process) -> Self {
        Self {
            top,
            proc: Proc::of_kernel(),
            known: BTreeMap::new(),
            worked: Worked::default(),
        }
    }

    /// What they got so far; `None` where the server has ended.
    pub fn read(&mut self) -> Option<Worked> {
        let top = self.proc.task(self.top.pid)?;
        let is_first = self.known.is_empty();
        let children = self.proc.children(&top);
        self.known.retain(|pid, _| children.contains(pid));
        (self.worked.processes, self.worked.stopped) = (0, 0);
        for pid in children {
            let (proc, worked) = (&self.proc, &mut self.worked);
            let known = self.known.entry(pid).or_insert_with(|| {
                let title = proc.text(pid, "cmdline")?;
                // Of one that was there before the first reading only what comes now counts.
                let before = if is_first { scheduled(proc, pid) } else { None };
                serves_client(&title).then(|| before.unwrap_or_default())
            });
            let (Some(before), Some(now)) = (known, scheduled(proc, pid)) else {
                continue;
            };
            let grown = |now: u64, before: u64| now.saturating_sub(before);
            worked.scheduled.ran_ns += grown(now.ran_ns, before.ran_ns);
            worked.scheduled.waited_ns += grown(now.waited_ns, before.waited_ns);
            *before = now;
            worked.processes += 1;
            let state = proc.task(pid).map(|task| task.state);
            worked.stopped += usize::from(matches!(state, Some('T' | 't')));
        }
        Some(self.worked)
    }
}

fn scheduled(proc: &Proc, pid: u32) -> Option<Scheduled> {
    task::scheduled(&proc.text(pid, "schedstat")?)
}

/// A process that serves a client names where that came from: `[local]`, or its address with the port
/// (PostgreSQL's manual, "Standard Unix Tools"). A walsender does so too.
fn serves_client(title: &str) -> bool {
    let has_port = title.split_once('(').is_some_and(|(_, rest)| {
        let port = rest.split_once(')').map_or("", |(port, _)| port);
        !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
    });
    (has_port || title.contains(" [local] ")) && !title.contains("walsender")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_that_serve_clients_are_known_by_their_title() {
        for title in [
            "postgres: postgres bench [local] SELECT",
            "postgres: main: me d 127.0.0.1(50000) idle in transaction",
            "postgres: me d ::1(50000) startup",
        ] {
            assert!(serves_client(title), "{title}");
        }
        for title in [
            "postgres: checkpointer ",
            "postgres: parallel worker for PID 77 ",
            "postgres: walsender me 10.0.0.2(50000) streaming 0/3000148",
            "postgres: io worker 1",
            "",
        ] {
            assert!(!serves_client(title), "{title}");
        }
    }

    #[test]
    fn what_sessions_worked_is_counted_and_a_stopped_one_is_seen() {
        let server = pgdyno_testkit::postgres_with(&[]);
        let task = Proc::of_kernel().task(server.pid()).unwrap();
        let mut backends = Backends::of(Process {
            pid: task.pid,
            name: task.name,
            started_ticks: task.started_ticks,
        });
        assert_eq!(backends.read(), Some(Worked::default()));
        let env = pgdyno_session::Env::empty();
        let given = pgdyno_session::Given::target(server.address().url());
        let info = pgdyno_session::resolve(&given, &env).unwrap();
        let candidates = info.candidates().unwrap().list;
        let mut session = pgdyno_session::Session::connect(&candidates, None).unwrap();
        let works = "SELECT count(*) FROM generate_series(1, 500000)";
        session.query_one_value(works).unwrap();
        let worked = backends.read().unwrap();
        assert_eq!((worked.processes, worked.stopped), (1, 0));
        assert!(worked.scheduled.ran_ns > 10_000_000, "{worked:?}");
        let pid = session.backend_pid().to_string();
        let signal = |name: &str| {
            let mut kill = std::process::Command::new("kill");
            assert!(kill.args([name, pid.as_str()]).status().unwrap().success());
        };
        signal("-STOP");
        let begun = std::time::Instant::now();
        while backends.read().unwrap().stopped == 0 {
            assert!(begun.elapsed().as_secs() < 20);
        }
        signal("-CONT");
    }
}
