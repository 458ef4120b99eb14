//! Blocks that were not in shared buffers: found in the kernel's cache (`buffer-misses`), or read from
//! the device (`device-reads`).
//!
//! A miss costs more than the wait that is seen: the session has to free a buffer, copy the block and
//! check it, and does that on a CPU. Measured with the pack slob on PostgreSQL 18 (docs/slob.md), a
//! logical read that misses into the kernel's cache costs several times one that hits; so the time on
//! the CPU is divided between hits and misses in that proportion before it is called the CPU's.

use crate::evidence::Evidence;
use crate::ratio::ratio;
use crate::rule::{Assessment, Examined, Rule, check};
use pgdyno_model::document::{Cause, Part, Proof};
use pgdyno_spec::text;

/// Blocks come from the kernel's cache.
pub const BUFFERS: Rule = Rule {
    cause: Cause::BufferMisses,
    code: "buffer-misses",
    name: "Buffer misses",
    is_of_checkpoints: true,
    examine: |evidence| examine(evidence, From::Kernel),
};
/// Blocks come from the device.
pub const DEVICE: Rule = Rule {
    cause: Cause::DeviceReads,
    code: "device-reads",
    name: "Device reads",
    is_of_checkpoints: true,
    examine: |evidence| examine(evidence, From::Device),
};

/// CPU time of a miss in that of a hit.
const MISS_COST: f64 = 4.0;
/// From this share of misses on, the device did the reading.
const DEVICE_SHARE: f64 = 0.2;
/// Less of the time in waits for blocks is not worth dividing the CPU's for.
const WAITS_MIN: f64 = 0.05;
/// No block takes longer than this to read.
const BLOCK_MAX_S: f64 = 0.1;

#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    Kernel,
    Device,
}

/// The part of the time on a CPU that misses stand for.
pub fn cpu_share(evidence: &Evidence<'_>) -> f64 {
    let (Some(hits), Some(misses)) = rates(evidence) else {
        return 0.0;
    };
    if evidence.budget.share(Part::DataReads) < WAITS_MIN {
        return 0.0;
    }
    ratio(misses * MISS_COST, misses * MISS_COST + hits)
}

/// Blocks found in shared buffers and not found there, a second.
fn rates(evidence: &Evidence<'_>) -> (Option<f64>, Option<f64>) {
    (
        evidence.mean("pg.blocks.hit"),
        evidence.mean("pg.blocks.read"),
    )
}

/// Reads of the device under the server's data, a second, where that is this host's.
fn device_reads(evidence: &Evidence<'_>) -> Option<f64> {
    evidence.mean("host.server.cpu")?;
    evidence.mean("host.disk.reads")
}

fn examine(evidence: &Evidence<'_>, from: From) -> Examined {
    if evidence.budget.is_of_nodes {
        return match from {
            From::Kernel => super::cluster::reads(evidence),
            From::Device => {
                Examined::NotApplicable("nodes report reads of files, cached or not".to_owned())
            }
        };
    }
    if let Some(gap) = &evidence.budget.unseen {
        return Examined::NotKnown(gap.reason.clone());
    }
    let (_, misses) = rates(evidence);
    let device = device_reads(evidence);
    let is_device =
        device.map(|reads| reads >= DEVICE_SHARE * misses.unwrap_or(0.0) && reads >= 1.0);
    let is_mine = match (from, is_device) {
        (From::Device, None) => {
            return Examined::NotKnown(
                "the disk of the server’s data directory was not observed".to_owned(),
            );
        }
        (From::Device, Some(is_device)) => is_device,
        (From::Kernel, is_device) => is_device != Some(true),
    };
    let reads = evidence.shares(&[Part::DataReads]);
    let cpu = evidence.shares(&[Part::ServerCpu]);
    let (on_cpu, mine) = (cpu_share(evidence), if is_mine { 1.0 } else { 0.0 });
    let shares = reads.iter().zip(&cpu);
    let shares = shares.map(|(reads, cpu)| mine * (reads + on_cpu * cpu));
    let (sentence, remedy) = words(from, is_device.is_some());
    let sessions = ratio(evidence.budget.seconds(Part::DataReads), evidence.elapsed_s);
    Examined::assessed(Assessment {
        shares: shares.collect(),
        sentence: sentence.to_owned(),
        proofs: proofs(evidence, device),
        remedies: vec![remedy.to_owned()],
        checks: vec![check(
            "Misses explain it",
            misses.map(|misses| sessions <= misses * BLOCK_MAX_S),
            match misses {
                Some(misses) => format!(
                    "{} blocks not in shared buffers, {} sessions waiting for them",
                    text::per_second(misses),
                    text::some(sessions)
                ),
                None => "misses were not counted".to_owned(),
            },
        )],
        ..Assessment::default()
    })
}

fn proofs(evidence: &Evidence<'_>, device: Option<f64>) -> Vec<Proof> {
    let mut proofs = Vec::new();
    if let (Some(hits), Some(misses)) = rates(evidence) {
        let per_transaction =
            misses * evidence.elapsed_s / evidence.all.counts.committed.max(1) as f64;
        proofs.push(
            Proof::new(
                text::roughly(ratio(misses, hits + misses)),
                format!(
                    "of the requested blocks were not in shared buffers: {}, {} per transaction",
                    text::per_second(misses),
                    text::some(per_transaction)
                ),
            )
            .at("instruments", "Server"),
        );
    }
    proofs.push(super::waits::proof(evidence, Part::DataReads));
    if let Some(reads) = device {
        proofs.push(
            Proof::new(
                text::per_second(reads),
                "reads reached the disk of the server’s data directory",
            )
            .at("instruments", "Server’s host"),
        );
    }
    proofs
}

/// What limited it, and what would help.
fn words(from: From, is_device_seen: bool) -> (&'static str, &'static str) {
    match from {
        From::Kernel if !is_device_seen => (
            "Buffer misses limited it: blocks were not in shared buffers; it is not known whether they came \
             from the kernel’s cache or the device",
            "use a larger `shared_buffers`, or a smaller working set",
        ),
        From::Kernel => (
            "Buffer misses limited it: blocks were not in shared buffers, and came from the kernel’s \
             cache",
            "use a larger `shared_buffers`, if there is memory; `pgdyno slob sweep` shows \
             the cost of each cache level",
        ),
        From::Device => (
            "Device reads limited it: blocks were not cached",
            "more memory, a faster device, or a smaller set of rows; `pgdyno slob sweep` shows \
             what each level costs",
        ),
    }
}
