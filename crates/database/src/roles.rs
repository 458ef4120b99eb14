//! Which endpoints of a target have a role: those that were named, taken out of the others; hosts of a list
//! that libpq searches; or whichever host is a standby.

use std::sync::Arc;

use pgdyno_spec::{EndpointRole, Exit, Failure, roles::STANDBY};
use pgdyno_wire::{Addr, Candidate, SessionAttrs};

use super::open::{Endpoint, Role, Target};

impl Target {
    /// The same target, where these endpoints have roles.
    ///
    /// # Errors
    /// A host that is not among those of the target, or that has two roles; none is left without a role.
    pub fn with_roles(mut self, asked: &[EndpointRole]) -> Result<Target, Failure> {
        if asked.is_empty() || !self.roles.is_empty() {
            return Ok(self);
        }
        if self.load_balances {
            let text =
                "with load_balance_hosts clients have no endpoint of their own, and no roles";
            return Err(refused(text).hint("leave load_balance_hosts out"));
        }
        let all = self.endpoints.clone();
        for role in asked {
            let mut endpoints = Vec::new();
            for host in &role.hosts {
                endpoints.extend(self.taken(&all, host)?);
            }
            self.roles.push(Role {
                name: role.role.clone(),
                endpoints,
            });
        }
        Ok(self)
    }

    /// The endpoints that are meant by a host, which are not among those without a role from now on.
    fn taken(&mut self, all: &[Endpoint], host: &str) -> Result<Vec<Endpoint>, Failure> {
        let is_meant = |endpoint: &Endpoint| endpoint.candidates.iter().all(|c| is_at(c, host));
        if all.iter().any(is_meant) {
            let (meant, left) = std::mem::take(&mut self.endpoints)
                .into_iter()
                .partition::<Vec<_>, _>(is_meant);
            self.endpoints = left;
            if meant.is_empty() {
                return Err(refused(&format!("{host} has two roles")));
            }
            if self.endpoints.is_empty() {
                let text = "every endpoint has a role, and scripts without one have nowhere to go";
                return Err(refused(text).hint("leave the primary without a role"));
            }
            return Ok(meant);
        }
        // Hosts that libpq's search goes through: it is one endpoint, which stays as it is.
        let listed = all.iter().filter_map(|endpoint| match host {
            STANDBY => with(endpoint, SessionAttrs::Standby, |_| true),
            _ => with(endpoint, SessionAttrs::Any, |candidate| {
                is_at(candidate, host)
            }),
        });
        let listed: Vec<Endpoint> = listed.collect();
        if host == STANDBY && all.iter().all(|endpoint| hosts(endpoint).len() < 2) {
            return self.standbys(all);
        }
        if !listed.is_empty() {
            Ok(listed)
        } else {
            let known: Vec<String> = all.iter().flat_map(hosts).collect();
            let text = format!("there is no endpoint {host}");
            Err(refused(&text).hint(format!(
                "hosts are named as in --url, which has: {}",
                known.join(", ")
            )))
        }
    }

    /// Those of several endpoints that are standbys now.
    fn standbys(&mut self, all: &[Endpoint]) -> Result<Vec<Endpoint>, Failure> {
        let is_one = |endpoint: &Endpoint| {
            let asked = with(endpoint, SessionAttrs::Standby, |_| true);
            asked.is_some_and(|asked| match asked.connect() {
                Ok(session) => {
                    session.close();
                    true
                }
                Err(_) => false,
            })
        };
        let names: Vec<&str> = { all.iter() }
            .filter(|endpoint| is_one(endpoint))
            .map(|endpoint| endpoint.name.as_str())
            .collect();
        let (standbys, left) = std::mem::take(&mut self.endpoints)
            .into_iter()
            .partition::<Vec<_>, _>(|endpoint| names.contains(&endpoint.name.as_str()));
        self.endpoints = left;
        if standbys.is_empty() || self.endpoints.is_empty() {
            let text = if standbys.is_empty() {
                "no endpoint that can be reached is a standby"
            } else {
                "all endpoints are standbys, and scripts without a role have nowhere to go"
            };
            return Err(refused(text).hint(
                "name the primary and its standbys with --url, or start both: --pg-standby async",
            ));
        }
        Ok(standbys)
    }
}

fn refused(text: &str) -> Failure {
    Failure::with(Exit::Usage, format!("--endpoint-role: {text}"))
}

/// The endpoint with those of its candidates, which are to be of this kind; `None` without any.
fn with(
    endpoint: &Endpoint,
    attrs: SessionAttrs,
    keep: impl Fn(&Candidate) -> bool,
) -> Option<Endpoint> {
    let mut one = endpoint.clone();
    one.candidates.retain(|candidate| keep(candidate));
    for candidate in &mut one.candidates {
        let mut login = (*candidate.login).clone();
        login.session_attrs = attrs;
        candidate.login = Arc::new(login);
    }
    one.name = one.candidates.first()?.place();
    Some(one)
}

/// Whether a host, with or without its port, names the server of a candidate.
fn is_at(candidate: &Candidate, host: &str) -> bool {
    let is_port = |port: u16| {
        let rest = host.strip_suffix(&format!(":{port}"));
        rest.is_some_and(|rest| rest == candidate.host)
    };
    match &candidate.addr {
        Addr::Tcp(addr) => {
            host == candidate.host || host == candidate.place() || is_port(addr.port())
        }
        Addr::Unix(_) => host == candidate.place() || host == candidate.host,
    }
}

fn hosts(endpoint: &Endpoint) -> Vec<String> {
    let mut hosts: Vec<String> = endpoint.candidates.iter().map(Candidate::place).collect();
    hosts.dedup();
    hosts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::tests::over;

    fn roles(text: &str) -> Vec<EndpointRole> {
        text.parse::<pgdyno_spec::EndpointRoles>().unwrap().0
    }

    /// The endpoints without a role, and those of the first role.
    fn given(url: &str, text: &str) -> Result<(Vec<String>, Vec<String>), String> {
        let target = over(url)
            .with_roles(&roles(text))
            .map_err(|e| e.to_string())?;
        let names = |list: &[Endpoint]| list.iter().map(|e| e.name.clone()).collect();
        Ok((names(&target.endpoints), names(&target.roles[0].endpoints)))
    }

    const THREE: &str = "host=127.0.0.1,127.0.0.2,127.0.0.3 user=me dbname=b";

    #[test]
    fn named_hosts_are_taken_out_of_the_others() {
        let (left, taken) = given(THREE, "reads=127.0.0.2,127.0.0.3:5432").unwrap();
        assert_eq!(left, ["127.0.0.1:5432"]);
        assert_eq!(taken, ["127.0.0.2:5432", "127.0.0.3:5432"]);
    }

    #[test]
    fn hosts_of_a_search_are_endpoints_of_the_role_and_the_search_stays() {
        let search = format!("{THREE} target_session_attrs=read-write");
        let (left, taken) = given(&search, "reads=127.0.0.2").unwrap();
        assert_eq!((left.len(), taken), (1, vec!["127.0.0.2:5432".to_owned()]));
        let target = over(&search).with_roles(&roles("reads=standby")).unwrap();
        let [standby] = target.roles[0].endpoints.as_slice() else {
            panic!("one search for a standby");
        };
        let all = target.endpoints[0].candidates.len();
        assert_eq!(standby.candidates.len(), all);
        let attrs = |candidate: &Candidate| candidate.login.session_attrs;
        assert!(
            standby
                .candidates
                .iter()
                .all(|c| attrs(c) == SessionAttrs::Standby)
        );
        let first = &target.endpoints[0].candidates[0];
        assert_eq!(attrs(first), SessionAttrs::ReadWrite);
    }

    #[test]
    fn what_has_no_endpoint_or_leaves_none_is_refused() {
        for (text, why) in [
            ("reads=db9", "there is no endpoint db9"),
            ("reads=127.0.0.2;more=127.0.0.2", "127.0.0.2 has two roles"),
            (
                "reads=127.0.0.1,127.0.0.2,127.0.0.3",
                "every endpoint has a role",
            ),
        ] {
            let said = given(THREE, text).unwrap_err();
            assert!(said.contains(why), "{text}: {said}");
        }
    }
}
