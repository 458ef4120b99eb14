//! Whether the server runs on this host, and as which processes: found out from the other end of a
//! connection, never from an address alone. Behind an address of this host may be a tunnel, a proxy
//! or a pooler to another one; behind an address that is none of it, a container of this host.
//!
//! The evidence: the server says which process serves a session and since when, and here is a process
//! of that id (in its own namespace, if it is a container's), of that time and of the product's name;
//! or a process of the product's name has the other end of the connection's socket. What is less than
//! that is not taken for an answer.
//!
//! Beside it: what its processes have used ([`CpuMeter`]), and which disk has its data ([`Device`]).

mod backends;
mod connection;
mod device;
mod processes;
mod usage;

use std::time::Duration;

use pgdyno_platform::address;
use pgdyno_platform::cpu_time::ThreadClock;
use pgdyno_session::Session;
use pgdyno_wire::Addr;

use super::admin;
use super::dialect::Dialect;
use super::open::{Endpoint, Target};
pub use backends::{Backends, Worked};
pub use device::Device;
use processes::Proc;
pub use processes::Process;
pub use usage::CpuMeter;

/// How long a connection may take that is made to see its other end.
const CONNECT_LIMIT: Duration = Duration::from_secs(3);
/// How long the server may take to answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(3);
/// So many endpoints are looked at: more are never on one host with pgdyno.
const ENDPOINTS_MAX: usize = 16;

/// Where a server is, seen from here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// On this host: the process at the top of those that are the server.
    Here(Process),
    /// Perhaps: why nothing better can be said.
    Unclear(String),
    /// On another host, as far as can be seen: why.
    Elsewhere(String),
}

/// Where the servers of a target are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Located {
    pub places: Vec<(String, Place)>,
}

/// What this host is to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Clients and at least one server are here.
    ClientAndServer,
    /// Clients are here, and no server is.
    Client,
    /// Clients are here; of servers nothing certain is known.
    ClientPerhapsServer,
}

impl Role {
    pub fn word(self) -> &'static str {
        match self {
            Role::ClientAndServer => "client and server",
            Role::Client => "client",
            Role::ClientPerhapsServer => "client, perhaps server",
        }
    }
}

impl Located {
    /// Connects to the target's endpoints and looks for their processes.
    pub fn find(target: &Target, dialect: &Dialect) -> Located {
        let looked_at = target.endpoints.iter().take(ENDPOINTS_MAX);
        let places = looked_at.map(|endpoint| (endpoint.name.clone(), place(endpoint, dialect)));
        Located {
            places: places.collect(),
        }
    }

    pub fn role(&self) -> Role {
        let mut places = self.places.iter().map(|(_, place)| place);
        if places.clone().any(|place| matches!(place, Place::Here(_))) {
            Role::ClientAndServer
        } else if places.any(|place| matches!(place, Place::Unclear(_))) {
            Role::ClientPerhapsServer
        } else {
            Role::Client
        }
    }

    /// The processes of servers that are here, each once.
    pub fn processes(&self) -> Vec<&Process> {
        let mut all: Vec<&Process> = Vec::new();
        for (_, place) in &self.places {
            match place {
                Place::Here(process) if !all.contains(&process) => all.push(process),
                _ => {}
            }
        }
        all
    }

    /// The first endpoint that this process serves; empty when there is none.
    pub fn endpoint_of(&self, process: &Process) -> &str {
        let is_it = |place: &Place| matches!(place, Place::Here(here) if here == process);
        let mut places = self.places.iter();
        let found = places.find(|(_, place)| is_it(place));
        found.map_or("", |(endpoint, _)| endpoint)
    }

    /// Why, for people: a clause for each endpoint.
    pub fn why(&self) -> String {
        let clause = |(endpoint, place): &(String, Place)| match place {
            Place::Here(process) => {
                let Process { name, pid, .. } = process;
                format!("{endpoint} is served by process {pid} ({name}) of this host")
            }
            Place::Unclear(why) | Place::Elsewhere(why) => format!("{endpoint}: {why}"),
        };
        self.places
            .iter()
            .map(clause)
            .collect::<Vec<_>>()
            .join("; ")
    }
}

fn place(endpoint: &Endpoint, dialect: &Dialect) -> Place {
    let proc = Proc::of_kernel();
    match dialect.processes.of_session {
        Some(query) => by_session(endpoint, dialect, query, &proc),
        None => by_connection(endpoint, dialect, &proc),
    }
}

/// The server tells which of its processes serves the session.
fn by_session(endpoint: &Endpoint, dialect: &Dialect, query: &str, proc: &Proc) -> Place {
    let mut session = match endpoint.connect() {
        Ok(session) => session,
        Err(e) => return Place::Unclear(one_line(&e.to_string())),
    };
    let place = serving(&mut session, dialect, query, proc);
    session.close();
    place
}

/// Where the server of a session is; `None` where sessions have no process of their own.
pub fn of_session(session: &mut Session, dialect: &Dialect) -> Option<Place> {
    let query = dialect.processes.of_session?;
    Some(serving(session, dialect, query, &Proc::of_kernel()))
}

fn serving(session: &mut Session, dialect: &Dialect, query: &str, proc: &Proc) -> Place {
    session.set_answer_timeout(Some(ANSWER_LIMIT));
    let wanted = match wanted(session, query) {
        Ok(wanted) => wanted,
        Err(why) => return Place::Unclear(why),
    };
    match proc.serving(&wanted, dialect.processes.names) {
        Ok(process) => Place::Here(process),
        Err(why) => absent(&session.candidate().addr, &why),
    }
}

fn wanted(session: &mut Session, query: &str) -> Result<processes::Wanted, String> {
    let rows = admin::rows(session, query).map_err(|e| one_line(&e.to_string()))?;
    let mut row = rows.into_iter().next().unwrap_or_default().into_iter();
    let mut next = || row.next().flatten();
    let pid = next().and_then(|text| text.parse().ok());
    let started_s = next().and_then(|text| text.parse().ok());
    let (Some(pid), Some(started_s)) = (pid, started_s) else {
        return Err("the server does not report its process".to_owned());
    };
    let port = next().and_then(|text| text.parse().ok());
    Ok(processes::Wanted {
        pid,
        started_s,
        port,
    })
}

/// What the scheduler counts of the server's process for a session; `None` where sessions have no process of their
/// own, or it is not seen from here.
pub fn session_clock(session: &mut Session, dialect: &Dialect) -> Option<ThreadClock> {
    let wanted = wanted(session, dialect.processes.of_session?).ok()?;
    Proc::of_kernel().clock(&wanted, dialect.processes.names)
}

/// The kernel tells who has the other end of a connection.
fn by_connection(endpoint: &Endpoint, dialect: &Dialect, proc: &Proc) -> Place {
    let mut last = Place::Unclear("there is no address".to_owned());
    for candidate in &endpoint.candidates {
        let Addr::Tcp(addr) = &candidate.addr else {
            let why = "its process cannot be identified over a Unix socket";
            last = Place::Unclear(why.to_owned());
            continue;
        };
        last = match connection::other_end(*addr, CONNECT_LIMIT, dialect.processes.names, proc) {
            Ok(Ok(process)) => return Place::Here(process),
            Ok(Err(why)) => return absent(&candidate.addr, &why),
            Err(e) => Place::Unclear(format!("{addr}: {e}")),
        };
    }
    last
}

/// No process here is the server: what that means depends on where the connection went.
fn absent(addr: &Addr, why: &str) -> Place {
    match addr {
        Addr::Unix(_) => Place::Unclear(format!(
            "the socket is of this host, but {why}: a pooler is between, or a container hides them"
        )),
        Addr::Tcp(addr) => match address::is_local(addr.ip()) {
            Ok(true) => Place::Unclear(format!(
                "{} is an address of this host, but {why}: a tunnel, a proxy or a container is \
                 between",
                addr.ip()
            )),
            Ok(false) => Place::Elsewhere(format!(
                "{} is no address of this host, and {why}",
                addr.ip()
            )),
            Err(e) => Place::Unclear(format!("this host's addresses cannot be listed: {e}")),
        },
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{COCKROACHDB, POSTGRESQL};
    use crate::open::{self};
    use pgdyno_spec::TargetSpec;
    use std::net::{TcpListener, TcpStream};

    fn target(url: &str) -> Target {
        let found = open::existing(&TargetSpec::at(url)).map(Option::unwrap);
        found.unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn a_server_of_this_host_is_found_over_its_socket_and_over_loopback() {
        let server = pgdyno_testkit::postgres();
        let tcp = server.address().loopback_url().expect("it listens there");
        for url in [server.address().url(), tcp] {
            let located = Located::find(&target(&url), &POSTGRESQL);
            let [process] = located.processes()[..] else {
                panic!("{located:?}");
            };
            assert_eq!(process.pid, server.pid());
            assert_eq!(located.role(), Role::ClientAndServer);
            let why = located.why();
            assert!(why.contains("(postgres) of this host"), "{why}");
        }
    }

    #[test]
    fn a_proxy_of_this_host_is_not_taken_for_a_server_and_what_is_behind_it_is_found() {
        let server = pgdyno_testkit::postgres();
        let proxy = pgdyno_testkit::RecordingProxy::start(server.address().socket_path());
        let address = proxy.tcp_address();
        let url = format!("postgresql://postgres@{address}/postgres?sslmode=disable");
        // PostgreSQL tells its process, whatever is between.
        let located = Located::find(&target(&url), &POSTGRESQL);
        assert_eq!(located.processes()[0].pid, server.pid());
        // Where only the socket could tell, nothing is claimed: the other end is this test's.
        let located = Located::find(&target(&url), &COCKROACHDB);
        assert_eq!(located.role(), Role::ClientPerhapsServer, "{located:?}");
        let why = located.why();
        assert!(why.contains("a tunnel, a proxy or a container"), "{why}");
    }

    #[test]
    fn who_has_the_other_end_is_found_by_its_name() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let accepting = std::thread::spawn(move || listener.accept().map(|(open, _)| open));
        let own = std::fs::read_to_string("/proc/self/comm").unwrap();
        let proc = Proc::of_kernel();
        let found = connection::other_end(addr, CONNECT_LIMIT, &[own.trim()], &proc);
        assert_eq!(found.unwrap().unwrap().pid, std::process::id());
        let open: TcpStream = accepting.join().unwrap().unwrap();
        drop(open);
    }

    #[test]
    fn an_address_elsewhere_without_a_process_here_is_elsewhere() {
        let addr = |text: &str| Addr::Tcp(text.parse().unwrap());
        let Place::Elsewhere(why) = absent(&addr("192.0.2.1:5432"), "no server is there") else {
            panic!();
        };
        assert_eq!(
            why,
            "192.0.2.1 is no address of this host, and no server is there"
        );
        let unclear = absent(&addr("127.0.0.1:5432"), "no server is there");
        assert!(matches!(unclear, Place::Unclear(_)));
        let unclear = absent(
            &Addr::Unix("/tmp/.s.PGSQL.5432".into()),
            "no server is there",
        );
        assert!(matches!(unclear, Place::Unclear(why) if why.contains("a pooler")));
    }

    #[test]
    fn a_server_that_does_not_answer_leaves_it_open() {
        let addr = pgdyno_testkit::closed_address();
        let url = format!("postgresql://me@{addr}/d?sslmode=disable");
        for dialect in [&POSTGRESQL, &COCKROACHDB] {
            let located = Located::find(&target(&url), dialect);
            assert_eq!(located.role(), Role::ClientPerhapsServer);
            assert!(located.why().contains("refused"), "{}", located.why());
        }
    }

    #[test]
    fn one_server_here_makes_this_host_its_host_too() {
        let process = Process {
            pid: 7,
            name: "cockroach".to_owned(),
            started_ticks: 1,
        };
        let elsewhere = Place::Elsewhere("far".to_owned());
        let both = |places: Vec<Place>| Located {
            places: places.into_iter().map(|p| ("e".to_owned(), p)).collect(),
        };
        let here = Place::Here(process);
        let located = both(vec![elsewhere.clone(), here.clone(), here]);
        assert_eq!(located.role().word(), "client and server");
        assert_eq!(located.processes().len(), 1);
        assert_eq!(located.endpoint_of(located.processes()[0]), "e");
        assert_eq!(both(vec![elsewhere.clone()]).role().word(), "client");
        let unclear = both(vec![elsewhere, Place::Unclear("?".to_owned())]);
        assert_eq!(unclear.role().word(), "client, perhaps server");
    }
}
