//! `pgdyno deploy kubernetes`: what it prints, by the published schemas of Kubernetes' API (OpenAPI), in
//! which a field that they do not name is a mistake. Read as YAML by another program than ours.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{pgdyno, ran};

/// `backoffLimitPerIndex` is there for all since the first, stable since the second; the newest.
const RELEASES: [&str; 3] = ["1.29", "1.33", "1.37"];

/// What kubernetes-validate says of these texts, a line each document; nothing of others.
fn validated(texts: &[String], release: &str) -> Vec<Vec<String>> {
    let tools = pgdyno_testkit::tools_dir().join("kubernetes-validate");
    let folder = tempfile::tempdir().unwrap();
    let file = |index: usize| folder.path().join(format!("{index}.yaml"));
    let mut command = Command::new("python3");
    command
        .arg(tools.join("bin/kubernetes-validate"))
        .args(["--strict", "--kubernetes-version", release])
        .env("PYTHONPATH", &tools)
        .stdin(Stdio::null());
    for (index, text) in texts.iter().enumerate() {
        fs::write(file(index), text).unwrap();
        command.arg(file(index));
    }
    let ran = ran(&mut command);
    let of_file = |file: &Path| {
        let file = format!(" {} ", file.display());
        let lines = ran.stdout.lines().filter(|line| line.contains(&file));
        lines.map(str::to_owned).collect()
    };
    let said: Vec<Vec<String>> = (0..texts.len())
        .map(|index| of_file(&file(index)))
        .collect();
    let lines: usize = said.iter().map(Vec::len).sum();
    assert_eq!(lines, ran.stdout.lines().count(), "{ran:#?}");
    said
}

#[test]
fn manifests_are_those_of_kubernetes_schemas() {
    if !pgdyno_testkit::tools_dir()
        .join("kubernetes-validate")
        .is_dir()
    {
        pgdyno_testkit::skip!(
            "deploy_schemas::manifests_are_those_of_kubernetes_schemas",
            "the schemas of Kubernetes' API are not here: make test fetches them from PyPI"
        );
    }
    let small = [
        "deploy",
        "kubernetes",
        "--generators",
        "4",
        "--image",
        "a/b:1",
    ];
    let all = "--namespace perf --cpu 500m --memory 2Gi --secret urls";
    let all: Vec<&str> = all.split(' ').collect();
    let run = ["--", "run", "tpcb", "-c", "8"];
    let odd = ["--note", "a: b # \"$(HOME)\" é \u{2028} - {x} 'y' \\n"];
    let printed = |line: &[&str]| ran(&mut pgdyno(line)).expect(0, &[]).stdout;
    let right = [
        printed(&[&small[..], &all, &run, &odd].concat()),
        printed(&[&small[..], &["--", "calibrate"]].concat()),
    ];
    for release in RELEASES {
        let said = validated(&right, release);
        assert_eq!((said[0].len(), said[1].len()), (2, 1), "{said:#?}");
        for line in said.iter().flatten() {
            let passed = " passed for resource job/pgdyno";
            assert!(line.starts_with("INFO ") && line.contains(passed), "{line}");
        }
    }
    let mistakes = [
        (
            "backoffLimitPerIndex: 0",
            "backoffLimitPerIndexes: 0",
            "Indexes",
        ),
        ("completions: 4", "completions: \"4\"", "completions: "),
        (
            "readOnlyRootFilesystem",
            "readonlyRootFilesystem",
            "'readonly",
        ),
        (
            "      restartPolicy: Never",
            "      restartPolicy: {}",
            "restartPolicy: ",
        ),
        ("key: PGHOST", "kea: PGHOST", "'key' is a required property"),
        ("cpu: \"500m\"", "cpu: [\"500m\"]", "cpu"),
        ("kind: Job\n", "kind: Jobs\n", "find schema for kind Jobs"),
    ];
    let wrong = mistakes.map(|(right_field, wrong_field, _)| {
        let text = right[0].replace(right_field, wrong_field);
        assert_ne!(text, right[0], "{right_field}");
        text
    });
    let said = validated(&wrong, RELEASES[2]);
    for ((_, wrong_field, says), said) in mistakes.iter().zip(said) {
        let refused = said
            .iter()
            .any(|line| !line.starts_with("INFO ") && line.contains(says));
        assert!(refused, "{wrong_field}: {said:#?}");
    }
}
