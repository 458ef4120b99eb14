//! The options by their names: pgbench 18's, and pgdyno's own.

use crate::getopt::{Argument, Id, Long, ShortOption};

pub const SHORT: &[ShortOption] = &[
    flag('C', "connect"),
    flag('i', "initialize"),
    flag('l', "log"),
    flag('n', "no-vacuum"),
    flag('N', "skip-some-updates"),
    flag('q', "quiet"),
    flag('r', "report-per-command"),
    flag('S', "select-only"),
    flag('v', "vacuum-all"),
    with('b', "builtin"),
    with('c', "client"),
    with('d', "dbname"),
    with('D', "define"),
    with('f', "file"),
    with('F', "fillfactor"),
    with('h', "host"),
    with('I', "init-steps"),
    with('j', "jobs"),
    with('L', "latency-limit"),
    with('M', "protocol"),
    with('p', "port"),
    with('P', "progress"),
    with('R', "rate"),
    with('s', "scale"),
    with('t', "transactions"),
    with('T', "time"),
    with('U', "username"),
];

/// The long ones, in pgbench's order, which shows in its complaint about ambiguous abbreviations.
pub const LONG: &[Long] = &[
    long("builtin", Argument::Required),
    long("client", Argument::Required),
    long("connect", Argument::None),
    long("dbname", Argument::Required),
    long("define", Argument::Required),
    long("file", Argument::Required),
    long("fillfactor", Argument::Required),
    long("host", Argument::Required),
    long("initialize", Argument::None),
    long("init-steps", Argument::Required),
    long("jobs", Argument::Required),
    long("log", Argument::None),
    long("latency-limit", Argument::Required),
    long("no-vacuum", Argument::None),
    long("port", Argument::Required),
    long("progress", Argument::Required),
    long("protocol", Argument::Required),
    long("quiet", Argument::None),
    long("report-per-command", Argument::None),
    long("rate", Argument::Required),
    long("scale", Argument::Required),
    long("select-only", Argument::None),
    long("skip-some-updates", Argument::None),
    long("time", Argument::Required),
    long("transactions", Argument::Required),
    long("username", Argument::Required),
    long("vacuum-all", Argument::None),
    long("unlogged-tables", Argument::None),
    long("tablespace", Argument::Required),
    long("index-tablespace", Argument::Required),
    long("sampling-rate", Argument::Required),
    long("aggregate-interval", Argument::Required),
    long("progress-timestamp", Argument::None),
    long("log-prefix", Argument::Required),
    long("foreign-keys", Argument::None),
    long("random-seed", Argument::Required),
    long("show-script", Argument::Required),
    long("partitions", Argument::Required),
    long("partition-method", Argument::Required),
    long("failures-detailed", Argument::None),
    long("max-tries", Argument::Required),
    long("verbose-errors", Argument::None),
    long("exit-on-abort", Argument::None),
    long("debug", Argument::None),
    own("continue-on-error", Argument::None),
    own("hdr-log", Argument::Required),
    own("json", Argument::Required),
    own("percentiles", Argument::Optional),
    own("reconnect", Argument::None),
    own("store", Argument::Optional),
    own("warmup", Argument::Required),
];

pub const BATCH_SIZE: Long = own("batch-size", Argument::Required);

const fn flag(letter: char, id: Id) -> ShortOption {
    ShortOption {
        letter,
        id,
        has_argument: false,
    }
}

const fn with(letter: char, id: Id) -> ShortOption {
    ShortOption {
        letter,
        id,
        has_argument: true,
    }
}

const fn long(name: &'static str, argument: Argument) -> Long {
    Long {
        name,
        id: name,
        argument,
        is_own: false,
    }
}

const fn own(name: &'static str, argument: Argument) -> Long {
    Long {
        is_own: true,
        ..long(name, argument)
    }
}
