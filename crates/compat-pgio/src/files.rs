//! Files: the scripts that pgio's users call, and what pgio leaves in its directory after a setup and
//! a run, under the same names.
//!
//! Not for: what is in them (`lines.rs`, `host.rs`).

use std::path::{Path, PathBuf};

use pgdyno_spec::{Exit, Failure};

/// The name of the file for a session of a table, both from 1.
pub fn session_file(table: u64, session: u64) -> String {
    format!(".pgio_schema_{table}_{session}.out")
}

/// A directory in which files of pgio's names are written.
#[derive(Debug)]
pub struct Folder<'a>(pub &'a Path);

impl Folder<'_> {
    /// Writes a file.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        let path = self.0.join(name);
        std::fs::write(&path, text).map_err(|e| {
            // Half a file is worse than none: the next try would take it for another's.
            let _ = std::fs::remove_file(&path);
            failed(&path, &e)
        })
    }

    /// Removes what an earlier run has left of the same names: `pgio_*.out` and `.pgio_*out`.
    ///
    /// # Errors
    /// The directory cannot be read, or a file not be removed.
    pub fn clean(&self) -> Result<(), Failure> {
        let all = std::fs::read_dir(self.0).map_err(|e| failed(self.0, &e))?;
        for entry in all {
            let path = entry.map_err(|e| failed(self.0, &e))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_old = (name.starts_with("pgio_") && name.ends_with(".out"))
                || (name.starts_with(".pgio_") && name.ends_with("out"));
            if is_old && path.is_file() {
                std::fs::remove_file(&path).map_err(|e| failed(&path, &e))?;
            }
        }
        Ok(())
    }
}

pub fn failed(path: &Path, e: &std::io::Error) -> Failure {
    Failure::new(format!("could not write {}: {e}", path.display()))
}

/// The second line of the scripts: what says that they may be written again.
const OURS: &str = "# Written by pgdyno pgio files: the rest is in pgio.conf.";

/// What pgio ships, for a directory without a configuration.
const CONF: &str = "\
UPDATE_PCT=0
RUN_TIME=120
NUM_SCHEMAS=4
NUM_THREADS=2
WORK_UNIT=255
UPDATE_WORK_UNIT=8
SCALE=1G

DBNAME=pg10
CONNECT_STRING=\"pg10\"

CREATE_BASE_TABLE=TRUE
";

/// Writes `setup.sh`, `runit.sh` and, where there is none, `pgio.conf`; the files that were written.
/// `program` is what the scripts call unless PGDYNO names another.
///
/// # Errors
/// The directory cannot be made, a file not be written, or a script is there which pgdyno did not
/// write.
pub fn write_scripts(folder: &Path, program: &str) -> Result<Vec<PathBuf>, Failure> {
    std::fs::create_dir_all(folder).map_err(|e| failed(folder, &e))?;
    let quoted = program.replace('\'', "'\\''");
    let verbs = [("setup.sh", "setup"), ("runit.sh", "run")];
    for (name, _) in verbs {
        let path = folder.join(name);
        let is_ours = match std::fs::read(&path) {
            Ok(text) => String::from_utf8_lossy(&text).contains(OURS),
            Err(_) => !path.exists(),
        };
        if !is_ours {
            let text = format!(
                "{} is there already, and pgdyno did not write it",
                path.display()
            );
            return Err(Failure::with(Exit::Usage, text).hint("name another directory"));
        }
    }
    let mut written = Vec::new();
    for (name, verb) in verbs {
        let text = format!(
            "#!/bin/sh\n{OURS}\n[ -n \"$PGDYNO\" ] || PGDYNO='{quoted}'; exec \"$PGDYNO\" pgio {verb} \"$@\"\n"
        );
        Folder(folder).write(name, &text)?;
        written.push(folder.join(name));
    }
    let conf = folder.join("pgio.conf");
    if !conf.exists() {
        Folder(folder).write("pgio.conf", CONF)?;
        written.push(conf);
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conf::Conf;

    #[test]
    fn scripts_are_written_again_but_never_over_anothers() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("a/pgio");
        let written = write_scripts(&folder, "/it's/pgdyno").unwrap();
        let names: Vec<_> = written
            .iter()
            .map(|path| path.file_name().unwrap())
            .collect();
        assert_eq!(names, ["setup.sh", "runit.sh", "pgio.conf"]);
        let script = std::fs::read_to_string(folder.join("runit.sh")).unwrap();
        assert!(script.contains("PGDYNO='/it'\\''s/pgdyno'; exec \"$PGDYNO\" pgio run \"$@\""));
        let (conf, others) = Conf::read("c", CONF, &|_| None).unwrap();
        assert_eq!((conf, others), (Conf::default(), Vec::new()));
        // The user's configuration stays.
        std::fs::write(folder.join("pgio.conf"), "SCALE=8M\n").unwrap();
        assert_eq!(write_scripts(&folder, "x").unwrap().len(), 2);
        assert_eq!(
            std::fs::read_to_string(folder.join("pgio.conf")).unwrap(),
            "SCALE=8M\n"
        );
        std::fs::write(folder.join("setup.sh"), "#!/bin/bash\n# pgio's own\n").unwrap();
        let failure = write_scripts(&folder, "y").unwrap_err();
        assert!(
            failure.message.contains("setup.sh is there already"),
            "{failure}"
        );
        let script = std::fs::read_to_string(folder.join("runit.sh")).unwrap();
        assert!(
            script.contains("PGDYNO='x'"),
            "nothing was changed: {script}"
        );
        let failure = write_scripts(&folder.join("pgio.conf/b"), "x").unwrap_err();
        assert!(failure.message.starts_with("could not write "), "{failure}");
    }

    #[test]
    fn a_run_removes_the_last_ones_files_and_no_others() {
        let dir = tempfile::tempdir().unwrap();
        let names = [
            ".pgio_schema_1_1.out",
            "pgio_session_detail.out",
            "pgio.conf",
            "iostat.out",
        ];
        for name in names {
            Folder(dir.path()).write(name, "x").unwrap();
        }
        Folder(dir.path()).clean().unwrap();
        let left = |name: &&str| dir.path().join(name).exists();
        let left: Vec<_> = names.into_iter().filter(left).collect();
        assert_eq!(left, ["pgio.conf", "iostat.out"]);
        let none = dir.path().join("none");
        let failure = Folder(&none).clean().unwrap_err();
        assert!(failure.message.contains("none"), "{failure}");
        let failure = Folder(&none).write(&session_file(1, 1), "").unwrap_err();
        assert!(
            failure.message.contains(".pgio_schema_1_1.out"),
            "{failure}"
        );
    }
}
