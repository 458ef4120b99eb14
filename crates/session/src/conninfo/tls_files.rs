//! From the `ssl…` options to TLS: which files are read, and what is checked of them.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pgdyno_wire::RevocationLists;
use pgdyno_wire::tls::{self, Identity, TlsConfig, TlsOptions, TlsVersion, Verify};

use super::options::Options;
use super::{ConnInfoError, SslMode};

/// Certificates and keys, read once for all hosts of a connection.
pub(super) struct TlsFiles {
    options: TlsOptions,
}

impl TlsFiles {
    /// Reads what the options and the defaults in `home` name.
    pub(super) fn read(
        options: &Options,
        mode: SslMode,
        home: Option<&Path>,
        warnings: &mut Vec<String>,
    ) -> Result<TlsFiles, ConnInfoError> {
        let mut tls = TlsOptions::new("");
        tls.direct = options.get("sslnegotiation") == Some("direct");
        tls.sni = options.get("sslsni").is_none_or(|v| v.starts_with('1'));
        tls.min_version = version(options, "ssl_min_protocol_version")?.unwrap_or(TlsVersion::V1_2);
        tls.max_version = version(options, "ssl_max_protocol_version")?.unwrap_or(TlsVersion::V1_3);
        let default = |name: &str| home.map(|home| home.join(".postgresql").join(name));
        read_roots(options, mode, default("root.crt"), &mut tls, warnings)?;
        if tls.verify > Verify::Nothing {
            tls.revocations = read_revocations(options, default("root.crl"), warnings)?;
        }
        if options.get("sslcertmode") != Some("disable") {
            let certificate = options.filled("sslcert").map(PathBuf::from);
            let key = options.filled("sslkey").map(PathBuf::from);
            let certificate = certificate.or_else(|| default("postgresql.crt"));
            let key = key.or_else(|| default("postgresql.key"));
            if let Some(certificate) = certificate {
                tls.identity = read_identity(&certificate, key.as_deref())?.map(Arc::new);
            }
        }
        Ok(TlsFiles { options: tls })
    }

    /// TLS for one host, as the user named it.
    pub(super) fn for_host(&self, host: &str) -> Result<Arc<TlsConfig>, ConnInfoError> {
        let options = TlsOptions {
            host: host.to_owned(),
            ..self.options.clone()
        };
        TlsConfig::new(&options)
            .map(Arc::new)
            .map_err(|e| ConnInfoError::new(e.to_string()))
    }
}

fn version(options: &Options, name: &str) -> Result<Option<TlsVersion>, ConnInfoError> {
    match options.filled(name) {
        None => Ok(None),
        // What is older than 1.2 cannot be spoken, but accepting it promises nothing.
        Some(v) if v.eq_ignore_ascii_case("TLSv1") || v.eq_ignore_ascii_case("TLSv1.1") => {
            if name == "ssl_max_protocol_version" {
                return Err(
                    ConnInfoError::new(format!("{name} \"{v}\" is not supported"))
                        .hint("the oldest version of TLS spoken is TLSv1.2".to_owned()),
                );
            }
            Ok(Some(TlsVersion::V1_2))
        }
        Some(v) if v.eq_ignore_ascii_case("TLSv1.2") => Ok(Some(TlsVersion::V1_2)),
        Some(v) if v.eq_ignore_ascii_case("TLSv1.3") => Ok(Some(TlsVersion::V1_3)),
        Some(v) => Err(ConnInfoError::new(format!(
            "invalid \"{name}\" value: \"{v}\""
        ))),
    }
}

fn read_roots(
    options: &Options,
    mode: SslMode,
    default: Option<PathBuf>,
    tls: &mut TlsOptions,
    warnings: &mut Vec<String>,
) -> Result<(), ConnInfoError> {
    let full = mode == SslMode::VerifyFull;
    if options.get("sslrootcert") == Some("system") {
        let loaded = rustls_native_certs::load_native_certs();
        if loaded.certs.is_empty() {
            let reason = loaded
                .errors
                .first()
                .map_or(String::new(), |e| format!(": {e}"));
            return Err(ConnInfoError::new(format!(
                "could not load system root certificate paths{reason}"
            ))
            .hint(
                "install the package ca-certificates, or name a file with sslrootcert".to_owned(),
            ));
        }
        warnings.extend(
            loaded
                .errors
                .iter()
                .map(|e| format!("WARNING: system root certificates: {e}")),
        );
        tls.roots = loaded.certs.into_iter().map(Into::into).collect();
        tls.verify = Verify::ChainAndHost;
        return Ok(());
    }
    let file = options.filled("sslrootcert").map(PathBuf::from).or(default);
    let must = mode >= SslMode::VerifyCa;
    const WAY_OUT: &str = "Either provide the file, use the system's trusted roots with sslrootcert=system, or change sslmode to disable server certificate verification.";
    let Some(file) = file else {
        if must {
            return Err(ConnInfoError::new(
                "could not get home directory to locate root certificate file",
            )
            .hint(WAY_OUT.to_owned()));
        }
        return Ok(());
    };
    let shown = file.display();
    if !file.exists() {
        if must {
            return Err(ConnInfoError::new(format!(
                "root certificate file \"{shown}\" does not exist"
            ))
            .hint(WAY_OUT.to_owned()));
        }
        return Ok(());
    }
    let bad = |reason: String| {
        ConnInfoError::new(format!(
            "could not read root certificate file \"{shown}\": {reason}"
        ))
    };
    let pem = fs::read(&file).map_err(|e| bad(e.to_string()))?;
    tls.roots = tls::roots(&pem).map_err(|e| bad(e.to_string()))?;
    // With a root at hand libpq checks the chain in every mode.
    tls.verify = if full {
        Verify::ChainAndHost
    } else {
        Verify::Chain
    };
    Ok(())
}

/// The revocation lists of `sslcrl` and `sslcrldir`, or the default one if it is there. As with libpq a
/// list that cannot be read is done without, and as nowhere there, with a warning.
fn read_revocations(
    options: &Options,
    default: Option<PathBuf>,
    warnings: &mut Vec<String>,
) -> Result<Option<Arc<RevocationLists>>, ConnInfoError> {
    let file = options.filled("sslcrl").map(PathBuf::from);
    let folder = options.filled("sslcrldir").map(PathBuf::from);
    let file = match (&file, &folder) {
        (None, None) => default.filter(|file| file.exists()),
        _ => file,
    };
    let mut lists = folder.as_ref().map(|_| RevocationLists::default());
    if let Some(file) = file {
        let read = fs::read(&file).map_err(|e| e.to_string());
        let added = read.and_then(|pem| {
            let mut all = lists.clone().unwrap_or_default();
            all.add_pem(&pem)?;
            Ok(all)
        });
        match added {
            Ok(all) => lists = Some(all),
            Err(reason) => warnings.push(format!(
                "WARNING: revoked certificates are not refused: could not read revocation list \"{}\" (sslcrl): {reason}",
                file.display()
            )),
        }
    }
    if let (Some(folder), Some(lists)) = (&folder, &mut lists) {
        let bad = |path: &Path, reason: String| {
            ConnInfoError::new(format!(
                "could not read revocation list \"{}\" (sslcrldir): {reason}",
                path.display()
            ))
        };
        let entries = fs::read_dir(folder).map_err(|e| bad(folder, e.to_string()))?;
        for entry in entries {
            let path = entry.map_err(|e| bad(folder, e.to_string()))?.path();
            if path
                .file_name()
                .is_some_and(|name| is_hashed_name(&name.to_string_lossy()))
            {
                let pem = fs::read(&path).map_err(|e| bad(&path, e.to_string()))?;
                lists.add_pem(&pem).map_err(|reason| bad(&path, reason))?;
            }
        }
    }
    Ok(lists.map(Arc::new))
}

/// As `openssl rehash` names lists in a folder: eight hexadecimal digits, `.r`, a number.
fn is_hashed_name(name: &str) -> bool {
    name.split_once(".r").is_some_and(|(hash, number)| {
        hash.len() == 8
            && hash.bytes().all(|b| b.is_ascii_hexdigit())
            && !number.is_empty()
            && number.bytes().all(|b| b.is_ascii_digit())
    })
}

fn read_identity(
    certificate: &Path,
    key: Option<&Path>,
) -> Result<Option<Identity>, ConnInfoError> {
    let shown = certificate.display();
    let chain = match fs::read(certificate) {
        Ok(chain) => chain,
        Err(e)
            if matches!(
                e.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(None);
        }
        Err(e) => {
            return Err(ConnInfoError::new(format!(
                "could not open certificate file \"{shown}\": {e}"
            )));
        }
    };
    tls::certificates(&chain).map_err(|e| {
        ConnInfoError::new(format!("could not read certificate file \"{shown}\": {e}"))
    })?;
    let Some(key) = key else {
        return Ok(None);
    };
    let shown = key.display();
    let metadata = match fs::metadata(key) {
        Ok(metadata) => metadata,
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            return Err(ConnInfoError::new(format!(
                "certificate present, but not private key file \"{shown}\""
            )));
        }
        Err(e) => {
            return Err(ConnInfoError::new(format!(
                "could not stat private key file \"{shown}\": {e}"
            )));
        }
    };
    if !metadata.is_file() {
        return Err(ConnInfoError::new(format!(
            "private key file \"{shown}\" is not a regular file"
        )));
    }
    // Root's keys may be readable by a group, for keys that several services share.
    let forbidden = if metadata.uid() == 0 { 0o037 } else { 0o077 };
    if metadata.mode() & forbidden != 0 {
        return Err(ConnInfoError::new(format!(
            "private key file \"{shown}\" has group or world access; file must have permissions u=rw (0600) or less if owned by the current user, or permissions u=rw,g=r (0640) or less if owned by root"
        )));
    }
    let bad = |reason: String| {
        ConnInfoError::new(format!(
            "could not load private key file \"{shown}\": {reason}"
        ))
    };
    let pem = fs::read(key).map_err(|e| bad(e.to_string()))?;
    Identity::from_pem(&chain, &pem)
        .map(Some)
        .map_err(|e| bad(e.to_string()))
}
