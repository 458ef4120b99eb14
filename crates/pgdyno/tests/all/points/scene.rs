//! Where a command is run again and again from the same beginning.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::child::Running;
use crate::support::{Database, Ran, pgdyno};

/// So many transactions has each trial here, of two clients.
pub const TRANSACTIONS: u64 = 40;

/// A database, and a folder that is put back before each run.
pub struct Scene {
    pub db: Database,
    /// A name that nothing else on the server has.
    pub name: String,
    dir: TempDir,
}

impl Scene {
    pub fn new(db: Database, name: &str) -> Scene {
        db.sql("CREATE TABLE visit (client int)");
        let dir = tempfile::tempdir().unwrap();
        for folder in ["begin", "work", "tmp"] {
            fs::create_dir(dir.path().join(folder)).unwrap();
        }
        let script = "insert into visit values (:client_id);\n";
        fs::write(dir.path().join("visit.sql"), script).unwrap();
        Scene {
            db,
            name: name.to_owned(),
            dir,
        }
    }

    /// A file outside of what is watched.
    pub fn beside(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.dir.path()).unwrap().join(name)
    }

    /// The folder whose files are watched.
    pub fn folder(&self) -> PathBuf {
        self.beside("work")
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    pub fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    pub fn script(&self) -> String {
        self.beside("visit.sql").display().to_string()
    }

    /// `pgdyno ARGS`, with everything that it writes by default in the folder, but for temporary files.
    pub fn pgdyno(&self, args: &[&str]) -> Command {
        let mut command = pgdyno(args);
        command
            .current_dir(self.folder())
            .env("XDG_DATA_HOME", self.path("data"))
            .env("PGDYNO_STORE", self.path("notebook.sqlite"))
            .env("PGDYNO_CACHE", self.path("cache"))
            .env("PGDYNO_SERVERS", self.path("cache/servers"))
            .env("TMPDIR", self.beside("tmp"));
        command
    }

    /// What is in the folder now is what every run finds there.
    pub fn keep(&self) {
        copy(&self.folder(), &self.beside("begin"));
    }

    pub fn reset(&self) {
        for folder in [self.folder(), self.beside("tmp")] {
            fs::remove_dir_all(&folder).unwrap();
            fs::create_dir(&folder).unwrap();
        }
        copy(&self.beside("begin"), &self.folder());
        self.db.sql("TRUNCATE visit");
    }

    /// Runs it, with its standard output in a file of the folder; one that hangs is killed, and the test
    /// fails.
    pub fn run(&self, command: &mut Command) -> Ran {
        let stdout = self.path("stdout.txt");
        command.stdout(File::create(&stdout).unwrap());
        let ran = Running::start_silent(command).ended();
        Ran {
            stdout: fs::read_to_string(&stdout).unwrap(),
            ..ran
        }
    }

    /// How many transactions have been committed since the folder was put back.
    pub fn committed(&self) -> u64 {
        let count = self.db.value("SELECT count(*) FROM visit");
        count.parse().unwrap()
    }

    /// The files in which results are rescued that could not be kept.
    pub fn rescued(&self) -> Vec<PathBuf> {
        let files = fs::read_dir(self.beside("tmp")).unwrap();
        files.map(|entry| entry.unwrap().path()).collect()
    }
}

/// Copies what is in a folder.
fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir_all(&target).unwrap();
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
