//! What a run produced: every transaction started is booked once, latencies go into histograms.
//!
//! Each thread fills an [`Interval`] without locks and hands it over once a second; the collector
//! merges the threads' intervals into [`Second`]s and into a [`Phase`] for warm-up and one for the
//! measured time.

mod client_stalls;
mod client_time;
mod endpoint;
mod endpoint_seconds;
pub(crate) mod executions;
mod generator_stop;
mod histogram;
mod history;
mod interval;
mod lag;
mod latencies;
mod merge;
mod outcome;
mod probe;
pub(crate) mod reasons;
mod receipts;
mod recorder;
mod recording;
mod report;
mod second;
mod seconds;
mod slots;
mod stalls;
mod stamps;
mod transaction_log;
mod units;
mod work;
mod worst;

pub use client_stalls::{CLIENT_STALLS_MAX, CLIENT_STALLS_OF_SLOTS_MAX, ClientStall};
pub(crate) use client_stalls::{Without, client_stalls_max, order as order_client_stalls};
pub(crate) use client_time::Whereabouts;
pub use client_time::{Activity, ClientTime};
pub use endpoint::{EndpointRecord, Event, EventKind};
pub use endpoint_seconds::{EndpointSeconds, Wrong};
pub(crate) use executions::{Execution, Executions, HowEnded};
pub use generator_stop::GeneratorStop;
pub use histogram::{Bucket, Histogram};
pub(crate) use history::{Ending, Observed, Own as OwnHistory};
pub use history::{HistoryPart, RecordedHistory, RecordedHistoryError};
pub use interval::{FailedTries, Interval, LoopLags, ScriptInterval};
pub use lag::Lags;
pub use latencies::{Latencies, Packed};
pub use merge::{Merge, sum_second};
pub use outcome::{Counts, Failure, Outcome};
pub use probe::Added;
pub(crate) use probe::{Delay, Probe};
pub use reasons::Reason;
pub(crate) use reasons::{Cause, Reasons};
pub use receipts::{ClientReceipts, Fate, Run as ReceiptRun};
pub(crate) use recorder::{Ended, Finished, GivenUp, Recorder, Then};
pub use recording::{
    ClientsEnd, Closing, Connections, Drain, End, Outages, Phase, Recording, ScriptRecord,
    StatementRecord, StatementTotals, ThreadUse,
};
pub(crate) use report::{Report, ThreadEnd};
pub use second::{ScriptSecond, Second};
pub(crate) use seconds::Seconds;
pub(crate) use slots::OwnSlots;
pub use slots::{BOUNDS_US, PackedSlot, SLOT_US, Slot, Slots};
pub(crate) use stalls::GapsOfThread;
pub use stalls::Stall;
pub(crate) use stamps::OwnStamps;
pub use stamps::StampEvent;
pub use transaction_log::LoggedTransaction;
pub(crate) use transaction_log::TransactionLog;
pub use units::{ClientUnits, PackedUnits, Tally, Units};
pub use work::Work;
pub use worst::{SlowTransaction, WORST_COUNT};
pub(crate) use worst::{Worst, order as order_worst};
