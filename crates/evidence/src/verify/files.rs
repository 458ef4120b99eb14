//! The files of a bundle beside its manifest.

use std::collections::BTreeSet;

use super::checker::Checker;
use crate::bundle::{Bundle, MANIFEST, sha256};

/// Whether each file is what the manifest says, and none is missing or too many.
pub fn check(checker: &mut Checker, bundle: &Bundle) {
    let manifest = &bundle.manifest;
    checker.of(None, MANIFEST);
    let whole = manifest.whole_of(&bundle.manifest_text);
    checker.hash("SHA-256 of the whole", &manifest.sha256, &whole);
    let mut named = BTreeSet::new();
    for part in &manifest.parts {
        named.insert(part.path.as_str());
        match bundle.parts.get(&part.path) {
            None => checker.holds(
                false,
                format!("the file {}", part.path),
                "named",
                "not in the bundle",
            ),
            Some(bytes) => {
                checker.hash(
                    format!("SHA-256 of {}", part.path),
                    &part.sha256,
                    &sha256(bytes),
                );
                checker.equal(
                    format!("bytes of {}", part.path),
                    part.bytes,
                    bytes.len() as u64,
                );
            }
        }
    }
    for path in bundle
        .parts
        .keys()
        .filter(|path| !named.contains(path.as_str()))
    {
        checker.holds(
            false,
            format!("the file {path}"),
            "in the bundle",
            "not named in the manifest",
        );
    }
}
