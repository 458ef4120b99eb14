//! What a flag is, and which verbs there are.
//! (Facts: `--help` of 19.1; pkg/workload of CockroachDB up to 25.)

use pgdyno_platform::host;

/// What is done with a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Make and fill its tables.
    Init,
    Run,
    /// Look whether its tables hold what they ought to.
    Check,
}

impl Verb {
    /// All of them, in the order of help.
    pub const ALL: [Self; 3] = [Self::Init, Self::Run, Self::Check];

    pub fn name(self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::Run => "run",
            Self::Check => "check",
        }
    }
}

/// What values a flag has, by pflag's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The flag alone means true.
    Bool,
    Int,
    /// A whole number that is not negative.
    Uint,
    Float,
    /// A duration with its unit.
    Duration,
    String,
    /// Text, or the flag alone, which means none.
    OptionalString,
}

impl Kind {
    /// pflag's word in help; a flag that means true has none.
    pub fn word(self) -> &'static str {
        match self {
            Self::Bool => "",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Float => "float",
            Self::Duration => "duration",
            Self::String => "string",
            Self::OptionalString => "string[=\"\"]",
        }
    }
}

/// Which verbs take a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum On {
    /// Every verb: what the workload is.
    All,
    /// `init`, and `run`, where it implies `--init`.
    Init,
    InitAndRun,
    Run,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Flag {
    pub name: &'static str,
    pub kind: Kind,
    /// Its value when it is not given, as help shows it; empty when that goes without saying.
    pub default: &'static str,
    pub usage: &'static str,
    /// Why it does nothing here, for those that do nothing.
    pub idle: Option<&'static str>,
    pub(super) on: On,
}

impl Flag {
    /// The value of a flag that is given without one.
    pub fn value_without_one(&self) -> Option<&'static str> {
        match self.kind {
            Kind::Bool => Some("true"),
            Kind::OptionalString => Some(""),
            _ => None,
        }
    }

    /// What help says of it on a verb.
    pub fn help(&self, verb: Verb) -> String {
        let mut text = self.usage.to_owned();
        if self.on == On::Init && verb == Verb::Run {
            text.push_str(" (implies --init)");
        }
        if self.idle.is_some() {
            text.push_str(" (accepted, does nothing here)");
        }
        let default = match self.name {
            "concurrency" if self.idle.is_none() => default_concurrency().to_string(),
            _ => self.default.to_owned(),
        };
        match (self.kind, default.as_str()) {
            (_, "") => {}
            (Kind::String, default) => text.push_str(&format!(" (default \"{default}\")")),
            (_, default) => text.push_str(&format!(" (default {default})")),
        }
        text
    }
}

/// The default number of workers: two for each processor.
pub fn default_concurrency() -> usize {
    2 * host::cpus()
}

pub(super) const fn flag(
    on: On,
    name: &'static str,
    kind: Kind,
    default: &'static str,
    usage: &'static str,
) -> Flag {
    Flag {
        name,
        kind,
        default,
        usage,
        idle: None,
        on,
    }
}

/// One that is accepted so that command lines go on to work, and does nothing, for this reason.
pub(super) const fn idle(
    on: On,
    name: &'static str,
    kind: Kind,
    usage: &'static str,
    why: &'static str,
) -> Flag {
    Flag {
        idle: Some(why),
        ..flag(on, name, kind, "", usage)
    }
}
