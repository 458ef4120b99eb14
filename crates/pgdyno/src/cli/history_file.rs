//! The history of a trial as a file that `check-history` and Elle's tools read: `--history FILE` of a trial that
//! is run, and `pgdyno export TRIAL --history`.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use pgdyno_isolation::{Format, History, Status, write};
use pgdyno_measurement::RecordedHistory;
use pgdyno_output::{Verbosity, remark};
use pgdyno_spec::{Exit, Failure, text};

/// The form of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum HistoryForm {
    /// Elle's own
    Edn,
    /// JSON lines, as elle-cli reads them
    Json,
}

impl HistoryForm {
    /// By how a file's name ends.
    fn of(path: &Path) -> Self {
        match path.extension() {
            Some(ending) if ending == "json" => Self::Json,
            _ => Self::Edn,
        }
    }

    fn format(self) -> Format {
        match self {
            Self::Edn => Format::Edn,
            Self::Json => Format::Json,
        }
    }
}

/// Writes a history to standard output, until its reader has enough.
///
/// # Errors
/// A full disk; a recording that is no history.
pub fn print(recorded: &RecordedHistory, form: Option<HistoryForm>) -> Result<(), Failure> {
    let history = understood(recorded)?;
    let mut to = BufWriter::new(io::stdout().lock());
    let format = form.unwrap_or(HistoryForm::Edn).format();
    match write(&history, format, &mut to).and_then(|()| to.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::new(format!(
            "cannot write the history to standard output: {error}"
        ))),
        _ => Ok(()),
    }
}

fn understood(recorded: &RecordedHistory) -> Result<History, Failure> {
    recorded.history().map_err(|error| {
        Failure::new(format!("the history cannot be written: {error}")).hint(
            "\\observe in the scripts must say what their statements do (pgdyno help scripts)",
        )
    })
}

/// Where a history goes.
pub struct HistoryFile {
    path: PathBuf,
    file: File,
    form: HistoryForm,
}

impl HistoryFile {
    /// Opens it before there is anything to write, so that what is wrong with it is known then. What was there is
    /// written over when there is something else.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        // Not emptied yet: the trial may come to nothing.
        let file = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path);
        Self::of(path, file, None)
    }

    /// Makes it.
    ///
    /// # Errors
    /// There is one; it cannot be created.
    pub fn new_at(path: &Path, form: Option<HistoryForm>) -> Result<Self, Failure> {
        Self::of(path, File::create_new(path), form)
    }

    fn of(path: &Path, file: io::Result<File>, form: Option<HistoryForm>) -> Result<Self, Failure> {
        let file = file.map_err(|error| {
            let text = match error.kind() {
                io::ErrorKind::AlreadyExists => format!("{} exists already", path.display()),
                _ => format!("cannot write the history {}: {error}", path.display()),
            };
            Failure::with(Exit::Usage, text)
                .with_missing_folder(path)
                .hint("name another file")
        })?;
        Ok(Self {
            path: path.to_owned(),
            file,
            form: form.unwrap_or_else(|| HistoryForm::of(path)),
        })
    }

    /// Writes the history, and says how much there is of it.
    ///
    /// # Errors
    /// A full disk; a recording that is no history.
    pub fn write(self, recorded: &RecordedHistory, verbosity: Verbosity) -> Result<(), Failure> {
        let path = self.path.display();
        let history = understood(recorded)?;
        let emptied = match self.file.metadata() {
            // A pipe has no length.
            Ok(found) if found.is_file() => self.file.set_len(0),
            _ => Ok(()),
        };
        let mut to = BufWriter::new(self.file);
        emptied
            .and_then(|()| write(&history, self.form.format(), &mut to))
            .and_then(|()| to.flush())
            .map_err(|error| Failure::new(format!("cannot write the history {path}: {error}")))?;
        let count = |status| {
            let all = history.transactions().iter();
            text::count(all.filter(|one| one.status == status).count() as u64)
        };
        let cut_off = if recorded.is_cut_off() {
            "; it is cut off"
        } else {
            ""
        };
        if !verbosity.quiet {
            remark!(
                "pgdyno: {path} has the history: {} transactions committed, {} did not, {} are unknown{cut_off}",
                count(Status::Committed),
                count(Status::Aborted),
                count(Status::Unknown)
            );
        }
        Ok(())
    }
}
