//! TLS from a certificate's and a key's files.

use std::path::Path;
use std::sync::Arc;

use pgdyno_model::{Exit, Failure};
use pgdyno_wire::tls::Identity;
use rustls::ServerConfig;

/// What connections are encrypted with.
///
/// # Errors
/// A file cannot be read, or they are no pair.
pub fn config(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, Failure> {
    let read = |option: &str, path: &Path| {
        std::fs::read(path).map_err(|e| {
            let text = format!("{option}: cannot read {}: {e}", path.display());
            Failure::with(Exit::Usage, text)
        })
    };
    let (chain, private) = (read("--tls-cert", certificate)?, read("--tls-key", key)?);
    let wrong = |e: &dyn std::fmt::Display| {
        let (certificate, key) = (certificate.display(), key.display());
        let text = format!("--tls-cert {certificate}, --tls-key {key}: {e}");
        Failure::with(Exit::Usage, text).hint("both are PEM files, the key without a passphrase")
    };
    let identity = Identity::from_pem(&chain, &private).map_err(|e| wrong(&e))?;
    identity.server_config().map_err(|e| wrong(&e))
}
