//! PostgreSQL's programs, of which the server does a little more work for each message of its clients: a library
//! preloaded into it (`slow.c`).

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::preload;

/// Makes a program directory in this folder, which every user may read, whose programs are those of `bindir` and whose
/// server spins for this time with each message; not at all, they are the same by another name. `None` without a C
/// compiler (`cc`).
///
/// # Panics
/// The library does not compile, or the folder cannot be written.
pub fn programs(folder: &Path, bindir: &Path, spin: Duration) -> Option<PathBuf> {
    let library = preload::build(folder, "slow.so", include_bytes!("slow.c"))?;
    let made = folder.join("bin");
    fs::create_dir(&made).expect("a new folder");
    for program in fs::read_dir(bindir).expect("programs").flatten() {
        let name = program.file_name();
        let preload = if name == "postgres" {
            format!(
                "LD_PRELOAD='{}' PGDYNO_SPIN_NS={} ",
                library.display(),
                spin.as_nanos()
            )
        } else {
            String::new()
        };
        let real = program.path();
        let text = format!("#!/bin/sh\n{preload}exec '{}' \"$@\"\n", real.display());
        let path = made.join(&name);
        fs::write(&path, text).expect("a program");
        fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("ours");
    }
    for path in [folder, &made, &library] {
        fs::set_permissions(path, Permissions::from_mode(0o755)).expect("ours");
    }
    Some(made)
}
