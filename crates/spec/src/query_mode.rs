//! How statements travel.

/// How statements travel (pgbench's `--protocol`).
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    clap::ValueEnum,
    serde::Serialize,
    serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum QueryMode {
    /// Simple query protocol: values are part of the statement's text
    #[default]
    Simple,
    /// Extended query protocol: Parse, Bind and Execute each time
    Extended,
    /// Extended query protocol with prepared statements: Parse once per connection
    Prepared,
}

impl QueryMode {
    /// pgbench's word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Extended => "extended",
            Self::Prepared => "prepared",
        }
    }
}
