//! How long the isolation checkers take and how much memory, on histories of Elle's usual shape: 1 to 4 operations,
//! half of them reads, 10 keys at a time, 256 writes to each, 16 clients.

use std::fs;
use std::time::Instant;

use pgdyno_isolation::{
    Builder, Depth, Format, History, Level, LevelVerdict, Progress, Status, check, read, write,
};

use crate::Error;

const CLIENTS: u64 = 16;
const LIVE_KEYS: usize = 10;
const WRITES_MAX: usize = 256;
/// Commits that a snapshot may be behind.
const LAG_MAX: u64 = 10;

/// What a line of the table is about.
struct Row {
    what: &'static str,
    transactions: u64,
    lists: bool,
    /// Whether reads are of a snapshot: write skew.
    snapshot: bool,
    depth: Depth,
    level: Level,
    /// The goal.
    seconds_max: f64,
}

const ROWS: [Row; 5] = [
    Row {
        what: "lists, all levels",
        transactions: 100_000,
        lists: true,
        snapshot: false,
        depth: Depth::All,
        level: Level::StrictSerializable,
        seconds_max: 60.0,
    },
    Row {
        what: "lists with write skew, all levels",
        transactions: 100_000,
        lists: true,
        snapshot: true,
        depth: Depth::All,
        level: Level::StrongSnapshotIsolation,
        seconds_max: 60.0,
    },
    Row {
        what: "lists, read committed",
        transactions: 1_000_000,
        lists: true,
        snapshot: true,
        depth: Depth::ReadCommitted,
        level: Level::ReadCommitted,
        seconds_max: 60.0,
    },
    Row {
        what: "registers, read committed",
        transactions: 1_000_000,
        lists: false,
        snapshot: true,
        depth: Depth::ReadCommitted,
        level: Level::ReadCommitted,
        seconds_max: 60.0,
    },
    Row {
        what: "registers, read atomic and causal too",
        transactions: 1_000_000,
        lists: false,
        snapshot: false,
        depth: Depth::All,
        level: Level::Causal,
        seconds_max: f64::INFINITY,
    },
];

/// Prints a row for each kind of history. Peak memory is that of the process up to then.
pub fn open() -> Result<(), Error> {
    println!(
        "| history | transactions | making it, s | checking it, s | peak memory, MiB | phase that took longest |"
    );
    println!("|---|---:|---:|---:|---:|---|");
    for row in &ROWS {
        let started = Instant::now();
        let history = history(row)?;
        let made_s = started.elapsed().as_secs_f64();
        let started = Instant::now();
        let mut phases: Vec<(&'static str, f64)> = Vec::new();
        let report = check(&history, row.depth, &mut |progress: Progress| {
            phases.push((progress.phase, started.elapsed().as_secs_f64()));
        })?;
        let checked_s = started.elapsed().as_secs_f64();
        phases.push(("", checked_s));
        if *report.verdict(row.level) != LevelVerdict::NoViolation {
            return Err(format!("{}: {} is not kept\n{report}", row.what, row.level).into());
        }
        let longest = phases
            .windows(2)
            .max_by(|a, b| (a[1].1 - a[0].1).total_cmp(&(b[1].1 - b[0].1)))
            .map_or("", |longest| longest[0].0);
        let late = if checked_s > row.seconds_max {
            " (goal missed)"
        } else {
            ""
        };
        println!(
            "| {} | {} | {made_s:.1} | {checked_s:.1}{late} | {} | {longest} |",
            row.what,
            row.transactions,
            peak_mib()?,
        );
    }
    from_file(&ROWS[2])
}

/// The same history as a file: read, and checked.
fn from_file(row: &Row) -> Result<(), Error> {
    let started = Instant::now();
    let mut text = Vec::new();
    write(&history(row)?, Format::Edn, &mut text)?;
    let text = String::from_utf8(text)?;
    let made_s = started.elapsed().as_secs_f64();
    let started = Instant::now();
    let history = read(&text)?;
    let read_s = started.elapsed().as_secs_f64();
    check(&history, row.depth, &mut |_| ())?;
    let whole_s = started.elapsed().as_secs_f64();
    println!(
        "| {}, from EDN of {} MiB | {} | {made_s:.1} | {whole_s:.1} | {} | reading, {read_s:.1} s |",
        row.what,
        text.len() >> 20,
        row.transactions,
        peak_mib()?,
    );
    Ok(())
}

fn peak_mib() -> Result<u64, Error> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: u64 = line
        .and_then(|line| line.trim().strip_suffix(" kB"))
        .ok_or("/proc/self/status has no VmHWM")?
        .parse()?;
    Ok(kib >> 10)
}

/// A key and its versions with the commit that made each.
struct Key {
    number: u32,
    values: Vec<i64>,
    commits: Vec<u64>,
}

impl Key {
    fn new(builder: &mut Builder, name: &mut i64) -> Self {
        *name += 1;
        Self {
            number: builder.key(*name),
            values: Vec::new(),
            commits: Vec::new(),
        }
    }
}

fn history(row: &Row) -> Result<History, Error> {
    let mut seed = 1_u64;
    // SplitMix64 (Steele, Lea & Flood 2014).
    let mut below = move |end: u64| {
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    };
    let mut builder = Builder::new();
    let (mut name, mut value) = (0, 0);
    let mut keys: Vec<Key> = (0..LIVE_KEYS)
        .map(|_| Key::new(&mut builder, &mut name))
        .collect();
    for commit in 1..=row.transactions {
        let operations: Vec<(usize, bool)> = (0..1 + below(4))
            .map(|_| (below(LIVE_KEYS as u64) as usize, below(2) == 0))
            .collect();
        let lag = if row.snapshot { below(LAG_MAX) } else { 0 };
        let snapshot = commit.saturating_sub(1 + lag);
        // The first of two writers wins.
        let aborts = operations.iter().any(|&(key, is_read)| {
            !is_read
                && keys[key]
                    .commits
                    .last()
                    .is_some_and(|&last| last > snapshot)
        });
        let status = if aborts {
            Status::Aborted
        } else {
            Status::Committed
        };
        let now_ns = i64::try_from(commit)? * 1_000;
        let client = u32::try_from(commit % CLIENTS)?;
        // It began before its snapshot and after its client's last one.
        builder.begin(client, status, now_ns - 11_000, now_ns + 4_000);
        for (key, is_read) in operations {
            let of = &mut keys[key];
            let number = of.number;
            match (is_read, aborts) {
                (true, true) => builder.unread(number),
                (true, false) => {
                    let seen = of
                        .commits
                        .partition_point(|&made| made <= snapshot || made == commit);
                    match (row.lists, of.values[..seen].last()) {
                        (true, _) => builder.read_list(number, &of.values[..seen]),
                        (false, Some(&last)) => builder.read(number, last),
                        (false, None) => builder.read_nothing(number),
                    }
                }
                (false, _) => {
                    value += 1;
                    if !aborts {
                        of.values.push(value);
                        of.commits.push(commit);
                    }
                    if row.lists {
                        builder.append(number, value)
                    } else {
                        builder.write(number, value)
                    }
                }
            };
            if keys[key].values.len() >= WRITES_MAX && is_read {
                keys[key] = Key::new(&mut builder, &mut name);
            }
        }
    }
    Ok(builder.finish()?)
}
