//! What a calibration measures, each as a point of its experiment: they are known again by the names
//! of their points.

use serde_json::Value;

use super::POINT_NAME;

/// The kind of the event in which the notebook has what the server counted during a measurement.
pub const SERVER_SIDE: &str = "server-side";

/// The names of its scripts.
pub const READ: &str = "read";
/// The names of its scripts.
pub const UPDATE: &str = "update";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measure {
    /// The way there and back.
    RoundTrip,
    /// One row changed and durable.
    Commit,
    /// The same without waiting until it is durable.
    CommitNoWait,
    /// Reads and updates at one client.
    Baseline,
    /// The same with more clients.
    Clients(u32),
}

impl Measure {
    pub fn title(self) -> String {
        match self {
            Self::RoundTrip => "round trip".to_owned(),
            Self::Commit => "durable commit".to_owned(),
            Self::CommitNoWait => "commit that does not wait for the disk".to_owned(),
            Self::Baseline => "YCSB B at one client".to_owned(),
            Self::Clients(clients) => format!("YCSB B at {clients} clients"),
        }
    }

    /// What its point is called.
    pub fn word(self) -> &'static str {
        match self {
            Self::RoundTrip => "round-trip",
            Self::Commit => "commit",
            Self::CommitNoWait => "commit-no-wait",
            Self::Baseline => "baseline",
            Self::Clients(_) => "clients",
        }
    }

    /// What is measured at this point; `None` when it is none of a calibration.
    pub fn at(point: &Value) -> Option<Self> {
        let clients = u32::try_from(point["clients"].as_u64()?).ok()?;
        let all = [
            Self::RoundTrip,
            Self::Commit,
            Self::CommitNoWait,
            Self::Baseline,
            Self::Clients(clients),
        ];
        let name = point[POINT_NAME].as_str()?;
        all.into_iter().find(|measure| measure.word() == name)
    }

    pub fn clients(self) -> u32 {
        match self {
            Self::Clients(clients) => clients,
            _ => 1,
        }
    }

    /// Whether it runs the reads and updates.
    pub fn is_ycsb(self) -> bool {
        matches!(self, Self::Baseline | Self::Clients(_))
    }
}
