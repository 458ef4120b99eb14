//! A command line as it was typed: options by name, the script, the command. sysbench knows
//! `--name=value` only; what has no `--` is the script, then the command.

use std::collections::{BTreeMap, BTreeSet};

use super::Stop;
use super::known::{self, CONFIG_FILE, DEPRECATED, Kind, KnownScript, SUCCESSORS};

#[derive(Debug, Default)]
pub struct TypedOptions {
    /// By the name with `-`; the last one wins.
    values: BTreeMap<&'static str, String>,
    /// Those whose last value is of a configuration file: it may have options of all scripts.
    of_file: BTreeSet<&'static str>,
    /// The script's name or file.
    pub script: Option<String>,
    pub command: Option<String>,
    /// What sysbench says of it beside its output.
    pub notes: Vec<String>,
}

impl TypedOptions {
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
            let way = match SUCCESSORS.iter().find(|(old, _)| *old == name) {
                Some((_, new)) => format!("in sysbench 1.0: {new}"),
                None => "--help has the options".to_owned(),
            };
            return Err(Stop::invalid_option(typed).hint(way));
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
        self.set(known, value)?;
        self.of_file.remove(known.name);
        match known.name {
            CONFIG_FILE => self.file(value),
            _ => Ok(()),
        }
    }

    /// Options of a file, `name=value` a line; what comes later on the command line counts more.
    fn file(&mut self, path: &str) -> Result<(), Stop> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| Stop::fatal(format!("--config-file: {path}: {error}")))?;
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            let Some((name, value)) = line.split_once('=').filter(|_| !line.starts_with('#'))
            else {
                continue;
            };
            let name = name.trim().trim_start_matches("--").replace('_', "-");
            let deprecated = DEPRECATED.iter().find(|(old, _)| *old == name);
            let name = deprecated.map_or(name.as_str(), |(_, new)| new);
            match known::find(name) {
                Some(known) => {
                    let place = |stop: Stop| stop.hint(format!("{path}:{number}: {line}"));
                    self.set(known, &value_in_file(value)).map_err(place)?;
                    self.of_file.insert(known.name);
                }
                None => self.notes.push(format!(
                    "pgdyno: {path}:{number}: there is no option {name}; it is left out"
                )),
            }
        }
        Ok(())
    }

    fn set(&mut self, known: &'static KnownScript, value: &str) -> Result<(), Stop> {
        let name = known.name;
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

    /// The names of what was typed, without what is only in a configuration file.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let names = self.values.keys().copied();
        names.filter(|name| !self.of_file.contains(name))
    }
}

/// A value in a configuration file: without quotes and what comes behind it.
fn value_in_file(text: &str) -> String {
    let text = text.trim();
    match text.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let inner = &text[1..];
            inner.split(quote).next().unwrap_or_default().to_owned()
        }
        Some('#') | None => String::new(),
        Some(_) => text
            .split_whitespace()
            .next()
            .unwrap_or_default()
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<TypedOptions, Stop> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        TypedOptions::read(&words)
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
    fn a_configuration_file_has_options_of_all_scripts_and_the_command_line_counts_more() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("sb.conf");
        let text = "# of the lab\nthreads=2\ntable_size = 70 # rows\npgsql-user=\"me # too\"\n\
                    \nnum-threads=3\ndelta=9\nfrob=1\nskip-trx\nmysql-host=h\n";
        std::fs::write(&file, text).unwrap();
        let file = file.display();
        let typed = read(&format!("--config-file={file} oltp_read_only --time=1 run")).unwrap();
        assert_eq!(
            ["threads", "table-size", "delta", "time"].map(|name| typed.number(name)),
            [3, 70, 9, 1]
        );
        assert_eq!(typed.text("pgsql-user"), "me # too");
        assert_eq!(typed.names().collect::<Vec<_>>(), ["config-file", "time"]);
        let want = format!("pgdyno: {file}:8: there is no option frob; it is left out");
        assert_eq!(typed.notes, [want]);
        let after = read(&format!("--config-file={file} --threads=7")).unwrap();
        assert_eq!(after.number("threads"), 7);
        let before = read(&format!("--threads=7 --config-file={file}")).unwrap();
        assert_eq!(before.number("threads"), 3);
    }

    #[test]
    fn old_names_still_work_with_a_warning() {
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
            (
                "--config-file=/nowhere/sb.conf",
                "--config-file: /nowhere/sb.conf: No such file",
            ),
            ("--oltp-table-size=5", "in sysbench 1.0: --table-size=N"),
            ("--oltp_tables_count=5", "in sysbench 1.0: --tables=N"),
            (
                "--oltp-read-only=on",
                "in sysbench 1.0: the script oltp_read_only",
            ),
        ] {
            assert!(refused(line).contains(said), "{line}: {}", refused(line));
        }
    }
}
