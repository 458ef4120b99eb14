//! `pgdyno-bench bare`: transactions in a loop that does nothing but send and receive, on the same
//! sockets as pgdyno's engine, and by a rate on the same timers. It measures nothing and makes no
//! mistakes: the floor.

mod script;

use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};

use pgdyno_platform::clock::monotonic_ns;
use pgdyno_platform::io::{
    Epoll, Event, Io, Key, Socket, TcpOptions, Uring, connect_tcp, connect_unix,
};

use crate::Error;
use crate::wire::startup;
use pgdyno_server::instant::pieces::Pieces;
use script::{BareScript, DrawnValues};

const USAGE: &str = "bare: epoll|uring PLACE select|tpcb|tpcb-simple CLIENTS SECONDS ROWS [RATE]";

/// What a loop is to do.
struct BareTask<'a> {
    place: &'a str,
    script: BareScript,
    clients: u32,
    seconds: u32,
    /// Transactions a second of all clients together; none: each as fast as it can.
    per_s: Option<u32>,
}

/// The loop that the arguments ask for. Prints the transactions, the seconds they took, those that
/// connecting took, and the mean latency in microseconds (NaN with a rate).
pub fn open(arguments: &[String]) -> Result<(), Error> {
    let [io, place, script, numbers @ ..] = arguments else {
        return Err(USAGE.into());
    };
    let numbers: Vec<u32> = numbers
        .iter()
        .map(|n| n.parse())
        .collect::<Result<_, _>>()?;
    let (&[clients, seconds, rows] | &[clients, seconds, rows, _]) = numbers.as_slice() else {
        return Err(USAGE.into());
    };
    let task = BareTask {
        place,
        script: BareScript::named(script, rows.into()).ok_or(USAGE)?,
        clients,
        seconds,
        per_s: numbers.get(3).copied(),
    };
    let _ = pgdyno_platform::limits::raise_open_files();
    match io.as_str() {
        "epoll" => run(Epoll::new()?, &task),
        "uring" => {
            Uring::probe()?;
            run(Uring::new()?, &task)
        }
        other => Err(format!("bare: no {other}; {USAGE}").into()),
    }
}

#[derive(Default)]
struct BareClient {
    pieces: Pieces,
    /// Answers to come before it works: to the start, and to the statements' preparation.
    preparing: u32,
    /// The next statement of its transaction.
    step: usize,
    drawn: DrawnValues,
}

fn connect(place: &str) -> Result<Socket, Error> {
    Ok(match place.parse() {
        Ok(address) => connect_tcp(address, &TcpOptions::default())?,
        Err(_) => connect_unix(Path::new(place), None)?,
    })
}

fn run(mut io: impl Io, task: &BareTask<'_>) -> Result<(), Error> {
    let begun = Instant::now();
    let mut buffer = vec![0; 64 << 10];
    let mut clients = Vec::new();
    let preparation = task.script.preparation();
    for key in 0..task.clients {
        io.open(key, connect(task.place)?)?;
        io.send(key, &startup())?;
        clients.push(BareClient {
            preparing: 1 + u32::from(!preparation.is_empty()),
            ..BareClient::default()
        });
        // One after the other: a server's queue is short.
        while clients[key as usize].preparing > 0 {
            io.wait(0, None)?;
            turn(&mut io, &mut buffer, &mut clients, |io, client, key| {
                client.preparing -= 1;
                if client.preparing == 1 {
                    io.send(key, &preparation)?;
                }
                Ok(())
            })?;
        }
    }
    let (connecting, begun) = (begun.elapsed(), Instant::now());
    let mut work = Work::of(&task.script);
    match task.per_s {
        None => closed(&mut io, &mut buffer, &mut clients, &mut work, task.seconds)?,
        Some(per_s) => {
            let pace = Pace::of(per_s, task.seconds);
            by_rate(&mut io, &mut buffer, &mut clients, &mut work, pace)?;
        }
    }
    let (worked, connecting) = (begun.elapsed().as_secs_f64(), connecting.as_secs_f64());
    // In a closed loop every client is in a transaction all the time.
    let latency_us = match task.per_s {
        None => worked * 1e6 * f64::from(task.clients) / work.transactions as f64,
        Some(_) => f64::NAN,
    };
    println!("{} {worked} {connecting} {latency_us}", work.transactions);
    Ok(())
}

/// Each client begins a transaction when its last one is over.
fn closed(
    io: &mut impl Io,
    buffer: &mut [u8],
    clients: &mut [BareClient],
    work: &mut Work<'_>,
    seconds: u32,
) -> Result<(), Error> {
    let end = Instant::now() + Duration::from_secs(seconds.into());
    for (key, client) in (0..).zip(&mut *clients) {
        work.go_on(io, client, key)?;
    }
    let mut is_over = false;
    while !is_over {
        io.wait(0, None)?;
        turn(io, buffer, clients, |io, client, key| {
            if !work.go_on(io, client, key)? {
                is_over |= work.transactions.is_multiple_of(64) && Instant::now() >= end;
                work.go_on(io, client, key)?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Transactions are due at times that do not depend on the server; the client that has waited longest takes
/// the next.
fn by_rate(
    io: &mut impl Io,
    buffer: &mut [u8],
    clients: &mut [BareClient],
    work: &mut Work<'_>,
    mut pace: Pace,
) -> Result<(), Error> {
    let mut idle: VecDeque<Key> = (0..).take(clients.len()).collect();
    loop {
        let now_ns = monotonic_ns();
        while pace.due_ns <= now_ns
            && let Some(key) = idle.pop_front()
        {
            pace.advance(work.random());
            work.go_on(io, &mut clients[key as usize], key)?;
        }
        if now_ns >= pace.end_ns {
            return Ok(());
        }
        // Without an idle client only an answer helps.
        let deadline_ns = if idle.is_empty() {
            pace.end_ns
        } else {
            pace.due_ns
        };
        io.wait(now_ns, Some(deadline_ns.min(pace.end_ns)))?;
        turn(io, buffer, clients, |io, client, key| {
            if !work.go_on(io, client, key)? {
                idle.push_back(key);
            }
            Ok(())
        })?;
    }
}

/// When transactions are due: a Poisson process, as pgdyno's and pgbench's.
struct Pace {
    due_ns: u64,
    end_ns: u64,
    mean_ns: f64,
}

impl Pace {
    fn of(per_s: u32, seconds: u32) -> Self {
        let now_ns = monotonic_ns();
        Self {
            due_ns: now_ns,
            end_ns: now_ns + u64::from(seconds) * 1_000_000_000,
            mean_ns: 1e9 / f64::from(per_s),
        }
    }

    fn advance(&mut self, random: u64) {
        // In (0, 1]: of 0 there is no logarithm.
        let uniform = ((random >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        self.due_ns += (-uniform.ln() * self.mean_ns) as u64;
    }
}

/// The transactions, and what is needed to send them.
struct Work<'a> {
    script: &'a BareScript,
    random: u64,
    body: Vec<u8>,
    request: Vec<u8>,
    /// So many are over.
    transactions: u64,
}

impl<'a> Work<'a> {
    fn of(script: &'a BareScript) -> Self {
        Self {
            script,
            random: 0x9e37_79b9_7f4a_7c15,
            body: Vec::new(),
            request: Vec::new(),
            transactions: 0,
        }
    }

    fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    /// Sends the client's next statement; `false` when it has none: its transaction is over, and the next call
    /// begins another.
    fn go_on(
        &mut self,
        io: &mut impl Io,
        client: &mut BareClient,
        key: Key,
    ) -> Result<bool, Error> {
        if client.step == self.script.steps() {
            client.step = 0;
            self.transactions += 1;
            return Ok(false);
        }
        if client.step == 0 {
            let random = self.random();
            client.drawn = self.script.draw(random);
        }
        self.request.clear();
        let (body, request) = (&mut self.body, &mut self.request);
        self.script
            .statement(client.step, &client.drawn, body, request);
        client.step += 1;
        io.send(key, &self.request)?;
        Ok(true)
    }
}

/// Takes what has come, and says of which client there was a ReadyForQuery.
fn turn<I: Io>(
    io: &mut I,
    buffer: &mut [u8],
    clients: &mut [BareClient],
    mut ready: impl FnMut(&mut I, &mut BareClient, Key) -> Result<(), Error>,
) -> Result<(), Error> {
    while let Some((key, event)) = io.next(buffer) {
        let client = &mut clients[key as usize];
        match event {
            Event::Connected => {}
            Event::Received(count) => {
                let mut answers = 0;
                let mut error = None;
                client.pieces.take(&buffer[..count], |tag, body| match tag {
                    b'Z' => answers += 1,
                    b'E' => error = Some(String::from_utf8_lossy(body).into_owned()),
                    _ => {}
                });
                if let Some(error) = error {
                    return Err(format!("bare: the server says {error}").into());
                }
                for _ in 0..answers {
                    ready(io, client, key)?;
                }
            }
            Event::Closed => return Err("bare: the server closed a connection".into()),
            Event::Failed(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_loop_cannot_do_is_named() {
        let open = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            open(&words).unwrap_err().to_string()
        };
        assert!(open("epoll").contains("select|tpcb|tpcb-simple"));
        assert!(open("epoll /no insert 1 1 1").contains("select|tpcb|tpcb-simple"));
        assert!(open("epoll /no select 1 1").contains("CLIENTS SECONDS ROWS"));
        assert!(open("kqueue /no select 1 1 1").contains("no kqueue"));
    }

    #[test]
    fn a_pace_has_its_mean() {
        let mut pace = Pace::of(1000, 1);
        let begun_ns = pace.due_ns;
        let script = BareScript::named("select", 1).unwrap();
        let mut work = Work::of(&script);
        for _ in 0..10_000 {
            pace.advance(work.random());
        }
        let mean_ns = (pace.due_ns - begun_ns) as f64 / 10_000.0;
        assert!((mean_ns / 1e6 - 1.0).abs() < 0.05, "{mean_ns}");
    }
}
