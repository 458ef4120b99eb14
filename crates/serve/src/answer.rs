//! An answer of HTTP/1.1 with what every answer says to the browser: never guess a type, frame nothing, tell
//! no other page where one came from, keep no copy.

use std::io::{self, Write};

use pgdyno_spec::{Exit, Failure};
use serde_json::{Value, json};

/// Of answers that load nothing.
const NOTHING: &str =
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    kind: &'static str,
    /// What its content may load.
    policy: String,
    more: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Answer {
    pub fn text(status: u16, text: &str) -> Self {
        let body = format!("{text}\n").into_bytes();
        Self::new(status, "text/plain; charset=utf-8", body)
    }

    /// An answer to an action.
    pub fn json(status: u16, document: &Value) -> Self {
        Self::new(
            status,
            "application/json",
            document.to_string().into_bytes(),
        )
    }

    /// A page that may load what its policy says.
    pub fn page(html: String, policy: String) -> Self {
        Self {
            policy,
            ..Self::new(200, "text/html; charset=utf-8", html.into_bytes())
        }
    }

    /// Opens the same address again, as this server's own link.
    pub fn again() -> Self {
        let html = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
                    <meta http-equiv=\"refresh\" content=\"0\"><title>pgdyno</title>";
        Self::new(200, "text/html; charset=utf-8", html.into())
    }

    pub fn new(status: u16, kind: &'static str, body: Vec<u8>) -> Self {
        Self {
            status,
            kind,
            policy: NOTHING.to_owned(),
            more: Vec::new(),
            body,
        }
    }

    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.more.push((name, value.into()));
        self
    }

    /// A refusal as an action's answer.
    pub fn in_json(self) -> Self {
        if self.status < 400 {
            return self;
        }
        let text = String::from_utf8_lossy(&self.body);
        let error = json!({ "error": text.trim_end(), "hints": [] });
        Self {
            more: self.more,
            ..Self::json(self.status, &error)
        }
    }

    /// What was refused or did not work, in the form in which was asked.
    pub fn error(status: u16, error: &str, hints: &[String], as_json: bool) -> Self {
        if as_json {
            return Self::json(status, &json!({ "error": error, "hints": hints }));
        }
        let hints = hints.iter().map(|hint| format!("\n{hint}"));
        Self::text(status, &(error.to_owned() + &hints.collect::<String>()))
    }

    /// Of a failure: what was asked for is not there, or the notebook cannot be used now.
    pub fn failed(failure: &Failure, as_json: bool) -> Self {
        let (status, after) = match failure.exit {
            Exit::Usage => (404, None),
            _ => (503, Some("2")),
        };
        let answer = Self::error(status, &failure.message, &failure.hints, as_json);
        match after {
            Some(seconds) => answer.with("Retry-After", seconds),
            None => answer,
        }
    }

    /// Sends it.
    ///
    /// # Errors
    /// The client has left, or does not read.
    pub fn send(&self, client: &mut impl Write) -> io::Result<()> {
        let mut bytes = self.head(Some(self.body.len()));
        bytes.extend_from_slice(&self.body);
        client.write_all(&bytes)?;
        client.flush()
    }

    /// Begins a stream of server-sent events.
    ///
    /// # Errors
    /// The client has left, or does not read.
    pub fn begin_events(client: &mut impl Write) -> io::Result<()> {
        client.write_all(&Self::new(200, "text/event-stream", Vec::new()).head(None))?;
        client.flush()
    }

    fn head(&self, length: Option<usize>) -> Vec<u8> {
        let mut head = format!(
            "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Security-Policy: {}\r\n\
             X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n\
             Referrer-Policy: no-referrer\r\nCross-Origin-Opener-Policy: same-origin\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\nCache-Control: no-store\r\n\
             Connection: close\r\n",
            self.status,
            reason(self.status),
            self.kind,
            self.policy
        );
        for (name, value) in &self.more {
            // No text of others can begin a header of its own.
            let value = value.replace(['\r', '\n'], " ");
            head += &format!("{name}: {value}\r\n");
        }
        if let Some(length) = length {
            head += &format!("Content-Length: {length}\r\n");
        }
        (head + "\r\n").into_bytes()
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        303 => "See Other",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        411 => "Length Required",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Error",
    }
}
