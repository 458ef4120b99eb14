//! How long a plan will take, as far as that is known.

use std::collections::BTreeMap;
use std::time::Duration;

use pgdyno_spec::{Until, text};

use super::plan::Plan;
use super::schedule::{Key, Slot};

/// Rows a second while loading, until a load was measured: a modest server over a socket.
const ROWS_PER_S: f64 = 200_000.0;
/// Connecting, tidying up and a checkpoint, until a trial was measured.
const BETWEEN_S: f64 = 1.0;

/// What has been learnt while the sweep goes on.
#[derive(Debug, Clone, Default)]
pub struct Learnt {
    rows: u64,
    loading_s: f64,
    trials: u32,
    between_s: f64,
    /// Seconds of the trials that end by count.
    counted_s: BTreeMap<String, f64>,
}

/// The time that trials will take.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Estimate {
    pub time: Duration,
    /// Trials that end by count, whose length cannot be determined.
    pub unknown: usize,
    pub loads: usize,
    pub rows: u64,
}

impl Learnt {
    pub fn loaded(&mut self, rows: u64, elapsed_s: f64) {
        self.rows += rows;
        self.loading_s += elapsed_s;
    }

    /// A trial is done: what it took apart from loading, and of this the part that was measured.
    pub fn ran(&mut self, slot: &Slot, total_s: f64, measured_s: f64) {
        self.trials += 1;
        self.between_s += (total_s - measured_s).max(0.0);
        self.counted_s.insert(slot.point.key(), measured_s);
    }

    /// The time of a trial that is not measured; the warm-up is in what has been learnt.
    fn between_s(&self, settle: Duration, warmup: Duration) -> f64 {
        match self.trials {
            0 => BETWEEN_S + (settle + warmup).as_secs_f64(),
            trials => self.between_s / f64::from(trials),
        }
    }

    fn rows_per_s(&self) -> f64 {
        if self.loading_s > 0.0 && self.rows > 0 {
            self.rows as f64 / self.loading_s
        } else {
            ROWS_PER_S
        }
    }
}

/// The keys of trials, which are made once: each trial asks how long all that follow it take.
pub fn keys(slots: &[Slot]) -> Vec<Key> {
    slots.iter().map(Slot::key).collect()
}

/// The time for `slots`, each with its key, with `loaded` as the tables are now: parameters by target and pack.
pub fn estimate<'a>(
    plan: &Plan,
    slots: impl Iterator<Item = (&'a Slot, &'a Key)>,
    mut loaded: LoadedTables,
    learnt: &Learnt,
) -> Estimate {
    let mut estimate = Estimate::default();
    let mut seconds = 0.0;
    for (slot, (_, point, _)) in slots {
        let planned = &plan.points[slot.index];
        if let Some(tables) = &planned.tables {
            let target = slot.point.target().unwrap_or_default().to_owned();
            let key = (target, tables.pack.tables_pack().name().to_owned());
            if loaded.must_load(&key, &tables.made_with) {
                estimate.loads += 1;
                estimate.rows += tables.rows;
                seconds += tables.rows as f64 / learnt.rows_per_s();
                loaded.0.insert(key, tables.made_with.clone());
            }
        }
        let spec = &planned.spec;
        seconds += learnt.between_s(plan.experiment.reset.settle, spec.warmup.longest());
        match spec.until() {
            Until::Elapsed(time) => seconds += time.as_secs_f64(),
            Until::Transactions(_) => match learnt.counted_s.get(point) {
                Some(counted_s) => seconds += counted_s,
                None => estimate.unknown += 1,
            },
        }
    }
    estimate.time = Duration::from_secs_f64(seconds);
    estimate
}

/// The parameters of tables, by target and pack.
#[derive(Debug, Clone, Default)]
pub struct LoadedTables(pub BTreeMap<(String, String), BTreeMap<String, String>>);

impl LoadedTables {
    /// As far as is known, tables that are wanted so are not there yet.
    fn must_load(&self, key: &(String, String), wanted: &BTreeMap<String, String>) -> bool {
        match self.0.get(key) {
            None => true,
            Some(has) => wanted
                .iter()
                .any(|(name, value)| has.get(name) != Some(value)),
        }
    }
}

impl Estimate {
    pub fn words(&self) -> String {
        let mut text = format!("about {}", text::about(self.time));
        if self.loads > 0 {
            let loads = if self.loads == 1 { "load" } else { "loads" };
            let rows = pgdyno_spec::text::count(self.rows);
            text += &format!(" with {} {loads}, {rows} rows in all", self.loads);
        }
        if self.unknown > 0 {
            text += &format!(
                "; {} trials end by their transactions, which adds an unknown time",
                self.unknown
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::reader;
    use crate::experiment::toml_text::Source;
    use pgdyno_spec::TargetSpec;
    use std::path::Path;

    fn plan(text: &str) -> Plan {
        let source = Source { name: "e", text };
        let e = reader::read(source, "e", Path::new("")).unwrap();
        Plan::new(e, &TargetSpec::default(), 1).unwrap_or_else(|e| panic!("{e}"))
    }

    fn all(plan: &Plan, learnt: &Learnt) -> Estimate {
        let slots = plan.slots.iter();
        estimate(
            plan,
            slots.zip(&keys(&plan.slots)),
            LoadedTables::default(),
            learnt,
        )
    }

    #[test]
    fn the_articles_grid_is_72_minutes_and_its_loads() {
        let plan = plan(
            "workload = 'tpcb'\nduration = 60\nrepeats = 3\nreset.settle = 0\n\
             [matrix]\nparams.scale = [1, 10, 100, 1000]\nclients = [1, 2, 4, 8, 16, 32]",
        );
        let first = all(&plan, &Learnt::default());
        assert_eq!((plan.slots.len(), first.loads, first.unknown), (72, 4, 0));
        assert_eq!(first.rows, 1111 * 100_011);
        let want_s = 72.0 * 61.0 + first.rows as f64 / ROWS_PER_S;
        assert!((first.time.as_secs_f64() - want_s).abs() < 0.01);

        let mut learnt = Learnt::default();
        learnt.loaded(1_000_000, 1.0);
        learnt.ran(&plan.slots[0], 63.0, 60.0);
        let better = all(&plan, &learnt);
        let want_s = 72.0 * 63.0 + first.rows as f64 / 1e6;
        assert!((better.time.as_secs_f64() - want_s).abs() < 0.01);
    }

    #[test]
    fn what_ends_by_count_is_unknown_until_it_has_run_once() {
        let plan = plan("workload = 'tpcb'\ntransactions = 10\nrepeats = 2\n");
        let first = all(&plan, &Learnt::default());
        assert_eq!(first.unknown, 2);
        assert!(first.words().contains("2 trials end by their transactions"));
        let mut learnt = Learnt::default();
        learnt.ran(&plan.slots[0], 5.0, 5.0);
        assert_eq!(all(&plan, &learnt).unknown, 0);
    }
}
