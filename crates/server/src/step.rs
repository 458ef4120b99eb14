//! What is being done, for anyone who waits for it.

use std::fmt;
use std::time::Duration;

/// One step on the way to a running server. `Display` is a line to show as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// Another pgdyno fetches PostgreSQL; its work will serve both.
    WaitingForDownload,
    /// Fetching PostgreSQL; repeated about once a second.
    Downloading {
        version: String,
        /// About how much there is to fetch, bytes.
        about_bytes: u64,
        elapsed: Duration,
    },
    Unpacking,
    /// Creating a database cluster (initdb).
    Initialising,
    /// Copying a running primary's data for a standby.
    Copying,
    /// Starting the server and waiting until it takes connections.
    Starting,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::WaitingForDownload => {
                write!(f, "waiting for another pgdyno that downloads PostgreSQL")
            }
            Step::Downloading {
                version,
                about_bytes,
                elapsed,
            } => {
                // PostgreSQL's units, as everywhere: 1 MB is 1,048,576 bytes.
                let megabytes = about_bytes.div_ceil(1 << 20);
                write!(f, "downloading PostgreSQL {version} (about {megabytes} MB")?;
                match elapsed.as_secs() {
                    0 => write!(f, ")"),
                    seconds => write!(f, ", {seconds} s)"),
                }
            }
            Step::Unpacking => write!(f, "unpacking PostgreSQL"),
            Step::Initialising => write!(f, "creating a database cluster"),
            Step::Copying => write!(f, "copying the primary for a standby"),
            Step::Starting => write!(f, "starting PostgreSQL"),
        }
    }
}
