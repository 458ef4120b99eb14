//! Hints name options that the command has, and nothing else can be followed.

use std::collections::BTreeSet;

use crate::support::{Database, Ran, pgdyno, ran};

/// The options that a text names: `--name` each.
fn options(text: &str) -> BTreeSet<&str> {
    let ends = |c: char| !c.is_ascii_alphanumeric() && c != '-';
    let named = text.split("--").skip(1).map(|rest| rest.split(ends).next());
    named.flatten().filter(|name| !name.is_empty()).collect()
}

fn workload(line: &str, url: &str) -> Ran {
    let mut command = pgdyno(&["workload"]);
    ran(command.args(line.split_whitespace()).arg(url))
}

#[test]
fn every_option_in_a_hint_is_one_of_the_command() {
    let database = Database::new("workload_hints");
    workload(
        "init kv --db workload_hints --insert-count=9",
        &database.url,
    )
    .expect(0, &[]);
    workload(
        "init ycsb --db workload_hints --insert-count=9",
        &database.url,
    )
    .expect(0, &[]);
    let server = database.url.replace("/workload_hints?", "/?");
    let nowhere = "postgresql://root@localhost:1?sslmode=disable";
    let mut hints = 0;
    for (line, url, wanted) in [
        ("run kv", nowhere, "refused"),
        (
            "check bank --db no_such_database",
            &*server,
            "workload init makes it, and --db names another",
        ),
        (
            "run bank --db workload_hints",
            &database.url,
            "workload init",
        ),
        (
            "run kv --db workload_hints --init --insert-count=8",
            &database.url,
            "workload init with --drop",
        ),
        (
            "init kv --db workload_hints --secondary-index",
            &database.url,
            "workload init with --drop",
        ),
        (
            "init ycsb --db workload_hints --insert-count=8",
            &database.url,
            "workload init with --drop",
        ),
        (
            "run ycsb --db workload_hints --insert-count=8",
            &database.url,
            "",
        ),
        (
            "check kv --db workload_hints",
            &database.url,
            "no consistency checks defined for kv",
        ),
        (
            "run kv --db workload_hints --timeout=1s",
            &database.url,
            "statement_timeout",
        ),
    ] {
        let failed = workload(line, url).expect(1, &["Error: ", wanted]);
        let words: Vec<&str> = line.split_whitespace().take(2).collect();
        let help = workload(&words.join(" "), "--help").expect(0, &[]).stdout;
        for hint in failed
            .stderr
            .lines()
            .filter(|line| line.starts_with("HINT: "))
        {
            // Flags of `workload init` may stand there beside the command's own.
            let own = hint.split("workload init").next().unwrap_or_default();
            let own = own.split("pgdyno ").next().unwrap_or_default();
            let unknown: Vec<_> = options(own).difference(&options(&help)).copied().collect();
            assert!(unknown.is_empty(), "{line}: {hint}: {unknown:?}");
            hints += 1;
        }
    }
    assert!(hints > 6, "{hints} hints");
}

#[test]
fn kv_takes_every_flag_of_19_1_on_the_table_that_is_there() {
    let database = Database::new("workload_kv_flags");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("h.json");
    let histograms = format!("--histograms={}", file.display());
    for flags in [
        "--batch=2 --concurrency=2 --method=noprepare",
        "--cycle-length=100 --sequential --method=simple",
        "--max-block-bytes=8 --min-block-bytes=2 --secondary-index --drop",
        "--read-percent=50 --span-percent=10 --seed=5 --max-rate=1000",
        "--write-seq=R100 --use-opt --tolerate-errors --splits=2",
        "--zipfian --logtostderr --no-color --vmodule=a=1 --pprofport=33333",
        "--ramp=1s --duration=1s --max-ops=0",
        &histograms,
    ] {
        let line = format!("run kv --db workload_kv_flags --init --max-ops=20 {flags}");
        let ran = workload(&line, &database.url).expect(0, &["__result", " write\n"]);
        assert!(!ran.stderr.contains("Error: "), "{ran:#?}");
    }
    assert!(
        std::fs::read_to_string(&file)
            .unwrap()
            .contains("\"Name\":\"write\"")
    );
    let index = "SELECT count(*) FROM pg_index WHERE indrelid = 'kv'::regclass";
    assert_eq!(database.value(index), "2");
}
