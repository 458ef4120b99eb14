//! What outlives pgdyno when it is killed (kill -9): a shell that waits for its end of a pipe to close, and
//! then puts back what only a process can.

use std::io::{self, Write};
use std::process::{Child, Command, Stdio};

use pgdyno_platform::child;

/// A shell that runs its text when this process is gone. Dropped, it ends without having run it.
#[derive(Debug)]
pub struct Guard(Child);

impl Guard {
    /// Starts it. `undo` is a shell's text, in which nothing comes from a user.
    ///
    /// # Errors
    /// There is no shell.
    pub fn start(undo: &str) -> io::Result<Self> {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &format!("read line || {{ {undo}; }}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // Ctrl-C at the terminal is pgdyno's.
        child::new_session(&mut shell);
        shell.spawn().map(Self)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(mut stdin) = self.0.stdin.take() {
            let _ = stdin.write_all(b"done\n");
        }
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_undoes_only_when_its_process_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let undone = dir.path().join("undone");
        let text = format!("touch {}", undone.display());
        drop(Guard::start(&text).unwrap());
        assert!(!undone.exists());
        let mut guard = Guard::start(&text).unwrap();
        // As the kernel closes it.
        drop(guard.0.stdin.take());
        guard.0.wait().unwrap();
        assert!(undone.exists());
    }
}
