//! What one session and its server say to each other, as statements. The server answers in the order in which it
//! was asked: what was asked waits in a queue for its answer.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::io::{self, Write};
use std::rc::Rc;

use pgdyno_wire::backend::{self, Message, tag};

use super::message::{Framed, Inbox, Parts};
use super::unsaid::{self, Unsaid};
use crate::event::{Obstacle, Protocol, Session, SqlState, Wire};
use crate::result::{Column, Summing, columns};
use crate::writer::{NewStatement, Writer};

type Columns = RefCell<Option<Rc<[Column]>>>;

/// A prepared statement, the unnamed one among them.
#[derive(Debug, Default)]
struct Prepared {
    name: Box<[u8]>,
    sql: Box<[u8]>,
    types: Vec<u32>,
    columns: Columns,
}

/// A portal: a prepared statement with its parameters.
#[derive(Debug, Default)]
struct Bound {
    prepared: Rc<Prepared>,
    binary: Vec<bool>,
    results: Vec<bool>,
    /// As they come in Bind.
    values: Box<[u8]>,
    columns: Columns,
    was_executed: Cell<bool>,
}

/// A statement on its way.
#[derive(Debug, Default)]
struct Running {
    bound: Option<Rc<Bound>>,
    is_simple: bool,
    /// Of the simple protocol.
    sql: Box<[u8]>,
    start_us: i64,
    end_us: Option<i64>,
    limit: u32,
    columns: Option<Rc<[Column]>>,
    summing: Summing,
    tag: Vec<u8>,
    failed: Option<SqlState>,
    obstacle: Option<Obstacle>,
}

/// What was asked for.
#[derive(Debug)]
enum Step {
    /// With the statement that had its name before.
    Parse(Rc<Prepared>, Option<Rc<Prepared>>),
    DescribeStatement(Rc<Prepared>),
    DescribePortal(Option<Rc<Bound>>),
    /// Bind and Close.
    Other,
    Execute(Running),
    Query(Running),
    Call,
    Sync,
}

#[derive(Debug)]
pub struct Talk {
    pub session: Session,
    of_client: Inbox,
    of_server: Inbox,
    asked: VecDeque<Step>,
    prepared: HashMap<Box<[u8]>, Rc<Prepared>>,
    portals: HashMap<Box<[u8]>, Rc<Bound>>,
    /// Answered, up to the server's word on the transaction.
    done: Vec<Running>,
    /// When the session's last statement ended.
    free_us: i64,
    /// After an error the server passes over all messages up to a Sync.
    is_skipping: bool,
    /// While rows are copied to the server it passes over Sync.
    is_copying: bool,
    /// It cannot be followed any more.
    is_lost: bool,
}

impl Talk {
    pub fn new(session: Session) -> Self {
        Self {
            session,
            of_client: Inbox::default(),
            of_server: Inbox::default(),
            asked: VecDeque::new(),
            prepared: HashMap::new(),
            portals: HashMap::new(),
            done: Vec::new(),
            free_us: 0,
            is_skipping: false,
            is_copying: false,
            is_lost: false,
        }
    }

    pub fn free_us(&self) -> i64 {
        self.free_us
    }

    pub fn client(&mut self, bytes: &[u8], at_us: i64, unsaid: &mut Unsaid) {
        if self.is_lost {
            return;
        }
        let mut inbox = std::mem::take(&mut self.of_client);
        let is_whole = inbox.take(bytes, |message| {
            if self.client_message(message, at_us).is_none() {
                self.lose(unsaid);
            }
        });
        self.of_client = inbox;
        if !is_whole {
            self.lose(unsaid);
        }
    }

    fn lose(&mut self, unsaid: &mut Unsaid) {
        if !std::mem::replace(&mut self.is_lost, true) {
            unsaid.add(unsaid::LOST);
        }
    }

    /// `None` where it cannot be followed.
    fn client_message(&mut self, message: Framed<'_>, at_us: i64) -> Option<()> {
        let is_ignored = matches!(message.tag, b'd' | b'H' | b'X' | b'p');
        if message.is_too_long && !is_ignored {
            return None;
        }
        if self.is_skipping && !matches!(message.tag, b'S' | b'E' | b'X') {
            return Some(());
        }
        let mut parts = Parts(message.body);
        match message.tag {
            b'Q' => {
                let sql = message.body.strip_suffix(b"\0")?.into();
                self.asked.push_back(Step::Query(Running {
                    is_simple: true,
                    sql,
                    start_us: at_us,
                    ..Running::default()
                }));
            }
            b'P' => {
                let prepared = Rc::new(Prepared {
                    name: parts.text()?.into(),
                    sql: parts.text()?.into(),
                    types: {
                        let count = parts.count()?;
                        let types = (0..count).map(|_| parts.number());
                        types.collect::<Option<_>>()?
                    },
                    ..Prepared::default()
                });
                let name = prepared.name.clone();
                let before = self.prepared.insert(name, prepared.clone());
                self.asked.push_back(Step::Parse(prepared, before));
            }
            b'B' => {
                let portal = parts.text()?;
                let name = parts.text()?;
                let prepared = self.prepared.get(name).cloned().unwrap_or_default();
                let binary = parts.formats()?;
                let count = usize::from(parts.count()?);
                let from = parts.0;
                for _ in 0..count {
                    parts.value()?;
                }
                let values = from[..from.len() - parts.0.len()].into();
                let binary = match binary[..] {
                    [one] => vec![one; count],
                    _ => binary,
                };
                let bound = Bound {
                    prepared,
                    binary,
                    results: parts.formats()?,
                    values,
                    ..Bound::default()
                };
                self.portals.insert(portal.into(), Rc::new(bound));
                self.asked.push_back(Step::Other);
            }
            b'D' => {
                let what = parts.byte()?;
                let name = parts.text()?;
                self.asked.push_back(if what == b'S' {
                    let prepared = self.prepared.get(name).cloned();
                    Step::DescribeStatement(prepared.unwrap_or_default())
                } else {
                    Step::DescribePortal(self.portals.get(name).cloned())
                });
            }
            b'E' => {
                let portal = parts.text()?;
                let bound = self.portals.get(portal).cloned();
                let obstacle = if self.is_skipping {
                    Some(Obstacle::Skipped)
                } else {
                    // One that is not known was made by DECLARE.
                    let is_fetch = bound
                        .as_ref()
                        .is_none_or(|bound| bound.was_executed.replace(true));
                    is_fetch.then_some(Obstacle::Fetch)
                };
                let running = Running {
                    bound,
                    start_us: at_us,
                    limit: parts.number()?,
                    obstacle,
                    ..Running::default()
                };
                if self.is_skipping {
                    self.done.push(running);
                } else {
                    self.asked.push_back(Step::Execute(running));
                }
            }
            b'C' => {
                let what = parts.byte()?;
                let name = parts.text()?;
                if what == b'S' {
                    self.prepared.remove(name);
                } else {
                    self.portals.remove(name);
                }
                self.asked.push_back(Step::Other);
            }
            b'S' if !self.is_copying => {
                self.is_skipping = false;
                self.asked.push_back(Step::Sync);
            }
            b'F' => self.asked.push_back(Step::Call),
            b'c' | b'f' => self.is_copying = false,
            _ => {}
        }
        Some(())
    }

    /// How many statements were written.
    ///
    /// # Errors
    /// Those of the file.
    pub fn server<W: Write>(
        &mut self,
        bytes: &[u8],
        at_us: i64,
        writer: &mut Writer<W>,
        unsaid: &mut Unsaid,
    ) -> io::Result<u64> {
        if self.is_lost {
            return Ok(0);
        }
        let mut written = Ok(0);
        let mut inbox = std::mem::take(&mut self.of_server);
        let is_whole = inbox.take(bytes, |message| {
            if let Ok(sum) = written
                && !self.is_lost
            {
                let more = self.server_message(message, at_us, writer, unsaid);
                written = more.map(|count| sum + count);
            }
        });
        self.of_server = inbox;
        if !is_whole {
            self.lose(unsaid);
        }
        written
    }

    /// How many statements were written.
    fn server_message<W: Write>(
        &mut self,
        message: Framed<'_>,
        at_us: i64,
        writer: &mut Writer<W>,
        unsaid: &mut Unsaid,
    ) -> io::Result<u64> {
        match message.tag {
            tag::DATA_ROW => self.row(message),
            tag::PARSE_COMPLETE | tag::BIND_COMPLETE | tag::CLOSE_COMPLETE | tag::NO_DATA => {
                self.asked.pop_front();
            }
            tag::ROW_DESCRIPTION => self.described(message),
            tag::COMMAND_COMPLETE | tag::EMPTY_QUERY_RESPONSE | tag::PORTAL_SUSPENDED => {
                self.completed(message, at_us);
            }
            tag::ERROR_RESPONSE => self.failed(message, at_us, unsaid),
            tag::COPY_IN_RESPONSE => {
                self.is_copying = true;
                if let Some(Step::Query(running) | Step::Execute(running)) = self.asked.front_mut()
                {
                    running.obstacle = Some(Obstacle::CopyData);
                }
                self.asked.retain(|step| !matches!(step, Step::Sync));
            }
            tag::COPY_BOTH_RESPONSE => {
                self.is_lost = true;
                unsaid.add(unsaid::REPLICATION);
            }
            tag::FUNCTION_CALL_RESPONSE => {
                self.asked.pop_front();
                unsaid.add(unsaid::CALLS);
            }
            tag::READY_FOR_QUERY => {
                let is_idle = message.body.first() == Some(&b'I');
                return self.ready(is_idle, at_us, writer, unsaid);
            }
            _ => {}
        }
        Ok(0)
    }

    fn row(&mut self, message: Framed<'_>) {
        let Some(Step::Query(running) | Step::Execute(running)) = self.asked.front_mut() else {
            return;
        };
        if running.columns.is_none()
            && let Some(bound) = &running.bound
        {
            running.columns = bound.columns();
        }
        let frame = backend::Frame {
            tag: message.tag,
            body: message.body,
            len: 0,
        };
        match (&running.columns, frame.parse()) {
            (Some(columns), Ok(Message::DataRow(row))) => {
                running.summing.add(columns, row, |_, hash| hash);
            }
            _ => running.summing.pass_over(),
        }
    }

    fn described(&mut self, message: Framed<'_>) {
        let frame = backend::Frame {
            tag: message.tag,
            body: message.body,
            len: 0,
        };
        let described = match frame.parse() {
            Ok(Message::RowDescription(description)) => columns(description).map(Rc::from),
            _ => None,
        };
        match self.asked.front_mut() {
            Some(Step::Query(running)) => running.columns = described,
            Some(Step::DescribeStatement(prepared)) => {
                prepared.columns.replace(described);
                self.asked.pop_front();
            }
            Some(Step::DescribePortal(bound)) => {
                if let Some(bound) = bound {
                    bound.columns.replace(described);
                }
                self.asked.pop_front();
            }
            _ => {}
        }
    }

    fn completed(&mut self, message: Framed<'_>, at_us: i64) {
        let said = match message.tag {
            tag::COMMAND_COMPLETE => message.body.strip_suffix(b"\0").unwrap_or_default(),
            _ => &[],
        };
        let Some(Step::Query(running) | Step::Execute(running)) = self.asked.front_mut() else {
            return;
        };
        if !running.tag.is_empty() && !said.is_empty() {
            running.tag.push(b';');
        }
        running.tag.extend_from_slice(said);
        running
            .summing
            .ended(backend::CommandComplete { tag: said }.rows());
        running.end_us = Some(at_us);
        if let Some(Step::Execute(_)) = self.asked.front()
            && let Some(Step::Execute(running)) = self.asked.pop_front()
        {
            self.done.push(running);
        }
    }

    fn failed(&mut self, message: Framed<'_>, at_us: i64, unsaid: &mut Unsaid) {
        let frame = backend::Frame {
            tag: message.tag,
            body: message.body,
            len: 0,
        };
        let state = match frame.parse() {
            Ok(Message::ErrorResponse(fields)) => fields.sqlstate().and_then(|state| {
                let state: Option<SqlState> = state.as_bytes().try_into().ok();
                state
            }),
            _ => None,
        };
        let state = state.unwrap_or_default();
        self.is_copying = false;
        match self.asked.front_mut() {
            Some(Step::Query(running)) => {
                running.failed = Some(state);
                return;
            }
            // Of the session, not of a statement.
            None | Some(Step::Sync) => return,
            _ => {}
        }
        let mut has_failed = false;
        let mut parsed = None;
        while let Some(step) = self.asked.pop_front_if(|step| !matches!(step, Step::Sync)) {
            match step {
                Step::Execute(mut running) => {
                    if has_failed {
                        running.obstacle = Some(Obstacle::Skipped);
                    } else {
                        running.failed = Some(state);
                        running.end_us = Some(at_us);
                    }
                    has_failed = true;
                    self.done.push(running);
                }
                Step::Parse(prepared, before) => {
                    let name = prepared.name.clone();
                    match before {
                        Some(before) => drop(self.prepared.insert(name, before)),
                        None => drop(self.prepared.remove(&name)),
                    }
                    parsed = parsed.or(Some(prepared));
                }
                Step::Call => {
                    has_failed = true;
                    unsaid.add(unsaid::CALLS);
                }
                _ => {}
            }
        }
        // Prepared, and never executed.
        if let Some(prepared) = parsed.filter(|_| !has_failed) {
            let bound = Bound {
                prepared,
                ..Bound::default()
            };
            self.done.push(Running {
                bound: Some(Rc::new(bound)),
                start_us: at_us,
                end_us: Some(at_us),
                failed: Some(state),
                ..Running::default()
            });
        }
        self.is_skipping = self.asked.is_empty();
    }

    fn ready<W: Write>(
        &mut self,
        is_idle: bool,
        at_us: i64,
        writer: &mut Writer<W>,
        unsaid: &mut Unsaid,
    ) -> io::Result<u64> {
        let mut written = 0;
        match self.asked.pop_front() {
            Some(Step::Query(mut running)) => {
                running.end_us = Some(at_us);
                self.write(&running, false, !is_idle, writer, unsaid)?;
                written = 1;
            }
            Some(Step::Sync) => {
                let done = std::mem::take(&mut self.done);
                let last = done
                    .iter()
                    .rposition(|running| running.obstacle.is_none())
                    .unwrap_or(0);
                for (index, running) in done.iter().enumerate() {
                    let is_pipelined = index < last && running.failed.is_none();
                    self.write(
                        running,
                        is_pipelined,
                        is_pipelined || !is_idle,
                        writer,
                        unsaid,
                    )?;
                }
                written = done.len() as u64;
                if is_idle {
                    self.portals.clear();
                }
            }
            // The end of the login.
            None => {}
            Some(_) => self.lose(unsaid),
        }
        Ok(written)
    }

    fn write<W: Write>(
        &mut self,
        running: &Running,
        is_pipelined: bool,
        is_in_transaction: bool,
        writer: &mut Writer<W>,
        unsaid: &mut Unsaid,
    ) -> io::Result<()> {
        // One of a pipeline begins when the one before has ended.
        let start_us = running.start_us.max(self.free_us);
        let end_us = running.end_us.map(|end_us| end_us.max(start_us));
        self.free_us = end_us.unwrap_or(start_us);
        if end_us.is_none() && running.obstacle != Some(Obstacle::Skipped) {
            unsaid.add(unsaid::NO_END);
        }
        let none = Bound::default();
        let bound = running.bound.as_deref().unwrap_or(&none);
        let mut parameters = Vec::new();
        let mut values = Parts(&bound.values);
        while let Some(value) = values.value() {
            parameters.push(value);
        }
        let has_result = running.failed.is_none() && running.obstacle.is_none();
        let result = { running.summing.clone() }.finish();
        let wire = Wire {
            types: bound.prepared.types.clone(),
            binary: bound.binary.clone(),
            results: bound.results.clone(),
            limit: running.limit,
            is_pipelined,
            is_in_transaction,
            tag: running.tag.clone(),
            result: result.filter(|_| has_result),
        };
        writer.statement(&NewStatement {
            session: &self.session,
            start_us,
            duration_us: end_us.and_then(|end_us| u64::try_from(end_us - start_us).ok()),
            protocol: if running.is_simple {
                Protocol::Simple
            } else {
                Protocol::Extended
            },
            name: &bound.prepared.name,
            sql: if running.is_simple {
                &running.sql
            } else {
                &bound.prepared.sql
            },
            parameters: &parameters,
            rows: running.failed.is_none().then(|| running.summing.rows()),
            failed: running.failed,
            obstacle: running.obstacle,
            wire: Some(&wire),
        })
    }

    /// The session is over, or the recording: statements that were not answered are written as they are.
    pub fn end<W: Write>(
        &mut self,
        writer: &mut Writer<W>,
        unsaid: &mut Unsaid,
    ) -> io::Result<u64> {
        let asked = std::mem::take(&mut self.asked);
        let mut left = std::mem::take(&mut self.done);
        left.extend(asked.into_iter().filter_map(|step| match step {
            Step::Execute(running) | Step::Query(running) => Some(running),
            _ => None,
        }));
        for running in &left {
            self.write(running, false, false, writer, unsaid)?;
        }
        Ok(left.len() as u64)
    }
}

impl Bound {
    /// The columns of its result, with the formats that Bind asked for.
    fn columns(&self) -> Option<Rc<[Column]>> {
        if let Some(columns) = &*self.columns.borrow() {
            return Some(columns.clone());
        }
        let described = self.prepared.columns.borrow().clone()?;
        let is_binary = |index: usize| match self.results[..] {
            [] => false,
            [one] => one,
            _ => self.results.get(index).copied().unwrap_or(false),
        };
        let columns = described.iter().enumerate().map(|(index, column)| Column {
            is_binary: is_binary(index),
            ..*column
        });
        let columns: Rc<[Column]> = columns.collect();
        self.columns.replace(Some(columns.clone()));
        Some(columns)
    }
}
