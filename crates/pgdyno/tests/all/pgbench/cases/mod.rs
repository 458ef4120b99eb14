//! The command lines that are compared.

mod connections;
mod encodings;
mod failures;
mod help;
mod init;
mod logs;
mod names;
mod options;
mod other_server;
mod progress;
mod reports;
mod running;
mod scripts;

/// Skips the calling test, whose name it is given, when there is no stock pgbench.
macro_rules! needs_stock {
    ($name:literal) => {
        if pgdyno_testkit::stock_pgbench().is_none() {
            pgdyno_testkit::skip!($name, "no stock pgbench 18");
        }
    };
}
pub(crate) use needs_stock;
