//! What a run's draws come to: how large a share of its transactions the rows asked for most get, and
//! how many different ones there are. A distribution by its name says little: what a scrambled one
//! does to a small table is not what its theta promises.
//!
//! Nothing is noted while a run measures. Its scripts are replayed afterwards without the server, up
//! to their first statement, as often as they were run and with the run's seed: draws of the same
//! generators, though not one by one the run's own.

use std::collections::HashMap;

use pgdyno_measurement::Recording;
use pgdyno_script::{Slot, Value};

use crate::companion::Ending;
use crate::dry_run::DryRun;
use crate::prepare::Prepared;
use pgdyno_model::document::KeySkew;

/// So many transactions are replayed at most; a share is known to a tenth of a percent then.
const DRAWS_MAX: u64 = 1_000_000;

/// The shares of so many rows are reported.
const HOTTEST: usize = 100;

/// What they came to in this trial.
pub fn end(end: &mut Ending<'_>) {
    let seed = end.scene.spec.seed.unwrap_or_default();
    if let Some(key_skew) = by(end.scene.prepared, end.recording, seed) {
        end.findings.put(&key_skew);
    }
}

/// By the scripts that say which row they are about; `None` when none of them ran.
pub fn by(prepared: &Prepared, recording: &Recording, seed: i64) -> Option<KeySkew> {
    let texts = prepared.workload.scripts.iter();
    let slots = texts.map(|text| text.key.as_ref().and_then(|n| prepared.names.get(n)));
    let slots: Vec<Option<Slot>> = slots.collect();
    let ran = recording.measured.scripts.iter();
    let ran: Vec<u64> = ran
        .map(|script| script.counts.committed + script.counts.failed.values().sum::<u64>())
        .collect();
    if slots
        .iter()
        .zip(&ran)
        .all(|(slot, ran)| slot.is_none() || *ran == 0)
    {
        return None;
    }
    let total: u64 = ran.iter().sum();
    let mut dry_run = DryRun::new(&prepared.names, &prepared.variables, seed);
    let mut drawn: HashMap<i64, u64> = HashMap::new();
    for _ in 0..total.min(DRAWS_MAX) {
        let mut at = dry_run.prng.range_u64(0, total - 1);
        let chosen = ran.iter().position(|ran| {
            let is_it = at < *ran;
            at = at.wrapping_sub(*ran);
            is_it
        });
        let Some(script) = chosen else { continue };
        dry_run.run(&prepared.scripts[script], &mut |_, _| false);
        let value = slots[script].map(|slot| dry_run.vars.value(slot));
        if let Some(Ok(Value::Int(number))) = value {
            *drawn.entry(number).or_default() += 1;
        }
    }
    let mut counts: Vec<u64> = drawn.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let draws: u64 = counts.iter().sum();
    let share = |count: usize| {
        let hottest: u64 = counts.iter().take(count).sum();
        hottest as f64 / draws as f64
    };
    (draws > 0).then(|| KeySkew {
        draws,
        is_sample: total > DRAWS_MAX,
        distinct: counts.len() as u64,
        hottest_share: share(1),
        hottest_100_share: share(HOTTEST),
    })
}
