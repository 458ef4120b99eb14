//! A terminal that is read key by key, and drawn upon as a whole.

use std::io::{self, Write};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

/// What was typed, as far as it means something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// Return.
    Enter,
    /// Up.
    Up,
    /// Down.
    Down,
    /// Escape, or backspace: the way back.
    Back,
}

/// Standard input and output as a screen of its own: keys come without Return and are not shown, the cursor is
/// hidden. Dropped, it leaves the terminal as it was.
pub struct Screen {
    before: libc::termios,
}

/// The other screen of the terminal, without a cursor; and back.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l";
const LEAVE: &[u8] = b"\x1b[?25h\x1b[?1049l";

impl Screen {
    /// Takes the terminal; `None` when standard input or output is none, or one that cannot move its cursor.
    pub fn open() -> Option<Self> {
        let is_dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb" || term.is_empty());
        if is_dumb || !super::terminal::stdout_is_terminal() {
            return None;
        }
        let mut before = std::mem::MaybeUninit::uninit();
        // SAFETY: tcgetattr writes one termios to the place given, and says whether it did.
        let code = unsafe { libc::tcgetattr(libc::STDIN_FILENO, before.as_mut_ptr()) };
        if code != 0 {
            return None;
        }
        // SAFETY: it was written above.
        let before = unsafe { before.assume_init() };
        let mut by_key = before;
        // Ctrl-C stays what it is.
        by_key.c_lflag &= !(libc::ICANON | libc::ECHO);
        by_key.c_cc[libc::VMIN] = 0;
        by_key.c_cc[libc::VTIME] = 0;
        // SAFETY: it reads one termios.
        let code = unsafe { libc::tcsetattr(libc::STDIN_FILENO, libc::TCSAFLUSH, &by_key) };
        if code != 0 {
            return None;
        }
        let screen = Self { before };
        screen.write(ENTER).ok().map(|()| screen)
    }

    /// Columns and rows; those of a small terminal when it does not say.
    pub fn size(&self) -> (usize, usize) {
        let mut size = libc::winsize {
            ws_row: 0,
            ws_col: 0,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        // SAFETY: TIOCGWINSZ writes one winsize to the valid place given.
        let code = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &mut size) };
        match code == 0 && size.ws_col > 0 && size.ws_row > 0 {
            true => (size.ws_col.into(), size.ws_row.into()),
            false => (80, 24),
        }
    }

    /// Draws these lines, in one piece; what was there below them goes.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn draw(&self, lines: &[String]) -> io::Result<()> {
        let mut text = String::from("\x1b[H");
        for (at, line) in lines.iter().enumerate() {
            if at > 0 {
                text += "\r\n";
            }
            text += line;
            text += "\x1b[K";
        }
        text += "\x1b[J";
        self.write(text.as_bytes())
    }

    /// Waits for keys, an interrupt (`beside` becomes readable) or the end of the time; gives what was typed.
    pub fn keys(&self, beside: BorrowedFd<'_>, timeout: Duration) -> Vec<Key> {
        let timeout = Timespec {
            tv_sec: timeout.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        };
        let input = io::stdin();
        let fds = &mut [
            PollFd::new(&input, PollFlags::IN),
            PollFd::from_borrowed_fd(beside, PollFlags::IN),
        ];
        // A resized terminal interrupts it: it is drawn anew.
        if poll(fds, Some(&timeout)).is_err() || fds[0].revents().is_empty() {
            return Vec::new();
        }
        let mut bytes = [0; 64];
        let fd = input.as_raw_fd();
        // SAFETY: it writes at most so many bytes to the place given.
        let read = unsafe { libc::read(fd, bytes.as_mut_ptr().cast(), bytes.len()) };
        match usize::try_from(read) {
            // Nobody is at the other end any more.
            Ok(0) => vec![Key::Char('q')],
            Ok(read) => keys_of(&bytes[..read]),
            Err(_) => Vec::new(),
        }
    }

    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        out.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.write(LEAVE);
        // SAFETY: it reads one termios. A terminal that is gone needs nothing.
        unsafe { libc::tcsetattr(libc::STDIN_FILENO, libc::TCSAFLUSH, &self.before) };
    }
}

/// Keys by what terminals send for them.
fn keys_of(mut bytes: &[u8]) -> Vec<Key> {
    let mut keys = Vec::new();
    while let [first, rest @ ..] = bytes {
        let (key, rest) = match (first, rest) {
            (0x1b, [b'[' | b'O', b'A', rest @ ..]) => (Some(Key::Up), rest),
            (0x1b, [b'[' | b'O', b'B', rest @ ..]) => (Some(Key::Down), rest),
            // Others that begin so mean nothing here.
            (0x1b, [b'[' | b'O', rest @ ..]) => {
                let end = rest.iter().position(|b| (0x40..=0x7e).contains(b));
                (None, end.map_or(&[][..], |end| &rest[end + 1..]))
            }
            (0x1b | 0x08 | 0x7f, rest) => (Some(Key::Back), rest),
            (b'\r' | b'\n', rest) => (Some(Key::Enter), rest),
            (byte, rest) => {
                let is_char = byte.is_ascii_graphic() || *byte == b' ';
                (is_char.then_some(Key::Char(char::from(*byte))), rest)
            }
        };
        keys.extend(key);
        bytes = rest;
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_known_by_what_terminals_send() {
        let keys = keys_of(b"q\r\x1b[A\x1bOBj\x1b[15~k\x1b");
        let expected = [
            Key::Char('q'),
            Key::Enter,
            Key::Up,
            Key::Down,
            Key::Char('j'),
            Key::Char('k'),
            Key::Back,
        ];
        assert_eq!(keys, expected);
        assert_eq!(keys_of(b"\x03\xff"), [], "control characters are no keys");
    }
}
