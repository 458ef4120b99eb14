//! The processes of this host, as far as /proc shows them: which one is meant, and what is above and
//! below it.

use std::path::PathBuf;

use pgdyno_platform::cpu_time::ThreadClock;
use pgdyno_platform::proc::{self, cpu, task};

/// The kernel tells when it started in whole seconds, and a backend notes its start a moment after it
/// was forked.
const START_TOLERANCE_S: f64 = 3.0;
/// So far up from a process that serves a session its server is looked for.
const PARENTS_MAX: usize = 8;

/// A process, as it may be known again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    pub name: String,
    /// When it started, in clock ticks since the kernel did.
    pub started_ticks: u64,
}

/// What a server says of the process that serves a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// Its id, in its own namespace.
    pub pid: u32,
    /// When it started, in seconds since 1970.
    pub started_s: f64,
    /// The client's port, as the server sees it.
    pub port: Option<u16>,
}

/// /proc, or what a test puts in its place.
pub struct Proc {
    root: PathBuf,
}

impl Proc {
    pub fn of_kernel() -> Proc {
        Proc {
            root: PathBuf::from("/proc"),
        }
    }

    /// Where a file of a process is.
    pub fn path(&self, pid: u32, file: &str) -> PathBuf {
        self.root.join(pid.to_string()).join(file)
    }

    pub(super) fn text(&self, pid: u32, file: &str) -> Option<String> {
        proc::text(self.path(pid, file)).ok()
    }

    /// All that call themselves so.
    pub fn called(&self, names: &[&str]) -> Vec<task::Task> {
        let all = self.all();
        let called = all.filter(|task| names.contains(&task.name.as_str()));
        let mut tasks: Vec<task::Task> = called.collect();
        tasks.sort_by_key(|task| task.pid);
        tasks
    }

    /// A process, if it lives.
    pub fn task(&self, pid: u32) -> Option<task::Task> {
        task::stat(&self.text(pid, "stat")?)
    }

    /// The ids of its children that live. Where the kernel lists them (CONFIG_PROC_CHILDREN), by that
    /// list; a process of several threads has one for each.
    pub(super) fn children(&self, of: &task::Task) -> Vec<u32> {
        let own = self.path(of.pid, "task").join(of.pid.to_string());
        let Ok(of_first) = proc::text(own.join("children")) else {
            let all = self.all();
            let children = all.filter(|task| task.parent == of.pid);
            return children.map(|task| task.pid).collect();
        };
        let mut lists = vec![of_first];
        if of.threads > 1 {
            let threads = std::fs::read_dir(self.path(of.pid, "task"));
            let threads = threads.into_iter().flatten().flatten();
            let others = threads
                .map(|thread| thread.path())
                .filter(|path| *path != own);
            lists.extend(others.filter_map(|path| proc::text(path.join("children")).ok()));
        }
        let pids = lists.iter().flat_map(|list| list.split_ascii_whitespace());
        pids.filter_map(|pid| pid.parse().ok()).collect()
    }

    fn all(&self) -> impl Iterator<Item = task::Task> {
        let entries = std::fs::read_dir(&self.root).into_iter().flatten();
        let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        pids.filter_map(|pid| self.task(pid))
    }

    /// The user that a process runs as.
    pub fn user(&self, pid: u32) -> Option<u32> {
        task::user(&self.text(pid, "status")?)
    }

    /// The server whose process this is: the topmost of those above it that have such a name.
    ///
    /// # Errors
    /// Why it is not found, as a clause.
    pub fn serving(&self, wanted: &Wanted, names: &[&str]) -> Result<Process, String> {
        let booted_s = self.booted_s()?;
        let mut found = self.called(names);
        found.retain(|task| self.is_meant(task, wanted, booted_s));
        if found.len() > 1 {
            // Several containers may have a process of this id; its title names the client's port.
            let titled = format!("({})", wanted.port.unwrap_or_default());
            found.retain(|task| {
                let title = self.text(task.pid, "cmdline").unwrap_or_default();
                title.contains(&titled)
            });
        }
        let Wanted { pid, .. } = wanted;
        match &found[..] {
            [one] => Ok(self.top(one, names)),
            [] => Err(format!(
                "none of its processes that can be seen is the server's process {pid}"
            )),
            _ => Err(format!(
                "several of its processes may be the server's process {pid}"
            )),
        }
    }

    /// What the scheduler counts of the process which serves a session, when it is the one here of that id; `None`
    /// when it is in a namespace of its own, or elsewhere.
    pub fn clock(&self, wanted: &Wanted, names: &[&str]) -> Option<ThreadClock> {
        let task = self.task(wanted.pid)?;
        let booted_s = self.booted_s().ok()?;
        let is_named = names.contains(&task.name.as_str());
        (is_named && self.is_meant(&task, wanted, booted_s)).then_some(())?;
        ThreadClock::at(&self.path(task.pid, "schedstat"))
    }

    /// When the kernel started, in seconds since 1970.
    fn booted_s(&self) -> Result<f64, String> {
        let stat = proc::text(self.root.join("stat")).map_err(|e| e.to_string())?;
        let booted_s = cpu::parse(&stat).and_then(|stat| stat.started_s);
        Ok(booted_s.ok_or("the kernel does not report its start time")? as f64)
    }

    fn is_meant(&self, task: &task::Task, wanted: &Wanted, booted_s: f64) -> bool {
        let ticks_per_s = proc::ticks_per_second() as f64;
        let started_s = booted_s + task.started_ticks as f64 / ticks_per_s;
        let status = self.text(task.pid, "status").unwrap_or_default();
        task::namespace_pids(&status).last() == Some(&wanted.pid)
            && (started_s - wanted.started_s).abs() <= START_TOLERANCE_S
    }

    /// The topmost of those above `task` that have such a name.
    pub fn top(&self, task: &task::Task, names: &[&str]) -> Process {
        let mut top = task.clone();
        for _ in 0..PARENTS_MAX {
            match self.task(top.parent) {
                Some(parent) if names.contains(&parent.name.as_str()) => top = parent,
                _ => break,
            }
        }
        Process {
            pid: top.pid,
            name: top.name,
            started_ticks: top.started_ticks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A /proc of these processes: id, name, parent, start in ticks, ids in namespaces, title.
    fn with(processes: &[(u32, &str, u32, u64, &str, &str)]) -> (tempfile::TempDir, Proc) {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("stat"), "cpu 1 2 3 4\nbtime 1000\n").unwrap();
        fs::create_dir(dir.path().join("sys")).unwrap();
        for (pid, name, parent, start, ids, title) in processes {
            let of = dir.path().join(pid.to_string());
            fs::create_dir(&of).unwrap();
            let zeros = "0 ".repeat(17);
            let stat = format!("{pid} ({name}) S {parent} {zeros}{start} 0\n");
            fs::write(of.join("stat"), stat).unwrap();
            let status = format!("Pid:\t{pid}\nNSpid:\t{ids}\nUid:\t9\t9\n");
            fs::write(of.join("status"), status).unwrap();
            fs::write(of.join("cmdline"), title).unwrap();
        }
        let root = dir.path().to_owned();
        (dir, Proc { root })
    }

    fn wanted(pid: u32, started_s: f64) -> Wanted {
        Wanted {
            pid,
            started_s,
            port: Some(51344),
        }
    }

    const NAMES: &[&str] = &["postgres", "yb-tserver"];

    fn ticks(seconds: u64) -> u64 {
        seconds * proc::ticks_per_second()
    }

    #[test]
    fn a_server_is_the_topmost_process_of_its_kind_above_the_one_that_serves() {
        let (_dir, proc) = with(&[
            (1, "init", 0, 0, "1", ""),
            (40, "yb-tserver", 1, ticks(5), "40", ""),
            (41, "postgres", 40, ticks(6), "41", ""),
            (57, "postgres", 41, ticks(60), "57", ""),
        ]);
        let found = proc.serving(&wanted(57, 1060.4), NAMES).unwrap();
        assert_eq!((found.pid, found.name.as_str()), (40, "yb-tserver"));
        assert_eq!(proc.user(57), Some(9));
    }

    #[test]
    fn a_process_of_a_container_is_known_by_the_id_that_it_has_there() {
        let (_dir, proc) = with(&[
            (900, "postgres", 800, ticks(5), "900 1", ""),
            (957, "postgres", 900, ticks(60), "957 57", ""),
        ]);
        assert_eq!(proc.serving(&wanted(57, 1059.0), NAMES).unwrap().pid, 900);
    }

    #[test]
    fn another_server_with_a_process_of_that_id_is_not_taken_for_it() {
        let (_dir, proc) = with(&[
            (57, "postgres", 41, ticks(20), "57", ""),
            (58, "sshd", 1, ticks(60), "57", ""),
            (59, "postgres", 41, ticks(60), "59 58", ""),
        ]);
        let why = proc.serving(&wanted(57, 1060.0), NAMES).unwrap_err();
        assert!(why.contains("is the server's process 57"), "{why}");
    }

    #[test]
    fn of_two_containers_the_one_that_names_the_clients_port_is_meant_or_none() {
        let title = |port: u16| format!("postgres: me d 172.17.0.1({port}) idle");
        let (one, other) = (title(51344), title(40000));
        let mut processes = [
            (900, "postgres", 800, ticks(60), "900 57", one.as_str()),
            (950, "postgres", 800, ticks(60), "950 57", other.as_str()),
        ];
        let (_dir, proc) = with(&processes);
        assert_eq!(proc.serving(&wanted(57, 1060.0), NAMES).unwrap().pid, 900);
        processes[1].5 = &one;
        let (_dir, proc) = with(&processes);
        let why = proc.serving(&wanted(57, 1060.0), NAMES).unwrap_err();
        assert!(why.starts_with("several"), "{why}");
    }

    #[test]
    fn an_unreadable_proc_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().to_owned();
        let why = Proc { root }.serving(&wanted(1, 0.0), NAMES).unwrap_err();
        assert!(why.contains("No such file"), "{why}");
    }
}
