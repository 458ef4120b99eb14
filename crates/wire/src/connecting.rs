//! The whole start-up of a session as a state machine: encryption, authentication, and the check of
//! what kind of session it became. Bytes in, bytes out; the caller owns the socket and the clock.

use std::mem;
use std::sync::Arc;

use crate::backend::{self, Authentication, Message};
use crate::channel::Channel;
use crate::error::{ConnectError, ConnectErrorKind, Retry};
use crate::frontend;
use crate::limits::{SETTINGS_MAX, STARTUP_BYTES_MAX};
use crate::login::{
    ChannelBinding, Encryption, Login, ProtocolVersion, SessionAttrs, known_password,
};
use crate::md5_password;
use crate::require_auth::Method;
use crate::sasl::Exchange;
use crate::server_error::{Notice, ServerError};
use crate::tls::TlsConfig;

/// Largest authentication request or protocol negotiation a server may send.
const MAX_AUTHENTICATION_BYTES: usize = 2_000;
/// Largest error before the server has shown who it is.
const MAX_EARLY_ERROR_BYTES: usize = 30_000;

/// A session's start-up under way. Call [`Connecting::start`] once the socket is connected, then
/// [`Connecting::received`] with whatever arrives until it returns the session; send what they
/// append to `out` each time, also when they fail (it may be a farewell).
pub struct Connecting {
    login: Arc<Login>,
    state: State,
    channel: Channel,
    /// Decrypted bytes not yet made into messages.
    inbox: Vec<u8>,
    protocol: ProtocolVersion,
    version_negotiated: bool,
    /// Whether an exchange that authenticates the client was finished.
    authenticated: bool,
    sasl: Option<Exchange>,
    sasl_done: bool,
    parameters: Vec<(String, String)>,
    notices: Vec<Notice>,
    backend_pid: i32,
    /// Bytes of all messages so far.
    seen_bytes: usize,
    cancel_key: Vec<u8>,
    /// For a cancel request in place of a session: the process and its key.
    cancel: Option<(i32, Vec<u8>)>,
}

enum State {
    New,
    /// The one-byte answer to an SSLRequest; then `TlsHandshake` or, on a refusal that is allowed,
    /// `Authentication`.
    TlsAnswer(Arc<TlsConfig>),
    /// The peer's part of the TLS handshake; then `Authentication`.
    TlsHandshake,
    /// An authentication request; `Ok` leads to `Ready`.
    Authentication,
    /// Parameters, the cancel key, and at last ReadyForQuery; then `SessionCheck` or the end.
    Ready,
    /// The answer to a query that shows what kind of session it is, and ReadyForQuery.
    SessionCheck {
        /// The question in libpq's words, for its error message.
        question: &'static str,
        /// The first value of the first row.
        answer: Option<bool>,
    },
    /// The cancel request was sent; the server says nothing and hangs up.
    CancelSent,
    /// The session was handed over, or start-up failed.
    Finished,
}

/// A session that is ready for its first query.
#[derive(Debug)]
pub struct Established {
    /// What all further bytes pass through.
    pub channel: Channel,
    /// The settings that the server reported, in its order, each once with its latest value.
    pub parameters: Vec<(String, String)>,
    /// The server process, for a cancel request.
    pub backend_pid: i32,
    /// The key for a cancel request; empty if the server gave none.
    pub cancel_key: Vec<u8>,
    pub protocol: ProtocolVersion,
    pub notices: Vec<Notice>,
    /// Decrypted bytes that arrived after start-up; normally none.
    pub leftover: Vec<u8>,
}

impl Established {
    /// The latest value of a setting that the server reports.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, value)| value.as_str())
    }
}

fn tls_error(text: String, retry: Retry) -> ConnectError {
    ConnectError::new(ConnectErrorKind::Tls(text), retry)
}

impl Connecting {
    /// A start-up that has not begun.
    pub fn new(login: Arc<Login>) -> Connecting {
        Connecting {
            protocol: login.max_protocol,
            login,
            state: State::New,
            channel: Channel::plain(),
            inbox: Vec::new(),
            version_negotiated: false,
            authenticated: false,
            sasl: None,
            sasl_done: false,
            parameters: Vec::new(),
            notices: Vec::new(),
            backend_pid: 0,
            seen_bytes: 0,
            cancel_key: Vec::new(),
            cancel: None,
        }
    }

    /// A connection that only asks to cancel what a session is running. It never becomes a
    /// session: the server hangs up once [`Connecting::cancel_sent`].
    pub fn for_cancel(login: Arc<Login>, backend_pid: i32, cancel_key: &[u8]) -> Connecting {
        let mut connecting = Connecting::new(login);
        connecting.cancel = Some((backend_pid, cancel_key.to_vec()));
        connecting
    }

    /// Whether the cancel request is among the bytes handed out.
    pub fn cancel_sent(&self) -> bool {
        matches!(self.state, State::CancelSent)
    }

    /// Appends the first bytes to send once the socket is connected.
    pub fn start(&mut self, out: &mut Vec<u8>) -> Result<(), ConnectError> {
        match self.login.encryption.clone() {
            Encryption::Plain => self.send_startup(out),
            Encryption::Tls(config) if config.direct() => self.start_tls(&config, out),
            Encryption::Tls(config) | Encryption::TlsIfOffered(config) => {
                frontend::ssl_request(out);
                self.state = State::TlsAnswer(config);
                Ok(())
            }
        }
    }

    /// Takes bytes from the socket and appends what to answer. Returns the session once it is
    /// established; after that, or after an error, it must not be called again.
    pub fn received(
        &mut self,
        mut bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Established>, ConnectError> {
        if let State::TlsAnswer(config) = &self.state {
            let Some((&answer, rest)) = bytes.split_first() else {
                return Ok(None);
            };
            let config = config.clone();
            match answer {
                b'S' if rest.is_empty() => {
                    self.start_tls(&config, out)?;
                    return Ok(None);
                }
                // Bytes that came before the handshake are not protected by it: an attacker between
                // may have put them there (CVE-2021-23222).
                b'S' => {
                    return Err(tls_error(
                        "received unencrypted data after SSL response".into(),
                        Retry::Stop,
                    ));
                }
                b'N' if matches!(self.login.encryption, Encryption::TlsIfOffered(_)) => {
                    self.send_startup(out)?;
                    bytes = rest;
                }
                b'N' => {
                    let text = "server does not support SSL, but SSL was required";
                    return Err(tls_error(text.into(), Retry::Stop));
                }
                // An unauthenticated server's words are not to be trusted: not shown.
                b'E' => {
                    let text = "server sent an error response during SSL exchange";
                    return Err(tls_error(text.into(), Retry::Stop));
                }
                other => {
                    return Err(ConnectError::protocol(format!(
                        "received invalid response to SSL negotiation: {}",
                        other.escape_ascii()
                    )));
                }
            }
        }
        if matches!(self.state, State::CancelSent) {
            return Ok(None);
        }
        let opened = self.channel.open(bytes, &mut self.inbox);
        let handshake = matches!(self.state, State::TlsHandshake);
        if let Err(error) = opened {
            let _ = self.channel.pending(out); // the alert that tells the server why
            let retry = if handshake {
                Retry::OtherEncryption
            } else {
                Retry::Stop
            };
            return Err(tls_error(error.to_string(), retry));
        }
        self.flush_tls(out)?;
        if handshake {
            if self.channel.is_handshaking() {
                return Ok(None);
            }
            self.check_alpn()?;
            self.send_startup(out)?;
            if self.cancel_sent() {
                return Ok(None);
            }
        }
        self.take_messages(out)
    }

    pub fn closed(&self) -> ConnectError {
        let retry = match self.state {
            State::TlsHandshake => Retry::OtherEncryption,
            _ => Retry::Stop,
        };
        ConnectError::new(ConnectErrorKind::Closed, retry)
    }

    fn flush_tls(&mut self, out: &mut Vec<u8>) -> Result<(), ConnectError> {
        self.channel
            .pending(out)
            .map_err(|e| tls_error(e.to_string(), Retry::Stop))
    }

    fn start_tls(&mut self, config: &TlsConfig, out: &mut Vec<u8>) -> Result<(), ConnectError> {
        self.channel = config.channel()?;
        self.state = State::TlsHandshake;
        self.flush_tls(out)
    }

    /// TLS without asking first needs the server's word that it means to speak PostgreSQL.
    fn check_alpn(&self) -> Result<(), ConnectError> {
        let direct = match &self.login.encryption {
            Encryption::Tls(config) | Encryption::TlsIfOffered(config) => config.direct(),
            Encryption::Plain => false,
        };
        if direct && !self.channel.has_agreed_on_protocol() {
            let text =
                "direct SSL connection was established without ALPN protocol negotiation extension";
            return Err(tls_error(text.into(), Retry::OtherEncryption));
        }
        Ok(())
    }

    fn send_startup(&mut self, out: &mut Vec<u8>) -> Result<(), ConnectError> {
        if let Some((pid, key)) = self.cancel.take() {
            self.state = State::CancelSent;
            return self.send(out, |plain| frontend::cancel_request(plain, pid, &key));
        }
        self.state = State::Authentication;
        let login = self.login.clone();
        let user = [("user", login.user.as_str())];
        let parameters = login
            .parameters
            .iter()
            .map(|(n, v)| (n.as_str(), v.as_str()));
        self.send(out, |plain| {
            frontend::startup(
                plain,
                login.max_protocol.minor(),
                user.into_iter().chain(parameters),
            );
        })
    }

    fn send(
        &mut self,
        out: &mut Vec<u8>,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), ConnectError> {
        let mut plain = Vec::new();
        write(&mut plain);
        self.channel
            .seal(&plain, out)
            .map_err(|e| tls_error(e.to_string(), Retry::Stop))
    }

    fn take_messages(&mut self, out: &mut Vec<u8>) -> Result<Option<Established>, ConnectError> {
        let inbox = mem::take(&mut self.inbox);
        let mut at = 0;
        let mut done = false;
        while !done {
            self.check_early_length(&inbox[at..])?;
            let Some(frame) = backend::split(&inbox[at..])? else {
                break;
            };
            at += frame.len;
            done = self.take_message(&frame, out)?;
        }
        let leftover = inbox[at..].to_vec();
        if !done {
            self.seen_bytes += at;
            if self.seen_bytes + leftover.len() > STARTUP_BYTES_MAX {
                return Err(ConnectError::protocol(format!(
                    "the server sent more than {STARTUP_BYTES_MAX} bytes during startup, which is the \
                     limit: is this a server of PostgreSQL's protocol?"
                )));
            }
            self.inbox = leftover;
            return Ok(None);
        }
        self.state = State::Finished;
        Ok(Some(Established {
            channel: mem::replace(&mut self.channel, Channel::plain()),
            parameters: mem::take(&mut self.parameters),
            backend_pid: self.backend_pid,
            cancel_key: mem::take(&mut self.cancel_key),
            protocol: self.protocol,
            notices: mem::take(&mut self.notices),
            leftover,
        }))
    }

    /// Before authentication only three kinds of messages may come, and only short ones: anything
    /// else is not a PostgreSQL server, and nothing is kept waiting for its "message" to end.
    fn check_early_length(&self, input: &[u8]) -> Result<(), ConnectError> {
        if !matches!(self.state, State::Authentication) {
            return Ok(());
        }
        let Some((&tag, rest)) = input.split_first() else {
            return Ok(());
        };
        if !matches!(tag, b'R' | b'E' | b'v') {
            return Err(ConnectError::protocol(format!(
                "expected authentication request from server, but received {}",
                tag.escape_ascii()
            )));
        }
        let Some(length) = rest
            .first_chunk::<4>()
            .map(|b| u32::from_be_bytes(*b) as usize)
        else {
            return Ok(());
        };
        let (limit, name) = match tag {
            b'R' => (MAX_AUTHENTICATION_BYTES, "authentication request"),
            b'v' => (MAX_AUTHENTICATION_BYTES, "protocol negotiation message"),
            _ => (MAX_EARLY_ERROR_BYTES, "error message"),
        };
        if !(8..=limit).contains(&length) {
            return Err(ConnectError::protocol(format!("received invalid {name}")));
        }
        Ok(())
    }

    /// Handles one message; true when the session is ready.
    fn take_message(
        &mut self,
        frame: &backend::Frame<'_>,
        out: &mut Vec<u8>,
    ) -> Result<bool, ConnectError> {
        let message = frame.parse()?;
        match (&mut self.state, message) {
            (_, Message::ErrorResponse(fields)) => {
                return Err(self.refused(ServerError::new(fields)));
            }
            (_, Message::NoticeResponse(fields)) => self.notices.push(Notice::new(fields)),
            (State::Authentication, Message::Authentication(request)) => {
                self.authenticate(request, out)?;
            }
            (
                State::Authentication,
                Message::NegotiateProtocolVersion {
                    version,
                    options,
                    names,
                },
            ) => {
                self.negotiate(version, options, names)?;
            }
            (_, Message::ParameterStatus { name, value }) => {
                let name = String::from_utf8_lossy(name).into_owned();
                let value = String::from_utf8_lossy(value).into_owned();
                let known = self.parameters.len();
                match self.parameters.iter_mut().find(|(n, _)| *n == name) {
                    Some((_, old)) => *old = value,
                    None if known < SETTINGS_MAX => self.parameters.push((name, value)),
                    None => {
                        return Err(ConnectError::protocol(format!(
                            "the server reports more than {SETTINGS_MAX} settings, which is the \
                             limit: is this a server of PostgreSQL's protocol?"
                        )));
                    }
                }
            }
            (State::Ready, Message::BackendKeyData { pid, key }) => {
                self.check_key(key.len())?;
                self.backend_pid = pid;
                self.cancel_key = key.to_vec();
            }
            (State::Ready, Message::ReadyForQuery(_)) => return self.check_session(out),
            (State::SessionCheck { answer, .. }, Message::DataRow(mut row)) => {
                let value = row.next().transpose()?.flatten();
                *answer = Some(matches!(value, Some(b"on" | b"t")));
            }
            (
                State::SessionCheck { .. },
                Message::RowDescription(_) | Message::CommandComplete(_),
            ) => {}
            (State::SessionCheck { question, answer }, Message::ReadyForQuery(_)) => {
                let Some(yes) = *answer else {
                    let text = format!("\"{question}\" failed");
                    return Err(self.mismatch(text, out));
                };
                return self.judge(yes, out);
            }
            _ => {
                return Err(ConnectError::protocol(format!(
                    "unexpected message from server during startup: type \"{}\"",
                    frame.tag.escape_ascii()
                )));
            }
        }
        Ok(false)
    }

    fn refused(&self, error: ServerError) -> ConnectError {
        if let State::SessionCheck { question, .. } = self.state {
            let text = format!("{}\n\"{question}\" failed", error.libpq_text(None));
            return ConnectError::new(ConnectErrorKind::SessionAttrs(text), Retry::NextHost);
        }
        let before_authentication = matches!(self.state, State::Authentication);
        let retry = match error.sqlstate() {
            // A standby that is not in hot standby, or a server starting up: another may be ready.
            "57P03" if before_authentication => Retry::NextHost,
            _ if before_authentication => Retry::OtherEncryption,
            _ => Retry::Stop,
        };
        let password_file = match error.sqlstate() {
            "28P01" => self.login.password_file.clone(),
            _ => None,
        };
        ConnectError::new(
            ConnectErrorKind::Refused {
                error,
                password_file,
            },
            retry,
        )
    }

    fn authenticate(
        &mut self,
        request: Authentication<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), ConnectError> {
        let login = self.login.clone();
        self.check_allowed(request)?;
        match request {
            Authentication::Ok => {
                if self.sasl.is_some() && !self.sasl_done {
                    return Err(not_allowed(
                        "server accepted the client before it proved to know the password itself",
                    ));
                }
                self.sasl = None;
                self.state = State::Ready;
            }
            Authentication::CleartextPassword => {
                let password = known_password(&login)?;
                self.authenticated = true;
                self.send(out, |out| {
                    frontend::password(out, password.expose().as_bytes())
                })?;
            }
            Authentication::Md5Password { salt } => {
                let password = known_password(&login)?;
                let answer = md5_password::hashed(&login.user, password.expose(), salt);
                self.authenticated = true;
                self.send(out, |out| frontend::password(out, answer.as_bytes()))?;
            }
            Authentication::Sasl(offered) => {
                if self.sasl.is_some() {
                    return Err(ConnectError::protocol(
                        "duplicate SASL authentication request",
                    ));
                }
                let mut plain = Vec::new();
                let exchange = Exchange::begin(&login, &self.channel, offered, &mut plain)?;
                self.sasl = Some(exchange);
                self.send(out, |out| out.append(&mut plain))?;
            }
            Authentication::SaslContinue(challenge) => {
                let exchange = self.sasl.as_mut().ok_or_else(|| {
                    ConnectError::protocol("fe_sendauth: invalid authentication request from server: AUTH_REQ_SASL_CONT without AUTH_REQ_SASL")
                })?;
                let mut plain = Vec::new();
                exchange.advance(challenge, &mut plain)?;
                self.send(out, |out| out.append(&mut plain))?;
            }
            Authentication::SaslFinal(outcome) => {
                let exchange = self.sasl.as_mut().ok_or_else(|| {
                    ConnectError::protocol("fe_sendauth: invalid authentication request from server: AUTH_REQ_SASL_FIN without AUTH_REQ_SASL")
                })?;
                exchange.finish(outcome)?;
                self.sasl_done = true;
                self.authenticated = true;
            }
            Authentication::Other(code) => {
                return Err(not_allowed(match code {
                    2 => "Kerberos 5 authentication not supported".to_owned(),
                    7 | 8 => "GSSAPI authentication not supported".to_owned(),
                    9 => "SSPI authentication not supported".to_owned(),
                    4 => "Crypt authentication not supported".to_owned(),
                    other => format!("authentication method {other} not supported"),
                }));
            }
        }
        Ok(())
    }

    /// `require_auth` and `channel_binding=require`, before anything is given away.
    fn check_allowed(&self, request: Authentication<'_>) -> Result<(), ConnectError> {
        let require = &self.login.require_auth;
        let (allowed, reason) = match request {
            Authentication::Ok => (
                self.authenticated || require.allows(Method::None),
                "server did not complete authentication",
            ),
            Authentication::CleartextPassword => (
                require.allows(Method::Password),
                "server requested a cleartext password",
            ),
            Authentication::Md5Password { .. } => (
                require.allows(Method::Md5),
                "server requested a hashed password",
            ),
            Authentication::Sasl(_)
            | Authentication::SaslContinue(_)
            | Authentication::SaslFinal(_) => (
                require.allows(Method::ScramSha256) || require.allows(Method::OAuth),
                "server requested SASL authentication",
            ),
            Authentication::Other(7 | 8) => (
                require.allows(Method::Gss),
                "server requested GSSAPI authentication",
            ),
            Authentication::Other(9) => (
                require.allows(Method::Sspi),
                "server requested SSPI authentication",
            ),
            Authentication::Other(_) => (
                require.text().is_empty(),
                "server requested an unknown authentication type",
            ),
        };
        if !allowed {
            return Err(not_allowed(format!(
                "authentication method requirement \"{}\" failed: {reason}",
                require.text()
            )));
        }
        if self.login.channel_binding == ChannelBinding::Require {
            match request {
                Authentication::Sasl(_)
                | Authentication::SaslContinue(_)
                | Authentication::SaslFinal(_) => {}
                Authentication::Ok
                    if self.sasl_done && self.sasl.as_ref().is_some_and(|s| s.bound) => {}
                Authentication::Ok => {
                    return Err(not_allowed(
                        "channel binding required, but server authenticated client without channel binding",
                    ));
                }
                _ => {
                    return Err(not_allowed(
                        "channel binding required but not supported by server's authentication request",
                    ));
                }
            }
        }
        Ok(())
    }

    fn negotiate(&mut self, version: i32, options: i32, names: &[u8]) -> Result<(), ConnectError> {
        const V3: i32 = 3 << 16;
        let invalid = |text: &str| {
            ConnectError::protocol(format!(
                "received invalid protocol negotiation message: {text}"
            ))
        };
        if mem::replace(&mut self.version_negotiated, true) {
            return Err(ConnectError::protocol(
                "received duplicate protocol negotiation message",
            ));
        }
        let asked = V3 + i32::from(self.login.max_protocol.minor());
        let theirs = match version {
            v if v > asked => {
                return Err(invalid(
                    "server requested downgrade to a higher-numbered version",
                ));
            }
            v if v == V3 => ProtocolVersion::V3_0,
            v if v == V3 + 1 => {
                return Err(invalid(
                    "server requested downgrade to non-existent 3.1 protocol version",
                ));
            }
            v if v == V3 + 2 => ProtocolVersion::V3_2,
            _ => {
                return Err(invalid(
                    "server requested downgrade to pre-3.0 protocol version",
                ));
            }
        };
        if options < 0 {
            return Err(invalid(
                "server reported negative number of unsupported parameters",
            ));
        }
        if version == asked && options == 0 {
            return Err(invalid("server negotiated but asks for no changes"));
        }
        if theirs < self.login.min_protocol {
            return Err(ConnectError::protocol(format!(
                "server only supports protocol version 3.{}, but \"min_protocol_version\" was set to 3.{}",
                theirs.minor(),
                self.login.min_protocol.minor()
            )));
        }
        if options > 0 {
            // None was asked for.
            let end = names.iter().position(|&b| b == 0).unwrap_or(names.len());
            return Err(invalid(&format!(
                "server reported an unsupported parameter that was not requested (\"{}\")",
                String::from_utf8_lossy(&names[..end])
            )));
        }
        self.protocol = theirs;
        Ok(())
    }

    fn check_key(&self, len: usize) -> Result<(), ConnectError> {
        let problem = match len {
            4 => return Ok(()),
            _ if self.protocol == ProtocolVersion::V3_0 => {
                "not allowed in protocol version 3.0 (must be 4 bytes)"
            }
            0..4 => "is too short (minimum 4 bytes)",
            257.. => "is too long (maximum 256 bytes)",
            _ => return Ok(()),
        };
        Err(ConnectError::protocol(format!(
            "received invalid BackendKeyData message: cancel key with length {len} {problem}"
        )))
    }

    /// The session is up: is it of the kind asked for? Asks the server where it has not said.
    fn check_session(&mut self, out: &mut Vec<u8>) -> Result<bool, ConnectError> {
        let reported = |name: &str| {
            self.parameters
                .iter()
                .find(|(n, _)| n == name)
                .map(|(_, value)| value == "on")
        };
        if self.login.refuses_superuser && reported("is_superuser") == Some(true) {
            let error = ConnectErrorKind::Superuser(self.login.user.clone());
            self.farewell(out);
            return Err(ConnectError::new(error, Retry::Stop));
        }
        let standby = reported("in_hot_standby");
        let (known, question, sql) = match self.login.session_attrs {
            SessionAttrs::Any => return Ok(true),
            SessionAttrs::ReadWrite | SessionAttrs::ReadOnly => (
                standby
                    .zip(reported("default_transaction_read_only"))
                    .map(|(a, b)| a || b),
                "SHOW transaction_read_only",
                "SHOW transaction_read_only",
            ),
            SessionAttrs::Primary | SessionAttrs::Standby => (
                standby,
                "SELECT pg_is_in_recovery()",
                "SELECT pg_catalog.pg_is_in_recovery()",
            ),
        };
        match known {
            Some(yes) => self.judge(yes, out),
            None => {
                self.state = State::SessionCheck {
                    question,
                    answer: None,
                };
                self.send(out, |out| frontend::query(out, sql.as_bytes()))?;
                Ok(false)
            }
        }
    }

    /// `yes` says that the session is read-only or, for primary and standby, in hot standby.
    fn judge(&mut self, yes: bool, out: &mut Vec<u8>) -> Result<bool, ConnectError> {
        let problem = match (self.login.session_attrs, yes) {
            (SessionAttrs::ReadWrite, true) => "session is read-only",
            (SessionAttrs::ReadOnly, false) => "session is not read-only",
            (SessionAttrs::Primary, true) => "server is in hot standby mode",
            (SessionAttrs::Standby, false) => "server is not in hot standby mode",
            _ => return Ok(true),
        };
        Err(self.mismatch(problem.to_owned(), out))
    }

    /// Says farewell and reports that this is not the session wanted.
    fn mismatch(&mut self, text: String, out: &mut Vec<u8>) -> ConnectError {
        self.farewell(out);
        ConnectError::new(ConnectErrorKind::SessionAttrs(text), Retry::NextHost)
    }

    fn farewell(&mut self, out: &mut Vec<u8>) {
        // The session ends in any case; a farewell that TLS cannot carry is no news.
        let _ = self.send(out, frontend::terminate);
        self.state = State::Finished;
    }
}

fn not_allowed(text: impl Into<String>) -> ConnectError {
    ConnectError::new(ConnectErrorKind::AuthNotAllowed(text.into()), Retry::Stop)
}

impl std::fmt::Debug for Connecting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = match self.state {
            State::New => "New",
            State::TlsAnswer(_) => "TlsAnswer",
            State::TlsHandshake => "TlsHandshake",
            State::Authentication => "Authentication",
            State::Ready => "Ready",
            State::SessionCheck { .. } => "SessionCheck",
            State::CancelSent => "CancelSent",
            State::Finished => "Finished",
        };
        f.debug_struct("Connecting")
            .field("state", &state)
            .finish_non_exhaustive()
    }
}
