//! Service files: named sets of options (`~/.pg_service.conf`, then the system's).

use std::fs;
use std::path::{Path, PathBuf};

use super::ConnInfoError;
use super::options::Options;
use crate::env::Env;

/// Where distributions keep `pg_service.conf`; PGSYSCONFDIR names another directory. libpq has the
/// directory it was built with, which for Debian's is the first.
const SYSTEM_DIRECTORIES: [&str; 2] = ["/etc/postgresql-common", "/etc"];

/// Adds the options of `service` that are not set yet.
pub(super) fn apply(service: &str, options: &mut Options, env: &Env) -> Result<(), ConnInfoError> {
    let own = match env.var("PGSERVICEFILE") {
        Some(file) => Some(PathBuf::from(file)),
        None => env
            .home()
            .map(|home| home.join(".pg_service.conf"))
            .filter(|file| file.exists()),
    };
    let system = match env.var("PGSYSCONFDIR") {
        Some(directory) => vec![PathBuf::from(directory)],
        None => SYSTEM_DIRECTORIES.iter().map(PathBuf::from).collect(),
    };
    let system = system
        .into_iter()
        .map(|dir| dir.join("pg_service.conf"))
        .filter(|file| file.exists());
    for file in own.into_iter().chain(system) {
        if apply_file(&file, service, options)? {
            return Ok(());
        }
    }
    Err(ConnInfoError::new(format!(
        "definition of service \"{service}\" not found"
    )))
}

/// True if the file defines the service.
fn apply_file(file: &Path, service: &str, options: &mut Options) -> Result<bool, ConnInfoError> {
    let shown = file.display();
    let text = fs::read(file).map_err(|e| {
        let reason = if e.kind() == std::io::ErrorKind::NotFound {
            format!("service file \"{shown}\" not found")
        } else {
            format!("could not read service file \"{shown}\": {e}")
        };
        ConnInfoError::new(reason)
    })?;
    let text = String::from_utf8_lossy(&text);
    let mut found = false;
    for (number, line) in text.lines().enumerate() {
        let number = number + 1;
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(group) = line.strip_prefix('[') {
            if found {
                break; // the end of the service's group
            }
            found = group
                .strip_prefix(service)
                .is_some_and(|rest| rest.starts_with(']'));
            continue;
        }
        if !found {
            continue;
        }
        let syntax = || {
            ConnInfoError::new(format!(
                "syntax error in service file \"{shown}\", line {number}"
            ))
        };
        let (name, value) = line.split_once('=').ok_or_else(syntax)?;
        if name == "service" {
            return Err(ConnInfoError::new(format!(
                "nested service specifications not supported in service file \"{shown}\", line {number}"
            )));
        }
        let mut one = Options::default();
        if !one.set(name, value) {
            return Err(syntax().hint(format!("invalid connection option \"{name}\"")));
        }
        if options.get(name).is_none() {
            options.extend(one);
        }
    }
    Ok(found)
}
