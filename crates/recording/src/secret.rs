//! What must not be recorded: passwords in statements and in connection strings.

/// Whether a statement may have one at all: a quick look that misses none.
pub fn is_suspect(text: &[u8]) -> bool {
    // The rarest letter of the word.
    memchr::memchr2_iter(b'w', b'W', text).any(|at| {
        at.checked_sub(4)
            .and_then(|from| text.get(from..from + WORD.len()))
            .is_some_and(|word| word.eq_ignore_ascii_case(WORD))
    }) || memchr::memmem::find(text, b"://").is_some()
}

const WORD: &[u8] = b"password";

/// Whether what comes before a literal says that the literal is a password: `PASSWORD '…'`.
pub fn is_announced(before: &[u8]) -> bool {
    // The letter of `E'…'` belongs to the literal.
    let word = before.trim_ascii_end();
    let word = word
        .strip_suffix(b"E")
        .or(word.strip_suffix(b"e"))
        .unwrap_or(word);
    let word = word.trim_ascii_end();
    word.len() >= WORD.len() && word[word.len() - WORD.len()..].eq_ignore_ascii_case(WORD)
}

/// Whether a value has one within it: a connection string's, a URL's, a statement's.
pub fn is_within(value: &[u8]) -> bool {
    let after_word = |at: usize| {
        let rest = value[at + WORD.len()..].trim_ascii_start();
        matches!(rest.first(), Some(b'=' | b'\'' | b'"' | b'$'))
    };
    let words = value.windows(WORD.len()).enumerate();
    let mut words = words.filter(|(_, word)| word.eq_ignore_ascii_case(WORD));
    words.any(|(at, _)| after_word(at)) || has_url_with_one(value)
}

/// `scheme://user:password@host`.
fn has_url_with_one(value: &[u8]) -> bool {
    memchr::memmem::find_iter(value, b"://").any(|at| {
        let rest = &value[at + 3..];
        let end = rest.iter().position(|b| b"/ '\"?".contains(b));
        let authority = &rest[..end.unwrap_or(rest.len())];
        let user = memchr::memchr(b'@', authority).map(|at| &authority[..at]);
        user.is_some_and(|user| user.contains(&b':'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_seen_and_columns_of_that_name_are_not() {
        assert!(is_suspect(b"alter role a PaSSword 'x'"));
        assert!(is_suspect(b"select dblink('postgres://a:b@c')"));
        assert!(!is_suspect(b"update w set pass = 1"));
        assert!(is_announced(b"ALTER ROLE a PASSWORD "));
        assert!(is_announced(b"OPTIONS (user \0, password "));
        assert!(is_announced(b"ALTER ROLE a ENCRYPTED PASSWORD E"));
        assert!(!is_announced(b"UPDATE t SET password = "));
        assert!(is_within(b"host=a password = b"));
        assert!(is_within(b"$$ALTER ROLE a PASSWORD 'x'$$"));
        assert!(is_within(b"'postgres://a:b@c/d'"));
        assert!(!is_within(b"'https://a/b:c@d'") && !is_within(b"my password"));
    }
}
