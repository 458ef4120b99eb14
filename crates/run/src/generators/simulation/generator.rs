//! What a generator does from its arrival to its end, as the command does it (`cli/generators.rs`), with a
//! simulated engine.

use std::sync::Arc;

use pgdyno_drive::Control;
use pgdyno_measurement::{ClientTime, ScriptInterval, ScriptSecond, Second};
use pgdyno_model::notebook::KeptTrial;
use pgdyno_model::{Observer, Outcome};
use pgdyno_platform::interrupt::Interrupts;
use pgdyno_spec::{
    Exit, Failure, TrialSpec,
    generators::{GeneratorsSpec, load_sha256},
};
use std::time::Duration;

use super::notebook::{Room, outcome};
use super::plan::MS;
use super::{Log, Merging, Run};
use crate::generators::company::{Company, words};
use crate::generators::filling::Filling;
use crate::generators::merge::sum;
use crate::generators::part::{Beside, measure_by};
use crate::generators::time::Time;
use crate::generators::watch::Watch;
use pgdyno_workload::loader::Others;

/// The engine looks so often whether it is to end; its transactions take less.
const LOOK: Duration = Duration::from_millis(100);

pub(super) struct Process {
    pub(super) room: Room,
    pub(super) log: Log,
    pub(super) interrupts: &'static Interrupts,
    pub(super) control: Control,
}

struct Silent;

impl Observer<Outcome> for Silent {}

/// How many clients each generator has.
pub(super) const CLIENTS: u32 = 2;

impl Process {
    pub(super) fn live(self) {
        let ended = self.measure_all();
        let now = self.room.world.now();
        self.log.lock().unwrap().ended[self.room.host] = Some((now, ended.map_err(|e| e.message)));
    }

    fn time(&self) -> Arc<dyn Time> {
        self.room.world.time(self.room.host)
    }

    fn measure_all(&self) -> Result<(), Failure> {
        let plan = &self.room.world.plan;
        let count = plan.hosts.len() as u32;
        let whole = TrialSpec {
            clients: Some((count * CLIENTS).into()),
            duration: Some(Duration::from_secs(plan.duration_s)),
            seed: Some(1),
            ..TrialSpec::of("simulated")
        };
        let options = GeneratorsSpec {
            generators: Some(count),
            generator: plan.hosts[self.room.host].asks,
            join: Some("simulated".to_owned()),
            join_deadline: Duration::from_nanos(plan.join_deadline),
            leave: plan.leaves,
        };
        let mut company = Company::meet_in(
            self.time(),
            load_sha256(&whole, ""),
            "{}".to_owned(),
            &options,
            Box::new(self.room.clone()),
            self.interrupts,
        )?;
        let index = company.generator();
        let twice = {
            let mut log = self.log.lock().unwrap();
            log.indexes.insert(index, self.room.host)
        };
        if let Some(other) = twice {
            let text = format!("{other} and {} are both generator {index}", self.room.host);
            self.room.world.violated(text);
        }
        let watch = Watch::start(&company, plan.leaves)?;
        let measured = self.measure(&mut company, &watch);
        measured.inspect_err(|failure| company.leave(failure, plan.leaves))?;
        let (number, _) = company.merge_once(|company| {
            let merged = sum(company, &whole)?;
            let writer = self.room.begin();
            company.keep_whole(writer.number())?;
            let mut log = self.log.lock().unwrap();
            let merging = Merging {
                number: writer.number(),
                at: self.room.world.now(),
                outcome: merged.outcome,
            };
            log.merged.push(merging);
            Ok(writer.number())
        })?;
        let kept = self.room.book().whole;
        if kept != Some(number) {
            let text = format!("said to be merged is {number}, kept {kept:?}");
            self.room.world.violated(text);
        }
        Ok(())
    }

    fn measure(&self, company: &mut Company, watch: &Watch) -> Result<(), Failure> {
        let host = &self.room.world.plan.hosts[self.room.host];
        let (time, interrupts) = (self.time(), self.interrupts);
        let prepare = |others: &Filling<'_>| {
            let mut left = host.prepares;
            while left > 0 && interrupts.count() == 0 {
                let step = left.min(100 * MS);
                time.sleep(Duration::from_nanos(step));
                left -= step;
            }
            let ranges = self.room.world.plan.ranges;
            if ranges > 0 {
                self.log.lock().unwrap().tables.get_or_insert_default();
                // Those who do not hear it do not help.
                let _ = others.call();
                self.fill(others);
            }
            match interrupts.count() {
                0 => Ok(()),
                _ => Err(Failure::with(Exit::Interrupted(130), "interrupted")),
            }
        };
        company.prepare_once(prepare, |others| self.fill(others))?;
        if !self.are_full() {
            let text = "they go on with tables that are not full".to_owned();
            self.room.world.violated(text);
        }
        let writer = Box::new(self.room.begin());
        let number = writer.number();
        let beside = Beside {
            observer: &mut Silent,
            interrupts,
            watch,
            leaves: self.room.world.plan.leaves,
        };
        let index = company.generator();
        let run = |observers: &mut dyn Observer<Outcome>| self.run(index, number, observers);
        measure_by(company, writer, &self.control, beside, run)?.kept?;
        Ok(())
    }

    /// Its own ranges, then what others have not put in; the database lets each in once.
    fn fill(&self, others: &Filling<'_>) {
        let (world, time, share) = (&self.room.world, self.time(), others.share());
        let all = || 0..world.plan.ranges;
        let own = all().filter(|range| range % share.of == share.index);
        for range in own.chain(all().rev()) {
            if self.interrupts.count() > 0 || others.is_over() {
                return;
            }
            if self.is_in(range) {
                continue;
            }
            time.sleep(Duration::from_nanos(world.plan.hosts[self.room.host].fills));
            let mut log = self.log.lock().unwrap();
            match &mut log.tables {
                Some(tables) => drop(tables.entry(range).or_insert(self.room.host)),
                None => world.violated("called before there are tables".to_owned()),
            }
        }
    }

    fn is_in(&self, range: u32) -> bool {
        let log = self.log.lock().unwrap();
        let tables = log.tables.as_ref();
        tables.is_some_and(|tables| tables.contains_key(&range))
    }

    fn are_full(&self) -> bool {
        (0..self.room.world.plan.ranges).all(|range| self.is_in(range))
    }

    /// The engine: connects, waits for the start, and commits so many transactions in each second of its
    /// monotonic clock.
    fn run(
        &self,
        index: u32,
        number: i64,
        observers: &mut dyn Observer<Outcome>,
    ) -> Result<Outcome, Failure> {
        let (world, time) = (&self.room.world, self.time());
        self.log.lock().unwrap().controls[self.room.host] = Some(self.control.clone());
        if self.interrupts.count() > 0 {
            self.control.finish();
        }
        time.sleep(Duration::from_nanos(
            world.plan.hosts[self.room.host].connects,
        ));
        observers.ready();
        if self.control.is_stopping() {
            // Connections are closed.
            let drains = world.plan.hosts[self.room.host].drains;
            time.sleep(Duration::from_nanos(drains));
            return Err(Failure::with(
                Exit::Interrupted(130),
                "interrupted before the start",
            ));
        }
        let began = time.now();
        let mut run = Run {
            host: self.room.host,
            began: world.now(),
            seconds: Vec::new(),
            ended: None,
        };
        self.log.lock().unwrap().runs.insert(index, run.clone());
        let mut seconds: Vec<Second> = Vec::new();
        let duration_s = world.plan.duration_s;
        while (seconds.len() as u64) < duration_s && !self.control.is_stopping() {
            let start_us = seconds.len() as u64 * 1_000_000;
            run.seconds.push(world.now());
            let end = began + Duration::from_micros(start_us + 1_000_000);
            while time.now() < end && !self.control.is_stopping() {
                time.sleep(LOOK.min(end.saturating_duration_since(time.now())));
            }
            let length_us = (time.since(began).as_micros() as u64 - start_us).min(1_000_000);
            let mut script = ScriptInterval::default();
            script.counts.committed = (50 + u64::from(index) * 7) * length_us / 1_000_000;
            seconds.push(Second {
                start_us,
                length_us,
                warmup: false,
                time: ClientTime::default(),
                drain: false,
                scripts: vec![ScriptSecond::from(&script)],
            });
            self.room.arrives(number, &seconds);
            self.log.lock().unwrap().runs.insert(index, run.clone());
        }
        run.ended = Some(world.now());
        self.log.lock().unwrap().runs.insert(index, run);
        if self.control.is_stopping() {
            let drains = world.plan.hosts[self.room.host].drains;
            time.sleep(Duration::from_nanos(drains));
        }
        Ok(outcome(
            seconds.clone(),
            seconds.len() as u64 == duration_s && !self.control.is_stopping(),
        ))
    }
}

/// Who began, when all were to.
pub(super) fn start(room: &Room) -> Option<crate::generators::company::Start> {
    let start = room.book().heard(words::START).into_iter().next()?;
    serde_json::from_str(&start.text).ok()
}
