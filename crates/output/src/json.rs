//! `--json`, the same on every native verb.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use crate::write_answer;
use pgdyno_platform::Output;
use pgdyno_spec::{Exit, Failure};

/// Where the result goes for programs.
#[derive(Debug, Clone, Default, Args)]
pub struct JsonArg {
    /// Write the whole result as JSON: to FILE, or to standard output in place of the text
    ///
    /// With FILE the text is printed, too; without it, or with -, standard output has the JSON alone.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub json: Option<Option<PathBuf>>,
}

/// Several documents, a line each when it is there.
pub struct Lines(Sink);

/// Opened before the run: a name that cannot be written to must not cost a measurement. A file that is there stays
/// until there is a document.
pub enum Sink {
    /// Not asked for.
    None,
    /// Standard output.
    Stdout,
    /// A file.
    File(Output),
}

impl JsonArg {
    /// Whether standard output is to have nothing else on it.
    pub fn replaces_text(&self) -> bool {
        self.place() == Some(None)
    }

    /// # Errors
    /// The file cannot be created.
    pub fn open(&self) -> Result<Sink, Failure> {
        match self.place() {
            None => Ok(Sink::None),
            Some(None) => Ok(Sink::Stdout),
            Some(Some(path)) => Sink::create(path),
        }
    }

    /// When it was asked for: a file, or standard output.
    fn place(&self) -> Option<Option<&Path>> {
        let place = self.json.as_ref()?;
        Some(place.as_deref().filter(|file| *file != Path::new("-")))
    }
}

impl Sink {
    /// A file.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        let file = Output::open(path).map_err(|error| {
            let text = format!("--json: could not create {}: {error}", path.display());
            Failure::with(Exit::Usage, text).with_missing_folder(path)
        })?;
        Ok(Self::File(file))
    }

    /// For several documents.
    pub fn lines(self) -> Lines {
        Lines(self)
    }

    /// Writes the document.
    ///
    /// # Errors
    /// A full disk.
    pub fn write(self, document: &impl Serialize) -> Result<(), Failure> {
        match self {
            Self::None => Ok(()),
            Self::Stdout => write_answer(format_args!("{:#}\n", sorted(document)?)),
            Self::File(file) => {
                let text = format!("{:#}\n", sorted(document)?);
                let path = file.path().to_owned();
                let written = file.replace(text.as_bytes());
                written.map_err(|error| could_not_write(&path, &error))
            }
        }
    }
}

impl Lines {
    /// Writes a document, made only when it is wanted.
    ///
    /// # Errors
    /// A full disk.
    pub fn write<T: Serialize>(&mut self, document: impl FnOnce() -> T) -> Result<(), Failure> {
        match &mut self.0 {
            Sink::None => Ok(()),
            Sink::Stdout => write_answer(format_args!("{}\n", sorted(&document())?)),
            Sink::File(file) => {
                let text = format!("{}\n", sorted(&document())?);
                let written = file.write_all(text.as_bytes());
                written.map_err(|error| could_not_write(file.path(), &error))
            }
        }
    }
}

/// With its fields by name, as every document is printed.
///
/// # Errors
/// It has no form in JSON: a fault of pgdyno's.
pub fn sorted(document: &impl Serialize) -> Result<serde_json::Value, Failure> {
    serde_json::to_value(document)
        .map_err(|error| Failure::new(format!("--json: a document that has no JSON: {error}")))
}

fn could_not_write(path: &Path, error: &std::io::Error) -> Failure {
    let place = path.display();
    Failure::new(format!("--json: could not write to {place}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_output_is_named_by_nothing_or_by_a_dash() {
        let arg = |file: Option<&str>| JsonArg {
            json: Some(file.map(PathBuf::from)),
        };
        assert!(arg(None).replaces_text() && arg(Some("-")).replaces_text());
        assert!(matches!(arg(Some("-")).open(), Ok(Sink::Stdout)));
        assert!(!arg(Some("./-")).replaces_text() && !JsonArg::default().replaces_text());
    }
}
