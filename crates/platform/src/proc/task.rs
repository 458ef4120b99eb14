//! /proc/PID/…: what a process or a thread is and what it has used (proc_pid_stat(5),
//! Documentation/scheduler/sched-stats.rst of the kernel).

use super::behind;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Task {
    pub pid: u32,
    /// What it calls itself, at most 15 bytes. It may contain anything.
    pub name: String,
    /// Such as `R` for running, `S` for sleeping, `D` for waiting for a disk, `Z` for ended.
    pub state: char,
    /// The process that started it, or that took it over.
    pub parent: u32,
    /// CPU time of all its threads, in clock ticks: user.
    pub user_ticks: u64,
    /// The same: in the kernel.
    pub system_ticks: u64,
    /// CPU time of its children that have ended and been waited for, user and kernel together.
    pub children_ticks: u64,
    pub threads: u64,
    /// When it started, in clock ticks since the kernel did.
    pub started_ticks: u64,
}

pub fn stat(text: &str) -> Option<Task> {
    // The name is in brackets and may contain brackets, blanks and line ends.
    let (pid, rest) = text.split_once('(')?;
    let (name, rest) = rest.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // Numbered as in the manual, where the state is the third.
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    // Of children, the kernel gives signed numbers.
    let (user, system) = (field(16)?, field(17)?);
    Some(Task {
        pid: pid.trim().parse().ok()?,
        name: name.to_owned(),
        state: fields.first()?.chars().next()?,
        parent: u32::try_from(field(4)?).ok()?,
        user_ticks: field(14)?,
        system_ticks: field(15)?,
        children_ticks: user.saturating_add(system),
        threads: field(20)?,
        started_ticks: field(22)?,
    })
}

impl Task {
    /// CPU time of its threads, in clock ticks.
    pub fn ticks(&self) -> u64 {
        self.user_ticks.saturating_add(self.system_ticks)
    }
}

/// What the scheduler counts of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Scheduled {
    pub ran_ns: u64,
    /// Nanoseconds in which it could have run but waited for a CPU.
    pub waited_ns: u64,
}

/// Reads /proc/PID/schedstat, or that of one of its threads. It is of one thread alone: of a process,
/// its first.
pub fn scheduled(text: &str) -> Option<Scheduled> {
    scheduled_of(text.as_bytes())
}

/// The same of bytes as they are read: once for each turn of an event loop, so digit by digit.
pub(crate) fn scheduled_of(text: &[u8]) -> Option<Scheduled> {
    let mut words = text.split(|byte| matches!(byte, b' ' | b'\n'));
    let mut number = || {
        let digits = words.next().filter(|digits| !digits.is_empty())?;
        digits.iter().try_fold(0_u64, |number, digit| {
            let digit = digit.checked_sub(b'0').filter(|digit| *digit < 10)?;
            number.checked_mul(10)?.checked_add(digit.into())
        })
    };
    Some(Scheduled {
        ran_ns: number()?,
        waited_ns: number()?,
    })
}

/// The ids that a process has, in /proc/PID/status: that of the reader's namespace first, that of
/// its own namespace (a container's) last.
pub fn namespace_pids(status: &str) -> Vec<u32> {
    let pids = behind(status, "NSpid:").or_else(|| behind(status, "Pid:"));
    let words = pids.unwrap_or_default().split_ascii_whitespace();
    words.filter_map(|word| word.parse().ok()).collect()
}

/// The user that a process runs as, in /proc/PID/status.
pub fn user(status: &str) -> Option<u32> {
    super::numbers(behind(status, "Uid:")?)
        .next()?
        .try_into()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const REAL: &str = "4711 (postgres) S 4700 4711 4711 0 -1 4194560 2178 55 3 1 123 45 6 7 20 0 \
        1 0 9051234 226492416 3456 18446744073709551615 1 1 0 0 0 0 4194304 19935232 84487 0 0 0 \
        17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n";

    #[test]
    fn the_fields_of_a_process_are_read() {
        let task = stat(REAL).unwrap();
        let expected = Task {
            pid: 4711,
            name: "postgres".to_owned(),
            state: 'S',
            parent: 4700,
            user_ticks: 123,
            system_ticks: 45,
            children_ticks: 13,
            threads: 1,
            started_ticks: 9_051_234,
        };
        assert_eq!(task, expected);
        assert_eq!(task.ticks(), 168);
    }

    #[test]
    fn a_name_may_contain_anything() {
        for name in ["a) S 1 (b", ") (", "", "\n", "x y z"] {
            let text = REAL.replace("postgres", name);
            let task = stat(&text).unwrap();
            assert_eq!((task.name.as_str(), task.parent), (name, 4700));
        }
        assert_eq!(stat("4711 (postgres) S 4700"), None);
        assert_eq!(stat("(postgres) S"), None);
    }

    #[test]
    fn a_thread_ran_and_waited() {
        let reported = scheduled("178466 11870207 2\n").unwrap();
        assert_eq!((reported.ran_ns, reported.waited_ns), (178_466, 11_870_207));
        assert_eq!(scheduled("178466"), None);
    }

    #[test]
    fn a_process_in_a_container_has_several_ids() {
        let status = "Name:\tpostgres\nTgid:\t4711\nPid:\t4711\nUid:\t999\t998\t0\t0\n\
            NStgid:\t4711\t57\nNSpid:\t4711\t57\n";
        assert_eq!(namespace_pids(status), [4711, 57]);
        assert_eq!(user(status), Some(999));
        // Kernels before 4.1 do not tell.
        assert_eq!(namespace_pids("Pid:\t4711\n"), [4711]);
        assert_eq!(namespace_pids("Name:\tx\n"), [0; 0]);
    }

    #[test]
    fn this_process_is_understood() {
        let own = std::process::id();
        let task = stat(&super::super::text("/proc/self/stat").unwrap()).unwrap();
        assert_eq!(task.pid, own);
        assert!(task.threads >= 1 && task.started_ticks > 0);
        let status = super::super::text("/proc/self/status").unwrap();
        assert_eq!(namespace_pids(&status).first(), Some(&own));
        assert_eq!(user(&status), Some(rustix::process::getuid().as_raw()));
    }
}
