//! A session: each statement is looked up, and what the version takes is handed on to PostgreSQL.

use std::collections::VecDeque;
use std::io::{self, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};

use super::Played;
use super::forms::{Judged, filled};
use super::node::State;
use super::tokens::{self, Token};
use crate::targets::message::{Message, STARTUP};

/// The protocol's number, and the one of a request to cancel.
const PROTOCOL: u32 = 3 << 16;
const CANCEL: u32 = 80_877_102;

/// What becomes of the answers up to the next ReadyForQuery.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answers {
    HandedOn,
    /// The client does not know that something was asked.
    Unseen,
    /// The client learns nothing but that it is not known.
    Ambiguous,
}

pub fn serve(
    client: TcpStream,
    id: usize,
    played: &Arc<Played>,
    state: &Arc<State>,
) -> io::Result<()> {
    client.set_nodelay(true)?;
    let mut out = client.try_clone()?;
    let mut requests = BufReader::new(client.try_clone()?);
    let Some(greeting) = Message::read(&mut requests, true)? else {
        return Ok(());
    };
    let socket = pgdyno_testkit::postgres().address().socket_path();
    let mut upstream = UnixStream::connect(socket)?;
    if number(&greeting.body) == CANCEL {
        return upstream.write_all(&greeting.bytes());
    }
    if state.is_draining() {
        return out.write_all(&error(
            "57P01",
            "server is not accepting clients, try another node",
        ));
    }
    match played.greeting(&greeting, id) {
        Ok(greeting) => upstream.write_all(&greeting.bytes())?,
        Err([sqlstate, text]) => return out.write_all(&error(&sqlstate, &text)),
    }
    let mut answers = BufReader::new(upstream.try_clone()?);
    greeted(&mut answers, &mut out, played)?;
    let asked = Arc::new(Mutex::new(VecDeque::new()));
    let (shared, also) = (Arc::clone(&asked), Arc::clone(played));
    let to = out.try_clone()?;
    let back = std::thread::spawn(move || {
        drop(hand_back(&mut answers, &to, &shared, &also));
        drop(to.shutdown(Shutdown::Both));
    });
    let result = hand_on(
        &mut requests,
        &mut upstream,
        &mut out,
        &asked,
        played,
        (id, state),
    );
    drop(upstream.shutdown(Shutdown::Both));
    drop(back.join());
    result
}

type Asked = Mutex<VecDeque<Answers>>;

fn lock(asked: &Asked) -> MutexGuard<'_, VecDeque<Answers>> {
    asked.lock().unwrap_or_else(|e| e.into_inner())
}

fn number(body: &[u8]) -> u32 {
    body.first_chunk()
        .map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

fn error(sqlstate: &str, text: &str) -> Vec<u8> {
    let fields = format!("SERROR\0VERROR\0C{sqlstate}\0M{text}\0\0");
    Message::new(b'E', fields).bytes()
}

fn query(sql: &str) -> Vec<u8> {
    Message::new(b'Q', format!("{sql}\0")).bytes()
}

/// A statement that fails in this way.
fn failing([sqlstate, text]: &[String; 2]) -> String {
    let text = text.replace('\'', "''").replace('%', "%%");
    format!(
        "DO $failing$ BEGIN RAISE EXCEPTION '{text}' USING ERRCODE = '{sqlstate}'; END $failing$"
    )
}

/// A query for these rows.
fn given(columns: usize, values: &[&str]) -> String {
    let port = "'||(SELECT port FROM documented.nodes \
        WHERE id=current_setting('documented.node')::int)||'";
    let value = |value: &&str| match *value {
        "" => "NULL".to_owned(),
        text => format!("'{}'", text.replace('\'', "''").replace("{port}", port)),
    };
    let rows = values.chunks(columns).map(|row| {
        let values: Vec<String> = row.iter().map(value).collect();
        format!("({})", values.join(", "))
    });
    format!("VALUES {}", rows.collect::<Vec<_>>().join(", "))
}

/// Hands the start on to the client with the product's parameters in place of PostgreSQL's.
fn greeted(answers: &mut impl Read, out: &mut impl Write, played: &Played) -> io::Result<()> {
    while let Some(message) = Message::read(answers, false)? {
        match (message.tag, played.release()) {
            (b'S', Some(_)) => continue,
            (b'K', Some(release)) if release.has_no_key => continue,
            // Measured: PGlite 0.5 tells all of one process.
            (b'K', None) if played.product.name.contains("PGlite") => {
                let key = [&42_u32.to_be_bytes()[..], &message.body[4..]].concat();
                out.write_all(&Message::new(b'K', key).bytes())?;
                continue;
            }
            (b'Z', Some(release)) => {
                for [name, value] in &release.parameters {
                    let status = format!("{name}\0{value}\0");
                    out.write_all(&Message::new(b'S', status).bytes())?;
                }
            }
            (b'S', None) if message.body.starts_with(b"server_version\0") => {
                out.write_all(&Message::new(b'S', *b"server_version\09.9\0").bytes())?;
                continue;
            }
            _ => {}
        }
        out.write_all(&message.bytes())?;
        if message.tag == b'Z' {
            break;
        }
    }
    Ok(())
}

fn hand_on(
    requests: &mut impl Read,
    upstream: &mut UnixStream,
    out: &mut TcpStream,
    asked: &Asked,
    played: &Played,
    (id, state): (usize, &State),
) -> io::Result<()> {
    let mut is_dealt = false;
    while let Some(message) = Message::read(requests, false)? {
        if state.is_draining() && message.tag != b'X' {
            return out.write_all(&error("57P01", "server is shutting down"));
        }
        let bytes = match message.tag {
            b'Q' => {
                state.asked.fetch_add(1, Ordering::Relaxed);
                let text = String::from_utf8_lossy(&message.body);
                is_dealt = played.copied.is_meant(&text);
                let (before, sql) = played.instead(text.trim_end_matches('\0'));
                for statement in before {
                    lock(asked).push_back(Answers::Unseen);
                    upstream.write_all(&query(&statement))?;
                }
                lock(asked).push_back(played.answers(&sql));
                query(&sql)
            }
            b'd' if is_dealt => {
                played.copied.take(id, &message.body);
                message.bytes()
            }
            b'c' if is_dealt => {
                played.copied.end();
                message.bytes()
            }
            b'P' => played.parse(&message).bytes(),
            b'S' => {
                state.asked.fetch_add(1, Ordering::Relaxed);
                lock(asked).push_back(Answers::HandedOn);
                message.bytes()
            }
            _ => message.bytes(),
        };
        upstream.write_all(&bytes)?;
    }
    Ok(())
}

fn hand_back(
    answers: &mut impl Read,
    mut out: &TcpStream,
    asked: &Asked,
    played: &Played,
) -> io::Result<()> {
    while let Some(message) = Message::read(answers, false)? {
        let mode = lock(asked).front().copied().unwrap_or(Answers::HandedOn);
        let is_end = message.tag == b'Z';
        if is_end {
            lock(asked).pop_front();
        }
        match (mode, message.tag) {
            (Answers::Unseen, _) => {}
            (Answers::Ambiguous, b'Z') => {
                out.write_all(&error(
                    "40003",
                    "result is ambiguous (error=unable to determine)",
                ))?;
                out.write_all(&message.bytes())?;
            }
            (Answers::Ambiguous, _) => {}
            (Answers::HandedOn, b'E') => out.write_all(&played.reword(&message))?,
            (Answers::HandedOn, b'S') if played.list.is_some() => {}
            (Answers::HandedOn, _) => out.write_all(&message.bytes())?,
        }
    }
    Ok(())
}

impl Played {
    /// The start-up message for PostgreSQL.
    fn greeting(&self, greeting: &Message, id: usize) -> Result<Message, [String; 2]> {
        let text = String::from_utf8_lossy(&greeting.body[4..]).into_owned();
        let words: Vec<&str> = text.split('\0').collect();
        let mut options = format!("-c documented.node={id}");
        let mut settings: Vec<(String, String)> = vec![("user".into(), "postgres".into())];
        settings.push(("database".into(), self.database.clone()));
        for pair in words.chunks_exact(2).filter(|pair| !pair[0].is_empty()) {
            let [name, value] = [pair[0], pair[1]];
            match (name, self.list) {
                ("user" | "database", _) => {}
                ("options", _) => options += &format!(" {value}"),
                (_, None) => settings.push((name.into(), value.into())),
                (_, Some((list, version))) => match list.setting(name, Some(version)) {
                    Some(name) => settings.push((name, value.into())),
                    None if list.setting(name, None).is_some() => {
                        return Err(filled(&list.unknown.setting, name));
                    }
                    None => {
                        self.finding(name, "the parameter of a start is not listed");
                        return Err(filled(&list.unknown.setting, name));
                    }
                },
            }
        }
        settings.push(("options".into(), options));
        let mut body = PROTOCOL.to_be_bytes().to_vec();
        for (name, value) in settings {
            body.extend(format!("{name}\0{value}\0").bytes());
        }
        body.push(0);
        Ok(Message::new(STARTUP, body))
    }

    fn finding(&self, statement: &str, why: &str) {
        let finding = format!("{why}: {statement}");
        let mut seen = self.seen();
        if !seen.findings.contains(&finding) {
            seen.findings.push(finding);
        }
    }

    /// What PostgreSQL is to be asked unseen, and what instead of this.
    fn instead(&self, text: &str) -> (Vec<String>, String) {
        self.seen().statements.push(text.to_owned());
        let refuses = self.refuses.lock().unwrap();
        let refused = refuses.iter().find(|(start, _, _)| text.starts_with(start));
        if let Some((_, sqlstate, message)) = refused {
            return (
                Vec::new(),
                failing(&[(*sqlstate).into(), (*message).into()]),
            );
        }
        let mut tables = self.product.tables.iter();
        if let Some((_, columns, values)) = tables.find(|(start, _, _)| text.starts_with(start)) {
            return (Vec::new(), given(*columns, values));
        }
        if self.list.is_none() {
            return if text.eq_ignore_ascii_case("select version()") {
                (Vec::new(), format!("SELECT '{}'", self.product.name))
            } else {
                (Vec::new(), text.to_owned())
            };
        }
        let (mut before, mut sql) = (Vec::new(), Vec::new());
        for statement in tokens::statements(text) {
            let (unseen, instead) = self.statement(&statement, text);
            before.extend(unseen);
            sql.push(instead);
        }
        (before, sql.join("; "))
    }

    fn statement(&self, statement: &[Token], text: &str) -> (Vec<String>, String) {
        let Some((list, version)) = self.list else {
            return (Vec::new(), text.to_owned());
        };
        match list.judge(statement, version) {
            Judged::Taken { before, sql } => (before, sql),
            Judged::Lacking(error) => {
                if !self.product.lacks.iter().any(|lacks| text.contains(lacks)) {
                    self.finding(
                        text,
                        &format!("this version does not have it ({})", error[1]),
                    );
                }
                (Vec::new(), failing(&error))
            }
            Judged::Unlisted(why) => {
                self.finding(text, &why);
                let error = [
                    "42601".to_owned(),
                    format!("not on the list of this test: {why}"),
                ];
                (Vec::new(), failing(&error))
            }
        }
    }

    fn parse(&self, message: &Message) -> Message {
        let end = |from: usize| {
            let zero = message.body[from..].iter().position(|byte| *byte == 0);
            from + zero.unwrap_or(0)
        };
        let name = end(0);
        let text = end(name + 1);
        let sql = String::from_utf8_lossy(&message.body[name + 1..text]);
        let (_, instead) = self.instead(&sql);
        let mut body = message.body[..=name].to_vec();
        body.extend(instead.bytes());
        body.extend(&message.body[text..]);
        Message::new(b'P', body)
    }

    fn answers(&self, sql: &str) -> Answers {
        let last = sql.rsplit("; ").next().unwrap_or(sql).to_lowercase();
        let is_commit = ["commit", "end"].contains(&last.trim());
        let one_less = |left: usize| left.checked_sub(1);
        let order = Ordering::SeqCst;
        if is_commit && self.ambiguous.fetch_update(order, order, one_less).is_ok() {
            Answers::Ambiguous
        } else {
            Answers::HandedOn
        }
    }

    /// An error in the product's words.
    fn reword(&self, message: &Message) -> Vec<u8> {
        let text = String::from_utf8_lossy(&message.body);
        let field = |tag: char| text.split('\0').find_map(|field| field.strip_prefix(tag));
        let (sqlstate, said) = (
            field('C').unwrap_or_default(),
            field('M').unwrap_or_default(),
        );
        let Some((list, version)) = self.list else {
            return message.bytes();
        };
        let all = list.error.iter().filter(|error| error.cited.is_in(version));
        let Some(error_) = all.clone().find(|error| error.sqlstate == sqlstate) else {
            return error(sqlstate, said);
        };
        let number = self.reworded.fetch_add(1, Ordering::SeqCst);
        error(&error_.as_, &error_.texts[number % error_.texts.len()])
    }
}
