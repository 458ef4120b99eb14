//! Connections that cost a server more than they bring: a storm of them, and one that takes a copy of all.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use pgdyno_database::open::Target;
use pgdyno_session::{Patience, Session};
use pgdyno_spec::text;
use pgdyno_wire::Candidate;

use super::given::lasting;
use super::{Act, Entry, Key, Kind, Need, sql};
use crate::disturb::own::Control;

/// How long one attempt to connect may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// How soon the threads of a storm see that it is over.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

pub(super) static ENTRIES: [Entry; 2] = [
    Entry {
        name: "connection-storm",
        summary: "opens and closes connections as fast as possible",
        keys: &[
            lasting("5s"),
            Key {
                name: "connections",
                default: "20",
                kind: Kind::Between(1, 10_000),
                help: "how many at the same time, at most 10000",
            },
        ],
        needs: &[],
        risks: "CPU for a process and a login each; others may be refused when max_connections is reached",
        harms: true,
        undone: "all are closed after its time",
        lasts: Some("5s"),
        make: |scene, given| {
            Ok(Box::new(Storm {
                candidates: scene.target.endpoints[0].candidates.clone().into(),
                connections: given.count("connections"),
                lasting: given.time("for"),
            }))
        },
    },
    Entry {
        name: "base-backup",
        summary: "takes a base backup over the replication protocol and discards it",
        keys: &[Key {
            name: "rate",
            default: "",
            // Documented: the limits of MAX_RATE.
            kind: Kind::Between(32, 1_048_576),
            help: "kB/s, from 32 to 1048576; unless given, at full speed",
        }],
        needs: &[Need::Replication],
        risks: "a checkpoint, reads of everything, and a WAL sender; nothing is written",
        harms: false,
        undone: "nothing is changed",
        lasts: None,
        make: |scene, given| {
            let rate = given.text("rate").to_owned();
            let act = Backup {
                target: scene.target.clone(),
                rate,
                is_since_15: scene
                    .product
                    .is_since(pgdyno_database::dialect::Version::new(15, 0)),
            };
            // Whether the role may is known by trying.
            act.connect()?.close();
            Ok(Box::new(act))
        },
    },
];

struct Storm {
    candidates: Arc<[Candidate]>,
    connections: u64,
    lasting: Duration,
}

impl Act for Storm {
    fn run(&mut self, control: &Control) -> Result<(), String> {
        let until = Instant::now() + self.lasting;
        let (opened, refused) = (AtomicU64::new(0), AtomicU64::new(0));
        thread::scope(|scope| {
            for _ in 0..self.connections {
                let spawned = thread::Builder::new().spawn_scoped(scope, || {
                    while Instant::now() < until && !control.is_over() {
                        let limit = Some(CONNECT_LIMIT);
                        match Session::connect_with(&self.candidates, limit, Patience::default()) {
                            Ok(_) => opened.fetch_add(1, Ordering::Relaxed),
                            Err(_) => {
                                thread::sleep(LOOK_INTERVAL);
                                refused.fetch_add(1, Ordering::Relaxed)
                            }
                        };
                    }
                });
                if spawned.is_err() {
                    break;
                }
            }
        });
        let (opened, refused) = (opened.into_inner(), refused.into_inner());
        control.say(format_args!(
            "opened and closed {opened} connections, {} at the same time; {refused} were refused",
            self.connections
        ));
        match opened {
            0 => Err("no connection was opened".to_owned()),
            _ => Ok(()),
        }
    }
}

struct Backup {
    target: Target,
    rate: String,
    is_since_15: bool,
}

impl Backup {
    /// A session of a WAL sender (manual of PostgreSQL, "Streaming Replication Protocol").
    fn connect(&self) -> Result<Session, String> {
        let mut target = self.target.clone();
        for endpoint in &mut target.endpoints {
            for candidate in &mut endpoint.candidates {
                let mut login = (*candidate.login).clone();
                login
                    .parameters
                    .push(("replication".to_owned(), "true".to_owned()));
                candidate.login = Arc::new(login);
            }
        }
        sql::connect(&target.administration())
    }

    fn command(&self) -> String {
        // Documented: options in parentheses since 15.
        match (self.is_since_15, self.rate.as_str()) {
            (true, "") => "BASE_BACKUP (LABEL 'pgdyno', CHECKPOINT 'fast', WAIT false)".to_owned(),
            (true, rate) => format!(
                "BASE_BACKUP (LABEL 'pgdyno', CHECKPOINT 'fast', WAIT false, MAX_RATE {rate})"
            ),
            (false, "") => "BASE_BACKUP LABEL 'pgdyno' FAST NOWAIT".to_owned(),
            (false, rate) => format!("BASE_BACKUP LABEL 'pgdyno' FAST NOWAIT MAX_RATE {rate}"),
        }
    }
}

impl Act for Backup {
    fn run(&mut self, control: &Control) -> Result<(), String> {
        let mut session = self.connect()?;
        control.cancels(Some(session.cancel_handle()));
        if control.is_over() {
            return Ok(());
        }
        let begun = Instant::now();
        let done = session.copy_out(&self.command(), &mut |_| {});
        control.cancels(None);
        let took = text::time(begun.elapsed().as_micros() as f64);
        match done {
            Ok(bytes) => control.say(format_args!(
                "backup of {} in {took}",
                text::bytes(bytes as f64)
            )),
            Err(e) if control.is_over() => control.say(format_args!("ended after {took}: {e}")),
            Err(e) => return Err(e.to_string()),
        }
        Ok(())
    }
}
