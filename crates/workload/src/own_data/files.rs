//! Which files `from` names.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Stamp, Wanted};

/// Endings of compressed files, each with the program that takes it away.
const COMPRESSED: &[(&str, &str)] = &[
    (".gz", "gunzip -k"),
    (".zst", "unzstd"),
    (".bz2", "bunzip2 -k"),
    (".xz", "unxz -k"),
];

/// A file that is to be read.
pub(super) struct DataFile {
    pub(super) path: PathBuf,
    /// As the user would name it.
    pub(super) shown: String,
    /// Its name in the pack's folder.
    pub(super) name: String,
    pub(super) stamp: Stamp,
}

/// The files in the order of their names.
///
/// # Errors
/// There is none, one leads out of the folder, or cannot be looked at.
pub(super) fn find(wanted: &Wanted) -> Result<Vec<DataFile>, String> {
    let (folder, pattern) = match wanted.from.rsplit_once('/') {
        Some((folder, pattern)) => (format!("{folder}/"), pattern),
        None => (String::new(), wanted.from.as_str()),
    };
    let within = wanted.folder.join(&folder);
    let shown = |name: &str| format!("{}/{folder}{name}", wanted.place.trim_end_matches('/'));
    let names = names(&within).map_err(|e| format!("{}: {e}", shown("")))?;
    let matching = |name: &&String| is_match(pattern.as_bytes(), name.as_bytes());
    let matched: Vec<&String> = names.iter().filter(matching).collect();
    if matched.is_empty() {
        let others: Vec<&str> = names.iter().map(String::as_str).take(10).collect();
        return Err(format!(
            "from = \"{}\": there is no such file in {} (there are: {})",
            wanted.from,
            shown("").trim_end_matches('/'),
            others.join(", ")
        ));
    }
    let root = fs::canonicalize(&wanted.folder).map_err(|e| format!("{}: {e}", wanted.place))?;
    let mut found = Vec::new();
    for name in matched {
        let (path, shown) = (within.join(name), shown(name));
        if let Some((ending, program)) = COMPRESSED.iter().find(|(end, _)| name.ends_with(end)) {
            return Err(format!(
                "{shown}: {ending} files cannot be read in parts: unpack it first (`{program} {shown}`)"
            ));
        }
        // Otherwise a pack from elsewhere could send any file of this host to the server.
        let real = fs::canonicalize(&path).map_err(|e| format!("{shown}: {e}"))?;
        if !real.starts_with(&root) {
            return Err(format!(
                "{shown}: it is a link out of the pack's folder, to {}: put pack.toml beside the data instead",
                real.display()
            ));
        }
        let stamp = stamp(&path).map_err(|why| format!("{shown}: {why}"))?;
        let name = format!("{folder}{name}");
        found.push(DataFile {
            path,
            shown,
            name,
            stamp,
        });
    }
    Ok(found)
}

/// By which a file is known again.
pub(super) fn stamp(path: &Path) -> Result<Stamp, String> {
    let found = fs::metadata(path).map_err(|e| e.to_string())?;
    if found.is_file() {
        Ok(Stamp {
            bytes: found.len(),
            modified: found.modified().ok(),
        })
    } else {
        Err("it is no file".to_owned())
    }
}

/// The files in a folder, sorted; hidden ones are left out.
fn names(folder: &Path) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_file = entry.path().is_file();
        if let (true, Some(name)) = (is_file, entry.file_name().to_str())
            && !name.starts_with('.')
        {
            names.push(name.to_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Whether a name is of a pattern with `*` (any bytes) and `?` (one byte).
fn is_match(pattern: &[u8], name: &[u8]) -> bool {
    // Where to go on when what follows the last `*` does not fit.
    let (mut p, mut n, mut retry) = (0, 0, None);
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                retry = Some((p, n));
                p += 1;
            }
            Some(&byte) if byte == b'?' || byte == name[n] => {
                p += 1;
                n += 1;
            }
            _ => match retry {
                Some((star, from)) => {
                    retry = Some((star, from + 1));
                    p = star + 1;
                    n = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::is_match;

    #[test]
    fn stars_and_question_marks_stand_for_other_characters() {
        for (pattern, name, matches) in [
            ("a.csv", "a.csv", true),
            ("a.csv", "a.csv.gz", false),
            ("a*.csv", "a.csv", true),
            ("a*.csv", "a-1.csv", true),
            ("*a*b", "xaybab", true),
            ("*a*b", "xayb-", false),
            ("a?.csv", "a1.csv", true),
            ("a?.csv", "a.csv", false),
            ("*", "", true),
        ] {
            let found = is_match(pattern.as_bytes(), name.as_bytes());
            assert_eq!(found, matches, "{pattern} {name}");
        }
    }
}
