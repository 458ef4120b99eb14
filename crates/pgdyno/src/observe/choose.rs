//! Which instruments a trial gets: what its target and this host have, as far as they are asked for.

use std::fmt;
use std::str::FromStr;

use super::host::{self, ThreadLags};
use super::{Instrument, cluster};
use crate::target::dialect::Product;
use crate::target::facts::Facts;
use crate::target::open::Target;

/// What is known when instruments are chosen.
pub struct Scene<'a> {
    /// Where clients connect; instruments make sessions of their own to its endpoints.
    pub target: &'a Target,
    /// What it is, and in which version.
    pub product: &'a Product,
    /// What the server said of itself.
    pub facts: &'a Facts,
    /// Clients that will be at work.
    pub clients: usize,
    /// Disks of this host that were named; none: the one under the server's data.
    pub disks: &'a [String],
    /// Where the engine's event loops leave how late they were.
    pub lags: &'a ThreadLags,
}

/// Those who know a kind of instrument: they give all that the scene has, whether or not they will
/// be of use. What is not to be had is a gap of an instrument, not a missing instrument.
const FAMILIES: &[fn(&Scene<'_>) -> Vec<Box<dyn Instrument>>] =
    &[host::instruments, cluster::instruments];

/// Which instruments are asked for (`--observe`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Wish {
    /// All that the scene has.
    Auto,
    /// None.
    #[default]
    None,
    /// Those of these names or groups (`host`, `pg.io`).
    List(Vec<String>),
}

impl FromStr for Wish {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
        match names.as_slice() {
            [name] if name == "auto" => Ok(Self::Auto),
            [name] if name == "none" => Ok(Self::None),
            names if names.iter().any(|name| name == "auto" || name == "none") => {
                Err("auto and none stand alone".to_owned())
            }
            names if names.iter().any(String::is_empty) => Err(
                "auto, none, or names of instruments with commas between them: host,pg.io"
                    .to_owned(),
            ),
            _ => Ok(Self::List(names)),
        }
    }
}

impl fmt::Display for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::None => f.write_str("none"),
            Self::List(names) => f.write_str(&names.join(",")),
        }
    }
}

impl Wish {
    fn takes(&self, name: &str) -> bool {
        match self {
            Self::Auto => true,
            Self::None => false,
            Self::List(names) => names.iter().any(|wanted| is_in(name, wanted)),
        }
    }
}

/// Whether the instrument is the one wanted, or of the group wanted.
fn is_in(name: &str, wanted: &str) -> bool {
    let rest = name.strip_prefix(wanted);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The instruments for this scene.
pub fn choose(wish: &Wish, scene: &Scene<'_>) -> Vec<Box<dyn Instrument>> {
    if *wish == Wish::None {
        return Vec::new();
    }
    let all = FAMILIES.iter().flat_map(|family| family(scene));
    all.filter(|instrument| wish.takes(instrument.name()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instruments_are_asked_for_by_name_or_by_group() {
        assert_eq!("auto".parse(), Ok(Wish::Auto));
        assert_eq!("none".parse(), Ok(Wish::None));
        let list: Wish = "host,pg.io".parse().unwrap();
        assert_eq!(list.to_string(), "host,pg.io");
        for (name, is_taken) in [
            ("host", true),
            ("host.disk", true),
            ("hosts", false),
            ("pg.io", true),
            ("pg.io.tables", true),
            ("pg", false),
            ("pg.iota", false),
        ] {
            assert_eq!(list.takes(name), is_taken, "{name}");
        }
        for wrong in ["", "host,", "auto,host", "host,none"] {
            assert!(wrong.parse::<Wish>().is_err(), "{wrong}");
        }
    }
}
