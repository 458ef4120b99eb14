//! What `\shell`, `\setshell` and `\sleep` need at run time: command lines, results, durations.
//! Nothing is run here.

use crate::number::{is_space, leading_integer};
use crate::{EvalError, Names, Slot, Vars, escape, octets};

/// pgbench's buffer for a command line; what goes in is shorter by two bytes.
const COMMAND_SIZE: usize = 256;

/// How much of a `\setshell` command's first line pgbench reads.
const RESULT_SIZE: usize = 63;

/// A word of a shell command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShellWord {
    /// Taken as it is (`::name` in a script is the text `:name`).
    Text(String),
    /// `:name`: the variable's text.
    Var(Slot),
}

/// The words behind `\shell`, or behind `\setshell` and its variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellArgs {
    /// The first word as written, which pgbench's messages begin with.
    pub name: String,
    /// All words.
    pub words: Vec<ShellWord>,
}

impl ShellArgs {
    pub(crate) fn new(words: &[String], names: &mut Names) -> Self {
        let word = |word: &String| match word.strip_prefix(':') {
            None => ShellWord::Text(word.clone()),
            Some(text) if text.starts_with(':') => ShellWord::Text(text.to_owned()),
            Some(name) => ShellWord::Var(names.intern(name)),
        };
        Self {
            name: words.first().cloned().unwrap_or_default(),
            words: words.iter().map(word).collect(),
        }
    }

    /// The command line to hand to `/bin/sh -c`: the words with one space between them.
    pub fn command_line(&self, vars: &Vars) -> Result<Vec<u8>, EvalError> {
        let mut line = Vec::new();
        for (index, word) in self.words.iter().enumerate() {
            if index > 0 {
                line.push(b' ');
            }
            match word {
                ShellWord::Text(text) => line.extend_from_slice(&octets(text)),
                ShellWord::Var(slot) => {
                    if !vars.write_text(*slot, &mut line) {
                        return Err(EvalError::UndefinedArgument {
                            command: self.name.as_str().into(),
                            name: format!(":{}", vars.name(*slot)).into(),
                        });
                    }
                }
            }
            if line.len() >= COMMAND_SIZE - 1 {
                return Err(EvalError::ShellTooLong(self.name.as_str().into()));
            }
        }
        Ok(line)
    }

    /// The integer that a `\setshell` command printed. `output` is what it wrote to its standard
    /// output, of which only the first line counts; without any output pgbench says instead that
    /// it "could not read result of shell command".
    pub fn result(&self, output: &[u8]) -> Result<i64, EvalError> {
        let line = match output.iter().position(|&byte| byte == b'\n') {
            Some(newline) => &output[..=newline],
            None => output,
        };
        let line = &line[..line.len().min(RESULT_SIZE)];
        let (value, length) = leading_integer(line);
        if !line.is_empty() && line[length..].iter().all(|&byte| is_space(byte)) {
            // pgbench keeps an int, 32 bits.
            return Ok(i64::from(value as i32));
        }
        Err(EvalError::ShellOutput {
            command: self.name.as_str().into(),
            output: escape(line).into(),
        })
    }
}

/// How long to sleep: a number or a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Amount {
    Number(i64),
    Variable(Slot),
}

/// `\sleep`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sleep {
    amount: Amount,
    unit_us: i64,
    command: String,
}

impl Sleep {
    /// The variable that says how long.
    pub(crate) fn reads(&self) -> Option<Slot> {
        match self.amount {
            Amount::Variable(slot) => Some(slot),
            Amount::Number(_) => None,
        }
    }

    /// From the words of the command, which the parser has checked.
    pub(crate) fn new(words: &[String], unit: Option<&str>, names: &mut Names) -> Self {
        let given = words.get(1).map_or("", String::as_str);
        let is = |name: &str| unit.is_some_and(|unit| unit.eq_ignore_ascii_case(name));
        Self {
            amount: match given.strip_prefix(':') {
                Some(name) => Amount::Variable(names.intern(name)),
                None => Amount::Number(leading_integer(given.as_bytes()).0),
            },
            unit_us: if is("us") {
                1
            } else if is("ms") {
                1_000
            } else {
                1_000_000
            },
            command: words.first().cloned().unwrap_or_default(),
        }
    }

    /// How long to sleep, in microseconds; not at all when the number is negative. (pgbench
    /// computes with 32 bits: there, beyond 35 minutes, the time wraps round. Here it does not.)
    pub fn duration_us(&self, vars: &Vars) -> Result<u64, EvalError> {
        let number = match self.amount {
            Amount::Number(number) => number,
            Amount::Variable(slot) => self.variable(slot, vars)?,
        };
        Ok(number.saturating_mul(self.unit_us).max(0) as u64)
    }

    fn variable(&self, slot: Slot, vars: &Vars) -> Result<i64, EvalError> {
        let mut text = Vec::new();
        if !vars.write_text(slot, &mut text) {
            return Err(EvalError::UndefinedArgument {
                command: self.command.as_str().into(),
                name: vars.name(slot).into(),
            });
        }
        let (number, _) = leading_integer(&text);
        if number == 0 && !text.first().is_some_and(u8::is_ascii_digit) {
            return Err(EvalError::SleepTime {
                command: self.command.as_str().into(),
                text: String::from_utf8_lossy(&text).into(),
                name: vars.name(slot).into(),
            });
        }
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    fn line(text: &str) -> Result<String, String> {
        let mut names = Names::new();
        let args = ShellArgs::new(&words(text), &mut names);
        let mut vars = Vars::new(&names);
        if let Some(slot) = names.get("x") {
            vars.set(slot, Value::Double(0.5));
        }
        args.command_line(&vars)
            .map(|line| String::from_utf8(line).unwrap())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn words_with_one_colon_are_variables() {
        assert_eq!(line("echo :x ::x a:x"), Ok("echo 0.5 :x a:x".into()));
        assert_eq!(
            line("echo :y"),
            Err("echo: undefined variable \":y\"".into())
        );
        assert_eq!(line(":"), Err(":: undefined variable \":\"".into()));
    }

    #[test]
    fn a_command_line_has_at_most_254_bytes() {
        let long = "a".repeat(250);
        assert_eq!(line(&format!("{long} :x")).unwrap().len(), 254);
        assert_eq!(
            line(&format!("{long} :xx")),
            Err(format!("{long}: undefined variable \":xx\""))
        );
        assert_eq!(
            line(&format!("{long}a :x")),
            Err(format!("{long}a: shell command is too long"))
        );
    }

    #[test]
    fn the_output_of_setshell_must_be_an_integer() {
        let args = ShellArgs::new(&words("echo 1"), &mut Names::new());
        for (output, value) in [
            ("1\n", 1),
            (" -5 \n7\n", -5),
            ("12", 12),
            ("\n", 0),
            ("4294967297\n", 1),
        ] {
            assert_eq!(args.result(output.as_bytes()), Ok(value), "{output:?}");
        }
        for (output, shown) in [("1x\n", "1x\n"), ("a\nb", "a\n"), ("", "")] {
            assert_eq!(
                args.result(output.as_bytes()).unwrap_err().to_string(),
                format!("echo: shell command must return an integer (not \"{shown}\")")
            );
        }
    }

    fn sleep(text: &str, unit: Option<&str>, value: &str) -> Result<u64, String> {
        let mut names = Names::new();
        let sleep = Sleep::new(&words(text), unit, &mut names);
        let mut vars = Vars::new(&names);
        if let Some(slot) = names.get("x") {
            vars.set_text(slot, value);
        }
        sleep.duration_us(&vars).map_err(|error| error.to_string())
    }

    #[test]
    fn durations_are_microseconds() {
        assert_eq!(sleep("sleep 2", None, ""), Ok(2_000_000));
        assert_eq!(sleep("sleep 2us", Some("us"), ""), Ok(2));
        assert_eq!(sleep("sleep 2 MS", Some("MS"), ""), Ok(2_000));
        assert_eq!(sleep("sleep -2", None, ""), Ok(0));
        assert_eq!(sleep("sleep 3000", None, ""), Ok(3_000_000_000));
        assert_eq!(sleep("sleep :x", Some("ms"), "7.9"), Ok(7_000));
        assert_eq!(sleep("sleep :x", Some("s"), "0"), Ok(0));
    }

    #[test]
    fn a_variable_without_a_number_is_no_time_to_sleep() {
        assert_eq!(
            sleep("Sleep :x", None, "abc"),
            Err("Sleep: invalid sleep time \"abc\" for variable \"x\"".into())
        );
        assert_eq!(
            sleep("sleep :x", None, ""),
            Err("sleep: invalid sleep time \"\" for variable \"x\"".into())
        );
        assert_eq!(
            sleep("sleep :y", None, ""),
            Err("sleep: undefined variable \"y\"".into())
        );
    }
}
