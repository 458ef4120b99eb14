//! The file: a gzipped tar archive of plain files, the manifest first, all else by name. Nothing of the time,
//! user or machine that made it is in it.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::path::{Component, Path};

use flate2::bufread::GzDecoder;
use flate2::{Compression, GzBuilder};
use pgdyno_spec::{Exit, Failure};
use tar::{Archive, Builder, EntryType, Header};

use super::{BYTES_MAX, MANIFEST, Parts, no_bundle};

/// What every gzip file begins with (RFC 1952).
pub const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Parts are fewer: two for each trial, some for each pack.
const PARTS_MAX: usize = 1_000_000;

/// The bytes of the file.
pub fn bytes(manifest: &str, parts: &Parts) -> Vec<u8> {
    // No time, and no system of its own: 255 is "unknown".
    let gzip = GzBuilder::new().mtime(0).operating_system(255);
    let mut tar = Builder::new(gzip.write(Vec::new(), Compression::default()));
    let first = (MANIFEST, manifest.as_bytes());
    let rest = parts
        .iter()
        .map(|(name, part)| (name.as_str(), part.as_slice()));
    for (name, part) in std::iter::once(first).chain(rest) {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_size(part.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(0);
        header.set_uid(0);
        header.set_gid(0);
        tar.append_data(&mut header, name, part)
            .expect("memory takes what is written");
    }
    let gzip = tar.into_inner().expect("memory takes what is written");
    gzip.finish().expect("memory takes what is written")
}

/// Reads all parts of a file, the manifest among them.
pub fn read(path: &Path) -> Result<Parts, Failure> {
    let place = path.display();
    let unreadable = |e: std::io::Error| {
        Failure::with(Exit::Usage, format!("cannot read {place}: {e}"))
            .hint("name a file that is there")
    };
    let mut file = Vec::new();
    let opened = std::fs::File::open(path).map_err(unreadable)?;
    opened
        .take(BYTES_MAX + 1)
        .read_to_end(&mut file)
        .map_err(unreadable)?;
    if !file.starts_with(&GZIP) {
        let why = if file.is_empty() {
            "the file is empty"
        } else {
            "it does not begin as a gzip file does"
        };
        return Err(no_bundle(path, why));
    }
    let whole = file.len() as u64;
    let mut archive = Archive::new(GzDecoder::new(Cursor::new(file)));
    let mut parts: Parts = BTreeMap::new();
    let mut bytes = 0;
    let damaged = |parts: &Parts, why: &str| {
        let after = match parts.keys().next_back() {
            Some(last) => format!("after {} of its parts ({last})", parts.len()),
            None => "before its first part".to_owned(),
        };
        Failure::with(
            Exit::Usage,
            format!("{place} is damaged or cut short {after}: {why}"),
        )
        .hint("get it again from where it was made; its SHA-256 tells whether it is the same")
    };
    let entries = archive
        .entries()
        .map_err(|e| damaged(&parts, &e.to_string()))?;
    for entry in entries {
        let mut entry = entry.map_err(|e| damaged(&parts, &e.to_string()))?;
        let name = name(&entry.path_bytes())
            .ok_or_else(|| no_bundle(path, "a name in it leads out of it"))?;
        if entry.header().entry_type() != EntryType::Regular {
            return Err(no_bundle(path, &format!("{name} in it is no plain file")));
        }
        bytes += entry.size();
        if bytes > BYTES_MAX || parts.len() >= PARTS_MAX {
            let most = pgdyno_spec::text::bytes(BYTES_MAX as f64);
            return Err(no_bundle(
                path,
                &format!("it has more than {most}, or too many parts"),
            ));
        }
        let mut part = Vec::new();
        let read = entry.read_to_end(&mut part);
        read.map_err(|e| damaged(&parts, &format!("{name}: {e}")))?;
        if parts.insert(name.clone(), part).is_some() {
            return Err(no_bundle(path, &format!("it has {name} twice")));
        }
    }
    // What follows the archive has the checksum of the whole.
    let mut gzip = archive.into_inner();
    let mut rest = Vec::new();
    let end = (&mut gzip).take(1 << 20).read_to_end(&mut rest);
    end.map_err(|e| damaged(&parts, &e.to_string()))?;
    let behind = whole.saturating_sub(gzip.into_inner().position());
    if behind == 0 && rest.iter().all(|byte| *byte == 0) {
        Ok(parts)
    } else {
        Err(no_bundle(path, "something follows its end"))
    }
}

/// A name of plain parts, separated by `/`.
fn name(bytes: &[u8]) -> Option<String> {
    let name = std::str::from_utf8(bytes).ok()?;
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    let is_safe = !name.is_empty() && Path::new(name).components().all(is_plain);
    is_safe.then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bundle with one more entry, as someone else makes it.
    fn with(change: impl FnOnce(&mut Header)) -> Vec<u8> {
        let mut tar = Builder::new(GzBuilder::new().write(Vec::new(), Compression::default()));
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_size(0);
        header.as_old_mut().name[..6].copy_from_slice(b"inside");
        change(&mut header);
        header.set_cksum();
        tar.append(&header, std::io::empty()).unwrap();
        tar.into_inner().unwrap().finish().unwrap()
    }

    fn read_again(bytes: &[u8]) -> Result<Parts, Failure> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, bytes).unwrap();
        read(&file)
    }

    #[test]
    fn parts_are_read_as_they_were_written() {
        let parts = Parts::from([
            ("a/b".to_owned(), vec![1, 2, 3]),
            ("c".to_owned(), Vec::new()),
            (format!("{}/long", "d".repeat(150)), b"long".to_vec()),
        ]);
        let mut read = read_again(&bytes("{}", &parts)).unwrap();
        assert_eq!(read.remove(MANIFEST), Some(b"{}".to_vec()));
        assert_eq!(read, parts);
    }

    #[test]
    fn names_that_lead_out_and_links_are_refused() {
        assert!(read_again(&with(|_| ())).is_ok());
        for name in ["../out", "/etc/x", "a/../b"] {
            let out = with(|header| {
                let field = &mut header.as_old_mut().name;
                field.fill(0);
                field[..name.len()].copy_from_slice(name.as_bytes());
            });
            let failure = read_again(&out).unwrap_err();
            assert!(failure.message.contains("leads out of it"), "{failure}");
        }
        let link = with(|header| {
            header.set_entry_type(EntryType::Symlink);
            header.set_link_name("/etc/passwd").unwrap();
        });
        let failure = read_again(&link).unwrap_err();
        assert!(failure.message.contains("is no plain file"), "{failure}");
    }

    #[test]
    fn what_takes_more_than_it_says_or_is_cut_off_is_damaged() {
        let whole = bytes("{}", &Parts::from([("part".to_owned(), vec![7; 100_000])]));
        for end in 3..whole.len() {
            assert!(read_again(&whole[..end]).is_err(), "{end}");
        }
        assert!(read_again(&whole).is_ok());
        assert!(read_again(&[&whole[..], b"x"].concat()).is_err());
    }
}
