//! Work units: what a workload counts when a transaction is not it. Many of them may be done in one
//! transaction, by the server alone; then it tells how many took how long.

use super::{Latencies, Packed};

/// Buckets of the server's counts for each factor of e. A bucket is 2 % wide, so that what is
/// recorded for a unit is off by at most 1 %.
const BUCKETS_PER_E: f64 = 50.0;

/// What a server tells comes to no more in any one transaction: rows, microseconds or units.
const COUNT_MAX: u64 = 1 << 50;

/// Work units of one operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Units {
    /// Rows that they found or changed.
    pub rows: u64,
    /// How long they took; the last one of a transaction with its commit.
    pub latencies: Latencies,
}

/// What one client did of each operation, over the whole run of its connection's drive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientUnits {
    pub client: usize,
    /// The server's process that it met last; 0 where there was none.
    pub backend_pid: i32,
    /// By operation; fewer when there are none of the last ones.
    pub operations: Vec<Tally>,
}

/// Work units of one operation, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub count: u64,
    /// Rows that they found or changed.
    pub rows: u64,
    /// How long the longest took, in microseconds.
    pub max_us: u64,
}

impl ClientUnits {
    /// Adds some of an operation.
    pub fn add(&mut self, operation: usize, more: Tally) {
        if self.operations.len() <= operation {
            self.operations.resize(operation + 1, Tally::default());
        }
        let mine = &mut self.operations[operation];
        mine.count += more.count;
        mine.rows += more.rows;
        mine.max_us = mine.max_us.max(more.max_us);
    }
}

/// [`Units`] as they are kept for each second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedUnits {
    /// Rows that they found or changed.
    pub rows: u64,
    pub latencies: Packed,
}

impl Units {
    pub fn count(&self) -> u64 {
        self.latencies.count()
    }

    pub fn record(&mut self, rows: u64, latency_us: u64) {
        self.rows += rows;
        self.latencies.record(latency_us);
    }

    pub fn tally(&self) -> Tally {
        Tally {
            count: self.count(),
            rows: self.rows,
            max_us: self.latencies.max_us(),
        }
    }

    pub fn merge(&mut self, other: &Self) {
        self.rows = self.rows.saturating_add(other.rows);
        self.latencies.merge(&other.latencies);
    }

    /// Forgets them and keeps the memory.
    pub fn clear(&mut self) {
        self.rows = 0;
        self.latencies.clear();
    }

    /// The same in little memory.
    pub fn pack(&self) -> PackedUnits {
        PackedUnits {
            rows: self.rows,
            latencies: self.latencies.pack(),
        }
    }

    /// Adds what a server tells: an array of whole numbers as PostgreSQL writes it, with the rows,
    /// the sum of the latencies in microseconds, the longest, and from there on how many units took
    /// a time `t` with `floor(ln(t) * 50)` = 0 (or less), 1, 2…; false when it is no such thing, or
    /// numbers that nothing can come to, and nothing is added then.
    pub fn add_reported(&mut self, array: &[u8]) -> bool {
        let mut numbers = numbers(array);
        let mut head = || numbers.next()?.filter(|number| *number <= COUNT_MAX);
        let (Some(rows), Some(sum_us), Some(max_us)) = (head(), head(), head()) else {
            return false;
        };
        let mut counts = numbers.clone();
        let all = counts.try_fold(0u64, |all, count| Some(all.saturating_add(count?)));
        if all.is_none_or(|all| all > COUNT_MAX) {
            return false;
        }
        self.rows = self.rows.saturating_add(rows);
        let counts = numbers.flatten().enumerate();
        let counts = counts.filter(|(_, count)| *count > 0);
        let counted = counts.map(|(bucket, count)| (middle_us(bucket, max_us), count));
        self.latencies.record_counted(counted, sum_us, max_us);
        true
    }
}

impl PackedUnits {
    pub fn unpack(&self) -> Units {
        Units {
            rows: self.rows,
            latencies: self.latencies.unpack(),
        }
    }
}

/// The middle of a bucket, in microseconds.
fn middle_us(bucket: usize, max_us: u64) -> u64 {
    let middle_us = ((bucket as f64 + 0.5) / BUCKETS_PER_E).exp().round();
    (middle_us as u64).min(max_us)
}

/// The numbers of `{1,2,3}`; `None` for each that is none.
fn numbers(array: &[u8]) -> impl Iterator<Item = Option<u64>> + Clone {
    let inner = array.strip_prefix(b"{").and_then(|a| a.strip_suffix(b"}"));
    let inner = inner.unwrap_or(b"?");
    let number = |digits: &[u8]| std::str::from_utf8(digits).ok()?.parse().ok();
    inner.split(|byte| *byte == b',').map(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a server would tell of these latencies.
    fn server_units(rows: u64, latencies_us: &[u64]) -> String {
        let mut counts = vec![0; 1101];
        for latency_us in latencies_us {
            let bucket = ((*latency_us as f64).ln() * BUCKETS_PER_E).floor().max(0.0);
            counts[bucket as usize] += 1;
        }
        let (sum, max) = (
            latencies_us.iter().sum::<u64>(),
            latencies_us.iter().max().unwrap(),
        );
        let counts: Vec<String> = counts.iter().map(u64::to_string).collect();
        format!("{{{rows},{sum},{max},{}}}", counts.join(","))
    }

    #[test]
    fn server_counts_are_exact_to_one_percent() {
        let mut latencies_us: Vec<u64> = (1..=1000).map(|i| i * i).collect();
        latencies_us.push(3_500_000_000);
        let mut units = Units::default();
        assert!(units.add_reported(server_units(7, &latencies_us).as_bytes()));
        assert!(units.add_reported(server_units(1, &[1, 2, 3, 4, 5]).as_bytes()));
        let mut exact = Latencies::default();
        latencies_us.extend([1, 2, 3, 4, 5]);
        latencies_us.iter().for_each(|us| exact.record(*us));
        assert_eq!((units.rows, units.count()), (8, 1006));
        assert_eq!(units.latencies.sum_us(), exact.sum_us());
        assert_eq!(units.latencies.max_us(), 3_500_000_000);
        for percent in [5.0, 25.0, 50.0, 75.0, 90.0, 98.0] {
            let (reported, exact) = (
                units.latencies.percentile_us(percent).unwrap() as f64,
                exact.percentile_us(percent).unwrap() as f64,
            );
            assert!(
                (reported / exact - 1.0).abs() < 0.012,
                "{percent}: {reported} {exact}"
            );
        }
        let packed = units.pack();
        assert_eq!((packed.rows, packed.unpack().count()), (8, 1006));
        units.clear();
        assert_eq!((units.rows, units.count()), (0, 0));
    }

    #[test]
    fn what_is_no_array_of_counts_adds_nothing() {
        for text in [
            "",
            "{}",
            "{1,2}",
            "{1,2,x}",
            "{1,2,3,-1}",
            "{1,2,3,NULL}",
            "1,2,3",
            "{1,2,3,9223372036854775808}",
            "{1,2,3,1125899906842624,1}",
            "{1125899906842625,2,3}",
        ] {
            let mut units = Units::default();
            assert!(!units.add_reported(text.as_bytes()), "{text}");
            assert_eq!(units, Units::default(), "{text}");
        }
        let mut units = Units::default();
        assert!(units.add_reported(b"{0,0,0}") && units.count() == 0);
    }
}
