//! Experiments that pgdyno brings, sized to the host: to run, or to print and change.

use std::time::Duration;

use pgdyno_platform::host::Host;
use pgdyno_spec::text;

use pgdyno_spec::{
    Experiment,
    experiment::{Commented, Comments, seconds},
};

pub const NAMES: [&str; 3] = ["quick", "capacity", "pgbench-tools"];

/// Data of tpcb for each unit of scale, indexes included: what `pgbench -i` makes is about 15 MB.
const BYTES_PER_SCALE: u64 = 15 << 20;
/// PostgreSQL's own default of `shared_buffers`.
const SHARED_BUFFERS_BYTES: u64 = 128 << 20;
/// Why the scale follows the clients.
const BRANCHES: &str = "as many branches as clients: they are not to fight for one";

/// The experiment of this name.
pub fn preset(name: &str, host: &Host) -> Option<Commented> {
    match name {
        "quick" => Some(quick(host)),
        "capacity" => Some(capacity(host)),
        "pgbench-tools" => Some(pgbench_tools(host)),
        _ => None,
    }
}

fn quick(host: &Host) -> Commented {
    let cpus = host.cpus as u64;
    let mut clients = vec![1, cpus.max(2), 4 * cpus.max(2)];
    clients.dedup();
    let most = clients.iter().max().copied().unwrap_or(1);
    Commented {
        experiment: Experiment::named("quick")
            .fix("duration", seconds(Duration::from_secs(3)))
            .fix("warmup", seconds(Duration::from_secs(1)))
            .fix("params.scale", most)
            .repeats(5)
            .axis("workload", [["select-only"], ["tpcb"]])
            .axis("clients", clients),
        comments: Comments::heading(format!(
            "\
A first look in about three minutes: how throughput and latency follow the clients, for reads and
for writes. This host has {cpus} CPUs, so: one client, as many as CPUs, and four times as many. Five
repeats tell two points apart; three seconds say nothing of checkpoints and of slow drifts."
        ))
        .on("params.scale", BRANCHES),
    }
}

fn capacity(host: &Host) -> Commented {
    let clients = (4 * host.cpus).max(16);
    let shares = ["25%", "50%", "75%", "100%"];
    Commented {
        experiment: Experiment::named("capacity")
            .fix("workload", ["tpcb"])
            .fix("duration", seconds(Duration::from_secs(10)))
            .fix("warmup", seconds(Duration::from_secs(1)))
            .fix("clients", clients)
            .fix("params.scale", clients)
            .axis("rate", shares)
            .slo(Duration::from_millis(20)),
        comments: Comments::heading(
            "\
How much load the system takes while p99 keeps a limit, and where latency bends: transactions
start when they are due, whether the server keeps up or not (an open loop), at shares of what a
closed loop comes to. From there it searches: steps are added, and lengthened, until the interval of
the capacity is as narrow as ± 5 % or twenty minutes are over.",
        )
        .on("clients", "connections: as many as your application has")
        .on("params.scale", BRANCHES)
        .on("capacity.slo", "or --slo 20ms"),
    }
}

fn pgbench_tools(host: &Host) -> Commented {
    let memory = host.memory_bytes;
    let host_words = memory.map_or_else(
        || "a memory that is not known".to_owned(),
        |bytes| format!("{} of memory", text::bytes(bytes as f64)),
    );
    let mut rows = String::new();
    for scale in [1, 10, 100, 1_000, 10_000] {
        rows += &format!(
            "  {scale:>6}  {:>8}  {}\n",
            text::bytes((scale * BYTES_PER_SCALE) as f64),
            place(scale * BYTES_PER_SCALE, memory)
        );
    }
    Commented {
        experiment: Experiment::named("pgbench-tools")
            .fix("workload", ["tpcb"])
            .fix("duration", seconds(Duration::from_secs(60)))
            .repeats(3)
            .axis("params.scale", [1, 10, 100, 1_000])
            .axis("clients", [1, 2, 4, 8, 16, 32])
            .settle(Duration::from_secs(10)),
        comments: Comments::heading(format!(
            "\
The grid of pgbench-tools: 4 scales x 6 numbers of clients x 3 repeats of a minute.

Where the data lie decides what is measured. On this host, with {host_words} and
PostgreSQL's default shared_buffers of 128 MB (a server elsewhere: by its own memory):

   scale      data  main location
{rows}
Add the first scale that lies on disk if the disk is to be measured, and leave out those that
its room does not allow."
        ))
        .on("reset.settle", "pgbench-tools' RECOVERY"),
    }
}

/// Where data of this size mostly lie.
fn place(bytes: u64, memory_bytes: Option<u64>) -> &'static str {
    match memory_bytes {
        _ if bytes * 10 <= SHARED_BUFFERS_BYTES * 12 => "shared_buffers",
        None => "RAM or disk",
        // Half of the memory is the kernel's to cache files with, more or less.
        Some(memory) if bytes <= memory / 2 => "RAM",
        Some(memory) if bytes <= 2 * memory => "RAM and disk",
        Some(_) => "disk",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::testing::planned;

    fn host(memory_bytes: Option<u64>, cpus: usize) -> Host {
        Host {
            memory_bytes,
            cpus,
            ..Host::read()
        }
    }

    #[test]
    fn every_preset_is_an_experiment_on_every_host() {
        for host in [
            host(None, 1),
            host(Some(8 << 30), 4),
            host(Some(1 << 40), 128),
        ] {
            for (name, trials) in NAMES.into_iter().zip([30, 5, 72]) {
                let plan = planned(&preset(name, &host).unwrap());
                assert_eq!(plan.slots.len(), trials, "{name}");
            }
        }
        assert_eq!(preset("none", &host(None, 1)), None);
    }

    #[test]
    fn the_articles_table_comes_out_for_the_articles_host() {
        // 8 GB of memory: seed of the preset.
        let preset = preset("pgbench-tools", &host(Some(8 << 30), 4)).unwrap();
        let text = preset.to_toml();
        for row in [
            "     1     15 MB  shared_buffers",
            "    10    150 MB  shared_buffers",
            "   100   1.46 GB  RAM",
            "  1000   14.6 GB  RAM and disk",
            " 10000    146 GB  disk",
        ] {
            assert!(text.contains(row), "no {row} in {text}");
        }
    }
}
