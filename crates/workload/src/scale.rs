//! The values that the loaded tables really have, asked of the tables themselves: `:scale` is never
//! assumed.

use std::collections::BTreeMap;

use pgdyno_session::{Error, Session};

use super::mix::WeightedScript;
use super::pack::Pack;
use super::{shipped, sql_words};
use pgdyno_database::admin;
use pgdyno_database::dialect::{Dialect, Product};

/// What each parameter with a `loaded` query is in the tables; the tables must be there.
pub fn of_pack(
    session: &mut Session,
    dialect: &Dialect,
    pack: &Pack,
) -> Result<BTreeMap<String, String>, Error> {
    let mut values = BTreeMap::new();
    for param in pack.params_on(dialect.name) {
        if let Some(query) = &param.loaded
            && let Some(value) = admin::value(session, query)?
        {
            values.insert(param.name.clone(), value);
        }
    }
    Ok(values)
}

/// What tables without pgdyno's mark tell of the parameters with a `recognise` query. What is not reported,
/// for whatever reason, is left out: it may be that the tables do not fit at all. The queries are templates, of
/// what is asked for.
pub fn recognised(
    session: &mut Session,
    dialect: &Dialect,
    pack: &Pack,
    asked: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, Error> {
    let mut values = BTreeMap::new();
    for param in pack.params_on(dialect.name) {
        let Some(query) = &param.recognise else {
            continue;
        };
        let place = format!("recognise of {}", param.name);
        let Ok(query) = pack.made(&place, query, asked) else {
            continue;
        };
        match admin::value(session, &query) {
            Ok(Some(value)) => drop(values.insert(param.name.clone(), value)),
            Err(e) if session.is_broken() => return Err(e),
            Ok(None) | Err(_) => {}
        }
    }
    Ok(values)
}

/// For script files: when they name tables of a shipped pack and these are loaded, the parameters
/// that the tables have, so that `:scale` in a script of one's own is right without an option.
/// Values that cannot be had are left out.
pub fn of_scripts(session: &mut Session, scripts: &[WeightedScript]) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    let Ok(product) = Product::ask(session) else {
        return values;
    };
    // It may have tables of these names, and its catalogues are not to be trusted.
    if product.is_other() {
        return values;
    }
    for name in shipped::names() {
        let Ok(pack) = shipped::find(name) else {
            continue;
        };
        let own_tables = pack.manifest.uses.is_none();
        let mentioned = pack.tables().iter().any(|t| {
            let texts = scripts.iter().map(|s| s.text.as_str());
            texts
                .into_iter()
                .any(|text| sql_words::mentions(text, &t.name))
        });
        if own_tables && mentioned {
            values.extend(of_pack(session, product.dialect, &pack).unwrap_or_default());
        }
    }
    values
}

/// Whether two texts are the same value: numbers are compared as numbers.
pub fn same(a: &str, b: &str) -> bool {
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => a == b,
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loader::{self, How, Watch};
    use crate::params::Params;
    use pgdyno_database::open::{self};
    use pgdyno_output::Loading;
    use pgdyno_spec::TargetSpec;

    #[test]
    fn numbers_are_the_same_however_they_are_written() {
        assert!(same("010", "10") && same("1.0", "1") && same("x", "x"));
        assert!(!same("1", "2") && !same("x", "y"));
    }

    #[test]
    fn the_scale_is_taken_from_the_tables() {
        let url = pgdyno_testkit::postgres().address().url();
        let connect = |url: String| {
            let wanted = TargetSpec::at(url);
            open::existing(&wanted).unwrap().unwrap().connect().unwrap()
        };
        connect(url.clone())
            .simple_query("CREATE DATABASE scale_test")
            .unwrap();
        let mut session = connect(url.replace("@/postgres?", "@/scale_test?"));
        let scripts = |text: &str| [WeightedScript::plain("a", text.to_owned(), 1)];
        let mine = scripts("UPDATE pgbench_tellers SET tbalance = :scale;");
        assert!(
            of_scripts(&mut session, &mine).is_empty(),
            "nothing is loaded"
        );

        let mut progress = Loading::quiet();
        let mut watch = Watch {
            endpoints: &[],
            progress: &mut progress,
            interrupts: None,
            others: None,
        };
        let tpcb = shipped::find("tpcb").unwrap();
        let three = Params::parse(&tpcb, None, &["scale=3".to_owned()]).unwrap();
        let loaded = loader::ensure_loaded(&mut session, &tpcb, &three, &mut watch).unwrap();
        assert_eq!(
            (loaded.how, loaded.variables["scale"].as_str()),
            (How::LoadedNow, "3")
        );
        assert_eq!(loaded.rows[2], ("pgbench_accounts".to_owned(), 300_000));

        let update = shipped::find("update").unwrap();
        let loaded =
            loader::ensure_loaded(&mut session, &update, &Params::default(), &mut watch).unwrap();
        assert_eq!(
            (loaded.how, loaded.variables["scale"].as_str()),
            (How::LoadedBefore, "3")
        );
        assert_eq!(of_scripts(&mut session, &mine)["scale"], "3");
        assert!(of_scripts(&mut session, &scripts("SELECT 'pgbench_tellers'")).is_empty());
    }
}
