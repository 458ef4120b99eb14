//! A request of HTTP/1.1, as far as browsers and curl send them: one on a connection, within limits.

use std::io::{self, Read};

use percent_encoding::percent_decode_str;

use crate::answer::Answer;

const HEAD_BYTES_MAX: usize = 16 << 10;
const BODY_BYTES_MAX: usize = 64 << 10;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Request {
    pub method: String,
    /// The path without its query, not decoded.
    pub path: String,
    /// The query's parameters, decoded, in their order.
    pub query: Vec<(String, String)>,
    headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    /// Reads one. `None`: the client said nothing, or left.
    ///
    /// # Errors
    /// What to answer when it is none, or too large.
    pub fn read(client: &mut impl Read) -> Result<Option<Self>, Answer> {
        let mut bytes = Vec::new();
        let mut buffer = [0; 4096];
        let head_bytes = loop {
            if let Some(at) = bytes.windows(4).position(|end| end == b"\r\n\r\n") {
                break at;
            }
            if bytes.len() > HEAD_BYTES_MAX {
                return Err(Answer::text(431, "the request's headers are too large"));
            }
            match client.read(&mut buffer) {
                Ok(0) => return Ok(None),
                Ok(count) => bytes.extend_from_slice(&buffer[..count]),
                Err(e) if is_late(&e) && !bytes.is_empty() => return Err(late()),
                Err(_) => return Ok(None),
            }
        };
        if head_bytes > HEAD_BYTES_MAX {
            return Err(Answer::text(431, "the request's headers are too large"));
        }
        let malformed = || Answer::text(400, "this is not an HTTP/1.1 request");
        let head = std::str::from_utf8(&bytes[..head_bytes]).map_err(|_| malformed())?;
        let mut request = Self::of_head(head).ok_or_else(malformed)?;
        let length = request.length()?;
        request.body = bytes.split_off(head_bytes + 4);
        while request.body.len() < length {
            match client.read(&mut buffer) {
                Ok(0) => return Ok(None),
                Ok(count) => request.body.extend_from_slice(&buffer[..count]),
                Err(e) if is_late(&e) => return Err(late()),
                Err(_) => return Ok(None),
            }
        }
        request.body.truncate(length);
        Ok(Some(request))
    }

    fn of_head(head: &str) -> Option<Self> {
        let mut lines = head.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        if !version.starts_with("HTTP/1.") || words.next().is_some() || !target.starts_with('/') {
            return None;
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let header = |line: &str| {
            let (name, value) = line.split_once(':')?;
            let is_name = !name.is_empty() && !name.contains(char::is_whitespace);
            is_name.then(|| (name.to_ascii_lowercase(), value.trim().to_owned()))
        };
        Some(Self {
            method: method.to_owned(),
            path: path.to_owned(),
            query: parameters(query),
            headers: lines.map(header).collect::<Option<_>>()?,
            body: Vec::new(),
        })
    }

    /// How many bytes follow the headers.
    fn length(&self) -> Result<usize, Answer> {
        if self.header("transfer-encoding").is_some() {
            let text = "the length of the body must be said: Content-Length";
            return Err(Answer::text(411, text));
        }
        let length = match self.header("content-length") {
            None => 0,
            Some(text) => text
                .parse()
                .map_err(|_| Answer::text(400, "Content-Length is no number"))?,
        };
        if length > BODY_BYTES_MAX {
            Err(Answer::text(413, "the request's body is too large"))
        } else {
            Ok(length)
        }
    }

    /// A header's value by its lowercase name; `None` also when it is there twice.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        let first = found.next().map(|(_, value)| value.as_str());
        first.filter(|_| found.next().is_none())
    }

    /// All values of a header, with commas between; empty where it is not there.
    pub fn headers(&self, name: &str) -> String {
        let found = self.headers.iter().filter(|(known, _)| known == name);
        let values: Vec<&str> = found.map(|(_, value)| value.as_str()).collect();
        values.join(",")
    }

    /// A parameter of the query that says something.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let mut all = self.query.iter();
        let found = all.find(|(known, _)| known == name);
        found
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }

    pub fn parts(&self) -> Vec<String> {
        let parts = self.path.split('/').skip(1);
        parts
            .map(|part| percent_decode_str(part).decode_utf8_lossy().into_owned())
            .collect()
    }

    /// The cookie of this name.
    pub fn cookie(&self, name: &str) -> Option<&str> {
        let cookies = self.header("cookie")?.split(';');
        let mut pairs = cookies.filter_map(|pair| pair.trim().split_once('='));
        pairs
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    }
}

fn is_late(e: &io::Error) -> bool {
    matches!(
        e.kind(),
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock
    )
}

fn late() -> Answer {
    Answer::text(408, "the request took too long to come")
}

fn parameters(query: &str) -> Vec<(String, String)> {
    let decoded = |text: &str| {
        let text = text.replace('+', " ");
        percent_decode_str(&text).decode_utf8_lossy().into_owned()
    };
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (decoded(name), decoded(value)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<Request>, u16> {
        Request::read(&mut text.as_bytes()).map_err(|answer| answer.status)
    }

    #[test]
    fn a_request_is_read_with_what_forms_and_browsers_write() {
        let text = "POST /trial/a%20b/tag?q=x+y%26z&n HTTP/1.1\r\nHost: h:1\r\nCookie: a=1; b=2\r\n\
                    Content-Length: 3\r\n\r\nabcd";
        let request = read(text).unwrap().unwrap();
        assert_eq!(request.method, "POST");
        assert_eq!(request.parts(), ["trial", "a b", "tag"]);
        assert_eq!(request.parameter("q"), Some("x y&z"));
        assert_eq!(request.parameter("n"), None);
        assert_eq!(
            (request.header("host"), request.cookie("b")),
            (Some("h:1"), Some("2"))
        );
        assert_eq!(request.body, b"abc");
    }

    #[test]
    fn what_is_no_request_or_too_large_is_refused() {
        let long = "x".repeat(HEAD_BYTES_MAX);
        let cases = [
            ("nonsense\r\n\r\n".to_owned(), 400),
            ("GET http://elsewhere/ HTTP/1.1\r\n\r\n".to_owned(), 400),
            ("GET / HTTP/2\r\n\r\n".to_owned(), 400),
            ("GET / HTTP/1.1\r\nno header\r\n\r\n".to_owned(), 400),
            (format!("GET /{long} HTTP/1.1\r\n\r\n"), 431),
            (
                "POST / HTTP/1.1\r\nContent-Length: 65537\r\n\r\n".to_owned(),
                413,
            ),
            (
                "POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n".to_owned(),
                400,
            ),
            (
                "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned(),
                411,
            ),
        ];
        for (text, status) in cases {
            assert_eq!(read(&text), Err(status), "{text:.40}");
        }
        for left in [
            "",
            "GET / HT",
            "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nab",
        ] {
            assert_eq!(read(left), Ok(None), "{left}");
        }
        let twice = "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n";
        let twice = read(twice).unwrap().unwrap();
        assert_eq!(
            (twice.header("host"), twice.headers("host")),
            (None, "a,b".to_owned())
        );
    }
}
