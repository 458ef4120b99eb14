//! CPUs of the nodes: where they are all busy, what requests and statements take beyond their waits is
//! waiting for them.

use pgdyno_model::document::Part;
use pgdyno_spec::text;

use super::slow_node::Slow;
use super::uneven::Busiest;
use super::{AT_WORK, BUSY_SHARE, FULL_IDLE_SHARE, cpu_shares, most, of_budget, of_nodes, summed};
use crate::evidence::Evidence;
use crate::ratio::ratio;
use crate::rule::{Assessment, Examined, check};
use crate::rules::cpus::share_behind_others;

/// By block, the share of the clients' time in which nodes on this host, whose CPUs are all busy, were at
/// their statements and had none: they used fewer than they had statements at work.
pub fn waiting(evidence: &Evidence<'_>) -> Vec<f64> {
    let work_s: f64 = AT_WORK
        .iter()
        .map(|part| evidence.budget.seconds(*part))
        .sum();
    let used = evidence.mean("host.server.cpu").unwrap_or(0.0);
    let part = if is_host_full(evidence) {
        1.0 - ratio(used * evidence.elapsed_s, work_s).min(1.0)
    } else {
        0.0
    };
    let work = evidence.shares(&AT_WORK).into_iter();
    work.map(|share| share * part).collect()
}

/// Whether nodes are on this host, and its CPUs are all busy.
fn is_host_full(evidence: &Evidence<'_>) -> bool {
    let idle = evidence.server_idle_share();
    idle.is_some_and(|idle| idle <= FULL_IDLE_SHARE)
}

pub fn examine(evidence: &Evidence<'_>) -> Examined {
    let cores = summed(
        evidence,
        &[
            &["crdb.cpu.user", "crdb.cpu.system"],
            &["yb.cpu.user", "yb.cpu.system"],
        ],
    );
    let idle = evidence.server_idle_share();
    let is_host_full = is_host_full(evidence);
    let shares = cpu_shares(evidence);
    let all: f64 = cores.values().sum();
    let used_by = most(&cores).map(|(node, most)| {
        let most = text::some(most);
        format!("CPUs used by all nodes, {most} of them by {node}")
    });
    let used = || match &used_by {
        Some(by) => format!("{} {by}", text::some(all)),
        None => "the CPUs of nodes were not read".to_owned(),
    };
    let busiest = most(&shares);
    let figure = match (busiest, idle) {
        (Some((node, share)), _) if !is_host_full => {
            format!(
                "{node}, the busiest, used {} of its CPUs",
                text::roughly(share)
            )
        }
        (_, Some(idle)) => format!(
            "{} of the nodes’ host idle; {}",
            text::roughly(idle),
            used()
        ),
        (_, None) => {
            return Examined::NotKnown(format!("{}: the number of CPUs is not known", used()));
        }
    };
    let is_node_full = busiest.is_some_and(|(_, share)| share >= BUSY_SHARE);
    if !is_node_full && !is_host_full {
        return Examined::nothing(evidence, figure);
    }
    let is_for_one = Busiest::of(evidence).is_some_and(|busiest| busiest.is_limit() == Some(true));
    let parts: &[Part] = if is_for_one { &[Part::Sql] } else { &AT_WORK };
    // What a node takes longer than the others is that node's.
    let slow = Slow::of(evidence).map_or(0.0, |slow| slow.part_of_work(evidence));
    // While they wait, others have some of the CPUs.
    let behind_others = share_behind_others(evidence);
    let of_work = evidence.shares(parts).into_iter().zip(waiting(evidence));
    let mut proofs = vec![of_budget(
        text::roughly(parts.iter().map(|part| evidence.budget.share(*part)).sum()),
        "of the clients’ time nodes were at their statements, without waits that are known",
    )];
    proofs.extend(used_by.iter().map(|by| of_nodes(text::some(all), by)));
    proofs.extend(shares.iter().map(|(node, share)| {
        of_nodes(
            text::roughly(*share),
            format!("of its CPUs were used by {node}"),
        )
    }));
    let sentence = match (is_host_full, busiest) {
        (false, Some((node, _))) => format!("The CPUs of {node} limited it: all of them were busy"),
        _ => "The CPUs of the nodes’ host limited it: all of them were busy".to_owned(),
    };
    Examined::assessed(Assessment {
        shares: of_work
            .map(|(share, waiting)| (share - waiting * behind_others).max(0.0) * (1.0 - slow))
            .collect(),
        sentence,
        proofs,
        remedies: vec![
            "give the nodes more or faster CPUs, or add nodes; optimise the most expensive statements \
             (`EXPLAIN ANALYZE`)"
                .to_owned(),
        ],
        checks: vec![check("CPUs were busy", true, figure)],
        ..Assessment::default()
    })
}
