//! Properties as Java reads them: `name=value`, `name: value` or `name value` a line, comments, lines
//! that go on after a backslash, escapes. Later ones win. (Facts: java.util.Properties.load.)

use std::collections::BTreeMap;
use std::str::Chars;

use super::YcsbRefusal;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Properties(BTreeMap<String, String>);

impl Properties {
    /// Adds those of a file's text.
    pub fn read(&mut self, text: &str) {
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let mut line = line.trim_start().to_owned();
            if line.is_empty() || line.starts_with(['#', '!']) {
                continue;
            }
            while goes_on(&line) {
                line.pop();
                line += lines.next().unwrap_or_default().trim_start();
            }
            let (name, value) = split(&line);
            self.set(name, value);
        }
    }

    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.0.insert(name.into(), value.into());
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// All of them, by name.
    pub fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.0.iter();
        pairs.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// A whole number that is not negative.
    ///
    /// # Errors
    /// It is none.
    pub fn count(&self, name: &str) -> Result<Option<u64>, YcsbRefusal> {
        self.parsed(name, "a whole number that is not negative")
    }

    /// A number that is not negative.
    ///
    /// # Errors
    /// It is none.
    pub fn share(&self, name: &str) -> Result<Option<f64>, YcsbRefusal> {
        let share: Option<f64> = self.parsed(name, "a number")?;
        match share {
            Some(share) if share < 0.0 || !share.is_finite() => {
                Err(wrong(name, &share.to_string(), "a number from 0 up"))
            }
            share => Ok(share),
        }
    }

    /// Whether it is `true`; what is not is false, as in Java.
    pub fn bool(&self, name: &str) -> Option<bool> {
        self.get(name)
            .map(|value| value.trim().eq_ignore_ascii_case("true"))
    }

    fn parsed<T: std::str::FromStr>(
        &self,
        name: &str,
        what: &str,
    ) -> Result<Option<T>, YcsbRefusal> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let parsed = value.trim().parse();
        parsed.map(Some).map_err(|_| wrong(name, value, what))
    }
}

fn wrong(name: &str, value: &str, what: &str) -> YcsbRefusal {
    YcsbRefusal::usage(format!("{name}={value}: it must be {what}"))
}

/// Whether the next line belongs to this one: it ends in an odd number of backslashes.
fn goes_on(line: &str) -> bool {
    let backslashes = line.chars().rev().take_while(|c| *c == '\\').count();
    backslashes % 2 == 1
}

/// The name up to the first `=`, `:` or white space, and the value behind it.
fn split(line: &str) -> (String, String) {
    let mut is_escaped = false;
    let end = line.find(|c: char| {
        let ends = !is_escaped && (c == '=' || c == ':' || c.is_whitespace());
        is_escaped = c == '\\' && !is_escaped;
        ends
    });
    let (name, rest) = line.split_at(end.unwrap_or(line.len()));
    let rest = rest.trim_start();
    let value = rest.strip_prefix(['=', ':']).unwrap_or(rest).trim_start();
    (unescaped(name), unescaped(value))
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => plain.extend(escape(&mut chars)),
            c => plain.push(c),
        }
    }
    plain
}

/// The character after a backslash.
fn escape(chars: &mut Chars<'_>) -> Option<char> {
    Some(match chars.next()? {
        't' => '\t',
        'n' => '\n',
        'r' => '\r',
        'f' => '\u{c}',
        'u' => {
            let digits: String = chars.by_ref().take(4).collect();
            let code = u32::from_str_radix(&digits, 16).ok();
            code.and_then(char::from_u32)
                .unwrap_or(char::REPLACEMENT_CHARACTER)
        }
        c => c,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<(String, String)> {
        let mut properties = Properties::default();
        properties.read(text);
        properties.0.into_iter().collect()
    }

    #[test]
    fn lines_are_read_as_java_reads_them() {
        let text = "# comment\n! another\n\n  a=1\nb : two words \nc three\nd=\ne\n\
                    long=one,\\\n    two,\\\n# no comment\nwith\\ space\\=x = y\n\
                    path=C:\\\\x\nu=\\u00e9\\tz\na=9\nend=x\\";
        let want = [
            ("a", "9"),
            ("b", "two words "),
            ("c", "three"),
            ("d", ""),
            ("e", ""),
            ("end", "x"),
            ("long", "one,two,# no comment"),
            ("path", "C:\\x"),
            ("u", "é\tz"),
            ("with space=x", "y"),
        ];
        let want = want.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(of(text), want);
    }

    #[test]
    fn values_of_the_wrong_kind_are_named() {
        let mut properties = Properties::default();
        properties.read("recordcount=1e3\nreadproportion=-1\nthreadcount= 8 \nreadallfields=yes");
        let said = |e: YcsbRefusal| e.failure.message;
        assert_eq!(
            said(properties.count("recordcount").unwrap_err()),
            "recordcount=1e3: it must be a whole number that is not negative"
        );
        assert_eq!(
            said(properties.share("readproportion").unwrap_err()),
            "readproportion=-1: it must be a number from 0 up"
        );
        assert_eq!(properties.count("threadcount").unwrap(), Some(8));
        assert_eq!(properties.bool("readallfields"), Some(false));
        assert_eq!(properties.count("target").unwrap(), None);
    }
}
