//! The table of connection options: every name libpq 18 knows, its variable and its default; and
//! `scram_max_iterations`, as a patch for a later libpq has it.

use super::ConnInfoError;

pub(super) struct Known {
    pub name: &'static str,
    pub variable: Option<&'static str>,
    pub default: Option<&'static str>,
    /// Whether its value must never be shown.
    pub secret: bool,
}

const fn known(
    name: &'static str,
    variable: Option<&'static str>,
    default: Option<&'static str>,
) -> Known {
    Known {
        name,
        variable,
        default,
        secret: false,
    }
}

const fn secret(name: &'static str, variable: Option<&'static str>) -> Known {
    Known {
        name,
        variable,
        default: None,
        secret: true,
    }
}

pub(super) const KNOWN: &[Known] = &[
    known("service", Some("PGSERVICE"), None),
    known("user", Some("PGUSER"), None),
    secret("password", Some("PGPASSWORD")),
    known("passfile", Some("PGPASSFILE"), None),
    known("channel_binding", Some("PGCHANNELBINDING"), Some("prefer")),
    known("connect_timeout", Some("PGCONNECT_TIMEOUT"), None),
    known("dbname", Some("PGDATABASE"), None),
    known("host", Some("PGHOST"), None),
    known("hostaddr", Some("PGHOSTADDR"), None),
    known("port", Some("PGPORT"), Some("5432")),
    known("client_encoding", Some("PGCLIENTENCODING"), None),
    known("options", Some("PGOPTIONS"), Some("")),
    known("application_name", Some("PGAPPNAME"), None),
    known("fallback_application_name", None, None),
    known("keepalives", None, None),
    known("keepalives_idle", None, None),
    known("keepalives_interval", None, None),
    known("keepalives_count", None, None),
    known("tcp_user_timeout", None, None),
    known("sslmode", Some("PGSSLMODE"), Some("prefer")),
    known("sslnegotiation", Some("PGSSLNEGOTIATION"), Some("postgres")),
    known("sslcompression", Some("PGSSLCOMPRESSION"), Some("0")),
    known("sslcert", Some("PGSSLCERT"), None),
    known("sslkey", Some("PGSSLKEY"), None),
    known("sslcertmode", Some("PGSSLCERTMODE"), None),
    secret("sslpassword", None),
    known("sslrootcert", Some("PGSSLROOTCERT"), None),
    known("sslcrl", Some("PGSSLCRL"), None),
    known("sslcrldir", Some("PGSSLCRLDIR"), None),
    known("sslsni", Some("PGSSLSNI"), Some("1")),
    known("requirepeer", Some("PGREQUIREPEER"), None),
    known("require_auth", Some("PGREQUIREAUTH"), None),
    known("min_protocol_version", Some("PGMINPROTOCOLVERSION"), None),
    known("max_protocol_version", Some("PGMAXPROTOCOLVERSION"), None),
    known(
        "ssl_min_protocol_version",
        Some("PGSSLMINPROTOCOLVERSION"),
        Some("TLSv1.2"),
    ),
    known(
        "ssl_max_protocol_version",
        Some("PGSSLMAXPROTOCOLVERSION"),
        None,
    ),
    known("gssencmode", Some("PGGSSENCMODE"), None),
    known("krbsrvname", Some("PGKRBSRVNAME"), None),
    known("gsslib", Some("PGGSSLIB"), None),
    known("gssdelegation", Some("PGGSSDELEGATION"), None),
    known("replication", None, None),
    known(
        "target_session_attrs",
        Some("PGTARGETSESSIONATTRS"),
        Some("any"),
    ),
    known(
        "load_balance_hosts",
        Some("PGLOADBALANCEHOSTS"),
        Some("disable"),
    ),
    known(
        "scram_max_iterations",
        Some("PGSCRAMMAXITERATIONS"),
        Some("1000000"),
    ),
    secret("scram_client_key", None),
    secret("scram_server_key", None),
    known("oauth_issuer", None, None),
    known("oauth_client_id", None, None),
    secret("oauth_client_secret", None),
    known("oauth_scope", None, None),
    known("sslkeylogfile", None, None),
];

/// Values by option. An option never set has no value; one set to nothing has an empty one.
#[derive(Clone, Default)]
pub(super) struct Options {
    values: Vec<(&'static str, String)>,
}

impl Options {
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values
            .iter()
            .find(|(n, _)| *n == name)
            .map(|(_, value)| value.as_str())
    }

    /// The value unless it is missing or empty; most options treat the two alike.
    pub fn filled(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    /// Sets an option; false if there is none of that name.
    pub fn set(&mut self, name: &str, value: &str) -> bool {
        // An old synonym: 1 demanded TLS.
        let (name, value) = match name {
            "requiressl" => (
                "sslmode",
                if value.starts_with('1') {
                    "require"
                } else {
                    "prefer"
                },
            ),
            _ => (name, value),
        };
        let Some(known) = KNOWN.iter().find(|k| k.name == name) else {
            return false;
        };
        match self.values.iter_mut().find(|(n, _)| *n == name) {
            Some((_, old)) => *old = value.to_owned(),
            None => self.values.push((known.name, value.to_owned())),
        }
        true
    }

    /// Sets each option that `other` has.
    pub fn extend(&mut self, other: Options) {
        for (name, value) in other.values {
            self.set(name, &value);
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.values
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
    }

    pub fn choice<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Result<T, ConnInfoError> {
        let value = self.get(name).unwrap_or_default();
        words
            .iter()
            .find(|(word, _)| *word == value)
            .map(|(_, choice)| *choice)
            .ok_or_else(|| {
                let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                ConnInfoError::new(format!("invalid {name} value: \"{value}\""))
                    .hint(format!("it may be {}", known.join(", ")))
            })
    }

    /// An integer, or `default` when it is not set.
    pub fn integer(&self, name: &str, default: i32) -> Result<i32, ConnInfoError> {
        match self.get(name) {
            None => Ok(default),
            Some(text) => integer(text, name),
        }
    }
}

/// An integer with blanks around it, as libpq reads it.
pub(super) fn integer(text: &str, name: &str) -> Result<i32, ConnInfoError> {
    let digits = text.trim_matches(|c: char| c.is_ascii_whitespace());
    digits.parse().map_err(|_| {
        ConnInfoError::new(format!(
            "invalid integer value \"{text}\" for connection option \"{name}\""
        ))
    })
}

/// Whether the option's value must never be shown.
pub(super) fn is_secret(name: &str) -> bool {
    KNOWN.iter().any(|k| k.name == name && k.secret)
}
