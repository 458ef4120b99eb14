//! `pgdyno-bench kernel`: what this machine's kernel asks for a timer and for a wakeup, which is most of
//! what a transaction costs a client that has few of them. Virtual machines differ by tens of times.

use std::os::fd::OwnedFd;
use std::thread;
use std::time::Duration;

use pgdyno_platform::clock::monotonic_ns;
use pgdyno_platform::cpu_time;
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{read, write};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use crate::Error;

const TIMERS: u32 = 200_000;
const ROUNDS: u32 = 50_000;
const FAR: Duration = Duration::from_secs(1);
const NEAR: Duration = Duration::from_micros(300);
const TOKEN: [u8; 8] = 1_u64.to_ne_bytes();

/// Prints it as a table.
///
/// # Errors
/// The kernel refuses what is measured.
pub fn open() -> Result<(), Error> {
    println!("| what the kernel asks for | µs |\n|---|---|");
    println!(
        "| a timer set and cancelled, 1 s away | {:.1} |",
        timer_us(FAR)?
    );
    println!(
        "| the same, 0.3 ms away: its CPU's next one | {:.1} |",
        timer_us(NEAR)?
    );
    let allowed = sched_getaffinity(None)?;
    let mut cpus = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
    let (Some(first), second) = (cpus.next(), cpus.next()) else {
        return Err("no CPU is allowed".into());
    };
    let on = |first, second| -> Result<(f64, f64), Error> {
        thread::spawn(move || rounds_us(first, second).map_err(|e| e.to_string()))
            .join()
            .map_err(|_| "a thread broke")?
            .map_err(Error::from)
    };
    let (cpu_us, wall_us) = on(first, first)?;
    println!(
        "| a wakeup and a sleep, both threads on one CPU: a thread's CPU time (wall time of a round {wall_us:.1}) | {cpu_us:.1} |"
    );
    if let Some(second) = second {
        let (cpu_us, wall_us) = on(first, second)?;
        println!(
            "| the same, each on its own CPU (wall time of a round {wall_us:.1}) | {cpu_us:.1} |"
        );
    }
    Ok(())
}

/// What setting and cancelling a timer takes.
fn timer_us(away: Duration) -> Result<f64, Error> {
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::empty())?;
    let none = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let once = |value| Itimerspec {
        it_interval: none,
        it_value: value,
    };
    let set = once(Timespec::try_from(away)?);
    let begun = monotonic_ns();
    for _ in 0..TIMERS {
        timerfd_settime(&timer, TimerfdTimerFlags::empty(), &set)?;
        timerfd_settime(&timer, TimerfdTimerFlags::empty(), &once(none))?;
    }
    Ok((monotonic_ns() - begun) as f64 / 1000.0 / f64::from(TIMERS))
}

/// The CPU time that one of two threads, each on its CPU, takes for waking the other and waiting for
/// its answer, and how long that lasts.
fn rounds_us(own_cpu: usize, others_cpu: usize) -> Result<(f64, f64), Error> {
    let event = || eventfd(0, EventfdFlags::empty());
    let (there, back) = (event()?, event()?);
    let (others_there, others_back) = (there.try_clone()?, back.try_clone()?);
    let other = thread::spawn(move || answer(others_cpu, &others_there, &others_back));
    stay_on(own_cpu)?;
    let mut token = [0; 8];
    let (begun, before) = (monotonic_ns(), cpu_time::thread());
    for _ in 0..ROUNDS {
        write(&there, &TOKEN)?;
        read(&back, &mut token)?;
    }
    let (wall_ns, after) = (monotonic_ns() - begun, cpu_time::thread());
    other.join().map_err(|_| "a thread broke")??;
    let used = |cpu: cpu_time::CpuTime| cpu.user_us + cpu.system_us;
    let rounds = f64::from(ROUNDS);
    Ok((
        (used(after) - used(before)) as f64 / rounds,
        wall_ns as f64 / 1000.0 / rounds,
    ))
}

fn answer(cpu: usize, there: &OwnedFd, back: &OwnedFd) -> rustix::io::Result<()> {
    stay_on(cpu)?;
    let mut token = [0; 8];
    for _ in 0..ROUNDS {
        read(there, &mut token)?;
        write(back, &TOKEN)?;
    }
    Ok(())
}

fn stay_on(cpu: usize) -> rustix::io::Result<()> {
    let mut only = CpuSet::new();
    only.set(cpu);
    sched_setaffinity(None, &only)
}
