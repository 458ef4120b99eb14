//! The options that there are. (Facts: `sysbench --help` and `SCRIPT help` of 1.0.20; what master has
//! more, its source.)

use super::script::SysbenchScript;

/// What an option's value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Switch,
    /// A whole number that is not negative.
    Number,
    Decimal,
    Text,
}

/// For whom an option is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    All,
    /// All scripts, sysbench-tpcc's among them.
    AllScripts,
    Scripts,
    Points,
    Ranges,
    Tpcc,
    /// It changes nothing here, whatever it says: MySQL's, or about sysbench's own process.
    Nothing,
}

/// An option with its default.
#[derive(Debug)]
pub struct KnownScript {
    pub name: &'static str,
    pub kind: Kind,
    pub default: &'static str,
    pub of: Of,
    pub help: &'static str,
}

const fn known(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    of: Of,
    help: &'static str,
) -> KnownScript {
    KnownScript {
        name,
        kind,
        default,
        of,
        help,
    }
}

use Kind::{Decimal, Number, Switch, Text};
use Of::{All, AllScripts, Nothing, Points, Ranges, Scripts, Tpcc};

/// All of them. Names are spelt with `-`; `_` is the same.
pub const KNOWN: &[KnownScript] = &[
    known(
        "threads",
        Number,
        "1",
        All,
        "connections, each with a client",
    ),
    known(
        "events",
        Number,
        "0",
        All,
        "events of all threads together; 0: no limit",
    ),
    known("time", Number, "10", All, "seconds; 0: no limit"),
    known(
        "rate",
        Number,
        "0",
        All,
        "events per second of all threads together; 0: no limit",
    ),
    known(
        "report-interval",
        Number,
        "0",
        All,
        "seconds between two progress lines; 0: none",
    ),
    known(
        "rand-type",
        Text,
        "special",
        All,
        "uniform, gaussian, special, pareto or zipfian",
    ),
    known(
        "rand-spec-iter",
        Number,
        "12",
        All,
        "uniform draws whose mean is a draw of gaussian",
    ),
    known(
        "rand-spec-pct",
        Number,
        "1",
        All,
        "percentage of the ids that special prefers",
    ),
    known(
        "rand-spec-res",
        Number,
        "75",
        All,
        "percentage of draws that go there",
    ),
    known("rand-seed", Number, "0", All, "seed; 0: from the clock"),
    known("rand-pareto-h", Decimal, "0.2", All, "shape of pareto"),
    known(
        "rand-zipfian-exp",
        Decimal,
        "0.8",
        All,
        "exponent of zipfian",
    ),
    known(
        "percentile",
        Number,
        "95",
        All,
        "percentile of latencies, 1 to 100; 0: none",
    ),
    known(
        "histogram",
        Switch,
        "off",
        All,
        "print all latencies as a histogram",
    ),
    known(
        "db-driver",
        Text,
        "mysql",
        All,
        "pgsql, the only one that pgdyno has",
    ),
    known(
        "db-ps-mode",
        Text,
        "auto",
        All,
        "auto: prepared statements; disable: text",
    ),
    known(
        "pgsql-host",
        Text,
        "localhost",
        All,
        "host, or the folder of the socket",
    ),
    known("pgsql-port", Number, "5432", All, "port"),
    known("pgsql-user", Text, "sbtest", All, "role"),
    known("pgsql-password", Text, "", All, "password"),
    known("pgsql-db", Text, "sbtest", All, "database"),
    known(
        "pgsql-sslmode",
        Text,
        "prefer",
        All,
        "as in libpq (of newer versions of sysbench)",
    ),
    known(
        "pgdyno-version",
        Text,
        "1.0.20",
        All,
        "1.0.20, or master: its distribution and report",
    ),
    known(
        "pgdyno-store",
        Text,
        "",
        All,
        "keep the trial in this notebook; without FILE the usual one",
    ),
    known(
        "verbosity",
        Number,
        "3",
        All,
        "more than 3: what the ignored errors were, on standard error",
    ),
    known("help", Switch, "off", All, "print this"),
    known("version", Switch, "off", All, "print the version"),
    known(
        "tables",
        Number,
        "1",
        AllScripts,
        "tables sbtest1, sbtest2, …; of tpcc one set",
    ),
    known("table-size", Number, "10000", Scripts, "rows of each table"),
    known("range-size", Number, "100", Scripts, "ids of a range"),
    known(
        "point-selects",
        Number,
        "10",
        Scripts,
        "reads by id of a transaction",
    ),
    known("simple-ranges", Number, "1", Scripts, "reads of a range"),
    known("sum-ranges", Number, "1", Scripts, "sums over a range"),
    known(
        "order-ranges",
        Number,
        "1",
        Scripts,
        "sorted reads of a range",
    ),
    known(
        "distinct-ranges",
        Number,
        "1",
        Scripts,
        "sorted reads of a range without duplicates",
    ),
    known("range-selects", Switch, "on", Scripts, "read ranges at all"),
    known(
        "index-updates",
        Number,
        "1",
        Scripts,
        "updates of the indexed column",
    ),
    known(
        "non-index-updates",
        Number,
        "1",
        Scripts,
        "updates of a column without index",
    ),
    known(
        "delete-inserts",
        Number,
        "1",
        Scripts,
        "rows deleted and inserted again",
    ),
    known("skip-trx", Switch, "off", Scripts, "no BEGIN and COMMIT"),
    known(
        "auto-inc",
        Switch,
        "on",
        Scripts,
        "the server numbers new rows",
    ),
    known(
        "create-secondary",
        Switch,
        "on",
        Scripts,
        "prepare: an index on k",
    ),
    known(
        "secondary",
        Switch,
        "off",
        Scripts,
        "a secondary instead of the primary key (MySQL)",
    ),
    known(
        "pgsql-variant",
        Text,
        "",
        Scripts,
        "redshift, which pgdyno does not have",
    ),
    known(
        "reconnect",
        Number,
        "0",
        Scripts,
        "reconnect after so many events (newer versions)",
    ),
    known(
        "random-points",
        Number,
        "10",
        Points,
        "values of k in a query",
    ),
    known(
        "number-of-ranges",
        Number,
        "10",
        Ranges,
        "ranges of k in a query",
    ),
    known("delta", Number, "5", Ranges, "length of a range"),
    known("scale", Number, "100", Tpcc, "warehouses"),
    known("use-fk", Switch, "1", Tpcc, "prepare: foreign keys"),
    known(
        "trx-level",
        Text,
        "RR",
        Tpcc,
        "isolation level: RR, RC or SER",
    ),
    known(
        "report-csv",
        Text,
        "no",
        Tpcc,
        "yes: progress as rows of CSV",
    ),
    known("force-pk", Number, "0", Tpcc, "a key of history (MySQL)"),
    known(
        "enable-purge",
        Text,
        "no",
        Tpcc,
        "yes, which pgdyno does not have",
    ),
    known(
        "splittable",
        Text,
        "no",
        Tpcc,
        "yes, which pgdyno does not have",
    ),
    known(
        "pgsql-schema",
        Text,
        "public",
        Tpcc,
        "schema; pgdyno has public only",
    ),
    known("report-checkpoints", Text, "", All, "not in pgdyno"),
    known(CONFIG_FILE, Text, "", All, "options, name=value a line"),
    known(
        "warmup-time",
        Number,
        "0",
        All,
        "seconds that are not counted (newer versions)",
    ),
    known(
        "forced-shutdown",
        Text,
        "off",
        Nothing,
        "a run ends by itself",
    ),
    known("thread-init-timeout", Number, "30", Nothing, ""),
    known("thread-stack-size", Text, "64K", Nothing, ""),
    known("debug", Switch, "off", Nothing, ""),
    known("validate", Switch, "off", Nothing, ""),
    known("db-debug", Switch, "off", Nothing, ""),
    known("create-table-options", Text, "", Nothing, ""),
    known("mysql-storage-engine", Text, "innodb", Nothing, ""),
    known("mysql-table-options", Text, "", Nothing, ""),
    known("mysql-host", Text, "localhost", Nothing, ""),
    known("mysql-port", Text, "3306", Nothing, ""),
    known("mysql-socket", Text, "", Nothing, ""),
    known("mysql-user", Text, "sbtest", Nothing, ""),
    known("mysql-password", Text, "", Nothing, ""),
    known("mysql-db", Text, "sbtest", Nothing, ""),
    known("mysql-ssl", Text, "off", Nothing, ""),
    known("mysql-ssl-cipher", Text, "", Nothing, ""),
    known("mysql-compression", Switch, "off", Nothing, ""),
    known("mysql-debug", Switch, "off", Nothing, ""),
    known("mysql-ignore-errors", Text, "1213,1020,1205", Nothing, ""),
    known("mysql-dry-run", Switch, "off", Nothing, ""),
];

pub const CONFIG_FILE: &str = "config-file";

/// Options of sysbench 0.5 that 1.0 has no more, and what came in their place.
pub const SUCCESSORS: [(&str, &str); 18] = [
    ("oltp-table-size", "--table-size=N"),
    ("oltp-tables-count", "--tables=N"),
    ("oltp-read-only", "the script oltp_read_only"),
    (
        "oltp-test-mode",
        "a script: oltp_read_write, oltp_read_only, oltp_point_select",
    ),
    ("oltp-point-selects", "--point-selects=N"),
    ("oltp-range-size", "--range-size=N"),
    ("oltp-simple-ranges", "--simple-ranges=N"),
    ("oltp-sum-ranges", "--sum-ranges=N"),
    ("oltp-order-ranges", "--order-ranges=N"),
    ("oltp-distinct-ranges", "--distinct-ranges=N"),
    ("oltp-index-updates", "--index-updates=N"),
    ("oltp-non-index-updates", "--non-index-updates=N"),
    ("oltp-delete-inserts", "--delete-inserts=N"),
    ("oltp-skip-trx", "--skip-trx"),
    ("oltp-auto-inc", "--auto-inc=on|off"),
    ("oltp-secondary", "--create-secondary=on|off"),
    ("rand-init", "nothing: c and pad are always random"),
    ("tx-jitter", "--rate=N, whose arrivals are Poisson's"),
];

pub const DEPRECATED: [(&str, &str); 4] = [
    ("num-threads", "threads"),
    ("max-requests", "events"),
    ("max-time", "time"),
    ("tx-rate", "rate"),
];

/// The option of this name.
pub fn find(name: &str) -> Option<&'static KnownScript> {
    KNOWN.iter().find(|known| known.name == name)
}

impl KnownScript {
    /// Whether a script has it.
    pub fn is_of(&self, script: SysbenchScript) -> bool {
        match self.of {
            All | AllScripts | Nothing => true,
            Scripts => !matches!(script, SysbenchScript::Tpcc | SysbenchScript::BulkInsert),
            Tpcc => script == SysbenchScript::Tpcc,
            Points => script == SysbenchScript::RandomPoints,
            Ranges => script == SysbenchScript::RandomRanges,
        }
    }

    pub fn shown(&self) -> String {
        let value = match self.kind {
            Switch => "[=on|off]",
            Number | Decimal => "=N",
            Text => "=STRING",
        };
        let name = format!("--{}{value}", self.name);
        format!("  {name:<31} {} [{}]\n", self.help, self.default)
    }
}
