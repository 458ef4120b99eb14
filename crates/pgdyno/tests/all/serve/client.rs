//! A program that serves, and a browser as far as these tests need one.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use pgdyno_platform::child::{Signal, send_signal};
use pgdyno_report::page::delta;
use serde_json::Value;

use crate::child::wait_until;
use crate::support::{Database, pgdyno};

/// No answer takes so long.
const HANGS: Duration = Duration::from_secs(60);

/// A folder with a notebook, for one test.
pub struct Notebook(tempfile::TempDir, Option<String>);

impl Notebook {
    /// Without trials, and without a file.
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap(), None)
    }

    /// A team's, in a database of its own.
    pub fn on_server(db: &Database) -> Self {
        let notebook = Self(tempfile::tempdir().unwrap(), Some(db.url.clone()));
        let mut init = notebook.command(&["store", "init", &db.url]);
        Finished(init.output().unwrap()).expect_ok();
        notebook
    }

    /// With so many short trials, with tags a1, a2 ….
    pub fn with_trials(db: &Database, count: usize) -> Self {
        let notebook = Self::new();
        for n in 1..=count {
            let tag = format!("batch-{n}");
            notebook
                .run(db, &["-t", "20", "--observe", "none", "--tag", &tag])
                .expect_ok();
        }
        notebook
    }

    pub fn file(&self) -> PathBuf {
        self.beside("notebook.sqlite")
    }

    pub fn beside(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = pgdyno(args);
        match &self.1 {
            Some(url) => command.env("PGDYNO_STORE", url),
            None => command.env("PGDYNO_STORE", self.file()),
        };
        command.env("XDG_DATA_HOME", self.beside("data"));
        command
    }

    /// A script that waits a little, so that a trial does not measure much.
    pub fn script(&self) -> String {
        let path = self.beside("one.sql");
        std::fs::write(&path, "SELECT 1;\n\\sleep 5 ms\n").unwrap();
        path.display().to_string()
    }

    fn run(&self, db: &Database, args: &[&str]) -> Finished {
        let mut command = self.command(&["run", &self.script(), "--url", &db.url]);
        let output = command.args(args).output().unwrap();
        Finished(output)
    }

    /// A run that serves meanwhile, and has begun.
    pub fn serving_run(&self, db: &Database, args: &[&str]) -> Serving {
        let script = self.script();
        let mut command = self.command(&["run", &script, "--url", &db.url, "--serve=0"]);
        Serving::start(command.args(args), self.0.path())
    }

    /// A server of its trials.
    pub fn serve(&self, args: &[&str]) -> Serving {
        let mut command = self.command(&["serve", "--listen", "0"]);
        Serving::start(command.args(args), self.0.path())
    }
}

struct Finished(std::process::Output);

impl Finished {
    #[track_caller]
    fn expect_ok(self) {
        assert!(
            self.0.status.success(),
            "{}",
            String::from_utf8_lossy(&self.0.stderr)
        );
    }
}

/// A program that serves. It is killed at the end of the test.
pub struct Serving {
    child: Child,
    said: PathBuf,
    pub port: u16,
    pub link: String,
    pub token: String,
}

impl Serving {
    #[track_caller]
    fn start(command: &mut Command, folder: &Path) -> Self {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let said = folder.join(format!("said-{number}"));
        let to = || {
            Stdio::from(
                File::options()
                    .append(true)
                    .create(true)
                    .open(&said)
                    .unwrap(),
            )
        };
        let child = command.stdout(to()).stderr(to()).spawn().unwrap();
        let mut link = String::new();
        wait_until("the link", || {
            let text = std::fs::read_to_string(&said).unwrap_or_default();
            let words = text.split_whitespace();
            let mut links = words.filter(|word| word.contains("?token="));
            link = links.next().unwrap_or_default().to_owned();
            assert!(!text.contains("rror:"), "{text}");
            !link.is_empty() && text.ends_with('\n')
        });
        let (address, token) = link.split_once("?token=").unwrap();
        // A run gives the page of its trial.
        let address = address
            .split("/trial/")
            .next()
            .unwrap()
            .trim_end_matches('/');
        let port = address.rsplit_once(':').unwrap().1.parse().unwrap();
        Self {
            child,
            said,
            port,
            token: token.to_owned(),
            link,
        }
    }

    /// Of a command of one's own.
    pub fn start_in(command: &mut Command, notebook: &Notebook) -> Self {
        Self::start(command, notebook.0.path())
    }

    pub fn said(&self) -> String {
        std::fs::read_to_string(&self.said).unwrap()
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        send_signal(self.child.id(), signal).unwrap();
    }

    /// The exit code, when it has ended by itself.
    pub fn ended(&mut self) -> Option<i32> {
        let mut status = None;
        wait_until("its end", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.and_then(|status| status.code())
    }

    pub fn cookie(&self) -> String {
        format!("Cookie: pgdyno-{}={}", self.port, self.token)
    }

    pub fn host(&self) -> String {
        format!("Host: 127.0.0.1:{}", self.port)
    }

    pub fn origin(&self) -> String {
        format!("Origin: http://127.0.0.1:{}", self.port)
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(HANGS)).unwrap();
        stream
    }

    /// Whatever is sent, what comes back.
    pub fn raw(&self, text: &str) -> Answer {
        let mut stream = self.connect();
        let _ = stream.write_all(text.as_bytes());
        Answer::read(stream)
    }

    /// As the browser asks that has the cookie.
    pub fn get(&self, path: &str) -> Answer {
        let (host, cookie) = (self.host(), self.cookie());
        self.raw(&format!(
            "GET {path} HTTP/1.1\r\n{host}\r\n{cookie}\r\n\r\n"
        ))
    }

    #[track_caller]
    pub fn document(&self, path: &str) -> Value {
        self.get(path).document()
    }

    /// As the page does something.
    pub fn post(&self, path: &str, body: &Value) -> Answer {
        let origin = self.origin();
        self.post_with(
            path,
            &body.to_string(),
            &[&origin, "Content-Type: application/json"],
        )
    }

    pub fn post_with(&self, path: &str, body: &str, headers: &[&str]) -> Answer {
        let (host, cookie, headers) = (self.host(), self.cookie(), headers.join("\r\n"));
        let length = body.len();
        self.raw(&format!(
            "POST {path} HTTP/1.1\r\n{host}\r\n{cookie}\r\n{headers}\r\nContent-Length: {length}\r\n\r\n{body}"
        ))
    }

    #[track_caller]
    pub fn events(&self, path: &str) -> Events {
        let mut stream = self.connect();
        let (host, cookie) = (self.host(), self.cookie());
        let text = format!("GET {path} HTTP/1.1\r\n{host}\r\n{cookie}\r\n\r\n");
        stream.write_all(text.as_bytes()).unwrap();
        let mut lines = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(lines.read_line(&mut head).unwrap() > 0, "{head}");
        }
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        assert!(
            head.contains("\r\nContent-Type: text/event-stream\r\n"),
            "{head}"
        );
        Events {
            lines,
            document: Value::Null,
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn read(mut stream: impl Read) -> Self {
        let mut bytes = Vec::new();
        // A server that hangs up on what is still being sent resets the connection.
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
        Self {
            status: status.unwrap_or(0),
            head: format!("{head}\r\n"),
            body: body.to_owned(),
        }
    }

    #[track_caller]
    pub fn expect(self, status: u16, words: &str) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        assert!(self.body.contains(words), "no \"{words}\" in {self:?}");
        self
    }

    #[track_caller]
    pub fn document(self) -> Value {
        assert_eq!(self.status, 200, "{}{:.500}", self.head, self.body);
        let begin = "<script type=\"application/json\" id=\"data\">";
        let (_, rest) = self.body.split_once(begin).unwrap();
        serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
    }
}

/// Events as the page takes them: the document is kept up to date.
pub struct Events {
    lines: BufReader<TcpStream>,
    pub document: Value,
}

impl Events {
    /// The next event's name and data; an empty name when the server has hung up.
    #[track_caller]
    pub fn next(&mut self) -> (String, Value) {
        let (mut name, mut data) = (String::new(), Value::Null);
        let began = Instant::now();
        loop {
            assert!(began.elapsed() < HANGS, "no event");
            let mut line = String::new();
            if self.lines.read_line(&mut line).unwrap() == 0 {
                return (String::new(), Value::Null);
            }
            let line = line.trim_end();
            if let Some(given) = line.strip_prefix("event: ") {
                given.clone_into(&mut name);
            } else if let Some(given) = line.strip_prefix("data: ") {
                data = serde_json::from_str(given).unwrap();
            } else if line.is_empty() && !name.is_empty() {
                break;
            }
        }
        match name.as_str() {
            "whole" => self.document = data.clone(),
            "delta" => assert!(delta::apply(&mut self.document, &data), "{data}"),
            _ => {}
        }
        (name, data)
    }

    /// Goes on until the document is so.
    #[track_caller]
    pub fn until(&mut self, what: &str, mut is_so: impl FnMut(&Value) -> bool) {
        while !is_so(&self.document) {
            let (name, _) = self.next();
            assert!(!name.is_empty() && name != "end", "never came: {what}");
        }
    }
}
