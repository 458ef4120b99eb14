//! A file of trusted certificates as OpenSSL reads it (`PEM_X509_INFO_read_bio`, 3.0): all of its blocks, of which
//! none may be broken, and trusted certificates with what they are trusted for.

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::der::{OID, SEQUENCE, element, expect, optional};
use crate::revocation::is_list;
use crate::tls::TlsConfigError;
use crate::x509::Certificate;

#[derive(Clone, Debug)]
pub struct Root {
    pub der: CertificateDer<'static>,
    /// Whether it says itself that it is for TLS servers, or that it is not (`BEGIN TRUSTED CERTIFICATE`).
    pub(crate) trust: Option<bool>,
}

impl From<CertificateDer<'static>> for Root {
    fn from(der: CertificateDer<'static>) -> Root {
        Root { der, trust: None }
    }
}

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const DASHES: &str = "-----";
const FOR_SERVERS: [&[u8]; 2] = [&[0x2b, 6, 1, 5, 5, 7, 3, 1], &[0x55, 0x1d, 0x25, 0]];

/// All trusted certificates in a PEM text; there must be one, or a revocation list.
///
/// # Errors
/// There is none; a block is broken, whatever it holds.
pub fn roots(pem: &[u8]) -> Result<Vec<Root>, TlsConfigError> {
    let text = String::from_utf8_lossy(pem);
    let mut lines = text.lines().map(str::trim_end);
    let (mut roots, mut has_list) = (Vec::new(), false);
    while let Some(line) = lines.next() {
        let label = line.strip_prefix(BEGIN);
        let Some(label) = label.and_then(|rest| rest.strip_suffix(DASHES)) else {
            continue;
        };
        let end = format!("{END}{label}{DASHES}");
        let mut body = Vec::new();
        loop {
            match lines.next() {
                Some(line) if line == end => break,
                Some(line) if line.starts_with(DASHES) => {
                    return Err(broken(label, "bad end line"));
                }
                Some(line) => body.push(line),
                None => return Err(broken(label, "bad end line")),
            }
        }
        // Headers, as of an encrypted key, end with an empty line.
        if body.first().is_some_and(|line| line.contains(':')) {
            let headers = body.iter().position(|line| line.is_empty());
            body.drain(..=headers.unwrap_or(body.len() - 1));
        }
        let der = decoded(&body).ok_or_else(|| broken(label, "bad base64 decode"))?;
        let unreadable = || broken(label, "its contents cannot be read");
        match label {
            "CERTIFICATE" | "X509 CERTIFICATE" => {
                Certificate::parse(&der).ok_or_else(unreadable)?;
                roots.push(der.into());
            }
            "TRUSTED CERTIFICATE" => roots.push(trusted(&der).ok_or_else(unreadable)?),
            "X509 CRL" if is_list(&der) => has_list = true,
            "X509 CRL" => return Err(unreadable()),
            _ => {}
        }
    }
    if roots.is_empty() && !has_list {
        Err(TlsConfigError::NoCertificate)
    } else {
        Ok(roots)
    }
}

fn broken(label: &str, why: &str) -> TlsConfigError {
    TlsConfigError::BadCertificate(format!("{label}: {why}"))
}

fn decoded(lines: &[&str]) -> Option<CertificateDer<'static>> {
    let body = lines.join("\n");
    let pem = format!("{BEGIN}CERTIFICATE{DASHES}\n{body}\n{END}CERTIFICATE{DASHES}\n");
    CertificateDer::from_pem_slice(pem.as_bytes()).ok()
}

/// A certificate, and behind it what it is trusted for (`X509_CERT_AUX`).
fn trusted(der: &[u8]) -> Option<Root> {
    let mut rest = der;
    let (_, _, certificate) = element(&mut rest)?;
    Certificate::parse(certificate)?;
    let mut trust = None;
    if !rest.is_empty() {
        let mut fields = expect(&mut rest, SEQUENCE)?;
        let granted = optional(&mut fields, SEQUENCE)?;
        let refused = optional(&mut fields, 0xa0)?;
        let names_servers = |mut purposes: &[u8]| -> Option<bool> {
            let mut does = false;
            while !purposes.is_empty() {
                does |= FOR_SERVERS.contains(&expect(&mut purposes, OID)?);
            }
            Some(does)
        };
        let is_granted = granted.map(names_servers);
        let is_refused = refused.map(names_servers);
        trust = match (is_refused, is_granted) {
            (Some(None), _) | (_, Some(None)) => return None,
            (Some(Some(true)), _) => Some(false),
            (_, Some(Some(is_granted))) => Some(is_granted),
            (_, None) => None,
        };
    }
    Some(Root {
        der: CertificateDer::from(certificate.to_vec()),
        trust,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = include_str!("../../session/tests/all/certificates/root.pem");

    #[test]
    fn a_broken_block_spoils_the_file_wherever_it_is() {
        assert_eq!(roots(ROOT.as_bytes()).unwrap().len(), 1);
        let with = |more: &str| roots(format!("{ROOT}{more}").as_bytes());
        for broken in [
            "-----BEGIN CERTIFICATE-----\n",
            "-----BEGIN CERTIFICATE-----\nMIIB\n-----END X509 CERTIFICATE-----\n",
            "-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n",
            "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n",
            "-----BEGIN X509 CRL-----\nMAA=\n-----END X509 CRL-----\n",
            "-----BEGIN TRUSTED CERTIFICATE-----\nMAA=\n-----END TRUSTED CERTIFICATE-----\n",
            "-----BEGIN SOMETHING-----\n!!!!\n-----END SOMETHING-----\n",
        ] {
            let said = with(broken).unwrap_err().to_string();
            assert!(said.contains(": "), "{broken}: {said}");
        }
        for good in [
            "words\n",
            "-----BEGIN SOMETHING-----\nMAA=\n-----END SOMETHING-----\n",
        ] {
            assert_eq!(with(good).unwrap().len(), 1, "{good}");
        }
        assert!(matches!(
            roots(b"words\n"),
            Err(TlsConfigError::NoCertificate)
        ));
    }
}
