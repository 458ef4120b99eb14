//! Stock PostgreSQL 18: its pgbench to compare with, its server to run tests on.

use std::path::PathBuf;

/// The directory of stock PostgreSQL 18's programs (postgres, initdb, pgbench, psql …): the one
/// that `PGDYNO_STOCK_PG_BINDIR` names, else what `make test` has fetched; `None` when there is
/// neither.
///
/// # Panics
/// When the variable names a directory without pgbench: a test that was meant to run must not
/// be skipped by a typing error.
pub fn stock_bindir() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("PGDYNO_STOCK_PG_BINDIR").filter(|v| !v.is_empty()) {
        let dir = PathBuf::from(named);
        assert!(
            dir.join("pgbench").is_file(),
            "PGDYNO_STOCK_PG_BINDIR names {dir:?}, and there is no pgbench in it"
        );
        return Some(dir);
    }
    let fetched = crate::tools_dir().join("stock-postgresql/bin");
    fetched.join("pgbench").is_file().then_some(fetched)
}

/// Stock pgbench 18; `None` when it is not here. Skip the test then, by name:
///
/// ```no_run
/// let Some(pgbench) = pgdyno_testkit::stock_pgbench() else {
///     pgdyno_testkit::skip!("same_seed_same_statements", "no stock pgbench 18");
/// };
/// ```
pub fn stock_pgbench() -> Option<PathBuf> {
    stock_bindir().map(|dir| dir.join("pgbench"))
}
