//! Times that are known to the second (`%t`): the messages of a second are spread over it, in their order.

use std::collections::VecDeque;
use std::io;

use super::entry::{Entries, Entry, Lost};

/// More messages of a second are left at its end.
const ENTRIES_MAX: usize = 50_000;
const SECOND_US: i64 = 1_000_000;

pub struct Spread<E> {
    entries: E,
    second: VecDeque<Entry>,
    /// The first one of the second after.
    ahead: Option<Entry>,
    last_us: i64,
}

impl<E: Entries> Spread<E> {
    pub fn new(entries: E) -> Self {
        Self {
            entries,
            second: VecDeque::new(),
            ahead: None,
            last_us: i64::MIN,
        }
    }

    /// Reads the messages of one second.
    fn read_second(&mut self) -> io::Result<()> {
        let mut second = self.ahead.take();
        loop {
            let mut entry = Entry::default();
            if !self.entries.next(&mut entry)? {
                self.second.extend(second);
                break;
            }
            let is_over = second
                .as_ref()
                .is_some_and(|second| second.time_us != entry.time_us);
            if let Some(before) = second.replace(entry) {
                self.second.push_back(before);
            }
            if is_over || self.second.len() >= ENTRIES_MAX {
                self.ahead = second;
                break;
            }
        }
        let count = self.second.len() as i64;
        for (number, entry) in (0..).zip(&mut self.second) {
            entry.time_us = self.last_us.max(entry.time_us + number * SECOND_US / count);
            self.last_us = entry.time_us;
        }
        Ok(())
    }
}

impl<E: Entries> Entries for Spread<E> {
    fn next(&mut self, entry: &mut Entry) -> io::Result<bool> {
        if self.second.is_empty() {
            self.read_second()?;
        }
        match self.second.pop_front() {
            Some(next) => *entry = next,
            None => return Ok(false),
        }
        Ok(true)
    }

    fn lost(&self) -> Lost {
        self.entries.lost()
    }
}
