//! The bytes of a file, so many at a time.

use std::io::{self, ErrorKind, Read};

const READ_BYTES: usize = 512 << 10;
/// What is longer is no message: a file of another kind, or one with a quote that was torn off.
pub const RECORD_BYTES_MAX: usize = 16 << 20;

pub struct Feed<R> {
    input: R,
    buffer: Vec<u8>,
    /// How much of the buffer was taken, and how much was filled.
    taken: usize,
    filled: usize,
}

impl<R: Read> Feed<R> {
    pub fn new(input: R) -> Self {
        Self {
            input,
            buffer: Vec::new(),
            taken: 0,
            filled: 0,
        }
    }

    /// What is at hand.
    pub fn rest(&self) -> &[u8] {
        &self.buffer[self.taken..self.filled]
    }

    pub fn take(&mut self, bytes: usize) {
        self.taken = (self.taken + bytes).min(self.filled);
    }

    /// Reads more; `false` at the end.
    pub fn more(&mut self) -> io::Result<bool> {
        self.buffer.copy_within(self.taken..self.filled, 0);
        self.filled -= self.taken;
        self.taken = 0;
        // A long message is not looked through again for each piece.
        let room = READ_BYTES.max(self.filled);
        if self.buffer.len() < self.filled + room {
            self.buffer.resize(self.filled + room, 0);
        }
        loop {
            match self.input.read(&mut self.buffer[self.filled..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(read) => {
                    self.filled += read;
                    return Ok(read > 0);
                }
            }
        }
    }

    /// The length of the next line with its end, or of what is left; 0 at the end.
    pub fn line(&mut self) -> io::Result<usize> {
        let mut looked = 0;
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.rest()[looked..]) {
                return Ok(looked + at + 1);
            }
            looked = self.rest().len();
            if looked > RECORD_BYTES_MAX || !self.more()? {
                return Ok(looked);
            }
        }
    }
}
