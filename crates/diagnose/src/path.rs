//! The way between client and server, as `client.ping` measured it before clients began.

use pgdyno_model::Outcome;
use serde_json::Value;

/// On one host an empty statement takes up to so long with nothing between: a wake-up at either end
/// (measured: 25 to 120 µs over a Unix socket and over loopback, bench/VERDICT.md). Less is no delay.
const LOCAL_MAX_US: f64 = 300.0;

/// What is known of it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Way {
    /// The shortest round trip of an empty statement.
    pub least_us: Option<f64>,
    /// The shortest that the kernel measured to the next end of the connection; over TCP only.
    pub tcp_us: Option<f64>,
    /// Whether the server is on this host; `None` where that is not known.
    pub is_local: Option<bool>,
}

impl Way {
    pub fn of(outcome: &Outcome) -> Self {
        let observed = &outcome.observed;
        let ping = observed.fact("ping");
        let number = |name: &str| ping.and_then(|ping| ping.get(name)).and_then(Value::as_f64);
        let role = observed.fact("host.role").and_then(Value::as_str);
        let facts = &outcome.facts;
        Self {
            least_us: number("least_us"),
            tcp_us: number("tcp_min_rtt_us").filter(|us| *us > 0.0),
            is_local: match role {
                Some("client and server") => Some(true),
                Some("client") => Some(false),
                _ => facts.same_host.known().copied(),
            },
        }
    }

    /// What a round trip takes on the way; 0 on one host unless more was measured than two wake-ups.
    pub fn trip_us(&self) -> f64 {
        let least_us = self.least_us.unwrap_or(0.0);
        match self.is_local {
            Some(false) => least_us.max(self.tcp_us.unwrap_or(0.0)),
            _ if least_us > LOCAL_MAX_US => least_us,
            _ => 0.0,
        }
    }

    /// Whether the kernel at the next end answers much sooner than the server: then a program between
    /// them takes the time, a proxy or a tunnel.
    pub fn is_behind_proxy(&self) -> bool {
        let (Some(least_us), Some(tcp_us)) = (self.least_us, self.tcp_us) else {
            return false;
        };
        self.trip_us() > 0.0 && least_us > 3.0 * tcp_us + LOCAL_MAX_US
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(least_us: f64, tcp_us: Option<f64>, is_local: Option<bool>) -> Way {
        Way {
            least_us: Some(least_us),
            tcp_us,
            is_local,
        }
    }

    #[test]
    fn on_one_host_there_is_no_way_unless_a_delay_was_measured() {
        assert_eq!(way(80.0, Some(20.0), Some(true)).trip_us(), 0.0);
        assert_eq!(way(80.0, None, None).trip_us(), 0.0);
        assert_eq!(way(2100.0, Some(20.0), Some(true)).trip_us(), 2100.0);
        assert_eq!(way(80.0, Some(60.0), Some(false)).trip_us(), 80.0);
        assert_eq!(Way::default().trip_us(), 0.0);
    }

    #[test]
    fn a_program_between_answers_later_than_the_kernel() {
        assert!(way(2100.0, Some(20.0), Some(true)).is_behind_proxy());
        assert!(!way(600.0, Some(550.0), Some(false)).is_behind_proxy());
        assert!(!way(80.0, Some(20.0), Some(true)).is_behind_proxy());
    }
}
