//! CPU time of a PostgreSQL server's processes, where they can be seen from here: of the postmaster,
//! of its children that live, and of those that have ended, which it has waited for.

use std::fs;

use pgdyno_platform::proc::{self, task};

use pgdyno_model::Fact;

/// The postmaster, known by the process of one of its sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Postmaster {
    pid: u32,
    started_ticks: u64,
}

/// The postmaster of the session whose process this is.
pub fn postmaster(backend_pid: i32, same_host: &Fact<bool>) -> Fact<Postmaster> {
    match same_host {
        Fact::Known(true) => {}
        Fact::Known(false) => {
            return Fact::Unknown(
                "the server is on another host, whose processes pgdyno does not see".to_owned(),
            );
        }
        Fact::Unknown(why) => return Fact::Unknown(why.clone()),
    }
    let elsewhere = || {
        Fact::Unknown(
            "the server's processes are not among those that this process sees (a container of \
             their own?)"
                .to_owned(),
        )
    };
    let Some(session) = u32::try_from(backend_pid).ok().and_then(task) else {
        return elsewhere();
    };
    // The number could be that of another process here, when the server counts its own.
    let is_session = command_line(session.pid).is_some_and(|line| line.starts_with("postgres: "));
    match task(session.parent).filter(|_| is_session) {
        Some(parent) if parent.name.starts_with("postgres") || parent.name == "postmaster" => {
            Fact::Known(Postmaster {
                pid: parent.pid,
                started_ticks: parent.started_ticks,
            })
        }
        _ => elsewhere(),
    }
}

/// A server whose sessions come and go all the time is looked at so often.
const LOOKS_MAX: u32 = 20;

/// CPU time that it and all its children have used so far, in microseconds.
pub fn used_us(postmaster: &Postmaster) -> Fact<u64> {
    for _ in 0..LOOKS_MAX {
        let Some(before) = postmaster.task() else {
            return Fact::Unknown("the server was restarted during the run".to_owned());
        };
        let children = match children(postmaster.pid) {
            Ok(children) => children,
            Err(why) => return Fact::Unknown(why),
        };
        let after = postmaster.task();
        // A child that ended meanwhile would be counted twice, or not at all.
        if after.is_some_and(|after| after.children_ticks == before.children_ticks) {
            let of_children = children
                .iter()
                .map(|child| child.ticks().saturating_add(child.children_ticks))
                .fold(0, u64::saturating_add);
            let ticks = of_children
                .saturating_add(before.ticks())
                .saturating_add(before.children_ticks);
            return Fact::Known(ticks.saturating_mul(1_000_000) / proc::ticks_per_second());
        }
    }
    Fact::Unknown("the server's processes come and go too fast to be counted".to_owned())
}

impl Postmaster {
    fn task(&self) -> Option<task::Task> {
        task(self.pid).filter(|task| task.started_ticks == self.started_ticks)
    }
}

fn task(pid: u32) -> Option<task::Task> {
    task::stat(&proc::text(format!("/proc/{pid}/stat")).ok()?)
}

fn command_line(pid: u32) -> Option<String> {
    proc::text(format!("/proc/{pid}/cmdline")).ok()
}

fn children(parent: u32) -> Result<Vec<task::Task>, String> {
    let entries = fs::read_dir("/proc").map_err(|e| format!("/proc: {e}"))?;
    let pids = entries.filter_map(|entry| {
        let name = entry.ok()?.file_name();
        name.to_str()?.parse::<u32>().ok()
    });
    Ok(pids
        .filter_map(task)
        .filter(|task| task.parent == parent)
        .collect())
}
