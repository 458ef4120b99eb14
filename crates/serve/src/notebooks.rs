//! Connections to the notebook, for any thread: opened when needed, kept for a while, opened anew when the
//! notebook was away or is another.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pgdyno_spec::{Exit, Failure};
use pgdyno_store::{Store, place};

/// A file is opened again after so long, since opening finds trials whose process is gone.
const FILE_AGE_MAX: Duration = Duration::from_secs(5);
/// So many unused connections are kept.
const IDLE_MAX: usize = 4;

/// A file: device and inode.
type NotebookIdentity = (u64, u64);

pub struct Notebooks {
    path: PathBuf,
    is_file: bool,
    idle: Mutex<Vec<IdleStore>>,
}

struct IdleStore {
    store: Store,
    opened: Instant,
    file: Option<NotebookIdentity>,
}

impl Notebooks {
    /// The notebook that this names: a file or a server.
    pub fn new(path: PathBuf) -> Self {
        Self {
            is_file: place::server(&path).is_none(),
            path,
            idle: Mutex::default(),
        }
    }

    /// Does this with a connection.
    ///
    /// # Errors
    /// The notebook cannot be used; what `work` says.
    pub fn with<T>(
        &self,
        mut work: impl FnMut(&Store) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let file = self.file();
        // A server may have hung up on a connection that was kept; a fresh one knows.
        if let Some(kept) = self.idle_store(file)
            && let Ok(done) = self.done(kept, &mut work)
        {
            return done;
        }
        let fresh = IdleStore {
            store: Store::existing(&self.path)?,
            opened: Instant::now(),
            file: self.file(),
        };
        self.done(fresh, &mut work).unwrap_or_else(Err)
    }

    /// What came of it: for good (`Ok`), or a failure of the connection.
    fn done<T>(
        &self,
        kept: IdleStore,
        work: &mut impl FnMut(&Store) -> Result<T, Failure>,
    ) -> Result<Result<T, Failure>, Failure> {
        let done = work(&kept.store);
        match done {
            Err(failure) if failure.exit != Exit::Usage => Err(failure),
            done => {
                let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
                if idle.len() < IDLE_MAX {
                    idle.push(kept);
                }
                Ok(done)
            }
        }
    }

    fn idle_store(&self, file: Option<NotebookIdentity>) -> Option<IdleStore> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|kept| {
            let is_young = !self.is_file || kept.opened.elapsed() < FILE_AGE_MAX;
            kept.file == file && is_young && (file.is_some() || !self.is_file)
        });
        idle.pop()
    }

    fn file(&self) -> Option<NotebookIdentity> {
        let file = self.is_file.then(|| std::fs::metadata(&self.path).ok());
        file.flatten().map(|file| (file.dev(), file.ino()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notebook_that_goes_away_is_missed_and_found_again() {
        let dir = tempfile::tempdir().unwrap();
        let (path, aside) = (dir.path().join("n"), dir.path().join("aside"));
        drop(Store::open(&path).unwrap());
        let notebooks = Notebooks::new(path.clone());
        let uuid =
            || notebooks.with(|store| store.trials(&pgdyno_model::notebook::Filter::default()));
        assert!(uuid().is_ok());
        assert_eq!(notebooks.idle.lock().unwrap().len(), 1);
        std::fs::rename(&path, &aside).unwrap();
        let failure = uuid().unwrap_err().to_string();
        assert!(failure.contains("there is no store at"), "{failure}");
        std::fs::rename(&aside, &path).unwrap();
        assert!(uuid().is_ok());
        // Another file in its place is not taken for the old one.
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "something else").unwrap();
        assert!(uuid().is_err());
    }
}
