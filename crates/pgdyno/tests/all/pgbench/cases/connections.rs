//! Servers that are not there, databases that do not exist, tables that are missing.

use super::needs_stock;
use crate::pgbench::compare::{Setting, case};

#[test]
fn no_connection() {
    needs_stock!("no_connection");
    Setting::new(pgdyno_testkit::postgres(), "no_connection", &[]).compare(&[
        case("nosuch"),
        case("-d nosuch"),
        case("-n -S -t 1 nosuch"),
        case("-i nosuch"),
        case("-i -I d nosuch"),
        case("-i -U nosuch"),
        case("-n -S -U nosuch"),
        case("-n -S").env("PGDATABASE", ""),
        case("-n -S").env("PGDATABASE", "").env("PGUSER", "nosuch"),
        case("-n -S").env("PGDATABASE", "").env("PGUSER", ""),
        case("-n -S -h /nonexistent"),
        case("-n -S -h 127.0.0.1 -p 1"),
        case("-n -S -h localhost -p 1"),
        case("-n -S -h nosuch.invalid"),
        case("-n -S -h ''"),
        case("-n -S -p 0"),
        case("-n -S -p 65536"),
        case("-n -S -p -1"),
        case("-n -S -p x"),
        case("-n -S -p ' 1 '"),
        case("-n -S -p ''"),
        case("-n -S -p 1,2"),
        case("-n -S -h 127.0.0.1,127.0.0.2 -p 1,2"),
        case("-n -S -h /nonexistent,127.0.0.1 -p 1"),
        case("-n -S -h a,b,c -p 1,2"),
        case("-n -S -d 'dbname=nosuch'"),
        case("-n -S -d 'nosuch=1'"),
        case("-n -S -d 'dbname'"),
        case("-n -S -d postgresql:///nosuch"),
        case("-n -S -d 'postgresql:///x?nosuch=1'"),
        case("-n -S -d 'postgresql://127.0.0.1:1/x'"),
        case("-n -S -d 'postgresql://127.0.0.1:x/x'"),
        case("-n -S -d 'sslmode=nosuch'"),
        case("-n -S -d 'service=nosuch'"),
        case("-n -S").env("PGSSLMODE", "nosuch"),
        case("-n -S").env("PGTARGETSESSIONATTRS", "standby"),
        case("-n -S").env("PGOPTIONS", "--nosuch"),
        // A server that does not know a setting is asked again, without application_name.
        case("-n -S").env("PGOPTIONS", "-c nosuch=1"),
        case("-n -S -h 127.0.0.1,127.0.0.1").env("PGOPTIONS", "-c nosuch=1"),
        case("-i").env("PGOPTIONS", "-c nosuch=1"),
        // A warning about the password file; stock pgbench says it for each connection.
        case("-n -S nosuch").env("PGPASSFILE", "/"),
        case("-i nosuch").env("PGPASSFILE", "/"),
        case("-n -S").env("PGSERVICE", "nosuch"),
        case("-n -S nosuch").env("PG_COLOR", "always"),
        case("-n -S nosuch --debug"),
    ]);
}

#[test]
fn missing_tables() {
    needs_stock!("missing_tables");
    let branches = "DROP TABLE IF EXISTS pgbench_branches; CREATE TABLE pgbench_branches (bid int)";
    let none = "DROP TABLE IF EXISTS pgbench_branches";
    let files = [("one.sql", "SELECT 1;\n")];
    Setting::new(pgdyno_testkit::postgres(), "missing_tables", &files).compare(&[
        case("").before(none),
        case("-t 1"),
        case("-n -S -t 1"),
        case("-n -N -t 1 -s 5"),
        case("-S -t 1 -v"),
        case("-t 1").env("PG_COLOR", "always"),
        // Tables are missed by what vacuums before a script of one's own, and it goes on.
        case("-t 1 -f one.sql"),
        case("-t 1 -v -f one.sql"),
        case("-n -t 1 -f one.sql"),
        case("-n -t 1 -f one.sql -b se"),
        case("-n -t 1 -S").before(branches),
        case("-n -t 1 -S").env("PGOPTIONS", "-c search_path=nosuch"),
        case("-n -t 1 -S")
            .before("CREATE TABLE IF NOT EXISTS pgbench_accounts (aid int, abalance int)"),
        case("-t 1 -S"),
        case("-t 1 -N"),
        case("-n -t 1"),
    ]);
}
