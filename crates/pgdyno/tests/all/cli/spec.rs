//! No field of a trial's spec is lost on its way: experiment file, notebook, `show`, the command line,
//! `--json`, the page. A new option of a trial is in this test without a line of it.

use std::path::Path;

use pgdyno_spec::{Takes, TrialOption};
use serde_json::{Value, json};

use crate::support::{Database, document_of, pgdyno, ran};

/// What a trial on PostgreSQL can be given instead of an option's own example; `None`: nothing.
fn example(option: &TrialOption) -> Option<Value> {
    Some(match option.name.as_str() {
        "workload" => json!("tpcb"),
        "mix" => json!("cte"),
        // They are pinned, and any machine has one CPU.
        "threads" => json!(1),
        // Savepoints are CockroachDB's, and so is failing on purpose; followers are of clusters.
        "retry" => json!("restart"),
        // Roles need a second server.
        "endpoint_role" | "script_role" | "staleness" | "client_stamps" => return None,
        // Only packs that say what they observe have a history.
        "check_isolation" => return None,
        "inject_retries" | "follower_reads" | "new_nodes" => return None,
        _ => option.example(),
    })
}

struct Dir(tempfile::TempDir);

impl Dir {
    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn store(&self) -> String {
        let store = crate::support::notebook::at(&self.0.path().join("store"));
        store.display().to_string()
    }

    fn show(&self, trial: u32) -> String {
        let args = ["show", &trial.to_string(), "--store", &self.store()];
        ran(&mut pgdyno(&args)).expect(0, &[]).stdout
    }
}

/// As an experiment file has it.
fn toml(value: &Value) -> String {
    value.to_string()
}

#[test]
fn every_option_goes_from_an_experiment_file_to_the_page_and_back_to_the_command_line() {
    let db = Database::new("spec_walk");
    let dir = Dir(tempfile::tempdir().unwrap());
    let mut trial = 0;
    // A trial has one length.
    for (length, other) in [("duration", "transactions"), ("transactions", "duration")] {
        let options: Vec<(&TrialOption, Value)> = TrialOption::all()
            .iter()
            .filter(|option| option.name != other)
            .filter_map(|option| Some((option, example(option)?)))
            .collect();
        assert!(options.len() > 15, "{}", options.len());
        let lines = options.iter();
        let lines = lines.map(|(option, value)| format!("{} = {}\n", option.name, toml(value)));
        let file = dir.path(&format!("{length}.toml"));
        let text: String = lines.chain(["params.scale = 1\n".to_owned()]).collect();
        std::fs::write(&file, &text).unwrap();
        let store = dir.store();
        db.pgdyno(&["sweep", &file, "--allow-shell", "--store", &store])
            .expect(0, &[]);
        trial += 1;
        check(&dir, trial, &options);
        // What `show` says is to be typed gives the same trial again.
        let shown = dir.show(trial);
        let typed = shown.lines().find_map(|line| line.strip_prefix("as a run"));
        let typed = typed.unwrap().trim().strip_prefix("pgdyno ").unwrap();
        let command = format!("{} {typed} --store '{store}'", env!("CARGO_BIN_EXE_pgdyno"));
        ran(std::process::Command::new("sh").args(["-c", &command])).expect(0, &[]);
        trial += 1;
        check(&dir, trial, &options);
        // And so does the notebook's own spec.
        let number = trial.to_string();
        ran(&mut pgdyno(&[
            "rerun",
            &number,
            "--allow-shell",
            "--store",
            &store,
        ]))
        .expect(0, &[]);
        trial += 1;
        check(&dir, trial, &options);
        let hashes = "SELECT count(DISTINCT load_sha256), count(*) FROM trial";
        let counted = ran(&mut pgdyno(&["sql", hashes, "--csv", "--store", &store]));
        let want = format!("{},{trial}", trial / 3);
        assert_eq!(counted.stdout.lines().last(), Some(want.as_str()));
    }
}

/// The trial has all of them wherever it is shown.
fn check(dir: &Dir, trial: u32, options: &[(&TrialOption, Value)]) {
    let (store, number) = (dir.store(), trial.to_string());
    let kept = [
        "sql",
        &format!("SELECT spec FROM trial WHERE number = {trial}"),
        "--json",
    ];
    let kept = ran(pgdyno(&kept).args(["--store", &store])).expect(0, &[]);
    let kept: Value = serde_json::from_str(kept.stdout.trim()).unwrap();
    let kept: Value = serde_json::from_str(kept[0]["spec"].as_str().unwrap()).unwrap();
    let json = ran(&mut pgdyno(&["show", &number, "--json", "--store", &store])).expect(0, &[]);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    let page = dir.path("page.html");
    ran(&mut pgdyno(&[
        "report", &number, "-o", &page, "--force", "--store", &store,
    ]))
    .expect(0, &[]);
    let page = document_of(Path::new(&page));
    let shown = dir.show(trial);
    let page_lines = page["environment"].to_string();
    for (option, value) in options {
        let want = match option.takes {
            Takes::Names => json!([value]),
            _ => value.clone(),
        };
        for (place, fields) in [
            ("notebook", &kept),
            ("--json", &json["trial"]),
            ("page", &page["run"]["trial"]),
        ] {
            let found = fields.as_object().and_then(|fields| option.typed(fields));
            assert_eq!(
                found.as_ref(),
                Some(&want),
                "{} in the {place}",
                option.name
            );
        }
        if let Some(long) = &option.long {
            assert!(
                shown.contains(&format!("--{long}")),
                "show has no {long}: {shown}"
            );
            assert!(
                page_lines.contains(&option.name),
                "the page shows no {}: {page_lines}",
                option.name
            );
        }
    }
}
