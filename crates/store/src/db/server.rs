//! A notebook on a server: one session, opened again when it was lost.
//!
//! Every statement is one that PostgreSQL, CockroachDB and YugabyteDB answer alike: no advisory lock,
//! no SERIAL, no COPY. What a server asks to be done again (40001 and its like) is done again.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use pgdyno_session::{Column, ConnInfo, Error as SessionError, Session};

use super::ahead::{Ahead, Answer, Texts};
use super::{Error, Result, Row, Value};

/// How long connecting may take where the URL does not say: no command waits long for a server that is away.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// So often a transaction is done again, with pauses that grow from this.
const TRIES_MAX: u32 = 20;
const PAUSE: Duration = Duration::from_millis(10);

/// So many different statements are kept prepared in a session: all of the notebook's own.
const KEPT_MAX: usize = 300;

/// A server with the session to it.
pub struct Server {
    info: ConnInfo,
    session: RefCell<Option<Session>>,
    /// Rows that the last statement changed.
    affected: Cell<u64>,
    in_transaction: Cell<bool>,
    /// Whether every transaction is to be read-only.
    reads_only: bool,
    /// How long it may say nothing.
    silence_limit: Duration,
    /// Whether statements may be kept prepared: not through a pooler that does not know them.
    keeps: Cell<bool>,
    ahead: RefCell<Ahead>,
}

impl Server {
    /// Connects.
    ///
    /// # Errors
    /// There is no way to it.
    pub fn connect(info: ConnInfo, reads_only: bool, silence_limit: Duration) -> Result<Self> {
        let server = Self {
            info,
            session: RefCell::new(None),
            affected: Cell::new(0),
            in_transaction: Cell::new(false),
            reads_only,
            silence_limit,
            keeps: Cell::new(true),
            ahead: RefCell::default(),
        };
        server.with(|_| Ok(()))?;
        Ok(server)
    }

    pub fn info(&self) -> &ConnInfo {
        &self.info
    }

    /// Whether the server's session is this one's alone: no pooler in between.
    pub fn is_own(&self) -> bool {
        self.keeps.get()
    }

    /// Trials that will be read in this order, and nothing written meanwhile; none: as it comes.
    pub fn will_read(&self, trials: &[i64]) {
        self.ahead.replace(Ahead::of(trials));
    }

    /// What the last statement changed.
    pub fn affected(&self) -> u64 {
        self.affected.get()
    }

    fn open(&self) -> Result<Session> {
        let found = self.info.candidates();
        let found = found.map_err(|e| SessionError::Usage(e.to_string()))?;
        let mut session = Session::connect(&found.list, Some(CONNECT_LIMIT))?;
        session.set_answer_timeout(Some(self.silence_limit));
        // Values are read as text, whatever the role or the database has set.
        let mut settings = vec![
            ("client_encoding", "UTF8"),
            ("bytea_output", "hex"),
            ("extra_float_digits", "1"),
            // Notices that something is there already are of no use.
            ("client_min_messages", "warning"),
        ];
        let is_own = session.is_own();
        if self.reads_only {
            // The default would only hold for the next transaction.
            let name = if is_own {
                "default_transaction_read_only"
            } else {
                "transaction_read_only"
            };
            settings.push((name, "on"));
        }
        session.apply_settings(&settings)?;
        self.keeps.set(self.keeps.get() && is_own);
        if self.keeps.get() {
            session.keep_statements(KEPT_MAX);
        }
        Ok(session)
    }

    /// Does it in the session, which is opened when there is none.
    fn with<T>(&self, work: impl FnOnce(&mut Session) -> Result<T>) -> Result<T> {
        let mut place = self
            .session
            .try_borrow_mut()
            .map_err(|_| Error::Unreadable("a row is still being read".to_owned()))?;
        let is_usable = place.as_ref().is_some_and(|session| !session.is_broken());
        if !is_usable {
            *place = None;
            if self.in_transaction.get() {
                return Err(SessionError::closed().into());
            }
        }
        let session = match &mut *place {
            Some(session) => session,
            none => none.insert(self.open()?),
        };
        work(session)
    }

    /// Gives the rows of a statement to `read`. Outside of transactions, a session that was lost
    /// meanwhile is opened once more where nothing was read from it.
    ///
    /// # Errors
    /// There is no way to it, or it refuses.
    pub fn each(
        &self,
        sql: &str,
        params: &[Value],
        read: &mut dyn FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<()> {
        let texts: Texts = params.iter().map(text).collect();
        if is_query(sql)
            && let Some(answer) = self.ahead(sql, &texts)
        {
            let Answer { columns, rows, .. } = &answer;
            return rows.iter().try_for_each(|row| {
                let values: Vec<Option<&[u8]>> = row.iter().map(Option::as_deref).collect();
                read(&Row::Server(columns, &values))
            });
        }
        let texts: Vec<Option<&str>> = texts.iter().map(Option::as_deref).collect();
        let rows = Cell::new(0_u64);
        let ask = |read: &mut dyn FnMut(&Row<'_>) -> Result<()>| {
            self.with(|session| {
                let mut refused = None;
                let tag = session.query_each(sql, &texts, &mut |columns: &[Column], values| {
                    rows.set(rows.get() + 1);
                    if refused.is_none() {
                        refused = read(&Row::Server(columns, values)).err();
                    }
                })?;
                self.affected.set(tag.unwrap_or(0));
                refused.map_or(Ok(()), Err)
            })
        };
        match ask(read) {
            Err(Error::Server(e)) if self.asks_again(&e, sql) && rows.get() == 0 => ask(read),
            first => first,
        }
    }

    /// The answer to a question about a trial that is read ahead, asked now with those about the next or
    /// earlier with another's. `None` when the question is to be asked alone, also where asking for
    /// several has failed.
    fn ahead(&self, sql: &str, params: &Texts) -> Option<Answer> {
        let mut ahead = self.ahead.borrow_mut();
        if let Some(answer) = ahead.take(sql, params) {
            return Some(answer);
        }
        let questions = ahead.questions(params);
        if questions.len() < 2 {
            return None;
        }
        let lists: Vec<Vec<Option<&str>>> = questions
            .iter()
            .map(|texts| texts.iter().map(Option::as_deref).collect())
            .collect();
        let lists: Vec<&[Option<&str>]> = lists.iter().map(Vec::as_slice).collect();
        let mut answers: Vec<Answer> = Vec::new();
        answers.resize_with(lists.len(), Answer::default);
        let asked = self.with(|session| {
            let mut add = |list: usize, columns: &[Column], values: &[Option<&[u8]>]| {
                if let Some(answer) = answers.get_mut(list) {
                    answer.add(columns, values);
                }
            };
            Ok(session.query_all(sql, &lists, &mut add)?)
        });
        if asked.is_err() {
            *ahead = Ahead::default();
            return None;
        }
        for (texts, answer) in questions.into_iter().zip(answers) {
            ahead.keep(sql, texts, answer);
        }
        ahead.take(sql, params)
    }

    /// Whether a statement that failed so is asked again. A transaction is as a whole.
    fn asks_again(&self, error: &SessionError, sql: &str) -> bool {
        let is_of_keeping = self.keeps.get() && is_of_keeping(error);
        if is_of_keeping {
            self.keeps.set(false);
            if let Ok(mut place) = self.session.try_borrow_mut()
                && let Some(session) = &mut *place
            {
                session.keep_statements(0);
            }
        }
        !self.in_transaction.get() && (is_of_keeping || is_lost(error) && is_query(sql))
    }

    /// Statements without parameters.
    ///
    /// # Errors
    /// As [`Server::each`].
    pub fn batch(&self, sql: &str) -> Result<()> {
        self.with(|session| Ok(session.simple_query(sql).map(|_| ())?))
    }

    /// All of it or nothing, again when the server asks for that.
    ///
    /// # Errors
    /// As [`Server::each`].
    pub fn transaction<T>(&self, work: &mut dyn FnMut() -> Result<T>) -> Result<T> {
        let mut tries = 0;
        loop {
            tries += 1;
            let kept = self.keeps.get();
            let done = self.once(work);
            match done {
                Err(Error::Server(e))
                    if tries < TRIES_MAX && (is_retried(&e) || kept && is_of_keeping(&e)) =>
                {
                    std::thread::sleep(PAUSE * tries);
                }
                done => return done,
            }
        }
    }

    fn once<T>(&self, work: &mut dyn FnMut() -> Result<T>) -> Result<T> {
        self.batch("BEGIN")?;
        self.in_transaction.set(true);
        let done = work().and_then(|done| {
            self.batch("COMMIT")?;
            Ok(done)
        });
        if done.is_err() {
            let _ = self.batch("ROLLBACK");
        }
        self.in_transaction.set(false);
        done
    }
}

/// Whether it only reads, so that asking again does nothing twice.
fn is_query(sql: &str) -> bool {
    sql.trim_start()
        .get(..6)
        .is_some_and(|word| word.eq_ignore_ascii_case("SELECT"))
}

fn is_lost(error: &SessionError) -> bool {
    match error {
        SessionError::Lost(_) => true,
        // The administrator's or a crash's shutdown.
        error => error
            .sqlstate()
            .is_some_and(|state| ["57P01", "57P02"].contains(&state)),
    }
}

/// What a statement that is kept prepared may be refused with and would not be without its name: another
/// server connection behind a pooler has no such statement, or has one of that name, or its columns have
/// changed. Nothing was done then.
fn is_of_keeping(error: &SessionError) -> bool {
    let states = ["26000", "42P05", "0A000"];
    error
        .sqlstate()
        .is_some_and(|state| states.contains(&state))
}

/// A conflict, by PostgreSQL's, CockroachDB's or YugabyteDB's codes.
fn is_retried(error: &SessionError) -> bool {
    let states = ["40001", "40P01", "YB003"];
    error
        .sqlstate()
        .is_some_and(|state| states.contains(&state))
}

/// As the protocol has it.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Integer(number) => Some(number.to_string()),
        Value::Real(number) => Some(number.to_string()),
        // The one character that a text of PostgreSQL cannot have.
        Value::Text(text) => Some(text.replace('\0', "\u{fffd}")),
        Value::Blob(bytes) => {
            const DIGITS: &[u8; 16] = b"0123456789abcdef";
            let mut out = String::with_capacity(2 + 2 * bytes.len());
            out.push_str("\\x");
            for byte in bytes {
                out.push(char::from(DIGITS[usize::from(byte >> 4)]));
                out.push(char::from(DIGITS[usize::from(byte & 15)]));
            }
            Some(out)
        }
    }
}
