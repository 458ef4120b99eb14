//! SASL: which mechanism of those that the server offers, and its messages.

use crate::backend::Mechanisms;
use crate::channel::Channel;
use crate::error::{ConnectError, ConnectErrorKind, Retry};
use crate::frontend;
use crate::login::{ChannelBinding, Login, known_password};
use crate::require_auth::Method;
use crate::scram::{self, Binding, Refusal, Scram};
use crate::x509;

pub(crate) struct Exchange {
    scram: Scram,
    iterations_max: u32,
    pub(crate) bound: bool,
}

fn refuse(text: impl Into<String>) -> ConnectError {
    ConnectError::new(ConnectErrorKind::AuthNotAllowed(text.into()), Retry::Stop)
}

fn failed(text: impl Into<String>) -> ConnectError {
    ConnectError::new(ConnectErrorKind::Authentication(text.into()), Retry::Stop)
}

impl Exchange {
    /// Chooses a mechanism and appends the first message.
    pub(crate) fn begin(
        login: &Login,
        channel: &Channel,
        offered: Mechanisms<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Exchange, ConnectError> {
        if login.channel_binding == ChannelBinding::Require && channel.is_plain() {
            return Err(refuse("channel binding required, but SSL not in use"));
        }
        let (mut plain, mut plus) = (false, false);
        for name in offered {
            plain |= name == scram::PLAIN.as_bytes();
            plus |= name == scram::PLUS.as_bytes();
        }
        if plus && channel.is_plain() {
            // The server only offers it over TLS: an attacker between removed TLS.
            return Err(refuse(
                "server offered SCRAM-SHA-256-PLUS authentication over a non-SSL connection",
            ));
        }
        let bind = plus && login.channel_binding != ChannelBinding::Disable;
        if !bind && !plain {
            return Err(refuse(
                "none of the server's SASL authentication mechanisms are supported",
            ));
        }
        let mechanism = if bind { scram::PLUS } else { scram::PLAIN };
        if !login.require_auth.allows(Method::ScramSha256) {
            return Err(refuse(format!(
                "authentication method requirement \"{}\" failed: server requested {mechanism} authentication",
                login.require_auth.text()
            )));
        }
        if login.channel_binding == ChannelBinding::Require && !bind {
            return Err(refuse(
                "channel binding is required, but server did not offer an authentication method that \
                 supports channel binding",
            ));
        }
        let password = known_password(login)?;
        let binding = if bind {
            Binding::EndPoint(end_point_hash(channel)?)
        } else if !channel.is_plain() && login.channel_binding != ChannelBinding::Disable {
            // "I could, but you do not": a server that could then knows of an attacker.
            Binding::Unrequested
        } else {
            Binding::Unsupported
        };
        let scram = Scram::new(password.expose(), binding);
        frontend::sasl_initial(out, mechanism, scram.first().as_bytes());
        Ok(Exchange {
            scram,
            iterations_max: login.scram_iterations_max,
            bound: bind,
        })
    }

    pub(crate) fn advance(
        &mut self,
        challenge: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), ConnectError> {
        let answer = self.scram.answer(challenge, self.iterations_max);
        let answer = answer.map_err(|refusal| match refusal {
            Refusal::Malformed(why) => {
                failed(format!("malformed SCRAM message from server: {why}"))
            }
            Refusal::Iterations(asked) => failed(format!(
                "the server asks for {asked} iterations of SCRAM's hash, and no more than {} are done; \
                 scram_max_iterations={asked} (PGSCRAMMAXITERATIONS) allows as many",
                self.iterations_max
            )),
        })?;
        frontend::sasl_response(out, answer.as_bytes());
        Ok(())
    }

    /// Checks the server's proof that it knows the password too.
    pub(crate) fn finish(&mut self, outcome: &[u8]) -> Result<(), ConnectError> {
        self.scram.verify(outcome).map_err(|why| {
            failed(format!("incorrect server signature: the server did not prove that it knows the password ({why})"))
        })
    }
}

/// The hash of the server's certificate as RFC 5929 (tls-server-end-point) wants it.
fn end_point_hash(channel: &Channel) -> Result<Vec<u8>, ConnectError> {
    let certificate = channel
        .peer_certificate()
        .ok_or_else(|| failed("the server sent no certificate to bind the channel to"))?;
    x509::end_point_hash(certificate).ok_or_else(|| {
        failed(
            "could not determine server certificate signature algorithm for channel binding; \
             channel_binding=disable does without",
        )
    })
}
