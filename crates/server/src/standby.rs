//! Standbys of a private server: made from a running primary, promoted and killed.
//!
//! Only `postgres` is needed, no pg_basebackup and no pg_ctl. The copy is a low-level base backup (manual of
//! PostgreSQL, "Making a Base Backup Using the Low Level API"): one session starts it, the data directory is
//! copied file by file while the primary works on, and the session ends it. The standby streams the rest.
//! initdb's own pg_hba.conf trusts replication on the Unix socket and on loopback, and PostgreSQL's
//! defaults of wal_level and max_wal_senders allow it.
//!
//! Not for: who decides when to fail over (pgdyno's laboratory does).

use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::{Duration, Instant};

use pgdyno_session::{Env, Given, Session, quote_literal, resolve};

use crate::account::Account;
use crate::address::{Address, Listen};
use crate::error::{Error, Result};
use crate::instance::Instance;
use crate::postmaster;
use crate::server::{Options, Server};
use crate::setting::Setting;
use crate::step::Step;

/// WAL that a primary keeps for a standby that is behind, so that it need not be made again. A setting of
/// PostgreSQL 13 and newer.
const WAL_KEPT: (&str, &str) = ("wal_keep_size", "1GB");
/// Where a standby receives from; read again without a restart from PostgreSQL 13 on.
const PRIMARY: &str = "primary_conninfo";
const OLDEST_MAJOR: u32 = 13;
const PAUSE: Duration = Duration::from_millis(5);

/// Directories whose files belong to the running server and not to a copy (manual of PostgreSQL, "Backing
/// Up the Data Directory"). pg_wal is among them: the standby streams what it needs.
const LEFT_OUT: [&str; 8] = [
    "pg_wal",
    "pg_replslot",
    "pg_dynshmem",
    "pg_notify",
    "pg_serial",
    "pg_snapshots",
    "pg_stat_tmp",
    "pg_subtrans",
];
/// The same of files, wherever they lie; what begins with `pgsql_tmp` too.
const FILES_LEFT_OUT: [&str; 7] = [
    "postmaster.pid",
    "postmaster.opts",
    "pg_internal.init",
    "backup_label",
    "tablespace_map",
    "standby.signal",
    "promote",
];

/// A standby to be made.
#[derive(Debug, Clone)]
pub struct Standby {
    /// Its `application_name`, by which `synchronous_standby_names` knows it.
    pub name: String,
    /// Where it reaches the primary by TCP; none: at the primary's Unix socket.
    pub via: Option<SocketAddr>,
}

impl Standby {
    /// One that reaches its primary directly.
    pub fn named(name: &str) -> Standby {
        Standby {
            name: name.into(),
            via: None,
        }
    }

    fn conninfo(&self, primary: &Address) -> String {
        let quoted = |text: &str| text.replace('\\', "\\\\").replace('\'', "\\'");
        let (host, port) = match self.via {
            Some(address) => (address.ip().to_string(), address.port()),
            None => (
                primary.socket_dir.to_string_lossy().into_owned(),
                primary.port,
            ),
        };
        format!(
            "user=postgres host='{}' port={port} sslmode=disable application_name='{}'",
            quoted(&host),
            quoted(&self.name)
        )
    }
}

impl Server {
    /// Makes a standby of this server, which must be a primary, and returns when it streams. It has the
    /// settings that this server was started with, listens as this one does, and ends as every server
    /// of its kind.
    ///
    /// # Errors
    /// The primary is older than 13 or has tablespaces, there is no room for the copy, or the standby does
    /// not start or does not stream in time. No process and no directory of it is left then.
    pub fn standby(&self, standby: &Standby, on_step: &mut dyn FnMut(Step)) -> Result<Server> {
        if self.version().major < OLDEST_MAJOR {
            return Err(failed(
                format!("make a standby of PostgreSQL {}", self.version()),
                format!("pgdyno makes them from version {OLDEST_MAJOR} on"),
            ));
        }
        on_step(Step::Copying);
        let own = self.settings_of(standby)?;
        let mut options = self.options().clone();
        options.listen = match options.listen {
            Listen::SocketOnly => Listen::SocketOnly,
            Listen::Loopback(_) => Listen::Loopback(0),
        };
        options.settings.extend(own);
        let instance = Instance::create(&options.parent(&options.cache()?)?, self.account())?;
        self.copy_to(&instance, &options)?;
        on_step(Step::Starting);
        let server = Server::on(instance, self.installation(), self.account(), options)?;
        self.wait_for(&standby.name, "streaming", &server)?;
        Ok(server)
    }

    /// Throws the data of this server away, which may have been killed, and makes it a standby of `primary`, at
    /// the address that it has. Returns when it streams.
    ///
    /// # Errors
    /// As [`Server::standby`]; it does not run then.
    pub fn rejoin(&self, primary: &Server, standby: &Standby) -> Result<()> {
        self.with_plan(|_, _, child| {
            if postmaster::end(child) {
                Ok(())
            } else {
                Err(failed("throw the data away", "the server does not end"))
            }
        })?;
        let data_dir = self.data_dir();
        if data_dir.exists() {
            fs::remove_dir_all(&data_dir).map_err(Error::file("remove", &data_dir))?;
        }
        self.forget_changes(primary.settings_of(standby)?);
        primary.copy_to(self.instance(), self.options())?;
        self.restart()?;
        primary.wait_for(&standby.name, "streaming", self)
    }

    /// The settings that make a standby of this server, which keeps enough for it from now on.
    fn settings_of(&self, standby: &Standby) -> Result<Vec<Setting>> {
        let keep = Setting::new(WAL_KEPT.0, WAL_KEPT.1)?;
        self.set(std::slice::from_ref(&keep))?;
        Ok(vec![
            keep,
            Setting::new(PRIMARY, &standby.conninfo(self.address()))?,
            Setting::new("cluster_name", &standby.name)?,
            // When it is promoted there is no standby to wait for.
            Setting::new("synchronous_standby_names", "")?,
        ])
    }

    fn copy_to(&self, instance: &Instance, options: &Options) -> Result<()> {
        let before_15 = self.version().major < 15;
        let mut session = self.session()?;
        let start = if before_15 {
            // Not exclusive: the label is returned, not written into the primary's directory.
            "SELECT pg_start_backup('pgdyno', true, false)"
        } else {
            "SELECT pg_backup_start('pgdyno', true)"
        };
        ask(&mut session, start)?;
        let new = instance.new_data_dir()?;
        self.account().give(&new)?;
        let copy = Copy {
            account: self.account(),
            interrupted: options.interrupted,
        };
        copy.directory(&self.data_dir(), &new)?;
        let stop = if before_15 {
            // It does not wait for an archive.
            "SELECT labelfile, spcmapfile FROM pg_stop_backup(false, false)"
        } else {
            "SELECT labelfile, spcmapfile FROM pg_backup_stop(false)"
        };
        let mut label = ask(&mut session, stop)?.into_iter().flatten();
        let label = label.next().unwrap_or_default();
        for (name, text) in [("backup_label", label.as_str()), ("standby.signal", "")] {
            let path = new.join(name);
            fs::write(&path, text).map_err(Error::file("write", &path))?;
            self.account().give(&path)?;
        }
        let data_dir = instance.data_dir();
        fs::rename(&new, &data_dir).map_err(Error::file("move the copy to", &data_dir))
    }

    /// Has commits wait for standbys: `synchronous_standby_names`, such as `ANY 1 (a, b)`; empty: they wait
    /// for none. Returns when that is in effect.
    ///
    /// # Errors
    /// The value is wrong, or no standby of that name streams in time.
    pub fn wait_at_commit_for(&self, names: &str) -> Result<()> {
        self.set(&[Setting::new("synchronous_standby_names", names)?])?;
        let names = quote_literal(names);
        let sync =
            "SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')";
        let sql = format!(
            "SELECT current_setting('synchronous_standby_names') = {names} \
             AND ({names} = '') = (({sync}) = 0)"
        );
        self.until(&sql, "have commits wait for standbys", None)?;
        // It is the checkpointer that tells backends whether commits wait at all (src/backend/postmaster/
        // checkpointer.c), and it reads its settings before it makes a checkpoint.
        ask(&mut self.session()?, "CHECKPOINT").map(drop)
    }

    /// Makes this standby a primary. Returns when it takes writes.
    ///
    /// # Errors
    /// It is none, or it does not become one in time.
    pub fn promote(&self) -> Result<()> {
        if !self.data_dir().join("standby.signal").exists() {
            return Err(failed("promote the server", "it is no standby"));
        }
        self.with_plan(postmaster::promote)?;
        let sql = "SELECT NOT pg_is_in_recovery()";
        self.until(sql, "promote the standby", None)
    }

    /// Has this standby receive nothing more: what its primary commits from now on is lost if this one is
    /// promoted. Returns when that is so.
    ///
    /// # Errors
    /// It does not run, or goes on receiving for too long.
    pub fn stop_receiving(&self) -> Result<()> {
        self.set(&[Setting::new(PRIMARY, "")?])?;
        let sql = "SELECT count(*) = 0 FROM pg_stat_wal_receiver";
        self.until(sql, "have the standby receive nothing", None)
    }

    /// Takes [`Server::stop_receiving`] back.
    ///
    /// # Errors
    /// It does not run.
    pub fn receive_from(&self, primary: &Server, standby: &Standby) -> Result<()> {
        self.set(&[Setting::new(PRIMARY, &standby.conninfo(primary.address()))?])
    }

    /// Kills all of its processes at the same time, as a loss of power does; its data stay until it is
    /// dropped. [`Server::restart`] starts it again, which recovers them.
    ///
    /// # Errors
    /// It does not run.
    pub fn kill(&self) -> Result<()> {
        self.with_plan(|_, _, child| {
            postmaster::kill(child).map_err(|e| failed("kill the server", e))
        })
    }

    /// Waits until this standby has on its disk what this primary has now.
    ///
    /// # Errors
    /// It does not stream, or does not get there in time.
    pub fn wait_until_has_all(&self, name: &str, standby: &Server) -> Result<()> {
        let lsn = ask(&mut self.session()?, "SELECT pg_current_wal_lsn()")?;
        let lsn = lsn.into_iter().flatten().next().unwrap_or_default();
        let sql = format!(
            "SELECT count(*) > 0 FROM pg_stat_replication \
             WHERE application_name = {} AND flush_lsn >= {}",
            quote_literal(name),
            quote_literal(&lsn)
        );
        self.until(&sql, "have the standby catch up", Some(standby))
    }

    fn wait_for(&self, name: &str, state: &str, standby: &Server) -> Result<()> {
        let (name, state) = (quote_literal(name), quote_literal(state));
        let sql = format!(
            "SELECT count(*) > 0 FROM pg_stat_replication \
             WHERE application_name = {name} AND state = {state}"
        );
        self.until(&sql, "have the standby stream", Some(standby))
    }

    /// Waits until this is true on it.
    fn until(&self, sql: &str, what: &str, other: Option<&Server>) -> Result<()> {
        let options = self.options();
        let mut session = self.session()?;
        let start = Instant::now();
        loop {
            let answer = ask(&mut session, sql)?;
            if answer.first().and_then(|value| value.as_deref()) == Some("t") {
                return Ok(());
            }
            if (options.interrupted)() {
                return Err(Error::Interrupted);
            }
            if start.elapsed() > options.start_limit {
                let said = other.unwrap_or(self).last_words();
                let limit = options.start_limit.as_secs();
                return Err(failed(
                    what,
                    format!("not after {limit} s; it said:\n{said}"),
                ));
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// The values of a query's only row.
    pub(crate) fn ask(&self, sql: &str) -> Result<Vec<Option<String>>> {
        ask(&mut self.session()?, sql)
    }

    /// A session of pgdyno's own with it.
    fn session(&self) -> Result<Session> {
        let given = Given {
            target: Some(self.address().url()),
            fallback_application_name: Some("pgdyno".into()),
            ..Given::default()
        };
        let candidates = resolve(&given, &Env::empty())
            .and_then(|info| info.candidates())
            .map_err(|e| failed("connect to the server", e))?;
        Session::connect(&candidates.list, Some(self.options().start_limit))
            .map_err(|e| failed("connect to the server", e))
    }
}

/// The values of the only row.
fn ask(session: &mut Session, sql: &str) -> Result<Vec<Option<String>>> {
    let mut outcome = session
        .query(sql)
        .map_err(|e| failed(format!("execute {sql}"), e))?;
    Ok(outcome.rows.pop().unwrap_or_default())
}

fn failed(what: impl Into<String>, reason: impl ToString) -> Error {
    Error::Standby {
        what: what.into(),
        reason: reason.to_string(),
    }
}

/// Copies the files of a running server, which may vanish meanwhile: the WAL says what became of them.
struct Copy<'a> {
    account: &'a Account,
    interrupted: fn() -> bool,
}

impl Copy<'_> {
    fn directory(&self, from: &Path, to: &Path) -> Result<()> {
        for entry in fs::read_dir(from).map_err(Error::file("read", from))? {
            if (self.interrupted)() {
                return Err(Error::Interrupted);
            }
            let entry = entry.map_err(Error::file("read", from))?;
            let (source, target) = (entry.path(), to.join(entry.file_name()));
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if kind.is_symlink() {
                return Err(failed(
                    format!("copy \"{}\"", source.display()),
                    "a standby of a server with tablespaces is not made",
                ));
            }
            if kind.is_dir() {
                DirBuilder::new()
                    .mode(0o700)
                    .create(&target)
                    .map_err(Error::file("create directory", &target))?;
                self.account.give(&target)?;
                if !LEFT_OUT.contains(&&*name) {
                    self.directory(&source, &target)?;
                }
            } else if !FILES_LEFT_OUT.contains(&&*name) && !name.starts_with("pgsql_tmp") {
                match fs::copy(&source, &target) {
                    Ok(_) => self.account.give(&target)?,
                    Err(e) if e.kind() == ErrorKind::NotFound => {}
                    Err(e) => return Err(Error::file("copy", &source)(e)),
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standby_finds_its_primary_by_any_path_or_through_a_proxy() {
        let primary = Address {
            socket_dir: r"/a b/it's \".into(),
            port: 5433,
            loopback: false,
        };
        let mut standby = Standby::named("one");
        assert_eq!(
            standby.conninfo(&primary),
            r"user=postgres host='/a b/it\'s \\' port=5433 sslmode=disable application_name='one'"
        );
        standby.via = Some(([127, 0, 0, 1], 7000).into());
        let through = standby.conninfo(&primary);
        assert!(through.contains("host='127.0.0.1' port=7000 "), "{through}");
    }
}
