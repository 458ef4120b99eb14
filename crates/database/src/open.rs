//! From what the user said about the target, or did not say, to connection candidates and whatever
//! must stay alive for them: the server named, the kept one, or one started for this run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pgdyno_server::{Cache, Listen, Server, Step, kept};
use pgdyno_session::{
    ConnInfo, ConnInfoError, Env, Error, Given, Session, names_a_target, resolve,
};
use pgdyno_wire::Candidate;

use super::dialect::{AtStart, Dialect};
use super::waiting::Limits;
use super::{discover, own, trouble};
use pgdyno_model::document::TargetKind;
use pgdyno_model::spec::TargetSpec;
use pgdyno_model::{Exit, Failure};

/// How long one attempt to connect may take when the user does not say (connect_timeout).
pub const CONNECT_LIMIT: Duration = Duration::from_secs(30);

/// Where clients connect: to one server, or to one that is found in a list in libpq's way.
#[derive(Clone)]
pub struct Endpoint {
    /// Its place, for people.
    pub name: String,
    /// Every attempt worth making, in order; never empty.
    pub candidates: Vec<Candidate>,
    /// How long statements wait there.
    pub limits: Limits,
}

impl Endpoint {
    fn of(info: &ConnInfo, warnings: &mut Vec<String>) -> Result<Endpoint, ConnInfoError> {
        let found = info.candidates()?;
        for warning in info.warnings().iter().cloned().chain(found.warnings) {
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
    /// Whether each client is to have an order of its own (`load_balance_hosts`).
    pub load_balances: bool,
    /// Whose it is.
    pub kind: TargetKind,
    /// Host, port, database and user, without secrets, for people.
    pub title: String,
    /// The same as `key=value` pairs that lead there again, without secrets.
    pub address: String,
    /// What the user should know about how it was named.
    pub warnings: Vec<String>,
    /// Keeps a server of this run's own alive.
    server: Option<Arc<Server>>,
}

/// Finds the target; starts a server when nothing names one and none is kept.
pub fn open(wanted: &TargetSpec, on_step: &mut dyn FnMut(Step)) -> Result<Target, Failure> {
    if let Some(target) = existing(wanted)? {
        return Ok(target);
    }
    let own = own::options(&wanted.own, Listen::SocketOnly)?;
    let server = Server::start(&own, on_step).map_err(trouble::own_server)?;
    let title = format!("PostgreSQL {}, started for this run", server.version().text);
    let (mut target, info) = by_urls(
        &[server.address().url()],
        &own_env(),
        TargetKind::Own,
        title,
    )?;
    target.server = Some(Arc::new(server));
    discovered(target, &info, wanted)
}

/// The target if there is one without starting a server.
pub fn existing(wanted: &TargetSpec) -> Result<Option<Target>, Failure> {
    let env = Env::of_process();
    if !wanted.urls.is_empty() || names_a_target(&Given::default(), &env) {
        if !wanted.own.is_empty() {
            let named = if wanted.urls.is_empty() {
                "the PG* environment"
            } else {
                "--url"
            };
            return Err(Failure::with(
                Exit::Usage,
                format!(
                    "--pg-bindir, --pg-set and --pg-user are for a server of pgdyno's own, but {named} names another"
                ),
            ));
        }
        let urls = wanted.urls.iter().map(|url| url.secret().to_owned());
        let mut urls: Vec<String> = urls.collect();
        if urls.is_empty() {
            urls.push(String::new());
        }
        let (target, info) = by_urls(&urls, &env, TargetKind::Named, String::new())?;
        return discovered(target, &info, wanted).map(Some);
    }
    let cache = Cache::from_env().map_err(trouble::own_server)?;
    match kept::status(&cache) {
        kept::Kept::Running(running) => {
            if !wanted.own.is_empty() {
                return Err(Failure::with(
                    Exit::Usage,
                    "--pg-bindir, --pg-set and --pg-user cannot change the kept server, which runs already",
                )
                .hint("stop it (pgdyno server stop), or start it anew with these options"));
            }
            let title = format!("PostgreSQL {}, kept by pgdyno server", running.version);
            let url = [running.address.url()];
            let (target, info) = by_urls(&url, &own_env(), TargetKind::Kept, title)?;
            discovered(target, &info, wanted).map(Some)
        }
        kept::Kept::Busy { dir } => Err(Failure::with(
            Exit::Connection,
            "the kept server is starting, stopping or recovering",
        )
        .detail(format!("its files are in {}", dir.display()))
        .hint("try again in a moment, or stop it: pgdyno server stop")),
        kept::Kept::Stopped { .. } => Ok(None),
    }
}

/// What of the environment applies to a server that the environment does not name.
fn own_env() -> Env {
    let process = Env::of_process();
    ["PGOPTIONS", "PGAPPNAME"]
        .iter()
        .fold(Env::empty(), |env, name| match process.var(name) {
            Some(value) => env.with(name, value),
            None => env,
        })
}

/// The target that is named so, with the description of its first endpoint. A list of hosts is
/// that many endpoints, unless it asks for libpq's way with it.
fn by_urls(
    urls: &[String],
    env: &Env,
    kind: TargetKind,
    title: String,
) -> Result<(Target, ConnInfo), Failure> {
    let mut infos = Vec::new();
    for url in urls {
        let given = Given {
            target: (!url.is_empty()).then(|| url.clone()),
            fallback_application_name: Some("pgdyno".to_owned()),
            ..Given::default()
        };
        let info = resolve(&given, env).map_err(|e| trouble::conninfo(&e))?;
        if info.searches_hosts() {
            infos.push(info);
        } else {
            infos.extend(info.each_host());
        }
    }
    let mut target = Target::over(&infos, kind).map_err(|e| trouble::candidates(&e))?;
    if !title.is_empty() {
        target.title = title;
    }
    Ok((target, infos.swap_remove(0)))
}

/// The same target, or all nodes of its cluster if that is wanted.
fn discovered(mut target: Target, info: &ConnInfo, wanted: &TargetSpec) -> Result<Target, Failure> {
    let limits = Limits::of(wanted);
    target.limit(limits);
    if let Some(how) = &wanted.discover {
        target = discover::all_nodes(&target, info, how)?;
        target.limit(limits);
    }
    Ok(target)
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
    /// The server that is described so; of several hosts one, in libpq's way.
    ///
    /// # Errors
    /// No way leads to it: a host name that nobody knows, a certificate that is not there.
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
            load_balances: infos.iter().any(ConnInfo::load_balances),
            kind,
            address: first.map_or_else(String::new, address),
            warnings,
            server: None,
        })
    }

    /// How long statements wait at each endpoint.
    fn limit(&mut self, limits: Limits) {
        for endpoint in &mut self.endpoints {
            endpoint.limits = limits;
        }
    }

    /// The same target, with these settings for each of its sessions.
    pub fn with_settings(&self, dialect: &Dialect, settings: &BTreeMap<String, String>) -> Target {
        let mut target = self.clone();
        if settings.is_empty() {
            return target;
        }
        let endpoints = target.endpoints.iter_mut();
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
        self.server.as_deref().map(Server::last_words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{COCKROACHDB, POSTGRESQL};

    fn named(url: &str) -> Target {
        by_urls(
            &[url.to_owned()],
            &Env::empty(),
            TargetKind::Named,
            String::new(),
        )
        .unwrap()
        .0
    }

    #[test]
    fn an_address_leads_to_the_same_server_and_has_no_password() {
        let target = named("postgresql://me:secret@127.0.0.1:5433/it's?sslmode=disable");
        assert!(!target.address.contains("secret"), "{}", target.address);
        let again = named(&target.address);
        assert_eq!(
            (&again.title, &again.address),
            (&target.title, &target.address)
        );
    }

    #[test]
    fn a_list_of_hosts_is_as_many_endpoints_and_a_search_is_one() {
        let names = |urls: &[&str]| {
            let urls: Vec<String> = urls.iter().map(|url| (*url).to_owned()).collect();
            let env = Env::empty().with_os_user("me");
            let (target, first) = by_urls(&urls, &env, TargetKind::Named, String::new()).unwrap();
            let first = first.hosts().next().unwrap_or_default().to_owned();
            assert!(target.endpoints[0].name.contains(&first), "{first}");
            let names = target.endpoints.iter().map(|e| e.name.clone());
            (names.collect::<Vec<_>>(), target.title)
        };
        let (places, title) = names(&["postgresql://127.0.0.1,127.0.0.2:5433/b"]);
        assert_eq!(places, ["127.0.0.1:5432", "127.0.0.2:5433"]);
        assert_eq!(
            title,
            "database b on 2 endpoints (127.0.0.1:5432, 127.0.0.2:5433), user me"
        );
        let (places, title) = names(&["host=127.0.0.1,127.0.0.2 target_session_attrs=primary"]);
        assert_eq!(places, ["127.0.0.1:5432"]);
        assert_eq!(
            title,
            "database me on 127.0.0.1,127.0.0.2, port 5432, user me"
        );
        let (places, title) = names(&[
            "host=/a,/b",
            "host=127.0.0.1 port=1",
            "host=::1,127.0.0.3 port=2,3",
        ]);
        assert_eq!(
            places,
            [
                "/a/.s.PGSQL.5432",
                "/b/.s.PGSQL.5432",
                "127.0.0.1:1",
                "[::1]:2",
                "127.0.0.3:3"
            ]
        );
        assert!(title.contains(", [::1]:2, 1 more), user me"), "{title}");
    }

    #[test]
    fn settings_reach_each_session_as_they_are_written() {
        let url = pgdyno_testkit::postgres().address().url();
        let settings = [
            ("application_name", "two words and a \\ backslash"),
            ("work_mem", "7MB"),
        ];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let target = named(&format!("{url}&options=-c%20work_mem%3D5MB"));
        let target = target.with_settings(&POSTGRESQL, &settings.clone().into());
        let mut session = target.connect().unwrap();
        for (name, value) in settings {
            let shown = session.query_one_value(&format!("SHOW {name}")).unwrap();
            assert_eq!(shown, Some(value));
        }
    }

    #[test]
    fn settings_are_start_up_parameters_where_there_are_no_options() {
        let target = named("postgresql://me@127.0.0.1:26257/d?application_name=mine");
        let settings = [
            ("application_name", "a b"),
            ("force_savepoint_restart", "on"),
        ];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let target = target.with_settings(&COCKROACHDB, &settings.into());
        let parameters = &target.endpoints[0].candidates[0].login.parameters;
        let given = |name: &str| {
            let values = parameters.iter().filter(|(n, _)| n == name);
            values.map(|(_, v)| v.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(given("application_name"), ["a b"]);
        assert_eq!(given("force_savepoint_restart"), ["on"]);
        assert_eq!(given("options"), [""; 0]);
    }
}
