//! Blocks of `iostat -xm 3`.

use std::fmt::Write;

use super::BetweenReadings;
use pgdyno_platform::proc::counters::ticks_between;

/// The first line of the disks; after the name a column for each figure.
const DISKS: &str = "Device            r/s     rMB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     \
    wMB/s   wrqm/s  %wrqm w_await wareq-sz     d/s     dMB/s   drqm/s  %drqm d_await dareq-sz     \
    f/s f_await  aqu-sz  %util\n";

/// What the CPUs and the disks did; a disk that never did anything is left out, as there.
pub fn text(between: &BetweenReadings<'_>) -> String {
    let (ticks, total) = ticks_between(&between.before.all, &between.after.all);
    let [user, nice, system, idle, wait, irq, softirq, steal, ..] = ticks;
    let mut text = String::from("avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n       ");
    for ticks in [user, nice, system + irq + softirq, wait, steal, idle] {
        // Writing into a String cannot fail.
        let _ = write!(text, " {:7.2}", 100.0 * ticks / total);
    }
    text += "\n\n";
    text += DISKS;
    for (name, after) in &between.after.disks {
        let at = |index: usize| after.get(index).copied().unwrap_or(0);
        if at(0) + at(4) == 0 {
            continue;
        }
        let none = Vec::new();
        let before = between.before.disks.get(name).unwrap_or(&none);
        let grown = |index: usize| {
            let before = before.get(index).copied().unwrap_or(0);
            at(index).saturating_sub(before) as f64
        };
        disk(&mut text, name, &grown, between.seconds.max(0.001));
    }
    text.push('\n');
    text
}

/// One disk. The kernel's counters: requests, merged, sectors of 512 bytes and milliseconds of
/// reads, writes and (after those of the queue) discards; then flushes and their milliseconds.
fn disk(text: &mut String, name: &str, grown: &dyn Fn(usize) -> f64, seconds: f64) {
    let per = |amount: f64, count: f64| if count > 0.0 { amount / count } else { 0.0 };
    let _ = write!(text, "{name:<13}");
    for first in [0, 4, 11] {
        let (requests, merged) = (grown(first), grown(first + 1));
        let (sectors, ms) = (grown(first + 2), grown(first + 3));
        let _ = write!(
            text,
            "{:8.2}{:10.2}{:9.2}{:7.2}{:8.2}{:9.2}",
            requests / seconds,
            sectors / 2048.0 / seconds,
            merged / seconds,
            100.0 * per(merged, merged + requests),
            per(ms, requests),
            per(sectors / 2.0, requests),
        );
    }
    let (flushes, flush_ms, busy_ms, queue_ms) = (grown(15), grown(16), grown(9), grown(10));
    let _ = writeln!(
        text,
        "{:8.2}{:8.2}{:8.2}{:7.2}",
        flushes / seconds,
        per(flush_ms, flushes),
        queue_ms / 1000.0 / seconds,
        (busy_ms / 10.0 / seconds).min(100.0),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_platform::proc::counters::Reading;

    #[test]
    fn a_disk_has_rates_waits_and_sizes_and_an_unused_one_is_left_out() {
        let disks = [
            (
                "sda",
                vec![
                    300, 100, 4800, 600, 30, 0, 480, 60, 0, 1500, 660, 0, 0, 0, 0, 6, 3,
                ],
            ),
            ("sdb", vec![0; 17]),
        ];
        let disks = disks.map(|(name, counters)| (name.to_owned(), counters));
        let after = Reading {
            all: [30, 0, 10, 50, 10, 0, 0, 0, 0, 0],
            disks: disks.into_iter().collect(),
            ..Reading::default()
        };
        let between = BetweenReadings {
            before: &Reading::default(),
            after: &after,
            seconds: 3.0,
        };
        let text = text(&between);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[1],
            "          30.00    0.00   10.00   10.00    0.00   50.00"
        );
        let columns =
            |line: &str| -> Vec<String> { line.split_whitespace().map(str::to_owned).collect() };
        let (names, values) = (columns(lines[3]), columns(lines[4]));
        let of = |name: &str| values[names.iter().position(|n| n == name).unwrap()].clone();
        assert_eq!(lines[3].len(), lines[4].len());
        for (name, want) in [
            ("Device", "sda"),
            ("r/s", "100.00"),
            ("rMB/s", "0.78"),
            ("rrqm/s", "33.33"),
            ("%rrqm", "25.00"),
            ("r_await", "2.00"),
            ("rareq-sz", "8.00"),
            ("w/s", "10.00"),
            ("wareq-sz", "8.00"),
            ("d/s", "0.00"),
            ("f/s", "2.00"),
            ("f_await", "0.50"),
            ("aqu-sz", "0.22"),
            ("%util", "50.00"),
        ] {
            assert_eq!(of(name), want, "{name}");
        }
        assert_eq!(lines[5..], [""], "{text}");
    }
}
