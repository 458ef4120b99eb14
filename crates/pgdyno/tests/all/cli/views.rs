//! All views of one trial show the same percentiles, with the same mark of doubt: the first screen, `-v`,
//! `show`, JSON, `ls`, Markdown, the page, `compare`, and what `pgdyno pgbench` prints.

use std::path::Path;

use serde_json::Value;

use crate::support::{Database, pgdyno, ran};

/// By name: its key in JSON, as an interval has it.
const PERCENTILES: [(&str, &str, f64); 5] = [
    ("p50", "p50_us", 50.0),
    ("p90", "p90_us", 90.0),
    ("p95", "p95_us", 95.0),
    ("p99", "p99_us", 99.0),
    ("p99.9", "p99_9_us", 99.9),
];

/// A percentile as a view shows it: microseconds, or a dash, and whether it has the mark.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Shown {
    us: Option<f64>,
    has_mark: bool,
}

impl Shown {
    /// Of text in milliseconds: `33.6`, `33.6~`, `–`.
    fn of(text: &str) -> Self {
        let number = text.trim_end_matches('~');
        let number = number.trim_end_matches([',', ')']).replace(',', "");
        Self {
            us: number.parse::<f64>().ok().map(|ms| ms * 1000.0),
            has_mark: text.contains('~'),
        }
    }

    /// Those of a document's latencies.
    fn all(latency: &Value) -> Vec<Self> {
        let intervals = latency["intervals"].as_array().unwrap();
        let of = |(_, key, percentile): &(&str, &str, f64)| {
            let interval = intervals.iter().find(|of| of["percentile"] == *percentile);
            Self {
                us: latency[*key].as_f64(),
                has_mark: interval.is_some_and(|of| of["uncertain"] == true),
            }
        };
        PERCENTILES.iter().map(of).collect()
    }

    fn is_like(self, other: Self) -> bool {
        match (self.us, other.us) {
            (Some(a), Some(b)) => (a - b).abs() <= 0.005 * a.max(b) + 0.5,
            (None, None) => true,
            _ => false,
        }
    }
}

/// The word behind this one on a line.
fn behind(line: &str, name: &str) -> Shown {
    let mut words = line.split_whitespace();
    words
        .find(|word| *word == name)
        .unwrap_or_else(|| panic!("no {name} in {line}"));
    Shown::of(words.next().unwrap())
}

fn line<'a>(text: &'a str, begins: &str) -> &'a str {
    let mut lines = text.lines();
    lines
        .find(|line| line.starts_with(begins))
        .unwrap_or_else(|| panic!("no {begins} in\n{text}"))
}

fn agree(view: &str, shown: &[Shown], known: &[Shown]) {
    for ((shown, known), (name, ..)) in shown.iter().zip(known).zip(PERCENTILES) {
        assert!(
            shown.is_like(*known),
            "{view}: {name} {shown:?}, in JSON {known:?}"
        );
        assert_eq!(shown.has_mark, known.has_mark, "{view}: the mark of {name}");
    }
}

fn data(page: &Path) -> Value {
    let text = std::fs::read_to_string(page).unwrap();
    let from = text.find("id=\"data\">").unwrap() + "id=\"data\">".len();
    let text = &text[from..];
    serde_json::from_str(&text[..text.find("</script>").unwrap()]).unwrap()
}

/// Runs a trial and looks at it everywhere. `label` is how the first screen calls its latencies, `kind` JSON.
fn all_views_agree(name: &str, options: &[&str], label: &str, kind: &str) {
    let database = Database::new(name);
    let dir = tempfile::tempdir().unwrap();
    let script = "\\set ms random(0, 3)\nSELECT pg_sleep(:ms / 2000.0);\n";
    std::fs::write(dir.path().join("one.sql"), script).unwrap();
    let here = |args: &[&str]| {
        let mut command = pgdyno(args);
        command.env("PGDYNO_STORE", dir.path().join("n.sqlite"));
        command.current_dir(dir.path());
        ran(&mut command).expect(0, &[]).stdout
    };
    let url = ["--url", &database.url, "--json=run.json"];
    let first = here(&[&["run", "one.sql", "-c", "4"], options, &url].concat());
    let document: Value =
        serde_json::from_slice(&std::fs::read(dir.path().join("run.json")).unwrap()).unwrap();
    let known = Shown::all(&document["measured"][kind]);
    assert!(
        known[..4].iter().all(|shown| shown.us.is_some()),
        "{known:?}"
    );

    // Four in the line, the last below it.
    let in_line = line(&first, label);
    let four: Vec<Shown> = PERCENTILES[..4]
        .iter()
        .map(|(name, ..)| behind(in_line, name))
        .collect();
    agree("the first screen", &four, &known);
    if known[4].us.is_some() {
        let mut lines = first.lines();
        let below = lines
            .find(|line| line.starts_with("    ") && line.contains("p99.9 "))
            .unwrap();
        agree(
            "the first screen, p99.9",
            &[behind(below, "p99.9")],
            &known[4..],
        );
    }
    let marks = known.iter().any(|shown| shown.has_mark);
    assert_eq!(first.contains("~ uncertain"), marks, "{first}");

    // Columns: name, count, mean, percentiles, the longest.
    let show = here(&["show"]);
    let table = show.split("latency, ms").nth(1).unwrap();
    let row = match kind {
        "response" => line(table, "one.sql: response"),
        _ => line(table, "one.sql"),
    };
    let mut cells: Vec<&str> = row.split_whitespace().rev().skip(1).take(5).collect();
    cells.reverse();
    let of_show: Vec<Shown> = cells.into_iter().map(Shown::of).collect();
    agree("show", &of_show, &known);
    let again: Value = serde_json::from_str(&here(&["show", "--json"])).unwrap();
    assert_eq!(Shown::all(&again["measured"][kind]), known, "show --json");

    let listed: Value = serde_json::from_str(&here(&["ls", "--json"])).unwrap();
    for ((_, key, _), known) in PERCENTILES.iter().zip(&known) {
        let listed = &listed[0][format!("{kind}_{key}")];
        assert_eq!(listed.as_f64(), known.us, "ls --json: {key}");
    }
    let ls = here(&["ls"]);
    let (head, row) = (ls.lines().next().unwrap(), ls.lines().nth(1).unwrap());
    for (at, column) in [(0, "p50 ms"), (3, "p99 ms")] {
        let end = head.find(column).unwrap() + column.len();
        let cell = row.chars().take(end).collect::<String>();
        let shown = Shown::of(cell.split_whitespace().last().unwrap());
        assert!(
            shown.is_like(known[at]) && shown.has_mark == known[at].has_mark,
            "ls: {column} {shown:?}, {:?}",
            known[at]
        );
    }

    let markdown = here(&["report", "1", "--markdown"]);
    let of_markdown: Vec<Shown> = PERCENTILES
        .iter()
        .map(|(name, ..)| {
            let row = line(&markdown, &format!("| {kind} {name}, ms"));
            Shown::of(row.split('|').nth(2).unwrap().trim())
        })
        .collect();
    agree("Markdown", &of_markdown, &known);

    here(&["report", "1", "-o", "page.html"]);
    let page = data(&dir.path().join("page.html"));
    assert_eq!(
        Shown::all(&page["run"]["measured"][kind]),
        known,
        "the page"
    );

    here(&[&["run", "one.sql", "-c", "4"], options, &url[..2]].concat());
    let compared: Value = serde_json::from_str(&here(&["compare", "1", "2", "--json"])).unwrap();
    let listed: Value = serde_json::from_str(&here(&["ls", "--json"])).unwrap();
    for ((name, key, _), known) in PERCENTILES.iter().zip(&known) {
        let measured = |trial: &Value| !trial[format!("{kind}_{key}")].is_null();
        // What one of the two has not cannot be compared.
        if !listed.as_array().unwrap().iter().all(measured) {
            continue;
        }
        let of = &compared["points"][0]["figures"][*name]["a"]["median"];
        assert_eq!(of.as_f64(), known.us, "compare: {name}");
    }
}

#[test]
fn all_views_of_a_trial_show_the_same_percentiles() {
    all_views_agree("views_closed", &["-T", "11"], "latency ms", "service");
}

#[test]
fn all_views_of_a_short_trial_show_its_percentiles_with_the_mark() {
    all_views_agree("views_short", &["-T", "3"], "latency ms", "service");
}

#[test]
fn all_views_of_a_trial_with_a_rate_show_its_response_times() {
    let options = ["-T", "4", "--rate", "600"];
    all_views_agree("views_rate", &options, "response ms", "response");
}

#[test]
fn pgbench_prints_the_percentiles_that_its_trial_keeps() {
    let database = Database::new("views_pgbench");
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("one.sql"), "SELECT 1;\n").unwrap();
    let store = dir.path().join("n.sqlite");
    let kept = format!("--store={}", store.display());
    let options = ["-n", "-f", "one.sql", "-T", "2", "--percentiles", &kept];
    let mut command = pgdyno(&[&["pgbench"], &options[..], &[&database.url]].concat());
    let printed = ran(command.current_dir(dir.path()))
        .expect(0, &["latency p99 = "])
        .stdout;
    let mut show = pgdyno(&["show", "--json"]);
    let shown = ran(show.env("PGDYNO_STORE", &store)).expect(0, &[]).stdout;
    let document: Value = serde_json::from_str(&shown).unwrap();
    let known = Shown::all(&document["measured"]["service"]);
    for ((name, ..), known) in PERCENTILES[..4].iter().zip(&known) {
        let line = line(&printed, &format!("latency {name} = "));
        let shown = Shown::of(line.split_whitespace().nth(3).unwrap());
        assert!(
            shown.is_like(*known),
            "pgbench: {name} {shown:?}, {known:?}"
        );
    }
}
