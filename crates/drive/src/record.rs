//! Recording without locks: each thread fills an interval and hands it over once a second; the collector merges
//! those of all threads into what a run produced (`pgdyno_measurement`).

mod client_stalls;
pub(crate) mod executions;
mod gaps;
mod history;
mod probe;
mod reasons;
mod recorder;
mod report;
mod seconds;
mod slots;
mod stamps;
mod transaction_log;
mod whereabouts;
mod worst;

pub(crate) use client_stalls::{Longest, Without};
pub(crate) use executions::{Execution, Executions, HowEnded};
pub(crate) use gaps::OwnGaps;
pub(crate) use history::{Ending, Observed, Own as OwnHistory};
pub(crate) use probe::{Delay, Probe};
pub(crate) use reasons::{Cause, Reasons};
pub(crate) use recorder::{Ended, Finished, GivenUp, Recorder, Then};
pub(crate) use report::{Report, ThreadEnd};
pub(crate) use seconds::Seconds;
pub(crate) use slots::OwnSlots;
pub(crate) use stamps::OwnStamps;
pub(crate) use transaction_log::TransactionLog;
pub(crate) use whereabouts::Whereabouts;
pub(crate) use worst::Worst;
