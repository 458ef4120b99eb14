//! Disturbances of the network as they are typed: `pgdyno:net-delay ms=50 endpoint=db2 for=5s`.
//!
//! Not here: carrying them out (`run/via.rs`).

use std::fmt;
use std::time::Duration;

use super::command::ShellCommand;
use super::duration;
use crate::text::as_typed;

pub const NETWORK: &str = "pgdyno:net-";

/// What holds unless it is said.
const DELAY_MS: u64 = 50;
const JITTER_MS: u64 = 20;
const RATE: &str = "1MB";

/// Which way bytes go that are disturbed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ways {
    ToServer,
    ToClient,
    Both,
}

impl Ways {
    fn named(word: &str) -> Result<Ways, String> {
        match word {
            "to-server" => Ok(Ways::ToServer),
            "to-client" => Ok(Ways::ToClient),
            "both" => Ok(Ways::Both),
            _ => Err(format!(
                "direction is to-server, to-client or both, not \"{word}\""
            )),
        }
    }

    fn word(self) -> &'static str {
        match self {
            Ways::ToServer => "to-server",
            Ways::ToClient => "to-client",
            Ways::Both => "both",
        }
    }
}

/// What becomes of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkFault {
    /// What is sent arrives so much later, one way.
    Delay(Duration, Ways),
    /// And at most so much later, drawn for each packet.
    Jitter(Duration, Ways),
    /// All connections to an endpoint together carry so many bytes a second, each way.
    Bandwidth(u64, Ways),
    /// The connections that there are are reset.
    Cut,
    /// Nothing passes this way, and nothing is closed.
    Blocked(Ways),
    /// One end of the connections that there are is closed, the other does not learn of it: `true` if the server's end
    /// is closed.
    HalfOpen(bool),
}

/// One of them with its endpoint and its length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkStep {
    pub fault: NetworkFault,
    /// The endpoint, by its name or its number from 1; all of them without.
    pub endpoint: Option<String>,
    /// How long it lasts, where it says so itself.
    pub lasting: Option<Duration>,
}

/// Each with what it takes, as it is listed.
pub const FAULTS: [(&str, &str, &str); 7] = [
    (
        "delay",
        "ms=50 direction=both",
        "messages arrive later in each direction, so a round trip is delayed twice",
    ),
    (
        "jitter",
        "ms=20 direction=both",
        "delays messages by a random time up to this, in order",
    ),
    (
        "bandwidth",
        "rate=1MB direction=both",
        "limits all connections to an endpoint to this many bytes a second together",
    ),
    ("cut", "", "resets all connections; new ones work"),
    (
        "black-hole",
        "",
        "nothing arrives, and no connection is closed",
    ),
    (
        "half-open",
        "closed=server",
        "closes one end of each connection; the other end does not notice",
    ),
    ("one-way", "direction=to-client", "one direction is lost"),
];

impl NetworkStep {
    /// Of a command; `None` if it is about something else.
    ///
    /// # Errors
    /// It is about the network and says something that is not understood; with what can be said.
    pub fn of(command: &ShellCommand) -> Option<Result<NetworkStep, String>> {
        let text = command.secret().trim().strip_prefix(NETWORK)?;
        Some(NetworkStep::parse(text).map_err(|why| format!("{NETWORK}{text}: {why}")))
    }

    fn parse(text: &str) -> Result<NetworkStep, String> {
        let mut words = text.split_whitespace();
        let name = words.next().unwrap_or_default();
        let mut options = Options(words.map(str::to_owned).collect());
        let ms = |options: &mut Options, default| match options.take("ms")? {
            None => Ok(Duration::from_millis(default)),
            Some(text) => match text.parse::<f64>() {
                Ok(ms) if ms > 0.0 && ms <= 3_600_000.0 => Ok(Duration::from_secs_f64(ms / 1e3)),
                _ => Err(format!(
                    "ms is a number of milliseconds above 0, not \"{text}\""
                )),
            },
        };
        let ways = |options: &mut Options, default| match options.take("direction")? {
            None => Ok(default),
            Some(word) => Ways::named(&word),
        };
        let fault = match name {
            "delay" => {
                NetworkFault::Delay(ms(&mut options, DELAY_MS)?, ways(&mut options, Ways::Both)?)
            }
            "jitter" => NetworkFault::Jitter(
                ms(&mut options, JITTER_MS)?,
                ways(&mut options, Ways::Both)?,
            ),
            "bandwidth" => {
                let rate = options.take("rate")?.unwrap_or_else(|| RATE.to_owned());
                NetworkFault::Bandwidth(rate_of(&rate)?, ways(&mut options, Ways::Both)?)
            }
            "cut" => NetworkFault::Cut,
            "black-hole" => NetworkFault::Blocked(Ways::Both),
            "one-way" => match ways(&mut options, Ways::ToClient)? {
                Ways::Both => return Err("both directions are pgdyno:net-black-hole".to_owned()),
                way => NetworkFault::Blocked(way),
            },
            "half-open" => NetworkFault::HalfOpen(match options.take("closed")?.as_deref() {
                None | Some("server") => true,
                Some("client") => false,
                Some(other) => return Err(format!("closed is server or client, not \"{other}\"")),
            }),
            _ => {
                let names = FAULTS.map(|(name, ..)| format!("net-{name}")).join(", ");
                return Err(format!(
                    "there is no such disturbance: it is one of {names}"
                ));
            }
        };
        let lasting = match options.take("for")? {
            None => None,
            Some(_) if fault.is_a_moment() => {
                return Err("it happens at one moment: leave for= out".to_owned());
            }
            Some(time) => Some(duration::parse_positive(&time)?),
        };
        let endpoint = options.take("endpoint")?;
        match options.0.first() {
            Some(other) => Err(format!("\"{other}\" is not understood here")),
            None => Ok(NetworkStep {
                fault,
                endpoint,
                lasting,
            }),
        }
    }
}

impl NetworkFault {
    /// Whether it is done and over.
    pub fn is_a_moment(self) -> bool {
        matches!(self, NetworkFault::Cut | NetworkFault::HalfOpen(_))
    }
}

/// As it is typed after `pgdyno:`.
impl fmt::Display for NetworkStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        match self.fault {
            NetworkFault::Delay(time, ways) => {
                write!(f, "net-delay ms={} direction={}", ms(time), ways.word())?;
            }
            NetworkFault::Jitter(time, ways) => {
                write!(f, "net-jitter ms={} direction={}", ms(time), ways.word())?;
            }
            NetworkFault::Bandwidth(rate, ways) => {
                write!(f, "net-bandwidth rate={rate} direction={}", ways.word())?;
            }
            NetworkFault::Cut => write!(f, "net-cut")?,
            NetworkFault::Blocked(Ways::Both) => write!(f, "net-black-hole")?,
            NetworkFault::Blocked(ways) => write!(f, "net-one-way direction={}", ways.word())?,
            NetworkFault::HalfOpen(true) => write!(f, "net-half-open closed=server")?,
            NetworkFault::HalfOpen(false) => write!(f, "net-half-open closed=client")?,
        }
        if let Some(endpoint) = &self.endpoint {
            write!(f, " endpoint={endpoint}")?;
        }
        match self.lasting {
            Some(time) => write!(f, " for={}", as_typed(time)),
            None => Ok(()),
        }
    }
}

/// `name=value`, those that were not looked at yet.
struct Options(Vec<String>);

impl Options {
    fn take(&mut self, name: &str) -> Result<Option<String>, String> {
        let is_it = |word: &String| word.split_once('=').is_some_and(|(key, _)| key == name);
        let Some(at) = self.0.iter().position(is_it) else {
            return Ok(None);
        };
        let word = self.0.remove(at);
        if self.0.iter().any(is_it) {
            return Err(format!("{name} is said twice"));
        }
        Ok(word.split_once('=').map(|(_, value)| value.to_owned()))
    }
}

/// Bytes a second: `500000`, `500kB`, `1MB`, `2GB`; powers of ten.
///
/// # Errors
/// It is none; with what is.
pub fn rate_of(text: &str) -> Result<u64, String> {
    let wanted = || format!("rate is bytes a second (500kB, 1MB) above 0, not \"{text}\"");
    let end = text
        .find(|c: char| c.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let unit = match &text[end..] {
        "" | "B" => 1.0,
        "kB" | "k" => 1e3,
        "MB" | "M" => 1e6,
        "GB" | "G" => 1e9,
        _ => return Err(wanted()),
    };
    let number: f64 = text[..end].parse().map_err(|_| wanted())?;
    match number * unit {
        rate if (1.0..1e15).contains(&rate) => Ok(rate as u64),
        _ => Err(wanted()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<NetworkStep, String> {
        NetworkStep::of(&text.into()).unwrap()
    }

    #[test]
    fn each_fault_is_read_as_it_is_written() {
        assert!(NetworkStep::of(&"psql -c CHECKPOINT".into()).is_none());
        for (name, example, _) in FAULTS {
            let step = of(&format!("{NETWORK}{name} {example}")).unwrap();
            let written = format!("pgdyno:{step}");
            assert_eq!(of(&written).unwrap(), step, "{written}");
            assert_eq!(
                written.trim(),
                format!("{NETWORK}{name} {}", example.replace("1MB", "1000000")).trim()
            );
        }
        let step =
            of("pgdyno:net-one-way direction=to-server endpoint=db2:5432 for=1500ms").unwrap();
        assert_eq!(step.fault, NetworkFault::Blocked(Ways::ToServer));
        assert_eq!(step.endpoint.as_deref(), Some("db2:5432"));
        assert_eq!(step.lasting, Some(Duration::from_millis(1500)));
        assert_eq!(of(&format!("pgdyno:{step}")).unwrap(), step);
    }

    #[test]
    fn what_is_not_understood_is_refused_with_what_can_be_said() {
        for (typed, said) in [
            ("net-dealy ms=5", "it is one of net-delay, net-jitter"),
            ("net-delay ms=0", "above 0, not \"0\""),
            ("net-delay ms=5 ms=6", "ms is said twice"),
            (
                "net-delay ms=5 direction=up",
                "to-server, to-client or both, not \"up\"",
            ),
            ("net-bandwidth rate=1mb", "500kB, 1MB"),
            ("net-one-way direction=both", "pgdyno:net-black-hole"),
            ("net-half-open closed=both", "server or client"),
            ("net-cut for=5s", "leave for= out"),
            ("net-cut now", "\"now\" is not understood"),
            ("net-black-hole for=soon", "soon"),
        ] {
            let why = of(&format!("pgdyno:{typed}")).unwrap_err();
            assert!(why.contains(said), "{typed}: {why}");
        }
    }
}
