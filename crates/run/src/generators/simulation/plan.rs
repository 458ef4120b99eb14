//! What one schedule does, drawn from a seed. Times are nanoseconds of true time since its beginning.

use pgdyno_testkit::SplitMix64;

pub(super) const US: u64 = 1_000;
pub(super) const MS: u64 = 1_000_000;
pub(super) const S: u64 = 1_000_000_000;

#[derive(Debug, Clone)]
pub(super) struct Draw(SplitMix64);

impl Draw {
    pub(super) fn of(seed: u64) -> Self {
        Self(SplitMix64(seed))
    }

    /// From one to the other, both included.
    pub(super) fn range(&mut self, low: u64, high: u64) -> u64 {
        low + self.0.next() % (high - low + 1)
    }

    pub(super) fn one_in(&mut self, count: u64) -> bool {
        self.range(1, count) == 1
    }

    fn signed(&mut self, most: u64) -> i64 {
        self.range(0, 2 * most) as i64 - most as i64
    }
}

/// One generator and its host.
#[derive(Debug, Clone)]
pub(super) struct Host {
    pub(super) arrives: Option<u64>,
    /// The index that it asks for.
    pub(super) asks: Option<u32>,
    pub(super) prepares: u64,
    /// What it takes to fill a range of the tables.
    pub(super) fills: u64,
    pub(super) connects: u64,
    /// How long transactions in flight take to end when it is asked to.
    pub(super) drains: u64,
    pub(super) dies: Option<u64>,
    pub(super) signal: Option<u64>,
    /// Wall clock minus true time, in microseconds.
    pub(super) skew_us: i64,
    /// How much too fast both of its clocks are, in parts per million.
    pub(super) drift_ppm: i64,
    /// Steps of the wall clock: when, and by how many microseconds.
    pub(super) steps: Vec<(u64, i64)>,
    /// Mean way of a request to the notebook, and of the answer.
    pub(super) ways: (u64, u64),
    /// A sleep ends so much late, at most.
    pub(super) oversleeps: u64,
}

#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) seed: u64,
    pub(super) hosts: Vec<Host>,
    /// Delays as in a LAN, and no slow host.
    pub(super) is_lan: bool,
    pub(super) join_deadline: u64,
    pub(super) duration_s: u64,
    /// How many ranges the tables have; none: they are there.
    pub(super) ranges: u32,
    pub(super) leaves: bool,
    /// When the notebook cannot be reached: from, until.
    pub(super) away: Option<(u64, u64)>,
    /// Of a thousand requests or answers so many are lost.
    pub(super) lost_permille: u64,
    pub(super) notebook_ppm: i64,
}

impl Plan {
    pub(super) fn of(seed: u64) -> Self {
        let mut draw = Draw::of(seed ^ 0x6765_6e65_7261_746f);
        let mut load = Draw::of(seed ^ 0x6c6f_6164);
        let mut more = Draw::of(seed ^ 0x6d6f_7265);
        // Mostly few: many take as long as all the others.
        let count = match draw.range(0, 9) {
            0 => draw.range(9, 16),
            1 | 2 => draw.range(5, 8),
            _ => draw.range(2, 4),
        };
        let is_lan = !draw.one_in(3);
        let has_trouble = draw.one_in(2);
        // Some arrive and connect for long, so that clocks have time to drift.
        let spread = if draw.one_in(6) { 60 * S } else { 3 * S };
        let short_s = draw.range(2, 8);
        // Some go on when the notebook is back.
        let duration_s = if more.one_in(12) {
            more.range(30, 60)
        } else {
            short_s
        };
        let end = spread + (duration_s + 3) * S;
        let hosts = (0..count).map(|number| {
            let way = |draw: &mut Draw| {
                if is_lan {
                    draw.range(20 * US, 800 * US)
                } else {
                    draw.range(MS, 80 * MS)
                }
            };
            let mut host = Host {
                arrives: Some(draw.range(0, spread)),
                asks: None,
                prepares: draw.range(0, 800 * MS),
                fills: load.range(5 * MS, 300 * MS),
                connects: draw.range(0, spread / 3),
                drains: if more.one_in(2) {
                    more.range(0, 5 * S)
                } else {
                    0
                },
                dies: None,
                signal: None,
                skew_us: match draw.range(0, 2) {
                    0 => draw.signed(20_000),
                    1 => draw.signed(5_000_000),
                    _ => draw.signed(7 * 3_600_000_000),
                },
                drift_ppm: draw.signed(200),
                steps: Vec::new(),
                ways: (way(&mut draw), way(&mut draw)),
                oversleeps: draw.range(60 * US, MS),
            };
            for _ in 0..draw.range(0, 3) {
                let at = draw.range(0, end);
                host.steps.push((at, draw.signed(4_000_000)));
            }
            if !is_lan && draw.one_in(5) {
                host.oversleeps = draw.range(MS, 200 * MS);
            }
            if has_trouble && draw.one_in(2 * count) {
                host.arrives = None;
            }
            if has_trouble && draw.one_in(count) {
                host.dies = Some(draw.range(0, end));
            }
            if has_trouble && draw.one_in(2 * count) {
                host.signal = Some(draw.range(0, end));
            }
            if seed.is_multiple_of(3) {
                host.asks = Some(number as u32);
            }
            host
        });
        let mut hosts: Vec<Host> = hosts.collect();
        if has_trouble && draw.one_in(8) && seed.is_multiple_of(3) {
            // An index that is there twice.
            hosts[0].asks = hosts[1].asks;
        }
        let from = draw.range(0, end);
        let away = (has_trouble && draw.one_in(3)).then(|| {
            let short = draw.range(S / 2, 20 * S);
            // Sometimes for longer than silence means death.
            let long = more.one_in(3).then(|| more.range(20 * S, 45 * S));
            (from, from + long.unwrap_or(short))
        });
        // One connects until the notebook is back.
        if let Some((from, back)) = away
            && more.one_in(2)
        {
            let late = &mut hosts[more.range(0, count - 1) as usize];
            late.connects = match late.arrives {
                Some(arrives) if arrives < from => back - arrives + more.range(S / 2, 10 * S),
                _ => late.connects,
            };
        }
        Self {
            seed,
            hosts,
            is_lan,
            join_deadline: spread + draw.range(2, 10) * S,
            duration_s,
            ranges: if load.one_in(3) {
                0
            } else {
                load.range(1, 30) as u32
            },
            leaves: draw.one_in(3),
            away,
            lost_permille: if has_trouble && draw.one_in(4) {
                draw.range(1, 20)
            } else {
                0
            },
            notebook_ppm: draw.signed(200),
        }
    }

    /// Whether the notebook answers all the time from one moment to the other.
    pub(super) fn is_reached(&self, from: u64, until: u64) -> bool {
        self.lost_permille == 0
            && self
                .away
                .is_none_or(|(gone, back)| until < gone || back < from)
    }
}
