//! Making commits durable: sessions that wait for the log to be written and synced, or for standbys
//! to confirm it.

use crate::evidence::Evidence;
use crate::ratio::ratio;
use crate::rule::{Examined, Found, Rule, check};
use pgdyno_model::document::{Cause, Check, Part, Proof};
use pgdyno_model::text;

/// A sync of a file flushes the disk once or twice (data, then the file system's journal). What takes
/// longer than so many flushes is not the disk.
const FLUSHES_MAX: f64 = 5.0;

pub const RULE: Rule = Rule {
    cause: Cause::DurableCommit,
    code: "durable-commit",
    name: "Durable commit",
    is_of_checkpoints: true,
    examine,
};

fn examine(evidence: &Evidence<'_>) -> Examined {
    let budget = &evidence.budget;
    if budget.is_of_nodes {
        return super::cluster::log(evidence);
    }
    if let Some(gap) = &budget.unseen {
        return Examined::NotKnown(gap.reason.clone());
    }
    let mut proofs = vec![super::waits::proof(evidence, Part::Wal)];
    let syncs = evidence.mean("pg.wal.syncs").filter(|syncs| *syncs > 0.0);
    let flush_ms = evidence
        .mean("host.disk.flush_await")
        .filter(|ms| *ms > 0.0);
    let above = flush_ms.zip(syncs).and_then(|(flush_ms, syncs)| {
        time_above_the_disk(
            budget.seconds(Part::Wal) / evidence.elapsed_s,
            flush_ms,
            syncs,
        )
    });
    if let Some(flush_ms) = flush_ms {
        let rest = above.map_or_else(String::new, |above_ms| {
            format!(
                ": a sync of the WAL takes some {} longer",
                text::time(above_ms * 1e3)
            )
        });
        let what = format!("mean time of a disk flush{rest}");
        let proof = Proof::new(text::time(flush_ms * 1e3), what);
        proofs.push(proof.at("instruments", "Server’s host"));
    }
    if let Some(syncs) = syncs {
        let shared = sharing(evidence, syncs);
        proofs.push(
            Proof::new(text::per_second(syncs), format!("syncs of the WAL{shared}"))
                .at("instruments", "Server"),
        );
    }
    let waits_for_standby = budget
        .events_of(Part::Wal)
        .any(|(event, _)| event.ends_with("SyncRep"));
    let mut remedies = vec![
        "use storage with faster syncs, or more clients, so that commits share syncs".to_owned(),
        "`synchronous_commit = off` shows what would be gained, at the price of the last commits \
         when the server crashes"
            .to_owned(),
    ];
    if above.is_some() && !waits_for_standby {
        remedies.insert(
            0,
            "look above the disk, which is fast: file system, encryption, a virtual disk or network \
             storage, `wal_sync_method`"
                .to_owned(),
        );
    }
    if waits_for_standby {
        remedies.insert(0, "check the standbys: commits wait for them".to_owned());
    }
    Examined::found(Found {
        shares: evidence.shares(&[Part::Wal]),
        sentence: "Durable commits limited it: sessions waited for the WAL to be written to disk"
            .to_owned(),
        proofs,
        remedies,
        checks: vec![syncs_explain(evidence, syncs, waits_for_standby)],
        ..Found::default()
    })
}

/// How much longer a sync takes than a flush of the disk, in milliseconds, where it is most of it. Syncs
/// of the WAL do not overlap: while somebody always waits for one, each takes the time from one to the
/// next. `waiting` are sessions that wait for the WAL, on average.
fn time_above_the_disk(waiting: f64, flush_ms: f64, syncs: f64) -> Option<f64> {
    let sync_ms = waiting.min(1.0) * 1e3 / syncs;
    (sync_ms > FLUSHES_MAX * flush_ms).then_some(sync_ms - flush_ms)
}

/// How many commits share a sync. Not every transaction writes, and one client shares with nobody: a
/// figure beyond the clients, or below one commit, is none of theirs.
fn sharing(evidence: &Evidence<'_>, syncs: f64) -> String {
    let committed = ratio(evidence.all.counts.committed as f64, evidence.elapsed_s);
    let shared = committed / syncs;
    let clients = evidence.outcome.recording.working_clients();
    if clients > 1.0 && shared >= 1.0 && shared <= clients {
        format!(", {} transactions for each", text::some(shared))
    } else {
        String::new()
    }
}

/// A sync takes time from one session at least; without any, nothing waited for one.
fn syncs_explain(evidence: &Evidence<'_>, syncs: Option<f64>, waits_for_standby: bool) -> Check {
    let name = "Syncs explain it";
    let sessions = ratio(evidence.budget.seconds(Part::Wal), evidence.elapsed_s);
    match syncs {
        Some(syncs) => {
            let each_s = sessions / syncs;
            let clients = evidence.outcome.recording.working_clients();
            // All clients together wait for a sync at most; one takes less than a second.
            check(
                name,
                each_s <= clients,
                format!(
                    "{} with {} sessions waiting: {} of waiting for each",
                    text::per_second(syncs),
                    text::some(sessions),
                    text::time(each_s * 1e6)
                ),
            )
        }
        None if waits_for_standby => check(name, true, "commits wait for standbys"),
        None => check(name, None, "syncs were not counted"),
    }
}

#[cfg(test)]
mod tests {
    use super::time_above_the_disk;

    #[test]
    fn a_sync_much_slower_than_the_disk_is_not_the_disk() {
        // A library that sleeps for 20 ms in fsync, on a disk that flushes in 0.08 ms.
        let above_ms = time_above_the_disk(6.0, 0.08, 49.0).unwrap();
        assert!((20.0..21.0).contains(&above_ms), "{above_ms}");
        // The disk itself is that slow.
        assert_eq!(time_above_the_disk(6.0, 18.0, 49.0), None);
        // Few syncs, because hardly anybody asks for one.
        assert_eq!(time_above_the_disk(0.001, 0.3, 1.0), None);
    }
}
