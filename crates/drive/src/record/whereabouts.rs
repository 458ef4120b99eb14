//! Where the clients of a thread are, and since when.

use pgdyno_measurement::{Activity, ClientTime};
use pgdyno_platform::clock::Nanos;

/// How many clients of a thread are where, since when. A client that moves costs a few additions; one
/// that goes from statement to statement costs nothing.
#[derive(Debug, Default)]
pub(crate) struct Whereabouts {
    clients: [u64; Activity::ALL.len()],
    since: Nanos,
}

impl Whereabouts {
    /// So many clients begin at once.
    pub(crate) fn begin(&mut self, clients: usize, at: Nanos) {
        self.clients = [0; Activity::ALL.len()];
        self.clients[Activity::Statement as usize] = clients as u64;
        self.since = at;
    }

    /// Books the time up to now. Times do not go back: what was booked up to then stays.
    pub(crate) fn book(&mut self, now: Nanos, time: &mut ClientTime) {
        let passed = now.saturating_sub(self.since);
        if passed > 0 {
            for (at_ns, clients) in time.at_ns.iter_mut().zip(self.clients) {
                *at_ns += clients * passed;
            }
            self.since = now;
        }
    }

    /// A client goes from one place to another; to none when it has ended.
    pub(crate) fn go(&mut self, from: Option<Activity>, to: Option<Activity>) {
        if let Some(from) = from {
            self.clients[from as usize] -= 1;
        }
        if let Some(to) = to {
            self.clients[to as usize] += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_places_add_up_to_the_clients_time() {
        let (mut places, mut time) = (Whereabouts::default(), ClientTime::default());
        places.begin(3, 100);
        places.book(110, &mut time);
        places.go(Some(Activity::Statement), Some(Activity::Think));
        places.book(130, &mut time);
        // A clock that was read before the last booking.
        places.book(120, &mut time);
        places.go(Some(Activity::Statement), None);
        places.book(200, &mut time);
        assert_eq!(time.at(Activity::Statement), 30 + 2 * 20 + 70);
        assert_eq!(time.at(Activity::Think), 20 + 70);
        assert_eq!(time.all_ns(), 3 * 100 - 70);
    }
}
