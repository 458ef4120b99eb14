//! `pgdyno run` from end to end: what it sends, what it counts, what it reports and how it ends,
//! on a real PostgreSQL.

mod accounting;
mod bad_input;
mod balancers;
mod budget;
mod clients;
mod endpoints;
mod failover;
mod figures;
mod history;
mod hosts;
mod hung;
mod isolation_lab;
mod isolation_mixes;
mod language;
mod missing_rows;
mod own_sessions;
mod plaintext;
mod replaced;
mod retries;
mod sessions;
mod stalls;
mod standbys;
mod streams;
mod truth;
mod via;
mod warmup;
