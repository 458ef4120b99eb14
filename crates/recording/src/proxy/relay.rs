//! The start of a connection: encryption on either side, cancel requests, the login. What follows goes to the
//! recorder; nothing of the login does but the start-up message, which has no password.

use std::mem;
use std::sync::Arc;

use pgdyno_link::{Direction, Outbox, Side, Verdict};
use pgdyno_wire::backend::{self, Authentication, Message, tag};
use pgdyno_wire::tls::{ServerTls, TlsConfig};
use pgdyno_wire::{Channel, Encryption, frontend};

use super::tap::{Kind, Tap};

/// Codes in the place of a version: protocol, "Message Formats".
const CANCEL: u32 = 80_877_102;
const SSL: u32 = 80_877_103;
const GSSENC: u32 = 80_877_104;
/// What a TLS handshake begins with.
const TLS_HANDSHAKE: u8 = 0x16;
/// The longest start-up message that PostgreSQL takes.
const STARTUP_BYTES_MAX: usize = 10_000;
/// The longest message of a login: tokens of GSSAPI are up to 64 KiB.
const LOGIN_BYTES_MAX: usize = 128 << 10;
/// Of an authentication request (protocol, "AuthenticationSASL").
const SASL: u32 = 10;
const SCRAM_PLUS: &[u8] = b"SCRAM-SHA-256-PLUS";

/// What all connections have in common.
#[derive(Debug)]
pub struct Common {
    pub tap: Arc<Tap>,
    /// Towards the server.
    pub encryption: Encryption,
    /// Towards clients.
    pub tls: Option<ServerTls>,
}

#[derive(Debug)]
enum State {
    /// The client's first message.
    Start,
    /// The client's part of the TLS handshake; whether it began with that.
    ClientTls(bool),
    /// The server's answer to whether it speaks TLS.
    ServerAnswer(Arc<TlsConfig>),
    /// The server's part of the handshake; whether it was not asked first.
    ServerTls(bool),
    Login(Login),
    /// All that comes is handed on.
    Through,
}

#[derive(Debug, Default)]
struct Login {
    /// Whether the server has asked for SASL, and the client's answer names the mechanism.
    is_choosing: bool,
    /// Whether the server can bind it to a channel that does not reach from the client to the server.
    is_unbindable: bool,
}

#[derive(Debug)]
pub struct Relay {
    connection: u64,
    common: Arc<Common>,
    state: State,
    client: Channel,
    server: Channel,
    /// Decrypted, and not taken apart yet.
    from_client: Vec<u8>,
    from_server: Vec<u8>,
    startup: Vec<u8>,
    began_us: i64,
    /// Whether the recorder knows of it.
    is_recorded: bool,
}

/// Why a connection ends, for the client.
struct Refusal {
    state: &'static str,
    text: String,
    hint: &'static str,
}

impl Refusal {
    fn new(text: impl Into<String>) -> Self {
        Self {
            state: "08006",
            text: format!("pgdyno record: {}", text.into()),
            hint: "",
        }
    }
}

impl Relay {
    pub fn new(connection: u64, common: Arc<Common>) -> Self {
        Self {
            connection,
            common,
            state: State::Start,
            client: Channel::plain(),
            server: Channel::plain(),
            from_client: Vec::new(),
            from_server: Vec::new(),
            startup: Vec::new(),
            began_us: 0,
            is_recorded: false,
        }
    }

    fn record(&self, from: Side, bytes: &[u8]) {
        if self.is_recorded && !bytes.is_empty() {
            let kind = match from {
                Side::Client => Kind::FromClient,
                Side::Server => Kind::FromServer,
            };
            self.push_now(kind, bytes);
        }
    }

    fn push_now(&self, kind: Kind, bytes: &[u8]) {
        let tap = &self.common.tap;
        tap.push(kind, self.connection, tap.now_us(), bytes);
    }

    /// Bytes of an open connection of which one side at least is encrypted.
    fn through(&mut self, from: Side, bytes: &[u8], out: &mut Outbox) -> Result<(), Refusal> {
        let (source, sink, back, forth) = match from {
            Side::Client => (
                &mut self.client,
                &mut self.server,
                Direction::ToClient,
                Direction::ToServer,
            ),
            Side::Server => (
                &mut self.server,
                &mut self.client,
                Direction::ToServer,
                Direction::ToClient,
            ),
        };
        let mut opened = mem::take(&mut self.from_client);
        let plain = if source.is_plain() {
            bytes
        } else {
            opened.clear();
            source.open(bytes, &mut opened).map_err(wrong)?;
            source.pending(out.to(back)).map_err(wrong)?;
            &opened
        };
        if !plain.is_empty() {
            sink.seal(plain, out.to(forth)).map_err(wrong)?;
        }
        self.record(from, plain);
        self.from_client = opened;
        Ok(())
    }

    fn of_client(&mut self, bytes: &[u8], out: &mut Outbox) -> Result<(), Refusal> {
        if self.from_client.is_empty()
            && self.client.is_plain()
            && bytes.first() == Some(&TLS_HANDSHAKE)
            && matches!(self.state, State::Start)
        {
            self.offer_tls()?;
            self.state = State::ClientTls(true);
        }
        let opened = self.client.open(bytes, &mut self.from_client);
        self.client
            .pending(out.to(Direction::ToClient))
            .map_err(wrong)?;
        opened.map_err(wrong)?;
        if let State::ClientTls(is_direct) = self.state
            && !self.client.is_handshaking()
        {
            if is_direct && !self.client.has_agreed_on_protocol() {
                return Err(Refusal::new("direct TLS needs ALPN"));
            }
            self.state = State::Start;
        }
        match &self.state {
            State::Start => self.start(out),
            State::Login(_) => self.login_of_client(out),
            State::ServerAnswer(_) | State::ServerTls(_)
                if self.from_client.len() > LOGIN_BYTES_MAX =>
            {
                Err(Refusal::new("the client does not wait for the server"))
            }
            _ => Ok(()),
        }
    }

    fn offer_tls(&mut self) -> Result<(), Refusal> {
        let Some(tls) = &self.common.tls else {
            return Err(Refusal::new(
                "TLS needs a certificate (--tls-cert, --tls-key)",
            ));
        };
        self.client = tls.channel().map_err(wrong)?;
        Ok(())
    }

    /// First messages, up to the start-up message or a cancel request.
    fn start(&mut self, out: &mut Outbox) -> Result<(), Refusal> {
        loop {
            let number = |from: usize| {
                let bytes = self.from_client.get(from..)?.first_chunk::<4>()?;
                Some(u32::from_be_bytes(*bytes))
            };
            let (Some(length), Some(code)) = (number(0), number(4)) else {
                return Ok(());
            };
            let length = length as usize;
            if !(8..=STARTUP_BYTES_MAX).contains(&length) {
                return Err(Refusal::new("this is no start of PostgreSQL's protocol"));
            }
            if self.from_client.len() < length {
                return Ok(());
            }
            let message: Vec<u8> = self.from_client.drain(..length).collect();
            match code {
                SSL if self.client.is_plain() && self.common.tls.is_some() => {
                    // What came before the handshake is not protected by it (CVE-2021-23214).
                    if !self.from_client.is_empty() {
                        return Err(Refusal::new("unencrypted data behind an SSL request"));
                    }
                    out.to(Direction::ToClient).push(b'S');
                    self.offer_tls()?;
                    self.state = State::ClientTls(false);
                    return Ok(());
                }
                SSL | GSSENC => {
                    let no = self.client.seal(b"N", out.to(Direction::ToClient));
                    no.map_err(wrong)?;
                }
                _ => {
                    self.began_us = self.common.tap.now_us();
                    self.startup = message;
                    return self.reach_server(out);
                }
            }
        }
    }

    /// The connection to the server is there: encrypts it, where that is wanted.
    fn reach_server(&mut self, out: &mut Outbox) -> Result<(), Refusal> {
        match self.common.encryption.clone() {
            Encryption::Plain => self.send_startup(out),
            Encryption::Tls(config) if config.direct() => self.start_tls(&config, true, out),
            Encryption::Tls(config) | Encryption::TlsIfOffered(config) => {
                frontend::ssl_request(out.to(Direction::ToServer));
                self.state = State::ServerAnswer(config);
                Ok(())
            }
        }
    }

    fn start_tls(
        &mut self,
        config: &TlsConfig,
        is_direct: bool,
        out: &mut Outbox,
    ) -> Result<(), Refusal> {
        self.server = config.channel().map_err(wrong)?;
        self.state = State::ServerTls(is_direct);
        self.server
            .pending(out.to(Direction::ToServer))
            .map_err(wrong)
    }

    fn send_startup(&mut self, out: &mut Outbox) -> Result<(), Refusal> {
        let sent = self.server.seal(&self.startup, out.to(Direction::ToServer));
        sent.map_err(wrong)?;
        let code = self.startup.get(4..).and_then(<[u8]>::first_chunk);
        self.state = if code.map(|code| u32::from_be_bytes(*code)) == Some(CANCEL) {
            State::Through
        } else {
            State::Login(Login::default())
        };
        Ok(())
    }

    fn of_server(&mut self, bytes: &[u8], out: &mut Outbox) -> Result<(), Refusal> {
        if let State::ServerAnswer(config) = &self.state {
            let config = config.clone();
            return match (bytes, &self.common.encryption) {
                (b"S", _) => self.start_tls(&config, false, out),
                (b"N", Encryption::TlsIfOffered(_)) => self.send_startup(out),
                (b"N", _) => Err(Refusal::new(
                    "the server does not support SSL, which sslmode of --url requires",
                )),
                _ => Err(Refusal::new(
                    "the server's answer to an SSL request is none",
                )),
            };
        }
        let opened = self.server.open(bytes, &mut self.from_server);
        self.server
            .pending(out.to(Direction::ToServer))
            .map_err(wrong)?;
        opened.map_err(wrong)?;
        if let State::ServerTls(is_direct) = self.state
            && !self.server.is_handshaking()
        {
            if is_direct && !self.server.has_agreed_on_protocol() {
                return Err(Refusal::new("the server does not speak direct TLS"));
            }
            self.send_startup(out)?;
        }
        if matches!(self.state, State::Login(_)) {
            self.login_of_server(out)?;
        }
        Ok(())
    }

    fn login_of_server(&mut self, out: &mut Outbox) -> Result<(), Refusal> {
        let from_server = mem::take(&mut self.from_server);
        let mut at = 0;
        while let State::Login(login) = &mut self.state {
            let frame = backend::split(&from_server[at..]).map_err(wrong)?;
            let Some(frame) = frame else {
                if from_server.len() - at > LOGIN_BYTES_MAX {
                    return Err(Refusal::new("the server's login has no end"));
                }
                break;
            };
            let mut bytes = &from_server[at..at + frame.len];
            at += frame.len;
            let mechanisms;
            match (frame.tag, frame.parse().map_err(wrong)?) {
                (_, Message::Authentication(Authentication::Ok)) => self.begin(),
                (_, Message::Authentication(Authentication::Sasl(offered))) => {
                    login.is_choosing = true;
                    if self.client.is_plain() {
                        // A client without TLS takes the offer of a binding for an attack.
                        mechanisms = without_binding(offered);
                        bytes = &mechanisms;
                    } else {
                        let shown = self.common.tls.as_ref().map(ServerTls::certificate);
                        login.is_unbindable = shown != self.server.peer_certificate();
                    }
                }
                (tag::ERROR_RESPONSE, _) => self.push_now(Kind::Refused, &[]),
                _ => {}
            }
            let sealed = self.client.seal(bytes, out.to(Direction::ToClient));
            sealed.map_err(wrong)?;
        }
        if matches!(self.state, State::Through) {
            let rest = &from_server[at..];
            let sealed = self.client.seal(rest, out.to(Direction::ToClient));
            sealed.map_err(wrong)?;
            self.record(Side::Server, rest);
            let early = mem::take(&mut self.from_client);
            let sealed = self.server.seal(&early, out.to(Direction::ToServer));
            sealed.map_err(wrong)?;
            self.record(Side::Client, &early);
        } else {
            self.from_server = from_server[at..].to_vec();
        }
        Ok(())
    }

    /// The login is over.
    fn begin(&mut self) {
        self.state = State::Through;
        self.is_recorded = true;
        let tap = &self.common.tap;
        let startup = mem::take(&mut self.startup);
        tap.push(Kind::Begin, self.connection, self.began_us, &startup);
    }

    fn login_of_client(&mut self, out: &mut Outbox) -> Result<(), Refusal> {
        let from_client = mem::take(&mut self.from_client);
        let mut at = 0;
        while let Some((head, rest)) = from_client[at..].split_first_chunk::<5>()
            && let State::Login(login) = &mut self.state
        {
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
            if !(4..=LOGIN_BYTES_MAX).contains(&length) {
                return Err(Refusal::new("this is no login of PostgreSQL's protocol"));
            }
            if rest.len() + 4 < length {
                break;
            }
            if head[0] == b'p' && mem::take(&mut login.is_choosing) {
                let mechanism = rest.split(|byte| *byte == 0).next();
                if login.is_unbindable && mechanism == Some(SCRAM_PLUS) {
                    return Err(Refusal {
                        state: "28000",
                        text: "pgdyno record: SCRAM with channel binding does not pass through a proxy whose certificate is not the server's".to_owned(),
                        hint: "Connect with channel_binding=disable, or give pgdyno record the server's own certificate and key.",
                    });
                }
            }
            let message = &from_client[at..=at + length];
            let sealed = self.server.seal(message, out.to(Direction::ToServer));
            sealed.map_err(wrong)?;
            at += 1 + length;
        }
        self.from_client = from_client[at..].to_vec();
        Ok(())
    }
}

/// The offer of SASL without mechanisms that bind it to a channel.
fn without_binding(offered: backend::Mechanisms<'_>) -> Vec<u8> {
    let mut body = SASL.to_be_bytes().to_vec();
    for mechanism in offered.filter(|name| !name.ends_with(b"-PLUS")) {
        body.extend_from_slice(mechanism);
        body.push(0);
    }
    body.push(0);
    message(tag::AUTHENTICATION, &body)
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut message = vec![tag];
    message.extend_from_slice(&(4 + body.len() as u32).to_be_bytes());
    message.extend_from_slice(body);
    message
}

fn wrong(error: impl std::fmt::Display) -> Refusal {
    Refusal::new(error.to_string())
}

/// An error that ends the session.
fn error_message(refusal: &Refusal) -> Vec<u8> {
    let mut body = Vec::new();
    let fields = [
        (b'S', "FATAL"),
        (b'V', "FATAL"),
        (b'C', refusal.state),
        (b'M', &refusal.text),
        (b'H', refusal.hint),
    ];
    for (code, text) in fields.into_iter().filter(|(_, text)| !text.is_empty()) {
        body.push(code);
        body.extend_from_slice(text.as_bytes());
        body.push(0);
    }
    body.push(0);
    message(tag::ERROR_RESPONSE, &body)
}

impl pgdyno_link::Relay for Relay {
    fn received(&mut self, from: Side, bytes: &[u8], out: &mut Outbox) -> Verdict {
        let is_through = matches!(self.state, State::Through);
        if is_through && self.client.is_plain() && self.server.is_plain() {
            self.record(from, bytes);
            return Verdict::Same;
        }
        let done = match from {
            _ if is_through => self.through(from, bytes, out),
            Side::Client => self.of_client(bytes, out),
            Side::Server => self.of_server(bytes, out),
        };
        let Err(refusal) = done else {
            return Verdict::Instead;
        };
        if !self.client.is_handshaking() {
            let message = error_message(&refusal);
            // The connection ends either way.
            let _ = self.client.seal(&message, out.to(Direction::ToClient));
            self.client.close(out.to(Direction::ToClient));
        }
        Verdict::Last
    }

    fn ended(&mut self, from: Side, out: &mut Outbox) {
        match from {
            Side::Client => self.server.close(out.to(Direction::ToServer)),
            Side::Server => self.client.close(out.to(Direction::ToClient)),
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        if self.is_recorded {
            self.push_now(Kind::End, &[]);
        }
    }
}
