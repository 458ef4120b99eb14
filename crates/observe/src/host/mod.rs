//! The host where pgdyno runs: its CPUs, memory, disks and network, the server's processes where the
//! server is here too, and pgdyno itself.
//!
//! All of it is this host's. Whether that is the server's as well is found out
//! (`crates/database/src/locate.rs`), reported as the fact `host.role` with its reason, and never guessed: of a server
//! elsewhere, `--scrape` shows the host.

mod clients;
mod clock;
mod cpu;
mod disk;
mod memory;
mod network;
mod ping;
mod quota;
mod scout;
mod server;
#[cfg(test)]
mod tests;

pub use clients::ThreadLags;
pub use quota::Quota;
pub use scout::Scout;

use super::{Instrument, Scene};
use pgdyno_model::observed::{Chapter, Gap, Row};

/// The names of its instruments.
pub const INSTRUMENTS: &[&str] = &[
    "client",
    "client.ping",
    "host.cpu",
    "host.disk",
    "host.memory",
    "host.network",
];

pub const CHAPTERS: [Chapter; 7] = [
    chapter("This host: CPUs", cpu::ROWS),
    chapter("This host: memory", memory::ROWS),
    chapter("This host: disks", disk::ROWS),
    chapter("This host: network", network::ROWS),
    chapter(
        "This host: the server's processes, where they are here",
        server::ROWS,
    ),
    chapter("pgdyno itself", clients::ROWS),
    chapter("The way to the server", ping::ROWS),
];

const fn chapter(title: &'static str, rows: &'static [Row]) -> Chapter {
    Chapter { title, rows }
}

/// The instruments of this host.
pub fn instruments(scene: &Scene<'_>) -> Vec<Box<dyn Instrument>> {
    let scout = Scout::new(scene.target, scene.product.dialect, scene.located);
    let data = scene.facts.data_directory.clone();
    vec![
        Box::new(cpu::Cpu::new(scout.clone())),
        Box::new(memory::Memory),
        Box::new(disk::Disks::new(scene.disks, scout, data)),
        Box::new(network::Network::default()),
        Box::new(clients::Clients::new(scene.lags.clone())),
        Box::new(ping::Ping::new(
            scene.way.endpoints.first().cloned(),
            scene.product.dialect,
        )),
    ]
}

/// A file of the kernel that cannot be read.
fn unreadable(error: &std::io::Error) -> Gap {
    Gap::because(error.to_string())
}

/// A file of the kernel that can be read and says something strange.
fn strange(path: &str) -> Gap {
    Gap::because(format!("{path} is not understood"))
}
