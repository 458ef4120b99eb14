//! What bytes pass through once a session is established: nothing, or TLS.

use std::io::{Read, Write};

use rustls::{CertificateError, Connection, OtherError};

/// Encrypts and decrypts the bytes of one session. It owns no socket: what it makes goes into the
/// caller's buffers.
pub struct Channel {
    tls: Option<Box<Connection>>,
    peer_closed: bool,
}

/// TLS found the peer's bytes wrong, or the peer sent an alert.
#[derive(Clone, Debug, thiserror::Error)]
#[error("SSL error: {0}")]
pub struct ChannelError(pub(crate) String);

impl Channel {
    /// A channel that changes nothing.
    pub fn plain() -> Channel {
        Channel {
            tls: None,
            peer_closed: false,
        }
    }

    pub(crate) fn tls(connection: impl Into<Connection>) -> Channel {
        Channel {
            tls: Some(Box::new(connection.into())),
            peer_closed: false,
        }
    }

    /// Whether bytes pass unchanged: the hot path may then skip `seal` and `open` and use the
    /// socket's bytes in place.
    pub fn is_plain(&self) -> bool {
        self.tls.is_none()
    }

    /// Appends to `out` what to send for `plain` (and whatever TLS has to send on its own).
    pub fn seal(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), ChannelError> {
        let Some(tls) = &mut self.tls else {
            out.extend_from_slice(plain);
            return Ok(());
        };
        let mut rest = plain;
        while !rest.is_empty() {
            // The connection's own buffer is bounded, so it is emptied whenever it takes no more.
            let taken = tls
                .writer()
                .write(rest)
                .map_err(|e| ChannelError(e.to_string()))?;
            rest = &rest[taken..];
            flush(tls, out)?;
        }
        flush(tls, out)
    }

    /// Appends to `plain` the contents of the bytes received. TLS's own answers wait for the next
    /// [`Channel::seal`] or [`Channel::pending`].
    pub fn open(&mut self, wire: &[u8], plain: &mut Vec<u8>) -> Result<(), ChannelError> {
        let Some(tls) = &mut self.tls else {
            plain.extend_from_slice(wire);
            return Ok(());
        };
        let mut rest = wire;
        while !rest.is_empty() {
            let taken = tls
                .read_tls(&mut rest)
                .map_err(|e| ChannelError(e.to_string()))?;
            let state = tls
                .process_new_packets()
                .map_err(|e| ChannelError(describe(&e)))?;
            let ready = state.plaintext_bytes_to_read();
            if ready > 0 {
                let start = plain.len();
                plain.resize(start + ready, 0);
                tls.reader()
                    .read_exact(&mut plain[start..])
                    .map_err(|e| ChannelError(e.to_string()))?;
            }
            if state.peer_has_closed() {
                self.peer_closed = true;
            }
            if taken == 0 {
                break; // after a close_notify nothing more is taken
            }
        }
        Ok(())
    }

    /// Appends to `out` what TLS has to send on its own (handshake, alerts, key updates).
    pub fn pending(&mut self, out: &mut Vec<u8>) -> Result<(), ChannelError> {
        match &mut self.tls {
            Some(tls) => flush(tls, out),
            None => Ok(()),
        }
    }

    /// Appends the polite end of a TLS session.
    pub fn close(&mut self, out: &mut Vec<u8>) {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
            // Nothing is lost if it cannot be written: the connection ends either way.
            let _ = flush(tls, out);
        }
    }

    /// Whether the peer said that it sends no more.
    pub fn peer_closed(&self) -> bool {
        self.peer_closed
    }

    /// TLS version and cipher suite, such as `TLSv1_3 TLS13_AES_256_GCM_SHA384`; `None` if plain.
    pub fn description(&self) -> Option<String> {
        let tls = self.tls.as_ref()?;
        let version = tls.protocol_version()?;
        let suite = tls.negotiated_cipher_suite()?.suite();
        Some(format!("{version:?} {suite:?}"))
    }

    /// The certificate that the peer has shown, in DER.
    pub fn peer_certificate(&self) -> Option<&[u8]> {
        let chain = self.tls.as_ref()?.peer_certificates()?;
        chain.first().map(|certificate| &**certificate)
    }

    /// Whether both have said that PostgreSQL's protocol follows (ALPN).
    pub fn has_agreed_on_protocol(&self) -> bool {
        self.tls
            .as_ref()
            .is_some_and(|tls| tls.alpn_protocol().is_some())
    }

    /// Whether TLS is not there yet: what [`Channel::pending`] has is to be sent, and the answer to be opened.
    pub fn is_handshaking(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.is_handshaking())
    }
}

fn flush(tls: &mut Connection, out: &mut Vec<u8>) -> Result<(), ChannelError> {
    while tls.wants_write() {
        tls.write_tls(out)
            .map_err(|e| ChannelError(e.to_string()))?;
    }
    Ok(())
}

/// A TLS error in words; those of pgdyno's own verifier ([`crate::tls`]) stand for themselves.
pub(crate) fn describe(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(inner))) => {
            inner.to_string()
        }
        rustls::Error::InvalidCertificate(_) => format!("certificate verify failed: {error}"),
        other => other.to_string(),
    }
}

impl std::fmt::Debug for Channel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.is_plain() {
            "Channel(plain)"
        } else {
            "Channel(TLS)"
        })
    }
}
