//! A server of HTTP/1.1: a thread and a request for each connection, within limits of number and time. What is
//! asked for, and who may ask, is the [`Service`]'s.

use std::io::{self, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustls::ServerConfig;

use crate::answer::Answer;
use crate::connection::Connection;
use crate::feed::Viewer;
use crate::places::{Place, Places};
use crate::request::Request;

#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections at the same time. Beyond them the oldest that [`Service::keeps`] has not kept makes room; without
    /// one, others get 503.
    pub connections: usize,
    /// How long a request may take to come.
    pub request: Duration,
    /// How long an answer, or one event, may take to go.
    pub answer: Duration,
}

pub enum Reply {
    Answer(Answer),
    Events(Viewer),
}

pub trait Service: Send + Sync + 'static {
    /// Whether a connection with this request keeps its place when others come.
    fn keeps(&self, request: &Request) -> bool;

    fn reply(&self, request: &Request) -> Reply;
}

/// Answers connections until it is over, which it notices with the next one.
pub fn listen(
    listener: &TcpListener,
    service: &Arc<impl Service>,
    tls: Option<&Arc<ServerConfig>>,
    limits: Limits,
    is_over: &AtomicBool,
) {
    let places = Places::new(limits.connections);
    for client in listener.incoming() {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        let Ok(client) = client else {
            // No descriptor is left, or the like: a pause, not a loop that eats a CPU.
            thread::sleep(Duration::from_millis(100));
            continue;
        };
        let place = places.take(&client);
        if place.is_none() && tls.is_some() {
            continue;
        }
        let Ok(client) = Connection::new(client, tls) else {
            continue;
        };
        let Some(place) = place else {
            refuse(client, limits);
            continue;
        };
        let service = service.clone();
        let answering = move || answer(client, &*service, limits, place);
        // Without a thread there is no answer; the next client may get one.
        let _ = thread::Builder::new()
            .name("viewer".to_owned())
            .spawn(answering);
    }
}

/// Too many clients. The answer is so short that the kernel takes it at once.
fn refuse(mut client: Connection, limits: Limits) {
    client.allow(Duration::from_millis(10));
    let most = limits.connections;
    let text = format!("{most} clients are connected, which is the most there can be");
    let _ = Answer::text(503, &text)
        .with("Retry-After", "1")
        .send(&mut client);
}

/// Answers the one request of a connection. A client that leaves needs no answer.
fn answer(mut client: Connection, service: &impl Service, limits: Limits, mut place: Place) {
    client.allow(limits.request);
    let reply = match Request::read(&mut client) {
        Ok(None) => return,
        Ok(Some(request)) if service.keeps(&request) && !place.keep() => return,
        Ok(Some(request)) => service.reply(&request),
        Err(refusal) => Reply::Answer(refusal),
    };
    client.allow(limits.answer);
    let sent = match reply {
        Reply::Answer(answer) => answer.send(&mut client),
        Reply::Events(viewer) => follow(&mut client, viewer, limits),
    };
    if sent.is_ok() {
        client.close();
    }
}

/// Sends events until there are no more, or the viewer leaves or does not read for so long that the
/// connection is given up.
fn follow(client: &mut Connection, mut viewer: Viewer, limits: Limits) -> io::Result<()> {
    Answer::begin_events(client)?;
    while let Some(event) = viewer.next() {
        client.allow(limits.answer);
        client.write_all(&event)?;
        client.flush()?;
    }
    Ok(())
}
