//! The result of a run that could not be written to the notebook, in a file of its own.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use pgdyno_spec::Failure;
use serde::Serialize;

use crate::sorted;

/// Writes the result of a run that is not kept to a file in `TMPDIR`, readable by its user only. Gives
/// the failure that says why it is not kept and where the file is.
pub fn rescued(failure: Failure, document: &impl Serialize) -> Failure {
    let folder = std::env::temp_dir();
    let failure = Failure {
        message: format!("this run is not kept: {}", failure.message),
        ..failure
    };
    match write(&folder, document) {
        Ok(path) => failure.detail(format!("its complete result is in {}", path.display())),
        Err(error) => failure.detail(format!(
            "its result could not be written to {} either: {error}",
            folder.display()
        )),
    }
}

fn write(folder: &Path, document: &impl Serialize) -> io::Result<PathBuf> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let seconds = now.unwrap_or_default().as_secs();
    let name = format!("pgdyno-result-{seconds}-{}.json", std::process::id());
    let path = folder.join(name);
    let text = sorted(document).map_err(|failure| io::Error::other(failure.message))?;
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)?;
    match file.write_all(format!("{text:#}\n").as_bytes()) {
        Ok(()) => Ok(path),
        Err(error) => {
            // Half a result is worse than none.
            let _ = std::fs::remove_file(&path);
            Err(error)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_result_goes_to_a_file_of_its_users_own_or_says_why_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = write(folder.path(), &json!({ "b": 1, "a": 2 })).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "{\n  \"a\": 2,\n  \"b\": 1\n}\n");
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(write(&folder.path().join("none"), &json!(1)).is_err());
    }
}
