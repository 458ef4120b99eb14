//! The pages of figures of a node, with the names that are documented for its version. Counters grow with the
//! statements that the node was asked.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Played;
use super::forms::MetricType;
use super::node::State;

/// Where they are, by the number of the port in the lists: CockroachDB's HTTP port, YugabyteDB's of a tablet
/// server, of YSQL and of a master.
pub const PORTS: [u16; 4] = [8080, 9000, 13000, 7000];

pub fn serve(ip: Ipv4Addr, id: usize, played: &Arc<Played>, state: &Arc<State>) {
    for (port, number) in PORTS.into_iter().enumerate() {
        let listener = TcpListener::bind((ip, number)).unwrap();
        let (played, state) = (Arc::clone(played), Arc::clone(state));
        std::thread::spawn(move || {
            for mut client in listener.incoming().map_while(Result::ok) {
                if state.is_down() {
                    continue;
                }
                let mut request = [0; 2000];
                let count = client.read(&mut request).unwrap_or(0);
                let request = String::from_utf8_lossy(&request[..count]).into_owned();
                let path = request.split(' ').nth(1).unwrap_or_default();
                let page = page(&played, &state, id, port, path);
                let (status, page) = if page.is_empty() {
                    ("404 Not Found", String::new())
                } else {
                    ("200 OK", page)
                };
                let length = page.len();
                let head = format!(
                    "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\n\
                    Content-Length: {length}\r\nConnection: close\r\n\r\n"
                );
                drop(client.write_all((head + &page).as_bytes()));
            }
        });
    }
}

fn page(played: &Played, state: &State, id: usize, port: usize, path: &str) -> String {
    let mut page = String::new();
    let Some((list, version)) = played.list else {
        return page;
    };
    let asked = state.asked.load(Ordering::Relaxed);
    let metrics = list
        .metric
        .iter()
        .filter(|metric| metric.cited.is_in(version));
    for metric in metrics.filter(|metric| metric.port == port && metric.path == path) {
        for name in &metric.names {
            let value = if name == "node_id" { id } else { asked };
            let _ = match metric.type_ {
                MetricType::Counter => writeln!(page, "# TYPE {name} counter\n{name} {value}"),
                MetricType::Gauge if name == "node_id" => {
                    writeln!(page, "# TYPE {name} gauge\n{name} {id}")
                }
                MetricType::Gauge => writeln!(page, "# TYPE {name} gauge\n{name} 1"),
                MetricType::Histogram => writeln!(
                    page,
                    "# TYPE {name} histogram\n{name}_bucket{{le=\"1e+06\"}} {value}\n\
                     {name}_bucket{{le=\"+Inf\"}} {value}\n{name}_sum {}\n{name}_count {value}",
                    value * 500_000,
                ),
            };
        }
    }
    page
}
