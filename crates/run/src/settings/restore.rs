//! Putting back what sweeps that died have left changed.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use pgdyno_platform::proc::{self, mounts};
use pgdyno_session::{Session, quote_literal};
use serde::Serialize;

use super::change::{SESSION, put_back, system_identifier};
use super::journal::{self, Leftover, Seen};
use pgdyno_database::open::{self, Target};
use pgdyno_database::{admin, trouble};
use pgdyno_spec::{Exit, Failure, TargetSpec};

/// By then the server has seen that a client is gone. A pooler keeps its session, idle, for longer.
const ENDS_WITHIN: Duration = Duration::from_secs(10);

/// What was put back on one server.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Restored {
    pub server: String,
    /// Each setting with what it is again in `postgresql.auto.conf`; nothing: it is out of it.
    pub settings: Vec<(String, Option<String>)>,
    /// Statements that were run to undo what disturbed a trial.
    pub undone: Vec<String>,
    /// Where something was mounted for it, and is not any more.
    pub unmounted: Vec<PathBuf>,
}

/// Puts everything back that sweeps left, on every server; `url` leads to the server if the journal
/// alone does not (a password). Also how many journals are in use.
///
/// # Errors
/// A server cannot be reached or refuses; journals before it are dealt with.
pub fn restore_all(directory: &Path, url: Option<&str>) -> Result<(Vec<Restored>, usize), Failure> {
    let mut restored = Vec::new();
    let mut in_use = 0;
    for seen in journal::all(directory)? {
        let leftover = match seen {
            Seen::InUse => {
                in_use += 1;
                continue;
            }
            Seen::Left(leftover) => leftover,
        };
        unmount_left(&leftover)?;
        if !leftover.is_of_server() && !leftover.unmount.is_empty() {
            // Its server has ended.
            restored.push(done(leftover)?);
            continue;
        }
        let place = leftover.path.display().to_string();
        let explain = |failure: Failure| {
            failure
                .detail(format!(
                    "settings of {} are in {place}",
                    leftover.header.title
                ))
                .hint("a server that needs a password: PGPASSWORD, or --url with all of it")
                .hint("if the server no longer exists, delete the file")
        };
        let wanted = TargetSpec::at(url.unwrap_or(&leftover.header.target));
        let target = open::existing(&wanted).map_err(explain)?;
        let target = target.ok_or_else(|| explain(Failure::new("there is no server")))?;
        let mut session = target.administer().map_err(explain)?;
        if !same_server(&leftover, &target, &mut session) {
            return Err(explain(Failure::with(
                Exit::Failed,
                format!(
                    "{} is another server than the one whose settings were changed",
                    target.title
                ),
            )));
        }
        put_back_left(&mut session, &leftover).map_err(explain)?;
        restored.push(done(leftover)?);
    }
    Ok((restored, in_use))
}

/// Puts back what was left on the server of this session.
///
/// # Errors
/// The server refuses, or a journal cannot be read.
pub fn put_back_for(
    directory: &Path,
    target: &Target,
    session: &mut Session,
) -> Result<Vec<Restored>, Failure> {
    let mut restored = Vec::new();
    for seen in journal::all(directory)? {
        if let Seen::Left(leftover) = seen
            && same_server(&leftover, target, session)
        {
            put_back_left(session, &leftover)?;
            restored.push(done(leftover)?);
        }
    }
    Ok(restored)
}

/// The addresses of servers that sweeps have left changed.
///
/// # Errors
/// A journal cannot be read.
pub fn left_changed(directory: &Path) -> Result<BTreeSet<String>, Failure> {
    let seen = journal::all(directory)?.into_iter();
    let left = seen.filter_map(|seen| match seen {
        Seen::Left(leftover) if leftover.unmount.is_empty() => Some(leftover.header.target),
        Seen::Left(_) | Seen::InUse => None,
    });
    Ok(left.collect())
}

/// Puts back what is in the journal once the server has executed what the killed sweep sent it last: that
/// would change it again.
fn put_back_left(session: &mut Session, leftover: &Leftover) -> Result<(), Failure> {
    if let Some(last) = &leftover.session {
        // Idle, it may not have read yet what was sent. Busy with anything else, it will read no more.
        let is_there = format!(
            "SELECT 1 FROM pg_stat_activity WHERE {SESSION} = {} \
             AND (state = 'idle' OR query ILIKE 'alter system%')",
            quote_literal(last)
        );
        let began = Instant::now();
        let failed = |e| trouble::server(&e, "could not look for the session of a sweep that died");
        while admin::value(session, &is_there).map_err(failed)?.is_some()
            && began.elapsed() < ENDS_WITHIN
        {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    if !leftover.found.is_empty() {
        put_back(session, &leftover.found)?;
    }
    undo_left(session, leftover)
}

/// Undoes what disturbed a trial, once the session that did it is gone: it may still be at it.
fn undo_left(session: &mut Session, leftover: &Leftover) -> Result<(), Failure> {
    if leftover.undo.is_empty() {
        return Ok(());
    }
    let failed = |e| trouble::server(&e, "could not undo what disturbed a trial");
    if let Some(last) = &leftover.session {
        let of_it = format!(
            "FROM pg_stat_activity WHERE {SESSION} = {}",
            quote_literal(last)
        );
        let end = format!("SELECT pg_terminate_backend(pid) {of_it}");
        let is_there = format!("SELECT 1 {of_it}");
        admin::run(session, &end).map_err(failed)?;
        let began = Instant::now();
        while admin::value(session, &is_there).map_err(failed)?.is_some()
            && began.elapsed() < ENDS_WITHIN
        {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    for statement in leftover.undo.iter().rev() {
        admin::run(session, statement).map_err(failed)?;
    }
    Ok(())
}

/// Unmounts what is still mounted, once the processes of its server have ended.
fn unmount_left(leftover: &Leftover) -> Result<(), Failure> {
    for point in &leftover.unmount {
        unmount(point, ENDS_WITHIN).map_err(|why| {
            Failure::new(format!("could not unmount {}: {why}", point.display())).hint(format!(
                "its journal is {}; end what uses it, and try again",
                leftover.path.display()
            ))
        })?;
    }
    Ok(())
}

/// Unmounts what is mounted there, if anything is, trying so long while something uses it (umount(8)).
///
/// # Errors
/// It is still mounted: what umount said.
pub fn unmount(point: &Path, within: Duration) -> Result<(), String> {
    let is_mounted = || {
        let mounted = proc::text("/proc/self/mountinfo").map_err(|e| e.to_string())?;
        let mounted = mounts::parse(&mounted);
        Ok::<_, String>(mounted.iter().any(|mount| mount.point == point))
    };
    let began = Instant::now();
    while is_mounted()? {
        let done = Command::new("umount").arg(point).output();
        let done = done.map_err(|e| format!("umount: {e}"))?;
        if !done.status.success() && began.elapsed() > within {
            let said = String::from_utf8_lossy(&done.stderr);
            return Err(said.trim().to_owned());
        }
        if !done.status.success() {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    Ok(())
}

fn same_server(leftover: &Leftover, target: &Target, session: &mut Session) -> bool {
    match (
        &leftover.header.system_identifier,
        system_identifier(session),
    ) {
        (Some(noted), Some(is)) => *noted == is,
        _ => leftover.header.target == target.administration_address(),
    }
}

fn done(leftover: Leftover) -> Result<Restored, Failure> {
    let restored = Restored {
        server: leftover.header.title.clone(),
        settings: leftover.found.clone().into_iter().collect(),
        undone: leftover.undo.clone(),
        unmounted: leftover.unmount.clone(),
    };
    leftover.remove()?;
    Ok(restored)
}

impl fmt::Display for Restored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let settings = self.settings.iter().map(|(name, before)| match before {
            Some(value) => format!("{name} is {value} again"),
            None => format!("{name} is no longer set"),
        });
        let undone = self.undone.iter().map(|sql| format!("undone by {sql}"));
        let unmounted = self.unmounted.iter();
        let unmounted = unmounted.map(|point| format!("{} is unmounted", point.display()));
        let all: Vec<_> = settings.chain(undone).chain(unmounted).collect();
        write!(f, "{}: {}", self.server, all.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Changes;

    #[test]
    fn settings_are_put_back_after_what_a_killed_sweep_had_sent_last() {
        let server = pgdyno_testkit::postgres_with(&[]);
        let wanted = TargetSpec::at(server.address().url());
        let target = open::existing(&wanted).unwrap().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut asking = target.connect().unwrap();
        let mut value = |sql: &str| admin::value(&mut asking, sql).unwrap();

        let mut killed = target.connect().unwrap();
        let mut changes = Changes::none(&target, None);
        let changed = [("bgwriter_delay".to_owned(), "111ms".to_owned())].into();
        changes
            .switch(&mut killed, &changed, folder.path())
            .unwrap();
        drop(changes);
        let pid = admin::value(&mut killed, "SELECT pg_backend_pid()");
        let pid = pid.unwrap().unwrap();
        let signal = |name: &str| {
            let sent = Command::new("kill")
                .args([name, pid.as_str()])
                .status()
                .unwrap();
            assert!(sent.success(), "{name}");
        };
        signal("-STOP");
        std::thread::scope(|scope| {
            let last = "ALTER SYSTEM SET bgwriter_delay = '333ms'";
            scope.spawn(move || admin::run(&mut killed, last).unwrap());
            let restoring = scope.spawn(|| restore_all(folder.path(), None).unwrap());
            let waits = "SELECT 1 FROM pg_stat_activity \
                         WHERE pid <> pg_backend_pid() AND query LIKE '%alter system%'";
            let began = Instant::now();
            while value(waits).is_none() && began.elapsed() < ENDS_WITHIN / 2 {
                std::thread::sleep(Duration::from_millis(5));
            }
            signal("-CONT");
            assert_eq!(restoring.join().unwrap().0.len(), 1);
        });
        let left = "SELECT setting FROM pg_file_settings WHERE sourcefile LIKE '%auto.conf'";
        assert_eq!(value(left), None);
    }

    #[test]
    fn a_copy_of_the_same_cluster_is_another_server() {
        let [changed, other] = [(), ()].map(|()| pgdyno_testkit::postgres_with(&[]));
        let target = open::existing(&TargetSpec::at(changed.address().url()));
        let target = target.unwrap().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut session = target.connect().unwrap();
        let mut changes = Changes::none(&target, None);
        let setting = [("bgwriter_delay".to_owned(), "111ms".to_owned())].into();
        changes
            .switch(&mut session, &setting, folder.path())
            .unwrap();
        // Its sweep is gone.
        drop(changes);
        let other = other.address().url();
        let error = restore_all(folder.path(), Some(&other)).unwrap_err();
        assert!(error.to_string().contains("is another server"), "{error}");
        let (restored, _) = restore_all(folder.path(), None).unwrap();
        assert_eq!(restored.len(), 1);
    }
}
