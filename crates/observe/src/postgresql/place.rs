//! Where an instrument reads, and its own session with the server: limited in all it may wait for,
//! and distinguished from those that are measured.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use pgdyno_session::{Error, Outcome, Session};

use crate::Readings;
use pgdyno_database::dialect::{Dialect, Product};
use pgdyno_database::open::Endpoint;
use pgdyno_database::{admin, locate};
use pgdyno_model::observed::{Gap, SERVER_CPU};

/// The rows of an answer; a value that is NULL is none.
pub type Rows = Vec<Vec<Option<String>>>;

/// Stands in all statements of instruments, for pg_stat_statements, which knows no names of sessions.
pub const MARK: &str = "/* pgdyno observer */";

/// Asks for the server's clock: a name, and what is planned under it.
pub const CLOCK: (&str, &str) = (
    "pgdyno_clock",
    "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
);

/// Behind the first word: from 18 on the statistics leave out what stands before it.
fn marked(sql: &str) -> String {
    sql.replacen(' ', &format!(" {MARK} "), 1)
}

/// How long a connection may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(3);
/// How long an answer may take; the server is told to give up a little earlier.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// What holds for each session: it gives up rather than wait, costs the server little, and has a name
/// by which instruments and the server's own views can leave it out.
const SETTINGS: &str = "SELECT /* pgdyno observer */ \
    set_config('application_name', 'pgdyno observer', false), \
    set_config('statement_timeout', '4000', false), set_config('lock_timeout', '1000', false), \
    set_config('jit', 'off', false), set_config('max_parallel_workers_per_gather', '0', false)";

/// A server to be read.
#[derive(Clone)]
pub struct Place {
    endpoint: Endpoint,
    /// Which it is, in labels; empty when there is but one.
    node: String,
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

    /// A session of the instrument's own.
    ///
    /// # Errors
    /// It cannot be had.
    pub fn connect(&self) -> Result<Connection, Gap> {
        Connection::new(&self.endpoint).map_err(|error| gap(&error, ""))
    }
}

/// An instrument's session.
pub struct Connection {
    session: Session,
    dialect: &'static Dialect,
    /// Statements that the server has planned for this session.
    planned: BTreeSet<String>,
    /// The server's major version.
    pub major: u32,
    /// Whom it is logged in as.
    pub role: String,
    /// With which database.
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
        session.simple_query(SETTINGS)?;
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
        self.plan(name, sql)?;
        admin::rows(&mut self.session, &format!("EXECUTE {name}"))
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
            self.plan(name, sql)?;
            all += &format!("EXECUTE {name}; ");
        }
        let before = Instant::now();
        let outcomes = self.session.simple_query(&all)?;
        let after = Instant::now();
        let answers = outcomes.into_iter().map(|outcome| outcome.rows);
        Ok((before, answers.collect(), after))
    }

    /// Has the server plan a statement, once.
    fn plan(&mut self, name: &str, sql: &str) -> Result<(), Error> {
        if !self.planned.contains(name) {
            let prepare = format!("PREPARE {name} AS {}", marked(sql));
            self.session.simple_query(&prepare)?;
            self.planned.insert(name.to_owned());
        }
        Ok(())
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
        self.plan(CLOCK.0, CLOCK.1)?;
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
        match role.chars().all(is_plain) && !role.starts_with(|c: char| c.is_ascii_digit()) {
            true => format!("GRANT pg_monitor TO {role}"),
            false => format!("GRANT pg_monitor TO {}", pgdyno_session::quote_ident(role)),
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

/// A session that is created again when it was lost, with what is made ready for it each time.
pub struct Line<S> {
    place: Place,
    open: Option<(Connection, S)>,
}

impl<S> Line<S> {
    /// Not connected yet.
    pub fn to(place: Place) -> Self {
        Self { place, open: None }
    }

    /// Where it leads.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// What was made ready for the session there is.
    pub fn ready(&self) -> Option<&S> {
        self.open.as_ref().map(|(_, ready)| ready)
    }

    /// Tells, at the end, what the session has cost the server, where its process is seen from here.
    /// One that was lost meanwhile has taken its own with it.
    pub fn tell_cost(&mut self, out: &mut Readings) {
        let Some((connection, _)) = &mut self.open else {
            return;
        };
        let Connection {
            session, dialect, ..
        } = connection;
        if let Some(us) = locate::session_us(session, dialect) {
            let name = match self.place.node.as_str() {
                "" => SERVER_CPU.to_owned(),
                node => format!("{SERVER_CPU} {node}"),
            };
            out.fact(name, us);
        }
    }

    /// Asks; `prepare` comes first on a new session.
    ///
    /// # Errors
    /// There is no session, or what was asked failed.
    pub fn ask<T>(
        &mut self,
        prepare: impl FnOnce(&mut Connection) -> Result<S, Error>,
        ask: impl FnOnce(&mut Connection, &mut S) -> Result<T, Error>,
    ) -> Result<T, Gap> {
        let (connection, ready) = match &mut self.open {
            Some(open) => open,
            none => {
                let mut new = self.place.connect()?;
                let ready = prepare(&mut new);
                let ready = ready.map_err(|error| gap(&error, &new.grant_monitor()))?;
                none.insert((new, ready))
            }
        };
        let result = ask(connection, ready);
        let told = result.map_err(|error| gap(&error, &connection.grant_monitor()));
        if connection.is_lost() {
            self.open = None;
        }
        told
    }
}
