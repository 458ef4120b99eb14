//! `pgdyno serve`: the notebook and running trials in the browser; and `--serve` of verbs that run trials.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use pgdyno_observe::catalog;
use pgdyno_output::{StoreArgs, Verbosity, answer};
use pgdyno_serve::{Options, Server};
use pgdyno_spec::{Exit, Failure};
use pgdyno_store::place;

use super::compare;

/// Where to listen unless it is said.
const PORT: u16 = 7070;
const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// A longer file is none of a token.
const TOKEN_BYTES_MAX: u64 = 4096;

/// What to serve, and to whom.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pgdyno serve                                   prints a link: open it in a browser on this host
  pgdyno serve --read-only                       to look at: nothing can be changed or stopped
  pgdyno run tpcb -c 8 -T 10m --serve            the same while one run lasts
  ssh -L 7070:localhost:7070 bench1              on your own host: then open the link there
  pgdyno serve --store postgresql://me@notes/notes --token-file token
                                                 a team's notebook; the link stays the same
  pgdyno serve --listen 0.0.0.0 --host bench1 --tls-cert cert.pem --tls-key key.pem
                                                 for other hosts, encrypted

The page shows trials that run, experiments as they grow, and all trials, to search, tag, exclude
and compare. Running trials are read from the notebook once a second for all viewers, whichever
pgdyno runs them. The first link has a token, which the browser keeps as a cookie: links to trials
can be shared with those who have opened it. Programs send it as Authorization: Bearer TOKEN.

More: pgdyno help serve")]
pub struct ServeVerbArgs {
    /// Where to listen: an address, a port, or both; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", value_parser = address, default_value = "127.0.0.1:7070")]
    pub listen: SocketAddr,

    /// Answer to this name, too, and use the first in the link (repeatable); requests for other names are
    /// refused
    #[arg(long, value_name = "NAME")]
    pub host: Vec<String>,

    /// Read the token from this file [default: a random one at each start]
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,

    /// Encrypt: the certificate with its chain, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,

    /// Its private key, in PEM, without a passphrase
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,

    /// Refuse to tag, note, exclude and stop
    #[arg(long)]
    pub read_only: bool,

    /// The notebook's options.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// `--serve` of a verb that runs trials.
#[derive(Debug, Clone, Default, Args)]
pub struct ServeArgs {
    /// Watch in the browser while this command runs: prints a link at the start
    ///
    /// It shows the notebook as pgdyno serve does, at an address, a port, or both [default: 127.0.0.1:7070, or
    /// another port if that is taken].
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, require_equals = true,
          value_parser = address)]
    pub serve: Option<Option<SocketAddr>>,
}

impl ServeArgs {
    /// Begins to serve the notebook, if that is asked for, and says where.
    ///
    /// # Errors
    /// The address cannot be listened at.
    pub fn start(&self, store: &StoreArgs) -> Result<Option<Server>, Failure> {
        let server = self.begin(store)?;
        if let Some(server) = &server {
            announce(server, server.link());
        }
        Ok(server)
    }

    fn begin(&self, store: &StoreArgs) -> Result<Option<Server>, Failure> {
        let Some(at) = self.serve else {
            return Ok(None);
        };
        let notebook = place::path(store.store.as_deref())?;
        let begin = |at| Server::start(options(notebook.clone(), at));
        let server = match at {
            Some(at) => begin(at).map_err(|failure| Failure {
                message: format!("--serve: {}", failure.message),
                ..failure
            })?,
            None => begin((HERE, PORT).into()).or_else(|_| begin((HERE, 0).into()))?,
        };
        Ok(Some(server))
    }

    /// The same for one trial, which is perhaps not kept: [`announce_trial`] says where, once it has a
    /// number.
    ///
    /// # Errors
    /// As [`ServeArgs::start`]; there is no notebook to be served.
    pub fn start_for_trial(
        &self,
        no_store: bool,
        store: &StoreArgs,
    ) -> Result<Option<Server>, Failure> {
        if no_store && self.serve.is_some() {
            let text = "--serve shows what the notebook keeps, and --no-store keeps nothing";
            return Err(Failure::with(Exit::Usage, text)
                .hint("to keep the trial apart from others: --store /tmp/some.sqlite"));
        }
        self.begin(store)
    }
}

/// Says where the trial that is about to run is watched.
pub fn announce_trial(server: Option<&Server>, number: Option<i64>) {
    if let (Some(server), Some(number)) = (server, number) {
        announce(server, &server.link_of_trial(number));
    }
}

fn announce(server: &Server, link: &str) {
    pgdyno_output::remark!("pgdyno: to watch: {link}");
    warn(server);
}

/// What a run serves.
fn options(notebook: PathBuf, at: SocketAddr) -> Options {
    Options {
        notebook,
        at,
        names: Vec::new(),
        token: None,
        tls: None,
        is_read_only: false,
        rows: catalog::row,
        compare: compare::page,
    }
}

/// Runs the command.
pub fn open(args: &ServeVerbArgs, verbosity: Verbosity) -> Result<Exit, Failure> {
    // A notebook that is not there is a mistake now, and an absence later.
    let place = args.store.existing()?.place();
    let interrupts = pgdyno_run::interrupts()?;
    let notebook = place::path(args.store.store.as_deref())?;
    let token = args.token_file.as_deref().map(token).transpose()?;
    let server = Server::start(Options {
        names: args.host.clone(),
        token,
        tls: args.tls_cert.clone().zip(args.tls_key.clone()),
        is_read_only: args.read_only,
        ..options(notebook, args.listen)
    })?;
    answer!("{}", server.link())?;
    warn(&server);
    if !verbosity.quiet {
        let mode = if args.read_only { ", read-only" } else { "" };
        pgdyno_output::remark!(
            "pgdyno: serving {place} at {}{mode}; Ctrl-C ends it",
            server.address()
        );
    }
    while interrupts.wait_beyond(0, Duration::from_secs(3600)) == 0 {}
    // Viewers of a running trial see that the server is gone; nothing of theirs is lost.
    std::mem::forget(server);
    Ok(Exit::Ok)
}

fn warn(server: &Server) {
    if server.is_readable() {
        pgdyno_output::remark!(
            "pgdyno: note: others on the network can read along, the token included: it is not \
             encrypted (pgdyno serve --tls-cert FILE --tls-key FILE)"
        );
    }
}

/// `7070`, `0.0.0.0`, `[::1]:7070`.
fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix(':').unwrap_or(text).parse::<u16>();
    let of_port = port.ok().map(|port| SocketAddr::new(HERE, port));
    let of_ip = || {
        let ip = text.trim_matches(['[', ']']).parse::<IpAddr>().ok()?;
        Some(SocketAddr::new(ip, PORT))
    };
    text.parse().ok().or(of_port).or_else(of_ip).ok_or_else(|| {
        "an IP address, a port, or both: 127.0.0.1:7070, 8080, 0.0.0.0, [::1]:7070".to_owned()
    })
}

/// What the file has, without the line's end.
fn token(path: &Path) -> Result<String, Failure> {
    use std::io::Read;
    let mut text = String::new();
    let read = std::fs::File::open(path)
        .and_then(|file| file.take(TOKEN_BYTES_MAX).read_to_string(&mut text));
    read.map_err(|e| {
        let text = format!("--token-file: cannot read {}: {e}", path.display());
        Failure::with(Exit::Usage, text).hint("openssl rand -hex 16 > FILE makes one")
    })?;
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_be_a_port_an_ip_or_both() {
        for (text, wanted) in [
            ("127.0.0.1:7070", "127.0.0.1:7070"),
            ("8080", "127.0.0.1:8080"),
            (":8080", "127.0.0.1:8080"),
            ("0.0.0.0", "0.0.0.0:7070"),
            ("::1", "[::1]:7070"),
            ("[::1]", "[::1]:7070"),
            ("[::1]:1", "[::1]:1"),
        ] {
            assert_eq!(address(text).unwrap().to_string(), wanted, "{text}");
        }
        for wrong in ["", "localhost:1", "70000", "1.2.3", "x"] {
            assert!(
                address(wrong).unwrap_err().contains("an IP address"),
                "{wrong}"
            );
        }
    }
}
