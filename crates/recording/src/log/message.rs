//! What a message says of statements and sessions. The texts are those of PostgreSQL's source
//! (`tcop/postgres.c`, `tcop/fastpath.c`, `utils/init/postinit.c`), in English (`lc_messages`).

/// A statement of the extended protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extended<'a> {
    /// Of the prepared statement; empty for the unnamed one.
    pub name: &'a [u8],
    pub sql: &'a [u8],
    /// Whether it fetches more rows of a portal.
    pub is_fetch: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What<'a> {
    Simple(&'a [u8]),
    Parse,
    Bind,
    Execute(Extended<'a>),
    Fastpath,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// `log_statement`: it begins.
    Begins(What<'a>),
    /// `log_duration` and `log_min_duration_statement`: it has ended. Without a text it is the one that
    /// began, or a Parse or Bind.
    Ended {
        us: u64,
        what: Option<What<'a>>,
    },
    Received,
    Authorized,
    Replication,
    Disconnected,
    Other,
}

/// Takes a message of severity LOG apart.
pub fn of(text: &[u8]) -> Message<'_> {
    if let Some(rest) = text.strip_prefix(b"duration: ") {
        return ended(rest).unwrap_or(Message::Other);
    }
    if let Some(what) = what(text).filter(|what| !matches!(what, What::Parse | What::Bind)) {
        return Message::Begins(what);
    }
    let is = |begin: &[u8]| text.starts_with(begin);
    match text.first() {
        Some(b'c') if is(b"connection received: ") => Message::Received,
        Some(b'c') if is(b"connection authorized: ") => Message::Authorized,
        Some(b'r') if is(b"replication connection authorized: ") => Message::Replication,
        Some(b'd') if is(b"disconnection: session time: ") => Message::Disconnected,
        _ => Message::Other,
    }
}

/// `0.123 ms  statement: …`.
fn ended(rest: &[u8]) -> Option<Message<'_>> {
    let end = memchr::memchr(b' ', rest)?;
    let us = microseconds(&rest[..end])?;
    let rest = rest[end..].strip_prefix(b" ms")?;
    let what = match rest.strip_prefix(b"  ") {
        Some(text) => Some(what(text)?),
        None if rest.is_empty() => None,
        None => return None,
    };
    Some(Message::Ended { us, what })
}

fn what(text: &[u8]) -> Option<What<'_>> {
    match text.first()? {
        b's' => text.strip_prefix(b"statement: ").map(What::Simple),
        b'e' => {
            let rest = text.strip_prefix(b"execute ")?;
            let (rest, is_fetch) = match rest.strip_prefix(b"fetch from ") {
                Some(rest) => (rest, true),
                None => (rest, false),
            };
            let (name, sql) = named(rest)?;
            Some(What::Execute(Extended {
                name,
                sql,
                is_fetch,
            }))
        }
        b'p' => text
            .strip_prefix(b"parse ")
            .and_then(named)
            .map(|_| What::Parse),
        b'b' => text
            .strip_prefix(b"bind ")
            .and_then(named)
            .map(|_| What::Bind),
        b'f' => text
            .starts_with(b"fastpath function call: ")
            .then_some(What::Fastpath),
        _ => None,
    }
}

/// `NAME/PORTAL: SQL`.
fn named(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = memchr::memmem::find(rest, b": ")?;
    let name = &rest[..colon];
    let name = &name[..memchr::memchr(b'/', name).unwrap_or(name.len())];
    let name = if name == b"<unnamed>" { b"" } else { name };
    Some((name, &rest[colon + 2..]))
}

/// Milliseconds with three decimals.
fn microseconds(text: &[u8]) -> Option<u64> {
    let (whole, part) = match memchr::memchr(b'.', text) {
        Some(point) => (&text[..point], &text[point + 1..]),
        None => (text, &b"0"[..]),
    };
    let number = |digits: &[u8]| {
        let is_number =
            !digits.is_empty() && digits.len() < 16 && digits.iter().all(u8::is_ascii_digit);
        is_number.then(|| {
            digits
                .iter()
                .fold(0, |number, digit| number * 10 + u64::from(digit - b'0'))
        })
    };
    let mut us = number(part)?;
    for _ in part.len()..3 {
        us *= 10;
    }
    (part.len() <= 3).then_some(number(whole)? * 1000 + us)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_taken_apart() {
        let execute = |name: &'static [u8], sql: &'static [u8], is_fetch| {
            What::Execute(Extended {
                name,
                sql,
                is_fetch,
            })
        };
        let ended = |us, what| Message::Ended { us, what };
        for (text, message) in [
            (
                "statement: SELECT 1",
                Message::Begins(What::Simple(b"SELECT 1")),
            ),
            (
                "execute <unnamed>: SELECT $1",
                Message::Begins(execute(b"", b"SELECT $1", false)),
            ),
            (
                "execute S_1/C_2: a: b",
                Message::Begins(execute(b"S_1", b"a: b", false)),
            ),
            (
                "execute fetch from S_1/C_2: a",
                Message::Begins(execute(b"S_1", b"a", true)),
            ),
            ("duration: 1.5 ms", ended(1500, None)),
            (
                "duration: 0.123 ms  statement: x",
                ended(123, Some(What::Simple(b"x"))),
            ),
            (
                "duration: 10.000 ms  parse s: x",
                ended(10_000, Some(What::Parse)),
            ),
            (
                "duration: 10.000 ms  bind s/p: x",
                ended(10_000, Some(What::Bind)),
            ),
            (
                "duration: 2 ms  execute s: x",
                ended(2000, Some(execute(b"s", b"x", false))),
            ),
            (
                "duration: 0.1 ms  fastpath function call: \"f\" (OID 3)",
                ended(100, Some(What::Fastpath)),
            ),
            (
                "fastpath function call: \"f\" (OID 3)",
                Message::Begins(What::Fastpath),
            ),
            ("connection received: host=[local]", Message::Received),
            (
                "connection authorized: user=a database=b",
                Message::Authorized,
            ),
            (
                "replication connection authorized: user=a",
                Message::Replication,
            ),
            (
                "disconnection: session time: 0:00:01.234 user=a",
                Message::Disconnected,
            ),
            ("duration: x ms", Message::Other),
            ("duration: 1 ms  plan: …", Message::Other),
            ("checkpoint starting: time", Message::Other),
        ] {
            assert_eq!(of(text.as_bytes()), message, "{text}");
        }
    }
}
