//! A bundle that is tampered with, in every way that we could think of, with hashes as a forger computes them: each
//! is named, with the trial.

use std::fs;
use std::path::Path;

use pgdyno_evidence::bundle::{self, Bundle, Manifest, NOTEBOOK, Parts, bytes};
use pgdyno_evidence::verify::{Disagreement, Verified, verify};
use pgdyno_store::Store;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::cli::evidence::{ONE, STAGE};

/// A bundle in the hands of a forger.
pub struct Forged {
    pub manifest: Manifest,
    pub parts: Parts,
    dir: tempfile::TempDir,
}

impl Forged {
    pub fn of(bundle: &Path) -> Self {
        let bundle = Bundle::read(bundle).unwrap();
        Self {
            manifest: bundle.manifest,
            parts: bundle.parts,
            dir: tempfile::tempdir().unwrap(),
        }
    }

    /// Changes rows of the notebook.
    fn rows(&mut self, sql: &str) {
        let file = self.dir.path().join("rows.sqlite");
        fs::write(&file, &self.parts[NOTEBOOK]).unwrap();
        let connection = Connection::open(&file).unwrap();
        connection.execute_batch(sql).unwrap();
        assert!(connection.changes() > 0 || sql.contains("VIEW"), "{sql}");
        drop(connection);
        self.parts
            .insert(NOTEBOOK.to_owned(), fs::read(&file).unwrap());
    }

    /// Changes rows, and has pgdyno make what is shown of them anew: only the rows themselves can tell.
    fn rows_and_all_that_follows(&mut self, sql: &str) {
        self.rows(sql);
        let (file, new) = (
            self.dir.path().join("all.sqlite"),
            self.dir.path().join("all.bundle"),
        );
        fs::write(&file, &self.parts[NOTEBOOK]).unwrap();
        let store = Store::existing(&file).unwrap();
        let numbers: Vec<i64> = self
            .manifest
            .trials
            .iter()
            .map(|trial| trial.number)
            .collect();
        pgdyno_evidence::export(&store, &[numbers], &new, None).unwrap();
        let new = Bundle::read(&new).unwrap();
        (self.manifest, self.parts) = (new.manifest, new.parts);
    }

    pub fn document(&mut self, path: &str, pointer: &str, value: Value) {
        let mut document: Value = serde_json::from_slice(&self.parts[path]).unwrap();
        let place = document
            .pointer_mut(pointer)
            .unwrap_or_else(|| panic!("{path} {pointer}"));
        assert_ne!(*place, value, "{path} {pointer}");
        *place = value;
        self.parts
            .insert(path.to_owned(), document.to_string().into_bytes());
    }

    /// With hashes as a forger computes them.
    fn sealed(self) -> Verified {
        let manifest = self.manifest.clone().sealed(&self.parts);
        self.written(&manifest.text())
    }

    fn written(self, manifest: &str) -> Verified {
        let file = self.dir.path().join("forged.bundle");
        fs::write(&file, bytes(manifest, &self.parts)).unwrap();
        verify(&file).unwrap()
    }
}

/// Something that a forger does, and what must be named of it: part of what it is, and the trial.
type Way = (
    &'static str,
    fn(&mut Forged),
    &'static str,
    Option<&'static str>,
);

const WAYS: &[Way] = &[
    (
        "goodput in a document",
        |f| f.document(ONE, "/measured/goodput_per_s", json!(1e6)),
        "measured.goodput_per_s",
        Some("1 ("),
    ),
    (
        "a percentile in a document",
        |f| f.document(ONE, "/measured/service/p50_us", json!(1)),
        "measured.service.p50_us",
        Some("1 ("),
    ),
    (
        "a mean in a document",
        |f| f.document(ONE, "/measured/service/mean_us", json!(0.5)),
        "measured.service.mean_us",
        Some("1 ("),
    ),
    (
        "failures left out of a document",
        |f| f.document(ONE, "/measured/failed", json!(7)),
        "measured.failed, the sum of its classes",
        Some("1 ("),
    ),
    (
        "a second in a document",
        |f| f.document(ONE, "/seconds/0/scripts/0/committed", json!(1)),
        "seconds[0].scripts[0].committed",
        Some("1 ("),
    ),
    (
        "the verdict's sentence",
        |f| f.document(ONE, "/verdict/sentence", json!("nothing")),
        "verdict.sentence",
        Some("1 ("),
    ),
    (
        "a share of the budget",
        |f| f.document(ONE, "/budget/parts/0/share", json!(0.999)),
        "budget.parts[0].share",
        Some("1 ("),
    ),
    (
        "a setting in a document",
        |f| f.document(ONE, "/target/facts/fsync", json!({"known": 1})),
        "target.facts.fsync",
        Some("1 ("),
    ),
    (
        "a note removed from rows",
        |f| f.rows("UPDATE trial_ended SET notes = '[]' WHERE trial = 1"),
        "notes",
        Some("1 ("),
    ),
    (
        "a validity note removed from a document",
        |f| f.document(ONE, "/notes", json!([])),
        "notes: how many",
        Some("1 ("),
    ),
    (
        "a setting in rows",
        |f| {
            f.rows("UPDATE trial_begun SET facts = json_set(facts, '$.max_connections', 7) WHERE number = 1")
        },
        "target.facts.max_connections",
        Some("1 ("),
    ),
    (
        "a point's median",
        |f| {
            f.document(
                "shown/experiment-1.json",
                "/points/0/figures/goodput/over_repeats/median",
                json!(9e9),
            )
        },
        "points[0].figures.goodput.over_repeats.median",
        None,
    ),
    (
        "a point's interval",
        |f| {
            f.document(
                "shown/experiment-1.json",
                "/points/0/figures/goodput/over_repeats/interval",
                json!([1.0, 2.0]),
            )
        },
        "points[0].figures.goodput.over_repeats.interval",
        None,
    ),
    (
        "a comparison's answer",
        |f| {
            f.document(
                "shown/comparison.json",
                "/points/0/figures/goodput/verdict",
                json!("higher"),
            )
        },
        "points[0].figures.goodput.verdict",
        None,
    ),
    (
        "a comparison's change",
        |f| {
            f.document(
                "shown/comparison.json",
                "/points/0/figures/goodput/change_of_medians",
                json!(0.5),
            )
        },
        "points[0].figures.goodput.change_of_medians",
        None,
    ),
    (
        "a trial removed",
        |f| {
            f.rows("PRAGMA foreign_keys = ON; DELETE FROM trial_begun WHERE number = 3");
            f.manifest.trials.retain(|t| t.number != 3);
        },
        "the trial",
        None,
    ),
    (
        "a trial excluded without a reason",
        |f| f.rows_and_all_that_follows("UPDATE trial_begun SET excluded = '' WHERE number = 3"),
        "excluded",
        Some("3 ("),
    ),
    (
        "a count of a second",
        |f| {
            f.rows_and_all_that_follows(
                "UPDATE second SET committed = committed + 100 WHERE trial = 1",
            )
        },
        "service times: values in the histogram",
        Some("1 ("),
    ),
    (
        "a total",
        |f| {
            f.rows_and_all_that_follows(
                "UPDATE trial_ended SET committed = committed * 2 WHERE trial = 1",
            )
        },
        "committed",
        Some("1 ("),
    ),
    (
        "goodput in rows",
        |f| {
            f.rows_and_all_that_follows(
                "UPDATE trial_ended SET goodput_per_s = goodput_per_s * 1.001 WHERE trial = 1",
            )
        },
        "goodput_per_s",
        Some("1 ("),
    ),
    (
        "a percentile in rows",
        |f| {
            f.rows_and_all_that_follows("UPDATE trial_ended SET service_p50_us = 1 WHERE trial = 1")
        },
        "service_p50_us",
        Some("1 ("),
    ),
    (
        "another histogram",
        |f| {
            f.rows_and_all_that_follows("UPDATE second SET service_histogram = (SELECT latency_histogram FROM connecting WHERE trial = 1) WHERE trial = 1 AND committed > 10")
        },
        "service times: values in the histogram",
        Some("1 ("),
    ),
    (
        "a second's sum of times",
        |f| {
            f.rows_and_all_that_follows(
                "UPDATE second SET service_sum_us = service_sum_us / 2 WHERE trial = 1",
            )
        },
        "service times: sum in µs",
        Some("1 ("),
    ),
    (
        "a second's longest",
        |f| {
            f.rows_and_all_that_follows("UPDATE second SET service_max_us = service_max_us / 2 WHERE trial = 1 AND committed > 10")
        },
        "service times: longest in µs",
        Some("1 ("),
    ),
    (
        "a second removed",
        |f| {
            f.rows_and_all_that_follows("DELETE FROM second WHERE trial = 1 AND start_us = (SELECT min(start_us) FROM second WHERE trial = 1)")
        },
        "committed",
        Some("1 ("),
    ),
    (
        "failed transactions hidden",
        |f| f.rows_and_all_that_follows("UPDATE second SET failed = 3 WHERE trial = 1"),
        "failed",
        Some("1 ("),
    ),
    (
        "failures of another second",
        |f| f.rows_and_all_that_follows("INSERT INTO failure VALUES (1, 77, 0, 0, 'deadlock', 5)"),
        "failures of seconds that are not there",
        Some("1 ("),
    ),
    (
        "retries",
        |f| f.rows_and_all_that_follows("UPDATE second SET retries = retries + 5 WHERE trial = 1"),
        "transactions that were retried",
        Some("1 ("),
    ),
    (
        "the end moved",
        |f| {
            f.rows_and_all_that_follows(
                "UPDATE trial_ended SET ended = '2001-01-01T00:00:00.000000Z' WHERE trial = 1",
            )
        },
        "ended",
        Some("1 ("),
    ),
    (
        "the start moved",
        |f| {
            f.rows_and_all_that_follows(
                "UPDATE trial_ended SET started = '2101-01-01T00:00:00.000000Z' WHERE trial = 1",
            )
        },
        "started",
        Some("1 ("),
    ),
    (
        "the state",
        |f| f.rows_and_all_that_follows("UPDATE trial_ended SET state = 'failed' WHERE trial = 1"),
        "reason",
        Some("1 ("),
    ),
    (
        "a failed trial made complete",
        |f| {
            f.rows_and_all_that_follows(
                "UPDATE trial_ended SET clients_aborted = 2 WHERE trial = 1",
            )
        },
        "state",
        Some("1 ("),
    ),
    (
        "the clients",
        |f| {
            f.rows_and_all_that_follows(
                "UPDATE trial_begun SET spec = json_set(spec, '$.clients', 1) WHERE number = 1",
            )
        },
        "load_sha256",
        Some("1 ("),
    ),
    (
        "the duration",
        |f| {
            f.rows_and_all_that_follows("UPDATE trial_begun SET spec = json_set(spec, '$.duration_s', 60.0) WHERE number = 1")
        },
        "measured time of a complete trial",
        Some("1 ("),
    ),
    (
        "a command's executions",
        |f| {
            f.rows_and_all_that_follows(
                "UPDATE command_total SET executions = executions + 1 WHERE trial = 1",
            )
        },
        "command 0: values in the histogram",
        Some("1 ("),
    ),
    (
        "a command's text",
        |f| f.rows("UPDATE command SET text = 'SELECT 1' WHERE trial = 1"),
        "commands of its scripts",
        Some("1 ("),
    ),
    (
        "connections",
        |f| f.rows_and_all_that_follows("UPDATE connecting SET connections = 900 WHERE trial = 1"),
        "connections: values in the histogram",
        Some("1 ("),
    ),
    (
        "an endpoint's share",
        |f| {
            f.rows_and_all_that_follows(
                "UPDATE endpoint SET committed = committed + 1 WHERE trial = 1",
            )
        },
        "committed of all endpoints",
        Some("1 ("),
    ),
    (
        "the longest transaction",
        |f| {
            f.rows_and_all_that_follows(
                "UPDATE worst SET latency_us = latency_us + 1 WHERE trial = 1 AND place = 0",
            )
        },
        "the longest transaction",
        Some("1 ("),
    ),
    (
        "a generator's share",
        |f| {
            f.rows_and_all_that_follows("UPDATE trial_ended SET generators = '{\"asked\":1,\"list\":[{\"generator\":0,\"end\":\"complete\",\"trial\":null,\"host\":null,\"clients\":2,\"committed\":1,\"goodput_per_s\":1.0,\"cpu_us\":null,\"busiest_share\":null,\"lag_max_us\":null,\"added_mean_us\":null,\"began_late_us\":null,\"clock\":null,\"clock_drift_us\":null,\"until_us\":0,\"committed_by_second\":[]}],\"start_spread_us\":null,\"start_uncertainty_us\":null}' WHERE trial = 1")
        },
        "committed by all generators",
        Some("1 ("),
    ),
    (
        "CPU time",
        |f| {
            f.rows_and_all_that_follows("UPDATE trial_ended SET client_user_us = 1 WHERE trial = 1")
        },
        "client_user_us",
        Some("1 ("),
    ),
    (
        "a view that shows something else",
        |f| f.rows("DROP VIEW result; CREATE VIEW result AS SELECT 1 AS number"),
        "tables and views",
        None,
    ),
    (
        "another pack of the same name",
        |f| {
            let name = pack_file(f);
            f.parts.insert(name, b"SELECT 1;\n".to_vec());
        },
        "content hash of pack mine",
        None,
    ),
    (
        "another pack, its hash too",
        another_pack,
        "pack mine",
        Some("1 ("),
    ),
    (
        "an experiment's file",
        |f| {
            f.parts.insert(
                "experiments/1-run-mine.toml".to_owned(),
                b"repeats = 9\n".to_vec(),
            );
        },
        "the experiment's file",
        None,
    ),
    (
        "what was shown is gone",
        |f| {
            f.parts.remove(ONE);
            f.manifest.shown.retain(|one| one.path != ONE);
        },
        "what was shown of it",
        Some("1 ("),
    ),
];

fn pack_file(forged: &Forged) -> String {
    let mut names = forged
        .parts
        .keys()
        .filter(|name| name.starts_with("packs/mine-"));
    names.find(|name| name.ends_with("/a.sql")).unwrap().clone()
}

/// The bundle's own hashes all fit: only the trial says which pack it ran.
fn another_pack(forged: &mut Forged) {
    let name = pack_file(forged);
    forged.parts.insert(name, b"SELECT 1;\n".to_vec());
    let path = forged.dir.path().join("x.bundle");
    let manifest = forged.manifest.clone().sealed(&forged.parts);
    fs::write(&path, bytes(&manifest.text(), &forged.parts)).unwrap();
    let bundle = Bundle::read(&path).unwrap();
    let mine = forged
        .manifest
        .workloads
        .iter_mut()
        .find(|one| one.name == "mine")
        .unwrap();
    mine.sha256 = bundle.pack(mine).unwrap().content_hash();
}

fn assert_named(way: &str, found: &Verified, what: &str, trial: Option<&str>) {
    assert!(!found.agrees, "{way}: not found");
    let is_it = |one: &&Disagreement| {
        let of = one.trial.as_deref().unwrap_or_default();
        one.what.contains(what)
            && trial.is_none_or(|trial| of.starts_with(trial))
            && one.shown != one.recomputed
    };
    let named = found.disagreements.iter().find(is_it);
    assert!(
        named.is_some(),
        "{way}: no {what} of {trial:?} in {:#?}",
        found.disagreements
    );
}

#[test]
fn whatever_a_forger_changes_is_named_though_all_hashes_fit() {
    assert!(WAYS.len() >= 20);
    // As it is, nothing is found, also after pgdyno has made it anew.
    let mut untouched = Forged::of(&STAGE.sets);
    untouched.rows_and_all_that_follows("UPDATE trial_begun SET number = number");
    let found = untouched.sealed();
    assert!(found.agrees, "{:#?}", found.disagreements);
    assert!(found.checked.recomputed > 300, "{:?}", found.checked);
    // They wait for the disk more than they compute.
    std::thread::scope(|scope| {
        for ways in WAYS.chunks(WAYS.len().div_ceil(6)) {
            scope.spawn(move || {
                for (way, change, what, trial) in ways {
                    let mut forged = Forged::of(&STAGE.sets);
                    change(&mut forged);
                    assert_named(way, &forged.sealed(), what, *trial);
                }
            });
        }
    });
}

#[test]
fn a_script_that_is_another_is_named() {
    let change = |forged: &mut Forged, hash: bool| {
        let path = forged.manifest.workloads[0].path.clone();
        let text = b"SELECT 1;\n".to_vec();
        if hash {
            forged.manifest.workloads[0].sha256 = bundle::sha256(&text);
        }
        forged.parts.insert(path, text);
    };
    let mut forged = Forged::of(&STAGE.script);
    change(&mut forged, false);
    assert_named(
        "a script",
        &forged.sealed(),
        "SHA-256 of script s.sql",
        None,
    );
    let mut forged = Forged::of(&STAGE.script);
    change(&mut forged, true);
    assert_named(
        "a script, its hash too",
        &forged.sealed(),
        "commands of its scripts",
        Some("1 ("),
    );
}

#[test]
fn hashes_that_do_not_fit_are_named() {
    let sealed = |forged: &Forged| forged.manifest.text();
    let mut forged = Forged::of(&STAGE.sets);
    let text = sealed(&forged);
    forged.parts.get_mut(ONE).unwrap().push(b' ');
    assert_named(
        "a byte",
        &forged.written(&text),
        "SHA-256 of shown/trial-1.json",
        None,
    );
    let forged = Forged::of(&STAGE.sets);
    let text = sealed(&forged).replace("\"was\": 1", "\"was\": 9");
    assert_named(
        "the manifest",
        &forged.written(&text),
        "SHA-256 of the whole",
        None,
    );
    let mut forged = Forged::of(&STAGE.sets);
    let text = sealed(&forged);
    forged.parts.insert("more".to_owned(), Vec::new());
    assert_named("a file more", &forged.written(&text), "the file more", None);
    let mut forged = Forged::of(&STAGE.sets);
    let text = sealed(&forged);
    forged.parts.remove(ONE);
    assert_named(
        "a file less",
        &forged.written(&text),
        "the file shown/trial-1.json",
        None,
    );
}
