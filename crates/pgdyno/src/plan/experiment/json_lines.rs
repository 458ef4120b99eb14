//! A notebook that is one file of JSON lines: the experiment first, then each trial when it is
//! over. Described in `docs/experiments.md`.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::notebook::{Done, Finished, Identity, Notebook};
use super::schedule::{Role, Slot};
use crate::exit::Failure;
use crate::report::json::document;

/// Grows when a field changes its meaning or goes.
const FORMAT: u32 = 1;

/// The file, open for this sweep alone.
pub struct JsonLines {
    path: PathBuf,
    file: File,
    /// The experiment that is in it.
    header: Option<(i64, String)>,
    done: Vec<Done>,
}

impl JsonLines {
    /// A new file; to resume also one that is there.
    ///
    /// # Errors
    /// It is there and is not to be resumed, is no such file, is in use, cannot be opened.
    pub fn open(path: &Path, resume: bool) -> Result<JsonLines, Failure> {
        let place = path.display();
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        let opened = if resume {
            options.create(true).truncate(false).open(path)
        } else {
            options.create_new(true).open(path)
        };
        let file = match opened {
            Ok(file) => file,
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                return Err(Failure::new(format!("{place} exists already"))
                    .hint("--resume goes on with the experiment that is in it")
                    .hint("--out FILE writes another file"));
            }
            Err(e) => return Err(Failure::new(format!("could not open {place}: {e}"))),
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::new(format!("another sweep is writing {place}"))
                    .hint("wait for it, or choose another file: --out FILE"));
            }
            // Where files cannot be locked, nobody else is kept out.
            Err(TryLockError::Error(_)) => {}
        }
        let mut notebook = JsonLines {
            path: path.to_owned(),
            file,
            header: None,
            done: Vec::new(),
        };
        notebook.read()?;
        Ok(notebook)
    }

    fn failed(&self, doing: &str, e: &std::io::Error) -> Failure {
        Failure::new(format!("could not {doing} {}: {e}", self.path.display()))
    }

    fn read(&mut self) -> Result<(), Failure> {
        let mut bytes = Vec::new();
        let read = self.file.read_to_end(&mut bytes);
        read.map_err(|e| self.failed("read", &e))?;
        // A line without an end was being written when pgdyno died: its trial is not complete.
        let whole = bytes
            .iter()
            .rposition(|b| *b == b'\n')
            .map_or(0, |at| at + 1);
        // Only the first line is written alone; a torn one of ours begins like this.
        if whole == 0 && !bytes.is_empty() && !bytes.starts_with(b"{") {
            return Err(self.not_ours(1, "it does not begin like one"));
        }
        let text = std::str::from_utf8(&bytes[..whole]);
        let text = text.map_err(|_| self.not_ours(1, "it is not UTF-8"))?;
        for (number, line) in text.lines().enumerate() {
            let entry: Value = serde_json::from_str(line)
                .map_err(|e| self.not_ours(number + 1, &format!("it is not JSON ({e})")))?;
            if number == 0 {
                let (seed, sha256) = (&entry["experiment"]["seed"], &entry["experiment"]["sha256"]);
                match (seed.as_i64(), sha256.as_str()) {
                    (Some(seed), Some(sha256)) => self.header = Some((seed, sha256.to_owned())),
                    _ => return Err(self.not_ours(1, "it names no experiment")),
                }
            } else if entry["state"] == "complete" {
                let role = if entry["role"] == Role::Maximum.word() {
                    Role::Maximum
                } else {
                    Role::Point
                };
                let repeat = entry["repeat"].as_u64().unwrap_or(0) as u32;
                let goodput = entry["measured"]["goodput_per_s"].as_f64();
                self.done.push(Done {
                    key: (role, entry["point"].to_string(), repeat),
                    goodput_per_s: goodput.unwrap_or(0.0),
                });
            }
        }
        let cut = self.file.set_len(whole as u64);
        cut.and_then(|()| self.file.seek(SeekFrom::End(0)))
            .map_err(|e| self.failed("write", &e))?;
        Ok(())
    }

    fn not_ours(&self, line: usize, why: &str) -> Failure {
        Failure::new(format!(
            "{}:{line}: this is no file of pgdyno sweep: {why}",
            self.path.display()
        ))
        .hint("--out FILE writes another file")
    }

    fn write(&mut self, line: &Value) -> Result<(), Failure> {
        let text = format!("{line}\n");
        let written = self.file.write_all(text.as_bytes());
        let written = written.and_then(|()| self.file.sync_all());
        written.map_err(|e| self.failed("write", &e))
    }
}

impl Notebook for JsonLines {
    fn seed(&self) -> Option<i64> {
        self.header.as_ref().map(|(seed, _)| *seed)
    }

    fn begin_experiment(&mut self, identity: &Identity) -> Result<Vec<Done>, Failure> {
        match &self.header {
            None => {
                self.write(&json!({
                    "format": FORMAT,
                    "pgdyno": env!("CARGO_PKG_VERSION"),
                    "experiment": {
                        "name": identity.name,
                        "sha256": identity.sha256,
                        "seed": identity.seed,
                        "trials": identity.trials,
                        "definition": identity.definition,
                    },
                }))?;
                self.header = Some((identity.seed, identity.sha256.clone()));
            }
            Some((_, sha256)) if *sha256 != identity.sha256 => {
                return Err(Failure::new(format!(
                    "{} holds another experiment than {}: its points, workloads or hygiene differ",
                    self.path.display(),
                    identity.name
                ))
                .hint("--out FILE writes another file"));
            }
            Some(_) => {}
        }
        Ok(self.done.clone())
    }

    /// The file tells only what is over.
    fn begin_trial(&mut self, _slot: &Slot) -> Result<(), Failure> {
        Ok(())
    }

    fn finish_trial(&mut self, slot: &Slot, finished: &Finished<'_>) -> Result<(), Failure> {
        let mut line = Map::new();
        line.insert("role".to_owned(), json!(slot.role.word()));
        line.insert("point".to_owned(), slot.point.to_json());
        line.insert("repeat".to_owned(), json!(slot.repeat));
        line.insert("state".to_owned(), json!(finished.state.word()));
        line.insert("error".to_owned(), json!(finished.error));
        line.insert("before".to_owned(), finished.circumstances.to_json());
        if let Some(Value::Object(result)) = finished.outcome.map(document) {
            line.extend(result);
        }
        self.write(&Value::Object(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::experiment::notebook::{Circumstances, State};
    use crate::plan::experiment::point::Point;

    fn identity(sha256: &str) -> Identity {
        Identity {
            name: "e".to_owned(),
            sha256: sha256.to_owned(),
            seed: 7,
            trials: 2,
            definition: json!({}),
        }
    }

    fn slot(clients: u64) -> Slot {
        let values = [("clients".to_owned(), json!(clients))];
        Slot {
            index: 0,
            point: Point::new(values.into()),
            role: Role::Point,
            repeat: 1,
        }
    }

    fn finish(notebook: &mut JsonLines, clients: u64, state: State) {
        let finished = Finished {
            state,
            outcome: None,
            error: None,
            circumstances: &Circumstances::default(),
        };
        notebook.finish_trial(&slot(clients), &finished).unwrap();
    }

    #[test]
    fn what_is_complete_is_found_again_and_a_torn_line_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("e.jsonl");
        let mut notebook = JsonLines::open(&path, false).unwrap();
        assert_eq!(notebook.begin_experiment(&identity("a")).unwrap(), []);
        finish(&mut notebook, 1, State::Complete);
        finish(&mut notebook, 2, State::Failed);
        finish(&mut notebook, 3, State::Aborted);
        let e = JsonLines::open(&path, true).err().unwrap().to_string();
        assert!(e.contains("another sweep is writing"), "{e}");
        drop(notebook);
        let e = JsonLines::open(&path, false).err().unwrap().to_string();
        assert!(
            e.contains("exists already") && e.contains("--resume"),
            "{e}"
        );

        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"state\": \"complete\", \"repe").unwrap();
        drop(file);
        let mut notebook = JsonLines::open(&path, true).unwrap();
        assert_eq!(notebook.seed(), Some(7));
        let done = notebook.begin_experiment(&identity("a")).unwrap();
        let keys: Vec<_> = done.into_iter().map(|d| d.key).collect();
        assert_eq!(keys, [slot(1).key()]);
        finish(&mut notebook, 2, State::Complete);
        drop(notebook);
        let mut notebook = JsonLines::open(&path, true).unwrap();
        assert_eq!(notebook.begin_experiment(&identity("a")).unwrap().len(), 2);
        let e = notebook
            .begin_experiment(&identity("b"))
            .unwrap_err()
            .to_string();
        assert!(e.contains("holds another experiment"), "{e}");
    }

    #[test]
    fn a_file_of_somebody_else_is_not_touched() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mine");
        for text in ["hello\n", "{}\n", "hello"] {
            std::fs::write(&path, text).unwrap();
            let opened = JsonLines::open(&path, true);
            let e = opened
                .err()
                .unwrap_or_else(|| panic!("{text} was taken"))
                .to_string();
            assert!(e.contains("no file of pgdyno sweep"), "{e}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
        let e = JsonLines::open(&dir.path().join("no/where"), true)
            .err()
            .unwrap();
        assert!(e.to_string().contains("could not open"), "{e}");
    }
}
