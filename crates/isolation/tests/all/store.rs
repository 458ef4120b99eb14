//! A simulated database at several levels, and clients with transactions of their own time.

use std::collections::BTreeMap;

use pgdyno_isolation::{Builder, Status};

/// SplitMix64 (Steele, Lea & Flood 2014).
pub struct Draw(pub u64);

impl Draw {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }

    pub fn one_in(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }
}

/// How the simulated database isolates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// Each transaction runs alone, at one moment between its begin and its end.
    Serial,
    /// Reads are of the moment of the begin; of two that write a key at the same time the second aborts.
    Snapshot,
    /// Each read is of its own moment; writes lock their keys and take effect together at the end.
    ReadCommitted,
    /// Serial, but transactions that only read are of a moment up to 20 commits ago.
    Replica,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    Lists,
    Registers,
    Groups,
}

/// The values of each key.
type State = BTreeMap<u32, Vec<i64>>;

#[derive(Clone, Copy)]
enum Step {
    Read(u32),
    Write(u32, i64),
}

struct Running {
    begin_ns: i64,
    steps: Vec<Step>,
    at: usize,
    snapshot: State,
    snapshot_commits: usize,
    reads: Vec<Vec<i64>>,
}

pub struct Settings {
    pub rule: Rule,
    pub kind: Kind,
    pub transactions: usize,
    pub clients: usize,
    pub keys: u64,
    /// Whether some transactions abort or end unknown.
    pub failures: bool,
}

/// A history of this database, to which more may be added.
pub fn run(settings: &Settings, seed: u64) -> Builder {
    let mut draw = Draw(seed);
    let mut builder = Builder::new();
    let keys: Vec<u32> = (0..20).map(|number| builder.key(number * 10)).collect();
    // All states since the start; the last one is the present.
    let mut states: Vec<State> = vec![State::new()];
    let mut running: Vec<Option<Running>> = (0..settings.clients).map(|_| None).collect();
    let mut late: Vec<Vec<Step>> = Vec::new();
    let (mut now_ns, mut next_value, mut done) = (0, 0, 0);
    while done < settings.transactions {
        now_ns += 1;
        if !late.is_empty() && draw.one_in(5) {
            let steps = late.swap_remove(draw.below(late.len() as u64) as usize);
            commit(&mut states, settings.kind, &steps);
        }
        let client = draw.below(settings.clients as u64) as usize;
        let Some(mut transaction) = running[client].take() else {
            let mut steps = Vec::new();
            for _ in 0..1 + draw.below(4) {
                let key = keys[draw.below(settings.keys) as usize];
                next_value += 1;
                steps.push(if draw.one_in(2) {
                    Step::Read(key)
                } else {
                    Step::Write(key, next_value)
                });
            }
            let only_reads = steps.iter().all(|step| matches!(step, Step::Read(_)));
            let lag = if settings.rule == Rule::Replica && only_reads {
                draw.below(20) as usize
            } else {
                0
            };
            let commits = states.len() - 1;
            running[client] = Some(Running {
                begin_ns: now_ns,
                steps,
                at: 0,
                snapshot: states[commits.saturating_sub(lag)].clone(),
                snapshot_commits: commits,
                reads: Vec::new(),
            });
            continue;
        };
        let locked = settings.rule == Rule::ReadCommitted && is_locked(&transaction, &running);
        if locked && !draw.one_in(4) {
            running[client] = Some(transaction);
            continue;
        }
        let alone = matches!(settings.rule, Rule::Serial | Rule::Replica);
        if !alone && !locked && transaction.at < transaction.steps.len() {
            read_next(&mut transaction, settings, &states);
            running[client] = Some(transaction);
            continue;
        }
        if alone {
            let only_reads = transaction
                .steps
                .iter()
                .all(|step| matches!(step, Step::Read(_)));
            if settings.rule == Rule::Serial || !only_reads {
                transaction.snapshot = states[states.len() - 1].clone();
            }
            while transaction.at < transaction.steps.len() {
                read_next(&mut transaction, settings, &states);
            }
        }
        done += 1;
        let conflict = settings.rule == Rule::Snapshot && conflicts(&transaction, &states);
        let status = match draw.below(20) {
            _ if conflict || locked => Status::Aborted,
            0 if settings.failures => Status::Aborted,
            1 if settings.failures => Status::Unknown,
            _ => Status::Committed,
        };
        match status {
            Status::Aborted => {}
            // It never happens, happens now, or later, if nothing depends on when.
            Status::Unknown if draw.one_in(3) => {}
            Status::Unknown if alone && draw.one_in(2) => late.push(transaction.steps.clone()),
            Status::Unknown | Status::Committed => {
                commit(&mut states, settings.kind, &transaction.steps);
            }
        }
        now_ns += 1;
        builder.begin(client as u32, status, transaction.begin_ns, now_ns);
        record(&mut builder, &transaction, status, settings.kind);
    }
    // Last of all, every key is read.
    builder.begin(
        settings.clients as u32,
        Status::Committed,
        now_ns + 1,
        now_ns + 2,
    );
    for &key in &keys[..settings.keys as usize] {
        let values = states[states.len() - 1]
            .get(&key)
            .cloned()
            .unwrap_or_default();
        add_read(&mut builder, key, &values, settings.kind);
    }
    builder
}

fn apply(values: &mut Vec<i64>, value: i64, kind: Kind) {
    if kind == Kind::Registers {
        values.clear();
    }
    values.push(value);
}

fn commit(states: &mut Vec<State>, kind: Kind, steps: &[Step]) {
    let mut state = states[states.len() - 1].clone();
    for step in steps {
        if let Step::Write(key, value) = *step {
            apply(state.entry(key).or_default(), value, kind);
        }
    }
    states.push(state);
}

/// Whether a key that it writes has changed since its begin.
fn conflicts(transaction: &Running, states: &[State]) -> bool {
    let (before, now) = (
        &states[transaction.snapshot_commits],
        &states[states.len() - 1],
    );
    transaction.steps.iter().any(|step| match step {
        Step::Write(key, _) => before.get(key) != now.get(key),
        Step::Read(_) => false,
    })
}

/// Whether another transaction has written the key that this one is about to write.
fn is_locked(transaction: &Running, running: &[Option<Running>]) -> bool {
    let Some(Step::Write(key, _)) = transaction.steps.get(transaction.at) else {
        return false;
    };
    running.iter().flatten().any(|other| {
        let done = other.steps[..other.at].iter();
        done.filter(|step| matches!(step, Step::Write(of, _) if of == key))
            .count()
            > 0
    })
}

fn read_next(transaction: &mut Running, settings: &Settings, states: &[State]) {
    let step = transaction.steps[transaction.at];
    transaction.at += 1;
    let Step::Read(key) = step else {
        return;
    };
    let source = if settings.rule == Rule::ReadCommitted {
        &states[states.len() - 1]
    } else {
        &transaction.snapshot
    };
    let mut values = source.get(&key).cloned().unwrap_or_default();
    for step in &transaction.steps[..transaction.at] {
        if let Step::Write(of, value) = *step
            && of == key
        {
            apply(&mut values, value, settings.kind);
        }
    }
    transaction.reads.push(values);
}

fn record(builder: &mut Builder, transaction: &Running, status: Status, kind: Kind) {
    let mut reads = transaction.reads.iter();
    for step in &transaction.steps {
        match *step {
            Step::Write(key, value) => {
                match kind {
                    Kind::Lists => builder.append(key, value),
                    Kind::Registers => builder.write(key, value),
                    Kind::Groups => builder.insert(key, value),
                };
            }
            Step::Read(key) => {
                if status == Status::Committed {
                    add_read(builder, key, reads.next().unwrap(), kind);
                } else if kind == Kind::Groups {
                    builder.unread_rows(key);
                } else {
                    builder.unread(key);
                }
            }
        }
    }
}

fn add_read(builder: &mut Builder, key: u32, values: &[i64], kind: Kind) {
    match (kind, values) {
        (Kind::Lists, values) => builder.read_list(key, values),
        (Kind::Groups, rows) => builder.read_rows(key, rows),
        (Kind::Registers, &[value]) => builder.read(key, value),
        (Kind::Registers, _) => builder.read_nothing(key),
    };
}
