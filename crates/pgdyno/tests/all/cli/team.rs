//! A team's notebook on a server: every command that reads or writes it, and what happens to a run when
//! that server goes away.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use pgdyno_link::{Direction, Link};
use pgdyno_platform::child::Signal;
use serde_json::Value;

use crate::child::Running;
use crate::support::{Database, Ran, document_of, pgdyno, ran};

/// A notebook in a database of its own, and a host with nothing on it.
pub struct Team {
    pub notes: Database,
    name: String,
    /// What it is opened with.
    pub url: String,
    pub home: tempfile::TempDir,
}

impl Team {
    fn new(name: &str) -> Team {
        Team::of(Database::new(name), name)
    }

    /// Made in this database of its own.
    pub fn of(notes: Database, name: &str) -> Team {
        let team = Team {
            url: notes.url.clone(),
            name: name.to_owned(),
            notes,
            home: tempfile::tempdir().unwrap(),
        };
        team.pgdyno(&["store", "init", &team.url])
            .expect(0, &["made a notebook at postgresql://"]);
        team
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = pgdyno(args);
        command
            .env("PGDYNO_STORE", &self.url)
            .env("XDG_DATA_HOME", self.home.path());
        command
    }

    pub fn pgdyno(&self, args: &[&str]) -> Ran {
        ran(&mut self.command(args))
    }

    /// A run of this many seconds in the background, once the notebook has it.
    pub fn run(&self, seconds: &str) -> Running {
        // So many that a second is more than a page.
        let script = |number| {
            let script = self.home.path().join(format!("{number}.sql"));
            // With a pause, so that no processor is kept busy.
            std::fs::write(&script, "SELECT 1;\n\\sleep 5 ms\n").unwrap();
            script.display().to_string()
        };
        let scripts: Vec<String> = (0..8).map(script).collect();
        let scripts: Vec<&str> = scripts.iter().map(String::as_str).collect();
        let target = pgdyno_testkit::postgres().address().url();
        let json = format!("--json={}", self.result_file().display());
        let args = ["-c", "2", "-T", seconds, "--url", &target, &json];
        let args = [&["run"], &scripts[..], &args].concat();
        let running = Running::start(&mut self.command(&args));
        self.notes.wait_for("SELECT 1 FROM second LIMIT 1");
        running
    }

    /// The server refuses new sessions and has ended all others: as a restart does.
    pub fn refuse(&self) {
        self.allow(false);
        let name = &self.name;
        admin(&format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
        ));
    }

    pub fn allow(&self, may: bool) {
        admin(&format!(
            "ALTER DATABASE {} ALLOW_CONNECTIONS {may}",
            self.name
        ));
    }

    /// The file with a run's result.
    fn result_file(&self) -> PathBuf {
        self.home.path().join("run.json")
    }

    /// The run's result is what the notebook has, and in no second did the run wait for it.
    pub fn has_what_was_reported(&self) {
        let reported = std::fs::read_to_string(self.result_file()).unwrap();
        let reported: Value = serde_json::from_str(&reported).unwrap();
        let shown = self.pgdyno(&["show", "1", "--json"]).expect(0, &[]).stdout;
        let shown: Value = serde_json::from_str(&shown).unwrap();
        for (name, value) in reported.as_object().unwrap() {
            // Kept to the microsecond.
            if name != "started" {
                assert_eq!(&shown[name], value, "{name}");
            }
        }
        let seconds = reported["seconds"].as_array().unwrap();
        assert!(seconds.len() >= 3, "{seconds:?}");
        for second in seconds.iter().filter(|second| second["drain"] == false) {
            let scripts = second["scripts"].as_array().unwrap().iter();
            let committed: u64 = scripts.map(|s| s["committed"].as_u64().unwrap()).sum();
            assert!(committed > 0, "{second}");
        }
    }

    /// State, and whether the seconds come to the total, of so many.
    pub fn is_whole(&self, state: &str, seconds_min: u64) {
        let sql = "SELECT state, committed = (SELECT sum(committed) FROM second WHERE trial = number), \
                   (SELECT count(DISTINCT start_us) FROM second) FROM trial";
        let row = self.notes.value(sql);
        let (whole, count) = row.rsplit_once('|').unwrap();
        assert_eq!(whole, format!("{state}|t"), "{row}");
        assert!(count.parse::<u64>().unwrap() >= seconds_min, "{row}");
        let check = self.pgdyno(&["store", "check"]).expect(0, &["trials    1"]);
        assert!(!check.stdout.contains("waiting"), "{check:#?}");
    }
}

fn admin(sql: &str) {
    crate::support::sql(&pgdyno_testkit::postgres().address().url(), sql);
}

#[test]
fn a_notebook_that_is_away_for_a_while_has_all_of_the_run_at_its_end() {
    let team = Team::new("team_restart");
    let running = team.run("8");
    team.refuse();
    std::thread::sleep(Duration::from_secs(2));
    team.allow(true);
    let ran = running.ended().expect(0, &["kept as trial 1"]);
    assert!(!ran.stderr.contains("waits on this host"), "{ran:#?}");
    team.is_whole("complete", 8);
    team.pgdyno(&["show", "1"]).expect(0, &[]);
}

#[test]
fn a_notebook_that_stays_away_gets_the_run_when_it_is_pushed() {
    let team = Team::new("team_push");
    let running = team.run("3");
    team.refuse();
    let said = ["trial 1 waits on this host: ", "pgdyno store push"];
    running.ended().expect(0, &said);
    team.pgdyno(&["store", "push"])
        .expect(1, &["cannot open the store"]);
    team.allow(true);
    team.pgdyno(&["store", "check"])
        .expect(0, &["waiting   1 trial on this host"]);
    team.pgdyno(&["store", "push"])
        .expect(0, &["1 trial sent to postgresql://"]);
    team.pgdyno(&["store", "push"])
        .expect(0, &["0 trials sent"]);
    team.is_whole("complete", 3);
}

#[test]
fn a_run_that_was_killed_while_its_notebook_was_away_is_pushed_as_far_as_it_came() {
    let team = Team::new("team_killed");
    let running = team.run("60");
    team.refuse();
    std::thread::sleep(Duration::from_secs(3));
    running.signal(Signal::Kill);
    running.ended();
    team.allow(true);
    team.pgdyno(&["store", "push"]).expect(0, &["1 trial sent"]);
    team.is_whole("aborted", 3);
}

#[test]
fn a_notebook_that_does_not_answer_holds_nothing_up_for_long() {
    let mut team = Team::new("team_black_hole");
    let server = pgdyno_testkit::postgres();
    let link = Link::to(server.address().socket_path()).start().unwrap();
    team.url = link.url(&team.name);
    let running = team.run("3");
    link.block(Direction::ToServer);
    link.block(Direction::ToClient);
    running.ended().expect(0, &["trial 1 waits on this host: "]);
    link.unblock(Direction::ToServer);
    link.unblock(Direction::ToClient);
    team.pgdyno(&["store", "push"]).expect(0, &["1 trial sent"]);
    team.is_whole("complete", 3);
}

#[test]
fn every_command_takes_a_notebook_on_a_server() {
    let team = Team::new("team_verbs");
    let work = Database::new("team_verbs_work");
    let home = team.home.path();
    let script = home.join("one.sql");
    std::fs::write(&script, "SELECT 1;\n").unwrap();
    let script = script.display().to_string();
    let url = ["--url", &work.url];
    let run = |more: &[&str]| {
        let args = [&["run", &script, "-t", "50"], more, &url].concat();
        team.pgdyno(&args).expect(0, &["kept as trial"])
    };
    run(&["--tag", "a"]);
    run(&["--tag", "b", "--note", "cold"]);
    let args = ["rerun", "1"];
    ran(team.command(&args).env("PGDYNO_RAN_BY", "")).expect(0, &["kept as trial 3"]);
    let runners = "SELECT count(ran_by), count(host_name) FROM trial";
    assert_eq!(
        team.notes.value(runners),
        "2|2",
        "one of three does not want to be known"
    );
    team.pgdyno(&["ls"]).expect(0, &["one.sql", " b\n"]);
    team.pgdyno(&["ls", "--tag", "a", "--since", "1d", "--json"])
        .expect(0, &["\"number\": 1"]);
    team.pgdyno(&["show", "2"]).expect(0, &["transactions"]);
    team.pgdyno(&["show", "2", "--json"])
        .expect(0, &["\"stored\""]);
    team.pgdyno(&["note", "1", "warm"]).expect(0, &[]);
    team.pgdyno(&["note", "1"]).expect(0, &["warm"]);
    team.pgdyno(&["tag", "1", "c"]).expect(0, &[]);
    team.pgdyno(&["exclude", "1", "--reason", "noise"])
        .expect(0, &[]);
    team.pgdyno(&["sql", "SELECT max(committed) AS most FROM trial"])
        .expect(0, &["50"]);
    team.pgdyno(&["sql", "DELETE FROM tag"])
        .expect(2, &["read-only"]);
    team.pgdyno(&["compare", "2", "3"]).expect(0, &["one.sql"]);
    let page = home.join("page.html").display().to_string();
    team.pgdyno(&["report", "2", "-o", &page]).expect(0, &[]);
    let sweep = home.join("two.toml");
    let text = "workload = [['one.sql']]\nduration = '300ms'\nclients = [1, 2]\nreset.settle = 0\n";
    std::fs::write(&sweep, text).unwrap();
    let sweep = sweep.display().to_string();
    let mut sweeping = team.command(&["sweep", &sweep, "--url", &work.url]);
    ran(sweeping.envs(pgdyno_testkit::own_cache(&home.join("cache")))).expect(0, &[]);
    team.pgdyno(&["ls", "--experiments"]).expect(0, &["two"]);
    team.pgdyno(&["show", "--experiment", "two"])
        .expect(0, &["clients"]);
    let file = home.join("all.sqlite").display().to_string();
    team.pgdyno(&["export", "-o", &file])
        .expect(0, &["5 trials written to"]);
    team.pgdyno(&["rm", "--yes", "2"]).expect(0, &[]);
    team.pgdyno(&["import", &file]).expect(
        0,
        &["1 trial added to postgresql://", "4 trials there already"],
    );
    let moved = home.join("moved.sqlite").display().to_string();
    team.pgdyno(&["store", "move", &moved])
        .expect(0, &["5 trials copied to", "is left as it was"]);
    team.pgdyno(&["store", "thin", "--older", "0s"])
        .expect(0, &["5 trials thinned"]);
    team.pgdyno(&["show", "1"]).expect(0, &["transactions"]);
    team.pgdyno(&["ls", "--store", "service=none"])
        .expect(1, &["the store's URL cannot be used"]);
    let entries: Vec<_> = home
        .read_dir()
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert!(
        entries.iter().all(|name| name != "postgresql:"),
        "{entries:?}"
    );
}

/// The severity of the note that the notebook is on the server under test, in a run's document.
fn noted(document: &Value) -> Option<&str> {
    let mut notes = document["notes"].as_array().unwrap().iter();
    let note = notes.find(|note| note["code"] == "notebook-here")?;
    note["severity"].as_str()
}

#[test]
fn a_notebook_on_the_server_under_test_is_noted() {
    let team = Team::new("team_here");
    let beside = Database::new("team_here_beside");
    let other_server = pgdyno_testkit::postgres_with(&[]);
    let elsewhere = Database::on(&other_server, "team_elsewhere");
    let script = team.home.path().join("one.sql");
    std::fs::write(&script, "SELECT 1;\n").unwrap();
    let script = script.display().to_string();
    let run = |url: &str| {
        let run = ["run", &script, "-t", "20", "--json", "--url", url];
        let reported = team.pgdyno(&run).expect(0, &["kept as trial"]).stdout;
        noted(&serde_json::from_str(&reported).unwrap()).map(str::to_owned)
    };
    assert_eq!(run(&team.url).as_deref(), Some("warning"));
    assert_eq!(run(&beside.url).as_deref(), Some("notice"));
    assert_eq!(run(&elsewhere.url), None);
    // Of two endpoints, the one that has it counts.
    let both = ["run", &script, "-c", "2", "-t", "20", "--json"];
    let urls = ["--url", &elsewhere.url, "--url", &team.url];
    let reported = team.pgdyno(&[&both[..], &urls].concat()).expect(0, &[]);
    assert_eq!(
        noted(&serde_json::from_str(&reported.stdout).unwrap()),
        Some("warning")
    );
    // In the summary, in what is kept, and on the page; a sweep's trials have it, too.
    let says = "this trial is stored in the database that it measures";
    team.pgdyno(&["show", "1"]).expect(0, &["WARNING", says]);
    let page = team.home.path().join("page.html");
    let report = ["report", "1", "-o", page.to_str().unwrap()];
    team.pgdyno(&report).expect(0, &[]);
    assert!(document_of(&page).to_string().contains(says));
    let sweep = team.home.path().join("one.toml");
    let text = "workload = [['one.sql']]\ntransactions = 20\nreset.settle = 0\n";
    std::fs::write(&sweep, text).unwrap();
    let sweep = sweep.display().to_string();
    let mut sweeping = team.command(&["sweep", &sweep, "--url", &team.url]);
    ran(sweeping.envs(pgdyno_testkit::own_cache(&team.home.path().join("cache")))).expect(0, &[]);
    let noted = "SELECT count(*) FROM trial WHERE number = 5 AND notes LIKE '%notebook-here%'";
    assert_eq!(team.notes.value(noted), "1");
    // pgbench's form does not show it, but the notebook has it.
    let pgbench = ["pgbench", "-n", "-t", "5", "-f", &script, "--store", "-d"];
    team.pgdyno(&[&pgbench[..], &[&team.url]].concat())
        .expect(0, &["tps = "]);
    let noted = noted.replace('5', "6");
    assert_eq!(team.notes.value(&noted), "1");
}

#[test]
fn ten_pgdynos_at_once_lose_nothing_and_write_nothing_twice() {
    let team = Team::new("team_ten");
    let work = Database::new("team_ten_work");
    let home = team.home.path();
    std::fs::write(home.join("one.sql"), "SELECT 1;\n").unwrap();
    let start = |number: usize| {
        let (sweep, tag) = (format!("sweep_{number}"), format!("tag{number}"));
        let file = home.join(format!("{sweep}.toml"));
        let text =
            "workload = [['one.sql']]\nduration = '300ms'\nclients = [1, 2]\nreset.settle = 0\n";
        std::fs::write(&file, text).unwrap();
        let file = file.display().to_string();
        let script = home.join("one.sql").display().to_string();
        let sweeping = ["sweep", &file, "--url", &work.url];
        let running = [
            "run", &script, "-c", "2", "-T", "1", "--tag", &tag, "--tag", "all", "--url", &work.url,
        ];
        let mut command = match number % 2 {
            0 => team.command(&sweeping),
            _ => team.command(&running),
        };
        Running::start(command.envs(pgdyno_testkit::own_cache(
            &home.join(format!("cache{number}")),
        )))
    };
    let all: Vec<Running> = (0..10).map(start).collect();
    for running in all {
        let ran = running.ended().expect(0, &[]);
        assert!(!ran.stderr.contains("waits on this host"), "{ran:#?}");
    }
    // Five sweeps of two trials each, and five runs.
    let sums = "SELECT count(*), count(DISTINCT uuid), count(*) FILTER (WHERE state = 'complete'), \
                count(*) FILTER (WHERE committed > 0 AND committed = \
                (SELECT sum(committed) FROM second s WHERE s.trial = number AND NOT warmup)), \
                count(DISTINCT experiment) FROM trial";
    assert_eq!(team.notes.value(sums), "15|15|15|15|5");
    let tags = "SELECT count(*), count(DISTINCT tag), count(DISTINCT trial) FROM tag";
    assert_eq!(team.notes.value(tags), "10|6|5");
    let of_each = "SELECT count(*) FROM (SELECT experiment FROM trial WHERE experiment IS NOT NULL \
                   GROUP BY experiment HAVING count(*) = 2 AND count(DISTINCT clients) = 2) e";
    assert_eq!(team.notes.value(of_each), "5");
    team.pgdyno(&["store", "push"])
        .expect(0, &["0 trials sent"]);
}
