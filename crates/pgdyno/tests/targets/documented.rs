//! A server that answers as a product's documentation says, for products and versions that nobody
//! has recorded. It knows no SQL: it takes every statement, notes it, counts the rows of a COPY and
//! tells them again. What it proves is which statements are sent, not that a real server takes them.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::message::Message;

/// What the server says about itself.
#[derive(Clone)]
pub struct Product {
    /// Reported when a session starts.
    pub parameters: &'static [(&'static str, &'static str)],
    /// The answer to `SELECT version()`.
    pub version: &'static str,
    /// Beginnings of statements that it refuses, with SQLSTATE and message.
    pub refuses: &'static [(&'static str, &'static str, &'static str)],
    /// Beginnings of queries that it answers with one row; nothing stands for NULL, `{port}` for
    /// its own port.
    pub answers: &'static [(&'static str, &'static [&'static str])],
    /// The same with several rows, of so many columns each.
    pub tables: &'static [(&'static str, usize, &'static [&'static str])],
}

/// The server, or several nodes of one.
pub struct Documented {
    ports: Vec<u16>,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    statements: Vec<String>,
    rows: BTreeMap<String, usize>,
}

impl Documented {
    pub fn start(product: Product) -> Documented {
        Documented::with_nodes(product, 1)
    }

    /// Several nodes, which all know what any of them was told.
    pub fn with_nodes(product: Product, nodes: usize) -> Documented {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let listen = |_| {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let port = listener.local_addr().unwrap().port();
            let (product, seen) = (product.clone(), Arc::clone(&seen));
            std::thread::spawn(move || {
                for client in listener.incoming().map_while(Result::ok) {
                    let (product, seen) = (product.clone(), Arc::clone(&seen));
                    // A client that hangs up is no news.
                    std::thread::spawn(move || drop(serve(client, &product, &seen)));
                }
            });
            port
        };
        Documented {
            ports: (0..nodes).map(listen).collect(),
            seen,
        }
    }

    /// Where the first node listens.
    pub fn port(&self) -> u16 {
        self.ports[0]
    }

    /// Where its nodes listen.
    pub fn ports(&self) -> &[u16] {
        &self.ports
    }

    /// Every statement in its order, whichever session sent it.
    pub fn statements(&self) -> Vec<String> {
        lock(&self.seen).statements.clone()
    }
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(|e| e.into_inner())
}

fn serve(client: TcpStream, product: &Product, seen: &Mutex<Seen>) -> io::Result<()> {
    let port = client.local_addr()?.port().to_string();
    let mut out = client.try_clone()?;
    let mut requests = BufReader::new(client);
    let mut say = |tag: u8, body: &[u8]| out.write_all(&Message::new(tag, body).bytes());
    if Message::read(&mut requests, true)?.is_none() {
        return Ok(());
    }
    say(b'R', &[0; 4])?;
    for (name, value) in product.parameters {
        say(b'S', format!("{name}\0{value}\0").as_bytes())?;
    }
    say(b'Z', b"I")?;
    while let Some(message) = Message::read(&mut requests, false)? {
        if message.tag != b'Q' {
            continue;
        }
        let sql = String::from_utf8_lossy(&message.body)
            .trim_end_matches('\0')
            .to_owned();
        lock(seen).statements.push(sql.clone());
        let refused = product
            .refuses
            .iter()
            .find(|(start, _, _)| sql.starts_with(start));
        let answer = product
            .answers
            .iter()
            .find(|(start, _)| sql.starts_with(start));
        let table = product
            .tables
            .iter()
            .find(|(start, _, _)| sql.starts_with(start));
        let lower = sql.to_lowercase();
        let words: Vec<&str> = lower.split_whitespace().collect();
        if let Some((_, sqlstate, text)) = refused {
            let fields = format!("SERROR\0VERROR\0C{sqlstate}\0M{text}\0\0");
            say(b'E', fields.as_bytes())?;
        } else if let Some((_, values)) = answer {
            let values = values.iter().map(|value| value.replace("{port}", &port));
            row(&mut say, &values.collect::<Vec<_>>())?;
        } else if let Some((_, columns, values)) = table {
            let values = values.iter().map(|value| value.replace("{port}", &port));
            let values: Vec<String> = values.collect();
            rows(&mut say, &values.chunks(*columns).collect::<Vec<_>>())?;
        } else if words[0] == "copy" {
            say(b'G', &[0, 0, 0])?;
            let rows = copied(&mut requests)?;
            *lock(seen).rows.entry(words[1].to_owned()).or_default() += rows;
            say(b'C', format!("COPY {rows}\0").as_bytes())?;
        } else if lower == "select version()" {
            row(&mut say, &[product.version])?;
        } else if lower.starts_with("select count(*) from [show databases]") {
            row(&mut say, &["1"])?;
        } else if let Some(table) = lower.strip_prefix("select count(*) from ") {
            let rows = lock(seen).rows.get(table).copied().unwrap_or(0);
            row(&mut say, &[rows.to_string()])?;
        } else if words[0] == "select" || words[0] == "show" {
            say(b'T', &[0, 0])?;
            say(b'C', b"SELECT 0\0")?;
        } else {
            say(b'C', format!("{}\0", words[0].to_uppercase()).as_bytes())?;
        }
        say(b'Z', b"I")?;
    }
    Ok(())
}

/// The rows of a COPY; a line with the end mark is none.
fn copied(requests: &mut impl io::Read) -> io::Result<usize> {
    let mut rows = 0;
    while let Some(message) = Message::read(requests, false)? {
        if message.tag != b'd' {
            break;
        }
        let lines = message.body.split(|byte| *byte == b'\n');
        rows += lines
            .filter(|line| !line.is_empty() && *line != b"\\.")
            .count();
    }
    Ok(rows)
}

/// One row of texts; an empty one is NULL.
fn row(
    say: &mut impl FnMut(u8, &[u8]) -> io::Result<()>,
    values: &[impl AsRef<str>],
) -> io::Result<()> {
    rows(say, &[values])
}

/// Rows of texts, all of as many columns.
fn rows(
    say: &mut impl FnMut(u8, &[u8]) -> io::Result<()>,
    rows: &[&[impl AsRef<str>]],
) -> io::Result<()> {
    let width = rows.first().map_or(0, |row| row.len()) as u16;
    let mut columns = width.to_be_bytes().to_vec();
    for _ in 0..width {
        columns.extend(b"value\0");
        // No table, the type text, no format.
        columns.extend([
            0, 0, 0, 0, 0, 0, 0, 0, 0, 25, 255, 255, 255, 255, 255, 255, 0, 0,
        ]);
    }
    say(b'T', &columns)?;
    for row in rows {
        let mut texts = width.to_be_bytes().to_vec();
        for value in *row {
            match value.as_ref() {
                "" => texts.extend([255; 4]),
                text => {
                    texts.extend((text.len() as u32).to_be_bytes());
                    texts.extend(text.as_bytes());
                }
            }
        }
        say(b'D', &texts)?;
    }
    say(b'C', format!("SELECT {}\0", rows.len()).as_bytes())
}
