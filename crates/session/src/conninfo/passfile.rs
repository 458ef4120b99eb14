//! The password file: `host:port:database:user:password` lines, by default `~/.pgpass`.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

pub(super) struct Key<'a> {
    /// A name, an address, or `localhost` for the default socket directory.
    pub host: &'a str,
    pub port: &'a str,
    pub dbname: &'a str,
    pub user: &'a str,
}

/// Reads the file if it may be trusted. One that others can read is not, and a warning in libpq's
/// words says so; one that cannot be opened counts as empty.
pub(super) fn read(path: &Path, warnings: &mut Vec<String>) -> Option<String> {
    // Looked at before it is opened: opening a FIFO would wait for a writer.
    let metadata = std::fs::metadata(path).ok()?;
    let shown = path.display();
    if !metadata.is_file() {
        warnings.push(format!(
            "WARNING: password file \"{shown}\" is not a plain file"
        ));
        return None;
    }
    let mut file = File::open(path).ok()?;
    if file.metadata().ok()?.mode() & 0o077 != 0 {
        warnings.push(format!(
            "WARNING: password file \"{shown}\" has group or world access; permissions should be u=rw (0600) or less"
        ));
        return None;
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The password of the first line that matches.
pub(super) fn find(text: &str, key: &Key<'_>) -> Option<String> {
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .find_map(|line| {
            let mut rest = line.trim_end_matches(['\r', '\n']);
            for wanted in [key.host, key.port, key.dbname, key.user] {
                rest = field_matches(rest, wanted)?;
            }
            Some(unescape(rest))
        })
}

/// What follows the line's first field and its colon, if the field is `*` or `wanted`.
fn field_matches<'a>(line: &'a str, wanted: &str) -> Option<&'a str> {
    if let Some(rest) = line.strip_prefix("*:") {
        return Some(rest);
    }
    let mut wanted = wanted.chars();
    let mut chars = line.char_indices();
    loop {
        let (at, c) = chars.next()?;
        let c = match c {
            ':' => return wanted.next().is_none().then(|| &line[at + 1..]),
            '\\' => chars.next().map_or('\\', |(_, c)| c),
            c => c,
        };
        if wanted.next() != Some(c) {
            return None;
        }
    }
}

/// The password itself: up to the next colon, backslashes removed.
fn unescape(text: &str) -> String {
    let mut password = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            ':' => break,
            '\\' => password.push(chars.next().unwrap_or('\\')),
            c => password.push(c),
        }
    }
    password
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look_up(text: &str) -> Option<String> {
        find(
            text,
            &Key {
                host: "db.example",
                port: "5432",
                dbname: "a:b",
                user: "me",
            },
        )
    }

    #[test]
    fn the_first_matching_line_wins_and_escapes_are_undone() {
        assert_eq!(
            look_up("#*:*:*:*:no\nother:*:*:*:no\n*:*:a\\:b:me:p\\:w\\\\d:x\n*:*:*:*:no"),
            Some("p:w\\d".into())
        );
        assert_eq!(look_up("db.example:5433:*:*:no"), None);
        assert_eq!(look_up("db.exampl:*:*:*:no\ndb.example2:*:*:*:no"), None);
        assert_eq!(look_up("db.example:5432:*:me:yes\r\n"), Some("yes".into()));
        assert_eq!(look_up("db.example:5432:*"), None);
    }
}
