//! One blocking conversation with a server in the simple query protocol.

use std::io::{self, ErrorKind};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pgdyno_platform::tcp_info::TcpInfo;
use pgdyno_wire::answer::{Answer, Due};
use pgdyno_wire::backend::{self, Frame, Message, ProtocolError, TransactionStatus};
use pgdyno_wire::limits::{SETTINGS_MAX, TEXT_BYTES_MAX};
use pgdyno_wire::{
    Candidate, Channel, ConnectError, ConnectErrorKind, Connecting, Encryption, Established, Login,
    Notice, ServerError, frontend, next_candidate,
};

use crate::error::Error;
use crate::kept::{Named, PreparedStatements};
use crate::patience::{Brake, Ending, GRACE, Patience, SIGN_OF_LIFE_MAX, SLOW, Slow, Statement};
use crate::settings::Brought;
use crate::socket::{Ready, Socket};

/// Bytes asked of the socket at once.
const READ_BYTES: usize = 64 * 1024;
/// How long a cancel request may take.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(2);

/// Bytes of a result that is kept, and of what has arrived and is not yet taken.
pub const RESULT_BYTES_MAX: usize = 256 << 20;
/// Notices that are kept for [`Session::take_notices`] or given to a handler; further ones are dropped.
pub const NOTICES_MAX: usize = 1000;

/// A column of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    pub type_oid: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Its columns; none if it returns no rows.
    pub columns: Vec<Column>,
    /// Its rows in text format, `None` for NULL.
    pub rows: Vec<Vec<Option<String>>>,
    /// The command tag, such as `INSERT 0 5`; empty for an empty statement.
    pub tag: String,
    /// Rows affected or returned, where the tag says so.
    pub affected: Option<u64>,
}

/// What takes a row: the columns, and their values in text format, `None` for NULL.
pub type TakeRow<'a> = &'a mut dyn FnMut(&[Column], &[Option<&[u8]>]);

/// As [`TakeRow`], with the number first which of several answers the row belongs to.
pub type TakeRowOf<'a> = &'a mut dyn FnMut(usize, &[Column], &[Option<&[u8]>]);

type NoticeHandler = Box<dyn FnMut(&Notice) + Send>;

/// A session with a server.
pub struct Session {
    socket: Socket,
    channel: Channel,
    inbox: Vec<u8>,
    /// How much of `inbox` was taken.
    taken: usize,
    outbox: Vec<u8>,
    read_buffer: Vec<u8>,
    candidate: Candidate,
    parameters: Vec<(String, String)>,
    cancel: (i32, Vec<u8>),
    status: TransactionStatus,
    answer: Answer,
    notices: Vec<Notice>,
    /// Notices that came since they were last taken.
    notices_seen: usize,
    notice_handler: Option<NoticeHandler>,
    answer_timeout: Option<Duration>,
    patience: Patience,
    brake: Brake,
    /// Whether what is left to do is to clean up after an interrupt.
    cleans_up: bool,
    /// Whether the next statement may take its time, whatever it is.
    is_unhurried: bool,
    /// The one that is not answered to its end yet.
    statement: Option<Statement>,
    kept: PreparedStatements,
    /// Settings that go along with each request.
    pub(crate) brought: Brought,
    /// How many answers that are still to come are only those to settings.
    skips: usize,
    broken: bool,
}

impl Session {
    /// Tries the candidates in order, by libpq's rules for what may follow which failure. Each
    /// address gets its own `connect_timeout` or else `timeout`.
    pub fn connect(candidates: &[Candidate], timeout: Option<Duration>) -> Result<Session, Error> {
        Session::connect_with(candidates, timeout, Patience::default())
    }

    /// The same with patience: an interrupt also ends connecting.
    pub fn connect_with(
        candidates: &[Candidate],
        timeout: Option<Duration>,
        patience: Patience,
    ) -> Result<Session, Error> {
        let brake = Brake::new(patience.interrupts);
        let mut attempts: Vec<String> = Vec::new();
        let mut at = 0;
        let mut limit: Option<((usize, usize), Option<Instant>)> = None;
        loop {
            let Some(candidate) = candidates.get(at) else {
                return Err(Error::Usage(
                    "there is no candidate to connect to".to_owned(),
                ));
            };
            let address = (candidate.host_index, candidate.address_index);
            let deadline = match limit {
                Some((same, deadline)) if same == address => deadline,
                _ => candidate
                    .connect_timeout
                    .or(timeout)
                    .and_then(|t| Instant::now().checked_add(t)),
            };
            limit = Some((address, deadline));
            match start(candidate, deadline, brake) {
                Ok((socket, established)) => {
                    let mut session = Session::new(candidate, socket, established);
                    (session.patience, session.brake) = (patience, brake);
                    return Ok(session);
                }
                Err(error) => {
                    if let Some(exit_code) = brake.pulled() {
                        return Err(Error::interrupted(exit_code));
                    }
                    attempts.push(candidate.failure(&error));
                    match next_candidate(candidates, at, &error) {
                        Some(next) => at = next,
                        None => {
                            return Err(Error::Connect {
                                attempts,
                                last: Box::new(error),
                            });
                        }
                    }
                }
            }
        }
    }

    fn new(candidate: &Candidate, socket: Socket, established: Established) -> Session {
        Session {
            socket,
            channel: established.channel,
            inbox: established.leftover,
            taken: 0,
            outbox: Vec::new(),
            read_buffer: vec![0; READ_BYTES],
            candidate: candidate.clone(),
            parameters: established.parameters,
            cancel: (established.backend_pid, established.cancel_key),
            status: TransactionStatus::Idle,
            answer: Answer::default(),
            notices: established.notices,
            notices_seen: 0,
            notice_handler: None,
            answer_timeout: None,
            patience: Patience::default(),
            brake: Brake::default(),
            cleans_up: false,
            is_unhurried: false,
            statement: None,
            kept: PreparedStatements::default(),
            brought: Brought::default(),
            skips: 0,
            broken: false,
        }
    }

    /// Runs one or several statements and returns what each returned. The first error ends it, and
    /// what came before it is dropped with the transaction that held it.
    pub fn simple_query(&mut self, sql: &str) -> Result<Vec<Outcome>, Error> {
        self.start_query(sql)?;
        self.outcomes()
    }

    /// Runs one statement with parameters, `$1` and so on, as texts: in the extended query
    /// protocol, unnamed.
    pub fn query_with(&mut self, sql: &str, params: &[&str]) -> Result<Outcome, Error> {
        let params: Vec<Option<&str>> = params.iter().copied().map(Some).collect();
        self.start_extended(sql, &[&params], &Named::default())?;
        self.outcomes()
            .map(|mut outcomes| outcomes.pop().unwrap_or_default())
    }

    /// Runs one statement, prepared under a name that is given up in the same request.
    pub fn query_named(&mut self, name: &str, sql: &str) -> Result<Outcome, Error> {
        let named = Named {
            name: name.to_owned(),
            is_there: false,
            is_for_once: true,
        };
        self.start_extended(sql, &[&[]], &named)?;
        self.outcomes()
            .map(|mut outcomes| outcomes.pop().unwrap_or_default())
    }

    /// Runs one statement with parameters as texts (`None` is NULL) in the extended query protocol, and
    /// gives each row to `row` as it comes: of an answer of any size nothing is kept. Returns how many
    /// rows were affected or returned, where the command tag says so.
    pub fn query_each(
        &mut self,
        sql: &str,
        params: &[Option<&str>],
        row: TakeRow<'_>,
    ) -> Result<Option<u64>, Error> {
        self.query_all(sql, &[params], &mut |_, columns, values| {
            row(columns, values)
        })
    }

    /// [`Session::query_each`] with each of these lists of parameters, all of them sent at once, so that
    /// they cost one wait. `row` gets first which list a row belongs to. Returns the count of the last.
    /// The first error ends it; what is changed is changed as a whole. Only for a few KB of parameters and
    /// answers that are read as they come: nothing is read while they are sent.
    pub fn query_all(
        &mut self,
        sql: &str,
        lists: &[&[Option<&str>]],
        row: TakeRowOf<'_>,
    ) -> Result<Option<u64>, Error> {
        let named = self.kept.named(sql);
        self.start_extended(sql, lists, &named)?;
        let (mut columns, mut affected) = (Vec::new(), None);
        let mut failed: Option<Error> = None;
        let mut list = 0;
        loop {
            let range = self.next_after(&mut failed)?;
            match self.parse(&range)? {
                Message::ParseComplete if !named.name.is_empty() => self.kept.is_there(sql),
                Message::ParseComplete
                | Message::BindComplete
                | Message::NoData
                | Message::EmptyQueryResponse => {}
                Message::ReadyForQuery(status) => {
                    self.set_status(status);
                    return failed.map_or(Ok(affected), Err);
                }
                Message::ErrorResponse(fields) => {
                    let error = self.refused(ServerError::new(fields));
                    failed.get_or_insert(error);
                }
                Message::RowDescription(described) => columns = read_columns(described)?,
                Message::DataRow(values) => {
                    let values: Result<Vec<_>, _> = values.collect();
                    row(list, &columns, &values?);
                }
                Message::CommandComplete(complete) => {
                    affected = complete.rows();
                    list += 1;
                }
                _ => return Err(self.unexpected(&range)),
            }
        }
    }

    /// From now on [`Session::query_each`] has the server keep the first `most` different statements
    /// prepared, under names; 0: none, which is so at first. What prepares for itself, such as a pooler
    /// that hands out another server connection each time, may then refuse with SQLSTATE 26000 or 42P05; a
    /// statement whose columns have changed is refused with 0A000.
    pub fn keep_statements(&mut self, most: usize) {
        self.kept.keep(most);
    }

    fn start_extended(
        &mut self,
        sql: &str,
        lists: &[&[Option<&str>]],
        named: &Named,
    ) -> Result<(), Error> {
        let mut messages = Vec::new();
        let too_many = |_| usage("a statement has at most 65535 parameters");
        let brings = self.brings_settings(sql);
        if brings {
            let query = self.brought.query();
            frontend::parse(&mut messages, "", query.as_bytes(), &[]).map_err(too_many)?;
            frontend::bind(&mut messages, "", "", |_| {}).map_err(too_many)?;
            frontend::describe(&mut messages, frontend::Target::Portal, "");
            frontend::execute(&mut messages, "", 0);
        }
        if !named.is_there {
            frontend::parse(&mut messages, &named.name, sql.as_bytes(), &[]).map_err(too_many)?;
        }
        for params in lists {
            frontend::bind(&mut messages, "", &named.name, |values| {
                for param in *params {
                    match param {
                        Some(text) => values.value(text.as_bytes()),
                        None => values.null(),
                    }
                }
            })
            .map_err(too_many)?;
            frontend::describe(&mut messages, frontend::Target::Portal, "");
            frontend::execute(&mut messages, "", 0);
        }
        if named.is_for_once {
            frontend::close(&mut messages, frontend::Target::Statement, &named.name);
        }
        frontend::sync(&mut messages);
        self.begin(sql)?;
        self.expect_silence()?;
        self.skips = usize::from(brings);
        self.send(|out| out.append(&mut messages))
    }

    /// Reads what a request returned, to its end.
    fn outcomes(&mut self) -> Result<Vec<Outcome>, Error> {
        let mut outcomes = Vec::new();
        let mut current = Outcome::default();
        let mut failed: Option<Error> = None;
        let mut bytes = 0;
        loop {
            let range = self.next_after(&mut failed)?;
            bytes += range.len();
            if bytes > RESULT_BYTES_MAX {
                self.broken = true;
                return Err(too_large());
            }
            match self.parse(&range)? {
                Message::ParseComplete
                | Message::BindComplete
                | Message::CloseComplete
                | Message::NoData => {}
                Message::ReadyForQuery(status) => {
                    self.set_status(status);
                    return match failed {
                        Some(error) => Err(error),
                        None => Ok(outcomes),
                    };
                }
                Message::ErrorResponse(fields) => {
                    let error = self.refused(ServerError::new(fields));
                    failed.get_or_insert(error);
                }
                Message::RowDescription(columns) => current.columns = read_columns(columns)?,
                Message::DataRow(row) => {
                    let values: Result<_, _> = row
                        .map(|value| {
                            value.map(|v| v.map(|v| String::from_utf8_lossy(v).into_owned()))
                        })
                        .collect();
                    current.rows.push(values?);
                }
                Message::CommandComplete(complete) => {
                    current.tag = complete.text().into_owned();
                    current.affected = complete.rows();
                    outcomes.push(std::mem::take(&mut current));
                }
                Message::EmptyQueryResponse => outcomes.push(std::mem::take(&mut current)),
                Message::CopyInResponse { .. } => {
                    failed.get_or_insert(usage("COPY FROM STDIN needs copy_in()"));
                    self.send(|out| frontend::copy_fail(out, "no data is sent in a simple query"))?;
                }
                Message::CopyOutResponse { .. } => {
                    failed.get_or_insert(usage("COPY TO STDOUT is not supported"));
                }
                Message::CopyData(_) | Message::CopyDone => {}
                _ => return Err(self.unexpected(&range)),
            }
        }
    }

    /// Runs statements and returns what the last one returned.
    pub fn query(&mut self, sql: &str) -> Result<Outcome, Error> {
        self.simple_query(sql)
            .map(|mut outcomes| outcomes.pop().unwrap_or_default())
    }

    /// Runs statements and returns how many rows the last one affected.
    pub fn execute(&mut self, sql: &str) -> Result<u64, Error> {
        self.query(sql).map(|outcome| outcome.affected.unwrap_or(0))
    }

    /// The first value of the only row.
    pub fn query_one_value(&mut self, sql: &str) -> Result<Option<String>, Error> {
        let mut outcome = self.query(sql)?;
        match (outcome.rows.len(), outcome.rows.pop()) {
            (1, Some(row)) => row
                .into_iter()
                .next()
                .ok_or_else(|| usage(&format!("the query has no column: {sql}"))),
            (rows, _) => Err(usage(&format!(
                "the query returned {rows} rows in place of one: {sql}"
            ))),
        }
    }

    /// Says farewell and ends the session.
    pub fn close(self) {
        // Dropping does it.
    }

    /// The same, and waits until the server has ended it too, at most so long: until then it counts at the
    /// server's limits of sessions.
    pub fn close_and_wait(mut self, limit: Duration) {
        self.say_farewell();
        // What the server said before does not matter any more.
        self.broken = true;
        let until = Instant::now() + limit;
        let mut ignored = [0; 1024];
        while let Ok(ready) = self.socket.poll_until(false, Some(until), None)
            && ready.readable
            && self.socket.read(&mut ignored).is_ok_and(|bytes| bytes > 0)
        {}
    }

    /// A setting that the server reports, such as `server_version`, in its latest value.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, value)| value.as_str())
    }

    /// All settings that the server reports.
    pub fn parameters(&self) -> &[(String, String)] {
        &self.parameters
    }

    /// The candidate that led to this session.
    pub fn candidate(&self) -> &Candidate {
        &self.candidate
    }

    pub fn backend_pid(&self) -> i32 {
        self.cancel.0
    }

    /// What the kernel knows of its connection; `None` when that is not TCP.
    pub fn tcp_info(&self) -> Option<TcpInfo> {
        self.socket.tcp_info()
    }

    /// TLS version and cipher suite; `None` if the session is not encrypted.
    pub fn tls_description(&self) -> Option<String> {
        self.channel.description()
    }

    /// Transaction status: idle, in a transaction, or in a failed one.
    pub fn transaction_status(&self) -> TransactionStatus {
        self.status
    }

    /// Whether the session cannot be used any more.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// The notices that arrived since the last call, at most [`NOTICES_MAX`]. None while a handler
    /// takes them.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        self.notices_seen = 0;
        std::mem::take(&mut self.notices)
    }

    /// Has further notices, at most [`NOTICES_MAX`], given to `handler` instead of being collected.
    pub fn on_notice(&mut self, handler: impl FnMut(&Notice) + Send + 'static) {
        self.notice_handler = Some(Box::new(handler));
    }

    /// Limits how long the server may stay silent while an answer is due. Past it the session is
    /// broken. `None`, as at first, is no limit.
    pub fn set_answer_timeout(&mut self, timeout: Option<Duration>) {
        self.answer_timeout = timeout;
    }

    /// How to wait from here on. Interrupts that have come already are none of this session's.
    pub fn set_patience(&mut self, patience: Patience) {
        self.brake = Brake::new(patience.interrupts);
        self.patience = patience;
    }

    /// The next statement may take its time, though it is a query: it counts the rows of a large
    /// table, say.
    pub fn unhurried(&mut self) -> &mut Session {
        self.is_unhurried = true;
        self
    }

    /// What follows cleans up. After an interrupt statements are refused; these are not, but each has
    /// no more than a second. Without an interrupt nothing changes.
    pub fn clean_up(&mut self) {
        if self.brake.pulled().is_some() {
            self.brake = Brake::new(self.patience.interrupts);
            self.cleans_up = true;
        }
    }

    /// What another thread needs to cancel this session's running statement.
    pub fn cancel_handle(&self) -> CancelHandle {
        CancelHandle::new(
            &self.candidate,
            !self.channel.is_plain(),
            self.cancel.clone(),
        )
    }

    pub(crate) fn start_query(&mut self, sql: &str) -> Result<(), Error> {
        let (mut text, skips) = if self.brings_settings(sql) {
            self.brought.statements()
        } else {
            (String::new(), 0)
        };
        self.begin(sql)?;
        self.expect_silence()?;
        self.skips = skips;
        if skips == 0 {
            return self.send(|out| frontend::query(out, sql.as_bytes()));
        }
        text.push_str(sql);
        self.send(|out| frontend::query(out, text.as_bytes()))
    }

    /// A statement is about to be sent; none after an interrupt.
    fn begin(&mut self, sql: &str) -> Result<(), Error> {
        let is_unhurried = std::mem::take(&mut self.is_unhurried);
        if let Some(exit_code) = self.brake.pulled() {
            return Err(Error::interrupted(exit_code));
        }
        self.statement = Some(Statement::new(sql, is_unhurried));
        Ok(())
    }

    /// What the server refused. That a statement was cancelled since an interrupt came is that.
    pub(crate) fn refused(&self, error: ServerError) -> Error {
        let ending = self.statement.as_ref().and_then(|s| s.ending);
        match self.brake.pulled() {
            // query_canceled
            Some(exit_code) if ending.is_some() && error.sqlstate() == "57014" => {
                Error::Interrupted {
                    exit_code,
                    said: Some(Box::new(error)),
                }
            }
            _ => Error::Server(Box::new(error)),
        }
    }

    /// The statement has been given up by other means than cancelling it, and is about to end.
    pub(crate) fn is_given_up(&mut self) {
        let count = self.brake.count();
        if self.brake.pulled().is_some()
            && let Some(statement) = &mut self.statement
        {
            let until = Instant::now() + GRACE;
            statement.ending.get_or_insert(Ending { count, until });
        }
    }

    /// Acts on interrupts: the first cancels the statement; after a second, or when it has not ended
    /// in time, the session is given up.
    pub(crate) fn heed_interrupts(&mut self) -> Result<(), Error> {
        let Some(exit_code) = self.brake.pulled() else {
            return Ok(());
        };
        let (now, count) = (Instant::now(), self.brake.count());
        let ending = self.statement.as_ref().and_then(|s| s.ending);
        let is_over = ending.is_some_and(|e| count > e.count || now >= e.until);
        match (&mut self.statement, is_over) {
            (Some(statement), false) if ending.is_none() => {
                let until = now + GRACE;
                statement.ending = Some(Ending { count, until });
                let sent = self.cancel_handle().cancel_unless(GRACE, self.brake_anew());
                if let Some(reported) = self.patience.on_cancel {
                    reported(&sent);
                }
                Ok(())
            }
            (Some(_), false) => Ok(()),
            _ => {
                self.broken = true;
                self.statement = None;
                Err(Error::interrupted(exit_code))
            }
        }
    }

    /// An answer that is here before it is asked for is none to what is asked next.
    fn expect_silence(&mut self) -> Result<(), Error> {
        use backend::tag::{
            ERROR_RESPONSE, NOTICE_RESPONSE, NOTIFICATION_RESPONSE, PARAMETER_STATUS,
        };
        match self.inbox.get(self.taken) {
            None
            | Some(&ERROR_RESPONSE)
            | Some(&NOTICE_RESPONSE)
            | Some(&NOTIFICATION_RESPONSE)
            | Some(&PARAMETER_STATUS) => Ok(()),
            Some(&tag) => {
                self.broken = true;
                Err(ProtocolError::Unasked { tag }.into())
            }
        }
    }

    /// One that the next interrupt pulls.
    fn brake_anew(&self) -> Brake {
        Brake::new(self.patience.interrupts)
    }

    /// Waits until the socket can be read or, if `write` asks, written.
    fn wait(&mut self, write: bool) -> Result<Ready, Error> {
        let silent_since = Instant::now();
        let mut asked = silent_since;
        loop {
            self.heed_interrupts()?;
            let hang_limit = self.patience.hang_limit;
            if let Some(limit) = hang_limit.filter(|limit| asked.elapsed() >= *limit) {
                if !answers(&self.candidate, SIGN_OF_LIFE_MAX) {
                    return Err(self.hangs(limit));
                }
                asked = Instant::now();
            }
            let limit = self.silence_limit();
            if let Some(limit) = limit.filter(|limit| silent_since.elapsed() >= *limit) {
                return Err(self.silent_for(limit));
            }
            let silent_until = limit.and_then(|limit| silent_since.checked_add(limit));
            let slow_from = self.tell_if_slow();
            let ending = self.statement.as_ref().and_then(|s| s.ending);
            let (interrupts, look_again) = self.brake.watch();
            let ask_at = hang_limit.and_then(|limit| asked.checked_add(limit));
            let ending = ending.map(|e| e.until);
            let until = [silent_until, ask_at, slow_from, look_again, ending];
            let until = until.into_iter().flatten().min();
            let ready = self
                .socket
                .poll_until(write, until, interrupts)
                .map_err(|e| self.lost(&e))?;
            if ready.readable || ready.writable {
                return Ok(ready);
            }
        }
    }

    /// How long the server may stay silent about the present statement.
    fn silence_limit(&self) -> Option<Duration> {
        let is_work = self.statement.as_ref().is_some_and(|s| s.is_work);
        let limit = match (self.answer_timeout, is_work) {
            (None, false) => self.patience.silence_limit,
            (timeout, _) => timeout,
        };
        if self.cleans_up {
            Some(limit.map_or(GRACE, |limit| limit.min(GRACE)))
        } else {
            limit
        }
    }

    /// The server has been silent for so long, and answers no new connection: a request to cancel would
    /// have no answer either.
    fn hangs(&mut self, limit: Duration) -> Error {
        self.broken = true;
        match self.statement.take() {
            None => Error::TimedOut(limit),
            Some(statement) => Error::Silent {
                limit,
                statement: statement.shown,
                waited_for: Some("it answers no new connection either".to_owned()),
            },
        }
    }

    /// The server has been silent for too long: the session is over, and so is the statement.
    fn silent_for(&mut self, limit: Duration) -> Error {
        self.broken = true;
        let Some(statement) = self.statement.take() else {
            return Error::TimedOut(limit);
        };
        let watching = statement.watching.as_ref();
        let waited_for = watching.and_then(|watching| watching.waits_for());
        // Whether it gets there is beyond what can be done about it.
        let _ = self.cancel_handle().cancel_unless(GRACE, self.brake_anew());
        match self.answer_timeout {
            Some(_) => Error::TimedOut(limit),
            None => Error::Silent {
                limit,
                statement: statement.shown,
                waited_for,
            },
        }
    }

    /// Has a statement that takes long looked at; until then, when that will be.
    fn tell_if_slow(&mut self) -> Option<Instant> {
        let watcher = self.patience.watcher.clone()?;
        let statement = self.statement.as_ref()?;
        if statement.watching.is_some() {
            return None;
        }
        let slow_from = statement.begun + SLOW;
        if Instant::now() < slow_from {
            return Some(slow_from);
        }
        let slow = Slow {
            candidate: self.candidate.clone(),
            backend_pid: self.cancel.0,
            statement: statement.shown.clone(),
            is_work: statement.is_work,
        };
        let watching = watcher.watch(slow);
        self.statement.as_mut()?.watching = Some(watching);
        None
    }

    /// Sends what `write` appends. Reads meanwhile, so that a server that waits for its own bytes
    /// to be taken cannot block both sides.
    pub(crate) fn send(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), Error> {
        if self.broken {
            return Err(Error::closed());
        }
        let result = self.try_send(write);
        self.broken |= result.is_err();
        result
    }

    fn try_send(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), Error> {
        if self.channel.is_plain() {
            write(&mut self.outbox);
        } else {
            let mut plain = Vec::new();
            write(&mut plain);
            self.channel.seal(&plain, &mut self.outbox)?;
        }
        let mut sent = 0;
        while sent < self.outbox.len() {
            match self.socket.write(&self.outbox[sent..]) {
                Ok(bytes) => sent += bytes,
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    if self.wait(true)?.readable {
                        self.read_available()?;
                    }
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => {
                    // The server may have said why before it hung up.
                    let error = self.lost(&e);
                    return Err(self.last_words().unwrap_or(error));
                }
            }
        }
        self.outbox.clear();
        Ok(())
    }

    /// The error that the server sent before it closed the connection.
    fn last_words(&mut self) -> Option<Error> {
        let deadline = Instant::now().checked_add(Duration::from_secs(1));
        let limit = self.inbox.len() + TEXT_BYTES_MAX;
        while self.inbox.len() < limit && self.read_available().is_ok() {
            self.socket.wait(false, deadline, self.brake).ok()?;
        }
        loop {
            let frame = backend::split(&self.inbox[self.taken..]).ok()??;
            let error = match frame.parse().ok()? {
                Message::ErrorResponse(fields) => Some(ServerError::new(fields)),
                _ => None,
            };
            self.taken += frame.len;
            if let Some(error) = error {
                return Some(Error::Server(Box::new(error)));
            }
        }
    }

    fn lost(&self, error: &io::Error) -> Error {
        match error.kind() {
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof => {
                Error::closed()
            }
            _ => Error::Lost(format!("connection to server was lost: {error}")),
        }
    }

    /// Reads once; an error when the peer hung up. Nothing to read is no error.
    fn read_available(&mut self) -> Result<(), Error> {
        match self.socket.read(&mut self.read_buffer) {
            Ok(0) => Err(Error::closed()),
            Ok(bytes) => {
                if self.taken == self.inbox.len() {
                    self.inbox.clear();
                    self.taken = 0;
                }
                self.channel
                    .open(&self.read_buffer[..bytes], &mut self.inbox)?;
                Ok(())
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(()),
            Err(e) => Err(self.lost(&e)),
        }
    }

    /// The next message that is an answer, as its place in `inbox`; notices, settings and
    /// notifications are dealt with on the way.
    pub(crate) fn next_message(&mut self) -> Result<Range<usize>, Error> {
        loop {
            if let Some(range) = self.buffered_message()? {
                if self.is_of_settings(&range) {
                    continue;
                }
                return Ok(range);
            }
            let result = self.wait(false).and_then(|_| self.read_available());
            self.broken |= result.is_err();
            result?;
        }
    }

    /// Whether it answers only what sets the settings that go along with the request.
    fn is_of_settings(&mut self, range: &Range<usize>) -> bool {
        use backend::tag::{
            BIND_COMPLETE, COMMAND_COMPLETE, DATA_ROW, PARSE_COMPLETE, ROW_DESCRIPTION,
        };
        if self.skips == 0 {
            return false;
        }
        match self.inbox[range.start] {
            COMMAND_COMPLETE => self.skips -= 1,
            PARSE_COMPLETE | BIND_COMPLETE | ROW_DESCRIPTION | DATA_ROW => {}
            // Refused: the request is over.
            _ => {
                self.skips = 0;
                return false;
            }
        }
        true
    }

    /// The same; when the connection is lost, the error that the server sent before counts: it tells
    /// more than that it hung up.
    pub(crate) fn next_after(&mut self, failed: &mut Option<Error>) -> Result<Range<usize>, Error> {
        self.next_message()
            .map_err(|lost| failed.take().unwrap_or(lost))
    }

    /// The next answer among the bytes that are here already.
    fn buffered_message(&mut self) -> Result<Option<Range<usize>>, Error> {
        loop {
            let start = self.taken;
            let frame = match backend::split(&self.inbox[start..]) {
                Ok(Some(frame)) => frame,
                Ok(None) => {
                    self.inbox.drain(..self.taken);
                    self.taken = 0;
                    if self.inbox.len() + backend::missing(&self.inbox) > RESULT_BYTES_MAX {
                        self.broken = true;
                        return Err(too_large());
                    }
                    return Ok(None);
                }
                Err(error) => {
                    self.broken = true;
                    return Err(error.into());
                }
            };
            let range = start..start + frame.len;
            let checked = match frame.tag {
                backend::tag::READY_FOR_QUERY => self.answer.ready(Due::Executed),
                _ => self.answer.take(&frame),
            };
            if let Err(error) = checked {
                self.broken = true;
                return Err(error.into());
            }
            self.taken = range.end;
            match frame.tag {
                backend::tag::NOTICE_RESPONSE
                | backend::tag::PARAMETER_STATUS
                | backend::tag::NOTIFICATION_RESPONSE => self.take_asynchronous(&range)?,
                _ => return Ok(Some(range)),
            }
        }
    }

    fn take_asynchronous(&mut self, range: &Range<usize>) -> Result<(), Error> {
        match self.parse(range)? {
            Message::NoticeResponse(fields) => {
                if self.notices_seen == NOTICES_MAX {
                    return Ok(());
                }
                let notice = Notice::new(fields);
                self.notices_seen += 1;
                match &mut self.notice_handler {
                    Some(handler) => handler(&notice),
                    None => self.notices.push(notice),
                }
            }
            Message::ParameterStatus { name, value } => {
                let name = String::from_utf8_lossy(name).into_owned();
                let value = String::from_utf8_lossy(value).into_owned();
                let known = self.parameters.len();
                match self.parameters.iter_mut().find(|(n, _)| *n == name) {
                    Some((_, old)) => *old = value,
                    None if known < SETTINGS_MAX => {
                        self.parameters.push((name, value));
                    }
                    None => {
                        self.broken = true;
                        return Err(Error::Protocol(format!(
                            "the server reports more than {SETTINGS_MAX} settings, which is the \
                             limit: is this a server of PostgreSQL's protocol?"
                        )));
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The message at a place that [`Session::next_message`] returned.
    pub(crate) fn parse(&self, range: &Range<usize>) -> Result<Message<'_>, Error> {
        let bytes = &self.inbox[range.clone()];
        let frame = Frame {
            tag: bytes[0],
            body: &bytes[5..],
            len: bytes.len(),
        };
        Ok(frame.parse()?)
    }

    pub(crate) fn unexpected(&mut self, range: &Range<usize>) -> Error {
        self.broken = true;
        let tag = self.inbox[range.start].escape_ascii();
        Error::Protocol(format!(
            "unexpected response from server; first received character was \"{tag}\""
        ))
    }

    /// More of the present request was sent.
    pub(crate) fn request_goes_on(&mut self) {
        self.answer.goes_on();
    }

    /// The server has answered to the end, and is in this state.
    pub(crate) fn set_status(&mut self, status: TransactionStatus) {
        self.status = status;
        self.statement = None;
    }

    /// Whether an answer is here without waiting for one.
    pub(crate) fn answer_is_here(&mut self) -> Result<Option<Range<usize>>, Error> {
        if self.socket.readable().map_err(|e| self.lost(&e))? {
            let result = self.read_available();
            self.broken |= result.is_err();
            result?;
        }
        self.buffered_message()
    }
}

fn read_columns(described: backend::RowDescription<'_>) -> Result<Vec<Column>, Error> {
    let column = |column: backend::Column<'_>| Column {
        name: String::from_utf8_lossy(column.name).into_owned(),
        type_oid: column.type_oid,
    };
    let columns: Result<_, _> = described.map(|found| found.map(column)).collect();
    Ok(columns?)
}

fn too_large() -> Error {
    Error::Protocol(format!(
        "the server's answer has more than {RESULT_BYTES_MAX} bytes, the limit: ask for fewer rows"
    ))
}

pub(crate) fn usage(text: &str) -> Error {
    Error::Usage(text.to_owned())
}

impl Session {
    fn say_farewell(&mut self) {
        if self.broken {
            return;
        }
        let mut out = Vec::new();
        let mut farewell = Vec::new();
        frontend::terminate(&mut farewell);
        if self.channel.seal(&farewell, &mut out).is_ok() {
            self.channel.close(&mut out);
            // A full socket is closed without Terminate, to avoid waiting.
            let _ = self.socket.write(&out);
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.say_farewell();
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Session({}, process {})", self.candidate, self.cancel.0)
    }
}

/// Whether a server answers a new connection within this time: with a session, an error, or in any
/// other way. One that takes no connections any more is no answer only when nothing says so.
pub fn answers(candidate: &Candidate, limit: Duration) -> bool {
    let deadline = Instant::now().checked_add(limit);
    let started = start(candidate, deadline, Brake::default());
    !started.is_err_and(|error| matches!(error.kind(), ConnectErrorKind::TimedOut))
}

/// Cancels the statement that a session is running, from any thread.
#[derive(Clone)]
pub struct CancelHandle {
    candidate: Candidate,
    backend_pid: i32,
    key: Vec<u8>,
}

impl CancelHandle {
    /// For the session of process and key `cancel` that this candidate led to.
    pub fn new(candidate: &Candidate, is_encrypted: bool, cancel: (i32, Vec<u8>)) -> CancelHandle {
        let mut candidate = candidate.clone();
        let mut login = (*candidate.login).clone();
        login.encryption = match login.encryption {
            Encryption::TlsIfOffered(tls) if is_encrypted => Encryption::Tls(tls),
            Encryption::TlsIfOffered(_) => Encryption::Plain,
            other => other,
        };
        login.password = None;
        candidate.login = Arc::new(login);
        CancelHandle {
            candidate,
            backend_pid: cancel.0,
            key: cancel.1,
        }
    }

    /// Asks the server to cancel, encrypted where the session is. Success means that the server
    /// took the request, not that it found something to cancel.
    pub fn cancel(&self) -> Result<(), Error> {
        self.cancel_within(CANCEL_TIMEOUT)
    }

    /// The same with a limit of the caller's.
    pub fn cancel_within(&self, limit: Duration) -> Result<(), Error> {
        self.cancel_unless(limit, Brake::default())
    }

    /// An interrupt ends it too.
    fn cancel_unless(&self, limit: Duration, brake: Brake) -> Result<(), Error> {
        let deadline = Instant::now().checked_add(limit);
        let run = || -> Result<(), ConnectError> {
            let mut socket = connect(&self.candidate, deadline, brake)?;
            let login = self.candidate.login.clone();
            let mut connecting = Connecting::for_cancel(login, self.backend_pid, &self.key);
            drive(&mut socket, &mut connecting, deadline, brake).map(|_| ())
        };
        run().map_err(|error| Error::Connect {
            attempts: vec![self.candidate.failure(&error)],
            last: Box::new(error),
        })
    }
}

impl std::fmt::Debug for CancelHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "CancelHandle({}, process {})",
            self.candidate, self.backend_pid
        )
    }
}

fn connect(
    candidate: &Candidate,
    deadline: Option<Instant>,
    brake: Brake,
) -> Result<Socket, ConnectError> {
    Socket::connect(candidate, deadline, brake).map_err(|error| match error.kind() {
        // The system's own limit for TCP is ETIMEDOUT, which has a number.
        ErrorKind::TimedOut if error.raw_os_error().is_none() => ConnectError::timed_out(),
        _ => {
            ConnectError::unreachable(&error, matches!(candidate.addr, pgdyno_wire::Addr::Unix(_)))
        }
    })
}

/// One attempt, from the socket to the session.
fn start(
    candidate: &Candidate,
    deadline: Option<Instant>,
    brake: Brake,
) -> Result<(Socket, Established), ConnectError> {
    let mut socket = connect(candidate, deadline, brake)?;
    let login: Arc<Login> = candidate.login.clone();
    let mut connecting = Connecting::new(login);
    match drive(&mut socket, &mut connecting, deadline, brake)? {
        Some(established) => Ok((socket, established)),
        None => Err(connecting.closed()),
    }
}

/// Runs a start-up to its end: a session, or for a cancel request the peer's hang-up.
fn drive(
    socket: &mut Socket,
    connecting: &mut Connecting,
    deadline: Option<Instant>,
    brake: Brake,
) -> Result<Option<Established>, ConnectError> {
    let mut out = Vec::new();
    let mut buffer = vec![0; READ_BYTES];
    connecting.start(&mut out)?;
    let mut sent = 0;
    let io_error = |connecting: &Connecting, error: &io::Error| match error.kind() {
        ErrorKind::TimedOut if error.raw_os_error().is_none() => ConnectError::timed_out(),
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => connecting.closed(),
        _ => ConnectError::broken(error),
    };
    loop {
        while sent < out.len() {
            match socket.write(&out[sent..]) {
                Ok(bytes) => sent += bytes,
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                // The server may have refused and hung up; what it said is still to be read.
                Err(_) => sent = out.len(),
            }
        }
        let ready = socket
            .wait(sent < out.len(), deadline, brake)
            .map_err(|e| io_error(connecting, &e))?;
        if !ready.readable {
            continue;
        }
        match socket.read(&mut buffer) {
            Ok(0) if connecting.cancel_sent() => return Ok(None),
            Ok(0) => return Err(connecting.closed()),
            Ok(bytes) => {
                if sent == out.len() {
                    out.clear();
                    sent = 0;
                }
                let result = connecting.received(&buffer[..bytes], &mut out);
                match result {
                    Ok(None) => {}
                    Ok(Some(established)) => return Ok(Some(established)),
                    Err(error) => {
                        // A farewell or an alert; the attempt is over whether it arrives or not.
                        let _ = socket.write(&out[sent..]);
                        return Err(error);
                    }
                }
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(e) if connecting.cancel_sent() && e.kind() == ErrorKind::ConnectionReset => {
                return Ok(None);
            }
            Err(e) => return Err(io_error(connecting, &e)),
        }
    }
}
