//! Whether somebody watches, and how wide the screen is.

use std::io::IsTerminal;

/// Whether standard output is a terminal.
pub fn stdout_is_terminal() -> bool {
    std::io::stdout().is_terminal()
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn what_is_no_terminal_has_no_width() {
        let null = std::fs::File::open("/dev/null").expect("exists");
        assert_eq!(width_of(null.as_raw_fd()), None);
    }

    #[test]
    fn a_terminal_tells_its_width() {
        // A pseudo-terminal stands for the screen.
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
