//! Initialisation: its steps in any order, what it says meanwhile and what is in the database
//! afterwards.

use super::needs_stock;
use crate::pgbench::compare::{Case, Setting, case};

const GONE: &str = "DROP TABLE IF EXISTS pgbench_accounts, pgbench_branches, pgbench_history,
                    pgbench_tellers CASCADE";
const THERE: &str = "DROP TABLE IF EXISTS pgbench_accounts, pgbench_branches, pgbench_history,
                     pgbench_tellers CASCADE;
    CREATE TABLE pgbench_branches (x int);
    CREATE TABLE pgbench_history (x int)";

/// Of the accounts few are taken.
const NARROW: &str = "DROP TABLE IF EXISTS pgbench_accounts, pgbench_branches, pgbench_history,
                      pgbench_tellers CASCADE;
    CREATE TABLE pgbench_branches (bid int, bbalance int, filler text);
    CREATE TABLE pgbench_tellers (tid int, bid int, tbalance int, filler text);
    CREATE TABLE pgbench_accounts (aid int CHECK (aid < 100000), bid int, abalance int, filler text);
    CREATE TABLE pgbench_history (tid int)";

/// Tables with all that they were made with, their rows in a number each, their constraints.
const MADE: &str = "
    SELECT relname, relkind, relpersistence, reloptions, reltablespace, pg_get_partkeydef(oid),
           pg_get_expr(relpartbound, oid),
           (SELECT string_agg(format('%s %s %s', attname, atttypid::regtype, attnotnull), ', ' ORDER BY attnum)
            FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0),
           CASE WHEN relkind IN ('r', 'p') THEN tools.rows(oid) END
    FROM pg_class c WHERE relnamespace = 'public'::regnamespace
    UNION ALL
    SELECT conname, contype, NULL, NULL, 0, pg_get_constraintdef(oid), conrelid::regclass::text, NULL, NULL
    FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype <> 'n'
    ORDER BY 1, 2, 7";

/// How many rows a table has, and a number that changes with any of them.
const ROWS: &str = "
    CREATE SCHEMA tools;
    CREATE FUNCTION tools.rows(regclass) RETURNS text LANGUAGE plpgsql AS $$
    DECLARE found text;
    BEGIN
        EXECUTE format('SELECT format(''%%s rows, %%s'', count(*), sum(hashtext(t::text)::bigint)) FROM %s t', $1)
            INTO found;
        RETURN found;
    END $$";

fn compare(database: &str, cases: Vec<Case>) {
    let cases: Vec<Case> = cases.into_iter().map(|case| case.after(MADE)).collect();
    let setting = Setting::new(pgdyno_testkit::postgres(), database, &[]);
    setting.sql(ROWS).compare(&cases);
}

fn anew(line: &str) -> Case {
    case(line).before(GONE)
}

#[test]
fn steps_of_initialisation() {
    needs_stock!("steps_of_initialisation");
    compare(
        "init_steps",
        vec![
            anew("-i"),
            // Once more, over what is there.
            case("-i -q"),
            case("-i -I d").before(THERE),
            anew("-i -I dt"),
            case("-i -I t"),
            anew("-i -I t"),
            anew("-i -I g"),
            anew("-i -I G"),
            anew("-i -I v"),
            anew("-i -I p"),
            anew("-i -I f"),
            anew("-i -I tpf"),
            anew("-i -I tf"),
            anew("-i -I tppf"),
            anew("-i -I dtpg"),
            anew("-i -I dtGvpf"),
            anew("-i -I dtgGp"),
            anew("-i -I tgg"),
            anew("-i -I 'd t v'"),
            anew("-i -I ' '"),
            anew("-i -n -I dtv"),
            anew("-i -n -I v"),
            anew("-in -I dtvp"),
            anew("-i -I dt --foreign-keys"),
            anew("-i -I dtpf --foreign-keys"),
            anew("-i -I dtp --foreign-keys -n"),
            anew("-i --init-steps=dtGpf --foreign-keys --no-vacuum --scale=2"),
            anew("-i -I d -I t"),
            anew("-i -I dt").before(THERE),
            anew("-i -I t").before(THERE),
            anew("--initialize --init=dt"),
            anew("-iIdt"),
            anew("-iq -s 1"),
        ],
    );
}

#[test]
fn forms_of_tables() {
    needs_stock!("forms_of_tables");
    compare(
        "init_forms",
        vec![
            anew("-i -s 2"),
            anew("-i -s 2 -q"),
            anew("-i -s 2 -q -I dtG"),
            anew("-i -F 90 -I dt"),
            anew("-i -F 10 -I dtp --unlogged-tables"),
            anew("-i --unlogged-tables -q"),
            anew("-i --partitions 3 -q"),
            anew("-i --partitions 3 --partition-method hash -q"),
            anew("-i --partitions 3 --partition-method range -s 2 -I dtGp"),
            anew("-i --partitions 3 --partition-method RANGE -I dt -F 70"),
            anew("-i --partitions 1 -I dt --unlogged-tables"),
            anew("-i --partitions 7 -I dt -s 3"),
            anew("-i --partitions 3 -I dtpf --foreign-keys"),
            anew("-i --partitions 0 -I dt"),
            anew("-i --partitions 2 --partitions 3 -I dt"),
            anew("-i --tablespace nosuch"),
            anew("-i --tablespace pg_default -I dtp"),
            anew("-i --index-tablespace nosuch -I dtp"),
            anew("-i --index-tablespace pg_default -I dtpf"),
            anew("-i --tablespace 'a \"b' -I dt"),
            anew("-i --tablespace pg_default --index-tablespace pg_default --partitions 2 -I dtp"),
            anew("-i -s 20000 -I dt"),
            anew("-i -s 19999 -I dt"),
            anew("-i -I dt --debug"),
            anew("-i -I dt").env("PG_COLOR", "always"),
            anew("-i -I p").env("PG_COLOR", "always"),
            anew("-i -I dt").env("PGOPTIONS", "-c client_min_messages=error"),
            anew("-i -I dtg").env("PGOPTIONS", "-c default_transaction_read_only=on"),
            case("-i -I g").before(NARROW),
            case("-i -I G").before(NARROW),
        ],
    );
}
