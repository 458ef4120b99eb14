//! What clients copied into a table through each node. A node ends its COPY only when every node has been given
//! some of it, so that it does not depend on the machine which nodes take part.

use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// So long a node waits for the others; then the test sees who was given nothing.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// Rows by node, the first of which is 1.
pub struct Copied {
    table: Option<&'static str>,
    rows: Mutex<Vec<u64>>,
    changed: Condvar,
}

impl Copied {
    /// Of this table; without one nothing is counted.
    pub fn new(table: Option<&'static str>, nodes: usize) -> Copied {
        Copied {
            table,
            rows: Mutex::new(vec![0; nodes]),
            changed: Condvar::new(),
        }
    }

    /// Whether the statement is a COPY into the table.
    pub fn is_meant(&self, sql: &str) -> bool {
        let mut words = sql.split_whitespace();
        let (copy, table) = (words.next(), words.next());
        self.table.is_some() && copy == Some("COPY") && table == self.table
    }

    /// Data of such a COPY, in its text format.
    pub fn take(&self, node: usize, data: &[u8]) {
        let lines = data.iter().filter(|byte| **byte == b'\n');
        self.lock()[node - 1] += lines.count() as u64;
        self.changed.notify_all();
    }

    /// The end of such a COPY: waits until each node has been given rows.
    pub fn end(&self) {
        let is_missing = |rows: &mut Vec<u64>| rows.contains(&0);
        drop(
            self.changed
                .wait_timeout_while(self.lock(), WAIT_MAX, is_missing),
        );
    }

    pub fn rows(&self) -> Vec<u64> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u64>> {
        self.rows.lock().unwrap_or_else(|e| e.into_inner())
    }
}
