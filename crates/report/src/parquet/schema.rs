//! The columns of each table: names with units, types, whether a value may be missing. docs/parquet.md describes them;
//! a test compares both.

use Type::{Bool, Int, Real, Text, Time};

/// A table, which is a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableName {
    Trials,
    /// A row a second of a trial, its scripts together.
    Seconds,
    /// A row a bucket of a histogram of the measured time.
    Histograms,
    /// A row a figure that an instrument read.
    Series,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    Int,
    Real,
    Text,
    Bool,
    Time,
}

#[derive(Debug, Clone, Copy)]
pub struct Column {
    pub name: &'static str,
    pub of: Type,
    /// Whether a row may lack it.
    pub is_optional: bool,
}

const fn some(name: &'static str, of: Type) -> Column {
    Column {
        name,
        of,
        is_optional: false,
    }
}

const fn maybe(name: &'static str, of: Type) -> Column {
    Column {
        name,
        of,
        is_optional: true,
    }
}

/// Of the file of trials: columns of the notebook's `trial`, and what people filter by.
const TRIALS: &[Column] = &[
    some("trial", Int),
    some("uuid", Text),
    some("state", Text),
    maybe("reason", Text),
    maybe("excluded", Text),
    maybe("note", Text),
    some("tags", Text),
    maybe("experiment", Text),
    maybe("position", Int),
    maybe("point", Text),
    maybe("repeat", Int),
    some("workload", Text),
    maybe("mix", Text),
    maybe("pack_sha256", Text),
    some("load_sha256", Text),
    some("target", Text),
    maybe("server_version", Text),
    maybe("isolation_in_effect", Text),
    maybe("clients", Int),
    maybe("threads", Int),
    maybe("query_mode", Text),
    maybe("rate_per_s", Real),
    maybe("duration_s", Real),
    maybe("warmup_s", Real),
    some("spec", Text),
    some("pgdyno", Text),
    some("command", Text),
    maybe("started", Time),
    maybe("ended", Time),
    maybe("elapsed_us", Int),
    maybe("committed", Int),
    maybe("failed", Int),
    maybe("skipped", Int),
    maybe("unknown", Int),
    maybe("late", Int),
    maybe("retries", Int),
    maybe("retried", Int),
    maybe("goodput_per_s", Real),
    maybe("service_mean_us", Real),
    maybe("service_p50_us", Int),
    maybe("service_p90_us", Int),
    maybe("service_p95_us", Int),
    maybe("service_p99_us", Int),
    maybe("service_p99_9_us", Int),
    maybe("service_max_us", Int),
    maybe("response_mean_us", Real),
    maybe("response_p50_us", Int),
    maybe("response_p90_us", Int),
    maybe("response_p95_us", Int),
    maybe("response_p99_us", Int),
    maybe("response_p99_9_us", Int),
    maybe("response_max_us", Int),
    maybe("response_p99_low_us", Int),
    maybe("response_p99_high_us", Int),
    maybe("client_user_us", Int),
    maybe("client_system_us", Int),
];

const SECONDS: &[Column] = &[
    some("trial", Int),
    some("start_us", Int),
    some("length_us", Int),
    some("warmup", Bool),
    some("drain", Bool),
    some("committed", Int),
    some("failed", Int),
    some("skipped", Int),
    some("unknown", Int),
    some("late", Int),
    some("retries", Int),
    some("retried", Int),
    maybe("goodput_per_s", Real),
    maybe("service_mean_us", Real),
    maybe("service_p50_us", Int),
    maybe("service_p90_us", Int),
    maybe("service_p95_us", Int),
    maybe("service_p99_us", Int),
    maybe("service_p99_9_us", Int),
    maybe("service_max_us", Int),
    maybe("response_mean_us", Real),
    maybe("response_p50_us", Int),
    maybe("response_p90_us", Int),
    maybe("response_p95_us", Int),
    maybe("response_p99_us", Int),
    maybe("response_p99_9_us", Int),
    maybe("response_max_us", Int),
];

const HISTOGRAMS: &[Column] = &[
    some("trial", Int),
    maybe("script", Text),
    some("what", Text),
    some("low_us", Int),
    some("high_us", Int),
    some("count", Int),
];

const SERIES: &[Column] = &[
    some("trial", Int),
    some("instrument", Text),
    some("name", Text),
    some("label", Text),
    some("unit", Text),
    some("kind", Text),
    some("at_us", Int),
    some("value", Real),
];

impl TableName {
    pub const ALL: [Self; 4] = [Self::Trials, Self::Seconds, Self::Histograms, Self::Series];

    pub fn name(self) -> &'static str {
        match self {
            Self::Trials => "trials",
            Self::Seconds => "seconds",
            Self::Histograms => "histograms",
            Self::Series => "series",
        }
    }

    pub fn file(self) -> String {
        format!("{}.parquet", self.name())
    }

    /// Its columns, in their order.
    pub fn columns(self) -> &'static [Column] {
        match self {
            Self::Trials => TRIALS,
            Self::Seconds => SECONDS,
            Self::Histograms => HISTOGRAMS,
            Self::Series => SERIES,
        }
    }
}
