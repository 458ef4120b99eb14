//! /proc/diskstats: what block devices did, and iostat's figures of two readings
//! (Documentation/admin-guide/iostats.rst of the kernel).

/// A sector of /proc/diskstats, whatever the device's own is.
const SECTOR_BYTES: u64 = 512;

/// What a device has done since the kernel started.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Disk {
    pub major: u32,
    pub minor: u32,
    /// Its name, such as `nvme0n1`.
    pub name: String,
    /// Reads that have ended, after merging neighbours.
    pub reads: u64,
    pub read_bytes: u64,
    /// How long reads took in total, in milliseconds.
    pub read_ms: u64,
    pub writes: u64,
    pub written_bytes: u64,
    /// How long writes took in total, in milliseconds.
    pub write_ms: u64,
    pub in_flight: u64,
    /// Milliseconds in which any request was under way.
    pub busy_ms: u64,
    /// Milliseconds of all requests under way, together.
    pub queued_ms: u64,
    /// Cache flushes that have ended; from Linux 5.5 on.
    pub flushes: Option<u64>,
    /// How long those took in total, in milliseconds.
    pub flush_ms: Option<u64>,
}

/// Reads /proc/diskstats: whole disks and partitions, in its order.
pub fn parse(text: &str) -> Vec<Disk> {
    text.lines().filter_map(line).collect()
}

fn line(line: &str) -> Option<Disk> {
    let mut words = line.split_ascii_whitespace();
    let major = words.next()?.parse().ok()?;
    let minor = words.next()?.parse().ok()?;
    let name = words.next()?.to_owned();
    let fields: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
    let field = |number: usize| fields.get(number - 1).copied();
    let bytes = |sectors: u64| sectors.checked_mul(SECTOR_BYTES);
    Some(Disk {
        major,
        minor,
        name,
        reads: field(1)?,
        read_bytes: bytes(field(3)?)?,
        read_ms: field(4)?,
        writes: field(5)?,
        written_bytes: bytes(field(7)?)?,
        write_ms: field(8)?,
        in_flight: field(9)?,
        busy_ms: field(10)?,
        queued_ms: field(11)?,
        // Twelve to fifteen are discards.
        flushes: field(16),
        flush_ms: field(17),
    })
}

/// What a device did between two readings, as `iostat -x` shows it. A figure is `None` where its
/// counter ran backwards (the device was taken out and put in again, or its 32 bits were full).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Figures {
    pub reads_per_s: Option<f64>,
    pub read_bytes_per_s: Option<f64>,
    /// How long a read took on average, in milliseconds; `None` without reads.
    pub read_await_ms: Option<f64>,
    pub writes_per_s: Option<f64>,
    pub written_bytes_per_s: Option<f64>,
    /// How long a write took on average, in milliseconds; `None` without writes.
    pub write_await_ms: Option<f64>,
    pub flushes_per_s: Option<f64>,
    /// How long a flush took on average, in milliseconds; `None` without flushes.
    pub flush_await_ms: Option<f64>,
    /// Requests under way, on average.
    pub queue: Option<f64>,
    /// The share of time, 0 to 1, in which any request was under way. A device that works on many
    /// at once is not at its limit when that is 1.
    pub util: Option<f64>,
}

impl Disk {
    /// What happened since an earlier reading, `seconds` before.
    pub fn since(&self, earlier: &Disk, seconds: f64) -> Figures {
        let grown = |field: fn(&Disk) -> u64| field(self).checked_sub(field(earlier));
        let per_s = |grown: Option<u64>| {
            let grown = grown.filter(|_| seconds > 0.0);
            grown.map(|grown| grown as f64 / seconds)
        };
        let each = |ms: Option<u64>, count: Option<u64>| {
            let (ms, count) = ms.zip(count.filter(|count| *count > 0))?;
            Some(ms as f64 / count as f64)
        };
        let (reads, writes) = (grown(|d| d.reads), grown(|d| d.writes));
        let of_flushes = |now: Option<u64>, then: Option<u64>| now?.checked_sub(then?);
        let flushes = of_flushes(self.flushes, earlier.flushes);
        let flush_ms = of_flushes(self.flush_ms, earlier.flush_ms);
        Figures {
            reads_per_s: per_s(reads),
            read_bytes_per_s: per_s(grown(|d| d.read_bytes)),
            read_await_ms: each(grown(|d| d.read_ms), reads),
            writes_per_s: per_s(writes),
            written_bytes_per_s: per_s(grown(|d| d.written_bytes)),
            write_await_ms: each(grown(|d| d.write_ms), writes),
            flushes_per_s: per_s(flushes),
            flush_await_ms: each(flush_ms, flushes),
            queue: per_s(grown(|d| d.queued_ms)).map(|ms| ms / 1000.0),
            // The kernel counts in whole ticks, which may be a little more than the time between.
            util: per_s(grown(|d| d.busy_ms)).map(|ms| (ms / 1000.0).min(1.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REAL: &str = "   7       1 loop1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n\
         254       0 vda 3606023 165337 148051130 72297015 6585475 3695000 987349040 9818042 40 \
         2855244 83683220 2862962 1804 874944744 1374296 2560050 193866\n";

    #[test]
    fn a_devices_counters_are_read() {
        let disks = parse(REAL);
        assert_eq!(disks.len(), 2);
        let vda = &disks[1];
        assert_eq!((vda.major, vda.minor, vda.name.as_str()), (254, 0, "vda"));
        assert_eq!((vda.reads, vda.read_ms), (3_606_023, 72_297_015));
        assert_eq!(vda.read_bytes, 148_051_130 * 512);
        assert_eq!((vda.writes, vda.write_ms), (6_585_475, 9_818_042));
        assert_eq!(vda.written_bytes, 987_349_040 * 512);
        assert_eq!(
            (vda.in_flight, vda.busy_ms, vda.queued_ms),
            (40, 2_855_244, 83_683_220)
        );
        assert_eq!(
            (vda.flushes, vda.flush_ms),
            (Some(2_560_050), Some(193_866))
        );
    }

    #[test]
    fn a_kernel_before_5_5_has_no_flushes_and_one_before_2_6_25_partitions_without_times() {
        let old = parse("8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n8 1 sda1 1 2 3 4\n");
        assert_eq!(old.len(), 1);
        assert_eq!(old[0].flushes, None);
    }

    #[test]
    fn two_readings_give_what_iostat_shows() {
        let before = parse(REAL).remove(1);
        let now = Disk {
            reads: before.reads + 300,
            read_bytes: before.read_bytes + 300 * 8192,
            read_ms: before.read_ms + 150,
            busy_ms: before.busy_ms + 1500,
            queued_ms: before.queued_ms + 4000,
            flushes: before.flushes.map(|n| n + 10),
            flush_ms: before.flush_ms.map(|n| n + 25),
            ..before.clone()
        };
        let figures = now.since(&before, 2.0);
        assert_eq!(figures.reads_per_s, Some(150.0));
        assert_eq!(figures.read_bytes_per_s, Some(150.0 * 8192.0));
        assert_eq!(figures.read_await_ms, Some(0.5));
        assert_eq!(figures.writes_per_s, Some(0.0));
        // Without a write there is no time of one.
        assert_eq!(figures.write_await_ms, None);
        assert_eq!((figures.queue, figures.util), (Some(2.0), Some(0.75)));
        assert_eq!(figures.flushes_per_s, Some(5.0));
        assert_eq!(figures.flush_await_ms, Some(2.5));
    }

    #[test]
    fn a_counter_that_ran_backwards_gives_no_figure() {
        let before = parse(REAL).remove(1);
        let now = Disk {
            reads: 5,
            busy_ms: before.busy_ms + 3000,
            ..before.clone()
        };
        let figures = now.since(&before, 1.0);
        assert_eq!((figures.reads_per_s, figures.read_await_ms), (None, None));
        assert_eq!(figures.writes_per_s, Some(0.0));
        assert_eq!(figures.util, Some(1.0));
        assert_eq!(now.since(&before, 0.0).writes_per_s, None);
    }
}
