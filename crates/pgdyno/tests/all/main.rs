//! The `pgdyno` program as users meet it, on a real PostgreSQL. One test program: each would link all of
//! pgdyno again.

mod child;
mod support;

mod cli;
mod coverage;
mod e2e;
mod faults;
mod generators;
mod hostile;
mod kill;
mod memory;
mod pgbench;
mod points;
mod poolers;
mod seeds;
mod serve;
mod size;
mod sweep;
mod targets;
mod verdict;
