//! What a disturbance did to clients, from the slots of a trial (docs/disturb.md).

use pgdyno_measurement::{
    BOUNDS_US, EndpointRecord, Failure, Latencies, Recording, SLOT_US, Second, Slot, Slots,
};
use pgdyno_model::document::phases::{Phase, phases};
use pgdyno_model::document::{
    DisturbCourse, DisturbEndpoint, DisturbErrors, DisturbFigures, DisturbSecond, Disturbed,
    Metastable,
};
use pgdyno_model::{Fact, Outcome};
use pgdyno_spec::{ErrorClass, text};
use pgdyno_stats::recovery::{Course, Stays};

/// The limit is so many times the p99 before the disturbance, unless one is given.
const LIMIT_FACTOR: u64 = 5;
/// Fewer transactions have no p99 to take a limit from: one of them is slower.
const P99_MIN: u64 = 100;
/// Slots in a bin of what is shown over time.
const BIN_SLOTS: usize = 5;

/// The figures of a trial; `None` where it has no slots.
pub fn figures(outcome: &Outcome) -> Option<DisturbFigures> {
    of_parts(&outcome.findings.get()?, &outcome.recording)
}

/// The same of what they are made of.
pub(super) fn of_parts(disturbed: &Disturbed, recording: &Recording) -> Option<DisturbFigures> {
    let slots = recording.slots.as_ref()?;
    let trial = Trial::of(disturbed, recording, slots);
    let figures = trial.figures();
    let Some(until_us) = trial.until_us.filter(|_| figures.is_back == Some(false)) else {
        return Some(figures);
    };
    // Its commands ended at once (a service was stopped), and it lasted until it was undone.
    let lasting = Trial {
        over_us: until_us,
        is_over: until_us <= trial.end_us,
        ..trial
    };
    Some(lasting.figures())
}

/// A trial with the boundaries of its phases, in microseconds since clients began to work.
struct Trial<'a> {
    recording: &'a Recording,
    slots: &'a Slots,
    measured_us: u64,
    began_us: u64,
    over_us: u64,
    end_us: u64,
    /// How long pgdyno itself did not run in all of it.
    generator_stopped_us: u64,
    /// Where it was over by what is known.
    is_over: bool,
    /// Until when it lasted, where clients did not come back.
    until_us: Option<u64>,
}

impl<'a> Trial<'a> {
    fn of(disturbed: &Disturbed, recording: &'a Recording, slots: &'a Slots) -> Self {
        let warmup = recording.warmup.as_ref();
        let measured_us = warmup.map_or(0, |phase| phase.elapsed_us);
        let began_us = disturbed.began_us.unwrap_or(disturbed.due_us);
        let end_us = measured_us + recording.measured.asked_us();
        let stops = recording.generator_stops.iter();
        Self {
            recording,
            slots,
            measured_us,
            began_us,
            over_us: disturbed.ended_us.unwrap_or(began_us).max(began_us),
            end_us,
            generator_stopped_us: stops.map(|stop| stop.within_us(measured_us, end_us)).sum(),
            is_over: disturbed.control || disturbed.ended_us.is_some_and(|ended| ended <= end_us),
            until_us: disturbed.may_last_until_us(),
        }
    }

    /// Slots that lie in the asked duration as a whole.
    fn count(&self) -> usize {
        (self.end_us / SLOT_US) as usize
    }

    fn slot(&self, number: usize) -> Option<&Slot> {
        self.slots.slots.get(number)
    }

    /// A number of each slot of the asked duration.
    fn each(&self, of: impl Fn(&Slot) -> u64) -> Vec<f64> {
        let each = (0..self.count()).map(|number| self.slot(number).map_or(0, &of));
        each.map(|count| count as f64).collect()
    }

    /// Slots of the time before.
    fn before(&self) -> std::ops::Range<usize> {
        let from = self.measured_us.div_ceil(SLOT_US) as usize;
        from..((self.began_us / SLOT_US) as usize).min(self.count())
    }

    /// Slots from the start of the disturbance on.
    fn since_start(&self) -> impl Iterator<Item = &Slot> {
        let from = (self.began_us / SLOT_US) as usize;
        (from..self.count()).filter_map(|number| self.slot(number))
    }

    fn limit(&self) -> Fact<u64> {
        if let Some(given) = self.slots.within_us {
            return Fact::Known(given);
        }
        let before = || self.before().filter_map(|number| self.slot(number));
        let committed: u64 = before().map(Slot::committed).sum();
        if committed < P99_MIN {
            return Fact::Unknown(format!(
                "{committed} transactions before the disturbance have no p99 to take a limit from: \
                 give one (--within 50ms)"
            ));
        }
        let wanted = (committed as f64 * 0.99).ceil() as u64;
        let holds =
            |bound: &&u64| before().map(|s| s.committed_within(**bound)).sum::<u64>() >= wanted;
        let p99 = BOUNDS_US.iter().find(holds);
        let limit =
            p99.and_then(|p99| BOUNDS_US.iter().find(|bound| **bound >= LIMIT_FACTOR * p99));
        limit.map_or_else(
            || {
                Fact::Unknown(
                    "the p99 before the disturbance is too long: give one (--within)".to_owned(),
                )
            },
            |limit| Fact::Known(*limit),
        )
    }

    /// The first moment of a slot from then on, in microseconds since clients began.
    fn first(&self, from_us: u64, of: impl Fn(&Slot) -> Option<u64>) -> Option<u64> {
        let moments = (from_us / SLOT_US..)
            .zip(self.slots.slots.iter().skip((from_us / SLOT_US) as usize))
            .filter_map(|(number, slot)| Some(number * SLOT_US + of(slot)?));
        moments.into_iter().find(|at| *at >= from_us)
    }

    fn phases(&self) -> Vec<Phase> {
        let (began, over) = (
            self.began_us.min(self.end_us),
            self.over_us.min(self.end_us),
        );
        let all = [
            Phase::new("before", self.measured_us, began),
            Phase::new("during", began, over),
            Phase::new("after", over, self.end_us),
        ];
        all.into_iter()
            .filter(|phase| phase.to_us > phase.from_us)
            .collect()
    }

    fn figures(&self) -> DisturbFigures {
        let limit = self.limit();
        let within = limit.known().copied();
        let served_of = |slot: &Slot| match (self.slots.within_us, within) {
            (Some(_), _) => u64::from(slot.within),
            (None, Some(limit)) => slot.committed_within(limit),
            (None, None) => slot.committed(),
        };
        let due = self.each(|slot| slot.due.into());
        let served = self.each(served_of);
        let commits = self.each(|slot| slot.commits.into());
        let course = Course {
            slot_s: SLOT_US as f64 / 1e6,
            due: &due,
            served: &served,
            commits: &commits,
        };
        let before = self.before();
        let before_s = before.len() as f64 * course.slot_s;
        let offered: f64 = due[before.clone()].iter().sum();
        let recovery = match &limit {
            _ if self.generator_stopped_us > 0 => Err(format!(
                "pgdyno itself did not run for {} meanwhile",
                text::time(self.generator_stopped_us as f64)
            )),
            Fact::Known(_) => course
                .recovery(before, (self.began_us / SLOT_US) as usize)
                .map_err(|why| why.to_string()),
            Fact::Unknown(why) => Err(why.clone()),
        };
        let us = |seconds: f64| (seconds * 1e6).round() as u64;
        let back = |back: Option<f64>| {
            let after_us = self.end_us.saturating_sub(self.began_us);
            let lasts = if self.is_over {
                ""
            } else {
                "; until then it was disturbed"
            };
            let never = format!(
                "not back {} after the start, when the trial ended{lasts}",
                text::time(after_us as f64)
            );
            back.map_or(Fact::Unknown(never), |s| Fact::Known(us(s)))
        };
        let unknown = |why: &String| Fact::Unknown(why.clone());
        let strictly = recovery.as_ref().map(|recovery| recovery.strictly_back_s);
        let (metastable, metastable_why) = self.metastable(&course, recovery.as_ref());
        let first_error = self.first(self.began_us, Slot::first_error_us);
        let first_success = first_error.and_then(|at| self.first(at, Slot::first_commit_us));
        let since = |at: u64| at - self.began_us;
        let sum = |of: &dyn Fn(&Slot) -> u64| self.since_start().map(of).sum::<u64>();
        let due_after = sum(&|slot| slot.due.into());
        DisturbFigures {
            limit_given: self.slots.within_us.is_some(),
            offered_per_s: if before_s > 0.0 {
                offered / before_s
            } else {
                0.0
            },
            served_share_before: recovery.as_ref().ok().map(|recovery| recovery.baseline),
            phases: phases(self.recording, &self.phases(), None, |from_us, to_us| {
                let slots = (from_us / SLOT_US) as usize..(to_us / SLOT_US) as usize;
                let due = slots.filter_map(|number| self.slot(number));
                Some(due.map(|slot| f64::from(slot.due)).sum())
            }),
            first_error_us: first_error.map(since),
            first_success_us: first_success.map(since),
            no_service_us: {
                let stalls = self.recording.stalls.iter();
                let later = stalls.filter(|s| s.start_us + s.length_us > self.began_us);
                later.map(|stall| stall.length_us).max().unwrap_or(0)
            },
            worst_client_us: {
                let stalls = self.recording.client_stalls.iter();
                let later = stalls.filter(|s| s.start_us + s.length_us > self.began_us);
                later.map(|stall| stall.length_us).max()
            },
            is_back: recovery
                .as_ref()
                .ok()
                .map(|recovery| recovery.back_s.is_some()),
            back_us: recovery
                .as_ref()
                .map_or_else(unknown, |recovery| back(recovery.back_s)),
            strictly_back_us: match strictly {
                Err(why) => unknown(why),
                Ok(Some(strictly)) => back(strictly),
                Ok(None) => Fact::Unknown(
                    "before the disturbance, too, there were seconds below 99 % of what is usual"
                        .to_owned(),
                ),
            },
            below_us: recovery.as_ref().ok().map(|recovery| us(recovery.below_s)),
            due: due_after,
            missed: within.map(|_| due_after.saturating_sub(sum(&served_of))),
            failed: sum(&|slot| slot.failed.into()),
            unknown: sum(&|slot| slot.unknown.into()),
            skipped: sum(&|slot| slot.skipped.into()),
            late: within.map(|_| sum(&Slot::committed).saturating_sub(sum(&served_of))),
            never_started: sum(&Slot::never_started),
            metastable,
            metastable_why,
            course: self.course(served_of),
            limit_us: limit,
        }
    }

    fn metastable(
        &self,
        course: &Course<'_>,
        recovery: Result<&pgdyno_stats::recovery::Recovery, &String>,
    ) -> (Metastable, String) {
        let cannot = |why: String| (Metastable::CannotTell, why);
        let recovery = match recovery {
            Ok(recovery) => recovery,
            Err(why) => return cannot(why.clone()),
        };
        if !self.is_over && !self.recording.has_lost_server() {
            return cannot(
                "the disturbance was not over before the trial was: end it with --at or --for"
                    .to_owned(),
            );
        }
        let over = (self.over_us.min(self.end_us) / SLOT_US) as usize;
        let stays = course.stays(recovery.baseline, over);
        if (stays != Stays::Up || !self.is_over) && self.recording.has_lost_server() {
            return cannot("clients were without a server when the trial ended".to_owned());
        }
        match stays {
            Stays::Up => (
                Metastable::No,
                "at the same load goodput came back".to_owned(),
            ),
            Stays::Down => (
                Metastable::Yes,
                "at the same load goodput stays down, although nothing disturbs it any more"
                    .to_owned(),
            ),
            Stays::TooShort(s) => cannot(format!(
                "it was watched for {s:.1} s after the disturbance: use a longer --after"
            )),
            Stays::CatchingUp => cannot(
                "at the end it was still catching up with what had piled up: use a longer --after"
                    .to_owned(),
            ),
            Stays::UpAndDown => {
                cannot("at the end it was back at times: use a longer --after".to_owned())
            }
        }
    }

    fn course(&self, served_of: impl Fn(&Slot) -> u64) -> DisturbCourse {
        let bins = |of: &dyn Fn(&Slot) -> u64| -> Vec<u64> {
            let numbers: Vec<usize> = (0..self.count()).collect();
            let bins = numbers.chunks(BIN_SLOTS);
            let sum = |bin: &[usize]| bin.iter().filter_map(|n| self.slot(*n)).map(of).sum();
            bins.map(sum).collect()
        };
        DisturbCourse {
            bin_us: BIN_SLOTS as u64 * SLOT_US,
            due: bins(&|slot| slot.due.into()),
            served: bins(&served_of),
            commits: bins(&|slot| slot.commits.into()),
            errors: bins(&|slot| slot.errors.into()),
            errors_by: self.errors_by(),
            response: self.response(),
            endpoints: self.endpoints(),
        }
    }

    fn errors_by(&self) -> Vec<DisturbErrors> {
        let mut all: Vec<DisturbErrors> = Vec::new();
        for endpoint in &self.recording.endpoints {
            let of_endpoint = all.len();
            let mut errors = endpoint.seconds.errors.clone();
            errors.sort_by_key(|one| one.second);
            for one in errors {
                let Some(failure) = one.failure else { continue };
                let at_us = endpoint.seconds.from_us + one.second * 1_000_000;
                let known = all[of_endpoint..]
                    .iter()
                    .position(|it| it.code == failure.code());
                let at = known.map_or_else(
                    || {
                        all.push(DisturbErrors {
                            code: failure.code().to_owned(),
                            says: self.says(failure),
                            endpoint: endpoint.name.clone(),
                            ..DisturbErrors::default()
                        });
                        all.len() - 1
                    },
                    |known| of_endpoint + known,
                );
                let kind = &mut all[at];
                kind.count += one.count;
                kind.seconds.push((at_us, one.count));
            }
        }
        all.sort_by_key(|kind| std::cmp::Reverse(kind.count));
        all
    }

    fn says(&self, failure: Failure) -> String {
        let reasons = self.recording.reasons.iter();
        let known = reasons.filter(|reason| !reason.sqlstate.is_empty());
        // That a connection was lost is not what the SQLSTATE means.
        let mut known = known.filter(|reason| reason.class != ErrorClass::ConnectionLost);
        known
            .find(|reason| reason.sqlstate == failure.code())
            .map(|reason| reason.name.clone())
            .or_else(|| condition(failure.code()).map(str::to_owned))
            .unwrap_or_else(|| failure.to_string())
    }

    fn endpoints(&self) -> Vec<DisturbEndpoint> {
        let of = |endpoint: &EndpointRecord| DisturbEndpoint {
            endpoint: endpoint.name.clone(),
            from_us: endpoint.seconds.from_us,
            committed: endpoint.seconds.committed.clone(),
        };
        match self.recording.endpoints.as_slice() {
            [] | [_] => Vec::new(),
            several => several.iter().map(of).collect(),
        }
    }

    fn response(&self) -> Vec<DisturbSecond> {
        let seconds = self.recording.seconds.iter();
        let asked = seconds.filter(|second| !second.drain);
        let of = |second: &Second| {
            let mut all = Latencies::default();
            for script in &second.scripts {
                let latencies = script.response.as_ref().unwrap_or(&script.service);
                all.merge(&latencies.unpack());
            }
            let percentile = |percent| all.percentile_us(percent);
            DisturbSecond {
                start_us: second.start_us,
                p50_us: percentile(50.0),
                p95_us: percentile(95.0),
                p99_us: percentile(99.0),
                max_us: (all.count() > 0).then(|| all.max_us()),
            }
        };
        asked.map(of).collect()
    }
}

/// What an SQLSTATE of a server that goes away or comes back is called (documented: PostgreSQL, Appendix A,
/// "PostgreSQL Error Codes").
fn condition(sqlstate: &str) -> Option<&'static str> {
    Some(match sqlstate {
        "08006" => "connection failure",
        "25006" => "read-only transaction",
        "53300" => "too many connections",
        "57014" => "query canceled",
        "57P01" => "admin shutdown",
        "57P02" => "crash shutdown",
        "57P03" => "cannot connect now",
        _ => return None,
    })
}
