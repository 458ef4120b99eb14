//! How much CPU time the processes of a server on this host have used.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use pgdyno_platform::proc::{self, task};

use super::processes::{Proc, Process};

/// When a process ended while they were looked at, all are looked at again: so often in all, since
/// there may be hundreds.
const LOOKS_MAX: usize = 2;
/// A server's processes are no further below it.
const DEPTH_MAX: usize = 4;
/// For so long a process that had no children and one thread is taken to have none still. A server
/// has hundreds of these: until then each costs one short file instead of three.
const LEAF_FOR: Duration = Duration::from_secs(10);

/// Processes that had no children and one thread, with the CPU time of children that they had had
/// before, in microseconds.
#[derive(Default)]
struct Leaves {
    found: Option<Instant>,
    waited_us: BTreeMap<u32, u64>,
}

/// The processes of some servers: those at the top, and all below them. Those at the top tell their
/// children each time, so that one that has come is counted from then on.
pub struct CpuMeter {
    tops: Vec<Process>,
    leaves: Leaves,
    proc: Proc,
    /// What was reported last: CPU time does not go back.
    reported_us: u64,
}

impl CpuMeter {
    /// Of these servers; each process is at the top of one.
    pub fn of(tops: impl IntoIterator<Item = Process>) -> Self {
        Self {
            tops: tops.into_iter().collect(),
            leaves: Leaves::default(),
            proc: Proc::of_kernel(),
            reported_us: 0,
        }
    }

    /// CPU time used so far, in microseconds: by processes that live, and by those that have ended
    /// and been waited for.
    ///
    /// # Errors
    /// Why it cannot be determined, as a clause: a server has ended, or was restarted.
    pub fn used_us(&mut self) -> Result<u64, String> {
        self.leaves.forget_old();
        let mut all_us = 0u64;
        for top in &self.tops {
            all_us = all_us.saturating_add(tree_us(top, &self.proc, &mut self.leaves)?);
        }
        // A process that ended just now may be counted neither among those that live nor above it.
        self.reported_us = self.reported_us.max(all_us);
        Ok(self.reported_us)
    }
}

impl Leaves {
    fn forget_old(&mut self) {
        if self.found.is_none_or(|found| found.elapsed() >= LEAF_FOR) {
            self.found = Some(Instant::now());
            self.waited_us.clear();
        }
    }
}

fn tree_us(top: &Process, proc: &Proc, leaves: &mut Leaves) -> Result<u64, String> {
    let gone = || {
        let Process { pid, name, .. } = top;
        format!("process {pid} ({name}) has ended")
    };
    let is_it = |task: &task::Task| task.started_ticks == top.started_ticks;
    let mut used_us = 0;
    for _ in 0..LOOKS_MAX {
        let before = proc.task(top.pid).filter(is_it).ok_or_else(gone)?;
        used_us = sum_us(&before, proc, leaves, DEPTH_MAX);
        let after = proc.task(top.pid).filter(is_it).ok_or_else(gone)?;
        if after.children_ticks == before.children_ticks {
            break;
        }
    }
    Ok(used_us)
}

fn sum_us(task: &task::Task, proc: &Proc, leaves: &mut Leaves, depth: usize) -> u64 {
    let waited_us = micros(task.children_ticks);
    let mut all_us = own_us(task, proc).saturating_add(waited_us);
    if depth == 0 {
        return all_us;
    }
    let children = proc.children(task);
    if children.is_empty() && task.threads == 1 {
        leaves.waited_us.insert(task.pid, waited_us);
    }
    for pid in children {
        let known_us = leaves.waited_us.get(&pid);
        let of_child = match known_us {
            Some(waited_us) => ran_us(pid, proc).map(|ran_us| ran_us.saturating_add(*waited_us)),
            None => None,
        };
        // It may have ended meanwhile.
        let of_child = of_child.or_else(|| {
            let child = proc.task(pid)?;
            Some(sum_us(&child, proc, leaves, depth - 1))
        });
        all_us = all_us.saturating_add(of_child.unwrap_or(0));
    }
    all_us
}

/// To the nanosecond where the scheduler tells, which it does for the first thread; else in ticks.
fn own_us(task: &task::Task, proc: &Proc) -> u64 {
    match (task.threads == 1)
        .then(|| ran_us(task.pid, proc))
        .flatten()
    {
        Some(ran_us) => ran_us,
        None => micros(task.ticks()),
    }
}

fn ran_us(pid: u32, proc: &Proc) -> Option<u64> {
    Some(task::scheduled(&proc.text(pid, "schedstat")?)?.ran_ns / 1000)
}

fn micros(ticks: u64) -> u64 {
    ticks.saturating_mul(1_000_000) / proc::ticks_per_second()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn process(pid: u32) -> Process {
        let task = Proc::of_kernel().task(pid).expect("it lives");
        Process {
            pid,
            name: task.name,
            started_ticks: task.started_ticks,
        }
    }

    #[test]
    fn a_server_has_used_what_its_living_and_its_ended_processes_have() {
        // A shell whose children count and end, and that waits then.
        let counts = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
        let script =
            format!("sh -c '{counts}'; echo one; read x; sh -c '{counts}; echo two; read y'");
        let mut shell = Command::new("sh")
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh starts");
        let mut reported = shell.stdout.take().expect("a pipe");
        let mut input = shell.stdin.take().expect("a pipe");
        let mut line = || {
            let mut bytes = [0; 4];
            std::io::Read::read_exact(&mut reported, &mut bytes).expect("a line");
            bytes
        };
        assert_eq!(&line(), b"one\n");
        let top = process(shell.id());
        let mut meter = CpuMeter::of([top.clone()]);
        let after_one = meter.used_us().unwrap();
        assert!(after_one > 10_000, "{after_one}");
        std::io::Write::write_all(&mut input, b"go\n").unwrap();
        assert_eq!(&line(), b"two\n");
        let after_two = meter.used_us().unwrap();
        assert!(after_two > after_one + 10_000, "{after_one} {after_two}");
        // Its end is reported, and so is another process of its number.
        let impostor = Process {
            started_ticks: top.started_ticks - 1,
            ..top
        };
        assert!(CpuMeter::of([impostor]).used_us().is_err());
        drop(input);
        shell.wait().expect("ours");
        let why = meter.used_us().unwrap_err();
        assert!(why.contains("(sh) has ended"), "{why}");
    }

    #[test]
    fn the_time_of_a_session_is_the_servers() {
        let server = pgdyno_testkit::postgres_with(&[]);
        let mut meter = CpuMeter::of([process(server.pid())]);
        let before = meter.used_us().unwrap();
        let env = pgdyno_session::Env::empty();
        let given = pgdyno_session::Given::target(server.address().url());
        let info = pgdyno_session::resolve(&given, &env).unwrap();
        let candidates = info.candidates().unwrap().list;
        let mut session = pgdyno_session::Session::connect(&candidates, None).unwrap();
        let works = "SELECT count(*) FROM generate_series(1, 500000)";
        session.query_one_value(works).unwrap();
        let while_it_lives = meter.used_us().unwrap();
        assert!(
            while_it_lives > before + 10_000,
            "{before} {while_it_lives}"
        );
        session.close();
        let begun = std::time::Instant::now();
        // The postmaster waits for it soon.
        while Proc::of_kernel().task(server.pid()).unwrap().children_ticks == 0 {
            assert!(begun.elapsed().as_secs() < 20);
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let mut anew = CpuMeter::of([process(server.pid())]);
        let after = anew.used_us().unwrap();
        // Of ended processes, whole ticks are reported.
        assert!(after + 100_000 > while_it_lives, "{while_it_lives} {after}");
    }
}
