//! What the tries of transactions cost: those that were committed, and those that were thrown away.

/// Time and statements of tries, by what became of them. Those of transactions whose outcome is
/// unknown, or that the end of the run interrupted, are in neither.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Time in tries that were committed, in microseconds.
    pub kept_us: u64,
    pub kept_statements: u64,
    /// Tries that failed, whether another followed or not.
    pub lost_tries: u64,
    /// Time in them until they were rolled back, in microseconds.
    pub lost_us: u64,
    pub lost_statements: u64,
    /// Pauses between tries, in microseconds: in no other figure here.
    pub backoff_us: u64,
    /// Transactions that failed with an error that might be tried again, after their last try.
    pub given_up: u64,
    /// Those that would have been tried again, had the run not been over.
    pub cut_off: u64,
    /// Retries that the server made itself, as committed transactions report
    /// ([`crate::Script::server_retries`]).
    pub server_retries: u64,
}

impl Work {
    /// The share of the time in tries that was thrown away, 0 to 1; `None` without any.
    pub fn lost_time_share(&self) -> Option<f64> {
        share(self.lost_us, self.kept_us)
    }

    /// The share of statements that were thrown away, 0 to 1; `None` without any.
    pub fn lost_statement_share(&self) -> Option<f64> {
        share(self.lost_statements, self.kept_statements)
    }

    pub fn merge(&mut self, other: &Self) {
        self.kept_us += other.kept_us;
        self.kept_statements += other.kept_statements;
        self.lost_tries += other.lost_tries;
        self.lost_us += other.lost_us;
        self.lost_statements += other.lost_statements;
        self.backoff_us += other.backoff_us;
        self.given_up += other.given_up;
        self.cut_off += other.cut_off;
        self.server_retries += other.server_retries;
    }
}

fn share(lost: u64, kept: u64) -> Option<f64> {
    let all = lost + kept;
    (all > 0).then(|| lost as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_thrown_away_is_a_share_of_all_that_was_done() {
        let work = Work {
            kept_us: 300,
            kept_statements: 9,
            lost_us: 100,
            lost_statements: 1,
            ..Work::default()
        };
        let mut twice = work.clone();
        twice.merge(&work);
        assert_eq!(twice.lost_time_share(), Some(0.25));
        assert_eq!(twice.lost_statement_share(), Some(0.1));
        assert_eq!(Work::default().lost_time_share(), None);
    }
}
