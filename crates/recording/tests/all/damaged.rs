//! Damage: no panic, and what is lost is counted exactly where the file still says how much it was.

use pgdyno_recording::Reader;
use pgdyno_stats::SplitMix64;

use crate::drawn::{draw, read, write};

#[test]
fn a_torn_file_gives_what_is_whole_and_says_that_its_end_is_missing() {
    let events = draw(5, 15_000);
    let bytes = write(&events);
    let mut draw = SplitMix64(1);
    let mut some = 0;
    for _ in 0..20 {
        let length = 200 + (draw.next() % (bytes.len() as u64 - 201)) as usize;
        let (again, reader) = read(&bytes[..length]);
        assert!(reader.losses().is_torn && reader.ending().is_none());
        assert!(again.len() < events.len());
        some += again.len();
    }
    assert!(some > 0);
}

#[test]
fn of_a_damaged_file_whole_blocks_are_read_and_lost_events_are_counted() {
    let events = draw(6, 20_000);
    let bytes = write(&events);
    let mut draw = SplitMix64(2);
    let mut damaged = 0;
    for _ in 0..20 {
        let mut bytes = bytes.clone();
        // Not the first block, which says what it is, and not the last one.
        let at = 400 + (draw.next() % (bytes.len() as u64 - 800)) as usize;
        match draw.next() % 3 {
            0 => bytes[at] ^= 1 << (draw.next() % 8),
            1 => drop(bytes.drain(at..at + 1 + (draw.next() % 300) as usize)),
            _ => (0..40).for_each(|_| bytes.insert(at, draw.next() as u8)),
        }
        let (again, reader) = read(&bytes);
        let losses = reader.losses();
        assert!(!losses.is_torn, "{losses:?}");
        assert_eq!(
            again.len() as u64 + losses.events,
            events.len() as u64,
            "{losses:?}"
        );
        assert!(losses.blocks <= 2, "{losses:?}");
        damaged += u64::from(losses.events > 0);
    }
    assert!(damaged > 15);
}

#[test]
fn any_bytes_behind_the_mark_are_read_without_a_panic() {
    let bytes = write(&draw(7, 100));
    let mut draw = SplitMix64(3);
    for _ in 0..500 {
        let mut bytes = bytes.clone();
        for _ in 0..1 + draw.next() % 20 {
            let at = 8 + (draw.next() % (bytes.len() as u64 - 8)) as usize;
            bytes[at] = draw.next() as u8;
        }
        if let Ok(mut reader) = Reader::new(&bytes[..]) {
            while let Some(_block) = reader.next_block().unwrap() {}
        }
    }
}
