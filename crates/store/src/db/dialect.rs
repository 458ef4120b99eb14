//! What servers write differently in statements.

/// `?` and `?1` as `$1`, outside of quoted text.
pub fn numbered(sql: &str) -> String {
    let mut out = String::with_capacity(sql.len() + 16);
    let (mut is_quoted, mut count) = (false, 0);
    let mut rest = sql.chars().peekable();
    while let Some(c) = rest.next() {
        is_quoted ^= c == '\'';
        if c != '?' || is_quoted {
            out.push(c);
            continue;
        }
        let mut number = String::new();
        while let Some(digit) = rest.next_if(char::is_ascii_digit) {
            number.push(digit);
        }
        if number.is_empty() {
            count += 1;
            number = count.to_string();
        }
        out.push('$');
        out.push_str(&number);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_numbered_outside_of_texts() {
        let sql = "SELECT '?', a FROM t WHERE b = ? AND c = ? AND d = 'it''s ?'";
        let numbers = "SELECT '?', a FROM t WHERE b = $1 AND c = $2 AND d = 'it''s ?'";
        assert_eq!(numbered(sql), numbers);
        assert_eq!(numbered("?1 + ?12 + ?1"), "$1 + $12 + $1");
    }
}
