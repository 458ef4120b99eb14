//! The host where pgdyno runs: its CPUs, memory, disks and network, the server's processes where the
//! server is here too, and pgdyno itself.
//!
//! All of it is this host's. Whether that is the server's as well is found out
//! (`target/locate.rs`), told as the fact `host.role` with its reason, and never guessed: of a server
//! elsewhere, `--scrape` shows the host.

mod clients;
mod clock;
mod cpu;
mod device;
mod disk;
mod memory;
mod meter;
mod network;
mod scout;
mod server;
#[cfg(test)]
mod tests;

pub use clients::Board;
pub use meter::{Meter, Reading, Use};
pub use scout::Scout;

use super::catalog::Chapter;
use super::{Gap, Instrument, Scene};

/// What its instruments give.
pub const CHAPTERS: [Chapter; 3] = [
    Chapter {
        title: "The host where pgdyno runs",
        rows: &HOST,
    },
    Chapter {
        title: "The server's processes, where they are on that host",
        rows: server::ROWS,
    },
    Chapter {
        title: "pgdyno itself",
        rows: clients::ROWS,
    },
];

const HOST: [super::Row; HOST_ROWS] = concatenated();
const HOST_PARTS: [&[super::Row]; 4] = [cpu::ROWS, memory::ROWS, disk::ROWS, network::ROWS];
const HOST_ROWS: usize =
    cpu::ROWS.len() + memory::ROWS.len() + disk::ROWS.len() + network::ROWS.len();

const fn concatenated() -> [super::Row; HOST_ROWS] {
    let mut all = [cpu::ROWS[0]; HOST_ROWS];
    let (mut part, mut at) = (0, 0);
    while part < HOST_PARTS.len() {
        let mut row = 0;
        while row < HOST_PARTS[part].len() {
            all[at] = HOST_PARTS[part][row];
            at += 1;
            row += 1;
        }
        part += 1;
    }
    all
}

/// The instruments of this host.
pub fn instruments(scene: &Scene<'_>) -> Vec<Box<dyn Instrument>> {
    let scout = Scout::new(scene.target, scene.product.dialect);
    let data = scene.facts.data_directory.clone();
    vec![
        Box::new(cpu::Cpu::new(scout.clone())),
        Box::new(memory::Memory),
        Box::new(disk::Disks::new(scene.disks, scout.clone(), data)),
        Box::new(network::Network::default()),
        Box::new(server::Server::new(scout)),
        Box::new(clients::Clients::new(scene.board.clone())),
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
