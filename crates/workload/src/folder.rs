//! A user's own pack: a folder on disk, just as good as a shipped one. `pack show NAME --to DIR`
//! makes one to start from.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::manifest::{self, ManifestError};
use super::pack::Pack;
use super::shipped;

/// No pack is larger; a folder named by mistake is not read to its end.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// How many packs may build on each other; more is a circle.
const MAX_DEPTH: usize = 8;

/// Whether `path` is a folder with a manifest in it.
pub fn exists(path: &str) -> bool {
    Path::new(path).join(manifest::FILE_NAME).is_file()
}

/// Reads the pack in `path`.
///
/// # Errors
/// The first thing that is wrong.
pub fn find(path: &str) -> Result<Pack, ManifestError> {
    find_nested(Path::new(path), 0)
}

/// The same, and all that is wrong: without a pack where it cannot be read at all.
pub fn find_all(path: &str) -> (Option<Pack>, Vec<ManifestError>) {
    all_nested(Path::new(path), 0)
}

fn find_nested(path: &Path, depth: usize) -> Result<Pack, ManifestError> {
    let (pack, wrong) = all_nested(path, depth);
    match (pack, wrong.into_iter().next()) {
        (_, Some(first)) => Err(first),
        (Some(pack), None) => Ok(pack),
        (None, None) => Err(fail(path, "it cannot be read".to_owned())),
    }
}

fn all_nested(path: &Path, depth: usize) -> (Option<Pack>, Vec<ManifestError>) {
    let place = path.display().to_string();
    let files = match files(path, depth) {
        Ok(files) => files,
        Err(error) => return (None, vec![error]),
    };
    let (pack, wrong) = Pack::all_of(place, files, |uses| {
        if uses.contains('/') {
            find_nested(&path.join(uses), depth + 1)
        } else {
            shipped::find(uses).map_err(|e| ManifestError {
                file: path.join(manifest::FILE_NAME).display().to_string(),
                line: None,
                message: format!("uses = \"{uses}\": {}", e.message),
            })
        }
    });
    let in_folder = |mut pack: Pack| {
        pack.folder = Some(path.to_owned());
        pack
    };
    (pack.map(in_folder), wrong)
}

fn fail(file: &Path, message: String) -> ManifestError {
    ManifestError {
        file: file.display().to_string(),
        line: None,
        message,
    }
}

/// The files of the pack in a folder, by their names.
fn files(path: &Path, depth: usize) -> Result<BTreeMap<String, String>, ManifestError> {
    if depth > MAX_DEPTH {
        let why = "uses is circular: one of these packs must have tables of its own";
        return Err(fail(path, why.to_owned()));
    }
    if !path.is_dir() {
        return Err(fail(path, "there is no such folder".to_owned()));
    }
    let root = fs::canonicalize(path).map_err(|e| fail(path, e.to_string()))?;
    let mut files = BTreeMap::new();
    let entries = fs::read_dir(path).map_err(|e| fail(path, e.to_string()))?;
    for entry in entries {
        let file = entry.map_err(|e| fail(path, e.to_string()))?.path();
        let Some(name) = file.file_name().and_then(|n| n.to_str()) else {
            continue;
        };
        // Whatever else lies around (editor's copies, results) is no part of the pack.
        let wanted = matches!(
            file.extension().and_then(|e| e.to_str()),
            Some("toml" | "sql" | "md")
        );
        if name.starts_with('.') || !wanted || !file.is_file() {
            continue;
        }
        // Otherwise a pack from elsewhere could send any file of this host to the server.
        let real = fs::canonicalize(&file).map_err(|e| fail(&file, e.to_string()))?;
        if !real.starts_with(&root) {
            let text = format!(
                "it is a link that leads out of the pack's folder, to {}: copy the file there \
                 instead",
                real.display()
            );
            return Err(fail(&file, text));
        }
        let size = file
            .metadata()
            .map_err(|e| fail(&file, e.to_string()))?
            .len();
        if size > MAX_FILE_BYTES {
            return Err(fail(
                &file,
                format!(
                    "{} bytes are too many for a pack's file",
                    pgdyno_spec::text::count(size)
                ),
            ));
        }
        let text = fs::read_to_string(&file).map_err(|e| fail(&file, e.to_string()))?;
        files.insert(name.to_owned(), text);
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(dir.path().join(name), text).unwrap();
        }
        dir
    }

    #[test]
    fn a_folder_is_read_and_may_use_a_shipped_pack() {
        let dir = folder(&[
            (
                "pack.toml",
                "name='mine'\nsummary='s'\nuses='tpcb'\nscript=[{name='a',file='a.sql'}]",
            ),
            ("a.sql", "SELECT :scale;"),
            ("notes.txt", "not part of it"),
            (".hidden.sql", "not part of it"),
        ]);
        let pack = find(dir.path().to_str().unwrap()).unwrap();
        assert_eq!(
            pack.files.keys().collect::<Vec<_>>(),
            ["a.sql", "pack.toml"]
        );
        assert_eq!(pack.tables_pack().name(), "tpcb");
    }

    #[test]
    fn links_are_followed_only_within_the_folder() {
        let elsewhere = folder(&[("other.sql", "SELECT 'not yours';")]);
        let pack =
            "name='x'\nsummary='s'\nscript=[{name='a',file='a.sql'},{name='b',file='b.sql'}]";
        let dir = folder(&[("pack.toml", pack), ("a.sql", "SELECT 1;")]);
        let link = |to: &Path, name: &str| {
            let _ = fs::remove_file(dir.path().join(name));
            std::os::unix::fs::symlink(to, dir.path().join(name)).unwrap();
        };
        link(Path::new("a.sql"), "b.sql");
        let pack = find(dir.path().to_str().unwrap()).unwrap();
        assert_eq!(pack.files["b.sql"], "SELECT 1;");
        // The folder itself may be reached by a link.
        let outer = tempfile::tempdir().unwrap();
        let alias = outer.path().join("alias");
        std::os::unix::fs::symlink(dir.path(), &alias).unwrap();
        find(alias.to_str().unwrap()).unwrap();
        link(&elsewhere.path().join("other.sql"), "b.sql");
        let e = find(dir.path().to_str().unwrap()).unwrap_err().to_string();
        assert!(
            e.contains("b.sql: it is a link that leads out of the pack's folder, to ")
                && e.contains("other.sql: copy the file there instead"),
            "{e}"
        );
    }

    #[test]
    fn what_is_wrong_with_a_folder_is_said() {
        let e = find("/nowhere/at/all").unwrap_err().to_string();
        assert_eq!(e, "/nowhere/at/all: there is no such folder");
        let dir = folder(&[
            (
                "pack.toml",
                "name='x'\nsummary='s'\nuses='tcpb'\nscript=[{name='a',file='a.sql'}]",
            ),
            ("a.sql", ""),
        ]);
        let e = find(dir.path().to_str().unwrap()).unwrap_err().to_string();
        assert!(e.contains("uses = \"tcpb\": unknown pack"), "{e}");
        let dir = folder(&[
            (
                "pack.toml",
                "name='x'\nsummary='s'\nuses='./'\nscript=[{name='a',file='a.sql'}]",
            ),
            ("a.sql", ""),
        ]);
        let e = find(dir.path().to_str().unwrap()).unwrap_err().to_string();
        assert!(e.contains("circular"), "{e}");
        let dir = folder(&[]);
        fs::write(dir.path().join("a.sql"), b"\xff\xfe").unwrap();
        let e = find(dir.path().to_str().unwrap()).unwrap_err().to_string();
        assert!(e.contains("a.sql: "), "{e}");
    }
}
