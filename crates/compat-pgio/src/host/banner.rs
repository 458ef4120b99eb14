//! What sysstat's programs print first.

use pgdyno_platform::proc;
use time::OffsetDateTime;

/// The first lines of sysstat's programs.
pub fn banner(now: OffsetDateTime) -> String {
    let read = |path: &str| proc::text(path).unwrap_or_default();
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    format!(
        "Linux {} ({}) \t{:02}/{:02}/{} \t_{}_\t({cpus} CPU)\n\n",
        read("/proc/sys/kernel/osrelease").trim(),
        read("/proc/sys/kernel/hostname").trim(),
        u8::from(now.month()),
        now.day(),
        now.year(),
        std::env::consts::ARCH
    )
}
