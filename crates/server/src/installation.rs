//! Which PostgreSQL: the binaries named, found, or fetched.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::account::Account;
use crate::cache::Cache;
use crate::download;
use crate::error::{Error, PassedOver, Result};
use crate::step::Step;

/// Server programs that pgdyno can start: a directory with `postgres` and `initdb` in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    /// The directory of the programs.
    pub bindir: PathBuf,
    pub version: Version,
    pub origin: Origin,
}

/// How an installation was found, in the order of the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    Named,
    /// Through PATH, symbolic links followed.
    Path,
    PgConfig,
    /// In one of the directories where distributions put it.
    Distribution,
    /// Fetched by pgdyno, now or earlier.
    Cache,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The major version, such as 18.
    pub major: u32,
    /// The whole, such as `18.6` or `19beta1`.
    pub text: String,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The oldest major version whose programs take the options that pgdyno gives them.
const OLDEST_MAJOR: u32 = 12;

impl Installation {
    /// Finds binaries that `account` can run: in `bindir` when named (and nowhere else), else
    /// through PATH, `pg_config`, the usual directories and the cache; else fetches them.
    ///
    /// # Errors
    /// When the directory named is of no use, or nothing is found and nothing can be fetched.
    pub fn find(
        bindir: Option<&Path>,
        account: &Account,
        cache: &Cache,
        interrupted: fn() -> bool,
        on_step: &mut dyn FnMut(Step),
    ) -> Result<Installation> {
        if let Some(bindir) = bindir {
            return Installation::named(bindir, account);
        }
        let (found, passed_over) = Search::from_env().first_usable(account);
        if let Some(found) = found {
            return Ok(found);
        }
        Installation::pinned(None, account, cache, passed_over, interrupted, on_step)
    }

    /// The pinned build that pgdyno fetches, from the cache if it is there: the same on every
    /// machine of this architecture, whatever is installed.
    ///
    /// # Errors
    /// When there is none for this machine, or it cannot be fetched or run.
    pub fn fetched(
        account: &Account,
        cache: &Cache,
        interrupted: fn() -> bool,
        on_step: &mut dyn FnMut(Step),
    ) -> Result<Installation> {
        let none = PassedOver::default();
        Installation::pinned(None, account, cache, none, interrupted, on_step)
    }

    /// The pinned build of this major version, for comparing versions: from the cache if it is
    /// there, else fetched.
    ///
    /// # Errors
    /// When there is none for this machine, or it cannot be fetched or run.
    pub fn fetched_major(
        major: u32,
        account: &Account,
        cache: &Cache,
        interrupted: fn() -> bool,
        on_step: &mut dyn FnMut(Step),
    ) -> Result<Installation> {
        let none = PassedOver::default();
        Installation::pinned(Some(major), account, cache, none, interrupted, on_step)
    }

    fn pinned(
        major: Option<u32>,
        account: &Account,
        cache: &Cache,
        passed_over: PassedOver,
        interrupted: fn() -> bool,
        on_step: &mut dyn FnMut(Step),
    ) -> Result<Installation> {
        let bindir = download::cached_or_fetched(major, cache, passed_over, interrupted, on_step)?;
        match probe(&bindir, account) {
            Ok(version) => Ok(Installation {
                bindir,
                version,
                origin: Origin::Cache,
            }),
            Err(reason) => Err(Error::DownloadUnusable {
                path: bindir,
                reason,
            }),
        }
    }

    fn named(bindir: &Path, account: &Account) -> Result<Installation> {
        let error = |reason| Error::Bindir {
            path: bindir.to_path_buf(),
            reason,
        };
        let bindir = std::path::absolute(bindir).map_err(|e| error(e.to_string()))?;
        let version = probe(&bindir, account).map_err(error)?;
        Ok(Installation {
            bindir,
            version,
            origin: Origin::Named,
        })
    }

    pub fn program(&self, name: &str) -> PathBuf {
        self.bindir.join(name)
    }
}

/// Where to look on this machine.
struct Search {
    path: Option<OsString>,
    pg_config: PathBuf,
    /// What to put before the usual directories; `/` but in tests.
    root: PathBuf,
}

/// Where distributions and packagers put the programs, from `/`; `*` represents a version, of
/// which the highest is taken first.
const USUAL: [&str; 14] = [
    "usr/lib/postgresql/*/bin",                       // Debian, Ubuntu
    "usr/pgsql-*/bin", // packages of the PostgreSQL project for Red Hat, SUSE
    "usr/lib/postgresql*/bin", // SUSE
    "usr/lib64/postgresql-*/bin", // Gentoo
    "usr/libexec/postgresql*", // Alpine
    "usr/bin",         // Fedora, Arch
    "usr/local/bin",   // BSD ports, built by hand
    "usr/local/pgsql/bin", // PostgreSQL's own default
    "usr/local/pgsql-*/bin", // the same, several versions
    "opt/postgresql/*/bin", // by hand
    "opt/PostgreSQL/*/bin", // EDB's installer
    "opt/bitnami/postgresql/bin", // containers
    "home/linuxbrew/.linuxbrew/opt/postgresql@*/bin", // Homebrew
    "opt/homebrew/opt/postgresql@*/bin", // Homebrew
];

impl Search {
    fn from_env() -> Search {
        Search {
            path: std::env::var_os("PATH"),
            pg_config: "pg_config".into(),
            root: "/".into(),
        }
    }

    /// The first installation that `account` can run, and those passed over before it.
    fn first_usable(&self, account: &Account) -> (Option<Installation>, PassedOver) {
        let mut passed_over = PassedOver::default();
        let mut seen: Vec<PathBuf> = Vec::new();
        for (bindir, origin) in self.candidates() {
            if seen.contains(&bindir) {
                continue;
            }
            match probe(&bindir, account) {
                Ok(version) => {
                    let installation = Installation {
                        bindir,
                        version,
                        origin,
                    };
                    return (Some(installation), passed_over);
                }
                Err(reason) => {
                    passed_over.0.push((bindir.clone(), reason));
                    seen.push(bindir);
                }
            }
        }
        (None, passed_over)
    }

    /// All directories that hold a `postgres`, best first.
    fn candidates(&self) -> impl Iterator<Item = (PathBuf, Origin)> {
        let path = self.in_path().into_iter().map(|dir| (dir, Origin::Path));
        let pg_config = || self.asked().map(|dir| (dir, Origin::PgConfig));
        let usual = || {
            let dirs = USUAL.iter().flat_map(|pattern| expand(&self.root, pattern));
            dirs.map(|dir| (dir, Origin::Distribution))
        };
        // Nothing is asked and nothing is listed before it is needed.
        path.chain(std::iter::once_with(pg_config).flatten())
            .chain(std::iter::once_with(usual).flatten())
            .filter(|(dir, _)| dir.join("postgres").exists())
    }

    /// The directories where the `postgres` and `initdb` in PATH really are: distributions link
    /// to one of several versions.
    fn in_path(&self) -> Vec<PathBuf> {
        let dirs = self.path.iter().flat_map(std::env::split_paths);
        let programs = dirs.flat_map(|dir| [dir.join("postgres"), dir.join("initdb")]);
        programs
            .filter_map(|program| program.canonicalize().ok())
            .filter_map(|program| Some(program.parent()?.to_path_buf()))
            .collect()
    }

    /// What `pg_config` says. A package for clients has it too, so that need not exist.
    fn asked(&self) -> Option<PathBuf> {
        let mut command = Command::new(&self.pg_config);
        if let Some(path) = &self.path {
            command.env("PATH", path);
        }
        let output = command.arg("--bindir").output().ok()?;
        let said = String::from_utf8(output.stdout).ok()?;
        Some(PathBuf::from(said.trim())).filter(|dir| dir.is_absolute())
    }
}

/// The directories that `pattern` (at most one component with a `*`) matches under `root`,
/// highest version first.
fn expand(root: &Path, pattern: &str) -> Vec<PathBuf> {
    let components: Vec<&str> = pattern.split('/').collect();
    let Some(at) = components.iter().position(|part| part.contains('*')) else {
        return vec![root.join(pattern)];
    };
    let (before, after) = components[at].split_once('*').unwrap_or_default();
    let parent = root.join(components[..at].join("/"));
    let rest = components[at + 1..].join("/");
    let mut found: Vec<(Vec<u32>, PathBuf)> = std::fs::read_dir(&parent)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let version = name.strip_prefix(before)?.strip_suffix(after)?;
            Some((version_key(version)?, entry.path().join(&rest)))
        })
        .collect();
    found.sort_by(|a, b| b.cmp(a));
    found.into_iter().map(|(_, path)| path).collect()
}

/// `9.6` as [9, 6], for sorting; `None` for what is no version.
fn version_key(text: &str) -> Option<Vec<u32>> {
    text.split('.').map(|part| part.parse().ok()).collect()
}

/// Whether `account` can run the programs in `bindir`; the version, or why not.
fn probe(bindir: &Path, account: &Account) -> std::result::Result<Version, String> {
    for name in ["postgres", "initdb"] {
        match bindir.join(name).metadata() {
            Ok(meta) if meta.is_file() => {}
            Ok(_) => return Err(format!("{name} is not a file")),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return Err(format!("there is no {name} in it"));
            }
            Err(e) => return Err(format!("{name} cannot be read: {e}")),
        }
    }
    let output = account
        .command(&bindir.join("postgres"))
        .arg("-V")
        .stdin(std::process::Stdio::null())
        .output()
        .map_err(|e| match (e.kind(), account.other_name()) {
            (io::ErrorKind::PermissionDenied, Some(user)) => format!(
                "user \"{user}\", as whom PostgreSQL would run, may not run it (each directory \
                 of the path must let that user through)"
            ),
            _ => format!("postgres cannot be run: {e}"),
        })?;
    let said = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        return Err(format!("postgres -V failed: {}", error.trim()));
    }
    let version = parse_version(&said).ok_or_else(|| {
        format!(
            "postgres -V says \"{}\", which is not a version",
            said.trim()
        )
    })?;
    if version.major < OLDEST_MAJOR {
        return Err(format!(
            "version {version} is too old, {OLDEST_MAJOR} is the oldest that pgdyno starts"
        ));
    }
    Ok(version)
}

/// Reads `postgres (PostgreSQL) 18.6 (and what a packager adds)`.
fn parse_version(said: &str) -> Option<Version> {
    let rest = said.trim().strip_prefix("postgres (PostgreSQL) ")?;
    let text = rest.split_whitespace().next()?;
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    Some(Version {
        major: text[..digits].parse().ok()?,
        text: text.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// Directories that every user can reach, as the server's user must.
    fn place() -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("temporary directory");
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).expect("ours");
        dir
    }

    fn account() -> Account {
        Account::choose(None).expect("a user can run a server here")
    }

    /// Programs that do no more than tell a version: enough for the search, which asks nothing
    /// else. Real ones are started in tests/.
    fn install(bindir: &Path, version: &str) {
        fs::create_dir_all(bindir).expect("created");
        for name in ["postgres", "initdb"] {
            script(
                &bindir.join(name),
                &format!("echo '{name} (PostgreSQL) {version}'"),
            );
        }
    }

    fn script(path: &Path, text: &str) {
        fs::write(path, format!("#!/bin/sh\n{text}\n")).expect("written");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("ours");
    }

    fn search(place: &Path, path: &[&Path]) -> Search {
        Search {
            path: Some(std::env::join_paths(path).expect("no colon in them")),
            pg_config: place.join("no-such-pg_config"),
            root: place.to_path_buf(),
        }
    }

    fn first_usable(search: &Search) -> Option<(PathBuf, Origin, String)> {
        let found = search.first_usable(&account()).0?;
        Some((found.bindir, found.origin, found.version.text))
    }

    #[test]
    fn path_comes_before_pg_config_before_the_usual_directories() {
        let place = place();
        let place = place.path().canonicalize().expect("exists");
        let (in_path, asked) = (place.join("in-path"), place.join("asked"));
        let usual = place.join("usr/lib/postgresql/16/bin");
        install(&in_path, "14.1");
        install(&asked, "15.1");
        install(&usual, "16.1");
        let mut search = search(&place, &[&in_path]);
        search.pg_config = place.join("pg_config");
        script(&search.pg_config, &format!("echo '{}'", asked.display()));

        let expect = |dir: &Path, origin, version: &str| Some((dir.into(), origin, version.into()));
        assert_eq!(
            first_usable(&search),
            expect(&in_path, Origin::Path, "14.1")
        );
        search.path = None;
        assert_eq!(
            first_usable(&search),
            expect(&asked, Origin::PgConfig, "15.1")
        );
        script(&search.pg_config, "echo /no/such/directory");
        assert_eq!(
            first_usable(&search),
            expect(&usual, Origin::Distribution, "16.1")
        );
        fs::remove_dir_all(place.join("usr")).expect("ours");
        assert_eq!(first_usable(&search), None);
    }

    #[test]
    fn a_link_in_path_leads_to_where_the_programs_are() {
        let place = place();
        let place = place.path().canonicalize().expect("exists");
        let (real, links) = (place.join("real"), place.join("links"));
        install(&real, "17.2 (Debian 17.2-1)");
        fs::create_dir(&links).expect("created");
        symlink(real.join("postgres"), links.join("postgres")).expect("linked");
        assert_eq!(
            first_usable(&search(&place, &[&links])),
            Some((real, Origin::Path, "17.2".into()))
        );
    }

    #[test]
    fn of_several_versions_the_highest_is_taken() {
        let place = place();
        for version in ["9.6", "13", "16", "8"] {
            let bindir = format!("usr/lib/postgresql/{version}/bin");
            install(&place.path().join(bindir), &format!("{version}.1"));
        }
        let (_, _, version) = first_usable(&search(place.path(), &[])).expect("four are there");
        assert_eq!(version, "16.1");
    }

    #[test]
    fn unusable_installations_are_skipped_and_named() {
        let place = place();
        let place = place.path().canonicalize().expect("exists");
        let (half, old, broken) = (place.join("half"), place.join("old"), place.join("broken"));
        install(&half, "17.1");
        fs::remove_file(half.join("initdb")).expect("ours");
        install(&old, "9.6.24");
        install(&broken, "17.1");
        script(
            &broken.join("postgres"),
            "echo 'libssl.so.1.1 missing' >&2; exit 127",
        );
        let search = search(&place, &[&half, &old, &broken]);
        let (found, passed_over) = search.first_usable(&account());
        assert_eq!(found, None);
        let text = passed_over.to_string();
        assert!(text.contains("there is no initdb"), "{text}");
        assert!(text.contains("9.6.24 is too old"), "{text}");
        assert!(text.contains("libssl.so.1.1 missing"), "{text}");
    }

    #[test]
    fn programs_that_the_servers_user_cannot_reach_are_passed_over() {
        if account().other_name().is_none() {
            pgdyno_testkit::skip!(
                "programs_that_the_servers_user_cannot_reach_are_passed_over",
                "only root runs the server as another user"
            );
        }
        let place = place();
        let place = place.path().canonicalize().expect("exists");
        let hidden = place.join("hidden");
        install(&hidden.join("bin"), "17.1");
        fs::set_permissions(&hidden, fs::Permissions::from_mode(0o700)).expect("ours");
        let bindir = hidden.join("bin");
        let (found, passed_over) = search(&place, &[&bindir]).first_usable(&account());
        assert_eq!(found, None);
        assert!(passed_over.to_string().contains("may not run it"));
    }

    #[test]
    fn a_directory_named_is_the_only_one_tried() {
        let place = place();
        let empty = place.path().join("empty");
        fs::create_dir(&empty).expect("created");
        let error = Installation::named(&empty, &account()).expect_err("it is empty");
        let text = error.to_string();
        assert!(text.contains("empty\": there is no postgres"), "{text}");
        assert!(text.contains("--pg-bindir"), "{text}");
        let error = Installation::named(Path::new("/no/such"), &account()).expect_err("not there");
        assert!(matches!(error, Error::Bindir { .. }), "{error}");

        let good = place.path().join("good");
        install(&good, "18beta1");
        let named = Installation::named(&good, &account()).expect("usable");
        assert_eq!((named.version.major, named.origin), (18, Origin::Named));
    }

    #[test]
    fn versions_are_read_as_packagers_write_them() {
        let parse = |text| parse_version(text).map(|v| (v.major, v.text));
        assert_eq!(
            parse("postgres (PostgreSQL) 15.17 (Debian 15.17-0+deb12u1)\n"),
            Some((15, "15.17".into()))
        );
        assert_eq!(
            parse("postgres (PostgreSQL) 19devel\n"),
            Some((19, "19devel".into()))
        );
        assert_eq!(parse("postgres (EnterpriseDB) x\n"), None);
        assert_eq!(parse("postgres (PostgreSQL) beta\n"), None);
        assert_eq!(parse(""), None);
    }
}
