//! The user that runs the server: PostgreSQL refuses root, so root has to choose another user.

use std::path::Path;
use std::process::Command;

use pgdyno_platform::user::{self, User};

use crate::error::{Error, Result};

/// Users that root tries, best first. `postgres` exists where PostgreSQL is installed; `nobody`
/// nearly everywhere.
const CANDIDATES: [&str; 3] = ["postgres", "pgdyno", "nobody"];

/// The user that the server runs as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    other: Option<User>,
}

impl Account {
    /// Chooses: an ordinary user runs it as itself; root as the user `named`, else as the first
    /// that exists of `postgres`, `pgdyno` and `nobody`.
    ///
    /// # Errors
    /// When there is no such user, it is root, or a user other than root names another.
    pub fn choose(named: Option<&str>) -> Result<Account> {
        match named {
            Some(name) => Account::of(name),
            None if !user::is_root() => Ok(Account { other: None }),
            None => Account::first_of(&CANDIDATES),
        }
    }

    fn of(name: &str) -> Result<Account> {
        let user = look_up(name)?.ok_or_else(|| Error::NoSuchUser { name: name.into() })?;
        let name = || name.to_string();
        if user.uid == 0 {
            Err(Error::RootUser { name: name() })
        } else if user.uid == user::uid() {
            Ok(Account { other: None })
        } else if !user::is_root() {
            Err(Error::NotRoot { name: name() })
        } else {
            Ok(Account { other: Some(user) })
        }
    }

    fn first_of(names: &[&str]) -> Result<Account> {
        for name in names {
            if let Some(user) = look_up(name)?.filter(|user| user.uid != 0) {
                return Ok(Account { other: Some(user) });
            }
        }
        Err(Error::NoUnprivilegedUser {
            tried: names.join(", "),
        })
    }

    pub fn uid(&self) -> u32 {
        self.other.as_ref().map_or_else(user::uid, |user| user.uid)
    }

    /// The name of the other user; `None` when the server runs as ourselves.
    pub fn other_name(&self) -> Option<&str> {
        self.other.as_ref().map(|user| user.name.as_str())
    }

    /// Makes `command` run as this user, in a directory that every user can enter and without
    /// environment variables that change what PostgreSQL's programs do.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir("/").env("LC_ALL", "C");
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PG") {
                command.env_remove(name);
            }
        }
        if let Some(user) = &self.other {
            user::run_as(&mut command, user);
            command.env("HOME", &user.home);
        }
        command
    }

    /// User and group id of the other user; `None` when the server runs as ourselves.
    pub(crate) fn ids(&self) -> Option<(u32, u32)> {
        self.other.as_ref().map(|user| (user.uid, user.gid))
    }

    /// Gives the file or directory to the user.
    pub(crate) fn give(&self, path: &Path) -> Result<()> {
        match &self.other {
            None => Ok(()),
            Some(user) => std::os::unix::fs::lchown(path, Some(user.uid), Some(user.gid))
                .map_err(Error::file("change the owner of", path)),
        }
    }
}

fn look_up(name: &str) -> Result<Option<User>> {
    User::named(name).map_err(|source| Error::UserLookup {
        name: name.into(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_that_does_not_exist_is_named_with_the_way_out() {
        let error = Account::choose(Some("no-such-user-of-pgdyno")).expect_err("no such user");
        let text = error.to_string();
        assert!(text.contains("\"no-such-user-of-pgdyno\""), "{text}");
        assert!(text.contains("--pg-user"), "{text}");
    }

    #[test]
    fn root_is_refused() {
        let error = Account::choose(Some("root")).expect_err("root");
        assert!(matches!(error, Error::RootUser { .. }), "{error}");
    }

    #[test]
    fn without_a_user_to_run_it_the_error_says_what_to_do() {
        let error = Account::first_of(&["no-such-user-of-pgdyno", "root"]).expect_err("none");
        let text = error.to_string();
        assert!(text.contains("no-such-user-of-pgdyno, root"), "{text}");
        assert!(text.contains("useradd --system pgdyno"), "{text}");
    }

    #[test]
    fn root_runs_it_as_another_and_others_as_themselves() {
        let account = Account::choose(None).expect("this machine has one of the accounts");
        if user::is_root() {
            assert_ne!(account.uid(), 0);
            assert!(account.other_name().is_some());
        } else {
            assert_eq!(account.uid(), user::uid());
            assert_eq!(account.other_name(), None);
            // We are one of the two at most.
            let others = ["daemon", "nobody"].map(|name| Account::choose(Some(name)));
            let refused = |account: &Result<Account>| matches!(account, Err(Error::NotRoot { .. }));
            assert!(others.iter().any(refused), "{others:?}");
        }
    }
}
