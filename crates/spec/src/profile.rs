//! How people write a number that moves with the time (docs/guide.md, "A rate that moves"):
//!
//! ```text
//! profile = "@" FILE [":linear"] | sine | bursts | piece {"," piece} ["," NUMBER] | NUMBER
//! piece   = NUMBER "@" TIME | NUMBER ".." NUMBER "/" TIME
//! sine    = NUMBER "~" NUMBER "/" TIME
//! bursts  = NUMBER "+" NUMBER "@" TIME "/" TIME
//! ```

use std::path::Path;
use std::time::Duration;

use super::duration;
use super::load::{Piece, Profile, Then};

/// More pieces than that are taken for an error.
pub const PIECES_MAX: usize = 10_000;
/// So much of a text is shown on either side of an error.
const AROUND: usize = 30;
/// A file that is longer is no list of times.
const FILE_BYTES_MAX: u64 = 10 << 20;

/// What may stand in a profile.
#[derive(Debug, Clone, Copy)]
pub struct Grammar {
    /// What it is of, with its article: `a rate`.
    pub of: &'static str,
    /// Its unit in sentences: `transactions a second`.
    pub unit: &'static str,
    pub is_whole: bool,
    pub max: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Read {
    /// The profile; where its numbers are shares, of 1.
    pub profile: Profile,
    pub has_shares: bool,
}

impl Grammar {
    /// Reads a profile.
    ///
    /// # Errors
    /// What is wrong, where, and what is allowed.
    pub fn read(&self, text: &str) -> Result<Read, String> {
        if let Some(file) = text.strip_prefix('@') {
            let (file, is_linear) = match file.strip_suffix(":linear") {
                Some(file) => (file, true),
                None => (file, false),
            };
            let profile = self.file(Path::new(file), is_linear)?;
            return Ok(Read {
                profile,
                has_shares: false,
            });
        }
        // As some tools let one type thousands.
        let thousands = text.strip_suffix(['k', 'K']);
        if let Some(thousands) = thousands.and_then(|number| number.parse::<f64>().ok()) {
            return Err(format!("a number is written out: {}", thousands * 1000.0));
        }
        Reader::of(self, text).profile()
    }

    /// Reads a file of times and numbers.
    fn file(&self, path: &Path, is_linear: bool) -> Result<Profile, String> {
        let shown = path.display();
        if path.as_os_str().is_empty() {
            return Err(
                "after @, write the name of a file with times and numbers: @load.csv".to_owned(),
            );
        }
        let length = std::fs::metadata(path).map(|file| file.len());
        if length.is_ok_and(|bytes| bytes > FILE_BYTES_MAX) {
            return Err(format!(
                "{shown}: a file of times and numbers is no longer than 10 MiB"
            ));
        }
        let text = std::fs::read_to_string(path).map_err(|why| format!("{shown}: {why}"))?;
        self.rows(&shown.to_string(), &text, is_linear)
    }

    /// Reads the rows of such a file: seconds, number. The last row ends it.
    fn rows(&self, file: &str, text: &str, is_linear: bool) -> Result<Profile, String> {
        let mut rows: Vec<(f64, f64)> = Vec::new();
        let mut is_first = true;
        // Spreadsheets begin a file with a byte-order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = |why: String| format!("{file}, line {number}: {why}\n  {line}");
            let mut fields = line.split([',', ';', '\t']).map(str::trim);
            let (time, value, more) = (fields.next(), fields.next(), fields.next());
            let (Some(time), Some(value), None) = (time, value, more) else {
                let why = format!("a line has two fields, seconds and {}", self.noun());
                return Err(wrong(why));
            };
            let is_header = std::mem::take(&mut is_first);
            let (at_s, value) = match (time.parse::<f64>(), value.parse::<f64>()) {
                (Ok(at_s), Ok(value)) => (at_s, value),
                (Err(_), Err(_)) if is_header => continue,
                (Err(_), _) => return Err(wrong(format!("\"{time}\" is no number of seconds"))),
                (_, Err(_)) => return Err(wrong(format!("\"{value}\" is no number"))),
            };
            self.check(value).map_err(&wrong)?;
            let last = rows.last().map(|row| row.0);
            match last {
                None if at_s != 0.0 => {
                    return Err(wrong("the first time is 0".to_owned()));
                }
                Some(last) if at_s.is_nan() || at_s <= last => {
                    let why = format!("times rise, and {time} is not after {last}");
                    return Err(wrong(why));
                }
                _ if at_s > duration::SECONDS_MAX => {
                    return Err(wrong("that is longer than a year".to_owned()));
                }
                _ => rows.push((at_s, value)),
            }
            if rows.len() > PIECES_MAX {
                return Err(wrong(format!("there are at most {PIECES_MAX} lines")));
            }
        }
        let [.., (_, last)] = rows[..] else {
            return Err(format!(
                "{file}: there is no line with seconds and {}",
                self.noun()
            ));
        };
        if rows.len() == 1 {
            return Err(format!(
                "{file}: one line is no course: the last line says when it ends"
            ));
        }
        let pieces = rows.windows(2).map(|pair| Piece {
            from: pair[0].1,
            to: if is_linear { pair[1].1 } else { pair[0].1 },
            length_s: pair[1].0 - pair[0].0,
        });
        let profile = Profile::straight(pieces, Then::Holds(last));
        if profile.max() > 0.0 {
            Ok(profile)
        } else {
            Err(format!("{file}: {} is 0 all the time", self.of))
        }
    }

    fn allowed(&self) -> String {
        if self.is_whole {
            format!("{} is a positive whole number", self.of)
        } else {
            format!("{} is a positive number of {}", self.of, self.unit)
        }
    }

    fn noun(&self) -> &'static str {
        self.of.split_once(' ').map_or(self.of, |(_, noun)| noun)
    }

    fn check(&self, value: f64) -> Result<(), String> {
        if !(value >= 0.0 && value.is_finite()) {
            return Err(format!("{} is not below 0", self.of));
        }
        if value > self.max {
            return Err(format!("{} is at most {}", self.of, self.max));
        }
        if self.is_whole && value.fract() != 0.0 {
            Err(format!("{} is a whole number", self.of))
        } else {
            Ok(())
        }
    }
}

struct Reader<'a> {
    grammar: &'a Grammar,
    text: &'a str,
    at: usize,
    /// Whether numbers are shares; `None` before the first that is not 0.
    has_shares: Option<bool>,
}

impl<'a> Reader<'a> {
    fn of(grammar: &'a Grammar, text: &'a str) -> Self {
        Self {
            grammar,
            text,
            at: 0,
            has_shares: None,
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// What is wrong here: with the column, and where the text is not a word alone, with the text.
    fn wrong(&self, at: usize, why: impl std::fmt::Display) -> String {
        let column = self.text[..at].chars().count();
        let all: Vec<char> = self.text.chars().collect();
        if all.len() < 2 {
            return why.to_string();
        }
        let from = column.saturating_sub(AROUND);
        let to = all.len().min(column + AROUND);
        let (before, after) = (
            if from > 0 { "…" } else { "" },
            if to < all.len() { "…" } else { "" },
        );
        let shown: String = all[from..to].iter().collect();
        let indent = " ".repeat(column - from + before.chars().count());
        format!(
            "{why}, at column {}\n  {before}{shown}{after}\n  {indent}^",
            column + 1
        )
    }

    fn here<T>(&self, why: impl std::fmt::Display) -> Result<T, String> {
        Err(self.wrong(self.at, why))
    }

    fn takes(&mut self, word: &str) -> bool {
        let is_there = self.rest().starts_with(word);
        self.at += if is_there { word.len() } else { 0 };
        is_there
    }

    fn expects(&mut self, word: &str, why: &str) -> Result<(), String> {
        if self.takes(word) {
            Ok(())
        } else {
            self.here(why)
        }
    }

    /// A number, which may be a share.
    fn number(&mut self) -> Result<f64, String> {
        let start = self.at;
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let mut end = 0;
        while let Some(byte) = bytes.get(end) {
            let is_exponent = |sign: Option<&u8>| sign.is_some_and(u8::is_ascii_digit);
            let is_of_it = match byte {
                b'0'..=b'9' => true,
                // Two of them are a ramp's.
                b'.' if end > 0 => bytes.get(end + 1) != Some(&b'.') && !rest[..end].ends_with('.'),
                b'e' | b'E' if end > 0 => is_exponent(bytes.get(end + 1)),
                _ => false,
            };
            if !is_of_it {
                break;
            }
            end += 1;
        }
        let allowed = self.grammar.allowed();
        let Ok(value) = rest[..end].parse::<f64>() else {
            return self.here(allowed);
        };
        self.at += end;
        let is_share = self.takes("%");
        let known = *self.has_shares.get_or_insert(is_share);
        if known != is_share && value != 0.0 {
            let why = "shares (80%) and numbers do not mix";
            return Err(self.wrong(start, why));
        }
        if is_share {
            return if value <= 1000.0 {
                Ok(value / 100.0)
            } else {
                Err(self.wrong(start, "a share is at most 1000%"))
            };
        }
        let checked = self.grammar.check(value);
        checked.map_err(|why| self.wrong(start, why))?;
        Ok(value)
    }

    /// A time that is longer than nothing.
    fn time(&mut self) -> Result<f64, String> {
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.'));
        let word = &rest[..end.unwrap_or(rest.len())];
        let time = duration::parse_positive(word);
        let time: Duration = time.map_err(|why| self.wrong(self.at, why))?;
        self.at += word.len();
        Ok(time.as_secs_f64())
    }

    fn ended(&self) -> bool {
        self.rest().is_empty()
    }

    /// It is alone: nothing may follow.
    fn alone(&self, profile: Profile, what: &str) -> Result<Profile, String> {
        if self.ended() {
            Ok(profile)
        } else {
            self.here(format!("nothing can follow {what}: they repeat forever"))
        }
    }

    fn profile(mut self) -> Result<Read, String> {
        let profile = self.any()?;
        let has_shares = self.has_shares.unwrap_or(false);
        if profile.max() <= 0.0 {
            let of = self.grammar.of;
            return Err(match profile.constant() {
                Some(_) => self.grammar.allowed(),
                None => format!("{of} is 0 all the time: some number must be greater"),
            });
        }
        Ok(Read {
            profile,
            has_shares,
        })
    }

    fn any(&mut self) -> Result<Profile, String> {
        let mut pieces: Vec<Piece> = Vec::new();
        loop {
            let start = self.at;
            let from = self.number()?;
            if self.ended() {
                return Ok(if pieces.is_empty() {
                    Profile::Constant(from)
                } else {
                    Profile::straight(pieces, Then::Holds(from))
                });
            }
            if pieces.is_empty() && self.takes("~") {
                return self.sine(from);
            }
            if pieces.is_empty() && self.takes("+") {
                return self.bursts(from);
            }
            let last = if self.takes("@") {
                pieces.push(Piece::level(from, self.time()?));
                from
            } else if self.takes("..") {
                let to = self.number()?;
                let why = "after a ramp, write how long it takes: 100..2000/60s";
                self.expects("/", why)?;
                let length_s = self.time()?;
                pieces.push(Piece { from, to, length_s });
                to
            } else {
                let why = if self.rest().starts_with(['~', '+']) {
                    "a sine or bursts must be the only piece: they repeat forever"
                } else {
                    "after a number, write @ and how long (500@30s), .. and where a ramp ends \
                     (100..2000/60s), ~ and how far a sine goes (1000~400/60s), or + and a burst \
                     (200+1500@2s/20s)"
                };
                return self.here(why);
            };
            if pieces.len() > PIECES_MAX {
                let why = format!("there are at most {PIECES_MAX} pieces");
                return Err(self.wrong(start, why));
            }
            if self.ended() {
                return Ok(Profile::straight(pieces, Then::Holds(last)));
            }
            self.expects(",", "write a comma between two pieces: 500@30s,1000@30s")?;
        }
    }

    fn sine(&mut self, mean: f64) -> Result<Profile, String> {
        let start = self.at;
        let amplitude = self.number()?;
        if amplitude > mean {
            let why = "a sine goes at most as far as its mean, else it comes below 0";
            return Err(self.wrong(start, why));
        }
        self.expects(
            "/",
            "after a sine, write how long a period is: 1000~400/60s",
        )?;
        let period_s = self.time()?;
        let sine = Profile::Sine {
            mean,
            amplitude,
            period_s,
        };
        self.alone(sine, "the periods of a sine")
    }

    fn bursts(&mut self, base: f64) -> Result<Profile, String> {
        let start = self.at;
        let more = self.number()?;
        if more == 0.0 {
            return Err(self.wrong(start, "a burst adds more than 0"));
        }
        self.expects(
            "@",
            "after a burst, write @ and how long it is: 200+1500@2s/20s",
        )?;
        let length_s = self.time()?;
        self.expects(
            "/",
            "after its length, write how often it comes: 200+1500@2s/20s",
        )?;
        let start = self.at;
        let period_s = self.time()?;
        if length_s >= period_s {
            return Err(self.wrong(start, "a burst is shorter than the time until the next"));
        }
        let pieces = [
            Piece::level(base, period_s - length_s),
            Piece::level(base + more, length_s),
        ];
        self.alone(Profile::straight(pieces, Then::Repeats), "bursts")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Grammar = Grammar {
        of: "a rate",
        unit: "transactions a second",
        is_whole: false,
        max: 1e9,
    };

    fn read(text: &str) -> Profile {
        let read = RATE
            .read(text)
            .unwrap_or_else(|why| panic!("{text}: {why}"));
        assert!(read.profile.is_rate(), "{text}");
        read.profile
    }

    #[test]
    fn profiles_are_read_and_written_as_people_type_them() {
        for (text, again, at_s, value) in [
            ("500", "500", 7.0, 500.0),
            ("1e3", "1000", 7.0, 1000.0),
            ("2.5", "2.5", 7.0, 2.5),
            ("100..2000/60s", "100..2000/60s", 30.0, 1050.0),
            ("0..2000/1m", "0..2000/60s", 30.0, 1000.0),
            ("500@30s,1000@30", "500@30s,1000@30s", 31.0, 1000.0),
            ("500@30s,1000@30s,200", "500@30s,1000@30s,200", 61.0, 200.0),
            ("500@30s,0@500ms,70", "500@30s,0@0.5s,70", 30.2, 0.0),
            (
                "100..200/10s,200@5s,200..0/5s,50",
                "100..200/10s,200@5s,200..0/5s,50",
                17.5,
                100.0,
            ),
            ("1000~400/60s", "1000~400/60s", 15.0, 1400.0),
            ("200+1500@2s/20s", "200+1500@2s/20s", 19.0, 1700.0),
            ("0+10@1s/1.5s", "0+10@1s/1.5s", 3.2, 0.0),
        ] {
            let profile = read(text);
            assert_eq!(profile.to_string(), again, "{text}");
            assert!((profile.value(at_s) - value).abs() < 1e-9, "{text}");
            assert_eq!(read(again), profile, "{text}");
        }
    }

    #[test]
    fn shares_are_read_as_shares_of_one() {
        for (text, shown) in [
            ("80%", "0.8"),
            ("50%..120%/60s", "0.5..1.2/60s"),
            ("0%@1s,10%", "0@1s,0.1"),
            ("10%@1s,0", "0.1@1s,0"),
        ] {
            let read = RATE.read(text).unwrap();
            assert_eq!(read.profile.to_string(), shown, "{text}");
            assert!(read.has_shares, "{text}");
        }
    }

    #[test]
    fn what_is_no_profile_is_refused_with_its_place_and_the_way_out() {
        let cases = [
            ("", 0, "positive number of transactions a second"),
            ("x", 0, "positive number"),
            ("-1", 1, "positive number"),
            ("0", 0, "positive number"),
            ("inf", 1, "positive number"),
            ("NaN", 1, "positive number"),
            ("1e999", 1, "not below 0"),
            ("2e9", 1, "at most 1000000000"),
            ("5x", 2, "after a number, write @"),
            ("1 000", 2, "after a number"),
            ("1.2.3", 1, "positive number"),
            ("100..", 6, "positive number"),
            ("100..2000", 10, "how long it takes: 100..2000/60s"),
            ("100..2000/", 11, "a duration is"),
            ("100..2000/0s", 11, "longer than nothing"),
            ("100..2000/60x", 11, "a duration is"),
            ("..200/60s", 1, "positive number"),
            ("100...200/60s", 6, "positive number"),
            ("0..0/10s", 0, "0 all the time"),
            ("0@10s", 0, "0 all the time"),
            ("500@", 5, "a duration is"),
            ("500@0", 5, "longer than nothing"),
            ("500@30s,", 9, "positive number"),
            ("500@30s;1000@30s", 8, "write a comma between"),
            ("500@30s 1000@30s", 8, "write a comma between"),
            ("500@30s,,1000@30s", 9, "positive number"),
            ("500@30s,100,200", 12, "after a number, write @"),
            ("500@30s,-5@3s", 9, "positive number"),
            ("500@9999999h", 5, "longer than a year"),
            ("1000~400", 9, "how long a period is"),
            ("1000~1400/60s", 6, "at most as far as its mean"),
            ("1000~400/60s,5", 13, "nothing can follow"),
            ("500@30s,1000~400/60s", 13, "must be the only piece"),
            ("200+1500/20s", 9, "write @ and how long"),
            ("200+1500@2s", 12, "how often it comes"),
            (
                "200+1500@20s/20s",
                14,
                "shorter than the time until the next",
            ),
            ("200+0@2s/20s", 5, "adds more than 0"),
            ("200+1500@2s/20s,1", 16, "nothing can follow"),
            ("80%..500/60s", 6, "do not mix"),
            ("2000%", 1, "at most 1000%"),
            ("@", 0, "the name of a file"),
            ("@nowhere/load.csv", 0, "nowhere/load.csv: "),
        ];
        for (text, column, why) in cases {
            let said = RATE.read(text).expect_err(text);
            assert!(said.contains(why), "{text}: {said}");
            let place = format!("at column {column}\n");
            assert_eq!(said.contains(&place), column > 0, "{text}: {said}");
            if let Some((_, shown)) = said.split_once('\n') {
                let lines: Vec<&str> = shown.lines().collect();
                assert_eq!(lines[1].chars().count(), column + 2, "{text}: {said}");
            }
        }
    }

    #[test]
    fn a_long_text_is_shown_around_its_error() {
        let text = vec!["500@30s"; 40].join(",") + ",x," + &vec!["500@30s"; 40].join(",");
        let said = RATE.read(&text).unwrap_err();
        let lines: Vec<&str> = said.lines().collect();
        assert!(lines[0].ends_with("at column 321"), "{said}");
        let caret = lines[2].chars().count() - 1;
        assert_eq!(lines[1].chars().nth(caret), Some('x'), "{said}");
        assert!(lines[1].chars().count() < 70, "{said}");
    }

    #[test]
    fn whole_numbers_are_whole() {
        let clients = Grammar {
            of: "a number of clients",
            unit: "clients",
            is_whole: true,
            max: 100_000.0,
        };
        assert!(clients.read("8..64/60s").is_ok());
        for (text, why) in [
            ("8.5@3s", "whole number, at column 1"),
            ("8..200000/3s", "at most 100000, at column 4"),
        ] {
            let said = clients.read(text).unwrap_err();
            assert!(said.contains(why), "{said}");
        }
    }

    #[test]
    fn a_file_of_times_holds_each_number_or_goes_straight_to_the_next() {
        let text = "seconds,rate\n# morning\n0,100\n\n30, 500\n60;50\n";
        let steps = RATE.rows("load.csv", text, false).unwrap();
        assert_eq!(steps.to_string(), "100@30s,500@30s,50");
        let straight = RATE.rows("load.csv", text, true).unwrap();
        assert_eq!(straight.to_string(), "100..500/30s,500..50/30s");
        assert_eq!(steps.length_s(), Some(60.0));
        for (text, place) in [
            ("0,1\n5,x\n", "line 2: \"x\" is no number"),
            ("a,1\n", "line 1: \"a\" is no number of seconds"),
            ("0,1\nb,1\n", "line 2: \"b\" is no number of seconds"),
            ("1,1\n2,2\n", "line 1: the first time is 0"),
            (
                "0,1\n5,2\n5,3\n",
                "line 3: times rise, and 5 is not after 5",
            ),
            ("0,1\n5,2\n4,3\n", "line 3: times rise"),
            ("0,1,2\n", "line 1: a line has two fields"),
            ("0\n", "line 1: a line has two fields, seconds and rate"),
            ("0,-1\n", "line 1: a rate is not below 0"),
            ("0,1\n99999999999,1\n", "line 2: that is longer than a year"),
            ("0,5\n", "one line is no course"),
            ("0,0\n5,0\n", "0 all the time"),
            ("", "there is no line"),
            ("seconds,rate\n", "there is no line"),
        ] {
            let said = RATE.rows("load.csv", text, false).expect_err(text);
            assert!(
                said.contains(place) && said.contains("load.csv"),
                "{text}: {said}"
            );
        }
    }
}
