//! A recording made by hand, and its replay.

use std::path::PathBuf;

use pgdyno_platform::interrupt::Interrupts;
use pgdyno_recording::{About, FORMAT, NewStatement, Protocol, Session, Writer};
use pgdyno_replay::{Error, Options, Replayed, replay};
use pgdyno_session::{Env, Given, Session as Connection, resolve};
use pgdyno_wire::Candidate;

/// A statement of a recording.
pub struct Made {
    pub session: u32,
    pub at_ms: i64,
    pub took_ms: u64,
    pub sql: &'static str,
    pub name: &'static str,
    pub parameters: Option<Vec<Option<&'static str>>>,
    pub has_failed: bool,
}

/// A statement of the simple protocol.
pub fn simple(session: u32, at_ms: i64, took_ms: u64, sql: &'static str) -> Made {
    Made {
        session,
        at_ms,
        took_ms,
        sql,
        name: "",
        parameters: None,
        has_failed: false,
    }
}

/// One of the extended protocol.
pub fn bound(
    at_ms: i64,
    name: &'static str,
    sql: &'static str,
    parameters: &[Option<&'static str>],
) -> Made {
    Made {
        name,
        parameters: Some(parameters.to_vec()),
        ..simple(0, at_ms, 1, sql)
    }
}

pub struct Recording {
    _dir: tempfile::TempDir,
    pub path: PathBuf,
}

impl Recording {
    /// With these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r");
        std::fs::write(&path, bytes).unwrap();
        Self { _dir: dir, path }
    }
}

/// Writes statements in their order; each session begins with its first one.
pub fn recording(statements: &[Made]) -> Recording {
    let about = About {
        format: FORMAT,
        ..About::default()
    };
    let mut writer = Writer::new(Vec::new(), &about).unwrap();
    let mut begun = Vec::new();
    for made in statements {
        let session = Session {
            number: made.session,
            user: "nobody_here".to_owned(),
            database: "nowhere".to_owned(),
            application: format!("app{}", made.session),
            settings: Vec::new(),
        };
        if !begun.contains(&made.session) {
            begun.push(made.session);
            writer.begin(&session, made.at_ms * 1000, false).unwrap();
        }
        let parameters = made.parameters.clone().unwrap_or_default();
        let parameters: Vec<_> = parameters
            .iter()
            .map(|value| value.map(str::as_bytes))
            .collect();
        writer
            .statement(&NewStatement {
                session: &session,
                start_us: made.at_ms * 1000,
                duration_us: Some(made.took_ms * 1000),
                protocol: if made.parameters.is_some() {
                    Protocol::Extended
                } else {
                    Protocol::Simple
                },
                name: made.name.as_bytes(),
                sql: made.sql.as_bytes(),
                parameters: &parameters,
                rows: None,
                failed: made.has_failed.then_some(*b"42P01"),
                obstacle: None,
                wire: None,
            })
            .unwrap();
    }
    let (bytes, _) = writer.finish(Default::default()).unwrap();
    Recording::of(&bytes)
}

/// The way to a database, and a session of the test's own with it.
pub fn candidate(url: &str) -> Candidate {
    let info = resolve(&Given::target(url), &Env::empty()).unwrap();
    info.candidates().unwrap().list.swap_remove(0)
}

pub fn connection(url: &str) -> Connection {
    Connection::connect(&[candidate(url)], None).unwrap()
}

pub fn try_replay(recording: &Recording, url: &str, options: &Options) -> Result<Replayed, Error> {
    let interrupts = Interrupts::without_signals().unwrap();
    replay(
        &recording.path,
        &candidate(url),
        options,
        &interrupts,
        &mut |_| {},
    )
}

pub fn replayed(statements: &[Made], url: &str) -> Replayed {
    try_replay(&recording(statements), url, &Options::default()).unwrap()
}

/// The shared server's own database.
pub fn url() -> String {
    pgdyno_testkit::postgres().address().url()
}
