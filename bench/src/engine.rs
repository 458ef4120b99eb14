//! `pgdyno-bench engine`: the engine alone (`pgdyno-drive`) on scripts and a server, with one thread. What
//! `pgdyno run` does around it, before, after and once a second, is not here: `instructions.rs` counts what
//! a transaction costs.

use std::fs;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Arc;

use pgdyno_drive::{Control, Drive, Live, Setup};
use pgdyno_measurement::{Event, Interval, Message};
use pgdyno_platform::io::Choice;
use pgdyno_script::{Language, Names};
use pgdyno_spec::{QueryMode, Until};
use pgdyno_wire::{Addr, Candidate, Login};

use crate::Error;

/// What it does.
#[derive(Debug, PartialEq)]
pub struct BenchEngine {
    /// The server's Unix socket.
    pub socket: PathBuf,
    /// `simple`, `extended` or `prepared`.
    pub mode: String,
    /// `epoll` or `uring`.
    pub io: String,
    /// How many clients.
    pub clients: usize,
    /// Transactions of each client.
    pub transactions: u64,
    /// `NAME=VALUE` and `FILE@WEIGHT`, in any order.
    pub words: Vec<String>,
}

impl BenchEngine {
    /// The arguments that [`open`] reads.
    pub fn arguments(&self) -> Vec<String> {
        let mut all = vec![
            "engine".to_owned(),
            self.socket.display().to_string(),
            self.mode.clone(),
            self.io.clone(),
            self.clients.to_string(),
            self.transactions.to_string(),
        ];
        all.extend(self.words.iter().cloned());
        all
    }

    fn read(arguments: &[String]) -> Option<Self> {
        let [socket, mode, io, clients, transactions, words @ ..] = arguments else {
            return None;
        };
        Some(Self {
            socket: socket.into(),
            mode: mode.clone(),
            io: io.clone(),
            clients: clients.parse().ok()?,
            transactions: transactions.parse().ok()?,
            words: words.to_vec(),
        })
    }

    fn run(&self) -> Result<(), Error> {
        let mode = match &*self.mode {
            "simple" => QueryMode::Simple,
            "extended" => QueryMode::Extended,
            "prepared" => QueryMode::Prepared,
            other => return Err(format!("no query mode: {other}").into()),
        };
        let io = match &*self.io {
            "epoll" => Choice::Epoll,
            "uring" => Choice::Uring,
            other => return Err(format!("no way to wait for sockets: {other}").into()),
        };
        let (mut names, mut variables, mut scripts) = (Names::new(), Vec::new(), Vec::new());
        for word in &self.words {
            if let Some((name, value)) = word.split_once('=') {
                variables.push((name.to_owned(), Setup::Text(value.to_owned())));
                continue;
            }
            let (file, weight) = word.split_once('@').unwrap_or((word, "1"));
            let text = fs::read_to_string(file).map_err(|e| format!("cannot read {file}: {e}"))?;
            let script = Language::Pgdyno.parse(file, &text, &mut names)?;
            scripts.push((script, weight.parse()?));
        }
        let scripts = Drive::compile(scripts, mode, None)?;
        let login = Arc::new(Login::new("me", "db"));
        let candidate = Candidate::new(Addr::Unix(self.socket.clone()), login);
        let transactions = NonZeroU64::new(self.transactions).ok_or("no transactions")?;
        let drive = Drive {
            query_mode: mode,
            io,
            clients: self.clients,
            threads: 1,
            variables,
            until: Until::Transactions(transactions),
            ..Drive::new(vec![vec![candidate]], scripts, names)
        };
        let recording = drive.run(&Control::default(), &mut QuietLive)?;
        let committed = recording.measured.all().counts.committed;
        let wanted = self.transactions * self.clients as u64;
        if committed == wanted {
            Ok(())
        } else {
            Err(format!("{committed} of {wanted} transactions were committed").into())
        }
    }
}

/// Does what the arguments say.
///
/// # Errors
/// They are wrong, or not all transactions were committed.
pub fn open(arguments: &[String]) -> Result<(), Error> {
    let engine = BenchEngine::read(arguments).ok_or(
        "usage: pgdyno-bench engine SOCKET MODE IO CLIENTS TRANSACTIONS [NAME=VALUE|FILE@WEIGHT]...",
    )?;
    engine.run()
}

/// What goes wrong is in the count.
struct QuietLive;

impl Live for QuietLive {
    fn second(&mut self, _: &Interval) {}
    fn message(&mut self, message: &Message) {
        eprintln!("{}", message.text);
    }
    fn event(&mut self, _: &Event) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_as_they_are_written() {
        let engine = BenchEngine {
            socket: "/tmp/s".into(),
            mode: "prepared".into(),
            io: "epoll".into(),
            clients: 8,
            transactions: 100,
            words: vec!["scale=100".into(), "a.sql@3".into()],
        };
        assert_eq!(BenchEngine::read(&engine.arguments()[1..]), Some(engine));
        assert_eq!(BenchEngine::read(&[]), None);
    }

    #[test]
    fn what_cannot_be_run_is_named() {
        let said = |mode: &str, io: &str, word: &str| {
            let arguments = ["/nowhere", mode, io, "1", "1", word].map(str::to_owned);
            open(&arguments).unwrap_err().to_string()
        };
        assert!(said("fast", "epoll", "a.sql").contains("fast"));
        assert!(said("simple", "poll", "a.sql").contains("poll"));
        assert!(said("simple", "epoll", "/nowhere.sql").contains("/nowhere.sql"));
        assert!(open(&[]).unwrap_err().to_string().starts_with("usage:"));
    }
}
