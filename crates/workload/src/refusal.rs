//! Parameters that do not go together in a pack: its rules (`[[refuse]]`), each looked at as soon as
//! what it mentions is known.

use std::collections::BTreeMap;

use super::expression;
use super::manifest::Refusal;
use super::mix::WeightedScript;
use super::pack::Pack;
use super::params::Params;
use super::table_params::{self, variables};

/// Why a run with these parameters is refused; `None` when it is not. `drawn` are its scripts. Without
/// a dialect no server has been asked: a rule about the tables is looked at only when the user gives
/// all that it mentions of them. With one, `values` are what the tables have.
///
/// # Errors
/// A rule with a mistake.
pub fn of_run(
    pack: &Pack,
    drawn: &[WeightedScript],
    dialect: Option<&str>,
    params: &Params,
    values: &BTreeMap<String, String>,
) -> Result<Option<String>, String> {
    let of_tables = table_params::of(pack);
    first(pack, values, |rule| {
        let is_drawn = |script: &WeightedScript| rule.scripts.contains(&script.name);
        let is_known = match dialect {
            Some(dialect) => matters_on(pack, rule, dialect),
            None => mentioned(rule)
                .all(|name| !of_tables.contains(name) || params.given(name).is_some()),
        };
        is_known && (rule.scripts.is_empty() || drawn.iter().any(is_drawn))
    })
}

/// Why tables with these parameters are refused: the rules about tables alone. `None` when they are
/// not.
///
/// # Errors
/// A rule with a mistake.
pub fn of_tables(pack: &Pack, values: &BTreeMap<String, String>) -> Result<Option<String>, String> {
    let of_tables = table_params::of(pack);
    first(pack, values, |rule| {
        rule.scripts.is_empty() && mentioned(rule).all(|name| of_tables.contains(name))
    })
}

/// Whether a rule that matters on this dialect depends on how the tables were created, so that they
/// must be queried.
pub fn needs_tables(pack: &Pack, dialect: &str) -> bool {
    let of_tables = table_params::of(pack);
    rules(pack).any(|(_, rule)| {
        matters_on(pack, rule, dialect) && mentioned(rule).any(|name| of_tables.contains(name))
    })
}

/// Whether the dialect has all parameters of the rule: the others are no variables there.
pub(super) fn matters_on(pack: &Pack, rule: &Refusal, dialect: &str) -> bool {
    mentioned(rule).all(|name| pack.param(name).is_none_or(|param| param.is_for(dialect)))
}

/// The first of the rules that matter, and hold.
fn first(
    pack: &Pack,
    values: &BTreeMap<String, String>,
    matters: impl Fn(&Refusal) -> bool,
) -> Result<Option<String>, String> {
    for (of, rule) in rules(pack) {
        let rules = &of.manifest.refusals;
        let number = rules.iter().position(|one| std::ptr::eq(one, rule));
        let place = of.place_at("refuse", &number.unwrap_or(0).to_string(), "when");
        if matters(rule) && expression::condition(&place, &rule.when, values)? {
            let why = of.made(&place, &rule.why, values)?;
            return Ok(Some(format!("{}: {why}", of.name())));
        }
    }
    Ok(None)
}

/// The pack's own rules, and those of the pack that it uses but for those about scripts, which it
/// does not run.
fn rules(pack: &Pack) -> impl Iterator<Item = (&Pack, &Refusal)> {
    let own = pack.manifest.refusals.iter().map(move |rule| (pack, rule));
    let base = pack.tables_pack();
    let is_other = !std::ptr::eq(pack, base);
    let of_base = base.manifest.refusals.iter();
    let of_base = of_base.filter(move |rule| is_other && rule.scripts.is_empty());
    own.chain(of_base.map(move |rule| (base, rule)))
}

fn mentioned(rule: &Refusal) -> impl Iterator<Item = &str> {
    variables(&rule.when)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::tests::pack;
    use crate::shipped;

    /// A pack of a user's whose tables depend on `size`, and on CockroachDB on `ranges`.
    fn mine() -> Pack {
        let manifest = "name='x'\nsummary='s'\nschema='s.sql'\n\
            script=[{name='a',file='a.sql'},{name='b',file='a.sql'}]\n\
            [[table]]\nname='t'\nrows=':size'\ncolumns=[{name='c',value=':row'}]\n\
            [[param]]\nname='size'\ndefault=100\nhelp='h'\n\
            [[param]]\nname='batch'\ndefault=10\nhelp='h'\n\
            [[param]]\nname='ranges'\ndefault=1\nhelp='h'\nonly=['cockroachdb']\n\
            [[refuse]]\nwhen=':batch > :size'\nwhy='batch {{batch}} of {{size}}'\n\
            [[refuse]]\nwhen=':batch > 50'\nwhy='too large'\nscripts=['b']\n\
            [[refuse]]\nwhen=':ranges > :size'\nwhy='ranges'\n";
        let files = [
            ("pack.toml", manifest),
            ("a.sql", "SELECT 1;"),
            ("s.sql", "SELECT 1;"),
            ("s.cockroachdb.sql", "SELECT :ranges;"),
        ];
        pack(&files).unwrap()
    }

    fn refused(given: &[&str], dialect: Option<&str>, script: &str) -> Option<String> {
        let pack = mine();
        let given: Vec<String> = given.iter().map(|text| text.to_string()).collect();
        let params = Params::parse(&pack, None, &given).unwrap();
        let values = params.or_defaults(&pack);
        let mut scripts = pack.scripts(None, &values).unwrap();
        scripts.retain(|s| s.name == script);
        of_run(&pack, &scripts, dialect, &params, &values).unwrap()
    }

    #[test]
    fn a_rule_is_looked_at_when_what_it_mentions_is_known() {
        // The tables may be larger than what the default is.
        assert_eq!(refused(&["batch=200"], None, "a"), None);
        let why = Some("x: batch 200 of 100".to_owned());
        assert_eq!(refused(&["batch=200"], Some("postgresql"), "a"), why);
        assert_eq!(refused(&["batch=200", "size=100"], None, "a"), why);
        assert_eq!(refused(&["batch=90"], None, "a"), None);
        let why = Some("x: too large".to_owned());
        assert_eq!(refused(&["batch=90"], None, "b"), why);
    }

    #[test]
    fn a_rule_about_what_a_dialect_does_not_have_does_not_matter_there() {
        let given = ["ranges=200"];
        assert_eq!(refused(&given, Some("postgresql"), "a"), None);
        let why = Some("x: ranges".to_owned());
        assert_eq!(refused(&given, Some("cockroachdb"), "a"), why);
    }

    #[test]
    fn a_load_looks_at_rules_about_tables_alone() {
        let pack = mine();
        let load = |given: &str| {
            let params = Params::parse(&pack, None, &[given.to_owned()]).unwrap();
            of_tables(&pack, &params.or_defaults(&pack)).unwrap()
        };
        assert_eq!(load("batch=200"), None);
        assert_eq!(load("ranges=200"), Some("x: ranges".to_owned()));
    }

    #[test]
    fn a_pack_on_anothers_tables_has_its_rules_too() {
        let pack = shipped::find("select-only").unwrap();
        let given = ["tablets=9", "range_keys=true"].map(str::to_owned);
        let params = Params::parse(&pack, None, &given).unwrap();
        let why = of_run(&pack, &[], None, &params, &params.or_defaults(&pack));
        let why = why.unwrap().unwrap();
        assert!(why.starts_with("tpcb: tablets=9 is for tables"), "{why}");
        assert!(needs_tables(&pack, "yugabytedb"));
        assert!(!needs_tables(&pack, "postgresql"), "has no tablets");
        assert!(!needs_tables(
            &shipped::find("probe").unwrap(),
            "postgresql"
        ));
    }
}
