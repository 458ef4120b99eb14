//! Where a client can stand, and what it waits for there.

use super::connect::Attempt;
use pgdyno_platform::clock::Nanos;

/// What a client waits for when its event loop turns to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Bytes of the server, or the end of its connection.
    Input,
    /// A moment. (Bytes may come before.)
    Until(Nanos),
    Turn,
    Ended,
}

/// The state of a client. Each state says what it waits for and which state comes next.
#[derive(Debug)]
pub(super) enum State {
    /// No connection and none wanted yet, or connected. Waits for the start of the run, when
    /// [`super::Client::begin`] goes to `Choose`.
    Idle,
    /// Waits for the socket to open and for the server's side of start-up, at most until the
    /// attempt's deadline. Then `Idle` (before the run), `Begin`, or where the client stood when it
    /// lost its connection; without success `Aborted` or `Reconnecting`.
    Connecting(Box<Attempt>),
    /// Without a connection, and about to try again. Waits for the moment to do so; then
    /// `Connecting`, or `Finished` when time is up.
    Reconnecting(Nanos),
    /// Draws a script. Waits for nothing; then `Schedule` with a rate, else `Begin`, `Resting` where
    /// fewer clients are to work, or `Finished` when time is up.
    Choose,
    /// Draws the scheduled start. Waits for nothing; then `Throttled`, itself again when that start
    /// is too late to be kept, or `Finished` when it lies beyond the end.
    Schedule,
    /// Waits for the scheduled start, or until it is to rest. Then `Begin`, `Choose` without that start,
    /// or `Finished` when time is up.
    Throttled(Nanos),
    /// More clients work without it than are asked for. Waits until it is to work, or for the end; then
    /// `Choose`, or `Finished` when time is up.
    Resting(Nanos),
    /// First try of a transaction: remembers the random state and the time. Waits for nothing, or
    /// goes through `Connecting` first; then `Command`.
    Begin,
    /// Executes the present command. Waits for nothing; then `WaitResult`, `Preparing`,
    /// `Sleeping`, `Thinking`, `EndCommand`, itself after a jump, at the script's end `EndTransaction`, or
    /// `Aborted`.
    Command,
    /// Waits for the answer to the BEGIN of a block that transactions share. Then `Command`, the same
    /// one, or `Error`.
    Beginning,
    /// Waits for the answer to the COMMIT of such a block. Then `EndTransaction` again, or `Error`.
    Committing,
    /// Waits until the server has prepared statements. Then `Command`, the same one, or `Error`
    /// when one could not be prepared and the client is to live on.
    Preparing,
    /// Waits for the whole answer to a command (at `\endpipeline`: to all since
    /// `\startpipeline`). Then `EndCommand`, or `Error`.
    WaitResult,
    /// Waits for the end of `\sleep`. Then `EndCommand`.
    Sleeping,
    /// Waits for the end of `\think`: nothing has been sent. Then the transaction begins, with
    /// `EndCommand`, or `Finished` when time is up.
    Thinking,
    /// Books the command. Waits for nothing; then `Command`, the next one, or `EndTransaction` behind the last one.
    EndCommand,
    /// A try has failed. Waits for nothing; then `RollingBack`, `Restoring`, `BackingOff`, `Retry` or
    /// `Failed`, or `Aborted` after an error that a client does not survive.
    Error,
    /// Waits for the answer to ROLLBACK. Then `BackingOff`, `Retry` or `Failed`, or `Aborted` when
    /// not even that is possible.
    RollingBack,
    /// Waits for the answer to ROLLBACK TO SAVEPOINT. Then `BackingOff` or `Retry`, `RollingBack`
    /// when there is no time for another try, or `Aborted` when the server does not go back.
    Restoring,
    /// Waits for the end of the pause before another try. Then `Retry`, or `Failed` when time is up
    /// (through `RollingBack` in an open block).
    BackingOff { since: Nanos, until: Nanos },
    /// The same transaction again, with the same random numbers. Waits for nothing; then `Command`,
    /// the first one, or that behind the savepoint.
    Retry,
    /// Books a failed transaction. Waits for nothing; then as after `EndTransaction`.
    Failed,
    /// Books a committed transaction. Waits for nothing, but gives way to others when the whole
    /// transaction waited for nothing; then `Choose`, or `Finished`, or `Aborted` when the script
    /// has left a transaction block open; first `Committing`, when the block that it shares is to end.
    EndTransaction,
    /// With a connection for each transaction: has said goodbye, and waits until the server has ended the session,
    /// no longer than until then. Then `Choose`, or `Finished` when time is up.
    Leaving(Nanos),
    /// Has done all it was asked to do, and waits for the answer to its last statement, no longer than
    /// until then. Then `Finished`, also when the connection breaks.
    Parting(Nanos),
    /// Was given up, and its statement is being cancelled. Waits for the end of that, no longer than until
    /// then. Then `Finished`; with a state in which it was given up, it has lost its connection there.
    Cancelled {
        until: Nanos,
        was: Option<Box<State>>,
    },
    /// Did all it was asked to do. The connection is closed when all clients of the thread have ended.
    Finished,
    /// Ended before its time. The connection is closed.
    Aborted,
}
