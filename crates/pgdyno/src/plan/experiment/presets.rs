//! Experiments that pgdyno brings, as TOML sized to the host: to run, or to print and change.

use pgdyno_model::text;
use pgdyno_platform::host::Host;

/// Their names.
pub const NAMES: [&str; 3] = ["quick", "capacity", "pgbench-tools"];

/// Data of tpcb for each unit of scale, indexes included: what `pgbench -i` makes is about 15 MB.
const BYTES_PER_SCALE: u64 = 15 << 20;
/// PostgreSQL's own default of `shared_buffers`.
const SHARED_BUFFERS_BYTES: u64 = 128 << 20;

/// The experiment of this name.
pub fn toml(name: &str, host: &Host) -> Option<String> {
    match name {
        "quick" => Some(quick(host)),
        "capacity" => Some(capacity(host)),
        "pgbench-tools" => Some(pgbench_tools(host)),
        _ => None,
    }
}

fn quick(host: &Host) -> String {
    let cpus = host.cpus as u64;
    let mut clients = vec![1, cpus.max(2), 4 * cpus.max(2)];
    clients.dedup();
    format!(
        "\
# A first look in about two minutes: how throughput and latency follow the clients, for reads and
# for writes. This host has {cpus} CPUs, so: one client, as many as CPUs, and four times as many.
name = \"quick\"
duration = \"5s\"
warmup = \"1s\"
repeats = 3

[params]
scale = {scale}     # as many branches as clients: they are not to fight for one

[matrix]
workload = [\"select-only\", \"tpcb\"]
clients = {clients:?}
",
        scale = clients.iter().max().copied().unwrap_or(1),
    )
}

fn capacity(host: &Host) -> String {
    let clients = (4 * host.cpus).max(16);
    format!(
        "\
# How much load the system takes while p99 keeps a limit, and where latency bends: transactions
# start when they are due, whether the server keeps up or not (an open loop), at shares of what a
# closed loop comes to. Where the limit is broken, rates between are measured too. About ten minutes.
name = \"capacity\"
workload = \"tpcb\"
duration = \"5s\"
warmup = \"1s\"
repeats = 6                # from six on there are intervals
clients = {clients}               # connections: as many as your application has

[params]
scale = {clients}                 # as many branches as clients: they are not to fight for one

[matrix]
rate = [\"20%\", \"40%\", \"60%\", \"70%\", \"80%\", \"90%\", \"100%\", \"110%\"]

[capacity]
slo = \"20ms\"             # or --slo 20ms
"
    )
}

fn pgbench_tools(host: &Host) -> String {
    let memory = host.memory_bytes;
    let host_words = memory.map_or_else(
        || "a memory that is not known".to_owned(),
        |bytes| format!("{} of memory", text::bytes(bytes as f64)),
    );
    let mut rows = String::new();
    for scale in [1, 10, 100, 1_000, 10_000] {
        rows += &format!(
            "#   {scale:>6}  {:>8}  {}\n",
            text::bytes((scale * BYTES_PER_SCALE) as f64),
            place(scale * BYTES_PER_SCALE, memory)
        );
    }
    format!(
        "\
# The grid of pgbench-tools: 4 scales x 6 numbers of clients x 3 repeats of a minute.
#
# Where the data lie decides what is measured. On this host, with {host_words} and
# PostgreSQL's default shared_buffers of 128 MB (a server elsewhere: by its own memory):
#
#    scale      data  main location
{rows}#
# Add the first scale that lies on disk if the disk is to be measured, and leave out those that
# its room does not allow.
name = \"pgbench-tools\"
workload = \"tpcb\"
duration = \"1m\"
repeats = 3

[matrix]
params.scale = [1, 10, 100, 1000]
clients = [1, 2, 4, 8, 16, 32]

[hygiene]
settle = \"10s\"    # pgbench-tools' RECOVERY
"
    )
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
    use crate::plan::experiment::plan::Plan;
    use crate::plan::experiment::reader;
    use crate::plan::experiment::toml_text::Source;
    use pgdyno_model::spec::TargetSpec;
    use std::path::Path;

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
            for (name, trials) in NAMES.into_iter().zip([18, 49, 72]) {
                let text = toml(name, &host).unwrap();
                let source = Source { name, text: &text };
                let e = reader::read(source, name, Path::new("")).unwrap_or_else(|e| panic!("{e}"));
                let plan =
                    Plan::new(e, &TargetSpec::default(), 1).unwrap_or_else(|e| panic!("{e}"));
                assert_eq!(plan.slots.len(), trials, "{name}");
            }
        }
        assert_eq!(toml("none", &host(None, 1)), None);
    }

    #[test]
    fn the_articles_table_comes_out_for_the_articles_host() {
        // 8 GB of memory: seed of the preset.
        let text = toml("pgbench-tools", &host(Some(8 << 30), 4)).unwrap();
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
