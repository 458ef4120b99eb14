//! Where the random numbers begin.

use std::fs::File;
use std::io::{self, Read};
use std::time::{SystemTime, UNIX_EPOCH};

use pgdyno_script::SeedChoice;

pub fn from_clock() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    since_1970.unwrap_or_default().as_micros() as u64
}

/// The number that was asked for.
///
/// # Errors
/// The system has no random numbers to give.
pub fn choose(choice: SeedChoice) -> io::Result<u64> {
    match choice {
        SeedChoice::Number(number) => Ok(number),
        SeedChoice::Time => Ok(from_clock()),
        SeedChoice::Rand => {
            let mut bytes = [0; 8];
            File::open("/dev/urandom")?.read_exact(&mut bytes)?;
            Ok(u64::from_ne_bytes(bytes))
        }
    }
}
