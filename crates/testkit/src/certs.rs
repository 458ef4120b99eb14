//! A certificate authority, and certificates of it for a server and a client.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, PKCS_ECDSA_P256_SHA256,
    PKCS_ECDSA_P384_SHA384, SignatureAlgorithm,
};

/// Files of PEM texts in one directory.
pub struct Certs {
    dir: PathBuf,
    pub ca_cert: PathBuf,
    pub server_cert: PathBuf,
    pub server_key: PathBuf,
    issuer: Issuer<'static, KeyPair>,
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

impl Certs {
    /// The authority, signing with SHA-384, and a server's certificate for `localhost`.
    ///
    /// # Panics
    /// A file cannot be written.
    pub fn make(dir: &Path) -> Certs {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P384_SHA384).unwrap();
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(DnType::CommonName, "test authority");
        let ca_cert = dir.join("ca.crt");
        write(&ca_cert, &params.self_signed(&key).unwrap().pem());
        let certs = Certs {
            dir: dir.to_owned(),
            ca_cert,
            server_cert: dir.join("server.crt"),
            server_key: dir.join("server.key"),
            issuer: Issuer::new(params, key),
        };
        certs.issue(
            "server",
            "server",
            &["localhost", "*.bench.test"],
            &PKCS_ECDSA_P256_SHA256,
        );
        certs
    }

    /// A certificate and key in `NAME.crt` and `NAME.key`.
    ///
    /// # Panics
    /// A file cannot be written.
    pub fn issue(
        &self,
        name: &str,
        common_name: &str,
        names: &[&str],
        algorithm: &'static SignatureAlgorithm,
    ) -> (PathBuf, PathBuf) {
        let key = KeyPair::generate_for(algorithm).unwrap();
        let names: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params
            .distinguished_name
            .push(DnType::CommonName, common_name);
        let cert = params.signed_by(&key, &self.issuer).unwrap();
        let paths = (
            self.dir.join(format!("{name}.crt")),
            self.dir.join(format!("{name}.key")),
        );
        write(&paths.0, &cert.pem());
        write(&paths.1, &key.serialize_pem());
        paths
    }

    /// A certificate in `NAME.crt` for a key in PKCS#8 form that exists already.
    ///
    /// # Panics
    /// The key cannot be read, or the certificate cannot be written.
    pub fn issue_for(&self, name: &str, common_name: &str, key: &Path) -> PathBuf {
        let key = KeyPair::from_pem(&fs::read_to_string(key).unwrap()).unwrap();
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params
            .distinguished_name
            .push(DnType::CommonName, common_name);
        let path = self.dir.join(format!("{name}.crt"));
        write(&path, &params.signed_by(&key, &self.issuer).unwrap().pem());
        path
    }
}
