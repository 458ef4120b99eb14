//! `log_line_prefix`: what the lines of a stderr log begin with.

use super::entry::Entry;
use super::time::{self, Clock};

/// Those of PostgreSQL and of services, as they come.
const KNOWN: [&str; 8] = [
    // PostgreSQL; Debian; Amazon RDS and Aurora; Cloud SQL; Azure, two of them; pgBadger's and Crunchy's.
    "%m [%p] ",
    "%m [%p] %q%u@%d ",
    "%t:%r:%u@%d:[%p]:",
    "%m [%p]: [%l-1] db=%d,user=%u ",
    "%t-%c-",
    "%m-%c-",
    "%t [%p]: [%l-1] user=%u,db=%d,app=%a,client=%h ",
    "%t [%p]: user=%u,db=%d,app=%a,client=%h ",
];

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PrefixError {
    #[error("the prefix {0:?} has no time: %m, %n or %t")]
    NoTime(String),
    #[error("the prefix {0:?} has nothing that tells sessions apart: %p or %c")]
    NoSession(String),
    #[error("the prefix has %{0}, which PostgreSQL does not know")]
    Unknown(char),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(Vec<u8>),
    Field(u8),
    /// What comes behind it is missing where there is no session.
    Rest,
}

/// A `log_line_prefix` that has a time and a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prefix {
    parts: Vec<Part>,
}

impl Prefix {
    /// # Errors
    /// It lacks a time or a session, or is none of PostgreSQL's.
    pub fn new(text: &str) -> Result<Self, PrefixError> {
        let mut parts: Vec<Part> = Vec::new();
        let mut rest = text.as_bytes();
        while let Some((&byte, behind)) = rest.split_first() {
            rest = behind;
            let mut put = |byte: u8| match parts.last_mut() {
                Some(Part::Text(text)) => text.push(byte),
                _ => parts.push(Part::Text(vec![byte])),
            };
            if byte != b'%' {
                put(byte);
                continue;
            }
            let padding = rest
                .iter()
                .take_while(|byte| byte.is_ascii_digit() || **byte == b'-');
            rest = &rest[padding.count()..];
            let Some((&letter, behind)) = rest.split_first() else {
                break;
            };
            rest = behind;
            match letter {
                b'%' => put(b'%'),
                b'q' => parts.push(Part::Rest),
                b'a' | b'b' | b'c' | b'd' | b'e' | b'h' | b'i' | b'l' | b'L' | b'm' | b'n'
                | b'p' | b'P' | b'Q' | b'r' | b's' | b't' | b'u' | b'v' | b'x' => {
                    parts.push(Part::Field(letter))
                }
                _ => return Err(PrefixError::Unknown(letter.into())),
            }
        }
        let prefix = Self { parts };
        if !prefix.has(b"mnt") {
            return Err(PrefixError::NoTime(text.to_owned()));
        }
        if !prefix.has(b"pc") {
            return Err(PrefixError::NoSession(text.to_owned()));
        }
        Ok(prefix)
    }

    /// The known one that most lines with a time begin with, if it is one for half of them; the more it says,
    /// the better.
    pub fn of_lines(begin: &[u8]) -> Option<Self> {
        let lines = begin.split(|byte| *byte == b'\n').take(1000);
        let begun: Vec<&[u8]> = lines.filter(|line| time::is_second(line)).collect();
        let known = KNOWN.iter().filter_map(|text| Self::new(text).ok());
        let fitting = known.map(|prefix| {
            let (mut clock, mut start) = (Clock::default(), Clock::default());
            let mut entry = Entry::default();
            let fits = begun.iter().filter(|line| {
                entry.clear();
                prefix
                    .read(line, &mut entry, &mut clock, &mut start)
                    .is_some()
            });
            (fits.count(), prefix.parts.len(), prefix)
        });
        let best = fitting
            .filter(|(fits, ..)| *fits > 0 && fits * 2 >= begun.len())
            .max_by_key(|(fits, parts, _)| (*fits, *parts));
        best.map(|(.., prefix)| prefix)
    }

    fn has(&self, letters: &[u8]) -> bool {
        let is_one = |part: &Part| matches!(part, Part::Field(letter) if letters.contains(letter));
        self.parts.iter().any(is_one)
    }

    /// What its times are known to.
    pub fn clock_us(&self) -> u64 {
        if self.has(b"mn") { 1000 } else { 1_000_000 }
    }

    /// Fills in what a line's prefix says, and gives the rest of the line, which begins with a severity;
    /// `None` where it does not begin so. The flag is whether the time zone is known.
    pub fn read<'a>(
        &self,
        line: &'a [u8],
        entry: &mut Entry,
        clock: &mut Clock,
        start: &mut Clock,
    ) -> Option<(&'a [u8], bool)> {
        let mut rest = line;
        let mut is_zone_known = true;
        let mut has_time = false;
        for (number, part) in self.parts.iter().enumerate() {
            match part {
                Part::Text(text) => rest = rest.strip_prefix(&text[..])?,
                Part::Rest if severity(rest).is_some() => break,
                Part::Rest => {}
                Part::Field(letter) => {
                    let end = self.field_end(*letter, rest, number)?;
                    let value = rest[..end].trim_ascii();
                    rest = &rest[end..];
                    match letter {
                        b'm' | b't' => {
                            let moment = clock.read(value)?;
                            // `%t %m`: the finer one.
                            if !has_time || *letter == b'm' {
                                entry.time_us = moment.us;
                            }
                            (has_time, is_zone_known) = (true, moment.is_zone_known);
                        }
                        b'n' => (entry.time_us, has_time) = (time::epoch_us(value)?, true),
                        b's' => entry.session_start_us = start.read(value).map(|moment| moment.us),
                        b'c' => {
                            entry.session.clear();
                            entry.session.extend_from_slice(value);
                            entry.session_start_us = session_start(value);
                        }
                        b'p' if entry.session.is_empty() => entry.session.extend_from_slice(value),
                        b'u' => put(&mut entry.user, value),
                        b'd' => put(&mut entry.database, value),
                        b'a' => put(&mut entry.application, value),
                        b'e' => entry.state = value.try_into().ok(),
                        _ => {}
                    }
                }
            }
        }
        severity(rest)?;
        Some((rest, is_zone_known))
    }

    /// How long the value of a field is that a text begins with.
    fn field_end(&self, letter: u8, rest: &[u8], number: usize) -> Option<usize> {
        let spaces = rest.iter().take_while(|byte| **byte == b' ').count();
        let value = &rest[spaces..];
        let digits = |more: &[u8]| {
            let is_part = |byte: &&u8| byte.is_ascii_digit() || more.contains(byte);
            value.iter().take_while(is_part).count()
        };
        let length = match letter {
            b'm' | b't' | b's' => {
                let is_fine = value.get(19) == Some(&b'.');
                let length = time::length(value)?;
                (is_fine == (letter == b'm')).then_some(length)?
            }
            b'n' => digits(b"."),
            b'p' => Some(digits(b"")).filter(|length| *length > 0)?,
            b'P' | b'l' | b'x' => digits(b""),
            b'Q' => digits(b"-"),
            b'c' => {
                let is_part = |byte: &&u8| byte.is_ascii_hexdigit() || **byte == b'.';
                Some(value.iter().take_while(is_part).count()).filter(|length| *length > 2)?
            }
            b'e' => 5,
            _ => {
                // To the text that follows, or to the message.
                let next = self.parts[number + 1..].iter().find_map(|part| match part {
                    Part::Text(text) => Some(&text[..]),
                    _ => None,
                });
                match next {
                    Some(text) => memchr::memmem::find(value, text)?,
                    None => severity_within(value)?,
                }
            }
        };
        (spaces + length <= rest.len()).then_some(spaces + length)
    }
}

/// `[unknown]` is what the server says before it knows.
fn put(part: &mut Vec<u8>, value: &[u8]) {
    if value != b"[unknown]" {
        part.extend_from_slice(value);
    }
}

/// When the session with this `%c` began: its first half.
fn session_start(value: &[u8]) -> Option<i64> {
    let half = value.split(|byte| *byte == b'.').next()?;
    let seconds = i64::from_str_radix(std::str::from_utf8(half).ok()?, 16).ok()?;
    seconds.checked_mul(1_000_000)
}

/// What the text of a message begins with.
const SEVERITIES: [&[u8]; 18] = [
    b"LOG",
    b"ERROR",
    b"FATAL",
    b"PANIC",
    b"WARNING",
    b"NOTICE",
    b"INFO",
    b"DETAIL",
    b"HINT",
    b"CONTEXT",
    b"STATEMENT",
    b"QUERY",
    b"LOCATION",
    b"DEBUG1",
    b"DEBUG2",
    b"DEBUG3",
    b"DEBUG4",
    b"DEBUG5",
];

/// The word that a message begins with, and what comes behind `:  `.
pub fn severity(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = text
        .iter()
        .take(10)
        .take_while(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    let (word, rest) = text.split_at(length.count());
    let rest = rest.strip_prefix(b":")?;
    // Some services take a space away.
    let rest = rest.strip_prefix(b"  ").or(rest.strip_prefix(b" "))?;
    SEVERITIES.contains(&word).then_some((word, rest))
}

/// Where the first one begins that is right behind a value.
fn severity_within(text: &[u8]) -> Option<usize> {
    let mut colons = memchr::memmem::find_iter(text, b":  ");
    colons.find_map(|colon| {
        let mut words = SEVERITIES.iter();
        let word = words.find(|word| text[..colon].ends_with(word))?;
        Some(colon - word.len())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(prefix: &str, line: &str) -> Option<(Entry, String)> {
        let mut entry = Entry::default();
        let (mut clock, mut start) = (Clock::default(), Clock::default());
        let prefix = Prefix::new(prefix).unwrap();
        let (rest, _) = prefix.read(line.as_bytes(), &mut entry, &mut clock, &mut start)?;
        Some((entry, String::from_utf8(rest.to_vec()).unwrap()))
    }

    #[test]
    fn prefixes_give_time_session_and_names() {
        for (prefix, line) in [
            (
                "%m [%p] %q%u@%d ",
                "2026-11-29 12:34:56.789 UTC [77] me@shop LOG:  x",
            ),
            (
                "%t:%r:%u@%d:[%p]:",
                "2026-11-29 12:34:56 UTC:10.0.0.1(5000):me@shop:[77]:LOG:  x",
            ),
            (
                "%m [%p]: [%l-1] db=%d,user=%u ",
                "2026-11-29 12:34:56.789 UTC [77]: [3-1] db=shop,user=me LOG:  x",
            ),
            ("%n %-6p %u %d ", "1795955696.789 77     me shop LOG:  x"),
            (
                "<%t> app=%a %e %5p %u@%d %i %% ",
                "<2026-11-29 12:34:56 CET> app=ab 00000    77 me@shop idle in transaction % LOG:  x",
            ),
        ] {
            let (entry, rest) = read(prefix, line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!(
                (&*entry.session, &*entry.user, &*entry.database),
                (&b"77"[..], &b"me"[..], &b"shop"[..]),
                "{line}"
            );
            assert_eq!(rest, "LOG:  x");
        }
        // Without anything between the prefix and the message.
        let (entry, _) = read(
            "%m %p %u@%d",
            "2026-11-29 12:34:56.789 UTC 77 me@shopLOG:  x",
        )
        .unwrap();
        assert_eq!(&*entry.database, b"shop");
        let (entry, _) = read("%m %c ", "2026-11-29 12:34:56.789 UTC 6b0c0f70.4d LOG:  x").unwrap();
        assert_eq!(entry.session_start_us, Some(0x6b0c_0f70 * 1_000_000));
        let (entry, _) = read(
            "%m [%p] %q%u@%d ",
            "2026-11-29 12:34:56.789 UTC [77] LOG:  x",
        )
        .unwrap();
        assert_eq!((&*entry.session, &*entry.user), (&b"77"[..], &b""[..]));
        assert!(read("%m [%p] ", "\tFROM t").is_none() && read("%m [%p] ", "").is_none());
    }

    #[test]
    fn a_prefix_without_time_or_session_is_refused() {
        assert_eq!(
            Prefix::new("%p "),
            Err(PrefixError::NoTime("%p ".to_owned()))
        );
        assert_eq!(
            Prefix::new("%m %u "),
            Err(PrefixError::NoSession("%m %u ".to_owned()))
        );
        assert_eq!(Prefix::new("%m %p %y"), Err(PrefixError::Unknown('y')));
    }

    #[test]
    fn known_prefixes_are_recognised_by_the_lines() {
        let debian = "2026-11-29 12:34:56.789 UTC [1] LOG:  ready\n2026-11-29 12:34:56.789 UTC [77] me@shop LOG:  x\n";
        assert_eq!(
            Prefix::of_lines(debian.as_bytes()),
            Prefix::new("%m [%p] %q%u@%d ").ok()
        );
        let plain = "2026-11-29 12:34:56.789 UTC [77] LOG:  statement: a@b\n";
        assert_eq!(
            Prefix::of_lines(plain.as_bytes()).map(|prefix| prefix.clock_us()),
            Some(1000)
        );
        let azure = "2026-11-29 12:34:56 UTC-6b0c0f70.4d-LOG:  x\n";
        assert_eq!(
            Prefix::of_lines(azure.as_bytes()),
            Prefix::new("%t-%c-").ok()
        );
        assert_eq!(Prefix::of_lines(b"hello\nLOG:  x\n"), None);
        // Lines of background processes fit, those of clients do not.
        let other = plain.replace("[77] ", "[77] me/shop ").repeat(3) + plain;
        assert_eq!(Prefix::of_lines(other.as_bytes()), None);
    }
}
