//! TLS by PostgreSQL's conventions: what is checked of a server's certificate depends on `sslmode`,
//! and a certificate need not come from the web's authorities.
//!
//! Takes keys and certificates as PEM text; reading files is the session crate's job.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection};

use crate::channel::{Channel, ChannelError, describe};
use crate::error::{ConnectError, ConnectErrorKind, Retry};
pub use crate::identity::Identity;
use crate::revocation::RevocationLists;
pub use crate::roots::{Root, roots};
use crate::verifier::Verifier;

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

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsVersion {
    V1_2,
    V1_3,
}

/// What a [`TlsConfig`] is made from.
#[derive(Clone, Debug)]
pub struct TlsOptions {
    pub verify: Verify,
    /// Authorities to trust; used when anything is checked.
    pub roots: Vec<Root>,
    /// Revocation lists, one or more of them for each authority in a chain: `None` does without any,
    /// with an empty list no server is trusted. Used when anything is checked.
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

/// Key exchanges are those that any OpenSSL since 1.1.1 has, so that no handshake takes a second round.
pub(crate) fn provider() -> CryptoProvider {
    use aws_lc_rs::kx_group::{SECP256R1, SECP384R1, X25519};
    CryptoProvider {
        kx_groups: vec![X25519, SECP256R1, SECP384R1],
        ..aws_lc_rs::default_provider()
    }
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
    pub fn new(options: &TlsOptions) -> Result<TlsConfig, TlsConfigError> {
        let verifier = Verifier::new(options);
        let config = builder(options.min_version, options.max_version)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let mut config = match &options.identity {
            None => config.with_no_client_auth(),
            Some(identity) => config.with_client_cert_resolver(identity.for_client()),
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
    pub fn direct(&self) -> bool {
        self.direct
    }

    /// A client's end of a TLS connection that has sent nothing yet.
    ///
    /// # Errors
    /// The host's name is none that TLS can send.
    pub fn channel(&self) -> Result<Channel, ConnectError> {
        ClientConnection::new(self.config.clone(), self.name.clone())
            .map(Channel::tls)
            .map_err(|e| ConnectError::new(ConnectErrorKind::Tls(describe(&e)), Retry::Stop))
    }
}

/// TLS as a server that speaks PostgreSQL's protocol, set up once. Clients are asked for no certificate.
#[derive(Clone)]
pub struct ServerTls {
    config: Arc<ServerConfig>,
    certificate: Vec<u8>,
}

impl fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerTls(…)")
    }
}

impl ServerTls {
    /// # Errors
    /// The certificate or key cannot be used.
    pub fn new(identity: &Identity) -> Result<ServerTls, TlsConfigError> {
        let mut config = ServerConfig::clone(&*identity.server_config()?);
        config.alpn_protocols = vec![b"postgresql".to_vec()];
        Ok(ServerTls {
            config: Arc::new(config),
            certificate: identity.certificate().to_vec(),
        })
    }

    /// The certificate that clients see, in DER.
    pub fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    /// A server's end of a TLS connection that has received nothing yet.
    ///
    /// # Errors
    /// TLS refuses its configuration.
    pub fn channel(&self) -> Result<Channel, ChannelError> {
        ServerConnection::new(self.config.clone())
            .map(Channel::tls)
            .map_err(|e| ChannelError(describe(&e)))
    }
}
