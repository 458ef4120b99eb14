//! cockroach's lines. The server that they start is PostgreSQL, pgdyno's own; what cockroach 19.1 printed
//! of a run is recorded with the tests of `pgdyno workload`.

use crate::seeds::compare::{compare, same};
use crate::seeds::shape::Columns;
use crate::seeds::shell::Shell;
use crate::seeds::table::{self, Beside, Tool};
use crate::support::{connect, pgdyno, ran};

/// 20 s of mix B on CockroachDB 19.1, by its own `cockroach workload run ycsb`.
const CAPTURED: &str = include_str!("../cli/workload/captured-19.1.txt");

/// The text without blank lines, and the words of each line one space apart: the article's own columns
/// were lost on its way.
fn words(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n";
    lines.map(words).collect()
}

#[test]
fn seed_4_a_node_is_started_loaded_and_measured() {
    let [port] = pgdyno_testkit::free_ports().map(|port| port.to_string());
    let mut shell = Shell::ours(pgdyno_testkit::postgres(), "postgres");
    let cache = shell.path("cache").display().to_string();
    let url = format!("postgresql://root@localhost:{port}?sslmode=disable");
    let servers = format!("{cache}/servers");
    for (name, value) in [
        ("LISTEN", &port),
        ("NODE", &url),
        ("PGDYNO_CACHE", &cache),
        ("PGDYNO_SERVERS", &servers),
    ] {
        shell.set(name, value);
    }
    for line in table::of(Tool::Cockroach) {
        let ran = shell.run(line).expect(0, &[]);
        let article = match line.beside {
            Beside::Recorded => {
                compare(line, &ran.stdout, None, Columns::Fixed);
                continue;
            }
            // cockroach logs what it has imported, with time, thread and source file before it; pgdyno says it.
            Beside::Article(article) => match article.split_once("  imported") {
                Some((_, said)) => format!("imported{said}"),
                None => words(article),
            },
            _ => {
                let said = [&format!("sql:                 {url}\n"), "not CockroachDB"];
                assert!(
                    said.iter().all(|text| ran.stdout.contains(*text)),
                    "{ran:#?}"
                );
                continue;
            }
        };
        let ours = match line.name {
            "cockroach-init" => words(&ran.stderr).replace("pgdyno: ", ""),
            // The article ends before the totals of all operations.
            _ => {
                let head = ran.stdout.lines().find(|line| line.ends_with("__result"));
                let (before, _) = ran
                    .stdout
                    .split_once(head.expect("totals"))
                    .expect("it is there");
                words(before)
            }
        };
        same(line, &ours, &article, Columns::Free, "the article");
    }
    let made = connect(&url.replace('?', "/ycsb?"))
        .query("SELECT count(*) FROM usertable")
        .expect("it is there");
    assert_eq!(made.rows[0][0].as_deref(), Some("10000"));
    // To the column, in the form of that version.
    let line = table::line("cockroach-run");
    let old = line.command(crate::seeds::table::Side::Ours) + " --display-format=simple-19.1";
    let old = shell.must(&old);
    same(line, &old.stdout, CAPTURED, Columns::Fixed, "the recording");
    let mut stop = pgdyno(&["server", "stop", "--discard"]);
    ran(stop
        .env("PGDYNO_CACHE", &cache)
        .env("PGDYNO_SERVERS", &servers))
    .expect(0, &["is stopped"]);
}
