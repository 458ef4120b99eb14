//! Writes that a node's storage engine holds back because flushes and compactions do not keep up.

use pgdyno_model::document::Cause;
use pgdyno_spec::text;

use super::{AT_NODES, most, of_nodes, summed, unread};
use crate::evidence::Evidence;
use crate::ratio::ratio;
use crate::rule::{Assessment, Examined, Rule};

pub const RULE: Rule = Rule {
    cause: Cause::WriteStalls,
    code: "write-stalls",
    name: "Compaction and write stalls",
    is_of_checkpoints: false,
    examine,
};

fn examine(evidence: &Evidence<'_>) -> Examined {
    if let Some(unknown) = unread(evidence) {
        return unknown;
    }
    let levels = levels(evidence);
    let stalled = summed(evidence, &[&["crdb.lsm.write_stalled"], &["yb.lsm.stalls"]]);
    let Some((node, longest)) = most(&stalled) else {
        return Examined::NotKnown(format!(
            "this version does not report how long writes are delayed{levels}"
        ));
    };
    // A store that stalls has all of its writes wait; writers of YugabyteDB each tell their own wait.
    let is_of_writers = evidence.mean("yb.lsm.stalls").is_some();
    let clients = if is_of_writers {
        evidence.busy_clients().max(1.0)
    } else {
        1.0
    };
    let part = ratio(longest, clients).min(1.0);
    let shares = evidence.shares(&AT_NODES).into_iter();
    Examined::assessed(Assessment {
        shares: shares.map(|share| share * part).collect(),
        figure: Some(format!("writes were delayed for {} of the time on {node}{levels}", text::roughly(longest))),
        sentence: format!("Write stalls limited it: the storage engine of {node} delayed writes"),
        proofs: vec![of_nodes(
            text::roughly(longest),
            format!("of the time the storage engine of {node} delayed writes{levels}"),
        )],
        remedies: vec![
            "compactions do not keep up with writes: faster disks, more CPUs for compactions, or fewer \
             writes"
                .to_owned(),
        ],
        ..Assessment::default()
    })
}

/// What is known of the shape of the stores.
fn levels(evidence: &Evidence<'_>) -> String {
    let sublevels = most(&summed(evidence, &[&["crdb.lsm.l0_sublevels"]]));
    let amplified = most(&summed(evidence, &[&["crdb.lsm.read_amplification"]]));
    match (sublevels, amplified) {
        (Some((node, levels)), _) => {
            format!(
                "; level 0 had {} sublevels on {node}",
                text::fixed(levels, 0)
            )
        }
        (None, Some((node, files))) => {
            format!(
                "; a read may have to look into {} files on {node}",
                text::fixed(files, 0)
            )
        }
        (None, None) => String::new(),
    }
}
