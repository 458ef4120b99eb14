//! Percentiles of one trial: how far they can be trusted, by the seconds they come from.

use pgdyno_drive::record::{Latencies, Recording};
use pgdyno_stats::{Block, Dependence};

/// A second that is shorter than this, at the end of a phase, is no block.
const BLOCK_US_MIN: u64 = 900_000;

/// What a percentile of one trial may be, its transactions depending on one another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Within {
    /// The lower end of its 95 % interval, in microseconds.
    pub low_us: u64,
    /// The upper end; `None`: above all that was measured.
    pub high_us: Option<u64>,
    /// So many independent transactions would show it as surely.
    pub effective: f64,
}

/// Of the response times of a trial's measured time; `None` without them, or with fewer whole
/// seconds than an interval needs.
pub fn response(recording: &Recording, percent: f64) -> Option<Within> {
    let mut all = Latencies::default();
    let mut seconds = Vec::new();
    for second in &recording.seconds {
        if second.warmup {
            continue;
        }
        let mut one = Latencies::default();
        for script in &second.scripts {
            if let Some(packed) = &script.response {
                one.merge(&packed.unpack());
            }
        }
        all.merge(&one);
        if second.length_us >= BLOCK_US_MIN {
            seconds.push(one);
        }
    }
    let value_us = all.histogram().quantile_us(percent / 100.0)?;
    let block = |one: &Latencies| {
        let beyond = one.histogram().buckets();
        let beyond = beyond.filter(|bucket| bucket.highest_us > value_us);
        Block {
            count: one.count(),
            beyond: beyond.map(|bucket| bucket.count).sum(),
        }
    };
    let blocks: Vec<Block> = seconds.iter().map(block).collect();
    let dependence = Dependence::of(percent, &blocks)?;
    let (low, high) = dependence.shares;
    let is_reached = (1.0 - high) * all.count() as f64 >= 1.0;
    Some(Within {
        low_us: all.histogram().quantile_us(low)?,
        high_us: all.histogram().quantile_us(high).filter(|_| is_reached),
        effective: dependence.effective,
    })
}
