//! A bundle: parts with names in a gzipped tar file, and a manifest with the hash of each. The same notebook
//! gives the same bytes.

mod archive;
mod manifest;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use pgdyno_spec::{Exit, Failure};
use sha2::{Digest, Sha256};

pub use manifest::{
    Bundled, BundledExperiment, BundledTrial, FORMAT, Maker, Manifest, Missing, Part, Shown,
    VERSION, What,
};

pub const MANIFEST: &str = "manifest.json";
pub const NOTEBOOK: &str = "notebook.sqlite";
/// So much may all parts have together: they are read into memory.
const BYTES_MAX: u64 = 2 << 30;

/// What is in a bundle, but for its manifest: by name.
pub type Parts = BTreeMap<String, Vec<u8>>;

/// A bundle that was read.
#[derive(Debug)]
pub struct Bundle {
    pub path: PathBuf,
    /// What it says of itself.
    pub manifest: Manifest,
    /// The manifest's text, over which its own hash is.
    pub manifest_text: String,
    /// All that is in it.
    pub parts: Parts,
}

impl Bundle {
    /// Reads one. Its hashes are not looked at.
    ///
    /// # Errors
    /// It cannot be read, is no bundle, is damaged, or is of a newer pgdyno.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let mut parts = archive::read(path)?;
        let place = path.display();
        let Some(text) = parts.remove(MANIFEST) else {
            return Err(no_bundle(path, &format!("it has no {MANIFEST}")));
        };
        let text = String::from_utf8(text)
            .map_err(|_| no_bundle(path, &format!("its {MANIFEST} is no UTF-8")))?;
        manifest::check_version(&text, path)?;
        let manifest = serde_json::from_str(&text).map_err(|e| {
            Failure::with(
                Exit::Usage,
                format!("{place}: {MANIFEST} cannot be read: {e}"),
            )
            .hint("the file is damaged: get it again from where it was made")
        })?;
        Ok(Self {
            path: path.to_owned(),
            manifest,
            manifest_text: text,
            parts,
        })
    }

    /// The notebook as a file of its own, in a directory that goes with what is returned.
    ///
    /// # Errors
    /// The bundle has none, or there is no room for it.
    pub fn notebook(&self) -> Result<Unpacked, Failure> {
        let place = self.path.display();
        let bytes = self.parts.get(NOTEBOOK).ok_or_else(|| {
            Failure::with(Exit::Usage, format!("{place} has no {NOTEBOOK}"))
                .hint("the bundle is not whole: get it again from where it was made")
        })?;
        let directory = scratch()?;
        let file = directory.path().join(NOTEBOOK);
        std::fs::write(&file, bytes).map_err(|e| {
            Failure::new(format!("cannot write {}: {e}", file.display()))
                .hint("make room, or name another directory for temporary files: TMPDIR")
        })?;
        Ok(Unpacked {
            file,
            _directory: directory,
        })
    }
}

/// A notebook out of a bundle, which is removed with this.
#[derive(Debug)]
pub struct Unpacked {
    pub file: PathBuf,
    _directory: tempfile::TempDir,
}

/// A directory for temporary files.
pub(crate) fn scratch() -> Result<tempfile::TempDir, Failure> {
    tempfile::Builder::new()
        .prefix("pgdyno-")
        .tempdir()
        .map_err(|e| {
            let place = std::env::temp_dir();
            Failure::new(format!(
                "cannot make a directory in {}: {e}",
                place.display()
            ))
            .hint("make room, or name another directory for temporary files: TMPDIR")
        })
}

/// Whether a file begins as a bundle does: with gzip's mark.
pub fn is_one(path: &Path) -> bool {
    let mut begin = [0; 2];
    let read = std::fs::File::open(path)
        .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut begin));
    read.is_ok() && begin == archive::GZIP
}

/// Writes a bundle: whole, or not at all. Gives its bytes and the hash of the whole.
///
/// # Errors
/// There is a file of this name; it cannot be written; its parts are too large.
pub fn write(path: &Path, manifest: Manifest, parts: &Parts) -> Result<(u64, String), Failure> {
    check_new(path)?;
    let bytes: u64 = parts.values().map(|part| part.len() as u64).sum();
    if bytes > BYTES_MAX {
        let have = pgdyno_spec::text::bytes(bytes as f64);
        let most = pgdyno_spec::text::bytes(BYTES_MAX as f64);
        return Err(Failure::new(format!(
            "these trials take {have}, and a bundle has {most} at most"
        ))
        .hint("export fewer trials, or merge the seconds of old ones first: pgdyno store thin"));
    }
    let manifest = manifest.sealed(parts);
    let archive = archive::bytes(&manifest.text(), parts);
    let failed = |e: std::io::Error| {
        Failure::new(format!("cannot write {}: {e}", path.display()))
            .with_missing_folder(path)
            .hint("make room, or name a file elsewhere: --bundle FILE")
    };
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let beside = tempfile::Builder::new()
        .prefix(".pgdyno-bundle-")
        .tempfile_in(folder.unwrap_or(Path::new(".")));
    let mut beside = beside.map_err(failed)?;
    let written = beside
        .write_all(&archive)
        .and_then(|()| beside.as_file().sync_all());
    written.map_err(failed)?;
    beside
        .persist_noclobber(path)
        .map_err(|e| match e.error.kind() {
            std::io::ErrorKind::AlreadyExists => exists(path),
            _ => failed(e.error),
        })?;
    Ok((archive.len() as u64, manifest.sha256))
}

/// The bytes of a bundle with this manifest, which is taken as it is.
pub fn bytes(manifest_text: &str, parts: &Parts) -> Vec<u8> {
    archive::bytes(manifest_text, parts)
}

/// Refuses a name that is taken.
///
/// # Errors
/// There is something of this name.
pub fn check_new(path: &Path) -> Result<(), Failure> {
    match path.symlink_metadata() {
        Ok(_) => Err(exists(path)),
        Err(_) => Ok(()),
    }
}

fn exists(path: &Path) -> Failure {
    Failure::with(Exit::Usage, format!("{} exists already", path.display()))
        .hint("a bundle is a new file: name another with --bundle, or remove that one")
}

fn no_bundle(path: &Path, why: &str) -> Failure {
    Failure::with(
        Exit::Usage,
        format!("{} is no bundle: {why}", path.display()),
    )
    .hint("pgdyno export TRIAL --bundle FILE makes one")
}

pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
