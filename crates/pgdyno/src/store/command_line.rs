//! The command line as it may be kept: what was typed, ready to be typed again, without secrets.

/// That of this process.
pub fn of_process() -> String {
    let arguments: Vec<String> = std::env::args_os()
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    kept(&arguments)
}

fn kept(arguments: &[String]) -> String {
    let mut words = arguments.iter().map(String::as_str);
    let program = words.next().unwrap_or_default();
    // Where the program lies says nothing of the trial.
    let program = program.rsplit('/').next().unwrap_or_default();
    let mut is_password = false;
    let words = words.map(|word| {
        let text = if is_password {
            MASK.to_owned()
        } else {
            without_secrets(word)
        };
        is_password = !is_password && word == "--password";
        quoted(&text)
    });
    let words = std::iter::once(quoted(program)).chain(words);
    words.collect::<Vec<_>>().join(" ")
}

/// What stands in a password's place.
const MASK: &str = "***";

/// An argument without the passwords that a URL or a conninfo string in it has.
fn without_secrets(word: &str) -> String {
    let mut text = without_user_password(word);
    // Beside `password` also `sslpassword`, which ends the same; in a URL's query or a conninfo
    // string.
    let mut from = 0;
    while let Some(at) = text[from..].to_ascii_lowercase().find("password") {
        let name_end = from + at + "password".len();
        let rest = &text[name_end..];
        let value = rest.trim_start();
        let Some(value) = value.strip_prefix('=').map(str::trim_start) else {
            from = name_end;
            continue;
        };
        let start = text.len() - value.len();
        let end = start + value_length(value);
        text.replace_range(start..end, MASK);
        from = start + MASK.len();
    }
    text
}

/// How long a value of a conninfo string or of a URL's query is, quotes included.
fn value_length(value: &str) -> usize {
    let mut is_quoted = false;
    let mut chars = value.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            '\'' => is_quoted = !is_quoted,
            '&' | ' ' | '\t' | '\n' if !is_quoted => return at,
            _ => {}
        }
    }
    value.len()
}

/// `postgresql://user:password@host` without the password.
fn without_user_password(word: &str) -> String {
    let Some((scheme, rest)) = word.split_once("://") else {
        return word.to_owned();
    };
    // A password may have any character but those that end the authority; the last @ ends it.
    let end = rest.find('/').unwrap_or(rest.len());
    let Some(at) = rest[..end].rfind('@').or_else(|| rest.rfind('@')) else {
        return word.to_owned();
    };
    match rest[..at].split_once(':') {
        Some((user, _)) => format!("{scheme}://{user}:{MASK}{}", &rest[at..]),
        None => word.to_owned(),
    }
}

/// As a POSIX shell reads it back.
fn quoted(word: &str) -> String {
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
        kept(
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
    fn passwords_are_not_kept_in_whatever_form_they_are_given() {
        for (typed, kept) in [
            (
                "postgresql://me:s3cret@db:5432/b",
                "postgresql://me:***@db:5432/b",
            ),
            ("postgres://me:s3@cret@db/b", "postgres://me:***@db/b"),
            ("postgres://me:s3/cret@db", "postgres://me:***@db"),
            (
                "--url=postgresql://me:s3cret@db",
                "--url=postgresql://me:***@db",
            ),
            (
                "postgresql://db/b?password=s3cret&user=me",
                "postgresql://db/b?password=***&user=me",
            ),
            (
                "host=db password=s3cret user=me",
                "host=db password=*** user=me",
            ),
            (
                "host=db PASSWORD = 's3 cre\\'t' user=me",
                "host=db PASSWORD = *** user=me",
            ),
            ("sslpassword=s3cret", "sslpassword=***"),
            ("postgresql://me@db/b", "postgresql://me@db/b"),
            ("password", "password"),
        ] {
            assert_eq!(without_secrets(typed), kept, "{typed}");
        }
    }

    #[test]
    fn a_password_that_is_an_argument_of_its_own_is_not_kept() {
        let kept = kept_of(&["workload", "run", "--password", "s3cret", "x"]);
        assert!(kept.starts_with("workload run --password "), "{kept}");
        assert!(kept.ends_with(" x") && !kept.contains("s3cret"), "{kept}");
    }
}
