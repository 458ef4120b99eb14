//! Reading a command line with the habits of GNU's `getopt_long`, which pgbench's users have in
//! their fingers and scripts: clustered short options, options after other arguments, `--` and
//! POSIXLY_CORRECT, abbreviated long options, and the same complaints.
//!
//! pgdyno's own long options never get in the way: an abbreviation that fits one of pgbench's is
//! pgbench's.

use std::collections::VecDeque;

/// The id of a recognised option.
pub type Id = &'static str;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Long {
    pub name: &'static str,
    /// What it is; several names may mean the same.
    pub id: Id,
    pub argument: Argument,
    /// Whether it is pgdyno's and not pgbench's.
    pub is_own: bool,
}

/// Whether an option has an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Argument {
    None,
    Required,
    /// It may have one, after `=`.
    Optional,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShortOption {
    pub letter: char,
    pub id: Id,
    pub has_argument: bool,
}

/// An option as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedOption {
    pub id: Id,
    /// Its argument, if it has one.
    pub value: Option<String>,
}

/// Options one after the other.
#[derive(Debug)]
pub struct GetOpt<'a> {
    short: &'a [ShortOption],
    long: &'a [Long],
    arguments: VecDeque<String>,
    /// What is left of a cluster of short options.
    cluster: Option<String>,
    others: Vec<String>,
    stops_at_other: bool,
}

impl<'a> GetOpt<'a> {
    pub fn new(
        short: &'a [ShortOption],
        long: &'a [Long],
        arguments: impl IntoIterator<Item = String>,
        stops_at_other: bool,
    ) -> Self {
        Self {
            short,
            long,
            arguments: arguments.into_iter().collect(),
            cluster: None,
            others: Vec::new(),
            stops_at_other,
        }
    }

    /// The next option, or `None` when only other arguments are left.
    ///
    /// # Errors
    /// The complaint, without the program's name before it.
    pub fn next_option(&mut self) -> Result<Option<ParsedOption>, String> {
        if let Some(cluster) = self.cluster.take() {
            return self.next_short(&cluster).map(Some);
        }
        loop {
            let Some(argument) = self.arguments.pop_front() else {
                return Ok(None);
            };
            if argument == "--" {
                self.others.extend(self.arguments.drain(..));
            } else if let Some(long) = argument.strip_prefix("--") {
                return self.next_long(long).map(Some);
            } else if let Some(cluster) = argument.strip_prefix('-').filter(|c| !c.is_empty()) {
                return self.next_short(cluster).map(Some);
            } else {
                self.others.push(argument);
                if self.stops_at_other {
                    self.others.extend(self.arguments.drain(..));
                }
            }
        }
    }

    /// The arguments that are no options, in order.
    pub fn others(self) -> Vec<String> {
        self.others
    }

    fn next_short(&mut self, cluster: &str) -> Result<ParsedOption, String> {
        let mut letters = cluster.chars();
        // A cluster is never empty.
        let letter = letters.next().unwrap_or_default();
        let rest = letters.as_str();
        let Some(option) = self.short.iter().find(|option| option.letter == letter) else {
            return Err(format!("invalid option -- '{letter}'"));
        };
        let value = if !option.has_argument {
            self.cluster = (!rest.is_empty()).then(|| rest.to_owned());
            None
        } else if rest.is_empty() {
            let missing = || format!("option requires an argument -- '{letter}'");
            Some(self.arguments.pop_front().ok_or_else(missing)?)
        } else {
            Some(rest.to_owned())
        };
        Ok(ParsedOption {
            id: option.id,
            value,
        })
    }

    fn next_long(&mut self, typed: &str) -> Result<ParsedOption, String> {
        let (name, value) = match typed.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (typed, None),
        };
        let option = self.find_long(name, typed)?;
        let value = match (option.argument, value) {
            (Argument::None, Some(_)) => {
                return Err(format!(
                    "option '--{}' doesn't allow an argument",
                    option.name
                ));
            }
            (Argument::Required, None) => {
                let missing = || format!("option '--{}' requires an argument", option.name);
                Some(self.arguments.pop_front().ok_or_else(missing)?)
            }
            (_, value) => value,
        };
        Ok(ParsedOption {
            id: option.id,
            value,
        })
    }

    fn find_long(&self, name: &str, typed: &str) -> Result<Long, String> {
        if let Some(option) = self.long.iter().find(|option| option.name == name) {
            return Ok(*option);
        }
        for is_own in [false, true] {
            let fits = |option: &&Long| option.is_own == is_own && option.name.starts_with(name);
            let fitting: Vec<&Long> = self.long.iter().filter(fits).collect();
            let Some(first) = fitting.first() else {
                continue;
            };
            if fitting.iter().all(|option| option.id == first.id) {
                return Ok(**first);
            }
            let names = fitting.iter().map(|option| format!(" '--{}'", option.name));
            let names: String = names.collect();
            return Err(format!(
                "option '--{typed}' is ambiguous; possibilities:{names}"
            ));
        }
        Err(format!("unrecognized option '--{typed}'"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: &[ShortOption] = &[
        ShortOption {
            letter: 'c',
            id: "client",
            has_argument: true,
        },
        ShortOption {
            letter: 'n',
            id: "no-vacuum",
            has_argument: false,
        },
        ShortOption {
            letter: 'S',
            id: "select-only",
            has_argument: false,
        },
    ];

    const fn long(name: &'static str, argument: Argument, is_own: bool) -> Long {
        Long {
            name,
            id: name,
            argument,
            is_own,
        }
    }

    const LONG: &[Long] = &[
        long("client", Argument::Required, false),
        long("connect", Argument::None, false),
        long("select-only", Argument::None, false),
        long("scale", Argument::Required, false),
        long("seconds", Argument::None, true),
        long("percentiles", Argument::Optional, true),
        long("per-query", Argument::None, true),
    ];

    fn read(arguments: &[&str], stops: bool) -> Result<(Vec<String>, Vec<String>), String> {
        let arguments = arguments.iter().map(|a| (*a).to_owned());
        let mut getopt = GetOpt::new(SHORT, LONG, arguments, stops);
        let mut found = Vec::new();
        while let Some(option) = getopt.next_option()? {
            found.push(match option.value {
                Some(value) => format!("{}={value}", option.id),
                None => option.id.to_owned(),
            });
        }
        Ok((found, getopt.others()))
    }

    fn parsed(arguments: &[&str]) -> Vec<String> {
        read(arguments, false).unwrap().0
    }

    #[test]
    fn short_options_cluster_and_take_the_rest_as_their_argument() {
        assert_eq!(parsed(&["-nSc4"]), ["no-vacuum", "select-only", "client=4"]);
        assert_eq!(parsed(&["-nc", "4"]), ["no-vacuum", "client=4"]);
        assert_eq!(parsed(&["-c", "-n"]), ["client=-n"]);
    }

    #[test]
    fn long_options_may_be_abbreviated_and_end_in_their_argument() {
        assert_eq!(parsed(&["--cl=4", "--con"]), ["client=4", "connect"]);
        assert_eq!(parsed(&["--scale", "3"]), ["scale=3"]);
        assert_eq!(
            parsed(&["--percentiles", "--percentiles=99"]),
            ["percentiles", "percentiles=99"]
        );
    }

    #[test]
    fn an_abbreviation_that_fits_pgbench_is_not_ours() {
        // `--se` would be ambiguous if pgdyno's --seconds counted.
        assert_eq!(parsed(&["--se"]), ["select-only"]);
        assert_eq!(parsed(&["--sec"]), ["seconds"]);
    }

    #[test]
    fn options_may_follow_other_arguments_unless_posix_forbids_it() {
        let (options, others) = read(&["bench", "-n", "-", "--", "-S"], false).unwrap();
        assert_eq!(
            (options.as_slice(), others.len()),
            (&["no-vacuum".to_owned()][..], 3)
        );
        let (options, others) = read(&["bench", "-n"], true).unwrap();
        assert!(options.is_empty());
        assert_eq!(others, ["bench", "-n"]);
    }

    #[test]
    fn complaints_are_those_of_getopt_long() {
        for (arguments, complaint) in [
            (&["-x"][..], "invalid option -- 'x'"),
            (&["-nx"], "invalid option -- 'x'"),
            (&["-c"], "option requires an argument -- 'c'"),
            (&["--client"], "option '--client' requires an argument"),
            (&["--nix=1"], "unrecognized option '--nix=1'"),
            (
                &["--connect=1"],
                "option '--connect' doesn't allow an argument",
            ),
            (
                &["--c=1"],
                "option '--c=1' is ambiguous; possibilities: '--client' '--connect'",
            ),
            (
                &["--per"],
                "option '--per' is ambiguous; possibilities: '--percentiles' '--per-query'",
            ),
        ] {
            assert_eq!(
                read(arguments, false).unwrap_err(),
                complaint,
                "{arguments:?}"
            );
        }
    }
}
