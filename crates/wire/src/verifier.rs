//! What is checked of a server's certificate, as `sslmode` says: its key, its chain, its names.

use std::net::IpAddr;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, OtherError, SignatureScheme};

use crate::chain;
use crate::revocation::RevocationLists;
use crate::roots::Root;
use crate::signature;
use crate::tls::{TlsOptions, Verify};
use crate::x509::{ADDRESS_NAME, Certificate, DNS_NAME};

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
pub(crate) struct Verifier {
    verify: Verify,
    roots: Vec<Root>,
    revocations: Option<Arc<RevocationLists>>,
    host: String,
}

impl Verifier {
    pub(crate) fn new(options: &TlsOptions) -> Verifier {
        Verifier {
            verify: options.verify,
            roots: options.roots.clone(),
            revocations: options.revocations.clone(),
            host: options.host.clone(),
        }
    }

    /// Checks that the server has its certificate's key, whatever the certificate's version.
    fn check_signature(
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
        names_curve: bool,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let bad = |e: CertificateError| rustls::Error::InvalidCertificate(e);
        let certificate =
            Certificate::parse(certificate).ok_or(bad(CertificateError::BadEncoding))?;
        signature::verify_handshake(
            signed.scheme,
            names_curve,
            certificate.key_algorithm,
            certificate.key,
            message,
            signed.signature(),
        )
        .map(|()| HandshakeSignatureValid::assertion())
        .map_err(|_| bad(CertificateError::BadSignature))
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
            let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
            let lists = self.revocations.as_deref();
            chain::check(end_entity, intermediates, &self.roots, lists, now)
                .map_err(|why| rejected(format!("certificate verify failed: {why}")))?;
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
        Verifier::check_signature(message, cert, dss, false)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Verifier::check_signature(message, cert, dss, true)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        signature::schemes()
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
    for name in certificate.names(DNS_NAME) {
        if name_matches(name, host)? {
            return Ok(());
        }
        seen.push(String::from_utf8_lossy(name).into_owned());
    }
    for bytes in certificate.names(ADDRESS_NAME) {
        let name = match (<[u8; 4]>::try_from(bytes), <[u8; 16]>::try_from(bytes)) {
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
        Some(_) => certificate.names(ADDRESS_NAME).next().is_some(),
        None => certificate.names(DNS_NAME).next().is_some(),
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

/// Whether a name of a certificate represents `host`: equal, or `*.` for one label.
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
