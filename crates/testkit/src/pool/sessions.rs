//! The server's sessions, and who has them: at most so many of each user and database, given out in
//! the order in which clients ask.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Write};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::startup::{Refusal, Startup, Welcome, begin};
use crate::Upstream;
use crate::upstream::{Socket, connect};

const CANCEL_REQUEST: u32 = (1234 << 16) | 5678;

/// All pools of a proxy.
#[derive(Debug)]
pub(super) struct Pools {
    server: Upstream,
    sessions_max: usize,
    by_name: Mutex<HashMap<(String, String), Arc<Pool>>>,
    /// The server's key for each client that has a session, by the client's own key.
    cancel_keys: Mutex<HashMap<Vec<u8>, Vec<u8>>>,
    clients: AtomicU32,
    waited: AtomicU64,
}

/// The sessions of one user and database.
#[derive(Debug)]
pub(super) struct Pool {
    startup: Startup,
    places: Mutex<Places>,
}

#[derive(Debug)]
struct Places {
    free: Vec<Session>,
    /// How many more may be opened.
    unopened: usize,
    /// Clients without a session, the first that came first. They are sent a session, or nothing:
    /// they may open one.
    waiting: VecDeque<Sender<Option<Session>>>,
    /// How the server has welcomed its last session.
    welcome: Option<Welcome>,
}

/// A session of the server, outside of a transaction.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) socket: Socket,
    pub(super) key: Vec<u8>,
}

impl Session {
    /// Whether the server has not closed it.
    fn is_open(&self) -> bool {
        let mut fds = [PollFd::new(&self.socket, PollFlags::RDHUP)];
        let at_once = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        poll(&mut fds, Some(&at_once)).is_ok() && fds[0].revents().is_empty()
    }
}

impl Pools {
    pub(super) fn new(server: Upstream, sessions_max: usize) -> Pools {
        Pools {
            server,
            sessions_max,
            by_name: Mutex::default(),
            cancel_keys: Mutex::default(),
            clients: AtomicU32::new(0),
            waited: AtomicU64::new(0),
        }
    }

    /// How many transactions had to wait.
    pub(super) fn waited(&self) -> u64 {
        self.waited.load(Ordering::Relaxed)
    }

    /// The pool for this startup message.
    pub(super) fn pool(&self, startup: Startup) -> Arc<Pool> {
        let mut pools = lock(&self.by_name);
        let pool = pools.entry(startup.user_and_database.clone());
        let pool = pool.or_insert_with(|| {
            Arc::new(Pool {
                startup,
                places: Mutex::new(Places {
                    free: Vec::new(),
                    unopened: self.sessions_max,
                    waiting: VecDeque::new(),
                    welcome: None,
                }),
            })
        });
        Arc::clone(pool)
    }

    /// What the server says to a new client, with a key of the client's own; of an earlier session
    /// where there is one.
    pub(super) fn welcome(&self, pool: &Pool) -> Result<(Welcome, Vec<u8>), Refusal> {
        let known = lock(&pool.places).welcome.clone();
        let welcome = match known {
            Some(welcome) => welcome,
            None => {
                let session = self.take(pool)?;
                pool.give_back(Some(session));
                let welcome = lock(&pool.places).welcome.clone();
                welcome.ok_or(Refusal::Io)?
            }
        };
        let number = self.clients.fetch_add(1, Ordering::Relaxed) + 1;
        // A process number and a secret, for tests: it need not be hard to guess.
        let key = [number.to_be_bytes(), (!number).to_be_bytes()].concat();
        Ok((welcome, key))
    }

    /// A session for the next transaction: waits until there is one.
    pub(super) fn take(&self, pool: &Pool) -> Result<Session, Refusal> {
        loop {
            let next = {
                let mut places = lock(&pool.places);
                match places.free.pop() {
                    Some(session) => Ok(Some(session)),
                    None if places.unopened > 0 => {
                        places.unopened -= 1;
                        Ok(None)
                    }
                    None => {
                        let (sender, receiver) = channel();
                        places.waiting.push_back(sender);
                        Err(receiver)
                    }
                }
            };
            let session = match next {
                Ok(session) => session,
                Err(receiver) => {
                    self.waited.fetch_add(1, Ordering::Relaxed);
                    receiver.recv().map_err(|_| Refusal::Io)?
                }
            };
            match session {
                Some(session) if session.is_open() => return Ok(session),
                Some(_) => pool.give_back(None),
                None => return self.open(pool).inspect_err(|_| pool.give_back(None)),
            }
        }
    }

    fn open(&self, pool: &Pool) -> Result<Session, Refusal> {
        let mut socket = connect(&self.server)?;
        let welcome = begin(&mut socket, &pool.startup)?;
        socket.set_nonblocking(true)?;
        let key = welcome.key.clone();
        lock(&pool.places).welcome = Some(welcome);
        Ok(Session { socket, key })
    }

    /// Notes whose statements a client's key cancels; none when it has no session.
    pub(super) fn set_cancel_key(&self, client: &[u8], session: Option<&[u8]>) {
        let mut keys = lock(&self.cancel_keys);
        match session {
            Some(key) => keys.insert(client.to_vec(), key.to_vec()),
            None => keys.remove(client),
        };
    }

    /// Hands on a client's request to cancel, if the client has a session.
    pub(super) fn cancel(&self, client: &[u8]) -> io::Result<()> {
        let Some(key) = lock(&self.cancel_keys).get(client).cloned() else {
            return Ok(());
        };
        let length = (8 + key.len() as u32).to_be_bytes();
        let request = [&length, &CANCEL_REQUEST.to_be_bytes(), &key[..]].concat();
        let mut server = connect(&self.server)?;
        server.write_all(&request)?;
        // The server closes when it has passed the request on.
        io::copy(&mut server, &mut io::sink()).map(|_| ())
    }
}

impl Pool {
    /// Gives a session to who waits longest; or, where it has ended, the leave to open another.
    pub(super) fn give_back(&self, mut session: Option<Session>) {
        let mut places = lock(&self.places);
        while let Some(first) = places.waiting.pop_front() {
            match first.send(session) {
                Ok(()) => return,
                Err(back) => session = back.0,
            }
        }
        match session {
            Some(session) => places.free.push(session),
            None => places.unopened += 1,
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing under these locks panics half way.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
