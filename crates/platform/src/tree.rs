//! A directory tree copied without following symbolic links, so that the owner of the source
//! cannot lead root elsewhere.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fchmod, fchown, mkdirat, openat, statat};
use rustix::process::{Gid, Uid};

/// Copies what is in the directory `from` into `to`, an empty directory: regular files and
/// directories with their permissions. `owner` (user and group id) is given all of it, but not `to`
/// itself.
///
/// # Errors
/// A file cannot be read or written, or something is neither a file nor a directory
/// (`InvalidInput`). What was copied until then stays.
pub fn copy_tree(from: &Path, to: &Path, owner: Option<(u32, u32)>) -> io::Result<()> {
    let directory = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = |path: &Path| rustix::fs::open(path, directory, Mode::empty());
    let owner = owner.map(|(user, group)| (Uid::from_raw(user), Gid::from_raw(group)));
    copy_entries(&open(from)?, &open(to)?, owner)
}

fn copy_entries(from: &OwnedFd, to: &OwnedFd, owner: Option<(Uid, Gid)>) -> io::Result<()> {
    for entry in Dir::read_from(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let stat = statat(from, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let mode = Mode::from_raw_mode(stat.st_mode);
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => copy_file(from.as_fd(), to.as_fd(), name, mode, owner)?,
            FileType::Directory => {
                let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let source = openat(from, name, flags, Mode::empty())?;
                mkdirat(to, name, Mode::RWXU)?;
                let copy = openat(to, name, flags, Mode::empty())?;
                copy_entries(&source, &copy, owner)?;
                give(copy.as_fd(), mode, owner)?;
            }
            _ => {
                let what = format!("{name:?} is neither a file nor a directory");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
            }
        }
    }
    Ok(())
}

fn copy_file(
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    name: &CStr,
    mode: Mode,
    owner: Option<(Uid, Gid)>,
) -> io::Result<()> {
    let read = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut source = File::from(openat(from, name, read, Mode::empty())?);
    let create = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let mut copy = File::from(openat(to, name, create, Mode::RUSR | Mode::WUSR)?);
    // In the kernel (copy_file_range(2)): nothing is copied where the file system shares blocks.
    io::copy(&mut source, &mut copy)?;
    give(copy.as_fd(), mode, owner)
}

fn give(copy: BorrowedFd<'_>, mode: Mode, owner: Option<(Uid, Gid)>) -> io::Result<()> {
    if let Some((user, group)) = owner {
        fchown(copy, Some(user), Some(group))?;
    }
    Ok(fchmod(copy, mode)?)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    fn two_directories() -> (tempfile::TempDir, tempfile::TempDir) {
        let dir = || tempfile::tempdir().unwrap();
        (dir(), dir())
    }

    #[test]
    fn files_and_directories_keep_contents_and_permissions() {
        let (from, to) = two_directories();
        fs::create_dir_all(from.path().join("a/b")).unwrap();
        for (name, mode) in [("a/b/secret", 0o600), ("a/open", 0o644), ("empty", 0o640)] {
            let path = from.path().join(name);
            fs::write(&path, name.repeat(mode as usize - 0o600)).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        fs::set_permissions(from.path().join("a/b"), fs::Permissions::from_mode(0o500)).unwrap();
        copy_tree(from.path(), to.path(), None).unwrap();
        let mode = |name: &str| fs::metadata(to.path().join(name)).unwrap().mode() & 0o777;
        for (name, expected) in [("a/b/secret", 0o600), ("a/open", 0o644), ("empty", 0o640)] {
            let [source, copy] = [&from, &to].map(|dir| fs::read(dir.path().join(name)).unwrap());
            assert_eq!(source, copy, "{name}");
            assert_eq!(mode(name), expected, "{name}");
        }
        assert_eq!(mode("a/b"), 0o500);
    }

    #[test]
    fn a_link_is_refused_wherever_it_leads() {
        let (from, to) = two_directories();
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join("secret"), "s").unwrap();
        for target in [elsewhere.path().join("secret"), elsewhere.path().to_owned()] {
            let link = from.path().join("link");
            symlink(&target, &link).unwrap();
            let error = copy_tree(from.path(), to.path(), None).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{target:?}");
            assert!(error.to_string().contains("\"link\""), "{error}");
            assert_eq!(fs::read_dir(to.path()).unwrap().count(), 0);
            fs::remove_file(link).unwrap();
        }
        let link = elsewhere.path().join("directory");
        symlink(from.path(), &link).unwrap();
        copy_tree(&link, to.path(), None).unwrap_err();
    }

    #[test]
    fn what_is_copied_belongs_to_its_owner() {
        let name = "what_is_copied_belongs_to_its_owner";
        if !crate::user::is_root() {
            pgdyno_testkit::skip!(name, "only root gives files away");
        }
        let (from, to) = two_directories();
        fs::create_dir(from.path().join("a")).unwrap();
        fs::write(from.path().join("a/b"), "text").unwrap();
        copy_tree(from.path(), to.path(), Some((65534, 65533))).unwrap();
        for name in ["a", "a/b"] {
            let meta = fs::metadata(to.path().join(name)).unwrap();
            assert_eq!((meta.uid(), meta.gid()), (65534, 65533), "{name}");
        }
    }
}
