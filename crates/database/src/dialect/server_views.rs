//! Which of a server's statistics views a product has, for the instruments that read them beside a
//! trial (`crates/observe`).

/// What can be read over SQL, in PostgreSQL's way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerView {
    /// The cumulative statistics views: what grows, and is read once a second.
    Counters,
    /// What active sessions wait for.
    Waits,
    /// Locks that sessions wait for.
    Locks,
    /// Checkpoints, autovacuum, the log's segments, standbys.
    Events,
    Statements,
    /// Sizes of the database and what is in it.
    Sizes,
    Residency,
}

/// Measured: 13 to 18 have them all, in columns that differ.
pub const POSTGRESQL: &[ServerView] = &[
    ServerView::Counters,
    ServerView::Waits,
    ServerView::Locks,
    ServerView::Events,
    ServerView::Statements,
    ServerView::Sizes,
    ServerView::Residency,
];

/// Captured: 19.1 has none of the cumulative statistics views. Its nodes tell over HTTP.
pub const COCKROACHDB: &[ServerView] = &[];

/// Documented: rows are not in PostgreSQL's buffers and log, so what the views count of these says
/// nothing of them. Its tablet servers tell over HTTP.
pub const YUGABYTEDB: &[ServerView] = &[];
