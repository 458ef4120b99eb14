//! `pgdyno serve`: the notebook and running trials in the browser. The notebook is the feed: running trials
//! are read from it like ended ones, whichever pgdyno writes them, so that watching takes no part in a
//! measurement. `--metrics-listen`: the running trial for a Prometheus, from the same HTTP server.
//!
//! - `http.rs`: the HTTP server; `request.rs`, `answer.rs`, `connection.rs`, `places.rs`: its parts and limits.
//! - `gate.rs`: who may come in; `metrics.rs`: what `/metrics` answers, and to whom.
//! - `routes.rs`: which request gets what; `pages.rs`: pages and how they go on; `actions.rs`: tag, note,
//!   exclude, stop.
//! - `feed.rs`: one reader a subject, differences to all its viewers.
//!
//! Not for: how pages look (web/), what is on them (report).

mod actions;
mod answer;
mod connection;
mod feed;
mod gate;
mod http;
pub mod metrics;
mod notebooks;
mod pages;
mod places;
mod request;
mod routes;
pub mod tls;

use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use pgdyno_model::observed::Rows;
use pgdyno_spec::{Exit, Failure};

use feed::Hub;
use gate::Gate;
use http::{Limits, Reply, Service};
use notebooks::Notebooks;
use pages::Pages;
use request::Request;
use routes::Routes;

pub use pages::Compare;

const LIMITS: Limits = Limits {
    connections: 128,
    request: Duration::from_secs(10),
    answer: Duration::from_secs(30),
};
/// How long viewers of a trial that has ended are given to hear of it.
const GRACE: Duration = Duration::from_secs(4);
/// A shorter token could be guessed.
const TOKEN_LENGTH_MIN: usize = 16;

/// What to serve, where, and to whom.
pub struct Options {
    /// The notebook: a file or a server.
    pub notebook: PathBuf,
    pub at: SocketAddr,
    /// Further names of this host in links.
    pub names: Vec<String>,
    /// What viewers must know; made at random where it is not given.
    pub token: Option<String>,
    /// Certificate and key, as PEM files.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Nothing can be changed or stopped.
    pub is_read_only: bool,
    /// What the series of trials are.
    pub rows: Rows,
    pub compare: Compare,
}

/// A server that runs until it is dropped.
pub struct Server {
    at: SocketAddr,
    link: String,
    is_encrypted: bool,
    hub: Arc<Hub>,
    is_over: Arc<AtomicBool>,
}

impl Server {
    /// Begins to listen.
    ///
    /// # Errors
    /// The address cannot be listened at; the token is too short; TLS cannot be had from the files.
    pub fn start(options: Options) -> Result<Self, Failure> {
        let token = match options.token {
            Some(token) => checked(token)?,
            None => uuid::Uuid::new_v4().simple().to_string(),
        };
        let tls = options
            .tls
            .map(|(certificate, key)| tls::config(&certificate, &key));
        let tls = tls.transpose()?;
        let failed = |e: std::io::Error| {
            Failure::new(format!("cannot listen at {}: {e}", options.at))
                .hint("another port, or end what listens there; port 0 takes a free one")
        };
        let listener = TcpListener::bind(options.at).map_err(failed)?;
        let at = listener.local_addr().map_err(failed)?;
        let pages = Arc::new(Pages {
            notebooks: Notebooks::new(options.notebook),
            rows: options.rows,
            compare: options.compare,
            may_change: !options.is_read_only,
        });
        let hub = Arc::new(Hub::new(pages.clone()));
        let scheme = if tls.is_some() { "https" } else { "http" };
        let name = match (options.names.first(), at.ip()) {
            (Some(name), _) => name.clone(),
            (None, ip) if ip.is_unspecified() => {
                pgdyno_platform::host::name().unwrap_or_else(|| "localhost".to_owned())
            }
            (None, ip) => gate::in_url(ip),
        };
        let link = format!("{scheme}://{name}:{}/?token={token}", at.port());
        let mut names = options.names;
        names.extend(Some(name));
        let routes = Arc::new(Routes {
            gate: Gate::new(token, at, &names, tls.is_some()),
            pages,
            hub: hub.clone(),
        });
        let is_over = Arc::new(AtomicBool::new(false));
        let (over, is_encrypted) = (is_over.clone(), tls.is_some());
        thread::Builder::new()
            .name("serve".to_owned())
            .spawn(move || http::listen(&listener, &routes, tls.as_ref(), LIMITS, &over))
            .map_err(|e| Failure::no_thread("that serves pages", &e))?;
        Ok(Self {
            at,
            link,
            is_encrypted,
            hub,
            is_over,
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.at
    }

    /// What to open first: the address with the token.
    pub fn link(&self) -> &str {
        &self.link
    }

    /// What to open for a trial by its number, likewise.
    pub fn link_of_trial(&self, number: i64) -> String {
        self.link
            .replace("/?token=", &format!("/trial/{number}?token="))
    }

    /// Whether others on the network can read along: it listens beyond this host, without TLS.
    pub fn is_readable(&self) -> bool {
        !self.at.ip().is_loopback() && !self.is_encrypted
    }
}

/// Connections without a token make room for others.
impl Service for Routes {
    fn keeps(&self, request: &Request) -> bool {
        self.gate.knows(request)
    }

    fn reply(&self, request: &Request) -> Reply {
        Routes::reply(self, request)
    }
}

impl Drop for Server {
    /// Viewers of a running trial are given a moment to hear of its end.
    fn drop(&mut self) {
        let until = Instant::now() + GRACE;
        while self.hub.are_watched() && Instant::now() < until {
            thread::sleep(Duration::from_millis(50));
        }
        self.is_over.store(true, Ordering::Relaxed);
        // Wakes who listens.
        let ip = match self.at.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::from([127, 0, 0, 1]),
            IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::from(std::net::Ipv6Addr::LOCALHOST),
            ip => ip,
        };
        let at = SocketAddr::new(ip, self.at.port());
        let _ = TcpStream::connect_timeout(&at, Duration::from_secs(1));
    }
}

fn checked(token: String) -> Result<String, Failure> {
    let is_word = token
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"-._~".contains(&b));
    if is_word && token.len() >= TOKEN_LENGTH_MIN {
        return Ok(token);
    }
    let text = format!(
        "the token must have {TOKEN_LENGTH_MIN} or more letters and digits (and - . _ ~), and nothing else"
    );
    Err(Failure::with(Exit::Usage, text).hint("openssl rand -hex 16 > FILE makes one"))
}
