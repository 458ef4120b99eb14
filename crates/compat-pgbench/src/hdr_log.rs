//! `--hdr-log`: latencies in the HdrHistogram log format (version 1.3), which its own tools and
//! plotters read. A line a second, and where several scripts ran a line a script with its name as
//! tag. All values are microseconds. (Facts: HistogramLogWriter and HistogramLogReader of the Java
//! HdrHistogram.)

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use pgdyno_measurement::Interval;
use pgdyno_platform::Output;

use super::messages::Stop;
use super::progress::latencies;

/// The log of a run.
pub struct HdrLog {
    path: PathBuf,
    file: Output,
    /// One for each script when there are several, else none.
    tags: Vec<String>,
    serializer: V2DeflateSerializer,
    error: Option<String>,
}

impl HdrLog {
    /// Creates the file; `scripts` are their names in order.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn create(path: &Path, scripts: &[String]) -> Result<Self, Stop> {
        let file = Output::open(path).map_err(|error| {
            let place = path.display();
            Stop::fatal(format!("--hdr-log: could not create {place}: {error}"))
        })?;
        // A tag has neither commas nor blanks.
        let tag = |(number, name): (usize, &String)| {
            let name = name.replace(|c: char| c == ',' || c.is_whitespace(), "_");
            format!("{}:{name}", number + 1)
        };
        let tags = match scripts.len() {
            1 => Vec::new(),
            _ => scripts.iter().enumerate().map(tag).collect(),
        };
        Ok(Self {
            path: path.to_owned(),
            file,
            tags,
            serializer: V2DeflateSerializer::new(),
            error: None,
        })
    }

    pub fn begin(&mut self, started: SystemTime) {
        let since_1970 = started.duration_since(UNIX_EPOCH).unwrap_or_default();
        let head = format!(
            "#[Values in microseconds, written by pgdyno {}]\n\
             #[Histogram log format version 1.3]\n\
             #[StartTime: {:.3} (seconds since epoch), {}]\n\
             \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
            env!("CARGO_PKG_VERSION"),
            since_1970.as_secs_f64(),
            time::OffsetDateTime::from(started)
        );
        self.write(head.as_bytes());
    }

    /// Another second, or the rest of one. Warm-up is left out.
    pub fn second(&mut self, interval: &Interval) {
        if interval.warmup {
            return;
        }
        let mut lines = Vec::new();
        match self.lines(interval, &mut lines) {
            Ok(()) => self.write(&lines),
            Err(error) => self.fail(&error),
        }
    }

    fn lines(&mut self, interval: &Interval, lines: &mut Vec<u8>) -> Result<(), String> {
        let mut writer = IntervalLogWriterBuilder::new()
            .begin_log_with(lines, &mut self.serializer)
            .map_err(|error| error.to_string())?;
        let start = Duration::from_secs_f64(interval.start_s());
        let length = Duration::from_secs_f64(interval.length_s());
        for (index, script) in interval.scripts.iter().enumerate() {
            let histogram = latencies(script).histogram();
            if histogram.is_empty() {
                continue;
            }
            let tag = self.tags.get(index).and_then(|tag| Tag::new(tag));
            writer
                .write_histogram(&histogram.dense(), start, length, tag)
                .map_err(|error| format!("{error:?}"))?;
        }
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) {
        let written: io::Result<()> = self.file.write_all(bytes);
        if let Err(error) = written {
            self.fail(&error.to_string());
        }
    }

    fn fail(&mut self, reason: &str) {
        let place = self.path.display();
        let text = format!("--hdr-log: could not write to {place}: {reason}");
        self.error.get_or_insert(text);
    }

    /// What went wrong with writing, if anything did.
    pub fn take_error(&mut self) -> Option<String> {
        self.error.take()
    }
}
