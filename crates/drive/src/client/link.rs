//! A client's connection once it is established: bytes to be sent, and the server's transaction state.

use std::collections::VecDeque;
use std::io;

use pgdyno_platform::io::{Io, Key};
use pgdyno_script::Vars;
use pgdyno_session::CancelHandle;
use pgdyno_wire::answer::Due;
use pgdyno_wire::backend::TransactionStatus;
use pgdyno_wire::batch::Batch;
use pgdyno_wire::{Candidate, Channel, Established, frontend};

use crate::program::{Prepare, Statement};

/// Beyond so many bytes a pipeline is sent before its end.
const BATCH_BYTES_MAX: usize = 64 << 10;

/// What there is to say about a connection that broke, beyond that the server closed it.
#[cold]
pub(super) fn broken(error: &io::Error, doing: &str) -> Option<String> {
    use io::ErrorKind::{BrokenPipe, ConnectionReset};
    let is_closed = matches!(error.kind(), BrokenPipe | ConnectionReset);
    (!is_closed).then(|| format!("could not {doing} server: {error}"))
}

#[derive(Debug)]
pub(super) struct Link {
    channel: Channel,
    /// Process and key for a request to cancel.
    cancel: (i32, Vec<u8>),
    /// Messages gathered and not yet sent.
    batch: Batch,
    /// The beginning of a message whose end has not arrived.
    pub(super) partial: Vec<u8>,
    status: TransactionStatus,
    /// How many ReadyForQuery messages are still to come.
    awaited: u32,
    /// By statement number, whether the server has it prepared.
    prepared: Vec<bool>,
    /// The statements that the server is asked to prepare, in order.
    preparing: VecDeque<usize>,
    /// What the present pipeline has sent: numbers of commands, and `None` for each Sync.
    pipeline: Vec<Option<usize>>,
    /// How much of it has been answered.
    answered: usize,
    /// Whether a transaction block will be open when all that was gathered has been executed.
    will_be_in_block: bool,
    /// Whether something gathered may commit.
    may_commit: bool,
    /// Whether something sent and not answered yet may commit.
    may_be_committing: bool,
    /// Whether something sent since the present try began may have committed.
    may_have_committed: bool,
}

impl Link {
    pub(super) fn new(established: Established) -> Self {
        Self {
            channel: established.channel,
            cancel: (established.backend_pid, established.cancel_key),
            batch: Batch::default(),
            partial: established.leftover,
            status: TransactionStatus::Idle,
            awaited: 0,
            prepared: Vec::new(),
            preparing: VecDeque::new(),
            pipeline: Vec::new(),
            answered: 0,
            will_be_in_block: false,
            may_commit: false,
            may_be_committing: false,
            may_have_committed: false,
        }
    }

    /// What cancels the statement that the server executes on this connection, made to this
    /// candidate.
    pub(super) fn cancel_handle(&self, candidate: &Candidate) -> CancelHandle {
        CancelHandle::new(candidate, !self.channel.is_plain(), self.cancel.clone())
    }

    pub(super) fn status(&self) -> TransactionStatus {
        self.status
    }

    /// Whether the server may commit something that it has not answered yet.
    pub(super) fn may_be_committing(&self) -> bool {
        self.may_be_committing
    }

    /// A try of a transaction begins.
    pub(super) fn begin_try(&mut self) {
        self.may_have_committed = false;
    }

    /// Whether the server may have committed something of the present try, answered or not.
    pub(super) fn may_have_committed(&self) -> bool {
        self.may_have_committed
    }

    pub(super) fn is_prepared(&self, number: usize) -> bool {
        self.prepared.get(number).copied().unwrap_or(false)
    }

    /// Gathers what prepares a statement.
    pub(super) fn prepare(&mut self, prepare: &Prepare) {
        if self.prepared.len() <= prepare.number {
            self.prepared.resize(prepare.number + 1, false);
        }
        self.prepared[prepare.number] = true;
        self.preparing.push_back(prepare.number);
        self.batch
            .append(|out| out.extend_from_slice(&prepare.message));
        self.sync();
    }

    /// The statement whose preparation was asked for first could not be prepared.
    pub(super) fn not_prepared(&mut self) {
        if let Some(number) = self.preparing.front() {
            self.prepared[*number] = false;
        }
    }

    /// The number of the statement whose preparation is being answered.
    pub(super) fn being_prepared(&self) -> Option<usize> {
        self.preparing.front().copied()
    }

    /// Passes over the statement that is being prepared; whether there is another.
    pub(super) fn prepare_next(&mut self) -> bool {
        self.preparing.pop_front();
        !self.preparing.is_empty()
    }

    /// Gathers the end of a COPY's rows, of which there are none.
    pub(super) fn end_copy(&mut self) {
        self.batch.append(frontend::copy_done);
        self.sync();
    }

    /// A pipeline begins: answers are matched with what is sent from here on.
    pub(super) fn begin_pipeline(&mut self) {
        self.pipeline.clear();
        self.answered = 0;
    }

    /// The statement of this command was gathered within a pipeline.
    pub(super) fn piped(&mut self, command: usize) {
        self.pipeline.push(Some(command));
    }

    /// Gathers a Sync of a pipeline.
    pub(super) fn sync_pipeline(&mut self) {
        self.pipeline.push(None);
        self.sync();
    }

    /// A statement of a pipeline has been answered.
    pub(super) fn piped_answered(&mut self) {
        self.answered += 1;
    }

    /// The command of the pipeline that is being answered; `None` at a Sync.
    pub(super) fn answered_command(&self) -> Option<usize> {
        self.pipeline.get(self.answered).copied()?
    }

    /// Whether the next ReadyForQuery answers a Sync of the present pipeline.
    pub(super) fn answers_sync(&self) -> bool {
        self.answered < self.pipeline.len()
    }

    /// Whether of the present pipeline all is answered but a Sync.
    pub(super) fn pipeline_is_answered(&self) -> bool {
        matches!(self.pipeline.get(self.answered), Some(None))
    }

    /// Whether the server has something to answer.
    pub(super) fn is_asked(&self) -> bool {
        self.awaited > 0 || self.answers_sync()
    }

    /// Whether the server has one statement to answer, and nothing else, and nothing has come of that.
    #[inline]
    pub(super) fn is_asked_once(&self) -> bool {
        self.awaited == 1
            && self.partial.is_empty()
            && self.preparing.is_empty()
            && !self.answers_sync()
    }

    /// What must have come before the next ReadyForQuery.
    pub(super) fn due(&self) -> Due {
        if !self.preparing.is_empty() {
            return Due::Parsed;
        }
        match self.pipeline.get(self.answered) {
            // All statements of the pipeline before this Sync have been answered, or one has not.
            Some(None) => Due::Nothing,
            Some(Some(_)) => Due::Failed,
            None => Due::Executed,
        }
    }

    /// How many ReadyForQuery messages are still to come.
    pub(super) fn awaited(&self) -> u32 {
        self.awaited
    }

    pub(super) fn batch_is_large(&self) -> bool {
        self.batch.as_bytes().len() > BATCH_BYTES_MAX
    }

    /// Gathers a Sync, which the server answers with ReadyForQuery.
    pub(super) fn sync(&mut self) {
        self.batch.append(frontend::sync);
        self.awaited += 1;
    }

    /// Gathers a statement that has nothing to do with the script, in the simple protocol.
    pub(super) fn simple(&mut self, text: &str) {
        self.batch
            .append(|out| frontend::query(out, text.as_bytes()));
        self.awaited += 1;
    }

    pub(super) fn commit(&mut self) {
        self.simple("COMMIT");
        self.may_commit = true;
    }

    /// Gathers a statement with the client's values. If it `ends` there, which it does unless it is part of a pipeline,
    /// the server answers it with ReadyForQuery: a message of the simple protocol by itself, those of the extended
    /// protocol because of their Sync.
    #[inline]
    pub(super) fn statement(&mut self, statement: &Statement, vars: &Vars, ends: bool) {
        let effect = statement.effects.when(self.will_be_in_block);
        self.may_commit |= effect.may_commit;
        self.will_be_in_block = effect.in_block;
        statement.write(vars, ends, &mut self.batch);
        self.awaited += u32::from(ends);
    }

    /// Takes note of a ReadyForQuery; true when it was the last one awaited.
    pub(super) fn ready(&mut self, status: TransactionStatus) -> bool {
        self.preparing.pop_front();
        if let Some(rest) = self.pipeline.get(self.answered..) {
            // After an error what precedes the Sync is passed over.
            let sync = rest.iter().position(Option::is_none);
            self.answered += sync.map_or(0, |sync| sync + 1);
        }
        self.is_ready(status)
    }

    /// A ReadyForQuery has come of which only that is heeded: what the server may have committed stays as
    /// it was. Whether it was the last.
    pub(super) fn is_passed_by(&mut self) -> bool {
        self.awaited = self.awaited.saturating_sub(1);
        self.awaited == 0
    }

    /// As [`Link::ready`], where nothing is prepared and no pipeline is answered.
    #[inline]
    pub(super) fn is_ready(&mut self, status: TransactionStatus) -> bool {
        self.status = status;
        self.awaited = self.awaited.saturating_sub(1);
        let is_last = self.awaited == 0;
        if is_last {
            self.may_be_committing = false;
            self.will_be_in_block = status != TransactionStatus::Idle;
        }
        is_last
    }

    /// Sends what was gathered. When that is not possible, the error says why if there is more to
    /// say than that the server has closed the connection.
    #[inline(always)]
    pub(super) fn transmit<I: Io>(
        &mut self,
        sockets: &mut I,
        key: Key,
        sealed: &mut Vec<u8>,
    ) -> Result<(), Option<String>> {
        let sent = if self.channel.is_plain() {
            sockets.send(key, self.batch.as_bytes())
        } else {
            sockets.send(key, self.seal(sealed)?)
        };
        self.batch.clear();
        let may_commit = std::mem::take(&mut self.may_commit);
        if let Err(error) = sent {
            return Err(self.not_sent(&error, may_commit));
        }
        self.may_be_committing |= may_commit;
        self.may_have_committed |= may_commit;
        Ok(())
    }

    /// Why what was gathered could not be sent, perhaps not all of it.
    #[cold]
    #[inline(never)]
    fn not_sent(&mut self, error: &io::Error, may_commit: bool) -> Option<String> {
        // Closed some time ago: the server has seen nothing of it.
        if error.kind() == io::ErrorKind::NotConnected {
            return None;
        }
        self.may_be_committing |= may_commit;
        self.may_have_committed |= may_commit;
        broken(error, "send data to")
    }

    /// What was gathered as it is sent on a channel that is not plain.
    #[cold]
    #[inline(never)]
    fn seal<'sealed>(
        &mut self,
        sealed: &'sealed mut Vec<u8>,
    ) -> Result<&'sealed [u8], Option<String>> {
        sealed.clear();
        let done = self.channel.seal(self.batch.as_bytes(), sealed);
        done.map_err(|error| Some(error.to_string()))?;
        Ok(sealed)
    }

    /// Whether bytes that arrive are what they say.
    pub(super) fn is_plain(&self) -> bool {
        self.channel.is_plain()
    }

    /// The contents of bytes that arrived on a channel that is not plain; `plain` then holds them.
    pub(super) fn open<'plain>(
        &mut self,
        bytes: &[u8],
        plain: &'plain mut Vec<u8>,
    ) -> Result<&'plain [u8], String> {
        plain.clear();
        self.channel
            .open(bytes, plain)
            .map_err(|error| error.to_string())?;
        Ok(plain)
    }

    /// Tells the server that this was all, as libpq does; whether there is a connection to say it on.
    pub(super) fn say_goodbye<I: Io>(
        &mut self,
        sockets: &mut I,
        key: Key,
        sealed: &mut Vec<u8>,
    ) -> bool {
        self.batch.clear();
        self.may_commit = false;
        self.batch.append(frontend::terminate);
        let is_said = self.transmit(sockets, key, sealed).is_ok();
        sealed.clear();
        self.channel.close(sealed);
        if !sealed.is_empty() {
            let _ = sockets.send(key, sealed);
        }
        is_said
    }
}
