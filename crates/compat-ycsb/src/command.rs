//! The command lines of both tools, read into properties.

use std::fs;

use super::properties::Properties;
use super::{YcsbRefusal, YcsbTool};

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Load,
    /// Run a mix of operations.
    Run,
}

/// A command line that was read.
#[derive(Debug)]
pub struct YcsbCommand {
    pub tool: YcsbTool,
    /// What is to be done.
    pub phase: Phase,
    /// Those of the files, and over them those of the command line.
    pub properties: Properties,
    /// The arguments as they were typed, without passwords.
    pub words: Vec<String>,
}

/// What a command line comes to.
#[derive(Debug)]
pub enum TypedCommand {
    Help,
    /// It asks for a load or a run.
    Command(Box<YcsbCommand>),
}

/// The properties that have a password in them.
const PASSWORDS: [&str; 2] = ["db.passwd", "pg.password"];

/// go-ycsb's names for a database that speaks PostgreSQL's protocol. (Facts: go-ycsb's db/pg.)
const GO_DATABASES: [&str; 4] = ["pg", "postgresql", "cockroach", "cdb"];

impl YcsbCommand {
    /// Reads it.
    ///
    /// # Errors
    /// What is wrong with it, and the way out.
    pub fn read(tool: YcsbTool, arguments: &[String]) -> Result<TypedCommand, YcsbRefusal> {
        let is_help = |word: &String| ["-h", "--help", "help"].contains(&word.as_str());
        if arguments.is_empty() || arguments.iter().take(2).any(is_help) {
            return Ok(TypedCommand::Help);
        }
        let phase = match arguments[0].as_str() {
            "load" => Phase::Load,
            "run" => Phase::Run,
            "shell" => {
                let refusal = YcsbRefusal::usage("shell: pgdyno has no such shell");
                return Err(refusal.hint("use psql"));
            }
            word => {
                let refusal = YcsbRefusal::usage(format!("{word}: no such command"));
                return Err(refusal.hint("the commands are load and run"));
            }
        };
        let Some(database) = arguments.get(1) else {
            let refusal = YcsbRefusal::usage("the name of the database binding is missing");
            return Err(refusal.hint(tool.way()));
        };
        let is_known = match tool {
            YcsbTool::Ycsb => database == "jdbc",
            YcsbTool::GoYcsb => GO_DATABASES.contains(&database.as_str()),
        };
        if !is_known {
            let refusal = YcsbRefusal::usage(format!("{database}: pgdyno has no such binding"));
            return Err(refusal.hint(tool.way()));
        }
        let mut reader = Reader {
            phase,
            files: Properties::default(),
            own: Properties::default(),
            is_help: false,
            rest: arguments[2..].iter(),
        };
        match tool {
            YcsbTool::Ycsb => reader.java()?,
            YcsbTool::GoYcsb => reader.go()?,
        }
        if reader.is_help {
            return Ok(TypedCommand::Help);
        }
        let mut properties = reader.files;
        for (name, value) in reader.own.all() {
            properties.set(name, value);
        }
        Ok(TypedCommand::Command(Box::new(Self {
            tool,
            phase: reader.phase,
            properties,
            words: arguments[2..].iter().map(|word| shown(word)).collect(),
        })))
    }
}

impl YcsbTool {
    /// How a command line begins.
    fn way(self) -> &'static str {
        match self {
            Self::Ycsb => "ycsb load|run jdbc -P FILE -p NAME=VALUE",
            Self::GoYcsb => "go-ycsb load|run pg -P FILE -p NAME=VALUE",
        }
    }
}

/// An argument without its password.
fn shown(word: &str) -> String {
    let secret = |name: &&&str| word.contains(&format!("{name}="));
    match PASSWORDS.iter().find(secret) {
        Some(name) => {
            let at = word.find(&format!("{name}=")).unwrap_or(0);
            format!("{}=***", &word[..at + name.len()])
        }
        None => without_password(word),
    }
}

/// A text in which a URL may stand, without the passwords in its parameters.
pub fn without_password(text: &str) -> String {
    let Some(at) = text.find("password=") else {
        return text.to_owned();
    };
    let (before, rest) = text.split_at(at + "password=".len());
    let end = rest.find(['&', ';']).unwrap_or(rest.len());
    format!("{before}***{}", without_password(&rest[end..]))
}

struct Reader<'a> {
    phase: Phase,
    files: Properties,
    own: Properties,
    is_help: bool,
    rest: std::slice::Iter<'a, String>,
}

impl Reader<'_> {
    /// YCSB's options. (Facts: its Client and its launcher.)
    fn java(&mut self) -> Result<(), YcsbRefusal> {
        while let Some(word) = self.rest.next() {
            match word.as_str() {
                "-threads" => self.number("-threads", "threadcount")?,
                "-target" => self.number("-target", "target")?,
                "-P" => {
                    let path = self.value("-P")?;
                    self.file(&path)?;
                }
                "-p" => {
                    let pair = self.value("-p")?;
                    self.pair(&pair)?;
                }
                "-l" => {
                    let label = self.value("-l")?;
                    self.own.set("label", label);
                }
                "-s" => self.own.set("status", "true"),
                "-load" => self.phase = Phase::Load,
                "-t" => self.phase = Phase::Run,
                "-db" => {
                    let class = self.value("-db")?;
                    self.own.set("db", class);
                }
                // The launcher's, for Java.
                "-cp" | "-jvm-args" => drop(self.value(word)?),
                word if word.starts_with("-jvm-args=") => {}
                "-h" | "--help" => self.is_help = true,
                word => {
                    let refusal = YcsbRefusal::usage(format!("Unknown option {word}"));
                    return Err(refusal.hint(
                        "the options are -P FILE, -p NAME=VALUE, -threads N, -target N, -s, -l LABEL",
                    ));
                }
            }
        }
        Ok(())
    }

    /// go-ycsb's flags, as `--flag value` or `--flag=value`. (Facts: its cmd.)
    fn go(&mut self) -> Result<(), YcsbRefusal> {
        while let Some(word) = self.rest.next() {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
                _ if word.len() > 2 && (word.starts_with("-P") || word.starts_with("-p")) => {
                    let value = &word[2..];
                    let value = value.strip_prefix('=').unwrap_or(value);
                    (&word[..2], Some(value.to_owned()))
                }
                _ => (word.as_str(), None),
            };
            let value = |reader: &mut Self| match value.clone() {
                Some(value) => Ok(value),
                None => reader.value(name),
            };
            match name {
                "--threads" => {
                    let count = value(self)?;
                    self.whole(name, "threadcount", &count)?;
                }
                "--target" => {
                    let target = value(self)?;
                    self.whole(name, "target", &target)?;
                }
                "--interval" => {
                    let interval = value(self)?;
                    self.whole(name, "measurement.interval", &interval)?;
                }
                "--table" => {
                    let table = value(self)?;
                    self.own.set("table", table);
                }
                "-P" | "--property_file" => {
                    let paths = value(self)?;
                    for path in paths.split(',') {
                        self.file(path)?;
                    }
                }
                "-p" | "--prop" => {
                    let pair = value(self)?;
                    self.pair(&pair)?;
                }
                "-h" | "--help" => self.is_help = true,
                word => {
                    let refusal = YcsbRefusal::usage(format!("unknown flag: {word}"));
                    return Err(refusal.hint(
                        "the flags are -P FILE, -p NAME=VALUE, --threads, --target, --interval, --table",
                    ));
                }
            }
        }
        Ok(())
    }

    fn value(&mut self, option: &str) -> Result<String, YcsbRefusal> {
        let value = self.rest.next().cloned();
        value.ok_or_else(|| YcsbRefusal::usage(format!("Missing argument value for {option}.")))
    }

    fn number(&mut self, option: &str, property: &str) -> Result<(), YcsbRefusal> {
        let value = self.value(option)?;
        self.whole(option, property, &value)
    }

    fn whole(&mut self, option: &str, property: &str, value: &str) -> Result<(), YcsbRefusal> {
        if value.parse::<u32>().is_err() {
            let text = format!("{option} {value}: it must be a whole number that is not negative");
            return Err(YcsbRefusal::usage(text));
        }
        self.own.set(property, value);
        Ok(())
    }

    fn pair(&mut self, pair: &str) -> Result<(), YcsbRefusal> {
        match pair.split_once('=') {
            Some((name, value)) => self.own.set(name, value),
            None => {
                let text = format!("-p {}: it must have the form name=value", shown(pair));
                return Err(YcsbRefusal::usage(text).hint("such as -p recordcount=1000"));
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &str) -> Result<(), YcsbRefusal> {
        let bytes = fs::read(path).map_err(|e| {
            YcsbRefusal::usage(format!("Unable to open the properties file {path}: {e}"))
        })?;
        self.files.read(&String::from_utf8_lossy(&bytes));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(tool: YcsbTool, line: &str) -> Result<TypedCommand, YcsbRefusal> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        YcsbCommand::read(tool, &words)
    }

    fn command(tool: YcsbTool, line: &str) -> YcsbCommand {
        match read(tool, line).unwrap() {
            TypedCommand::Command(command) => *command,
            TypedCommand::Help => panic!("help"),
        }
    }

    fn pairs(command: &YcsbCommand) -> String {
        let pairs = command.properties.all();
        let pairs: Vec<String> = pairs.map(|(n, v)| format!("{n}={v}")).collect();
        pairs.join(" ")
    }

    #[test]
    fn options_win_over_files_in_any_order() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "recordcount=1\nthreadcount=2\n").unwrap();
        let path = file.path().display();
        let java = command(
            YcsbTool::Ycsb,
            &format!("load jdbc -cp x -p recordcount=5 -P {path} -threads 8 -target 500 -s -l x"),
        );
        assert_eq!(java.phase, Phase::Load);
        assert_eq!(
            pairs(&java),
            "label=x recordcount=5 status=true target=500 threadcount=8"
        );
        let go = command(
            YcsbTool::GoYcsb,
            &format!("run pg -P{path} --threads=8 -p pg.host=h --interval 1 --prop=a=b=c"),
        );
        assert_eq!(go.phase, Phase::Run);
        assert_eq!(
            pairs(&go),
            "a=b=c measurement.interval=1 pg.host=h recordcount=1 threadcount=8"
        );
        assert_eq!(command(YcsbTool::Ycsb, "run jdbc -load").phase, Phase::Load);
    }

    #[test]
    fn help_is_found_where_it_is_asked_for() {
        for line in ["", "--help", "run -h", "run jdbc -s --help"] {
            assert!(
                matches!(read(YcsbTool::Ycsb, line), Ok(TypedCommand::Help)),
                "{line}"
            );
        }
        assert!(matches!(
            read(YcsbTool::GoYcsb, "load pg -h"),
            Ok(TypedCommand::Help)
        ));
    }

    #[test]
    fn what_is_wrong_is_named_with_the_way_out() {
        let refused = |tool, line: &str| read(tool, line).unwrap_err().failure.to_string();
        for (line, said) in [
            ("frob", "frob: no such command"),
            ("shell jdbc", "use psql"),
            ("run", "the name of the database binding is missing"),
            ("run mongodb", "mongodb: pgdyno has no such binding"),
            ("run jdbc -threads", "Missing argument value for -threads."),
            ("run jdbc -threads x", "-threads x: it must be a whole"),
            ("run jdbc -p x", "-p x: it must have the form name=value"),
            ("run jdbc -x", "Unknown option -x"),
            ("run jdbc -P /none/x", "Unable to open the properties file"),
        ] {
            let text = refused(YcsbTool::Ycsb, line);
            assert!(text.contains(said), "{line}: {text}");
        }
        let text = refused(YcsbTool::GoYcsb, "run mysql");
        assert!(text.contains("go-ycsb load|run pg"), "{text}");
        let text = refused(YcsbTool::GoYcsb, "run pg --frob");
        assert!(text.contains("unknown flag: --frob"), "{text}");
    }

    #[test]
    fn passwords_are_not_repeated() {
        let command = command(
            YcsbTool::Ycsb,
            "run jdbc -p db.passwd=secret -p db.url=jdbc:postgresql://h/d?password=secret&ssl=true",
        );
        assert_eq!(
            command.words.join(" "),
            "-p db.passwd=*** -p db.url=jdbc:postgresql://h/d?password=***&ssl=true"
        );
        assert_eq!(shown("-ppg.password=secret"), "-ppg.password=***");
    }
}
