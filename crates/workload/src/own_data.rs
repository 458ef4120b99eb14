//! Rows of a user's own: a table of a pack that is loaded from files beside `pack.toml` (`from = "orders*.csv"`).
//! The files are read once before anything is loaded: what is no row is found before a table is created,
//! the rows are counted, and it is noted where every thousandth begins. From there on they are rows with
//! numbers like any others: filled by ranges over several connections, recorded, gone on with.
//!
//! Not for: what a value means; the server says so, and [`Data::place`] where it is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use pgdyno_model::Progress;
use pgdyno_model::progress::Silent;

use crate::stop::Stop;

mod csv;
mod files;
mod identity;
#[cfg(feature = "parquet")]
mod parquet;

pub use csv::Format;

/// The ending of Parquet files.
const PARQUET: &str = ".parquet";

/// Which field of a file a column takes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum By {
    /// The one of this name.
    Name(String),
    /// The one of this number, from 0.
    Number(usize),
}

/// What is wanted of files.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Wanted {
    pub folder: PathBuf,
    /// The same as the user named it, for messages.
    pub place: String,
    /// Files in it, with `*` and `?` in the last part.
    pub from: String,
    pub format: Format,
    /// The field of each column that takes one.
    pub fields: Vec<By>,
    /// Whether the fields are just taken in their order, so that there may be no others.
    pub in_order: bool,
}

/// Gets progress while files are read.
pub struct Reading<'a> {
    pub progress: &'a mut dyn Progress,
    pub stop: Stop,
}

/// Rows in files: all of them good, as far as it can be checked without a server.
#[derive(Debug)]
pub struct Data {
    files: Vec<File>,
    fields: usize,
    pub rows: u64,
}

#[derive(Debug)]
struct File {
    path: PathBuf,
    /// As the user would name it.
    shown: String,
    /// Its name in the pack's folder.
    name: String,
    stamp: Stamp,
    /// SHA-256 of its bytes, in hexadecimal.
    sha256: String,
    /// The number of its first row, from 0.
    first: u64,
    index: Index,
}

/// By which it is known that a file is still the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Stamp {
    bytes: u64,
    modified: Option<SystemTime>,
}

/// Where the rows of a file are.
#[derive(Debug)]
enum Index {
    Csv(csv::Index),
    #[cfg(feature = "parquet")]
    Parquet(parquet::Index),
}

/// The fields of a row, one after another.
#[derive(Debug, Clone, Default)]
struct Fields {
    bytes: Vec<u8>,
    /// Where each ends, and whether it is NULL.
    ends: Vec<(usize, bool)>,
}

/// A reader of rows by their numbers; fast when they are asked for in their order. A clone begins anew.
#[derive(Debug)]
pub struct Cursor {
    data: Arc<Data>,
    open: Option<Open>,
    fields: Fields,
}

/// The file that is being read, and the number of its next row, from 0.
#[derive(Debug)]
struct Open {
    file: usize,
    next: u64,
    rows: Rows,
}

#[derive(Debug)]
enum Rows {
    Csv(csv::Records),
    #[cfg(feature = "parquet")]
    Parquet(parquet::Records),
}

impl Clone for Cursor {
    fn clone(&self) -> Self {
        Self::new(self.data.clone())
    }
}

impl Data {
    /// Reads the files through, or remembers what was found when they were read before.
    ///
    /// # Errors
    /// There is no such file, one cannot be read, or a row is none, reported with its line; an interrupt.
    pub fn open(wanted: &Wanted, reading: &mut Reading<'_>) -> Result<Arc<Data>, String> {
        /// Files that a sweep asks for at each of its points.
        type Known = Mutex<Vec<(Wanted, Vec<Stamp>, Arc<Data>)>>;
        static KNOWN: OnceLock<Known> = OnceLock::new();
        let found = files::find(wanted)?;
        let stamps: Vec<Stamp> = found.iter().map(|file| file.stamp.clone()).collect();
        let known = || {
            let known = KNOWN.get_or_init(Mutex::default);
            known.lock().unwrap_or_else(PoisonError::into_inner)
        };
        let is_it = |(of, as_of, _): &&(Wanted, Vec<Stamp>, _)| of == wanted && *as_of == stamps;
        if let Some((_, _, data)) = known().iter().find(is_it) {
            return Ok(data.clone());
        }
        let mut data = Data {
            files: Vec::new(),
            fields: wanted.fields.len(),
            rows: 0,
        };
        for found in found {
            reading.progress.file(&found.shown, found.stamp.bytes);
            let read = read(&found, wanted, reading);
            reading.progress.table_ends();
            let (index, sha256) = read?;
            let file = File {
                first: data.rows,
                index,
                sha256,
                path: found.path,
                shown: found.shown,
                name: found.name,
                stamp: found.stamp,
            };
            data.rows += file.rows();
            data.files.push(file);
        }
        let data = Arc::new(data);
        let mut known = known();
        known.retain(|(of, _, _)| of != wanted);
        known.push((wanted.clone(), stamps, data.clone()));
        Ok(data)
    }

    /// What each file is, by its name: tables that were loaded from others are others.
    pub fn identity(&self) -> BTreeMap<String, String> {
        let files = self.files.iter();
        files
            .map(|file| {
                let identity = identity::of(&file.path, file.stamp.bytes, &file.sha256);
                (file.name.clone(), identity)
            })
            .collect()
    }

    /// Where a row (from 1) is, as `FILE:LINE`.
    pub fn place(self: &Arc<Self>, row: u64) -> String {
        let Some(at) = self.file_of(row.saturating_sub(1)) else {
            return "behind the last file".to_owned();
        };
        let file = &self.files[at];
        let in_file = row - 1 - file.first;
        let line = match &file.index {
            Index::Csv(index) => index.line(&file.path, in_file).ok(),
            #[cfg(feature = "parquet")]
            Index::Parquet(_) => return format!("{}: row {}", file.shown, in_file + 1),
        };
        match line {
            Some(line) => format!("{}:{line}", file.shown),
            None => format!("{}: row {}", file.shown, in_file + 1),
        }
    }

    fn file_of(&self, row: u64) -> Option<usize> {
        let holds = |file: &File| (file.first..file.first + file.rows()).contains(&row);
        self.files.iter().position(holds)
    }
}

/// Reads a file through: where its rows are, and its SHA-256.
fn read(
    found: &files::DataFile,
    wanted: &Wanted,
    reading: &mut Reading<'_>,
) -> Result<(Index, String), String> {
    if !found.name.ends_with(PARQUET) {
        let (index, sha256) = csv::index(&found.path, &found.shown, wanted, reading)?;
        return Ok((Index::Csv(index), sha256));
    }
    #[cfg(feature = "parquet")]
    {
        let (index, sha256) = parquet::index(&found.path, &found.shown, wanted, reading)?;
        Ok((Index::Parquet(index), sha256))
    }
    #[cfg(not(feature = "parquet"))]
    Err(format!(
        "{}: this pgdyno is built without Parquet: write the rows as CSV, or build it with \
         `cargo build --release --features parquet`",
        found.shown
    ))
}

/// What is said when a file changes between being read and being loaded.
fn changed(shown: &str) -> String {
    format!("{shown}: the file has changed since the load began: load again")
}

impl File {
    fn rows(&self) -> u64 {
        match &self.index {
            Index::Csv(index) => index.rows,
            #[cfg(feature = "parquet")]
            Index::Parquet(index) => index.rows,
        }
    }

    /// Readies a reader of the rows from this one on, from 0.
    fn rows_from(&self, row: u64) -> Result<Rows, String> {
        if files::stamp(&self.path).as_ref() != Ok(&self.stamp) {
            return Err(changed(&self.shown));
        }
        match &self.index {
            Index::Csv(index) => {
                let records = index.from(&self.path, row);
                records.map(Rows::Csv)
            }
            #[cfg(feature = "parquet")]
            Index::Parquet(index) => index.from(&self.path, row).map(Rows::Parquet),
        }
        .map_err(|why| format!("{}: {why}", self.shown))
    }
}

impl Cursor {
    pub fn new(data: Arc<Data>) -> Self {
        Self {
            data,
            open: None,
            fields: Fields::default(),
        }
    }

    pub fn data(&self) -> &Arc<Data> {
        &self.data
    }

    /// Goes to a row, from 1.
    ///
    /// # Errors
    /// The file cannot be read, or is another one by now.
    pub fn go(&mut self, row: u64) -> Result<(), String> {
        let row = row.saturating_sub(1);
        let is_next = |open: &Open| {
            let file = &self.data.files[open.file];
            file.first + open.next == row && open.next < file.rows()
        };
        if !self.open.as_ref().is_some_and(is_next) {
            self.open = Some(self.opened(row)?);
        }
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        let file = &self.data.files[open.file];
        let there = match (&mut open.rows, &file.index) {
            (Rows::Csv(records), Index::Csv(index)) => index.next(records, &mut self.fields),
            #[cfg(feature = "parquet")]
            (Rows::Parquet(records), Index::Parquet(index)) => {
                index.next(records, &mut self.fields)
            }
            #[cfg(feature = "parquet")]
            _ => Ok(false),
        };
        open.next += 1;
        match there {
            Ok(true) if self.fields.ends.len() == self.data.fields => Ok(()),
            Ok(_) => Err(changed(&file.shown)),
            Err(why) => Err(format!("{}: {why}", file.shown)),
        }
    }

    /// A reader whose next row is this one, from 0.
    fn opened(&mut self, row: u64) -> Result<Open, String> {
        let at = self.data.file_of(row).ok_or("there is no such row")?;
        let file = &self.data.files[at];
        let next = row - file.first;
        #[cfg(feature = "parquet")]
        if let (Index::Parquet(index), Some(mut open)) = (&file.index, self.open.take())
            && open.file == at
            && index.is_near(open.next, next)
            && let Rows::Parquet(records) = &mut open.rows
        {
            index.skip(records, next - open.next)?;
            open.next = next;
            return Ok(open);
        }
        Ok(Open {
            file: at,
            next,
            rows: file.rows_from(next)?,
        })
    }

    /// The text of a wanted field of the row; `None`: NULL.
    pub fn field(&self, number: usize) -> Option<&[u8]> {
        self.fields.get(number)
    }
}

impl Fields {
    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    fn end(&mut self, is_null: bool) {
        self.ends.push((self.bytes.len(), is_null));
    }

    fn get(&self, number: usize) -> Option<&[u8]> {
        let (end, is_null) = *self.ends.get(number)?;
        let begin = number
            .checked_sub(1)
            .map_or(0, |before| self.ends[before].0);
        (!is_null).then(|| &self.bytes[begin..end])
    }
}

/// Reports nothing and never stops.
pub fn unwatched<T>(read: impl FnOnce(&mut Reading<'_>) -> T) -> T {
    read(&mut Reading {
        progress: &mut Silent,
        stop: Stop::new(None),
    })
}

/// Whether a path leads to something within the pack's folder alone, for the manifest's check.
pub fn is_within(from: &str) -> bool {
    let parts = Path::new(from).components();
    !from.is_empty()
        && parts
            .into_iter()
            .all(|part| matches!(part, std::path::Component::Normal(_)))
}

fn hex(hash: impl AsRef<[u8]>) -> String {
    let bytes = hash.as_ref().iter();
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a file of this name, beside a pack, is another one than when tables were loaded from it.
pub fn is_other(folder: &Path, name: &str, identity: &str) -> bool {
    identity::is_other(&folder.join(name), identity)
}
