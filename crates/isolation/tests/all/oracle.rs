//! Another checker as the oracle: `adya`, an independent implementation of Elle's rules, on its own simulated
//! databases.

use adya::r#gen::{GenOpts, Kind};
use adya::sim::{Isolation, SimOpts};
use adya::{Opts, Valid, Workload};
use pgdyno_isolation::{Level, LevelVerdict, read};

use super::notation::checked;

const LEVELS: [(Level, &str); 7] = [
    (Level::ReadUncommitted, "read-uncommitted"),
    (Level::ReadCommitted, "read-committed"),
    (Level::RepeatableRead, "repeatable-read"),
    (Level::SnapshotIsolation, "snapshot-isolation"),
    (Level::Serializable, "serializable"),
    (
        Level::StrongSessionSerializable,
        "strong-session-serializable",
    ),
    (Level::StrictSerializable, "strict-serializable"),
];

#[test]
fn another_checker_says_the_same_of_lists_at_every_level() {
    let databases = [
        Isolation::Serializable,
        Isolation::SnapshotIsolation,
        Isolation::ReadCommitted,
        Isolation::ReadUncommitted,
        Isolation::LostUpdate,
    ];
    let (mut kept, mut broken) = (0, 0);
    for (isolation, seed) in databases
        .iter()
        .flat_map(|&of| (0..12).map(move |seed| (of, seed)))
    {
        // Short ones keep some levels by luck, long ones break all that the database does not promise.
        let txns = [20, 60, 400][seed as usize % 3];
        let text = adya::sim::run(&SimOpts {
            isolation,
            txns,
            seed,
            r#gen: GenOpts {
                kind: Kind::ListAppend,
                ..GenOpts::default()
            },
            ..SimOpts::default()
        });
        let ours = checked(&read(&text).unwrap());
        let theirs = adya::History::from_json(&text).unwrap();
        // Where reads show two orders of a list, adya still places what no read shows.
        let contradictory = ours.anomaly("incompatible-order").is_some();
        for (level, name) in LEVELS {
            if contradictory && level == Level::ReadUncommitted {
                continue;
            }
            let options = Opts {
                models: vec![name.to_owned()],
                ..Opts::default()
            };
            let report = adya::check(&theirs, Workload::ListAppend, &options);
            let broken_here = match (report.valid, ours.verdict(level)) {
                (Valid::True, LevelVerdict::NoViolation) => false,
                (Valid::False, LevelVerdict::Broken(_)) => true,
                (Valid::Unknown, _) => continue,
                (valid, kept) => panic!(
                    "{isolation:?}, seed {seed}, {txns} transactions, {name}: adya {valid:?} {:?}, pgdyno {kept:?}\n{ours}",
                    report.anomaly_types
                ),
            };
            if broken_here { broken += 1 } else { kept += 1 }
        }
    }
    assert!(kept > 100 && broken > 100, "{kept} kept, {broken} broken");
}
