//! Every flag of `cockroach workload … ycsb`, of 19.1 and of later versions, and pgdyno's own: its
//! kind, its default, the verbs that take it, and whether it does anything here. (Facts: `--help`
//! of 19.1; pkg/workload of CockroachDB up to 25.)

use pgdyno_platform::host;

/// What is done with a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Make and fill its tables.
    Init,
    /// Run its operations.
    Run,
    /// Look whether its tables hold what they ought to.
    Check,
}

impl Verb {
    /// All of them, in the order of help.
    pub const ALL: [Self; 3] = [Self::Init, Self::Run, Self::Check];

    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::Run => "run",
            Self::Check => "check",
        }
    }
}

/// What values a flag has, by pflag's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The flag alone stands for true.
    Bool,
    /// A whole number.
    Int,
    /// A whole number that is not negative.
    Uint,
    /// A number.
    Float,
    /// A duration with its unit.
    Duration,
    /// Text.
    String,
    /// Text, or the flag alone, which stands for none.
    OptionalString,
}

impl Kind {
    /// pflag's word in help; a flag that stands for true has none.
    pub fn word(self) -> &'static str {
        match self {
            Self::Bool => "",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Float => "float",
            Self::Duration => "duration",
            Self::String => "string",
            Self::OptionalString => "string[=\"\"]",
        }
    }
}

/// Which verbs take a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum On {
    /// Every verb: what the workload is.
    All,
    /// `init`, and `run`, where it implies `--init`.
    Init,
    /// `init` and `run`.
    InitAndRun,
    /// `run` alone.
    Run,
}

/// A flag.
#[derive(Debug, PartialEq, Eq)]
pub struct Flag {
    /// Its name, without dashes.
    pub name: &'static str,
    /// What its values are.
    pub kind: Kind,
    /// Its value when it is not given, as help shows it; empty when that goes without saying.
    pub default: &'static str,
    /// What it does.
    pub usage: &'static str,
    /// Why it does nothing here, for those that do nothing.
    pub idle: Option<&'static str>,
    on: On,
}

impl Flag {
    /// The flag of this name, if the verb takes it.
    pub fn of(verb: Verb, name: &str) -> Option<&'static Self> {
        Self::all(verb).find(|flag| flag.name == name)
    }

    /// Those that a verb takes, by name.
    pub fn all(verb: Verb) -> impl Iterator<Item = &'static Self> {
        FLAGS.iter().filter(move |flag| match flag.on {
            On::All => true,
            On::Init | On::InitAndRun => verb != Verb::Check,
            On::Run => verb == Verb::Run,
        })
    }

    /// The value of a flag that is given without one.
    pub fn value_without_one(&self) -> Option<&'static str> {
        match self.kind {
            Kind::Bool => Some("true"),
            Kind::OptionalString => Some(""),
            _ => None,
        }
    }

    /// What help says of it on a verb.
    pub fn help(&self, verb: Verb) -> String {
        let mut text = self.usage.to_owned();
        if self.on == On::Init && verb == Verb::Run {
            text.push_str(" (implies --init)");
        }
        if self.idle.is_some() {
            text.push_str(" (accepted, does nothing here)");
        }
        let default = match self.name {
            "concurrency" => default_concurrency().to_string(),
            _ => self.default.to_owned(),
        };
        match (self.kind, default.as_str()) {
            (_, "") => {}
            (Kind::String, default) => text.push_str(&format!(" (default \"{default}\")")),
            (_, default) => text.push_str(&format!(" (default {default})")),
        }
        text
    }
}

/// Workers when nobody says how many: two for each processor.
pub fn default_concurrency() -> usize {
    2 * host::cpus()
}

const fn flag(
    on: On,
    name: &'static str,
    kind: Kind,
    default: &'static str,
    usage: &'static str,
) -> Flag {
    Flag {
        name,
        kind,
        default,
        usage,
        idle: None,
        on,
    }
}

/// One that is accepted so that command lines go on to work, and does nothing, for this reason.
const fn idle(
    on: On,
    name: &'static str,
    kind: Kind,
    usage: &'static str,
    why: &'static str,
) -> Flag {
    Flag {
        idle: Some(why),
        ..flag(on, name, kind, "", usage)
    }
}

const POOL: &str = "each worker has one connection of its own for the whole run";
const NO_ENDPOINT: &str = "pgdyno opens no port; see --histograms and --store for the figures";
const LOG: &str = "pgdyno keeps no log";

/// In alphabetical order, as help shows them.
static FLAGS: &[Flag] = &[
    flag(
        On::All,
        "concurrency",
        Kind::Int,
        "",
        "Number of workers, each with its connection",
    ),
    idle(
        On::InitAndRun,
        "conn-healthcheck-period",
        Kind::Duration,
        "Interval of health checks on connections",
        POOL,
    ),
    flag(
        On::Run,
        "count-errors",
        Kind::Bool,
        "",
        "Let operations that failed count towards --max-ops, as they always do here",
    ),
    flag(
        On::InitAndRun,
        "data-loader",
        Kind::String,
        "COPY",
        "How rows are loaded: COPY or INSERT",
    ),
    flag(
        On::All,
        "db",
        Kind::String,
        "",
        "Database to use; without it the one named after the workload",
    ),
    flag(
        On::All,
        "delete-freq",
        Kind::Float,
        "",
        "Share of deletes, 0 to 1, with --workload=CUSTOM",
    ),
    flag(
        On::Run,
        "display-every",
        Kind::Duration,
        "1s",
        "Time between two rows of an operation; whole seconds",
    ),
    flag(
        On::Run,
        "display-format",
        Kind::String,
        "simple",
        "Form of the output: simple, simple-19.1 (as that version printed it), incremental-json",
    ),
    flag(
        On::Init,
        "drop",
        Kind::Bool,
        "",
        "Drop the workload's tables first, if they exist",
    ),
    flag(
        On::Run,
        "duration",
        Kind::Duration,
        "",
        "Time to run, beyond --ramp; 0: until interrupted",
    ),
    flag(
        On::All,
        "families",
        Kind::Bool,
        "true for A, B, F and CUSTOM",
        "Each column in a column family of its own, where the server has families",
    ),
    flag(
        On::Run,
        "histograms",
        Kind::String,
        "",
        "File for each operation's latencies, tick by tick, as HDR histograms in JSON",
    ),
    flag(
        On::Run,
        "histograms-digits",
        Kind::Int,
        "3",
        "Significant digits in that file; 1: cockroach's own layout, from 100 µs on",
    ),
    flag(
        On::Run,
        "histograms-max-latency",
        Kind::Duration,
        "1m40s",
        "Longest latency that file tells apart",
    ),
    flag(On::Run, "init", Kind::Bool, "", "Do what init does first"),
    flag(
        On::InitAndRun,
        "init-conns",
        Kind::Int,
        "",
        "Connections that load rows; without it one a processor, at most 8",
    ),
    flag(
        On::All,
        "initial-rows",
        Kind::Int,
        "10000",
        "The same as --insert-count, which later versions call it",
    ),
    flag(On::All, "insert-count", Kind::Int, "10000", "Rows to load"),
    flag(
        On::All,
        "insert-freq",
        Kind::Float,
        "",
        "Share of inserts, 0 to 1, with --workload=CUSTOM",
    ),
    flag(
        On::All,
        "insert-hash",
        Kind::Bool,
        "true",
        "Keys from hashed numbers; false: from the numbers themselves",
    ),
    flag(
        On::All,
        "insert-start",
        Kind::Int,
        "",
        "Number of the first key to load",
    ),
    flag(
        On::All,
        "isolation-level",
        Kind::String,
        "",
        "Isolation level of transactions, such as serializable or read_committed",
    ),
    flag(
        On::All,
        "json",
        Kind::Bool,
        "",
        "One JSONB column instead of ten of text",
    ),
    flag(
        On::All,
        "key-format",
        Kind::String,
        "crdb",
        "Form of the keys: crdb, crdb-old (cockroach up to 19.1), java, go-ycsb",
    ),
    idle(
        On::All,
        "logtostderr",
        Kind::OptionalString,
        "Least severity that is logged on standard error",
        LOG,
    ),
    idle(
        On::InitAndRun,
        "max-conn-idle-time",
        Kind::Duration,
        "Longest time a connection is kept unused",
        POOL,
    ),
    idle(
        On::InitAndRun,
        "max-conn-lifetime",
        Kind::Duration,
        "Longest time a connection is kept",
        POOL,
    ),
    idle(
        On::InitAndRun,
        "max-conn-lifetime-jitter",
        Kind::Duration,
        "Chance in that time",
        POOL,
    ),
    flag(
        On::Run,
        "max-ops",
        Kind::Uint,
        "",
        "Operations to run, dealt evenly to the workers",
    ),
    flag(
        On::Run,
        "max-rate",
        Kind::Float,
        "",
        "Operations a second over all workers; 0: as many as there can be",
    ),
    flag(
        On::All,
        "max-scan-length",
        Kind::Uint,
        "1000",
        "Most rows of a scan",
    ),
    flag(
        On::All,
        "method",
        Kind::String,
        "prepare",
        "How statements are sent: prepare, noprepare, simple, or later versions' words for them",
    ),
    idle(
        On::InitAndRun,
        "min-conns",
        Kind::Int,
        "Connections kept at least",
        POOL,
    ),
    flag(
        On::All,
        "min-scan-length",
        Kind::Uint,
        "1",
        "Fewest rows of a scan",
    ),
    idle(
        On::All,
        "no-color",
        Kind::Bool,
        "No colours in what is logged",
        LOG,
    ),
    flag(
        On::InitAndRun,
        "password",
        Kind::String,
        "",
        "Password, for the default URL",
    ),
    idle(
        On::InitAndRun,
        "pprofport",
        Kind::Int,
        "Port of the profiler",
        NO_ENDPOINT,
    ),
    idle(
        On::InitAndRun,
        "prometheus-port",
        Kind::Int,
        "Port of Prometheus figures",
        NO_ENDPOINT,
    ),
    flag(
        On::Run,
        "ramp",
        Kind::Duration,
        "",
        "Time at the beginning that does not count; all workers begin at once",
    ),
    flag(
        On::All,
        "read-freq",
        Kind::Float,
        "",
        "Share of reads, 0 to 1, with --workload=CUSTOM",
    ),
    flag(
        On::All,
        "read-modify-write-freq",
        Kind::Float,
        "",
        "Share of read-modify-writes, 0 to 1, with --workload=CUSTOM",
    ),
    flag(
        On::All,
        "read-modify-write-in-txn",
        Kind::Bool,
        "",
        "Read-modify-write in a transaction, tried again after a conflict",
    ),
    flag(
        On::All,
        "record-count",
        Kind::Int,
        "",
        "Number of the first key that a run inserts; without it --insert-start plus --insert-count",
    ),
    flag(
        On::All,
        "request-distribution",
        Kind::String,
        "",
        "Which keys are asked for: zipfian, uniform, latest; without it latest for D, else zipfian",
    ),
    flag(
        On::All,
        "scan-freq",
        Kind::Float,
        "",
        "Share of scans, 0 to 1, with --workload=CUSTOM",
    ),
    flag(
        On::All,
        "scan-length-distribution",
        Kind::String,
        "uniform",
        "How many rows scans ask for: uniform, zipfian",
    ),
    flag(
        On::InitAndRun,
        "secure",
        Kind::Bool,
        "",
        "The default URL with TLS and the certificates of ./certs",
    ),
    flag(
        On::All,
        "seed",
        Kind::Int,
        "1",
        "Where random numbers come from: the same seed gives the same operations",
    ),
    flag(
        On::All,
        "select-for-update",
        Kind::Bool,
        "true",
        "SELECT FOR UPDATE in read-modify-write, if that is in a transaction",
    ),
    flag(
        On::All,
        "splits",
        Kind::Int,
        "",
        "Splits of the table, where the server has them",
    ),
    flag(
        On::Run,
        "store",
        Kind::OptionalString,
        "",
        "Keep the run in pgdyno's notebook, or in this file",
    ),
    idle(
        On::All,
        "time-string",
        Kind::Bool,
        "Begin values with the time",
        "values are random letters alone",
    ),
    flag(
        On::Run,
        "tolerate-errors",
        Kind::Bool,
        "",
        "Go on after errors, and connect again when a connection is lost",
    ),
    flag(
        On::All,
        "update-freq",
        Kind::Float,
        "",
        "Share of updates, 0 to 1, with --workload=CUSTOM",
    ),
    flag(
        On::InitAndRun,
        "user",
        Kind::String,
        "root",
        "User, for the default URL",
    ),
    idle(
        On::All,
        "vmodule",
        Kind::String,
        "What is logged, file by file",
        LOG,
    ),
    idle(
        On::All,
        "warmup-conns",
        Kind::Int,
        "Connections made at once before the run",
        "every worker is connected before the clock runs",
    ),
    flag(
        On::Run,
        "with-changefeed",
        Kind::Bool,
        "",
        "Run a changefeed over the tables beside the workload",
    ),
    flag(
        On::All,
        "workload",
        Kind::String,
        "B",
        "Which mix of operations: A to F, or CUSTOM",
    ),
    flag(
        On::All,
        "zero-padding",
        Kind::Int,
        "1",
        "Digits of a key's number at least, with --insert-hash=false",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_stand_in_order_and_each_but_once() {
        assert!(FLAGS.windows(2).all(|pair| pair[0].name < pair[1].name));
    }

    #[test]
    fn defaults_are_values_of_their_kinds() {
        use super::super::go_values as go;
        for flag in FLAGS.iter().filter(|flag| !flag.default.is_empty()) {
            let is_value = match flag.kind {
                Kind::Int => go::int(flag.default).is_ok(),
                Kind::Uint => go::uint(flag.default).is_ok(),
                Kind::Float => go::float(flag.default).is_ok(),
                Kind::Duration => go::duration(flag.default).is_ok(),
                Kind::Bool => flag.default.starts_with("true"),
                Kind::String | Kind::OptionalString => true,
            };
            assert!(is_value, "--{}", flag.name);
        }
    }

    /// The flags of `cockroach workload run ycsb --help`.
    #[test]
    fn no_flag_of_cockroachs_is_missing() {
        for name in [
            "concurrency",
            "db",
            "drop",
            "duration",
            "families",
            "histograms",
            "init",
            "initial-rows",
            "json",
            "max-ops",
            "max-rate",
            "method",
            "pprofport",
            "ramp",
            "request-distribution",
            "seed",
            "splits",
            "tolerate-errors",
            "workload",
            "logtostderr",
            "no-color",
            "vmodule",
            // Later versions.
            "count-errors",
            "delete-freq",
            "display-every",
            "display-format",
            "insert-count",
            "insert-freq",
            "insert-hash",
            "insert-start",
            "isolation-level",
            "max-scan-length",
            "min-scan-length",
            "prometheus-port",
            "read-freq",
            "read-modify-write-freq",
            "read-modify-write-in-txn",
            "record-count",
            "scan-freq",
            "scan-length-distribution",
            "select-for-update",
            "update-freq",
            "warmup-conns",
            "zero-padding",
        ] {
            assert!(Flag::of(Verb::Run, name).is_some(), "{name}");
        }
        assert!(Flag::of(Verb::Init, "drop").is_some());
        assert!(Flag::of(Verb::Check, "drop").is_none());
        assert!(Flag::of(Verb::Check, "insert-count").is_some());
    }
}
