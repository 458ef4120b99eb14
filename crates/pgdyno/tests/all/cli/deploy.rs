//! `pgdyno deploy`: the manifests as Kubernetes reads them, the batch file as bash runs it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use serde_json::{Map, Value};

use crate::support::{Ran, pgdyno, ran};

fn kubernetes(options: &[&str], command: &[&str]) -> Ran {
    let fixed = ["deploy", "kubernetes", "--image", "registry.example/p:1"];
    ran(&mut pgdyno(&[&fixed, options, &["--"], command].concat()))
}

/// The documents of a text in the part of YAML that pgdyno writes: blocks, JSON for what is quoted or
/// in one line.
fn documents(text: &str) -> Vec<Value> {
    let parts = text.split("---\n").skip(1);
    let lines = |part: &str| {
        let lines = part.lines().filter(|l| !l.trim_start().starts_with('#'));
        let line = |l: &str| (l.len() - l.trim_start().len(), l.trim_start().to_owned());
        lines.map(line).collect::<Vec<_>>()
    };
    let document = |part| {
        let mut lines = lines(part);
        let value = block(&mut lines, 0);
        assert_eq!(lines, [], "what is left");
        value
    };
    parts.map(document).collect()
}

/// The list or mapping whose lines begin in this column; its lines are taken away.
fn block(lines: &mut Vec<(usize, String)>, column: usize) -> Value {
    let (mut list, mut mapping) = (Vec::new(), Map::new());
    while let Some((at, line)) = lines.first().cloned()
        && at == column
    {
        if let Some(item) = line.strip_prefix("- ") {
            if !mapping.is_empty() {
                break;
            }
            lines[0] = (column + 2, item.to_owned());
            list.push(block(lines, column + 2));
            continue;
        }
        if !list.is_empty() {
            break;
        }
        lines.remove(0);
        let (key, value) = line.split_once(':').unwrap_or_else(|| panic!("{line}"));
        let value = match (value.trim(), lines.first()) {
            ("", Some((at, next))) if *at > column || next.starts_with("- ") => {
                let at = *at;
                block(lines, at)
            }
            (plain, _) => scalar(plain),
        };
        let before = mapping.insert(key.to_owned(), value);
        assert_eq!(before, None, "{key} is there twice");
    }
    if list.is_empty() {
        Value::Object(mapping)
    } else {
        Value::Array(list)
    }
}

fn scalar(text: &str) -> Value {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    serde_json::from_str(text).unwrap_or_else(|_| {
        assert!(!text.is_empty() && text.chars().all(is_plain), "{text}");
        Value::from(text)
    })
}

#[test]
fn kubernetes_has_a_job_that_loads_and_a_job_of_generators() {
    let options = "--generators 16 --name bench --namespace perf --cpu 1500m --secret urls";
    let options: Vec<_> = options.split(' ').collect();
    let command = ["run", "ycsb", "--mix", "a", "--param", "recordcount=1000"];
    let more = ["-c", "4000", "-T", "5m", "--note", "cost: \"$(HOME)\" # é"];
    let ran = kubernetes(&options, &[&command[..], &more].concat()).expect(
        0,
        &["kubectl create secret generic urls --namespace=perf --from-env-file=pgdyno.env"],
    );
    let documents = documents(&ran.stdout);
    let [load, job] = documents.as_slice() else {
        panic!("{}", ran.stdout)
    };
    for (document, name) in [(load, "bench-load"), (job, "bench")] {
        assert_eq!(document["apiVersion"], "batch/v1");
        assert_eq!(document["kind"], "Job");
        assert_eq!(document["metadata"]["name"], name);
        assert_eq!(document["metadata"]["namespace"], "perf");
        let template = &document["spec"]["template"];
        let labels = &template["metadata"]["labels"];
        assert_eq!(labels, &document["metadata"]["labels"]);
        let pod = &template["spec"];
        assert_eq!(pod["restartPolicy"], "Never");
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
        let spread = &pod["topologySpreadConstraints"][0];
        assert_eq!(&spread["labelSelector"]["matchLabels"], labels);
        assert_eq!(spread["whenUnsatisfiable"], "ScheduleAnyway");
        let container = &pod["containers"][0];
        let resources = &container["resources"];
        assert_eq!(resources["requests"], resources["limits"]);
        assert_eq!(resources["limits"]["cpu"], "1500m");
        let context = &container["securityContext"];
        assert_eq!(context["readOnlyRootFilesystem"], true);
        assert_eq!(context["allowPrivilegeEscalation"], false);
        assert_eq!(context["capabilities"]["drop"][0], "ALL");
        let home = container["volumeMounts"][0]["mountPath"].as_str();
        assert_eq!(variable(document, "HOME")["value"].as_str(), home);
        let store = &variable(document, "PGDYNO_STORE")["valueFrom"]["secretKeyRef"];
        assert_eq!(
            store,
            &serde_json::json!({"name": "urls", "key": "PGDYNO_STORE"})
        );
        let password = &variable(document, "PGPASSWORD")["valueFrom"]["secretKeyRef"];
        assert_eq!(password["optional"], true);
    }
    let args =
        |document: &Value| document["spec"]["template"]["spec"]["containers"][0]["args"].clone();
    let loads = ["load", "ycsb", "--mix", "a", "--param", "recordcount=1000"];
    assert_eq!(args(load), serde_json::json!(loads));
    let joins = ["--generators", "16", "--join", "$(PGDYNO_JOIN)"];
    let note = ["-c", "4000", "-T", "5m", "--note", "cost: \"$$(HOME)\" # é"];
    let whole = [&["run"], &joins[..], &command[1..], &note].concat();
    assert_eq!(args(job), serde_json::json!(whole));
    let spec = &job["spec"];
    assert_eq!(spec["completionMode"], "Indexed");
    assert_eq!(
        (&spec["completions"], &spec["parallelism"]),
        (&16.into(), &16.into())
    );
    assert_eq!(spec["backoffLimitPerIndex"], 0);
    assert_eq!(
        variable(job, "PGDYNO_JOIN")["valueFrom"]["fieldRef"]["fieldPath"],
        "metadata.labels['batch.kubernetes.io/controller-uid']"
    );
}

#[track_caller]
fn variable<'a>(job: &'a Value, name: &str) -> &'a Value {
    let all = &job["spec"]["template"]["spec"]["containers"][0]["env"];
    let all = all.as_array().unwrap();
    all.iter()
        .find(|variable| variable["name"] == name)
        .unwrap()
}

#[test]
fn a_command_without_a_pack_has_no_job_that_loads() {
    let ran = kubernetes(&["--generators", "2"], &["calibrate"]).expect(0, &["\"calibrate\""]);
    assert_eq!(documents(&ran.stdout).len(), 1);
    assert!(!ran.stdout.contains("component=load"), "{}", ran.stdout);
}

#[test]
fn what_kubernetes_would_refuse_is_refused_here() {
    let run = ["run", "tpcb", "-c", "64"];
    let long = "x".repeat(60);
    for (options, texts) in [
        (["--name", "Bench"], ["Bench", "lower-case"]),
        (
            ["--name", &long],
            ["-load has more than 63", "--name pgdyno"],
        ),
        (["--namespace", "a.b"], ["a.b", "lower-case"]),
        (["--cpu", "two"], ["two", "500m"]),
        (["--memory", "1GiB"], ["1GiB", "512Mi"]),
    ] {
        kubernetes(&[&["--generators", "4"], &options[..]].concat(), &run).expect(2, &texts);
    }
    kubernetes(
        &["--generators", "4"],
        &["run", "tpcb", "-c", "64", "--url", "host=db"],
    )
    .expect(
        2,
        &[
            "--url is not for the command behind `--`",
            "PGHOST",
            "Secret",
        ],
    );
    kubernetes(&["--generators", "1"], &run).expect(2, &["--generators"]);
}

/// Runs a batch file with an srun that prints its words, one a line.
fn run_by_bash(file: &str, variables: &[(&str, &str)]) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let srun = folder.path().join("srun");
    fs::write(&srun, "#!/bin/bash\nprintf '%s\\n' \"$@\"\n").unwrap();
    fs::set_permissions(&srun, fs::Permissions::from_mode(0o755)).unwrap();
    let script = folder.path().join("pgdyno.sbatch");
    fs::write(&script, file).unwrap();
    ran(Command::new("/bin/bash")
        .arg(&script)
        .env_clear()
        .env("PATH", folder.path())
        .envs(variables.iter().copied())
        .stdin(Stdio::null()))
}

#[test]
fn slurm_gets_a_batch_file_that_bash_reads_as_it_was_meant() {
    let command = ["run", "tpcb", "-c", "64", "--note", "it's $(exit 1) * ~"];
    let options = [
        "deploy",
        "slurm",
        "--generators",
        "6",
        "--per-node",
        "4",
        "--",
    ];
    let ran = ran(&mut pgdyno(&[&options[..], &command].concat()))
        .expect(0, &["#SBATCH --nodes=2\n", "#SBATCH --no-requeue\n"]);
    let head = ran.stdout.find("\nif ").unwrap();
    let last = ran.stdout.rfind("#SBATCH").unwrap();
    assert!(last < head, "sbatch reads no options behind a command");
    let (store, host) = (("PGDYNO_STORE", "postgresql://n/p"), ("PGHOST", "db"));
    let ran_by_bash = run_by_bash(&ran.stdout, &[store, host]).expect(0, &[]);
    let words: Vec<_> = ran_by_bash.stdout.lines().collect();
    let program = words.iter().position(|word| *word == "pgdyno").unwrap();
    assert!(
        words[..program].contains(&"--kill-on-bad-exit=0"),
        "{words:?}"
    );
    let whole = [&["pgdyno", "run", "--generators", "6"], &command[1..]].concat();
    assert_eq!(words[program..], whole);
    run_by_bash(&ran.stdout, &[host]).expect(2, &["PGDYNO_STORE is not set"]);
    run_by_bash(&ran.stdout, &[store]).expect(2, &["nothing names the server"]);
}

#[test]
fn help_teaches_both_engines_by_examples() {
    ran(&mut pgdyno(&["deploy", "kubernetes", "--help"])).expect(
        0,
        &["Examples:", "kubectl create secret generic", "-- run tpcb"],
    );
    ran(&mut pgdyno(&["deploy", "slurm", "--help"])).expect(0, &["Examples:", "sbatch"]);
}
