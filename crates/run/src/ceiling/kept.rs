//! The file that has what `pgdyno calibrate --self` found: in the user's data directory, one for each host
//! name, so that a home that several machines share has all of theirs. It is not in the notebook: trials
//! that are kept elsewhere, or nowhere, need it too.

use std::path::{Path, PathBuf};
use std::{fs, io};

use pgdyno_model::document::{Host, SelfCalibration};
use pgdyno_platform::{file_system, host, user};
use pgdyno_spec::{Failure, TrialSpec};

/// The machine that a trial runs on, with what is known of its ceiling. A file that cannot be read, or
/// is of a machine with another CPU, says nothing.
pub fn host(spec: &TrialSpec) -> Host {
    let mut host = Host::read();
    let known = path().ok().and_then(|path| read(&path, &host));
    let (threads, clients) = (spec.threads() as usize, spec.clients() as usize);
    host.ceiling =
        known.and_then(|known| known.ceiling(threads, clients, spec.query_mode().name()));
    host
}

/// Keeps it on this host; gives the file.
///
/// # Errors
/// It cannot be written.
pub fn keep(calibration: &SelfCalibration) -> Result<PathBuf, Failure> {
    let path = path()?;
    let failed = |e: io::Error| {
        let text = format!("cannot keep the calibration in {}: {e}", path.display());
        Failure::new(text).hint("name another directory: XDG_DATA_HOME")
    };
    let text = serde_json::to_string_pretty(calibration).map_err(|e| failed(e.into()))?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    // Trials that begin now read the old one or the new one.
    file_system::replace(&path, (text + "\n").as_bytes()).map_err(failed)?;
    Ok(path)
}

fn read(path: &Path, here: &Host) -> Option<SelfCalibration> {
    let known: SelfCalibration = serde_json::from_str(&fs::read_to_string(path).ok()?).ok()?;
    let is_here = known.host.name == here.name && known.host.cpu_model == here.cpu_model;
    (known.format == SelfCalibration::FORMAT && is_here).then_some(known)
}

fn path() -> Result<PathBuf, Failure> {
    let data = user::data_home().ok_or_else(|| {
        Failure::new("no location for the calibration: HOME is not set")
            .hint("name a directory: XDG_DATA_HOME")
    })?;
    let name = host::name().unwrap_or_else(|| "localhost".to_owned());
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '.' || c == '-' {
            c
        } else {
            '_'
        }
    };
    let name: String = name.chars().map(plain).collect();
    Ok(data.join(format!("pgdyno/self-calibration-{name}.json")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_broken_or_of_another_machine_says_nothing() {
        let here = Host::read();
        let known = SelfCalibration {
            format: SelfCalibration::FORMAT,
            pgdyno: "0".to_owned(),
            calibrated: "2026-11-23T00:00:00Z".to_owned(),
            host: here.clone(),
            io: "epoll".to_owned(),
            rows: Vec::new(),
            notes: Vec::new(),
        };
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        let put = |known: &SelfCalibration| {
            fs::write(&file, serde_json::to_string(known).unwrap()).unwrap();
        };
        assert_eq!(read(&file, &here), None);
        put(&known);
        assert_eq!(read(&file, &here), Some(known.clone()));
        let mut other = known.clone();
        other.host.cpu_model = Some("another".to_owned());
        put(&other);
        assert_eq!(read(&file, &here), None);
        put(&SelfCalibration {
            format: 99,
            ..known
        });
        assert_eq!(read(&file, &here), None);
        fs::write(&file, "{").unwrap();
        assert_eq!(read(&file, &here), None);
    }
}
