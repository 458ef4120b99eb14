//! Whole transactions in all query modes, and how they are counted.

use pgdyno_drive::Drive;
use pgdyno_measurement::Counts;
use pgdyno_spec::{QueryMode, Until};

use crate::support::*;

#[test]
fn every_transaction_is_committed_and_booked_once_in_each_mode() {
    let mut admin = admin();
    admin
        .execute("create table booked (client int, n int)")
        .unwrap();
    let script = "\\set n random(1, 1000)\nbegin;\ninsert into booked values (:client_id, :n);\n\
                  select * from booked where n = :n limit 1;\nend;\n";
    for mode in MODES {
        admin.execute("truncate booked").unwrap();
        let recording = run_well(&Drive {
            clients: 3,
            threads: 2,
            until: transactions(20),
            ..drive_in(mode, script)
        });
        let all = recording.measured.all();
        assert_eq!((all.counts.committed, all.counts.total()), (60, 60));
        assert_eq!(all.service.count(), 60);
        let executions = recording.statements[0].iter();
        let executions: Vec<u64> = executions.map(|s| s.latencies.count()).collect();
        assert_eq!(executions, [0, 60, 60, 60, 60], "{mode:?}");
        let of_a_client = "select count(*) from booked where client = 2";
        assert_eq!(value_of(&mut admin, of_a_client), 20);
        assert_eq!(value_of(&mut admin, "select count(*) from booked"), 60);
        assert_eq!(recording.connections.latencies.count(), 3);
        assert_eq!(recording.threads.len(), 2);
    }
}

#[test]
fn seconds_add_up_to_the_totals_and_the_warm_up_stays_apart() {
    sql("create table warm (n int)");
    let script = "insert into warm values (1);\n\\sleep 2 ms\n";
    let (recording, seen) = run(&Drive {
        clients: 3,
        threads: 2,
        warmup: millis(400),
        until: Until::Elapsed(millis(1300)),
        ..drive(script)
    });
    let warmup = recording.warmup.as_ref().expect("a warm-up").all().counts;
    let measured = counts(&recording);
    assert!(warmup.committed > 20 && measured.committed > 60);
    let rows = value("select count(*) from warm") as u64;
    assert_eq!(rows, warmup.committed + measured.committed);

    let sum = |is_warmup: bool| {
        let mut sum = Counts::default();
        let seconds = recording.seconds.iter().filter(|s| s.warmup == is_warmup);
        seconds.for_each(|second| sum.merge(&second.scripts[0].counts));
        sum
    };
    assert_eq!((sum(true), sum(false)), (warmup, measured.clone()));
    let unpacked = recording.seconds.iter().filter(|s| !s.warmup);
    let unpacked = unpacked.map(|second| second.scripts[0].service.unpack().count());
    assert_eq!(unpacked.sum::<u64>(), measured.committed);
    assert_eq!(seen.seconds.len(), recording.seconds.len());
    let lengths: Vec<u64> = recording.seconds.iter().map(|s| s.length_us).collect();
    assert_eq!(lengths[..2], [400_000, 1_000_000], "{lengths:?}");
    let elapsed_us = recording.measured.elapsed_us;
    assert!((1_300_000..1_500_000).contains(&elapsed_us), "{elapsed_us}");
    // A client may have been between its two commands when the warm-up ended.
    let executed = recording.statements[0][0].latencies.count();
    assert!(measured.committed.abs_diff(executed) <= 3, "{executed}");
}

#[test]
fn transactions_count_for_their_limit_from_the_end_of_the_warm_up() {
    let recording = run_well(&Drive {
        clients: 5,
        threads: 3,
        warmup: millis(150),
        until: transactions(30),
        ..drive("select 1;")
    });
    assert_eq!(counts(&recording).committed, 150);
    let warmup = recording.warmup.expect("a warm-up").all().counts;
    assert!(warmup.committed > 5);
}

#[test]
fn scripts_are_chosen_by_weight_and_booked_apart() {
    let scripts = [("select 1;", 1), ("select 2;", 3), ("select 3;", 0)];
    let recording = run_well(&Drive {
        clients: 4,
        threads: 2,
        until: transactions(250),
        ..mix(&scripts, QueryMode::Prepared)
    });
    let by_script = recording.measured.scripts.iter();
    let by_script: Vec<u64> = by_script.map(|s| s.counts.committed).collect();
    assert_eq!(by_script.iter().sum::<u64>(), 1000);
    // Binomial: 250 ± 5 × 13.7.
    assert!(by_script[0].abs_diff(250) < 69, "{by_script:?}");
    assert_eq!(by_script[2], 0);
    for (script, committed) in by_script.iter().enumerate() {
        let executed = recording.statements[script][0].latencies.count();
        assert_eq!(executed, *committed);
    }
}
