//! Where clients connect: endpoints with their candidates, and sessions with them.
//!
//! Not for: how a target is found (`open.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use pgdyno_server::Server;
use pgdyno_session::{ConnInfo, ConnInfoError, Error, Session};
use pgdyno_wire::Candidate;

use super::dialect::{AtStart, Dialect};
use super::discover;
use super::pair::Pair;
use super::trouble;
use super::waiting::Limits;
use pgdyno_model::document::TargetKind;
use pgdyno_spec::{Discover, Exit, Failure};

/// How long one attempt to connect may take when the user does not say (connect_timeout).
pub const CONNECT_LIMIT: Duration = Duration::from_secs(30);

/// Where clients connect: to one server, or to one that is found in a list in libpq's way.
#[derive(Clone)]
pub struct Endpoint {
    pub name: String,
    /// Every attempt worth making, in order; never empty.
    pub candidates: Vec<Candidate>,
    /// How long statements wait there.
    pub limits: Limits,
}

impl Endpoint {
    fn of(info: &ConnInfo, warnings: &mut Vec<String>) -> Result<Endpoint, ConnInfoError> {
        let found = info.candidates()?;
        for warning in info.warnings().iter().chain(&found.warnings) {
            // libpq's word for it; commands have their own.
            let warning = warning.strip_prefix("WARNING: ").unwrap_or(warning);
            let warning = warning.to_owned();
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        Ok(Endpoint {
            // There is always one.
            name: found.list[0].place(),
            candidates: found.list,
            limits: Limits::default(),
        })
    }

    /// An administrative session. Interrupts end what it waits for.
    ///
    /// # Errors
    /// Nothing of it can be reached, or an interrupt came.
    pub fn connect(&self) -> Result<Session, Error> {
        let patience = self.limits.patience();
        let mut session = Session::connect_with(&self.candidates, Some(CONNECT_LIMIT), patience)?;
        self.limits.tell(&mut session)?;
        Ok(session)
    }

    /// The same endpoint, where no attempt to connect takes longer than that, and no answer.
    pub fn within(&self, limit: Duration) -> Endpoint {
        let mut quickly = self.clone();
        for candidate in &mut quickly.candidates {
            let given = candidate.connect_timeout.unwrap_or(limit);
            candidate.connect_timeout = Some(given.min(limit));
        }
        quickly.limits.silence = Some(limit);
        quickly
    }
}

/// Endpoints for scripts of a role.
#[derive(Clone)]
pub struct Role {
    pub name: String,
    pub endpoints: Vec<Endpoint>,
}

/// Who administers a private server.
#[derive(Clone)]
pub(super) struct Administrator {
    pub user: String,
    /// As `key=value` pairs that lead there in this role.
    pub address: String,
}

/// A session with the first endpoint that can be reached; without one, why not with the first.
fn connect_any(endpoints: &[Endpoint]) -> Result<Session, Error> {
    let mut first = None;
    for endpoint in endpoints {
        match endpoint.connect() {
            Ok(session) => return Ok(session),
            Err(interrupted @ Error::Interrupted { .. }) => return Err(interrupted),
            Err(e) => {
                first.get_or_insert(e);
            }
        }
    }
    Err(first.unwrap_or_else(|| Error::Usage("there is no endpoint to connect to".to_owned())))
}

/// What to connect to. Clones share a server of this run's own, which ends with the last of them.
#[derive(Clone)]
pub struct Target {
    /// Over which clients are dealt; never empty.
    pub endpoints: Vec<Endpoint>,
    /// Endpoints that only scripts of their role go to; nothing is administered there.
    pub roles: Vec<Role>,
    /// Whether each client is to have an order of its own (`load_balance_hosts`).
    pub load_balances: bool,
    pub kind: TargetKind,
    /// Host, port, database and user, without secrets, for people.
    pub title: String,
    /// The same as `key=value` pairs that lead there again, without secrets.
    pub address: String,
    /// Of a private server: who administers it. Its endpoints log in as a role with fewer rights.
    pub(super) administrator: Option<Administrator>,
    /// What the user should know about how it was named.
    pub warnings: Vec<String>,
    /// How its endpoints were found, and how they are connected to, if they are the nodes of a cluster.
    pub(super) discovered: Option<Arc<(ConnInfo, Discover)>>,
    /// Keeps a server of this run's own alive.
    pub(super) server: Option<Arc<Server>>,
    /// Keeps a pair of servers of this run's own alive.
    pub(super) pair: Option<Arc<Pair>>,
}

/// So many endpoints are named one by one for people.
const NAMED_MAX: usize = 4;

fn title(info: &ConnInfo, endpoints: &[Endpoint]) -> String {
    let (dbname, user) = (info.dbname(), info.user());
    if endpoints.len() > 1 {
        let names = endpoints.iter().take(NAMED_MAX);
        let mut names: Vec<&str> = names.map(|endpoint| endpoint.name.as_str()).collect();
        let more = format!("{} more", endpoints.len().saturating_sub(NAMED_MAX));
        if endpoints.len() > NAMED_MAX {
            names.push(&more);
        }
        return format!(
            "database {dbname} on {} endpoints ({}), user {user}",
            endpoints.len(),
            names.join(", ")
        );
    }
    let hosts: Vec<_> = info.hosts().collect();
    let hosts = match hosts.join(",") {
        hosts if hosts.is_empty() => "the local socket".to_owned(),
        hosts => hosts,
    };
    let port = info.port();
    format!("database {dbname} on {hosts}, port {port}, user {user}")
}

/// Options worth keeping to find a server again; passwords are not among them.
const ADDRESS_OPTIONS: [&str; 10] = [
    "hostaddr",
    "sslmode",
    "sslnegotiation",
    "sslcert",
    "sslkey",
    "sslrootcert",
    "passfile",
    "target_session_attrs",
    "channel_binding",
    "require_auth",
];

fn address(info: &ConnInfo) -> String {
    let mut pairs = vec![
        ("host", info.option("host").unwrap_or_default()),
        ("port", info.option("port").unwrap_or(info.port())),
        ("user", info.user()),
        ("dbname", info.dbname()),
    ];
    pairs.extend(ADDRESS_OPTIONS.map(|name| (name, info.option(name).unwrap_or_default())));
    let quoted = |value: &str| value.replace('\\', "\\\\").replace('\'', "\\'");
    let pairs = pairs.into_iter().filter(|(_, value)| !value.is_empty());
    let pairs = pairs.map(|(name, value)| format!("{name}='{}'", quoted(value)));
    pairs.collect::<Vec<_>>().join(" ")
}

impl Target {
    /// Those without a role, then those of each role.
    pub fn endpoints_of_all_roles(&self) -> impl Iterator<Item = &Endpoint> + Clone {
        let of_roles = self.roles.iter().flat_map(|role| &role.endpoints);
        self.endpoints.iter().chain(of_roles)
    }

    /// Restarts a server of this run's own.
    ///
    /// # Errors
    /// It is another's, or it does not start again.
    pub fn restart_own(&self) -> Result<(), Failure> {
        match &self.server {
            Some(server) => server.restart().map_err(trouble::own_server),
            None => Err(Failure::new("the server is not one of this run's own")),
        }
    }

    /// The server of this run's own, where it has one alone.
    pub fn own_server(&self) -> Option<&Arc<Server>> {
        self.server.as_ref()
    }

    /// The pair of servers of this run's own, where it has one.
    pub fn pair(&self) -> Option<&Arc<Pair>> {
        self.pair.as_ref()
    }

    /// How the cluster tells its nodes, if they are the endpoints (`--discover`).
    pub fn discovers(&self) -> Option<&Discover> {
        self.discovered.as_ref().map(|found| &found.1)
    }

    /// Another node of the cluster, `host:port`, as an endpoint like those that are there.
    ///
    /// # Errors
    /// They were not discovered, or no way leads to it; as a clause.
    pub fn endpoint_at(&self, address: &str) -> Result<Endpoint, String> {
        let not_understood = || format!("a node's address is not understood: {address}");
        let (host, port) = discover::place(address).ok_or_else(not_understood)?;
        let Some(found) = &self.discovered else {
            return Err("its endpoints are not those of a cluster".to_owned());
        };
        let info = found.0.at(host, port);
        let mut endpoint = Endpoint::of(&info, &mut Vec::new()).map_err(|e| e.to_string())?;
        let like = &self.endpoints[0];
        endpoint.limits = like.limits;
        for candidate in &mut endpoint.candidates {
            // Sessions may have got settings since.
            let mut login = (*candidate.login).clone();
            login
                .parameters
                .clone_from(&like.candidates[0].login.parameters);
            candidate.login = Arc::new(login);
        }
        Ok(endpoint)
    }

    /// The server that is described so; of several hosts one, in libpq's way.
    ///
    /// # Errors
    /// No way leads to it: an unknown host name, a certificate that is not there.
    pub fn of(info: &ConnInfo, kind: TargetKind) -> Result<Target, ConnInfoError> {
        Target::over(std::slice::from_ref(info), kind)
    }

    /// An endpoint for each description; there must be one.
    pub(super) fn over(infos: &[ConnInfo], kind: TargetKind) -> Result<Target, ConnInfoError> {
        let mut warnings = Vec::new();
        let endpoints = infos.iter().map(|info| Endpoint::of(info, &mut warnings));
        let endpoints = endpoints.collect::<Result<Vec<_>, _>>()?;
        let first = infos.first();
        Ok(Target {
            title: first.map_or_else(String::new, |info| title(info, &endpoints)),
            endpoints,
            roles: Vec::new(),
            load_balances: infos.iter().any(ConnInfo::load_balances),
            kind,
            address: first.map_or_else(String::new, address),
            administrator: None,
            warnings,
            discovered: None,
            server: None,
            pair: None,
        })
    }

    /// How long statements wait at each endpoint.
    pub(super) fn limit(&mut self, limits: Limits) {
        let of_roles = self.roles.iter_mut().flat_map(|role| &mut role.endpoints);
        for endpoint in self.endpoints.iter_mut().chain(of_roles) {
            endpoint.limits = limits;
        }
    }

    /// The same target, with these settings for each of its sessions.
    pub fn with_settings(&self, dialect: &Dialect, settings: &BTreeMap<String, String>) -> Target {
        let mut target = self.clone();
        if settings.is_empty() {
            return target;
        }
        let of_roles = target.roles.iter_mut().flat_map(|role| &mut role.endpoints);
        let endpoints = target.endpoints.iter_mut().chain(of_roles);
        for candidate in endpoints.flat_map(|endpoint| &mut endpoint.candidates) {
            let mut login = (*candidate.login).clone();
            if dialect.settings_at_start == AtStart::Parameters {
                login
                    .parameters
                    .retain(|(name, _)| !settings.contains_key(name));
                let settings = settings.iter().map(|(n, v)| (n.clone(), v.clone()));
                login.parameters.extend(settings);
                candidate.login = Arc::new(login);
                continue;
            }
            let at = login.parameters.iter().position(|(n, _)| n == "options");
            let mut options = at.map_or_else(String::new, |at| login.parameters.remove(at).1);
            for (name, value) in settings {
                // A start-up parameter of that name would win.
                login.parameters.retain(|(other, _)| other != name);
                // The server splits at white space; a backslash takes what follows as it is.
                let mut escaped = String::new();
                for c in value.chars() {
                    if c == '\\' || c.is_ascii_whitespace() {
                        escaped.push('\\');
                    }
                    escaped.push(c);
                }
                options += &format!(" -c {name}={escaped}");
            }
            let options = options.trim_start().to_owned();
            login.parameters.push(("options".to_owned(), options));
            candidate.login = Arc::new(login);
        }
        target
    }

    /// Whether one of several hosts that the user named is searched for. Servers of pgdyno's own have titles of
    /// their own.
    pub fn searches_hosts(&self) -> bool {
        self.kind == TargetKind::Named && self.hosts_of_search().len() > 1
    }

    /// The places of the only endpoint; none where there are several endpoints.
    fn hosts_of_search(&self) -> BTreeSet<String> {
        match self.endpoints.as_slice() {
            [endpoint] => endpoint.candidates.iter().map(Candidate::place).collect(),
            _ => BTreeSet::new(),
        }
    }

    /// The same target, named after the host that took a session, where one of several hosts was searched for.
    pub fn reached(mut self, at: &Candidate) -> Target {
        if !self.searches_hosts() {
            return self;
        }
        let place = at.place();
        let (database, user) = (at.login.database(), &at.login.user);
        let port = place.rsplit([':', '.']).next().unwrap_or_default();
        self.title = format!(
            "database {database} on {}, port {port}, user {user} (of {} hosts)",
            at.host,
            self.hosts_of_search().len()
        );
        self.endpoints[0].name = place;
        self
    }

    /// An administrative session. Interrupts end what it waits for.
    ///
    /// # Errors
    /// No endpoint can be reached, or an interrupt came.
    pub fn connect(&self) -> Result<Session, Failure> {
        connect_any(&self.endpoints).map_err(|e| match e {
            Error::Interrupted { exit_code, .. } => {
                let text = format!("interrupted while connecting to {}", self.title);
                Failure::with(Exit::Interrupted(exit_code), text)
            }
            e => trouble::connect(&e, self.kind),
        })
    }

    /// The same target for pgdyno's own administration: of a private server as a superuser, who looks nothing
    /// up where scripts could have put it. Workloads' statements, and what runs triggers or functions of their
    /// tables, do not belong there.
    pub fn administration(&self) -> Target {
        let mut target = self.clone();
        if let Some(administrator) = &self.administrator {
            target.log_in_as(&administrator.user, Some("-c search_path=pg_catalog"));
        }
        target
    }

    /// Whether it is administered in another role than the one that its endpoints log in as.
    pub fn is_administered_apart(&self) -> bool {
        self.administrator.is_some()
    }

    /// A session with [`Target::administration`].
    ///
    /// # Errors
    /// As [`Target::connect`].
    pub fn administer(&self) -> Result<Session, Failure> {
        self.administration().connect()
    }

    /// The same target, whose endpoints log in as the administrator: for scripts that may run programs on
    /// this host.
    pub fn with_all_rights(&self) -> Target {
        let mut target = self.clone();
        if let Some(administrator) = target.administrator.take() {
            target.log_in_as(&administrator.user, None);
            target.address = administrator.address;
        }
        target
    }

    /// Where it is administered: `key=value` pairs without secrets.
    pub fn administration_address(&self) -> &str {
        let address = self.administrator.as_ref().map(|who| &who.address);
        address.unwrap_or(&self.address)
    }

    /// Has all endpoints log in as that role, and with these options alone if there are any.
    pub(super) fn log_in_as(&mut self, user: &str, options: Option<&str>) {
        let of_roles = self.roles.iter_mut().flat_map(|role| &mut role.endpoints);
        let endpoints = self.endpoints.iter_mut().chain(of_roles);
        for candidate in endpoints.flat_map(|endpoint| &mut endpoint.candidates) {
            let mut login = (*candidate.login).clone();
            user.clone_into(&mut login.user);
            if let Some(options) = options {
                login.parameters.retain(|(name, _)| name != "options");
                login
                    .parameters
                    .push(("options".to_owned(), options.to_owned()));
            }
            candidate.login = Arc::new(login);
        }
    }

    /// A session with the first endpoint that takes one, where connecting to an endpoint and each answer
    /// takes no longer than that: for what is only looked at.
    ///
    /// # Errors
    /// No endpoint takes one, or an interrupt came.
    pub fn connect_within(&self, limit: Duration) -> Result<Session, Error> {
        let endpoints: Vec<Endpoint> = { self.endpoints.iter() }.map(|e| e.within(limit)).collect();
        let mut session = connect_any(&endpoints)?;
        session.set_answer_timeout(Some(limit));
        Ok(session)
    }

    /// The same failure; when the connection to an own server was lost, with what the server said
    /// last, since its log goes with it.
    pub fn explain(&self, failure: Failure) -> Failure {
        match self.last_words() {
            Some(words) if failure.exit == Exit::Connection => {
                failure.detail(format!("the server's last words:\n{words}"))
            }
            _ => failure,
        }
    }

    /// The last lines of an own server's log, for when it is lost.
    pub fn last_words(&self) -> Option<String> {
        let pair = || self.pair.as_deref().map(Pair::last_words);
        self.server.as_deref().map(Server::last_words).or_else(pair)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use pgdyno_session::{Env, Given, resolve};

    use super::*;

    #[test]
    fn a_search_is_named_after_the_host_that_was_reached() {
        let one = over("postgresql://me@127.0.0.1:1/b");
        let (title, first) = (one.title.clone(), one.endpoints[0].candidates[0].clone());
        assert_eq!(one.reached(&first).title, title);
        let hosts = "host=127.0.0.1,::1 port=1,2 user=me dbname=b target_session_attrs=primary";
        let target = over(hosts);
        let second = target.endpoints[0].candidates.last().unwrap().clone();
        let target = target.reached(&second);
        assert_eq!(target.endpoints[0].name, "[::1]:2");
        let expected = "database b on ::1, port 2, user me (of 2 hosts)";
        assert_eq!(target.title, expected);
        // Several endpoints are named one by one.
        let several = over("postgresql://me@127.0.0.1:1,127.0.0.2:2/b");
        let title = several.title.clone();
        let first = several.endpoints[0].candidates[0].clone();
        assert_eq!(several.reached(&first).title, title);
    }

    /// The target of a connection string, which is not connected to.
    pub(crate) fn over(url: &str) -> Target {
        let info = resolve(&Given::target(url.to_owned()), &Env::empty()).unwrap();
        let infos = if info.searches_hosts() {
            vec![info]
        } else {
            info.each_host()
        };
        Target::over(&infos, TargetKind::Named).unwrap()
    }
}
