//! What several generators recorded of one trial becomes what one would have recorded: histograms are
//! added second by second and script by script, percentiles are never averaged.

use std::collections::BTreeMap;

use super::stalls::Gap;
use super::{
    ClientTime, End, GapsOfThread, Phase, Recording, ScriptInterval, ScriptSecond, Second, Stall,
    StatementTotals, client_stalls_max, merge_reasons, order_client_stalls, order_worst,
};
use pgdyno_platform::clock::Nanos;

/// Seconds that begin less apart are the same second.
const LATE_MIN_US: u64 = 500_000;

/// Adds recordings up, one after another: it needs the memory of one trial, however many there are.
#[derive(Debug, Default)]
pub struct Merge {
    /// By start, the warm-up's first.
    seconds: BTreeMap<(u64, bool), Open>,
    /// The times without service of each, by which those of all are found.
    gaps: Vec<GapsOfThread>,
    /// The same of each endpoint.
    endpoint_gaps: BTreeMap<String, Vec<GapsOfThread>>,
    ends: Vec<End>,
    /// When the first of them was gone.
    whole_until_us: Option<u64>,
    /// From when until when each measured.
    spans: Vec<(u64, u64)>,
    all: Option<Recording>,
}

/// What several generators recorded of one second, added up; it begins when the first of them does. `None`: of
/// no generator.
pub fn sum_second(seconds: &[Second]) -> Option<Second> {
    let first = seconds.iter().min_by_key(|second| second.start_us)?;
    let mut all = Open::default();
    seconds.iter().for_each(|second| all.add(second));
    Some(all.closed(first.start_us, first.warmup))
}

/// A second to which more may be added.
#[derive(Debug, Default)]
struct Open {
    length_us: u64,
    drain: bool,
    time: ClientTime,
    scripts: Vec<ScriptInterval>,
}

impl Open {
    fn add(&mut self, second: &Second) {
        self.length_us = self.length_us.max(second.length_us);
        self.drain |= second.drain;
        self.time.merge(&second.time);
        let count = self.scripts.len().max(second.scripts.len());
        self.scripts.resize_with(count, ScriptInterval::default);
        for (mine, theirs) in self.scripts.iter_mut().zip(&second.scripts) {
            mine.merge(&theirs.unpack());
        }
    }

    fn closed(self, start_us: u64, warmup: bool) -> Second {
        Second {
            start_us,
            length_us: self.length_us,
            warmup,
            time: self.time,
            drain: self.drain,
            scripts: self.scripts.iter().map(ScriptSecond::from).collect(),
        }
    }
}

impl Recording {
    /// Where it belongs among those of others when it began so much after the first of
    /// them: seconds and events move by whole seconds, the nearest.
    pub fn begins_late(&mut self, late_us: u64) {
        let moved_us = (late_us + LATE_MIN_US) / 1_000_000 * 1_000_000;
        let seconds = self.seconds.iter_mut().map(|second| &mut second.start_us);
        let events = self.events.iter_mut().map(|event| &mut event.at_us);
        let of_endpoints = self.endpoints.iter_mut().flat_map(|one| &mut one.stalls);
        let stalls = self.stalls.iter_mut().chain(of_endpoints);
        let stalls = stalls.map(|stall| &mut stall.start_us);
        let of_clients = self.client_stalls.iter_mut();
        let of_clients = of_clients.map(|stall| &mut stall.start_us);
        seconds
            .chain(events)
            .chain(stalls)
            .chain(of_clients)
            .for_each(|us| *us += moved_us);
        let endpoints = self.endpoints.iter_mut();
        endpoints.for_each(|one| one.seconds.from_us += moved_us);
        if let Some(slots) = &mut self.slots {
            slots.begin_late(moved_us);
        }
    }
}

impl Merge {
    /// Adds what one generator recorded. All run the same scripts, and count from the same instant. One
    /// that went before its time was there until `gone_us`: what the others did after that is no rate of
    /// all, and counts as a drain does.
    pub fn add(&mut self, mut part: Recording, gone_us: Option<u64>) {
        let until_us = self.whole_until_us.into_iter().chain(gone_us).min();
        self.whole_until_us = until_us;
        let seconds = std::mem::take(&mut part.seconds);
        self.spans.extend(span(&seconds));
        let measured = seconds.iter().filter(|second| !second.warmup);
        let committed = measured.map(Second::committed).sum();
        for second in seconds {
            self.add_second(&second);
        }
        let end = asked_end(&part.measured, part.warmup.as_ref());
        self.gaps.push(gaps(end, committed, &part.stalls));
        for endpoint in &mut part.endpoints {
            let all = self.endpoint_gaps.entry(endpoint.name.clone()).or_default();
            let stalls = std::mem::take(&mut endpoint.stalls);
            all.push(gaps(end, endpoint.counts.committed, &stalls));
        }
        self.ends.push(part.end);
        // Made of the seconds at the end.
        (part.measured, part.warmup) = (Phase::default(), part.warmup.map(|_| Phase::default()));
        match &mut self.all {
            None => self.all = Some(part),
            Some(all) => merge(all, part),
        }
    }

    fn add_second(&mut self, second: &Second) {
        let key = (second.start_us, !second.warmup);
        self.seconds.entry(key).or_default().add(second);
    }

    /// What all recorded; `None` without threads.
    ///
    /// Times without service are where all had one. Each generator finds its own among fewer
    /// transactions than all make, so that a short one which all have may be missing.
    pub fn finish(self) -> Option<Recording> {
        let mut all = self.all?;
        let scripts = all.scripts.len();
        let phase = || Phase {
            scripts: vec![ScriptInterval::default(); scripts],
            ..Phase::default()
        };
        let (mut measured, mut warmup) = (phase(), all.warmup.as_ref().map(|_| phase()));
        let (from_us, until_us) = common(&self.spans);
        let whole_until_us = self.whole_until_us.unwrap_or(u64::MAX).min(until_us);
        for ((start_us, is_measured), mut open) in self.seconds {
            let is_common = start_us >= from_us && start_us + open.length_us <= whole_until_us;
            open.drain |= is_measured && !is_common;
            let phase = match &mut warmup {
                Some(warmup) if !is_measured => warmup,
                _ => &mut measured,
            };
            add(phase, &open);
            all.seconds.push(open.closed(start_us, !is_measured));
        }
        let warmup_us = warmup.as_ref().map_or(0, |phase| phase.elapsed_us);
        all.stalls = Stall::find(&self.gaps, &measured, (0, warmup_us), &[]);
        for endpoint in &mut all.endpoints {
            if let Some(gaps) = self.endpoint_gaps.get(&endpoint.name) {
                let committed = endpoint.counts.committed;
                endpoint.stalls = Stall::find_at(gaps, &measured, (0, warmup_us), committed, &[]);
            }
        }
        let limit = client_stalls_max(all.slots.is_some());
        order_client_stalls(&mut all.client_stalls, limit);
        (all.measured, all.warmup) = (measured, warmup);
        all.end = end(&self.ends);
        order_worst(&mut all.worst);
        all.events.sort_by_key(|event| event.at_us);
        all.events.truncate(Recording::EVENTS_MAX);
        all.by_client.sort_by_key(|client| client.client);
        all.receipts.sort_by_key(|client| client.client);
        Some(all)
    }
}

/// From the first measured second to the end of the last, without the drain.
fn span(seconds: &[Second]) -> Option<(u64, u64)> {
    let measured = || {
        seconds
            .iter()
            .filter(|second| !second.warmup && !second.drain)
    };
    let from = measured().map(|second| second.start_us).min()?;
    let until = measured().map(Second::end_us).max()?;
    Some((from, until))
}

/// Where some began later than others ([`Recording::begins_late`]): the time in which all measured. Else all
/// of it.
fn common(spans: &[(u64, u64)]) -> (u64, u64) {
    let from = || spans.iter().map(|(from, _)| *from);
    let (Some(first), Some(last)) = (from().min(), from().max()) else {
        return (0, u64::MAX);
    };
    let until = spans.iter().map(|(_, until)| *until).min();
    if last - first < LATE_MIN_US {
        (0, u64::MAX)
    } else {
        (last, until.unwrap_or(u64::MAX))
    }
}

fn asked_end(measured: &Phase, warmup: Option<&Phase>) -> Nanos {
    let warmup_us = warmup.map_or(0, |phase| phase.elapsed_us);
    (warmup_us + measured.asked_us()) * 1000
}

/// A generator's times without service, and from its end on for ever; one that committed nothing has no
/// stalls, and leaves the others' as they are.
fn gaps(end: Nanos, committed: u64, stalls: &[Stall]) -> Vec<Gap> {
    if committed == 0 {
        return vec![(0, Nanos::MAX)];
    }
    let stalls = stalls.iter();
    let gap = |stall: &Stall| {
        let start = stall.start_us * 1000;
        (start, start + stall.length_us * 1000)
    };
    let mut gaps: Vec<Gap> = stalls.map(gap).collect();
    match gaps.last_mut() {
        Some(last) if last.1 >= end => last.1 = Nanos::MAX,
        _ => gaps.push((end, Nanos::MAX)),
    }
    gaps
}

/// What ends the run of one generator by a script or by wish ends that of all. Else it is complete when
/// one of them is: each that did not come so far is reported.
fn end(ends: &[End]) -> End {
    let is_of_all = |end: &End| matches!(end, End::InvariantBroken | End::ClientAborted { .. });
    let first = ends.iter().find(|end| is_of_all(end));
    let first = first.or_else(|| ends.iter().find(|end| **end == End::Complete));
    first.or(ends.first()).copied().unwrap_or_default()
}

fn add(phase: &mut Phase, open: &Open) {
    for (mine, theirs) in phase.scripts.iter_mut().zip(&open.scripts) {
        mine.merge(theirs);
    }
    phase.time.merge(&open.time);
    phase.elapsed_us += open.length_us;
    if open.drain {
        let committed = open.scripts.iter().map(|script| script.counts.committed);
        phase.drain.add(open.length_us, committed);
    }
}

/// All but what is made of the seconds.
fn merge(all: &mut Recording, part: Recording) {
    all.started = all.started.min(part.started);
    for (mine, theirs) in all.statements.iter_mut().zip(part.statements) {
        for (mine, theirs) in mine.iter_mut().zip(theirs) {
            merge_statement(mine, &theirs);
        }
    }
    merge_reasons(&mut all.reasons, part.reasons);
    let (mine, theirs) = (&mut all.connections, part.connections);
    mine.initial_us = mine.initial_us.max(theirs.initial_us);
    mine.latencies.merge(&theirs.latencies);
    mine.closings.extend(theirs.closings);
    all.outages.merge(&part.outages);
    for theirs in part.endpoints {
        match all.endpoints.iter_mut().find(|e| e.name == theirs.name) {
            Some(mine) => {
                mine.clients += theirs.clients;
                mine.merge(&theirs);
            }
            None => all.endpoints.push(theirs),
        }
    }
    all.events.extend(part.events);
    all.threads.extend(part.threads);
    all.added.merge(&part.added);
    all.generator_stops.extend(part.generator_stops);
    all.worst.extend(part.worst);
    if let Some(slots) = &part.slots {
        all.slots.get_or_insert_default().merge(slots);
    }
    all.client_stalls.extend(part.client_stalls);
    all.clients.total += part.clients.total;
    all.clients.aborted += part.clients.aborted;
    all.clients.disconnected += part.clients.disconnected;
    all.by_client.extend(part.by_client);
    all.receipts.extend(part.receipts);
    for (counter, drawn) in part.drawn {
        *all.drawn.entry(counter).or_default() += drawn;
    }
    all.undone += part.undone;
    all.missing_rows += part.missing_rows;
    all.add_due(part.due);
    all.broken_invariant = all.broken_invariant.take().or(part.broken_invariant);
}

fn merge_statement(mine: &mut StatementTotals, theirs: &StatementTotals) {
    mine.latencies.merge(&theirs.latencies);
    mine.retries += theirs.retries;
    mine.failures += theirs.failures;
    mine.aborts += theirs.aborts;
    mine.failed.merge(&theirs.failed);
    mine.missing.merge(&theirs.missing);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClientsEnd, Counts, EndpointRecord, Failure, ScriptRecord, Wrong};

    /// A script's transactions that took so long, with one failure each ten.
    fn interval(latencies_us: &[u64]) -> ScriptInterval {
        let mut interval = ScriptInterval::default();
        latencies_us
            .iter()
            .for_each(|us| interval.service.record(*us));
        interval.counts.committed = latencies_us.len() as u64;
        interval.counts.failed = [(Failure::DEADLOCK, latencies_us.len() as u64 / 10)].into();
        interval
    }

    fn recording(seconds: Vec<Second>) -> Recording {
        Recording {
            scripts: vec![ScriptRecord {
                name: "s".to_owned(),
                weight: 1,
                statements: Vec::new(),
            }],
            warmup: Some(Phase::default()),
            seconds,
            endpoints: vec![EndpointRecord {
                name: "a:5432".to_owned(),
                clients: 2,
                ..EndpointRecord::default()
            }],
            clients: ClientsEnd {
                total: 2,
                ..ClientsEnd::default()
            },
            drawn: [("rows".to_owned(), 7)].into(),
            ..Recording::default()
        }
    }

    fn second(start_us: u64, warmup: bool, latencies_us: &[u64]) -> Second {
        Second {
            start_us,
            length_us: 1_000_000,
            warmup,
            time: ClientTime::default(),
            drain: false,
            scripts: vec![ScriptSecond::from(&interval(latencies_us))],
        }
    }

    #[test]
    fn parts_added_up_are_what_one_would_have_recorded() {
        // Each generator has its own latencies, so that a mean of percentiles would be far off.
        let of = |generator: u64, second: u64| -> Vec<u64> {
            let transactions = 200 * (generator + 1) + second;
            (0..transactions)
                .map(|i| (i * 7919 + second) % (1000 << (4 * generator)))
                .collect()
        };
        let mut merge = Merge::default();
        for generator in 0..3u64 {
            let starts = [(0, true), (1_000_000, false), (2_000_000, false)];
            let seconds = (0..).zip(starts).map(|(number, (start_us, warmup))| {
                second(start_us, warmup, &of(generator, number))
            });
            let mut part = recording(seconds.collect());
            part.warmup = Some(Phase {
                elapsed_us: 1_000_000,
                ..Phase::default()
            });
            part.measured.elapsed_us = 2_000_000;
            part.stalls = vec![Stall {
                start_us: 1_200_000 + generator * 1000,
                length_us: 500_000,
                is_over: true,
            }];
            merge.add(part, None);
        }
        let all = merge.finish().unwrap();
        let expected = |second: u64| {
            let all: Vec<u64> = (0..3).flat_map(|generator| of(generator, second)).collect();
            interval(&all)
        };
        assert_eq!(all.seconds.len(), 3);
        for (number, second) in (0..).zip(&all.seconds) {
            let (is, be) = (&second.scripts[0], expected(number));
            assert_eq!(is.service.bytes(), be.service.pack().bytes());
            assert_eq!(is.service.sum_us(), be.service.sum_us());
            assert_eq!(is.counts.committed, be.counts.committed);
        }
        let measured = all.measured.all();
        let mut both = expected(1);
        both.merge(&expected(2));
        assert_eq!(measured.service.pack().bytes(), both.service.pack().bytes());
        let of_phase = |counts: &Counts| (counts.committed, counts.failed_total());
        assert_eq!(of_phase(&measured.counts), (2409, 240));
        assert_eq!(all.measured.elapsed_us, 2_000_000);
        assert_eq!(all.warmup.unwrap().all().counts.committed, 1200);
        assert_eq!((all.clients.total, all.endpoints[0].clients), (6, 6));
        assert_eq!(all.drawn["rows"], 21);
        // Where all three had none: from the last beginning to the first end.
        let stall = Stall {
            start_us: 1_202_000,
            length_us: 498_000,
            is_over: true,
        };
        assert_eq!(all.stalls, [stall]);
    }

    #[test]
    fn an_outage_of_an_endpoint_has_the_errors_and_the_rate_of_all_generators() {
        let part = |committed: &[u64], failed: u64| {
            let mut part = recording(
                (0..10)
                    .map(|s| second(s * 1_000_000, false, &[5000]))
                    .collect(),
            );
            part.warmup = None;
            part.measured.elapsed_us = 10_000_000;
            let endpoint = &mut part.endpoints[0];
            endpoint.counts.committed = committed.iter().sum();
            endpoint.seconds.committed = committed.to_vec();
            endpoint.seconds.wrong = vec![Wrong {
                second: 4,
                failure: Some(Failure::ConnectionLost),
                count: failed,
            }];
            if endpoint.counts.committed > 0 {
                endpoint.stalls = vec![Stall {
                    start_us: 4_000_000 + failed * 1000,
                    length_us: 3_000_000,
                    is_over: true,
                }];
            }
            part
        };
        let mut merge = Merge::default();
        merge.add(part(&[100, 100, 100, 100, 0, 0, 0, 100, 100, 100], 2), None);
        merge.add(part(&[10, 10, 10, 10, 0, 0, 0, 1, 10, 10], 3), None);
        // One whose clients never got there.
        merge.add(part(&[], 1), None);
        let all = merge.finish().unwrap();
        let endpoint = &all.endpoints[0];
        let stall = Stall {
            start_us: 4_003_000,
            length_us: 2_999_000,
            is_over: true,
        };
        assert_eq!(endpoint.stalls, [stall]);
        let seconds = &endpoint.seconds;
        assert_eq!(
            seconds.committed,
            [110, 110, 110, 110, 0, 0, 0, 101, 110, 110]
        );
        assert_eq!((seconds.wrong.len(), seconds.wrong[0].count), (1, 6));
    }

    #[test]
    fn clients_that_all_ended_on_one_generator_are_not_the_end_of_all() {
        use End::{AllClientsAborted, Complete, Interrupted, InvariantBroken};
        assert_eq!(end(&[Complete, AllClientsAborted]), Complete);
        assert_eq!(
            end(&[AllClientsAborted, AllClientsAborted]),
            AllClientsAborted
        );
        assert_eq!(end(&[Interrupted, Complete]), Complete);
        assert_eq!(end(&[Interrupted, Interrupted]), Interrupted);
        assert_eq!(end(&[Complete, InvariantBroken]), InvariantBroken);
    }

    #[test]
    fn one_that_began_late_is_added_to_the_seconds_in_which_it_measured() {
        let seconds = |count: u64| {
            let start = |number| number * 1_000_000;
            (0..count)
                .map(|number| second(start(number), false, &[100; 50]))
                .collect()
        };
        let mut merge = Merge::default();
        let mut late = recording(seconds(4));
        late.begins_late(2_400_000);
        merge.add(late, None);
        let mut hardly = recording(seconds(4));
        hardly.begins_late(499_999);
        merge.add(hardly, None);
        let all = merge.finish().unwrap();
        let committed = |second: &Second| second.scripts[0].counts.committed;
        let committed: Vec<u64> = all.seconds.iter().map(committed).collect();
        assert_eq!(committed, [50, 50, 100, 100, 50, 50]);
        let measured = &all.measured;
        assert_eq!(
            (measured.asked_us(), measured.elapsed_us),
            (2_000_000, 6_000_000)
        );
        assert_eq!(measured.goodput_per_s(), 100.0);
        assert_eq!(measured.all().counts.committed, 400);
    }

    #[test]
    fn no_threads_give_no_figures() {
        assert!(Merge::default().finish().is_none());
    }

    #[test]
    fn what_is_done_without_one_that_has_gone_is_no_rate_of_all() {
        let mut merge = Merge::default();
        let seconds = |count: u64| {
            let start = |number| number * 1_000_000;
            (0..count)
                .map(|number| second(start(number), false, &[100; 50]))
                .collect()
        };
        merge.add(recording(seconds(4)), None);
        merge.add(recording(seconds(2)), Some(2_000_000));
        let measured = merge.finish().unwrap().measured;
        assert_eq!(measured.all().counts.committed, 300);
        assert_eq!(
            (measured.asked_us(), measured.elapsed_us),
            (2_000_000, 4_000_000)
        );
        assert_eq!(
            (measured.goodput_per_s(), measured.drain.committed_total()),
            (100.0, 100)
        );
    }
}
