//! Instruments on real servers of each major version, beside the server's own views.

mod counters;
mod events;
mod gaps;
mod locks;
mod sharing;
mod sizes;
mod statements;
mod waits;

use std::thread;
use std::time::{Duration, Instant};

use pgdyno_session::Session;

use super::place::Place;
use pgdyno_database::open::{self};
use pgdyno_spec::TargetSpec;

/// Runs a test on every major version, each as a test of its own; skipped by name where a version
/// cannot be had.
macro_rules! on_each_version {
    ($($name:ident),* $(,)?) => { $(
        mod $name {
            $crate::postgresql::tests::on_version!($name, v13, 13);
            $crate::postgresql::tests::on_version!($name, v14, 14);
            $crate::postgresql::tests::on_version!($name, v15, 15);
            $crate::postgresql::tests::on_version!($name, v16, 16);
            $crate::postgresql::tests::on_version!($name, v17, 17);
            $crate::postgresql::tests::on_version!($name, v18, 18);
        }
    )* };
}

macro_rules! on_version {
    ($test:ident, $name:ident, $major:literal) => {
        #[test]
        fn $name() {
            match pgdyno_testkit::postgres_of($major) {
                Ok(server) => super::$test(server, $major),
                Err(why) => pgdyno_testkit::skip!(
                    concat!(stringify!($test), "::", stringify!($name)),
                    format!("no PostgreSQL {}: {why}", $major)
                ),
            }
        }
    };
}

use {on_each_version, on_version};

/// A database of the test's own.
struct Database {
    url: String,
}

impl Database {
    /// An empty one of this name; with the extensions that instruments know if so wanted.
    fn new(server: &pgdyno_server::Server, name: &str, extensions: bool) -> Self {
        let url = server.address().url();
        let mut admin = session(&url);
        admin
            .simple_query(&format!("CREATE DATABASE {name}"))
            .unwrap();
        let url = url.replace("/postgres?", &format!("/{name}?"));
        let database = Self { url };
        if extensions {
            database.run("CREATE EXTENSION pg_stat_statements; CREATE EXTENSION pg_buffercache");
        }
        database
    }

    fn session(&self) -> Session {
        session(&self.url)
    }

    /// On a session of its own, which ends: what it did is counted then.
    fn run(&self, sql: &str) {
        let mut session = self.session();
        for statement in sql.split("; ") {
            let outcome = session.simple_query(statement);
            outcome.unwrap_or_else(|e| panic!("{statement}: {e}"));
        }
        session.close();
    }

    fn place(&self) -> Place {
        place(&self.url)
    }

    /// The same as another role.
    fn as_role(&self, role: &str) -> Self {
        let url = self.url.replace("postgres@", &format!("{role}@"));
        Self { url }
    }
}

fn session(url: &str) -> Session {
    let target = open::existing(&TargetSpec::at(url)).unwrap().unwrap();
    target.connect().unwrap()
}

fn place(url: &str) -> Place {
    let target = open::existing(&TargetSpec::at(url)).unwrap().unwrap();
    Place::new(target.endpoints[0].clone(), "")
}

/// Waits until it is so; a machine may be slow.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "never: {what}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// The first value as a number; 0 for NULL.
fn number(session: &mut Session, sql: &str) -> f64 {
    let value = session
        .query_one_value(sql)
        .unwrap_or_else(|e| panic!("{sql}: {e}"));
    value.map_or(0.0, |text| text.parse().unwrap())
}
