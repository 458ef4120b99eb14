//! TLS by PostgreSQL's conventions: what is checked of a server's certificate depends on `sslmode`,
//! and a certificate need not come from the web's authorities.
//!
//! Takes keys and certificates as PEM text; reading files is the session crate's job.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, verify_server_cert_signed_by_trust_anchor};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, OtherError,
    RootCertStore, SignatureScheme,
};
use webpki::{EndEntityCert, KeyUsage};

use crate::channel::{Channel, describe};
use crate::error::{ConnectError, ConnectErrorKind, Retry};
use crate::revocation::RevocationLists;
use crate::x509::Certificate;

/// What is checked of the server's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verify {
    /// Only that the server has its key.
    Nothing,
    /// That a trusted authority signed it.
    Chain,
    /// That, and that it is for the host.
    ChainAndHost,
}

/// A version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsVersion {
    /// TLS 1.2
    V1_2,
    /// TLS 1.3
    V1_3,
}

/// What a [`TlsConfig`] is made from.
#[derive(Clone, Debug)]
pub struct TlsOptions {
    /// What is checked.
    pub verify: Verify,
    /// Authorities to trust, in DER; used when anything is checked.
    pub roots: Vec<CertificateDer<'static>>,
    /// Revocation lists, one or more of them for each authority in a chain: `None` does without any,
    /// with an empty list nobody is trusted. Used when anything is checked.
    pub revocations: Option<Arc<RevocationLists>>,
    /// The client's certificate chain and key.
    pub identity: Option<Arc<Identity>>,
    /// The host as the user named it. May be empty when it is not checked.
    pub host: String,
    /// Whether to tell the server the host's name before the connection is encrypted.
    pub sni: bool,
    /// Start with TLS at once (`sslnegotiation=direct`) instead of asking first.
    pub direct: bool,
    /// Oldest version of TLS to accept.
    pub min_version: TlsVersion,
    /// Newest version of TLS to offer.
    pub max_version: TlsVersion,
}

impl TlsOptions {
    /// Checks nothing, has no client certificate, asks first.
    pub fn new(host: impl Into<String>) -> TlsOptions {
        TlsOptions {
            verify: Verify::Nothing,
            roots: Vec::new(),
            revocations: None,
            identity: None,
            host: host.into(),
            sni: true,
            direct: false,
            min_version: TlsVersion::V1_2,
            max_version: TlsVersion::V1_3,
        }
    }
}

/// A client's certificate chain and private key.
pub struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity(…)")
    }
}

/// A key, certificate or option that TLS cannot use. Never contains key material.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TlsConfigError {
    /// No certificate in a PEM text that should have one.
    #[error("it contains no certificate in PEM form")]
    NoCertificate,
    /// A certificate that cannot be read.
    #[error("it contains a certificate that cannot be read: {0}")]
    BadCertificate(String),
    /// The private key is encrypted.
    #[error(
        "the private key is encrypted, which is not supported; write it without a passphrase: \
         openssl pkey -in ENCRYPTED -out PLAIN"
    )]
    EncryptedKey,
    /// No private key in a PEM text that should have one, or one that cannot be read.
    #[error("it contains no private key in PEM form (PKCS#8, PKCS#1 or SEC1)")]
    NoKey,
    /// The certificate and the key are not a pair, or of a kind that TLS does not know.
    #[error("certificate and private key cannot be used together: {0}")]
    Mismatch(String),
    /// Oldest version above newest.
    #[error("invalid SSL protocol version range")]
    VersionRange,
}

/// All certificates in a PEM text; there must be one.
pub fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsConfigError> {
    let list = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|e| TlsConfigError::BadCertificate(e.to_string()))?;
    if list.is_empty() {
        Err(TlsConfigError::NoCertificate)
    } else {
        Ok(list)
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
        let identity = Identity { chain, key };
        // Made once and thrown away, so that a wrong pair is known before anybody connects.
        builder(TlsVersion::V1_2, TlsVersion::V1_3)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Verifier::new(&TlsOptions::new(""))))
            .with_client_auth_cert(identity.chain.clone(), identity.key.clone_key())
            .map_err(|e| TlsConfigError::Mismatch(describe(&e)))?;
        Ok(identity)
    }

    /// What a server of pgdyno's own shows to its clients; it asks them for no certificate.
    pub fn server_config(&self) -> Result<Arc<rustls::ServerConfig>, TlsConfigError> {
        let builder = rustls::ServerConfig::builder_with_provider(Arc::new(provider()));
        let config = builder
            .with_safe_default_protocol_versions()
            .map_err(|_| TlsConfigError::VersionRange)?
            .with_no_client_auth()
            .with_single_cert(self.chain.clone(), self.key.clone_key())
            .map_err(|e| TlsConfigError::Mismatch(describe(&e)))?;
        Ok(Arc::new(config))
    }
}

type Builder = rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>;

fn builder(min: TlsVersion, max: TlsVersion) -> Result<Builder, TlsConfigError> {
    let versions: &[&rustls::SupportedProtocolVersion] = match (min, max) {
        (TlsVersion::V1_2, TlsVersion::V1_2) => &[&rustls::version::TLS12],
        (TlsVersion::V1_2, TlsVersion::V1_3) => &[&rustls::version::TLS13, &rustls::version::TLS12],
        (TlsVersion::V1_3, TlsVersion::V1_3) => &[&rustls::version::TLS13],
        (TlsVersion::V1_3, TlsVersion::V1_2) => return Err(TlsConfigError::VersionRange),
    };
    ClientConfig::builder_with_provider(Arc::new(provider()))
        .with_protocol_versions(versions)
        .map_err(|_| TlsConfigError::VersionRange)
}

fn provider() -> CryptoProvider {
    ring::default_provider()
}

/// TLS, set up once and shared by all connections to one host.
pub struct TlsConfig {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    direct: bool,
}

impl fmt::Debug for TlsConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsConfig")
            .field("name", &self.name)
            .field("direct", &self.direct)
            .finish()
    }
}

impl TlsConfig {
    /// Sets TLS up.
    pub fn new(options: &TlsOptions) -> Result<TlsConfig, TlsConfigError> {
        let verifier = Verifier::new(options);
        let config = builder(options.min_version, options.max_version)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let mut config = match &options.identity {
            None => config.with_no_client_auth(),
            Some(identity) => config
                .with_client_auth_cert(identity.chain.clone(), identity.key.clone_key())
                .map_err(|e| TlsConfigError::Mismatch(describe(&e)))?,
        };
        // Each session pays for its own handshake, as with libpq: a figure for connections must
        // not depend on which of them came first.
        config.resumption = Resumption::disabled();
        // Demanded by the server when TLS starts without asking, harmless otherwise.
        config.alpn_protocols = vec![b"postgresql".to_vec()];
        let name = ServerName::try_from(options.host.trim_end_matches('.').to_owned()).ok();
        config.enable_sni = options.sni && matches!(name, Some(ServerName::DnsName(_)));
        // The verifier compares the host itself; rustls needs a name only for SNI.
        let name = name.unwrap_or(ServerName::IpAddress(IpAddr::from([0, 0, 0, 0]).into()));
        Ok(TlsConfig {
            config: Arc::new(config),
            name,
            direct: options.direct,
        })
    }

    /// Whether TLS starts without asking.
    pub(crate) fn direct(&self) -> bool {
        self.direct
    }

    /// A client's end of a TLS connection that has sent nothing yet.
    pub(crate) fn channel(&self) -> Result<Channel, ConnectError> {
        ClientConnection::new(self.config.clone(), self.name.clone())
            .map(Channel::tls)
            .map_err(|e| ConnectError::new(ConnectErrorKind::Tls(describe(&e)), Retry::Stop))
    }
}

/// Why a certificate does not stand the check, in libpq's words.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Rejected(String);

fn rejected(text: String) -> rustls::Error {
    rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(Rejected(
        text,
    )))))
}

/// Checks a server's certificate as `sslmode` says.
#[derive(Debug)]
struct Verifier {
    verify: Verify,
    store: RootCertStore,
    roots: Vec<CertificateDer<'static>>,
    revocations: Option<Arc<RevocationLists>>,
    host: String,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    fn new(options: &TlsOptions) -> Verifier {
        let mut store = RootCertStore::empty();
        // A root that webpki cannot read can vouch for nobody; the others still can.
        store.add_parsable_certificates(options.roots.iter().cloned());
        Verifier {
            verify: options.verify,
            store,
            roots: options.roots.clone(),
            revocations: options.revocations.clone(),
            host: options.host.clone(),
            algorithms: provider().signature_verification_algorithms,
        }
    }

    fn check_chain(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), rustls::Error> {
        if let Some(lists) = &self.revocations {
            return self.check_revocable(end_entity, intermediates, lists, now);
        }
        let by_webpki = ParsedCertificate::try_from(end_entity).and_then(|parsed| {
            verify_server_cert_signed_by_trust_anchor(
                &parsed,
                &self.store,
                intermediates,
                now,
                self.algorithms.all,
            )
        });
        match by_webpki {
            Err(_) if self.trusts_directly(end_entity, now) => Ok(()),
            other => other,
        }
    }

    /// A chain in which each authority has a list and none of them revokes anything of it. Who is
    /// trusted without a chain ([`Verifier::trusts_directly`]) has nobody who could revoke it, and is not.
    fn check_revocable(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        lists: &RevocationLists,
        now: UnixTime,
    ) -> Result<(), rustls::Error> {
        lists
            .with_options(|options| {
                EndEntityCert::try_from(end_entity)?
                    .verify_for_usage(
                        self.algorithms.all,
                        &self.store.roots,
                        intermediates,
                        now,
                        KeyUsage::server_auth(),
                        Some(options),
                        None,
                    )
                    .map(|_| ())
            })
            .map_err(rejected)
    }

    /// Two habits of PostgreSQL's users that webpki does not know: a self-signed certificate that
    /// is trusted itself, and one of X.509 version 1 (what `openssl x509 -req` makes) signed by a
    /// trusted root without anything between.
    fn trusts_directly(&self, end_entity: &CertificateDer<'_>, now: UnixTime) -> bool {
        let Some(certificate) = Certificate::parse(end_entity) else {
            return false;
        };
        let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        let valid = |c: &Certificate<'_>| c.validity.0 <= now && now <= c.validity.1;
        if !valid(&certificate) {
            return false;
        }
        self.roots.iter().any(|root| {
            if root == end_entity {
                return certificate.issuer == certificate.subject;
            }
            certificate.version_1
                && Certificate::parse(root).is_some_and(|root| {
                    root.subject == certificate.issuer
                        && valid(&root)
                        && self.algorithms.all.iter().any(|algorithm| {
                            algorithm.signature_alg_id().as_ref() == certificate.signature_algorithm
                                && algorithm.public_key_alg_id().as_ref() == root.key_algorithm
                                && algorithm
                                    .verify_signature(
                                        root.key,
                                        certificate.tbs,
                                        certificate.signature,
                                    )
                                    .is_ok()
                        })
                })
        })
    }

    /// Checks the signature of the handshake, with certificates of any version.
    fn check_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let bad = |e: CertificateError| rustls::Error::InvalidCertificate(e);
        let certificate =
            Certificate::parse(certificate).ok_or(bad(CertificateError::BadEncoding))?;
        self.algorithms
            .mapping
            .iter()
            .filter(|(scheme, _)| *scheme == signed.scheme)
            .flat_map(|(_, algorithms)| algorithms.iter())
            .filter(|algorithm| algorithm.public_key_alg_id().as_ref() == certificate.key_algorithm)
            .any(|algorithm| {
                algorithm
                    .verify_signature(certificate.key, message, signed.signature())
                    .is_ok()
            })
            .then(HandshakeSignatureValid::assertion)
            .ok_or(bad(CertificateError::BadSignature))
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if self.verify >= Verify::Chain {
            self.check_chain(end_entity, intermediates, now)?;
        }
        if self.verify >= Verify::ChainAndHost {
            check_host(end_entity, &self.host).map_err(rejected)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.check_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.check_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Compares the host with the certificate's names by libpq's rules: alternative names first, and
/// the common name only when no alternative name is of the host's kind.
fn check_host(der: &[u8], host: &str) -> Result<(), String> {
    if host.is_empty() {
        return Err("host name must be specified for a verified SSL connection".to_owned());
    }
    let certificate = Certificate::parse(der)
        .ok_or_else(|| "could not get server's host name from server certificate".to_owned())?;
    let address = host.parse::<IpAddr>().ok();
    let mut seen: Vec<String> = Vec::new();
    for name in &certificate.dns_names {
        if name_matches(name, host)? {
            return Ok(());
        }
        seen.push(String::from_utf8_lossy(name).into_owned());
    }
    for bytes in &certificate.addresses {
        let name = match (<[u8; 4]>::try_from(*bytes), <[u8; 16]>::try_from(*bytes)) {
            (Ok(v4), _) => IpAddr::from(v4),
            (_, Ok(v6)) => IpAddr::from(v6),
            _ => return Err("certificate contains IP address with invalid length".to_owned()),
        };
        if Some(name) == address {
            return Ok(());
        }
        seen.push(name.to_string());
    }
    let has_names_of_the_hosts_kind = match address {
        Some(_) => !certificate.addresses.is_empty(),
        None => !certificate.dns_names.is_empty(),
    };
    if !has_names_of_the_hosts_kind && let Some(name) = certificate.common_name {
        if name_matches(name, host)? {
            return Ok(());
        }
        seen.push(String::from_utf8_lossy(name).into_owned());
    }
    Err(match seen.split_first() {
        None => "could not get server's host name from server certificate".to_owned(),
        Some((first, [])) => {
            format!("server certificate for \"{first}\" does not match host name \"{host}\"")
        }
        Some((first, rest)) => format!(
            "server certificate for \"{first}\" (and {} other name{}) does not match host name \"{host}\"",
            rest.len(),
            if rest.len() == 1 { "" } else { "s" },
        ),
    })
}

/// Whether a name of a certificate stands for `host`: equal, or `*.` for one label.
fn name_matches(name: &[u8], host: &str) -> Result<bool, String> {
    if name.contains(&0) {
        return Err("SSL certificate's name contains embedded null".to_owned());
    }
    let host = host.as_bytes();
    if name.eq_ignore_ascii_case(host) {
        return Ok(true);
    }
    let Some(suffix) = name
        .strip_prefix(b"*")
        .filter(|s| s.len() > 1 && s[0] == b'.')
    else {
        return Ok(false);
    };
    Ok(host
        .iter()
        .position(|&b| b == b'.')
        .is_some_and(|dot| dot > 0 && host[dot..].eq_ignore_ascii_case(suffix)))
}
