//! `--histograms`: each operation's latencies of each tick, in OpenMetrics (`openmetrics.rs`) or as a
//! JSON object a line, as Go's HdrHistogram takes its histograms apart and puts them together again. Values are nanoseconds.
//! (Facts: hdrhistogram.Export and Import; a file captured from 19.1.)

use std::fmt::Write;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use pgdyno_measurement::Latencies;
use pgdyno_platform::Output;

use super::format::rfc3339;
use super::openmetrics::{self, MetricLabels};

/// Which values a histogram tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotLayout {
    lowest_ns: u64,
    highest_ns: u64,
    digits: u8,
    /// The power of two that the finest bucket is wide.
    unit_magnitude: u32,
    sub_buckets: u64,
    half_magnitude: u32,
    counts: usize,
}

/// cockroach's histograms have one digit, from 100 µs on.
const LOWEST_OF_ONE_DIGIT_NS: u64 = 100_000;
/// pgdyno's own are exact to a microsecond.
const LOWEST_NS: u64 = 1000;

impl SnapshotLayout {
    /// With so many significant digits, 1 to 3. One is cockroach's own layout.
    pub fn new(digits: u8, highest: Duration) -> Self {
        let lowest_ns = match digits {
            1 => LOWEST_OF_ONE_DIGIT_NS,
            _ => LOWEST_NS,
        };
        // The constructor of Go's HdrHistogram demands twice the lowest.
        let highest_ns = u64::try_from(highest.as_nanos()).unwrap_or(u64::MAX / 4);
        let highest_ns = highest_ns.clamp(2 * lowest_ns, u64::MAX / 4);
        let single_unit = 2 * 10_u64.pow(u32::from(digits));
        let half_magnitude = single_unit.next_power_of_two().trailing_zeros() - 1;
        let sub_buckets = 1_u64 << (half_magnitude + 1);
        let unit_magnitude = lowest_ns.ilog2();
        let mut beyond = sub_buckets << unit_magnitude;
        let mut buckets = 1;
        while beyond < highest_ns {
            beyond <<= 1;
            buckets += 1;
        }
        Self {
            lowest_ns,
            highest_ns,
            digits,
            unit_magnitude,
            sub_buckets,
            half_magnitude,
            counts: (buckets + 1) * (sub_buckets / 2) as usize,
        }
    }

    /// The bucket of a value.
    fn index(&self, value_ns: u64) -> usize {
        let mask = (self.sub_buckets - 1) << self.unit_magnitude;
        let bits = u64::BITS - (value_ns | mask).leading_zeros();
        let bucket = bits - self.unit_magnitude - (self.half_magnitude + 1);
        let sub_bucket = value_ns >> (bucket + self.unit_magnitude);
        let base = (u64::from(bucket) + 1) << self.half_magnitude;
        (base + sub_bucket - self.sub_buckets / 2) as usize
    }

    fn counts(&self, latencies: &Latencies) -> Vec<u64> {
        let mut counts = vec![0; self.counts];
        for bucket in latencies.histogram().buckets() {
            let value_us = bucket.middle_us().min(latencies.max_us());
            let value_ns = value_us.saturating_mul(1000);
            let index = self.index(value_ns.clamp(self.lowest_ns, self.highest_ns));
            counts[index] += bucket.count;
        }
        counts
    }

    /// An operation's tick, with its line end.
    pub fn line(
        &self,
        name: &str,
        latencies: &Latencies,
        length: Duration,
        now: SystemTime,
    ) -> String {
        let (lowest, highest, digits) = (self.lowest_ns, self.highest_ns, self.digits);
        let mut text = format!(
            "{{\"Name\":\"{name}\",\"Hist\":{{\"LowestTrackableValue\":{lowest},\
             \"HighestTrackableValue\":{highest},\"SignificantFigures\":{digits},\"Counts\":["
        );
        for (index, count) in self.counts(latencies).iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            // Writing to a string does not fail.
            let _ = write!(text, "{comma}{count}");
        }
        let (length_ns, now) = (length.as_nanos(), rfc3339(now));
        let _ = writeln!(text, "]}},\"Elapsed\":{length_ns},\"Now\":\"{now}\"}}");
        text
    }
}

/// The form of the file.
#[derive(Debug, Clone, PartialEq)]
pub enum Form {
    /// A JSON object a line.
    Json,
    /// OpenMetrics, each line with these labels.
    OpenMetrics(MetricLabels),
}

/// The file of a run.
#[derive(Debug)]
pub struct HistogramFile {
    path: PathBuf,
    file: Output,
    layout: SnapshotLayout,
    form: Form,
    /// The operations so far, and when each was first there.
    seen: Vec<(String, SystemTime)>,
    error: Option<String>,
}

impl HistogramFile {
    /// Creates it, and the folder that it is to be in.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn create(path: &Path, layout: SnapshotLayout, form: Form) -> Result<Self, String> {
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        // What is wrong with it, creating the file says.
        let _ = folder.map(std::fs::create_dir_all);
        let file = Output::open(path);
        let file =
            file.map_err(|e| format!("--histograms: could not create {}: {e}", path.display()))?;
        Ok(Self {
            path: path.to_owned(),
            file,
            layout,
            form,
            seen: Vec::new(),
            error: None,
        })
    }

    /// An operation's tick is over.
    pub fn tick(&mut self, name: &str, latencies: &Latencies, length: Duration, now: SystemTime) {
        let text = match &self.form {
            Form::Json => self.layout.line(name, latencies, length, now),
            Form::OpenMetrics(labels) => openmetrics::tick(name, latencies, length, now, labels),
        };
        if self.seen.iter().all(|(seen, _)| seen != name) {
            self.seen.push((name.to_owned(), now));
        }
        self.write(&text);
    }

    /// The last tick is over.
    pub fn end(&mut self) {
        if let Form::OpenMetrics(labels) = &self.form {
            let text = openmetrics::end(&self.seen, self.layout.highest_ns, labels);
            self.write(&text);
        }
    }

    fn write(&mut self, text: &str) {
        if let Err(error) = self.file.write_all(text.as_bytes()) {
            let place = self.path.display();
            let text = format!("--histograms: could not write to {place}: {error}");
            self.error.get_or_insert(text);
        }
    }

    /// What went wrong with writing, if anything did.
    pub fn take_error(&mut self) -> Option<String> {
        self.error.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use std::time::UNIX_EPOCH;

    const HIGHEST: Duration = Duration::from_secs(100);

    /// `Counts` of the first line that 19.1 wrote in a captured run, its beginning.
    const CAPTURED: [u64; 18] = [0, 0, 0, 0, 7, 34, 78, 56, 37, 26, 4, 3, 4, 1, 1, 0, 0, 1];

    #[test]
    fn one_digit_is_cockroachs_own_layout() {
        let layout = SnapshotLayout::new(1, HIGHEST);
        // 19.1 wrote so many counts, for these bounds.
        assert_eq!(layout.counts, 288);
        // 65 536 ns are a bucket: 262 to 327 µs is the fifth.
        let mut latencies = Latencies::default();
        for (index, count) in CAPTURED.iter().enumerate() {
            let middle_us = match index as u64 {
                fine @ 0..32 => (fine * 65_536 + 32_768) / 1000,
                _ => unreachable!(),
            };
            (0..*count).for_each(|_| latencies.record(middle_us));
        }
        assert_eq!(layout.counts(&latencies)[..18], CAPTURED);
        // 92.3 ms was the maximum of a tick: the end of a bucket 4.2 ms wide.
        let index = layout.index(90_000_000);
        let highest_of = |index: usize| {
            (0..)
                .map(|us| us * 1000)
                .take_while(|ns| layout.index(*ns) <= index)
                .last()
        };
        let highest_ms = highest_of(index).unwrap() as f64 / 1e6;
        assert_eq!(format!("{highest_ms:.1}"), "92.3");
    }

    #[test]
    fn three_digits_tell_microseconds_apart() {
        let layout = SnapshotLayout::new(3, HIGHEST);
        let distinct: Vec<usize> = (1..1000).map(|us| layout.index(us * 1000)).collect();
        assert!(distinct.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(layout.index(layout.highest_ns) < layout.counts);
        let mut latencies = Latencies::default();
        for us in [0, 1, 1500, 250_000_000] {
            latencies.record(us);
        }
        // Too short and too long ones count as the shortest and longest there are.
        let counts = layout.counts(&latencies);
        assert_eq!(counts.iter().sum::<u64>(), 4);
        assert_eq!(counts[layout.index(1000)], 2);
        assert_eq!(counts[layout.index(100_000_000_000)], 1);
    }

    #[test]
    fn a_line_is_the_object_that_its_readers_expect() {
        let mut latencies = Latencies::default();
        for us in [400, 500] {
            latencies.record(us);
        }
        let layout = SnapshotLayout::new(1, HIGHEST);
        let line = layout.line(
            "read",
            &latencies,
            Duration::from_nanos(1_011_882_933),
            UNIX_EPOCH,
        );
        let start = "{\"Name\":\"read\",\"Hist\":{\"LowestTrackableValue\":100000,\"HighestTrackableValue\":100000000000,\"SignificantFigures\":1,\"Counts\":[0,0,0,0,0,0,1,1,0,";
        assert!(line.starts_with(start), "{line}");
        assert!(
            line.ends_with(",0]},\"Elapsed\":1011882933,\"Now\":\"1970-01-01T00:00:00Z\"}\n"),
            "{line}"
        );
        let value: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["Hist"]["Counts"].as_array().unwrap().len(), 288);
    }

    #[test]
    fn a_place_that_cannot_be_written_to_is_named() {
        let layout = SnapshotLayout::new(3, HIGHEST);
        let error =
            HistogramFile::create(Path::new("/proc/none/h.json"), layout, Form::Json).unwrap_err();
        assert!(
            error.starts_with("--histograms: could not create /proc/none/h.json: "),
            "{error}"
        );
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/folder/h.json");
        let mut new = HistogramFile::create(&path, layout, Form::Json).unwrap();
        new.tick("read", &Latencies::default(), HIGHEST, UNIX_EPOCH);
        drop(new);
        assert!(path.is_file());
        let mut full = HistogramFile::create(Path::new("/dev/full"), layout, Form::Json).unwrap();
        full.tick("read", &Latencies::default(), HIGHEST, UNIX_EPOCH);
        assert!(full.take_error().unwrap().contains("/dev/full"));
    }
}
