//! From what the user said about the target, or did not say, to connection candidates and whatever
//! must stay alive for them: the server named, the kept one, or one started for this run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use pgdyno_platform::interrupt::Interrupts;
use pgdyno_server::{Cache, Server, Step, kept};
use pgdyno_session::{ConnInfo, ConnInfoError, Env, Given, Session, names_a_target, resolve};
use pgdyno_wire::Candidate;
use serde::{Deserialize, Serialize};

use super::dialect::{AtStart, Dialect};
use super::own;
use super::trouble;
use crate::exit::{Exit, Failure};

/// How long one attempt to connect may take when the user does not say (connect_timeout).
pub const CONNECT_LIMIT: Duration = Duration::from_secs(30);

/// What the user said.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// A URL or key=value string.
    pub url: Option<String>,
    /// How a server of pgdyno's own is to be.
    pub own: own::Options,
}

/// Whose server it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The user named it.
    Named,
    /// The one that `pgdyno server start` keeps.
    Kept,
    /// Started for this run; it ends with the [`Target`].
    Own,
}

/// A server to connect to. Clones share a server of this run's own, which ends with the last of
/// them.
#[derive(Clone)]
pub struct Target {
    /// Every attempt worth making, in order; never empty.
    pub candidates: Vec<Candidate>,
    /// Whether each client is to have an order of its own (`load_balance_hosts`).
    pub load_balances: bool,
    /// Whose it is.
    pub kind: Kind,
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
pub fn open(wanted: &Wanted, on_step: &mut dyn FnMut(Step)) -> Result<Target, Failure> {
    if let Some(target) = existing(wanted)? {
        return Ok(target);
    }
    let server = Server::start(&wanted.own.for_server()?, on_step).map_err(trouble::own_server)?;
    let title = format!("PostgreSQL {}, started for this run", server.version().text);
    let mut target = by_url(&server.address().url(), &own_env(), Kind::Own, title)?;
    target.server = Some(Arc::new(server));
    Ok(target)
}

/// The target if there is one without starting a server.
pub fn existing(wanted: &Wanted) -> Result<Option<Target>, Failure> {
    let env = Env::of_process();
    if wanted.url.is_some() || names_a_target(&Given::default(), &env) {
        if !wanted.own.is_empty() {
            let named = if wanted.url.is_some() {
                "--url"
            } else {
                "the PG* environment"
            };
            return Err(Failure::with(
                Exit::Usage,
                format!(
                    "--pg-bindir, --pg-set and --pg-user are for a server of pgdyno's own, but {named} names another"
                ),
            ));
        }
        let url = wanted.url.clone().unwrap_or_default();
        return by_url(&url, &env, Kind::Named, String::new()).map(Some);
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
            by_url(&running.address.url(), &own_env(), Kind::Kept, title).map(Some)
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

fn by_url(url: &str, env: &Env, kind: Kind, title: String) -> Result<Target, Failure> {
    let given = Given {
        target: (!url.is_empty()).then(|| url.to_owned()),
        fallback_application_name: Some("pgdyno".to_owned()),
        ..Given::default()
    };
    let info = resolve(&given, env).map_err(|e| trouble::conninfo(&e))?;
    let mut target = Target::of(&info, kind).map_err(|e| trouble::candidates(&e))?;
    if !title.is_empty() {
        target.title = title;
    }
    Ok(target)
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
    /// The server that is described so.
    ///
    /// # Errors
    /// No way leads to it: a host name that nobody knows, a certificate that is not there.
    pub fn of(info: &ConnInfo, kind: Kind) -> Result<Target, ConnInfoError> {
        let candidates = info.candidates()?;
        let hosts: Vec<_> = info.hosts().collect();
        let hosts = match hosts.join(",") {
            hosts if hosts.is_empty() => "the local socket".to_owned(),
            hosts => hosts,
        };
        let title = format!(
            "database {} on {hosts}, port {}, user {}",
            info.dbname(),
            info.port(),
            info.user()
        );
        let warnings = info.warnings().iter().cloned().chain(candidates.warnings);
        Ok(Target {
            candidates: candidates.list,
            load_balances: info.load_balances(),
            kind,
            title,
            address: address(info),
            warnings: warnings.collect(),
            server: None,
        })
    }

    /// The same target, with these settings for each of its sessions.
    pub fn with_settings(&self, dialect: &Dialect, settings: &BTreeMap<String, String>) -> Target {
        let mut target = self.clone();
        if settings.is_empty() {
            return target;
        }
        for candidate in &mut target.candidates {
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

    /// An administrative session.
    pub fn connect(&self) -> Result<Session, Failure> {
        Session::connect(&self.candidates, Some(CONNECT_LIMIT))
            .map_err(|e| trouble::connect(&e, self.kind))
    }

    /// The same, unless an interrupt comes first: a host that does not answer must not hold up
    /// Ctrl-C for [`CONNECT_LIMIT`].
    pub fn connect_unless_interrupted(
        &self,
        interrupts: &'static Interrupts,
    ) -> Result<Session, Failure> {
        let (sender, receiver) = mpsc::channel();
        let candidates = self.candidates.clone();
        let seen = interrupts.count();
        // When interrupted it is left behind, to end with the process.
        thread::spawn(move || {
            // Nobody listens any more when interrupted.
            let _ = sender.send(Session::connect(&candidates, Some(CONNECT_LIMIT)));
        });
        loop {
            match receiver.recv_timeout(Duration::from_millis(50)) {
                Ok(session) => return session.map_err(|e| trouble::connect(&e, self.kind)),
                Err(RecvTimeoutError::Timeout) if interrupts.count() > seen => {
                    let code = interrupts.exit_code().unwrap_or(130);
                    let text = format!("interrupted while connecting to {}", self.title);
                    return Err(Failure::with(Exit::Interrupted(code), text));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Failure::new("connecting ended without a result"));
                }
            }
        }
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
    use crate::target::dialect::{COCKROACHDB, POSTGRESQL};

    fn named(url: &str) -> Target {
        by_url(url, &Env::empty(), Kind::Named, String::new()).unwrap()
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
        let parameters = &target.candidates[0].login.parameters;
        let given = |name: &str| {
            let values = parameters.iter().filter(|(n, _)| n == name);
            values.map(|(_, v)| v.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(given("application_name"), ["a b"]);
        assert_eq!(given("force_savepoint_restart"), ["on"]);
        assert_eq!(given("options"), [""; 0]);
    }
}
