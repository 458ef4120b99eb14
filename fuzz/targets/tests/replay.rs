//! The corpus, and every input that once broke something, through their targets.

use std::collections::BTreeSet;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pgdyno_fuzz::TARGETS;

const BYTES_MAX: u64 = 2 << 20;
/// One input: far more than any takes, also on a busy machine.
const TIME_MAX: Duration = Duration::from_secs(5);

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

/// The files of a target in `corpus` and `found`.
fn files(target: &str) -> Vec<PathBuf> {
    let folders = ["corpus", "found"].map(|kind| folder(kind).join(target));
    let entries = folders
        .iter()
        .filter_map(|folder| std::fs::read_dir(folder).ok());
    entries
        .flatten()
        .map(|entry| entry.unwrap().path())
        .collect()
}

#[test]
fn nothing_in_the_corpus_breaks_its_target() {
    for target in TARGETS {
        for file in files(target.name) {
            let bytes = std::fs::read(&file).unwrap();
            let begun = Instant::now();
            let broken = catch_unwind(|| (target.run)(&bytes)).is_err();
            let again = format!(
                "cargo run -q -p pgdyno-fuzz -- {} {}",
                target.name,
                file.display()
            );
            assert!(!broken, "again: {again}");
            assert!(begun.elapsed() < TIME_MAX, "slow: {again}");
        }
    }
}

#[test]
fn every_target_has_a_corpus_and_every_corpus_a_target() {
    let known: BTreeSet<String> = TARGETS.iter().map(|t| t.name.to_owned()).collect();
    assert_eq!(known.len(), TARGETS.len(), "two of one name");
    for kind in ["corpus", "found", "words"] {
        for entry in std::fs::read_dir(folder(kind)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(known.contains(&name), "fuzz/{kind}/{name} has no target");
        }
    }
    for target in TARGETS {
        assert!(
            files(target.name).len() > 2,
            "{} has no corpus",
            target.name
        );
    }
}

#[test]
fn the_corpus_is_small() {
    let files = TARGETS.iter().flat_map(|target| files(target.name));
    let bytes: u64 = files.map(|file| file.metadata().unwrap().len()).sum();
    assert!(bytes <= BYTES_MAX, "{bytes} bytes: scripts/fuzz minimize");
}
