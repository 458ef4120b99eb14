//! Making commits durable on nodes: each waits for the log of its range's leader.

use pgdyno_model::document::Part;
use pgdyno_spec::text;

use super::{log_commits, most, of_budget, of_nodes, summed};
use crate::evidence::Evidence;
use crate::rule::{Assessment, Examined, check};

/// A node whose log takes so many times as long as that of the others is named.
const SLOWER: f64 = 2.0;

pub fn examine(evidence: &Evidence<'_>) -> Examined {
    let means = log_commits(evidence);
    let Some((node, slowest_s)) = most(&means) else {
        let syncs = evidence.mean("yb.log.syncs");
        return match syncs {
            Some(syncs) => Examined::nothing(
                evidence,
                format!(
                    "{} syncs of logs, for which writes do not wait by default",
                    text::per_second(syncs)
                ),
            ),
            None => Examined::NotKnown("no node reported how long its log takes".to_owned()),
        };
    };
    let others = (means.values().sum::<f64>() - slowest_s) / (means.len() as f64 - 1.0);
    let is_slower = means.len() > 1 && slowest_s >= SLOWER * others;
    let commits: f64 = summed(evidence, &[&["crdb.raft.log.commits"]])
        .values()
        .sum();
    let beside = match means.len() {
        1 => String::new(),
        _ => format!(", {} on the others", text::time(others * 1e6)),
    };
    let mut remedies = vec![
        "use disks with faster syncs, or more clients, so that commits share them".to_owned(),
        "fewer writes of ranges in a transaction: fewer indexes, and statements that commit by \
         themselves"
            .to_owned(),
    ];
    if is_slower {
        remedies.insert(
            0,
            format!("check the disk of {node}: its log is the slowest"),
        );
    }
    Examined::assessed(Assessment {
        shares: evidence.shares(&[Part::Wal]),
        sentence: "Durable commits limited it: transactions waited for Raft’s log".to_owned(),
        proofs: vec![
            of_budget(
                text::roughly(evidence.budget.share(Part::Wal)),
                "of the clients’ time at least, commits waited for a log",
            ),
            of_nodes(
                text::time(slowest_s * 1e6),
                format!("to make the log durable on {node}{beside}"),
            ),
            of_nodes(text::per_second(commits), "log commits of all nodes"),
        ],
        remedies,
        checks: vec![check(
            "Logs were written",
            commits > 0.0,
            text::per_second(commits),
        )],
        ..Assessment::default()
    })
}
