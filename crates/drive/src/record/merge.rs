//! What several generators recorded of one trial becomes what one would have recorded: histograms are
//! added second by second and script by script, percentiles are never averaged.

use std::collections::BTreeMap;

use super::{
    ClientTime, End, Phase, Recording, ScriptInterval, ScriptSecond, Second, Stall, StatementTotals,
    order_worst, reasons,
};

/// Adds recordings up, one after another: it needs the memory of one trial, however many there are.
#[derive(Debug, Default)]
pub struct Merge {
    /// By start, the warm-up's first.
    seconds: BTreeMap<(u64, bool), Open>,
    all: Option<Recording>,
}

/// A second that is not complete.
#[derive(Debug, Default)]
struct Open {
    length_us: u64,
    drain: bool,
    time: ClientTime,
    scripts: Vec<ScriptInterval>,
}

impl Merge {
    /// Adds what one generator recorded. All must run the same scripts, and count from the same instant.
    pub fn add(&mut self, mut part: Recording) {
        for second in std::mem::take(&mut part.seconds) {
            self.add_second(&second);
        }
        // Made of the seconds at the end.
        (part.measured, part.warmup) = (Phase::default(), part.warmup.map(|_| Phase::default()));
        match &mut self.all {
            None => self.all = Some(part),
            Some(all) => merge(all, part),
        }
    }

    fn add_second(&mut self, second: &Second) {
        let open = self.seconds.entry((second.start_us, !second.warmup));
        let open = open.or_default();
        open.length_us = open.length_us.max(second.length_us);
        open.drain |= second.drain;
        open.time.merge(&second.time);
        let count = open.scripts.len().max(second.scripts.len());
        open.scripts.resize_with(count, ScriptInterval::default);
        for (mine, theirs) in open.scripts.iter_mut().zip(&second.scripts) {
            let theirs = theirs.unpack();
