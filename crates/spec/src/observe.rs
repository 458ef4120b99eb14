//! What is observed beside a trial, as it is asked for.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use clap::Args;
use serde::{Deserialize, Serialize};

use super::secret::Address;

/// What is observed while clients are at work: docs/instruments.md.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Serialize, Deserialize)]
#[serde(default)]
#[command(next_help_heading = "Observation")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ObserveSpec {
    /// What to read once a second while clients run: auto (everything available on the server and
    /// this host), none, or names of instruments or groups (pg,host.disk). What is not available is
    /// listed with the reason
    #[arg(
        long = "observe",
        id = "observe",
        value_name = "auto|none|LIST",
        default_value = "auto"
    )]
    #[cfg_attr(feature = "typescript", ts(as = "String"))]
    pub instruments: Wish,

    /// Observe the server at this URL in place of the target's, such as the server behind a pooler; the
    /// verdict asks it, too. It must be the same server and database
    #[arg(long, value_name = "URL")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<String>"))]
    pub observe_url: Option<Address>,

    /// Observe this disk of this host, such as nvme0n1 (repeatable) [default: the disk of the
    /// server's data directory, if it is on this host]
    #[arg(long, value_name = "NAME")]
    pub disk: Vec<String>,

    /// Also read a Prometheus endpoint once a second, such as node_exporter on the server's host:
    /// node=http://db1:9100/metrics. Filters are metric names, with * as wildcard, and label
    /// values: node_load1,node_disk_*,node_cpu_seconds_total{mode=user}. Log in with
    /// https://USER:PASSWORD@HOST/PATH, or with a bearer token by adding token_file=PATH or
    /// token_env=NAME to the filters
    #[arg(long, value_name = "NAME=URL[,FILTER…]")]
    #[cfg_attr(feature = "typescript", ts(as = "Vec<String>"))]
    pub scrape: Vec<Address>,

    /// Serve metrics of the running trial for Prometheus at http://ADDR/metrics. A port alone
    /// listens on 127.0.0.1 only [default: off]
    #[arg(long, value_name = "ADDR", value_parser = listen_address)]
    #[cfg_attr(feature = "typescript", ts(as = "Option<String>"))]
    pub metrics_listen: Option<SocketAddr>,
}

impl ObserveSpec {
    /// Nothing: for commands that are to cost what the tool costs whose name they have.
    pub fn none() -> Self {
        Self {
            instruments: Wish::None,
            ..Self::default()
        }
    }
}

/// Where to listen: `127.0.0.1:9187`, `[::1]:9187`, or a port alone, on this host only.
///
/// # Errors
/// It is no address; in one clause.
fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix(':').unwrap_or(text);
    if let Ok(port) = port.parse::<u16>() {
        return Ok(SocketAddr::from(([127, 0, 0, 1], port)));
    }
    text.parse()
        .map_err(|_| "an address is written as 127.0.0.1:9187, or only a port".to_owned())
}

/// Which instruments are asked for (`--observe`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Wish {
    /// All that the trial's target and this host have.
    #[default]
    Auto,
    /// None.
    None,
    /// Those of these names or groups (`host`, `pg.waits`).
    List(Vec<String>),
}

impl FromStr for Wish {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
        match names.as_slice() {
            [name] if name == "auto" => Ok(Self::Auto),
            [name] if name == "none" => Ok(Self::None),
            names if names.iter().any(|name| name == "auto" || name == "none") => {
                Err("auto and none cannot be combined with names".to_owned())
            }
            names if names.iter().any(String::is_empty) => Err(
                "auto, none, or names of instruments with commas between them: host,pg.waits"
                    .to_owned(),
            ),
            _ => Ok(Self::List(names)),
        }
    }
}

impl fmt::Display for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::None => f.write_str("none"),
            Self::List(names) => f.write_str(&names.join(",")),
        }
    }
}

impl TryFrom<String> for Wish {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Wish> for String {
    fn from(wish: Wish) -> Self {
        wish.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_one_or_a_port_of_this_host() {
        for (text, want) in [
            ("9187", "127.0.0.1:9187"),
            (":9187", "127.0.0.1:9187"),
            ("0.0.0.0:1", "0.0.0.0:1"),
            ("[::1]:1", "[::1]:1"),
        ] {
            assert_eq!(listen_address(text).unwrap().to_string(), want);
        }
        for wrong in ["", "host:1", "1.2.3.4", "99999"] {
            assert!(
                listen_address(wrong)
                    .unwrap_err()
                    .contains("127.0.0.1:9187")
            );
        }
    }
}
