//! Puts statements together from the messages of their sessions: a text here, a duration there, an error
//! in its place.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use super::entry::{Entry, Severity};
use super::message::{self, Extended, Message, What};
use super::parameters::Parameters;
use crate::about::Ending;
use crate::event::{Obstacle, Protocol, Session, SqlState};
use crate::writer::{NewStatement, Writer};

/// Sessions that are open at once. Beyond it those that were silent longest count as ended: without
/// `log_disconnections` none ends.
const OPEN_MAX: usize = 65_536;
/// A Parse or Bind belongs to the Execute behind it if no more time is between them.
const TOGETHER_US: i64 = 10_000;

/// A statement that has begun.
#[derive(Debug, Default)]
struct Begun {
    start_us: i64,
    is_extended: bool,
    is_fetch: bool,
    name: Vec<u8>,
    sql: Vec<u8>,
    parameters: Parameters,
}

#[derive(Debug, Default)]
struct Open {
    session: Session,
    is_named: bool,
    has_begun: bool,
    received_us: Option<i64>,
    is_authorized: bool,
    start_us: Option<i64>,
    is_replication: bool,
    last_us: i64,
    /// When its last statement ended, as far as that is known.
    free_us: i64,
    has_pending: bool,
    pending: Begun,
    /// Parse and Bind of a statement that is still to come: when they began, how long they took.
    ahead: Option<Ahead>,
}

#[derive(Clone, Copy, Debug)]
struct Ahead {
    start_us: i64,
    end_us: i64,
    spent_us: u64,
    /// Durations without any text.
    bare: u64,
}

/// How a statement ended.
#[derive(Clone, Copy, Debug, Default)]
struct Done {
    duration_us: Option<u64>,
    failed: Option<SqlState>,
}

pub struct Pairing<W: Write> {
    writer: Writer<W>,
    open: HashMap<Vec<u8>, Open>,
    sessions: u32,
    first_us: Option<i64>,
    unsaid: BTreeMap<&'static str, u64>,
    parameters: Parameters,
}

impl<W: Write> Pairing<W> {
    pub fn new(writer: Writer<W>) -> Self {
        Self {
            writer,
            open: HashMap::new(),
            sessions: 0,
            first_us: None,
            unsaid: BTreeMap::new(),
            parameters: Parameters::default(),
        }
    }

    /// Counts what the log could not say.
    pub fn unsaid(&mut self, kind: &'static str, count: u64) {
        if count > 0 {
            *self.unsaid.entry(kind).or_default() += count;
        }
    }

    pub fn take(&mut self, entry: &Entry) -> io::Result<()> {
        let first_us = *self.first_us.get_or_insert(entry.time_us);
        match entry.severity {
            Severity::Other => Ok(()),
            Severity::Log => {
                let message = message::of(&entry.message);
                if message == Message::Other {
                    return Ok(());
                }
                if message == Message::Received {
                    // The same process number, another session.
                    self.close(&entry.session, entry.time_us, true)?;
                }
                self.know(entry, first_us);
                self.log(entry, message)
            }
            Severity::Error => {
                // Background processes have errors, too.
                if entry.user.is_empty() && !self.open.contains_key(&entry.session) {
                    return Ok(());
                }
                self.know(entry, first_us);
                self.error(entry)
            }
        }
    }

    /// Takes note of who the session is.
    fn know(&mut self, entry: &Entry, first_us: i64) {
        if !self.open.contains_key(&entry.session) {
            self.make_room();
            let mut open = Open {
                start_us: entry.session_start_us,
                free_us: i64::MIN,
                ..Open::default()
            };
            open.session.number = self.sessions;
            self.sessions = self.sessions.wrapping_add(1);
            if entry
                .session_start_us
                .is_some_and(|start| start + 1_000_000 <= first_us)
            {
                self.unsaid("sessions that were open at the beginning", 1);
            }
            self.open.insert(entry.session.clone(), open);
        }
        let Some(open) = self.open.get_mut(&entry.session) else {
            return;
        };
        open.last_us = entry.time_us;
        let is_new = |known: &str, logged: &[u8]| known.is_empty() && !logged.is_empty();
        let text = |logged: &[u8]| String::from_utf8_lossy(logged).into_owned();
        if !open.is_named && !entry.user.is_empty() {
            open.session.user = text(&entry.user);
            open.session.database = text(&entry.database);
            open.is_named = true;
        }
        if !open.has_begun && is_new(&open.session.application, &entry.application) {
            open.session.application = text(&entry.application);
        }
    }

    fn make_room(&mut self) {
        if self.open.len() < OPEN_MAX {
            return;
        }
        let mut times: Vec<i64> = self.open.values().map(|open| open.last_us).collect();
        let (_, middle, _) = times.select_nth_unstable(OPEN_MAX / 2);
        let middle = *middle;
        let before = self.open.len();
        self.open
            .retain(|_, open| open.last_us > middle || open.has_pending);
        self.unsaid(NO_END, (before - self.open.len()) as u64);
    }

    fn log(&mut self, entry: &Entry, message: Message<'_>) -> io::Result<()> {
        let at_us = entry.time_us;
        let Some(open) = self.open.get_mut(&entry.session) else {
            return Ok(());
        };
        match message {
            Message::Other => {}
            Message::Received => open.received_us = Some(at_us),
            Message::Authorized => {
                open.is_authorized = true;
                // `connection authorized: user=… database=…` is known without a prefix that has both.
                if !open.is_named {
                    name(&mut open.session, &entry.message);
                    open.is_named = true;
                }
                let known_us = open.received_us.unwrap_or(at_us);
                begin(&mut self.writer, open, known_us)?;
            }
            Message::Replication => open.is_replication = true,
            Message::Disconnected => self.close(&entry.session, at_us, false)?,
            Message::Begins(What::Fastpath) => self.unsaid(FASTPATH, 1),
            Message::Begins(what) => {
                self.flush(&entry.session)?;
                self.begins(entry, at_us, what);
            }
            Message::Ended { us, what: None } if open.has_pending => {
                let done = Done {
                    duration_us: Some(us),
                    failed: None,
                };
                self.done(&entry.session, done)?;
            }
            Message::Ended { us, what } => match what {
                None | Some(What::Parse | What::Bind) => {
                    let bare = u64::from(what.is_none());
                    self.goes_ahead(entry, us, bare);
                }
                Some(What::Fastpath) => self.unsaid(FASTPATH, 1),
                Some(what) => {
                    self.flush(&entry.session)?;
                    let us_before = i64::try_from(us).unwrap_or(i64::MAX);
                    self.begins(entry, at_us.saturating_sub(us_before), what);
                    let done = Done {
                        duration_us: Some(us),
                        failed: None,
                    };
                    self.done(&entry.session, done)?;
                }
            },
        }
        Ok(())
    }

    /// A Parse or a Bind has ended.
    fn goes_ahead(&mut self, entry: &Entry, us: u64, bare: u64) {
        let end_us = entry.time_us;
        let start_us = end_us.saturating_sub(i64::try_from(us).unwrap_or(i64::MAX));
        let Some(open) = self.open.get_mut(&entry.session) else {
            return;
        };
        let new = Ahead {
            start_us,
            end_us,
            spent_us: us,
            bare,
        };
        let before = open
            .ahead
            .filter(|ahead| start_us - ahead.end_us <= TOGETHER_US);
        let dropped = open.ahead.map_or(0, |ahead| ahead.bare) * u64::from(before.is_none());
        open.ahead = Some(before.map_or(new, |ahead| Ahead {
            end_us,
            spent_us: ahead.spent_us + us,
            bare: ahead.bare + bare,
            ..ahead
        }));
        self.unsaid(BARE, dropped);
    }

    /// A statement begins, with the Parse and Bind right before it.
    fn begins(&mut self, entry: &Entry, at_us: i64, what: What<'_>) {
        let Some(open) = self.open.get_mut(&entry.session) else {
            return;
        };
        let is_far = |ahead: &Ahead| at_us - ahead.end_us > TOGETHER_US;
        let is_simple = matches!(what, What::Simple(_));
        let others = open.ahead.take_if(|ahead| is_simple || is_far(ahead));
        let begun = &mut open.pending;
        begun.start_us = open.ahead.map_or(at_us, |ahead| ahead.start_us);
        begun.parameters.clear();
        begun.name.clear();
        begun.sql.clear();
        begun.is_fetch = false;
        begun.is_extended = false;
        match what {
            What::Simple(sql) => begun.sql.extend_from_slice(sql),
            What::Execute(Extended {
                name,
                sql,
                is_fetch,
            }) => {
                (begun.is_extended, begun.is_fetch) = (true, is_fetch);
                begun.name.extend_from_slice(name);
                begun.sql.extend_from_slice(sql);
                begun.parameters.read_detail(&entry.detail);
            }
            What::Parse | What::Bind | What::Fastpath => {}
        }
        open.has_pending = true;
        self.unsaid(BARE, others.map_or(0, |ahead| ahead.bare));
    }

    fn error(&mut self, entry: &Entry) -> io::Result<()> {
        // Zero bytes: it failed, and the log does not say how.
        let by_words = message_state(&entry.message);
        let done = Done {
            duration_us: None,
            failed: Some(entry.state.or(by_words).unwrap_or_default()),
        };
        let Some(open) = self.open.get_mut(&entry.session) else {
            return Ok(());
        };
        if open.has_pending {
            let us = entry.time_us.saturating_sub(open.pending.start_us);
            let duration_us = u64::try_from(us).ok();
            return self.done(
                &entry.session,
                Done {
                    duration_us,
                    ..done
                },
            );
        }
        if entry.statement.is_empty() {
            // Not of a statement at all before the login.
            let is_in_session = open.has_begun;
            self.unsaid(
                "errors without their statement (log_min_error_statement)",
                is_in_session.into(),
            );
            return Ok(());
        }
        let is_bound = self.parameters.read_context(&entry.context);
        let is_extended = is_bound || open.ahead.is_some();
        let what = if is_extended {
            What::Execute(Extended {
                name: b"",
                sql: &entry.statement,
                is_fetch: false,
            })
        } else {
            What::Simple(&entry.statement)
        };
        self.begins(entry, entry.time_us, what);
        if let Some(open) = self.open.get_mut(&entry.session) {
            std::mem::swap(&mut open.pending.parameters, &mut self.parameters);
            // `$1` is no syntax of the simple protocol.
            open.pending.is_extended |= has_parameters(&open.pending.sql);
        }
        self.parameters.clear();
        self.done(&entry.session, done)
    }

    /// Records a statement that began and whose end is not logged.
    fn flush(&mut self, session: &[u8]) -> io::Result<()> {
        match self.open.get(session) {
            Some(open) if open.has_pending => self.done(session, Done::default()),
            _ => Ok(()),
        }
    }

    /// Records the statement that has begun.
    fn done(&mut self, session: &[u8], done: Done) -> io::Result<()> {
        let Some(open) = self.open.get_mut(session) else {
            return Ok(());
        };
        open.has_pending = false;
        let ahead = open.ahead.take();
        if open.is_replication {
            *self.unsaid.entry("statements of replication").or_default() += 1;
            return Ok(());
        }
        // Times are cut to the log's clock: a session does one thing after the other all the same.
        let start_us = open.pending.start_us.max(open.free_us);
        let known_us = open.start_us.filter(|_| !open.has_begun);
        let known_us = known_us.map(|known| known.min(start_us));
        if !open.has_begun {
            match known_us {
                Some(at_us) => begin(&mut self.writer, open, at_us)?,
                None => {
                    open.has_begun = true;
                    self.writer.begin(&open.session, start_us, false)?;
                }
            }
        }
        let duration_us = done
            .duration_us
            .map(|us| us + ahead.map_or(0, |ahead| ahead.spent_us));
        let lasts_us = i64::try_from(duration_us.unwrap_or(0)).unwrap_or(i64::MAX);
        open.free_us = start_us.saturating_add(lasts_us);
        if duration_us.is_none() {
            *self.unsaid.entry("durations of statements").or_default() += 1;
        }
        let begun = &open.pending;
        let values = begun.parameters.values();
        let obstacle = if begun.is_fetch {
            Some(Obstacle::Fetch)
        } else if begun.parameters.is_cut {
            Some(Obstacle::CutParameters)
        } else if takes_rows(&begun.sql) {
            Some(Obstacle::CopyData)
        } else {
            None
        };
        self.writer.statement(&NewStatement {
            session: &open.session,
            start_us,
            duration_us,
            protocol: if begun.is_extended {
                Protocol::Extended
            } else {
                Protocol::Simple
            },
            name: &begun.name,
            sql: &begun.sql,
            parameters: &values,
            rows: None,
            failed: done.failed,
            obstacle,
            wire: None,
        })
    }

    /// A session has ended, or another one has its process number.
    fn close(&mut self, session: &[u8], at_us: i64, is_replaced: bool) -> io::Result<()> {
        self.flush(session)?;
        let Some(open) = self.open.remove(session) else {
            return Ok(());
        };
        self.unsaid(NO_END, is_replaced.into());
        if open.has_begun {
            self.writer.end(&open.session, at_us.max(open.free_us))?;
        }
        Ok(())
    }

    pub fn finish(mut self) -> io::Result<(W, Ending)> {
        let sessions: Vec<Vec<u8>> = self.open.keys().cloned().collect();
        for session in sessions {
            self.flush(&session)?;
        }
        let unended = self.open.values().filter(|open| open.has_begun).count();
        self.unsaid(NO_END, unended as u64);
        let unsaid = self
            .unsaid
            .into_iter()
            .map(|(kind, count)| (kind.to_owned(), count));
        self.writer.finish(unsaid.collect())
    }
}

const NO_END: &str = "ends of sessions (log_disconnections)";
const FASTPATH: &str = "calls of the fastpath protocol (large objects)";
const BARE: &str = "texts of statements that have a duration";

/// Records that a session began, at a time that is known.
fn begin<W: Write>(writer: &mut Writer<W>, open: &mut Open, at_us: i64) -> io::Result<()> {
    if std::mem::replace(&mut open.has_begun, true) || open.is_replication {
        return Ok(());
    }
    writer.begin(&open.session, at_us, true)
}

/// The names in `connection authorized: user=a database=b application_name=c`.
fn name(session: &mut Session, message: &[u8]) {
    let text = String::from_utf8_lossy(message);
    let after = |word: &str| {
        let (_, rest) = text.split_once(word)?;
        let ends = [" database=", " application_name=", " SSL enabled", " GSS "];
        let end = ends.iter().filter_map(|end| rest.find(end)).min();
        Some(rest[..end.unwrap_or(rest.len())].to_owned())
    };
    session.user = after("user=").unwrap_or_default();
    session.database = after(" database=").unwrap_or_default();
    session.application = after(" application_name=").unwrap_or_default();
}

/// The code of errors that are known by their words, for a prefix without `%e`.
fn message_state(message: &[u8]) -> Option<SqlState> {
    let is = |begin: &[u8]| message.starts_with(begin);
    if is(b"canceling statement due to lock timeout") {
        return Some(*b"55P03");
    }
    let codes: [(&[u8], &SqlState); 6] = [
        (b"canceling statement due to", b"57014"),
        (b"current transaction is aborted", b"25P02"),
        (b"duplicate key value violates unique constraint", b"23505"),
        (b"deadlock detected", b"40P01"),
        (b"could not serialize access", b"40001"),
        (
            b"terminating connection due to administrator command",
            b"57P01",
        ),
    ];
    codes
        .iter()
        .find(|(begin, _)| is(begin))
        .map(|(_, code)| **code)
}

fn has_parameters(sql: &[u8]) -> bool {
    // The writer counts them exactly; here only statements without the character are excluded.
    memchr::memchr_iter(b'$', sql).any(|at| {
        let is_number = sql.get(at + 1).is_some_and(u8::is_ascii_digit);
        let is_begin =
            at == 0 || !(sql[at - 1].is_ascii_alphanumeric() || b"_$'".contains(&sql[at - 1]));
        is_number && is_begin
    })
}

/// `COPY … FROM STDIN`.
fn takes_rows(sql: &[u8]) -> bool {
    let sql = sql.trim_ascii_start();
    let is_copy = sql
        .get(..5)
        .is_some_and(|word| word.eq_ignore_ascii_case(b"copy "));
    is_copy
        && sql
            .windows(5)
            .any(|word| word.eq_ignore_ascii_case(b"stdin"))
}
