//! `pgdyno record --listen`: a recording of what passes between clients and a server.

use std::io::BufWriter;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use pgdyno_database::trouble;
use pgdyno_output::Verbosity;
use pgdyno_recording::proxy::{Options, Progress, Recorder};
use pgdyno_recording::{Ending, NewFile, part_of};
use pgdyno_session::{Env, Given, resolve};
use pgdyno_spec::{
    Exit, Failure,
    text::{count, plural, seconds, time},
};
use pgdyno_wire::tls::ServerTls;
use pgdyno_wire::{Addr, Candidate};

use super::{MADE_BY, RecordArgs};

/// For how long the server may take to answer when it is looked for.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// How often progress is printed.
const REPORT_EACH: Duration = Duration::from_secs(10);
/// How often it is looked whether the recording can still be written.
const LOOK_EACH: Duration = Duration::from_secs(1);

/// Runs the command.
pub fn open(args: &RecordArgs, listen: &str, verbosity: Verbosity) -> Result<Exit, Failure> {
    let (Some(output), Some(url)) = (&args.output, &args.url) else {
        return Err(Failure::with(
            Exit::Usage,
            "--listen needs --url, the server behind it, and -o FILE",
        ));
    };
    let listen = address(listen)?;
    let tls = args.tls_cert.as_deref().zip(args.tls_key.as_deref());
    let tls = tls.map(|(certificate, key)| {
        let identity = pgdyno_serve::tls::identity(certificate, key)?;
        ServerTls::new(&identity).map_err(|e| Failure::with(Exit::Usage, e.to_string()))
    });
    let tls = tls.transpose()?;
    let server = server(url.secret())?;
    let interrupts = pgdyno_run::interrupts()?;
    let file = NewFile::create_beside(output).map_err(|error| {
        let part = part_of(output);
        let text = format!("cannot create {}: {error}", part.display());
        let failure = Failure::with(Exit::Usage, text).with_missing_folder(output);
        if error.kind() == std::io::ErrorKind::AlreadyExists {
            failure.hint("another recording writes it, or one was interrupted: it can be read as it is, and moved")
        } else {
            failure
        }
    })?;
    let began = Instant::now();
    let recorder = Recorder::start(
        Options {
            listen,
            server: &server,
            tls,
            made_by: MADE_BY,
        },
        BufWriter::new(file),
    );
    let recorder = recorder.map_err(|error| {
        // Nothing is in it.
        let _ = std::fs::remove_file(part_of(output));
        Failure::with(Exit::Usage, format!("cannot listen on {listen}: {error}"))
    })?;
    if !verbosity.quiet
        && let Some(address) = recorder.address()
    {
        pgdyno_output::remark!(
            "pgdyno: recording {} to {}: clients connect to {address}; Ctrl-C ends it",
            server.place(),
            output.display()
        );
        if !address.ip().is_loopback() {
            pgdyno_output::remark!(
                "pgdyno: warning: the server sees all clients come from this host: pg_hba.conf lets them in as such"
            );
        }
    }
    let end = args.duration.map(|duration| began + duration);
    let seen = interrupts.count();
    let mut report_at = began + REPORT_EACH;
    let mut before = Progress::default();
    loop {
        let now = Instant::now();
        let left = end.map_or(LOOK_EACH, |end| end.saturating_duration_since(now));
        if left.is_zero() || recorder.has_failed() {
            break;
        }
        if interrupts.wait_beyond(seen, left.min(LOOK_EACH)) > seen {
            break;
        }
        if Instant::now() >= report_at && !verbosity.quiet {
            report_at += REPORT_EACH;
            let progress = recorder.progress();
            pgdyno_output::remark!("pgdyno: {}", words(progress, before, began.elapsed()));
            before = progress;
        }
    }
    let held = recorder.progress().held;
    let written = |error: std::io::Error| {
        Failure::new(format!("cannot write {}: {error}", output.display()))
            .hint(format!("what there is: {}", part_of(output).display()))
    };
    let (file, ending) = recorder.finish().map_err(written)?;
    let finished = file
        .into_inner()
        .map_err(|error| error.into_error())
        .and_then(NewFile::finish);
    finished.map_err(written)?;
    if !verbosity.quiet {
        let text = summary(&ending, &output.display().to_string(), held);
        pgdyno_output::answer!("{text}")?;
    }
    // It was asked to record until it is interrupted.
    Ok(Exit::Ok)
}

fn words(progress: Progress, before: Progress, elapsed: Duration) -> String {
    let rate = (progress.statements - before.statements) as f64 / REPORT_EACH.as_secs_f64();
    format!(
        "{}: {} of {}, {} a second; {} open",
        seconds(elapsed.as_secs_f64().round()),
        plural(progress.statements, "statement"),
        plural(progress.sessions, "session"),
        count(rate as u64),
        count(progress.open)
    )
}

fn summary(ending: &Ending, file: &str, held: Duration) -> String {
    let mut text = super::summary(ending, file);
    if held > Duration::ZERO {
        text += &format!(
            "\nTraffic waited for the recorder: {}",
            time(held.as_secs_f64() * 1e6)
        );
    }
    text
}

/// `HOST:PORT`.
fn address(listen: &str) -> Result<SocketAddr, Failure> {
    let wrong = |why: String| {
        Failure::with(Exit::Usage, format!("--listen {listen}: {why}"))
            .hint("HOST:PORT, such as 127.0.0.1:6432; port 0 is a free one")
    };
    let mut addresses = listen
        .to_socket_addrs()
        .map_err(|error| wrong(error.to_string()))?;
    addresses
        .next()
        .ok_or_else(|| wrong("it has no address".to_owned()))
}

/// The first way to a server that takes connections. Clients log in themselves, so that no password is needed.
fn server(url: &str) -> Result<Candidate, Failure> {
    let given = Given {
        target: Some(url.to_owned()),
        ..Given::default()
    };
    let info = resolve(&given, &Env::of_process()).map_err(|error| trouble::conninfo(&error))?;
    let candidates = info
        .candidates()
        .map_err(|error| trouble::candidates(&error))?;
    let mut first = None;
    for candidate in candidates.list {
        let reached = match &candidate.addr {
            Addr::Tcp(address) => TcpStream::connect_timeout(address, CONNECT_LIMIT).map(drop),
            Addr::Unix(path) => UnixStream::connect(path).map(drop),
        };
        match reached {
            Ok(()) => return Ok(candidate),
            Err(error) => {
                first.get_or_insert_with(|| format!("connection to {candidate} failed: {error}"));
            }
        }
    }
    let text = first.unwrap_or_else(|| "--url names no server".to_owned());
    Err(Failure::with(Exit::Connection, text))
}
