//! The file that has what `pgdyno calibrate --self` found: in the user's data directory, one for each host
//! name, so that a home that several machines share has all of theirs. It is not in the notebook: trials
//! that are kept elsewhere, or nowhere, need it too.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use pgdyno_model::document::{Host, SelfCalibration};
use pgdyno_model::{Failure, TrialSpec};
use pgdyno_platform::host;

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
    let beside = path.with_extension(format!("{}.new", std::process::id()));
    let written = fs::write(&beside, text + "\n").and_then(|()| fs::rename(&beside, &path));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written.map_err(failed)?;
    Ok(path)
}

fn read(path: &Path, here: &Host) -> Option<SelfCalibration> {
    let known: SelfCalibration = serde_json::from_str(&fs::read_to_string(path).ok()?).ok()?;
    let is_here = known.host.name == here.name && known.host.cpu_model == here.cpu_model;
    (known.format == SelfCalibration::FORMAT && is_here).then_some(known)
}

fn path() -> Result<PathBuf, Failure> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty());
    let folder = folder(set("XDG_DATA_HOME"), set("HOME")).ok_or_else(|| {
        Failure::new("no location for the calibration: HOME is not set")
            .hint("name a directory: XDG_DATA_HOME")
    })?;
    let name = host::name().unwrap_or_else(|| "localhost".to_owned());
    let plain = |c: char| match c.is_ascii_alphanumeric() || c == '.' || c == '-' {
        true => c,
        false => '_',
    };
    let name: String = name.chars().map(plain).collect();
    Ok(folder.join(format!("pgdyno/self-calibration-{name}.json")))
}

/// XDG's rules, as for the notebook.
fn folder(data: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let data = data.map(PathBuf::from).filter(|path| path.is_absolute());
    data.or_else(|| home.map(|home| Path::new(&home).join(".local/share")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_lies_where_the_users_data_are() {
        let os = |text: &str| Some(OsString::from(text));
        assert_eq!(folder(os("/data"), os("/home/me")), Some("/data".into()));
        let at_home = Some("/home/me/.local/share".into());
        assert_eq!(folder(os("relative"), os("/home/me")), at_home);
        assert_eq!(folder(None, os("/home/me")), at_home);
        assert_eq!(folder(None, None), None);
    }

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
