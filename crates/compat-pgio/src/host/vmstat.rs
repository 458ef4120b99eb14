//! Lines of `vmstat 3`.

use super::BetweenReadings;
use pgdyno_platform::proc::counters::ticks_between;

pub const HEAD: &str = "\
procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
";

/// One line; `free` and its like are kB, swap and io kB a second.
pub fn text(between: &BetweenReadings<'_>) -> String {
    let BetweenReadings {
        before,
        after,
        seconds,
    } = between;
    let seconds = seconds.max(0.001);
    let memory = |name: &str| after.memory.get(name).copied().unwrap_or(0);
    let rate = |grown: u64| (grown as f64 / seconds).round() as u64;
    let pages = |name: &str| {
        let of = |reading: &pgdyno_platform::proc::counters::Reading| {
            reading.pages.get(name).copied().unwrap_or(0)
        };
        of(after).saturating_sub(of(before))
    };
    // Pages of swap are 4 kB on all machines that this is for.
    let swapped = |name: &str| rate(pages(name) * 4);
    let (ticks, total) = ticks_between(&before.all, &after.all);
    let share = |ticks: f64| (100.0 * ticks / total).round() as u64;
    let [user, nice, system, idle, wait, irq, softirq, steal, ..] = ticks;
    format!(
        "{:2} {:2} {:6} {:6} {:6} {:6} {:4} {:4} {:5} {:5} {:4} {:4} {:2} {:2} {:2} {:2} {:2}\n",
        after.running,
        after.blocked,
        memory("SwapTotal").saturating_sub(memory("SwapFree")),
        memory("MemFree"),
        memory("Buffers"),
        memory("Cached") + memory("SReclaimable"),
        swapped("pswpin"),
        swapped("pswpout"),
        rate(pages("pgpgin")),
        rate(pages("pgpgout")),
        rate(after.interrupts.saturating_sub(before.interrupts)),
        rate(after.switches.saturating_sub(before.switches)),
        share(user + nice),
        share(system + irq + softirq),
        share(idle),
        share(wait),
        share(steal),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_platform::proc::counters::Reading;

    #[test]
    fn a_line_has_rates_of_the_time_between() {
        let named = |pairs: &[(&str, u64)]| {
            let pairs = pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), *value));
            pairs.collect()
        };
        let before = Reading {
            all: [100, 0, 0, 900, 0, 0, 0, 0, 0, 0],
            ..Reading::default()
        };
        let after = Reading {
            all: [150, 10, 20, 1000, 10, 2, 3, 5, 0, 0],
            interrupts: 3000,
            switches: 600,
            running: 2,
            blocked: 1,
            pages: named(&[("pgpgin", 3000), ("pgpgout", 30), ("pswpin", 3)]),
            memory: named(&[
                ("SwapTotal", 10),
                ("SwapFree", 4),
                ("MemFree", 123_456),
                ("Buffers", 7),
                ("Cached", 40),
                ("SReclaimable", 2),
            ]),
            ..Reading::default()
        };
        let between = BetweenReadings {
            before: &before,
            after: &after,
            seconds: 3.0,
        };
        assert_eq!(
            text(&between),
            " 2  1      6 123456      7     42    4    0  1000    10 1000  200 30 13 50  5  3\n"
        );
    }
}
