//! Whether output goes to a terminal, and its width.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::os::fd::AsRawFd;

/// Whether standard output is a terminal.
pub fn stdout_is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Whether standard input is a terminal.
pub fn stdin_is_terminal() -> bool {
    std::io::stdin().is_terminal()
}

/// Whether standard error is a terminal.
pub fn stderr_is_terminal() -> bool {
    std::io::stderr().is_terminal()
}

/// Width in columns of the terminal that standard error or standard output shows on; `None`
/// when neither is a terminal or it does not say.
pub fn width() -> Option<u16> {
    [libc::STDERR_FILENO, libc::STDOUT_FILENO]
        .into_iter()
        .find_map(width_of)
}

fn width_of(fd: libc::c_int) -> Option<u16> {
    let mut size = libc::winsize {
        ws_row: 0,
        ws_col: 0,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: TIOCGWINSZ writes one winsize to the valid place given.
    let code = unsafe { libc::ioctl(fd, libc::TIOCGWINSZ, &mut size) };
    (code == 0 && size.ws_col > 0).then_some(size.ws_col)
}

/// Asks for a line at the terminal without showing what is typed; where there is no terminal, at
/// standard error and input.
///
/// # Errors
/// Neither can be read.
pub fn ask_password(prompt: &str) -> io::Result<String> {
    let terminal = File::options().read(true).write(true).open("/dev/tty");
    let Ok(terminal) = terminal else {
        io::stderr().write_all(prompt.as_bytes())?;
        let mut line = String::new();
        io::stdin().read_line(&mut line)?;
        io::stderr().write_all(b"\n")?;
        return Ok(without_line_end(line));
    };
    // First, so that nothing is shown of an answer that comes at once.
    let hidden = Hidden::new(&terminal);
    (&terminal).write_all(prompt.as_bytes())?;
    let mut line = String::new();
    let read = BufReader::new(&terminal).read_line(&mut line);
    drop(hidden);
    // The line end that was typed was not shown either.
    (&terminal).write_all(b"\n")?;
    read.map(|_| without_line_end(line))
}

fn without_line_end(mut line: String) -> String {
    line.truncate(line.trim_end_matches(['\n', '\r']).len());
    line
}

/// A terminal that does not show what is typed until this is dropped.
struct Hidden<'a> {
    terminal: &'a File,
    before: libc::termios,
}

impl<'a> Hidden<'a> {
    /// `None` when it is no terminal.
    fn new(terminal: &'a File) -> Option<Self> {
        let mut before = std::mem::MaybeUninit::uninit();
        // SAFETY: tcgetattr writes one termios to the place given, and says whether it did.
        let code = unsafe { libc::tcgetattr(terminal.as_raw_fd(), before.as_mut_ptr()) };
        if code != 0 {
            return None;
        }
        // SAFETY: it was written above.
        let before = unsafe { before.assume_init() };
        let mut silent = before;
        silent.c_lflag &= !libc::ECHO;
        let hidden = Self { terminal, before };
        hidden.set(&silent);
        Some(hidden)
    }

    fn set(&self, how: &libc::termios) {
        // SAFETY: it reads one termios. A terminal that refuses shows what is typed; a password can
        // still be given.
        unsafe { libc::tcsetattr(self.terminal.as_raw_fd(), libc::TCSAFLUSH, how) };
    }
}

impl Drop for Hidden<'_> {
    fn drop(&mut self) {
        self.set(&self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_terminal_has_no_width() {
        let null = std::fs::File::open("/dev/null").expect("exists");
        assert_eq!(width_of(null.as_raw_fd()), None);
    }

    #[test]
    fn a_terminal_tells_its_width() {
        // A pseudo-terminal in place of the screen.
        let (mut master, mut slave) = (0, 0);
        let size = libc::winsize {
            ws_row: 24,
            ws_col: 91,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        // SAFETY: the two descriptors and the size are valid places; no name or attributes.
        let code = unsafe {
            libc::openpty(
                &mut master,
                &mut slave,
                std::ptr::null_mut(),
                std::ptr::null(),
                &size,
            )
        };
        assert_eq!(code, 0, "{}", std::io::Error::last_os_error());
        assert_eq!(width_of(slave), Some(91));
        // SAFETY: both were opened above and are used no more.
        unsafe {
            libc::close(master);
            libc::close(slave);
        }
    }
}
