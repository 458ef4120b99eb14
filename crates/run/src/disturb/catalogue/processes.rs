//! Signals to the server's processes, on its host.

use std::fs;
use std::time::Duration;

use pgdyno_database::open::Target;
use pgdyno_platform::child::{self, Signal};

use super::given::lasting;
use super::guard::Guard;
use super::{Act, Entry, Need, sql};
use crate::disturb::own::Control;

pub(super) static ENTRIES: [Entry; 2] = [
    Entry {
        name: "kill-backend",
        summary: "kill -9 of one client's server process: the server ends all others and recovers",
        keys: &[],
        needs: &[Need::SameHost],
        risks: "all connections are lost, and the server recovers as after a crash",
        harms: true,
        undone: "undo is not needed: the server restarts (restart_after_crash)",
        lasts: None,
        make: |scene, _| {
            postmaster(scene.target)?;
            let mut session = sql::connect(scene.target)?;
            match sql::value(&mut session, "SHOW restart_after_crash")?.as_deref() {
                Some("off") => {
                    Err("restart_after_crash is off: the server would stay down".to_owned())
                }
                _ => Ok(Box::new(KillBackend(scene.target.clone()))),
            }
        },
    },
    Entry {
        name: "sigstop",
        summary: "SIGSTOP of all of the server's processes: it hangs, and connections stay open",
        keys: &[lasting("5s")],
        needs: &[Need::SameHost],
        risks: "no client is served meanwhile; monitors may report the server as dead",
        harms: true,
        undone: "SIGCONT after its time, also after Ctrl-C and kill -9 of pgdyno",
        lasts: Some("5s"),
        make: |scene, given| {
            postmaster(scene.target)?;
            Ok(Box::new(Stop {
                target: scene.target.clone(),
                lasting: given.time("for"),
                stopped: None,
            }))
        },
    },
];

/// The server's first process at present: the parent of a session's own. It must be this process's to signal.
pub(super) fn postmaster(target: &Target) -> Result<u32, String> {
    let session = sql::connect(target)?;
    let own = session.backend_pid().unsigned_abs();
    if !is_postgres(own) {
        return Err("the server's processes cannot be seen from here (in a container?)".to_owned());
    }
    let stat = fs::read_to_string(format!("/proc/{own}/stat")).map_err(|e| e.to_string())?;
    // proc_pid_stat(5): the parent is the second field after the name in parentheses.
    let parent = stat
        .rsplit_once(')')
        .and_then(|(_, rest)| rest.split_whitespace().nth(1));
    let parent = parent.and_then(|parent| parent.parse().ok());
    let parent: u32 = parent
        .filter(|pid| *pid > 1)
        .ok_or("the server's first process is not found")?;
    // SIGCONT changes nothing.
    child::send_signal(parent, Signal::Continue)
        .map_err(|e| format!("its processes cannot be signalled: {e}"))?;
    Ok(parent)
}

/// Whether a process calls itself PostgreSQL's (or names the program that is).
fn is_postgres(pid: u32) -> bool {
    let title = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&title).starts_with("postgres")
}

struct KillBackend(Target);

impl Act for KillBackend {
    fn run(&mut self, control: &Control) -> Result<(), String> {
        let mut session = sql::connect(&self.0)?;
        let one = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() \
                   AND pid <> pg_backend_pid() AND backend_type = 'client backend' \
                   ORDER BY xact_start NULLS LAST LIMIT 1";
        let pid = sql::value(&mut session, one)?.and_then(|pid| pid.parse().ok());
        let pid: u32 = pid.ok_or("no client is connected")?;
        if !is_postgres(pid) {
            return Err(format!("process {pid} cannot be seen from here"));
        }
        child::send_signal(pid, Signal::Kill).map_err(|e| format!("process {pid}: {e}"))?;
        control.say(format_args!("killed backend {pid}"));
        Ok(())
    }

    fn undo(&mut self) -> Result<Option<String>, String> {
        // It is over when the server has recovered.
        sql::connect_again(&self.0).map(|_| None)
    }
}

struct Stop {
    target: Target,
    lasting: Duration,
    stopped: Option<(Vec<u32>, Guard)>,
}

impl Act for Stop {
    fn run(&mut self, control: &Control) -> Result<(), String> {
        // A restart may have come before.
        let pid = postmaster(&self.target)?;
        let failed = |e: std::io::Error| format!("process {pid}: {e}");
        // The first one first, so that it starts no more.
        let guard = Guard::start(&format!(
            "kill -CONT {pid} $(cat /proc/{pid}/task/*/children)"
        ))
        .map_err(failed)?;
        self.stopped = Some((vec![pid], guard));
        child::send_signal(pid, Signal::Stop).map_err(failed)?;
        let children = child::children(pid).map_err(failed)?;
        for id in &children {
            // One that has ended meanwhile does nothing anyway.
            let _ = child::send_signal(*id, Signal::Stop);
        }
        let count = children.len() + 1;
        if let Some((pids, _)) = &mut self.stopped {
            pids.extend(children);
        }
        control.last(self.lasting);
        self.undo()?;
        control.say(format_args!(
            "stopped {count} processes, and continued them"
        ));
        Ok(())
    }

    fn undo(&mut self) -> Result<Option<String>, String> {
        let Some((pids, guard)) = self.stopped.take() else {
            return Ok(None);
        };
        for pid in pids.iter().rev() {
            let _ = child::send_signal(*pid, Signal::Continue);
        }
        drop(guard);
        Ok(Some(format!("continued {} processes", pids.len())))
    }
}
