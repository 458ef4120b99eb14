//! A certificate for a server that is to speak TLS.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

use pgdyno_server::Server;

/// Makes a certificate for this host, signed by itself, and puts it and its key where the server looks for them
/// once `ssl` is on. The certificate as PEM text.
///
/// # Panics
/// When it cannot be made or written.
pub fn certify(server: &Server, host: &str) -> String {
    let made = rcgen::generate_simple_self_signed(vec![host.to_owned()]);
    let made = made.unwrap_or_else(|e| panic!("no certificate: {e}"));
    let directory = server.data_dir();
    let pem = made.cert.pem();
    for (name, text) in [
        ("server.crt", &pem),
        ("server.key", &made.signing_key.serialize_pem()),
    ] {
        let path = directory.join(name);
        // The server refuses a key that others can read, and its user is another one than root.
        let written = fs::metadata(&directory).and_then(|owner| {
            fs::write(&path, text)?;
            fs::set_permissions(&path, PermissionsExt::from_mode(0o600))?;
            chown(&path, Some(owner.uid()), Some(owner.gid()))
        });
        written.unwrap_or_else(|e| panic!("cannot write {}: {e}", path.display()));
    }
    pem
}
