//! Reads the text of a gate.

use std::fmt;

use super::{Condition, Figure, Sense, Threshold, Unit};
use crate::compare::Direction;

/// What is wrong with a gate, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateError {
    /// The whole gate as it was written.
    pub text: String,
    /// The place, in characters from 0.
    pub column: usize,
    /// What is wrong there and what would be right.
    pub message: String,
}

/// The message, then the gate with a caret under the place.
impl fmt::Display for GateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one_line = self.text.replace(char::is_control, " ");
        write!(
            f,
            "{}\n  {one_line}\n  {:>2$}",
            self.message,
            "^",
            self.column + 1
        )
    }
}

impl std::error::Error for GateError {}

pub(super) fn gate(
    text: &str,
    figures: &[Figure<'_>],
    sense: Sense,
) -> Result<Vec<Vec<Condition>>, GateError> {
    let mut reader = Reader {
        text,
        at: 0,
        figures,
        sense,
    };
    let mut groups = vec![vec![reader.condition()?]];
    loop {
        reader.skip_space();
        let start = reader.at;
        if reader.rest().is_empty() {
            return Ok(groups);
        }
        if reader.take(",") {
            groups.push(vec![reader.condition()?]);
        } else if reader.word() == "and" {
            let condition = reader.condition()?;
            if let Some(group) = groups.last_mut() {
                group.push(condition);
            }
        } else {
            return Err(reader.error(
                start,
                "after a condition comes \"and\", a comma (one of them is enough to fail) or the \
                 end"
                .to_owned(),
            ));
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    figures: &'a [Figure<'a>],
    sense: Sense,
}

impl<'a> Reader<'a> {
    fn condition(&mut self) -> Result<Condition, GateError> {
        self.skip_space();
        let start = self.at;
        let figure = self.figure()?;
        self.skip_space();
        let place = self.at;
        let side = if self.take(">") {
            Direction::Higher
        } else if self.take("<") {
            Direction::Lower
        } else {
            return Err(self.error(place, format!("after {} comes > or <", figure.name)));
        };
        if self.rest().starts_with('=') {
            let message = "write > or <: a measured figure is never exactly on the limit";
            return Err(self.error(self.at, message.to_owned()));
        }
        let threshold = self.threshold(figure, side)?;
        let text = self.text[start..self.at].to_owned();
        Ok(Condition {
            figure: figure.name.to_owned(),
            unit: figure.unit,
            side,
            threshold,
            text,
        })
    }

    fn figure(&mut self) -> Result<&'a Figure<'a>, GateError> {
        let start = self.at;
        let name = self.word();
        let figures = self.figures;
        figures
            .iter()
            .find(|figure| figure.name == name)
            .ok_or_else(|| {
                let names: Vec<&str> = figures.iter().map(|figure| figure.name).collect();
                let names = names.join(", ");
                let message = if name.is_empty() {
                    format!("a condition begins with a figure: {names}")
                } else {
                    format!("unknown figure \"{name}\"; known: {names}")
                };
                self.error(start, message)
            })
    }

    fn threshold(&mut self, figure: &Figure<'_>, side: Direction) -> Result<Threshold, GateError> {
        self.skip_space();
        let start = self.at;
        let sign = match self.rest().chars().next() {
            Some('+') => Some(1.0),
            Some('-') => Some(-1.0),
            _ => None,
        };
        self.at += usize::from(sign.is_some());
        let number = self.number(start)?;
        self.skip_space();
        let place = self.at;
        let threshold = if self.take("%") {
            let Some(sign) = sign else {
                let message =
                    format!("a percentage is a change from A to B: write +{number}% or -{number}%");
                return Err(self.error(start, message));
            };
            Threshold::Relative(sign * number / 100.0)
        } else {
            let value = number * self.unit(figure, place)?;
            match sign {
                Some(sign) => Threshold::Change(sign * value),
                None => Threshold::Level(value),
            }
        };
        let sense = match side {
            Direction::Higher => 1.0,
            Direction::Lower => -1.0,
        };
        if let Threshold::Relative(change) | Threshold::Change(change) = threshold
            && self.sense == Sense::Bad
            && change * sense < 0.0
        {
            let (same, other) = if sense > 0.0 {
                ("> +", "< -")
            } else {
                ("< -", "> +")
            };
            let message = format!(
                "this would fail when nothing has changed; write {} {same}… or {} {other}…",
                figure.name, figure.name
            );
            return Err(self.error(start, message));
        }
        Ok(threshold)
    }

    /// A number without sign or exponent.
    fn number(&mut self, start: usize) -> Result<f64, GateError> {
        let digits = self.taken(|c| c.is_ascii_digit() || c == '.');
        let number = digits
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite());
        number.ok_or_else(|| {
            let message = "here comes a threshold, such as +5% (a change), +2ms (a change) or 2ms \
                           (B itself)";
            self.error(start, message.to_owned())
        })
    }

    /// The factor of the unit that is written, or of none.
    fn unit(&mut self, figure: &Figure<'_>, place: usize) -> Result<f64, GateError> {
        // "and" follows a number without unit.
        let before = self.at;
        let written = self.taken(|c| c.is_ascii_alphabetic() || c == '/' || c == 'µ');
        if written == "and" {
            self.at = before;
        }
        let written = if written == "and" { "" } else { written };
        match (figure.unit, written) {
            (Unit::TimeUs, "us" | "µs") => Ok(1.0),
            (Unit::TimeUs, "ms") => Ok(1e3),
            (Unit::TimeUs, "s") => Ok(1e6),
            (Unit::PerSecond, "" | "/s") | (Unit::Number, "") => Ok(1.0),
            (unit, _) => {
                let name = figure.name;
                let message = match unit {
                    Unit::TimeUs => format!("{name} is a time: give us, ms, s, or % with a sign"),
                    Unit::PerSecond => {
                        format!("{name} is a rate: give /s, no unit, or % with a sign")
                    }
                    Unit::Number => format!("{name} has no unit: give none, or % with a sign"),
                };
                Err(self.error(place, message))
            }
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn take(&mut self, expected: &str) -> bool {
        let found = self.rest().starts_with(expected);
        self.at += if found { expected.len() } else { 0 };
        found
    }

    fn taken(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// A figure's name or "and".
    fn word(&mut self) -> &'a str {
        self.skip_space();
        self.taken(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-'))
    }

    fn skip_space(&mut self) {
        self.taken(char::is_whitespace);
    }

    fn error(&self, at: usize, message: String) -> GateError {
        let column = self.text[..at].chars().count();
        GateError {
            text: self.text.to_owned(),
            column,
            message,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIGURES: [Figure<'_>; 4] = [
        Figure {
            name: "p50",
            unit: Unit::TimeUs,
        },
        Figure {
            name: "p99.9",
            unit: Unit::TimeUs,
        },
        Figure {
            name: "goodput",
            unit: Unit::PerSecond,
        },
        Figure {
            name: "failed",
            unit: Unit::Number,
        },
    ];

    fn read(text: &str) -> Vec<Vec<(String, Direction, Threshold)>> {
        let groups = gate(text, &FIGURES, Sense::Bad).unwrap_or_else(|error| panic!("{error}"));
        let plain = |c: Condition| (c.figure, c.side, c.threshold);
        groups
            .into_iter()
            .map(|group| group.into_iter().map(plain).collect())
            .collect()
    }

    #[test]
    fn thresholds_are_changes_with_a_sign_and_levels_without() {
        use Direction::{Higher, Lower};
        use Threshold::{Change, Level, Relative};
        for (text, figure, bad, threshold) in [
            ("p99.9 > +5%", "p99.9", Higher, Relative(0.05)),
            ("goodput<-3 %", "goodput", Lower, Relative(-0.03)),
            ("p50 > 2ms", "p50", Higher, Level(2_000.0)),
            ("p50 > +150us", "p50", Higher, Change(150.0)),
            (" p50 > .5 s ", "p50", Higher, Level(500_000.0)),
            ("goodput < 900/s", "goodput", Lower, Level(900.0)),
            ("goodput < -50", "goodput", Lower, Change(-50.0)),
            ("failed > 0", "failed", Higher, Level(0.0)),
            ("failed > +0%", "failed", Higher, Relative(0.0)),
        ] {
            assert_eq!(
                read(text),
                [[(figure.to_owned(), bad, threshold)]],
                "{text}"
            );
        }
    }

    #[test]
    fn commas_separate_groups_and_and_joins_within_one() {
        let groups = read("p50 > +5%, goodput < 900 and failed > 3and p50 > 1ms");
        let sizes: Vec<usize> = groups.iter().map(Vec::len).collect();
        assert_eq!(sizes, [1, 3]);
        let conditions = gate("p50 > +5% , failed>3", &FIGURES, Sense::Bad).unwrap();
        assert_eq!(conditions[0][0].text.trim(), "p50 > +5%");
        assert_eq!(conditions[1][0].text, "failed>3");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        for (text, column, part) in [
            ("", 0, "begins with a figure: p50, p99.9, goodput, failed"),
            ("p50 > +5%,", 10, "begins with a figure"),
            ("p50 > +5% and", 13, "begins with a figure"),
            ("p98 > +5%", 0, "unknown figure \"p98\"; known: p50"),
            ("p50 +5%", 4, "> or <"),
            ("p50 >= +5%", 5, "exactly on the limit"),
            ("p50 > ", 6, "a threshold"),
            ("p50 > +x", 6, "a threshold"),
            ("p50 > 1.2.3ms", 6, "a threshold"),
            ("p50 > 5%", 6, "+5% or -5%"),
            ("p50 > 5", 7, "give us, ms, s"),
            ("p50 > 5 /s", 8, "give us, ms, s"),
            ("goodput < 5ms", 11, "is a rate"),
            ("failed > 5ms", 10, "has no unit"),
            ("p50 > -5%", 6, "when nothing has changed; write p50 > +"),
            ("goodput < +50", 10, "write goodput < -"),
            ("p50 > 5ms goodput < 3", 10, "after a condition"),
            ("p50 > 5ms ü", 10, "after a condition"),
            ("p50 > 5ms; x", 9, "after a condition"),
            ("µ > 5ms", 0, "unknown figure \"µ\""),
        ] {
            let error = gate(text, &FIGURES, Sense::Bad).expect_err(text);
            assert!(error.message.contains(part), "{text}: {}", error.message);
            assert_eq!(error.column, column, "{text}: {error}");
        }
    }

    #[test]
    fn a_caret_marks_the_place() {
        let error = gate("p50 > 5", &FIGURES, Sense::Bad)
            .unwrap_err()
            .to_string();
        let lines: Vec<&str> = error.lines().collect();
        assert_eq!(lines[1..], ["  p50 > 5", "         ^"]);
    }

    #[test]
    fn no_text_makes_the_reader_panic() {
        let pieces = [
            "p50", ">", "<", "+", "-", "5", "%", "ms", "µ", ",", "and", " ", ".", "\n",
        ];
        let mut rng = crate::rng::Rng::new(9);
        for _ in 0..20_000 {
            let count = rng.below(9);
            let text: String = (0..count)
                .map(|_| pieces[rng.below(pieces.len())])
                .collect();
            if let Err(error) = gate(&text, &FIGURES, Sense::Bad) {
                assert!(error.column <= text.chars().count(), "{text:?}");
                let _ = error.to_string();
            }
        }
    }
}
