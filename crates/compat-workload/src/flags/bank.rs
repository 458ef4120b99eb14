//! Flags of `bank`, in alphabetical order.

use super::flag::{Flag, Kind, On, flag, idle};

pub(super) static FLAGS: &[Flag] = &[
    idle(
        On::All,
        "batch-size",
        Kind::Int,
        "Rows of a batch of initial data",
        "rows are loaded by COPY; see --data-loader",
    ),
    flag(
        On::All,
        "payload-bytes",
        Kind::Int,
        "100",
        "Characters of payload in each row",
    ),
    flag(
        On::All,
        "ranges",
        Kind::Int,
        "10",
        "Ranges of each table at the beginning, where the server has them",
    ),
    flag(On::All, "rows", Kind::Int, "1000", "Accounts of each table"),
    flag(
        On::All,
        "tables",
        Kind::Int,
        "1",
        "Tables: bank_0, bank_1 and so on",
    ),
];
