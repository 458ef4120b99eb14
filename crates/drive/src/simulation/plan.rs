//! What one schedule does: drawn from a seed, written as one line, made smaller while it still fails.

use pgdyno_script::Prng;

/// The kinds of faults; [`Plan::kinds`] has a bit for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// An error that may be tried again.
    Retryable,
    /// An error that may not.
    Fatal,
    /// COMMIT is answered by an error that leaves open what has become of it.
    Ambiguous,
    /// COMMIT is answered with ROLLBACK.
    RolledBack,
    /// The connection breaks before the server has read what was sent.
    LostBefore,
    /// The connection breaks within the answer.
    LostAfter,
    /// The server ends the session with a FATAL error, at any time.
    Terminated,
    /// A connection is refused, at once, later, or by the server.
    Refused,
    /// The server never answers again.
    Silent,
    Slow,
    /// Process and clock stop for up to 1.5 seconds.
    ClockStep,
    /// A notice comes before an answer.
    Notice,
    /// A server is gone for up to two seconds: its connections break, and it refuses others.
    Down,
}

impl Fault {
    pub(super) const ALL: [Self; 13] = [
        Self::Retryable,
        Self::Fatal,
        Self::Ambiguous,
        Self::RolledBack,
        Self::LostBefore,
        Self::LostAfter,
        Self::Terminated,
        Self::Refused,
        Self::Silent,
        Self::Slow,
        Self::ClockStep,
        Self::Notice,
        Self::Down,
    ];
}

macro_rules! plan {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// One schedule. All fields are numbers, so that a smaller one is easily made.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub(super) struct Plan {
            pub(super) seed: u64,
            $($(#[$doc])* pub(super) $name: u64,)*
        }

        impl Plan {
            const NAMES: &[&str] = &[$(stringify!($name)),*];

            fn values(&self) -> Vec<u64> {
                vec![$(self.$name),*]
            }

            fn set(&mut self, name: &str, value: u64) -> bool {
                match name {
                    $(stringify!($name) => self.$name = value,)*
                    _ => return false,
                }
                true
            }
        }
    };
}

plan! {
    clients,
    transactions,
    /// 0: the run ends by its transactions.
    duration_ms,
    warmup_ms,
    /// Transactions a second; 0: a closed loop.
    rate,
    /// With a rate; 0: none.
    latency_limit_ms,
    max_tries,
    backoff_ms,
    retry_deadline_ms,
    /// Whether clients connect again, and go on after errors.
    goes_on,
    mode,
    script,
    connect_each,
    /// Whether answers of ROLLBACK to COMMIT are looked for.
    checks_commit,
    /// When the run is stopped from outside; 0: it is not.
    stop_ms,
    /// Whether it is stopped without grace.
    stops_now,
    /// Whether messages come in parts.
    splits,
    /// Whether times are whole milliseconds, so that they coincide.
    is_coarse,
    /// So many faults at most.
    faults,
    /// The probability of a fault where there may be one, in percent.
    fault_percent,
    /// The kinds of [`Fault`] that happen.
    kinds,
    /// Whether they happen before the run as well.
    faults_early,
    /// Servers of the one database, each an endpoint; at least one.
    endpoints,
    /// Whether clients return to their endpoint.
    comes_back,
    /// Whether transactions are tried again that were lost with their connection.
    retries_lost,
    /// For so long half of the clients work, then all, then none, then one after the other; 0: always
    /// all.
    working_ms,
}

impl Plan {
    pub(super) fn of(seed: u64) -> Self {
        let mut random = Prng::seed(seed ^ 0x7369_6d75_6c61_7465);
        let mut up_to = |high: u64| random.range_u64(0, high);
        let is_timed = up_to(2) == 0;
        let has_rate = up_to(2) == 0;
        Self {
            seed,
            clients: 1 + up_to(5),
            transactions: 1 + up_to(7),
            duration_ms: if is_timed { 20 + up_to(1500) } else { 0 },
            warmup_ms: if up_to(3) == 0 { 1 + up_to(1200) } else { 0 },
            rate: if has_rate { 20 + up_to(200) } else { 0 },
            latency_limit_ms: if up_to(2) == 0 { 1 + up_to(50) } else { 0 },
            max_tries: 1 + up_to(4),
            backoff_ms: if up_to(1) == 0 { up_to(20) } else { 0 },
            retry_deadline_ms: if up_to(3) == 0 { 1 + up_to(60) } else { 0 },
            goes_on: up_to(3).min(1),
            mode: up_to(2),
            script: up_to(3),
            connect_each: u64::from(up_to(7) == 0),
            checks_commit: up_to(1),
            stop_ms: if up_to(5) == 0 { 1 + up_to(800) } else { 0 },
            stops_now: up_to(1),
            splits: up_to(1),
            is_coarse: up_to(1),
            faults: if up_to(4) == 0 { 0 } else { 1 + up_to(15) },
            fault_percent: [2, 5, 15, 40][up_to(3) as usize],
            kinds: up_to((1 << Fault::ALL.len()) - 1),
            faults_early: u64::from(up_to(7) == 0),
            endpoints: 1 + up_to(2),
            comes_back: up_to(2).min(1),
            retries_lost: up_to(1),
            working_ms: if is_timed && up_to(1) == 0 {
                1 + up_to(200)
            } else {
                0
            },
        }
    }

    pub(super) fn has(&self, fault: Fault) -> bool {
        self.kinds & 1 << fault as u64 != 0
    }

    /// The plan of a line as [`Plan::line`] writes it.
    pub(super) fn read(line: &str) -> Result<Self, String> {
        let mut words = line.split_whitespace();
        let seed = words.next().and_then(|seed| seed.parse().ok());
        let mut plan = Self::of(seed.ok_or("PGDYNO_SEED begins with a number")?);
        for word in words {
            let value = word.split_once('=');
            let value = value.and_then(|(name, value)| Some((name, value.parse().ok()?)));
            let is_set = value.is_some_and(|(name, value)| plan.set(name, value));
            if !is_set {
                return Err(format!("PGDYNO_SEED has the unknown word {word}"));
            }
        }
        Ok(plan)
    }

    /// The seed, and what differs from what it gives.
    pub(super) fn line(&self) -> String {
        let mut line = self.seed.to_string();
        let given = Self::of(self.seed).values();
        for ((name, now), given) in Self::NAMES.iter().zip(self.values()).zip(given) {
            if now != given {
                line += &format!(" {name}={now}");
            }
        }
        line
    }

    /// Smaller plans, the smallest of each field first.
    pub(super) fn smaller(&self) -> Vec<Self> {
        let mut plans = Vec::new();
        for (name, value) in Self::NAMES.iter().zip(self.values()) {
            let least =
                u64::from(["clients", "transactions", "max_tries", "endpoints"].contains(name));
            let values: Vec<u64> = match *name {
                "kinds" => (0..Fault::ALL.len())
                    .map(|bit| value & !(1 << bit))
                    .collect(),
                "mode" | "script" | "is_coarse" => vec![0],
                _ => vec![least, value / 2, value.saturating_sub(1)],
            };
            for smaller in values {
                if (least..value).contains(&smaller) {
                    let mut plan = self.clone();
                    plan.set(name, smaller);
                    plans.push(plan);
                }
            }
        }
        plans
    }

    /// The smallest plan that still fails, found field by field.
    pub(super) fn shrunk(mut self, fails: impl Fn(&Self) -> bool) -> Self {
        // Each round makes some number smaller.
        while let Some(smaller) = self.smaller().into_iter().find(&fails) {
            self = smaller;
        }
        self
    }
}

#[test]
fn a_plan_is_read_from_its_line() {
    let mut plan = Plan::of(7);
    assert_eq!(Plan::read("7"), Ok(plan.clone()));
    (plan.clients, plan.kinds) = (40, 3);
    assert_eq!(Plan::read(&plan.line()), Ok(plan));
    assert!(Plan::read("7 clients").is_err() && Plan::read("7 x=1").is_err());
    assert!(Plan::read("").is_err());
}

#[test]
fn a_plan_is_shrunk_to_what_fails() {
    let shrunk = Plan::of(11).shrunk(|plan| plan.clients >= 1 && plan.fault_percent >= 2);
    assert_eq!((shrunk.clients, shrunk.fault_percent), (1, 2));
    assert_eq!((shrunk.kinds, shrunk.transactions, shrunk.rate), (0, 1, 0));
}
