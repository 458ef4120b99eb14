//! The client's side of SCRAM-SHA-256 (RFC 5802, RFC 7677) as PostgreSQL speaks it: without a user's name, which
//! start-up has sent, and without extensions.
//!
//! Own code, since the iterations that postgres-protocol takes are a constant of its own (100,000).

use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};

use aws_lc_rs::digest::{SHA256, SHA256_OUTPUT_LEN, digest};
use aws_lc_rs::{hmac, pbkdf2, rand};
use base64::prelude::{BASE64_STANDARD, Engine as _};

pub(crate) const PLAIN: &str = "SCRAM-SHA-256";
pub(crate) const PLUS: &str = "SCRAM-SHA-256-PLUS";

/// Iterations of the hash that a server may ask for unless another limit is set: as many take some 0.1 s of a CPU that
/// has instructions for SHA-256, several times as long without.
pub const SCRAM_ITERATIONS_MAX: u32 = 1_000_000;

/// Bytes of a nonce: 24 characters of Base64.
const NONCE_BYTES: usize = 18;
/// From so many iterations on, some 10 ms of a CPU, the last result is kept for the next login with the same password
/// and salt: a thousand clients need it once.
const KEPT_ITERATIONS_MIN: u32 = 100_000;

type Key = [u8; SHA256_OUTPUT_LEN];

/// Channel binding, as the first message says it.
pub(crate) enum Binding {
    /// The client could, and the server does not.
    Unrequested,
    Unsupported,
    /// The hash of the server's certificate (tls-server-end-point).
    EndPoint(Vec<u8>),
}

impl Binding {
    /// The header of GSS-API, and what the channel is bound to.
    fn bytes(&self) -> Vec<u8> {
        match self {
            Binding::Unrequested => b"y,,".to_vec(),
            Binding::Unsupported => b"n,,".to_vec(),
            Binding::EndPoint(hash) => [b"p=tls-server-end-point,,", &hash[..]].concat(),
        }
    }

    fn header(&self) -> &'static str {
        match self {
            Binding::Unrequested => "y,,",
            Binding::Unsupported => "n,,",
            Binding::EndPoint(_) => "p=tls-server-end-point,,",
        }
    }
}

/// An exchange: [`Scram::first`], [`Scram::answer`], [`Scram::verify`], each once.
pub(crate) struct Scram {
    password: String,
    binding: Binding,
    /// The first message without its header.
    bare: String,
    nonce: String,
    state: State,
}

enum State {
    Begun,
    /// What the server must sign, and with which key.
    Answered {
        server_key: hmac::Tag,
        signed: String,
    },
    Over,
}

/// Why an exchange fails.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Malformed(&'static str),
    /// The server asks for so many iterations.
    Iterations(u32),
}

impl Scram {
    pub(crate) fn new(password: &str, binding: Binding) -> Scram {
        let mut bytes = [0; NONCE_BYTES];
        rand::fill(&mut bytes).expect("the system has random bytes");
        Scram::with_nonce("", password, binding, BASE64_STANDARD.encode(bytes))
    }

    fn with_nonce(user: &str, password: &str, binding: Binding, nonce: String) -> Scram {
        Scram {
            password: normalized(password),
            binding,
            bare: format!("n={user},r={nonce}"),
            nonce,
            state: State::Begun,
        }
    }

    pub(crate) fn first(&self) -> String {
        self.binding.header().to_owned() + &self.bare
    }

    /// The answer to a challenge that asks for no more iterations than these.
    ///
    /// # Errors
    /// It is none, or asks for more; nothing was computed then.
    pub(crate) fn answer(
        &mut self,
        challenge: &[u8],
        iterations_max: u32,
    ) -> Result<String, Refusal> {
        let begun = std::mem::replace(&mut self.state, State::Over);
        if !matches!(begun, State::Begun) {
            return Err(Refusal::Malformed("a second challenge"));
        }
        let text = std::str::from_utf8(challenge);
        let text = text.map_err(|_| Refusal::Malformed("it is not UTF-8"))?;
        let Challenge {
            nonce,
            salt,
            iterations,
        } = Challenge::read(text)?;
        if !nonce.starts_with(&self.nonce) {
            return Err(Refusal::Malformed("another nonce"));
        }
        if iterations.get() > iterations_max {
            return Err(Refusal::Iterations(iterations.get()));
        }
        let salted = hmac_key(&salted(&self.password, &salt, iterations));
        let client_key = hmac::sign(&salted, b"Client Key");
        let stored_key = digest(&SHA256, client_key.as_ref());
        let bound = BASE64_STANDARD.encode(self.binding.bytes());
        let unproved = format!("c={bound},r={nonce}");
        let signed = format!("{},{text},{unproved}", self.bare);
        let signature = hmac::sign(&hmac_key(stored_key.as_ref()), signed.as_bytes());
        let proof = client_key.as_ref().iter().zip(signature.as_ref());
        let proof: Vec<u8> = proof.map(|(key, signature)| key ^ signature).collect();
        self.state = State::Answered {
            server_key: hmac::sign(&salted, b"Server Key"),
            signed,
        };
        Ok(format!("{unproved},p={}", BASE64_STANDARD.encode(proof)))
    }

    /// Checks the server's signature, its last message.
    ///
    /// # Errors
    /// It did not prove to know the password: why.
    pub(crate) fn verify(&mut self, outcome: &[u8]) -> Result<(), &'static str> {
        let State::Answered { server_key, signed } =
            std::mem::replace(&mut self.state, State::Over)
        else {
            return Err("it sent no challenge");
        };
        if outcome.starts_with(b"e=") {
            return Err("it reports an error of its own");
        }
        let signature = outcome.strip_prefix(b"v=").ok_or("no signature")?;
        let signature = BASE64_STANDARD.decode(signature);
        let signature = signature.map_err(|_| "the signature is not Base64")?;
        let server_key = hmac_key(server_key.as_ref());
        hmac::verify(&server_key, signed.as_bytes(), &signature).map_err(|_| "another signature")
    }
}

/// The server's first message.
struct Challenge<'a> {
    nonce: &'a str,
    salt: Vec<u8>,
    iterations: NonZeroU32,
}

impl Challenge<'_> {
    fn read(text: &str) -> Result<Challenge<'_>, Refusal> {
        let mut attributes = text.split(',');
        let mut next = |name: &str| attributes.next()?.strip_prefix(name);
        let (Some(nonce), Some(salt), Some(iterations), None) =
            (next("r="), next("s="), next("i="), attributes.next())
        else {
            return Err(Refusal::Malformed("it is not r=…,s=…,i=…"));
        };
        let salt = BASE64_STANDARD.decode(salt);
        let is_number = iterations.bytes().all(|byte| byte.is_ascii_digit());
        Ok(Challenge {
            nonce,
            salt: salt.map_err(|_| Refusal::Malformed("the salt is not Base64"))?,
            iterations: (iterations.parse().ok().filter(|_| is_number))
                .ok_or(Refusal::Malformed("invalid iteration count"))?,
        })
    }
}

/// As the server has it: prepared by RFC 4013 where that can be done, else as it is.
fn normalized(password: &str) -> String {
    let prepared = stringprep::saslprep(password);
    prepared.map_or_else(|_| password.to_owned(), std::borrow::Cow::into_owned)
}

/// What iterations of the hash make of a password.
struct Salted {
    password: String,
    salt: Vec<u8>,
    iterations: NonZeroU32,
    key: Key,
}

static KEPT: Mutex<Option<Salted>> = Mutex::new(None);

fn salted(password: &str, salt: &[u8], iterations: NonZeroU32) -> Key {
    let derive = || {
        let mut key = Key::default();
        let algorithm = pbkdf2::PBKDF2_HMAC_SHA256;
        pbkdf2::derive(algorithm, iterations, salt, password.as_bytes(), &mut key);
        key
    };
    if iterations.get() < KEPT_ITERATIONS_MIN {
        return derive();
    }
    // Threads that need the same wait for it here instead of computing it too.
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let known = kept.as_ref().filter(|kept| {
        (kept.password.as_str(), &kept.salt[..], kept.iterations) == (password, salt, iterations)
    });
    if let Some(known) = known {
        return known.key;
    }
    let key = derive();
    *kept = Some(Salted {
        password: password.to_owned(),
        salt: salt.to_owned(),
        iterations,
        key,
    });
    key
}

fn hmac_key(bytes: &[u8]) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHALLENGE: &str =
        "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";

    fn exchange() -> Scram {
        let nonce = "rOprNGfwEbeRWgbNEkqO".to_owned();
        Scram::with_nonce("user", "pencil", Binding::Unsupported, nonce)
    }

    #[test]
    fn an_exchange_is_that_of_rfc_7677() {
        let mut scram = exchange();
        assert_eq!(scram.first(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        let answer = scram.answer(CHALLENGE.as_bytes(), 4096).unwrap();
        assert_eq!(
            answer,
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
             p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
        );
        let signature = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";
        assert_eq!(scram.verify(signature), Ok(()));
        assert_eq!(scram.verify(signature), Err("it sent no challenge"));
    }

    #[test]
    fn what_is_no_challenge_is_refused_and_so_are_more_iterations_than_are_taken() {
        let with = |from, to| CHALLENGE.replace(from, to);
        let malformed = [
            (with("r=r", "r=x"), "another nonce"),
            (with("i=4096", "i=0"), "invalid iteration count"),
            (with("i=4096", "i=+1"), "invalid iteration count"),
            (with("i=4096", "i=4294967296"), "invalid iteration count"),
            (with("s=W", "s=!"), "the salt is not Base64"),
            (with("s=W", "x=W"), "it is not r=…,s=…,i=…"),
            (with("i=4096", "i=4096,x=1"), "it is not r=…,s=…,i=…"),
            (String::new(), "it is not r=…,s=…,i=…"),
        ];
        for (challenge, why) in malformed {
            let refused = exchange().answer(challenge.as_bytes(), u32::MAX);
            assert_eq!(refused, Err(Refusal::Malformed(why)), "{challenge}");
        }
        let mut scram = exchange();
        let refused = scram.answer(CHALLENGE.as_bytes(), 4095);
        assert_eq!(refused, Err(Refusal::Iterations(4096)));
        let again = scram.answer(CHALLENGE.as_bytes(), 4096);
        assert_eq!(again, Err(Refusal::Malformed("a second challenge")));
    }

    #[test]
    fn a_result_that_is_kept_is_of_this_password_and_salt_only() {
        let iterations = NonZeroU32::new(KEPT_ITERATIONS_MIN).unwrap();
        let fresh = salted("a", b"salt", iterations);
        assert_eq!(salted("a", b"salt", iterations), fresh);
        let kept = KEPT.lock().unwrap().as_ref().map(|kept| kept.key);
        assert_eq!(kept, Some(fresh));
        assert_ne!(salted("b", b"salt", iterations), fresh);
        assert_ne!(
            salted("b", b"tlas", iterations),
            salted("b", b"salt", iterations)
        );
    }

    #[test]
    fn a_password_is_prepared_where_that_can_be_done() {
        // RFC 4013: a soft hyphen is mapped to nothing; what is forbidden stays as it is.
        assert_eq!(normalized("I\u{ad}X"), "IX");
        assert_eq!(normalized("a\u{7}b"), "a\u{7}b");
    }
}
