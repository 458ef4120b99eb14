//! How the engine waits for sockets: the word of `--io`, or of the environment for commands whose
//! command lines are not pgdyno's own.

use pgdyno_platform::io::Choice;

/// The variable that decides where the command line does not.
pub const VARIABLE: &str = "PGDYNO_IO";

/// What a word represents.
///
/// # Errors
/// It is none of them.
pub fn parse(word: &str) -> Result<Choice, String> {
    Choice::named(word).ok_or_else(|| {
        let words = Choice::ALL.map(Choice::name).join(", ");
        format!("\"{word}\" is no way to wait for sockets: it is one of {words}")
    })
}

/// What was asked for on the command line, or else in the environment.
///
/// # Errors
/// The environment has a word that represents nothing.
pub fn asked(on_command_line: Choice) -> Result<Choice, String> {
    decide(on_command_line, std::env::var(VARIABLE).ok().as_deref())
}

fn decide(on_command_line: Choice, in_environment: Option<&str>) -> Result<Choice, String> {
    match in_environment {
        Some(word) if on_command_line == Choice::Auto && !word.is_empty() => {
            parse(word).map_err(|error| format!("{VARIABLE}: {error}"))
        }
        _ => Ok(on_command_line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_decides_where_the_command_line_does_not() {
        assert_eq!(decide(Choice::Auto, None), Ok(Choice::Auto));
        assert_eq!(decide(Choice::Auto, Some("")), Ok(Choice::Auto));
        assert_eq!(decide(Choice::Auto, Some("epoll")), Ok(Choice::Epoll));
        assert_eq!(decide(Choice::Uring, Some("epoll")), Ok(Choice::Uring));
        let error = decide(Choice::Auto, Some("kqueue")).unwrap_err();
        assert!(error.contains("PGDYNO_IO") && error.contains("\"kqueue\""));
        assert!(error.contains("auto, uring, epoll"), "{error}");
    }
}
