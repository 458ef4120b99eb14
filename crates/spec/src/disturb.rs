//! What disturbs a trial, as it is asked for: shell commands with their moments, and what is undone
//! afterwards (docs/disturb.md).
//!
//! Not here: running the commands (`run/disturb`), what came of them (`document::Disturbed`).

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use serde::{Deserialize, Deserializer, Serialize};

use super::command::ShellCommand;
use super::secret::MASK;
use super::{duration, serialized};
use crate::Exit;
use crate::exit::Failure;
use crate::text::as_typed;

/// How a command of pgdyno's own begins: `pgdyno:NAME key=value …`, of the catalogue in docs/disturb.md.
pub const OWN: &str = "pgdyno:";

/// The command that pgdyno carries out itself: it kills the primary of its private pair and promotes the
/// standby ([`super::Replication`]).
pub const FAILOVER: &str = "pgdyno:failover";

/// How long a trial runs before the first command when the user does not say.
const BEFORE_DEFAULT: Duration = Duration::from_secs(10);
/// How long it runs from the first command on.
const AFTER_DEFAULT: Duration = Duration::from_secs(20);
/// How long the undo may take.
const UNDO_LIMIT: Duration = Duration::from_secs(60);

/// Commands that run beside a trial. Times count from the moment when measuring begins.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Serialize, Deserialize)]
#[serde(default)]
#[command(next_help_heading = "Disturbance")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct DisturbSpec {
    /// Run this shell command (sh -c) while clients work, after --before
    ///
    /// Such as kubectl delete pod …, systemctl stop …, tc … Its exit code, times and output are kept. PGHOST, PGPORT, PGUSER,
    /// PGDATABASE and PGDYNO_ENDPOINTS tell it where the database is. pgdyno:NAME is a disturbance of
    /// pgdyno's own: pgdyno lab disturb --list
    #[arg(long, value_name = "COMMAND")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<String>"))]
    pub during: Option<ShellCommand>,

    /// Run another command so long after measuring began (repeatable): --at '60s COMMAND'
    #[arg(long, value_name = "TIME COMMAND")]
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "one_or_more"
    )]
    #[cfg_attr(feature = "typescript", ts(as = "Vec<String>"))]
    pub at: Vec<Timed>,

    /// How long the trial measures before --during [default: 10s]
    #[arg(long, id = "before_s", value_name = "TIME", value_parser = duration::parse_positive)]
    #[serde(
        rename = "before_s",
        alias = "before",
        with = "serialized::s",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<f64>"))]
    pub before: Option<Duration>,

    /// How long the disturbance lasts [default: until its last command ends]
    ///
    /// A command that still runs then is ended.
    #[arg(long = "for", id = "for_s", value_name = "TIME", value_parser = duration::parse_positive)]
    #[serde(
        rename = "for_s",
        alias = "for",
        with = "serialized::s",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<f64>"))]
    pub lasting: Option<Duration>,

    /// How long the trial goes on after --for, or without it after the last command has begun
    /// [default: 20s]
    #[arg(long, id = "after_s", value_name = "TIME", value_parser = duration::parse_positive)]
    #[serde(
        rename = "after_s",
        alias = "after",
        with = "serialized::s",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<f64>"))]
    pub after: Option<Duration>,

    /// Run this command when the trial is over, however it ended: after a failure and after Ctrl-C,
    /// too, once a command has been started
    #[arg(long, value_name = "COMMAND")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<String>"))]
    pub undo: Option<ShellCommand>,

    /// End a command that takes longer, and count it as failed [default: the end of the trial; for
    /// --undo 60s]
    #[arg(long, id = "command_timeout_s", value_name = "TIME", value_parser = duration::parse_positive)]
    #[serde(
        rename = "command_timeout_s",
        alias = "command_timeout",
        with = "serialized::s",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<f64>"))]
    pub command_timeout: Option<Duration>,

    /// What a transaction may take from its scheduled start to count as served
    /// [default: five times the p99 before the first command]
    #[arg(long, id = "within_us", value_name = "TIME", value_parser = duration::parse_positive)]
    #[serde(
        rename = "within_us",
        with = "serialized::us",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<f64>"))]
    pub within: Option<Duration>,

    /// Carry out what could harm a server that is not a private one of pgdyno's
    ///
    /// pgdyno lab disturb --list says which disturbances, and how.
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<bool>"))]
    pub yes: bool,

    /// One after the other: a command waits until those before it have ended, and what pgdyno did itself has
    /// been put back (else that is put back when the trial is over)
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<bool>"))]
    pub one_by_one: bool,

    /// Run none of the commands: the same trial without its disturbance, to compare with
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<bool>"))]
    pub control: bool,
}

/// A command with its moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// When it is due, counted from when measuring begins.
    pub at: Duration,
    /// What is run.
    pub command: ShellCommand,
}

impl Step {
    /// Whether it is [`FAILOVER`].
    pub fn is_failover(&self) -> bool {
        self.command.secret().trim() == FAILOVER
    }

    /// What follows [`OWN`], of a command of pgdyno's own: its name and its options.
    pub fn own(&self) -> Option<&str> {
        self.command.secret().trim().strip_prefix(OWN)
    }
}

/// `60s COMMAND`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Timed(pub Step);

impl FromStr for Timed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = "expected a time and a command, such as '60s systemctl start postgresql'";
        let (time, command) = text.trim().split_once(char::is_whitespace).ok_or(wanted)?;
        let at = duration::parse(time).map_err(|why| format!("{wanted}: {why}"))?;
        Ok(Self(Step {
            at,
            command: command.trim().into(),
        }))
    }
}

impl TryFrom<String> for Timed {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Timed> for String {
    fn from(timed: Timed) -> Self {
        timed.to_string()
    }
}

impl fmt::Display for Timed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Step { at, command } = &self.0;
        write!(f, "{} {}", as_typed(*at), command.public())
    }
}

/// A list, or a text with a line each, as a point of an experiment has it.
fn one_or_more<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Timed>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Given {
        Lines(String),
        List(Vec<Timed>),
    }
    match Given::deserialize(from)? {
        Given::List(list) => Ok(list),
        Given::Lines(text) => {
            let lines = text.lines().filter(|line| !line.trim().is_empty());
            let lines = lines.map(str::parse).collect::<Result<_, _>>();
            lines.map_err(serde::de::Error::custom)
        }
    }
}

impl DisturbSpec {
    /// Whether nothing disturbs the trial, and nothing is compared with it.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The commands in the order of their moments.
    pub fn steps(&self) -> Vec<Step> {
        let first = self.during.iter().map(|command| Step {
            at: self.before(),
            command: command.clone(),
        });
        let others = self.at.iter().map(|timed| timed.0.clone());
        let mut steps: Vec<Step> = first.chain(others).collect();
        steps.sort_by_key(|step| step.at);
        steps
    }

    /// How long nothing happens: until the first command.
    pub fn before(&self) -> Duration {
        self.before.unwrap_or(BEFORE_DEFAULT)
    }

    /// When the disturbance begins, counted from when measuring begins.
    pub fn begins(&self) -> Duration {
        let first = self.steps().first().map(|step| step.at);
        first.unwrap_or_else(|| self.before())
    }

    /// When what still runs of it is ended, where that is asked for.
    pub fn ends(&self) -> Option<Duration> {
        Some(self.begins() + self.lasting?)
    }

    /// How long the trial measures.
    pub fn whole(&self) -> Duration {
        let last = self.steps().last().map(|step| step.at);
        let until = self.ends().or(last).unwrap_or_else(|| self.before());
        until + self.after.unwrap_or(AFTER_DEFAULT)
    }

    /// How long the undo may take.
    pub fn undo_limit(&self) -> Duration {
        self.command_timeout.unwrap_or(UNDO_LIMIT)
    }

    /// What of it contradicts itself. `measured`: how long the trial measures by its other options.
    ///
    /// # Errors
    /// Something does, and the way out.
    pub fn check(&self, measured: Option<Duration>) -> Result<(), Failure> {
        if self.is_empty() {
            return Ok(());
        }
        let usage = |text: String| Err(Failure::with(Exit::Usage, text));
        let steps = self.steps();
        if steps.is_empty() {
            let failure = Failure::with(Exit::Usage, "nothing is to disturb the trial");
            return Err(failure.hint("name a command: --during 'COMMAND', or --at '60s COMMAND'"));
        }
        if let Some(undo) = &self.undo
            && undo.secret().trim().starts_with(OWN)
        {
            let text = format!(
                "--undo is a shell command, and {} is pgdyno's own",
                undo.public()
            );
            return Err(Failure::with(Exit::Usage, text).hint(
                "leave it out: what pgdyno does itself, it puts back itself when the trial is over",
            ));
        }
        let commands = steps.iter().map(|step| &step.command).chain(&self.undo);
        for command in commands {
            if command.secret().trim().is_empty() {
                return usage("a command of the disturbance is empty".to_owned());
            }
            if command.is_masked() && !self.control {
                let text = format!(
                    "the command `{}` had a secret, which is stored as {MASK}",
                    command.public()
                );
                return Err(Failure::with(Exit::Usage, text).hint(
                    "type it again, and let the command read its secret from a file or from an \
                     environment variable",
                ));
            }
        }
        let whole = self.whole();
        if let Some(late) = steps.iter().find(|step| step.at >= whole) {
            return usage(format!(
                "--at '{} …' comes when the trial is over: it measures {}",
                as_typed(late.at),
                as_typed(whole)
            ));
        }
        match measured {
            Some(asked) if asked != whole => {
                let text = format!(
                    "a disturbed trial measures as long as --before, --for and --after are together \
                     ({}), not {}",
                    as_typed(whole),
                    as_typed(asked)
                );
                Err(Failure::with(Exit::Usage, text).hint("leave --duration out"))
            }
            _ => Ok(()),
        }
    }

    /// What is to be typed for it, without secrets.
    pub(super) fn words(&self) -> Vec<String> {
        let commands = [("during", &self.during), ("undo", &self.undo)];
        let commands = commands
            .into_iter()
            .filter_map(|(name, command)| Some((name, command.as_ref()?.public())));
        let at = self.at.iter().map(|timed| ("at", timed.to_string()));
        let times = [
            ("before", self.before),
            ("for", self.lasting),
            ("after", self.after),
            ("command-timeout", self.command_timeout),
            ("within", self.within),
        ];
        let times = times
            .into_iter()
            .filter_map(|(name, time)| Some((name, as_typed(time?))));
        let all = commands.chain(at).chain(times);
        let mut words: Vec<String> = all
            .map(|(name, value)| format!("--{name}={value}"))
            .collect();
        words.extend(self.yes.then(|| "--yes".to_owned()));
        words.extend(self.one_by_one.then(|| "--one-by-one".to_owned()));
        words.extend(self.control.then(|| "--control".to_owned()));
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn of(during: &str) -> DisturbSpec {
        DisturbSpec {
            during: Some(during.into()),
            ..DisturbSpec::default()
        }
    }

    #[test]
    fn commands_come_in_the_order_of_their_moments() {
        let spec = DisturbSpec {
            before: Some(s(60)),
            at: vec!["90s b".parse().unwrap(), "5 a".parse().unwrap()],
            after: Some(s(30)),
            ..of("c")
        };
        let steps = spec.steps();
        let steps: Vec<_> = steps.iter().map(|s| (s.at, s.command.secret())).collect();
        assert_eq!(steps, [(s(5), "a"), (s(60), "c"), (s(90), "b")]);
        assert_eq!((spec.begins(), spec.whole()), (s(5), s(120)));
        let lasting = DisturbSpec {
            lasting: Some(s(7)),
            ..of("c")
        };
        assert_eq!((lasting.ends(), lasting.whole()), (Some(s(17)), s(37)));
    }

    #[test]
    fn what_contradicts_itself_is_refused_with_the_way_out() {
        let refused = |spec: DisturbSpec, measured| spec.check(measured).unwrap_err().to_string();
        let nothing = DisturbSpec {
            undo: Some("true".into()),
            ..DisturbSpec::default()
        };
        assert!(refused(nothing, None).contains("--during 'COMMAND'"));
        assert!(refused(of(" "), None).contains("empty"));
        let undo = DisturbSpec {
            undo: Some("pgdyno:checkpoint".into()),
            ..of("a")
        };
        assert!(refused(undo, None).contains("puts back itself"));
        let kept = of(&of("PGPASSWORD=s3cret x").during.unwrap().public());
        assert!(refused(kept.clone(), None).contains("type it again"));
        // Its commands are not run.
        let control = DisturbSpec {
            control: true,
            ..kept
        };
        control.check(None).unwrap();
        let late = DisturbSpec {
            at: vec!["45s b".parse().unwrap()],
            lasting: Some(s(1)),
            ..of("a")
        };
        assert!(
            refused(late, None).contains("'45s …' comes when the trial is over: it measures 31s")
        );
        assert!(refused(of("a"), Some(s(5))).contains("(30s), not 5s"));
        of("a").check(Some(s(30))).unwrap();
        DisturbSpec::default().check(Some(s(5))).unwrap();
        for wrong in ["", "60s", "soon b", "1x b"] {
            let why = wrong.parse::<Timed>().unwrap_err();
            assert!(why.contains("'60s systemctl"), "{wrong}: {why}");
        }
    }
}
