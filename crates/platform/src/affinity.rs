//! Which CPUs threads and processes may use: halves of a machine for two that run at once, one CPU for each
//! thread.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The CPUs that this thread may use.
///
/// # Errors
/// The system does not say.
pub fn allowed() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU)
        .filter(|cpu| set.is_set(*cpu))
        .collect())
}

/// The CPUs that this thread may use, in the order in which threads are dealt to them: the second thread of a core
/// comes after the first ones of all cores.
///
/// # Errors
/// The system does not say.
pub fn spread() -> io::Result<Vec<usize>> {
    Ok(spread_by(&allowed()?, core_of))
}

fn spread_by(cpus: &[usize], core_of: impl Fn(usize) -> usize) -> Vec<usize> {
    let mut taken = BTreeMap::<usize, usize>::new();
    let rank = |cpu: &usize| {
        let taken = taken.entry(core_of(*cpu)).or_default();
        *taken += 1;
        (*taken, *cpu)
    };
    let mut ranked: Vec<(usize, usize)> = cpus.iter().map(rank).collect();
    ranked.sort_unstable();
    ranked.into_iter().map(|(_, cpu)| cpu).collect()
}

/// Keeps this thread, and all that it starts from now on, on these CPUs.
///
/// # Errors
/// There are none of them, or they are not allowed.
pub fn keep_this_thread_on(cpus: &[usize]) -> io::Result<()> {
    Ok(sched_setaffinity(None, &set_of(cpus))?)
}

/// Keeps a process, and all that it has started, on these CPUs. What it starts later inherits them.
///
/// # Errors
/// It is not there or not ours, or the CPUs are not allowed.
pub fn keep_tree_on(pid: u32, cpus: &[usize]) -> io::Result<()> {
    let set = set_of(cpus);
    // Its own place first: children from then on are where they should be.
    keep(pid, &set)?;
    for child in descendants(pid) {
        match keep(child, &set) {
            // It has ended since.
            Err(e) if e.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => {}
            kept => kept?,
        }
    }
    Ok(())
}

/// These CPUs in two halves of the same size; an odd one is left out. Threads of one core stay together where that is
/// possible.
pub fn halves(cpus: &[usize]) -> [Vec<usize>; 2] {
    halves_by(cpus, core_of)
}

/// The first CPU of this one's core: what threads of one core have in common.
fn core_of(cpu: usize) -> usize {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    let list = fs::read_to_string(path).ok();
    let first = list.as_deref().and_then(|list| {
        let digits = list.split(|c: char| !c.is_ascii_digit()).next();
        digits?.parse().ok()
    });
    first.unwrap_or(cpu)
}

fn halves_by(cpus: &[usize], core_of: impl Fn(usize) -> usize) -> [Vec<usize>; 2] {
    let mut by_core: Vec<usize> = cpus.to_vec();
    by_core.sort_by_key(|cpu| (core_of(*cpu), *cpu));
    let half = by_core.len() / 2;
    [by_core[..half].to_vec(), by_core[half..2 * half].to_vec()]
}

fn keep(pid: u32, set: &CpuSet) -> io::Result<()> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    Ok(sched_setaffinity(Some(pid), set)?)
}

fn set_of(cpus: &[usize]) -> CpuSet {
    let mut set = CpuSet::new();
    for cpu in cpus.iter().filter(|cpu| **cpu < CpuSet::MAX_CPU) {
        set.set(*cpu);
    }
    set
}

/// All processes that this one, or one of these, has started.
fn descendants(pid: u32) -> BTreeSet<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    for process in processes {
        let Some(child) = process
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        if let Some(parent) = parent(child) {
            children.entry(parent).or_default().push(child);
        }
    }
    let mut found = BTreeSet::new();
    let mut from = vec![pid];
    while let Some(pid) = from.pop() {
        for child in children.get(&pid).into_iter().flatten() {
            if found.insert(*child) {
                from.push(*child);
            }
        }
    }
    found
}

/// The process that has started this one: the second field after the name, which is in parentheses and may hold
/// any (proc(5)).
fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn halves_are_even_and_keep_cores_together() {
        // Two threads a core, numbered as Linux does: 0 and 2 are one core.
        let halves = halves_by(&[0, 1, 2, 3], |cpu| cpu % 2);
        assert_eq!(halves, [vec![0, 2], vec![1, 3]]);
        assert_eq!(halves_by(&[4, 5, 6], |cpu| cpu), [vec![4], vec![5]]);
        assert_eq!(
            halves_by(&[1], |cpu| cpu),
            [Vec::<usize>::new(), Vec::new()]
        );
    }

    #[test]
    fn threads_are_dealt_to_cores_before_a_core_gets_a_second_one() {
        assert_eq!(spread_by(&[0, 1, 2, 3], |cpu| cpu / 2), [0, 2, 1, 3]);
        assert_eq!(spread_by(&[0, 1, 2, 3], |cpu| cpu % 2), [0, 1, 2, 3]);
        assert_eq!(spread_by(&[5, 7], |cpu| cpu), [5, 7]);
        let mut all = spread().unwrap();
        all.sort_unstable();
        assert_eq!(all, allowed().unwrap());
    }

    #[test]
    fn a_process_and_its_children_stay_where_they_are_put() {
        let all = allowed().unwrap();
        assert!(!all.is_empty());
        let one = [*all.last().unwrap()];
        // The child of the child says when it is there.
        let mut child = Command::new("sh")
            .args(["-c", "sleep 60 & echo there; wait"])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut said = std::io::BufReader::new(child.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut said, &mut line).unwrap();
        keep_tree_on(child.id(), &one).unwrap();
        let family: Vec<u32> = descendants(child.id())
            .into_iter()
            .chain([child.id()])
            .collect();
        assert_eq!(family.len(), 2, "{family:?}");
        for pid in &family {
            let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
            let list = format!("Cpus_allowed_list:\t{}\n", one[0]);
            assert!(status.contains(&list), "{status}");
        }
        for pid in family {
            let pid = Pid::from_raw(pid as i32).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
        child.wait().unwrap();
    }

    #[test]
    fn a_thread_starts_others_where_it_is() {
        let all = allowed().unwrap();
        let one = [all[0]];
        let seen = std::thread::spawn(move || {
            keep_this_thread_on(&one).unwrap();
            std::thread::spawn(|| allowed().unwrap()).join().unwrap()
        });
        assert_eq!(seen.join().unwrap(), one);
        assert!(keep_this_thread_on(&[]).is_err(), "nowhere to be");
    }
}
