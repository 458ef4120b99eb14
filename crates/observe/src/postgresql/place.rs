//! Where instruments read, and their sessions with the server: limited in all they may wait for, and
//! distinguished from those that are measured.
//!
//! Instruments that read once a second share one: what is asked at the same time finds the server's process
//! awake, and it is started, and has its caches filled, once.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pgdyno_session::{Error, Outcome, Session};

use crate::Readings;
use pgdyno_database::admin;
use pgdyno_database::dialect::{Dialect, Product};
use pgdyno_database::locate;
use pgdyno_database::open::Endpoint;
use pgdyno_model::observed::{Gap, SERVER_CPU};
use pgdyno_platform::cpu_time::ThreadClock;

/// The rows of an answer; a value that is NULL is none.
pub type Rows = Vec<Vec<Option<String>>>;

/// A mark in all statements of instruments, for pg_stat_statements, which knows no names of sessions.
pub use pgdyno_session::MARK;

/// Asks for the server's clock: a name, and what is planned under it.
pub const CLOCK: (&str, &str) = (
    "pgdyno_clock",
    "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
);

/// Behind the first word: from 18 on the statistics leave out what precedes it.
fn marked(sql: &str) -> String {
    sql.replacen(' ', &format!(" {MARK} "), 1)
}

/// How long a connection may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(3);
/// How long an answer may take; the server is asked to give up a little earlier.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// What holds for each session: it gives up rather than wait, costs the server little, and has a name
/// by which instruments and the server's own views can leave it out.
const SETTINGS: [(&str, &str); 5] = [
    ("application_name", "pgdyno observer"),
    ("statement_timeout", "4000"),
    ("lock_timeout", "1000"),
    ("jit", "off"),
    ("max_parallel_workers_per_gather", "0"),
];

/// A server to be read; clones share its session.
#[derive(Clone)]
pub struct Place {
    endpoint: Endpoint,
    /// Which it is, in labels; empty when there is but one.
    node: String,
    shared: Arc<Mutex<Shared>>,
}

/// The session of the instruments that read once a second.
#[derive(Default)]
struct Shared {
    open: Option<Open>,
    /// So many were opened, one after the other was lost.
    opened: u64,
    /// When none was to be had, and why.
    refused: Option<(Instant, Gap)>,
}

struct Open {
    connection: Connection,
    /// `None` where the server's process is not seen from here.
    clock: Option<ThreadClock>,
    /// What that had used after the last question.
    used_us: u64,
}

impl Place {
    /// This endpoint; `node` tells it apart where there are several.
    pub fn new(mut endpoint: Endpoint, node: &str) -> Self {
        for candidate in &mut endpoint.candidates {
            let limit = candidate.connect_timeout.unwrap_or(CONNECT_LIMIT);
            candidate.connect_timeout = Some(limit.min(CONNECT_LIMIT));
        }
        Self {
            endpoint,
            node: node.to_owned(),
            shared: Arc::default(),
        }
    }

    /// What a series of this part is labelled with.
    pub fn label(&self, part: &str) -> String {
        match (self.node.as_str(), part) {
            ("", part) => part.to_owned(),
            (node, "") => node.to_owned(),
            (node, part) => format!("{node} {part}"),
        }
    }

    /// What is read there, for people.
    pub fn source(&self, what: &str) -> String {
        match self.node.as_str() {
            "" => what.to_owned(),
            node => format!("{what} at {node}"),
        }
    }

    /// The same server with an unshared session: for what must not wait for others' answers.
    pub fn alone(&self) -> Self {
        Self {
            shared: Arc::default(),
            ..self.clone()
        }
    }

    /// Asks on the shared session, when others have been answered: for what is asked before and after only. A
    /// session that was ended meanwhile, idle as it was, is created again.
    ///
    /// # Errors
    /// There is no session, or what was asked failed.
    pub fn ask<T>(&self, ask: impl FnOnce(&mut Connection) -> Result<T, Gap>) -> Result<T, Gap> {
        let waited = Instant::now();
        let mut shared = self.shared();
        if let Some(open) = &mut shared.open
            && open.connection.query("").is_err()
        {
            shared.open = None;
        }
        let (open, _) = shared.session(self, waited)?;
        let result = ask(&mut open.connection);
        if open.connection.is_lost() {
            shared.open = None;
        }
        result
    }

    fn connect(&self) -> Result<Connection, Gap> {
        Connection::new(&self.endpoint).map_err(|error| gap(&error, ""))
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        // An instrument that broke may have left an answer unread: its session is not used again.
        self.shared.lock().unwrap_or_else(|poisoned| {
            self.shared.clear_poison();
            let mut shared = PoisonError::into_inner(poisoned);
            shared.open = None;
            shared
        })
    }
}

impl Shared {
    /// The session, and which it is of those that were opened, for one who has waited since then.
    fn session(&mut self, place: &Place, waited: Instant) -> Result<(&mut Open, u64), Gap> {
        let open = match self.open.take() {
            Some(open) => open,
            None => {
                // An attempt that was waited for has failed for all who waited.
                let refused = self.refused.as_ref().filter(|(at, _)| *at >= waited);
                if let Some((_, gap)) = refused {
                    return Err(gap.clone());
                }
                let mut connection = place.connect().inspect_err(|gap| {
                    self.refused = Some((Instant::now(), gap.clone()));
                })?;
                self.opened += 1;
                let clock = if connection.is_own() {
                    locate::session_clock(&mut connection.session, connection.dialect)
                } else {
                    None
                };
                Open {
                    connection,
                    clock,
                    used_us: 0,
                }
            }
        };
        Ok((self.open.insert(open), self.opened))
    }
}

impl Open {
    /// CPU time of the server's process since the last time, in microseconds.
    fn used_since(&mut self) -> Option<u64> {
        let now_us = self.clock.as_ref()?.read()?.ran_ns / 1000;
        let since_us = now_us.saturating_sub(self.used_us);
        self.used_us = now_us;
        Some(since_us)
    }
}

pub struct Connection {
    session: Session,
    dialect: &'static Dialect,
    /// Statements that the server has planned for this session.
    planned: BTreeSet<String>,
    pub major: u32,
    /// Whom it is logged in as.
    pub role: String,
    pub database: String,
    /// The name that clients of this trial go by, as they log in in the same way.
    pub clients_name: String,
    /// Whether it may see what sessions of other roles do.
    pub sees_others: bool,
    /// Whether the server is a standby.
    pub is_standby: bool,
}

impl Connection {
    fn new(endpoint: &Endpoint) -> Result<Self, Error> {
        let mut session = Session::connect(&endpoint.candidates, Some(CONNECT_LIMIT))?;
        session.set_answer_timeout(Some(ANSWER_LIMIT));
        let sql = "SELECT /* pgdyno observer */ current_user, current_database(), current_setting('application_name'), \
                   pg_has_role(current_user, 'pg_read_all_stats', 'USAGE'), pg_is_in_recovery()";
        let row = admin::rows(&mut session, sql)?.into_iter().next();
        let mut row = row.unwrap_or_default().into_iter();
        let mut next = || row.next().flatten().unwrap_or_default();
        let (role, database, clients_name) = (next(), next(), next());
        let (sees_others, is_standby) = (next() == "t", next() == "t");
        session.apply_settings(&SETTINGS)?;
        let product = Product::presumed(&session);
        Ok(Self {
            major: product.version.major,
            dialect: product.dialect,
            session,
            planned: BTreeSet::new(),
            role,
            database,
            clients_name,
            sees_others,
            is_standby,
        })
    }

    /// Runs statements as they are, without the mark. The session is of no more use when it `is_lost`
    /// afterwards.
    ///
    /// # Errors
    /// The server's or the connection's.
    pub fn query(&mut self, sql: &str) -> Result<Vec<Outcome>, Error> {
        self.session.simple_query(sql)
    }

    /// The rows of one statement.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub fn rows(&mut self, sql: &str) -> Result<Rows, Error> {
        admin::rows(&mut self.session, &marked(sql))
    }

    /// The rows of one statement that is asked again and again under this name: the server plans it
    /// once.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub fn again(&mut self, name: &str, sql: &str) -> Result<Rows, Error> {
        let text = self.planned(name, sql)?;
        admin::rows(&mut self.session, &text)
    }

    /// The rows of several statements that are asked again and again, each under its name: planned once,
    /// asked in one request, so that the server wakes up once for all of them and looks at its sessions once.
    /// Between the two times it was asked and has answered.
    ///
    /// # Errors
    /// As [`Connection::query`]; none is answered when one is refused.
    pub fn all_again(
        &mut self,
        statements: &[(&str, String)],
    ) -> Result<(Instant, Vec<Rows>, Instant), Error> {
        let mut all = String::new();
        for (name, sql) in statements {
            all += &self.planned(name, sql)?;
            all += "; ";
        }
        let before = Instant::now();
        let outcomes = self.session.simple_query(&all)?;
        let after = Instant::now();
        let answers = outcomes.into_iter().map(|outcome| outcome.rows);
        Ok((before, answers.collect(), after))
    }

    /// Has the server plan a statement, once, and returns what asks it. On a session that is shared, a statement
    /// of that name may be another's or missing: there it is asked as it is.
    fn planned(&mut self, name: &str, sql: &str) -> Result<String, Error> {
        if !self.is_own() {
            return Ok(marked(sql));
        }
        if !self.planned.contains(name) {
            let prepare = format!("PREPARE {name} AS {}", marked(sql));
            self.session.simple_query(&prepare)?;
            self.planned.insert(name.to_owned());
        }
        Ok(format!("EXECUTE {name}"))
    }

    /// Whether the server's session is this instrument's alone, and keeps what is prepared.
    pub fn is_own(&mut self) -> bool {
        self.session.is_own()
    }

    /// The first value of the first row.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub fn value(&mut self, sql: &str) -> Result<Option<String>, Error> {
        admin::value(&mut self.session, &marked(sql))
    }

    /// What the server's clock shows, in microseconds since 1970, and when that was here: at some
    /// moment between the two.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub fn clock(&mut self) -> Result<(Instant, i64, Instant), Error> {
        // Planning is none of the time between asking and the answer.
        self.planned(CLOCK.0, CLOCK.1)?;
        let before = Instant::now();
        let rows = self.again(CLOCK.0, CLOCK.1)?;
        let after = Instant::now();
        Ok((before, clock_us(rows)?, after))
    }

    /// Whether no more can be asked.
    pub fn is_lost(&self) -> bool {
        self.session.is_broken()
    }

    /// The command that lets this role see all.
    pub fn grant_monitor(&self) -> String {
        let role = &self.role;
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if role.chars().all(is_plain) && !role.starts_with(|c: char| c.is_ascii_digit()) {
            format!("GRANT pg_monitor TO {role}")
        } else {
            format!("GRANT pg_monitor TO {}", pgdyno_session::quote_ident(role))
        }
    }

    /// Why other roles' sessions are not seen; `None` when they are.
    pub fn blind_to_others(&self, what: &str) -> Option<Gap> {
        (!self.sees_others).then(|| {
            let role = &self.role;
            let reason = format!("{what} of other roles are hidden from role {role}");
            Gap::because(reason).remedy(self.grant_monitor())
        })
    }
}

/// What the server's clock shows: the answer to [`CLOCK`], in microseconds since 1970.
///
/// # Errors
/// The server did not report it.
pub fn clock_us(rows: Rows) -> Result<i64, Error> {
    let value = rows.into_iter().flatten().flatten().next();
    let us = value.and_then(|text| text.parse().ok());
    us.ok_or_else(|| Error::Usage("the server reported no time".to_owned()))
}

/// What an error comes to, in a clause; with what closes it when the server wants a privilege.
pub fn gap(error: &Error, grant: &str) -> Gap {
    let text = match error.server() {
        Some(server) => server.message().to_owned(),
        None => error.to_string(),
    };
    // Advice of libpq's follows on further lines.
    let line = text.lines().next().unwrap_or_default().trim();
    let gap = Gap::because(line);
    match error.sqlstate() {
        Some("42501") if !grant.is_empty() => gap.remedy(grant),
        _ => gap,
    }
}

/// An instrument's part in the session of a place, which is created again when it was lost, with what is made
/// ready for the instrument each time.
pub struct Line<S> {
    place: Place,
    /// On which of the place's sessions it was made ready, and what.
    ready: Option<(u64, S)>,
    /// CPU time of the server's process for what this instrument asked, in microseconds; the start of the
    /// session is that of the first caller.
    cost_us: Option<u64>,
}

impl<S> Line<S> {
    pub fn to(place: Place) -> Self {
        Self {
            place,
            ready: None,
            cost_us: None,
        }
    }

    pub fn place(&self) -> &Place {
        &self.place
    }

    /// What was made ready for the session that was asked last.
    pub fn ready(&self) -> Option<&S> {
        self.ready.as_ref().map(|(_, ready)| ready)
    }

    /// Tells, at the end, what was asked has cost the server, where its process is seen from here.
    pub fn tell_cost(&self, out: &mut Readings) {
        if let Some(us) = self.cost_us {
            let name = match self.place.node.as_str() {
                "" => SERVER_CPU.to_owned(),
                node => format!("{SERVER_CPU} {node}"),
            };
            out.fact(name, us);
        }
    }

    /// Asks, when others have been answered; `prepare` comes first on a new session.
    ///
    /// # Errors
    /// There is no session, or what was asked failed.
    pub fn ask<T>(
        &mut self,
        prepare: impl FnOnce(&mut Connection) -> Result<S, Error>,
        ask: impl FnOnce(&mut Connection, &mut S) -> Result<T, Error>,
    ) -> Result<T, Gap> {
        let waited = Instant::now();
        let mut shared = self.place.shared();
        let (open, number) = shared.session(&self.place, waited)?;
        let connection = &mut open.connection;
        let ready = match self.ready.take() {
            Some((of, ready)) if of == number => Ok(ready),
            _ => prepare(connection),
        };
        let result = ready.and_then(|ready| {
            let (_, ready) = self.ready.insert((number, ready));
            ask(connection, ready)
        });
        let reported = result.map_err(|error| gap(&error, &connection.grant_monitor()));
        if let Some(us) = open.used_since() {
            *self.cost_us.get_or_insert(0) += us;
        }
        if open.connection.is_lost() {
            shared.open = None;
        }
        reported
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_database::open;
    use pgdyno_spec::TargetSpec;

    #[test]
    fn an_attempt_to_connect_has_failed_for_all_who_waited_for_it() {
        let unreachable = TargetSpec::at("postgresql://me@127.0.0.1:1/none");
        let target = open::existing(&unreachable).unwrap().unwrap();
        let place = Place::new(target.endpoints[0].clone(), "");
        let mut shared = place.shared();
        let mut attempt = |waited| {
            let gap = shared
                .session(&place, waited)
                .err()
                .expect("nothing listens");
            assert!(gap.reason.contains("127.0.0.1"), "{gap:?}");
            shared.refused.as_ref().map(|(at, _)| *at)
        };
        let waited = Instant::now();
        let first = attempt(waited);
        assert_eq!(attempt(waited), first, "it is not tried again");
        assert!(attempt(Instant::now()) > first, "it is tried again");
    }
}
