//! What the product promises of a trial's transactions: of the level in effect, less what it documents of
//! transactions that read from standbys.

use pgdyno_isolation::{Anomaly, Level};
use pgdyno_model::Fact;
use pgdyno_model::document::isolation::IsolationPromise;

use crate::prepare::Prepared;

pub(super) fn of(prepared: &Prepared, in_effect: &Fact<String>) -> Fact<IsolationPromise> {
    let product = &prepared.product;
    let level = match in_effect {
        Fact::Unknown(why) => return Fact::Unknown(why.clone()),
        Fact::Known(level) => level,
    };
    if level.contains(", ") {
        return Fact::Unknown(format!("its transactions run at several levels: {level}"));
    }
    let Some(promise) = product.dialect.promise(product.version, level) else {
        return Fact::Unknown(format!(
            "no documentation of {level} on {} was found",
            product.dialect.title
        ));
    };
    let standbys = product.dialect.standbys_show();
    let standbys = standbys.filter(|_| at_roles(prepared).any(|(_, _, is_standby)| is_standby));
    let all = || promise.possible.iter().chain(standbys);
    let allows: Vec<&str> = all().map(|possible| possible.what).collect();
    let sources = std::iter::once(promise.source).chain(standbys.map(|standbys| standbys.source));
    Fact::Known(IsolationPromise {
        level: promise.level.name().to_owned(),
        allows: allows.join("; "),
        source: sources.collect::<Vec<_>>().join("; "),
        except: { standbys.iter() }
            .flat_map(|standbys| standbys.anomalies)
            .map(|name| (*name).to_owned())
            .collect(),
    })
}

/// Where scripts of a role went; nothing if no endpoint has one.
pub(super) fn reads(prepared: &Prepared) -> Option<String> {
    let all = at_roles(prepared).map(|(role, endpoint, is_standby)| {
        let what = if is_standby { " (a standby)" } else { "" };
        format!("{role} at {endpoint}{what}")
    });
    let all: Vec<String> = all.collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// Each endpoint that has a role: the role, its place, whether it is a standby.
fn at_roles(prepared: &Prepared) -> impl Iterator<Item = (&str, &str, bool)> {
    let roles = prepared.target.roles.iter();
    let of_roles = roles.flat_map(|role| role.endpoints.iter().map(|_| role.name.as_str()));
    let count = of_roles.clone().count();
    // Those with a role are the last that were reached, in the order of roles.
    let reached = &prepared.facts.reached;
    let reached = &reached[reached.len().saturating_sub(count)..];
    { of_roles.zip(reached) }.map(|(role, reached)| {
        let is_standby = reached.is_standby == Some(true);
        (role, reached.endpoint.as_str(), is_standby)
    })
}

/// Whether what is promised forbids an anomaly. That what was acknowledged stays is promised at every level.
pub(super) fn forbids(
    promise: Option<&IsolationPromise>,
) -> impl Fn(Anomaly) -> Option<bool> + use<> {
    let named = |promise: &IsolationPromise| {
        let mut all = Level::ALL.into_iter();
        all.find(|level| level.name() == promise.level)
    };
    let level = promise.and_then(named);
    let except = promise.map_or_else(Vec::new, |promise| promise.except.clone());
    move |anomaly| {
        let level = level?;
        let is_possible = except.iter().any(|name| name == anomaly.name());
        Some(anomaly == Anomaly::LostWrite || (level.forbids(anomaly) && !is_possible))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_documented_of_standbys_is_not_forbidden_and_lost_writes_always_are() {
        let promise = |except: &[&str]| IsolationPromise {
            level: "snapshot isolation".to_owned(),
            allows: String::new(),
            source: String::new(),
            except: except.iter().map(|name| (*name).to_owned()).collect(),
        };
        let (alone, with_standbys) = (promise(&[]), promise(&["long-fork"]));
        assert_eq!(forbids(Some(&alone))(Anomaly::LongFork), Some(true));
        assert_eq!(
            forbids(Some(&with_standbys))(Anomaly::LongFork),
            Some(false)
        );
        assert_eq!(
            forbids(Some(&with_standbys))(Anomaly::LostUpdate),
            Some(true)
        );
        assert_eq!(
            forbids(Some(&alone))(Anomaly::MissedOwnWrite),
            Some(false),
            "sessions are not promised an order"
        );
        assert_eq!(forbids(Some(&alone))(Anomaly::LostWrite), Some(true));
        assert_eq!(forbids(None)(Anomaly::LostUpdate), None);
    }
}
