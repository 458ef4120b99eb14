//! A server that plays recorded connections back and takes no byte that was not recorded.
//!
//! Clients connect in any order and begin alike, so a connection is known by what it says: it is
//! whichever recorded one, not yet taken, it has agreed with so far. What a client is sent depends
//! on what it said alone, so that the order of connections does not matter.
//!
//! Who only looks may do so more often than when it was recorded: a connection that asks nothing but
//! SELECT and SHOW gets the answer that any recorded one got first, and ends when it likes. Round trips are
//! measured for a time, so that a slow server is asked fewer: repeated, they count as one.

use std::io::{self, BufReader, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::targets::message::Message;
use crate::targets::recording::{Copying, Event, Recorded};

/// Beginnings of queries that pgdyno has asked since the conversations were recorded. What that server would
/// have answered is not known: they are refused, as by a server that does not know them. Recording anew
/// empties this list.
const SINCE_RECORDED: &[&str] = &[];

/// The server, or several, as many as were recorded.
pub struct Replay {
    ports: Vec<u16>,
    stage: Arc<Mutex<Stage>>,
}

#[derive(Default)]
struct Stage {
    recorded: Vec<Recorded>,
    since: &'static [&'static str],
    /// Which of them have been played to their end.
    played: Vec<bool>,
    /// Which of them a connection has been found to be.
    taken: Vec<bool>,
    /// How many connections are open.
    open: usize,
    complaints: Vec<String>,
}

impl Replay {
    pub fn start(recorded: Vec<Recorded>) -> Replay {
        Self::start_since(recorded, SINCE_RECORDED)
    }

    fn start_since(mut recorded: Vec<Recorded>, since: &'static [&'static str]) -> Replay {
        for one in &mut recorded {
            one.events = with_one_round_trip(std::mem::take(&mut one.events));
        }
        let nodes = recorded.iter().map(|recorded| recorded.node + 1).max();
        let stage = Arc::new(Mutex::new(Stage {
            // How often a client looks whether a node is there again, or a second session what a slow answer
            // waits for, is no matter.
            played: recorded
                .iter()
                .map(|one| is_refused(one) || asks_nothing(one))
                .collect(),
            taken: vec![false; recorded.len()],
            recorded,
            since,
            ..Stage::default()
        }));
        let ports = (0..nodes.unwrap_or(1)).map(|node| listen(node, &stage));
        Replay {
            ports: ports.collect(),
            stage,
        }
    }

    pub fn ports(&self) -> &[u16] {
        &self.ports
    }

    /// Everything that was recorded has been said, and nothing else.
    ///
    /// # Panics
    /// Otherwise, with what was said.
    #[track_caller]
    pub fn ended(self) {
        let began = Instant::now();
        while lock(&self.stage).open > 0 {
            assert!(
                began.elapsed() < Duration::from_secs(10),
                "a client stays connected"
            );
            std::thread::sleep(Duration::from_millis(2));
        }
        let stage = lock(&self.stage);
        assert!(
            stage.complaints.is_empty(),
            "{}",
            stage.complaints.join("\n")
        );
        let missing: Vec<usize> = (0..stage.played.len())
            .filter(|at| !stage.played[*at])
            .map(|at| at + 1)
            .collect();
        assert!(
            missing.is_empty(),
            "recorded connections never made: {missing:?}"
        );
    }
}

/// Plays one of the servers; its port.
fn listen(node: usize, stage: &Arc<Mutex<Stage>>) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let shared = Arc::clone(stage);
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let stage = Arc::clone(&shared);
            lock(&stage).open += 1;
            std::thread::spawn(move || {
                let result = play(client, node, &stage);
                let mut stage = lock(&stage);
                stage.open -= 1;
                if let Err(e) = result {
                    stage.complaints.push(format!("a connection broke: {e}"));
                }
            });
        }
    });
    port
}

fn lock(stage: &Mutex<Stage>) -> MutexGuard<'_, Stage> {
    stage.lock().unwrap_or_else(|e| e.into_inner())
}

/// Plays whichever recorded connection this is.
fn play(client: TcpStream, node: usize, stage: &Mutex<Stage>) -> io::Result<()> {
    client.set_nodelay(true)?;
    let mut answers = client.try_clone()?;
    let mut requests = BufReader::new(client);
    let mut said: Vec<Event> = Vec::new();
    let mut answered: Vec<Event> = Vec::new();
    let mut copying: Option<Copying> = None;
    loop {
        let message = match Message::read(&mut requests, said.is_empty())? {
            Some(message) if is_repeated(said.last(), &message) => {
                for event in &answered {
                    send(&mut answers, event)?;
                }
                continue;
            }
            Some(Message { tag: b'd', body }) => {
                copying.get_or_insert_default().add(&body);
                continue;
            }
            message => message,
        };
        said.extend(copying.take().map(|copying| Event::Copy(copying.end())));
        let is_end = message.is_none();
        said.push(message.map_or(Event::ClientClosed, Event::Client));

        let mut stage = lock(stage);
        let fitting: Vec<usize> = (0..stage.recorded.len())
            .filter(|at| !stage.taken[*at] && stage.recorded[*at].node == node)
            .filter(|at| agrees(&stage.recorded[*at].events, &said))
            .collect();
        let Some(&at) = fitting.first() else {
            if let Some(looked) = looked(&stage, node, &said) {
                drop(stage);
                for event in &looked {
                    send(&mut answers, event)?;
                }
                answered = looked;
                match said.last() {
                    Some(event) if ends(event) => return Ok(()),
                    _ => continue,
                }
            }
            let since = stage.since;
            if said
                .last()
                .is_some_and(|event| is_since_recorded(event, since))
            {
                said.pop();
                drop(stage);
                let refused = *b"SERROR\0VERROR\0C42601\0Masked since this was recorded\0\0";
                answers.write_all(&Message::new(b'E', refused).bytes())?;
                answers.write_all(&Message::new(b'Z', *b"I").bytes())?;
                continue;
            }
            if is_refused_at(&stage, node, &said) {
                drop(stage);
                return answers.shutdown(Shutdown::Both);
            }
            let complaint = complaint(&stage, &said);
            stage.complaints.push(complaint);
            drop(stage);
            return answers.shutdown(Shutdown::Both);
        };
        let (answer, is_whole) = answer(&stage.recorded[at].events, said.len());
        if is_whole || is_end {
            stage.taken[at] = true;
            stage.played[at] = is_whole;
            if !is_whole {
                stage.complaints.push(format!(
                    "connection {} was closed before its recorded end",
                    at + 1
                ));
            }
        }
        drop(stage);
        for event in &answer {
            send(&mut answers, event)?;
        }
        answered = answer;
        if is_end {
            return Ok(());
        }
    }
}

fn send(answers: &mut TcpStream, event: &Event) -> io::Result<()> {
    match event {
        Event::Server(message) => answers.write_all(&message.bytes()),
        _ => answers.shutdown(Shutdown::Both),
    }
}

fn is_round_trip(message: &Message) -> bool {
    message.tag == b'Q' && message.body.starts_with(b"SELECT 1\0")
}

fn is_repeated(last: Option<&Event>, message: &Message) -> bool {
    is_round_trip(message) && matches!(last, Some(Event::Client(last)) if is_round_trip(last))
}

/// Repeated round trips once, with their first answer.
fn with_one_round_trip(events: Vec<Event>) -> Vec<Event> {
    let mut kept: Vec<Event> = Vec::new();
    let mut asked = None;
    let mut is_again = false;
    for event in events {
        match &event {
            Event::Server(_) => {}
            Event::Client(message) => is_again = is_repeated(asked.as_ref(), message),
            _ => is_again = false,
        }
        if of_client(&event) {
            asked = Some(event.clone());
        }
        if !is_again {
            kept.push(event);
        }
    }
    kept
}

fn is_since_recorded(event: &Event, since: &[&str]) -> bool {
    let Event::Client(message) = event else {
        return false;
    };
    let begins = |start: &&str| message.body.starts_with(start.as_bytes());
    message.tag == b'Q' && since.iter().any(begins)
}

fn is_refused(recorded: &Recorded) -> bool {
    let has_answer = |event: &Event| matches!(event, Event::Server(_));
    !recorded.events.iter().any(has_answer)
}

/// Whether the client greeted and went.
fn asks_nothing(recorded: &Recorded) -> bool {
    let mut of_client = recorded.events.iter().filter(|event| of_client(event));
    of_client.next().is_some() && of_client.all(ends)
}

/// Whether a connection that has only greeted met a server that was not there, when it was recorded.
fn is_refused_at(stage: &Stage, node: usize, said: &[Event]) -> bool {
    let mut recorded = stage
        .recorded
        .iter()
        .filter(|one| one.node == node && is_refused(one));
    said.len() == 1 && recorded.any(|one| agrees(&one.events, said))
}

fn ends(event: &Event) -> bool {
    matches!(event, Event::ClientClosed) || matches!(event, Event::Client(m) if m.tag == b'X')
}

/// Whether it asks without changing anything.
fn looks(event: &Event) -> bool {
    let Event::Client(message) = event else {
        return false;
    };
    let asks = |word: &str| message.body.starts_with(word.as_bytes());
    message.tag == b'Q' && (asks("SELECT ") || asks("SHOW "))
}

/// What a connection that has only looked is answered now: what was answered first when it was
/// recorded. `None`: it has done more, or that was never asked.
fn looked(stage: &Stage, node: usize, said: &[Event]) -> Option<Vec<Event>> {
    let (greeting, asked) = said.split_first()?;
    let has_greeted = |recorded: &&Recorded| {
        let mut of_client = recorded.events.iter().filter(|event| of_client(event));
        recorded.node == node && of_client.next().is_some_and(|event| same(event, greeting))
    };
    let mut recorded = stage.recorded.iter().filter(has_greeted);
    let (last, before) = asked.split_last().unwrap_or((greeting, &[]));
    // It says goodbye, and then it is closed.
    if !before.iter().all(|event| looks(event) || ends(event)) {
        return None;
    }
    if ends(last) {
        return recorded.next().map(|_| Vec::new());
    }
    if !asked.is_empty() && !looks(last) {
        return None;
    }
    recorded.find_map(|recorded| {
        let mut events = recorded.events.iter();
        events.find(|event| same(event, last))?;
        let answer = events.map_while(|event| match event {
            Event::Server(_) => Some(event.clone()),
            _ => None,
        });
        Some(answer.collect())
    })
}

fn of_client(event: &Event) -> bool {
    !matches!(event, Event::Server(_) | Event::ServerClosed)
}

/// Whether the recorded client began with what was said.
fn agrees(recorded: &[Event], said: &[Event]) -> bool {
    let mut recorded = recorded.iter().filter(|event| of_client(event));
    said.iter()
        .all(|said| recorded.next().is_some_and(|event| same(event, said)))
}

/// What the recorded server said after this many events of the client; and whether all is said then.
fn answer(recorded: &[Event], said: usize) -> (Vec<Event>, bool) {
    let mut seen = 0;
    let mut answer = Vec::new();
    for event in recorded {
        if of_client(event) {
            seen += 1;
            if seen > said {
                return (answer, false);
            }
        } else if seen == said {
            answer.push(event.clone());
        }
    }
    (answer, true)
}

/// Byte for byte, but for [`masked`].
fn same(recorded: &Event, said: &Event) -> bool {
    match (recorded, said) {
        (Event::Client(a), Event::Client(b)) => a.tag == b.tag && masked(a) == masked(b),
        _ => recorded == said,
    }
}

/// The mark that a load leaves on its tables has pgdyno's version and a hash of the whole pack in
/// it: they change with every release and with every script of the pack, and say nothing about how
/// the server is spoken to. Names of prepared statements are of their run.
fn masked(message: &Message) -> Vec<u8> {
    if matches!(message.tag, b'P' | b'B' | b'C' | b'D') {
        return without_run(&message.body);
    }
    let text = match std::str::from_utf8(&message.body) {
        Ok(text) if text.starts_with("COMMENT ON TABLE ") => text,
        _ => return message.body.clone(),
    };
    let mut text = text.to_owned();
    for key in ["\"pack_sha256\":\"", "\"pgdyno\":\""] {
        if let Some((before, rest)) = text.split_once(key)
            && let Some((_, after)) = rest.split_once('"')
        {
            text = format!("{before}{key}\"{after}");
        }
    }
    text.into_bytes()
}

/// With the names of pgbench (`P_0`), which were recorded, for those of a run (`p79cb0cd6_0`).
fn without_run(body: &[u8]) -> Vec<u8> {
    let is_name = |at: &usize| {
        let name = body.get(*at..at + 10);
        name.is_some_and(|name| {
            name[0] == b'p' && name[1..9].iter().all(u8::is_ascii_hexdigit) && name[9] == b'_'
        })
    };
    // Behind a kind (`S`), an empty portal, or nothing.
    match [0, 1].iter().find(|at| is_name(at)) {
        Some(at) => [&body[..*at], b"P", &body[at + 9..]].concat(),
        None => body.to_vec(),
    }
}

/// What came, and what would have been right.
fn complaint(stage: &Stage, said: &[Event]) -> String {
    let shown = |event: Option<&Event>| match event {
        Some(Event::Client(message)) => message.shown(),
        other => format!("{other:?}"),
    };
    let (last, before) = said.split_last().unwrap_or((&Event::ClientClosed, &[]));
    let mut text = format!("not recorded: {}", shown(Some(last)));
    for (at, recorded) in stage.recorded.iter().enumerate() {
        if !stage.taken[at] && agrees(&recorded.events, before) {
            let expected = recorded
                .events
                .iter()
                .filter(|e| of_client(e))
                .nth(before.len());
            text += &format!("\n  connection {} expects: {}", at + 1, shown(expected));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn query(text: &str) -> Event {
        Event::Client(Message::new(b'Q', format!("{text}\0")))
    }

    fn recorded(number: &str) -> Recorded {
        let events = vec![
            Event::Client(Message::new(crate::targets::message::STARTUP, *b"hello")),
            Event::Server(Message::new(b'Z', *b"I")),
            query(&format!("SELECT {number}")),
            Event::Server(Message::new(b'C', number)),
            Event::Client(Message::new(b'X', *b"")),
            Event::ClientClosed,
        ];
        Recorded { node: 0, events }
    }

    /// Says hello and this; what came back.
    fn said(replay: &Replay, sql: &str) -> Vec<u8> {
        all_said(replay, &[sql])
    }

    fn all_said(replay: &Replay, queries: &[&str]) -> Vec<u8> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, replay.ports()[0])).unwrap();
        let hello = Message::new(crate::targets::message::STARTUP, *b"hello");
        stream.write_all(&hello.bytes()).unwrap();
        let mut ready = [0; 6];
        stream.read_exact(&mut ready).unwrap();
        for sql in queries {
            let message = Message::new(b'Q', format!("{sql}\0"));
            stream.write_all(&message.bytes()).unwrap();
        }
        // Cut off when the server had to complain.
        let _ = stream.write_all(&Message::new(b'X', *b"").bytes());
        let _ = stream.shutdown(Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        answer
    }

    fn complaint(replay: Replay) -> String {
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| replay.ended()));
        *caught.unwrap_err().downcast::<String>().unwrap()
    }

    #[test]
    fn a_connection_is_known_by_what_it_says() {
        let replay = Replay::start(vec![recorded("1"), recorded("2")]);
        assert_eq!(said(&replay, "SELECT 2"), Message::new(b'C', *b"2").bytes());
        assert_eq!(said(&replay, "SELECT 1"), Message::new(b'C', *b"1").bytes());
        replay.ended();
    }

    #[test]
    fn a_connection_that_asked_nothing_need_not_be_made_again() {
        let mut silent = recorded("1");
        silent.events.drain(2..4);
        let replay = Replay::start(vec![silent, recorded("2")]);
        assert_eq!(said(&replay, "SELECT 2"), Message::new(b'C', *b"2").bytes());
        replay.ended();
        // One that asked must.
        let replay = Replay::start(vec![recorded("1"), recorded("2")]);
        said(&replay, "SELECT 2");
        assert!(complaint(replay).contains("never made: [1]"));
    }

    #[test]
    fn an_unrecorded_byte_and_a_missing_connection_are_errors() {
        let replay = Replay::start(vec![recorded("1")]);
        assert_eq!(said(&replay, "SELECT  1"), b"");
        let text = complaint(replay);
        assert!(text.contains("not recorded: Q SELECT  1"), "{text}");
        assert!(text.contains("connection 1 expects: Q SELECT 1"), "{text}");

        let replay = Replay::start(vec![recorded("1"), recorded("2")]);
        said(&replay, "SELECT 2");
        let text = complaint(replay);
        assert_eq!(text, "recorded connections never made: [1]");
    }

    #[test]
    fn what_is_asked_since_is_refused_and_the_conversation_goes_on() {
        let replay = Replay::start_since(vec![recorded("7")], &["SELECT 1\0"]);
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, replay.ports()[0])).unwrap();
        let mut say = |message: &Message| stream.write_all(&message.bytes()).unwrap();
        say(&Message::new(crate::targets::message::STARTUP, *b"hello"));
        for sql in ["SELECT 1\0", "SELECT 7\0"] {
            say(&Message::new(b'Q', sql));
        }
        say(&Message::new(b'X', *b""));
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let text = String::from_utf8_lossy(&answer);
        assert!(text.contains("asked since this was recorded"), "{text}");
        assert!(
            answer.ends_with(&Message::new(b'C', *b"7").bytes()),
            "{text}"
        );
        replay.ended();
    }

    #[test]
    fn repeated_round_trips_are_as_many_as_the_client_likes() {
        let mut twice = recorded("1");
        let trip = twice.events[2..4].to_vec();
        twice.events.splice(2..2, trip);
        twice
            .events
            .splice(6..6, recorded("2").events[2..4].to_vec());
        let first = Message::new(b'C', *b"1").bytes();
        let second = Message::new(b'C', *b"2").bytes();
        for trips in [1, 2, 3] {
            let replay = Replay::start(vec![twice.clone()]);
            let queries = [vec!["SELECT 1"; trips], vec!["SELECT 2"]].concat();
            let answer = [first.repeat(trips), second.clone()].concat();
            assert_eq!(all_said(&replay, &queries), answer);
            replay.ended();
        }
    }

    #[test]
    fn who_only_looks_may_do_so_more_often() {
        let replay = Replay::start(vec![recorded("1"), recorded("2")]);
        for number in ["1", "2"] {
            let query = format!("SELECT {number}");
            let answer = Message::new(b'C', number.to_owned()).bytes();
            assert_eq!(said(&replay, &query), answer, "as recorded");
            assert_eq!(said(&replay, &query), answer, "once more");
        }
        replay.ended();
        let replay = Replay::start(vec![recorded("1")]);
        said(&replay, "SELECT 1");
        assert_eq!(said(&replay, "DELETE 1"), b"");
        assert!(complaint(replay).contains("not recorded: Q DELETE 1"));
    }

    #[test]
    fn each_server_plays_its_own_connections() {
        let of_second = Recorded {
            node: 1,
            ..recorded("1")
        };
        let replay = Replay::start(vec![of_second]);
        assert_eq!(replay.ports().len(), 2);
        // The first one was never spoken to, not even with a greeting.
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, replay.ports()[0])).unwrap();
        let hello = Message::new(crate::targets::message::STARTUP, *b"hello");
        stream.write_all(&hello.bytes()).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert_eq!(answer, b"");
        drop(stream);
        let text = complaint(replay);
        assert!(text.contains("not recorded"), "{text}");
    }

    #[test]
    fn of_a_prepared_statement_only_the_run_in_its_name_may_differ() {
        let message = |tag, body: &str| Event::Client(Message::new(tag, body.to_owned()));
        let alike = |tag, recorded, said| same(&message(tag, recorded), &message(tag, said));
        assert!(alike(b'P', "P_0\0BEGIN;\0", "p79cb0cd6_0\0BEGIN;\0"));
        assert!(alike(b'B', "\0P_12\0", "\0p79cb0cd6_12\0"));
        assert!(alike(b'D', "SP_0\0", "Sp79cb0cd6_0\0"));
        assert!(!alike(b'P', "P_0\0BEGIN;\0", "p79cb0cd6_1\0BEGIN;\0"));
        assert!(!alike(b'P', "P_0\0BEGIN;\0", "p79cb0cd6_0\0COMMIT;\0"));
        assert!(!alike(b'Q', "P_0\0", "p79cb0cd6_0\0"));
    }

    #[test]
    fn of_a_mark_only_version_and_hash_may_differ() {
        let mark = |hash: &str, scale: u32| {
            let text = format!(
                "COMMENT ON TABLE t IS '{{\"scale\":{scale},\"pack_sha256\":\"{hash}\",\"pgdyno\":\"0.1\"}}'\0"
            );
            Event::Client(Message::new(b'Q', text))
        };
        assert!(same(&mark("ab", 1), &mark("cdef", 1)));
        assert!(!same(&mark("ab", 1), &mark("ab", 2)));
    }
}
