//! Commits that wait for synchronous standbys (`SyncRep`): for which, until when, and whether there is one.

use pgdyno_model::document::{Check, Part, Proof, Standby};
use pgdyno_spec::text;

use crate::evidence::Evidence;
use crate::ratio::ratio;
use crate::rule::check;

/// From this share of the waits for the log on, standbys are what commits wait for.
const SHARE_MIN: f64 = 0.5;
/// States of standbys that commits wait for (manual of PostgreSQL, pg_stat_replication).
const SYNCHRONOUS: [&str; 2] = ["sync", "quorum"];

/// What is said where standbys are the reason.
pub struct Words {
    pub sentence: String,
    pub proofs: Vec<Proof>,
    pub remedies: Vec<String>,
    pub check: Check,
}

/// What a commit waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    Received,
    Flushed,
    Applied,
    /// Scripts set it.
    Unknown,
}

/// What to say of the waits for the log; `None` where most of them are not for standbys.
pub fn words(evidence: &Evidence<'_>) -> Option<Words> {
    let sessions = |is_wanted: &dyn Fn(&str) -> bool| -> f64 {
        let events = evidence.budget.events_of(Part::Wal);
        let events = events.filter(|(event, _)| is_wanted(event));
        events.map(|(_, sessions)| sessions).sum()
    };
    let for_standbys = sessions(&|event| event.ends_with("SyncRep"));
    if ratio(for_standbys, sessions(&|_| true)) < SHARE_MIN {
        return None;
    }
    let names = setting(evidence, "synchronous_standby_names").filter(|names| !names.is_empty());
    let replication = evidence.outcome.facts.replication.known();
    let standbys = replication.map(|replication| &replication.standbys[..]);
    match standbys {
        Some(standbys) if standbys.iter().all(is_asynchronous) => {
            Some(missing(names, standbys.len() as u64))
        }
        _ => Some(slow(evidence, standbys)),
    }
}

fn setting<'a>(evidence: &'a Evidence<'_>, name: &str) -> Option<&'a str> {
    let settings = evidence.outcome.facts.changed_settings.known()?;
    settings.get(name).map(String::as_str)
}

/// Whether it is known that commits do not wait for it.
fn is_asynchronous(standby: &Standby) -> bool {
    let state = standby.sync_state.as_deref();
    state.is_some_and(|state| !SYNCHRONOUS.contains(&state))
}

fn missing(names: Option<&str>, connected: u64) -> Words {
    let names = names.map_or_else(
        || "`synchronous_standby_names`".to_owned(),
        |names| format!("`synchronous_standby_names = '{names}'`"),
    );
    let connected = match connected {
        0 => "no standby was connected before the trial".to_owned(),
        connected => format!(
            "{} connected before the trial, none of them synchronous",
            count(connected)
        ),
    };
    Words {
        sentence: format!(
            "A missing standby limited it: commits waited for one of {names}, and none was connected"
        ),
        proofs: Vec::new(),
        remedies: vec![
            "start that standby, and check the name with which it connects (`application_name` of its \
             `primary_conninfo`)"
                .to_owned(),
            "or remove it from `synchronous_standby_names`: otherwise commits wait forever".to_owned(),
        ],
        check: check("No synchronous standby was connected", true, connected),
    }
}

fn slow(evidence: &Evidence<'_>, standbys: Option<&[Standby]>) -> Words {
    let until = until(evidence);
    let (what, remedies): (_, &[&str]) = match until {
        Until::Received => (
            " to receive the WAL (`synchronous_commit = remote_write`)",
            &["check the network to the standby: each commit takes its round trip"],
        ),
        Until::Flushed => (
            " to have the WAL on its disk",
            &[
                "check the network to the standby and the syncs of its disk: each commit waits for both",
                "`synchronous_commit = remote_write` skips the standby's sync, `local` skips the standby: a \
                 crash of this server may then lose commits",
            ],
        ),
        Until::Applied => (
            " to apply the WAL (`synchronous_commit = remote_apply`)",
            &[
                "check what delays replay there: `recovery_min_apply_delay`, queries that conflict with it \
                 (`max_standby_streaming_delay`), its CPU and reads",
                "`synchronous_commit = on` waits until the standby has the WAL on its disk, not until it has \
                 applied it",
            ],
        ),
        Until::Unknown => (
            "",
            &["check the standby and the network to it: each commit waits for both"],
        ),
    };
    let lags = evidence.by_node("pg.standby.lag").into_iter();
    let latest = lags.max_by(|a, b| a.1.total_cmp(&b.1));
    let latest = latest.filter(|(_, lag_s)| until == Until::Applied && *lag_s > 0.0);
    let proofs = latest.map(|(name, lag_s)| {
        let name = if name.is_empty() { "the standby" } else { name };
        Proof::new(
            text::time(lag_s * 1e6),
            format!("after this server {name} had applied its WAL, on average"),
        )
        .at("instruments", "Server")
    });
    let synchronous = standbys.map(|standbys| {
        let those = standbys.iter().filter(|standby| !is_asynchronous(standby));
        those.count() as u64
    });
    Words {
        sentence: format!("Synchronous replication limited it: commits waited for a standby{what}"),
        proofs: proofs.into_iter().collect(),
        remedies: remedies.iter().map(|&remedy| remedy.to_owned()).collect(),
        check: check(
            "A standby was connected",
            synchronous.map(|_| true),
            match synchronous {
                Some(synchronous) => count(synchronous),
                None => "standbys were not seen".to_owned(),
            },
        ),
    }
}

fn count(standbys: u64) -> String {
    match standbys {
        1 => "1 standby".to_owned(),
        _ => format!("{standbys} standbys"),
    }
}

fn until(evidence: &Evidence<'_>) -> Until {
    let scripts = evidence.outcome.recording.scripts.iter();
    let mut statements = scripts.flat_map(|script| &script.statements);
    if statements.any(|statement| statement.text.contains("synchronous_commit")) {
        return Until::Unknown;
    }
    let setting = evidence.outcome.facts.synchronous_commit.known();
    match setting.map(String::as_str) {
        Some("remote_write") => Until::Received,
        Some("on") => Until::Flushed,
        Some("remote_apply") => Until::Applied,
        _ => Until::Unknown,
    }
}
