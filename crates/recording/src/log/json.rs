//! jsonlog (PostgreSQL 15 and later): an object a line.

use std::borrow::Cow;
use std::io::{self, Read};

use serde::Deserialize;

use super::entry::{Entries, Entry, Lost, Severity};
use super::feed::Feed;
use super::time::Clock;

pub struct Json<R> {
    feed: Feed<R>,
    clock: Clock,
    start_clock: Clock,
    lost: Lost,
}

/// Keys that are empty are left out by the server.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Line<'a> {
    #[serde(borrow)]
    timestamp: Cow<'a, str>,
    #[serde(borrow)]
    user: Cow<'a, str>,
    #[serde(borrow)]
    dbname: Cow<'a, str>,
    #[serde(borrow)]
    session_id: Cow<'a, str>,
    #[serde(borrow)]
    session_start: Cow<'a, str>,
    #[serde(borrow)]
    error_severity: Cow<'a, str>,
    #[serde(borrow)]
    state_code: Cow<'a, str>,
    #[serde(borrow)]
    message: Cow<'a, str>,
    #[serde(borrow)]
    detail: Cow<'a, str>,
    #[serde(borrow)]
    context: Cow<'a, str>,
    #[serde(borrow)]
    statement: Cow<'a, str>,
    #[serde(borrow)]
    application_name: Cow<'a, str>,
}

impl<R: Read> Json<R> {
    pub fn new(feed: Feed<R>) -> Self {
        Self {
            feed,
            clock: Clock::default(),
            start_clock: Clock::default(),
            lost: Lost::default(),
        }
    }
}

impl<R: Read> Entries for Json<R> {
    fn next(&mut self, entry: &mut Entry) -> io::Result<bool> {
        loop {
            let length = self.feed.line()?;
            if length == 0 {
                return Ok(false);
            }
            let bytes = &self.feed.rest()[..length];
            // Text of another encoding than UTF-8 is written as it is.
            let text = String::from_utf8_lossy(bytes);
            let line: Option<Line<'_>> = serde_json::from_str(&text).ok();
            let moment = line
                .as_ref()
                .and_then(|line| self.clock.read(line.timestamp.as_bytes()));
            if let (Some(line), Some(moment)) = (line, moment) {
                entry.clear();
                entry.time_us = moment.us;
                self.lost.zones += u64::from(!moment.is_zone_known);
                let start = self.start_clock.read(line.session_start.as_bytes());
                entry.session_start_us = start.map(|moment| moment.us);
                entry.severity = Severity::of(line.error_severity.as_bytes());
                entry.state = line.state_code.as_bytes().try_into().ok();
                for (part, value) in [
                    (&mut entry.session, &line.session_id),
                    (&mut entry.user, &line.user),
                    (&mut entry.database, &line.dbname),
                    (&mut entry.application, &line.application_name),
                    (&mut entry.message, &line.message),
                    (&mut entry.detail, &line.detail),
                    (&mut entry.context, &line.context),
                    (&mut entry.statement, &line.statement),
                ] {
                    part.extend_from_slice(value.as_bytes());
                }
                self.feed.take(length);
                return Ok(true);
            }
            self.lost.lines += u64::from(!bytes.trim_ascii().is_empty());
            self.feed.take(length);
        }
    }

    fn lost(&self) -> Lost {
        self.lost
    }
}
