//! Programs of Debian's packages.

use std::path::Path;
use std::process::Command;

/// Makes sure that programs are here; as root it installs the packages that have them.
///
/// # Errors
/// Why they are not here: the reason to skip a test.
pub fn debian(programs: &[&str], packages: &[&str]) -> Result<(), String> {
    let missing = || {
        let mut missing = programs.iter().filter(|program| !is_here(program));
        missing.next().map(|program| format!("no {program} here"))
    };
    let Some(reason) = missing() else {
        return Ok(());
    };
    if !pgdyno_platform::user::is_root() {
        let packages = packages.join(" ");
        return Err(format!("{reason}, and only root installs {packages}"));
    }
    // Another apt-get may be at work. A new machine has no lists of packages yet.
    let install = ["install", "-y", "--no-install-recommends"];
    let patience = ["-o", "DPkg::Lock::Timeout=300"];
    let install = [&install[..], &patience, packages].concat();
    apt_get(&install)
        .or_else(|_| apt_get(&["update"]).and_then(|()| apt_get(&install)))
        .map_err(|e| format!("{reason}: {e}"))?;
    missing().map_or(Ok(()), Err)
}

/// Also where root's PATH alone has it.
fn is_here(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let more = ["/usr/sbin", "/sbin"].map(|dir| Path::new(dir).to_owned());
    let mut dirs = std::env::split_paths(&path).chain(more);
    dirs.any(|dir| dir.join(program).is_file())
}

fn apt_get(args: &[&str]) -> Result<(), String> {
    let mut command = Command::new("apt-get");
    command.arg("-qq").args(args);
    let output = command.env("DEBIAN_FRONTEND", "noninteractive").output();
    let output = output.map_err(|e| format!("apt-get: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().last().unwrap_or_default();
    Err(format!("apt-get {}: {last}", args[0]))
}
