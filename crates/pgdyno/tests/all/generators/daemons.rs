//! Programs that run beside a test and end with it: those of Slurm and Kubernetes.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use pgdyno_platform::child::{Signal, die_with_parent, spawn_from_lasting_thread};

/// Those of one engine; dropped, they end, the last first. What they print is in a folder.
pub struct Daemons {
    folder: tempfile::TempDir,
    running: Vec<(String, Child)>,
}

impl Daemons {
    pub fn new() -> Daemons {
        Daemons {
            folder: tempfile::tempdir().unwrap(),
            running: Vec::new(),
        }
    }

    /// Where their configurations, data and logs are.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Starts one; what it prints goes to NAME.out.
    pub fn start(&mut self, name: &str, mut command: Command) {
        let out = fs::File::create(self.folder().join(format!("{name}.out"))).unwrap();
        command
            .stdin(Stdio::null())
            .stdout(out.try_clone().unwrap())
            .stderr(out);
        die_with_parent(&mut command, Signal::Kill);
        let child = spawn_from_lasting_thread(command).unwrap();
        self.running.push((name.to_owned(), child));
    }

    pub fn kill(&mut self, name: &str) {
        let found = self.running.iter_mut().find(|(known, _)| known == name);
        let (_, child) = found.unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// The ends of all logs.
    fn logs(&self) -> String {
        let mut all = String::new();
        for entry in fs::read_dir(self.folder()).unwrap().flatten() {
            let path = entry.path();
            let is_log = path.extension().is_some_and(|e| e == "out");
            if let (true, Ok(text)) = (is_log, fs::read_to_string(&path)) {
                let lines: Vec<&str> = text.lines().collect();
                let last = lines[lines.len().saturating_sub(15)..].join("\n");
                all += &format!("== {}\n{last}\n", path.display());
            }
        }
        all
    }
}

impl Drop for Daemons {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{}", self.logs());
        }
        for (_, daemon) in self.running.iter_mut().rev() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}
