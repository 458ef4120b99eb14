//! The options that say what is observed beside a trial, the same on every verb that measures.

use std::collections::BTreeSet;
use std::sync::Arc;

use clap::Args;

use super::Talk;
use crate::observe::scrape::Scrape;
use crate::observe::{Asked, Wish, board, listen};
use crate::target::locate::Device;
use pgdyno_model::{Exit, Failure};

/// What is observed while clients are at work: docs/instruments.md.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Observation")]
pub struct ObserveArgs {
    /// What to read once a second while clients are at work: auto (all that the server and this
    /// host have), none, or instruments or groups of them by name (pg,host.disk). What cannot be
    /// seen costs nothing and is told with its reason
    #[arg(long, value_name = "auto|none|LIST", default_value = "auto")]
    pub observe: Wish,

    /// Watch this disk of this host, such as nvme0n1; may be given several times [default: the one
    /// under the server's data, when that is on this host]
    #[arg(long, value_name = "NAME")]
    pub disk: Vec<String>,

    /// Read a Prometheus endpoint once a second too, such as a node_exporter on the server's host:
    /// node=http://db1:9100/metrics. Filters are metrics' names, * for anything, and values of
    /// labels: node_load1,node_disk_*,node_cpu_seconds_total{mode=user}
    #[arg(long, value_name = "NAME=URL[,FILTER…]")]
    pub scrape: Vec<String>,

    /// Serve the running trial to a Prometheus: http://ADDR/metrics. A port alone is on this host
    /// only [default: no]
    #[arg(long, value_name = "ADDR", value_parser = listen::address)]
    pub metrics_listen: Option<std::net::SocketAddr>,
}

impl ObserveArgs {
    /// The same as a trial takes it; from here on others can see it.
    ///
    /// # Errors
    /// Something cannot be observed as it was asked for, or nobody can listen at the address.
    pub fn asked(&self, talk: Talk) -> Result<Asked, Failure> {
        let mut names = BTreeSet::new();
        let mut scrapes = Vec::new();
        for (index, text) in self.scrape.iter().enumerate() {
            // The text may have a password: it is not repeated.
            let wrong = |why: String| {
                let which = match self.scrape.len() {
                    1 => "--scrape".to_owned(),
                    _ => format!("--scrape number {}", index + 1),
                };
                Failure::with(Exit::Usage, format!("{which}: {why}"))
                    .hint("--scrape node=http://db1:9100/metrics,node_load1,node_disk_*")
            };
            let scrape: Scrape = text.parse().map_err(wrong)?;
            if !names.insert(scrape.name().to_owned()) {
                return Err(wrong(format!(
                    "there are two of the name {}",
                    scrape.name()
                )));
            }
            scrapes.push(scrape);
        }
        for name in &self.disk {
            Device::named(name)
                .map_err(|why| Failure::with(Exit::Usage, format!("--disk: {why}")))?;
        }
        let board = match self.metrics_listen {
            None => None,
            Some(at) => {
                let board = Arc::<board::Board>::default();
                let at = listen::serve(Arc::clone(&board), at).map_err(|e| {
                    Failure::new(format!("--metrics-listen: cannot listen at {at}: {e}"))
                        .hint("another port, or end what listens there")
                })?;
                if !talk.quiet {
                    crate::say::remark!("pgdyno: metrics at http://{at}/metrics");
                }
                Some(board)
            }
        };
        Ok(Asked {
            wish: self.observe.clone(),
            disks: self.disk.clone(),
            scrapes,
            board,
        })
    }
}
