//! Which process something belongs to, written so that another process can later say whether it is
//! still there: ids of processes are used again, so the time when it started belongs to it.
//!
//! Not for: starting and signalling processes (`child`).

use std::fs;

use crate::host;

/// A process, as others may know it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub pid: u32,
    /// When it started, in clock ticks since the kernel did; `None` where /proc does not tell.
    pub started_ticks: Option<u64>,
    /// The kernel's id of this boot.
    pub boot_id: Option<String>,
    /// The namespace that its id is of: a container has its own.
    pub pid_namespace: Option<String>,
    /// The name of its host.
    pub host: Option<String>,
}

/// Whether a process still runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    Runs,
    Gone,
    /// It is of another host or container, where this process cannot look.
    OutOfSight,
}

impl Identity {
    pub fn of_self() -> Self {
        let pid = std::process::id();
        Self {
            pid,
            started_ticks: started_ticks(pid),
            boot_id: line("/proc/sys/kernel/random/boot_id"),
            pid_namespace: pid_namespace(),
            host: host::name(),
        }
    }

    /// Whether it still runs, as far as this process can see.
    pub fn life(&self) -> Life {
        let here = Self::of_self();
        if self.host != here.host {
            return Life::OutOfSight;
        }
        if self.boot_id != here.boot_id {
            // The same host was restarted since.
            return Life::Gone;
        }
        if self.pid_namespace != here.pid_namespace {
            return Life::OutOfSight;
        }
        let runs = crate::child::is_running(self.pid)
            && (self.started_ticks.is_none() || self.started_ticks == started_ticks(self.pid));
        if runs { Life::Runs } else { Life::Gone }
    }
}

fn line(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn pid_namespace() -> Option<String> {
    let link = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(link.to_string_lossy().into_owned())
}

/// Field 22 of /proc/PID/stat (proc_pid_stat(5)), counted behind the command's name, which may
/// contain anything.
fn started_ticks(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn this_process_runs_and_one_that_was_waited_for_does_not() {
        let here = Identity::of_self();
        assert!(here.started_ticks.is_some() && here.boot_id.is_some());
        assert_eq!(here.life(), Life::Runs);
        let mut child = Command::new("true").spawn().expect("true starts");
        let gone = Identity {
            pid: child.id(),
            started_ticks: started_ticks(child.id()),
            ..here
        };
        child.wait().expect("ours");
        assert_eq!(gone.life(), Life::Gone);
    }

    #[test]
    fn another_process_with_the_same_id_is_not_taken_for_it() {
        let here = Identity::of_self();
        let earlier = Identity {
            started_ticks: here.started_ticks.map(|ticks| ticks - 1),
            ..here.clone()
        };
        assert_eq!(earlier.life(), Life::Gone);
        let before_the_boot = Identity {
            boot_id: Some("another".to_owned()),
            ..here.clone()
        };
        assert_eq!(before_the_boot.life(), Life::Gone);
    }

    #[test]
    fn what_runs_elsewhere_is_out_of_sight() {
        let here = Identity::of_self();
        let elsewhere = Identity {
            host: Some("another".to_owned()),
            boot_id: Some("another".to_owned()),
            ..here.clone()
        };
        assert_eq!(elsewhere.life(), Life::OutOfSight);
        let contained = Identity {
            pid_namespace: Some("pid:[1]".to_owned()),
            ..here
        };
        assert_eq!(contained.life(), Life::OutOfSight);
    }
}
