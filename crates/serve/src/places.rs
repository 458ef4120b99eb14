//! Places for connections: so many at a time. When all are taken and another client comes, the oldest connection that was
//! not kept is hung up: one that is silent, or has shown no token where one is needed.

use std::collections::BTreeMap;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub struct Places {
    max: usize,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    begun: u64,
    /// Connections that are not kept, the oldest first.
    strangers: BTreeMap<u64, TcpStream>,
    known: usize,
}

/// A connection's place, until it is dropped.
pub struct Place {
    number: u64,
    is_known: bool,
    places: Arc<Places>,
}

impl Places {
    pub fn new(max: usize) -> Arc<Self> {
        Arc::new(Self {
            max,
            open: Mutex::default(),
        })
    }

    /// A place for this connection; `None` when all are taken by connections that are kept.
    pub fn take(self: &Arc<Self>, client: &TcpStream) -> Option<Place> {
        let client = client.try_clone().ok()?;
        let mut open = self.open();
        while open.strangers.len() + open.known >= self.max {
            // Its thread wakes up and ends.
            let (_, oldest) = open.strangers.pop_first()?;
            let _ = oldest.shutdown(Shutdown::Both);
        }
        open.begun += 1;
        let number = open.begun;
        open.strangers.insert(number, client);
        drop(open);
        Some(Place {
            number,
            is_known: false,
            places: self.clone(),
        })
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        // Each change leaves it whole.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// From now on the connection is not hung up for another. `false`: its place was given away before.
    pub fn keep(&mut self) -> bool {
        let mut open = self.places.open();
        self.is_known = open.strangers.remove(&self.number).is_some();
        open.known += usize::from(self.is_known);
        self.is_known
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.places.open();
        if self.is_known {
            open.known -= 1
        } else {
            drop(open.strangers.remove(&self.number))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::TcpListener;

    #[test]
    fn connections_without_a_token_make_room_and_those_with_one_stay() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let come = || {
            let client = TcpStream::connect(at).unwrap();
            (client, listener.accept().unwrap().0)
        };
        let places = Places::new(2);
        let (_with_token, its) = come();
        let mut kept = places.take(&its).unwrap();
        assert!(kept.keep());
        let (mut silent, its) = come();
        let mut oldest = places.take(&its).unwrap();
        let (_next, its) = come();
        let mut next = places.take(&its).unwrap();
        // It was hung up, and a token that comes now comes too late.
        assert_eq!(silent.read(&mut [0]).unwrap(), 0);
        assert!(!oldest.keep());
        drop(oldest);
        assert!(next.keep());
        let (_late, its) = come();
        assert!(places.take(&its).is_none(), "both have a token");
        drop(next);
        assert!(places.take(&its).is_some());
        drop(kept);
    }
}
