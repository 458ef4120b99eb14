//! Why tries of a thread failed, in the server's words: counted by reason, with one message of each.
//! Everything here happens after an error; nothing of it when all goes well.

use pgdyno_measurement::Reason;
use pgdyno_spec::{ErrorClass, ErrorRule};

use super::Then;

/// So many reasons are distinguished on a thread; the rest of them is one.
const REASONS_MAX: usize = 64;
/// So much of a message is kept.
const MESSAGE_BYTES_MAX: usize = 4000;

/// What a server's error is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cause {
    pub(crate) rule: Option<&'static ErrorRule>,
    pub(crate) sqlstate: [u8; 5],
}

impl Cause {
    /// Without an error of the server.
    pub(crate) fn of_rule(rule: &'static ErrorRule) -> Self {
        Self {
            rule: Some(rule),
            sqlstate: [0; 5],
        }
    }

    pub(crate) fn is_retryable(self) -> bool {
        self.rule.is_some_and(|rule| rule.is_retryable)
    }

    pub(crate) fn class(self) -> ErrorClass {
        self.rule.map_or(ErrorClass::Other, |rule| rule.class)
    }

    fn sqlstate(self) -> String {
        let text = String::from_utf8_lossy(&self.sqlstate);
        text.trim_end_matches('\0').to_owned()
    }

    fn name(self) -> String {
        self.rule.map_or_else(
            || format!("SQLSTATE {}", self.sqlstate()),
            |rule| rule.reason.to_owned(),
        )
    }
}

/// The reasons of one thread.
#[derive(Debug, Default)]
pub(crate) struct Reasons {
    known: Vec<(Cause, Reason)>,
}

impl Reasons {
    /// Takes note that there is such an error; its message is asked for once.
    pub(crate) fn seen(&mut self, cause: Cause, message: impl FnOnce() -> String) {
        if self.place(cause).is_some() || self.known.len() == REASONS_MAX {
            return;
        }
        let mut message = message();
        if message.len() > MESSAGE_BYTES_MAX {
            let end = (0..=MESSAGE_BYTES_MAX).rfind(|at| message.is_char_boundary(*at));
            message.truncate(end.unwrap_or(0));
            message.push('…');
        }
        let reason = Reason {
            class: cause.class(),
            name: cause.name(),
            sqlstate: cause.sqlstate(),
            retried: 0,
            ended: 0,
            message,
        };
        self.known.push((cause, reason));
    }

    /// A try was lost to a cause that was [`Reasons::seen`].
    pub(crate) fn lost(&mut self, cause: Cause, then: Then) {
        // Beyond the limit the last one represents all others.
        let at = self.place(cause).or(self.known.len().checked_sub(1));
        let Some((_, reason)) = at.map(|at| &mut self.known[at]) else {
            return;
        };
        match then {
            Then::Retry => reason.retried += 1,
            Then::Fail | Then::Abort => reason.ended += 1,
        }
    }

    pub(crate) fn restart(&mut self) {
        for (_, reason) in &mut self.known {
            (reason.retried, reason.ended) = (0, 0);
        }
    }

    /// Those that lost a try.
    pub(crate) fn finish(self) -> impl Iterator<Item = Reason> {
        let reasons = self.known.into_iter().map(|(_, reason)| reason);
        reasons.filter(|reason| reason.tries() > 0)
    }

    fn place(&self, cause: Cause) -> Option<usize> {
        self.known.iter().position(|(known, _)| *known == cause)
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_measurement::merge_reasons;

    use super::*;

    fn cause(number: u32) -> Cause {
        let digits = format!("{number:05}");
        Cause {
            rule: None,
            sqlstate: digits.as_bytes().try_into().unwrap(),
        }
    }

    #[test]
    fn each_reason_keeps_its_first_message_and_the_most_frequent_comes_first() {
        let mut reasons = Reasons::default();
        for (number, text) in [(1, "one"), (2, "two"), (2, "again")] {
            reasons.seen(cause(number), || text.to_owned());
            reasons.lost(cause(number), Then::Retry);
        }
        let mut all = Vec::new();
        merge_reasons(&mut all, reasons.finish().collect());
        let mut more = Reasons::default();
        more.seen(cause(1), || "elsewhere".to_owned());
        more.lost(cause(1), Then::Fail);
        more.lost(cause(1), Then::Retry);
        merge_reasons(&mut all, more.finish().collect());
        let reported = all
            .iter()
            .map(|r| (r.name.as_str(), r.retried, r.ended, r.message.as_str()));
        let reported: Vec<_> = reported.collect();
        assert_eq!(
            reported,
            [
                ("SQLSTATE 00001", 2, 1, "one"),
                ("SQLSTATE 00002", 2, 0, "two")
            ]
        );
    }

    #[test]
    fn reasons_and_their_messages_are_bounded() {
        let mut reasons = Reasons::default();
        for number in 0..200 {
            reasons.seen(cause(number), || "é".repeat(5000));
            reasons.lost(cause(number), Then::Fail);
        }
        let all: Vec<Reason> = reasons.finish().collect();
        assert_eq!(all.len(), REASONS_MAX);
        assert_eq!(all.iter().map(Reason::tries).sum::<u64>(), 200);
        assert!(all.iter().all(|r| r.message.len() <= MESSAGE_BYTES_MAX + 3));
    }

    #[test]
    fn what_the_warm_up_lost_does_not_count() {
        let mut reasons = Reasons::default();
        reasons.seen(cause(1), || "one".to_owned());
        reasons.lost(cause(1), Then::Fail);
        reasons.restart();
        assert_eq!(reasons.finish().count(), 0);
    }
}
