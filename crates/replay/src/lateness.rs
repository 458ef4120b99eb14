//! Why a statement started late, and what caused it. All parts of a statement's lateness add up to it, to
//! the nanosecond.
//!
//! A statement waits for its connection, for its session's statement before it, for commits of other sessions
//! that come first, and for the generator, in this order. Its wait for the statement before is that one's lateness, inherited with its causes, and
//! beyond that the time by which it took longer than recorded.

/// A time of the monotonic clock.
pub type Nanos = u64;

/// Causes of a session that are counted apart; further ones are added to the greatest.
const CAUSES_MAX: usize = 8;

/// What a statement's lateness is due to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// pgdyno did not run, or was busy with other sessions.
    Generator,
    /// The session was not connected yet.
    Connection,
    /// Another session's commit, which ended before in the recording, had not.
    Order,
    /// A statement of the same session took longer than the recording has room for.
    Slow(Slow),
}

/// One execution of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slow {
    /// Unique in the replay.
    pub execution: u64,
    pub text: u32,
    pub session: u32,
    /// When it was due, in the replay.
    pub planned: Nanos,
    pub took_ns: Nanos,
    pub recorded_ns: Option<Nanos>,
}

/// A statement's lateness by cause.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blame {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub cause: Cause,
    pub ns: Nanos,
}

impl Blame {
    pub fn total_ns(&self) -> Nanos {
        self.parts.iter().map(|part| part.ns).sum()
    }

    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    fn add(&mut self, cause: Cause, ns: Nanos) {
        if ns == 0 {
            return;
        }
        if let Some(part) = self.parts.iter_mut().find(|part| part.cause == cause) {
            part.ns += ns;
        } else if self.parts.len() < CAUSES_MAX {
            self.parts.push(Part { cause, ns });
        } else if let Some(most) = self.parts.iter_mut().max_by_key(|part| part.ns) {
            most.ns += ns;
        }
    }

    /// So much of it, each cause by its share. What rounding leaves goes to the greatest one.
    fn inherited(&self, ns: Nanos) -> Self {
        let total = self.total_ns();
        let mut inherited = Self::default();
        if total == 0 || ns == 0 {
            return inherited;
        }
        for part in &self.parts {
            let share = u128::from(part.ns) * u128::from(ns) / u128::from(total);
            let share = Nanos::try_from(share).unwrap_or(ns);
            inherited.parts.push(Part {
                cause: part.cause.clone(),
                ns: share,
            });
        }
        let rest = ns - inherited.total_ns();
        if let Some(most) = inherited.parts.iter_mut().max_by_key(|part| part.ns) {
            most.ns += rest;
        }
        inherited.parts.retain(|part| part.ns > 0);
        inherited
    }
}

/// What a statement waited for, as it happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    pub connection_ns: Nanos,
    pub earlier_ns: Nanos,
    pub order_ns: Nanos,
    pub generator_ns: Nanos,
}

impl Waits {
    pub fn total_ns(&self) -> Nanos {
        self.connection_ns + self.earlier_ns + self.order_ns + self.generator_ns
    }
}

/// The statement that a session executed last.
#[derive(Clone, Debug, Default)]
pub struct Before {
    /// When it was answered.
    pub free_at: Nanos,
    pub blame: Blame,
    pub slow: Option<Slow>,
}

/// Splits the lateness of a statement that was planned and started then, on a session that was connected
/// at `connected_at`; what it had to wait for in other sessions was over at `released_at`.
pub fn split(
    planned: Nanos,
    started: Nanos,
    connected_at: Nanos,
    released_at: Nanos,
    before: &Before,
) -> (Waits, Blame) {
    let mut waits = Waits::default();
    let mut from = planned;
    let mut until = |to: Nanos| {
        let to = to.min(started);
        let ns = to.saturating_sub(from);
        from = from.max(to);
        ns
    };
    // A session that was lost is connected after its last answer.
    if connected_at <= before.free_at {
        waits.connection_ns = until(connected_at);
        waits.earlier_ns = until(before.free_at);
    } else {
        waits.earlier_ns = until(before.free_at);
        waits.connection_ns = until(connected_at);
    }
    waits.order_ns = until(released_at);
    waits.generator_ns = until(started);
    let inherited_ns = waits.earlier_ns.min(before.blame.total_ns());
    let mut blame = before.blame.inherited(inherited_ns);
    let own_ns = waits.earlier_ns - inherited_ns;
    match before.slow {
        Some(slow) => blame.add(Cause::Slow(slow), own_ns),
        None => blame.add(Cause::Connection, own_ns),
    }
    blame.add(Cause::Connection, waits.connection_ns);
    blame.add(Cause::Order, waits.order_ns);
    blame.add(Cause::Generator, waits.generator_ns);
    (waits, blame)
}

#[cfg(test)]
mod tests {
    use pgdyno_stats::SplitMix64;

    use super::*;

    fn slow(execution: u64) -> Slow {
        Slow {
            execution,
            text: 0,
            session: 0,
            planned: 0,
            took_ns: 0,
            recorded_ns: None,
        }
    }

    fn before(free_at: Nanos, parts: &[(Cause, Nanos)]) -> Before {
        let mut blame = Blame::default();
        parts
            .iter()
            .for_each(|(cause, ns)| blame.add(cause.clone(), *ns));
        Before {
            free_at,
            blame,
            slow: Some(slow(1)),
        }
    }

    fn parts(blame: &Blame) -> Vec<(Cause, Nanos)> {
        blame
            .parts
            .iter()
            .map(|part| (part.cause.clone(), part.ns))
            .collect()
    }

    #[test]
    fn a_statement_on_time_has_no_lateness() {
        let (waits, blame) = split(100, 100, 50, 0, &before(90, &[]));
        assert_eq!((waits.total_ns(), blame.total_ns()), (0, 0));
    }

    #[test]
    fn a_free_session_that_is_not_served_is_the_generators() {
        let (waits, blame) = split(100, 130, 50, 0, &before(90, &[]));
        assert_eq!(waits.generator_ns, 30);
        assert_eq!(parts(&blame), [(Cause::Generator, 30)]);
    }

    #[test]
    fn what_a_slow_statement_does_to_those_behind_it_is_its_own() {
        // It was on time, and took until 400.
        let (_, second) = split(100, 402, 50, 0, &before(400, &[]));
        assert_eq!(
            parts(&second),
            [(Cause::Slow(slow(1)), 300), (Cause::Generator, 2)]
        );
        // The second one was as fast as ever, and the third waits for it.
        let behind = Before {
            free_at: 412,
            blame: second,
            slow: Some(slow(2)),
        };
        let (waits, third) = split(150, 412, 50, 0, &behind);
        assert_eq!(waits.earlier_ns, 262);
        assert_eq!(third.total_ns(), 262);
        assert_eq!(
            parts(&third),
            [(Cause::Slow(slow(1)), 261), (Cause::Generator, 1)]
        );
    }

    #[test]
    fn a_connection_that_is_late_is_the_connections() {
        let (waits, blame) = split(100, 140, 130, 0, &Before::default());
        assert_eq!((waits.connection_ns, waits.generator_ns), (30, 10));
        assert_eq!(
            parts(&blame),
            [(Cause::Connection, 30), (Cause::Generator, 10)]
        );
        // Lost after the statement before.
        let (waits, _) = split(100, 140, 130, 0, &before(120, &[]));
        assert_eq!(
            (waits.earlier_ns, waits.connection_ns, waits.generator_ns),
            (20, 10, 10)
        );
    }

    #[test]
    fn a_wait_for_another_session_is_the_orders() {
        let (waits, blame) = split(100, 140, 50, 135, &before(110, &[]));
        assert_eq!(
            (waits.earlier_ns, waits.order_ns, waits.generator_ns),
            (10, 25, 5)
        );
        let causes = [
            (Cause::Slow(slow(1)), 10),
            (Cause::Order, 25),
            (Cause::Generator, 5),
        ];
        assert_eq!(parts(&blame), causes);
    }

    #[test]
    fn parts_and_causes_add_up_whatever_happens() {
        let mut draw = SplitMix64(3);
        let mut last = Before::default();
        let (mut connected_at, mut clock) = (0, 0);
        for execution in 0..20_000 {
            let planned = clock + draw.next() % 50;
            let free_at = last.free_at;
            if draw.next().is_multiple_of(50) {
                connected_at = free_at + draw.next() % 100;
            }
            let started = planned.max(free_at).max(connected_at) + draw.next() % 9;
            let released_at = planned + draw.next() % 90;
            let (waits, blame) = split(planned, started, connected_at, released_at, &last);
            assert_eq!(waits.total_ns(), started - planned);
            assert_eq!(blame.total_ns(), started - planned, "{blame:?}");
            assert!(blame.parts.len() <= CAUSES_MAX);
            last = Before {
                free_at: started + draw.next() % 60,
                blame,
                slow: Some(slow(execution)),
            };
            clock = planned;
        }
    }
}
