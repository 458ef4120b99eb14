//! What a client shows of itself: a certificate chain, and signatures by its private key.

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair as RsaKeyPair;
use aws_lc_rs::signature::{
    KeyPair as _, RSA_PSS_SHA256, RSA_PSS_SHA384, RSA_PSS_SHA512, RsaEncoding,
};
use rustls::client::ResolvesClientCert;
use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use rustls::sign::{CertifiedKey, Signer, SigningKey};
use rustls::{SignatureAlgorithm, SignatureScheme};

use crate::channel::describe;
use crate::der::{INTEGER, OCTET_STRING, SEQUENCE, expect};
use crate::signature::{
    Hash, STRENGTH_BITS_MIN, key_strength, schemes_of_pss_key, signature_strength,
};
use crate::tls::{TlsConfigError, certificates, provider};
use crate::x509::{Certificate, canonical};

/// A client's certificate chain and private key.
pub struct Identity {
    certified: Arc<CertifiedKey>,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity(…)")
    }
}

impl Identity {
    /// A certificate chain and a key in PKCS#8, PKCS#1 or SEC1 form, from their PEM texts.
    pub fn from_pem(chain: &[u8], key: &[u8]) -> Result<Identity, TlsConfigError> {
        let chain = certificates(chain)?;
        let contains = |needle: &[u8]| key.windows(needle.len()).any(|w| w == needle);
        if contains(b"ENCRYPTED PRIVATE KEY") || contains(b"Proc-Type: 4,ENCRYPTED") {
            return Err(TlsConfigError::EncryptedKey);
        }
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| TlsConfigError::NoKey)?;
        let [first, ..] = &chain[..] else {
            return Err(TlsConfigError::NoCertificate);
        };
        let unreadable = || TlsConfigError::BadCertificate("it is malformed".to_owned());
        let certificate = Certificate::parse(first).ok_or_else(unreadable)?;
        for certificate in &chain {
            let certificate = Certificate::parse(certificate).ok_or_else(unreadable)?;
            check_strength(&certificate)?;
        }
        let key: Arc<dyn SigningKey> = match PssKey::from_der(&key)? {
            Some(key) => Arc::new(key),
            None => any_supported_type(&key).map_err(|e| TlsConfigError::Mismatch(describe(&e)))?,
        };
        let public_key = key.public_key();
        if public_key.is_some_and(|key| !is_key_of(&key, &certificate)) {
            return Err(TlsConfigError::Mismatch("key values mismatch".to_owned()));
        }
        Ok(Identity {
            certified: Arc::new(CertifiedKey::new(chain, key)),
        })
    }

    /// The chain's first certificate, in DER.
    pub(crate) fn certificate(&self) -> &[u8] {
        self.certified.cert.first().map_or(&[], |first| &**first)
    }

    pub(crate) fn for_client(&self) -> Arc<dyn ResolvesClientCert> {
        Arc::new(Always(self.certified.clone()))
    }

    /// What a server of pgdyno's own shows to its clients; it asks them for no certificate.
    pub fn server_config(&self) -> Result<Arc<rustls::ServerConfig>, TlsConfigError> {
        let builder = rustls::ServerConfig::builder_with_provider(Arc::new(provider()));
        let config = builder
            .with_safe_default_protocol_versions()
            .map_err(|_| TlsConfigError::VersionRange)?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(rustls::sign::SingleCertAndKey::from(
                CertifiedKey::clone(&self.certified),
            )));
        Ok(Arc::new(config))
    }
}

/// As OpenSSL does when it loads a certificate at security level 2. A self-signed one's hash says nothing.
fn check_strength(certificate: &Certificate<'_>) -> Result<(), TlsConfigError> {
    let is_weak = |bits: u32| bits < STRENGTH_BITS_MIN;
    let weak = |what: &str| Err(TlsConfigError::Mismatch(what.to_owned()));
    if key_strength(certificate.key_algorithm, certificate.key).is_some_and(is_weak) {
        return weak("the certificate's key is too small: 2048 bits of RSA are the least");
    }
    let is_self_issued = canonical(certificate.subject) == canonical(certificate.issuer);
    if !is_self_issued && is_weak(signature_strength(certificate.signature_algorithm)) {
        return weak("the certificate's signature is too weak: SHA-256 is the least");
    }
    Ok(())
}

/// Whether a public key with its algorithm is the certificate's. Parameters of RSA-PSS are not compared.
fn is_key_of(spki: &[u8], certificate: &Certificate<'_>) -> bool {
    let mut fields = match expect(&mut &*spki, SEQUENCE) {
        Some(fields) => fields,
        None => return false,
    };
    expect(&mut fields, SEQUENCE).is_some()
        && crate::der::bits(&mut fields) == Some(certificate.key)
}

/// Shows the same certificate to every server, as libpq does.
#[derive(Debug)]
struct Always(Arc<CertifiedKey>);

impl ResolvesClientCert for Always {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        Some(self.0.clone())
    }

    fn has_certs(&self) -> bool {
        true
    }
}

/// An RSA key that is for PSS alone, which rustls does not have.
struct PssKey {
    key: Arc<RsaKeyPair>,
    schemes: Vec<(SignatureScheme, Hash)>,
    spki: Vec<u8>,
}

impl fmt::Debug for PssKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PssKey(…)")
    }
}

impl PssKey {
    /// `None` if it is a key of another kind.
    fn from_der(key: &PrivateKeyDer<'_>) -> Result<Option<PssKey>, TlsConfigError> {
        let PrivateKeyDer::Pkcs8(key) = key else {
            return Ok(None);
        };
        let parts = || {
            let mut fields = expect(&mut key.secret_pkcs8_der(), SEQUENCE)?;
            expect(&mut fields, INTEGER)?;
            let algorithm = expect(&mut fields, SEQUENCE)?;
            Some((algorithm, expect(&mut fields, OCTET_STRING)?))
        };
        let (algorithm, inner) = parts().ok_or(TlsConfigError::NoKey)?;
        let Some(schemes) = schemes_of_pss_key(algorithm) else {
            return Ok(None);
        };
        let key = RsaKeyPair::from_der(inner).map_err(|_| TlsConfigError::NoKey)?;
        let spki = spki(algorithm, key.public_key().as_ref());
        Ok(Some(PssKey {
            key: Arc::new(key),
            schemes,
            spki,
        }))
    }
}

/// DER of a public key with its algorithm.
fn spki(algorithm: &[u8], key: &[u8]) -> Vec<u8> {
    let wrapped = |tag: u8, contents: &[u8]| {
        let mut der = vec![tag, 0x82];
        der.extend_from_slice(&(contents.len() as u16).to_be_bytes());
        der.extend_from_slice(contents);
        der
    };
    let bits = wrapped(crate::der::BIT_STRING, &[&[0], key].concat());
    wrapped(SEQUENCE, &[wrapped(SEQUENCE, algorithm), bits].concat())
}

impl SigningKey for PssKey {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let (scheme, hash) = self
            .schemes
            .iter()
            .find(|(scheme, _)| offered.contains(scheme))?;
        Some(Box::new(PssSigner {
            key: self.key.clone(),
            scheme: *scheme,
            encoding: match hash {
                Hash::Sha384 => &RSA_PSS_SHA384,
                Hash::Sha512 => &RSA_PSS_SHA512,
                Hash::Sha1 | Hash::Sha256 => &RSA_PSS_SHA256,
            },
        }))
    }

    fn public_key(&self) -> Option<rustls::pki_types::SubjectPublicKeyInfoDer<'_>> {
        Some(self.spki[..].into())
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::RSA
    }
}

struct PssSigner {
    key: Arc<RsaKeyPair>,
    scheme: SignatureScheme,
    encoding: &'static dyn RsaEncoding,
}

impl fmt::Debug for PssSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PssSigner({:?})", self.scheme)
    }
}

impl Signer for PssSigner {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rustls::Error> {
        let mut signature = vec![0; self.key.public_modulus_len()];
        self.key
            .sign(self.encoding, &SystemRandom::new(), message, &mut signature)
            .map_err(|_| rustls::Error::General("signing failed".to_owned()))?;
        Ok(signature)
    }

    fn scheme(&self) -> SignatureScheme {
        self.scheme
    }
}
