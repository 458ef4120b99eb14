//! What a client says about itself and demands of the server when a session starts.

use std::fmt;
use std::sync::Arc;

use crate::error::{ConnectError, ConnectErrorKind, Retry};
use crate::require_auth::RequireAuth;
use crate::scram::SCRAM_ITERATIONS_MAX;
use crate::tls::TlsConfig;

/// Everything that start-up needs to know, resolved: no file or environment is read later.
#[derive(Clone, Debug)]
pub struct Login {
    pub user: String,
    /// Its password, if one is known.
    pub password: Option<Secret>,
    /// The password file it was read from: worth naming when the server refuses the password.
    pub password_file: Option<String>,
    /// Start-up parameters beside `user`: `database`, `application_name`, `options`…
    pub parameters: Vec<(String, String)>,
    pub encryption: Encryption,
    /// Why TLS, which is preferred, was not even tried.
    pub without_tls: Option<String>,
    /// Whether SCRAM must be bound to the TLS channel.
    pub channel_binding: ChannelBinding,
    /// Iterations of SCRAM's hash that the server may ask for.
    pub scram_iterations_max: u32,
    /// Authentication methods that the server may ask for.
    pub require_auth: RequireAuth,
    /// What the session must be able to do.
    pub session_attrs: SessionAttrs,
    /// Whether a session with a superuser's rights is refused: a file that may be a stranger's named the server.
    pub refuses_superuser: bool,
    /// Whether the password is not sent, for the same reason, although one may be known.
    pub withholds_password: bool,
    /// Oldest protocol version to accept.
    pub min_protocol: ProtocolVersion,
    /// Protocol version to ask for.
    pub max_protocol: ProtocolVersion,
}

impl Login {
    /// A login without password, TLS or demands.
    pub fn new(user: impl Into<String>, database: impl Into<String>) -> Login {
        Login {
            user: user.into(),
            password: None,
            password_file: None,
            parameters: vec![("database".to_owned(), database.into())],
            encryption: Encryption::Plain,
            without_tls: None,
            channel_binding: ChannelBinding::Prefer,
            scram_iterations_max: SCRAM_ITERATIONS_MAX,
            require_auth: RequireAuth::default(),
            session_attrs: SessionAttrs::Any,
            refuses_superuser: false,
            withholds_password: false,
            min_protocol: ProtocolVersion::V3_0,
            max_protocol: ProtocolVersion::V3_0,
        }
    }

    /// The database that is asked for; the server takes the role's name where there is none.
    pub fn database(&self) -> &str {
        let named = self.parameters.iter().find(|(name, _)| name == "database");
        named.map_or(&self.user, |(_, database)| database)
    }
}

/// The password to send.
///
/// # Errors
/// There is none, or it is kept from this server.
pub(crate) fn known_password(login: &Login) -> Result<&Secret, ConnectError> {
    login
        .password
        .as_ref()
        .filter(|p| !p.expose().is_empty())
        .ok_or_else(|| {
            let kind = if login.withholds_password {
                ConnectErrorKind::PasswordWithheld
            } else {
                ConnectErrorKind::PasswordMissing
            };
            ConnectError::new(kind, Retry::Stop)
        })
}

/// Text that never shows in `Debug` output and has no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// The hidden text; keep it out of messages.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// How the connection is to be encrypted. The modes of `sslmode` unfold to one or two of these,
/// each an attempt of its own.
#[derive(Clone, Debug)]
pub enum Encryption {
    Plain,
    /// With TLS if the server speaks it, else plain on the same connection.
    TlsIfOffered(Arc<TlsConfig>),
    /// With TLS or not at all.
    Tls(Arc<TlsConfig>),
}

/// Channel binding of SCRAM (`tls-server-end-point`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ChannelBinding {
    Disable,
    /// Used where the server offers it.
    #[default]
    Prefer,
    Require,
}

/// What the session must be able to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SessionAttrs {
    #[default]
    Any,
    ReadWrite,
    ReadOnly,
    /// Be on a server that is not in hot standby.
    Primary,
    /// Be on a server in hot standby.
    Standby,
}

/// A minor version of protocol 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProtocolVersion {
    /// The version every server speaks.
    V3_0,
    /// PostgreSQL 18's, with long cancel keys.
    V3_2,
}

impl ProtocolVersion {
    /// The number after the point.
    pub fn minor(self) -> u16 {
        match self {
            ProtocolVersion::V3_0 => 0,
            ProtocolVersion::V3_2 => 2,
        }
    }
}
