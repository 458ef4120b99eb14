//! Progress of a load, of starting a server, and of reading trials for a page.

/// Sees what is prepared before a trial, or read after it. By default nothing is shown.
pub trait Progress {
    /// Whether nothing but warnings is shown.
    fn is_quiet(&self) -> bool {
        true
    }

    /// What the user should know, shown in any case.
    fn warning(&mut self, _text: &str) {}

    fn step(&mut self, _text: &str) {}

    /// A table begins to be filled.
    fn table(&mut self, _name: &str, _rows_total: u64) {}

    /// So many rows of the table have been sent.
    fn rows(&mut self, _rows: u64) {}

    /// A file of so many bytes begins to be read.
    fn file(&mut self, _name: &str, _bytes_total: u64) {}

    /// So many bytes of the file have been read.
    fn bytes(&mut self, _bytes: u64) {}

    /// The table is filled or the file read, or given up.
    fn table_ends(&mut self) {}

    /// So many trials of so many have been read.
    fn trials_read(&mut self, _trials: usize, _of: usize) {}
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {}

/// Shows of another only warnings.
pub struct WarningsOnly<'a>(pub &'a mut dyn Progress);

impl Progress for WarningsOnly<'_> {
    fn warning(&mut self, text: &str) {
        self.0.warning(text);
    }
}
