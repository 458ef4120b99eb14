//! Waits of sessions that are causes by themselves.

use pgdyno_model::document::{Cause, Part, Proof};
use pgdyno_spec::text;

use crate::evidence::Evidence;
use crate::rule::{Assessment, Examined, Rule};

const RETRIED: &str = "Contention limited it: conflicting transactions had to be retried";
const RETRY_LAB: &str = "compare forms and retry policies on this server: `pgdyno lab retries`";

pub const CONTENTION: Rule = Rule {
    cause: Cause::Contention,
    code: "contention",
    name: "Row or lock contention",
    is_of_checkpoints: false,
    examine: contention,
};
pub const LIGHTWEIGHT: Rule = Rule {
    cause: Cause::LightweightLocks,
    code: "lightweight-locks",
    name: "Lightweight locks",
    is_of_checkpoints: false,
    examine: |evidence| {
        waits(
            evidence,
            Part::LightweightLocks,
            "Lightweight locks limited it: sessions waited for the server's shared structures",
            "use fewer clients or a pooler; shorter transactions and fewer subtransactions; partitions or \
             more rows where one page is hot",
        )
    },
};
pub const WRITES: Rule = Rule {
    cause: Cause::DataWrites,
    code: "data-writes",
    name: "Data writes",
    is_of_checkpoints: true,
    examine: |evidence| {
        waits(
            evidence,
            Part::DataWrites,
            "Data writes limited it: sessions had to write blocks themselves",
            "larger `shared_buffers`, a busier background writer (`bgwriter_lru_maxpages`), or a faster \
             device",
        )
    },
};
pub const SLRU: Rule = Rule {
    cause: Cause::Slru,
    code: "slru",
    name: "SLRU",
    is_of_checkpoints: false,
    examine: |evidence| {
        waits(
            evidence,
            Part::Slru,
            "SLRU pages limited it: sessions waited for pages of transaction states",
            "fewer subtransactions and row locks shared by several; from PostgreSQL 17 on larger \
             `transaction_buffers`, `subtransaction_buffers`, `multixact_member_buffers`",
        )
    },
};
pub const EXTENSION: Rule = Rule {
    cause: Cause::RelationExtension,
    code: "relation-extension",
    name: "Relation extension",
    is_of_checkpoints: false,
    examine: |evidence| {
        waits(
            evidence,
            Part::Extension,
            "Relation extension limited it: sessions waited for a table or index to grow",
            "partitions, fewer sessions that insert, COPY, or a newer PostgreSQL (16 extends by several \
             blocks)",
        )
    },
};
pub const IPC: Rule = Rule {
    cause: Cause::Ipc,
    code: "ipc",
    name: "IPC and parallel",
    is_of_checkpoints: false,
    examine: |evidence| {
        waits(
            evidence,
            Part::Ipc,
            "IPC limited it: sessions waited for other processes of the server",
            "for parallel statements see what their workers do; `max_parallel_workers_per_gather = 0` \
             shows what they cost without",
        )
    },
};
/// What is none of the others.
pub const OTHERS: Rule = Rule {
    cause: Cause::OtherWaits,
    code: "other-waits",
    name: "Other waits",
    is_of_checkpoints: false,
    examine: |evidence| {
        let event = evidence.budget.events_of(Part::Others).next();
        let (sentence, remedy) = of_others(event.map_or("", |(event, _)| event));
        waits(evidence, Part::Others, sentence, remedy)
    },
};

/// What is said of the most frequent of the other waits.
fn of_others(event: &str) -> (&'static str, &'static str) {
    let (kind, name) = event.split_once(':').unwrap_or(("", event));
    match (kind, name) {
        ("Timeout", "PgSleep") => (
            "Sleeping statements limited it: `pg_sleep` is in them, or in what they call",
            "take `pg_sleep` out of the script, its functions and triggers; a pause of the client is `\\sleep`",
        ),
        ("Extension", name) if name.starts_with("PostgresFdw") || name.starts_with("Dblink") => (
            "Another server limited it: statements waited for its answers (postgres_fdw, dblink)",
            "check what that server does meanwhile, and how often it is asked: `EXPLAIN (VERBOSE)` shows what \
             is sent to it",
        ),
        ("Extension", _) => (
            "An extension limited it: statements waited in one, as postgres_fdw does for another server",
            "find which extension the statements use, and what it waits for",
        ),
        _ => (
            "Other waits limited it: statements waited for an uncommon event",
            "look for the wait event in the manual: a delay for vacuum, an extension",
        ),
    }
}

fn waits(evidence: &Evidence<'_>, part: Part, sentence: &str, remedy: &str) -> Examined {
    if let Some(unknown) = super::cluster::no_waits(evidence) {
        return unknown;
    }
    Examined::assessed(Assessment {
        shares: evidence.shares(&[part]),
        sentence: sentence.to_owned(),
        proofs: vec![proof(evidence, part)],
        remedies: vec![remedy.to_owned()],
        ..Assessment::default()
    })
}

/// The share of a part, with its most frequent events.
pub fn proof(evidence: &Evidence<'_>, part: Part) -> Proof {
    let events = evidence.budget.events_of(part).take(2);
    let events: Vec<&str> = events.map(|(event, _)| event).collect();
    let events = if events.is_empty() {
        String::new()
    } else {
        format!(" in {}", events.join(" and "))
    };
    Proof::new(
        text::roughly(evidence.budget.share(part)),
        format!("of the clients’ time their sessions waited{events}"),
    )
    .at("time-budget", "Time budget")
}

fn contention(evidence: &Evidence<'_>) -> Examined {
    let lost = evidence.lost_shares();
    let lost_share = crate::blocks::mean(&lost).0;
    // Pauses between tries are conflicts' too.
    let backoff_s = evidence
        .budget
        .time
        .at(pgdyno_measurement::Activity::Backoff) as f64
        / 1e9;
    let backoff = crate::ratio::ratio(backoff_s, evidence.budget.working_s());
    if let (Some(gap), true) = (&evidence.budget.unseen, lost_share + backoff == 0.0) {
        return Examined::NotKnown(gap.reason.clone());
    }
    let is_untold = evidence.budget.is_of_nodes && evidence.mean("crdb.contention").is_none();
    if is_untold && lost_share + backoff == 0.0 {
        return Examined::NotKnown(
            "no try was thrown away, and nodes do not tell how long statements wait for locks"
                .to_owned(),
        );
    }
    let waiting = evidence.shares(&[Part::RowLocks]);
    let shares = waiting.iter().zip(&lost);
    let shares = shares.map(|(waiting, lost)| waiting + lost + backoff);
    let waiting_share = evidence.budget.share(Part::RowLocks);
    let mut proofs = Vec::new();
    if waiting_share > 0.0 {
        proofs.push(proof(evidence, Part::RowLocks));
    }
    if lost_share > 0.0 {
        proofs.push(of_lost_tries(evidence, lost_share + backoff));
    }
    if lost_share > waiting_share {
        proofs.reverse();
    }
    if let Some((statement, mean_us)) = dearest(evidence) {
        proofs.push(
            Proof::new(
                text::time(mean_us),
                format!("mean time of `{statement}`, the most expensive statement"),
            )
            .at("statements", "Statements"),
        );
    }
    let lacks = &evidence.outcome.facts.lacks;
    let can_lock_early = !lacks.iter().any(|lacking| lacking == "for-update");
    let (sentence, remedies): (&str, &[&str]) = match lost_share > waiting_share {
        true if !can_lock_early => (
            RETRIED,
            &[
                RETRY_LAB,
                "spread the work over more rows: this server has no `FOR UPDATE` to lock them early",
            ],
        ),
        true => (
            RETRIED,
            &[
                RETRY_LAB,
                "lock rows early (`FOR UPDATE`), or spread the work over more rows",
            ],
        ),
        false => (
            "Contention limited it: sessions waited for each other’s locks",
            &[
                "spread the work over more rows, or hold the lock for less time: put the locking \
               statement last, directly before COMMIT",
            ],
        ),
    };
    Examined::assessed(Assessment {
        shares: shares.collect(),
        sentence: sentence.to_owned(),
        proofs,
        remedies: remedies.iter().map(|&remedy| remedy.to_owned()).collect(),
        ..Assessment::default()
    })
}

fn of_lost_tries(evidence: &Evidence<'_>, share: f64) -> Proof {
    let reason = evidence.outcome.recording.reasons.first();
    let why = reason.map_or_else(String::new, |reason| {
        format!(
            ", most of them because of {} ({})",
            reason.name, reason.sqlstate
        )
    });
    let lost = evidence.all.work.lost_tries;
    let tries = text::plural(lost, "try");
    let were = if lost == 1 { "was" } else { "were" };
    let text = format!("of the clients’ time was spent on {tries} that {were} thrown away{why}");
    Proof::new(text::roughly(share), text).at("retries", "Retries")
}

/// The statement that took most of the time, as the script has it, and its mean in microseconds.
fn dearest<'a>(evidence: &'a Evidence<'_>) -> Option<(&'a str, f64)> {
    let recording = &evidence.outcome.recording;
    let scripts = recording.scripts.iter().zip(&recording.statements);
    let statements = scripts.flat_map(|(script, totals)| script.statements.iter().zip(totals));
    let sql = statements.filter(|(statement, _)| statement.is_sql);
    let (statement, totals) = sql.max_by_key(|(_, totals)| totals.latencies.sum_us())?;
    Some((statement.text.as_str(), totals.latencies.mean_us()?))
}
