//! pgio.conf: its parameters with the values that pgio ships, read as a shell would set them and
//! never executed.
//!
//! Not for: the shell's syntax (`assignments.rs`), what a run makes of them (`run.rs`).

use std::time::Duration;

use super::assignments::{self, Assignment};
use pgdyno_spec::{Exit, Failure};

/// Bytes of a block that pgio counts with.
const BLOCK_BYTES: u64 = 8192;
const SCALE_MIN_BLOCKS: u64 = 1024;

/// The parameters of a pgio.conf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conf {
    /// UPDATE_PCT: share of the statements that are updates, in percent.
    pub update_percent: u64,
    pub run_time: Duration,
    /// NUM_SCHEMAS: tables, which pgio calls schemas.
    pub tables: u64,
    /// NUM_THREADS: loads at the same time; in a run sessions of each table.
    pub threads: u64,
    /// WORK_UNIT: rows that a SELECT reads.
    pub work_unit: u64,
    /// UPDATE_WORK_UNIT: rows that an UPDATE changes.
    pub update_work_unit: u64,
    pub scale: Scale,
    /// DBNAME: for the lines that are printed; the connection is CONNECT_STRING's.
    pub dbname: String,
    /// CONNECT_STRING, as psql takes it; it may hold a password.
    pub connect_string: String,
    /// CREATE_BASE_TABLE: whether setup makes what is there already once more.
    pub recreates: bool,
}

/// The size of each table, or in a run the part of it that is touched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scale {
    /// As it was written: `1G`, `16384`.
    pub text: String,
    /// The same in blocks, a row each.
    pub blocks: u64,
}

impl Default for Conf {
    fn default() -> Self {
        Self {
            update_percent: 0,
            run_time: Duration::from_secs(120),
            tables: 4,
            threads: 2,
            work_unit: 255,
            update_work_unit: 8,
            scale: Scale {
                text: "1G".to_owned(),
                blocks: (1 << 30) / BLOCK_BYTES,
            },
            dbname: "pg10".to_owned(),
            connect_string: "pg10".to_owned(),
            recreates: true,
        }
    }
}

impl Conf {
    /// Reads a configuration; `file` is for messages, `environment` has the variables that it may
    /// use. Also the names that are none of pgio's.
    ///
    /// # Errors
    /// What is no assignment or would have to be executed; a value that its parameter does not
    /// take.
    pub fn read(
        file: &str,
        text: &str,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(Self, Vec<String>), Failure> {
        let wrong = |what: String| Failure::new(format!("{file}:{what}"));
        let mut conf = Self::default();
        let mut others = Vec::new();
        for assignment in assignments::read(text, environment).map_err(wrong)? {
            if !conf.set(&assignment).map_err(wrong)? {
                others.push(assignment.name);
            }
        }
        conf.check()
            .map_err(|why| Failure::new(format!("{file}: {why}")))?;
        Ok((conf, others))
    }

    /// Sets one parameter as the command line says.
    ///
    /// # Errors
    /// It is no `NAME=VALUE`, pgio has no such parameter, or it does not take this value.
    pub fn change(&mut self, setting: &str) -> Result<(), Failure> {
        let usage = |what: String| Failure::with(Exit::Usage, what);
        let Some((name, value)) = setting.split_once('=') else {
            let text = format!("\"{setting}\" is not a setting: expected NAME=VALUE");
            return Err(usage(text));
        };
        let assignment = Assignment {
            line: 1,
            name: name.to_owned(),
            value: value.to_owned(),
        };
        match self.set(&assignment) {
            Ok(true) => self.check().map_err(usage),
            Ok(false) => Err(usage(format!("{name} is none of pgio's settings")).hint(
                "DBNAME, CONNECT_STRING, SCALE, RUN_TIME, NUM_SCHEMAS, NUM_THREADS, WORK_UNIT, \
                       UPDATE_WORK_UNIT, UPDATE_PCT, CREATE_BASE_TABLE",
            )),
            Err(what) => {
                let what = what.strip_prefix("1: ").unwrap_or(&what).to_owned();
                Err(usage(what))
            }
        }
    }

    /// What CONNECT_STRING names, as libpq takes it.
    ///
    /// # Errors
    /// It is an option of psql that names no server.
    pub fn target(&self) -> Result<String, String> {
        let text = self.connect_string.trim();
        let quoted =
            |value: &str| format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'"));
        if text.contains("://") || text.contains('=') {
            return Ok(text.to_owned());
        }
        if !text.starts_with('-') {
            return Ok(format!("dbname={}", quoted(text)));
        }
        let mut pairs = Vec::new();
        let mut words = text.split_whitespace();
        while let Some(word) = words.next() {
            let key = match word.get(..2).unwrap_or(word) {
                "-h" => "host",
                "-p" => "port",
                "-U" => "user",
                "-d" => "dbname",
                option if option.starts_with('-') => {
                    return Err(format!("{word} is no option that names a server"));
                }
                _ => {
                    pairs.push(format!("dbname={}", quoted(word)));
                    continue;
                }
            };
            let value = match &word[2..] {
                "" => words.next().ok_or(format!("{word} wants a value"))?,
                value => value,
            };
            pairs.push(format!("{key}={}", quoted(value)));
        }
        Ok(pairs.join(" "))
    }

    /// Whether pgio has a parameter of this name.
    fn set(&mut self, assignment: &Assignment) -> Result<bool, String> {
        let Assignment { line, name, value } = assignment;
        let wrong = |what: &str| format!("{line}: {name}={value}: {what}");
        let whole = |min: u64, max: u64| match value.parse::<u64>() {
            Ok(number) if (min..=max).contains(&number) => Ok(number),
            _ => Err(wrong(&format!(
                "expected a whole number from {min} to {max}"
            ))),
        };
        match name.as_str() {
            "UPDATE_PCT" => self.update_percent = whole(0, 100)?,
            "RUN_TIME" => self.run_time = Duration::from_secs(whole(1, 31_536_000)?),
            "NUM_SCHEMAS" => self.tables = whole(1, 8192)?,
            "NUM_THREADS" => self.threads = whole(1, 100_000)?,
            "WORK_UNIT" => self.work_unit = whole(1, 1 << 40)?,
            "UPDATE_WORK_UNIT" => self.update_work_unit = whole(1, 1 << 40)?,
            "SCALE" => {
                self.scale = Scale::parse(value).map_err(|what| wrong(&what))?;
            }
            "DBNAME" => self.dbname.clone_from(value),
            // Not printed: it may hold a password.
            "CONNECT_STRING" if value.is_empty() => return Err(wrong("it names no server")),
            "CONNECT_STRING" => self.connect_string.clone_from(value),
            "CREATE_BASE_TABLE" => match value.to_ascii_uppercase().as_str() {
                "TRUE" => self.recreates = true,
                "FALSE" => self.recreates = false,
                _ => return Err(wrong("expected TRUE or FALSE")),
            },
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn check(&self) -> Result<(), String> {
        let units = [
            ("WORK_UNIT", self.work_unit),
            ("UPDATE_WORK_UNIT", self.update_work_unit),
        ];
        for (name, rows) in units {
            if rows >= self.scale.blocks {
                return Err(format!(
                    "{name}={rows} is no part of SCALE={}, which is {} rows",
                    self.scale.text, self.scale.blocks
                ));
            }
        }
        if self.tables.saturating_mul(self.threads) > 100_000 {
            return Err(format!(
                "NUM_SCHEMAS={} times NUM_THREADS={} is more than 100000 sessions",
                self.tables, self.threads
            ));
        }
        Ok(())
    }

    /// Whether pgio's loop takes this UPDATE_PCT; a setup does not ask.
    ///
    /// # Errors
    /// pgio's words: in its own runs they end up in the sessions' files, and the run seems fine.
    pub fn check_update_percent(&self) -> Result<(), Failure> {
        match self.update_percent {
            percent @ 51..=99 => Err(Failure::with(
                Exit::Usage,
                format!("FATAL : UPDATE_PCT \"{percent}\" BETWEEN 51 and 99 ARE NOT SUPPORTED."),
            )
            .hint("0 to 50, or 100")
            .hint(format!(
                "without pgio's limit: pgdyno run slob --param tab_prefix=pgio --param \
                 update_pct={percent}"
            ))),
            _ => Ok(()),
        }
    }

    pub fn sessions(&self) -> u64 {
        self.tables * self.threads
    }
}

impl Scale {
    /// Blocks, or bytes with M, G or T.
    fn parse(text: &str) -> Result<Self, String> {
        let shift = match text.chars().last().map(|c| c.to_ascii_uppercase()) {
            Some('M') => Some(20),
            Some('G') => Some(30),
            Some('T') => Some(40),
            _ => None,
        };
        let digits = match shift {
            Some(_) => &text[..text.len() - 1],
            None => text,
        };
        let number: Option<u64> = digits.parse().ok();
        let blocks = number.and_then(|number| match shift {
            Some(shift) => Some(number.checked_mul(1 << shift)? / BLOCK_BYTES),
            None => Some(number),
        });
        match blocks {
            Some(blocks) if blocks > u64::from(u32::MAX) => {
                Err("a table of PostgreSQL has at most 4294967295 blocks".to_owned())
            }
            Some(blocks) if blocks >= SCALE_MIN_BLOCKS => Ok(Self {
                text: text.to_owned(),
                blocks,
            }),
            Some(blocks) => Err(format!(
                "this is {blocks} blocks; pgio needs at least {SCALE_MIN_BLOCKS} (8M)"
            )),
            None => {
                Err("expected a number of blocks, or of bytes with M, G or T (256M)".to_owned())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(file: &str, text: &str) -> Result<(Conf, Vec<String>), Failure> {
        Conf::read(file, text, &|_| None)
    }

    /// The line of the article about SLOB on YugabyteDB, as its echo writes it.
    const SEED: &str = "UPDATE_PCT=0 RUN_TIME=1000 NUM_SCHEMAS=1 NUM_THREADS=1 WORK_UNIT=1000 \
        UPDATE_WORK_UNIT=8 SCALE=1000000 DBNAME=yugabyte \
        CONNECT_STRING='postgres://yugabyte:yugabyte@yb1.pachot.net:5433/yugabyte' \
        CREATE_BASE_TABLE=TRUE\n";

    #[test]
    fn the_articles_line_is_read_as_it_is() {
        let (conf, others) = read("pgio.conf", SEED).unwrap();
        let want = Conf {
            run_time: Duration::from_secs(1000),
            tables: 1,
            threads: 1,
            work_unit: 1000,
            scale: Scale {
                text: "1000000".to_owned(),
                blocks: 1_000_000,
            },
            dbname: "yugabyte".to_owned(),
            connect_string: "postgres://yugabyte:yugabyte@yb1.pachot.net:5433/yugabyte".to_owned(),
            ..Conf::default()
        };
        assert_eq!((conf, others), (want, Vec::new()));
    }

    #[test]
    fn what_is_not_set_is_as_pgio_ships_it_and_the_last_of_a_name_counts() {
        let (conf, others) = read("c", "SCALE=1G\nSCALE=256M MINE=x\n").unwrap();
        assert_eq!(conf.scale.blocks, 32_768);
        assert_eq!(conf.sessions(), 8);
        assert_eq!(others, ["MINE"]);
        let (conf, _) = read("c", "CREATE_BASE_TABLE=false SCALE=2t WORK_UNIT=1").unwrap();
        assert!(!conf.recreates && conf.scale.blocks == 1 << 28 && conf.work_unit == 1);
    }

    #[test]
    fn a_connect_string_is_what_psql_takes() {
        let target = |text: &str| {
            Conf {
                connect_string: text.to_owned(),
                ..Conf::default()
            }
            .target()
        };
        for (text, want) in [
            ("pg10", "dbname='pg10'"),
            ("it's", "dbname='it\\'s'"),
            ("postgres://a@b/c", "postgres://a@b/c"),
            ("host=a dbname=b", "host=a dbname=b"),
            (
                "-h db1 -p5433 -U me bench",
                "host='db1' port='5433' user='me' dbname='bench'",
            ),
            ("-d bench", "dbname='bench'"),
        ] {
            assert_eq!(target(text).as_deref(), Ok(want));
        }
        assert_eq!(
            target("-X"),
            Err("-X is no option that names a server".to_owned())
        );
        assert_eq!(target("-h"), Err("-h wants a value".to_owned()));
    }

    #[test]
    fn an_update_pct_that_pgio_does_not_support_is_refused_in_its_words() {
        for (percent, is_supported) in
            [(0, true), (50, true), (51, false), (99, false), (100, true)]
        {
            let conf = Conf {
                update_percent: percent,
                ..Conf::default()
            };
            let checked = conf.check_update_percent().map_err(|e| e.message);
            let want =
                format!("FATAL : UPDATE_PCT \"{percent}\" BETWEEN 51 and 99 ARE NOT SUPPORTED.");
            assert_eq!(checked, if is_supported { Ok(()) } else { Err(want) });
        }
    }

    #[test]
    fn the_environment_is_used_where_the_file_says_so() {
        let environment = |name: &str| (name == "NUM_THREADS").then(|| "7".to_owned());
        let text = "NUM_THREADS=${NUM_THREADS:-2} NUM_SCHEMAS=${NUM_SCHEMAS:-3}";
        let (conf, _) = Conf::read("c", text, &environment).unwrap();
        assert_eq!((conf.threads, conf.tables), (7, 3));
        let (conf, _) = Conf::read("c", "SCALE=1G", &environment).unwrap();
        assert_eq!(conf.threads, 2);
    }

    #[test]
    fn the_command_line_has_the_last_word() {
        let mut conf = Conf::default();
        conf.change("SCALE=16384").unwrap();
        assert_eq!(conf.scale.blocks, 16_384);
        for (setting, want) in [
            ("SCALE", "\"SCALE\" is not a setting"),
            ("SCALES=1", "SCALES is none of pgio's settings"),
            ("SCALE=1", "SCALE=1: this is 1 blocks"),
            (
                "WORK_UNIT=16384",
                "WORK_UNIT=16384 is no part of SCALE=16384",
            ),
        ] {
            let failure = conf.clone().change(setting).unwrap_err();
            assert!(failure.message.starts_with(want), "{failure}");
        }
    }

    #[test]
    fn values_that_a_parameter_does_not_take_are_named_with_their_place() {
        for (text, want) in [
            ("\nSCALE=8K", "c:2: SCALE=8K: expected a number of blocks"),
            ("SCALE=1M", "this is 128 blocks; pgio needs at least 1024"),
            ("SCALE=99999T", "at most 4294967295 blocks"),
            ("SCALE=18446744073709551615T", "expected a number of blocks"),
            ("SCALE=", "expected a number of blocks"),
            ("UPDATE_PCT=101", "a whole number from 0 to 100"),
            ("RUN_TIME=1m", "a whole number from 1 to"),
            ("NUM_SCHEMAS=0", "from 1 to 8192"),
            ("CREATE_BASE_TABLE=yes", "TRUE or FALSE"),
            ("CONNECT_STRING=''", "it names no server"),
            (
                "WORK_UNIT=1024 SCALE=1024",
                "c: WORK_UNIT=1024 is no part of",
            ),
            (
                "NUM_SCHEMAS=8000 NUM_THREADS=100",
                "more than 100000 sessions",
            ),
            ("./runit.sh", "c:1: \"./runit.sh\" is no assignment"),
        ] {
            let failure = read("c", text).unwrap_err();
            assert_eq!(failure.exit, Exit::Failed);
            assert!(failure.message.contains(want), "{text}: {failure}");
        }
    }
}
