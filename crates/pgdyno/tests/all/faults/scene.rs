//! One case: a server, perhaps a bad network before it, a hundred clients, a fault while they work, and
//! what is left when they have ended.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use pgdyno_link::{Delay, Direction, Link, LinkProxy};
use serde_json::Value;

use crate::child::{Running, wait_until};
use crate::faults::kinds::{Fault, Way};
use crate::faults::server::{Server, Template};
use crate::support::{Ran, pgdyno};

pub const CLIENTS: u64 = 100;
/// Transactions of a client, of 40 ms or more each.
pub const TRANSACTIONS: u64 = 40;

/// Each transaction inserts a row of its own. Every other one is a block, so that connections are lost
/// both where it is certain that nothing was committed, and where it is not.
const SCRIPT: &str = "\\set n :n + 1
\\sleep 40 ms
\\if :n % 2 = 0
insert into done values (:client_id, :n);
\\else
begin;
insert into done values (:client_id, :n);
\\sleep 3 ms
end;
\\endif
";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// `pgdyno pgbench`, not `pgdyno run`.
    pub as_pgbench: bool,
    pub reconnects: bool,
}

impl Call {
    pub const ALL: [Call; 4] = [
        Call::of(false, false),
        Call::of(false, true),
        Call::of(true, false),
        Call::of(true, true),
    ];

    const fn of(as_pgbench: bool, reconnects: bool) -> Call {
        Call {
            as_pgbench,
            reconnects,
        }
    }

    pub fn name(self) -> &'static str {
        match (self.as_pgbench, self.reconnects) {
            (false, false) => "run",
            (false, true) => "run --reconnect",
            (true, false) => "pgbench",
            (true, true) => "pgbench --reconnect",
        }
    }
}

/// A trial that runs, and the ways to harm it.
pub struct Scene {
    pub server: Server,
    pub link: Option<LinkProxy>,
    pub running: Running,
    pub dir: tempfile::TempDir,
}

/// What is left of it.
pub struct Left {
    pub ran: Ran,
    /// `--json`; none where the trial did not begin.
    pub document: Option<Value>,
    pub rows: u64,
    pub different_rows: u64,
    /// The sum of the highest numbers of all clients.
    pub highest: u64,
}

impl Scene {
    /// Runs a fault's trial to its end.
    pub fn play(template: &Template, fault: &Fault, call: Call) -> Left {
        let server = Server::start(template, fault.setup);
        let dir = tempfile::tempdir().unwrap();
        let link = link_of(fault.way, &server);
        let json = dir.path().join("result.json");
        let mut command = command(fault, call, dir.path(), &json);
        command.arg(url(fault, &server, link.as_ref()));
        let mut command = (fault.within)(dir.path(), command);
        let scene = Scene {
            running: Running::start(&mut command),
            server,
            link,
            dir,
        };
        scene.wait_for_clients(fault.clients);
        (fault.strike)(&scene);
        scene.over(&json)
    }

    /// Waits until so many clients have committed something.
    fn wait_for_clients(&self, clients: u64) {
        if clients == 0 {
            return;
        }
        let query = "SELECT count(DISTINCT client) FROM done";
        let mut session = self.server.admin("faults");
        wait_until("all clients at work", || {
            let outcome = session.query(query).unwrap();
            let value = outcome.rows[0][0].clone().unwrap();
            value.parse::<u64>().unwrap() >= clients
        });
    }

    /// A session's connection is lost: of so many clients.
    pub fn terminate(&self, clients: usize) {
        self.server.sql_in(
            "postgres",
            &format!(
                "SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity
                 WHERE usename = 'bench' ORDER BY query LIKE 'insert%' DESC LIMIT {clients}) b"
            ),
        );
    }

    /// The process of one client's session.
    pub fn backend(&self) -> u32 {
        // All may be at another statement just now: clients begin together.
        let query = "SELECT pid FROM pg_stat_activity WHERE usename = 'bench' \
            ORDER BY query LIKE 'insert%' DESC LIMIT 1";
        self.server.sql(query).parse().unwrap()
    }

    /// The network, where there is one of its own.
    pub fn link(&self) -> &LinkProxy {
        self.link.as_ref().unwrap()
    }

    fn over(self, json: &Path) -> Left {
        let ran = self.running.ended();
        drop(self.link);
        // What was still on its way when the clients had gone.
        let mut session = self.server.admin("faults");
        let query = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'bench'";
        wait_until("the end of all sessions", || {
            session.query(query).unwrap().rows[0][0].as_deref() == Some("0")
        });
        let query = "SELECT count(*), count(DISTINCT (client, n)),
            (SELECT coalesce(sum(n), 0) FROM (SELECT max(n) AS n FROM done GROUP BY client) t)
            FROM done";
        let outcome = session.query(query).unwrap();
        let numbers = outcome.rows[0].iter().flatten();
        let numbers: Vec<u64> = numbers.map(|text| text.parse().unwrap()).collect();
        // It is created before anything runs.
        let document = fs::read_to_string(json).ok();
        let document = document.filter(|text| !text.is_empty());
        Left {
            ran,
            document: document.map(|text| serde_json::from_str(&text).unwrap()),
            rows: numbers[0],
            different_rows: numbers[1],
            highest: numbers[2],
        }
    }
}

fn link_of(way: Way, server: &Server) -> Option<LinkProxy> {
    let ms = Duration::from_millis;
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], server.port()));
    let link = match way {
        Way::Direct | Way::Named(_) => return None,
        Way::Link => Link::to(address),
        Way::Late => {
            let delay = || Delay::of(ms(30));
            Link::to(address)
                .delay(Direction::ToServer, delay().with_jitter(ms(20), 7))
                .delay(Direction::ToClient, delay().with_jitter(ms(20), 8))
        }
    };
    Some(link.start().unwrap())
}

fn command(fault: &Fault, call: Call, dir: &Path, json: &Path) -> Command {
    let script: PathBuf = dir.join("script.sql");
    fs::write(&script, SCRIPT).unwrap();
    let script = script.to_str().unwrap();
    let mut command = if call.as_pgbench {
        pgdyno(&["pgbench", "-n", "-f", script, "-D", "n=0"])
    } else {
        pgdyno(&["run", script, "--param", "n=0"])
    };
    command.env("PGDYNO_STORE", dir.join("notebook.sqlite"));
    command.env("TMPDIR", dir);
    command.arg(format!("--json={}", json.display()));
    command.args(["-c", &CLIENTS.to_string(), "-j", "2"]);
    match fault.seconds {
        Some(seconds) => command.args(["-T", &seconds.to_string()]),
        None => command.args(["-t", &TRANSACTIONS.to_string()]),
    };
    command.args(fault.args);
    if call.reconnects {
        command.arg("--reconnect");
    }
    for option in (fault.files)(dir, call) {
        command.arg(option);
    }
    if !call.as_pgbench {
        command.arg("--url");
    }
    command
}

fn url(fault: &Fault, server: &Server, link: Option<&LinkProxy>) -> String {
    let port = link.map_or(server.port(), |link| link.address().port());
    let mut url = match (fault.way, server.root_certificate()) {
        (_, Some(root)) => format!(
            "host=localhost hostaddr=127.0.0.1 sslmode=verify-full sslrootcert={}",
            root.display()
        ),
        (Way::Named(name), _) => format!("host={name}"),
        _ => "host=127.0.0.1".to_owned(),
    };
    url.push_str(&format!(" port={port} user=bench dbname=faults"));
    if fault.setup.password {
        url.push_str(" password=first");
    }
    url
}
