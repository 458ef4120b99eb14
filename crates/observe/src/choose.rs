//! Which instruments a trial gets: what its target and this host have, as far as they are asked for.

use std::collections::BTreeSet;
use std::sync::Arc;

use pgdyno_spec::Wish;

use super::cluster::{Joining, PlainRead};
use super::host::{self, ThreadLags};
use super::{Instrument, Readings, cluster};
use pgdyno_database::dialect::Product;
use pgdyno_database::locate::Located;
use pgdyno_database::open::Target;
use pgdyno_model::document::Facts;
use pgdyno_model::observed::Gap;

/// Tells whether a trial is to end early.
pub type IsStopping = Arc<dyn Fn() -> bool + Send + Sync>;

/// What is known when instruments are chosen.
pub struct Scene<'a> {
    /// What is observed; instruments make sessions of their own to its endpoints.
    pub target: &'a Target,
    /// Where clients connect: the same, unless the server behind it is observed.
    pub way: &'a Target,
    /// What it is, and in which version.
    pub product: &'a Product,
    /// What the server said about itself.
    pub facts: &'a Facts,
    /// Where it is, if that is known before.
    pub located: Option<&'a Located>,
    /// Clients that will be at work.
    pub clients: usize,
    /// Disks of this host that were named; none: the one under the server's data.
    pub disks: &'a [String],
    /// Where the engine's event loops leave how late they were.
    pub lags: &'a ThreadLags,
    /// What the scripts only read, which may be run once more after the trial.
    pub reads: &'a [PlainRead],
    /// Tells whether the trial is to end early.
    pub is_stopping: &'a IsStopping,
    /// What becomes of nodes that join the cluster, where clients go to them.
    pub joining: Option<&'a Joining>,
}

/// Those who know a kind of instrument: they give all that the scene has, whether or not they will
/// be of use. What is not to be had is a gap of an instrument, not a missing instrument.
const FAMILIES: &[Family] = &[
    super::postgresql::instruments,
    host::instruments,
    cluster::instruments,
];

/// The instruments of all products, by family.
const INSTRUMENTS: &[&[&str]] = &[
    super::postgresql::INSTRUMENTS,
    host::INSTRUMENTS,
    cluster::INSTRUMENTS,
];

type Family = fn(&Scene<'_>) -> Instruments;
/// Instruments that have not begun.
pub type Instruments = Vec<Box<dyn Instrument>>;

fn takes(wish: &Wish, name: &str) -> bool {
    match wish {
        Wish::Auto => true,
        Wish::None => false,
        Wish::List(names) => names.iter().any(|wanted| is_in(name, wanted)),
    }
}

fn is_known(name: &str) -> bool {
    INSTRUMENTS.iter().any(|family| family.contains(&name))
}

/// A requested instrument that no product has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    pub name: String,
    /// The instruments of all products, and their groups.
    pub known: Vec<String>,
}

/// Checks that every requested name is that of an instrument or a group, of whatever product: the
/// target's product is not known yet.
///
/// # Errors
/// The first unknown name.
pub fn check(wish: &Wish) -> Result<(), Unknown> {
    let Wish::List(names) = wish else {
        return Ok(());
    };
    let known = || INSTRUMENTS.iter().copied().flatten().copied();
    let unknown = names
        .iter()
        .find(|wanted| !known().any(|name| is_in(name, wanted)));
    match unknown {
        None => Ok(()),
        Some(name) => {
            let groups = known().filter_map(|name| Some(name.split_once('.')?.0));
            let all: BTreeSet<&str> = known().chain(groups).collect();
            Err(Unknown {
                name: name.clone(),
                known: all.into_iter().map(str::to_owned).collect(),
            })
        }
    }
}

/// Whether the instrument is the one wanted, or of the group wanted.
fn is_in(name: &str, wanted: &str) -> bool {
    let rest = name.strip_prefix(wanted);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The instruments for this scene.
pub fn choose(wish: &Wish, scene: &Scene<'_>) -> Instruments {
    let mut chosen = match wish {
        Wish::None => Vec::new(),
        wish => of(wish, all(scene)),
    };
    // Without it no client would go to a node that joins.
    let is_watched = chosen.iter().any(|one| one.name() == cluster::NODES);
    if scene.joining.is_some() && !is_watched {
        chosen.extend(cluster::nodes(scene));
    }
    chosen
}

fn all(scene: &Scene<'_>) -> Instruments {
    let all: Instruments = FAMILIES.iter().flat_map(|family| family(scene)).collect();
    debug_assert!(
        all.iter().all(|one| is_known(one.name())),
        "every instrument is listed"
    );
    all
}

/// Those that are asked for. A name that none of them has is an instrument without anything to
/// see, so that it is reported where people look for it.
fn of(wish: &Wish, all: Instruments) -> Instruments {
    let known: Vec<String> = all.iter().map(|one| one.name().to_owned()).collect();
    let missing = match wish {
        Wish::List(names) => names.as_slice(),
        Wish::Auto | Wish::None => &[],
    };
    let missing = missing.iter().filter(|wanted| {
        let mut known = known.iter();
        !known.any(|name| is_in(name, wanted))
    });
    let missing: Instruments = missing
        .map(|name| -> Box<dyn Instrument> {
            Box::new(Missing {
                name: name.clone(),
                known: known.join(", "),
            })
        })
        .collect();
    let taken = all.into_iter();
    let taken = taken.filter(|instrument| takes(wish, instrument.name()));
    taken.chain(missing).collect()
}

/// Asked for, and not there.
struct Missing {
    name: String,
    known: String,
}

impl Instrument for Missing {
    fn name(&self) -> &str {
        &self.name
    }

    fn source(&self) -> String {
        String::new()
    }

    fn begin(&mut self, _out: &mut Readings) -> Result<(), Gap> {
        let known = match self.known.as_str() {
            "" => "none",
            known => known,
        };
        Err(Gap::because(format!(
            "unknown instrument; available: {known}"
        )))
    }

    /// Never asked: it has not begun.
    fn read(&mut self, _out: &mut Readings) -> Result<(), Gap> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_no_product_has_is_unknown() {
        for known in [
            "auto",
            "none",
            "host",
            "pg,client",
            "pg.waits,crdb",
            "yb.ysql",
        ] {
            assert_eq!(check(&known.parse().unwrap()), Ok(()), "{known}");
        }
        let unknown = check(&"host,pg.wait".parse().unwrap()).unwrap_err();
        assert_eq!(unknown.name, "pg.wait");
        for name in ["host", "host.cpu", "pg.waits", "crdb.vars", "client"] {
            assert!(unknown.known.contains(&name.to_owned()), "{unknown:?}");
        }
    }

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
            assert_eq!(takes(&list, name), is_taken, "{name}");
        }
        let here = || -> Instruments {
            let named = |name: &str| -> Box<dyn Instrument> {
                Box::new(Missing {
                    name: name.to_owned(),
                    known: String::new(),
                })
            };
            vec![named("host.disk"), named("pg.io"), named("pg.wal")]
        };
        let chosen = |text: &str| {
            let chosen = of(&text.parse().unwrap(), here());
            chosen
                .iter()
                .map(|one| one.name().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(chosen("auto"), ["host.disk", "pg.io", "pg.wal"]);
        assert_eq!(chosen("pg,hots"), ["pg.io", "pg.wal", "hots"]);
        let mut missing = of(&"hots".parse().unwrap(), here()).remove(0);
        let gap = missing.begin(&mut Readings::default()).unwrap_err();
        assert!(
            gap.reason.ends_with("available: host.disk, pg.io, pg.wal"),
            "{gap:?}"
        );
        for wrong in ["", "host,", "auto,host", "host,none"] {
            assert!(wrong.parse::<Wish>().is_err(), "{wrong}");
        }
    }
}
