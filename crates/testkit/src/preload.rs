//! Libraries that are preloaded into a program under test, built of C when they are needed.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Builds one in a folder, by the name of its file. `None` without a C compiler (`cc`).
///
/// # Panics
/// It does not compile.
pub(crate) fn build(folder: &Path, name: &str, source: &[u8]) -> Option<PathBuf> {
    let library = folder.join(name);
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-Wall", "-shared", "-fPIC", "-x", "c", "-", "-o"]);
    let started = compiler
        .arg(&library)
        .arg("-ldl")
        .stdin(Stdio::piped())
        .spawn();
    let mut compiler = match started {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        started => started.expect("cc starts"),
    };
    let mut input = compiler.stdin.take().expect("piped");
    input.write_all(source).expect("cc reads");
    drop(input);
    assert!(compiler.wait().expect("our child").success());
    Some(library)
}
