//! Where clients were, as far as the engine knows: each client is at one place at a time, so the times
//! of all places together are the clients' time, to the nanosecond.
//!
//! Not for what a server does for a client that waits for it: of that only `crates/observe` sees
//! something, and `crates/diagnose` puts both together.

/// What a client can be at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Activity {
    /// In a statement: it waits for the server's answer, or is about to send the next one.
    Statement,
    Think,
    /// Before the scheduled start of its next transaction.
    Schedule,
    /// Without a connection, making one.
    Connect,
    /// In the pause before another try.
    Backoff,
    /// Not one of the clients that are to work.
    Rest,
}

impl Activity {
    /// All of them, in their order.
    pub const ALL: [Activity; 6] = [
        Activity::Statement,
        Activity::Think,
        Activity::Schedule,
        Activity::Connect,
        Activity::Backoff,
        Activity::Rest,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Self::Statement => "statement",
            Self::Think => "think",
            Self::Schedule => "schedule",
            Self::Connect => "connect",
            Self::Backoff => "backoff",
            Self::Rest => "rest",
        }
    }
}

/// The clients' time in a stretch of the run, in nanoseconds, and what belongs to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientTime {
    pub at_ns: [u64; Activity::ALL.len()],
    /// After the moment that a client waited for had come, and before its thread attended to it: in
    /// none of the above.
    pub late_ns: u64,
    /// Of the time in statements, from the first bytes of an answer to its last.
    pub receiving_ns: u64,
    /// How often bytes were sent and an answer waited for.
    pub round_trips: u64,
    pub received_bytes: u64,
    /// Time of the engine's threads on a CPU.
    pub ran_ns: u64,
    /// Time in which they could have run and had no CPU.
    pub waited_ns: u64,
    /// Service times of the transactions whose delays in the generator were followed.
    pub followed_ns: u64,
    /// Of these, what their answers are estimated to have waited for the generator.
    pub added_ns: u64,
    /// Of these, what they waited at most.
    pub added_max_ns: u64,
}

impl ClientTime {
    pub fn at(&self, activity: Activity) -> u64 {
        self.at_ns[activity as usize]
    }

    pub fn all_ns(&self) -> u64 {
        self.at_ns.iter().sum::<u64>() + self.late_ns
    }

    /// The same without the time in which they rested.
    pub fn working_ns(&self) -> u64 {
        self.all_ns() - self.at(Activity::Rest)
    }

    pub fn merge(&mut self, other: &Self) {
        let theirs = other.numbers();
        let mut mine = self.numbers();
        for (mine, theirs) in mine.iter_mut().zip(theirs) {
            *mine += theirs;
        }
        *self = Self::from_numbers(mine);
    }

    /// Everything, as it is kept.
    pub fn numbers(&self) -> [u64; Self::NUMBERS] {
        let [statement, think, schedule, connect, backoff, rest] = self.at_ns;
        [
            statement,
            think,
            schedule,
            connect,
            backoff,
            rest,
            self.late_ns,
            self.receiving_ns,
            self.round_trips,
            self.received_bytes,
            self.ran_ns,
            self.waited_ns,
            self.followed_ns,
            self.added_ns,
            self.added_max_ns,
        ]
    }

    pub const NUMBERS: usize = 15;

    pub fn from_numbers(numbers: [u64; Self::NUMBERS]) -> Self {
        let [
            at_ns @ ..,
            late_ns,
            receiving_ns,
            round_trips,
            received_bytes,
            ran_ns,
            waited_ns,
            followed_ns,
            added_ns,
            added_max_ns,
        ] = numbers;
        Self {
            at_ns,
            late_ns,
            receiving_ns,
            round_trips,
            received_bytes,
            ran_ns,
            waited_ns,
            followed_ns,
            added_ns,
            added_max_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back() {
        let numbers = std::array::from_fn(|at| at as u64 * 7 + 1);
        let mut time = ClientTime::from_numbers(numbers);
        assert_eq!(time.numbers(), numbers);
        time.merge(&ClientTime::from_numbers(numbers));
        assert_eq!(time.numbers(), numbers.map(|n| 2 * n));
    }
}
