//! What `pgdyno deploy kubernetes` prints, under a control plane of Kubernetes: its API server takes the
//! manifests, its controller makes pods of them. There is no node: this test starts what the pods say, with
//! what they say it finds, and reports their ends.

mod plane;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::child::{Running, wait_until};
use crate::generators::crew::{Crew, ends, number};
use plane::Plane;

const GENERATORS: usize = 4;

/// A control plane, and generators that meet on a server; nothing where there can be none, which is counted.
fn scene(test: &str, name: &str) -> Option<(Plane, Crew)> {
    match Plane::start() {
        Ok(plane) => Some((plane, Crew::on_server(name))),
        Err(reason) => {
            pgdyno_testkit::record_skip(&format!("kubernetes::{test}"), &reason);
            None
        }
    }
}

/// The manifests that pgdyno prints, in a file, and the lines of their head: what to type.
#[track_caller]
fn manifests(crew: &Crew) -> (PathBuf, Vec<String>) {
    let line = format!(
        "deploy kubernetes --generators {GENERATORS} --image registry.example/pgdyno:1 \
         --namespace bench -- run tpcb -c 8 -T 3 --note $(HOME)$$"
    );
    let text = crew.pgdyno(&line).expect(0, &[]).stdout;
    let file = crew.file("pgdyno.yaml");
    fs::write(&file, &text).unwrap();
    let typed = text.lines().filter_map(|line| line.strip_prefix("#   "));
    let typed = typed.map(|line| line.replace("FILE", "pgdyno.yaml"));
    let typed: Vec<String> = typed.collect();
    let verbs = typed.iter().map(|line| line.split(' ').nth(1).unwrap());
    let verbs: Vec<&str> = verbs.collect();
    assert_eq!(verbs, ["create", "apply", "wait", "apply", "logs"]);
    (file, typed)
}

/// The pods of a component, by their names.
#[track_caller]
fn pods(plane: &Plane, component: &str) -> Vec<Value> {
    let what = format!("pods --namespace=bench -l app.kubernetes.io/component={component}");
    let mut pods = plane.get(&what)["items"].as_array().unwrap().clone();
    pods.sort_by_key(|pod| pod["metadata"]["name"].as_str().unwrap().to_owned());
    pods
}

#[track_caller]
fn wait_for_pods(plane: &Plane, component: &str, count: usize) -> Vec<Value> {
    wait_until("pods", || pods(plane, component).len() == count);
    pods(plane, component)
}

/// Starts a pod's container as a kubelet would, but on this host as this user: its environment of values,
/// Secrets and labels, its words with `$(NAME)` replaced. What it mounts is a folder of its own.
#[track_caller]
fn start(plane: &Plane, crew: &Crew, pod: &Value) -> Running {
    let container = &pod["spec"]["containers"][0];
    let meta = &pod["metadata"];
    let name = meta["name"].as_str().unwrap();
    let home = crew.file(name);
    fs::create_dir(&home).unwrap();
    let mounted = &container["volumeMounts"][0]["mountPath"];
    let mut environment: Vec<(String, String)> = Vec::new();
    for variable in container["env"].as_array().unwrap() {
        let (from, plain) = (&variable["valueFrom"], &variable["value"]);
        let value = if plain == mounted {
            Some(home.display().to_string())
        } else if plain.is_string() {
            plain.as_str().map(str::to_owned)
        } else if from["secretKeyRef"].is_object() {
            let of = &from["secretKeyRef"];
            let secret = of["name"].as_str().unwrap();
            let key = of["key"].as_str().unwrap();
            let template = format!(
                "'go-template={{{{with .data.{key}}}}}{{{{. | base64decode}}}}{{{{end}}}}'"
            );
            let line = format!("kubectl get secret {secret} --namespace=bench -o {template}");
            let value = plane.sh(&line, &home).expect(0, &[]).stdout;
            assert!(!value.is_empty() || of["optional"] == true, "{variable}");
            (!value.is_empty()).then_some(value)
        } else {
            let path = from["fieldRef"]["fieldPath"].as_str().unwrap();
            let label = path.strip_prefix("metadata.labels['").unwrap();
            let label = &meta["labels"][label.strip_suffix("']").unwrap()];
            Some(label.as_str().unwrap().to_owned())
        };
        let name = variable["name"].as_str().unwrap().to_owned();
        environment.extend(value.map(|value| (name, value)));
    }
    let word = |word: &Value| expanded(word.as_str().unwrap(), &environment);
    assert_eq!(container["command"], serde_json::json!(["pgdyno"]));
    let words: Vec<String> = container["args"]
        .as_array()
        .unwrap()
        .iter()
        .map(word)
        .collect();
    let mut command = Command::new(env!("CARGO_BIN_EXE_pgdyno"));
    command.args(&words).env_clear().envs(environment.clone());
    Running::start(command.current_dir(&home).stdin(Stdio::null()))
}

/// `$(NAME)` is a variable where there is one, `$$` is one `$`.
fn expanded(word: &str, environment: &[(String, String)]) -> String {
    let (mut out, mut rest) = (String::new(), word);
    while let Some((plain, behind)) = rest.split_once('$') {
        out += plain;
        let name = behind.strip_prefix('(').and_then(|n| n.split_once(')'));
        let value = name.and_then(|(name, behind)| {
            let known = environment.iter().find(|(known, _)| known == name)?;
            Some((known.1.as_str(), behind))
        });
        let (text, next) = match (behind.strip_prefix('$'), value) {
            (Some(next), _) => ("$", next),
            (None, Some(found)) => found,
            (None, None) => ("$", behind),
        };
        out += text;
        rest = next;
    }
    out + rest
}

#[test]
#[ignore = "wants Kubernetes' control plane: make test-long PART=generators"]
fn what_deploy_prints_makes_one_trial_of_the_pods() {
    let test = "what_deploy_prints_makes_one_trial_of_the_pods";
    let Some((plane, crew)) = scene(test, "kubernetes_pods") else {
        return;
    };
    let (file, typed) = manifests(&crew);
    let folder = file.parent().unwrap();
    let types = |line: &str| plane.sh(line, folder);
    types("kubectl create namespace bench").expect(0, &[]);
    // The API server refuses what its schemas do not know, and what they do not say but its rules do.
    let text = fs::read_to_string(&file).unwrap();
    for (right, wrong, says) in [
        (
            "readOnlyRootFilesystem",
            "readonlyRootFilesystem",
            "unknown field",
        ),
        (
            "completionMode: Indexed",
            "completionMode: indexed",
            "Unsupported value: \"indexed\"",
        ),
        ("metadata.labels['", "metadata.lables['", "metadata.lables"),
    ] {
        let mistake = text.replace(right, wrong);
        assert_ne!(mistake, text, "{right}");
        crew.write("mistake.yaml", &mistake);
        types("kubectl apply --dry-run=server -f mistake.yaml").expect(1, &[says]);
    }
    let created = [
        "pgdyno-load created (server dry run)",
        "pgdyno created (server dry run)",
    ];
    types("kubectl apply --dry-run=server -f pgdyno.yaml").expect(0, &created);

    let address = pgdyno_testkit::postgres().address();
    let of_secret = format!(
        "PGDYNO_STORE={}\nPGHOST={}\nPGPORT={}\nPGUSER=postgres\nPGDATABASE=kubernetes_pods\n",
        crew.store,
        address.socket_dir.display(),
        address.port
    );
    crew.write("pgdyno.env", &of_secret);
    types(&typed[0]).expect(0, &["secret/pgdyno-urls created"]);
    types(&typed[1]).expect(0, &["job.batch/pgdyno-load created"]);
    let [load] = &wait_for_pods(&plane, "load", 1)[..] else {
        panic!("not one pod");
    };
    start(&plane, &crew, load).ended().expect(0, &[]);
    plane.pod_ended(load, "Succeeded");
    types(&typed[2]).expect(0, &["job.batch/pgdyno-load condition met"]);
    types(&typed[3]).expect(0, &["job.batch/pgdyno created"]);
    let pods = wait_for_pods(&plane, "generators", GENERATORS);
    let all: Vec<Running> = pods.iter().map(|pod| start(&plane, &crew, pod)).collect();
    for (pod, running) in pods.iter().zip(all) {
        running.ended().expect(0, &["kept as trial 5"]);
        plane.pod_ended(pod, "Succeeded");
    }
    types("kubectl wait --namespace=bench --for=condition=complete --timeout=1m job/pgdyno")
        .expect(0, &[]);

    let whole = crew.whole("complete");
    assert_eq!(ends(&whole), ["complete"; GENERATORS]);
    let committed = number(&whole["measured"]["committed"]);
    assert!(committed > 0, "{whole}");
    let history = crew.target.value("SELECT count(*) FROM pgbench_history");
    assert_eq!(committed.to_string(), history);
    assert_eq!(
        whole["stored"]["note"], "$(HOME)$$",
        "a word is what was typed"
    );
    let job = plane.get("job pgdyno --namespace=bench");
    let key = crew.value("SELECT join_key FROM meeting");
    assert_eq!(job["metadata"]["uid"], key);
    // To measure again.
    let (_, again) = text.split_once("delete the Jobs first: ").unwrap();
    let deleted = ["\"pgdyno\" deleted", "\"pgdyno-load\" deleted"];
    types(again.lines().next().unwrap()).expect(0, &deleted);
}

#[test]
#[ignore = "wants Kubernetes' control plane: make test-long PART=generators"]
fn a_pod_that_fails_is_not_started_again_and_leaves_the_others_alone() {
    let test = "a_pod_that_fails_is_not_started_again_and_leaves_the_others_alone";
    let Some((plane, crew)) = scene(test, "kubernetes_failed") else {
        return;
    };
    let (file, typed) = manifests(&crew);
    let types = |line: &str| plane.sh(line, file.parent().unwrap());
    types("kubectl create namespace bench").expect(0, &[]);
    types(&typed[3]).expect(0, &["job.batch/pgdyno created"]);
    let began = wait_for_pods(&plane, "generators", GENERATORS);
    plane.pod_ended(&began[2], "Failed");
    let job = || plane.get("job pgdyno --namespace=bench");
    wait_until("its index has failed", || {
        job()["status"]["failedIndexes"] == "2"
    });
    for index in [0, 1, 3] {
        plane.pod_ended(&began[index], "Succeeded");
    }
    let failed = "kubectl wait --namespace=bench --for=condition=failed --timeout=1m job/pgdyno";
    types(failed).expect(0, &["condition met"]);
    let status = &job()["status"];
    assert_eq!(
        (&status["succeeded"], &status["failed"]),
        (&3.into(), &1.into()),
        "{status}"
    );
    let uids = |pods: &[Value]| -> Vec<Value> {
        pods.iter()
            .map(|pod| pod["metadata"]["uid"].clone())
            .collect()
    };
    assert_eq!(uids(&pods(&plane, "generators")), uids(&began));
}
