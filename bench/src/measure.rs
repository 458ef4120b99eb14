//! One run of one program: what it did and what it cost.

use std::io::{self, Read};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use pgdyno_platform::child::{Signal, die_with_parent};
use pgdyno_platform::cpu_time::{self, CpuTime};

use crate::Error;
use crate::programs::{BenchProgram, Reported};
use crate::rows::Job;
use crate::server::Bed;

/// A finished run.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// What the program says.
    pub reported: Reported,
    /// CPU time of the whole process from exec to exit, children included, as the kernel says.
    pub cpu: CpuTime,
    /// From before it was started until it had ended, in seconds.
    pub wall_s: f64,
    /// The most memory that the process itself had, in bytes.
    pub peak_bytes: u64,
    /// CPU time that the server's processes used meanwhile, in microseconds.
    pub server_us: u64,
}

impl Run {
    /// `program` does `job`, and nothing else is started meanwhile.
    pub fn of(
        program: &dyn BenchProgram,
        job: &Job,
        bed: &Bed,
        seconds: u32,
    ) -> Result<Self, Error> {
        let name = program.name();
        let mut command = program.command(job, bed, seconds);
        // The URL says it all; what the user's environment says would differ by program.
        for (variable, _) in std::env::vars_os() {
            let text = variable.to_string_lossy();
            if text.starts_with("PG") && !text.starts_with("PGDYNO") {
                command.env_remove(variable);
            }
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        die_with_parent(&mut command, Signal::Kill);

        let server_before = bed.server_cpu()?;
        let cpu_before = cpu_time::ended_children();
        let begun = Instant::now();
        let child = command.spawn();
        let child = child.map_err(|e| format!("cannot start {name}: {e}"))?;
        let peak = PeakMemory::of(child.id(), PeakMemory::SELDOM);
        let (status, output, errors) = wait(child)?;
        let wall_s = begun.elapsed().as_secs_f64();
        let cpu = cpu_time::ended_children() - cpu_before;
        let peak_bytes = peak.end();
        let server_us = bed.server_cpu_since(&server_before)?;

        if !status.success() {
            return Err(format!("{name} failed ({status}): {}", errors.trim()).into());
        }
        let reported = if job.workload.is_load() {
            Reported::loaded()
        } else {
            program.read(&output)?
        };
        if reported.failed > 0 {
            let failed = reported.failed;
            let text = format!("{failed} transactions of {name} failed: it did other work then");
            return Err(text.into());
        }
        if reported.transactions == 0 {
            return Err(format!("{name} did no transaction").into());
        }
        Ok(Self {
            reported,
            cpu,
            wall_s,
            peak_bytes,
            server_us,
        })
    }

    /// What this run cost and did beyond a shorter one: starting, connecting and ending are taken off.
    pub fn beyond(mut self, shorter: &Self) -> Result<Self, Error> {
        let (more, fewer) = (self.reported.transactions, shorter.reported.transactions);
        if more <= fewer {
            let text = format!("{more} transactions in the longer run, {fewer} in the shorter");
            return Err(text.into());
        }
        self.reported.transactions = more - fewer;
        self.reported.connecting_s = 0.0;
        self.cpu = self.cpu - shorter.cpu;
        self.server_us = self.server_us.saturating_sub(shorter.server_us);
        self.wall_s -= shorter.wall_s;
        Ok(self)
    }
}

/// Looks at a process's memory now and then: the kernel's own high-water mark, which is gone with it.
pub struct PeakMemory {
    ended: Sender<()>,
    watch: JoinHandle<u64>,
}

impl PeakMemory {
    /// Between two looks at a process that lives for seconds.
    pub const SELDOM: Duration = Duration::from_millis(50);
    /// The same, of one that may be gone at once.
    pub const OFTEN: Duration = Duration::from_millis(5);

    /// Begins to look.
    pub fn of(pid: u32, every: Duration) -> Self {
        let (ended, end) = channel();
        let watch = std::thread::spawn(move || {
            let mut peak = 0;
            while end.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                peak = high_water_mark(pid).unwrap_or(0).max(peak);
            }
            peak
        });
        Self { ended, watch }
    }

    /// The most that it had, in bytes.
    pub fn end(self) -> u64 {
        drop(self.ended);
        // The thread only reads.
        self.watch.join().unwrap_or(0)
    }
}

/// `VmHWM` of proc(5), in bytes.
fn high_water_mark(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let mark = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = mark.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// Waits for the end of the program; what it wrote to standard output and standard error.
pub fn wait(mut child: Child) -> io::Result<(ExitStatus, String, String)> {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let errors = std::thread::spawn(move || read(stderr));
    let output = read(stdout);
    let status = child.wait()?;
    // The thread only reads; a panic in it would be a lost message and no more.
    Ok((status, output, errors.join().unwrap_or_default()))
}

fn read(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        // What could be read before an error is all there is to show.
        let _ = pipe.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(transactions: u64, user_us: u64, wall_s: f64) -> Run {
        Run {
            reported: Reported {
                transactions,
                failed: 0,
                transactions_per_s: 2000.0,
                connecting_s: 2.0,
                latency_us: 1.0,
                own_cpu_us: 1.0,
                lag_us: (2.0, 3.0),
            },
            cpu: CpuTime {
                user_us,
                system_us: 2 * user_us,
            },
            wall_s,
            peak_bytes: 1 << 20,
            server_us: 10 * user_us,
        }
    }

    #[test]
    fn beyond_a_shorter_run_is_the_difference_of_work_cost_and_time() {
        let (short, long) = (run(8_000, 400, 6.0), run(24_000, 900, 14.0));
        let beyond = long.beyond(&short).unwrap();
        assert_eq!(beyond.reported.transactions, 16_000);
        assert_eq!((beyond.cpu.user_us, beyond.cpu.system_us), (500, 1000));
        assert_eq!((beyond.wall_s, beyond.reported.connecting_s), (8.0, 0.0));
        assert_eq!(beyond.server_us, 5000);
        assert_eq!(beyond.reported.lag_us, (2.0, 3.0));
        let error = short.beyond(&beyond).unwrap_err().to_string();
        assert!(
            error.contains("8000 transactions in the longer run, 16000"),
            "{error}"
        );
    }

    #[test]
    fn the_memory_of_this_process_has_a_high_water_mark() {
        assert!(high_water_mark(std::process::id()).unwrap() > 1 << 20);
        assert_eq!(high_water_mark(u32::MAX), None);
    }
}
