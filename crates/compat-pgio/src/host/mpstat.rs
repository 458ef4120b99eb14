//! Blocks of `mpstat -P ALL 3`.

use std::fmt::Write;

use time::OffsetDateTime;

use super::BetweenReadings;
use pgdyno_platform::proc::counters::{Ticks, ticks_between};

/// The CPUs together and each of them, at `now`.
pub fn text(between: &BetweenReadings<'_>, now: OffsetDateTime) -> String {
    let (hour, minute, second) = now.to_hms();
    let clock = format!("{hour:02}:{minute:02}:{second:02}");
    let mut text = format!(
        "{clock}     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   \
         %idle\n"
    );
    let (before, after) = (between.before, between.after);
    let mut line = |name: &str, before: &Ticks, after: &Ticks| {
        let (ticks, total) = ticks_between(before, after);
        let [
            user,
            nice,
            system,
            idle,
            wait,
            irq,
            softirq,
            steal,
            guest,
            guest_nice,
        ] = ticks;
        let columns = [
            user - guest,
            nice - guest_nice,
            system,
            wait,
            irq,
            softirq,
            steal,
            guest,
            guest_nice,
            idle,
        ];
        // Writing into a String cannot fail.
        let _ = write!(text, "{clock}    {name:>4}");
        for ticks in columns {
            let _ = write!(text, " {:7.2}", 100.0 * ticks.max(0.0) / total);
        }
        text.push('\n');
    };
    line("all", &before.all, &after.all);
    for (number, (before, after)) in before.cpus.iter().zip(&after.cpus).enumerate() {
        line(&number.to_string(), before, after);
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_platform::proc::counters::Reading;

    #[test]
    fn each_cpu_has_its_shares() {
        let before = Reading {
            cpus: vec![[0; 10]],
            ..Reading::default()
        };
        let ticks = [50, 0, 20, 25, 5, 0, 0, 0, 10, 0];
        let after = Reading {
            all: ticks,
            cpus: vec![ticks],
            ..Reading::default()
        };
        let between = BetweenReadings {
            before: &before,
            after: &after,
            seconds: 3.0,
        };
        let now = OffsetDateTime::from_unix_timestamp(36_001).unwrap();
        let shares =
            "  40.00    0.00   20.00    5.00    0.00    0.00    0.00   10.00    0.00   25.00";
        assert_eq!(
            text(&between, now),
            format!(
                "10:00:01     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  \
                 %gnice   %idle\n10:00:01     all {shares}\n10:00:01       0 {shares}\n\n"
            )
        );
    }
}
