//! The system identifier of a cluster, by which servers are distinguished: a copy gets one of its own.
//!
//! It lies in two places (PostgreSQL 12 to 18, `src/include/catalog/pg_control.h` and
//! `src/include/access/xlog_internal.h`): in `global/pg_control`, whose last member is a CRC-32C of all
//! before it, and in the long header that begins each WAL segment, where no checksum covers it.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// `XLogLongPageHeaderData.xlp_sysid` follows `XLogPageHeaderData` (24 bytes with padding).
const WAL_IDENTIFIER_AT: u64 = 24;
/// `PG_CONTROL_MAX_SAFE_SIZE`: the members of pg_control never take more, whatever the version.
const CONTROL_BYTES_MAX: usize = 512;
/// A segment's name: timeline, and two halves of its number.
const SEGMENT_NAME_CHARS: usize = 24;

/// Gives the cluster in `data_dir`, which no server uses, a system identifier of its own, and returns it.
///
/// # Errors
/// A file cannot be read or written, or pg_control has no checksum where one is looked for
/// (`InvalidData`); nothing is changed then.
pub(crate) fn renew(data_dir: &Path) -> io::Result<u64> {
    let path = data_dir.join("global/pg_control");
    let mut control = fs::read(&path)?;
    let Some(crc_at) = checksum_place(&control) else {
        let what = "no checksum in pg_control";
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    };
    let identifier = new_identifier();
    control[..8].copy_from_slice(&identifier.to_ne_bytes());
    let crc = crc32c(&control[..crc_at]);
    control[crc_at..crc_at + 4].copy_from_slice(&crc.to_ne_bytes());
    for entry in fs::read_dir(data_dir.join("pg_wal"))? {
        let entry = entry?;
        if entry.file_name().len() == SEGMENT_NAME_CHARS && entry.file_type()?.is_file() {
            let segment = OpenOptions::new().write(true).open(entry.path())?;
            segment.write_all_at(&identifier.to_ne_bytes(), WAL_IDENTIFIER_AT)?;
        }
    }
    fs::write(&path, control)?;
    Ok(identifier)
}

/// Whether [`renew`] knows this version's pg_control.
pub(crate) fn can_renew(data_dir: &Path) -> bool {
    fs::read(data_dir.join("global/pg_control")).is_ok_and(|it| checksum_place(&it).is_some())
}

/// Made as initdb makes it, of the time to a microsecond and 12 bits of the process, and never twice the
/// same by this process.
fn new_identifier() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.unwrap_or_default();
    let made = (now.as_secs() << 32) | (u64::from(now.subsec_micros()) << 12);
    let made = made | u64::from(std::process::id() & 0xFFF);
    let next = |last: u64| Some(made.max(last + (1 << 12)));
    let last = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    made.max(last.unwrap_or_default() + (1 << 12))
}

/// Where the CRC-32C of all bytes before it is, which tells where the members of this version end.
fn checksum_place(control: &[u8]) -> Option<usize> {
    let control = &control[..control.len().min(CONTROL_BYTES_MAX)];
    // Zeros have no checksum of zero, so that the padding behind it never passes for one.
    (16..control.len().saturating_sub(3))
        .step_by(4)
        .find(|&at| control[at..at + 4] == crc32c(&control[..at]).to_ne_bytes())
}

/// CRC-32C (Castagnoli, RFC 3720, appendix B.4).
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc: u32, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0x82F6_3B78 & (crc & 1).wrapping_neg())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_one_of_the_rfc() {
        // RFC 3720, B.4.
        assert_eq!(crc32c(&[0; 32]), 0x8A91_36AA);
        assert_eq!(crc32c(&[0xFF; 32]), 0x62A8_AB43);
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
    }

    #[test]
    fn identifiers_made_at_the_same_moment_differ() {
        let made: std::collections::BTreeSet<u64> = (0..10_000).map(|_| new_identifier()).collect();
        assert_eq!(made.len(), 10_000);
    }

    #[test]
    fn a_control_file_without_a_checksum_is_left_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("global")).unwrap();
        fs::create_dir(dir.path().join("pg_wal")).unwrap();
        let path = dir.path().join("global/pg_control");
        for broken in [&b""[..], &[7; 8192]] {
            fs::write(&path, broken).unwrap();
            let error = renew(dir.path()).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
            assert_eq!(fs::read(&path).unwrap(), broken);
        }
    }
}
