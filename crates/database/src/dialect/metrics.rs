//! Where a product's nodes tell their own figures in Prometheus' text, and which of them are kept,
//! under names that stay while the product's change from version to version.
//!
//! Not for: fetching and reading them (`crates/observe`).

mod cockroachdb;
mod yugabytedb;

pub use cockroachdb::{COCKROACHDB, COCKROACHDB_VARS};
pub use yugabytedb::{YUGABYTEDB, YUGABYTEDB_MASTER, YUGABYTEDB_SQL, YUGABYTEDB_TSERVER};

/// The facts of one product.
#[derive(Debug, PartialEq, Eq)]
pub struct Metrics {
    /// What every node has; none where there is nothing of the kind.
    pub pages: &'static [Page],
    /// Query for the nodes with the command lines that they were started by: id, `host:port` for
    /// clients, and the words as a JSON list. `None` where the server does not say.
    pub command_lines: Option<&'static str>,
}

/// A page of figures of each node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// The instrument that reads it, such as `crdb.vars`.
    pub instrument: &'static str,
    /// Where it is on the node's HTTP port.
    pub path: &'static str,
    /// That port, unless the node was started with another.
    pub port: u16,
    /// Options of the node's command line that name another port: `host:port`, `:port` or `port`.
    pub port_options: &'static [&'static str],
    /// The figure that is the node's own number, by which it is known that the page is the node's.
    pub node_number: Option<&'static str>,
    /// Whether nodes may do without it: masters of YugabyteDB are on some hosts only.
    pub is_everywhere: bool,
    /// What is kept of it.
    pub metrics: &'static [Metric],
}

/// A series that is made from a node's figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    pub series: &'static str,
    /// Its unit; of counters that of the rate.
    pub unit: &'static str,
    pub taken: Taken,
    /// What it is made from: a name in Prometheus' form, or, where it was renamed, several of which
    /// the first that is there counts. Of histograms the name of the family.
    pub from: &'static [&'static str],
    /// The product's figure is divided by this.
    pub divided_by: u64,
    /// The figure is not of the moment: the node looks now and then, and pages in between have what the
    /// one before had. Those of one group are looked at together.
    pub refreshed: Option<Refreshed>,
    /// In which versions it is, and where that is from.
    pub versions: &'static str,
    pub what: &'static str,
}

/// How a series is made from figures. A node may tell one for each store or tablet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    Counter,
    /// The same of all names together that are there.
    CounterOfAll,
    /// The same of all names that end as `*` represents, each for itself, by that end. A name that
    /// is not there is zero.
    CounterByEnd,
    /// Their sum at that moment.
    Sum,
    /// The largest at that moment.
    Largest,
    /// Of a histogram: the mean over the second.
    Mean,
    /// Of a histogram: the 99th percentile of the second, where at least ten lie beyond it.
    P99,
}

/// What a node looks at together now and then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refreshed {
    Process,
    Stores,
}

impl Refreshed {
    pub fn words(self) -> &'static str {
        match self {
            Self::Process => "of its process and host",
            Self::Stores => "of its stores",
        }
    }
}

/// PostgreSQL tells its figures in SQL.
pub const POSTGRESQL: Metrics = Metrics {
    pages: &[],
    command_lines: None,
};

impl Metric {
    const fn counter(
        series: &'static str,
        unit: &'static str,
        from: &'static [&'static str],
        versions: &'static str,
        what: &'static str,
    ) -> Metric {
        Metric {
            series,
            unit,
            taken: Taken::Counter,
            from,
            divided_by: 1,
            refreshed: None,
            versions,
            what,
        }
    }

    const fn taken(self, taken: Taken) -> Metric {
        Metric { taken, ..self }
    }

    const fn divided_by(self, divided_by: u64) -> Metric {
        Metric { divided_by, ..self }
    }

    const fn refreshed(self, refreshed: Refreshed) -> Metric {
        Metric {
            refreshed: Some(refreshed),
            ..self
        }
    }
}
