//! Sorts and hashes that do not fit `work_mem`, and go through temporary files.
//!
//! Writing and reading them is the kernel's cache for the most part: it costs the session CPU time
//! rather than waits, and the work is done in several passes where one would do. So each byte represents
//! some of the time on the CPU as well.

use crate::evidence::Evidence;
use crate::ratio::ratio;
use crate::rule::{Assessment, Examined, Rule, check};
use pgdyno_model::document::{Cause, Part, Proof};
use pgdyno_spec::text;

pub const RULE: Rule = Rule {
    cause: Cause::TemporaryFiles,
    code: "temporary-files",
    name: "Temporary files",
    is_of_checkpoints: false,
    examine,
};

/// CPU time that a byte written to temporary files costs beyond the same sort in memory (measured: 0.2
/// to 4 ns, bench/VERDICT.md).
const CPU_NS_PER_BYTE: f64 = 1.0;

/// The part of the time on a CPU that temporary files stand for.
pub fn cpu_share(evidence: &Evidence<'_>) -> f64 {
    let bytes = evidence.mean("pg.temp.bytes").unwrap_or(0.0) * evidence.elapsed_s;
    let on_cpu = evidence.budget.seconds(Part::ServerCpu);
    ratio(bytes * CPU_NS_PER_BYTE / 1e9, on_cpu).min(1.0)
}

fn examine(evidence: &Evidence<'_>) -> Examined {
    let bytes = evidence.mean("pg.temp.bytes");
    if let (Some(unknown), None) = (super::cluster::no_waits(evidence), bytes) {
        return unknown;
    }
    let on_cpu = cpu_share(evidence);
    let waits = evidence.shares(&[Part::TemporaryFiles]);
    let cpu = evidence.shares(&[Part::ServerCpu]);
    let shares = waits.iter().zip(&cpu);
    let shares = shares.map(|(waits, cpu)| waits + on_cpu * cpu);
    let mut proofs = vec![super::waits::proof(evidence, Part::TemporaryFiles)];
    let bytes = bytes.unwrap_or(0.0);
    if bytes > 0.0 {
        let each = ratio(
            bytes * evidence.elapsed_s,
            evidence.all.counts.committed as f64,
        );
        proofs.insert(
            0,
            Proof::new(
                text::bytes_per_s(bytes),
                format!(
                    "written to temporary files, {} by each transaction",
                    text::bytes(each)
                ),
            )
            .at("instruments", "Server"),
        );
    }
    Examined::assessed(Assessment {
        shares: shares.collect(),
        sentence: "Temporary files limited it: sorts or hashes did not fit `work_mem`".to_owned(),
        proofs,
        remedies: vec![
            "raise `work_mem` (for these sessions: `SET work_mem`), or have an index deliver the order"
                .to_owned(),
        ],
        checks: vec![check(
            "Temporary files were written",
            bytes > 0.0,
            text::bytes_per_s(bytes),
        )],
        ..Assessment::default()
    })
}
