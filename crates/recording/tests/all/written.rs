//! What is written is read.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;

use pgdyno_recording::{About, Error, FORMAT, NewFile, Reader, Writer};

use crate::drawn::{Drawn, draw, read, write};

/// Statements of ten seconds and more have blocks of their own.
fn sorted(events: Vec<Drawn>) -> Vec<String> {
    let mut texts: Vec<String> = events.iter().map(|event| format!("{event:?}")).collect();
    texts.sort();
    texts
}

#[test]
fn every_event_comes_back_as_it_was() {
    for seed in 0..3 {
        let events = draw(seed, 10_000);
        let bytes = write(&events);
        let (again, reader) = read(&bytes);
        assert_eq!(sorted(again), sorted(events.clone()));
        assert!(reader.losses().is_none());
        let ending = reader.ending().unwrap();
        let is_statement = |event: &&Drawn| matches!(event, Drawn::Statement(_));
        assert_eq!(
            ending.statements,
            events.iter().filter(is_statement).count() as u64
        );
        assert_eq!(ending.unsaid["kind"], 3);
        assert_eq!(reader.about().sources, ["a.csv"]);
    }
}

#[test]
fn a_file_has_its_name_once_it_is_whole_and_is_its_owners_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("r");
    std::fs::write(dir.path().join("r.part"), "left over").unwrap();
    let mut file = NewFile::create(&path).unwrap();
    file.write_all(b"x").unwrap();
    assert!(!path.exists());
    file.finish().unwrap();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(
        (mode & 0o777, std::fs::read(&path).unwrap()),
        (0o600, b"x".to_vec())
    );
    assert!(NewFile::create(&dir.path().join("no/r")).is_err());
}

#[test]
fn other_files_and_newer_formats_are_refused() {
    assert!(matches!(
        Reader::new(&b"hello, I am no recording"[..]),
        Err(Error::NotARecording)
    ));
    assert!(matches!(Reader::new(&b""[..]), Err(Error::NotARecording)));
    let about = About {
        format: FORMAT + 1,
        ..About::default()
    };
    let bytes = Writer::new(Vec::new(), &about)
        .unwrap()
        .finish(Default::default())
        .unwrap()
        .0;
    assert!(matches!(Reader::new(&bytes[..]), Err(Error::Format(format)) if format > FORMAT));
}
