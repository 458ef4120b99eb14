//! Warm-ups that end when the server is steady, and whether what was measured was steady.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use pgdyno_platform::child::Signal;
use pgdyno_testkit::postgres;
use serde_json::Value;

use crate::child::Running;
use crate::support::{Database, Ran, pgdyno, ran};

const STEADY: &str = "SELECT pg_sleep(0.05);\n";
/// The same with the noise that servers have; clients do not stay in step.
const NOISY: &str = "\\set ms random(60, 140)\nSELECT pg_sleep(:ms / 1000.0);\n";
/// Throughput falls by as much each second, from the time in `:n` on.
const SLOWS_DOWN: &str = "SELECT pg_sleep(0.05 / greatest(0.1, \
                          1 - 0.04 * (extract(epoch FROM clock_timestamp()) - :n)));\n";

/// A folder with both scripts, a notebook of its own, and a database.
struct Place {
    folder: tempfile::TempDir,
    database: Database,
}

impl Place {
    fn new(name: &str) -> Self {
        let folder = tempfile::tempdir().expect("temporary directory");
        fs::write(folder.path().join("steady.sql"), STEADY).expect("written");
        fs::write(folder.path().join("noisy.sql"), NOISY).expect("written");
        fs::write(folder.path().join("slows.sql"), SLOWS_DOWN).expect("written");
        let database = Database::on(postgres(), name);
        Self { folder, database }
    }

    /// `pgdyno run ARGS`, with everything it measured in NAME.json and a notebook of that name.
    fn start(&self, name: &str, args: &str) -> Running {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = format!("n={}", now.expect("after 1970").as_secs());
        let mut command = pgdyno(&["run", "-v", "--param", &now, "--url", &self.database.url]);
        command
            .args(args.split(' '))
            .arg(format!("--json={name}.json"))
            .current_dir(self.folder.path())
            .env("PGDYNO_STORE", self.store(name));
        Running::start(&mut command)
    }

    fn store(&self, name: &str) -> std::path::PathBuf {
        crate::support::notebook::at(&self.folder.path().join(format!("{name}.sqlite")))
    }

    fn show(&self, name: &str, args: &[&str]) -> Ran {
        let mut command = pgdyno(&[&["show", "1"], args].concat());
        ran(command.env("PGDYNO_STORE", self.store(name))).expect(0, &[])
    }

    /// What a run wrote, and the same from the notebook.
    fn json(&self, name: &str) -> Value {
        let read = |path: &Path| -> Value {
            let text = fs::read_to_string(path).expect("it was written");
            serde_json::from_str(&text).expect("JSON")
        };
        let written = read(&self.folder.path().join(format!("{name}.json")));
        let shown: Value =
            serde_json::from_str(&self.show(name, &["--json"]).stdout).expect("JSON");
        for part in ["trial", "warmup", "measured", "steadiness", "notes", "end"] {
            assert_eq!(shown[part], written[part], "{name}: {part}");
        }
        written
    }
}

fn codes(json: &Value) -> Vec<&str> {
    let notes = json["notes"].as_array().expect("a list").iter();
    notes.filter_map(|note| note["code"].as_str()).collect()
}

/// The sum of committed transactions over the seconds of one phase.
fn committed(json: &Value, warmup: bool) -> u64 {
    let seconds = json["seconds"].as_array().expect("a list").iter();
    let seconds = seconds.filter(|second| second["warmup"] == warmup);
    let scripts = seconds.flat_map(|second| second["scripts"].as_array().expect("a list"));
    scripts
        .map(|s| s["committed"].as_u64().expect("a count"))
        .sum()
}

/// One test, because the runs take their time and need no CPU: they run side by side.
#[test]
fn a_warm_up_ends_when_it_is_steady_and_the_result_says_whether_it_stayed_so() {
    let place = Place::new("warmup_auto");
    let detected = place.start("detected", "steady.sql -c 8 --warmup auto=40s -T 1500ms -v");
    let counted = place.start(
        "counted",
        "steady.sql -c 8 -j 2 --rate 60 --warmup auto=40s -t 3",
    );
    let limit = place.start("limit", "slows.sql -c 4 --warmup auto=10s -T 1 -v");
    let stopped = place.start("stopped", "steady.sql -c 2 --warmup auto -T 1");
    let drifts = place.start("drifts", "slows.sql -c 4 -T 12 -v");

    place
        .database
        .wait_for("SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'SELECT pg_sleep%'");
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    let steady = "noisy.sql -c 10 -T 13";
    let first = place.start("steady", steady);
    stopped.signal(Signal::Interrupt);
    let text = stopped
        .ended()
        .expect(130, &["INTERRUPTED", "after a warm-up of at most"]);
    assert!(!text.stdout.contains("[warm-up"), "{text:?}");
    let json = place.json("stopped");
    assert_eq!(json["measured"]["committed"], 0);
    assert_eq!(json["warmup"]["detected"]["ended_by"], "trial");
    assert!(committed(&json, true) > 0);
    assert_eq!(json["steadiness"][0]["verdict"], "too-short");

    let text = limit.ended().expect(
        0,
        &[
            "after a warm-up of at most 10 s",
            "for 10.0 s (its limit, before throughput was steady), not part of the figures",
            "WARNING [warm-up-cut-short]: the warm-up ended at its limit of 10 s: throughput still fell by",
        ],
    );
    // A second is too short to be called anything.
    assert!(text.stdout.contains("steady       not known"), "{text:?}");
    let json = place.json("limit");
    assert_eq!(json["warmup"]["detected"]["ended_by"], "limit");
    assert_eq!(json["warmup"]["elapsed_us"], 10_000_000);
    assert!(json["warmup"]["detected"]["change"].as_f64() < Some(-0.1));

    // On a busy machine the quicker half looks like a warm-up.
    let ran = drifts.ended().expect(0, &["steady       no: throughput "]);
    let json = place.json("drifts");
    let (code, reported) = match json["steadiness"][0]["verdict"].as_str() {
        Some("drifts") => ("not-steady", "throughput fell by "),
        Some("warm-up") => ("warm-up-measured", "above the rest during the first"),
        other => panic!("{other:?}: {json}"),
    };
    assert!(codes(&json).contains(&code), "{json}");
    assert!(
        ran.stdout.contains(&format!("WARNING [{code}]: ")),
        "{ran:?}"
    );
    let shown = place.show("drifts", &[]).stdout;
    assert!(
        shown
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .contains(reported),
        "{shown}"
    );

    // Another load on this host makes it unsteady in truth: what is said is what was found, whatever that is.
    let ran = first.ended().expect(0, &[]);
    let json = place.json("steady");
    let is_steady = json["steadiness"][0]["verdict"] == "steady";
    let says = ran.stdout.contains("steady       yes");
    let notes = codes(&json).contains(&"not-steady");
    assert!(says || !is_steady, "{ran:?}");
    assert!(!(notes && (says || is_steady)), "{json}");
    assert_eq!(json["warmup"], Value::Null);

    let texts = ["(until throughput was steady), not part of the figures"];
    detected.ended().expect(0, &texts);
    let json = place.json("detected");
    assert_eq!(json["warmup"]["detected"]["ended_by"], "steady");
    assert_eq!(
        (
            &json["trial"]["warmup_detected"],
            &json["trial"]["warmup_s"]
        ),
        (&Value::Bool(true), &serde_json::json!(40.0))
    );
    let warmup_us = json["warmup"]["elapsed_us"].as_u64().expect("a time");
    assert!((10_000_000..40_000_000).contains(&warmup_us), "{warmup_us}");
    let measured_us = json["measured"]["elapsed_us"].as_u64().expect("a time");
    assert!(
        (1_500_000..3_000_000).contains(&measured_us),
        "{measured_us}"
    );
    // The figures are those of the seconds after it, and of no other.
    for (phase, warmup) in [("warmup", true), ("measured", false)] {
        assert_eq!(
            json[phase]["committed"],
            committed(&json, warmup),
            "{phase}"
        );
    }
    place.show("detected", &[]).expect(0, &texts);
    assert!(!codes(&json).contains(&"warm-up-cut-short"));

    counted
        .ended()
        .expect(0, &["(until response time was steady)"]);
    let json = place.json("counted");
    assert_eq!(json["measured"]["committed"], 24, "three of each client");
    assert_eq!(json["warmup"]["detected"]["figure"], "response_time");
}

#[test]
fn a_warm_up_that_is_none_is_refused_with_what_is_allowed() {
    for (given, words) in [
        ("soon", "or auto, auto=2m: until it is steady"),
        ("auto=5s", "auto=10s or more"),
        ("auto:30s", "a limit is written so: auto=2m"),
    ] {
        ran(&mut pgdyno(&["run", "tpcb", "--warmup", given])).expect(2, &["--warmup", words]);
    }
}
