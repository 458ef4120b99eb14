//! Transactions that share a block, as with a driver that does not commit by itself.

use std::num::NonZeroU64;

use pgdyno_drive::{Commits, Drive};
use pgdyno_measurement::{End, Failure};
use pgdyno_spec::{OnError, QueryMode};

use crate::support::*;

fn every(count: u64) -> Option<Commits> {
    NonZeroU64::new(count).map(|every| Commits { script: 0, every })
}

#[test]
fn so_many_transactions_are_committed_together_and_the_rest_at_the_end() {
    for (mode, table) in MODES.into_iter().zip(["blocks_0", "blocks_1", "blocks_2"]) {
        sql(&format!("create table {table} (client int, i int)"));
        let script = format!("insert into {table} values (:client_id, 1);\n");
        let recording = run_well(&Drive {
            clients: 2,
            commits: every(3),
            until: transactions(7),
            ..drive_in(mode, &script)
        });
        assert_eq!(counts(&recording).committed, 14);
        assert_eq!(recording.undone, 0);
        // Of each client: three, three and one.
        let blocks = format!(
            "select string_agg(rows::text, ' ' order by client, first) from (select client, \
             min(ctid) as first, count(*) as rows from {table} group by client, xmin) as b"
        );
        let blocks = admin().query_one_value(&blocks).unwrap().unwrap();
        let mut rows: Vec<&str> = blocks.split(' ').collect();
        rows.sort_unstable();
        assert_eq!(rows, ["1", "1", "3", "3", "3", "3"], "{mode:?}");
    }
}

#[test]
fn only_the_script_that_writes_is_counted_and_others_share_its_block() {
    sql("create table blocks_mixed (i int)");
    let write = "insert into blocks_mixed values (1);\n";
    let recording = run_well(&Drive {
        commits: every(2),
        until: transactions(40),
        ..mix(&[(write, 1), ("select 1;\n", 1)], QueryMode::Prepared)
    });
    let written = recording.measured.scripts[0].counts.committed as i64;
    assert!((5..36).contains(&written), "{written}");
    assert_eq!(value("select count(*) from blocks_mixed"), written);
    let blocks = value("select count(distinct xmin::text) from blocks_mixed");
    assert_eq!(blocks, (written + 1) / 2);
}

#[test]
fn an_error_undoes_what_the_block_had_before_it() {
    sql("create table blocks_undone (i int primary key); create sequence blocks_seq");
    // The fifth one is there already: the first three are committed, the fourth one is not.
    let script = "insert into blocks_undone select case i when 5 then 1 else i end \
                  from nextval('blocks_seq') as i;\n";
    let asked = |on_error| Drive {
        commits: every(3),
        on_error,
        until: transactions(8),
        ..drive(script)
    };
    let (recording, _) = run(&asked(OnError::Continue));
    let unique = Failure::from_sqlstate("23505");
    assert_eq!(
        (counts(&recording).committed, failed(&recording, unique)),
        (7, 1)
    );
    assert_eq!(recording.undone, 1);
    assert_eq!(
        value("select sum(i) from blocks_undone"),
        1 + 2 + 3 + 6 + 7 + 8
    );
    sql("truncate blocks_undone; alter sequence blocks_seq restart");
    let (recording, _) = run(&asked(OnError::EndClient));
    assert_eq!(
        (recording.end, recording.undone),
        (End::AllClientsAborted, 1)
    );
    assert_eq!(value("select count(*) from blocks_undone"), 3);
}

#[test]
fn a_commit_that_fails_is_an_error_of_the_transaction_that_it_ends() {
    sql("create table blocks_deferred (i int unique deferrable initially deferred)");
    let asked = |count| Drive {
        commits: every(2),
        on_error: OnError::Continue,
        until: transactions(count),
        ..drive("insert into blocks_deferred values (1);\n")
    };
    let (recording, _) = run(&asked(2));
    let counted = counts(&recording);
    assert_eq!((counted.committed, counted.failed_total()), (1, 1));
    assert_eq!(recording.undone, 1);
    // At the very end there is no transaction left that could fail.
    let script = "insert into blocks_deferred values (1), (1);\n";
    let (recording, seen) = run(&Drive {
        commits: every(9),
        until: transactions(2),
        ..drive(script)
    });
    assert_eq!((counts(&recording).committed, recording.undone), (2, 2));
    assert_eq!(seen.messages.len(), 1);
    let text = &seen.messages[0];
    assert!(
        text.starts_with("client 0 could not commit: ERROR:  duplicate key"),
        "{text}"
    );
    assert_eq!(value("select count(*) from blocks_deferred"), 0);
}

#[test]
fn the_commit_at_the_end_belongs_to_the_closing_of_the_connection() {
    sql(
        "create function blocks_slow() returns trigger language plpgsql as \
         'begin perform pg_sleep(0.5); return null; end'; create table blocks_slow (i int); \
         create constraint trigger slow after insert on blocks_slow deferrable initially deferred \
         for each row execute function blocks_slow()",
    );
    let recording = run_well(&Drive {
        commits: every(9),
        ..drive("insert into blocks_slow values (1);\n")
    });
    let closing = recording.connections.closings[0];
    assert!(closing.latency_us >= 500_000, "{closing:?}");
    assert!(recording.measured.all().service.max_us() < 500_000);
    assert_eq!(value("select count(*) from blocks_slow"), 1);
}
