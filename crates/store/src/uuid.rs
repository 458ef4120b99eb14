//! Names of trials and experiments that hold across stores: UUIDs of version 4 (RFC 9562, section
//! 5.4). Random ones, because people name trials by the first characters.

use std::fs::File;
use std::io::{self, Read};

/// A new one.
///
/// # Errors
/// The kernel gives no random numbers.
pub fn new() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let (a, b, c) = (&hex[..8], &hex[8..12], &hex[12..16]);
    Ok(format!("{a}-{b}-{c}-{}-{}", &hex[16..20], &hex[20..]))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_uuid_has_the_form_of_version_4_and_is_new_each_time() {
        let uuid = super::new().unwrap();
        let lengths: Vec<usize> = uuid.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert_eq!(&uuid[14..15], "4");
        assert!("89ab".contains(&uuid[19..20]), "{uuid}");
        assert_ne!(uuid, super::new().unwrap());
    }
}
