//! What a file is, in a few words that are kept with the tables loaded from it, and whether it still is.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::hex;

/// Files up to this size are read whole to know them again; of larger ones samples are read, as each run
/// asks.
const WHOLE_BYTES_MAX: u64 = 64 << 20;
/// So many blocks of a large file are read, evenly spread, the first and the last among them.
const SAMPLES: u64 = 256;
const SAMPLE_BYTES: u64 = 4096;
/// Digits of a hash that are kept.
const DIGITS: usize = 16;

/// Its size, the hash of all of it, and of a large one that of its samples.
pub(super) fn of(path: &Path, bytes: u64, sha256: &str) -> String {
    let whole = format!("{bytes} bytes {}", &sha256[..DIGITS]);
    match samples(path, bytes) {
        Ok(samples) if bytes > WHOLE_BYTES_MAX => format!("{whole} samples {samples}"),
        // Without them its size alone is compared.
        _ => whole,
    }
}

/// Whether the file that is there is surely another one than it was. What is gone was needed for the load alone;
/// of a large one a change between the samples is not seen.
pub(super) fn is_other(path: &Path, identity: &str) -> bool {
    let mut words = identity.split(' ');
    let then = words.next().and_then(|bytes| bytes.parse::<u64>().ok());
    let whole = words.nth(1);
    let sampled = words.nth(1);
    let now = std::fs::metadata(path).map(|found| found.len());
    let (Ok(now), Some(then)) = (now, then) else {
        return false;
    };
    if now != then {
        return true;
    }
    let (known, found) = if now > WHOLE_BYTES_MAX {
        (sampled, samples(path, now))
    } else {
        (whole, all(path))
    };
    known.is_some_and(|known| found.is_ok_and(|found| found != known))
}

fn all(path: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    add(File::open(path)?, &mut hash)?;
    Ok(hex(hash.finalize())[..DIGITS].to_owned())
}

fn add(mut from: impl Read, hash: &mut Sha256) -> io::Result<()> {
    let mut buffer = vec![0; SAMPLE_BYTES as usize * 16];
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(()),
            read => hash.update(&buffer[..read]),
        }
    }
}

fn samples(path: &Path, bytes: u64) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let last = bytes.saturating_sub(SAMPLE_BYTES);
    for sample in 0..SAMPLES {
        // In 128 bits, as the product may be more than 64.
        let at = u128::from(last) * u128::from(sample) / u128::from(SAMPLES - 1);
        file.seek(SeekFrom::Start(at as u64))?;
        add(Read::by_ref(&mut file).take(SAMPLE_BYTES), &mut hash)?;
    }
    Ok(hex(hash.finalize())[..DIGITS].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_small_file_is_another_one_when_a_byte_is() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "1,a\n2,b\n").unwrap();
        let sha256 = hex(Sha256::digest("1,a\n2,b\n"));
        let identity = of(file.path(), 8, &sha256);
        assert_eq!(identity, format!("8 bytes {}", &sha256[..16]));
        assert!(!is_other(file.path(), &identity));
        std::fs::write(file.path(), "1,a\n2,c\n").unwrap();
        assert!(is_other(file.path(), &identity));
        std::fs::write(file.path(), "1,a\n").unwrap();
        assert!(is_other(file.path(), &identity));
        let path = file.into_temp_path();
        std::fs::remove_file(&path).unwrap();
        assert!(!is_other(&path, &identity));
    }

    #[test]
    fn a_large_file_is_another_one_when_its_ends_are() {
        let bytes = WHOLE_BYTES_MAX + 5;
        let mut file = tempfile::NamedTempFile::new().unwrap();
        // It has no blocks on the disk.
        file.as_file().set_len(bytes).unwrap();
        let identity = of(file.path(), bytes, &"0".repeat(64));
        assert!(identity.contains(" samples ") && !is_other(file.path(), &identity));
        for at in [0, bytes - 1] {
            for (byte, is_changed) in [(b"x", true), (b"\0", false)] {
                file.seek(SeekFrom::Start(at)).unwrap();
                file.write_all(byte).unwrap();
                assert_eq!(is_other(file.path(), &identity), is_changed, "{at}");
            }
        }
    }
}
