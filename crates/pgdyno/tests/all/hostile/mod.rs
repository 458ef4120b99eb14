//! Commands against servers that do not keep to the protocol, never stop sending, never answer, or
//! send what a terminal would obey: the commands end, soon, with a code that says so, in little
//! memory and few words, and what they count is right. A file here has the scenarios of one part of
//! the protocol.
//!
//! `PGDYNO_SCENARIO='part of a name'` runs those alone; `--nocapture` shows what each took.

mod authentication;
mod conduct;
mod copy;
mod endings;
mod extended;
mod greeting;
mod gset;
mod lies;
mod other_commands;
mod scenario;
mod session;
mod sizes;
mod terminal;
mod tls;
