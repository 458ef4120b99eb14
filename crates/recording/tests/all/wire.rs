//! Recordings from the wire, before a real PostgreSQL.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use pgdyno_recording::proxy::{Options, Recorder};
use pgdyno_recording::{Ending, Event, Protocol, Reader, Statement};
use pgdyno_session::{Env, Given, Session, resolve};
use pgdyno_wire::tls::{Identity, ServerTls};
use pgdyno_wire::{Candidate, frontend};

const LIMIT: Duration = Duration::from_secs(60);

fn candidate(url: &str) -> Candidate {
    let info = resolve(&Given::target(url), &Env::empty()).unwrap();
    info.candidates().unwrap().list.swap_remove(0)
}

fn start(url: &str, tls: Option<ServerTls>) -> Recorder<Vec<u8>> {
    let options = Options {
        listen: "127.0.0.1:0".parse().unwrap(),
        server: &candidate(url),
        tls,
        made_by: "test",
    };
    Recorder::start(options, Vec::new()).unwrap()
}

/// Waits until so many sessions are over, so that all they said is recorded.
fn finish(recorder: Recorder<Vec<u8>>, sessions: u64) -> (Vec<Event>, Ending) {
    let until = std::time::Instant::now() + LIMIT;
    loop {
        let progress = recorder.progress();
        if progress.sessions == sessions && progress.open == 0 {
            break;
        }
        assert!(std::time::Instant::now() < until, "{progress:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
    let (bytes, ending) = recorder.finish().unwrap();
    let mut reader = Reader::new(&bytes[..]).unwrap();
    let mut events = Vec::new();
    while let Some(block) = reader.next_block().unwrap() {
        events.extend(block.events);
    }
    assert!(reader.losses().is_none());
    (events, ending)
}

fn statements(events: Vec<Event>) -> Vec<Statement> {
    let statements = events.into_iter().filter_map(|event| match event {
        Event::Statement(statement) => Some(statement),
        _ => None,
    });
    statements.collect()
}

/// As a statement was sent and what came of it.
fn shown(statement: &Statement) -> String {
    let values = statement.parameters();
    let values: Vec<String> = values
        .map(|value| value.map_or("NULL".to_owned(), |v| v.escape_ascii().to_string()))
        .collect();
    let wire = statement.wire.as_ref().unwrap();
    let failed = statement.failed;
    let outcome = match (failed, statement.obstacle) {
        (_, Some(obstacle)) => format!("{obstacle:?}"),
        (Some(state), _) => String::from_utf8_lossy(&state).into_owned(),
        _ => String::from_utf8_lossy(&wire.tag).into_owned(),
    };
    let is = |condition: bool, text: &str| {
        if condition {
            text.to_owned()
        } else {
            String::new()
        }
    };
    format!(
        "{}{} [{}] {outcome}{}{}",
        if statement.protocol == Protocol::Simple {
            String::new()
        } else {
            format!("{}: ", statement.name.escape_ascii())
        },
        String::from_utf8_lossy(&statement.sql()),
        values.join(","),
        is(wire.is_pipelined, " +"),
        is(wire.is_in_transaction, " T"),
    )
}

/// A session of the test's own making: the server's messages up to so many ReadyForQuery.
struct Raw(TcpStream);

impl Raw {
    fn new(recorder: &Recorder<Vec<u8>>, user: &str, database: &str) -> Self {
        let stream = TcpStream::connect(recorder.address().unwrap()).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        let mut raw = Self(stream);
        let mut out = Vec::new();
        let settings = [("user", user), ("database", database), ("TimeZone", "UTC")];
        frontend::startup(&mut out, 0, settings);
        raw.0.write_all(&out).unwrap();
        raw.until_ready(1);
        raw
    }

    fn until_ready(&mut self, mut count: usize) {
        while count > 0 {
            let mut head = [0; 5];
            self.0.read_exact(&mut head).unwrap();
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
            let mut body = vec![0; length as usize - 4];
            self.0.read_exact(&mut body).unwrap();
            count -= usize::from(head[0] == b'Z');
        }
    }

    fn say(&mut self, ready: usize, write: impl FnOnce(&mut Vec<u8>)) {
        let mut out = Vec::new();
        write(&mut out);
        self.0.write_all(&out).unwrap();
        self.until_ready(ready);
    }
}

fn parse(out: &mut Vec<u8>, name: &str, sql: &str, types: &[u32]) {
    frontend::parse(out, name, sql.as_bytes(), types).unwrap();
}

fn bind(out: &mut Vec<u8>, portal: &str, name: &str, values: &[&str]) {
    frontend::bind(out, portal, name, |to| {
        values.iter().for_each(|value| to.value(value.as_bytes()));
    })
    .unwrap();
}

#[test]
fn statements_are_recorded_as_they_were_sent_with_what_came_of_them() {
    let server = pgdyno_testkit::postgres();
    let url = server.address().url();
    let login = candidate(&url).login;
    let recorder = start(&url, None);
    let mut raw = Raw::new(&recorder, &login.user, login.database());
    raw.say(1, |out| {
        frontend::query(
            out,
            b"CREATE TABLE recorded_wire (a int PRIMARY KEY, b text); INSERT INTO recorded_wire VALUES (1, 'it''s'), (2, NULL)",
        );
    });
    raw.say(1, |out| {
        parse(
            out,
            "s1",
            "SELECT a, b FROM recorded_wire WHERE a >= $1 ORDER BY a",
            &[23],
        );
        frontend::describe(out, frontend::Target::Statement, "s1");
        frontend::sync(out);
    });
    for value in ["1", "x"] {
        raw.say(1, |out| {
            bind(out, "", "s1", &[value]);
            frontend::execute(out, "", 0);
            frontend::sync(out);
        });
    }
    // A pipeline: one implicit transaction, of which the third fails and the fourth is passed over.
    raw.say(1, |out| {
        for sql in [
            "INSERT INTO recorded_wire VALUES (3)",
            "SELECT 1/0",
            "SELECT 4",
        ] {
            parse(out, "", sql, &[]);
            bind(out, "", "", &[]);
            frontend::execute(out, "", 0);
        }
        frontend::sync(out);
    });
    // One that succeeds, in a transaction, with a portal that is fetched from by and by.
    raw.say(1, |out| frontend::query(out, b"BEGIN"));
    raw.say(1, |out| {
        parse(out, "", "SELECT a FROM recorded_wire", &[]);
        bind(out, "p", "", &[]);
        frontend::execute(out, "p", 1);
        frontend::execute(out, "p", 1);
        frontend::sync(out);
    });
    raw.say(1, |out| frontend::query(out, b"COMMIT"));
    // What is prepared and never executed, as it is wrong.
    raw.say(1, |out| {
        parse(out, "s2", "SELECT nothing", &[]);
        frontend::sync(out);
    });
    raw.say(1, |out| frontend::query(out, b""));
    raw.say(1, |out| {
        frontend::query(out, b"ALTER ROLE recorded_none PASSWORD 'hunter22'")
    });
    raw.say(0, frontend::terminate);
    drop(raw);
    let (events, ending) = finish(recorder, 1);
    let Event::Begin(begin) = &events[0] else {
        panic!("{:?}", events[0]);
    };
    let settings = [("TimeZone".to_owned(), "UTC".to_owned())];
    assert_eq!((&begin.session.user, begin.is_known), (&login.user, true));
    assert_eq!(begin.session.settings, settings);
    assert!(matches!(events.last(), Some(Event::End(_))));
    assert_eq!(
        (ending.statements, ending.unsaid.len()),
        (13, 0),
        "{:?}",
        ending.unsaid
    );
    let statements = statements(events);
    let texts: Vec<String> = statements.iter().map(shown).collect();
    assert_eq!(
        texts,
        [
            "CREATE TABLE recorded_wire (a int PRIMARY KEY, b text); INSERT INTO recorded_wire VALUES (1, 'it''s'), (2, NULL) [] CREATE TABLE;INSERT 0 2",
            "s1: SELECT a, b FROM recorded_wire WHERE a >= $1 ORDER BY a [1] SELECT 2",
            "s1: SELECT a, b FROM recorded_wire WHERE a >= $1 ORDER BY a [x] 22P02",
            ": INSERT INTO recorded_wire VALUES (3) [] INSERT 0 1 + T",
            ": SELECT 1/0 [] 22012",
            ": SELECT 4 [] Skipped",
            "BEGIN [] BEGIN T",
            ": SELECT a FROM recorded_wire []  T",
            ": SELECT a FROM recorded_wire [] Fetch T",
            "COMMIT [] COMMIT",
            "s2: SELECT nothing [] 42703",
            " [] ",
            "ALTER ROLE recorded_none PASSWORD '***' [] Secret",
        ]
    );
    let rows: Vec<_> = statements.iter().map(|statement| statement.rows).collect();
    assert_eq!(rows[..2], [Some(2), Some(2)]);
    assert_eq!(
        (rows[7], statements[7].wire.as_ref().unwrap().limit),
        (Some(1), 1)
    );
    assert_eq!(statements[1].wire.as_ref().unwrap().types, [23]);
    // Keys: columns a and b of two rows.
    let result = statements[1].wire.as_ref().unwrap().result.clone().unwrap();
    assert_eq!((result.columns, result.hashes.len()), (vec![0, 1], 4));
    for pair in statements.windows(2) {
        let end = pair[0].start_us + pair[0].duration_us.unwrap_or(0) as i64;
        assert!(pair[1].start_us >= end);
    }
}

#[test]
fn values_in_binary_format_are_recorded_with_their_types_and_hash_as_text_does() {
    let url = pgdyno_testkit::postgres().address().url();
    let login = candidate(&url).login;
    let recorder = start(&url, None);
    let mut raw = Raw::new(&recorder, &login.user, login.database());
    for is_binary in [0u8, 1] {
        raw.say(1, |out| {
            parse(out, "", "SELECT $1 + 1, $2", &[20, 25]);
            // A portal and a statement without names, one format for all, two values, one format for results.
            let (first, length): (&[u8], u8) = if is_binary == 1 {
                (&[0, 0, 0, 0, 0, 0, 1, 0], 8)
            } else {
                (b"256", 3)
            };
            let mut body = vec![0, 0, 0, 1, 0, is_binary, 0, 2, 0, 0, 0, length];
            body.extend_from_slice(first);
            body.extend_from_slice(&[0, 0, 0, 1, b'k', 0, 1, 0, is_binary]);
            out.push(b'B');
            out.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
            out.extend_from_slice(&body);
            frontend::describe(out, frontend::Target::Portal, "");
            frontend::execute(out, "", 0);
            frontend::sync(out);
        });
    }
    raw.say(0, frontend::terminate);
    drop(raw);
    let statements = statements(finish(recorder, 1).0);
    let [text, binary] = &statements[..] else {
        panic!("{statements:?}");
    };
    let (text_wire, wire) = (text.wire.as_ref().unwrap(), binary.wire.as_ref().unwrap());
    assert_eq!(
        (&wire.types[..], &wire.binary[..]),
        (&[20, 25][..], &[true, true][..])
    );
    assert_eq!(
        (&wire.results[..], &text_wire.results[..]),
        (&[true][..], &[][..])
    );
    assert_eq!(text_wire.result, wire.result);
    assert_eq!(
        binary.parameters().next(),
        Some(Some(&[0, 0, 0, 0, 0, 0, 1, 0][..]))
    );
}

#[test]
fn cancel_requests_reach_their_session_and_encryption_by_gssapi_is_refused() {
    let url = pgdyno_testkit::postgres().address().url();
    let recorder = start(&url, None);
    let mut way = candidate(&url);
    for protocol in ["3.0", "3.2"] {
        let separator = if url.contains('?') { '&' } else { '?' };
        way = candidate(&format!("{url}{separator}max_protocol_version={protocol}"));
        way.via = recorder.address();
        let mut session = Session::connect(&[way.clone()], Some(LIMIT)).unwrap();
        let cancel = session.cancel_handle();
        let pid = session.backend_pid();
        let mut other = Session::connect(&[candidate(&url)], Some(LIMIT)).unwrap();
        let cancelling = std::thread::spawn(move || {
            let sql = format!(
                "SELECT count(*) FROM pg_stat_activity WHERE pid = {pid} AND state = 'active' AND query LIKE '%sleep%'"
            );
            while other.query_one_value(&sql).unwrap().as_deref() == Some("0") {
                std::thread::sleep(Duration::from_millis(5));
            }
            cancel.cancel().unwrap();
        });
        session.simple_query("SELECT pg_sleep(300)").unwrap_err();
        cancelling.join().unwrap();
        session.close_and_wait(LIMIT);
    }
    let mut stream = TcpStream::connect(way.via.unwrap()).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.write_all(&[0, 0, 0, 8, 4, 210, 22, 48]).unwrap();
    let mut answer = [0];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(answer, *b"N");
    let statements = statements(finish(recorder, 2).0);
    let failed: Vec<_> = statements
        .iter()
        .map(|statement| statement.failed)
        .collect();
    assert_eq!(failed, [Some(*b"57014"); 2]);
}

#[test]
fn a_server_that_is_not_there_and_bytes_of_another_protocol_end_the_connection() {
    let address = pgdyno_testkit::closed_address();
    let recorder = start(&format!("postgresql://u@{address}/d"), None);
    let mut stream = TcpStream::connect(recorder.address().unwrap()).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    assert!(matches!(stream.read(&mut [0; 9]), Ok(0) | Err(_)));
    let taken = recorder.address().unwrap();
    let options = Options {
        listen: taken,
        server: &candidate(&format!("postgresql://u@{address}/d")),
        tls: None,
        made_by: "",
    };
    let second = Recorder::start(options, Vec::new());
    assert_eq!(second.unwrap_err().kind(), std::io::ErrorKind::AddrInUse);
    drop(recorder);
    let recorder = start(&pgdyno_testkit::postgres().address().url(), None);
    let mut stream = TcpStream::connect(recorder.address().unwrap()).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(String::from_utf8_lossy(&answer).contains("no start of PostgreSQL's protocol"));
}

/// A file that takes so many bytes.
#[derive(Debug)]
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self.0.checked_sub(bytes.len()) {
            Some(left) => self.0 = left,
            None => return Err(std::io::ErrorKind::StorageFull.into()),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_file_that_takes_no_more_is_said_and_sessions_go_on() {
    let url = pgdyno_testkit::postgres().address().url();
    let mut way = candidate(&url);
    let options = Options {
        listen: "127.0.0.1:0".parse().unwrap(),
        server: &way,
        tls: None,
        made_by: "test",
    };
    let recorder = Recorder::start(options, Full(600)).unwrap();
    way.via = recorder.address();
    let mut session = Session::connect(&[way], Some(LIMIT)).unwrap();
    while !recorder.has_failed() {
        assert_eq!(
            session.query_one_value("SELECT 7").unwrap().as_deref(),
            Some("7")
        );
    }
    assert_eq!(
        session.query_one_value("SELECT 7").unwrap().as_deref(),
        Some("7")
    );
    let error = recorder.finish().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
}

#[test]
fn tls_on_both_sides_and_channel_binding_with_the_servers_own_certificate_alone() {
    let server = pgdyno_testkit::postgres_with_tls(&[]);
    let pem = pgdyno_testkit::certify(&server, "localhost");
    let key = std::fs::read(server.data_dir().join("server.key")).unwrap();
    let own = Identity::from_pem(pem.as_bytes(), &key).unwrap();
    let url = server.address().url();
    let mut owner = Session::connect(&[candidate(&url)], Some(LIMIT)).unwrap();
    owner.simple_query("ALTER SYSTEM SET ssl = on").unwrap();
    owner
        .simple_query("CREATE ROLE bound LOGIN PASSWORD 'hunter22'")
        .unwrap();
    let hba = server.data_dir().join("pg_hba.conf");
    let rules = std::fs::read_to_string(&hba).unwrap();
    std::fs::write(&hba, format!("host all bound all scram-sha-256\n{rules}")).unwrap();
    owner.simple_query("SELECT pg_reload_conf()").unwrap();
    let port = server.address().port;
    let to =
        |user: &str, more: &str| format!("postgresql://{user}@127.0.0.1:{port}/postgres?{more}");
    while Session::connect(
        &[candidate(&to("bound:hunter22", "sslmode=require"))],
        Some(LIMIT),
    )
    .is_err()
    {
        std::thread::sleep(Duration::from_millis(20));
    }
    let other = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let other = Identity::from_pem(
        other.cert.pem().as_bytes(),
        other.signing_key.serialize_pem().as_bytes(),
    )
    .unwrap();
    let connect = |recorder: &Recorder<Vec<u8>>, more: &str| {
        let mut way = candidate(&to("bound:hunter22", more));
        way.via = recorder.address();
        Session::connect(&[way], Some(LIMIT))
    };
    let mut bytes = 0;
    for (identity, tests) in [
        // TLS of the client, whether it logs in.
        (
            None,
            &[("sslmode=disable", true), ("sslmode=require", false)][..],
        ),
        (
            Some(&own),
            &[
                ("sslmode=require&channel_binding=require", true),
                ("sslmode=require&sslnegotiation=direct", true),
                ("sslmode=disable", true),
            ],
        ),
        (
            Some(&other),
            &[
                ("sslmode=require", false),
                ("sslmode=require&channel_binding=disable", true),
            ],
        ),
    ] {
        let tls = identity.map(|identity| ServerTls::new(identity).unwrap());
        let recorder = start(&to("bound", "sslmode=require"), tls);
        let mut sessions = 0;
        for (more, logs_in) in tests {
            match connect(&recorder, more) {
                Ok(mut session) => {
                    assert!(*logs_in, "{more}");
                    let sql = "SELECT ssl::text FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
                    assert_eq!(
                        session.query_one_value(sql).unwrap().as_deref(),
                        Some("true")
                    );
                    session.close_and_wait(LIMIT);
                    sessions += 1;
                }
                Err(error) => {
                    assert!(!logs_in, "{more}: {error}");
                    let text = error.to_string();
                    let expected = if identity.is_some() {
                        "channel binding"
                    } else {
                        "SSL"
                    };
                    assert!(text.contains(expected), "{text}");
                }
            }
        }
        let (events, ending) = finish(recorder, sessions);
        assert_eq!(ending.statements, sessions);
        bytes += format!("{events:?}").matches("hunter22").count();
    }
    assert_eq!(bytes, 0);
}
