//! `cockroach start-single-node`: pgdyno's own PostgreSQL at cockroach's port, with cockroach's user,
//! so that the default URL of `cockroach workload` leads to it. It says that it is no CockroachDB.

use std::time::Duration;

use pgdyno_database::{admin, own, trouble};
use pgdyno_output::{remark, write_answer};
use pgdyno_server::kept::{self, Running};
use pgdyno_server::{Cache, Listen};
use pgdyno_spec::{Exit, Failure, OwnSpec};

use super::flags::{ParsedFlags, go_values as go};
use super::tables;

/// The commands that start it.
pub const NAMES: [&str; 2] = ["start-single-node", "start"];

const PORT: u16 = 26257;
/// SQLSTATE of a role that is there.
const ROLE_IS_THERE: &str = "42710";

/// Starts it; without `--background` it runs until it is interrupted.
///
/// # Errors
/// What failed.
pub fn open(parsed: &ParsedFlags) -> Result<u8, Failure> {
    let port = port(parsed)?;
    let interrupts = pgdyno_run::interrupts()?;
    let options = own::options(&OwnSpec::default(), Listen::Loopback(port))?;
    let seen = interrupts.count();
    let (running, started) = kept::start(&options, &mut |step| remark!("pgdyno: {step}"))
        .map_err(trouble::own_server)?;
    if !running.address.loopback || running.address.port != port {
        let text = format!(
            "pgdyno's server runs already, at port {}",
            running.address.port
        );
        return Err(Failure::new(text).hint("stop it first: pgdyno server stop"));
    }
    make_root(&running)?;
    if let Some(path) = parsed.given("pid-file") {
        std::fs::write(path, format!("{}\n", running.pid))
            .map_err(|e| Failure::new(format!("--pid-file: could not write {path}: {e}")))?;
    }
    write_answer(format_args!("{}", banner(&running, port, started)))?;
    let is_background = parsed
        .given("background")
        .is_some_and(|text| go::bool(text) == Ok(true));
    if is_background || !started {
        return Ok(Exit::Ok.code());
    }
    while interrupts.count() == seen {
        interrupts.wait_beyond(seen, Duration::from_secs(3600));
    }
    let cache = Cache::from_env().map_err(trouble::own_server)?;
    kept::stop(&cache, false).map_err(trouble::own_server)?;
    write_answer(format_args!("server shut down; its data are kept\n"))?;
    Ok(Exit::Ok.code())
}

/// The port to listen on, if all that is asked for can be had.
fn port(parsed: &ParsedFlags) -> Result<u16, Failure> {
    let is_insecure = parsed
        .given("insecure")
        .is_some_and(|text| go::bool(text) == Ok(true));
    if !is_insecure {
        return Err(Failure::new("pgdyno's server has no certificates")
            .hint("start it with --insecure: it listens on this machine alone"));
    }
    let address = parsed.given("listen-addr").unwrap_or_default();
    let (host, port) = address.rsplit_once(':').unwrap_or((address, ""));
    let host = parsed.given("host").unwrap_or(host);
    if !["", "localhost", "127.0.0.1"].contains(&host) {
        let text = format!("pgdyno's server listens on 127.0.0.1 alone, not on {host}");
        return Err(Failure::new(text).hint("leave out the address: --listen-addr=:26257"));
    }
    let port = parsed.given("port").unwrap_or(port);
    match port {
        "" => Ok(PORT),
        port => port
            .parse()
            .ok()
            .filter(|port| *port > 0)
            .ok_or_else(|| Failure::new(format!("{port} is no port: it must be 1 to 65535"))),
    }
}

/// The user of cockroach's default URL.
fn make_root(running: &Running) -> Result<(), Failure> {
    let target = tables::target(vec![running.address.url()])?;
    let (mut session, _) = tables::session(&target)?;
    match admin::rows(&mut session, "CREATE ROLE root SUPERUSER LOGIN") {
        Err(error) if error.sqlstate() != Some(ROLE_IS_THERE) => {
            return Err(trouble::server(&error, "could not create the user root"));
        }
        _ => session.close(),
    }
    Ok(())
}

/// What it is, in the form in which cockroach says it.
fn banner(running: &Running, port: u16, started: bool) -> String {
    let state = if started { "started" } else { "runs already" };
    let (data, log) = (running.data_dir.display(), running.log_path.display());
    format!(
        "\
PostgreSQL node {state} (pgdyno's private server, not CockroachDB)
build:               PostgreSQL {}
sql:                 postgresql://root@localhost:{port}?sslmode=disable
client flags:        psql 'postgresql://root@localhost:{port}/postgres?sslmode=disable'
logs:                {log}
store[0]:            path={data}
stop it:             pgdyno server stop
",
        running.version
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::{node, parse};

    #[test]
    fn it_listens_where_cockroach_does_or_says_why_not() {
        let port = |line: &str| {
            let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let flags: Vec<_> = node::FLAGS.iter().collect();
            port(&parse(&flags, &arguments).unwrap()).map_err(|failure| failure.message)
        };
        assert_eq!(port("--insecure").unwrap(), 26257);
        assert_eq!(
            port("--insecure --listen-addr=localhost:4000").unwrap(),
            4000
        );
        assert_eq!(port("--insecure --listen-addr=:4001").unwrap(), 4001);
        assert_eq!(
            port("--insecure --port=4002 --host=localhost").unwrap(),
            4002
        );
        assert!(port("").unwrap_err().contains("no certificates"));
        assert!(
            port("--insecure --host=0.0.0.0")
                .unwrap_err()
                .contains("127.0.0.1 alone")
        );
        assert_eq!(
            port("--insecure --listen-addr=:x").unwrap_err(),
            "x is no port: it must be 1 to 65535"
        );
    }
}
