//! `hdrhistogram.fileoutput`: a histogram log for each name, in the format that HdrHistogram's own tools read.
//! (Facts: YCSB's OneMeasurementHdrHistogram; HistogramLogWriter of HdrHistogram 2.1.12.)

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::prelude::{BASE64_STANDARD, Engine};
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use pgdyno_measurement::Histogram;
use pgdyno_platform::Output;
use time::OffsetDateTime;

use super::RunStart;
use super::figures::{CLEANUP, Named, order};
use super::forms::JavaForms;
use crate::YcsbRefusal;
use crate::properties::Properties;

/// A file, and whether it has its first lines.
struct Log {
    file: Output,
    has_head: bool,
}

/// Histogram logs, a file `PATH` + name + `.hdr` each.
pub struct HdrFiles {
    /// `hdrhistogram.output.path`: a folder with its slash, or how names of files begin.
    path: String,
    /// What the forms put before a name.
    before: &'static str,
    since: RunStart,
    began: SystemTime,
    files: BTreeMap<String, Log>,
    serializer: V2DeflateSerializer,
    /// The first one that could not be written.
    error: Option<String>,
}

impl Log {
    fn new(file: Output) -> Self {
        Self {
            file,
            has_head: false,
        }
    }
}

impl HdrFiles {
    /// As they are asked for; none without an HdrHistogram. The file that each run has is opened at once.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn of(
        properties: &Properties,
        forms: &JavaForms,
        since: RunStart,
    ) -> Result<Option<Self>, YcsbRefusal> {
        let is_asked = properties.bool("hdrhistogram.fileoutput") == Some(true);
        let Some(before) = forms.hdr().filter(|_| is_asked) else {
            return Ok(None);
        };
        let path = properties.get("hdrhistogram.output.path");
        let mut files = Self {
            path: path.unwrap_or_default().to_owned(),
            before,
            since,
            began: SystemTime::now(),
            files: BTreeMap::new(),
            serializer: V2DeflateSerializer::new(),
            error: None,
        };
        let (schedule, ..) = order([&CLEANUP.to_owned()].into_iter(), since)[0];
        let place = files.place(&format!("{schedule}{CLEANUP}"));
        let file = Output::open(Path::new(&place)).map_err(|e| {
            YcsbRefusal::impossible(format!(
                "hdrhistogram.output.path: could not create {place}: {e}"
            ))
        })?;
        files.files.insert(place, Log::new(file));
        Ok(Some(files))
    }

    fn place(&self, name: &str) -> String {
        format!("{}{}{name}.hdr", self.path, self.before)
    }

    /// The clock runs since then.
    pub fn begin(&mut self, began: SystemTime) {
        self.began = began;
    }

    /// Adds what was measured in an interval of the run.
    pub fn add(&mut self, start_s: f64, length_s: f64, named: &Named) {
        for (schedule, name, is_of_schedule) in order(named.keys(), self.since) {
            let latencies = named[name].latencies(is_of_schedule);
            if latencies.count() == 0 {
                continue;
            }
            let name = format!("{schedule}{name}");
            let written = self.write(&name, start_s, length_s, latencies.histogram());
            if let Err(error) = written {
                let place = self.place(&name);
                let text = format!("hdrhistogram.fileoutput: could not write {place}: {error}");
                self.error.get_or_insert(text);
            }
        }
    }

    fn write(
        &mut self,
        name: &str,
        start_s: f64,
        length_s: f64,
        histogram: &Histogram,
    ) -> io::Result<()> {
        let mut bytes = Vec::new();
        let dense = histogram.dense();
        let encoded = self.serializer.serialize(&dense, &mut bytes);
        encoded.map_err(|error| io::Error::other(error.to_string()))?;
        // HdrHistogram takes values for nanoseconds and gives the longest in milliseconds; of microseconds
        // that makes seconds.
        let line = format!(
            "{start_s:.3},{length_s:.3},{:.3},{}\n",
            dense.max() as f64 / 1e6,
            BASE64_STANDARD.encode(bytes)
        );
        let (place, logged) = (self.place(name), format!("{}{name}", self.before));
        let head = head(&logged, self.began);
        let log = match self.files.remove(&place) {
            Some(log) => log,
            None => Log::new(Output::open(Path::new(&place))?),
        };
        let log = self.files.entry(place).or_insert(log);
        if !std::mem::replace(&mut log.has_head, true) {
            log.file.write_all(head.as_bytes())?;
        }
        log.file.write_all(line.as_bytes())
    }

    /// What could not be written, if anything.
    pub fn take_error(&mut self) -> Option<String> {
        self.error.take()
    }
}

/// What a log begins with.
fn head(name: &str, began: SystemTime) -> String {
    let since_1970 = began.duration_since(UNIX_EPOCH).unwrap_or_default();
    format!(
        "#[Logging for: {name}]\n\
         #[Histogram log format version 1.3]\n\
         #[StartTime: {:.3} (seconds since epoch), {}]\n\
         \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
        since_1970.as_secs_f64(),
        date(began)
    )
}

/// As Java prints a date, in UTC: `Sat Nov 28 21:32:56 UTC 2026`.
fn date(at: SystemTime) -> String {
    let at = OffsetDateTime::from(at);
    let (weekday, month) = (at.weekday().to_string(), at.month().to_string());
    format!(
        "{} {} {:02} {:02}:{:02}:{:02} UTC {}",
        &weekday[..3],
        &month[..3],
        at.day(),
        at.hour(),
        at.minute(),
        at.second(),
        at.year()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_log_begins_as_ycsbs_do() {
        let began = UNIX_EPOCH + Duration::from_millis(1_795_381_901_538);
        assert_eq!(
            head("HdrREAD", began),
            "#[Logging for: HdrREAD]\n\
             #[Histogram log format version 1.3]\n\
             #[StartTime: 1795381901.538 (seconds since epoch), Sun Nov 22 21:11:41 UTC 2026]\n\
             \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n"
        );
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let mut properties = Properties::default();
        let path = format!("{}/", folder.path().display());
        properties.set("hdrhistogram.fileoutput", "true");
        properties.set("hdrhistogram.output.path", path.clone());
        let forms = JavaForms::of(&properties).unwrap();
        let files = HdrFiles::of(&properties, &forms, RunStart::Both).unwrap();
        let mut files = files.unwrap();
        std::fs::create_dir(folder.path().join("READ.hdr")).unwrap();
        let mut named = Named::new();
        for name in ["READ", "UPDATE"] {
            named.entry(name.to_owned()).or_default().service.record(7);
        }
        files.add(0.0, 1.0, &named);
        let error = files.take_error().unwrap();
        let said = format!("hdrhistogram.fileoutput: could not write {path}READ.hdr: ");
        assert!(error.starts_with(&said), "{error}");
        assert!(folder.path().join("UPDATE.hdr").exists());
        drop(files);
        // Nothing was written to it.
        assert!(!folder.path().join("CLEANUP.hdr").exists());
    }
}
