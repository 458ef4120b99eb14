//! What `pgdyno target --json` prints: what is there, what is different about it, and what can be seen
//! of it.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Facts, RoundTrip};
use crate::Fact;

/// A database and its endpoints.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Target {
    /// Grows when a field changes its meaning or goes.
    pub format: u32,
    pub pgdyno: String,
    pub title: String,
    pub product: Product,
    pub endpoints: Vec<Endpoint>,
    pub isolation: Isolation,
    /// What is known about the server.
    pub facts: Facts,
    /// What is not as on PostgreSQL, a sentence each.
    pub differences: Vec<String>,
    /// What can be observed, and what not.
    pub observable: Vec<Observable>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Product {
    pub name: &'static str,
    pub title: &'static str,
    /// Whether pgdyno knows it; else it is treated as PostgreSQL.
    pub known: bool,
    pub version: String,
    /// What it says about itself.
    pub text: String,
}

/// Where a database was reached.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Endpoint {
    pub name: String,
    pub connections: Vec<Met>,
    /// Whether it is a standby; `null` where the product has none, or that is not known.
    pub is_standby: Option<bool>,
    /// How far away it is, on an idle session.
    pub round_trip: Fact<RoundTrip>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum Met {
    Node(Fact<String>),
    Error(String),
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Isolation {
    /// Where none is asked for.
    pub default: Fact<String>,
    /// What comes of each level that a transaction asks for.
    pub asked_for: BTreeMap<&'static str, Fact<String>>,
}

/// Something that can be observed on this server, or why not.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Observable {
    pub what: &'static str,
    /// Whether it can be observed.
    pub can_be_seen: bool,
    pub why_not: Option<String>,
    pub takes: Option<&'static str>,
}
