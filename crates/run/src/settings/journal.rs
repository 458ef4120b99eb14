//! What settings were before they were changed, on disk before they are: one file a sweep and
//! server, locked as long as its sweep lives.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use serde::{Deserialize, Serialize};

use pgdyno_spec::Failure;

/// What a journal is called until it counts.
const DRAFT: &str = "new";
const ENDING: &str = "jsonl";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// `key=value` pairs that lead to the server, without secrets.
    pub target: String,
    pub title: String,
    /// What the server calls itself, where it could be seen.
    pub system_identifier: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Entry {
    Setting {
        name: String,
        /// `null`: it was not in `postgresql.auto.conf`.
        before: Option<String>,
    },
    Session {
        session: String,
    },
    Undo {
        undo: String,
    },
    Unmount {
        unmount: PathBuf,
    },
}

/// A journal that is being written.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
}

/// A journal of an earlier run.
#[derive(Debug)]
pub struct Leftover {
    pub path: PathBuf,
    pub header: Header,
    pub found: BTreeMap<String, Option<String>>,
    /// The session that changed them last.
    pub session: Option<String>,
    /// Statements that undo what disturbed a trial.
    pub undo: Vec<String>,
    /// Where something was mounted for a server that ended with its pgdyno.
    pub unmount: Vec<PathBuf>,
    /// Kept locked while they are put back.
    _file: File,
}

/// A journal in a directory of them.
#[derive(Debug)]
pub enum Seen {
    /// Its sweep is at work.
    InUse,
    Left(Leftover),
}

fn failed<'a>(doing: &'a str, path: &'a Path) -> impl Fn(io::Error) -> Failure + 'a {
    move |e| {
        let place = path.display();
        Failure::new(format!(
            "could not {doing} the journal of settings {place}: {e}"
        ))
    }
}

fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

impl Journal {
    /// A new one.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn create(directory: &Path, header: &Header) -> Result<Journal, Failure> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{number}.{ENDING}", std::process::id());
        let path = free_name(directory, &name);
        // Locked before it has its final name.
        let draft = path.with_extension(DRAFT);
        let file = fs::create_dir_all(directory)
            .and_then(|()| {
                let mut options = OpenOptions::new();
                options.write(true).create(true).truncate(true).mode(0o600);
                options.open(&draft)
            })
            .and_then(|file| file.lock().map(|()| file))
            .map_err(failed("write", &path))?;
        let mut journal = Journal { path, file };
        journal.line(header)?;
        fs::rename(&draft, &journal.path)
            .and_then(|()| sync_directory(directory))
            .map_err(failed("write", &journal.path))?;
        Ok(journal)
    }

    /// Writes down a setting. It is on the disk when this returns.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn note(&mut self, name: &str, before: Option<&str>) -> Result<(), Failure> {
        self.line(&Entry::Setting {
            name: name.to_owned(),
            before: before.map(str::to_owned),
        })
    }

    /// Writes down the session that changes settings from now on, as [`Leftover::session`] gives it.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn note_session(&mut self, session: &str) -> Result<(), Failure> {
        self.line(&Entry::Session {
            session: session.to_owned(),
        })
    }

    /// Writes down a statement that undoes what is about to be done; it must do no harm where nothing was.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn note_undo(&mut self, undo: &str) -> Result<(), Failure> {
        self.line(&Entry::Undo {
            undo: undo.to_owned(),
        })
    }

    /// Writes down where something is about to be mounted.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn note_mount(&mut self, at: &Path) -> Result<(), Failure> {
        self.line(&Entry::Unmount {
            unmount: at.to_owned(),
        })
    }

    fn line(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string(value).map_err(io::Error::other);
        let written = text.and_then(|text| self.file.write_all(format!("{text}\n").as_bytes()));
        let written = written.and_then(|()| self.file.sync_all());
        written.map_err(failed("write", &self.path))
    }

    /// Everything is as it was.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn remove(self) -> Result<(), Failure> {
        remove(&self.path)
    }
}

impl Leftover {
    /// Whether something is to be put back on the server itself.
    pub fn is_of_server(&self) -> bool {
        !self.found.is_empty() || !self.undo.is_empty()
    }

    /// Everything is as it was.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn remove(self) -> Result<(), Failure> {
        remove(&self.path)
    }
}

fn remove(path: &Path) -> Result<(), Failure> {
    let removed = fs::remove_file(path);
    let synced = path.parent().map_or(Ok(()), sync_directory);
    removed.and(synced).map_err(failed("remove", path))
}

/// A process of the same number may have left one.
fn free_name(directory: &Path, name: &str) -> PathBuf {
    let mut path = directory.join(name);
    let mut more = 0;
    while path.exists() {
        more += 1;
        path = directory.join(format!("{more}-{name}"));
    }
    path
}

/// Removes the draft of a pgdyno that was killed before anything was changed. One that lives has it locked, but for
/// the moment after it was made; then its process is there.
fn tidy(draft: &Path) {
    let name = draft.file_stem().unwrap_or_default().to_string_lossy();
    let mut numbers = name.rsplit('-');
    let writer = numbers.nth(1).and_then(|pid| pid.parse().ok());
    let is_there = writer.is_none_or(pgdyno_platform::child::is_running);
    let is_locked = File::open(draft).is_ok_and(|file| file.try_lock().is_err());
    if !is_there && !is_locked {
        // What stays does no harm.
        let _ = fs::remove_file(draft);
    }
}

/// All journals in a directory, by name. Drafts of processes that are gone go.
///
/// # Errors
/// One cannot be read or understood.
pub fn all(directory: &Path) -> Result<Vec<Seen>, Failure> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(failed("look for", directory)(e)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed("look for", directory))?.path();
        match path.extension().and_then(|ending| ending.to_str()) {
            Some(ENDING) => paths.push(path),
            Some(DRAFT) => tidy(&path),
            _ => {}
        }
    }
    paths.sort();
    let seen = paths.into_iter().map(read);
    seen.filter_map(Result::transpose).collect()
}

/// `None` when it has gone in the meantime.
fn read(path: PathBuf) -> Result<Option<Seen>, Failure> {
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(failed("read", &path)(e)),
    };
    if let Err(TryLockError::WouldBlock) = file.try_lock() {
        return Ok(Some(Seen::InUse));
    }
    let text = io::read_to_string(&file).map_err(failed("read", &path))?;
    // A line without an end was being written when pgdyno died, before anything was changed.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut lines = whole.lines();
    let broken = |e: serde_json::Error| failed("understand", &path)(e.into());
    let header = lines.next().unwrap_or_default();
    let header = serde_json::from_str(header).map_err(broken)?;
    let (mut found, mut last) = (BTreeMap::new(), None);
    let (mut undo, mut unmount) = (Vec::new(), Vec::new());
    for line in lines {
        match serde_json::from_str(line).map_err(broken)? {
            Entry::Setting { name, before } => drop(found.insert(name, before)),
            Entry::Session { session } => last = Some(session),
            Entry::Undo { undo: statement } => undo.push(statement),
            Entry::Unmount { unmount: point } => unmount.push(point),
        }
    }
    Ok(Some(Seen::Left(Leftover {
        path,
        header,
        found,
        session: last,
        undo,
        unmount,
        _file: file,
    })))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header {
            target: "host='x'".to_owned(),
            title: "x".to_owned(),
            system_identifier: None,
        }
    }

    #[test]
    fn what_was_written_down_is_found_once_its_writer_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        assert!(all(&dir.path().join("none")).unwrap().is_empty());
        let mut journal = Journal::create(dir.path(), &header()).unwrap();
        journal.note("a", None).unwrap();
        journal.note_session("1 2.5").unwrap();
        journal.note_session("3 4.5").unwrap();
        journal.note("b", Some("it's")).unwrap();
        assert!(matches!(&all(dir.path()).unwrap()[..], [Seen::InUse]));
        journal.file.write_all(b"{\"name\":\"c\"").unwrap();
        drop(journal);
        let mut seen = all(dir.path()).unwrap();
        let Some(Seen::Left(leftover)) = seen.pop() else {
            panic!("it is left")
        };
        assert_eq!(leftover.header, header());
        let want = [
            ("a".to_owned(), None),
            ("b".to_owned(), Some("it's".to_owned())),
        ];
        assert_eq!(
            leftover.found,
            BTreeMap::from(want),
            "the torn line is nothing"
        );
        assert_eq!(leftover.session.as_deref(), Some("3 4.5"), "the last one");
        leftover.remove().unwrap();
        assert!(all(dir.path()).unwrap().is_empty());
    }

    #[test]
    fn a_draft_is_removed_when_its_writer_is_gone_and_it_is_unlocked() {
        let dir = tempfile::tempdir().unwrap();
        let draft = |pid: u32| dir.path().join(format!("{pid}-0.{DRAFT}"));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let gone = child.id();
        child.wait().unwrap();
        let own = std::process::id();
        for pid in [gone, own] {
            fs::write(draft(pid), "").unwrap();
        }
        let locked = File::open(draft(gone)).unwrap();
        locked.lock().unwrap();
        assert!(all(dir.path()).unwrap().is_empty());
        assert!(draft(gone).exists() && draft(own).exists());
        drop(locked);
        assert!(all(dir.path()).unwrap().is_empty());
        assert!(!draft(gone).exists() && draft(own).exists());
    }

    #[test]
    fn a_journal_that_cannot_be_understood_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("1-0.jsonl");
        std::fs::write(&path, "what\n").unwrap();
        let e = all(dir.path()).unwrap_err().to_string();
        assert!(
            e.contains("could not understand") && e.contains("1-0.jsonl"),
            "{e}"
        );
        let e = Journal::create(&path, &header()).unwrap_err().to_string();
        assert!(e.contains("could not write the journal"), "{e}");
    }
}
