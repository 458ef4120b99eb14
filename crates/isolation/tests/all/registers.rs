//! Registers whose version order is not known, against the definitions, tried over all orders of commits.

use pgdyno_isolation::{Builder, History, Level, LevelVerdict, Status};

use super::notation::{breaks, checked, keeps, report};
use super::store::Draw;

#[test]
fn each_weak_level_is_broken_by_what_it_forbids_and_not_by_less() {
    use Level::{Causal, ReadAtomic, ReadCommitted};
    for (text, broken, kept) in [
        // Two transactions, each before the other.
        (
            "w x1 w y1 | w x2 w y2 | g y2 g x1 | g y1 g x2",
            &[ReadCommitted, ReadAtomic, Causal][..],
            &[][..],
        ),
        // What was read first is older than what was read next: allowed only to statements.
        (
            "w x1 w y1 | g y g x1 ; w x2 w y2",
            &[ReadAtomic, Causal],
            &[ReadCommitted],
        ),
        // The effect without its cause.
        (
            "w x1 | g x1 w y1 | g y1 g x ; w x2 w y2",
            &[Causal],
            &[ReadCommitted, ReadAtomic],
        ),
        (
            "w x1 | w x2 | g x1 | g x2",
            &[],
            &[ReadCommitted, ReadAtomic, Causal],
        ),
    ] {
        let report = report(text);
        for &level in broken {
            assert!(breaks(&report, level), "{text}: {level}\n{report}");
        }
        for &level in kept {
            assert!(keeps(&report, level), "{text}: {level}\n{report}");
        }
    }
}

#[test]
fn levels_that_need_the_order_of_versions_are_not_known_for_registers() {
    let report = report("w x1 | w x2 | g x1");
    for level in [
        Level::SnapshotIsolation,
        Level::Serializable,
        Level::MonotonicReads,
    ] {
        let LevelVerdict::NotKnown(why) = report.verdict(level) else {
            panic!("{level}\n{report}");
        };
        assert!(
            why.contains("the order of a register's versions is not recorded"),
            "{why}"
        );
    }
}

/// A transaction of one client: reads of (key, index of the writer or nothing), then keys that it writes.
#[derive(Debug)]
struct Small {
    client: usize,
    reads: Vec<(usize, Option<usize>)>,
    writes: Vec<usize>,
}

const KEYS: u64 = 3;
const TRANSACTIONS: usize = 5;

fn small(draw: &mut Draw) -> Vec<Small> {
    let mut all: Vec<Small> = (0..TRANSACTIONS)
        .map(|at| Small {
            client: if draw.one_in(2) { 0 } else { at + 1 },
            reads: Vec::new(),
            writes: (0..KEYS as usize).filter(|_| draw.one_in(2)).collect(),
        })
        .collect();
    for at in 0..TRANSACTIONS {
        for _ in 0..draw.below(4) {
            let key = draw.below(KEYS) as usize;
            let writers: Vec<usize> = (0..TRANSACTIONS)
                .filter(|&writer| writer != at && all[writer].writes.contains(&key))
                .collect();
            let writer = (!writers.is_empty() && !draw.one_in(5))
                .then(|| writers[draw.below(writers.len() as u64) as usize]);
            all[at].reads.push((key, writer));
        }
    }
    all
}

fn history(all: &[Small]) -> History {
    let mut builder = Builder::new();
    let keys: Vec<u32> = (0..KEYS as i64).map(|key| builder.key(key)).collect();
    for (at, transaction) in (0..).zip(all) {
        builder.begin(
            transaction.client as u32,
            Status::Committed,
            at * 2,
            at * 2 + 1,
        );
        for &(key, writer) in &transaction.reads {
            match writer {
                Some(writer) => builder.read(keys[key], writer as i64),
                None => builder.read_nothing(keys[key]),
            };
        }
        for &key in &transaction.writes {
            builder.write(keys[key], at);
        }
    }
    builder.finish().unwrap()
}

/// Whether there is an order of commits by the axioms of Biswas & Enea, section 2; sessions count in causal only.
fn allowed(all: &[Small], level: Level) -> bool {
    let n = all.len();
    let session =
        |a: usize, b: usize| level == Level::Causal && a < b && all[a].client == all[b].client;
    let reads_from = |a: usize, b: usize| all[b].reads.iter().any(|&(_, writer)| writer == Some(a));
    let mut causes = vec![vec![false; n]; n];
    for (a, b) in pairs(n) {
        causes[a][b] = session(a, b) || reads_from(a, b);
    }
    for via in 0..n {
        for (a, b) in pairs(n) {
            causes[a][b] |= causes[a][via] && causes[via][b];
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    permutations(&mut order, 0, &mut |order| {
        let place = |of: usize| order.iter().position(|&at| at == of).unwrap();
        let extends = pairs(n)
            .all(|(a, b)| !(session(a, b) || reads_from(a, b)) || a != b && place(a) < place(b));
        extends
            && (0..n).all(|reader| {
                (0..all[reader].reads.len()).all(|at| {
                    let (key, source) = all[reader].reads[at];
                    (0..n).all(|other| {
                        let before = &all[reader].reads[..at];
                        let visible = match level {
                            Level::ReadCommitted => {
                                before.iter().any(|&(_, writer)| writer == Some(other))
                            }
                            Level::ReadAtomic => {
                                session(other, reader) || reads_from(other, reader)
                            }
                            _ => causes[other][reader],
                        };
                        let demands =
                            visible && Some(other) != source && all[other].writes.contains(&key);
                        !demands || source.is_some_and(|source| place(other) < place(source))
                    })
                })
            })
    })
}

fn pairs(n: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n * n).map(move |at| (at / n, at % n))
}

/// Whether one of all orders will do.
fn permutations(
    order: &mut Vec<usize>,
    from: usize,
    will_do: &mut impl FnMut(&[usize]) -> bool,
) -> bool {
    if from == order.len() {
        return will_do(order);
    }
    for at in from..order.len() {
        order.swap(from, at);
        if permutations(order, from + 1, will_do) {
            return true;
        }
        order.swap(from, at);
    }
    false
}

#[test]
fn weak_levels_agree_with_their_definitions_over_all_orders_of_commits() {
    let mut draw = Draw(7);
    let mut counts = [[0; 2]; 3];
    for _ in 0..3_000 {
        let all = small(&mut draw);
        let report = checked(&history(&all));
        // With a single write of each key dependencies are checked instead.
        let written_once = (0..KEYS as usize).all(|key| {
            all.iter()
                .filter(|small| small.writes.contains(&key))
                .count()
                < 2
        });
        if written_once {
            continue;
        }
        for (at, level) in [Level::ReadCommitted, Level::ReadAtomic, Level::Causal]
            .into_iter()
            .enumerate()
        {
            let expected = allowed(&all, level);
            assert_eq!(
                !breaks(&report, level),
                expected,
                "{level}: {all:?}\n{report}"
            );
            counts[at][usize::from(expected)] += 1;
        }
    }
    assert!(
        counts.iter().flatten().all(|&count| count > 50),
        "{counts:?}"
    );
}

#[test]
fn a_sessions_order_does_not_break_levels_that_promise_none() {
    // A stale read within a session: serializable as T3, T1, T2.
    for text in [
        "@0 w x1 ; @0 g x ; @1 w x2",
        "@0 w x1 w y1 ; @0 g x | w x2 | g y1",
    ] {
        let report = report(text);
        for level in [
            Level::ReadCommitted,
            Level::ReadAtomic,
            Level::RepeatableRead,
            Level::SnapshotIsolation,
            Level::Serializable,
        ] {
            assert!(!breaks(&report, level), "{text}: {level}\n{report}");
        }
        assert!(breaks(&report, Level::Causal), "{text}\n{report}");
    }
}
