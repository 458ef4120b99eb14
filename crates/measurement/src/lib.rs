//! What a run produced, as plain data: every transaction started is booked once, latencies are in histograms.
//!
//! The engine (`drive`) fills an [`Interval`] on each thread; those of a second become a [`Second`], all of them
//! a [`Recording`] with a [`Phase`] for warm-up and one for the measured time. [`Merge`] adds up what several
//! generators recorded.
//!
//! Not here: measuring, keeping (`store`), what figures mean (`diagnose`) and how they look (`report`).

mod added;
mod client_stalls;
mod client_time;
mod endpoint;
mod endpoint_seconds;
mod error;
mod generator_stop;
mod histogram;
mod history;
mod interval;
mod lag;
mod latencies;
mod logged_transaction;
mod merge;
mod message;
mod outcome;
mod reasons;
mod receipts;
mod recording;
mod second;
mod slots;
mod stalls;
mod stamps;
mod units;
mod work;
mod worst;

pub use added::Added;
pub use client_stalls::{
    CLIENT_STALLS_MAX, CLIENT_STALLS_OF_SLOTS_MAX, ClientStall, client_stalls_max,
    order_client_stalls,
};
pub use client_time::{Activity, ClientTime};
pub use endpoint::{EndpointRecord, Event, EventKind};
pub use endpoint_seconds::{EndpointSeconds, Wrong};
pub use error::DriveError;
pub use generator_stop::GeneratorStop;
pub use histogram::{Bucket, Histogram};
pub use history::{HistoryPart, NO_ANSWER, RecordedHistory, RecordedHistoryError};
pub use interval::{FailedTries, Interval, LoopLags, ScriptInterval};
pub use lag::Lags;
pub use latencies::{Latencies, Packed};
pub use logged_transaction::LoggedTransaction;
pub use merge::{Merge, sum_second};
pub use message::{Level, Message};
pub use outcome::{Counts, Failure, Outcome};
pub use reasons::{Reason, merge_reasons};
pub use receipts::{ClientReceipts, Fate, Run as ReceiptRun};
pub use recording::{
    ClientsEnd, Closing, Connections, Drain, End, Outages, Phase, Recording, ScriptRecord,
    StatementRecord, StatementTotals, ThreadUse,
};
pub use second::{ScriptSecond, Second};
pub use slots::{BOUNDS_US, PackedSlot, SLOT_US, SLOTS_MAX, Slot, Slots};
pub use stalls::{ENDPOINT_GAP_MIN, GAP_MIN, GAPS_MAX, Gap, GapsOfThread, Stall};
pub use stamps::StampEvent;
pub use units::{ClientUnits, PackedUnits, Tally, Units};
pub use work::Work;
pub use worst::{SlowTransaction, WORST_COUNT, order_worst};
