//! How much a server may send before it is no longer taken for one. `docs/guide.md` has these in a
//! table.

/// All of start-up, up to the first ReadyForQuery. A server needs about a thousand bytes; the rest is
/// for notices of login triggers.
pub const STARTUP_BYTES_MAX: usize = 1 << 20;
/// Settings that a server may report, at the start and later.
pub const SETTINGS_MAX: usize = 1000;
/// One message that carries data: a row, a piece of a COPY. It is what a server can allocate at once.
pub const DATA_BYTES_MAX: usize = 0x3fff_ffff;
/// One message that carries text or describes a result: errors, notices, notifications, columns. The
/// 1,664 columns that a result may have take 136 kB.
pub const TEXT_BYTES_MAX: usize = 1 << 20;
/// One message of any other kind, as in libpq.
pub const OTHER_BYTES_MAX: usize = 30_000;
/// What comes beside the data of one answer, all messages together: notices, errors, settings,
/// notifications, columns, ends of results.
pub const ASIDES_BYTES_MAX: u64 = 256 << 20;
/// One row whose values are kept. Others are checked as they arrive and not kept.
pub const ROW_KEPT_BYTES_MAX: usize = 64 << 20;
