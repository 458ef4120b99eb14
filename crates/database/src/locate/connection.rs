//! Who has the other end of a TCP connection, where a product does not tell its process.

use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use pgdyno_platform::proc::{self, sockets, task};

use super::processes::{Proc, Process};

/// A connection has no process number until the server takes it.
const ACCEPT_LIMIT: Duration = Duration::from_millis(500);

/// The process that has the other end of a new connection to `addr`, if it is of this host and has
/// such a name; else why not, as a clause.
///
/// # Errors
/// There is no connection.
pub fn other_end(
    addr: SocketAddr,
    limit: Duration,
    names: &[&str],
    proc: &Proc,
) -> io::Result<Result<Process, String>> {
    let stream = TcpStream::connect_timeout(&addr, limit)?;
    let near = stream.local_addr()?;
    let near = SocketAddr::new(near.ip().to_canonical(), near.port());
    let begun = Instant::now();
    loop {
        let looked = holder(near, names, proc);
        if looked.is_ok() || begun.elapsed() >= ACCEPT_LIMIT {
            return Ok(looked);
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Which process with such a name has the socket whose other end is `near`. Each is asked in its own
/// network namespace: a container's sockets are not in this one.
fn holder(near: SocketAddr, names: &[&str], proc: &Proc) -> Result<Process, String> {
    let called = proc.called(names);
    for task in &called {
        let sockets = ["net/tcp", "net/tcp6"].map(|file| proc.path(task.pid, file));
        let texts = sockets.iter().filter_map(|path| proc::text(path).ok());
        let sockets = texts.flat_map(|text| sockets::tcp(&text));
        let mut theirs = sockets.filter(|socket| socket.remote == near && !socket.listens);
        if theirs.any(|socket| has(task, &socket, &called, proc)) {
            return Ok(proc.top(task, names));
        }
    }
    let names = names.join(" or ");
    Err(if called.is_empty() {
        format!("no process called {names} can be seen")
    } else {
        format!("no process called {names} has the other end of the connection")
    })
}

/// Whether it is this process's. The files of other users' processes cannot be seen; then it must be
/// its user's, and no other process here can be meant.
fn has(task: &task::Task, socket: &sockets::Tcp, called: &[task::Task], proc: &Proc) -> bool {
    let wanted = format!("socket:[{}]", socket.inode);
    match fs::read_dir(proc.path(task.pid, "fd")) {
        Ok(files) => {
            let mut links = files.filter_map(|file| fs::read_link(file.ok()?.path()).ok());
            links.any(|link| link.as_os_str() == wanted.as_str())
        }
        Err(_) => {
            let of_user = |task: &&task::Task| proc.user(task.pid) == Some(socket.user);
            let only_one = called.iter().filter(of_user).count() == 1;
            socket.inode != 0 && only_one && of_user(&task)
        }
    }
}
