//! The notebook's dashboard, on a notebook in PostgreSQL that real trials have been put in.

use super::board::Board;
use super::{EVENTFUL_OPTIONS, eventful};
use crate::cli::team::Team;
use crate::support::{Database, connect, rows};

/// What is chosen of each variable, as Grafana writes it into a query: of those that many can be chosen of,
/// all, quoted; else the value itself.
struct Chosen(Vec<(String, String)>);

impl Chosen {
    /// The query as Grafana sends it, for any time.
    fn replaced(&self, query: &str) -> String {
        let mut text = query.to_owned();
        // $__timeFilter(COLUMN): the column lies in the dashboard's time.
        while let Some(at) = text.find("$__timeFilter(") {
            let begin = at + "$__timeFilter(".len();
            let end = begin + text[begin..].find(')').unwrap();
            let column = text[begin..end].to_owned();
            let is_in =
                format!("{column} BETWEEN '2000-01-01T00:00:00Z' AND '2100-01-01T00:00:00Z'");
            text.replace_range(at..=end, &is_in);
        }
        for (name, value) in &self.0 {
            text = text.replace(&format!("${name}"), value);
        }
        assert!(!text.contains('$'), "Grafana replaces nothing here: {text}");
        text
    }
}

#[test]
fn every_query_finds_rows_in_a_notebook_of_real_trials() {
    let team = Team::of(Database::new("dashboard_notes"), "dashboard_notes");
    let target = Database::new("dashboard_target");
    let folder = team.home.path();
    let file = folder.join("points.toml");
    std::fs::write(folder.join("one.sql"), "SELECT 1;\n").unwrap();
    let text = "name = 'points'\nworkload = 'one.sql'\ntransactions = 1500\nclients = [1, 2]\nrepeats = 2\n";
    std::fs::write(&file, text).unwrap();
    let file = file.display().to_string();
    let sweep = ["sweep", &file, "-q", "--observe=none", "--url", &target.url];
    team.pgdyno(&sweep).expect(0, &[]);
    let script = eventful(folder);
    let run = [
        "run",
        &script,
        "-t400",
        "-R1000",
        "-q",
        "--url",
        &target.url,
    ];
    team.pgdyno(&[&run[..], &EVENTFUL_OPTIONS].concat())
        .expect(0, &[]);

    let board = Board::shipped("pgdyno-notebook");
    let mut session = connect(&team.url);
    let mut ask = |query: &str| rows(&mut session, query);
    let mut chosen = Chosen(Vec::new());
    for (name, query, _) in board.variables() {
        let found = ask(&chosen.replaced(&query));
        assert!(!found.is_empty(), "{name}: no rows from {query}");
        // The name that is shown precedes the value. The newest comes first.
        let value = if query.contains("__value") {
            found[0].rsplit('|').next().unwrap().to_owned()
        } else {
            found
                .iter()
                .map(|value| format!("'{value}'"))
                .collect::<Vec<_>>()
                .join(",")
        };
        chosen.0.push((name, value));
    }
    let mut without = Vec::new();
    for query in board.queries() {
        let found = ask(&chosen.replaced(&query.text));
        // A row of nothing shows nothing.
        let is_row = |row: &String| row.split('|').skip(1).any(|value| value != "NULL");
        if !found.iter().any(is_row) {
            without.push(format!("{}: {found:?} from {}", query.panel, query.text));
        }
    }
    assert!(without.is_empty(), "no rows: {without:#?}");
}
