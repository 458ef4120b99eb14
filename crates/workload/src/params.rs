//! What the user chose with `--param NAME=VALUE`, checked against what the pack offers.
//!
//! Not for: what the loaded tables have (`scale.rs`).

use std::collections::BTreeMap;

use super::manifest::{self, Param};
use super::pack::Pack;
use pgdyno_database::dialect::Product;
use pgdyno_spec::{secret::word_kept, suggest::did_you_mean};

/// The parameters that the user gave, by name; those not given are the tables', the mix's or the
/// default.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Params {
    given: BTreeMap<String, String>,
    of_mix: BTreeMap<String, String>,
    of_dialect: BTreeMap<String, String>,
    is_trusted: bool,
}

impl Params {
    /// What is given counts, whatever tables that are there say: as tools do that look at no table.
    pub fn trusted(self, is_trusted: bool) -> Params {
        Params { is_trusted, ..self }
    }

    pub fn are_trusted(&self) -> bool {
        self.is_trusted
    }

    /// Reads `NAME=VALUE` texts; the last of the same name wins. The mix is one that the pack has, if
    /// any.
    pub fn parse(pack: &Pack, mix: Option<&str>, given: &[String]) -> Result<Params, String> {
        let mut params = BTreeMap::new();
        for text in given {
            let Some((name, value)) = text.split_once('=') else {
                return Err(format!("--param {text}: it must be NAME=VALUE"));
            };
            let shown = word_kept(text);
            let Some(param) = pack.param_called(name) else {
                let names = pack.params();
                return Err(if names.is_empty() {
                    format!("--param {shown}: pack {} has no parameters", pack.name())
                } else {
                    format!(
                        "--param {shown}: pack {} has no parameter \"{name}\" ({}there are: {})",
                        pack.name(),
                        did_you_mean(name, names.iter().map(|p| p.name.as_str())),
                        manifest::list(names.iter().map(|p| p.name.as_str()))
                    )
                });
            };
            param
                .accept(value)
                .map_err(|why| format!("--param {shown}: {why}"))?;
            params.insert(param.name.clone(), value.to_owned());
        }
        let of_mix = mix.and_then(|name| pack.manifest.mixes.iter().find(|m| m.name == name));
        let of_mix = of_mix.into_iter().flat_map(|mix| &mix.params);
        Ok(Params {
            is_trusted: false,
            given: params,
            of_mix: of_mix
                .map(|(name, value)| (name.clone(), value.to_string()))
                .collect(),
            of_dialect: BTreeMap::new(),
        })
    }

    /// The same on this dialect, where some defaults may be others.
    pub fn on(mut self, pack: &Pack, dialect: &str) -> Params {
        let params = pack.params().into_iter();
        let others = params.filter_map(|p| {
            let value = p.default_on.get(dialect)?;
            Some((p.name.clone(), value.to_string()))
        });
        self.of_dialect = others.collect();
        self
    }

    /// What is wrong with the parameters that the user gave when the server is this product.
    pub fn check_on(&self, pack: &Pack, product: &Product) -> Result<(), String> {
        for (name, value) in self.all_given() {
            if let Some(param) = pack.param(name)
                && !param.is_for(product.dialect.name)
            {
                return Err(format!(
                    "--param {name}={value}: the tables have no such thing on {}",
                    product.title()
                ));
            }
        }
        Ok(())
    }

    /// The value the user gave, if any.
    pub fn given(&self, name: &str) -> Option<&str> {
        self.given.get(name).map(String::as_str)
    }

    /// All that the user gave.
    pub fn all_given(&self) -> impl Iterator<Item = (&str, &str)> {
        self.given
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The value of a parameter that neither the user nor the tables determine.
    pub fn default_of(&self, param: &Param) -> String {
        let of_mix = self.of_mix.get(&param.name);
        let or_dialect = of_mix.or(self.of_dialect.get(&param.name)).cloned();
        or_dialect.unwrap_or_else(|| param.default.to_string())
    }

    /// The values that a run of this mix has when the user gives none.
    ///
    /// # Errors
    /// The pack has no such mix.
    pub fn values_of(pack: &Pack, mix: Option<&str>) -> Result<BTreeMap<String, String>, String> {
        mix.map(|name| pack.mix(name)).transpose()?;
        Ok(Params::parse(pack, mix, &[])?.or_defaults(pack))
    }

    /// Every parameter of the pack with the user's value, the mix's or the default.
    pub fn or_defaults(&self, pack: &Pack) -> BTreeMap<String, String> {
        pack.params()
            .into_iter()
            .map(|p| {
                let value = self.given(&p.name).map(str::to_owned);
                (p.name.clone(), value.unwrap_or_else(|| self.default_of(p)))
            })
            .collect()
    }
}

/// `NAME=VALUE` texts for script files: any variable, as with pgbench's -D.
pub fn variables(given: &[String]) -> Result<BTreeMap<String, String>, String> {
    let mut variables = BTreeMap::new();
    for text in given {
        match text.split_once('=') {
            Some((name, value)) if pgdyno_script::is_valid_name(name) => {
                variables.insert(name.to_owned(), value.to_owned());
            }
            _ => return Err(format!("--param {text}: it must be NAME=VALUE")),
        }
    }
    Ok(variables)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shipped;

    fn parse(given: &[&str]) -> Result<Params, String> {
        let given: Vec<_> = given.iter().map(|s| s.to_string()).collect();
        Params::parse(&shipped::find("tpcb").unwrap(), None, &given)
    }

    #[test]
    fn the_last_value_wins_and_the_rest_are_defaults() {
        let p = parse(&["scale=2", "scale=3"]).unwrap();
        let all = p.or_defaults(&shipped::find("tpcb").unwrap());
        assert_eq!(
            (all["scale"].as_str(), all["fillfactor"].as_str()),
            ("3", "100")
        );
        assert_eq!(p.given("fillfactor"), None);
    }

    #[test]
    fn a_wrong_parameter_is_named_with_what_is_allowed() {
        assert!(parse(&["scale"]).unwrap_err().contains("NAME=VALUE"));
        let e = parse(&["sale=3"]).unwrap_err();
        assert!(
            e.contains("no parameter \"sale\" (did you mean scale? there are: scale, fillfactor, "),
            "{e}"
        );
        let e = parse(&["scale=0"]).unwrap_err();
        assert_eq!(e, "--param scale=0: it must be at least 1");
        assert!(parse(&["scale=x"]).unwrap_err().contains("whole number"));
    }

    #[test]
    fn what_a_product_does_not_have_is_refused_there_and_taken_elsewhere() {
        let pack = shipped::find("tpcb").unwrap();
        let on = |given: &str, text: &str| {
            parse(&[given])
                .unwrap()
                .check_on(&pack, &Product::recognise(text))
        };
        let (postgresql, cockroachdb) = ("PostgreSQL 18.1", "CockroachDB CCL v19.1.0");
        assert_eq!(on("fillfactor=90", postgresql), Ok(()));
        assert_eq!(
            on("fillfactor=90", cockroachdb).unwrap_err(),
            "--param fillfactor=90: the tables have no such thing on CockroachDB 19.1"
        );
        assert_eq!(on("scale=9", cockroachdb), Ok(()));
        assert_eq!(on("tablets=9", "PostgreSQL 15.12-YB-2025.2.2.2-b0"), Ok(()));
        assert!(on("tablets=9", postgresql).is_err());
    }

    #[test]
    fn a_parameter_goes_by_its_aliases_too_and_may_have_another_default_on_a_dialect() {
        let pack = shipped::find("slob").unwrap();
        let parse = |given: &[&str]| {
            let given: Vec<_> = given.iter().map(|s| s.to_string()).collect();
            Params::parse(&pack, None, &given)
        };
        let params = parse(&["scale=2000", "scale=3000", "num_schemas=2"]).unwrap();
        assert_eq!(params.given("scale"), Some("3000"));
        assert_eq!(params.or_defaults(&pack)["schemas"], "2");
        assert_eq!(params.given("num_schemas"), None);
        let e = parse(&["num_schemas=0"]).unwrap_err();
        assert_eq!(e, "--param num_schemas=0: it must be at least 1");

        let loop_on = |params: Params, dialect: &str| {
            params.on(&pack, dialect).or_defaults(&pack)["loop"].clone()
        };
        assert_eq!(loop_on(params.clone(), "postgresql"), "server");
        assert_eq!(loop_on(params, "cockroachdb"), "client");
        let given = parse(&["loop=server"]).unwrap();
        assert_eq!(loop_on(given, "cockroachdb"), "server");
    }

    #[test]
    fn script_files_take_any_variable() {
        let got = variables(&["a=1=2".to_owned()]).unwrap();
        assert_eq!(got["a"], "1=2");
        assert!(variables(&["a".to_owned()]).is_err() && variables(&["-=1".to_owned()]).is_err());
    }
}
