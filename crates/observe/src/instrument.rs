//! The one thing that all instruments have in common.

use std::time::Duration;

use super::Readings;
use pgdyno_model::observed::Gap;

/// One thing that is read while a trial runs. It lives on a thread of its own, and so do its
/// connections; whatever it waits for must have a timeout (a few seconds at most).
pub trait Instrument: Send {
    /// Which it is, parts divided by dots, the general one first: `host.disk`, `pg.io`, `pg.waits`,
    /// `scrape.node`. `--observe=host` chooses all of `host.…`.
    fn name(&self) -> &str;

    /// What it reads, for people and without secrets: `pg_stat_io`, `/proc/diskstats`, a URL.
    fn source(&self) -> String;

    /// How far apart readings are to be. They stand on the trial's clock; one that comes too late
    /// for the next leaves it out.
    fn interval(&self) -> Duration {
        Duration::from_secs(1)
    }

    /// How long clients may be kept waiting for [`Instrument::begin`], and the trial's end for
    /// [`Instrument::end`]. It is only for what is dear and must be read while nothing runs; others
    /// leave it as it is. A slower one begins while clients are at work already, and is
    /// left behind at the end, with a gap that says so.
    fn patience(&self) -> Duration {
        Duration::from_secs(1)
    }

    /// Connects, and reads for the first time: what counters had before the trial.
    ///
    /// # Errors
    /// The whole instrument is a gap, with its reason and remedy; nothing more is asked of it.
    fn begin(&mut self, out: &mut Readings) -> Result<(), Gap>;

    /// One reading. It may have nothing to say yet.
    ///
    /// # Errors
    /// A gap from the last reading until the next that succeeds. Connecting again is up to the
    /// instrument.
    fn read(&mut self, out: &mut Readings) -> Result<(), Gap>;

    /// The last reading, after clients have gone: what counters have then, and what is dear (sizes,
    /// residency). Also called when the reading before failed.
    ///
    /// # Errors
    /// A gap until the end.
    fn end(&mut self, out: &mut Readings) -> Result<(), Gap> {
        self.read(out)
    }
}
