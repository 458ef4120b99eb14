//! A command line as it was typed: options by name, the script, the command. sysbench knows
//! `--name=value` only; what has no `--` is the script, then the command.

use std::collections::BTreeMap;

use super::Stop;
use super::known::{self, DEPRECATED, Kind};

/// What was typed.
#[derive(Debug, Default)]
pub struct Typed {
    /// By the name with `-`; the last one wins.
    values: BTreeMap<&'static str, String>,
    /// The script's name or file.
    pub script: Option<String>,
    /// prepare, run, cleanup …
    pub command: Option<String>,
    /// What sysbench says of it beside its output.
    pub notes: Vec<String>,
}

impl Typed {
    /// Reads it.
    ///
    /// # Errors
    /// An option that there is not, or a value that it cannot have.
    pub fn read(arguments: &[String]) -> Result<Self, Stop> {
        let mut typed = Self::default();
        for argument in arguments {
            match argument.strip_prefix("--") {
                Some(option) => typed.option(argument, option)?,
                None => typed.word(argument)?,
            }
        }
        Ok(typed)
    }

    fn word(&mut self, word: &str) -> Result<(), Stop> {
        let place = match (&self.script, &self.command) {
            (None, _) => &mut self.script,
            (_, None) => &mut self.command,
            _ => {
                let stop = Stop::with(format!("Unrecognized command line argument: {word}"));
                return Err(stop.hint("options have the form --name=value"));
            }
        };
        *place = Some(word.to_owned());
        Ok(())
    }

    fn option(&mut self, argument: &str, option: &str) -> Result<(), Stop> {
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (option, None),
        };
        let mut name = name.replace('_', "-");
        if name == "test" {
            self.notes.push(
                "WARNING: the --test option is deprecated. You can pass a script name or path on the \
                 command line without any options."
                    .to_owned(),
            );
            // The command may have come before it.
            let before = self.script.replace(value.unwrap_or_default().to_owned());
            self.command = before.or_else(|| self.command.take());
            return Ok(());
        }
        if let Some((old, new)) = DEPRECATED.iter().find(|(old, _)| *old == name) {
            let note = format!("WARNING: --{old} is deprecated, use --{new} instead");
            self.notes.push(note);
            name = (*new).to_owned();
        }
        let Some(known) = known::find(&name) else {
            let typed = argument.split('=').next().unwrap_or(argument);
            return Err(Stop::invalid_option(typed).hint("--help has the options"));
        };
        let value = match (known.kind, value) {
            (Kind::Switch, None) => "on",
            (Kind::Text, None) if name == "pgdyno-store" => "",
            (_, Some(value)) => value,
            (_, None) => {
                let stop = Stop::fatal(format!("{argument}: a value is missing"));
                return Err(stop.hint(format!("--{name}=VALUE")));
            }
        };
        let is_sound = match known.kind {
            Kind::Switch => ["on", "off", "true", "false", "1", "0"].contains(&value),
            Kind::Number => value.parse::<u32>().is_ok(),
            Kind::Decimal => value.parse::<f64>().is_ok_and(f64::is_finite),
            Kind::Text => true,
        };
        if !is_sound {
            let what = match known.kind {
                Kind::Switch => "on or off",
                _ => "a number that is not negative",
            };
            let stop = Stop::fatal(format!("invalid value '{value}' for --{name}"));
            return Err(stop.hint(format!("--{name} is {what}")));
        }
        self.values.insert(known.name, value.to_owned());
        Ok(())
    }

    /// Whether it was typed.
    pub fn is_given(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// The value, or the default.
    pub fn text(&self, name: &str) -> &str {
        match self.values.get(name) {
            Some(value) => value,
            None => known::find(name).map_or("", |known| known.default),
        }
    }

    /// The same of a number.
    pub fn number(&self, name: &str) -> u64 {
        self.text(name).parse().unwrap_or(0)
    }

    /// The same of a switch.
    pub fn is_on(&self, name: &str) -> bool {
        ["on", "true", "1"].contains(&self.text(name))
    }

    /// The names of what was typed.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.values.keys().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Typed, Stop> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Typed::read(&words)
    }

    #[test]
    fn options_stand_anywhere_and_both_dashes_are_the_same() {
        let typed =
            read("--threads=4 oltp_read_only --table_size=7 run --skip-trx --range_selects=off")
                .unwrap();
        assert_eq!(typed.script.as_deref(), Some("oltp_read_only"));
        assert_eq!(typed.command.as_deref(), Some("run"));
        assert_eq!(
            (typed.number("threads"), typed.number("table-size")),
            (4, 7)
        );
        assert!(typed.is_on("skip-trx") && !typed.is_on("range-selects"));
        assert_eq!(typed.text("pgsql-db"), "sbtest");
    }

    #[test]
    fn old_names_still_count_and_are_told() {
        let typed = read("--test=oltp_read_only --num-threads=3 --max-time=5 run").unwrap();
        assert_eq!(typed.script.as_deref(), Some("oltp_read_only"));
        assert_eq!(typed.command.as_deref(), Some("run"));
        assert_eq!((typed.number("threads"), typed.number("time")), (3, 5));
        let want = "WARNING: --num-threads is deprecated, use --threads instead";
        assert_eq!(typed.notes[1], want);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let refused = |line: &str| {
            let stop = read(line).unwrap_err();
            [stop.lines, stop.errors, stop.hints].concat().join("\n")
        };
        assert_eq!(
            refused("oltp_read_only --frob=1 run"),
            "invalid option: --frob\n--help has the options"
        );
        for (line, said) in [
            (
                "oltp_read_only run now",
                "Unrecognized command line argument: now",
            ),
            ("--threads=x", "invalid value 'x' for --threads"),
            ("--threads", "--threads: a value is missing"),
            ("--skip_trx=maybe", "--skip-trx is on or off"),
            ("--rand-pareto-h=NaN", "invalid value 'NaN'"),
        ] {
            assert!(refused(line).contains(said), "{line}: {}", refused(line));
        }
    }
}
