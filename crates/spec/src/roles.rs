//! Which endpoints have which role, and which scripts go there: reads that go to standbys, above all.
//!
//! Not here: finding the endpoints (`database`), connections of clients (`drive`).

use std::fmt;
use std::str::FromStr;

use clap::Args;
use serde::{Deserialize, Serialize};
use std::time::Duration;

use super::{duration, serialized};
use crate::exit::{Exit, Failure};

/// The word for hosts that are standbys when they are connected to, wherever they are.
pub const STANDBY: &str = "standby";

/// Roles of endpoints. Scripts without a role go to the endpoints without one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct RolesSpec {
    /// Keep these hosts of --url, with or without port, for scripts of a role: reads=host2,host3; several
    /// roles: reads=host2;reports=host3:5433. reads=standby: hosts of --url that are standbys
    #[arg(long, value_name = "ROLE=HOST,…", value_parser = EndpointRoles::from_str, help_heading = "Target")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<String>"))]
    pub endpoint_role: Option<EndpointRoles>,

    /// Send scripts to the endpoints of a role: select-only=reads,report=reads. A pack can say it too
    /// (role = "reads" of a script)
    #[arg(long, value_name = "SCRIPT=ROLE,…", value_parser = ScriptRoles::from_str, help_heading = "Target")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<String>"))]
    pub script_role: Option<ScriptRoles>,

    /// Measure how stale reads are at the endpoints that have a role: write a stamp through the primary
    /// this often, and read the stamps there (pgdyno help standbys). 5ms is a good value
    #[arg(long, id = "staleness_us", value_name = "TIME", value_parser = duration::parse_positive, help_heading = "Correctness")]
    #[serde(
        rename = "staleness_us",
        with = "serialized::us",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<f64>"))]
    pub staleness: Option<Duration>,

    /// With --staleness, also judge the clients' own sessions: each transaction that writes leaves its client's
    /// stamp (an UPDATE more, of a row of its own), and each that only reads reads it (a SELECT more). Says how
    /// often a client did not read what it had written, or read less than before (pgdyno help standbys)
    #[arg(long, help_heading = "Correctness")]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<bool>"))]
    pub client_stamps: bool,
}

/// Roles with their hosts, in the order in which they were given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EndpointRoles(pub Vec<EndpointRole>);

/// A role and the hosts that have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointRole {
    /// Its name.
    pub role: String,
    /// `host`, `host:port`, the directory or path of a Unix socket, or [`STANDBY`].
    pub hosts: Vec<String>,
}

/// Scripts by name, each with its role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ScriptRoles(pub Vec<(String, String)>);

impl RolesSpec {
    /// Whether none of it is asked for.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The roles of endpoints.
    pub fn endpoints(&self) -> &[EndpointRole] {
        self.endpoint_role.as_ref().map_or(&[], |roles| &roles.0)
    }

    /// The role that the command line gives a script.
    pub fn of_script(&self, name: &str) -> Option<&str> {
        let roles = self.script_role.as_ref()?;
        let mut roles = roles.0.iter();
        roles.find_map(|(script, role)| (script == name).then_some(role.as_str()))
    }

    /// What contradicts itself, or needs a role that no endpoint has.
    ///
    /// # Errors
    /// As said, with the way out.
    pub fn check(&self) -> Result<(), Failure> {
        let usage = |text: String| Failure::with(Exit::Usage, text);
        if self.client_stamps && self.staleness.is_none() {
            let text = "--client-stamps is part of how staleness is measured";
            return Err(usage(text.to_owned()).hint("give --staleness 5ms with it"));
        }
        let known = |role: &str| self.endpoints().iter().any(|known| known.role == role);
        let mut scripts = self.script_role.iter().flat_map(|roles| &roles.0);
        if let Some((script, role)) = scripts.find(|(_, role)| !known(role)) {
            let text =
                format!("--script-role: {script} has the role {role}, and no endpoint has it");
            return Err(usage(text).hint(format!("say which have: --endpoint-role {role}=HOST")));
        }
        Ok(())
    }
}

/// `NAME` of a role or script and what follows the equals sign, neither empty.
fn pair<'a>(text: &'a str, form: &str) -> Result<(&'a str, &'a str), String> {
    let pair = text
        .split_once('=')
        .map(|(name, rest)| (name.trim(), rest.trim()));
    let full = pair.filter(|(name, rest)| !name.is_empty() && !rest.is_empty());
    full.ok_or_else(|| format!("\"{text}\" is not {form}"))
}

impl FromStr for EndpointRoles {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut roles: Vec<EndpointRole> = Vec::new();
        for part in text.split(';').filter(|part| !part.trim().is_empty()) {
            let (role, hosts) = pair(part, "ROLE=HOST,…")?;
            if roles.iter().any(|known| known.role == role) {
                return Err(format!(
                    "the role {role} is there twice: list its hosts with commas"
                ));
            }
            let hosts = hosts.split(',').map(|host| host.trim().to_owned());
            let hosts: Vec<String> = hosts.filter(|host| !host.is_empty()).collect();
            if hosts.is_empty() {
                return Err(format!("the role {role} has no host"));
            }
            let role = role.to_owned();
            roles.push(EndpointRole { role, hosts });
        }
        if roles.is_empty() {
            Err("there is no ROLE=HOST,… in it".to_owned())
        } else {
            Ok(Self(roles))
        }
    }
}

impl FromStr for ScriptRoles {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut roles: Vec<(String, String)> = Vec::new();
        for part in text.split(',') {
            let (script, role) = pair(part, "SCRIPT=ROLE")?;
            if roles.iter().any(|(known, _)| known == script) {
                return Err(format!("the script {script} is there twice"));
            }
            roles.push((script.to_owned(), role.to_owned()));
        }
        Ok(Self(roles))
    }
}

impl fmt::Display for EndpointRoles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let roles = self.0.iter();
        let roles = roles.map(|one| format!("{}={}", one.role, one.hosts.join(",")));
        f.write_str(&roles.collect::<Vec<_>>().join(";"))
    }
}

impl fmt::Display for ScriptRoles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let roles = self
            .0
            .iter()
            .map(|(script, role)| format!("{script}={role}"));
        f.write_str(&roles.collect::<Vec<_>>().join(","))
    }
}

impl From<EndpointRoles> for String {
    fn from(roles: EndpointRoles) -> Self {
        roles.to_string()
    }
}

impl From<ScriptRoles> for String {
    fn from(roles: ScriptRoles) -> Self {
        roles.to_string()
    }
}

impl TryFrom<String> for EndpointRoles {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl TryFrom<String> for ScriptRoles {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_read_as_they_are_written() {
        let text = "reads=host2,host3:5433;reports=/run/pg";
        let roles: EndpointRoles = text.parse().unwrap();
        assert_eq!(roles.0[0].hosts, ["host2", "host3:5433"]);
        assert_eq!(roles.0[1].role, "reports");
        assert_eq!(roles.to_string(), text);
        let scripts: ScriptRoles = "a=reads,b=reports".parse().unwrap();
        assert_eq!(scripts.to_string(), "a=reads,b=reports");
    }

    #[test]
    fn what_is_no_role_is_said() {
        for (text, why) in [
            ("host2", "\"host2\" is not ROLE=HOST"),
            ("reads=", "is not ROLE=HOST"),
            ("reads=,", "the role reads has no host"),
            ("reads=a;reads=b", "the role reads is there twice"),
            (";", "there is no ROLE=HOST"),
        ] {
            let said = text.parse::<EndpointRoles>().unwrap_err();
            assert!(said.contains(why), "{text}: {said}");
        }
        for (text, why) in [("a", "is not SCRIPT=ROLE"), ("a=x,a=y", "a is there twice")] {
            let said = text.parse::<ScriptRoles>().unwrap_err();
            assert!(said.contains(why), "{text}: {said}");
        }
    }

    #[test]
    fn a_role_that_no_endpoint_has_is_refused() {
        let asked = RolesSpec {
            script_role: Some("a=reads".parse().unwrap()),
            ..RolesSpec::default()
        };
        let said = asked.check().unwrap_err();
        assert!(said.message.contains("a has the role reads"), "{said}");
        let asked = RolesSpec {
            endpoint_role: Some("reads=b".parse().unwrap()),
            ..asked
        };
        assert!(asked.check().is_ok());
    }

    #[test]
    fn stamps_of_clients_need_staleness() {
        let asked = RolesSpec {
            client_stamps: true,
            ..RolesSpec::default()
        };
        let said = asked.check().unwrap_err().to_string();
        assert!(said.contains("--staleness 5ms"), "{said}");
    }
}
