//! What the user chose with `--param NAME=VALUE`, checked against what the pack offers.
//!
//! Not for: what the loaded tables have (`scale.rs`).

use std::collections::BTreeMap;

use super::manifest;
use super::pack::Pack;

/// The parameters that the user gave, by name; those not given are the tables' or the default.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Params(BTreeMap<String, String>);

impl Params {
    /// Reads `NAME=VALUE` texts; the last of the same name wins.
    pub fn parse(pack: &Pack, given: &[String]) -> Result<Params, String> {
        let mut params = BTreeMap::new();
        for text in given {
            let Some((name, value)) = text.split_once('=') else {
                return Err(format!("--param {text}: it must be NAME=VALUE"));
            };
            let Some(param) = pack.param(name) else {
                let names = pack.params();
                return Err(if names.is_empty() {
                    format!("--param {text}: pack {} has no parameters", pack.name())
                } else {
                    format!(
                        "--param {text}: pack {} has no parameter \"{name}\" (there are: {})",
                        pack.name(),
                        manifest::list(names.iter().map(|p| p.name.as_str()))
                    )
                });
            };
            param
                .accept(value)
                .map_err(|why| format!("--param {text}: {why}"))?;
            params.insert(name.to_owned(), value.to_owned());
        }
        Ok(Params(params))
    }

    /// The value the user gave, if any.
    pub fn given(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// All that the user gave.
    pub fn all_given(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Every parameter of the pack with the user's value or the default.
    pub fn or_defaults(&self, pack: &Pack) -> BTreeMap<String, String> {
        pack.params()
            .into_iter()
            .map(|p| {
                let value = self.given(&p.name).map(str::to_owned);
                (
                    p.name.clone(),
                    value.unwrap_or_else(|| p.default.to_string()),
                )
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
    use crate::workload::shipped;

    fn parse(given: &[&str]) -> Result<Params, String> {
        let given: Vec<_> = given.iter().map(|s| s.to_string()).collect();
        Params::parse(&shipped::find("tpcb").unwrap(), &given)
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
            e.contains("no parameter \"sale\" (there are: scale, fillfactor)"),
            "{e}"
        );
        let e = parse(&["scale=0"]).unwrap_err();
        assert_eq!(e, "--param scale=0: it must be at least 1");
        assert!(parse(&["scale=x"]).unwrap_err().contains("whole number"));
    }

    #[test]
    fn script_files_take_any_variable() {
        let got = variables(&["a=1=2".to_owned()]).unwrap();
        assert_eq!(got["a"], "1=2");
        assert!(variables(&["a".to_owned()]).is_err() && variables(&["-=1".to_owned()]).is_err());
    }
}
