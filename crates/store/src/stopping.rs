//! Stopping a trial from outside: its process is asked to, as Ctrl-C does.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use pgdyno_platform::child::{Signal, send_signal};
use pgdyno_platform::process::{Identity, Life};
use pgdyno_spec::Failure;

use super::Store;
use crate::db::Optional;

/// The way from here to a trial's process.
enum Way {
    /// It is on this host and of this user.
    Signal(u32),
    /// There is none, for this reason.
    None(String),
}

impl Store {
    /// Why a running trial cannot be stopped from here, and how else; `None`: [`Store::stop`] can.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn cannot_stop(&self, number: i64) -> Result<Option<String>, Failure> {
        Ok(match self.way(number)? {
            Way::Signal(_) => None,
            Way::None(why) => Some(why),
        })
    }

    /// Does what Ctrl-C does in the trial's terminal: it ends, and keeps what it has measured. What
    /// runs it (a sweep) ends with it.
    ///
    /// # Errors
    /// As [`Store::cannot_stop`] says; the store cannot be read.
    pub fn stop(&self, number: i64) -> Result<(), Failure> {
        let pid = match self.way(number)? {
            Way::Signal(pid) => pid,
            Way::None(why) => return Err(Failure::new(why)),
        };
        send_signal(pid, Signal::Interrupt).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => Failure::new(format!("trial {number} has ended")),
            _ => Failure::new(format!("process {pid} cannot be signalled: {e}")),
        })
    }

    /// Whether a trial that did not say that it ended was run by a process of this host that has. A notebook
    /// in a file then ends it; into one on a server its rows may still be brought.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn is_gone(&self, number: i64) -> Result<bool, Failure> {
        let process = self.process(number)?;
        Ok(process.is_some_and(|process| process.life() == Life::Gone))
    }

    fn way(&self, number: i64) -> Result<Way, Failure> {
        Ok(self.process(number)?.map_or_else(
            || Way::None(format!("trial {number} does not run")),
            |process| way(number, &process),
        ))
    }

    /// Of a trial that has not ended.
    fn process(&self, number: i64) -> Result<Option<Identity>, Failure> {
        let sql = "SELECT pid, pid_started, pid_namespace, boot_id, host_name FROM trial_begun \
             WHERE number = ? AND pid IS NOT NULL \
             AND NOT EXISTS (SELECT 1 FROM trial_ended WHERE trial = number)";
        let found = self.db.query_row(sql, [number], |row| {
            Ok(Identity {
                pid: row.get(0)?,
                started_ticks: row.get(1)?,
                pid_namespace: row.get(2)?,
                boot_id: row.get(3)?,
                host: row.get(4)?,
            })
        });
        found.optional().map_err(self.failed("cannot read"))
    }
}

fn way(number: i64, process: &Identity) -> Way {
    let pid = process.pid;
    match process.life() {
        Life::Runs if is_ours(pid) => Way::Signal(pid),
        Life::Runs => Way::None(format!(
            "trial {number} runs as another user: press Ctrl-C where it was started, or have that user \
             run `kill -INT {pid}`"
        )),
        Life::Gone => Way::None(format!("the process of trial {number} has ended")),
        Life::OutOfSight => {
            let host = process.host.as_deref();
            let host = host.filter(|host| Some(*host) != Identity::of_self().host.as_deref());
            let place = host.map_or_else(
                || "in another container, or on a host that is not known".to_owned(),
                |host| format!("on host {host}"),
            );
            Way::None(format!(
                "trial {number} runs {place}: press Ctrl-C where it was started, or run \
                 `kill -INT {pid}` there"
            ))
        }
    }
}

/// Whether it is of this user, or this user may signal all.
fn is_ours(pid: u32) -> bool {
    let owner = |of: String| fs::metadata(format!("/proc/{of}")).ok().map(|it| it.uid());
    let (own, its) = (owner("self".to_owned()), owner(pid.to_string()));
    own == Some(0) || own.is_some() && own == its
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    use super::*;
    use crate::begin::example;
    use crate::db::params;

    #[test]
    fn a_trial_of_this_host_is_ended_and_others_are_not_touched() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("s")).unwrap();
        let writer = store.begin(&example()).unwrap();
        let number = writer.number();
        assert_eq!(store.cannot_stop(number).unwrap(), None);
        let set = |column: &str, value: &str| {
            let sql = format!("UPDATE trial_begun SET {column} = ? WHERE number = ?");
            store.db.execute(&sql, params![value, number]).unwrap();
        };
        // A process of our own takes its place: it ends by the signal.
        let mut sleeper = Command::new("sleep").arg("600").spawn().unwrap();
        set("pid", &sleeper.id().to_string());
        let why = store.cannot_stop(number).unwrap().unwrap();
        assert!(why.contains("has ended"), "another start time: {why}");
        let sql = "UPDATE trial_begun SET pid_started = NULL WHERE number = ?";
        store.db.execute(sql, [number]).unwrap();
        store.stop(number).unwrap();
        assert_eq!(sleeper.wait().unwrap().signal(), Some(2));
        let why = store.stop(number).unwrap_err().to_string();
        assert!(why.contains("has ended"), "{why}");
        set("host_name", "elsewhere");
        let why = store.stop(number).unwrap_err().to_string();
        assert!(
            why.contains("on host elsewhere") && why.contains("kill -INT"),
            "{why}"
        );
        writer.fail("enough").unwrap();
        let why = store.cannot_stop(number).unwrap().unwrap();
        assert!(why.contains("does not run"), "{why}");
    }
}
