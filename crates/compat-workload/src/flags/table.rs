//! What a flag is, and which flags a workload's verb takes. The flags themselves are in lists of their
//! own: those of every workload (`common.rs`), and each workload's (`ycsb.rs`, `kv.rs`, `bank.rs`).
//! (Facts: `--help` of 19.1; pkg/workload of CockroachDB up to 25.)

use pgdyno_platform::host;

use super::{bank, common, kv, ycsb};
use crate::generator::Generator;

/// What is done with a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Make and fill its tables.
    Init,
    /// Run its operations.
    Run,
    /// Look whether its tables hold what they ought to.
    Check,
}

impl Verb {
    /// All of them, in the order of help.
    pub const ALL: [Self; 3] = [Self::Init, Self::Run, Self::Check];

    /// Its word.
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
    /// The flag alone stands for true.
    Bool,
    /// A whole number.
    Int,
    /// A whole number that is not negative.
    Uint,
    /// A number.
    Float,
    /// A duration with its unit.
    Duration,
    /// Text.
    String,
    /// Text, or the flag alone, which stands for none.
    OptionalString,
}

impl Kind {
    /// pflag's word in help; a flag that stands for true has none.
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
    /// `init` and `run`.
    InitAndRun,
    /// `run` alone.
    Run,
}

/// A flag.
#[derive(Debug, PartialEq, Eq)]
pub struct Flag {
    /// Its name, without dashes.
    pub name: &'static str,
    /// What its values are.
    pub kind: Kind,
    /// Its value when it is not given, as help shows it; empty when that goes without saying.
    pub default: &'static str,
    /// What it does.
    pub usage: &'static str,
    /// Why it does nothing here, for those that do nothing.
    pub idle: Option<&'static str>,
    pub(super) on: On,
}

impl Flag {
    /// Those that a workload's verb takes, by name. Where a workload has a flag of its own by a name
    /// that all have, its own counts.
    pub fn all(generator: Generator, verb: Verb) -> Vec<&'static Self> {
        let own = match generator {
            Generator::Ycsb => ycsb::FLAGS,
            Generator::Kv => kv::FLAGS,
            Generator::Bank => bank::FLAGS,
        };
        let mut flags: Vec<&Self> = common::FLAGS
            .iter()
            .filter(|flag| own.iter().all(|its| its.name != flag.name))
            .chain(own)
            .filter(|flag| match flag.on {
                On::All => true,
                On::Init | On::InitAndRun => verb != Verb::Check,
                On::Run => verb == Verb::Run,
            })
            .collect();
        flags.sort_by_key(|flag| flag.name);
        flags
    }

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
            "concurrency" => default_concurrency().to_string(),
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

/// Workers when nobody says how many: two for each processor.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_stand_in_order_and_each_but_once() {
        for list in [common::FLAGS, ycsb::FLAGS, kv::FLAGS, bank::FLAGS] {
            assert!(list.windows(2).all(|pair| pair[0].name < pair[1].name));
        }
    }

    #[test]
    fn defaults_are_values_of_their_kinds() {
        use super::super::go_values as go;
        let lists = [common::FLAGS, ycsb::FLAGS, kv::FLAGS, bank::FLAGS];
        let flags = lists.into_iter().flatten();
        for flag in flags.filter(|flag| !flag.default.is_empty()) {
            let is_value = match flag.kind {
                Kind::Int => go::int(flag.default).is_ok(),
                Kind::Uint => go::uint(flag.default).is_ok(),
                Kind::Float => go::float(flag.default).is_ok(),
                Kind::Duration => go::duration(flag.default).is_ok(),
                Kind::Bool => flag.default.starts_with("true"),
                Kind::String | Kind::OptionalString => true,
            };
            assert!(is_value, "--{}", flag.name);
        }
    }

    /// The flags of `cockroach workload run … --help`: 19.1's, and those of later versions.
    #[test]
    fn no_flag_of_cockroachs_is_missing() {
        let common = "concurrency db drop duration histograms init max-ops max-rate method pprofport \
            ramp seed tolerate-errors logtostderr no-color vmodule count-errors display-every \
            display-format histogram-export-format openmetrics-labels isolation-level \
            prometheus-port warmup-conns conn-vars operation-receiver";
        for (generator, own) in [
            (
                Generator::Ycsb,
                "families initial-rows json request-distribution splits workload delete-freq \
                 insert-count insert-freq insert-hash insert-start max-scan-length min-scan-length \
                 read-freq read-modify-write-freq read-modify-write-in-txn record-count scan-freq \
                 scan-length-distribution select-for-update update-freq zero-padding",
            ),
            (
                Generator::Kv,
                "batch cycle-length max-block-bytes min-block-bytes read-percent secondary-index \
                 sequential span-percent splits use-opt write-seq zipfian del-percent enum \
                 follower-read-percent insert-count key-size num-shards prepare-read-only scatter \
                 sfu-wait-delay sfu-writes span-limit target-compression-ratio timeout txn-qos \
                 zipfian-s zipfian-v",
            ),
            (
                Generator::Bank,
                "rows payload-bytes ranges batch-size tables",
            ),
        ] {
            let flags = Flag::all(generator, Verb::Run);
            let has = |name: &str| flags.iter().any(|flag| flag.name == name);
            for name in common.split_whitespace().chain(own.split_whitespace()) {
                assert!(has(name), "{generator:?} {name}");
            }
        }
        let has = |verb, name| {
            Flag::all(Generator::Ycsb, verb)
                .iter()
                .any(|f| f.name == name)
        };
        assert!(has(Verb::Init, "drop") && !has(Verb::Check, "drop"));
        assert!(has(Verb::Check, "insert-count"));
    }
}
