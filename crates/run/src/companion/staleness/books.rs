//! What stamps were acknowledged when, and what reads showed of them. Times are microseconds since the probe
//! began. No I/O.

use std::collections::VecDeque;

use super::seconds::Seconds;
use pgdyno_measurement::Latencies;
use pgdyno_model::Fact;
use pgdyno_model::document::{
    Lags, OwnUnseen, Replay, SessionReads, StaleBucket, StaleEndpoint, WentBack,
};

/// So many stamps of a session are remembered where there are few sessions, and where there are many.
const REMEMBERED_MIN: usize = 1 << 10;
const REMEMBERED_MAX: usize = 1 << 18;
const SECOND_US: u64 = 1_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Its number within its session, from 1.
    pub number: u64,
    pub acknowledged_us: u64,
    /// The server's WAL position when it was acknowledged, where it tells.
    pub position: Option<u64>,
}

/// The acknowledged stamps of all sessions.
#[derive(Debug)]
pub struct Acknowledged {
    sessions: Vec<VecDeque<Stamp>>,
    /// So many stamps of a session are remembered: of older ones it is only known that they are older.
    remembered_max: usize,
}

impl Acknowledged {
    pub fn of(sessions: u32) -> Self {
        let each = 4 * REMEMBERED_MAX / sessions.max(1) as usize;
        Self {
            sessions: (0..sessions).map(|_| VecDeque::new()).collect(),
            remembered_max: each.clamp(REMEMBERED_MIN, REMEMBERED_MAX),
        }
    }

    pub fn add(&mut self, session: u32, stamp: Stamp) {
        let stamps = &mut self.sessions[session as usize];
        if stamps.len() == self.remembered_max {
            stamps.pop_front();
        }
        stamps.push_back(stamp);
    }

    /// The last stamp of a session lies before this position of the WAL.
    pub fn place(&mut self, session: u32, position: u64) {
        if let Some(stamp) = self.sessions[session as usize].back_mut() {
            stamp.position = Some(position);
        }
    }

    /// The oldest stamp of a session after this number that was acknowledged before then.
    fn oldest_after(&self, session: usize, shown: u64, before_us: u64) -> Option<Stamp> {
        let stamps = &self.sessions[session];
        let next = stamps.partition_point(|stamp| stamp.number <= shown);
        let stamp = stamps.get(next).copied();
        stamp.filter(|stamp| stamp.acknowledged_us <= before_us)
    }

    /// Whether any stamp of a session was acknowledged before then.
    fn has_any(&self, session: usize, before_us: u64) -> bool {
        let first = self.sessions[session].front();
        first.is_some_and(|stamp| stamp.acknowledged_us <= before_us)
    }

    /// How long ago, at that moment, the oldest stamp was acknowledged that lies behind this position of the
    /// WAL; 0 without one.
    pub fn behind_us(&self, position: u64, at_us: u64) -> u64 {
        let sessions = self.sessions.iter();
        let oldest = sessions.filter_map(|stamps| {
            let is_replayed = |stamp: &Stamp| stamp.position.is_none_or(|own| own <= position);
            stamps.get(stamps.partition_point(is_replayed))
        });
        let ages = oldest.map(|stamp| at_us.saturating_sub(stamp.acknowledged_us));
        ages.max().unwrap_or(0)
    }
}

/// The newest stamp that a session has seen at the endpoints of a role.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    number: u64,
    at: String,
    ended_us: u64,
}

impl Seen {
    /// A read that ended then has shown this.
    pub fn remember(&mut self, shown: u64, at: &str, ended_us: u64) {
        if shown > self.number {
            self.number = shown;
            at.clone_into(&mut self.at);
            self.ended_us = ended_us;
        }
    }
}

/// A read of all sessions' stamps.
#[derive(Debug, Clone)]
pub struct Read {
    pub began_us: u64,
    pub ended_us: u64,
    /// By session, the number that it showed; 0: none.
    pub shown: Vec<u64>,
}

/// The books of one server.
#[derive(Debug, Default)]
pub struct Books {
    pub role: Option<String>,
    pub name: String,
    has_shown: bool,
    before_first: u64,
    failed: u64,
    error: Option<String>,
    stale: u64,
    staleness: Latencies,
    after_write: u64,
    own_unseen: u64,
    after_read: u64,
    went_back: u64,
    by_session: Vec<SessionReads>,
    own_unseen_worst: Option<OwnUnseen>,
    went_back_worst: Option<WentBack>,
    by_position: Latencies,
    by_timestamp: Latencies,
    seconds: Seconds,
}

/// What a read was of one session.
#[derive(Debug, Clone, Copy, Default)]
struct Judged {
    stale_us: u64,
    went_back: bool,
}

impl Books {
    pub fn of(role: Option<&str>, name: &str) -> Self {
        Self {
            role: role.map(str::to_owned),
            name: name.to_owned(),
            ..Self::default()
        }
    }

    /// The books of a server where the sessions' rows were seen before anything was read.
    pub fn of_known(role: Option<&str>, name: &str) -> Self {
        Self {
            has_shown: true,
            ..Self::of(role, name)
        }
    }

    /// Books a read. `seen_before` is what sessions had seen in reads that ended before it began.
    pub fn book(&mut self, read: &Read, acknowledged: &Acknowledged, seen_before: &[Seen]) {
        self.has_shown |= read.shown.iter().any(|number| *number > 0);
        if !self.has_shown {
            self.before_first += 1;
            return;
        }
        if self.by_session.is_empty() {
            self.by_session = (0..read.shown.len() as u32)
                .map(|session| SessionReads {
                    session,
                    ..SessionReads::default()
                })
                .collect();
        }
        let mut oldest_us = 0;
        for (session, (shown, before)) in read.shown.iter().zip(seen_before).enumerate() {
            let one = (session, *shown);
            let judged = self.judge(one, read.began_us, acknowledged, before);
            oldest_us = oldest_us.max(judged.stale_us);
            let own = &mut self.by_session[session];
            own.own_unseen += u64::from(judged.stale_us > 0);
            own.went_back += u64::from(judged.went_back);
        }
        self.read(read.began_us, oldest_us);
    }

    /// Books that a session has read its own stamp.
    pub fn book_own(
        &mut self,
        (session, shown): (usize, u64),
        began_us: u64,
        acknowledged: &Acknowledged,
        seen_before: &Seen,
    ) {
        let judged = self.judge((session, shown), began_us, acknowledged, seen_before);
        self.read(began_us, judged.stale_us);
    }

    /// What a session read, against what it had written and read before.
    fn judge(
        &mut self,
        (session, shown): (usize, u64),
        began_us: u64,
        acknowledged: &Acknowledged,
        before: &Seen,
    ) -> Judged {
        let mut judged = Judged::default();
        self.after_write += u64::from(acknowledged.has_any(session, began_us));
        if let Some(stamp) = acknowledged.oldest_after(session, shown, began_us) {
            let age_us = began_us - stamp.acknowledged_us;
            // Acknowledged in the very microsecond of the read is older than now all the same.
            judged.stale_us = age_us.max(1);
            self.own_unseen += 1;
            let worst = self.own_unseen_worst.as_ref();
            if worst.is_none_or(|worst| age_us > worst.read_us - worst.written_us) {
                self.own_unseen_worst = Some(OwnUnseen {
                    session: session as u32,
                    stamp: stamp.number,
                    written_us: stamp.acknowledged_us,
                    read_us: began_us,
                    shown,
                });
            }
        }
        self.after_read += u64::from(before.number > 0);
        if shown < before.number {
            judged.went_back = true;
            self.went_back += 1;
            let worst = self.went_back_worst.as_ref();
            let steps = before.number - shown;
            if worst.is_none_or(|worst| steps > worst.stamp - worst.shown) {
                self.went_back_worst = Some(WentBack {
                    session: session as u32,
                    stamp: before.number,
                    at: before.at.clone(),
                    seen_us: before.ended_us,
                    read_us: began_us,
                    shown,
                });
            }
        }
        judged
    }

    /// Counts a read that was so stale.
    fn read(&mut self, began_us: u64, stale_us: u64) {
        self.stale += u64::from(stale_us > 0);
        self.staleness.record(stale_us);
        self.seconds.read(began_us / SECOND_US, stale_us);
    }

    /// Remembers what a read has shown, for those that begin after it.
    pub fn remember(name: &str, read: &Read, seen: &mut [Seen]) {
        for (seen, shown) in seen.iter_mut().zip(&read.shown) {
            seen.remember(*shown, name, read.ended_us);
        }
    }

    pub fn failed(&mut self, why: String) {
        self.failed += 1;
        self.error = Some(why);
    }

    /// Books a look at the replay: how far behind by position and by timestamp, where they are known.
    pub fn replayed(
        &mut self,
        at_us: u64,
        by_position_us: Option<u64>,
        by_timestamp_us: Option<u64>,
    ) {
        if !self.has_shown {
            return;
        }
        if let Some(us) = by_position_us {
            self.by_position.record(us);
            self.seconds.replayed(at_us / SECOND_US, us);
        }
        by_timestamp_us
            .into_iter()
            .for_each(|us| self.by_timestamp.record(us));
    }

    /// The figures, with times since clients began at `begun_us`.
    pub fn finish(self, begun_us: u64) -> StaleEndpoint {
        let since = |us: u64| us.saturating_sub(begun_us);
        let is_reported = self.by_position.count() + self.by_timestamp.count() > 0;
        StaleEndpoint {
            reads: self.staleness.count(),
            before_first: self.before_first,
            failed: self.failed,
            error: self.error,
            stale: self.stale,
            staleness: lags(&self.staleness),
            histogram: histogram(&self.staleness),
            after_write: self.after_write,
            own_unseen: self.own_unseen,
            own_unseen_worst: self.own_unseen_worst.map(|worst| OwnUnseen {
                written_us: since(worst.written_us),
                read_us: since(worst.read_us),
                ..worst
            }),
            after_read: self.after_read,
            went_back: self.went_back,
            went_back_worst: self.went_back_worst.map(|worst| WentBack {
                seen_us: since(worst.seen_us),
                read_us: since(worst.read_us),
                ..worst
            }),
            by_session: self.by_session,
            replay: if is_reported {
                Fact::Known(Replay {
                    by_position: lags(&self.by_position),
                    by_timestamp: lags(&self.by_timestamp),
                })
            } else {
                Fact::Unknown("the server tells nothing of a replay".to_owned())
            },
            seconds: self.seconds.finish(begun_us / SECOND_US),
            role: self.role,
            name: self.name,
        }
    }
}

/// Ten values lie beyond each percentile that is shown.
pub fn lags(all: &Latencies) -> Lags {
    let count = all.count();
    let beyond = |share: f64, percent: f64| {
        let enough = count as f64 * share >= 10.0;
        enough.then(|| all.percentile_us(percent)).flatten()
    };
    Lags {
        count,
        p50_us: beyond(0.5, 50.0),
        p99_us: beyond(0.01, 99.0),
        max_us: (count > 0).then(|| all.max_us()),
    }
}

/// Steps of a decade that are about as far from each other: Renard's.
const STEPS: [u64; 10] = [100, 125, 160, 200, 250, 315, 400, 500, 630, 800];

/// Reads by tenths of decades of their staleness.
fn histogram(all: &Latencies) -> Vec<StaleBucket> {
    let mut buckets: Vec<StaleBucket> = Vec::new();
    for bucket in all.histogram().buckets() {
        // One that lies across an end belongs before it.
        let upto_us = upto_us(bucket.lowest_us);
        match buckets.last_mut() {
            Some(last) if last.upto_us == upto_us => last.reads += bucket.count,
            _ => buckets.push(StaleBucket {
                upto_us,
                reads: bucket.count,
            }),
        }
    }
    buckets
}

/// The end of the bucket that a staleness belongs to; the first ends at 100 µs.
fn upto_us(us: u64) -> u64 {
    if us == 0 {
        return 0;
    }
    let decades = (0..).map_while(|power| 10_u64.checked_pow(power));
    let mut ends = decades.flat_map(|ten| STEPS.map(|step| step.saturating_mul(ten)));
    ends.find(|end| us <= *end).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sessions by turns, a stamp each 10 ms from 10 ms on.
    fn acknowledged() -> Acknowledged {
        let mut all = Acknowledged::of(2);
        for turn in 0..10_u64 {
            let stamp = Stamp {
                number: turn / 2 + 1,
                acknowledged_us: (turn + 1) * 10_000,
                position: Some((turn + 1) * 100),
            };
            all.add((turn % 2) as u32, stamp);
        }
        all
    }

    fn read(began_us: u64, shown: [u64; 2]) -> Read {
        Read {
            began_us,
            ended_us: began_us + 500,
            shown: shown.to_vec(),
        }
    }

    fn fresh() -> Vec<Seen> {
        vec![Seen::default(); 2]
    }

    #[test]
    fn staleness_is_the_age_of_the_oldest_acknowledged_stamp_that_is_not_shown() {
        let all = acknowledged();
        let mut books = Books::of(Some("reads"), "b");
        // At 45 ms four are acknowledged: two of each session.
        books.book(&read(45_000, [2, 2]), &all, &fresh());
        books.book(&read(45_000, [2, 1]), &all, &fresh());
        books.book(&read(45_000, [1, 1]), &all, &fresh());
        // More than was acknowledged is not stale.
        books.book(&read(45_000, [3, 2]), &all, &fresh());
        let reported = books.finish(0);
        assert_eq!((reported.reads, reported.stale), (4, 2));
        assert_eq!(reported.staleness.max_us, Some(15_000));
        let worst = reported.own_unseen_worst.unwrap();
        assert_eq!((worst.session, worst.stamp, worst.shown), (0, 2, 1));
        assert_eq!((worst.written_us, worst.read_us), (30_000, 45_000));
        let own: Vec<u64> = reported
            .by_session
            .iter()
            .map(|one| one.own_unseen)
            .collect();
        assert_eq!((own, reported.own_unseen), (vec![1, 2], 3));
        // Each session had written before each of four reads, and had read nothing.
        assert_eq!((reported.after_write, reported.after_read), (8, 0));
        let buckets: Vec<(u64, u64)> = { reported.histogram.iter() }
            .map(|bucket| (bucket.upto_us, bucket.reads))
            .collect();
        assert_eq!(buckets, [(0, 2), (5_000, 1), (16_000, 1)]);
    }

    #[test]
    fn what_is_acknowledged_after_a_read_began_need_not_be_shown() {
        let mut books = Books::of(None, "a");
        books.book(&read(30_000, [2, 1]), &acknowledged(), &fresh());
        books.book(&read(29_999, [1, 1]), &acknowledged(), &fresh());
        assert_eq!(books.finish(0).stale, 0);
    }

    #[test]
    fn a_session_that_reads_less_than_before_has_gone_back() {
        let (all, mut seen) = (acknowledged(), fresh());
        Books::remember("b", &read(45_000, [2, 1]), &mut seen);
        Books::remember("c", &read(46_000, [1, 2]), &mut seen);
        let mut books = Books::of(Some("reads"), "c");
        books.book(&read(47_000, [1, 2]), &all, &seen);
        books.book(&read(48_000, [2, 2]), &all, &seen);
        let reported = books.finish(5_000);
        assert_eq!((reported.went_back, reported.after_read), (1, 4));
        let worst = reported.went_back_worst.unwrap();
        assert_eq!((worst.session, worst.stamp, worst.shown), (0, 2, 1));
        assert_eq!(
            (worst.at.as_str(), worst.seen_us, worst.read_us),
            ("b", 40_500, 42_000)
        );
    }

    #[test]
    fn reads_before_the_first_stamp_is_seen_are_counted_apart() {
        let mut books = Books::of(Some("reads"), "b");
        books.book(&read(90_000, [0, 0]), &acknowledged(), &fresh());
        books.replayed(90_000, Some(1), Some(1));
        let reported = books.finish(0);
        assert_eq!(
            (
                reported.before_first,
                reported.reads,
                reported.staleness.max_us
            ),
            (1, 0, None)
        );
        assert!(reported.replay.known().is_none());
    }

    #[test]
    fn a_session_judges_its_own_stamp_alone() {
        let (all, mut seen) = (acknowledged(), Seen::default());
        let mut books = Books::of_known(Some("reads"), "b");
        // Session 1 has its first stamp acknowledged at 20 ms.
        books.book_own((1, 0), 5_000, &all, &seen);
        books.book_own((1, 1), 45_000, &all, &seen);
        seen.remember(1, "b", 45_500);
        books.book_own((1, 0), 50_000, &all, &seen);
        let reported = books.finish(0);
        assert_eq!(
            (reported.reads, reported.after_write, reported.own_unseen),
            (3, 2, 2)
        );
        assert_eq!((reported.after_read, reported.went_back), (1, 1));
        assert_eq!(reported.staleness.max_us, Some(30_000));
        assert!(reported.by_session.is_empty());
    }

    #[test]
    fn buckets_are_tenths_of_decades() {
        let ends = [0, 1, 100, 101, 126, 999, 1_000, 1_001].map(upto_us);
        assert_eq!(ends, [0, 100, 100, 125, 160, 1_000, 1_000, 1_250]);
    }

    #[test]
    fn a_position_that_is_not_replayed_has_the_age_of_its_stamp() {
        let all = acknowledged();
        assert_eq!(all.behind_us(1_000, 150_000), 0);
        assert_eq!(all.behind_us(500, 150_000), 90_000);
    }

    #[test]
    fn percentiles_have_ten_values_beyond_them() {
        let mut all = Latencies::default();
        (0..19).for_each(|us| all.record(us));
        assert_eq!(lags(&all).p50_us, None);
        (0..981).for_each(|us| all.record(us));
        assert!(lags(&all).p50_us.is_some() && lags(&all).p99_us.is_some());
        assert_eq!(lags(&Latencies::default()).max_us, None);
    }
}
