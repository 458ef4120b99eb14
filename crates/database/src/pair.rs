//! A private primary with its streaming standby: what `pgdyno lab failover` disturbs.
//!
//! After a failover the roles change: the killed server is made a standby of the promoted one, at the address
//! that it had, so that clients find both where they were and nothing is loaded again.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pgdyno_server::{Error, Result, Server, Setting, Standby, Step};
use pgdyno_spec::Replication;

/// What the two are called by the other (`application_name`).
const NAMES: [&str; 2] = ["pgdyno_a", "pgdyno_b"];

/// The settings of a standby that applies WAL late, and of commits that wait for that.
const LAG: (&str, &str) = ("recovery_min_apply_delay", "synchronous_commit");

/// Two servers of this run's own.
#[derive(Debug)]
pub struct Pair {
    servers: [Server; 2],
    replication: Replication,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Which of the two takes writes.
    primary: usize,
    /// Whether the other streams from it.
    is_whole: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailedOver {
    /// How long it took until no process of the primary was left.
    pub killed: Duration,
    /// From then until the standby took writes.
    pub promoted: Duration,
}

impl Pair {
    /// This server and a standby of it, which is started.
    ///
    /// # Errors
    /// As [`Server::standby`].
    pub fn of(
        primary: Server,
        replication: Replication,
        on_step: &mut dyn FnMut(Step),
    ) -> Result<Self> {
        let standby = primary.standby(&Standby::named(NAMES[1]), on_step)?;
        let pair = Self {
            servers: [primary, standby],
            replication,
            state: Mutex::new(State {
                primary: 0,
                is_whole: true,
            }),
        };
        pair.commits_wait(0)?;
        Ok(pair)
    }

    /// Where both are, as libpq's host list: libpq picks the one that takes writes.
    pub fn conninfo(&self) -> String {
        let addresses = self.servers.each_ref().map(Server::address);
        let hosts = addresses.map(|address| address.socket_dir.to_string_lossy().into_owned());
        let ports = addresses.map(|address| address.port.to_string());
        let hosts = hosts.join(",").replace('\\', "\\\\").replace('\'', "\\'");
        format!(
            "host='{hosts}' port={} user=postgres dbname=postgres target_session_attrs=read-write",
            ports.join(",")
        )
    }

    pub fn version(&self) -> &str {
        &self.servers[0].version().text
    }

    /// Whether commits wait for the standby.
    pub fn replication(&self) -> Replication {
        self.replication
    }

    /// Kills the primary, all of its processes at the same time, and promotes the standby.
    ///
    /// # Errors
    /// There is no standby that streams, or one of the two does not do it.
    pub fn fail_over(&self) -> Result<FailedOver> {
        let mut state = self.state();
        if !state.is_whole {
            return Err(Error::Standby {
                what: "fail over".to_owned(),
                reason: "the standby was promoted before, and there is no other".to_owned(),
            });
        }
        let (primary, standby) = (state.primary, 1 - state.primary);
        let begun = Instant::now();
        self.servers[primary].kill()?;
        state.is_whole = false;
        let killed = begun.elapsed();
        self.servers[standby].promote()?;
        state.primary = standby;
        Ok(FailedOver {
            killed,
            promoted: begun.elapsed().saturating_sub(killed),
        })
    }

    /// Has the standby receive nothing from now on, so that a failover loses what is committed later.
    ///
    /// # Errors
    /// It was promoted, or does not do it.
    pub fn stop_receiving(&self) -> Result<()> {
        let state = self.state();
        self.servers[1 - state.primary].stop_receiving()
    }

    /// Takes [`Pair::stop_receiving`] back, unless the standby was promoted.
    ///
    /// # Errors
    /// It does not run.
    pub fn receive_again(&self) -> Result<()> {
        let state = self.state();
        if !state.is_whole {
            return Ok(());
        }
        let (primary, standby) = (state.primary, 1 - state.primary);
        let name = Standby::named(NAMES[standby]);
        self.servers[standby].receive_from(&self.servers[primary], &name)
    }

    /// Makes it whole again after a failover: the server that was killed becomes the standby. Returns when
    /// the standby has everything that the primary has now.
    ///
    /// # Errors
    /// There is no primary, no standby of it can be made, or it does not catch up in time.
    pub fn make_ready(&self) -> Result<()> {
        let mut state = self.state();
        let (primary, standby) = (state.primary, 1 - state.primary);
        if !state.is_whole {
            let name = Standby::named(NAMES[standby]);
            self.servers[standby].rejoin(&self.servers[primary], &name)?;
            self.commits_wait(primary)?;
            state.is_whole = true;
        }
        self.servers[primary].wait_until_has_all(NAMES[standby], &self.servers[standby])
    }

    /// Has the standby apply WAL so much later, and commits wait until it has.
    ///
    /// # Errors
    /// One of the two does not run, or it was promoted.
    pub fn lag(&self, delay: Duration) -> Result<()> {
        let state = self.state();
        let delay = format!("{}ms", delay.as_millis());
        self.servers[1 - state.primary].set(&[Setting::new(LAG.0, &delay)?])?;
        self.servers[state.primary].set(&[Setting::new(LAG.1, "remote_apply")?])
    }

    /// Takes [`Pair::lag`] back.
    ///
    /// # Errors
    /// As there.
    pub fn keep_up(&self) -> Result<()> {
        let done = self.servers.each_ref().map(|it| it.unset(&[LAG.0, LAG.1]));
        done.into_iter().collect()
    }

    /// What the primary said last.
    pub fn last_words(&self) -> String {
        let primary = self.state().primary;
        self.servers[primary].last_words()
    }

    fn commits_wait(&self, primary: usize) -> Result<()> {
        match self.replication {
            Replication::Async => Ok(()),
            Replication::Sync => self.servers[primary].wait_at_commit_for(NAMES[1 - primary]),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // It is changed when something has been done, not before.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own;
    use pgdyno_server::{Listen, Options};

    #[test]
    fn roles_change_with_each_failover_and_nothing_is_lost_when_commits_wait() {
        let own = own::options(&Default::default(), Listen::SocketOnly).unwrap();
        let options = Options {
            bindir: Some(pgdyno_testkit::installation().bindir.clone()),
            cache: Some(pgdyno_testkit::cache()),
            settings: vec!["fsync=off".parse().unwrap()],
            ..own
        };
        let primary = Server::start(&options, &mut |_| {}).unwrap();
        let pair = Pair::of(primary, Replication::Sync, &mut |_| {}).unwrap();
        let mut given = pgdyno_session::Given::target(pair.conninfo());
        given.fallback_application_name = Some("test".to_owned());
        let execute = |sql: &str| {
            let info = pgdyno_session::resolve(&given, &pgdyno_session::Env::empty()).unwrap();
            let candidates = info.candidates().unwrap();
            let mut session =
                pgdyno_session::Session::connect(&candidates.list, Some(options.start_limit))
                    .unwrap();
            session.query_one_value(sql).unwrap().unwrap()
        };
        execute("CREATE TABLE t (n int); SELECT 1");
        pair.make_ready().unwrap();
        for times in 1..=2 {
            execute("INSERT INTO t VALUES (1) RETURNING n");
            let reported = pair.fail_over().unwrap();
            assert!(reported.promoted > Duration::ZERO);
            assert!(pair.fail_over().is_err(), "there is no standby");
            assert_eq!(execute("SELECT count(*) FROM t"), times.to_string());
            pair.make_ready().unwrap();
        }
    }
}
