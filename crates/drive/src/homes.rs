//! Coming back: clients that went to another endpoint because theirs was lost return to it when it
//! accepts connections again. One thread asks for all of them ([`Homes::scout`]), with pauses; a client
//! only reads one number between two transactions, and only while it is away.
//!
//! Not for: where a client goes when it has lost its connection (`client/connect.rs`).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pgdyno_session::Session;
use pgdyno_wire::Candidate;

use crate::clock::{Clock, nanos};
use pgdyno_platform::clock::Nanos;

/// The pause before the first question whether an endpoint is back; it doubles with each one that
/// is answered no.
const PAUSE_MIN: Duration = Duration::from_millis(250);
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// No question takes longer: a server that hangs takes connections and does not answer.
const PROBE_MAX: Duration = Duration::from_secs(2);
/// An endpoint that is lost again within that time is not asked sooner than before.
const STEADY: Duration = Duration::from_secs(10);
/// The clients of an endpoint return one after the other within this time.
const SPREAD: Duration = Duration::from_secs(2);

/// The endpoints of a run, and which of them clients wait to return to.
#[derive(Debug)]
pub(crate) struct Homes {
    /// By endpoint, since when it accepts connections again; 0 when that is not known.
    open_since: Vec<AtomicU64>,
    /// Endpoints at the start, over which clients were dealt.
    dealt: usize,
    /// Clients of each of them, rounded up.
    clients_each: usize,
    watched: Mutex<Watched>,
    changed: Condvar,
}

#[derive(Debug)]
struct Watched {
    is_over: bool,
    homes: Vec<Home>,
}

#[derive(Clone, Debug)]
struct Home {
    /// Its clients that are elsewhere.
    away: u64,
    /// Since when, while it has not been reported that it is back.
    lost_at: Option<Nanos>,
    /// When it is asked next, while some are and it is not known to be back.
    ask_at: Nanos,
    pause: Duration,
    /// When it was back last.
    open_last: Option<Nanos>,
}

impl Homes {
    /// Those of a run that begins with `dealt` endpoints, for up to so many of them, and so many clients in
    /// all.
    pub(crate) fn new(dealt: usize, endpoints: usize, clients: usize) -> Self {
        let home = Home {
            away: 0,
            lost_at: None,
            ask_at: 0,
            pause: PAUSE_MIN,
            open_last: None,
        };
        Self {
            open_since: (0..endpoints).map(|_| AtomicU64::new(0)).collect(),
            dealt: dealt.max(1),
            clients_each: clients.div_ceil(dealt.max(1)).max(1),
            watched: Mutex::new(Watched {
                is_over: false,
                homes: vec![home; endpoints],
            }),
            changed: Condvar::new(),
        }
    }

    /// Whether this client, which is away from `own`, may return by now: each has a moment of its own.
    pub(crate) fn is_turn(&self, own: usize, client: usize, now: Nanos) -> bool {
        let since = self.open_since[own].load(Ordering::Relaxed);
        let rank = (client / self.dealt % self.clients_each) as u64;
        since > 0 && now >= since + nanos(SPREAD) * rank / self.clients_each as u64
    }

    /// A client of this endpoint could not be connected there and is at another one; `was_away` says
    /// whether it was before. True when it is the first one, since the endpoint was back.
    pub(crate) fn left(&self, endpoint: usize, was_away: bool, now: Nanos) -> bool {
        let mut watched = self.watched();
        let home = &mut watched.homes[endpoint];
        home.away += u64::from(!was_away);
        let is_asked = home.away > u64::from(!was_away);
        let was_open = self.open_since[endpoint].swap(0, Ordering::Relaxed) > 0;
        if !is_asked || was_open {
            let is_steady = |at: Nanos| now.saturating_sub(at) > nanos(STEADY);
            if home.open_last.is_none_or(is_steady) {
                home.pause = PAUSE_MIN;
            }
            home.ask_at = now + nanos(home.pause);
        }
        let is_first = home.lost_at.is_none();
        home.lost_at.get_or_insert(now);
        drop(watched);
        self.changed.notify_all();
        is_first
    }

    /// A client is at its own endpoint again: when that was lost and when it was back, for the first
    /// one.
    pub(crate) fn returned(&self, endpoint: usize, now: Nanos) -> Option<(Nanos, Nanos)> {
        let home = &mut self.watched().homes[endpoint];
        home.away = home.away.saturating_sub(1);
        let lost_at = home.lost_at.take()?;
        // It may have been there before it was asked.
        let since = self.open_since[endpoint].load(Ordering::Relaxed);
        Some((lost_at, if since > 0 { since } else { now }))
    }

    /// A client of the first endpoint belongs to the second one from now on, which has joined; whether it
    /// was away from the first, and is from the second.
    pub(crate) fn rehomed(
        &self,
        (old, was_away): (usize, bool),
        (new, is_away): (usize, bool),
        now: Nanos,
    ) {
        let mut watched = self.watched();
        let away = &mut watched.homes[old].away;
        *away = away.saturating_sub(u64::from(was_away));
        let home = &mut watched.homes[new];
        home.away += u64::from(is_away);
        // It joined because it is there.
        if home.lost_at.is_none() && self.open_since[new].load(Ordering::Relaxed) == 0 {
            home.open_last = Some(now);
            self.open_since[new].store(now.max(1), Ordering::Relaxed);
        }
    }

    /// The run is over: nothing is asked any more.
    pub(crate) fn close(&self) {
        self.watched().is_over = true;
        self.changed.notify_all();
    }

    /// Asks endpoints that clients have left until the run is over. What is under way then ends
    /// within [`PROBE_MAX`].
    pub(crate) fn scout(&self, candidates: impl Fn(usize) -> Vec<Candidate>, clock: Clock) {
        while let Some(endpoint) = self.next(clock) {
            let mut candidates = candidates(endpoint);
            for candidate in &mut candidates {
                let limit = candidate.connect_timeout.unwrap_or(PROBE_MAX);
                candidate.connect_timeout = Some(limit.min(PROBE_MAX));
            }
            // Not only whether a socket opens: a server that recovers or drains takes connections.
            let session = Session::connect(&candidates, Some(PROBE_MAX));
            self.answered(endpoint, session.is_ok(), clock.now());
            if let Ok(session) = session {
                session.close();
            }
        }
    }

    /// Waits until an endpoint is to be asked; `None` when the run is over.
    fn next(&self, clock: Clock) -> Option<usize> {
        let mut watched = self.watched();
        while !watched.is_over {
            let now = clock.now();
            watched = match self.due(&watched) {
                Some((at, endpoint)) if at <= now => return Some(endpoint),
                Some((at, _)) => {
                    let pause = Duration::from_nanos(at - now);
                    let waited = self.changed.wait_timeout(watched, pause);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => {
                    let waited = self.changed.wait(watched);
                    waited.unwrap_or_else(PoisonError::into_inner)
                }
            };
        }
        None
    }

    /// Which endpoint is to be asked next, and when.
    fn due(&self, watched: &Watched) -> Option<(Nanos, usize)> {
        let homes = watched.homes.iter().enumerate();
        homes
            .filter(|(endpoint, home)| {
                home.away > 0 && self.open_since[*endpoint].load(Ordering::Relaxed) == 0
            })
            .map(|(endpoint, home)| (home.ask_at, endpoint))
            .min()
    }

    fn answered(&self, endpoint: usize, is_open: bool, now: Nanos) {
        let mut watched = self.watched();
        let home = &mut watched.homes[endpoint];
        home.pause = (home.pause * 2).min(PAUSE_MAX);
        home.ask_at = now + nanos(home.pause);
        if is_open {
            home.open_last = Some(now);
            self.open_since[endpoint].store(now.max(1), Ordering::Relaxed);
        }
    }

    /// Asks the endpoints that are due by now, in place of [`Homes::scout`].
    #[cfg(test)]
    pub(crate) fn ask(&self, now: Nanos, is_open: impl Fn(usize) -> bool) {
        loop {
            let due = self.due(&self.watched());
            let Some((_, endpoint)) = due.filter(|(at, _)| *at <= now) else {
                return;
            };
            self.answered(endpoint, is_open(endpoint), now);
        }
    }

    /// When an endpoint is to be asked next, if any.
    #[cfg(test)]
    pub(crate) fn asks_at(&self) -> Option<Nanos> {
        self.due(&self.watched()).map(|(at, _)| at)
    }

    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    /// Asks again and again; says when.
    fn asked(homes: &Homes, until: Nanos, is_open: bool) -> Vec<Nanos> {
        let mut times = Vec::new();
        while let Some(at) = homes.asks_at().filter(|at| *at <= until) {
            homes.ask(at, |_| is_open);
            times.push(at / MS);
        }
        times
    }

    #[test]
    fn an_endpoint_is_asked_with_growing_pauses_while_clients_are_away() {
        let homes = Homes::new(3, 3, 30);
        assert_eq!(homes.asks_at(), None);
        let first = (0..5).filter(|client| homes.left(1, false, 1000 * MS + client));
        assert_eq!(first.count(), 1);
        assert_eq!(
            asked(&homes, 30_000 * MS, false),
            [1250, 1750, 2750, 4750, 8750, 13_750, 18_750, 23_750, 28_750]
        );
        for _ in 0..5 {
            homes.returned(1, 0);
        }
        assert_eq!(homes.asks_at(), None);
    }

    #[test]
    fn clients_return_one_after_the_other_when_it_is_open() {
        let homes = Homes::new(3, 3, 30);
        homes.left(1, false, 1000 * MS);
        assert!(!homes.is_turn(1, 1, 9000 * MS));
        assert_eq!(asked(&homes, 30_000 * MS, true), [1250]);
        let turn = |client| (0..).find(|ms| homes.is_turn(1, client, ms * MS)).unwrap();
        let turns: Vec<u64> = (0..10).map(|rank| turn(1 + 3 * rank)).collect();
        let wanted: Vec<u64> = (0..10).map(|rank| 1250 + 200 * rank).collect();
        assert_eq!(turns, wanted);
        let lost_and_back = Some((1000 * MS, 1250 * MS));
        let reported = [0, 1].map(|_| homes.returned(1, 9000 * MS));
        assert_eq!(reported, [lost_and_back, None]);
        // The others' endpoints were not lost.
        assert!(!homes.is_turn(0, 0, 9000 * MS));
    }

    #[test]
    fn an_endpoint_that_comes_and_goes_is_asked_ever_more_seldom() {
        let homes = Homes::new(2, 2, 2);
        let mut now = 0;
        let mut pauses = Vec::new();
        for _ in 0..4 {
            homes.left(0, false, now);
            let at = homes.asks_at().unwrap();
            pauses.push((at - now) / MS);
            homes.ask(at, |_| true);
            homes.returned(0, at);
            now = at + 1000 * MS;
        }
        assert_eq!(pauses, [250, 500, 1000, 2000]);
        // Steady for a while: as at first.
        homes.left(0, false, now + 20_000 * MS);
        assert_eq!(homes.asks_at(), Some(now + 20_250 * MS));
    }

    #[test]
    fn a_client_that_is_refused_where_it_returns_has_the_endpoint_asked_again() {
        let homes = Homes::new(2, 2, 2);
        homes.left(0, false, 0);
        homes.ask(250 * MS, |_| true);
        assert!(homes.is_turn(0, 0, 250 * MS));
        homes.left(0, true, 300 * MS);
        assert!(!homes.is_turn(0, 0, 9000 * MS));
        assert_eq!(homes.asks_at(), Some(800 * MS));
        homes.returned(0, 900 * MS);
        assert_eq!(homes.asks_at(), None);
    }

    #[test]
    fn an_endpoint_that_joins_is_open_and_asked_only_when_it_is_lost() {
        let homes = Homes::new(2, 3, 6);
        homes.left(0, false, 1000 * MS);
        // One of its clients was away from its own.
        homes.rehomed((0, true), (2, true), 1100 * MS);
        homes.rehomed((1, false), (2, true), 1150 * MS);
        assert!(homes.is_turn(2, 0, 1100 * MS));
        assert_eq!(homes.asks_at(), None);
        assert_eq!([0, 1].map(|_| homes.returned(2, 1200 * MS)), [None, None]);
        assert!(homes.left(2, false, 2000 * MS));
        assert!(!homes.is_turn(2, 0, 9000 * MS));
        assert_eq!(homes.asks_at(), Some(2250 * MS));
        homes.ask(2250 * MS, |_| true);
        assert_eq!(homes.returned(2, 2300 * MS), Some((2000 * MS, 2250 * MS)));
    }
}
