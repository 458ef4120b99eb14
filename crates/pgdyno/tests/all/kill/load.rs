//! `load`: what was cut off is loaded again by the same command, whole.

use crate::kill::home::Home;
use crate::kill::moments::each;
use crate::support::Database;

/// One is filled by one COPY a table, the other by ranges on several connections.
const TPCB: &str = "load tpcb --param scale=5";
const YCSB: &str = "load ycsb --param recordcount=60000 --jobs 2";

pub fn of_two_packs(count: usize) {
    let of = |line: &str, database: &Database| format!("{line} --url {}", database.url);
    let whole = || {
        let database = Database::new("kill_load");
        Home::new().run(&of(TPCB, &database)).expect(0, &[]);
    };
    each("load", count, whole, |moment| {
        let (home, database) = (
            Home::new(),
            Database::new(&format!("kill_load_{}", moment.number)),
        );
        let (load, rows, expected) = if moment.heads {
            (
                TPCB,
                "SELECT count(*), count(DISTINCT aid) FROM pgbench_accounts",
                "500000|500000",
            )
        } else {
            (
                YCSB,
                "SELECT count(*), count(DISTINCT ycsb_key) FROM usertable",
                "60000|60000",
            )
        };
        let line = of(load, &database);
        let cut = home.cut_at(moment, &line, &line);
        home.run_when_free(&line).expect(0, &["loaded"]);
        assert_eq!(database.value(rows), expected);
        let keys = "SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = indrelid WHERE indisprimary \
                    AND relname IN ('pgbench_accounts', 'pgbench_branches', 'pgbench_tellers', 'usertable')";
        assert_eq!(database.value(keys), if moment.heads { "3" } else { "1" });
        home.is_clean_but_for(&[]);
        cut.was_killed
    });
}
