//! Lists of revoked certificates (`sslcrl`, `sslcrldir`), and what a check against them says.
//!
//! The rules are those that libpq sets OpenSSL: every certificate of the chain is looked up, and an
//! authority without a list that is valid now is an error.

use std::fmt;

use rustls::pki_types::CertificateRevocationListDer;
use rustls::pki_types::pem::PemObject;
use webpki::{
    CertRevocationList, Error, ExpirationPolicy, OwnedCertRevocationList, RevocationCheckDepth,
    RevocationOptions, RevocationOptionsBuilder, UnknownStatusPolicy,
};

/// Lists of revoked certificates, of one or more authorities.
#[derive(Clone, Default)]
pub struct RevocationLists(Vec<OwnedCertRevocationList>);

impl fmt::Debug for RevocationLists {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RevocationLists({})", self.0.len())
    }
}

impl RevocationLists {
    /// Adds all lists of a PEM text; there must be one.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn add_pem(&mut self, pem: &[u8]) -> Result<(), String> {
        let before = self.0.len();
        for list in CertificateRevocationListDer::pem_slice_iter(pem) {
            let list = list.map_err(|e| e.to_string())?;
            let list = OwnedCertRevocationList::from_der(&list)
                .map_err(|e| format!("it contains a list that cannot be read: {e}"))?;
            self.0.push(list);
        }
        match self.0.len() > before {
            true => Ok(()),
            false => Err("it contains no revocation list in PEM form".to_owned()),
        }
    }

    /// Runs a check of a chain with these lists; what is wrong is in OpenSSL's words.
    pub(crate) fn with_options(
        &self,
        check: impl FnOnce(RevocationOptions<'_>) -> Result<(), Error>,
    ) -> Result<(), String> {
        let lists: Vec<CertRevocationList<'_>> = self.0.iter().cloned().map(Into::into).collect();
        let lists: Vec<&CertRevocationList<'_>> = lists.iter().collect();
        let options = RevocationOptionsBuilder::new(&lists)
            .map_err(|_| in_words(&Error::UnknownRevocationStatus))?
            .with_depth(RevocationCheckDepth::Chain)
            .with_status_policy(UnknownStatusPolicy::Deny)
            .with_expiration_policy(ExpirationPolicy::Enforce)
            .build();
        check(options).map_err(|error| in_words(&error))
    }
}

fn in_words(error: &Error) -> String {
    let reason = match error {
        Error::CertRevoked => "certificate revoked".to_owned(),
        Error::UnknownRevocationStatus => "unable to get certificate CRL: sslcrl or sslcrldir has \
             no revocation list of an authority in the server's chain"
            .to_owned(),
        Error::CrlExpired { .. } => {
            "CRL has expired: ask the authority for its newest revocation list".to_owned()
        }
        other => other.to_string(),
    };
    format!("certificate verify failed: {reason}")
}
