//! What is observed beside a trial: scraped, kept, shown again and shown to others.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use pgdyno_testkit::HttpsServer;
use serde_json::Value;

use crate::child::Running;
use crate::cli::store::Notebook;
use crate::support::{Database, ran};

/// Tables of what instruments saw.
const TABLES: [&str; 6] = ["instrument", "series", "sample", "total", "gap", "worst"];

/// An address where something listens until it has been looked for.
fn going() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || drop(listener.accept()));
    address
}

/// An endpoint whose counter grows by ten a question; gives its address and counts questions.
fn exporter() -> (String, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/metrics", listener.local_addr().unwrap());
    let asked = Arc::<AtomicU64>::default();
    let count = Arc::clone(&asked);
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.unwrap();
            // A probe that only looks whether something listens asks nothing.
            if client.read(&mut [0; 1000]).is_ok_and(|bytes| bytes == 0) {
                continue;
            }
            let pages = count.fetch_add(1, Ordering::SeqCst) * 10;
            let text = format!(
                "HTTP/1.1 200 OK\r\n\r\n# TYPE pages counter\npages{{disk=\"a\"}} {pages}\n\
                 load 1.5\nother 7\n"
            );
            let _ = client.write_all(text.as_bytes());
        }
    });
    (address, asked)
}

/// An address where nothing listens.
fn nowhere() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

fn script(notebook: &Notebook) -> String {
    let path = notebook.beside("one.sql");
    // With a pause, so that no processor is kept busy.
    std::fs::write(&path, "SELECT 1;\n\\sleep 2 ms\n").unwrap();
    path.display().to_string()
}

fn series<'a>(document: &'a Value, name: &str) -> &'a Value {
    let series = document["observed"]["series"].as_array().unwrap();
    let found = series.iter().find(|series| series["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {series:#?}"))
}

#[test]
fn an_endpoint_is_scraped_beside_a_trial_and_kept_with_it() {
    let notebook = Notebook::new();
    let db = Database::new("observe_scrape");
    let (address, asked) = exporter();
    let dead = going();
    let (good, dead) = (
        format!("node={address},pages,lo*"),
        format!("gone=http://{dead}"),
    );
    let one = script(&notebook);
    let args = [
        "run",
        &one,
        "-c",
        "2",
        "-T",
        "3",
        "--json",
        "--observe",
        "none",
        "--scrape",
        &good,
        "--scrape",
        &dead,
    ];
    let ran = notebook.run(&db, &args).expect(0, &["kept as trial 1"]);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let measured_us = document["measured"]["elapsed_us"].as_u64().unwrap();
    assert!(measured_us >= 2_900_000, "a dead endpoint costs nothing");

    // Every answer was kept: the counter grew by ten each.
    let asked = asked.load(Ordering::SeqCst);
    let pages = series(&document, "node.pages");
    let rates = pages["samples"].as_array().unwrap();
    // The first has no rate, nor have the first and last of the trial where they come close upon another.
    let rates = rates.len() as u64;
    assert!(
        (asked - 3..asked).contains(&rates),
        "{rates} of {asked}: {pages:#}"
    );
    assert_eq!(
        (&pages["label"], &pages["unit"]),
        (&"disk=a".into(), &"1/s".into())
    );
    let total = &pages["total"];
    assert_eq!(total["before"].as_f64(), Some(0.0));
    assert_eq!(total["after"].as_f64(), Some((asked - 1) as f64 * 10.0));
    assert!(
        total["before_at_us"].as_i64() < Some(0),
        "before clients began"
    );
    assert!(
        total["after_at_us"].as_i64() > Some(2_900_000),
        "after they had gone"
    );
    assert_eq!(series(&document, "node.load")["samples"][0][1], 1.5);
    let all = document["observed"]["series"].as_array().unwrap();
    assert_eq!(all.len(), 2, "the third is not asked for");
    let gaps = document["observed"]["gaps"].as_array().unwrap();
    let [gap] = gaps.as_slice() else {
        panic!("{gaps:#?}")
    };
    assert_eq!(gap["instrument"], "scrape.gone");
    assert!(gap["reason"].as_str().unwrap().contains("refused"), "{gap}");
    assert!(
        gap["remedy"]
            .as_str()
            .unwrap()
            .starts_with("curl http://127"),
        "{gap}"
    );
    assert!(document["observed"]["cpu_us"].as_u64().is_some());
    let worst = document["worst"].as_array().unwrap();
    assert_eq!(worst.len(), 5);
    assert_eq!(
        worst[0]["latency_us"],
        document["measured"]["service"]["max_us"]
    );

    let shown = notebook.pgdyno(&["show", "1", "--json"]).expect(0, &[]);
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(shown["observed"], document["observed"]);
    assert_eq!(shown["worst"], document["worst"]);
    let text = [
        "node.pages disk=a, 1/s",
        "longest transactions",
        "not observed scrape.gone: http://127.0.0.1:",
        "remedy: curl",
        "of a core",
        "observed     2 series by 2 instruments\nnot observed scrape.gone: ",
    ];
    notebook.pgdyno(&["show", "1", "-v"]).expect(0, &text);
    let only = notebook
        .pgdyno(&["show", "1", "--series", "*.load"])
        .expect(0, &["node.load"]);
    assert!(!only.stdout.contains("node.pages"), "{}", only.stdout);
    notebook
        .pgdyno(&["show", "1", "--series", "x"])
        .expect(0, &["this trial has no such series"]);
    let reading = "SELECT count(*) FROM reading WHERE name = 'node.load' AND value = 1.5";
    assert_eq!(notebook.value(reading), asked.to_string());

    // It goes where the trial goes, and away with it.
    let count = |table: &str| notebook.value(&format!("SELECT count(*) FROM {table}"));
    let counts = || TABLES.map(count);
    let before = counts();
    assert!(!before.contains(&"0".to_owned()), "{before:?}");
    let copy = notebook.beside("copy.sqlite").display().to_string();
    notebook
        .pgdyno(&["export", "1", "-o", &copy])
        .expect(0, &[]);
    notebook.pgdyno(&["rm", "1", "--yes"]).expect(0, &[]);
    assert_eq!(counts(), ["0"; TABLES.len()]);
    notebook.pgdyno(&["import", &copy]).expect(0, &[]);
    assert_eq!(counts(), before);
}

#[test]
fn an_endpoint_that_never_answers_keeps_a_trial_only_a_moment() {
    let notebook = Notebook::new();
    let db = Database::new("observe_slow");
    // It takes connections and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("slow=http://{}", silent.local_addr().unwrap());
    let one = script(&notebook);
    let began = Instant::now();
    let args = [
        "run",
        &one,
        "-T",
        "1",
        "--observe",
        "none",
        "--scrape",
        &endpoint,
        "--json",
    ];
    let ran = notebook.run(&db, &args).expect(0, &[]);
    // A second before and one after; machines are slow at times.
    assert!(
        began.elapsed() < Duration::from_secs(30),
        "{:?}",
        began.elapsed()
    );
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let measured_us = document["measured"]["elapsed_us"].as_u64().unwrap();
    assert!(
        (900_000..20_000_000).contains(&measured_us),
        "{measured_us}"
    );
    assert_eq!(document["observed"]["gaps"][0]["instrument"], "scrape.slow");
    assert_eq!(document["observed"]["cpu_us"], Value::Null, "not known");
    drop(silent);
}

#[test]
fn an_endpoint_over_https_is_let_in_and_its_secrets_are_nowhere() {
    let notebook = Notebook::new();
    let db = Database::new("observe_https");
    // "me:s3cret" in base64; the token.
    let server = HttpsServer::start(|request| {
        let is_let_in =
            |line: &str| line.ends_with(" Basic bWU6czNjcmV0") || line.ends_with(" Bearer t0ken");
        let body = "load 1.5\n".to_owned();
        request.lines().any(is_let_in).then_some(body)
    });
    let ca = notebook.beside("ca.pem");
    std::fs::write(&ca, &server.certificate_pem).unwrap();
    let token = notebook.beside("token");
    std::fs::write(&token, "t0ken\n").unwrap();
    let host = server.url.strip_prefix("https://").unwrap();
    let scrapes = [
        format!("basic=https://me:s3cret@{host}/"),
        format!("file=https://{host},token_file={}", token.display()),
        format!("env=https://{host},token_env=PGDYNO_TEST_TOKEN,load"),
        format!("none=https://{host}"),
    ];
    let one = script(&notebook);
    let mut args = vec![
        "run",
        &*one,
        "-T",
        "2",
        "--json",
        "--observe",
        "none",
        "--url",
        &*db.url,
    ];
    args.extend(scrapes.iter().flat_map(|scrape| ["--scrape", scrape]));
    let mut command = notebook.command(&args);
    command
        .env("SSL_CERT_FILE", &ca)
        .env("PGDYNO_TEST_TOKEN", "t0ken");
    let ran = ran(&mut command).expect(0, &[]);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    for name in ["basic.load", "file.load", "env.load"] {
        assert_eq!(series(&document, name)["samples"][0][1], 1.5, "{name}");
    }
    let gaps = document["observed"]["gaps"].to_string();
    assert!(
        gaps.contains("scrape.none") && gaps.contains("it requires a login"),
        "{gaps}"
    );
    for secret in ["s3cret", "t0ken", "bWU6czNjcmV0"] {
        assert!(!notebook.has(secret), "{secret} is in the notebook");
        assert!(!ran.stdout.contains(secret) && !ran.stderr.contains(secret));
    }
    let spec = notebook.value("SELECT spec FROM trial");
    assert!(
        spec.contains(&format!("basic=https://me@{host}/")),
        "{spec}"
    );
}

#[test]
fn the_running_trial_is_served_to_a_prometheus() {
    let notebook = Notebook::new();
    let db = Database::new("observe_listen");
    let at = nowhere();
    let one = script(&notebook);
    let args = [
        "run",
        &one,
        "-c",
        "3",
        "-T",
        "4",
        "--metrics-listen",
        &at,
        "--url",
        &db.url,
    ];
    let run = Running::start(&mut notebook.command(&args));
    let began = Instant::now();
    let ask = || -> Option<String> {
        let mut server = TcpStream::connect(&at).ok()?;
        server
            .write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            .ok()?;
        let mut answer = String::new();
        server.read_to_string(&mut answer).ok()?;
        Some(answer)
    };
    let text = loop {
        let answer = ask().unwrap_or_default();
        let committed = answer.lines().find_map(|line| {
            let rest = line.strip_prefix("pgdyno_transactions_total{")?;
            rest.contains("\"committed\"")
                .then(|| rest.rsplit(' ').next())?
        });
        if committed.is_some_and(|count| count != "0") {
            break answer;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{answer}");
        std::thread::sleep(Duration::from_millis(20));
    };
    for part in [
        "HTTP/1.1 200 OK\r\n",
        "# TYPE pgdyno_transactions_total counter\n",
        "# HELP pgdyno_transactions_total ",
        "pgdyno_clients 3\n",
        "pgdyno_trial_running 1\n",
        "pgdyno_service_seconds_count{",
    ] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    assert!(!text.contains("password"));
    run.ended()
        .expect(0, &[&format!("metrics at http://{at}/metrics")]);
}

#[test]
fn an_impossible_observation_fails_before_the_run() {
    let notebook = Notebook::new();
    let one = script(&notebook);
    let run = |args: &[&str]| {
        let mut all = vec!["run", one.as_str()];
        all.extend(args);
        notebook.pgdyno(&all)
    };
    let secret = "a=http://me:secret@db1:port/";
    let ran = run(&["--scrape", secret]).expect(2, &["--scrape: the address is http://HOST:PORT"]);
    assert!(!ran.stderr.contains("secret"), "{}", ran.stderr);
    let token = "a=http://h,token_env=PGDYNO_NO_SUCH";
    run(&["--scrape", token]).expect(2, &["--scrape: token_env PGDYNO_NO_SUCH: "]);
    let twice = ["--scrape", "a=http://h", "--scrape", "a=http://i"];
    run(&twice).expect(2, &["--scrape number 2: the name a is used twice"]);
    run(&["--observe", "host,none"]).expect(2, &["auto and none cannot be combined with names"]);
    // Neither server nor store is looked for.
    let refused = format!("node=http://me:secret@{}", nowhere());
    let ran = run(&["--scrape", &refused]).expect(1, &["--scrape node: http://127.", "refused"]);
    assert!(!ran.stderr.contains("secret"), "{}", ran.stderr);
    run(&["--observe", "host,pg.wiats"]).expect(
        2,
        &[
            "--observe: unknown instrument or group pg.wiats",
            "did you mean pg.waits?",
            "known: client, client.ping, cluster, cluster.explain, cluster.nodes, crdb, crdb.vars, host, host.cpu,",
        ],
    );
    run(&["--observe", "nope"]).expect(2, &["unknown instrument or group nope", "known: client"]);
    assert!(crate::support::notebook::is_empty(&notebook.path()));
    run(&["--metrics-listen", "db1"]).expect(2, &["127.0.0.1:9187"]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap().to_string();
    run(&["--metrics-listen", &at]).expect(1, &["cannot listen at 127.0.0.1:", "another port"]);
}

#[test]
fn what_is_observed_is_asked_of_a_sweep_too() {
    let notebook = Notebook::new();
    let db = Database::new("observe_sweep");
    let one = script(&notebook);
    let file = notebook.beside("sweep.toml");
    let text = format!("workload = '{one}'\ntransactions = 5\nclients = [1, 2]\n");
    std::fs::write(&file, text).unwrap();
    let (address, _) = exporter();
    let endpoint = format!("node={address}");
    let file = file.display().to_string();
    let args = [
        "sweep",
        &file,
        "--observe",
        "none",
        "--scrape",
        &endpoint,
        "-q",
    ];
    notebook.run(&db, &args).expect(0, &[]);
    let sql = "SELECT count(*), min(observe), max(observe) FROM trial";
    assert_eq!(notebook.value(sql), "2|none|none");
    let sql = "SELECT count(DISTINCT trial), min(name), max(name) FROM instrument";
    assert_eq!(notebook.value(sql), "2|scrape.node|scrape.node");
}
