//! Storage as slow as a limit needs it: a library preloaded into the server's processes delays their
//! calls (`slow_storage.c`). It is built with `cc`; without one there is no slow storage.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Calls that can be delayed, in the order of the control file.
#[derive(Debug, Clone, Copy)]
pub enum Call {
    /// A sync of the log: it has the device for itself.
    WalSync,
    WalWrite,
    /// A sync of a table's file: it has the device for itself.
    DataSync,
    DataRead,
    DataWrite,
    /// A write beyond the end of a table's file, or room reserved there.
    Extension,
}

const CALLS: usize = 6;

/// Delays that are changed while the server runs.
#[derive(Debug)]
pub struct Storage {
    control: File,
    bindir: PathBuf,
}

impl Storage {
    /// Programs like those of `bindir`, whose server has the library preloaded; in `dir`, which the
    /// server's account must be able to reach. None without a C compiler.
    pub fn build(bindir: &Path, dir: &Path) -> Option<Storage> {
        let library = dir.join("slow_storage.so");
        let source = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/all/verdict/slow_storage.c"
        );
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-shared", "-fPIC", "-o"]);
        let compiled = compiler.arg(&library).args([source, "-ldl"]).status();
        if matches!(&compiled, Err(e) if e.kind() == io::ErrorKind::NotFound) {
            return None;
        }
        assert!(compiled.unwrap().success(), "{source} does not compile");

        let control = dir.join("delays");
        fs::write(&control, [0; CALLS * 4]).unwrap();
        // Locks of the server's processes on it are the device's queue.
        fs::set_permissions(&control, Permissions::from_mode(0o666)).unwrap();
        let own = dir.join("bin");
        fs::create_dir(&own).unwrap();
        for program in fs::read_dir(bindir).unwrap() {
            let program = program.unwrap().path();
            let name = program.file_name().unwrap();
            if name != OsStr::new("postgres") {
                symlink(&program, own.join(name)).unwrap();
            }
        }
        let postgres = own.join("postgres");
        let text = format!(
            "#!/bin/sh\nLD_PRELOAD='{}' SLOW_STORAGE='{}' exec '{}' \"$@\"\n",
            library.display(),
            control.display(),
            bindir.join("postgres").display()
        );
        fs::write(&postgres, text).unwrap();
        for path in [dir, &own, &postgres, &library] {
            fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
        }
        let control = File::options().write(true).open(control).unwrap();
        Some(Storage {
            control,
            bindir: own,
        })
    }

    pub fn bindir(&self) -> &Path {
        &self.bindir
    }

    /// From now on each such call takes so much longer, until the value is dropped.
    #[must_use]
    pub fn slow(&self, delays: &[(Call, u32)]) -> Slow<'_> {
        for &(call, us) in delays {
            let at = call as u64 * 4;
            self.control.write_all_at(&us.to_ne_bytes(), at).unwrap();
        }
        Slow(self)
    }
}

/// Storage that is slow until this is dropped.
pub struct Slow<'a>(&'a Storage);

impl Drop for Slow<'_> {
    fn drop(&mut self) {
        let _ = self.0.control.write_all_at(&[0; CALLS * 4], 0);
    }
}
