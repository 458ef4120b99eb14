//! Flags of `start-single-node`, in alphabetical order.

use super::flag::{Flag, Kind, On, flag, idle};

const CLUSTER: &str = "PostgreSQL is one node by itself";
const SETTING: &str = "PostgreSQL's settings are others: pgdyno server start --pg-set NAME=VALUE";
const NO_CONSOLE: &str = "PostgreSQL has no console";

pub static FLAGS: &[Flag] = &[
    idle(
        On::All,
        "advertise-addr",
        Kind::String,
        "Address for other nodes",
        CLUSTER,
    ),
    flag(
        On::All,
        "background",
        Kind::Bool,
        "",
        "Start the server and return; it runs until pgdyno server stop",
    ),
    idle(On::All, "cache", Kind::String, "Size of the cache", SETTING),
    flag(
        On::All,
        "certs-dir",
        Kind::String,
        "",
        "Directory of certificates",
    ),
    flag(
        On::All,
        "host",
        Kind::String,
        "localhost",
        "Address to listen on, without its port",
    ),
    idle(
        On::All,
        "http-addr",
        Kind::String,
        "Address of the console",
        NO_CONSOLE,
    ),
    idle(
        On::All,
        "http-port",
        Kind::String,
        "Port of the console",
        NO_CONSOLE,
    ),
    flag(
        On::All,
        "insecure",
        Kind::Bool,
        "",
        "Without TLS and passwords, for every user of this machine",
    ),
    flag(
        On::All,
        "listen-addr",
        Kind::String,
        "localhost:26257",
        "Address to listen on",
    ),
    idle(
        On::All,
        "locality",
        Kind::String,
        "Where the node is",
        CLUSTER,
    ),
    idle(
        On::All,
        "logtostderr",
        Kind::OptionalString,
        "Least severity that is logged on standard error",
        "the log is the file that is named",
    ),
    idle(
        On::All,
        "max-sql-memory",
        Kind::String,
        "Memory for queries",
        SETTING,
    ),
    flag(
        On::All,
        "pid-file",
        Kind::String,
        "",
        "File for the server's process id",
    ),
    flag(On::All, "port", Kind::Int, "", "Port to listen on"),
    idle(
        On::All,
        "store",
        Kind::String,
        "Where data are",
        "data are in pgdyno's own folder, which is named",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_stand_in_order_and_each_but_once() {
        assert!(FLAGS.windows(2).all(|pair| pair[0].name < pair[1].name));
    }
}
