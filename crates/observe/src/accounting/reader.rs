//! Reads everything at the barrier and again when the sessions have gone.

use std::collections::BTreeSet;
use std::time::Duration;

use pgdyno_platform::host;
use pgdyno_platform::proc::disk::Disk;
use pgdyno_session::Session;

use super::buffers::{Asker, Moment};
use super::cpu::{self, Postmaster};
use super::device;
use pgdyno_database::admin;
use pgdyno_database::dialect::Product;
use pgdyno_database::open::Target;
use pgdyno_model::Fact;
use pgdyno_model::document::{Accounting, Facts};

/// How long the server may stay silent after a trial: no result waits longer for it.
const ANSWER_LIMIT: Duration = Duration::from_secs(2);

/// Ready to read: a session is open, so that reading at the barrier delays no other for long.
pub struct Reader {
    server: Fact<Server>,
    facts: Facts,
    barrier: Option<Barrier>,
}

struct Server {
    session: Session,
    asker: Asker,
    postmaster: Fact<Postmaster>,
    database: String,
    block_bytes: u64,
    /// Sessions that were there before the clients came.
    before: BTreeSet<String>,
}

/// What was there when all sessions stood and none worked yet.
struct Barrier {
    moment: Fact<Moment>,
    device: Fact<Disk>,
    cpu_us: Fact<u64>,
}

impl Reader {
    /// For this server, before its clients connect.
    pub fn new(target: &Target, product: &Product, facts: &Facts) -> Self {
        let server = match &product.dialect.storage.buffers {
            Err(why) => Fact::Unknown((*why).to_owned()),
            Ok(buffers) => {
                let asker = Asker {
                    buffers,
                    version: product.version,
                };
                server(target, asker, facts)
            }
        };
        Self {
            server,
            facts: facts.clone(),
            barrier: None,
        }
    }

    /// All sessions stand, and none works yet.
    pub fn at_barrier(&mut self) {
        let (moment, cpu_us) = match &mut self.server {
            Fact::Known(server) => {
                let moment = server.asker.current(&mut server.session);
                (Fact::Known(moment), server.cpu_us())
            }
            Fact::Unknown(why) => (Fact::Unknown(why.clone()), Fact::Unknown(why.clone())),
        };
        self.barrier = Some(Barrier {
            moment,
            device: device::of(&self.facts),
            cpu_us,
        });
    }

    /// The sessions have gone. `elapsed_us` is from the barrier to the end of the last
    /// transaction. `None` when there was no barrier.
    pub fn after(&mut self, elapsed_us: u64, sessions: u64) -> Option<Accounting> {
        let barrier = self.barrier.take()?;
        if let Some(session) = self.session() {
            // The trial may have been interrupted.
            session.clean_up();
            session.set_answer_timeout(Some(ANSWER_LIMIT));
        }
        // The device and the CPU before anything that costs them something.
        let device = device::since(barrier.device);
        let cpu_us = match &self.server {
            Fact::Known(server) => server.cpu_us(),
            Fact::Unknown(why) => Fact::Unknown(why.clone()),
        };
        let cpu_us = barrier.cpu_us.and_then_known(|before| {
            cpu_us.and_then_known(|after| Fact::Known(after.saturating_sub(before)))
        });
        let unknown = |why: String| {
            (
                Fact::Unknown(why.clone()),
                Fact::Unknown(why.clone()),
                Fact::Unknown(why),
            )
        };
        let (buffers, io, wal_bytes) = match (barrier.moment, &mut self.server) {
            (Fact::Known(before), Fact::Known(server)) => {
                let after = server.asker.settled(&mut server.session, &server.before);
                let grown = before.until(after, &server.database, server.block_bytes);
                (grown.buffers, grown.io, grown.wal_bytes)
            }
            (Fact::Unknown(why), _) => unknown(why),
            (_, Fact::Unknown(why)) => unknown(why.clone()),
        };
        if let Some(session) = self.session() {
            session.set_answer_timeout(None);
        }
        let is_here = self.facts.same_host.known() == Some(&true);
        Some(Accounting {
            elapsed_us,
            sessions,
            cpus: is_here.then(|| host::cpus() as u64),
            buffers,
            io,
            wal_bytes,
            device,
            cpu_us,
            units: Vec::new(),
            expected: Fact::default(),
            nodes: Vec::new(),
        })
    }

    /// The session with the server, for more questions.
    pub fn session(&mut self) -> Option<&mut Session> {
        match &mut self.server {
            Fact::Known(server) => Some(&mut server.session),
            Fact::Unknown(_) => None,
        }
    }
}

impl Server {
    fn cpu_us(&self) -> Fact<u64> {
        match &self.postmaster {
            Fact::Known(postmaster) => cpu::used_us(postmaster),
            Fact::Unknown(why) => Fact::Unknown(why.clone()),
        }
    }
}

fn server(target: &Target, asker: Asker, facts: &Facts) -> Fact<Server> {
    let reported = || -> Result<Server, String> {
        let mut session = target.connect().map_err(|e| e.message)?;
        let mut value = |sql: &str| {
            let value = admin::value(&mut session, sql).map_err(|e| e.to_string())?;
            value.ok_or_else(|| format!("the server gave no value for {sql}"))
        };
        let database = value("SELECT current_database()")?;
        let block_bytes = value(asker.buffers.block_bytes)?;
        let block_bytes = block_bytes
            .parse()
            .map_err(|_| format!("\"{block_bytes}\" bytes of a block are no number"))?;
        let before = asker.others(&mut session);
        Ok(Server {
            postmaster: cpu::postmaster(session.backend_pid(), &facts.same_host),
            asker,
            database,
            block_bytes,
            before,
            session,
        })
    };
    match reported() {
        Ok(server) => Fact::Known(server),
        Err(why) => Fact::Unknown(why),
    }
}
