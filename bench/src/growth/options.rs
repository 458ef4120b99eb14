//! The arguments of `pgdyno-bench growth`.

use std::path::PathBuf;

use super::axes;
use super::axis::GrowthAxis;

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// Few small steps of every axis.
    Quick,
    /// All but those that take very long.
    Full,
    /// All.
    Large,
}

/// What is asked for.
pub struct Options {
    /// Which axes.
    pub axes: Vec<&'static GrowthAxis>,
    /// How far they grow.
    pub size: Size,
    /// How often each step is run.
    pub rounds: u32,
    /// Where the result goes.
    pub file: PathBuf,
}

const USAGE: &str = "usage: pgdyno-bench growth [--quick|--large] [--rounds N] [--axis NAME]… FILE";

impl Size {
    /// As shown.
    pub fn name(self) -> &'static str {
        match self {
            Size::Quick => "quick",
            Size::Full => "full",
            Size::Large => "large",
        }
    }

    fn rounds(self) -> u32 {
        match self {
            Size::Quick => 1,
            Size::Full | Size::Large => 3,
        }
    }
}

impl Options {
    /// # Errors
    /// An argument that there is not, an axis that there is not, no file.
    pub fn parse(arguments: &[String]) -> Result<Self, String> {
        let (mut size, mut rounds, mut chosen, mut file) = (Size::Full, None, Vec::new(), None);
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || {
                let value = arguments.next();
                value.ok_or_else(|| format!("{argument} needs a value; {USAGE}"))
            };
            match argument.as_str() {
                "--quick" => size = Size::Quick,
                "--large" => size = Size::Large,
                "--rounds" => rounds = Some(whole(value()?)?),
                "--axis" => chosen.push(named(value()?)?),
                option if option.starts_with('-') => {
                    return Err(format!("no option {option}; {USAGE}"));
                }
                path if file.is_none() => file = Some(PathBuf::from(path)),
                extra => return Err(format!("one file, not {extra} too; {USAGE}")),
            }
        }
        if chosen.is_empty() {
            chosen = axes::ALL.to_vec();
        }
        Ok(Self {
            axes: chosen,
            size,
            rounds: rounds.unwrap_or_else(|| size.rounds()),
            file: file.ok_or(USAGE)?,
        })
    }
}

fn whole(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| format!("--rounds must be a whole number above 0, not {text}"))
}

fn named(name: &str) -> Result<&'static GrowthAxis, String> {
    let axis = axes::ALL.iter().copied().find(|axis| axis.name == name);
    axis.ok_or_else(|| {
        let names: Vec<_> = axes::ALL.iter().map(|axis| axis.name).collect();
        format!("no axis {name}; there are {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Options::parse(&words)
    }

    #[test]
    fn a_quick_round_of_one_axis() {
        let options = parse("--quick --axis threads G.md").unwrap();
        let names: Vec<_> = options.axes.iter().map(|axis| axis.name).collect();
        assert_eq!(names, ["threads"]);
        assert_eq!((options.size, options.rounds), (Size::Quick, 1));
        assert_eq!(options.file, PathBuf::from("G.md"));
    }

    #[test]
    fn all_axes_in_three_rounds_where_nothing_is_said() {
        let options = parse("G.md").unwrap();
        assert_eq!(options.axes.len(), axes::ALL.len());
        assert_eq!((options.size, options.rounds), (Size::Full, 3));
        assert_eq!(parse("G.md --rounds 5").unwrap().rounds, 5);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (line, named) in [
            ("", "usage"),
            ("--axis", "--axis needs a value"),
            ("--axis nothing G.md", "no axis nothing; there are"),
            ("--rounds 0 G.md", "--rounds must be"),
            ("--slow G.md", "no option --slow"),
            ("G.md H.md", "not H.md too"),
        ] {
            let error = parse(line).err().unwrap();
            assert!(error.contains(named), "{line}: {error}");
        }
    }

    #[test]
    fn every_axis_has_a_name_of_its_own_and_ascending_steps() {
        for (at, axis) in axes::ALL.iter().enumerate() {
            assert!(axes::ALL[..at].iter().all(|other| other.name != axis.name));
            for size in [Size::Quick, Size::Full, Size::Large] {
                let steps = axis.steps.of(size);
                assert!(steps.len() >= 3, "{}", axis.name);
                assert!(steps.is_sorted_by(|a, b| a < b), "{}", axis.name);
            }
        }
    }
}
