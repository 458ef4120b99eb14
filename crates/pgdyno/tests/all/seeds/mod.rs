//! The command lines of the five articles that pgdyno grew from, as they were typed: pgdyno runs each
//! by its tool's own name on a real PostgreSQL, and its output is compared with the tool's.
//!
//! `table.rs` has the lines, what is typed instead of a part of one and why, what its output is
//! compared with, and which differences there are and why. Stock pgbench always runs beside pgdyno;
//! the output of the other tools is recorded in `recorded`, whose README says how. They run beside
//! pgdyno too when these variables name them:
//!
//! - `PGDYNO_PEER_PGIO`, `PGDYNO_PEER_YBIO`, `PGDYNO_PEER_PGBENCH_TOOLS`: their repositories
//! - `PGDYNO_PEER_YCSB`, `PGDYNO_PEER_GO_YCSB`: folders with `bin/ycsb.sh` (and PostgreSQL's JDBC driver
//!   in `jdbc` beside that folder), `bin/go-ycsb`
//! - `PGDYNO_WRITE_RECORDINGS=1`: writes what they print into `recorded`
//! - `PGDYNO_SEEDS`: the folder of the articles; each line must be in its article, word for word

mod cockroach;
mod compare;
mod pgbench;
mod pgbench_tools;
mod pgio;
mod shape;
mod shell;
mod table;
mod ybio;
mod ycsb;
