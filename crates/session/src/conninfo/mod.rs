//! From what names a server, by libpq's conventions, to candidates to connect to.
//!
//! Precedence, as in libpq: what the caller gives, a URI or `key=value` string above single
//! options; the service; the environment; defaults. Nothing is connected here.

mod hosts;
mod options;
mod passfile;
mod service;
mod text;
mod tls_files;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pgdyno_wire::{
    Candidate, ChannelBinding, Encryption, Login, PASS, ProtocolVersion, RequireAuth,
    SCRAM_ITERATIONS_MAX, Secret, SessionAttrs, TcpOptions, redact, shuffle,
};

use crate::env::Env;
use hosts::Host;
use options::{KNOWN, Options, is_secret};
use text::Form;
use tls_files::TlsFiles;

/// What the user gave on a command line. The default gives nothing.
#[derive(Clone, Default)]
pub struct Given {
    /// A URI, a `key=value` string or the name of a database. Where it is one of the first two it
    /// wins over the fields below, as with psql and pgbench.
    pub target: Option<String>,
    pub host: Option<String>,
    pub port: Option<String>,
    pub user: Option<String>,
    pub password: Option<String>,
    /// The application's name unless the user sets another.
    pub fallback_application_name: Option<String>,
    /// Passwords that `target` does not have itself (PGPASSWORD, password and service files) are not sent: a
    /// file that may be a stranger's is where it comes from.
    pub withholds_password: bool,
    /// Sessions with a superuser's rights are refused, for the same reason.
    pub refuses_superuser: bool,
}

impl Given {
    pub fn target(target: impl Into<String>) -> Given {
        Given {
            target: Some(target.into()),
            ..Given::default()
        }
    }
}

/// Something in the connection's description is wrong. The text names the option or file; it never
/// contains a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnInfoError {
    text: String,
    hint: Option<String>,
}

impl ConnInfoError {
    pub(crate) fn new(text: impl Into<String>) -> ConnInfoError {
        ConnInfoError {
            text: text.into(),
            hint: None,
        }
    }

    /// What is wrong, without the way out.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn hint(mut self, hint: String) -> ConnInfoError {
        self.hint = Some(hint);
        self
    }
}

impl fmt::Display for ConnInfoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        match &self.hint {
            Some(hint) => write!(f, "\n{hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ConnInfoError {}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SslMode {
    Disable,
    Allow,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    One(SessionAttrs),
    PreferStandby,
}

/// A connection's description, complete and checked.
#[derive(Clone)]
pub struct ConnInfo {
    options: Options,
    hosts: Vec<Host>,
    user: String,
    dbname: String,
    ssl_mode: SslMode,
    wanted: Wanted,
    load_balance: bool,
    /// Whether `load_balance_hosts` was given at all.
    load_balance_given: bool,
    channel_binding: ChannelBinding,
    scram_iterations_max: u32,
    require_auth: RequireAuth,
    protocols: (ProtocolVersion, ProtocolVersion),
    socket: TcpOptions,
    connect_timeout: Option<Duration>,
    environment_settings: Vec<(String, String)>,
    passfile: Option<PathBuf>,
    home: Option<PathBuf>,
    withholds_password: bool,
    refuses_superuser: bool,
    warnings: Vec<String>,
}

/// Candidates in the order in which they are to be tried, and what is worth a warning.
#[derive(Clone, Debug, Default)]
pub struct Candidates {
    pub list: Vec<Candidate>,
    /// Hosts that could not be looked up, TLS that could not be set up where plain is allowed.
    pub warnings: Vec<String>,
}

/// Whether anything says where the server is: a URI or `key=value` string, a host or port, or
/// PGHOST, PGHOSTADDR, PGPORT or PGSERVICE. The name of a database alone does not.
pub fn names_a_target(given: &Given, env: &Env) -> bool {
    let filled = |text: &Option<String>| text.as_ref().is_some_and(|t| !t.is_empty());
    let text = given.target.as_deref().unwrap_or_default();
    !matches!(text::form(text), Form::Name)
        || filled(&given.host)
        || filled(&given.port)
        || ["PGHOST", "PGHOSTADDR", "PGPORT", "PGSERVICE"]
            .iter()
            .any(|name| env.var(name).is_some_and(|value| !value.is_empty()))
}

/// Puts the description together and checks it. Reads the service file and the password file, not
/// yet certificates or the name service.
pub fn resolve(given: &Given, env: &Env) -> Result<ConnInfo, ConnInfoError> {
    let mut options = Options::default();
    let single = [
        ("host", &given.host),
        ("port", &given.port),
        ("user", &given.user),
        ("password", &given.password),
        (
            "fallback_application_name",
            &given.fallback_application_name,
        ),
    ];
    for (name, value) in single {
        if let Some(value) = value.as_ref().filter(|v| !v.is_empty()) {
            options.set(name, value);
        }
    }
    if let Some(target) = given.target.as_ref().filter(|t| !t.is_empty()) {
        options.extend(text::parse(target)?);
    }
    let own_password = options.get("password").map(str::to_owned);
    let service = options
        .get("service")
        .or_else(|| env.var("PGSERVICE"))
        .map(str::to_owned);
    if let Some(service) = service {
        service::apply(&service, &mut options, env)?;
    }
    let load_balance_given =
        options.get("load_balance_hosts").is_some() || env.var("PGLOADBALANCEHOSTS").is_some();
    let ssl_mode_given = options.get("sslmode").is_some()
        || env.var("PGSSLMODE").is_some()
        || env.var("PGREQUIRESSL").is_some_and(|v| v.starts_with('1'));
    for known in KNOWN {
        if options.get(known.name).is_some() {
            continue;
        }
        let from_env = known.variable.and_then(|name| env.var(name));
        let old_synonym = (known.name == "sslmode"
            && env.var("PGREQUIRESSL").is_some_and(|v| v.starts_with('1')))
        .then_some("require");
        if let Some(value) = from_env.or(old_synonym).or(known.default) {
            options.set(known.name, value);
        }
    }
    if !ssl_mode_given && options.get("sslrootcert") == Some("system") {
        options.set("sslmode", "verify-full");
    }
    if given.withholds_password {
        options.set("password", &own_password.unwrap_or_default());
    }
    let info = ConnInfo::from_options(options, env, given)?;
    Ok(ConnInfo {
        load_balance_given,
        ..info
    })
}

impl ConnInfo {
    fn from_options(options: Options, env: &Env, given: &Given) -> Result<ConnInfo, ConnInfoError> {
        check_unsupported(&options)?;
        let user = match options.filled("user").or(env.os_user()) {
            Some(user) => user.to_owned(),
            None => {
                return Err(
                    ConnInfoError::new("no user name is known for the connection")
                        .hint("set one: -U, user= or PGUSER".to_owned()),
                );
            }
        };
        let dbname = options.filled("dbname").unwrap_or(&user).to_owned();
        let hosts = hosts::split(&options)?;
        let require_auth = RequireAuth::parse(options.get("require_auth").unwrap_or_default())
            .map_err(ConnInfoError::new)?;
        let channel_binding = options.choice(
            "channel_binding",
            &[
                ("disable", ChannelBinding::Disable),
                ("prefer", ChannelBinding::Prefer),
                ("require", ChannelBinding::Require),
            ],
        )?;
        let ssl_mode = ssl_mode(&options)?;
        let wanted = options.choice(
            "target_session_attrs",
            &[
                ("any", Wanted::One(SessionAttrs::Any)),
                ("read-write", Wanted::One(SessionAttrs::ReadWrite)),
                ("read-only", Wanted::One(SessionAttrs::ReadOnly)),
                ("primary", Wanted::One(SessionAttrs::Primary)),
                ("standby", Wanted::One(SessionAttrs::Standby)),
                ("prefer-standby", Wanted::PreferStandby),
            ],
        )?;
        let load_balance = options.choice(
            "load_balance_hosts",
            &[("disable", false), ("random", true)],
        )?;
        let protocols = protocols(&options)?;
        let connect_timeout = match options.integer("connect_timeout", 0)? {
            seconds @ 1.. => Some(Duration::from_secs(seconds.unsigned_abs().into())),
            _ => None,
        };
        let environment_settings = [("PGDATESTYLE", "datestyle"), ("PGTZ", "timezone")]
            .iter()
            .filter_map(|(variable, setting)| Some((*setting, env.var(variable)?)))
            .filter(|(_, value)| !value.eq_ignore_ascii_case("default"))
            .map(|(setting, value)| (setting.to_owned(), value.to_owned()))
            .collect();
        let passfile = options
            .filled("passfile")
            .map(PathBuf::from)
            .or_else(|| env.home().map(|home| home.join(".pgpass")));
        let mut info = ConnInfo {
            socket: socket_options(&options)?,
            scram_iterations_max: scram_iterations_max(&options)?,
            options,
            hosts,
            user,
            dbname,
            ssl_mode,
            wanted,
            load_balance,
            load_balance_given: false,
            channel_binding,
            require_auth,
            protocols,
            connect_timeout,
            environment_settings,
            passfile,
            home: env.home().map(PathBuf::from),
            withholds_password: given.withholds_password,
            refuses_superuser: given.refuses_superuser,
            warnings: Vec::new(),
        };
        info.look_up_passwords();
        Ok(info)
    }

    fn look_up_passwords(&mut self) {
        if self.options.filled("password").is_some() || self.withholds_password {
            return;
        }
        let mut warnings = Vec::new();
        let text = self
            .passfile
            .as_deref()
            .and_then(|file| passfile::read(file, &mut warnings));
        for host in &mut self.hosts {
            host.password = text.as_ref().and_then(|text| {
                let key = passfile::Key {
                    host: host.password_key(),
                    port: host.port_text(),
                    dbname: &self.dbname,
                    user: &self.user,
                };
                passfile::find(text, &key).map(Secret::new)
            });
        }
        for warning in warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
    }

    /// The role to connect as.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The database to connect to.
    pub fn dbname(&self) -> &str {
        &self.dbname
    }

    /// The hosts as the user named them: names, addresses or directories of Unix sockets. Empty
    /// text represents the default directory.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        self.hosts.iter().map(Host::display_name)
    }

    /// The first host's port as it was given.
    pub fn port(&self) -> &str {
        self.hosts.first().map_or("5432", Host::port_text)
    }

    /// Whether the user asked for libpq's way with a list of hosts, which is to find one server in
    /// it: `load_balance_hosts`, whatever it says, or a `target_session_attrs` other than `any`.
    pub fn searches_hosts(&self) -> bool {
        self.load_balance_given || self.wanted != Wanted::One(SessionAttrs::Any)
    }

    /// The same once for each host, with that host alone.
    pub fn each_host(&self) -> Vec<ConnInfo> {
        let hosts = self.hosts.iter().cloned();
        hosts.map(|host| self.with_host(host)).collect()
    }

    /// The same with another server in place of its hosts. Its password is looked up anew.
    pub fn at(&self, host: &str, port: u16) -> ConnInfo {
        let mut info = self.with_host(Host::new(host, port));
        info.look_up_passwords();
        info
    }

    fn with_host(&self, host: Host) -> ConnInfo {
        let mut info = self.clone();
        for (name, value) in host.options() {
            info.options.set(name, value);
        }
        info.hosts = vec![host];
        info
    }

    /// Any option by libpq's name for it; secrets are not handed out.
    pub fn option(&self, name: &str) -> Option<&str> {
        if is_secret(name) {
            None
        } else {
            self.options.get(name)
        }
    }

    /// Whether a password is known for some host.
    pub fn has_password(&self) -> bool {
        self.options.filled("password").is_some() || self.hosts.iter().any(|h| h.password.is_some())
    }

    /// What is worth a warning to the user, such as a password file that others can read.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The same server, another database. Its password is looked up anew.
    pub fn with_dbname(&self, dbname: &str) -> ConnInfo {
        let mut info = self.clone();
        info.dbname = dbname.to_owned();
        info.options.set("dbname", dbname);
        info.look_up_passwords();
        info
    }

    /// The same with a password, for commands that ask for one.
    pub fn with_password(&self, password: &str) -> ConnInfo {
        let mut info = self.clone();
        info.options.set("password", password);
        info
    }

    /// The same with another application name.
    pub fn with_application_name(&self, name: &str) -> ConnInfo {
        let mut info = self.clone();
        info.options.set("application_name", name);
        info
    }

    /// Looks hosts up, reads certificates and keys, and lists every attempt worth making, in order.
    pub fn candidates(&self) -> Result<Candidates, ConnInfoError> {
        let mut found = Candidates::default();
        let mut lookup_errors = Vec::new();
        let mut tls_files: Option<TlsFiles> = None;
        for (host_index, host) in self.hosts.iter().enumerate() {
            let addrs = match host.addresses() {
                Ok(addrs) => addrs,
                Err(error) => {
                    lookup_errors.push(error);
                    continue;
                }
            };
            for (address_index, addr) in addrs.into_iter().enumerate() {
                let unix = matches!(addr, pgdyno_wire::Addr::Unix(_));
                let (encryptions, without_tls) =
                    self.encryptions(unix, host, &mut tls_files, &mut found.warnings)?;
                for encryption in encryptions {
                    let mut login = self.login(host, encryption);
                    if self.ssl_mode == SslMode::Prefer {
                        login.without_tls.clone_from(&without_tls);
                    }
                    found.list.push(Candidate {
                        addr: addr.clone(),
                        login: Arc::new(login),
                        host: host.display_name().to_owned(),
                        host_index,
                        address_index,
                        connect_timeout: self.connect_timeout,
                        socket: self.socket,
                        require_peer: self.options.filled("requirepeer").map(str::to_owned),
                        via: None,
                    });
                }
            }
        }
        if found.list.is_empty() {
            let texts: Vec<String> = lookup_errors.iter().map(ToString::to_string).collect();
            return Err(ConnInfoError::new(texts.join("\n")));
        }
        found
            .warnings
            .extend(lookup_errors.iter().map(ToString::to_string));
        if self.wanted == Wanted::PreferStandby {
            let again: Vec<Candidate> = found.list.iter().map(any_session_later).collect();
            found.list.extend(again);
        }
        if self.load_balance {
            found.list = shuffle(&found.list, random_seed());
        }
        Ok(found)
    }

    /// Whether each client should draw its own order of the candidates
    /// ([`pgdyno_wire::shuffle`]).
    pub fn load_balances(&self) -> bool {
        self.load_balance
    }

    /// The ways to encrypt, in order, and why TLS is not among them where it should be.
    fn encryptions(
        &self,
        unix: bool,
        host: &Host,
        files: &mut Option<TlsFiles>,
        warnings: &mut Vec<String>,
    ) -> Result<(Vec<Encryption>, Option<String>), ConnInfoError> {
        if unix || self.ssl_mode == SslMode::Disable {
            return Ok((vec![Encryption::Plain], None)); // libpq does not encrypt Unix sockets
        }
        let mut read = || -> Result<_, ConnInfoError> {
            let files = match files {
                Some(files) => files,
                None => files.insert(TlsFiles::read(
                    &self.options,
                    self.ssl_mode,
                    self.home.as_deref(),
                    warnings,
                )?),
            };
            files.for_host(host.tls_name())
        };
        let tls = match read() {
            Ok(tls) => tls,
            // Where plain will do, TLS that cannot be set up is only a failed first attempt.
            Err(error) if self.ssl_mode <= SslMode::Prefer => {
                let warning = format!("WARNING: connecting without TLS: {error}");
                if !warnings.contains(&warning) {
                    warnings.push(warning);
                }
                return Ok((vec![Encryption::Plain], Some(error.to_string())));
            }
            Err(error) => return Err(error),
        };
        let all = match self.ssl_mode {
            SslMode::Disable => vec![Encryption::Plain],
            SslMode::Allow => vec![Encryption::Plain, Encryption::Tls(tls)],
            SslMode::Prefer => vec![Encryption::TlsIfOffered(tls), Encryption::Plain],
            SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => {
                vec![Encryption::Tls(tls)]
            }
        };
        Ok((all, None))
    }

    fn login(&self, host: &Host, encryption: Encryption) -> Login {
        let own = self.options.filled("password").map(Secret::new);
        for secret in own.iter().chain(&host.password) {
            // What messages show anyway protects nothing.
            if ![&self.user, &self.dbname]
                .iter()
                .any(|name| *name == secret.expose())
            {
                redact::keep_out(secret.expose());
            }
        }
        let password_file = match (&own, &host.password, &self.passfile) {
            (None, Some(_), Some(file)) => Some(file.display().to_string()),
            _ => None,
        };
        Login {
            user: self.user.clone(),
            password: own.or_else(|| host.password.clone()),
            password_file,
            parameters: self.parameters(),
            encryption,
            without_tls: None,
            channel_binding: self.channel_binding,
            scram_iterations_max: self.scram_iterations_max,
            require_auth: self.require_auth.clone(),
            session_attrs: match self.wanted {
                Wanted::One(attrs) => attrs,
                Wanted::PreferStandby => SessionAttrs::Standby,
            },
            refuses_superuser: self.refuses_superuser,
            withholds_password: self.withholds_password,
            min_protocol: self.protocols.0,
            max_protocol: self.protocols.1,
        }
    }

    /// Start-up parameters beside `user`, in libpq's order.
    fn parameters(&self) -> Vec<(String, String)> {
        let application_name = self
            .options
            .get("application_name")
            .or_else(|| self.options.get("fallback_application_name"))
            .filter(|name| !name.is_empty());
        let mut parameters = vec![("database".to_owned(), self.dbname.clone())];
        for (name, value) in [
            ("replication", self.options.filled("replication")),
            ("options", self.options.filled("options")),
            ("application_name", application_name),
            (
                "client_encoding",
                self.options.filled("client_encoding").map(client_encoding),
            ),
        ] {
            parameters.extend(value.map(|value| (name.to_owned(), value.to_owned())));
        }
        parameters.extend(self.environment_settings.iter().cloned());
        parameters
    }
}

/// `auto` means the locale's encoding; text here is UTF-8 in any locale.
fn client_encoding(value: &str) -> &str {
    if value == "auto" { "UTF8" } else { value }
}

/// The attempt that `prefer-standby` makes when no host was a standby.
fn any_session_later(candidate: &Candidate) -> Candidate {
    let mut later = candidate.clone();
    later.host_index += PASS;
    later.login = Arc::new(Login {
        session_attrs: SessionAttrs::Any,
        ..(*candidate.login).clone()
    });
    later
}

fn random_seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0u8)
}

fn ssl_mode(options: &Options) -> Result<SslMode, ConnInfoError> {
    let mode = options.choice(
        "sslmode",
        &[
            ("disable", SslMode::Disable),
            ("allow", SslMode::Allow),
            ("prefer", SslMode::Prefer),
            ("require", SslMode::Require),
            ("verify-ca", SslMode::VerifyCa),
            ("verify-full", SslMode::VerifyFull),
        ],
    )?;
    let word = options.get("sslmode").unwrap_or_default();
    let direct = options.choice("sslnegotiation", &[("postgres", false), ("direct", true)])?;
    if direct && mode < SslMode::Require {
        return Err(ConnInfoError::new(format!(
            "weak sslmode \"{word}\" may not be used with sslnegotiation=direct (use \"require\", \"verify-ca\", or \"verify-full\")"
        )));
    }
    if options.get("sslrootcert") == Some("system") && mode != SslMode::VerifyFull {
        return Err(ConnInfoError::new(format!(
            "weak sslmode \"{word}\" may not be used with sslrootcert=system (use \"verify-full\")"
        )));
    }
    Ok(mode)
}

/// A limit that is 0 would be none.
fn scram_iterations_max(options: &Options) -> Result<u32, ConnInfoError> {
    const NAME: &str = "scram_max_iterations";
    let iterations = options.integer(NAME, SCRAM_ITERATIONS_MAX.cast_signed())?;
    u32::try_from(iterations)
        .ok()
        .filter(|iterations| *iterations > 0)
        .ok_or_else(|| {
            ConnInfoError::new(format!("invalid {NAME} value: \"{iterations}\""))
                .hint("it may be 1 or more".to_owned())
        })
}

fn protocols(options: &Options) -> Result<(ProtocolVersion, ProtocolVersion), ConnInfoError> {
    let read = |name: &str| match options.filled(name) {
        None => Ok(None),
        Some("3.0") => Ok(Some(ProtocolVersion::V3_0)),
        Some("3.2" | "latest") => Ok(Some(ProtocolVersion::V3_2)),
        Some(other) => Err(ConnInfoError::new(format!(
            "invalid {name} value: \"{other}\""
        ))),
    };
    let min = read("min_protocol_version")?.unwrap_or(ProtocolVersion::V3_0);
    let max = read("max_protocol_version")?.unwrap_or(min);
    if min > max {
        return Err(ConnInfoError::new(
            "\"min_protocol_version\" is greater than \"max_protocol_version\"",
        ));
    }
    Ok((min, max))
}

fn socket_options(options: &Options) -> Result<TcpOptions, ConnInfoError> {
    let positive = |name: &str| {
        options
            .integer(name, 0)
            .map(|value| u32::try_from(value).unwrap_or_default())
    };
    let seconds = |name: &str| positive(name).map(|s| Duration::from_secs(s.into()));
    Ok(TcpOptions {
        keepalives: options.integer("keepalives", 1)? != 0,
        keepalives_idle: seconds("keepalives_idle")?,
        keepalives_interval: seconds("keepalives_interval")?,
        keepalives_count: positive("keepalives_count")?,
        user_timeout: Duration::from_millis(positive("tcp_user_timeout")?.into()),
    })
}

/// What libpq can and this cannot is refused, never ignored, where ignoring it would weaken
/// security or change what is connected to.
fn check_unsupported(options: &Options) -> Result<(), ConnInfoError> {
    if let Some(value) = options.filled("gssencmode") {
        match value {
            "disable" | "prefer" => {}
            "require" => {
                return Err(ConnInfoError::new(
                    "gssencmode value \"require\" invalid when GSSAPI support is not compiled in",
                ));
            }
            other => {
                return Err(ConnInfoError::new(format!(
                    "invalid gssencmode value: \"{other}\""
                )));
            }
        }
    }
    match options.filled("sslcertmode") {
        None | Some("disable" | "allow") => {}
        Some("require") => {
            return Err(ConnInfoError::new(
                "sslcertmode value \"require\" is not supported",
            ));
        }
        Some(other) => {
            return Err(ConnInfoError::new(format!(
                "invalid sslcertmode value: \"{other}\""
            )));
        }
    }
    for name in ["scram_client_key", "scram_server_key"] {
        if options.filled(name).is_some() {
            return Err(ConnInfoError::new(format!(
                "connection option \"{name}\" is not supported"
            )));
        }
    }
    Ok(())
}

/// The description as a `key=value` string of what differs from the defaults, without secrets.
impl fmt::Display for ConnInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = vec![
            ("user", self.user.as_str()),
            ("dbname", self.dbname.as_str()),
        ];
        for (name, value) in self.options.iter() {
            let default = KNOWN
                .iter()
                .find(|k| k.name == name)
                .and_then(|k| k.default);
            let ours = matches!(name, "user" | "dbname" | "fallback_application_name");
            if !is_secret(name) && !ours && Some(value) != default && !value.is_empty() {
                shown.push((name, value));
            }
        }
        let place = |name: &str| KNOWN.iter().position(|k| k.name == name);
        let rank = |name: &str| match name {
            "host" => (0, None),
            "hostaddr" => (1, None),
            "port" => (2, None),
            "user" => (3, None),
            "dbname" => (4, None),
            other => (5, place(other)),
        };
        shown.sort_by_key(|(name, _)| rank(name));
        for (i, (name, value)) in shown.iter().enumerate() {
            let space = if i == 0 { "" } else { " " };
            let plain =
                !value.is_empty() && !value.contains(|c| text::space(c) || c == '\'' || c == '\\');
            if plain {
                write!(f, "{space}{name}={value}")?;
            } else {
                let escaped = value.replace('\\', "\\\\").replace('\'', "\\'");
                write!(f, "{space}{name}='{escaped}'")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for ConnInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConnInfo({self})")
    }
}

/// Without target and password, which may hold secrets.
impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Given")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}
