//! `client.ping`: how long an empty statement takes on a session of its own to the first endpoint: the
//! way there and back, with nothing to do at its end.
//!
//! Before clients begin, the shortest of some is the way itself, through whatever is between:
//! tunnel, proxy, pooler. While they work, more than that is a queue somewhere on the way, or a CPU
//! that was not to be had.

use std::time::{Duration, Instant};

use pgdyno_database::dialect::Dialect;
use pgdyno_database::locate;
use pgdyno_database::open::Endpoint;
use pgdyno_model::observed::{Gap, Kind, Row, SERVER_CPU};
use pgdyno_session::{Error, Session};
use serde_json::json;

use crate::{Instrument, Readings};

/// So often while clients work.
const INTERVAL: Duration = Duration::from_millis(100);
const FIRST: usize = 20;
/// So often what was seen is reported.
const TELL_INTERVAL: Duration = Duration::from_secs(1);
const CONNECT_LIMIT: Duration = Duration::from_secs(3);
/// An answer that takes longer is reported as having taken so long.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

pub const ROWS: &[Row] = &[PING];

const PING: Row = Row {
    name: "client.ping",
    unit: "µs",
    kind: Kind::Gauge,
    source: "an empty statement ten times a second, on a session of its own",
    what: "how long an empty statement took on average: the way to the server and back, proxies and \
           queues between included",
};

pub struct Ping {
    endpoint: Option<Endpoint>,
    dialect: &'static Dialect,
    session: Option<Session>,
    since: Option<Instant>,
    sum_us: f64,
    count: u32,
}

impl Ping {
    /// Of a target's first endpoint, and how its product is spoken to.
    pub fn new(endpoint: Option<Endpoint>, dialect: &'static Dialect) -> Self {
        Self {
            endpoint,
            dialect,
            session: None,
            since: None,
            sum_us: 0.0,
            count: 0,
        }
    }

    fn connect(&mut self) -> Result<&mut Session, Gap> {
        let session = match self.session.take().filter(|session| !session.is_broken()) {
            Some(session) => session,
            None => {
                let endpoint = self.endpoint.as_ref();
                let endpoint = endpoint.ok_or_else(|| Gap::because("there is no endpoint"))?;
                let mut session = Session::connect(&endpoint.candidates, Some(CONNECT_LIMIT))
                    .map_err(|error| gap(&error))?;
                session.set_answer_timeout(Some(ANSWER_LIMIT));
                // By which other instruments leave it out. A shared session is its for a moment each time.
                if session.is_own() {
                    let applied =
                        session.apply_settings(&[("application_name", "pgdyno observer")]);
                    applied.map_err(|error| gap(&error))?;
                }
                session
            }
        };
        Ok(self.session.insert(session))
    }

    fn ping(&mut self) -> Result<f64, Gap> {
        let session = self.connect()?;
        let begun = Instant::now();
        let answer = session.simple_query("");
        let took = begun.elapsed();
        match answer {
            Ok(_) => Ok(took.as_secs_f64() * 1e6),
            Err(error) if took < ANSWER_LIMIT => Err(gap(&error)),
            Err(_) => Ok(ANSWER_LIMIT.as_secs_f64() * 1e6),
        }
    }

    fn tell(&mut self, out: &mut Readings) {
        if self.count > 0 {
            out.gauge(PING.series(), self.sum_us / f64::from(self.count));
        }
        (self.since, self.sum_us, self.count) = (None, 0.0, 0);
    }
}

fn gap(error: &Error) -> Gap {
    Gap::because(
        error
            .to_string()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" "),
    )
}

impl Instrument for Ping {
    fn name(&self) -> &str {
        "client.ping"
    }

    fn source(&self) -> String {
        "an empty statement, and TCP_INFO".to_owned()
    }

    fn interval(&self) -> Duration {
        INTERVAL
    }

    fn begin(&mut self, out: &mut Readings) -> Result<(), Gap> {
        let all: Vec<f64> = (0..FIRST).map(|_| self.ping()).collect::<Result<_, _>>()?;
        let least_us = all.iter().copied().fold(f64::INFINITY, f64::min);
        let tcp = self.session.as_ref().and_then(Session::tcp_info);
        out.fact(
            "ping",
            json!({
                "before": FIRST,
                "least_us": least_us,
                "tcp_min_rtt_us": tcp.map(|tcp| tcp.min_rtt_us),
            }),
        );
        Ok(())
    }

    fn read(&mut self, out: &mut Readings) -> Result<(), Gap> {
        let took_us = self.ping()?;
        let since = *self.since.get_or_insert_with(Instant::now);
        self.sum_us += took_us;
        self.count += 1;
        if since.elapsed() + INTERVAL / 2 >= TELL_INTERVAL {
            self.tell(out);
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Readings) -> Result<(), Gap> {
        self.tell(out);
        if let Some(session) = self.session.as_mut().filter(|session| !session.is_broken()) {
            let clock = locate::session_clock(session, self.dialect);
            if let Some(used) = clock.and_then(|clock| clock.read()) {
                out.fact(SERVER_CPU, used.ran_ns / 1000);
            }
        }
        Ok(())
    }
}
