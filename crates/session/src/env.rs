//! What the process's surroundings say about connections: variables, home directory, user. Passed
//! in as a value, so that tests and commands can choose it.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// A snapshot of the environment.
#[derive(Clone, Default)]
pub struct Env {
    vars: BTreeMap<String, String>,
    home: Option<PathBuf>,
    os_user: Option<String>,
}

impl Env {
    /// An environment without variables, home directory or user.
    pub fn empty() -> Env {
        Env::default()
    }

    /// The process's own. The user is the effective one as /etc/passwd names it; where it is not
    /// listed there, USER and LOGNAME are asked. Variables that are not UTF-8 count as unset.
    pub fn of_process() -> Env {
        let vars: BTreeMap<String, String> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let uid = rustix::process::geteuid().as_raw().to_string();
        let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let entry: Option<Vec<&str>> = passwd
            .lines()
            .map(|line| line.split(':').collect::<Vec<_>>())
            .find(|fields| fields.len() >= 6 && fields[2] == uid);
        let set = |name: &str| vars.get(name).filter(|v| !v.is_empty()).cloned();
        let home = set("HOME")
            .or_else(|| entry.as_ref().map(|e| e[5].to_owned()))
            .map(PathBuf::from);
        let os_user = entry
            .map(|e| e[0].to_owned())
            .or_else(|| set("USER"))
            .or_else(|| set("LOGNAME"));
        Env {
            vars,
            home,
            os_user,
        }
    }

    /// The same with one variable set.
    pub fn with(mut self, name: &str, value: &str) -> Env {
        self.vars.insert(name.to_owned(), value.to_owned());
        self
    }

    /// The same with another home directory.
    pub fn with_home(mut self, home: impl Into<PathBuf>) -> Env {
        self.home = Some(home.into());
        self
    }

    /// The same with another name for the operating system's user.
    pub fn with_os_user(mut self, user: &str) -> Env {
        self.os_user = Some(user.to_owned());
        self
    }

    /// A variable, if it is set.
    pub fn var(&self, name: &str) -> Option<&str> {
        self.vars.get(name).map(String::as_str)
    }

    pub fn home(&self) -> Option<&std::path::Path> {
        self.home.as_deref()
    }

    pub fn os_user(&self) -> Option<&str> {
        self.os_user.as_deref()
    }
}

/// Names only: values may be secret.
impl std::fmt::Debug for Env {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Env")
            .field("vars", &self.vars.keys().collect::<Vec<_>>())
            .field("home", &self.home)
            .field("os_user", &self.os_user)
            .finish()
    }
}
