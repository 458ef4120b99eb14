//! Users of the operating system: who we are, who else there is, and running a child as one.

use std::env;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// One user, as the system's user database has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub name: String,
    pub uid: u32,
    /// Id of the user's own group.
    pub gid: u32,
    /// Home directory; need not exist.
    pub home: PathBuf,
}

impl User {
    /// The user called `name`; `None` when there is none.
    ///
    /// # Errors
    /// When the user database cannot be read.
    pub fn named(name: &str) -> io::Result<Option<User>> {
        let Ok(name) = CString::new(name) else {
            return Ok(None); // No user has a NUL in the name.
        };
        look_up(|entry, buffer, length, found| {
            // SAFETY: all pointers are valid for the call and `length` is the buffer's.
            unsafe { libc::getpwnam_r(name.as_ptr(), entry, buffer, length, found) }
        })
    }

    /// The user with this id; `None` when there is none (usual in containers that are run
    /// under a made-up id).
    ///
    /// # Errors
    /// When the user database cannot be read.
    pub fn with_uid(uid: u32) -> io::Result<Option<User>> {
        look_up(|entry, buffer, length, found| {
            // SAFETY: as in `named`.
            unsafe { libc::getpwuid_r(uid, entry, buffer, length, found) }
        })
    }
}

/// Whether this process runs with root's rights (effective user id 0).
pub fn is_root() -> bool {
    uid() == 0
}

/// The effective user id of this process.
pub fn uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Makes `command` run as `user`, in the user's own group and no other. Only root can.
///
/// The change takes place before anything that [`crate::child`] adds to the command, in
/// whatever order they are called. The child's working directory is changed after the change of
/// user: set one that the user can enter.
pub fn run_as(command: &mut Command, user: &User) {
    // With a user id given, std empties the list of supplementary groups when it is root.
    command.uid(user.uid).gid(user.gid);
}

/// Calls one of the getpw…_r functions with a buffer that grows until the entry fits.
fn look_up(
    call: impl Fn(
        *mut libc::passwd,
        *mut libc::c_char,
        libc::size_t,
        *mut *mut libc::passwd,
    ) -> libc::c_int,
) -> io::Result<Option<User>> {
    const LARGEST_ENTRY_BYTES: usize = 1 << 20;
    let mut buffer = vec![0 as libc::c_char; 1024];
    loop {
        let mut entry = std::mem::MaybeUninit::<libc::passwd>::zeroed();
        let mut found: *mut libc::passwd = std::ptr::null_mut();
        let code = call(
            entry.as_mut_ptr(),
            buffer.as_mut_ptr(),
            buffer.len(),
            &mut found,
        );
        match code {
            0 if found.is_null() => return Ok(None),
            0 => {
                // SAFETY: the call succeeded and `found` points to `entry`, whose strings lie in
                // `buffer`; both live until the end of this block.
                let entry = unsafe { &*found };
                // SAFETY: the entry's strings are NUL-terminated and lie in `buffer`.
                let (name, home) =
                    unsafe { (CStr::from_ptr(entry.pw_name), CStr::from_ptr(entry.pw_dir)) };
                return Ok(Some(User {
                    name: name.to_string_lossy().into_owned(),
                    uid: entry.pw_uid,
                    gid: entry.pw_gid,
                    home: PathBuf::from(OsStr::from_bytes(home.to_bytes())),
                }));
            }
            libc::ERANGE if buffer.len() < LARGEST_ENTRY_BYTES => {
                let larger = buffer.len() * 4;
                buffer.resize(larger, 0);
            }
            libc::EINTR => {}
            // What the functions are documented to return instead of "not found" here and there.
            libc::ENOENT | libc::ESRCH | libc::EBADF | libc::EPERM => return Ok(None),
            code => return Err(io::Error::from_raw_os_error(code)),
        }
    }
}

/// Where a user's data are, by the XDG specification: `XDG_DATA_HOME`, else `~/.local/share`; `None` where the
/// environment has neither.
pub fn data_home() -> Option<PathBuf> {
    data_home_of(env::var_os("XDG_DATA_HOME"), env::var_os("HOME"))
}

/// The same of these values of the two variables.
pub fn data_home_of(data_home: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    home_of(data_home, home, ".local/share")
}

/// Where a user's configuration is, likewise: `XDG_CONFIG_HOME`, else `~/.config`.
pub fn config_home() -> Option<PathBuf> {
    home_of(
        env::var_os("XDG_CONFIG_HOME"),
        env::var_os("HOME"),
        ".config",
    )
}

fn home_of(named: Option<OsString>, home: Option<OsString>, below: &str) -> Option<PathBuf> {
    let set = |value: Option<OsString>| value.filter(|value| !value.is_empty()).map(PathBuf::from);
    // The specification has relative paths ignored.
    let named = set(named).filter(|path| path.is_absolute());
    named.or_else(|| set(home).map(|home| home.join(below)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_lie_where_the_specification_has_them() {
        let os = |text: &str| Some(OsString::from(text));
        let of = data_home_of;
        assert_eq!(of(os("/data"), os("/home/me")), Some("/data".into()));
        let at_home = Some("/home/me/.local/share".into());
        assert_eq!(of(os("relative"), os("/home/me")), at_home);
        assert_eq!(of(os(""), os("/home/me")), at_home);
        assert_eq!(of(None, os("/home/me")), at_home);
        assert_eq!(of(None, None), None);
    }

    #[test]
    fn root_is_found_by_name_and_by_id() {
        let root = User::named("root").expect("readable").expect("exists");
        assert_eq!((root.uid, root.gid), (0, 0));
        assert_eq!(User::with_uid(0).expect("readable"), Some(root));
    }

    #[test]
    fn a_user_that_does_not_exist_is_none_and_no_error() {
        assert_eq!(
            User::named("no-such-user-of-pgdyno").expect("readable"),
            None
        );
        assert_eq!(User::named("nul\0inside").expect("readable"), None);
        assert_eq!(User::with_uid(4_000_000_001).expect("readable"), None);
    }

    #[test]
    fn a_child_runs_as_the_user_in_no_other_group() {
        if !is_root() {
            // Only root can change the user; an ordinary user gets an error.
            let root = User::named("root").expect("readable").expect("exists");
            let mut command = Command::new("id");
            run_as(&mut command, &root);
            let error = command.output().expect_err("only root may");
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
            return;
        }
        let nobody = User::named("nobody").expect("readable").expect("exists");
        let mut command = Command::new("id");
        command.current_dir("/");
        run_as(&mut command, &nobody);
        let output = command.output().expect("id runs");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.starts_with(&format!("uid={}", nobody.uid)), "{said}");
        assert!(!said.contains("(root)"), "{said}");
    }
}
