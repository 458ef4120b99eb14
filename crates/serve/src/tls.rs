//! TLS from a certificate's and a key's files.

use std::path::Path;
use std::sync::Arc;

use pgdyno_spec::{Exit, Failure};
use pgdyno_wire::tls::Identity;
use rustls::ServerConfig;

/// What connections are encrypted with.
///
/// # Errors
/// A file cannot be read, or they are no pair.
pub(crate) fn config(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, Failure> {
    let identity = identity(certificate, key)?;
    identity
        .server_config()
        .map_err(|e| wrong(certificate, key, &e))
}

/// A certificate with its key, from the files of `--tls-cert` and `--tls-key`.
///
/// # Errors
/// A file cannot be read, or they are no pair.
pub fn identity(certificate: &Path, key: &Path) -> Result<Identity, Failure> {
    let read = |option: &str, path: &Path| {
        std::fs::read(path).map_err(|e| {
            let text = format!("{option}: cannot read {}: {e}", path.display());
            Failure::with(Exit::Usage, text)
        })
    };
    let (chain, private) = (read("--tls-cert", certificate)?, read("--tls-key", key)?);
    Identity::from_pem(&chain, &private).map_err(|e| wrong(certificate, key, &e))
}

fn wrong(certificate: &Path, key: &Path, error: &dyn std::fmt::Display) -> Failure {
    let (certificate, key) = (certificate.display(), key.display());
    let text = format!("--tls-cert {certificate}, --tls-key {key}: {error}");
    Failure::with(Exit::Usage, text).hint("both are PEM files, the key without a passphrase")
}
