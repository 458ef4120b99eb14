//! What a client has to say while it runs, in pgbench's words. The command decides where it goes.

/// How grave a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// What a client is doing, step by step; only when [`crate::Drive::debug`] asks for it.
    Trace,
    /// What a script's `debug()` has to say; printed as it is.
    Debug,
    /// A notice of the server; printed as it is.
    Notice,
    /// Informational when asked for (`--verbose-errors`).
    Info,
    /// A client ended, or something it was asked to do could not be done.
    Error,
}

/// A message of one client, without the program's name in front.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub level: Level,
    /// One or more lines, without a final line end.
    pub text: String,
}
