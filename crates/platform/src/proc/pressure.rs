//! /proc/pressure: how long tasks waited for a CPU, for memory, for disks
//! (Documentation/accounting/psi.rst of the kernel; from Linux 4.20 on, where it is switched on).

/// What one of its files tells, in microseconds since the kernel started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pressure {
    /// In which at least one task waited.
    pub some_us: Option<u64>,
    /// In which all tasks that had work waited, so that nothing was done.
    pub full_us: Option<u64>,
}

pub fn parse(text: &str) -> Pressure {
    let total = |kind: &str| {
        let line = super::behind(text, kind)?;
        let mut words = line.split_ascii_whitespace();
        words
            .find_map(|word| word.strip_prefix("total="))?
            .parse()
            .ok()
    };
    Pressure {
        some_us: total("some"),
        full_us: total("full"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn total_waiting_is_read() {
        let text = "some avg10=22.62 avg60=10.38 avg300=3.87 total=1859574142\n\
            full avg10=3.89 avg60=3.14 avg300=1.87 total=973177060\n";
        let pressure = parse(text);
        assert_eq!(pressure.some_us, Some(1_859_574_142));
        assert_eq!(pressure.full_us, Some(973_177_060));
        // Of CPUs, older kernels tell one of the two.
        let pressure = parse("some avg10=0.00 avg60=0.00 avg300=0.00 total=7");
        assert_eq!((pressure.some_us, pressure.full_us), (Some(7), None));
    }
}
