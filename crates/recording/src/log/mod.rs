//! Recordings of PostgreSQL's logs: csvlog, jsonlog and stderr, plain or packed, read in order and in
//! little memory.
//!
//! `entry.rs` is what all forms have in common, `csv.rs`, `json.rs` and `stderr.rs` read them,
//! `message.rs` says what a message means, `pairing.rs` puts statements together from several.

mod csv;
mod entry;
mod feed;
mod json;
mod message;
mod pairing;
mod parameters;
mod prefix;
mod source;
mod spread;
mod stderr;
#[cfg(test)]
mod tests;
mod time;

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::about::{About, Ending};
use crate::{FORMAT, Writer};

pub use prefix::{Prefix, PrefixError};

use csv::Csv;
use entry::{Entries, Entry};
use feed::Feed;
use json::Json;
use pairing::Pairing;
use spread::Spread;
use stderr::Stderr;

/// Why logs cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read {path}: {error}", path = .path.display())]
    Read { path: PathBuf, error: io::Error },
    #[error("cannot write the recording: {0}")]
    Write(io::Error),
    #[error(transparent)]
    Prefix(#[from] PrefixError),
    #[error("{path} is neither csvlog nor jsonlog, and its lines begin with no log_line_prefix that is known", path = .0.display())]
    UnknownPrefix(PathBuf),
}

/// How a log is written.
enum Form {
    Csv,
    Json,
    Stderr(Prefix),
}

/// Makes a recording of these files, which belong to one server and are in the order of time. `prefix` is
/// the server's `log_line_prefix`, for logs of stderr; those in use are known. `progress` is called with
/// the bytes that were read so far.
///
/// # Errors
/// A file cannot be read, the recording cannot be written, or lines lack a time or a session.
pub fn record<W: Write>(
    paths: &[PathBuf],
    prefix: Option<&str>,
    made_by: &str,
    out: W,
    progress: &mut dyn FnMut(u64),
) -> Result<(W, Ending), Error> {
    let given = prefix.map(Prefix::new).transpose()?;
    let mut pairing: Option<Pairing<W>> = None;
    let mut out = Some(out);
    let mut bytes_before = 0;
    for path in paths {
        let read = |error| Error::Read {
            path: path.clone(),
            error,
        };
        let mut source = source::open(path).map_err(read)?;
        let mut feed = Feed::new(&mut source.input);
        let form = form_of(&mut feed, given.as_ref(), path).map_err(|error| match error {
            FormError::Io(error) => read(error),
            FormError::Unknown => Error::UnknownPrefix(path.clone()),
        })?;
        let clock_us = match &form {
            Form::Stderr(prefix) => prefix.clock_us(),
            _ => 1000,
        };
        if pairing.is_none()
            && let Some(out) = out.take()
        {
            let about = About {
                format: FORMAT,
                made_by: made_by.to_owned(),
                sources: paths.iter().map(|path| name(path)).collect(),
                clock_us,
            };
            pairing = Some(Pairing::new(
                Writer::new(out, &about).map_err(Error::Write)?,
            ));
        }
        let Some(pairing) = pairing.as_mut() else {
            continue;
        };
        let count = source.bytes.clone();
        let mut on_progress = |()| progress(bytes_before + count.get());
        let lost = match form {
            Form::Csv => all(Csv::new(feed), pairing, &mut on_progress),
            Form::Json => all(Json::new(feed), pairing, &mut on_progress),
            Form::Stderr(prefix) if clock_us > 1000 => all(
                Spread::new(Stderr::new(feed, prefix)),
                pairing,
                &mut on_progress,
            ),
            Form::Stderr(prefix) => all(Stderr::new(feed, prefix), pairing, &mut on_progress),
        };
        let lost = lost.map_err(|error| match error {
            Failed::Read(error) => read(error),
            Failed::Write(error) => Error::Write(error),
        })?;
        pairing.unsaid("lines that are torn or in another form", lost.lines);
        pairing.unsaid(
            "lines in a time zone that is not known: read as UTC",
            lost.zones,
        );
        pairing.unsaid("files that end too early", u64::from(source.is_torn.get()));
        bytes_before += source.bytes.get();
    }
    match pairing {
        Some(pairing) => pairing.finish().map_err(Error::Write),
        None => Err(Error::Write(io::ErrorKind::InvalidInput.into())),
    }
}

/// A file's name without its folder.
fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

enum Failed {
    Read(io::Error),
    Write(io::Error),
}

/// How often progress is reported: every so many entries.
const ENTRIES_EACH: u32 = 10_000;

fn all<W: Write>(
    mut entries: impl Entries,
    pairing: &mut Pairing<W>,
    on_progress: &mut dyn FnMut(()),
) -> Result<entry::Lost, Failed> {
    let mut entry = Entry::default();
    let mut count = 0;
    while entries.next(&mut entry).map_err(Failed::Read)? {
        pairing.take(&entry).map_err(Failed::Write)?;
        count += 1;
        if count % ENTRIES_EACH == 0 {
            on_progress(());
        }
    }
    Ok(entries.lost())
}

enum FormError {
    Io(io::Error),
    Unknown,
}

/// Bytes by which a form is recognised.
const LOOK_BYTES: usize = 256 << 10;

fn form_of<R: Read>(
    feed: &mut Feed<R>,
    given: Option<&Prefix>,
    path: &Path,
) -> Result<Form, FormError> {
    while feed.rest().len() < LOOK_BYTES && feed.more().map_err(FormError::Io)? {}
    let begin = feed.rest();
    let is_named = |end: &str| name(path).contains(end);
    if begin.first() == Some(&b'{') || (begin.is_empty() && is_named(".json")) {
        return Ok(Form::Json);
    }
    if csv::is_csv(begin) || (begin.is_empty() && is_named(".csv")) {
        return Ok(Form::Csv);
    }
    let prefix = given.cloned().or_else(|| Prefix::of_lines(begin));
    match prefix {
        Some(prefix) => Ok(Form::Stderr(prefix)),
        // Of nothing any form is right.
        None if begin.is_empty() => Ok(Form::Csv),
        None => Err(FormError::Unknown),
    }
}
