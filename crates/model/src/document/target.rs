//! What `pgdyno target --json` prints: what is there, what is different about it, and what can be seen
//! of it.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Facts, RoundTrip};
use crate::Fact;

/// A database and its endpoints.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Target {
    /// Grows when a field changes its meaning or goes.
    pub format: u32,
    /// pgdyno's version.
    pub pgdyno: String,
    /// For people.
    pub title: String,
    /// What it is.
    pub product: Product,
    /// Where it was reached.
    pub endpoints: Vec<Endpoint>,
    /// Isolation levels, read back.
    pub isolation: Isolation,
    /// What is known about the server.
    pub facts: Facts,
    /// What is not as on PostgreSQL, a sentence each.
    pub differences: Vec<String>,
    /// What can be observed, and what not.
    pub observable: Vec<Observable>,
}

/// What a database is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Product {
    /// For programs.
    pub name: &'static str,
    /// For people.
    pub title: &'static str,
    /// Whether pgdyno knows it; else it is treated as PostgreSQL.
    pub known: bool,
    /// Its version.
    pub version: String,
    /// What it says about itself.
    pub text: String,
}

/// Where a database was reached.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Endpoint {
    /// Its name.
    pub name: String,
    /// What each connection met.
    pub connections: Vec<Met>,
    /// Whether it is a standby; `null` where the product has none, or that is not known.
    pub is_standby: Option<bool>,
    /// How far away it is, on an idle session.
    pub round_trip: Fact<RoundTrip>,
}

/// What a connection met.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Met {
    /// This node.
    Node(Fact<String>),
    /// None, and why.
    Error(String),
}

/// Isolation levels in effect.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Isolation {
    /// Where none is asked for.
    pub default: Fact<String>,
    /// What comes of each level that a transaction asks for.
    pub asked_for: BTreeMap<&'static str, Fact<String>>,
}

/// Something that can be observed on this server, or why not.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Observable {
    /// What, for people.
    pub what: &'static str,
    /// Whether it can be observed.
    pub can_be_seen: bool,
    /// Why not.
    pub why_not: Option<String>,
    /// What it would take.
    pub takes: Option<&'static str>,
}
