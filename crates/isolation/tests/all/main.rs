//! What the checkers find, and what they do not.

mod files;
mod limits;
mod notation;
mod oracle;
mod planted;
mod published;
mod registers;
mod simulated;
mod store;
