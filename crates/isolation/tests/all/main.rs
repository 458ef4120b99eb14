//! What the checkers find, and what they do not.

mod brute;
mod files;
mod limits;
mod lost;
mod nasty;
mod notation;
mod oracle;
mod planted;
mod published;
mod registers;
mod simulated;
mod store;
mod unread;
