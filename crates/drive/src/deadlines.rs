//! When clients want to be woken: a heap, so that a thousand sleeping clients cost nothing.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use pgdyno_platform::clock::Nanos;

/// The deadlines of one event loop's clients. A client has at most one; setting another replaces
/// it, and what was replaced is dropped when it comes up.
#[derive(Debug, Default)]
pub(crate) struct Deadlines {
    heap: BinaryHeap<Reverse<(Nanos, u32)>>,
    /// Each client's deadline, if it has one: what the heap says otherwise is stale.
    set: Vec<Option<Nanos>>,
}

impl Deadlines {
    pub(crate) fn for_clients(count: usize) -> Self {
        Self {
            heap: BinaryHeap::with_capacity(count),
            set: vec![None; count],
        }
    }

    pub(crate) fn set(&mut self, client: u32, at: Nanos) {
        // Said again by a client that was looked at before its time.
        if self.set[client as usize].replace(at) != Some(at) {
            self.heap.push(Reverse((at, client)));
        }
    }

    pub(crate) fn clear(&mut self, client: u32) {
        planted!(13, self.heap.clear());
        self.set[client as usize] = None;
    }

    /// The next deadline of all.
    pub(crate) fn next(&mut self) -> Option<Nanos> {
        while let Some(&Reverse((at, client))) = self.heap.peek() {
            if self.set[client as usize] == Some(at) {
                return Some(at);
            }
            self.heap.pop();
        }
        None
    }

    /// A client whose deadline has come, with that deadline; the deadline is used up.
    pub(crate) fn due(&mut self, now: Nanos) -> Option<(u32, Nanos)> {
        planted!(
            3,
            if self.next() == Some(now) {
                return None;
            }
        );
        let at = self.next().filter(|at| *at <= now)?;
        let Reverse((_, client)) = self.heap.pop()?;
        self.set[client as usize] = None;
        Some((client, at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_come_in_order_and_a_replaced_one_never() {
        let mut deadlines = Deadlines::for_clients(3);
        deadlines.set(0, 30);
        deadlines.set(1, 10);
        deadlines.set(2, 20);
        deadlines.set(1, 40);
        deadlines.clear(2);
        assert_eq!(deadlines.next(), Some(30));
        assert_eq!(deadlines.due(29), None);
        assert_eq!(deadlines.due(35), Some((0, 30)));
        assert_eq!(deadlines.due(100), Some((1, 40)));
        assert_eq!(deadlines.due(100), None);
        assert_eq!(deadlines.next(), None);
    }

    #[test]
    fn setting_the_same_deadline_twice_wakes_once() {
        let mut deadlines = Deadlines::for_clients(1);
        deadlines.set(0, 5);
        deadlines.set(0, 5);
        assert_eq!(deadlines.due(5), Some((0, 5)));
        assert_eq!(deadlines.due(5), None);
    }
}
