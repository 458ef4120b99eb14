//! Making commits durable: sessions that wait for the log to be written and synced, or for standbys
//! to confirm it (`standby.rs`).

use crate::evidence::Evidence;
use crate::ratio::ratio;
use crate::rule::{Assessment, Examined, Rule, check};
use pgdyno_model::document::{Cause, Check, Part, Proof};
use pgdyno_spec::text;

/// A sync of a file flushes the disk once or twice (data, then the file system's journal). What takes
/// longer than so many flushes is not the disk.
const FLUSHES_MAX: f64 = 5.0;
/// From this share of a sync on, `commit_delay` is what it takes; from the second one on also, where it is more than the
/// flushes of the disk: the rest is waiting for CPUs then.
const DELAY_SHARES: [f64; 2] = [0.5, 0.25];
/// Flushes of a sync.
const FLUSHES: f64 = 2.0;
/// So many other transactions must be under way for `commit_delay` unless `commit_siblings` is set (documented).
const COMMIT_SIBLINGS: f64 = 5.0;

pub const RULE: Rule = Rule {
    cause: Cause::DurableCommit,
    code: "durable-commit",
    name: "Durable commit",
    is_of_checkpoints: true,
    examine,
};

/// What is slow where sessions wait for the log itself.
#[derive(Clone, Copy)]
enum Slow {
    Disk,
    /// A sync takes much longer than a flush of the disk.
    Above,
    /// Each sync waits for so many milliseconds before it begins (`commit_delay`).
    Delayed(f64),
}

/// What is said.
struct Words {
    sentence: &'static str,
    remedies: Vec<String>,
}

fn examine(evidence: &Evidence<'_>) -> Examined {
    let budget = &evidence.budget;
    if budget.is_of_nodes {
        return super::cluster::log(evidence);
    }
    if let Some(gap) = &budget.unseen {
        return Examined::NotKnown(gap.reason.clone());
    }
    let mut proofs = vec![super::waits::proof(evidence, Part::Wal)];
    let shares = evidence.shares(&[Part::Wal]);
    if let Some(words) = super::standby::words(evidence) {
        proofs.extend(words.proofs);
        return Examined::assessed(Assessment {
            shares,
            sentence: words.sentence,
            proofs,
            remedies: words.remedies,
            checks: vec![words.check],
            ..Assessment::default()
        });
    }
    let syncs = evidence.mean("pg.wal.syncs").filter(|syncs| *syncs > 0.0);
    let flush_ms = evidence
        .mean("host.disk.flush_await")
        .filter(|ms| *ms > 0.0);
    let waiting = budget.seconds(Part::Wal) / evidence.elapsed_s;
    let sync_ms = syncs.map(|syncs| sync_ms(waiting, syncs));
    let above_ms = flush_ms.zip(sync_ms);
    let above_ms = above_ms.and_then(|(flush_ms, sync_ms)| time_above_the_disk(flush_ms, sync_ms));
    let delay_ms = commit_delay_ms(evidence);
    let delay_ms =
        delay_ms.filter(|ms| sync_ms.is_some_and(|sync_ms| is_delayed(*ms, sync_ms, flush_ms)));
    let slow = match (delay_ms, above_ms) {
        (Some(delay_ms), _) => Slow::Delayed(delay_ms),
        (None, Some(_)) => Slow::Above,
        (None, None) => Slow::Disk,
    };
    if let Slow::Delayed(delay_ms) = slow {
        let sync_ms = sync_ms.unwrap_or(delay_ms);
        proofs.push(Proof::new(
            text::time(delay_ms * 1e3),
            format!(
                "is `commit_delay`, before each sync of the WAL: with it one takes some {}",
                text::time(sync_ms * 1e3)
            ),
        ));
    } else if let Some(flush_ms) = flush_ms {
        let rest = above_ms.map_or_else(String::new, |above_ms| {
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
    let Words { sentence, remedies } = words(slow);
    Examined::assessed(Assessment {
        shares,
        sentence: sentence.to_owned(),
        proofs,
        remedies,
        checks: vec![syncs_explain(evidence, syncs)],
        ..Assessment::default()
    })
}

fn words(slow: Slow) -> Words {
    let off = "`synchronous_commit = off` shows what would be gained, at the price of the last commits \
               when the server crashes";
    let (sentence, first): (_, &[&str]) = match slow {
        Slow::Disk => (
            "Durable commits limited it: sessions waited for the WAL to be written to disk",
            &["use storage with faster syncs, or more clients, so that commits share syncs"],
        ),
        Slow::Above => (
            "Durable commits limited it: sessions waited for the WAL to be written to disk",
            &[
                "look above the disk, which is fast: file system, encryption, a virtual disk or network \
                 storage, `wal_sync_method`",
                "use more clients, so that commits share syncs",
            ],
        ),
        Slow::Delayed(_) => (
            "Durable commits limited it: `commit_delay` held each sync of the WAL back",
            &[
                "`commit_delay = 0`, or less of it: it pays only where syncs are slow and many commits share one",
            ],
        ),
    };
    let remedies = first.iter().chain([&off]);
    Words {
        sentence,
        remedies: remedies.map(|&remedy| remedy.to_owned()).collect(),
    }
}

/// `commit_delay`, where enough clients are at work for it (`commit_siblings`).
fn commit_delay_ms(evidence: &Evidence<'_>) -> Option<f64> {
    let settings = evidence.outcome.facts.changed_settings.known()?;
    let number = |name: &str| settings.get(name)?.parse::<f64>().ok();
    // Documented: in microseconds.
    let delay_ms = number("commit_delay").filter(|us| *us > 0.0)? / 1e3;
    let siblings = number("commit_siblings").unwrap_or(COMMIT_SIBLINGS);
    (evidence.outcome.recording.working_clients() > siblings).then_some(delay_ms)
}

/// Whether `commit_delay` is most of what is known of a sync.
fn is_delayed(delay_ms: f64, sync_ms: f64, flush_ms: Option<f64>) -> bool {
    let is_more = flush_ms.is_some_and(|flush_ms| delay_ms > FLUSHES * flush_ms);
    let [alone, beside_flushes] = DELAY_SHARES.map(|share| share * sync_ms);
    delay_ms >= alone || is_more && delay_ms >= beside_flushes
}

/// How long a sync takes, in milliseconds. Syncs of the WAL do not overlap: while a session always waits for one, each
/// takes the time from one to the next. `waiting` are sessions that wait for the WAL, on average.
fn sync_ms(waiting: f64, syncs: f64) -> f64 {
    waiting.min(1.0) * 1e3 / syncs
}

/// How much longer a sync takes than a flush of the disk, in milliseconds, where it is most of it.
fn time_above_the_disk(flush_ms: f64, sync_ms: f64) -> Option<f64> {
    (sync_ms > FLUSHES_MAX * flush_ms).then_some(sync_ms - flush_ms)
}

/// How many commits share a sync. Not every transaction writes, and one client shares with no other: a
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
fn syncs_explain(evidence: &Evidence<'_>, syncs: Option<f64>) -> Check {
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
        None => check(name, None, "syncs were not counted"),
    }
}

#[cfg(test)]
mod tests {
    use super::{is_delayed, sync_ms, time_above_the_disk};

    #[test]
    fn a_delay_explains_a_sync_that_waits_for_cpus_too_and_none_of_a_slow_disk() {
        // 5 ms of 11.4 on a host with busy CPUs.
        assert!(is_delayed(5.0, 11.4, Some(0.05)));
        assert!(!is_delayed(5.0, 11.4, Some(3.0)) && !is_delayed(5.0, 11.4, None));
        assert!(is_delayed(5.0, 6.0, None) && !is_delayed(0.1, 6.0, Some(0.01)));
    }

    #[test]
    fn a_sync_much_slower_than_the_disk_is_not_the_disk() {
        // A library that sleeps for 20 ms in fsync, on a disk that flushes in 0.08 ms.
        let above_ms = time_above_the_disk(0.08, sync_ms(6.0, 49.0)).unwrap();
        assert!((20.0..21.0).contains(&above_ms), "{above_ms}");
        // The disk itself is that slow.
        assert_eq!(time_above_the_disk(18.0, sync_ms(6.0, 49.0)), None);
        // Few syncs, because hardly any client asks for one.
        assert_eq!(time_above_the_disk(0.3, sync_ms(0.001, 1.0)), None);
    }
}
