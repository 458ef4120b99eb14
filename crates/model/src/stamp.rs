//! Points in time as the store has them: UTC, to the microsecond, in a form that sorts as text and
//! that SQLite's date functions read.

use std::time::SystemTime;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

pub fn stamp(time: SystemTime) -> String {
    let t = OffsetDateTime::from(time);
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z",
        t.year(),
        u8::from(t.month()),
        t.day(),
        t.hour(),
        t.minute(),
        t.second(),
        t.microsecond()
    )
}

pub fn read(stamp: &str) -> Option<SystemTime> {
    OffsetDateTime::parse(stamp, &Rfc3339)
        .ok()
        .map(SystemTime::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn a_stamp_is_read_again() {
        let time = UNIX_EPOCH + Duration::from_micros(1_769_860_800_000_001);
        assert_eq!(stamp(time), "2026-01-31T12:00:00.000001Z");
        assert_eq!(read(&stamp(time)), Some(time));
        assert_eq!(read("yesterday"), None);
    }
}
