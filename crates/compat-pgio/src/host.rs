//! What pgio has iostat, vmstat and mpstat write while it runs, in their form, from pgdyno's own
//! readings of /proc: `iostat.out`, `vmstat.out`, `mpstat.out`, and `pgio_diskstats.out` before and
//! after. It is this machine, as there: the database's only when that runs here, too.
//!
//! Not for: the figures of a trial, whose instruments read more, and know where the server runs.

mod banner;
mod iostat;
mod mpstat;
mod vmstat;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use time::OffsetDateTime;

use super::files::{Folder, failed};
use banner::banner;
use pgdyno_platform::proc;
use pgdyno_platform::proc::counters::{DISKSTATS, Reading};
use pgdyno_spec::Failure;

/// The time between two readings: pgio's `iostat -xm 3` and its like.
const INTERVAL: Duration = Duration::from_secs(3);

/// Two readings and the time between them.
struct BetweenReadings<'a> {
    before: &'a Reading,
    after: &'a Reading,
    seconds: f64,
}

/// Writes while it is there; dropped, it has ended.
pub struct Monitors {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<Result<(), Failure>>>,
}

impl Monitors {
    /// Begins to write into this folder. Where the system has no /proc the files say so.
    ///
    /// # Errors
    /// A file cannot be written, or there is no thread for it.
    pub fn start(folder: &Path) -> Result<Self, Failure> {
        let create = |name| VmstatOutput::create(folder.join(name));
        let mut files = [
            create("iostat.out")?,
            create("vmstat.out")?,
            create("mpstat.out")?,
        ];
        let first = match Reading::take() {
            Ok(first) => first,
            Err(why) => {
                for file in &mut files {
                    file.write(&format!("nothing to read: {why}\n"))?;
                }
                return Ok(Self {
                    stop: None,
                    thread: None,
                });
            }
        };
        let (stop, stopped) = mpsc::channel();
        let thread = std::thread::Builder::new().name("monitors".to_owned());
        let thread = thread.spawn(move || {
            let mut last = first;
            let mut at = Instant::now();
            let boot = BetweenReadings {
                before: &Reading::default(),
                after: &last,
                seconds: last.uptime_s,
            };
            let banner = banner(OffsetDateTime::now_utc());
            let texts = [
                format!("{banner}{}", iostat::text(&boot)),
                format!("{}{}", vmstat::HEAD, vmstat::text(&boot)),
                banner,
            ];
            let mut written = write_all(&mut files, texts);
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(INTERVAL) {
                let Ok(after) = Reading::take() else { break };
                let between = BetweenReadings {
                    before: &last,
                    after: &after,
                    seconds: at.elapsed().as_secs_f64(),
                };
                at = Instant::now();
                let texts = [
                    iostat::text(&between),
                    vmstat::text(&between),
                    mpstat::text(&between, OffsetDateTime::now_utc()),
                ];
                // The first failure is reported when the run is over: none is a reason to end it.
                written = written.and(write_all(&mut files, texts));
                last = after;
            }
            written
        });
        let thread = thread.map_err(|e| Failure::no_thread("that observes this host", &e))?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Ends it.
    ///
    /// # Errors
    /// One of the files could not be written.
    pub fn end(mut self) -> Result<(), Failure> {
        self.join()
    }

    fn join(&mut self) -> Result<(), Failure> {
        // Its channel closed, the thread ends at once.
        self.stop = None;
        let broke = |_| Err(Failure::new("the thread that observes this host broke"));
        self.thread
            .take()
            .map_or(Ok(()), |thread| thread.join().unwrap_or_else(broke))
    }
}

impl Drop for Monitors {
    fn drop(&mut self) {
        // The run has an error of its own to tell.
        let _ = self.join();
    }
}

/// A file that is written.
struct VmstatOutput {
    path: PathBuf,
    file: File,
}

impl VmstatOutput {
    fn create(path: PathBuf) -> Result<Self, Failure> {
        let file = File::create(&path).map_err(|e| failed(&path, &e))?;
        Ok(Self { path, file })
    }

    fn write(&mut self, text: &str) -> Result<(), Failure> {
        let written = self.file.write_all(text.as_bytes());
        written.map_err(|e| failed(&self.path, &e))
    }
}

/// Writes each text to its file; gives the first failure.
fn write_all(files: &mut [VmstatOutput; 3], texts: [String; 3]) -> Result<(), Failure> {
    let mut written = Ok(());
    for (file, text) in files.iter_mut().zip(texts) {
        written = written.and(file.write(&text));
    }
    written
}

/// Appends what the kernel counts of disks, as it is, to `pgio_diskstats.out`.
///
/// # Errors
/// It cannot be written.
pub fn add_diskstats(folder: &Folder<'_>) -> Result<(), Failure> {
    const NAME: &str = "pgio_diskstats.out";
    let Ok(now) = proc::text(DISKSTATS) else {
        return Ok(());
    };
    let before = std::fs::read_to_string(folder.0.join(NAME)).unwrap_or_default();
    folder.write(NAME, &format!("{before}{now}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_are_there_from_the_first_moment_and_end_with_the_run() {
        let dir = tempfile::tempdir().unwrap();
        let monitors = Monitors::start(dir.path()).unwrap();
        monitors.end().unwrap();
        let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
        assert!(
            read("iostat.out").contains("avg-cpu:"),
            "{}",
            read("iostat.out")
        );
        assert_eq!(read("vmstat.out").lines().count(), 3);
        assert!(read("mpstat.out").starts_with("Linux "));
        let folder = Folder(dir.path());
        let disks = || proc::text(DISKSTATS).unwrap_or_default();
        add_diskstats(&folder).unwrap();
        add_diskstats(&folder).unwrap();
        assert!(read("pgio_diskstats.out").lines().count() >= 2 * disks().lines().count());
        // Always full.
        let full = VmstatOutput::create("/dev/full".into()).unwrap();
        let others = ["a", "b"].map(|name| VmstatOutput::create(dir.path().join(name)).unwrap());
        let [first, last] = others;
        let texts = ["x", "y", "z"].map(str::to_owned);
        let failure = write_all(&mut [first, full, last], texts).unwrap_err();
        assert!(failure.message.contains("/dev/full"), "{failure}");
        assert_eq!((read("a"), read("b")), ("x".to_owned(), "z".to_owned()));
        let failure = Monitors::start(&dir.path().join("none")).err().unwrap();
        assert!(failure.message.contains("iostat.out"), "{failure}");
    }
}
