//! The clients' own sessions: their transactions write and read stamps as the engine runs them, and what came of
//! each is judged here by the same books as the probe's.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use pgdyno_database::dialect::Dialect;
use pgdyno_database::open::{Endpoint, Target};
use pgdyno_database::{admin, trouble};
use pgdyno_drive::Control;
use pgdyno_drive::stamps::{self, SHOWN, STAMP};
use pgdyno_measurement::{EndpointRecord, StampEvent};
use pgdyno_model::document::ClientStaleness;
use pgdyno_script::{Names, Script};
use pgdyno_spec::{Exit, Failure};
use pgdyno_workload::sql_words;

use super::books::{Acknowledged, Books, Seen, Stamp};
use super::table;

/// Where the clients' stamps lie, a row for each.
const TABLE: &str = "pgdyno_client_stamps";
/// An endpoint that shows nothing of the table for so long ends the trial before it begins.
const SHOWN_WITHIN: Duration = Duration::from_secs(60);
/// Before it is asked again.
const PAUSE: Duration = Duration::from_millis(20);

/// A parsed script that writes its client's stamp if it writes anything, and else reads it.
///
/// # Errors
/// One stamp cannot stand for it.
pub fn stamp(script: Script, text: &str, names: &mut Names) -> Result<Script, Failure> {
    let stamped = if sql_words::writes(text) {
        let sql = format!("UPDATE {TABLE} SET stamp = :{STAMP} WHERE session = :client_id;");
        stamps::write(script, &sql, names)
    } else {
        let sql = format!("SELECT stamp AS {SHOWN} FROM {TABLE} WHERE session = :client_id;");
        stamps::read(script, &sql, names)
    };
    stamped.map_err(|error| Failure::with(Exit::Usage, error.to_string()))
}

/// What the clients of a trial have written and read.
pub struct Clients {
    primary: Endpoint,
    roles: Vec<String>,
    acknowledged: Acknowledged,
    sessions: u32,
    written: u64,
    seen: Vec<Seen>,
    /// Names of servers until all is over: their numbers.
    places: Vec<String>,
    /// By the numbers of the role and of the server.
    books: BTreeMap<(usize, usize), Books>,
}

impl Clients {
    /// Makes the table and waits until all endpoints with a role show it.
    ///
    /// # Errors
    /// The table is another's or cannot be made; an endpoint does not show it.
    pub fn start(
        target: &Target,
        dialect: &Dialect,
        sessions: u32,
        control: &Control,
    ) -> Result<Self, Failure> {
        let mark = table::mark();
        let mut session = target.connect()?;
        table::make(&mut session, dialect, TABLE, (sessions, mark))?;
        session.close();
        let clients = Self {
            primary: target.endpoints[0].within(super::LIMIT),
            roles: target.roles.iter().map(|role| role.name.clone()).collect(),
            acknowledged: Acknowledged::of(sessions),
            sessions,
            written: 0,
            seen: vec![Seen::default(); sessions as usize],
            places: Vec::new(),
            books: BTreeMap::new(),
        };
        let until = Instant::now() + SHOWN_WITHIN;
        for endpoint in target.roles.iter().flat_map(|role| &role.endpoints) {
            wait(endpoint, (sessions, mark), until, control)?;
        }
        Ok(clients)
    }

    /// Books what clients of a thread did, in this order.
    pub fn book(&mut self, events: &[StampEvent]) {
        for event in events {
            match *event {
                StampEvent::Acknowledged {
                    client,
                    number,
                    at_us,
                } => {
                    let stamp = Stamp {
                        number,
                        acknowledged_us: at_us,
                        position: None,
                    };
                    self.written += 1;
                    self.acknowledged.add(client as u32, stamp);
                }
                StampEvent::Read {
                    client,
                    shown,
                    began_us,
                    ended_us,
                    role,
                    place,
                    is_measured,
                } => {
                    while self.places.len() <= place {
                        self.places.push(self.places.len().to_string());
                    }
                    let at = self.places[place].as_str();
                    if is_measured {
                        let name = role.checked_sub(1).and_then(|at| self.roles.get(at));
                        let name = name.map(String::as_str);
                        // Servers have their names when all is over.
                        let books = self.books.entry((role, place));
                        let books = books.or_insert_with(|| Books::of_known(name, at));
                        let one = (client, shown);
                        books.book_own(one, began_us, &self.acknowledged, &self.seen[client]);
                    }
                    self.seen[client].remember(shown, at, ended_us);
                }
            }
        }
    }

    /// The figures, where these are the servers.
    pub fn end(&mut self, servers: &[EndpointRecord]) -> ClientStaleness {
        let name = |place: usize| {
            let server = servers.get(place);
            server.map_or_else(|| place.to_string(), |server| server.name.clone())
        };
        let books = std::mem::take(&mut self.books).into_iter();
        ClientStaleness {
            sessions: self.sessions,
            written: self.written,
            endpoints: books
                .map(|((_, place), books)| {
                    let mut reported = books.finish(0);
                    reported.name = name(place);
                    if let Some(worst) = &mut reported.went_back_worst {
                        let place = worst.at.parse().unwrap_or(usize::MAX);
                        worst.at = name(place);
                    }
                    reported
                })
                .collect(),
        }
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        table::drop(&self.primary, TABLE);
    }
}

/// Waits until an endpoint shows the rows of these sessions.
fn wait(
    endpoint: &Endpoint,
    (sessions, mark): (u32, i64),
    until: Instant,
    control: &Control,
) -> Result<(), Failure> {
    let sql = format!("SELECT count(*) FROM {TABLE} WHERE mark = {mark}");
    let failed = |e| trouble::server(&e, "could not read the clients' stamps");
    let mut session = endpoint
        .connect()
        .map_err(|e| Failure::new(format!("{}: {e}", endpoint.name)))?;
    loop {
        // Without the table the statement is an error, which is no reason to give up.
        let count = admin::value(&mut session, &sql);
        if count
            .as_ref()
            .is_ok_and(|count| *count == Some(sessions.to_string()))
            || control.is_stopping()
        {
            session.close();
            return Ok(());
        }
        if session.is_broken() || Instant::now() > until {
            let text = format!(
                "{} has not shown the table {TABLE} within {} s",
                endpoint.name,
                SHOWN_WITHIN.as_secs()
            );
            let failure = count
                .map_err(failed)
                .err()
                .unwrap_or_else(|| Failure::new(text.clone()));
            return Err(failure
                .detail(text)
                .hint("look whether the standby replays, or run without --client-stamps"));
        }
        thread::sleep(PAUSE);
    }
}
