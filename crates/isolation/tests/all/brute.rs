//! Small random histories of lists, and of rows that are read by a predicate, against the definitions, tried over all
//! orders. Slow and plain on purpose: nothing
//! here knows of dependencies or cycles, and nothing is taken from the crate.
//!
//! An answer of the checker that differs is a mistake; "not known" never is.

use pgdyno_isolation::{Builder, History, Level, LevelVerdict, Report, Status};

use super::notation::checked;
use super::store::Draw;

/// The key whose values are rows, inserted in no order and read all at once; the others are lists.
const ROWS: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Did {
    Append(usize, i64),
    Read(usize, [i64; 8], usize),
}

#[derive(Clone, Debug)]
struct Tx {
    client: u32,
    status: Status,
    begin: i64,
    end: i64,
    did: Vec<Did>,
}

/// Reads are prefixes of the real lists, or nearly: random answers would break everything.
fn draw_history(draw: &mut Draw, most: u64) -> Vec<Tx> {
    let count = 2 + draw.below(most - 1) as usize;
    let keys = 1 + draw.below(2) as usize;
    let with_rows = draw.one_in(2);
    let mut next = 0;
    let mut all: Vec<Tx> = Vec::new();
    let mut clients_end = [0_i64; 3];
    let spread = 1 + draw.below(12) as i64;
    for _ in 0..count {
        let client = draw.below(3) as usize;
        let begin = clients_end[client] + 1 + draw.below(4) as i64;
        let end = begin + draw.below(spread as u64) as i64;
        let status = match draw.below(8) {
            0 => Status::Aborted,
            1 => Status::Unknown,
            _ => Status::Committed,
        };
        clients_end[client] = end;
        let mut did = Vec::new();
        for _ in 0..1 + draw.below(3) {
            let mut key = draw.below(keys as u64) as usize;
            if with_rows && draw.one_in(2) {
                key = ROWS;
            }
            if draw.one_in(2) {
                next += 1;
                did.push(Did::Append(key, next));
            } else {
                did.push(Did::Read(key, [0; 8], 0));
            }
        }
        all.push(Tx {
            client: client as u32,
            status,
            begin,
            end,
            did,
        });
    }
    // The lists as they were in the end, in any order of transactions; now and then of single appends.
    let mut lists = vec![Vec::new(); ROWS + 1];
    let mut order: Vec<usize> = (0..count).collect();
    for at in (1..count).rev() {
        order.swap(at, draw.below(at as u64 + 1) as usize);
    }
    for &at in &order {
        let kept = match all[at].status {
            Status::Committed => !draw.one_in(6),
            Status::Unknown => draw.one_in(2),
            Status::Aborted => draw.one_in(20),
        };
        for &did in &all[at].did {
            if let Did::Append(key, value) = did
                && kept
            {
                let list: &mut Vec<i64> = &mut lists[key];
                let place = if draw.one_in(12) {
                    draw.below(list.len() as u64 + 1) as usize
                } else {
                    list.len()
                };
                list.insert(place, value);
            }
        }
    }
    let honest = !draw.one_in(4);
    for one in &mut all {
        let mut own: Vec<(usize, i64)> = Vec::new();
        let cut: Vec<usize> = lists
            .iter()
            .map(|list| draw.below(list.len() as u64 + 1) as usize)
            .collect();
        for step in 0..one.did.len() {
            match one.did[step] {
                Did::Append(key, value) => own.push((key, value)),
                Did::Read(key, ..) => {
                    let mut upto = cut[key];
                    let mine: Vec<i64> = own
                        .iter()
                        .filter(|(of, _)| *of == key)
                        .map(|&(_, value)| value)
                        .collect();
                    if let Some(place) = mine
                        .first()
                        .filter(|_| key != ROWS)
                        .and_then(|first| lists[key].iter().position(|value| value == first))
                    {
                        upto = place;
                    }
                    let mut list: Vec<i64> = lists[key][..upto].to_vec();
                    if key == ROWS {
                        list.retain(|value| !mine.contains(value));
                        if !list.is_empty() && draw.one_in(6) {
                            list.remove(draw.below(list.len() as u64) as usize);
                        }
                    }
                    if honest {
                        let written: Vec<i64> = one
                            .did
                            .iter()
                            .filter_map(|did| match *did {
                                Did::Append(of, value) if of == key => Some(value),
                                _ => None,
                            })
                            .collect();
                        if let Some(first) = list.iter().position(|value| written.contains(value)) {
                            list.truncate(first);
                        }
                    }
                    list.extend(&mine);
                    if key == ROWS {
                        list.sort_unstable();
                    }
                    let mut fixed = [0; 8];
                    let len = list.len().min(8);
                    fixed[..len].copy_from_slice(&list[..len]);
                    one.did[step] = Did::Read(key, fixed, len);
                }
            }
        }
    }
    all
}

fn history(all: &[Tx]) -> History {
    let mut builder = Builder::new();
    let keys: Vec<u32> = (0..=ROWS as i64).map(|key| builder.key(key)).collect();
    for tx in all {
        builder.begin(tx.client, tx.status, tx.begin * 10, tx.end * 10 + 5);
        for did in &tx.did {
            match *did {
                Did::Append(ROWS, row) => builder.insert(keys[ROWS], row),
                Did::Read(ROWS, ..) if tx.status != Status::Committed => {
                    builder.unread_rows(keys[ROWS])
                }
                Did::Read(ROWS, rows, len) => builder.read_rows(keys[ROWS], &rows[..len]),
                Did::Append(key, value) => builder.append(keys[key], value),
                Did::Read(key, ..) if tx.status != Status::Committed => builder.unread(keys[key]),
                Did::Read(key, values, len) => builder.read_list(keys[key], &values[..len]),
            };
        }
    }
    builder.finish().unwrap()
}

/// Whether what committed transactions read, and their writes, are as if the transactions of `order` had run so: each
/// reads the state after the first `snapshot[i]` of them, with its own writes.
fn explains(all: &[Tx], order: &[usize], snapshots: &[usize]) -> bool {
    order.iter().zip(snapshots).all(|(&at, &snapshot)| {
        if all[at].status != Status::Committed {
            return true;
        }
        let mut state = [const { Vec::new() }; 3];
        for &before in &order[..snapshot] {
            appends(&all[before], &mut state);
        }
        all[at].did.iter().all(|did| match *did {
            Did::Append(key, value) => {
                state[key].push(value);
                true
            }
            Did::Read(ROWS, rows, len) => {
                let mut sorted = state[ROWS].clone();
                sorted.sort_unstable();
                sorted == rows[..len]
            }
            Did::Read(key, values, len) => state[key] == values[..len],
        })
    })
}

fn appends(tx: &Tx, state: &mut [Vec<i64>; 3]) {
    for did in &tx.did {
        if let Did::Append(key, value) = *did {
            state[key].push(value);
        }
    }
}

fn writes_same(a: &Tx, b: &Tx) -> bool {
    let keys = |tx: &Tx| -> Vec<usize> {
        let keys = tx.did.iter().filter_map(|did| match *did {
            Did::Append(key, _) if key != ROWS => Some(key),
            _ => None,
        });
        keys.collect()
    };
    keys(a).iter().any(|key| keys(b).contains(key))
}

#[derive(Clone, Copy, PartialEq)]
enum Order {
    Any,
    Session,
    Time,
}

/// Whether `a` must come before `b`.
fn precedes(all: &[Tx], a: usize, b: usize, by: Order) -> bool {
    if all[a].status != Status::Committed {
        return false;
    }
    let session = all[a].client == all[b].client && a < b;
    match by {
        Order::Any => false,
        Order::Session => session,
        Order::Time => all[a].end * 10 + 5 < all[b].begin * 10,
    }
}

/// All orders of the committed and of any of the unknown transactions.
fn some_order(all: &[Tx], will_do: &mut dyn FnMut(&[usize]) -> bool) -> bool {
    let unknown: Vec<usize> = (0..all.len())
        .filter(|&at| all[at].status == Status::Unknown)
        .collect();
    (0..1_usize << unknown.len()).any(|chosen| {
        let taken = (0..all.len()).filter(|&at| match all[at].status {
            Status::Committed => true,
            Status::Aborted => false,
            Status::Unknown => unknown
                .iter()
                .position(|&of| of == at)
                .is_some_and(|bit| chosen >> bit & 1 == 1),
        });
        let mut order: Vec<usize> = taken.collect();
        permuted(&mut order, 0, will_do)
    })
}

fn permuted(
    order: &mut Vec<usize>,
    from: usize,
    will_do: &mut dyn FnMut(&[usize]) -> bool,
) -> bool {
    if from == order.len() {
        return will_do(order);
    }
    (from..order.len()).any(|at| {
        order.swap(from, at);
        let does = permuted(order, from + 1, will_do);
        order.swap(from, at);
        does
    })
}

fn in_order(all: &[Tx], order: &[usize], by: Order) -> bool {
    (0..order.len()).all(|at| {
        order[at + 1..]
            .iter()
            .all(|&later| !precedes(all, later, order[at], by))
    })
}

fn serializable(all: &[Tx], by: Order) -> bool {
    some_order(all, &mut |order| {
        let snapshots: Vec<usize> = (0..order.len()).collect();
        in_order(all, order, by) && explains(all, order, &snapshots)
    })
}

/// Commits in this order; each transaction sees a beginning of it that has all it must come after and all that wrote
/// one of its keys before it.
fn snapshot(all: &[Tx], by: Order) -> bool {
    some_order(all, &mut |order| {
        let sees = |at: usize| {
            (0..=at).any(|snapshot| {
                let me = order[at];
                order[snapshot..at]
                    .iter()
                    .all(|&missed| !writes_same(&all[missed], &all[me]))
                    && order[snapshot..]
                        .iter()
                        .all(|&missed| missed == me || !precedes(all, missed, me, by))
                    && explains_one(all, order, at, snapshot)
            })
        };
        (0..order.len()).all(sees)
    })
}

fn explains_one(all: &[Tx], order: &[usize], at: usize, snapshot: usize) -> bool {
    let mut own = order[..snapshot].to_vec();
    own.push(order[at]);
    let mut snapshots = vec![0; own.len()];
    snapshots[snapshot] = snapshot;
    let others_unread: Vec<Tx> = all
        .iter()
        .enumerate()
        .map(|(number, tx)| Tx {
            did: tx
                .did
                .iter()
                .copied()
                .filter(|did| number == order[at] || matches!(did, Did::Append(..)))
                .collect(),
            ..tx.clone()
        })
        .collect();
    explains(&others_unread, &own, &snapshots)
}

/// Read committed (Adya's PL-2), read atomic and causal (Biswas & Enea) on lists: an order of commits by which the lists
/// have grown, so that each read is of a beginning of its list that a transaction left, and what was read
/// committed earlier.
fn weak(all: &[Tx], level: Level) -> bool {
    some_order(all, &mut |order| {
        let mut state = [const { Vec::new() }; 3];
        order.iter().for_each(|&at| appends(&all[at], &mut state));
        let by = if level == Level::Causal {
            Order::Session
        } else {
            Order::Any
        };
        in_order(all, order, by)
            && order
                .iter()
                .all(|&me| reads_committed(all, order, &state, me, level))
    })
}

fn writer(all: &[Tx], key: usize, value: i64) -> Option<usize> {
    all.iter()
        .position(|tx| tx.did.contains(&Did::Append(key, value)))
}

/// What a transaction read of each key without its own appends, read by read.
fn bases(tx: &Tx) -> Option<Vec<(usize, Vec<i64>)>> {
    let mut own = [const { Vec::new() }; 3];
    let mut bases = Vec::new();
    for did in &tx.did {
        match *did {
            Did::Append(key, value) => own[key].push(value),
            Did::Read(ROWS, rows, len) => {
                let (mine, of_others): (Vec<i64>, Vec<i64>) =
                    rows[..len].iter().partition(|row| own[ROWS].contains(row));
                if mine.len() < own[ROWS].len() {
                    return None;
                }
                bases.push((ROWS, of_others));
            }
            Did::Read(key, values, len) => {
                bases.push((key, values[..len].strip_suffix(&own[key][..])?.to_vec()))
            }
        }
    }
    Some(bases)
}

/// The transactions whose last version, or row, one read.
fn sources(all: &[Tx], me: usize) -> Vec<usize> {
    let bases = bases(&all[me]).unwrap_or_default();
    let read = bases.iter().flat_map(|(key, base)| {
        let from = if *key == ROWS {
            0
        } else {
            base.len().saturating_sub(1)
        };
        base[from..]
            .iter()
            .filter_map(|&value| writer(all, *key, value))
    });
    read.filter(|&at| at != me).collect()
}

fn reads_committed(
    all: &[Tx],
    order: &[usize],
    lists: &[Vec<i64>; 3],
    me: usize,
    level: Level,
) -> bool {
    if all[me].status != Status::Committed {
        return true;
    }
    let place = |of: usize| order.iter().position(|&at| at == of);
    let plain = (0..all[me].did.len()).all(|step| {
        let Did::Read(key, values, len) = all[me].did[step] else {
            return true;
        };
        let read = &values[..len];
        if key == ROWS {
            let inserted = |did: &Did, row: i64| *did == Did::Append(ROWS, row);
            return read.iter().all(|&row| {
                let own = all[me].did[..step].iter().any(|did| inserted(did, row));
                let from = writer(all, ROWS, row).filter(|&from| from != me);
                own || from.is_some_and(|from| place(from) < place(me) && place(from).is_some())
            });
        }
        let Some(&last) = read.last() else {
            return true;
        };
        let from = writer(all, key, last);
        let future = all[me].did[step..].iter().any(|did| matches!(*did, Did::Append(of, value) if of == key && read.contains(&value)));
        let complete = from == Some(me)
            || from.is_some_and(|from| {
                place(from) < place(me)
                    && all[from].did.iter().all(|did| !matches!(*did, Did::Append(of, value) if of == key && !read.contains(&value)))
            });
        lists[key].starts_with(read) && !future && complete
    });
    if !plain || level == Level::ReadCommitted {
        return plain;
    }
    let Some(bases) = bases(&all[me]) else {
        return false;
    };
    let again = bases
        .iter()
        .all(|(key, base)| bases.iter().all(|(of, other)| of != key || other == base));
    // Those that it must see.
    let mut seen = sources(all, me);
    if level == Level::Causal {
        let before = |at: usize| -> Vec<usize> {
            let session = (0..all.len())
                .filter(|&of| order.contains(&of) && precedes(all, of, at, Order::Session));
            let read = if all[at].status == Status::Committed {
                sources(all, at)
            } else {
                Vec::new()
            };
            session.chain(read).collect()
        };
        seen.extend(before(me));
        let mut next = 0;
        while let Some(&at) = seen.get(next) {
            next += 1;
            let more: Vec<usize> = before(at)
                .into_iter()
                .filter(|of| !seen.contains(of))
                .collect();
            seen.extend(more);
        }
    }
    let whole = seen.iter().filter(|&&of| of != me).all(|&of| {
        all[of].did.iter().all(|did| match *did {
            Did::Append(key, value) => bases
                .iter()
                .all(|(of, base)| *of != key || base.contains(&value)),
            Did::Read(..) => true,
        })
    });
    again && whole && !seen.contains(&me)
}

fn agree(report: &Report, level: Level, allowed: bool, all: &[Tx]) -> [usize; 3] {
    match (report.verdict(level), allowed) {
        (LevelVerdict::NotKnown(_), _) => [0, 0, 1],
        (LevelVerdict::NoViolation, true) => [1, 0, 0],
        (LevelVerdict::Broken(_), false) => [0, 1, 0],
        (kept, _) => panic!("{level}: {kept:?}, but by definition {allowed}\n{all:#?}\n{report}"),
    }
}

fn compare(seeds: std::ops::Range<u64>, most: u64) {
    let levels = [
        (Level::Serializable, Order::Any, true),
        (Level::RepeatableRead, Order::Any, true),
        (Level::StrongSessionSerializable, Order::Session, true),
        (Level::StrictSerializable, Order::Time, true),
        (Level::SnapshotIsolation, Order::Any, false),
        (Level::StrongSessionSnapshotIsolation, Order::Session, false),
        (Level::StrongSnapshotIsolation, Order::Time, false),
    ];
    let mut counts = [[0; 3]; 10];
    for seed in seeds {
        let all = draw_history(&mut Draw(seed.wrapping_mul(0x5851_f42d_4c95_7f2d)), most);
        let report = checked(&history(&all));
        // Adya's repeatable read is of items alone.
        let has_rows = all.iter().any(|tx| {
            let of_rows = |did: &Did| matches!(did, Did::Append(ROWS, _) | Did::Read(ROWS, ..));
            tx.did.iter().any(of_rows)
        });
        for (count, (level, by, serial)) in counts.iter_mut().zip(levels) {
            if has_rows && level == Level::RepeatableRead {
                continue;
            }
            let allowed = if serial {
                serializable(&all, by)
            } else {
                snapshot(&all, by)
            };
            let one = agree(&report, level, allowed, &all);
            count.iter_mut().zip(one).for_each(|(sum, one)| *sum += one);
        }
        for (count, level) in
            counts[7..]
                .iter_mut()
                .zip([Level::ReadCommitted, Level::ReadAtomic, Level::Causal])
        {
            let one = agree(&report, level, weak(&all, level), &all);
            count.iter_mut().zip(one).for_each(|(sum, one)| *sum += one);
        }
    }
    println!("{counts:?}");
    assert!(
        counts.iter().all(|count| count[0] > 50 && count[1] > 50),
        "kept, broken, not known: {counts:?}"
    );
}

#[test]
fn small_histories_get_the_answers_of_their_definitions() {
    compare(0..20_000, 4);
}

#[test]
#[ignore = "minutes: make test-long PART=isolation"]
fn half_a_million_small_histories_get_the_answers_of_their_definitions() {
    compare(20_000..520_000, 5);
}
