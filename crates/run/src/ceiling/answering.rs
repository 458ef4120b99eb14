//! The server that answers at once, in a process of its own. Its socket is made here and given to it as
//! its standard input: clients can connect from the first moment on, and no file is left behind.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use pgdyno_platform::child::{Signal, die_with_parent, new_session, spawn_from_lasting_thread};
use pgdyno_platform::host;
use pgdyno_server::instant;
use pgdyno_spec::Failure;

/// The server's process; dropped, it ends.
pub struct Answering {
    child: Child,
    /// Of its abstract Unix socket.
    name: String,
}

impl Answering {
    /// Starts this program once more, with these arguments: they must lead to [`answer`].
    ///
    /// # Errors
    /// The system gives no socket or process.
    pub fn start(arguments: &[&str]) -> Result<Self, Failure> {
        let failed =
            |e: io::Error| Failure::new(format!("could not start the built-in server: {e}"));
        let name = format!("pgdyno-self-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).map_err(failed)?;
        let listener = UnixListener::bind_addr(&address).map_err(failed)?;
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        // A program that was installed by a compatible command's name would be that command.
        command.arg0("pgdyno").args(arguments);
        command.stdin(Stdio::from(OwnedFd::from(listener)));
        command.stdout(Stdio::null());
        // Ctrl-C is for this process, which ends that one.
        new_session(&mut command);
        die_with_parent(&mut command, Signal::Kill);
        let child = spawn_from_lasting_thread(command).map_err(failed)?;
        Ok(Self { child, name })
    }

    /// Where it is reached: `@` and the name of its abstract Unix socket.
    pub fn socket(&self) -> String {
        format!("@{}", self.name)
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Is that server: answers what connects to the socket that is the standard input, until killed.
///
/// # Errors
/// The standard input is no socket that listens.
pub fn answer() -> Result<(), Failure> {
    let failed = |e: io::Error| Failure::new(format!("the built-in server ended: {e}"));
    let socket = io::stdin().as_fd().try_clone_to_owned().map_err(failed)?;
    instant::serve(UnixListener::from(socket), host::cpus()).map_err(failed)
}
