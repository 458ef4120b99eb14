//! The command line as it may be kept: what was typed, ready to be typed again, without secrets.

use pgdyno_spec::secret::{MASK, word_kept};

pub fn of_process() -> String {
    let arguments: Vec<String> = std::env::args_os()
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    masked_line(&arguments)
}

fn masked_line(arguments: &[String]) -> String {
    let mut words = arguments.iter().map(String::as_str);
    let program = words.next().unwrap_or_default();
    // Where the program lies says nothing of the trial.
    let program = program.rsplit('/').next().unwrap_or_default();
    let mut is_password = false;
    let words = words.map(|word| {
        let text = if is_password {
            MASK.to_owned()
        } else {
            word_kept(word)
        };
        is_password = !is_password && word == "--password";
        quoted(&text)
    });
    let words = std::iter::once(quoted(program)).chain(words);
    words.collect::<Vec<_>>().join(" ")
}

/// As a POSIX shell reads it back.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept_of(words: &[&str]) -> String {
        masked_line(
            &words
                .iter()
                .map(|word| (*word).to_owned())
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn a_command_line_can_be_typed_again() {
        assert_eq!(
            kept_of(&[
                "/usr/bin/pgdyno",
                "run",
                "my script.sql",
                "-T",
                "10",
                "it's",
                ""
            ]),
            r"pgdyno run 'my script.sql' -T 10 'it'\''s' ''"
        );
    }

    #[test]
    fn a_password_that_is_an_argument_of_its_own_is_not_kept() {
        let kept = kept_of(&["workload", "run", "--password", "s3cret", "x"]);
        assert!(kept.starts_with("workload run --password "), "{kept}");
        assert!(kept.ends_with(" x") && !kept.contains("s3cret"), "{kept}");
    }

    #[test]
    fn secrets_among_variables_are_not_kept() {
        assert_eq!(
            kept_of(&["pgbench", "-D", "token=s3", "-Dscale=2", "bench"]),
            "pgbench -D 'token=***' -Dscale=2 bench"
        );
    }
}
